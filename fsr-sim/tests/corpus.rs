//! A corpus of faulty and clean kernels, compiled by nvcc: each faulty one is caught, with its kind and the line of its
//! CUDA source; each clean one is clean.
//!
//! Clean is what the H200 executes as written: barriers that whole warps reach by different lines meet there
//! (`barriers_of_whole_warps`), although the language asks for one line. In `corpus/sanitizer.csv`, a time-out is a kernel
//! that the tool left hanging, and `not run` one that is newer than the recording.
//!
//! A kernel's launch and the lines at fault are comments in its source (see `corpus/corpus.h`). To add one, write it
//! into a `.cu` of `corpus/` and run `corpus/build.sh`.

mod support;

use fsr_sim::{Arg, Fault, LaunchConfig, LaunchError, Level, Options};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use support::Bench;

/// A kernel of the corpus.
struct Case {
    file: String,
    name: String,
    launch: Vec<String>,
    /// Line, kind, and whether it must be reported (else it may).
    marks: Vec<(u32, String, bool)>,
}

impl Case {
    fn expected(&self) -> Option<&str> {
        self.marks.iter().find(|m| m.2).map(|m| m.1.as_str())
    }
}

fn corpus() -> Vec<Case> {
    let folder = format!("{}/tests/corpus", env!("CARGO_MANIFEST_DIR"));
    let mut files: Vec<_> = std::fs::read_dir(folder).unwrap().map(|e| e.unwrap().path()).collect();
    files.retain(|p| p.extension().is_some_and(|e| e == "cu"));
    files.sort();
    let mut cases: Vec<Case> = Vec::new();
    for path in files {
        let file = path.file_stem().unwrap().to_str().unwrap().to_owned();
        let mut launch = None;
        // Functions that kernels call come before them: their marks belong to the next kernel.
        let mut early = Vec::new();
        let mut inside = false;
        for (number, line) in std::fs::read_to_string(&path).unwrap().lines().enumerate() {
            let mut marks = Vec::new();
            for (sign, must) in [("//! ", true), ("//? ", false)] {
                for mark in line.split(sign).skip(1) {
                    let kind = mark.split("//").next().unwrap().trim().to_owned();
                    marks.push((number as u32 + 1, kind, must));
                }
            }
            if let Some(words) = line.strip_prefix("//: ") {
                launch = Some(words.split_whitespace().map(str::to_owned).collect());
                inside = false;
            } else if let Some(rest) = line.strip_prefix("K ") {
                let name = rest.split('(').next().unwrap().to_owned();
                let launch = launch.take().unwrap_or_else(|| panic!("{name} has no launch"));
                let marks = std::mem::take(&mut early);
                cases.push(Case { file: file.clone(), name, launch, marks });
                inside = true;
            }
            match cases.last_mut() {
                Some(case) if inside => case.marks.extend(marks),
                _ => early.extend(marks),
            }
            inside &= line != "}";
        }
    }
    cases
}

/// Launches a case; its faults, if any.
fn faults(case: &Case) -> Vec<Fault> {
    let endless = case.expected() == Some("instruction budget exhausted");
    let bench = Bench::with(Options {
        level: Level::Full,
        budget: if endless { 1 << 20 } else { 1 << 28 },
        // Failed assertions print.
        output: Some(std::sync::Arc::new(|_| {})),
        ..Options::default()
    });
    let path = format!("{}/tests/corpus/{}.ptx", env!("CARGO_MANIFEST_DIR"), case.file);
    let f = bench.compile(&std::fs::read_to_string(path).unwrap(), &case.name);
    let mut config = LaunchConfig { grid: [1; 3], block: [1; 3], shared_bytes: 0 };
    let mut args: Vec<Arg> = Vec::new();
    for word in &case.launch {
        let (kind, number) = word.split_at(1);
        let wide = number.strip_suffix('L');
        let n: u64 = wide.unwrap_or(number).parse().unwrap_or_else(|_| panic!("{}: {word}", case.name));
        match kind {
            "z" => args.push(bench.upload(&vec![0u32; n as usize]).into()),
            "r" => args.push(bench.upload(&(0..n as u32).collect::<Vec<_>>()).into()),
            "n" => args.push(bench.device.alloc(4 * n).unwrap().into()),
            "#" if wide.is_some() => args.push(n.into()),
            "#" => args.push((n as u32).into()),
            "t" | "x" => config.block[0] = n as u32,
            "y" => config.block[1] = n as u32,
            "b" => config.grid[0] = n as u32,
            "s" => config.shared_bytes = n as u32,
            _ => panic!("{}: {word}", case.name),
        }
    }
    match bench.device.launch(&f, config, &args) {
        Ok(_) => Vec::new(),
        Err(LaunchError::Fault(faults)) => faults.all,
        Err(other) => panic!("{}: {other}", case.name),
    }
}

