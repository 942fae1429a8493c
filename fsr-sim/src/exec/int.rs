//! Integer and logic instructions, lane by lane.

use super::regs::{Regs, map1, map2, map3, op, slow};
use crate::program::Inst;

op! {
    ADD_32 = map2::<u32, u32, u32>, |a, b| a.wrapping_add(b);
    ADD_64 = map2::<u64, u64, u64>, |a, b| a.wrapping_add(b);
    ADD_16 = map2::<u16, u16, u16>, |a, b| a.wrapping_add(b);
    ADD_SAT_S32 = map2::<i32, i32, i32>, |a, b| a.saturating_add(b);
    SUB_32 = map2::<u32, u32, u32>, |a, b| a.wrapping_sub(b);
    SUB_64 = map2::<u64, u64, u64>, |a, b| a.wrapping_sub(b);
    SUB_16 = map2::<u16, u16, u16>, |a, b| a.wrapping_sub(b);
    SUB_SAT_S32 = map2::<i32, i32, i32>, |a, b| a.saturating_sub(b);

    MUL_LO_32 = map2::<u32, u32, u32>, |a, b| a.wrapping_mul(b);
    MUL_LO_64 = map2::<u64, u64, u64>, |a, b| a.wrapping_mul(b);
    MUL_LO_16 = map2::<u16, u16, u16>, |a, b| a.wrapping_mul(b);
    MUL_HI_U32 = map2::<u32, u32, u32>, |a, b| ((u64::from(a) * u64::from(b)) >> 32) as u32;
    MUL_HI_S32 = map2::<i32, i32, i32>, |a, b| ((i64::from(a) * i64::from(b)) >> 32) as i32;
    MUL_HI_U64 = map2::<u64, u64, u64>, |a, b| ((u128::from(a) * u128::from(b)) >> 64) as u64;
    MUL_HI_S64 = map2::<i64, i64, i64>, |a, b| ((i128::from(a) * i128::from(b)) >> 64) as i64;
    MUL_HI_U16 = map2::<u16, u16, u16>, |a, b| ((u32::from(a) * u32::from(b)) >> 16) as u16;
    MUL_HI_S16 = map2::<i16, i16, i16>, |a, b| ((i32::from(a) * i32::from(b)) >> 16) as i16;
    MUL_WIDE_U32 = map2::<u32, u32, u64>, |a, b| u64::from(a) * u64::from(b);
    MUL_WIDE_S32 = map2::<i32, i32, i64>, |a, b| i64::from(a) * i64::from(b);
    MUL_WIDE_U16 = map2::<u16, u16, u32>, |a, b| u32::from(a) * u32::from(b);
    MUL_WIDE_S16 = map2::<i16, i16, i32>, |a, b| i32::from(a) * i32::from(b);
    MUL24_LO_U = map2::<u32, u32, u32>, |a, b| product24(a, b) as u32;
    MUL24_LO_S = map2::<i32, i32, i32>, |a, b| product24_signed(a, b) as i32;
    MUL24_HI_U = map2::<u32, u32, u32>, |a, b| (product24(a, b) >> 16) as u32;
    MUL24_HI_S = map2::<i32, i32, i32>, |a, b| (product24_signed(a, b) >> 16) as i32;

    MAD_LO_32 = map3::<u32, u32, u32, u32>, |a, b, c| a.wrapping_mul(b).wrapping_add(c);
    MAD_LO_64 = map3::<u64, u64, u64, u64>, |a, b, c| a.wrapping_mul(b).wrapping_add(c);
    MAD_LO_16 = map3::<u16, u16, u16, u16>, |a, b, c| a.wrapping_mul(b).wrapping_add(c);
    MAD24_LO_U = map3::<u32, u32, u32, u32>, |a, b, c| (product24(a, b) as u32).wrapping_add(c);
    MAD24_LO_S = map3::<i32, i32, i32, i32>, |a, b, c| (product24_signed(a, b) as i32).wrapping_add(c);
    MAD24_HI_U = map3::<u32, u32, u32, u32>, |a, b, c| ((product24(a, b) >> 16) as u32).wrapping_add(c);
    MAD24_HI_S = map3::<i32, i32, i32, i32>, |a, b, c| ((product24_signed(a, b) >> 16) as i32).wrapping_add(c);
    MAD24_HI_SAT_S = map3::<i32, i32, i32, i32>, |a, b, c| ((product24_signed(a, b) >> 16) as i32).saturating_add(c);
    MAD_HI_U16 = map3::<u16, u16, u16, u16>,
        |a, b, c| (((u32::from(a) * u32::from(b)) >> 16) as u16).wrapping_add(c);
    MAD_HI_S16 = map3::<i16, i16, i16, i16>,
        |a, b, c| (((i32::from(a) * i32::from(b)) >> 16) as i16).wrapping_add(c);
    MAD_HI_SAT_S32 = map3::<i32, i32, i32, i32>,
        |a, b, c| (((i64::from(a) * i64::from(b)) >> 32) as i32).saturating_add(c);
    MAD_HI_U32 = map3::<u32, u32, u32, u32>,
        |a, b, c| (((u64::from(a) * u64::from(b)) >> 32) as u32).wrapping_add(c);
    MAD_HI_S32 = map3::<i32, i32, i32, i32>,
        |a, b, c| (((i64::from(a) * i64::from(b)) >> 32) as i32).wrapping_add(c);
    MAD_HI_U64 = map3::<u64, u64, u64, u64>,
        |a, b, c| (((u128::from(a) * u128::from(b)) >> 64) as u64).wrapping_add(c);
    MAD_HI_S64 = map3::<i64, i64, i64, i64>,
        |a, b, c| (((i128::from(a) * i128::from(b)) >> 64) as i64).wrapping_add(c);
    MAD_WIDE_U32 = map3::<u32, u32, u64, u64>, |a, b, c| (u64::from(a) * u64::from(b)).wrapping_add(c);
    MAD_WIDE_S32 = map3::<i32, i32, i64, i64>, |a, b, c| (i64::from(a) * i64::from(b)).wrapping_add(c);
    MAD_WIDE_U16 = map3::<u16, u16, u32, u32>, |a, b, c| (u32::from(a) * u32::from(b)).wrapping_add(c);
    MAD_WIDE_S16 = map3::<i16, i16, i32, i32>, |a, b, c| (i32::from(a) * i32::from(b)).wrapping_add(c);

    // The manual leaves division by zero open; hardware gives all ones, also as the remainder.
    DIV_U16 = map2::<u16, u16, u16>, |a, b| a.checked_div(b).unwrap_or(u16::MAX);
    DIV_S16 = map2::<i16, i16, i16>, |a, b| if b == 0 { -1 } else { a.wrapping_div(b) };
    DIV_U32 = map2::<u32, u32, u32>, |a, b| a.checked_div(b).unwrap_or(u32::MAX);
    DIV_S32 = map2::<i32, i32, i32>, |a, b| if b == 0 { -1 } else { a.wrapping_div(b) };
    DIV_U64 = map2::<u64, u64, u64>, |a, b| a.checked_div(b).unwrap_or(u64::MAX);
    DIV_S64 = map2::<i64, i64, i64>, |a, b| if b == 0 { -1 } else { a.wrapping_div(b) };
    REM_U16 = map2::<u16, u16, u16>, |a, b| a.checked_rem(b).unwrap_or(u16::MAX);
    REM_S16 = map2::<i16, i16, i16>, |a, b| if b == 0 { -1 } else { a.wrapping_rem(b) };
    REM_U32 = map2::<u32, u32, u32>, |a, b| a.checked_rem(b).unwrap_or(u32::MAX);
    REM_S32 = map2::<i32, i32, i32>, |a, b| if b == 0 { -1 } else { a.wrapping_rem(b) };
    REM_U64 = map2::<u64, u64, u64>, |a, b| a.checked_rem(b).unwrap_or(u64::MAX);
    REM_S64 = map2::<i64, i64, i64>, |a, b| if b == 0 { -1 } else { a.wrapping_rem(b) };

    MIN_RELU_S32 = map2::<i32, i32, i32>, |a, b| a.min(b).max(0);
    MAX_RELU_S32 = map2::<i32, i32, i32>, |a, b| a.max(b).max(0);
    ADD_16X2 = map2::<u32, u32, u32>, |a, b| pairs(a, b, |a, b| a.wrapping_add(b));
    MIN_U16X2 = map2::<u32, u32, u32>, |a, b| pairs(a, b, |a, b| a.min(b));
    MAX_U16X2 = map2::<u32, u32, u32>, |a, b| pairs(a, b, |a, b| a.max(b));
    MIN_S16X2 = map2::<u32, u32, u32>, |a, b| pairs(a, b, |a, b| (a as i16).min(b as i16) as u16);
    MAX_S16X2 = map2::<u32, u32, u32>, |a, b| pairs(a, b, |a, b| (a as i16).max(b as i16) as u16);
    MIN_RELU_S16X2 = map2::<u32, u32, u32>,
        |a, b| pairs(a, b, |a, b| (a as i16).min(b as i16).max(0) as u16);
    MAX_RELU_S16X2 = map2::<u32, u32, u32>,
        |a, b| pairs(a, b, |a, b| (a as i16).max(b as i16).max(0) as u16);
    MIN_U16 = map2::<u16, u16, u16>, |a, b| a.min(b);
    MIN_S16 = map2::<i16, i16, i16>, |a, b| a.min(b);
    MIN_U32 = map2::<u32, u32, u32>, |a, b| a.min(b);
    MIN_S32 = map2::<i32, i32, i32>, |a, b| a.min(b);
    MIN_U64 = map2::<u64, u64, u64>, |a, b| a.min(b);
    MIN_S64 = map2::<i64, i64, i64>, |a, b| a.min(b);
    MAX_U16 = map2::<u16, u16, u16>, |a, b| a.max(b);
    MAX_S16 = map2::<i16, i16, i16>, |a, b| a.max(b);
    MAX_U32 = map2::<u32, u32, u32>, |a, b| a.max(b);
    MAX_S32 = map2::<i32, i32, i32>, |a, b| a.max(b);
    MAX_U64 = map2::<u64, u64, u64>, |a, b| a.max(b);
    MAX_S64 = map2::<i64, i64, i64>, |a, b| a.max(b);

    AND_32 = map2::<u32, u32, u32>, |a, b| a & b;
    AND_64 = map2::<u64, u64, u64>, |a, b| a & b;
    OR_32 = map2::<u32, u32, u32>, |a, b| a | b;
    OR_64 = map2::<u64, u64, u64>, |a, b| a | b;
    XOR_32 = map2::<u32, u32, u32>, |a, b| a ^ b;
    XOR_64 = map2::<u64, u64, u64>, |a, b| a ^ b;
    NOT_16 = map1::<u16, u16>, |a| !a;
    NOT_32 = map1::<u32, u32>, |a| !a;
    NOT_64 = map1::<u64, u64>, |a| !a;
    CNOT_16 = map1::<u16, u16>, |a| u16::from(a == 0);
    CNOT_32 = map1::<u32, u32>, |a| u32::from(a == 0);
    CNOT_64 = map1::<u64, u64>, |a| u64::from(a == 0);
    NEG_16 = map1::<i16, i16>, |a| a.wrapping_neg();
    NEG_32 = map1::<i32, i32>, |a| a.wrapping_neg();
    NEG_64 = map1::<i64, i64>, |a| a.wrapping_neg();
    ABS_16 = map1::<i16, i16>, |a| a.wrapping_abs();
    ABS_32 = map1::<i32, i32>, |a| a.wrapping_abs();
    ABS_64 = map1::<i64, i64>, |a| a.wrapping_abs();

    // A shift by the width or more gives zero, or the sign.
    SHL_16 = map2::<u16, u32, u16>, |a, b| if b > 15 { 0 } else { a << b };
    SHL_32 = map2::<u32, u32, u32>, |a, b| if b > 31 { 0 } else { a << b };
    SHL_64 = map2::<u64, u32, u64>, |a, b| if b > 63 { 0 } else { a << b };
    SHR_U16 = map2::<u16, u32, u16>, |a, b| if b > 15 { 0 } else { a >> b };
    SHR_U32 = map2::<u32, u32, u32>, |a, b| if b > 31 { 0 } else { a >> b };
    SHR_U64 = map2::<u64, u32, u64>, |a, b| if b > 63 { 0 } else { a >> b };
    SHR_S16 = map2::<i16, u32, i16>, |a, b| a >> b.min(15);
    SHR_S32 = map2::<i32, u32, i32>, |a, b| a >> b.min(31);
    SHR_S64 = map2::<i64, u32, i64>, |a, b| a >> b.min(63);
    SHF_L_WRAP = map3::<u32, u32, u32, u32>, |a, b, c| funnel_left(a, b, c & 31);
    SHF_L_CLAMP = map3::<u32, u32, u32, u32>, |a, b, c| funnel_left(a, b, c.min(32));
    SHF_R_WRAP = map3::<u32, u32, u32, u32>, |a, b, c| funnel_right(a, b, c & 31);
    SHF_R_CLAMP = map3::<u32, u32, u32, u32>, |a, b, c| funnel_right(a, b, c.min(32));

    POPC_32 = map1::<u32, u32>, |a| a.count_ones();
    POPC_64 = map1::<u64, u32>, |a| a.count_ones();
    CLZ_32 = map1::<u32, u32>, |a| a.leading_zeros();
    CLZ_64 = map1::<u64, u32>, |a| a.leading_zeros();
    BREV_32 = map1::<u32, u32>, |a| a.reverse_bits();
    BREV_64 = map1::<u64, u64>, |a| a.reverse_bits();
    BFIND_U32 = map1::<u32, u32>, |a| 31u32.wrapping_sub(a.leading_zeros());
    BFIND_S32 = map1::<i32, u32>, |a| 31u32.wrapping_sub((if a < 0 { !a } else { a }).leading_zeros());
    BFIND_U64 = map1::<u64, u32>, |a| 63u32.wrapping_sub(a.leading_zeros());
    BFIND_S64 = map1::<i64, u32>, |a| 63u32.wrapping_sub((if a < 0 { !a } else { a }).leading_zeros());
    BFIND_SHIFT_U32 = map1::<u32, u32>, |a| if a == 0 { u32::MAX } else { a.leading_zeros() };
    BFIND_SHIFT_S32 = map1::<i32, u32>,
        |a| { let b = if a < 0 { !a } else { a }; if b == 0 { u32::MAX } else { b.leading_zeros() } };
    BFIND_SHIFT_U64 = map1::<u64, u32>, |a| if a == 0 { u32::MAX } else { a.leading_zeros() };
    BFIND_SHIFT_S64 = map1::<i64, u32>,
        |a| { let b = if a < 0 { !a } else { a }; if b == 0 { u32::MAX } else { b.leading_zeros() } };
    BFE_U32 = map3::<u32, u32, u32, u32>, |a, b, c| extract(a.into(), b, c, 32, false) as u32;
    BFE_S32 = map3::<u32, u32, u32, u32>, |a, b, c| extract(a.into(), b, c, 32, true) as u32;
    BFE_U64 = map3::<u64, u32, u32, u64>, |a, b, c| extract(a, b, c, 64, false);
    BFE_S64 = map3::<u64, u32, u32, u64>, |a, b, c| extract(a, b, c, 64, true);
    BMSK_WRAP = map2::<u32, u32, u32>, |a, b| (ones(b & 31) << (a & 31)) as u32;
    BMSK_CLAMP = map2::<u32, u32, u32>,
        |a, b| if a > 31 { 0 } else { (ones(b.min(32)) << a) as u32 };
    SZEXT_U = map2::<u32, u32, u32>, |a, b| extract(a.into(), 0, b & 31, 32, false) as u32;
    SZEXT_S = map2::<u32, u32, u32>, |a, b| extract(a.into(), 0, b & 31, 32, true) as u32;
    SZEXT_CLAMP_U = map2::<u32, u32, u32>, |a, b| extract(a.into(), 0, b.min(32), 32, false) as u32;
    SZEXT_CLAMP_S = map2::<u32, u32, u32>, |a, b| extract(a.into(), 0, b.min(32), 32, true) as u32;

    SAD_S16 = map3::<i16, i16, u16, u16>, |a, b, c| c.wrapping_add(a.abs_diff(b));
    SAD_U16 = map3::<u16, u16, u16, u16>, |a, b, c| c.wrapping_add(a.abs_diff(b));
    SAD_S32 = map3::<i32, i32, u32, u32>, |a, b, c| c.wrapping_add(a.abs_diff(b));
    SAD_U32 = map3::<u32, u32, u32, u32>, |a, b, c| c.wrapping_add(a.abs_diff(b));
    SAD_S64 = map3::<i64, i64, u64, u64>, |a, b, c| c.wrapping_add(a.abs_diff(b));
    SAD_U64 = map3::<u64, u64, u64, u64>, |a, b, c| c.wrapping_add(a.abs_diff(b));

    MOV_32 = map1::<u32, u32>, |a| a;
    MOV_64 = map1::<u64, u64>, |a| a;
}

