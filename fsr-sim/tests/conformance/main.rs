//! The same PTX on an H200 and here, output by output: the GPU's answers are test data.
//!
//! `scalar.txt` lists instruction forms, one a line: instruction, type of the result, types of the sources. Each
//! becomes a kernel of one instruction over 1024 inputs. What the GPU gave lies in `h200/`; `record.py` makes it anew
//! on a machine with a GPU (see its head). To add a form, add its line at the end and record again; until then it only
//! has to run, and the table tells how many do no more. `wide.txt` lists whole kernels
//! for what one instruction on registers does not show (`wide.rs`).

mod bounds;
mod dense;
mod form;
mod inputs;
mod observed;
mod promise;
mod wide;

use bounds::Bound;
use form::{Form, recording};
use fsr_sim::{Arg, Device, LaunchConfig, Module, Options, Profile};
use promise::{Promise, distance, promise};
use std::collections::BTreeMap;
use std::fmt::Write as _;

/// A form's results here, as they lie in memory. As many inputs as fill blocks of 256 threads.
fn run(form: &Form, inputs: &[Vec<u64>]) -> Result<Vec<u8>, String> {
    let options = Options { threads: 1, ..Options::default() };
    let device = Device::with_options(Profile::named("h200").unwrap(), options);
    let module = Module::parse(&form.ptx()).map_err(|e| e.to_string())?;
    let function = device.load(module).unwrap().function("k").unwrap();
    let count = inputs[0].len();
    let out = device.alloc((count * form.result.bytes()) as u64).unwrap();
    let mut args: Vec<Arg> = vec![out.into()];
    for (values, ty) in inputs.iter().zip(&form.sources) {
        let bytes: Vec<u8> = values.iter().flat_map(|v| v.to_le_bytes()[..ty.bytes()].to_vec()).collect();
        let buffer = device.alloc(bytes.len() as u64).unwrap();
        device.write(buffer, &bytes).unwrap();
        args.push(buffer.into());
    }
    args.resize(5, Arg::U64(0));
    let config = LaunchConfig::linear(count as u32 / 256, 256);
    device.launch(&function, config, &args).map_err(|e| e.to_string())?;
    let mut got = vec![0; count * form.result.bytes()];
    device.read(out, &mut got).unwrap();
    Ok(got)
}

fn words(bytes: &[u8], size: usize) -> impl Iterator<Item = u64> + '_ {
    bytes.chunks(size).map(|chunk| {
        let mut word = [0; 8];
        word[..chunk.len()].copy_from_slice(chunk);
        u64::from_le_bytes(word)
    })
}

/// The contents of an LZMA stream.
pub fn unpack(packed: &[u8]) -> Vec<u8> {
    let mut data = Vec::new();
    let mut reader = lzma_rust2::LzmaReader::new_mem_limit(packed, u32::MAX, None).unwrap();
    std::io::Read::read_to_end(&mut reader, &mut data).unwrap();
    data
}

/// A row of results that must be equal bit by bit.
#[derive(Default)]
struct Exact {
    forms: usize,
    results: usize,
    open: usize,
}

/// A row of results that must be near.
struct Near {
    bound: Bound,
    results: usize,
    equal: usize,
    gpu: f64,
    here: f64,
}

