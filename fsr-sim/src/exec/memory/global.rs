//! Global memory: buffers found by address, sectors, races between blocks.

use super::{At, Place, Shape, both, has_wide, load_at, offsets, store_at, unchanged};
use crate::check::FaultKind;
use crate::exec::race::Touch;
use crate::exec::{Exec, Trap, lanes, regs::FULL};
use crate::memory::Buffer;
use crate::parse::Space;
use crate::program::{Inst, MemoryFn};
use std::sync::atomic::Ordering::Relaxed;

pub(super) struct Global;

/// Where all active lanes' addresses lie.
pub(super) enum Span<'m> {
    /// In one buffer, with 32-bit offsets (of inactive lanes: any that fits).
    One(&'m Buffer, [u32; 32]),
    Many(Box<[Option<&'m Buffer>; 32]>),
}

impl<'m> Span<'m> {
    #[inline(always)]
    pub fn at(&self, lane: usize, address: u64) -> Option<(&'m Buffer, u64)> {
        match self {
            Span::One(buffer, _) => Some((buffer, address - buffer.base)),
            Span::Many(buffers) => buffers[lane].map(|b| (b, address - b.base)),
        }
    }
}

/// Whether the offsets are those of 32 neighbours of `size` bytes.
#[inline(always)]
fn run(offsets: &[u32; 32], size: u32) -> bool {
    let mut broken = 0;
    for (lane, offset) in offsets.iter().enumerate() {
        broken |= offset ^ offsets[0].wrapping_add(size.wrapping_mul(lane as u32));
    }
    broken == 0
}

/// Sectors of 32 bytes that the active lanes touch.
pub(in crate::exec) fn sectors(addresses: &[u64; 32], mask: u32, size: u32) -> u32 {
    let first = addresses[mask.trailing_zeros() as usize & 31];
    if mask == FULL {
        let step = u64::from(size);
        let mut run = true;
        for (lane, address) in addresses.iter().enumerate() {
            run &= *address == first.wrapping_add(lane as u64 * step);
        }
        if run {
            return ((addresses[31].wrapping_add(step - 1) >> 5) - (first >> 5) + 1) as u32;
        }
    }
    let mut all = [0u64; 32];
    let mut count = 0;
    let mut sorted = true;
    for lane in lanes(mask) {
        let sector = addresses[lane] >> 5;
        if count > 0 {
            if all[count - 1] == sector {
                continue;
            }
            sorted &= all[count - 1] < sector;
        }
        all[count] = sector;
        count += 1;
    }
    if sorted {
        return count as u32;
    }
    let all = &mut all[..count];
    all.sort_unstable();
    1 + all.windows(2).filter(|pair| pair[0] != pair[1]).count() as u32
}

impl<'a> Exec<'a> {
    /// The buffer or buffers of the active lanes' addresses; faults where there is none.
    #[inline(always)]
    pub(super) fn span(
        &self,
        addresses: &[u64; 32],
        mask: u32,
        size: u32,
        write: bool,
    ) -> Result<Span<'a>, Trap> {
        let first = addresses[mask.trailing_zeros() as usize & 31];
        let memory = self.launch.memory;
        if let Some(buffer) = memory.find(first)
            && let Some(limit) = buffer.len.checked_sub(size.into())
            && !(write && buffer.read_only)
            && let Some(offsets) = offsets(addresses, mask, buffer.base, limit, size)
        {
            return Ok(Span::One(buffer, offsets));
        }
        self.span_each(addresses, mask, size, write)
    }

    #[cold]
    #[inline(never)]
    fn span_each(&self, addresses: &[u64; 32], mask: u32, size: u32, write: bool) -> Result<Span<'a>, Trap> {
        let memory = self.launch.memory;
        let mut buffers = Box::new([None; 32]);
        for lane in lanes(mask) {
            let address = addresses[lane];
            let fault =
                |x: &Self, kind| x.access_trap(kind, lane as u32, Space::Global, address, size.into(), write);
            let Some(buffer) = memory.find(address) else { return Err(fault(self, FaultKind::OutOfBounds)) };
            let offset = address - buffer.base;
            if buffer.len < u64::from(size) || offset > buffer.len - u64::from(size) {
                return Err(fault(self, FaultKind::OutOfBounds));
            }
            if !address.is_multiple_of(size.into()) {
                return Err(fault(self, FaultKind::Misaligned));
            }
            if write && buffer.read_only {
                return Err(fault(self, FaultKind::ReadOnly));
            }
            buffers[lane] = Some(buffer);
        }
        Ok(Span::Many(buffers))
    }
}

impl Place for Global {
    type Reach<'m> = Span<'m>;

    #[inline(always)]
    fn reach<'m>(x: &Exec<'m>, at: At<'_>, write: bool) -> Result<Span<'m>, Trap> {
        x.span(at.addresses, at.mask, at.size(), write)
    }

    #[inline(always)]
    fn count(x: &mut Exec<'_>, at: At<'_>) {
        if x.block.counters.enabled {
            x.block.counters.request(x.pc, sectors(at.addresses, at.mask, at.size()));
        }
    }