slow! {
    SELP_32 = selp_32;
    SELP_64 = selp_64;
    PRED_LOGIC = pred_logic;
    MOV_PRED = mov_pred;
    BFI_32 = bfi_32;
    BFI_64 = bfi_64;
    LOP3 = lop3;
    LOP3_PRED = lop3_pred;
    PRMT = prmt;
    DP4A = dp4a;
    DP2A = dp2a;
    PACK = pack;
    FNS = fns;
}

#[inline(always)]
fn funnel_left(a: u32, b: u32, n: u32) -> u32 {
    ((((u64::from(b) << 32) | u64::from(a)) << n) >> 32) as u32
}

#[inline(always)]
fn funnel_right(a: u32, b: u32, n: u32) -> u32 {
    (((u64::from(b) << 32) | u64::from(a)) >> n) as u32
}

/// The product of the low 24 bits: 48 bits, of which `.lo` takes the lower 32, and `.hi` the upper.
#[inline(always)]
fn product24(a: u32, b: u32) -> u64 {
    u64::from(a & 0xff_ffff) * u64::from(b & 0xff_ffff)
}

/// The same of signed numbers.
#[inline(always)]
fn product24_signed(a: i32, b: i32) -> i64 {
    i64::from((a << 8) >> 8) * i64::from((b << 8) >> 8)
}

