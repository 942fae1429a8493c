//! Counters and modelled times beside those of an H200, for the cases of `counters/kernels.cu`.
//!
//! `counters/h200.csv` is what Nsight Compute and events gave there for the very PTX that is counted here (see
//! `counters/record.py`). What the text of a kernel decides must agree: requests, sectors, wavefronts.
//! Of divergent branches only the table tells: ptxas predicates short ones away, so no bound holds for them.
//! Instructions need not: the GPU executes what ptxas made of the PTX, with other address arithmetic and unrolled loops.

mod support;

use std::collections::BTreeMap;
use std::fmt::Write as _;

use fsr_sim::{Arg, Class, LaunchConfig, Level, Options, Report};
use support::Bench;

const FOLDER: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/counters");

fn text(file: &str) -> String {
    std::fs::read_to_string(format!("{FOLDER}/{file}")).unwrap()
}

/// Name, kernel and launch of each case, in the order of the source.
fn cases() -> Vec<(String, String, Vec<String>)> {
    let (mut cases, mut waiting) = (Vec::new(), Vec::new());
    for line in text("kernels.cu").lines() {
        if let Some(words) = line.strip_prefix("//: ") {
            waiting.push(words.split_whitespace().map(str::to_owned).collect::<Vec<_>>());
        } else if let Some(rest) = line.strip_prefix("K ") {
            let kernel = rest.split('(').next().unwrap();
            for mut words in waiting.drain(..) {
                let name = words.remove(0);
                cases.push((name, kernel.to_owned(), words));
            }
        }
    }
    cases
}

/// What the GPU gave, by case and column.
fn recorded() -> BTreeMap<String, BTreeMap<String, f64>> {
    let text = text("h200.csv");
    let mut lines = text.lines().map(|line| line.split(',').collect::<Vec<_>>());
    let head = lines.next().unwrap();
    let row = |cells: Vec<&str>| {
        let values =
            head.iter().zip(&cells).skip(1).map(|(name, cell)| ((*name).to_owned(), cell.parse().unwrap()));
        (cells[0].to_owned(), values.collect())
    };
    lines.map(row).collect()
}

fn launch(kernel: &str, words: &[String]) -> Report {
    let bench =
        Bench::with(Options { level: Level::Bounds, counting: true, budget: u64::MAX, ..Options::default() });
    let function = bench.compile(&text("kernels.ptx"), kernel);
    let mut config = LaunchConfig { grid: [1; 3], block: [1; 3], shared_bytes: 0 };
    let mut args: Vec<Arg> = Vec::new();
    for word in words {
        let (kind, number) = word.split_at(1);
        let n: u32 = number.parse().unwrap();
        let mixed = |i: u32| i.wrapping_mul(2_654_435_761);
        let data: Option<Vec<u32>> = match kind {
            "f" => Some((0..n).map(|i| ((mixed(i) >> 8) as f32 / (1 << 24) as f32).to_bits()).collect()),
            "p" => Some((0..n).map(|i| mixed(i) & (n - 1)).collect()),
            "r" => Some((0..n).collect()),
            "z" => Some(vec![0; n as usize]),
            _ => None,
        };
        match (data, kind) {
            (Some(data), _) => args.push(bench.upload(&data).into()),
            (None, "#") => args.push(n.into()),
            (None, "x") => config.block[0] = n,
            (None, "y") => config.block[1] = n,
            (None, "b") => config.grid[0] = n,
            (None, "g") => config.grid[1] = n,
            _ => panic!("{word}"),
        }
    }
    bench.device.launch(&function, config, &args).unwrap_or_else(|error| panic!("{kernel}: {error}"))
}

/// A counter there and here.
struct Pair {
    what: &'static str,
    gpu: f64,
    sim: f64,
    /// How far the ratio may be from 1; none where ptxas decides.
    bound: Option<f64>,
}

