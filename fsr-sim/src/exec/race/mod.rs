//! The race check: for each word of shared and global memory, who touched it last, and whether that came before.
//!
//! Order within a block is kept by clocks: every warp has an epoch, which grows at warp and block barriers, and knows
//! up to which epoch it has synchronised with each other warp. Blocks are not ordered at all; a kernel that
//! synchronises through memory (fences, volatile or ordered accesses) is not judged across blocks, and its strong
//! accesses order warps within a block. Writes that change nothing and lanes of one instruction are not judged.

mod pages;
mod record;

pub(crate) use pages::GlobalShadow;

use self::pages::PAGE_BYTES;
use self::record::{Agent, Conflict, EPOCHS, Entry};
use super::{Exec, Launch, Trap};
use crate::check::FaultKind;
use crate::parse::Space;
use std::collections::HashMap;

/// What warps of a block know of each other.
#[derive(Clone)]
pub(crate) struct Clocks {
    /// Warps of the block; 0 where races are not judged.
    warps: usize,
    epoch: [u32; 32],
    /// Up to which epoch each warp has been before a warp's present one for certain.
    seen: Box<[[u32; 32]; 32]>,
    /// Where all strong accesses of the block meet.
    meeting: [u32; 32],
    /// What arrivals have brought to an `mbarrier`, by its address: in all, and up to its last complete phase.
    objects: HashMap<u64, [[u32; 32]; 2]>,
}

impl Default for Clocks {
    fn default() -> Self {
        Clocks {
            warps: 0,
            epoch: [1; 32],
            seen: Box::new([[0; 32]; 32]),
            meeting: [0; 32],
            objects: HashMap::new(),
        }
    }
}

fn join(into: &mut [u32; 32], from: &[u32; 32], warps: usize) {
    for (a, b) in into.iter_mut().zip(from).take(warps) {
        *a = (*a).max(*b);
    }
}

impl Clocks {
    /// Ready for a new block.
    pub fn reset(&mut self, warps: u32) {
        self.warps = warps.min(32) as usize;
        self.epoch = [1; 32];
        self.seen[..self.warps].fill([0; 32]);
        self.meeting = [0; 32];
        self.objects.clear();
    }

    fn step(&mut self, warp: usize) {
        self.seen[warp][warp] = self.epoch[warp];
        self.epoch[warp] += 1;
    }

    /// Lanes of a warp have met.
    pub fn warp_sync(&mut self, warp: u32) {
        self.step(warp as usize & 31);
    }

    /// A warp gives what it knows to a barrier.
    pub fn arrive(&mut self, warp: u32, barrier: &mut [u32; 32]) {
        let warp = warp as usize & 31;
        join(barrier, &self.seen[warp], self.warps);
        barrier[warp] = barrier[warp].max(self.epoch[warp]);
        self.step(warp);
    }

    /// A warp leaves a barrier.
    pub fn leave(&mut self, warp: u32, barrier: &[u32; 32]) {
        join(&mut self.seen[warp as usize & 31], barrier, self.warps);
    }

    /// A warp arrives at an `mbarrier`.
    pub fn arrive_at(&mut self, warp: u32, address: u64) {
        let mut object = self.objects.remove(&address).unwrap_or_default();
        self.arrive(warp, &mut object[0]);
        self.objects.insert(address, object);
    }

    /// A phase of an `mbarrier` is complete.
    pub fn complete_at(&mut self, address: u64) {
        if let Some([all, complete]) = self.objects.get_mut(&address) {
            *complete = *all;
        }
    }

    /// A warp's wait at an `mbarrier` is over.
    pub fn leave_at(&mut self, warp: u32, address: u64) {
        if let Some([_, complete]) = self.objects.get(&address).copied() {
            self.leave(warp, &complete);
        }
    }

    fn meet(&mut self, warp: u32) {
        let mut meeting = self.meeting;
        self.arrive(warp, &mut meeting);
        self.leave(warp, &meeting);
        self.meeting = meeting;
    }
}

/// Entries of a range of words.
struct Shadow {
    entries: Box<[Entry]>,
    split: HashMap<u32, [Entry; 4]>,
}

impl Shadow {
    fn new(words: usize) -> Shadow {
        Shadow { entries: vec![Entry::default(); words].into_boxed_slice(), split: HashMap::new() }
    }

    /// Calls `f` for the entries of the bytes from `offset`; splits words that are touched in part.
    #[inline(always)]
    fn touch(&mut self, offset: u64, size: u32, mut f: impl FnMut(&mut Entry)) {
        let first = (offset / 4) as usize;
        if size == 4
            && let Some(entry) = self.entries.get_mut(first)
            && !entry.split
        {
            return f(entry);
        }
        self.touch_parts(offset, size, &mut f);
    }

    #[inline(never)]
    fn touch_parts(&mut self, offset: u64, size: u32, f: &mut dyn FnMut(&mut Entry)) {
        let end = offset + u64::from(size);
        let mut at = offset;
        while at < end {
            let word = at / 4;
            let next = ((word + 1) * 4).min(end);
            let Some(entry) = self.entries.get_mut(word as usize) else { return };
            if next - at == 4 && !entry.split {
                f(entry);
            } else {
                let mut whole = *entry;
                whole.split = false;
                entry.split = true;
                let bytes = self.split.entry(word as u32).or_insert([whole; 4]);
                for byte in at..next {
                    f(&mut bytes[(byte % 4) as usize]);
                }
            }
            at = next;
        }
    }
}

