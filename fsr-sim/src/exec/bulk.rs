//! `cp.async.bulk` without tensor maps: one lane copies a range between global and shared memory.
//!
//! A copy is made when it is issued; its bytes then count as arrived at its `mbarrier`. At full checks its range of shared
//! memory counts as pending until somebody waits there, or, where it is the source, for the copy's group.

use super::mbarrier;
use super::memory::Run;
use super::race::Touch;
use super::{Exec, Trap, lanes};
use crate::check::{FaultKind, Level};
use crate::parse::Space;
use crate::program::{Inst, NONE};

/// The shared address is 32 bits wide.
pub(crate) const NARROW: u32 = 1;
/// Towards global memory.
pub(crate) const TO_GLOBAL: u32 = 2;
/// The `mbarrier`'s address is 32 bits wide.
pub(crate) const NARROW_BARRIER: u32 = 4;

/// Bytes that are moved, marked and judged at once.
const PIECE: u32 = 16;

/// Shared address `a`, global address `b`, bytes `c`, the barrier's address `d` or `NONE`; `imm` packs the offsets of
/// the two ranges, `target` that of the barrier.
pub(crate) fn copy(x: &mut Exec<'_>, i: &Inst, m: u32) -> Result<(), Trap> {
    let (shared_offset, global_offset) = (i.imm as i32, (i.imm >> 32) as i32);
    let to_global = i.aux & TO_GLOBAL != 0;
    for lane in lanes(m) {
        let shared = row(x, i.a, lane, i.aux & NARROW != 0).wrapping_add(i64::from(shared_offset) as u64);
        let global = x.regs.cells::<u64>(i.b)[lane].wrapping_add(i64::from(global_offset) as u64);
        let bytes = x.regs.cells::<u32>(i.c)[lane];
        check(x, lane, shared, global, bytes, to_global)?;
        for at in (0..bytes).step_by(PIECE as usize) {
            piece(x, lane, shared + u64::from(at), global + u64::from(at), to_global)?;
        }
        if x.block.counters.enabled {
            x.block.counters.request(x.pc, bytes.div_ceil(32));
        }
        if i.d != NONE {
            let barrier = row(x, i.d, lane, i.aux & NARROW_BARRIER != 0);
            let barrier = barrier.wrapping_add(i64::from(i.target as i32) as u64);
            mbarrier::arrived(x, lane, barrier, (shared, bytes))?;
        } else if x.launch.level == Level::Full {
            x.block.sources.issue(x.warp.index, shared, bytes);
        }
    }
    Ok(())
}

fn row(x: &Exec<'_>, row: u32, lane: usize, narrow: bool) -> u64 {
    if narrow { x.regs.cells::<u32>(row)[lane].into() } else { x.regs.cells::<u64>(row)[lane] }
}

/// Both ranges, before anything is moved.
fn check(
    x: &Exec<'_>,
    lane: usize,
    shared: u64,
    global: u64,
    bytes: u32,
    to_global: bool,
) -> Result<(), Trap> {
    let fault = |kind, space, address, write| {
        Err(x.access_trap(kind, lane as u32, space, address, bytes.into(), write))
    };
    if !x.block.shared.fits(shared, bytes) {
        return fault(FaultKind::OutOfBounds, Space::Shared, shared, !to_global);
    }
    let Some(buffer) = x.launch.memory.find(global) else {
        return fault(FaultKind::OutOfBounds, Space::Global, global, to_global);
    };
    if buffer.len.checked_sub(bytes.into()).is_none_or(|last| global - buffer.base > last) {
        return fault(FaultKind::OutOfBounds, Space::Global, global, to_global);
    }
    if to_global && buffer.read_only {
        return fault(FaultKind::ReadOnly, Space::Global, global, true);
    }
    let piece = u64::from(PIECE);
    for (space, address, write) in [(Space::Shared, shared, !to_global), (Space::Global, global, to_global)] {
        if !address.is_multiple_of(piece) || !bytes.is_multiple_of(PIECE) {
            return fault(FaultKind::Misaligned, space, address, write);
        }
    }
    Ok(())
}

/// Moves 16 bytes that `check` has seen.
fn piece(x: &mut Exec<'_>, lane: usize, shared: u64, global: u64, to_global: bool) -> Result<(), Trap> {
    let Some(buffer) = x.launch.memory.find(global) else { return Ok(()) };
    let offset = global - buffer.base;
    let full = x.launch.level == Level::Full;
    let run = |address, base| Run::wide(&[address; 32], 0, base, 1 << lane, PIECE);
    let shared_run = run(shared, 0);
    for word in 0..u64::from(PIECE / 4) {
        if to_global {
            buffer.store(offset + 4 * word, 4, x.block.shared.load(shared + 4 * word, 4));
        } else {
            x.block.shared.store(shared + 4 * word, 4, buffer.load(offset + 4 * word, 4));
        }
    }
    if to_global {
        if full {
            x.check_shared_read(&shared_run, false)?;
        }
        buffer.mark(offset, PIECE.into());
    } else if full {
        if buffer.unwritten(offset, PIECE.into()).is_some() {
            let kind = FaultKind::Uninitialised;
            x.raise(x.access_trap(kind, lane as u32, Space::Global, global, PIECE.into(), false))?;
        }
        x.check_shared_write(&shared_run, false, |_, _| false)?;
    }
    if full {
        let touch = Touch { run: &run(global, global), write: to_global, strong: false };
        x.race_global(&touch, global, |_, _| false)?;
    }
    Ok(())
}

/// `cp.async.bulk.commit_group`
pub(crate) fn commit(x: &mut Exec<'_>, _: &Inst, _: u32) -> Result<(), Trap> {
    x.block.sources.commit(x.warp.index);
    Ok(())
}

/// `cp.async.bulk.wait_group`, for all but the newest `imm` groups.
pub(crate) fn wait(x: &mut Exec<'_>, i: &Inst, _: u32) -> Result<(), Trap> {
    x.block.sources.wait(x.warp.index, Some(i.imm as u32));
    Ok(())
}
