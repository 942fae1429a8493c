//! Approximations over dense inputs: all of 16-bit types, every exponent and a fine net of significands of wider ones.
//! What is computed here has to keep the manual's bounds by itself, wherever hardware stands.

use crate::bounds::{self, Bound};
use crate::form::Form;
use crate::inputs::Numbers;
use crate::promise::{Promise, distance, promise};
use crate::{run, words};
use std::collections::BTreeMap;
use std::fmt::Write as _;

/// Inputs of a form whose sources have more than 16 bits.
const MANY: usize = 1 << 18;

/// Every approximation: the forms of `scalar.txt`, and those of halves.
fn forms() -> Vec<Form> {
    let scalar = include_str!("scalar.txt").lines().filter(|l| l.contains(".approx") || l.contains(".full"));
    let halves = [
        "ex2.approx.f16|f16|f16",
        "ex2.approx.ftz.bf16|bf16|bf16",
        "tanh.approx.f16|f16|f16",
        "tanh.approx.bf16|bf16|bf16",
    ];
    scalar.chain(halves).map(Form::parse).collect()
}

fn inputs(form: &Form) -> Vec<Vec<u64>> {
    let mut numbers = Numbers::of(&form.text);
    let bits = 8 * form.sources[0].bytes() as u32;
    if bits == 16 {
        return vec![(0..1 << 16).collect()];
    }
    // One number out of each of as many equal parts of all bit patterns.
    let net = |k: usize, numbers: &mut Numbers| {
        let part = (k as u64) << (bits - MANY.ilog2());
        part | numbers.next() >> (64 - bits + MANY.ilog2())
    };
    let mut all = vec![(0..MANY).map(|k| net(k, &mut numbers)).collect::<Vec<u64>>()];
    if form.sources.len() == 2 {
        // Divisors of like exponents, so that quotients are numbers: half of them within 2^16.
        let near = |x: u64, n: u64| {
            let exponent = (x >> 23 & 0xff) as i64 + (n >> 40) as i64 % 33 - 16;
            n & 0x807f_ffff | (exponent.clamp(0, 255) as u64) << 23
        };
        let first = all[0].clone();
        all.push(
            first
                .into_iter()
                .enumerate()
                .map(|(k, x)| {
                    let n = numbers.next();
                    if k % 2 == 0 { near(x, n) } else { n & 0xffff_ffff }
                })
                .collect(),
        );
    }
    all
}

struct Row {
    bound: Bound,
    results: usize,
    rounded: usize,
    worst: f64,
}

#[test]
fn approximations_keep_the_manuals_bounds() {
    let mut rows: BTreeMap<String, Row> = BTreeMap::new();
    let mut wrong = Vec::new();
    for form in forms() {
        let inputs = inputs(&form);
        let got = run(&form, &inputs).unwrap_or_else(|e| panic!("{}: {e}", form.text));
        for (index, got) in words(&got, form.result.bytes()).enumerate() {
            let values: Vec<u64> = inputs.iter().map(|source| source[index]).collect();
            let Promise::Near { case, exact, bound } = promise(&form, &values, got) else { continue };
            let far = distance(form.result, got, exact, bound);
            let row = rows.entry(case).or_insert(Row { bound, results: 0, rounded: 0, worst: 0.0 });
            row.results += 1;
            row.rounded += usize::from(distance(form.result, got, exact, Bound::Ulp(0.5)) <= 0.5);
            row.worst = row.worst.max(far);
            if !bound.keeps(far) {
                wrong.push(format!("{}: {values:x?} gives {got:x}, exact is {exact:e}", form.text));
            }
        }
    }
    assert!(wrong.is_empty(), "{} are too far:\n{}", wrong.len(), wrong[..wrong.len().min(20)].join("\n"));
    let missing: Vec<&str> = bounds::cases().filter(|case| !rows.contains_key(*case)).collect();
    assert!(missing.is_empty(), "nothing shows {missing:?}");
    let mut table = format!(
        "{:<24} {:>8} {:>8} {:>13} {:>9}  the bound's section\n",
        "", "results", "nearest", "bound", "here"
    );
    for (case, row) in &rows {
        let (bound, worst) = (row.bound.to_string(), row.bound.show(row.worst));
        let section = bounds::section(case);
        writeln!(table, "{case:<24} {:>8} {:>8} {bound:>13} {worst:>9}  {section}", row.results, row.rounded)
            .unwrap();
    }
    insta::assert_snapshot!(table);
}

/// Packed halves are two halves.
#[test]
fn packed_halves_are_approximated_like_single_ones() {
    for (name, ty) in
        [("ex2.approx", "f16"), ("tanh.approx", "f16"), ("ex2.approx.ftz", "bf16"), ("tanh.approx", "bf16")]
    {
        let single = Form::parse(&format!("{name}.{ty}|{ty}|{ty}"));
        let packed = Form::parse(&format!("{name}.{ty}x2|{ty}x2|{ty}x2"));
        let all: Vec<u64> = (0..1 << 16).collect();
        let pairs = all.iter().map(|x| x | (x ^ 0x8005) << 16).collect();
        let one: Vec<u64> = words(&run(&single, &[all]).unwrap(), 2).collect();
        for (x, both) in words(&run(&packed, &[pairs]).unwrap(), 4).enumerate() {
            assert_eq!(both, one[x] | one[x ^ 0x8005] << 16, "{name}.{ty}x2 of {x:x}");
        }
    }
}
