//! Shared memory: words in a flat array, bank conflicts, races within the block.

use super::{At, Place, Shape, both, has_wide, load_at, offsets, store_at, unchanged};
use crate::check::FaultKind;
use crate::exec::race::Touch;
use crate::exec::{Exec, Trap, lanes, regs::FULL};
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
        x.check_shared_read(at.addresses, at.mask, at.size(), at.shape.strong)
    }

    fn judge_store(x: &mut Exec<'_>, i: &Inst, at: At<'_>, (): &()) -> Result<(), Trap> {
        let size = at.size();
        x.check_shared_write(at.addresses, at.mask, size, at.shape.strong, |x, lane| {
            !x.block.shared.unwritten(at.addresses[lane], size) && unchanged::<Shared>(x, i, at, &(), lane)
        })
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

#[inline(always)]
fn load_body(x: &mut Exec<'_>, i: &Inst, m: u32) -> Result<(), Trap> {
    let shape = Shape::unpack(i.aux);
    let addresses = x.addresses(i, shape.narrow);
    let at = At { addresses: &addresses, mask: m, shape };
    let Some(offsets) = x.word_offsets(i, at) else { return load_at::<Shared>(x, i, at) };
    Shared::count(x, at);
    if x.full() {
        Shared::judge_load(x, i, at, &())?;
    }
    for k in 0..shape.count {
        let out = x.block.shared.gather(&offsets, k);
        x.regs.write(x.element(i, shape, k), &out, m);
    }
    Ok(())
}

#[inline(always)]
fn store_body(x: &mut Exec<'_>, i: &Inst, m: u32) -> Result<(), Trap> {
    let shape = Shape::unpack(i.aux);
    let addresses = x.addresses(i, shape.narrow);
    let at = At { addresses: &addresses, mask: m, shape };
    let Some(offsets) = x.word_offsets(i, at) else { return store_at::<Shared>(x, i, at) };
    Shared::count(x, at);
    if x.full() {
        Shared::judge_store(x, i, at, &())?;
    }
    for k in 0..shape.count {
        let row = x.element(i, shape, k);
        x.block.shared.scatter(&offsets, k, x.regs.cells::<u32>(row), m);
    }
    Ok(())
}

both! {
    load_shared = load_body;
    store_shared = store_body;
}

pub(super) fn load(x: &mut Exec<'_>, i: &Inst, at: At<'_>) -> Result<(), Trap> {
    load_at::<Shared>(x, i, at)
}

pub(super) fn store(x: &mut Exec<'_>, i: &Inst, at: At<'_>) -> Result<(), Trap> {
    store_at::<Shared>(x, i, at)
}

impl Exec<'_> {
    /// Offsets of words within shared memory, where the access is of words and all of them are there.
    #[inline(always)]
    fn word_offsets(&self, i: &Inst, at: At<'_>) -> Option<[u32; 32]> {
        if !self.words(i, at.shape) {
            return None;
        }
        let size = at.size();
        let limit = self.block.shared.bytes().checked_sub(size)?;
        offsets(at.addresses, at.mask, 0, limit.into(), size)
    }

    #[inline(always)]
    pub(in crate::exec) fn count_shared(&mut self, addresses: &[u64; 32], m: u32, size: u32) {
        if !self.block.counters.enabled {
            return;
        }
        let first = addresses[m.trailing_zeros() as usize & 31];
        let (mut uneven, mut broken) = (0u64, u64::from(m != FULL));
        for (lane, address) in addresses.iter().enumerate() {
            let active = 0u64.wrapping_sub(u64::from(m >> lane & 1));
            uneven |= (address ^ first) & active;
            broken |= address ^ first.wrapping_add(lane as u64 * u64::from(size));
        }
        let wavefronts = if uneven == 0 {
            1
        } else if broken == 0 {
            (size / 4).max(1)
        } else {
            self.block.shared.wavefronts(addresses, m, size)
        };
        self.block.counters.request(self.pc, wavefronts);
    }

    pub(in crate::exec) fn check_shared_read(
        &mut self,
        addresses: &[u64; 32],
        m: u32,
        size: u32,
        strong: bool,
    ) -> Result<(), Trap> {
        if !self.block.shared.complete() || self.block.copies.any() {
            self.check_shared_content(addresses, m, size)?;
        }
        self.race_shared(&Touch { addresses, mask: m, size, write: false, strong }, |_, _| false)
    }

    #[inline(never)]
    fn check_shared_content(&self, addresses: &[u64; 32], m: u32, size: u32) -> Result<(), Trap> {
        for lane in lanes(m) {
            let address = addresses[lane];
            let kind = if self.block.copies.pending(address, size) {
                FaultKind::MissingWait
            } else if self.block.shared.unwritten(address, size) {
                FaultKind::Uninitialised
            } else {
                continue;
            };
            self.raise(self.access_trap(kind, lane as u32, Space::Shared, address, size.into(), false))?;
        }
        Ok(())
    }

    /// `same(lane)`: whether that lane's write changes nothing.
    pub(in crate::exec) fn check_shared_write(
        &mut self,
        addresses: &[u64; 32],
        m: u32,
        size: u32,
        strong: bool,
        same: impl Fn(&Self, usize) -> bool,
    ) -> Result<(), Trap> {
        self.race_shared(&Touch { addresses, mask: m, size, write: true, strong }, same)?;
        if !self.block.shared.complete() {
            for lane in lanes(m) {
                self.block.shared.mark(addresses[lane], size);
            }
        }
        Ok(())
    }
}
