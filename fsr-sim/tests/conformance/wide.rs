//! Kernels of memory, atomic, warp, matrix and control instructions, against what an H200 gave.
//!
//! `wide.txt` has a head for each, `name | inputs | blocks | threads | bytes of output | rule`, and its body, which
//! `wide_frame.ptx` surrounds; `generate_wide.py` writes it, `record_wide.py` runs it on a GPU into `h200/wide.lzma`.

use crate::form::recording;
use crate::inputs::Numbers;
use crate::unpack;
use fsr_sim::{Device, LaunchConfig, LaunchError, Level, Module, Options, Profile};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

/// Bytes of input of each kernel.
const INPUT: usize = 8192;

struct Case {
    name: String,
    inputs: Vec<String>,
    blocks: u32,
    threads: u32,
    bytes: usize,
    rule: Rule,
    ptx: String,
}

/// What of a kernel's output is promised.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Rule {
    Bits,
    /// Matrix products whose order and width of summation the manual leaves open.
    Sum(Format),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Format {
    Half,
    Single,
    Double,
}

impl Format {
    fn bytes(self) -> usize {
        match self {
            Format::Half => 2,
            Format::Single => 4,
            Format::Double => 8,
        }
    }

    fn value(self, bytes: &[u8]) -> f64 {
        match self {
            Format::Half => half::f16::from_le_bytes(bytes.try_into().unwrap()).into(),
            Format::Single => f32::from_le_bytes(bytes.try_into().unwrap()).into(),
            Format::Double => f64::from_le_bytes(bytes.try_into().unwrap()),
        }
    }
}

fn cases() -> Vec<Case> {
    let frame = include_str!("wide_frame.ptx");
    let sections = include_str!("wide.txt").strip_prefix("== ").unwrap().split("\n== ");
    sections
        .map(|section| {
            let (head, body) = section.split_once('\n').unwrap();
            let [name, inputs, blocks, threads, bytes, rule] = head.split(" | ").collect::<Vec<_>>()[..]
            else {
                panic!("head {head}")
            };
            let top: Vec<&str> = body.lines().filter_map(|line| line.strip_prefix('^')).collect();
            let rest: Vec<&str> = body.lines().filter(|line| !line.starts_with('^')).collect();
            Case {
                name: name.to_owned(),
                inputs: inputs.split(',').map(str::to_owned).collect(),
                blocks: blocks.parse().unwrap(),
                threads: threads.parse().unwrap(),
                bytes: bytes.parse().unwrap(),
                rule: match rule {
                    "bits" => Rule::Bits,
                    "half sum" => Rule::Sum(Format::Half),
                    "sum" if name.contains("f64.f64") => Rule::Sum(Format::Double),
                    "sum" => Rule::Sum(Format::Single),
                    other => panic!("rule {other}"),
                },
                ptx: frame.replace("{top}", &top.join("\n")).replace("{body}", &rest.join("\n")),
            }
        })
        .collect()
}

/// `bits`; `fp8`: below 2 and no NaN; a format's numbers in [-1, 1], or with an `i` whole numbers up to 8.
fn fill(kind: &str, numbers: &mut Numbers, bytes: usize) -> Vec<u8> {
    let mask = match kind {
        "bits" => u64::MAX,
        "fp8" => 0xbfbf_bfbf_bfbf_bfbf,
        _ => 0,
    };
    if mask != 0 {
        return (0..bytes / 8).flat_map(|_| (numbers.next() & mask).to_le_bytes()).collect();
    }
    let stem = kind.strip_suffix('i').unwrap_or(kind);
    let unit = if stem == "bf16" { 128 } else { 1024 };
    let mut out = Vec::with_capacity(bytes);
    while out.len() < bytes {
        let n = (numbers.next() >> 32) as i64;
        let value =
            if stem == kind { (n % (2 * unit + 1) - unit) as f64 / unit as f64 } else { (n % 17 - 8) as f64 };
        match stem {
            "f16" => out.extend(half::f16::from_f64(value).to_le_bytes()),
            "bf16" => out.extend(half::bf16::from_f64(value).to_le_bytes()),
            "f32" => out.extend((value as f32).to_le_bytes()),
            "f64" => out.extend(value.to_le_bytes()),
            other => panic!("input {other}"),
        }
    }
    out
}

