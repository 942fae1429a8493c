//! Single and double precision, lane by lane: IEEE results, PTX's flushing and NaN rules, `.approx` within the
//! manual's bounds (computed in double precision and rounded once, so mostly correctly rounded).

use super::regs::{Regs, map1, map2, map3, op, slow};
use super::soft::{Rounding, two_sum};
use crate::program::Inst;
use rustc_apfloat::{Float, Round, ieee::Double};

/// Bits of `aux` on the general paths.
pub(crate) const FTZ: u32 = 1 << 8;
pub(crate) const SAT: u32 = 1 << 9;
pub(crate) const NEG_C: u32 = 1 << 10;
/// Of a minimum or maximum: a NaN wins; the lesser is wanted.
pub(crate) const NAN_WINS: u32 = 1 << 11;
pub(crate) const LESS: u32 = 1 << 12;

const NAN: f32 = f32::from_bits(0x7fff_ffff);

/// Single-precision NaN results are canonical.
#[inline(always)]
pub(crate) fn canon(x: f32) -> f32 {
    if x.is_nan() { NAN } else { x }
}

/// The same by bits: after a square root, LLVM takes the selection by `is_nan` to change nothing.
#[inline(always)]
fn canon_root(x: f32) -> f32 {
    if x.to_bits() & 0x7fff_ffff > 0x7f80_0000 { NAN } else { x }
}

/// Subnormals become zeros of their sign.
#[inline(always)]
pub(crate) fn flush(x: f32) -> f32 {
    if x.abs() < f32::MIN_POSITIVE { f32::from_bits(x.to_bits() & 0x8000_0000) } else { x }
}

#[inline(always)]
fn saturate(x: f32) -> f32 {
    // NaN becomes +0; so does -0.
    if x > 0.0 { if x < 1.0 { x } else { 1.0 } } else { 0.0 }
}

#[inline(always)]
pub(crate) fn min32(a: f32, b: f32) -> f32 {
    let less = if a == b {
        if a.is_sign_negative() { a } else { b }
    } else if a < b {
        a
    } else {
        b
    };
    if a.is_nan() {
        canon(b)
    } else if b.is_nan() {
        a
    } else {
        less
    }
}

#[inline(always)]
pub(crate) fn max32(a: f32, b: f32) -> f32 {
    let more = if a == b {
        if a.is_sign_negative() { b } else { a }
    } else if a > b {
        a
    } else {
        b
    };
    if a.is_nan() {
        canon(b)
    } else if b.is_nan() {
        a
    } else {
        more
    }
}

#[inline(always)]
pub(crate) fn min64(a: f64, b: f64) -> f64 {
    let less = if a == b {
        if a.is_sign_negative() { a } else { b }
    } else if a < b {
        a
    } else {
        b
    };
    if a.is_nan() {
        b
    } else if b.is_nan() {
        a
    } else {
        less
    }
}

#[inline(always)]
pub(crate) fn max64(a: f64, b: f64) -> f64 {
    let more = if a == b {
        if a.is_sign_negative() { b } else { a }
    } else if a > b {
        a
    } else {
        b
    };
    if a.is_nan() {
        b
    } else if b.is_nan() {
        a
    } else {
        more
    }
}

/// 2^x: argument split at the nearest integer, Taylor series to 2e-13.
#[inline(always)]
pub(crate) fn ex2(x: f32) -> f32 {
    let x = f64::from(x).clamp(-1000.0, 1000.0);
    // Adding and subtracting 1.5 * 2^52 rounds to an integer.
    const SHIFT: f64 = 6_755_399_441_055_744.0;
    let shifted = x + SHIFT;
    let n = shifted - SHIFT;
    let t = (x - n) * std::f64::consts::LN_2;
    let mut p = 1.0 / 3_628_800.0;
    for k in [362_880.0, 40_320.0, 5_040.0, 720.0, 120.0, 24.0, 6.0, 2.0, 1.0, 1.0] {
        p = p * t + 1.0 / k;
    }
    let scale = f64::from_bits(((shifted.to_bits() as i64 & 0xffff_ffff) as i32 as i64 + 1023 << 52) as u64);
    (p * scale) as f32
}