    fn judge_load(x: &mut Exec<'_>, _: &Inst, at: At<'_>, span: &Span<'_>) -> Result<(), Trap> {
        let At { addresses, mask, .. } = at;
        let size = at.size();
        if !matches!(span, Span::One(buffer, _) if buffer.complete()) {
            for lane in lanes(mask) {
                if let Some((buffer, offset)) = span.at(lane, addresses[lane])
                    && buffer.unwritten(offset, size.into()).is_some()
                {
                    let (kind, address) = (FaultKind::Uninitialised, addresses[lane]);
                    x.raise(x.access_trap(kind, lane as u32, Space::Global, address, size.into(), false))?;
                }
            }
        }
        let touch = Touch { addresses, mask, size, write: false, strong: at.shape.strong };
        x.race_global(&touch, |_, _| false)
    }

    fn judge_store(x: &mut Exec<'_>, i: &Inst, at: At<'_>, span: &Span<'_>) -> Result<(), Trap> {
        let At { addresses, mask, .. } = at;
        let size = at.size();
        match span {
            Span::One(buffer, _) if buffer.complete() => {}
            Span::One(buffer, offsets) if mask == FULL && run(offsets, size) => {
                buffer.mark(offsets[0].into(), u64::from(size) * 32);
            }
            _ => {
                for lane in lanes(mask) {
                    if let Some((buffer, offset)) = span.at(lane, addresses[lane]) {
                        buffer.mark(offset, size.into());
                    }
                }
            }
        }
        let touch = Touch { addresses, mask, size, write: true, strong: at.shape.strong };
        x.race_global(&touch, |x, lane| unchanged::<Global>(x, i, at, span, lane))
    }

    #[inline(always)]
    fn load(_: &Exec<'_>, span: &Span<'_>, lane: usize, address: u64, bytes: u32) -> u64 {
        match span {
            Span::One(buffer, _) => buffer.load(address - buffer.base, bytes),
            // The buffer of the range's start, which the whole range lies in.
            Span::Many(buffers) => buffers[lane].map_or(0, |b| b.load(address - b.base, bytes)),
        }
    }

    #[inline(always)]
    fn store(_: &mut Exec<'_>, span: &Span<'_>, lane: usize, address: u64, bytes: u32, value: u64) {
        if let Some((buffer, offset)) = span.at(lane, address) {
            buffer.store(offset, bytes, value);
        }
    }
}

#[inline(always)]
fn load_body(x: &mut Exec<'_>, i: &Inst, m: u32) -> Result<(), Trap> {
    let shape = Shape::unpack(i.aux);
    let addresses = x.addresses(i, shape.narrow);
    let at = At { addresses: &addresses, mask: m, shape };
    if !x.words(i, shape) {
        return load_at::<Global>(x, i, at);
    }
    let span = Global::reach(x, at, false)?;
    let Span::One(buffer, offsets) = &span else { return load_at::<Global>(x, i, at) };
    Global::count(x, at);
    if x.full() {
        Global::judge_load(x, i, at, &span)?;
    }
    for k in 0..shape.count {
        let mut out = [0u32; 32];
        for lane in 0..32 {
            out[lane] = buffer.cell32(u64::from(offsets[lane]) + u64::from(4 * k)).load(Relaxed);
        }
        x.regs.write(x.element(i, shape, k), &out, m);
    }
    Ok(())
}

#[inline(always)]
fn store_body(x: &mut Exec<'_>, i: &Inst, m: u32) -> Result<(), Trap> {
    let shape = Shape::unpack(i.aux);
    let addresses = x.addresses(i, shape.narrow);
    let at = At { addresses: &addresses, mask: m, shape };
    if !x.words(i, shape) {
        return store_at::<Global>(x, i, at);
    }
    let span = Global::reach(x, at, true)?;
    let Span::One(buffer, offsets) = &span else { return store_at::<Global>(x, i, at) };
    Global::count(x, at);
    if x.full() {
        Global::judge_store(x, i, at, &span)?;
    }
    for k in 0..shape.count {
        let values = x.regs.cells::<u32>(x.element(i, shape, k));
        let cell = |lane: usize| buffer.cell32(u64::from(offsets[lane]) + u64::from(4 * k));
        if m == FULL {
            for lane in 0..32 {
                cell(lane).store(values[lane], Relaxed);
            }
        } else {
            for lane in lanes(m) {
                cell(lane).store(values[lane], Relaxed);
            }
        }
    }
    Ok(())
}

both! {
    load_global = load_body;
    store_global = store_body;
}

pub(super) fn load(x: &mut Exec<'_>, i: &Inst, at: At<'_>) -> Result<(), Trap> {
    load_at::<Global>(x, i, at)
}

pub(super) fn store(x: &mut Exec<'_>, i: &Inst, at: At<'_>) -> Result<(), Trap> {
    store_at::<Global>(x, i, at)
}