#[test]
fn scalar_instructions() {
    let recording = recording(&unpack(include_bytes!("h200/scalar.lzma")));
    let listed: Vec<&str> = include_str!("scalar.txt").lines().collect();
    let recorded: Vec<&str> = recording.iter().map(|(line, _)| line.as_str()).collect();
    let (known, unrecorded) = listed.split_at(recorded.len().min(listed.len()));
    assert_eq!(known, recorded, "the recording is of other forms: run record.py on a GPU");

    let mut exact: BTreeMap<String, Exact> = BTreeMap::new();
    let mut near: BTreeMap<String, Near> = BTreeMap::new();
    let mut open: BTreeMap<&str, usize> = BTreeMap::new();
    let (mut refused, mut wrong) = (0, Vec::new());
    for line in unrecorded {
        let form = Form::parse(line);
        if let Err(error) = run(&form, &inputs::inputs(&form)) {
            wrong.push(format!("{line}: {error}"));
        }
    }
    for (line, want) in &recording {
        let form = Form::parse(line);
        let inputs = inputs::inputs(&form);
        let got = run(&form, &inputs);
        if want.is_empty() {
            // The GPU's compiler refused it; so must we.
            refused += 1;
            if got.is_ok() {
                wrong.push(format!("{line}: no PTX to ptxas, but runs here"));
            }
            continue;
        }
        let got = match got {
            Ok(got) => got,
            Err(error) => {
                wrong.push(format!("{line}: {error}"));
                continue;
            }
        };
        let family = form.instruction().split('.').next().unwrap().to_owned();
        let mut approximate = false;
        let size = form.result.bytes();
        for (index, (want, got)) in words(want, size).zip(words(&got, size)).enumerate() {
            let values: Vec<u64> = inputs.iter().map(|source| source[index]).collect();
            let told = || format!("{line}: {values:x?} is {want:x} on the GPU, {got:x} here");
            match promise(&form, &values, want) {
                Promise::Bits => {
                    exact.entry(family.clone()).or_default().results += 1;
                    if got != want {
                        wrong.push(told());
                    }
                }
                Promise::Open(why) => {
                    *open.entry(why).or_default() += 1;
                    if why.contains("NaN") && !f64::from_bits(got).is_nan() {
                        wrong.push(told());
                    }
                    approximate |= !why.contains("NaN");
                    if !approximate {
                        let row = exact.entry(family.clone()).or_default();
                        (row.results, row.open) = (row.results + 1, row.open + 1);
                    }
                }
                Promise::Near { case, exact, bound } => {
                    approximate = true;
                    let row =
                        near.entry(case).or_insert(Near { bound, results: 0, equal: 0, gpu: 0.0, here: 0.0 });
                    row.results += 1;
                    row.equal += usize::from(got == want);
                    let (gpu, here) =
                        (distance(form.result, want, exact, bound), distance(form.result, got, exact, bound));
                    (row.gpu, row.here) = (row.gpu.max(gpu), row.here.max(here));
                    if !bound.keeps(here) || !bound.keeps(gpu) {
                        wrong.push(format!("{}; exact: {exact:e}", told()));
                    }
                }
            }
        }
        if !approximate {
            exact.entry(family).or_default().forms += 1;
        }
    }
    assert!(wrong.is_empty(), "{} differ:\n{}", wrong.len(), wrong[..wrong.len().min(40)].join("\n"));

    let mut table = format!("{} forms, of which ptxas refuses {refused}, and so do we\n", recording.len());
    writeln!(table, "{} more that no GPU has run yet: they only have to run\n", unrecorded.len()).unwrap();
    writeln!(table, "{:<10} {:>6} {:>8}  bits", "exact", "forms", "results").unwrap();
    for (family, row) in &exact {
        let open = if row.open > 0 { format!(" but {} open", row.open) } else { String::new() };
        writeln!(table, "{family:<10} {:>6} {:>8}  equal{open}", row.forms, row.results).unwrap();
    }
    writeln!(
        table,
        "\n{:<24} {:>8} {:>8} {:>12} {:>10} {:>10}",
        "approximate", "results", "equal", "bound", "h200", "here"
    )
    .unwrap();
    for (case, row) in &near {
        let (gpu, here) = (row.bound.show(row.gpu), row.bound.show(row.here));
        let bound = row.bound.to_string();
        writeln!(table, "{case:<24} {:>8} {:>8} {bound:>12} {gpu:>10} {here:>10}", row.results, row.equal)
            .unwrap();
    }
    writeln!(table, "\n{:<52} {:>8}", "open", "results").unwrap();
    for (why, count) in &open {
        writeln!(table, "{why:<52} {count:>8}").unwrap();
    }
    insta::assert_snapshot!(table);
}
