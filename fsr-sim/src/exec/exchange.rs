//! Warp-wide exchange: `shfl`, `vote`, `match`, `redux`, `activemask`, `elect`.

use super::memory::both;
use super::regs::has_wide;
use super::{Exec, Trap, lanes};
use crate::program::{Inst, MemoryFn, NONE};

/// Modes of `shfl`, in `imm`.
pub(crate) const UP: i64 = 0;
pub(crate) const DOWN: i64 = 1;
pub(crate) const BFLY: i64 = 2;
pub(crate) const IDX: i64 = 3;

/// `shfl.sync d|p, a, b, c, members`: `b` in row `b`, the clamp in row `target`, members in row `c`, predicate in `aux`.
#[inline(always)]
fn shfl_body(x: &mut Exec<'_>, i: &Inst, m: u32) -> Result<(), Trap> {
    match i.imm {
        UP => exchange(x, i, m, |own, n, _, max| {
            let source = own.wrapping_sub(n);
            (source, source as i32 >= max as i32)
        }),
        DOWN => exchange(x, i, m, |own, n, _, max| (own + n, own + n <= max)),
        BFLY => exchange(x, i, m, |own, n, _, max| (own ^ n, own ^ n <= max)),
        _ => exchange(x, i, m, |own, n, segment, max| {
            let source = own & segment | n & !segment;
            (source, source <= max)
        }),
    }
    Ok(())
}

/// `f` of lane, `b`, segment mask and last lane: the source lane, and whether it is valid.
#[inline(always)]
fn exchange(x: &mut Exec<'_>, i: &Inst, m: u32, f: impl Fn(u32, u32, u32, u32) -> (u32, bool)) {
    let (b, clamp) = (x.regs.cells::<u32>(i.b), x.regs.cells::<u32>(i.target));
    let mut sources = [0u32; 32];
    let mut valid = 0;
    for lane in 0..32 {
        let own = lane as u32;
        let segment = clamp[lane] >> 8 & 0x1f;
        let bound = clamp[lane] & 0x1f;
        let (source, ok) = f(own, b[lane] & 0x1f, segment, own & segment | bound & !segment);
        sources[lane] = if ok { source & 31 } else { own };
        valid |= if ok { 1 << lane } else { 0 };
    }
    let a = x.regs.cells::<u32>(i.a);
    let mut out = [0; 32];
    for lane in 0..32 {
        out[lane] = a[sources[lane] as usize & 31];
    }
    x.regs.write(i.d, &out, m);
    if i.aux != NONE {
        x.regs.set_pred(i.aux, valid, m);
    }
}

both! {
    shfl = shfl_body;
}

/// Kinds of `vote`, in `imm`.
pub(crate) const ALL: i64 = 0;
pub(crate) const ANY: i64 = 1;
pub(crate) const UNI: i64 = 2;
pub(crate) const BALLOT: i64 = 3;

/// `vote.sync`: predicate `a` (negated when `aux` is 1), members in row `c`, result predicate or row `d`.
pub(crate) fn vote(x: &mut Exec<'_>, i: &Inst, m: u32) -> Result<(), Trap> {
    let value = x.regs.pred(i.a) ^ 0u32.wrapping_sub(i.aux & 1);
    let members = if i.c == NONE { [u32::MAX; 32] } else { *x.regs.cells::<u32>(i.c) };
    if i.imm == BALLOT {
        let out: [u32; 32] = std::array::from_fn(|lane| value & m & members[lane]);
        x.regs.write(i.d, &out, m);
        return Ok(());
    }
    let mut out = 0u32;
    for lane in lanes(m) {
        let voters = m & members[lane];
        let yes = value & voters;
        let result = match i.imm {
            ALL => yes == voters,
            ANY => yes != 0,
            _ => yes == voters || yes == 0,
        };
        out |= u32::from(result) << lane;
    }
    x.regs.set_pred(i.d, out, m);
    Ok(())
}

/// `match.any.sync`, `match.all.sync` (`imm` 1): 64-bit values when `aux` bit 0; predicate in `target`.
pub(crate) fn matching(x: &mut Exec<'_>, i: &Inst, m: u32) -> Result<(), Trap> {
    let values: [u64; 32] =
        if i.aux & 1 != 0 { *x.regs.cells::<u64>(i.a) } else { x.regs.cells::<u32>(i.a).map(u64::from) };
    let members = *x.regs.cells::<u32>(i.c);
    let mut out = [0u32; 32];
    let mut agreed = 0u32;
    for lane in lanes(m) {
        let among = m & members[lane];
        let same = lanes(among).filter(|&l| values[l] == values[lane]).fold(0u32, |mask, l| mask | 1 << l);
        if i.imm == 1 {
            out[lane] = if same == among { among } else { 0 };
            agreed |= u32::from(same == among) << lane;
        } else {
            out[lane] = same;
        }
    }
    x.regs.write(i.d, &out, m);
    if i.target != NONE {
        x.regs.set_pred(i.target, agreed, m);
    }
    Ok(())
}

/// Operations of `redux`, in `imm`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(i64)]
pub(crate) enum Reduction {
    Add = 0,
    MinS = 1,
    MaxS = 2,
    MinU = 3,
    MaxU = 4,
    And = 5,
    Or = 6,
    Xor = 7,
}

pub(crate) fn redux(x: &mut Exec<'_>, i: &Inst, m: u32) -> Result<(), Trap> {
    let values = *x.regs.cells::<u32>(i.a);
    let members = *x.regs.cells::<u32>(i.c);
    let mut out = [0u32; 32];
    for lane in lanes(m) {
        let mut group = lanes(m & members[lane]).map(|l| values[l]);
        let first = group.next().unwrap_or(values[lane]);
        out[lane] = group.fold(first, |a, b| match i.imm {
            0 => a.wrapping_add(b),
            1 => (a as i32).min(b as i32) as u32,
            2 => (a as i32).max(b as i32) as u32,
            3 => a.min(b),
            4 => a.max(b),
            5 => a & b,
            6 => a | b,
            _ => a ^ b,
        });
    }
    x.regs.write(i.d, &out, m);
    Ok(())
}

pub(crate) fn activemask(x: &mut Exec<'_>, i: &Inst, m: u32) -> Result<(), Trap> {
    x.regs.write(i.d, &[m; 32], m);
    Ok(())
}

/// `elect.sync d|p, members`: the lowest of those that name each other.
pub(crate) fn elect(x: &mut Exec<'_>, i: &Inst, m: u32) -> Result<(), Trap> {
    let members = *x.regs.cells::<u32>(i.c);
    let (mut leaders, mut elected) = ([0u32; 32], 0u32);
    for lane in lanes(m) {
        leaders[lane] = (m & (members[lane] | 1 << lane)).trailing_zeros();
        elected |= u32::from(leaders[lane] == lane as u32) << lane;
    }
    if i.d != NONE {
        x.regs.write(i.d, &leaders, m);
    }
    x.regs.set_pred(i.target, elected, m);
    Ok(())
}