/// An operation on each 16 bits of two words.
#[inline(always)]
fn pairs(a: u32, b: u32, f: impl Fn(u16, u16) -> u16) -> u32 {
    u32::from(f(a as u16, b as u16)) | u32::from(f((a >> 16) as u16, (b >> 16) as u16)) << 16
}

#[inline(always)]
fn ones(n: u32) -> u64 {
    if n >= 64 { u64::MAX } else { (1 << n) - 1 }
}

/// PTX `bfe`, as its manual defines it: fields that reach beyond the top are filled with the sign.
///
/// Positions and lengths are of eight bits; of 64-bit fields, hardware takes all bits of both.
#[inline(always)]
fn extract(a: u64, pos: u32, len: u32, bits: u32, signed: bool) -> u64 {
    let msb = bits - 1;
    let (pos, len) = if bits == 64 { (pos.min(0xff), len.min(0xff)) } else { (pos & 0xff, len & 0xff) };
    let sign = signed && len != 0 && a >> (pos + len - 1).min(msb) & 1 == 1;
    let field = if pos > msb { 0 } else { (a >> pos) & ones(len.min(bits - pos)) };
    let taken = if pos > msb { 0 } else { len.min(bits - pos) };
    if sign { field | !ones(taken) } else { field }
}

fn selp_32(r: &mut Regs, i: &Inst, m: u32) {
    let p = r.pred(i.c) ^ i.aux;
    let (a, b) = (*r.cells::<u32>(i.a), *r.cells::<u32>(i.b));
    let mut out = b;
    for lane in 0..32 {
        if p >> lane & 1 != 0 {
            out[lane] = a[lane];
        }
    }
    r.write(i.d, &out, m);
}