fn run(case: &Case) -> Result<Vec<u8>, LaunchError> {
    let options = Options { threads: 1, level: Level::Bounds, budget: 1 << 24, ..Options::default() };
    let device = Device::with_options(Profile::named("h200").unwrap(), options);
    let module = Module::parse(&case.ptx).unwrap_or_else(|e| panic!("{}: {e}", case.name));
    let function = device.load(module).unwrap().function("k").unwrap();
    let mut numbers = Numbers::of(&case.name);
    let each = INPUT / case.inputs.len();
    let data: Vec<u8> = case.inputs.iter().flat_map(|kind| fill(kind, &mut numbers, each)).collect();
    let source = device.alloc(INPUT as u64).unwrap();
    device.write(source, &data).unwrap();
    let target = device.alloc(case.bytes as u64).unwrap();
    device.write(target, &vec![0; case.bytes]).unwrap();
    let config = LaunchConfig::linear(case.blocks, case.threads);
    device.launch(&function, config, &[source.into(), target.into()])?;
    let mut got = vec![0; case.bytes];
    device.read(target, &mut got).unwrap();
    Ok(got)
}

/// `ld.global.v2`, `mma.sync`: what a row of the table sums up.
fn family(name: &str) -> String {
    let first = name.split([' ', ',']).next().unwrap();
    let words: Vec<&str> = first.split('.').collect();
    let wide = ["ld", "st", "atom", "red", "shfl", "vote", "match", "redux", "wmma", "cp", "mbarrier"];
    if wide.contains(&words[0]) { words[..words.len().min(2)].join(".") } else { words[0].to_owned() }
}

#[derive(Default)]
struct Row {
    kernels: usize,
    near: usize,
    /// Largest distance of sums, in units of the last place of the larger of 1 and the GPU's sum.
    ulp: f64,
}

/// Distance of two sums in units of the last place, where those below 1 count as 1: terms cancel.
fn distance(format: Format, want: f64, got: f64) -> f64 {
    let digits = match format {
        Format::Half => 10,
        Format::Single => 23,
        Format::Double => 52,
    };
    (want - got).abs() / (want.abs().max(1.0).log2().floor() - f64::from(digits)).exp2()
}

#[test]
fn memory_warp_matrix_and_control() {
    let recorded: BTreeMap<String, Vec<u8>> =
        recording(&unpack(include_bytes!("h200/wide.lzma"))).into_iter().collect();
    let cases = cases();
    let known = cases.iter().filter(|case| recorded.contains_key(&case.name)).count();
    assert_eq!(known, recorded.len(), "the recording is of other kernels: run record_wide.py on a GPU");
    let mut rows: BTreeMap<String, Row> = BTreeMap::new();
    let (mut wrong, mut refused, mut names) = (Vec::new(), 0, BTreeSet::new());
    for case in &cases {
        let got = match run(case) {
            Ok(got) => got,
            Err(LaunchError::Unsupported { instructions, .. }) => {
                refused += 1;
                names.extend(instructions.into_iter().map(|u| u.instruction));
                continue;
            }
            Err(error) => {
                wrong.push(format!("{}: {error}", case.name));
                continue;
            }
        };
        let Some(want) = recorded.get(&case.name) else { continue };
        let row = rows.entry(family(&case.name)).or_default();
        row.kernels += 1;
        match case.rule {
            _ if &got == want => {}
            Rule::Bits => {
                let at = got.iter().zip(want).position(|(a, b)| a != b).unwrap_or(0) & !3;
                let word = |b: &[u8]| {
                    b[at..b.len().min(at + 4)]
                        .iter()
                        .rev()
                        .fold(String::new(), |s, b| s + &format!("{b:02x}"))
                };
                wrong.push(format!(
                    "{}: byte {at} is {} on the GPU, {} here",
                    case.name,
                    word(want),
                    word(&got)
                ));
            }
            Rule::Sum(format) => {
                row.near += 1;
                let pairs = got.chunks(format.bytes()).zip(want.chunks(format.bytes()));
                // A NaN on one side is infinitely far.
                let far = pairs.map(|(g, w)| distance(format, format.value(w), format.value(g)));
                let far = far.map(|d| if d.is_nan() { f64::INFINITY } else { d }).fold(0.0, f64::max);
                row.ulp = row.ulp.max(far);
                if far > 8.0 {
                    wrong.push(format!("{}: a sum is {far:.1} ulp from the GPU's", case.name));
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{} differ:\n{}", wrong.len(), wrong.join("\n"));
    let mut table = format!(
        "{} kernels, of which {refused} are unsupported, and {} no GPU has run yet: they only have to run\n\n{:<16} {:>8} {:>8}\n",
        cases.len(),
        cases.len() - known,
        "",
        "kernels",
        "equal"
    );
    for (family, row) in &rows {
        let near = if row.near > 0 { format!("  others within {:.2} ulp", row.ulp) } else { String::new() };
        writeln!(table, "{family:<16} {:>8} {:>8}{near}", row.kernels, row.kernels - row.near).unwrap();
    }
    writeln!(table, "\nunsupported").unwrap();
    for name in &names {
        writeln!(table, "{name}").unwrap();
    }
    insta::assert_snapshot!(table);
}