#[test]
fn every_fault_is_caught_at_its_line_and_nothing_else() {
    let cases = corpus();
    let mut confusion: BTreeMap<String, BTreeMap<String, usize>> = BTreeMap::new();
    let mut wrong = Vec::new();
    let mut launches = BTreeSet::new();
    for case in &cases {
        assert!(launches.insert(&case.name), "{} is there twice", case.name);
        let found = faults(case);
        for fault in &found {
            let here = |m: &&(u32, String, bool)| {
                m.1 == fault.kind.name()
                    && fault.source.as_ref().is_some_and(|s| s.0 == format!("{}.cu", case.file) && s.1 == m.0)
            };
            if !case.marks.iter().any(|m| here(&m)) {
                wrong.push(format!("{}: unmarked: {fault}", case.file));
            }
        }
        let expected = case.expected().unwrap_or("clean");
        // What was found: the expected kind if it is there.
        let caught = found.iter().map(|f| f.kind.name()).find(|k| *k == expected);
        let got = caught.or(found.first().map(|f| f.kind.name())).unwrap_or("clean");
        if got != expected {
            wrong.push(format!("{}: {} is {expected}, found {got}", case.file, case.name));
        }
        *confusion.entry(expected.into()).or_default().entry(got.into()).or_default() += 1;
    }

    // What compute-sanitizer found on an H200, by kind of fault: each tool's words, and how often none of them spoke.
    let sanitizer =
        std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/corpus/sanitizer.csv")).unwrap();
    let sanitizer: BTreeMap<&str, Vec<&str>> = sanitizer
        .lines()
        .filter_map(|line| line.split_once(','))
        .map(|(kernel, tools)| (kernel, tools.split(',').collect()))
        .collect();
    let tools = &sanitizer["kernel"];
    let mut beside: BTreeMap<&str, BTreeMap<String, usize>> = BTreeMap::new();
    for case in &cases {
        let row = beside.entry(case.expected().unwrap_or("clean")).or_default();
        let Some(words) = sanitizer.get(case.name.as_str()) else {
            *row.entry("not run".into()).or_default() += 1;
            continue;
        };
        let found: Vec<String> = tools
            .iter()
            .zip(words)
            .filter(|(_, word)| **word != "clean")
            .map(|(tool, word)| format!("{tool}: {word}"))
            .collect();
        *row.entry(if found.is_empty() { "nothing".into() } else { found.join(" + ") }).or_default() += 1;
    }

    let faulty = cases.iter().filter(|c| c.expected().is_some()).count();
    let mut table = format!("{faulty} faulty and {} clean kernels\n\n", cases.len() - faulty);
    writeln!(table, "{:<32} found", "is").unwrap();
    for (expected, row) in &confusion {
        let cells: Vec<String> = row.iter().map(|(got, n)| format!("{got} {n}")).collect();
        writeln!(table, "{expected:<32} {}", cells.join(", ")).unwrap();
    }
    writeln!(table, "\n{:<32} found by compute-sanitizer", "is").unwrap();
    for (expected, row) in &beside {
        let cells: Vec<String> = row.iter().map(|(got, n)| format!("{got} {n}")).collect();
        writeln!(table, "{expected:<32} {}", cells.join(", ")).unwrap();
    }
    assert!(wrong.is_empty(), "{}\n{table}", wrong.join("\n"));
    insta::assert_snapshot!(table);
}