fn selp_64(r: &mut Regs, i: &Inst, m: u32) {
    let p = r.pred(i.c) ^ i.aux;
    let (a, b) = (*r.cells::<u64>(i.a), *r.cells::<u64>(i.b));
    let mut out = b;
    for lane in 0..32 {
        if p >> lane & 1 != 0 {
            out[lane] = a[lane];
        }
    }
    r.write(i.d, &out, m);
}

/// `and.pred`, `or.pred`, `xor.pred`, `not.pred`: `imm` selects, bits of `aux` negate operands.
fn pred_logic(r: &mut Regs, i: &Inst, m: u32) {
    let negate = |bit: u32| 0u32.wrapping_sub(i.aux >> bit & 1);
    let a = r.pred(i.a) ^ negate(0);
    let b = r.pred(i.b) ^ negate(1);
    let value = match i.imm {
        0 => a & b,
        1 => a | b,
        2 => a ^ b,
        _ => !a,
    };
    r.set_pred(i.d, value, m);
}

fn mov_pred(r: &mut Regs, i: &Inst, m: u32) {
    // A constant comes in `imm`, a predicate in `a`.
    let value = if i.imm >= 0 { 0u32.wrapping_sub(i.imm as u32 & 1) } else { r.pred(i.a) ^ i.aux };
    r.set_pred(i.d, value, m);
}