fn pairs(gpu: &BTreeMap<String, f64>, report: &Report) -> Vec<Pair> {
    let counts = &report.counts;
    let each = |many: f64, of: f64| if of == 0.0 { 0.0 } else { many / of };
    let pair = |what, gpu, sim, bound| Pair { what, gpu, sim, bound };
    let of = |class| counts.of(class) as f64;
    vec![
        pair("load requests", gpu["load_requests"], counts.global_load.requests as f64, Some(0.0)),
        pair(
            "sectors a load",
            each(gpu["load_sectors"], gpu["load_requests"]),
            counts.global_load.per_request(),
            Some(0.001),
        ),
        pair("store requests", gpu["store_requests"], counts.global_store.requests as f64, Some(0.0)),
        pair(
            "sectors a store",
            each(gpu["store_sectors"], gpu["store_requests"]),
            counts.global_store.per_request(),
            Some(0.001),
        ),
        // The GPU counts passes that it repeats for other reasons too; and where ptxas makes one load of four, that one
        // takes more.
        pair(
            "wavefronts a shared load",
            each(gpu["shared_load_wavefronts"], gpu["shared_loads"]),
            counts.shared_load.per_request(),
            Some(0.2),
        ),
        pair(
            "wavefronts a shared store",
            each(gpu["shared_store_wavefronts"], gpu["shared_stores"]),
            counts.shared_store.per_request(),
            Some(0.2),
        ),
        // Most short branches become predicates.
        pair("divergent branches", gpu["divergent_branches"], counts.divergent_branches as f64, None),
        pair("warp instructions", gpu["warp_instructions"], counts.warp_instructions as f64, None),
        // Per thread there, per warp here.
        pair("f32 instructions", gpu["fp32"] / 32.0, of(Class::Float32), None),
        pair("f64 instructions", gpu["fp64"] / 32.0, of(Class::Float64), None),
    ]
}

#[test]
fn counters_and_times_beside_those_of_an_h200() {
    let recorded = recorded();
    let (mut counters, mut modelled) = (String::new(), String::new());
    let mut times = Vec::new();
    let mut faults = Vec::new();
    for (name, kernel, words) in cases() {
        let report = launch(&kernel, &words);
        let gpu = &recorded[&name];
        let _ = writeln!(counters, "{name}");
        for Pair { what, gpu, sim, bound } in pairs(gpu, &report) {
            if gpu == 0.0 && sim == 0.0 {
                continue;
            }
            let ratio = sim / gpu;
            let _ = writeln!(counters, "  {what:<28} {gpu:>12.2} {sim:>12.2} {ratio:>7.2}");
            if bound.is_some_and(|bound| (ratio - 1.0).abs() > bound) {
                faults.push(format!("{name}: {what}: {gpu} there, {sim} here"));
            }
        }
        let (gpu, sim) = (gpu["us"], report.modelled.nanoseconds / 1000.0);
        let _ = writeln!(
            modelled,
            "{name:<28} {gpu:>9.1} {sim:>9.1} {:>6.2}  {:?}",
            sim / gpu,
            report.modelled.bound
        );
        times.push((name, gpu, sim));
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
    let correlation = rank_correlation(&times);
    insta::assert_snapshot!(
        "counters_and_times",
        format!(
            "counter                              H200   simulated   ratio\n\n{counters}\n\
             microseconds                      H200  modelled  ratio  bound\n\n{modelled}\n\
             rank correlation of {} cases: {correlation:.3}\n",
            times.len()
        )
    );
    // Ranking is what a modelled time is for.
    assert!(correlation > 0.85, "{correlation}");
}

/// Spearman's: 1 where both order the cases alike.
fn rank_correlation(times: &[(String, f64, f64)]) -> f64 {
    let ranks = |value: fn(&(String, f64, f64)) -> f64| {
        let rank = |x: f64| {
            let (below, equal) = times
                .iter()
                .map(value)
                .fold((0, 0), |(below, equal), y| (below + usize::from(y < x), equal + usize::from(y == x)));
            below as f64 + (equal as f64 - 1.0) / 2.0
        };
        times.iter().map(value).map(rank).collect::<Vec<f64>>()
    };
    let (one, other) = (ranks(|t| t.1), ranks(|t| t.2));
    let mean = (times.len() as f64 - 1.0) / 2.0;
    let dot = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(x, y)| (x - mean) * (y - mean)).sum::<f64>();
    dot(&one, &other) / (dot(&one, &one) * dot(&other, &other)).sqrt()
}
