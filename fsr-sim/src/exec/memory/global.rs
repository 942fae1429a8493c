//! Global memory: buffers found by address, sectors, races between blocks.

use super::{At, Place, Run, Shape, both, has_wide, load_at, store_at, unchanged};
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
    /// In one buffer.
    One(&'m Buffer, Run),
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
        if let Some(buffer) = self.launch.memory.find(addresses[mask.trailing_zeros() as usize & 31]) {
            let run = Run::wide(addresses, 0, buffer.base, mask, size);
            if buffer.takes(&run, write) {
                return Ok(Span::One(buffer, run));
            }
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
        match span {
            Span::One(buffer, run) => x.judge_global_load(buffer, buffer.base, run, at.shape.strong),
            Span::Many(buffers) => {
                runs(at, buffers, |buffer, base, run| x.judge_global_load(buffer, base, run, at.shape.strong))
            }
        }
    }

    fn judge_store(x: &mut Exec<'_>, i: &Inst, at: At<'_>, span: &Span<'_>) -> Result<(), Trap> {
        match span {
            Span::One(buffer, run) => x.judge_global_store(i, at.shape, (buffer, buffer.base), run),
            Span::Many(buffers) => {
                runs(at, buffers, |buffer, base, run| x.judge_global_store(i, at.shape, (buffer, base), run))
            }
        }
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

/// Calls `f` with the access in parts, each to one buffer, with what its offsets count from.
#[cold]
fn runs<'m>(
    at: At<'_>,
    buffers: &[Option<&'m Buffer>; 32],
    mut f: impl FnMut(&'m Buffer, u64, &Run) -> Result<(), Trap>,
) -> Result<(), Trap> {
    let mut left = at.mask;
    while left != 0 {
        let first = left.trailing_zeros() as usize;
        let Some(buffer) = buffers[first] else { return Ok(()) };
        let near = |lane: usize| {
            buffers[lane].is_some_and(|other| other.base == buffer.base)
                && at.addresses[lane] >> 31 == at.addresses[first] >> 31
        };
        let here = lanes(left).filter(|&lane| near(lane)).fold(0, |mask, lane| mask | 1 << lane);
        left &= !here;
        let base = at.addresses[first] >> 31 << 31;
        f(buffer, base, &Run::wide(at.addresses, 0, base, here, at.size()))?;
    }
    Ok(())
}

impl Exec<'_> {
    /// Offsets of the run count from the address `base`.
    fn judge_global_load(&mut self, buffer: &Buffer, base: u64, run: &Run, strong: bool) -> Result<(), Trap> {
        let size = run.size.into();
        let offset = |from: u32| (base + u64::from(from)).wrapping_sub(buffer.base);
        let known =
            buffer.complete() || run.contiguous() && buffer.unwritten(offset(run.least), 32 * size).is_none();
        if !known {
            for lane in lanes(run.mask) {
                let at = offset(run.each[lane]);
                if self.uses(run.size, |from, bytes| {
                    buffer.unwritten(at + u64::from(from), bytes.into()).is_some()
                }) {
                    let (kind, address) = (FaultKind::Uninitialised, base + u64::from(run.each[lane]));
                    self.raise(self.access_trap(kind, lane as u32, Space::Global, address, size, false))?;
                }
            }
        }
        self.race_global(&Touch { run, write: false, strong }, base, |_, _| false)
    }

    fn judge_global_store(
        &mut self,
        i: &Inst,
        shape: Shape,
        (buffer, base): (&Buffer, u64),
        run: &Run,
    ) -> Result<(), Trap> {
        let size = run.size.into();
        let offset = |from: u32| (base + u64::from(from)).wrapping_sub(buffer.base);
        if buffer.complete() {
            // Nothing is left to mark.
        } else if run.contiguous() {
            buffer.mark(offset(run.least), 32 * size);
        } else {
            lanes(run.mask).for_each(|lane| buffer.mark(offset(run.each[lane]), size));
        }
        let touch = Touch { run, write: true, strong: shape.strong };
        self.race_global(&touch, base, |x, lane| {
            let addresses = run.each.map(|offset| base + u64::from(offset));
            let at = At { addresses: &addresses, mask: run.mask, shape };
            unchanged::<Global>(x, i, at, &Span::One(buffer, *run), lane)
        })
    }
}

impl Buffer {
    /// Whether all of an access, whose offsets count from the buffer's base, lies in it and is allowed.
    #[inline(always)]
    pub(super) fn takes(&self, run: &Run, write: bool) -> bool {
        run.fits(self.len, self.base) && !(write && self.read_only)
    }
}

#[cold]
#[inline(never)]
fn load_slow(x: &mut Exec<'_>, i: &Inst, m: u32, shape: Shape) -> Result<(), Trap> {
    let addresses = x.addresses(i, shape.narrow);
    load_at::<Global>(x, i, At { addresses: &addresses, mask: m, shape })
}

#[cold]
#[inline(never)]
fn store_slow(x: &mut Exec<'_>, i: &Inst, m: u32, shape: Shape) -> Result<(), Trap> {
    let addresses = x.addresses(i, shape.narrow);
    store_at::<Global>(x, i, At { addresses: &addresses, mask: m, shape })
}

impl<'a> Exec<'a> {
    /// The buffer of the first active lane, where the access is of a shape without surprises.
    #[inline(always)]
    fn target(&self, i: &Inst, m: u32, shape: Shape) -> Option<&'a Buffer> {
        if shape.narrow || !self.plain(i, shape) {
            return None;
        }
        let first = self.regs.cells::<u64>(i.a)[m.trailing_zeros() as usize & 31];
        self.launch.memory.find(first.wrapping_add(i.imm as u64))
    }

    #[inline(always)]
    fn count_global(&mut self, run: &Run, buffer: &Buffer) {
        if self.block.counters.enabled {
            self.block.counters.request(self.pc, run.sectors(buffer.base));
        }
    }
}

#[inline(always)]
fn load_body(x: &mut Exec<'_>, i: &Inst, m: u32) -> Result<(), Trap> {
    let shape = Shape::unpack(i.aux);
    let Some(buffer) = x.target(i, m, shape) else { return load_slow(x, i, m, shape) };
    let run = Run::wide(x.regs.cells::<u64>(i.a), i.imm as u64, buffer.base, m, shape.total());
    if !buffer.takes(&run, false) {
        return load_slow(x, i, m, shape);
    }
    x.count_global(&run, buffer);
    if x.full() {
        x.judge_global_load(buffer, buffer.base, &run, shape.strong)?;
    }
    // The usual one first: neighbouring words, two at once.
    if shape.bytes == 4
        && run.size == 4
        && run.contiguous()
        && (buffer.base + u64::from(run.least)).is_multiple_of(8)
    {
        let mut out = [0u32; 32];
        for (pair, out) in out.as_chunks_mut::<2>().0.iter_mut().enumerate() {
            let both = buffer.cell64(u64::from(run.least) + 8 * pair as u64).load(Relaxed);
            *out = [both as u32, (both >> 32) as u32];
        }
        x.regs.write(x.element(i, shape, 0), &out, m);
        return Ok(());
    }
    for k in 0..shape.count {
        let at = |lane: usize| u64::from(run.each[lane] + k * shape.bytes);
        let row = x.element(i, shape, k);
        if shape.bytes == 8 {
            let mut out = [0u64; 32];
            for lane in 0..32 {
                out[lane] = buffer.cell64(at(lane)).load(Relaxed);
            }
            x.regs.write(row, &out, m);
            continue;
        }
        let mut out = [0u32; 32];
        if shape.bytes == 4 {
            for lane in 0..32 {
                out[lane] = buffer.cell32(at(lane)).load(Relaxed);
            }
        } else {
            for lane in 0..32 {
                out[lane] = shape.extend(buffer.load(at(lane), shape.bytes)) as u32;
            }
        }
        x.regs.write(row, &out, m);
    }
    Ok(())
}

#[inline(always)]
fn store_body(x: &mut Exec<'_>, i: &Inst, m: u32) -> Result<(), Trap> {
    let shape = Shape::unpack(i.aux);
    let Some(buffer) = x.target(i, m, shape) else { return store_slow(x, i, m, shape) };
    let run = Run::wide(x.regs.cells::<u64>(i.a), i.imm as u64, buffer.base, m, shape.total());
    if !buffer.takes(&run, true) {
        return store_slow(x, i, m, shape);
    }
    x.count_global(&run, buffer);
    if x.full() {
        x.judge_global_store(i, shape, (buffer, buffer.base), &run)?;
    }
    for k in 0..shape.count {
        let at = |lane: usize| u64::from(run.each[lane] + k * shape.bytes);
        let row = x.element(i, shape, k);
        if shape.bytes == 8 {
            let values = x.regs.cells::<u64>(row);
            for lane in lanes(m) {
                buffer.cell64(at(lane)).store(values[lane], Relaxed);
            }
            continue;
        }
        let values = x.regs.cells::<u32>(row);
        if shape.bytes == 4 && run.size == 4 && run.contiguous() && (buffer.base + at(0)).is_multiple_of(8) {
            for (pair, values) in values.as_chunks::<2>().0.iter().enumerate() {
                let both = u64::from(values[0]) | u64::from(values[1]) << 32;
                buffer.cell64(at(0) + 8 * pair as u64).store(both, Relaxed);
            }
        } else if shape.bytes == 4 && m == FULL {
            for lane in 0..32 {
                buffer.cell32(at(lane)).store(values[lane], Relaxed);
            }
        } else {
            for lane in lanes(m) {
                buffer.store(at(lane), shape.bytes, values[lane].into());
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
