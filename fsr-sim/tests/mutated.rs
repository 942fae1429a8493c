//! Real kernels with one thing changed: whatever still loads ends soon, says the same each time, and does the same at every
//! level that finds no fault.

mod support;

use fsr_sim::{Function, LaunchConfig, LaunchError, Level, Module, Options};
use std::sync::Arc;
use support::{Bench, Numbers};

/// Every kernel that a compiler wrote for these tests.
fn kernels() -> Vec<String> {
    let mut all = Vec::new();
    for folder in ["kernels", "corpus"] {
        let folder = format!("{}/tests/{folder}", env!("CARGO_MANIFEST_DIR"));
        let mut paths: Vec<_> = std::fs::read_dir(folder).unwrap().map(|e| e.unwrap().path()).collect();
        paths.retain(|path| path.extension().is_some_and(|extension| extension == "ptx"));
        paths.sort();
        all.extend(paths.iter().map(|path| std::fs::read_to_string(path).unwrap()));
    }
    all
}

/// Letters of a register's name: those of one class begin alike.
fn class(word: &str) -> Option<&str> {
    word.starts_with('%').then(|| word.trim_end_matches(|c: char| c.is_ascii_digit()))
}

/// The text with one word, line or pair of lines of one entry changed; its name.
fn mutate(text: &str, numbers: &mut Numbers) -> (String, String) {
    let mut below = |n: usize| (numbers.bits() % n as u64) as usize;
    let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
    let entries: Vec<usize> = (0..lines.len()).filter(|at| lines[*at].contains(".entry ")).collect();
    let entry = entries[below(entries.len())];
    let name = lines[entry].split(".entry ").nth(1).unwrap().trim_end_matches(['(', ')']).to_owned();
    let end = (entry..lines.len()).find(|at| lines[*at] == "}").unwrap();
    let mut body: Vec<usize> = (entry..end).collect();
    body.retain(|at| {
        lines[*at].ends_with(';') && !lines[*at].contains(".reg") && !lines[*at].contains(".param")
    });
    let (one, other) = (body[below(body.len())], body[below(body.len())]);
    let words = |line: &str| -> Vec<String> {
        line.split_inclusive([' ', '\t', ',', ';', '[', ']', '+']).map(str::to_owned).collect()
    };
    match below(5) {
        0 => lines.swap(one, other),
        1 => lines[one].clear(),
        2 => lines[one] = lines[other].clone(),
        // An operand by another of its class, or a number by another.
        _ => {
            let mut changed = words(&lines[one]);
            let at = below(changed.len());
            let bare = changed[at].trim_end_matches([' ', '\t', ',', ';', '[', ']', '+']).to_owned();
            let put = match class(&bare) {
                Some(class) => {
                    let others = body.iter().flat_map(|at| words(&lines[*at]));
                    let same: Vec<String> = others
                        .map(|word| word.trim_end_matches([' ', '\t', ',', ';', '[', ']', '+']).to_owned())
                        .filter(|word| self::class(word) == Some(class))
                        .collect();
                    same[below(same.len())].clone()
                }
                None if bare.parse::<i64>().is_ok() => {
                    let edges = ["0", "1", "-1", "3", "31", "32", "64", "4095", "2147483647"];
                    edges[below(edges.len())].to_owned()
                }
                None => bare.clone(),
            };
            changed[at] = changed[at].replacen(&bare, &put, 1);
            lines[one] = changed.concat();
        }
    }
    (lines.join("\n"), name)
}

/// How a launch ended, and what it left in memory.
#[derive(Debug, PartialEq)]
struct Outcome {
    fault: Option<String>,
    memory: Vec<u8>,
}

fn run(text: &str, entry: &str, level: Level) -> Option<Outcome> {
    let bench = Bench::with(Options {
        level,
        budget: 1 << 13,
        threads: 1,
        memory_bytes: Some(1 << 20),
        output: Some(Arc::new(|_: &str| {})),
        ..Options::default()
    });
    let module = bench.device.load(Module::parse(text).ok()?).ok()?;
    let function = module.function(entry)?;
    let data: Vec<u32> = (0..4096).map(|k| 0x3f80_0000 + k % 64).collect();
    let buffer = bench.upload(&data);
    let config = LaunchConfig { grid: [2, 1, 1], block: [32, 2, 1], shared_bytes: 1024 };
    let result = bench.device.launch_raw(&function, config, &params(&function, buffer));
    let fault = match result {
        Ok(_) => None,
        Err(LaunchError::Fault(faults)) => {
            Some(faults.all.iter().map(|fault| format!("{fault}\n")).collect())
        }
        Err(other) => Some(other.to_string()),
    };
    Some(Outcome { fault, memory: bench.download(buffer, 4 * data.len()) })
}

fn params(function: &Function, buffer: u64) -> Vec<u8> {
    let mut params = Vec::new();
    for param in function.params() {
        params.resize(param.offset as usize, 0);
        match param.size {
            8 => params.extend(buffer.to_le_bytes()),
            4 => params.extend(16u32.to_le_bytes()),
            size => params.resize(params.len() + size as usize, 1),
        }
    }
    params
}

#[test]
fn kernels_with_one_thing_changed() {
    let seed = std::env::var("SEED").ok().and_then(|seed| seed.parse().ok()).unwrap_or(1);
    let (all, mut numbers) = (kernels(), Numbers(seed));
    let (mut clean, mut faulty) = (0, 0);
    for round in 0..600 {
        let text = &all[(numbers.bits() % all.len() as u64) as usize];
        let (text, entry) = mutate(text, &mut numbers);
        let Some(full) = run(&text, &entry, Level::Full) else { continue };
        assert_eq!(run(&text, &entry, Level::Full).as_ref(), Some(&full), "round {round}, {entry}: twice");
        if full.fault.is_some() {
            faulty += 1;
            continue;
        }
        clean += 1;
        for level in [Level::Off, Level::Bounds] {
            assert_eq!(run(&text, &entry, level).as_ref(), Some(&full), "round {round}, {entry}: {level:?}");
        }
    }
    assert!(clean > 100 && faulty > 100, "{clean} clean, {faulty} faulty");
}
