//! How far an H200's approximations are from the exact values, over all inputs (2^32 of f32, 2^16 of halves, 2^32 or more of
//! those with two operands or in f64), beside what the manual allows. `h200/approx.tsv` is what it gave.

use std::fmt::Write as _;

use crate::bounds::{self, Bound};

const ALL: &str = "all but the following";
const ORDINARY: &str = "divisor in [2^-126, 2^126]";

/// A row of the manual's table, and the instruction and range that it was observed over.
#[rustfmt::skip]
const OBSERVED: [(&str, &str, &str); 20] = [
    ("cos.approx within 2 pi", "cos.approx.f32", "within 2 pi"),
    ("cos.approx within 100 pi", "cos.approx.f32", "within 100 pi"),
    ("div.approx", "div.approx.f32", ORDINARY),
    ("div.full", "div.full.f32", ORDINARY),
    ("ex2.approx", "ex2.approx.f32", ALL),
    ("ex2.approx.f16", "ex2.approx.f16", ALL),
    ("ex2.approx.bf16", "ex2.approx.ftz.bf16", ALL),
    ("lg2.approx", "lg2.approx.f32", "other"),
    ("lg2.approx in (1/2, 2)", "lg2.approx.f32", "(1/2, 2)"),
    ("rcp.approx", "rcp.approx.f32", ALL),
    ("rcp.approx.f64", "rcp.approx.ftz.f64", "normal"),
    ("rsqrt.approx", "rsqrt.approx.f32", ALL),
    ("rsqrt.approx.f64", "rsqrt.approx.f64", "normal"),
    ("rsqrt.approx (ftz).f64", "rsqrt.approx.ftz.f64", "normal"),
    ("sin.approx within 2 pi", "sin.approx.f32", "within 2 pi"),
    ("sin.approx within 100 pi", "sin.approx.f32", "within 100 pi"),
    ("sqrt.approx", "sqrt.approx.f32", ALL),
    ("tanh.approx", "tanh.approx.f32", ALL),
    ("tanh.approx.f16", "tanh.approx.f16", ALL),
    ("tanh.approx.bf16", "tanh.approx.bf16", ALL),
];

#[test]
fn an_h200_is_about_as_exact_as_the_manual_says() {
    let text =
        std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/conformance/h200/approx.tsv"));
    let text = text.unwrap();
    let rows: Vec<Vec<&str>> = text.lines().map(|line| line.split('\t').collect()).collect();
    let mut table = String::new();
    for (case, instruction, range) in OBSERVED {
        let row = rows.iter().find(|row| row[0] == instruction && row[1] == range);
        let row = row.unwrap_or_else(|| panic!("{instruction} over {range} was not recorded"));
        let number = |column: usize| row[column].parse::<f64>().unwrap();
        let bound = bounds::bound(case);
        let distance = match bound {
            Bound::Ulp(_) => number(4),
            Bound::Relative(_) => number(6).exp2(),
            Bound::Absolute(_) => number(8).exp2(),
        };
        let word = if bound.keeps(distance) { "kept" } else { "exceeded" };
        // Nobody's recording is off by more than a hair of what the manual states.
        let hair = match bound {
            Bound::Ulp(n) => Bound::Ulp(n * 1.1),
            Bound::Relative(n) => Bound::Relative(n + 0.15),
            Bound::Absolute(n) => Bound::Absolute(n + 0.15),
        };
        assert!(hair.keeps(distance), "{case}: {}", bound.show(distance));
        writeln!(table, "{case:<26} {:>14} {:>10}  {word}", bound.to_string(), bound.show(distance)).unwrap();
    }
    assert_eq!(bounds::cases().count(), OBSERVED.len());
    insta::assert_snapshot!(table, @r"
    cos.approx within 2 pi        2^-20.5 abs    2^-20.4  exceeded
    cos.approx within 100 pi      2^-14.7 abs    2^-14.7  kept
    div.approx                          2 ulp   2.13 ulp  exceeded
    div.full                            2 ulp   2.13 ulp  exceeded
    ex2.approx                          2 ulp   2.06 ulp  exceeded
    ex2.approx.f16                 2^-9.9 rel    2^-10.0  kept
    ex2.approx.bf16                  2^-7 rel     2^-7.0  kept
    lg2.approx                      2^-22 rel    2^-22.1  kept
    lg2.approx in (1/2, 2)          2^-22 abs    2^-22.1  kept
    rcp.approx                          1 ulp   0.97 ulp  kept
    rcp.approx.f64                  2^-20 rel    2^-20.0  kept
    rsqrt.approx                  2^-22.9 rel    2^-22.9  kept
    rsqrt.approx.f64                    2 ulp   0.51 ulp  kept
    rsqrt.approx (ftz).f64          2^-20 rel    2^-20.0  kept
    sin.approx within 2 pi        2^-20.5 abs    2^-20.6  kept
    sin.approx within 100 pi      2^-14.7 abs    2^-14.7  kept
    sqrt.approx                     2^-23 rel    2^-23.3  kept
    tanh.approx                     2^-11 rel    2^-16.5  kept
    tanh.approx.f16             2^-10.987 abs    2^-11.0  kept
    tanh.approx.bf16                 2^-8 abs     2^-8.0  kept
    ");
}
