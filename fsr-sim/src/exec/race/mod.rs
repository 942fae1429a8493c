//! The race check: for each word of shared and global memory, who touched it last, and whether that came before.
//!
//! Order within a block is kept by clocks: every warp has an epoch, which grows at warp and block barriers, and knows
//! up to which epoch it has synchronised with each other warp. Blocks are not ordered at all; a kernel that
//! synchronises through memory (fences, volatile or ordered accesses) is not judged across blocks, and its strong
//! accesses order warps within a block. Writes that change nothing and lanes of one instruction are not judged.

mod clocks;
mod pages;
mod record;
mod shadow;

pub(crate) use clocks::Clocks;
pub(crate) use pages::GlobalShadow;

use self::pages::PAGE_BYTES;
use self::record::{Agent, Conflict, Verdict};
use self::shadow::{GROUP, Shadow};
use super::memory::Run;
use super::{Exec, Launch, Trap};
use crate::check::FaultKind;
use crate::parse::Space;

/// The shadow of a block's shared memory; kept from block to block, since records name their block.
#[derive(Default)]
pub(crate) struct SharedShadow(Option<Shadow>);

/// An access of a warp to be judged.
#[derive(Clone, Copy)]
pub(super) struct Touch<'t> {
    pub run: &'t Run,
    pub write: bool,
    /// Atomic, volatile or ordered.
    pub strong: bool,
}

impl Touch<'_> {
    /// Judges the lanes of `mask` in a shadow whose first byte is `before` bytes before what the offsets count from; the
    /// first conflict. `same(lane)`: whether the write of a lane changes nothing.
    #[inline(always)]
    fn judge<const OWN: bool>(
        &self,
        shadow: &mut Shadow,
        mask: u32,
        before: u32,
        agent: &Agent<'_>,
        same: &dyn Fn(usize) -> bool,
    ) -> Option<(usize, Conflict)> {
        let Run { each, size, adjacent, same: repeated, .. } = self.run;
        // Lanes that make up a group.
        let lanes = (u64::from(u32::MAX) >> (32 - (GROUP / size).clamp(1, 32))) as u32;
        let mut found = None;
        let mut left = mask;
        while left != 0 {
            let lane = left.trailing_zeros();
            let offset = each[lane as usize].wrapping_add(before);
            if offset.is_multiple_of(GROUP)
                && left >> lane & lanes == lanes
                && adjacent >> lane & lanes >> 1 == lanes >> 1
                && shadow.whole::<OWN>(offset / GROUP, agent, agent.record_shared(lane, *size), self.write)
            {
                left &= !(lanes << lane);
                continue;
            }
            left &= left - 1;
            let mut note = |verdict| {
                if let Verdict::Conflict(conflict) = verdict {
                    found = found.or(Some((lane as usize, conflict)));
                }
                verdict
            };
            if self.write {
                let me = agent.record(lane, false);
                shadow.touch(offset, *size, |entry| {
                    note(entry.write::<OWN, false>(agent, me, || same(lane as usize)))
                });
                continue;
            }
            // Neighbouring lanes that read the same place count as one access of several lanes.
            let others = (repeated >> lane & left >> lane >> 1).trailing_ones();
            left &= !(((1u64 << others) - 1) << lane << 1) as u32;
            let me = agent.record(lane, others != 0);
            shadow.touch(offset, *size, |entry| note(entry.read::<OWN, false>(agent, me)));
        }
        found
    }
}

impl Exec<'_> {
    fn agent(&self, strong: bool) -> Option<Agent<'_>> {
        let block = &self.block;
        let mut agent = block.clocks.agent(block.linear + 1, self.warp.index, self.pc, strong)?;
        agent.exchanges = self.launch.kernel.exchanges;
        Some(agent)
    }

    fn order_strong(&mut self, strong: bool) {
        if strong && self.launch.kernel.synchronises {
            self.block.clocks.meet(self.warp.index);
        }
    }

    /// `same(lane)`: whether that lane's write changes nothing.
    pub(super) fn race_shared(
        &mut self,
        touch: &Touch<'_>,
        same: impl Fn(&Self, usize) -> bool,
    ) -> Result<(), Trap> {
        self.order_strong(touch.strong);
        let bytes = self.block.shared.bytes();
        let mut shadow = std::mem::take(&mut self.block.shadow);
        let inner = shadow.0.get_or_insert_with(|| Shadow::new(bytes as usize));
        let found = self.agent(touch.strong).and_then(|agent| {
            touch.judge::<true>(inner, touch.run.mask, 0, &agent, &|lane| same(self, lane))
        });
        self.block.shadow = shadow;
        match found {
            Some((lane, conflict)) => self.report_race(lane, conflict, touch, 0, Space::Shared),
            None => Ok(()),
        }
    }

    /// As `race_shared`, with offsets that count from the address `base`.
    pub(super) fn race_global(
        &mut self,
        touch: &Touch<'_>,
        base: u64,
        same: impl Fn(&Self, usize) -> bool,
    ) -> Result<(), Trap> {
        self.order_strong(touch.strong);
        let Some(shadow) = &self.launch.races else { return Ok(()) };
        let Some(agent) = self.agent(touch.strong) else { return Ok(()) };
        let run = touch.run;
        let page_of = |offset: u32| (base + u64::from(offset)) / PAGE_BYTES;
        let mut found = None;
        let mut left = run.mask;
        while left != 0 {
            let page = page_of(run.each[left.trailing_zeros() as usize & 31]);
            let mut here = left;
            if page_of(run.least) != page_of(run.most) {
                let mut same_page = 0u32;
                for (lane, offset) in run.each.iter().enumerate() {
                    same_page |= u32::from(page_of(*offset) == page) << lane;
                }
                here &= same_page;
            }
            left &= !here;
            let before = base.wrapping_sub(page * PAGE_BYTES) as u32;
            shadow.page(page, |shadow| {
                let first = touch.judge::<false>(shadow, here, before, &agent, &|lane| same(self, lane));
                found = found.or(first);
            });
        }
        match found {
            Some((lane, conflict)) => self.report_race(lane, conflict, touch, base, Space::Global),
            None => Ok(()),
        }
    }

    #[cold]
    fn report_race(
        &self,
        lane: usize,
        (record, block): Conflict,
        touch: &Touch<'_>,
        base: u64,
        space: Space,
    ) -> Result<(), Trap> {
        let launch: &Launch<'_> = self.launch;
        let [gx, gy, _] = launch.grid;
        let linear = block - 1;
        let kind = FaultKind::Race {
            other: Some(launch.thread(record.warp() * 32 + record.lane())),
            other_block: (linear != self.block.linear).then_some([
                linear % gx,
                linear / gx % gy,
                linear / (gx * gy),
            ]),
            other_line: launch.kernel.origin(record.pc()).pos.line,
        };
        let (address, size) = (base + u64::from(touch.run.each[lane]), touch.run.size.into());
        let trap = self.access_trap(kind, lane as u32, space, address, size, touch.write);
        self.raise(trap)
    }
}