/// Operands: `a` field, `b` base, `c` position, `aux` length.
fn bfi_32(r: &mut Regs, i: &Inst, m: u32) {
    let (a, b, c, len) =
        (*r.cells::<u32>(i.a), *r.cells::<u32>(i.b), r.cells::<u32>(i.c), r.cells::<u32>(i.aux));
    let mut out = [0u32; 32];
    for lane in 0..32 {
        let (pos, len) = (c[lane] & 0xff, len[lane] & 0xff);
        let field = if pos > 31 { 0 } else { (ones(len) as u32) << pos };
        let mask = field;
        out[lane] = (b[lane] & !mask) | (if pos > 31 { 0 } else { a[lane] << pos } & mask);
    }
    r.write(i.d, &out, m);
}

fn bfi_64(r: &mut Regs, i: &Inst, m: u32) {
    let (a, b, c, len) =
        (*r.cells::<u64>(i.a), *r.cells::<u64>(i.b), r.cells::<u32>(i.c), r.cells::<u32>(i.aux));
    let mut out = [0u64; 32];
    for lane in 0..32 {
        // As in `extract`: all bits of both count.
        let (pos, len) = (c[lane], len[lane]);
        let mask = if pos > 63 { 0 } else { ones(len) << pos };
        out[lane] = (b[lane] & !mask) | (if pos > 63 { 0 } else { a[lane] << pos } & mask);
    }
    r.write(i.d, &out, m);
}