/// log2(x): mantissa within [sqrt(1/2), sqrt(2)), atanh series.
#[inline(always)]
pub(crate) fn lg2(x: f32) -> f32 {
    let wide = f64::from(x);
    let bits = wide.to_bits() as i64;
    let offset = bits.wrapping_sub(0x3fe6_a09e_667f_3bcd);
    let exponent = offset >> 52;
    let m = f64::from_bits(bits.wrapping_sub(exponent << 52) as u64);
    let s = (m - 1.0) / (m + 1.0);
    let z = s * s;
    let mut p = 1.0 / 21.0;
    for k in [19.0, 17.0, 15.0, 13.0, 11.0, 9.0, 7.0, 5.0, 3.0, 1.0] {
        p = p * z + 1.0 / k;
    }
    let value = exponent as f64 + 2.0 * std::f64::consts::LOG2_E * s * p;
    if x < 0.0 || x.is_nan() {
        NAN
    } else if x == 0.0 {
        f32::NEG_INFINITY
    } else if x == f32::INFINITY {
        x
    } else {
        value as f32
    }
}

#[inline(always)]
fn div_approx(a: f32, b: f32) -> f32 {
    // The manual: beyond 2^126 the quotient is flushed to zero (NaN for an infinite dividend).
    if b.abs() > 8.507_059e37 && b.is_finite() {
        if a.is_infinite() { NAN } else { canon(a * 0.0 * b.signum()) }
    } else {
        canon(a / b)
    }
}

