//! `setp`, `set` and `slct`: comparisons into predicates or values.

use super::float::flush;
use super::regs::{Lane, Regs, op, slow, test2};
use super::soft::{bf16_to_f32, f16_to_f32};
use crate::program::{Inst, NONE};

/// How a comparison's result meets the third predicate and where it goes. In `aux`: bits 0-1 the operator (none,
/// and, or, xor), bit 2 negates the third predicate `c`. `d` takes the result and `target` its complement.
#[inline(always)]
fn finish(r: &mut Regs, i: &Inst, m: u32, test: u32) {
    let (yes, no) = if i.aux & 3 == 0 {
        (test, !test)
    } else {
        let c = r.pred(i.c) ^ 0u32.wrapping_sub(i.aux >> 2 & 1);
        match i.aux & 3 {
            1 => (test & c, !test & c),
            2 => (test | c, !test | c),
            _ => (test ^ c, !test ^ c),
        }
    };
    r.set_pred(i.d, yes, m);
    if i.target != NONE {
        r.set_pred(i.target, no, m);
    }
}

#[inline(always)]
fn setp<T: Lane>(r: &mut Regs, i: &Inst, m: u32, f: impl Fn(T, T) -> bool) {
    let test = test2::<T, T>(r, i, f);
    finish(r, i, m, test);
}

op! {
    EQ_16 = setp::<u16>, |a, b| a == b;
    NE_16 = setp::<u16>, |a, b| a != b;
    LT_U16 = setp::<u16>, |a, b| a < b;
    LE_U16 = setp::<u16>, |a, b| a <= b;
    GT_U16 = setp::<u16>, |a, b| a > b;
    GE_U16 = setp::<u16>, |a, b| a >= b;
    LT_S16 = setp::<i16>, |a, b| a < b;
    LE_S16 = setp::<i16>, |a, b| a <= b;
    GT_S16 = setp::<i16>, |a, b| a > b;
    GE_S16 = setp::<i16>, |a, b| a >= b;
    EQ_32 = setp::<u32>, |a, b| a == b;
    NE_32 = setp::<u32>, |a, b| a != b;
    LT_U32 = setp::<u32>, |a, b| a < b;
    LE_U32 = setp::<u32>, |a, b| a <= b;
    GT_U32 = setp::<u32>, |a, b| a > b;
    GE_U32 = setp::<u32>, |a, b| a >= b;
    LT_S32 = setp::<i32>, |a, b| a < b;
    LE_S32 = setp::<i32>, |a, b| a <= b;
    GT_S32 = setp::<i32>, |a, b| a > b;
    GE_S32 = setp::<i32>, |a, b| a >= b;
    EQ_64 = setp::<u64>, |a, b| a == b;
    NE_64 = setp::<u64>, |a, b| a != b;
    LT_U64 = setp::<u64>, |a, b| a < b;
    LE_U64 = setp::<u64>, |a, b| a <= b;
    GT_U64 = setp::<u64>, |a, b| a > b;
    GE_U64 = setp::<u64>, |a, b| a >= b;
    LT_S64 = setp::<i64>, |a, b| a < b;
    LE_S64 = setp::<i64>, |a, b| a <= b;
    GT_S64 = setp::<i64>, |a, b| a > b;
    GE_S64 = setp::<i64>, |a, b| a >= b;
    EQ_F32 = setp::<f32>, |a, b| a == b;
    NE_F32 = setp::<f32>, |a, b| a < b || a > b;
    LT_F32 = setp::<f32>, |a, b| a < b;
    LE_F32 = setp::<f32>, |a, b| a <= b;
    GT_F32 = setp::<f32>, |a, b| a > b;
    GE_F32 = setp::<f32>, |a, b| a >= b;
    EQU_F32 = setp::<f32>, |a, b| !(a < b || a > b);
    NEU_F32 = setp::<f32>, |a, b| a != b;
    LTU_F32 = setp::<f32>, |a, b| !(a >= b);
    LEU_F32 = setp::<f32>, |a, b| !(a > b);
    GTU_F32 = setp::<f32>, |a, b| !(a <= b);
    GEU_F32 = setp::<f32>, |a, b| !(a < b);
}

