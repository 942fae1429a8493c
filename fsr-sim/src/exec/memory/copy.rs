//! `cp.async`: copies from global to shared memory.

use super::{At, Run, Shape, both, has_wide, sectors};
use crate::check::FaultKind;
use crate::exec::{Exec, Trap, lanes};
use crate::parse::Space;
use crate::program::{Inst, MemoryFn, NONE};

/// `cp.async`: `a` the shared address, row `b` the global one, `c` bytes to read (`NONE`: all); `imm` packs both
/// offsets, `aux` bytes in bits 8-15, bit 0: the shared address is 32 bits wide. The copy is made at once; at full
/// checks its range counts as pending until a wait.
#[inline(always)]
fn copy_body(x: &mut Exec<'_>, i: &Inst, m: u32) -> Result<(), Trap> {
    let size = i.aux >> 8 & 0xff;
    let (to_offset, from_offset) = (i.imm as i32, (i.imm >> 32) as i32);
    let to = if i.aux & 1 != 0 {
        x.regs.cells::<u32>(i.a).map(|a| u64::from(a.wrapping_add(to_offset as u32)))
    } else {
        x.regs.cells::<u64>(i.a).map(|a| a.wrapping_add(i64::from(to_offset) as u64))
    };
    let from = x.regs.cells::<u64>(i.b).map(|a| a.wrapping_add(i64::from(from_offset) as u64));
    let read = if i.c == NONE { [size; 32] } else { x.regs.cells::<u32>(i.c).map(|n| n.min(size)) };
    let plain = Shape { bytes: size, count: 1, ..Shape::default() };
    x.own(Space::Shared, At { addresses: &to, mask: m, shape: plain }, x.block.shared.bytes().into(), true)?;
    let reading = lanes(m).filter(|&l| read[l] != 0).fold(0u32, |mask, l| mask | 1 << l);
    if reading != 0 {
        let span = x.span(&from, reading, size, false)?;
        if x.block.counters.enabled {
            x.block.counters.request(x.pc, sectors(&from, reading, size));
        }
        for lane in lanes(reading) {
            let Some((buffer, offset)) = span.at(lane, from[lane]) else { continue };
            if x.full() && buffer.unwritten(offset, read[lane].into()).is_some() {
                let kind = FaultKind::Uninitialised;
                x.raise(x.access_trap(kind, lane as u32, Space::Global, from[lane], size.into(), false))?;
            }
            if read[lane] == size && size >= 8 {
                for at in (0..u64::from(size)).step_by(8) {
                    x.block.shared.store(to[lane] + at, 8, buffer.load(offset + at, 8));
                }
                continue;
            }
            for word in 0..size / 4 {
                let at = word * 4;
                let left = read[lane].saturating_sub(at);
                let raw = if left == 0 { 0 } else { buffer.load(offset + u64::from(at), 4) };
                let value = if left >= 4 { raw } else { raw & ((1u64 << (8 * left)) - 1) };
                x.block.shared.store(to[lane] + u64::from(at), 4, value);
            }
        }
    }
    for lane in lanes(m & !reading) {
        for word in 0..size / 4 {
            x.block.shared.store(to[lane] + u64::from(word * 4), 4, 0);
        }
    }
    if x.full() {
        x.check_shared_write(&Run::wide(&to, 0, 0, m, size), false, |_, _| false)?;
        for lane in lanes(m) {
            x.block.copies.issue(x.warp.index, to[lane], size);
        }
    }
    Ok(())
}

both! {
    copy_async = copy_body;
}

pub(crate) fn copy_commit(x: &mut Exec<'_>, _: &Inst, _: u32) -> Result<(), Trap> {
    x.block.copies.commit(x.warp.index);
    Ok(())
}

/// Waits for all but the newest `imm` groups; negative: for all, committed or not.
pub(crate) fn copy_wait(x: &mut Exec<'_>, i: &Inst, _: u32) -> Result<(), Trap> {
    x.block.copies.wait(x.warp.index, u32::try_from(i.imm).ok());
    Ok(())
}