op! {
    ADD_F32 = map2::<f32, f32, f32>, |a, b| canon(a + b);
    SUB_F32 = map2::<f32, f32, f32>, |a, b| canon(a - b);
    MUL_F32 = map2::<f32, f32, f32>, |a, b| canon(a * b);
    FMA_F32 = map3::<f32, f32, f32, f32>, |a, b, c| canon(a.mul_add(b, c));
    ADD_FTZ_F32 = map2::<f32, f32, f32>, |a, b| canon(flush(flush(a) + flush(b)));
    SUB_FTZ_F32 = map2::<f32, f32, f32>, |a, b| canon(flush(flush(a) - flush(b)));
    MUL_FTZ_F32 = map2::<f32, f32, f32>, |a, b| canon(flush(flush(a) * flush(b)));
    FMA_FTZ_F32 = map3::<f32, f32, f32, f32>, |a, b, c| canon(flush(flush(a).mul_add(flush(b), flush(c))));
    FMA_RM_F32 = map3::<f32, f32, f32, f32>, |a, b, c| fma_directed(a, b, c, Rounding::Down);
    FMA_RZ_F32 = map3::<f32, f32, f32, f32>, |a, b, c| fma_directed(a, b, c, Rounding::Zero);
    ADD_F64 = map2::<f64, f64, f64>, |a, b| a + b;
    SUB_F64 = map2::<f64, f64, f64>, |a, b| a - b;
    MUL_F64 = map2::<f64, f64, f64>, |a, b| a * b;
    FMA_F64 = map3::<f64, f64, f64, f64>, |a, b, c| a.mul_add(b, c);

    DIV_F32 = map2::<f32, f32, f32>, |a, b| canon(a / b);
    DIV_FTZ_F32 = map2::<f32, f32, f32>, |a, b| canon(flush(flush(a) / flush(b)));
    DIV_APPROX_F32 = map2::<f32, f32, f32>, |a, b| div_approx(a, b);
    DIV_APPROX_FTZ_F32 = map2::<f32, f32, f32>, |a, b| canon(flush(div_approx(flush(a), flush(b))));
    DIV_F64 = map2::<f64, f64, f64>, |a, b| a / b;
    RCP_F32 = map1::<f32, f32>, |a| canon(1.0 / a);
    RCP_FTZ_F32 = map1::<f32, f32>, |a| canon(flush(1.0 / flush(a)));
    RCP_F64 = map1::<f64, f64>, |a| 1.0 / a;
    RCP_APPROX_FTZ_F64 = map1::<f64, f64>, |a| gross(a, |x| 1.0 / x);
    RSQRT_APPROX_FTZ_F64 = map1::<f64, f64>, |a| gross(a, |x| 1.0 / x.sqrt());
    RSQRT_APPROX_F64 = map1::<f64, f64>, |a| 1.0 / a.sqrt();
    SQRT_F32 = map1::<f32, f32>, |a| canon_root(a.sqrt());
    SQRT_FTZ_F32 = map1::<f32, f32>, |a| canon_root(flush(flush(a).sqrt()));
    SQRT_F64 = map1::<f64, f64>, |a| a.sqrt();
    RSQRT_F32 = map1::<f32, f32>, |a| canon((1.0 / f64::from(a).sqrt()) as f32);
    RSQRT_FTZ_F32 = map1::<f32, f32>, |a| canon((1.0 / f64::from(flush(a)).sqrt()) as f32);
    EX2_F32 = map1::<f32, f32>, |a| canon(ex2(a));
    EX2_FTZ_F32 = map1::<f32, f32>, |a| canon(flush(ex2(flush(a))));
    LG2_F32 = map1::<f32, f32>, |a| lg2(a);
    LG2_FTZ_F32 = map1::<f32, f32>, |a| canon(flush(lg2(flush(a))));
    SIN_F32 = map1::<f32, f32>, |a| canon(f64::from(a).sin() as f32);
    SIN_FTZ_F32 = map1::<f32, f32>, |a| canon(flush(f64::from(flush(a)).sin() as f32));
    COS_F32 = map1::<f32, f32>, |a| canon(f64::from(a).cos() as f32);
    COS_FTZ_F32 = map1::<f32, f32>, |a| canon(flush(f64::from(flush(a)).cos() as f32));
    TANH_F32 = map1::<f32, f32>, |a| canon(f64::from(a).tanh() as f32);

    MIN_F32 = map2::<f32, f32, f32>, |a, b| min32(a, b);
    MAX_F32 = map2::<f32, f32, f32>, |a, b| max32(a, b);
    MIN_FTZ_F32 = map2::<f32, f32, f32>, |a, b| min32(flush(a), flush(b));
    MAX_FTZ_F32 = map2::<f32, f32, f32>, |a, b| max32(flush(a), flush(b));
    MIN_NAN_F32 = map2::<f32, f32, f32>, |a, b| if a.is_nan() || b.is_nan() { NAN } else { min32(a, b) };
    MAX_NAN_F32 = map2::<f32, f32, f32>, |a, b| if a.is_nan() || b.is_nan() { NAN } else { max32(a, b) };
    MIN_NAN_FTZ_F32 = map2::<f32, f32, f32>,
        |a, b| if a.is_nan() || b.is_nan() { NAN } else { min32(flush(a), flush(b)) };
    MAX_NAN_FTZ_F32 = map2::<f32, f32, f32>,
        |a, b| if a.is_nan() || b.is_nan() { NAN } else { max32(flush(a), flush(b)) };
    MIN_F64 = map2::<f64, f64, f64>, |a, b| min64(a, b);
    MAX_F64 = map2::<f64, f64, f64>, |a, b| max64(a, b);

    NEG_F32 = map1::<f32, f32>, |a| canon(-a);
    NEG_FTZ_F32 = map1::<f32, f32>, |a| canon(flush(-a));
    NEG_F64 = map1::<f64, f64>, |a| -a;
    ABS_F32 = map1::<f32, f32>, |a| canon(a.abs());
    ABS_FTZ_F32 = map1::<f32, f32>, |a| canon(flush(a.abs()));
    ABS_F64 = map1::<f64, f64>, |a| a.abs();
    // PTX: the sign of the first operand goes onto the second.
    COPYSIGN_F32 = map2::<u32, u32, u32>, |a, b| (a & 0x8000_0000) | (b & 0x7fff_ffff);
    COPYSIGN_F64 = map2::<u64, u64, u64>, |a, b| (a & (1 << 63)) | (b & !(1 << 63));
}