/// The shadow of a block's shared memory; kept from block to block, since records name their block.
#[derive(Default)]
pub(crate) struct SharedShadow(Option<Shadow>);

/// An access of a warp to be judged.
#[derive(Clone, Copy)]
pub(super) struct Touch<'t> {
    pub addresses: &'t [u64; 32],
    pub mask: u32,
    pub size: u32,
    pub write: bool,
    /// Atomic, volatile or ordered.
    pub strong: bool,
}

impl Touch<'_> {
    /// Judges the lanes of `mask` in a shadow whose first byte is at `base`; the first conflict. `same(lane)`: whether
    /// the write of a lane changes nothing.
    #[inline(always)]
    fn judge<const OWN: bool>(
        &self,
        shadow: &mut Shadow,
        mask: u32,
        base: u64,
        agent: &Agent<'_>,
        same: &dyn Fn(usize) -> bool,
    ) -> Option<(usize, Conflict)> {
        let mut found = None;
        let mut left = mask;
        while left != 0 {
            let lane = left.trailing_zeros();
            left &= left - 1;
            let address = self.addresses[lane as usize];
            if self.write {
                let me = agent.record(lane, false);
                shadow.touch(address - base, self.size, |entry| {
                    let conflict = entry.write::<OWN>(agent, me, || same(lane as usize));
                    found = found.or(conflict.map(|c| (lane as usize, c)));
                });
                continue;
            }
            // Neighbouring lanes that read the same place count as one access of several lanes.
            let mut next = lane + 1;
            while next < 32 && left >> next & 1 == 1 && self.addresses[next as usize & 31] == address {
                left &= !(1 << next);
                next += 1;
            }
            let me = agent.record(lane, next != lane + 1);
            shadow.touch(address - base, self.size, |entry| {
                let conflict = entry.read::<OWN>(agent, me);
                found = found.or(conflict.map(|c| (lane as usize, c)));
            });
        }
        found
    }
}

impl Exec<'_> {
    /// `None` where the warp has passed more barriers than records can tell apart.
    fn agent(&self, strong: bool) -> Option<Agent<'_>> {
        let warp = self.warp.index as usize & 31;
        let clocks = &self.block.clocks;
        let epoch = clocks.epoch[warp];
        (epoch < EPOCHS).then(|| {
            Agent::new(self.block.linear + 1, warp as u32, epoch, &clocks.seen[warp], self.pc, strong)
        })
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
        let words = self.block.shared.words();
        let mut shadow = std::mem::take(&mut self.block.shadow);
        let inner = shadow.0.get_or_insert_with(|| Shadow::new(words));
        let found = self
            .agent(touch.strong)
            .and_then(|agent| touch.judge::<true>(inner, touch.mask, 0, &agent, &|lane| same(self, lane)));
        self.block.shadow = shadow;
        match found {
            Some((lane, conflict)) => self.report_race(lane, conflict, touch, Space::Shared),
            None => Ok(()),
        }
    }

    /// As `race_shared`.
    pub(super) fn race_global(
        &mut self,
        touch: &Touch<'_>,
        same: impl Fn(&Self, usize) -> bool,
    ) -> Result<(), Trap> {
        let Some(shadow) = &self.launch.races else { return Ok(()) };
        let Some(agent) = self.agent(touch.strong) else { return Ok(()) };
        let mut found = None;
        let mut left = touch.mask;
        while left != 0 {
            let page = touch.addresses[left.trailing_zeros() as usize & 31] / PAGE_BYTES;
            let mut here = 0u32;
            for (lane, address) in touch.addresses.iter().enumerate() {
                here |= u32::from(address / PAGE_BYTES == page) << lane;
            }
            here &= left;
            left &= !here;
            shadow.page(page, |shadow| {
                let same = |lane: usize| same(self, lane);
                let first = touch.judge::<false>(shadow, here, page * PAGE_BYTES, &agent, &same);
                found = found.or(first);
            });
        }
        match found {
            Some((lane, conflict)) => self.report_race(lane, conflict, touch, Space::Global),
            None => Ok(()),
        }
    }

    #[cold]
    fn report_race(
        &self,
        lane: usize,
        (record, block): Conflict,
        touch: &Touch<'_>,
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
        let address = touch.addresses[lane];
        let trap = self.access_trap(kind, lane as u32, space, address, touch.size.into(), touch.write);
        self.raise(trap)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_of_a_word_are_told_apart() {
        let clocks = Clocks::default();
        let mut shadow = Shadow::new(4);
        let mut hits = 0;
        for (lane, offset) in [(0, 4), (1, 5), (2, 6), (3, 6)] {
            let agent = Agent::new(1, 0, 1, &clocks.seen[0], lane, false);
            let me = agent.record(lane, false);
            shadow.touch(offset, 1, |entry| {
                hits += u32::from(entry.write::<true>(&agent, me, || false).is_some());
            });
        }
        assert_eq!(hits, 1);
    }
}
