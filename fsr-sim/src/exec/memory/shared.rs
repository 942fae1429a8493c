//! Shared memory: words in a flat array, bank conflicts, races within the block.

use super::{At, Place, Run, Shape, both, has_wide, load_at, store_at, unchanged};
use crate::check::FaultKind;
use crate::exec::race::Touch;
use crate::exec::{Exec, Trap, lanes};
use crate::parse::Space;
use crate::program::{Inst, MemoryFn};

pub(super) struct Shared;

impl Place for Shared {
    type Reach<'m> = ();

    #[inline(always)]
    fn reach<'m>(x: &Exec<'m>, at: At<'_>, write: bool) -> Result<(), Trap> {
        x.own(Space::Shared, at, x.block.shared.bytes().into(), write)
    }

    #[inline(always)]
    fn count(x: &mut Exec<'_>, at: At<'_>) {
        x.count_shared(at.addresses, at.mask, at.size());
    }

    fn judge_load(x: &mut Exec<'_>, _: &Inst, at: At<'_>, (): &()) -> Result<(), Trap> {
        x.check_shared_read(&Run::wide(at.addresses, 0, 0, at.mask, at.size()), at.shape.strong)
    }

    fn judge_store(x: &mut Exec<'_>, i: &Inst, at: At<'_>, (): &()) -> Result<(), Trap> {
        let run = Run::wide(at.addresses, 0, 0, at.mask, at.size());
        x.check_shared_store(&run, at.shape.strong, |x, lane| changes_nothing(x, i, at, lane))
    }

    #[inline(always)]
    fn load(x: &Exec<'_>, (): &(), _: usize, address: u64, bytes: u32) -> u64 {
        x.block.shared.load(address, bytes)
    }

    #[inline(always)]
    fn store(x: &mut Exec<'_>, (): &(), _: usize, address: u64, bytes: u32, value: u64) {
        x.block.shared.store(address, bytes, value);
    }
}

/// Whether a lane's store writes what is already there, and was written before.
fn changes_nothing(x: &Exec<'_>, i: &Inst, at: At<'_>, lane: usize) -> bool {
    !x.block.shared.unwritten(at.addresses[lane], at.size()) && unchanged::<Shared>(x, i, at, &(), lane)
}

#[cold]
#[inline(never)]
fn load_slow(x: &mut Exec<'_>, i: &Inst, m: u32, shape: Shape) -> Result<(), Trap> {
    let addresses = x.addresses(i, shape.narrow);
    load_at::<Shared>(x, i, At { addresses: &addresses, mask: m, shape })
}

#[cold]
#[inline(never)]
fn store_slow(x: &mut Exec<'_>, i: &Inst, m: u32, shape: Shape) -> Result<(), Trap> {
    let addresses = x.addresses(i, shape.narrow);
    store_at::<Shared>(x, i, At { addresses: &addresses, mask: m, shape })
}

#[inline(always)]
fn load_body<const NARROW: bool>(x: &mut Exec<'_>, i: &Inst, m: u32) -> Result<(), Trap> {
    let shape = Shape::unpack(i.aux);
    let run = x.shared_run::<NARROW>(i, m, shape);
    if !x.plain(i, shape) || !run.fits(x.block.shared.bytes().into(), 0) {
        return load_slow(x, i, m, shape);
    }
    x.count_run(&run);
    if x.full() {
        x.check_shared_read(&run, shape.strong)?;
    }
    if shape.bytes == 4 && shape.count == 1 {
        let out = x.block.shared.gather(&run, 0);
        x.regs.write(i.d, &out, m);
        return Ok(());
    }
    for k in 0..shape.count {
        let row = x.element(i, shape, k);
        let at = |lane: usize| u64::from(run.each[lane] + k * shape.bytes);
        if shape.bytes == 8 {
            let out = std::array::from_fn(|lane| x.block.shared.load(at(lane), 8));
            x.regs.write::<u64>(row, &out, m);
        } else if shape.bytes == 4 {
            let out = x.block.shared.gather(&run, k);
            x.regs.write(row, &out, m);
        } else {
            let load = |lane| shape.extend(x.block.shared.load(at(lane), shape.bytes)) as u32;
            let out = std::array::from_fn(load);
            x.regs.write::<u32>(row, &out, m);
        }
    }
    Ok(())
}

#[inline(always)]
fn store_body<const NARROW: bool>(x: &mut Exec<'_>, i: &Inst, m: u32) -> Result<(), Trap> {
    let shape = Shape::unpack(i.aux);
    let run = x.shared_run::<NARROW>(i, m, shape);
    if !x.plain(i, shape) || !run.fits(x.block.shared.bytes().into(), 0) {
        return store_slow(x, i, m, shape);
    }
    x.count_run(&run);
    if x.full() {
        x.check_shared_store(&run, shape.strong, |x, lane| {
            changes_nothing(x, i, At { addresses: &run.each.map(u64::from), mask: m, shape }, lane)
        })?;
    }
    for k in 0..shape.count {
        let row = x.element(i, shape, k);
        if shape.bytes == 4 {
            x.block.shared.scatter(&run, k, x.regs.cells::<u32>(row), m);
            continue;
        }
        for lane in lanes(m) {
            let value = if shape.wide {
                x.regs.cells::<u64>(row)[lane]
            } else {
                x.regs.cells::<u32>(row)[lane].into()
            };
            x.block.shared.store(u64::from(run.each[lane] + k * shape.bytes), shape.bytes, value);
        }
    }
    Ok(())
}