slow! {
    ADD_ANY_F32 = add_any_f32;
    MUL_ANY_F32 = mul_any_f32;
    FMA_ANY_F32 = fma_any_f32;
    DIV_ANY_F32 = div_any_f32;
    SQRT_ANY_F32 = sqrt_any_f32;
    ADD_ANY_F64 = add_any_f64;
    MUL_ANY_F64 = mul_any_f64;
    FMA_ANY_F64 = fma_any_f64;
    DIV_ANY_F64 = div_any_f64;
    SQRT_ANY_F64 = sqrt_any_f64;
    TESTP_F32 = testp_f32;
    TESTP_F64 = testp_f64;
    MIN_MAX_XORSIGN_F32 = min_max_xorsign_f32;
}

/// The documented gross approximation: only the high words of argument and result count.
#[inline(always)]
fn gross(a: f64, f: impl Fn(f64) -> f64) -> f64 {
    let flush = |x: f64| if x.abs() < f64::MIN_POSITIVE { 0f64.copysign(x) } else { x };
    let high = |x: f64| f64::from_bits(x.to_bits() & 0xffff_ffff_0000_0000);
    high(flush(f(flush(high(a)))))
}

/// Rounds `sum + error` (exact) to single precision.
#[inline(always)]
fn direct(sum: f64, error: f64, mode: Rounding) -> f32 {
    let r = sum as f32;
    let diff = sum - f64::from(r);
    let above = diff > 0.0 || (diff == 0.0 && error > 0.0);
    let below = diff < 0.0 || (diff == 0.0 && error < 0.0);
    let up = r.next_up();
    let down = r.next_down();
    match mode {
        Rounding::Up => {
            if above {
                up
            } else {
                r
            }
        }
        Rounding::Down => {
            if below {
                down
            } else {
                r
            }
        }
        Rounding::Zero => {
            let positive = sum > 0.0;
            if positive && below {
                down
            } else if !positive && above {
                up
            } else {
                r
            }
        }
        _ => r,
    }
}

#[inline(always)]
fn sum_directed(a: f64, b: f64, mode: Rounding) -> f32 {
    let (s, e) = two_sum(a, b);
    let r = direct(s, e, mode);
    let cancelled = s == 0.0 && e == 0.0 && a.is_sign_negative() != b.is_sign_negative();
    canon(if cancelled && mode == Rounding::Down { -0.0 } else { r })
}

#[inline(always)]
fn fma_directed(a: f32, b: f32, c: f32, mode: Rounding) -> f32 {
    sum_directed(f64::from(a) * f64::from(b), c.into(), mode)
}

fn modes(i: &Inst) -> (Rounding, impl Fn(f32) -> f32 + Copy, impl Fn(f32) -> f32 + Copy) {
    let (ftz, sat) = (i.aux & FTZ != 0, i.aux & SAT != 0);
    let before = move |x: f32| if ftz { flush(x) } else { x };
    let after = move |x: f32| {
        let x = canon(if ftz { flush(x) } else { x });
        if sat { saturate(x) } else { x }
    };
    (Rounding::from_index(i.aux.into()), before, after)
}

fn add_any_f32(r: &mut Regs, i: &Inst, m: u32) {
    let (mode, before, after) = modes(i);
    let sign = if i.aux & NEG_C != 0 { -1.0 } else { 1.0 };
    map2::<f32, f32, f32>(r, i, m, |a, b| {
        after(if mode == Rounding::Nearest {
            before(a) + sign * before(b)
        } else {
            sum_directed(before(a).into(), f64::from(sign * before(b)), mode)
        })
    });
}

