//! Extended precision: arithmetic that takes and sets a carry, one bit a lane, kept as a predicate of its own.
//!
//! The predicate is `target`; bit 0 of `aux` takes it, bit 1 sets it, bit 2 says 64 bits. After a subtraction it holds
//! the borrow.

use super::regs::{Regs, slow};
use crate::program::Inst;

pub(crate) const TAKES: u32 = 1;
pub(crate) const SETS: u32 = 2;
pub(crate) const WIDE: u32 = 4;
/// Of `mad`: the upper half of the product instead of the lower, of signed factors.
pub(crate) const HIGH: u32 = 8;
pub(crate) const SIGNED: u32 = 16;

slow! {
    ADD_CARRY = add;
    SUB_BORROW = sub;
    MAD_CARRY = mad;
}

/// `add.cc`, `addc`, `addc.cc`
fn add(r: &mut Regs, i: &Inst, m: u32) {
    let a = values(r, i.a, i.aux);
    let b = values(r, i.b, i.aux);
    carry(r, i, m, |lane, c| sum(a[lane], b[lane], c, i.aux));
}

/// `sub.cc`, `subc`, `subc.cc`
fn sub(r: &mut Regs, i: &Inst, m: u32) {
    let a = values(r, i.a, i.aux);
    let b = values(r, i.b, i.aux);
    carry(r, i, m, |lane, c| {
        let (first, one) = a[lane].overflowing_sub(b[lane]);
        let (second, two) = first.overflowing_sub(c.into());
        (second, one || two)
    });
}

/// `mad.cc`, `madc`, `madc.cc`: one half of a product, plus `c`.
fn mad(r: &mut Regs, i: &Inst, m: u32) {
    let (a, b, c) = (values(r, i.a, i.aux), values(r, i.b, i.aux), values(r, i.c, i.aux));
    let bits = if i.aux & WIDE != 0 { 64 } else { 32 };
    carry(r, i, m, |lane, carry| {
        let extend = |v: u64| match (i.aux & SIGNED != 0, bits) {
            (false, _) => i128::from(v),
            (true, 32) => i128::from(v as i32),
            (true, _) => i128::from(v as i64),
        };
        let product = extend(a[lane]).wrapping_mul(extend(b[lane]));
        let half = if i.aux & HIGH != 0 { product >> bits } else { product };
        sum(half as u64 & (u64::MAX >> (64 - bits)), c[lane], carry, i.aux)
    });
}

fn sum(a: u64, b: u64, carry: bool, aux: u32) -> (u64, bool) {
    let sum = u128::from(a) + u128::from(b) + u128::from(carry);
    (sum as u64, sum >> if aux & WIDE != 0 { 64 } else { 32 } & 1 == 1)
}

fn values(r: &Regs, row: u32, aux: u32) -> [u64; 32] {
    if aux & WIDE != 0 { *r.cells::<u64>(row) } else { r.cells::<u32>(row).map(u64::from) }
}

fn carry(r: &mut Regs, i: &Inst, m: u32, f: impl Fn(usize, bool) -> (u64, bool)) {
    let incoming = if i.aux & TAKES != 0 { r.pred(i.target) } else { 0 };
    let mut outgoing = 0u32;
    let mut out = [0u64; 32];
    for lane in 0..32 {
        let (value, carry) = f(lane, incoming >> lane & 1 == 1);
        out[lane] = value;
        outgoing |= u32::from(carry) << lane;
    }
    if i.aux & WIDE != 0 {
        r.write(i.d, &out, m);
    } else {
        let out = out.map(|v| v as u32);
        r.write(i.d, &out, m);
    }
    if i.aux & SETS != 0 {
        r.set_pred(i.target, outgoing, m);
    }
}
