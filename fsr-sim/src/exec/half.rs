//! Half precision and bfloat16, single and packed: computed exactly enough in double precision, rounded once.

use super::regs::{Regs, slow};
use super::soft::{BF16, F16, Format, Rounding, bf16_to_f32, f16_to_f32, two_sum};
use crate::program::Inst;

/// Operations, in `imm`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(i64)]
pub(crate) enum HalfOp {
    Add = 0,
    Sub = 1,
    Mul = 2,
    Fma = 3,
    Min = 4,
    Max = 5,
    Neg = 6,
    Abs = 7,
    Ex2 = 8,
    Tanh = 9,
}

/// Bits of `aux`.
pub(crate) const BRAIN: u32 = 1;
pub(crate) const PACKED: u32 = 2;
pub(crate) const HALF_FTZ: u32 = 4;
pub(crate) const HALF_SAT: u32 = 8;
pub(crate) const RELU: u32 = 16;
pub(crate) const NAN_WINS: u32 = 32;
/// Of a minimum or maximum: of the absolute values, with the sign of the product.
pub(crate) const XORSIGN: u32 = 64;

slow! {
    HALF = half;
}

/// The nearest value of `format` to `sum + error`.
fn round(format: Format, sum: f64, error: f64) -> u16 {
    format.round_sum(sum, error, Rounding::Nearest, false) as u16
}

/// One lane of one half; also what atomics on halves use.
pub(crate) fn apply(op: i64, flags: u32, a: u16, b: u16, c: u16) -> u16 {
    let brain = flags & BRAIN != 0;
    let format = if brain { BF16 } else { F16 };
    let flush = |bits: u16| {
        let exponent = if brain { 0x7f80 } else { 0x7c00 };
        if flags & HALF_FTZ != 0 && bits & exponent == 0 { bits & 0x8000 } else { bits }
    };
    let value = |bits: u16| f64::from(if brain { bf16_to_f32(bits) } else { f16_to_f32(bits) });
    let (mut a, mut b, c) = (flush(a), flush(b), flush(c));
    let sign = (a ^ b) & 0x8000;
    if flags & XORSIGN != 0 {
        (a, b) = (a & 0x7fff, b & 0x7fff);
    }
    let (x, y, z) = (value(a), value(b), value(c));
    let nan = format.nan as u16;
    let pick = |less: bool| {
        if x.is_nan() || y.is_nan() {
            return match (x.is_nan(), y.is_nan()) {
                _ if flags & NAN_WINS != 0 => nan,
                (true, true) => nan,
                (true, false) => b,
                _ => a,
            };
        }
        let a_first = if x == y { (a & 0x8000 != 0) == less } else { (x < y) == less };
        if a_first { a } else { b }
    };
    let mut out = match op {
        0 => {
            let (s, e) = two_sum(x, y);
            round(format, s, e)
        }
        1 => {
            let (s, e) = two_sum(x, -y);
            round(format, s, e)
        }
        2 => round(format, x * y, 0.0),
        3 => {
            let (s, e) = two_sum(x * y, z);
            round(format, s, if e.is_nan() { 0.0 } else { e })
        }
        4 => pick(true),
        5 => pick(false),
        6 => {
            if x.is_nan() {
                nan
            } else {
                a ^ 0x8000
            }
        }
        7 => {
            if x.is_nan() {
                nan
            } else {
                a & 0x7fff
            }
        }
        8 => round(format, x.exp2(), 0.0),
        _ => round(format, x.tanh(), 0.0),
    };
    out = flush(out);
    let result = value(out);
    if flags & XORSIGN != 0 && !result.is_nan() {
        out |= sign;
    }
    if flags & HALF_SAT != 0 {
        out = if result > 0.0 { if result < 1.0 { out } else { round(format, 1.0, 0.0) } } else { 0 };
    }
    if flags & RELU != 0 && !result.is_nan() && !(result > 0.0) {
        out = 0;
    }
    out
}

/// Both halves of a word, or the low one.
pub(crate) fn apply_word(op: i64, flags: u32, a: u32, b: u32, c: u32) -> u32 {
    let low = u32::from(apply(op, flags, a as u16, b as u16, c as u16));
    if flags & PACKED == 0 {
        return low;
    }
    let high = |x: u32| (x >> 16) as u16;
    low | u32::from(apply(op, flags, high(a), high(b), high(c))) << 16
}

fn half(r: &mut Regs, i: &Inst, m: u32) {
    let (a, b, c) = (*r.cells::<u32>(i.a), *r.cells::<u32>(i.b), *r.cells::<u32>(i.c));
    let mut out = [0u32; 32];
    for lane in (0..32).filter(|lane| m >> lane & 1 != 0) {
        out[lane] = apply_word(i.imm, i.aux, a[lane], b[lane], c[lane]);
    }
    r.write(i.d, &out, m);
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use rustc_apfloat::{Float, ieee};

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn arithmetic_agrees_with_a_soft_float(a: u16, b: u16, c: u16) {
            let half = |x: u16| ieee::Half::from_bits(x.into());
            let brain = |x: u16| ieee::BFloat::from_bits(x.into());
            let same = |got: u16, want: u128, exponent: u16| {
                got == want as u16 || (got & 0x7fff > exponent && want as u16 & 0x7fff > exponent)
            };
            for (op, want) in [
                (HalfOp::Add, (half(a) + half(b)).value),
                (HalfOp::Sub, (half(a) - half(b)).value),
                (HalfOp::Mul, (half(a) * half(b)).value),
                (HalfOp::Fma, half(a).mul_add(half(b), half(c)).value),
            ] {
                prop_assert!(same(apply(op as i64, 0, a, b, c), want.to_bits(), 0x7c00), "{op:?} {a:x} {b:x} {c:x}");
            }
            for (op, want) in [
                (HalfOp::Add, (brain(a) + brain(b)).value),
                (HalfOp::Mul, (brain(a) * brain(b)).value),
                (HalfOp::Fma, brain(a).mul_add(brain(b), brain(c)).value),
            ] {
                prop_assert!(same(apply(op as i64, BRAIN, a, b, c), want.to_bits(), 0x7f80), "{op:?} {a:x} {b:x} {c:x}");
            }
        }
    }
}