/// `.xorsign.abs`: of the absolute values, with the sign of the product.
fn min_max_xorsign_f32(r: &mut Regs, i: &Inst, m: u32) {
    let before = |x: f32| if i.aux & FTZ != 0 { flush(x) } else { x };
    map2::<f32, f32, f32>(r, i, m, |a, b| {
        if i.aux & NAN_WINS != 0 && (a.is_nan() || b.is_nan()) {
            return NAN;
        }
        let (x, y) = (before(a).abs(), before(b).abs());
        let taken = if i.aux & LESS != 0 { min32(x, y) } else { max32(x, y) };
        if taken.is_nan() { NAN } else { taken.copysign(f32::from_bits(a.to_bits() ^ b.to_bits())) }
    });
}

fn mul_any_f32(r: &mut Regs, i: &Inst, m: u32) {
    let (mode, before, after) = modes(i);
    map2::<f32, f32, f32>(r, i, m, |a, b| {
        after(direct(f64::from(before(a)) * f64::from(before(b)), 0.0, mode))
    });
}

fn fma_any_f32(r: &mut Regs, i: &Inst, m: u32) {
    let (mode, before, after) = modes(i);
    map3::<f32, f32, f32, f32>(r, i, m, |a, b, c| {
        let (a, b, c) = (before(a), before(b), before(c));
        after(if mode == Rounding::Nearest { a.mul_add(b, c) } else { fma_directed(a, b, c, mode) })
    });
}

/// Moves a correctly rounded result by the sign of what was rounded away.
fn nudge(q: f32, excess: f64, mode: Rounding) -> f32 {
    match mode {
        Rounding::Up if excess > 0.0 => q.next_up(),
        Rounding::Down if excess < 0.0 => q.next_down(),
        Rounding::Zero if q > 0.0 && excess < 0.0 => q.next_down(),
        Rounding::Zero if q < 0.0 && excess > 0.0 => q.next_up(),
        // A quotient that underflowed to zero still has a direction.
        _ => q,
    }
}

fn div_any_f32(r: &mut Regs, i: &Inst, m: u32) {
    let (mode, before, after) = modes(i);
    map2::<f32, f32, f32>(r, i, m, |a, b| {
        let (a, b) = (before(a), before(b));
        let q = a / b;
        let rest = (-f64::from(q)).mul_add(b.into(), a.into());
        after(nudge(q, if b < 0.0 { -rest } else { rest }, mode))
    });
}

fn sqrt_any_f32(r: &mut Regs, i: &Inst, m: u32) {
    let (mode, before, after) = modes(i);
    map1::<f32, f32>(r, i, m, |a| {
        let a = before(a);
        let q = a.sqrt();
        after(nudge(q, (-f64::from(q)).mul_add(q.into(), a.into()), mode))
    });
}

fn round_of(i: &Inst) -> Round {
    match Rounding::from_index(i.aux.into()) {
        Rounding::Nearest | Rounding::Away => Round::NearestTiesToEven,
        Rounding::Zero => Round::TowardZero,
        Rounding::Down => Round::TowardNegative,
        Rounding::Up => Round::TowardPositive,
    }
}

fn soft(x: f64) -> Double {
    Double::from_bits(x.to_bits().into())
}

fn hard(x: Double) -> f64 {
    f64::from_bits(x.to_bits() as u64)
}

fn add_any_f64(r: &mut Regs, i: &Inst, m: u32) {
    let round = round_of(i);
    let sign = if i.aux & NEG_C != 0 { -1.0 } else { 1.0 };
    map2::<f64, f64, f64>(r, i, m, |a, b| hard(soft(a).add_r(soft(sign * b), round).value));
}

fn mul_any_f64(r: &mut Regs, i: &Inst, m: u32) {
    let round = round_of(i);
    map2::<f64, f64, f64>(r, i, m, |a, b| hard(soft(a).mul_r(soft(b), round).value));
}

fn fma_any_f64(r: &mut Regs, i: &Inst, m: u32) {
    let round = round_of(i);
    map3::<f64, f64, f64, f64>(r, i, m, |a, b, c| hard(soft(a).mul_add_r(soft(b), soft(c), round).value));
}

fn div_any_f64(r: &mut Regs, i: &Inst, m: u32) {
    let round = round_of(i);
    map2::<f64, f64, f64>(r, i, m, |a, b| hard(soft(a).div_r(soft(b), round).value));
}