both! {
    load_narrow = load_body::<true>;
    load_wide = load_body::<false>;
    store_narrow = store_body::<true>;
    store_wide = store_body::<false>;
}

/// `ld.shared`; `narrow`: the address register has 32 bits.
pub(crate) fn load_shared(narrow: bool) -> MemoryFn {
    if narrow { load_narrow() } else { load_wide() }
}

/// `st.shared`, as `load_shared`.
pub(crate) fn store_shared(narrow: bool) -> MemoryFn {
    if narrow { store_narrow() } else { store_wide() }
}

pub(super) fn load(x: &mut Exec<'_>, i: &Inst, at: At<'_>) -> Result<(), Trap> {
    load_at::<Shared>(x, i, at)
}

pub(super) fn store(x: &mut Exec<'_>, i: &Inst, at: At<'_>) -> Result<(), Trap> {
    store_at::<Shared>(x, i, at)
}

impl Exec<'_> {
    #[inline(always)]
    fn shared_run<const NARROW: bool>(&self, i: &Inst, m: u32, shape: Shape) -> Run {
        if NARROW {
            Run::narrow(self.regs.cells::<u32>(i.a), i.imm as u32, m, shape.total())
        } else {
            Run::wide(self.regs.cells::<u64>(i.a), i.imm as u64, 0, m, shape.total())
        }
    }

    #[inline(always)]
    pub(in crate::exec) fn count_run(&mut self, run: &Run) {
        if self.block.counters.enabled {
            let wavefronts = run.wavefronts().unwrap_or_else(|| self.block.shared.wavefronts(run));
            self.block.counters.request(self.pc, wavefronts);
        }
    }

    /// Counts an access within shared memory.
    pub(in crate::exec) fn count_shared(&mut self, addresses: &[u64; 32], m: u32, size: u32) {
        self.count_run(&Run::wide(addresses, 0, 0, m, size));
    }

    pub(in crate::exec) fn check_shared_read(&mut self, run: &Run, strong: bool) -> Result<(), Trap> {
        if !self.block.shared.complete() || self.block.copies.any() {
            self.check_shared_content(run)?;
        }
        self.race_shared(&Touch { run, write: false, strong }, |_, _| false)
    }

    #[inline(never)]
    fn check_shared_content(&self, run: &Run) -> Result<(), Trap> {
        for lane in lanes(run.mask) {
            let (address, size) = (run.each[lane].into(), run.size);
            let kind = if self.block.copies.pending(address, size) {
                FaultKind::MissingWait
            } else if self
                .uses(size, |from, bytes| self.block.shared.unwritten(address + u64::from(from), bytes))
            {
                FaultKind::Uninitialised
            } else {
                continue;
            };
            self.raise(self.access_trap(kind, lane as u32, Space::Shared, address, size.into(), false))?;
        }
        Ok(())
    }

    /// Reports writes to what an asynchronous copy still reads or writes.
    #[inline(always)]
    fn check_shared_copies(&self, run: &Run) -> Result<(), Trap> {
        match self.block.copies.any() || self.block.sources.any() {
            true => self.check_shared_copies_each(run),
            false => Ok(()),
        }
    }

    #[inline(never)]
    fn check_shared_copies_each(&self, run: &Run) -> Result<(), Trap> {
        for lane in lanes(run.mask) {
            let (address, size) = (run.each[lane].into(), run.size);
            if self.block.copies.pending(address, size) || self.block.sources.pending(address, size) {
                let kind = FaultKind::MissingWait;
                self.raise(self.access_trap(kind, lane as u32, Space::Shared, address, size.into(), true))?;
            }
        }
        Ok(())
    }

    /// What is said to a store; of asynchronous copies, `check_shared_write`.
    pub(in crate::exec) fn check_shared_store(
        &mut self,
        run: &Run,
        strong: bool,
        same: impl Fn(&Self, usize) -> bool,
    ) -> Result<(), Trap> {
        self.check_shared_copies(run)?;
        self.check_shared_write(run, strong, same)
    }

    /// What is said to an atomic, beyond its bytes.
    pub(in crate::exec) fn check_shared_atomic(&mut self, run: &Run) -> Result<(), Trap> {
        self.check_shared_copies(run)?;
        self.race_shared(&Touch { run, write: true, strong: true }, |_, _| false)
    }

    /// `same(lane)`: whether that lane's write changes nothing.
    pub(in crate::exec) fn check_shared_write(
        &mut self,
        run: &Run,
        strong: bool,
        same: impl Fn(&Self, usize) -> bool,
    ) -> Result<(), Trap> {
        self.race_shared(&Touch { run, write: true, strong }, same)?;
        if !self.block.shared.complete() {
            for lane in lanes(run.mask) {
                self.block.shared.mark(run.each[lane].into(), run.size);
            }
        }
        Ok(())
    }
}