slow! {
    SETP_ANY = setp_any;
    SETP_F16X2 = setp_f16x2;
    SET_ANY = set_any;
    SLCT = slct;
}

/// Types of the general comparisons, bits 4-7 of `aux`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub(crate) enum Operands {
    F16 = 0,
    Bf16 = 1,
    F32 = 2,
    F64 = 3,
    Unsigned32 = 4,
    Signed32 = 5,
    Unsigned64 = 6,
    Signed64 = 7,
    Unsigned16 = 8,
    Signed16 = 9,
    F16x2 = 10,
    Bf16x2 = 11,
}

/// Comparison operators, in `imm`.
pub(crate) fn operator(name: &str) -> Option<i64> {
    const NAMES: [&str; 18] = [
        "eq", "ne", "lt", "le", "gt", "ge", "equ", "neu", "ltu", "leu", "gtu", "geu", "num", "nan", "lo",
        "ls", "hi", "hs",
    ];
    let index = NAMES.iter().position(|n| *n == name)? as i64;
    // lo, ls, hi, hs are the unsigned spellings.
    Some(if index >= 14 { index - 12 } else { index })
}

#[inline(always)]
fn holds(operator: i64, a: f64, b: f64) -> bool {
    let unordered = a.is_nan() || b.is_nan();
    match operator {
        0 => a == b,
        1 => !unordered && a != b,
        2 => a < b,
        3 => a <= b,
        4 => a > b,
        5 => a >= b,
        6 => unordered || a == b,
        7 => a != b,
        8 => unordered || a < b,
        9 => unordered || a <= b,
        10 => unordered || a > b,
        11 => unordered || a >= b,
        12 => !unordered,
        _ => unordered,
    }
}

#[inline(always)]
fn holds_int(operator: i64, a: i128, b: i128) -> bool {
    match operator {
        0 => a == b,
        1 => a != b,
        2 => a < b,
        3 => a <= b,
        4 => a > b,
        _ => a >= b,
    }
}

/// Bit 8 of `aux`: flush subnormals first.
fn test_any(r: &Regs, i: &Inst) -> u32 {
    let ftz = i.aux >> 8 & 1 == 1;
    let mut out = 0u32;
    let mut set = |lane: usize, yes: bool| out |= u32::from(yes) << lane;
    let word = |row: u32, lane: usize| r.cells::<u32>(row)[lane];
    let long = |row: u32, lane: usize| r.cells::<u64>(row)[lane];
    for lane in 0..32 {
        let float = |f: &dyn Fn(u32) -> f64| holds(i.imm, f(i.a), f(i.b));
        let int = |f: &dyn Fn(u32) -> i128| holds_int(i.imm, f(i.a), f(i.b));
        let half = |x: f32| f64::from(if ftz && x.abs() < 6.103_515_6e-5 { 0.0 } else { x });
        set(
            lane,
            match i.aux >> 4 & 0xf {
                0 => float(&|row| half(f16_to_f32(word(row, lane) as u16))),
                1 => float(&|row| bf16_to_f32(word(row, lane) as u16).into()),
                2 => float(&|row| {
                    let x = f32::from_bits(word(row, lane));
                    if ftz { flush(x).into() } else { x.into() }
                }),
                3 => float(&|row| f64::from_bits(long(row, lane))),
                4 => int(&|row| word(row, lane).into()),
                5 => int(&|row| (word(row, lane) as i32).into()),
                6 => int(&|row| long(row, lane).into()),
                7 => int(&|row| (long(row, lane) as i64).into()),
                8 => int(&|row| (word(row, lane) as u16).into()),
                _ => int(&|row| (word(row, lane) as i16).into()),
            },
        );
    }
    out
}

fn setp_any(r: &mut Regs, i: &Inst, m: u32) {
    let test = test_any(r, i);
    finish(r, i, m, test);
}