/// Table in `imm`.
fn lop3(r: &mut Regs, i: &Inst, m: u32) {
    let (a, b, c) = (*r.cells::<u32>(i.a), *r.cells::<u32>(i.b), *r.cells::<u32>(i.c));
    let mut out = [0u32; 32];
    for bit in 0..8 {
        if i.imm >> bit & 1 != 0 {
            for lane in 0..32 {
                let x = if bit & 4 != 0 { a[lane] } else { !a[lane] };
                let y = if bit & 2 != 0 { b[lane] } else { !b[lane] };
                let z = if bit & 1 != 0 { c[lane] } else { !c[lane] };
                out[lane] |= x & y & z;
            }
        }
    }
    r.write(i.d, &out, m);
}

/// Bits of `imm` above the table: `.and` rather than `.or`; the source predicate is negated.
pub(crate) const LOP3_AND: i64 = 1 << 8;
pub(crate) const LOP3_NOT: i64 = 1 << 9;

/// `lop3` that also joins whether its result is zero with predicate `target`, into predicate `aux`.
fn lop3_pred(r: &mut Regs, i: &Inst, m: u32) {
    let given = r.pred(i.target) ^ if i.imm & LOP3_NOT != 0 { u32::MAX } else { 0 };
    lop3(r, i, m);
    let out = r.cells::<u32>(i.d);
    let some = (0..32).fold(0u32, |mask, lane| mask | u32::from(out[lane] != 0) << lane);
    r.set_pred(i.aux, if i.imm & LOP3_AND != 0 { some & given } else { some | given }, m);
}

/// Mode in `imm`: 0 generic, then f4e, b4e, rc8, ecl, ecr, rc16.
fn prmt(r: &mut Regs, i: &Inst, m: u32) {
    let (a, b, c) = (*r.cells::<u32>(i.a), *r.cells::<u32>(i.b), *r.cells::<u32>(i.c));
    let mut out = [0u32; 32];
    for lane in 0..32 {
        let bytes = ((u64::from(b[lane]) << 32) | u64::from(a[lane])).to_le_bytes();
        let s = c[lane] & 3;
        let mut picked = [0u8; 4];
        for (k, byte) in picked.iter_mut().enumerate() {
            let k = k as u32;
            *byte = match i.imm {
                0 => {
                    let selector = c[lane] >> (4 * k) & 0xf;
                    let value = bytes[(selector & 7) as usize];
                    if selector & 8 != 0 { 0u8.wrapping_sub(value >> 7) } else { value }
                }
                1 => bytes[((s + k) & 7) as usize],
                2 => bytes[(s.wrapping_sub(k) & 7) as usize],
                3 => bytes[s as usize],
                4 => bytes[s.max(k) as usize],
                5 => bytes[s.min(k) as usize],
                _ => bytes[((s & 1) * 2 + (k & 1)) as usize],
            };
        }
        out[lane] = u32::from_le_bytes(picked);
    }
    r.write(i.d, &out, m);
}