fn sqrt_any_f64(r: &mut Regs, i: &Inst, m: u32) {
    let mode = Rounding::from_index(i.aux.into());
    map1::<f64, f64>(r, i, m, |a| {
        let q = a.sqrt();
        if !q.is_finite() || q == 0.0 {
            return q;
        }
        // Scaled away from the subnormals, the remainder is exact.
        let scale = if a < 1e-200 { 2f64.powi(600) } else { 1.0 };
        let (a, p) = (a * scale, q * scale.sqrt());
        let excess = (-p).mul_add(p, a);
        match mode {
            Rounding::Up if excess > 0.0 => q.next_up(),
            Rounding::Down | Rounding::Zero if excess < 0.0 => q.next_down(),
            _ => q,
        }
    });
}

/// `testp`: kind in `imm`.
fn testp_f32(r: &mut Regs, i: &Inst, m: u32) {
    let a = r.read::<f32>(i.a);
    let mut out = 0u32;
    for (lane, x) in a.into_iter().enumerate() {
        out |= u32::from(test(x.classify(), x.is_sign_negative(), i.imm)) << lane;
    }
    r.set_pred(i.d, out, m);
}

fn testp_f64(r: &mut Regs, i: &Inst, m: u32) {
    let a = r.read::<f64>(i.a);
    let mut out = 0u32;
    for (lane, x) in a.into_iter().enumerate() {
        out |= u32::from(test(x.classify(), x.is_sign_negative(), i.imm)) << lane;
    }
    r.set_pred(i.d, out, m);
}

fn test(class: std::num::FpCategory, _negative: bool, kind: i64) -> bool {
    use std::num::FpCategory::*;
    match kind {
        0 => !matches!(class, Nan | Infinite),
        1 => class == Infinite,
        2 => class != Nan,
        3 => class == Nan,
        // The manual counts zeros as normal.
        4 => matches!(class, Normal | Zero),
        _ => class == Subnormal,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use rustc_apfloat::ieee::Single;

    fn exact(a: f32, b: f32, c: f32, round: Round) -> u32 {
        let s = |x: f32| Single::from_bits(x.to_bits().into());
        s(a).mul_add_r(s(b), s(c), round).value.to_bits() as u32
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn directed_fma_agrees_with_a_soft_float(a in any::<f32>(), b in any::<f32>(), c in any::<f32>()) {
            for (mode, round) in [
                (Rounding::Down, Round::TowardNegative),
                (Rounding::Up, Round::TowardPositive),
                (Rounding::Zero, Round::TowardZero),
            ] {
                let got = fma_directed(a, b, c, mode);
                let want = f32::from_bits(exact(a, b, c, round));
                prop_assert!(got.to_bits() == want.to_bits() || (got.is_nan() && want.is_nan()), "{a} {b} {c} {mode:?}: {got} {want}");
            }
        }

        #[test]
        fn approximations_keep_the_manuals_bounds(x in -140f32..127.9, y in 0f32..f32::MAX) {
            let want = f64::from(x).exp2();
            prop_assert!((f64::from(ex2(x)) - want).abs() <= want * 2f64.powi(-22) + 1e-45);
            let want = f64::from(y).log2();
            prop_assert!((f64::from(lg2(y)) - want).abs() <= want.abs() * 2f64.powi(-23) + 2f64.powi(-23));
        }
    }

    #[test]
    fn edges_of_the_approximations() {
        assert_eq!(ex2(f32::NEG_INFINITY), 0.0);
        assert_eq!(ex2(f32::INFINITY), f32::INFINITY);
        assert_eq!(ex2(-0.0), 1.0);
        assert_eq!(ex2(10.0), 1024.0);
        assert_eq!(lg2(0.0), f32::NEG_INFINITY);
        assert_eq!(lg2(1.0), 0.0);
        assert_eq!(lg2(f32::from_bits(1)), -149.0);
        assert!(lg2(-1.0).is_nan());
    }
}