fn packed(bits: u32, brain: bool, high: bool) -> f64 {
    let half = (if high { bits >> 16 } else { bits }) as u16;
    if brain { bf16_to_f32(half).into() } else { f16_to_f32(half).into() }
}

fn test_packed(r: &Regs, i: &Inst, high: bool) -> u32 {
    let brain = i.aux >> 4 & 0xf == Operands::Bf16x2 as u32;
    let (a, b) = (r.cells::<u32>(i.a), r.cells::<u32>(i.b));
    (0..32).fold(0, |out, lane| {
        out | u32::from(holds(i.imm, packed(a[lane], brain, high), packed(b[lane], brain, high))) << lane
    })
}

/// The low halves decide `d`, the high halves `target`.
fn setp_f16x2(r: &mut Regs, i: &Inst, m: u32) {
    let (low, high) = (test_packed(r, i, false), test_packed(r, i, true));
    let combine = |test: u32| {
        let c = r.pred(i.c) ^ 0u32.wrapping_sub(i.aux >> 2 & 1);
        match i.aux & 3 {
            0 => test,
            1 => test & c,
            2 => test | c,
            _ => test ^ c,
        }
    };
    let (low, high) = (combine(low), combine(high));
    r.set_pred(i.d, low, m);
    if i.target != NONE {
        r.set_pred(i.target, high, m);
    }
}

/// Result kind in bits 12-14 of `aux`: 0 all ones, 1 `1.0f32`, 2 half, 3 bfloat16, 4 packed halves, 5 packed bfloat16.
fn set_any(r: &mut Regs, i: &Inst, m: u32) {
    let kind = i.aux >> 12 & 7;
    let pairs = i.aux >> 4 & 0xf >= Operands::F16x2 as u32;
    let third = if i.aux & 3 == 0 { 0 } else { r.pred(i.c) ^ 0u32.wrapping_sub(i.aux >> 2 & 1) };
    let combine = |test: u32| match i.aux & 3 {
        0 => test,
        1 => test & third,
        2 => test | third,
        _ => test ^ third,
    };
    let mut out = [0u32; 32];
    if pairs {
        let (low, high) = (combine(test_packed(r, i, false)), combine(test_packed(r, i, true)));
        let one = match kind {
            4 => 0x3c00,
            5 => 0x3f80,
            _ => 0xffff,
        };
        for (lane, value) in out.iter_mut().enumerate() {
            *value = (low >> lane & 1) * one | ((high >> lane & 1) * one) << 16;
        }
    } else {
        let test = combine(test_any(r, i));
        let one = match kind {
            0 => u32::MAX,
            1 => 0x3f80_0000,
            2 => 0x3c00,
            6 => 0xffff,
            _ => 0x3f80,
        };
        for (lane, value) in out.iter_mut().enumerate() {
            *value = if test >> lane & 1 == 1 { one } else { 0 };
        }
    }
    r.write(i.d, &out, m);
}

/// `a` where `c >= 0`, else `b`. `aux`: bit 0: 64-bit values, bit 1: `c` is a float (flushed when bit 2).
fn slct(r: &mut Regs, i: &Inst, m: u32) {
    let c = *r.cells::<u32>(i.c);
    let first = |lane: usize| {
        if i.aux & 2 != 0 {
            // NaN takes the second operand; so does nothing else below zero once flushed.
            let x = f32::from_bits(c[lane]);
            (if i.aux & 4 != 0 { flush(x) } else { x }) >= 0.0
        } else {
            c[lane] as i32 >= 0
        }
    };
    if i.aux & 1 != 0 {
        let (a, b) = (*r.cells::<u64>(i.a), *r.cells::<u64>(i.b));
        let out: [u64; 32] = std::array::from_fn(|lane| if first(lane) { a[lane] } else { b[lane] });
        r.write(i.d, &out, m);
    } else {
        let (a, b) = (*r.cells::<u32>(i.a), *r.cells::<u32>(i.b));
        let out: [u32; 32] = std::array::from_fn(|lane| if first(lane) { a[lane] } else { b[lane] });
        r.write(i.d, &out, m);
    }
}