/// `imm`: bit 0 says `a` is signed, bit 1 says `b` is.
fn dp4a(r: &mut Regs, i: &Inst, m: u32) {
    let (a, b, c) = (*r.cells::<u32>(i.a), *r.cells::<u32>(i.b), *r.cells::<u32>(i.c));
    let mut out = [0u32; 32];
    for lane in 0..32 {
        let mut sum = c[lane];
        for k in 0..4 {
            let x = a[lane].to_le_bytes()[k];
            let y = b[lane].to_le_bytes()[k];
            let x = if i.imm & 1 != 0 { i32::from(x as i8) } else { i32::from(x) };
            let y = if i.imm & 2 != 0 { i32::from(y as i8) } else { i32::from(y) };
            sum = sum.wrapping_add((x * y) as u32);
        }
        out[lane] = sum;
    }
    r.write(i.d, &out, m);
}

/// As `dp4a`; bit 2 of `imm` takes the high half of `b`.
fn dp2a(r: &mut Regs, i: &Inst, m: u32) {
    let (a, b, c) = (*r.cells::<u32>(i.a), *r.cells::<u32>(i.b), *r.cells::<u32>(i.c));
    let mut out = [0u32; 32];
    for lane in 0..32 {
        let mut sum = c[lane];
        for k in 0..2 {
            let x = (a[lane] >> (16 * k)) as u16;
            let y = b[lane].to_le_bytes()[k + if i.imm & 4 != 0 { 2 } else { 0 }];
            let x = if i.imm & 1 != 0 { i32::from(x as i16) } else { i32::from(x) };
            let y = if i.imm & 2 != 0 { i32::from(y as i8) } else { i32::from(y) };
            sum = sum.wrapping_add(x.wrapping_mul(y) as u32);
        }
        out[lane] = sum;
    }
    r.write(i.d, &out, m);
}

/// Moves a field of a register into a field of another: `imm` packs source shift, width and destination shift
/// (8 bits each); bit 0 of `aux`: 64-bit source, bit 1: 64-bit destination. The rest of the destination stays.
fn pack(r: &mut Regs, i: &Inst, m: u32) {
    let (from, width, to) = (i.imm & 0xff, (i.imm >> 8 & 0xff) as u32, i.imm >> 16 & 0xff);
    for lane in (0..32).filter(|lane| m >> lane & 1 != 0) {
        let source =
            if i.aux & 1 != 0 { r.cells::<u64>(i.a)[lane] } else { r.cells::<u32>(i.a)[lane].into() };
        let field = (source >> from) & ones(width);
        if i.aux & 2 != 0 {
            let cell = &mut r.cells_mut::<u64>(i.d)[lane];
            *cell = (*cell & !(ones(width) << to)) | (field << to);
        } else {
            let cell = &mut r.cells_mut::<u32>(i.d)[lane];
            *cell = (*cell & !((ones(width) << to) as u32)) | (field << to) as u32;
        }
    }
}

/// `fns`: the n-th set bit from a base.
fn fns(r: &mut Regs, i: &Inst, m: u32) {
    let (a, b, c) = (*r.cells::<u32>(i.a), *r.cells::<u32>(i.b), *r.cells::<u32>(i.c));
    let mut out = [0u32; 32];
    for lane in 0..32 {
        let (mask, base, offset) = (a[lane], b[lane], c[lane] as i32);
        if base > 31 || offset == i32::MIN {
            // Beyond the manual's words; this is what hardware gives.
            out[lane] = if offset == i32::MIN { 0 } else { u32::MAX };
            continue;
        }
        let step = if offset < 0 { -1i32 } else { 1 };
        let mut left = offset.unsigned_abs();
        if offset == 0 {
            out[lane] = if mask >> base & 1 != 0 { base } else { u32::MAX };
            continue;
        }
        let mut at = base as i32;
        out[lane] = u32::MAX;
        while (0..32).contains(&at) {
            if mask >> at & 1 != 0 {
                left -= 1;
                if left == 0 {
                    out[lane] = at as u32;
                    break;
                }
            }
            at += step;
        }
    }
    r.write(i.d, &out, m);
}
