//! The race check: for each word of shared and global memory, who touched it last, and whether that came before.
//!
//! Order within a block is kept by clocks: every warp has an epoch, which grows at warp and block barriers, and knows
//! up to which epoch it has synchronised with each other warp. Blocks are not ordered at all; a kernel that
//! synchronises through memory (fences, volatile or ordered accesses) is not judged across blocks, and its strong
//! accesses order warps within a block. Writes that change nothing and lanes of one instruction are not judged.

use super::{Exec, Launch, Trap, lanes};
use crate::check::FaultKind;
use crate::parse::Space;
use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

/// Words of a page of the global shadow.
const PAGE: usize = 1024;
const STRIPES: usize = 64;

/// What warps of a block know of each other.
#[derive(Clone)]
pub(crate) struct Clocks {
    epoch: [u32; 32],
    seen: Box<[[u32; 32]; 32]>,
    /// Where all strong accesses of the block meet.
    meeting: [u32; 32],
}

impl Default for Clocks {
    fn default() -> Self {
        Clocks { epoch: [1; 32], seen: Box::new([[0; 32]; 32]), meeting: [0; 32] }
    }
}

fn join(into: &mut [u32; 32], from: &[u32; 32]) {
    for (a, b) in into.iter_mut().zip(from) {
        *a = (*a).max(*b);
    }
}

impl Clocks {
    /// Lanes of a warp have met.
    pub fn warp_sync(&mut self, warp: u32) {
        self.epoch[warp as usize & 31] += 1;
    }

    /// A warp gives what it knows to a barrier.
    pub fn arrive(&mut self, warp: u32, barrier: &mut [u32; 32]) {
        let warp = warp as usize & 31;
        join(barrier, &self.seen[warp]);
        barrier[warp] = barrier[warp].max(self.epoch[warp]);
        self.epoch[warp] += 1;
    }

    /// A warp leaves a barrier.
    pub fn leave(&mut self, warp: u32, barrier: &[u32; 32]) {
        join(&mut self.seen[warp as usize & 31], barrier);
    }

    fn meet(&mut self, warp: u32) {
        let mut meeting = self.meeting;
        self.arrive(warp, &mut meeting);
        self.leave(warp, &meeting);
        self.meeting = meeting;
    }
}

/// One access as it is remembered.
#[derive(Clone, Copy, Default)]
struct Record {
    /// Linear block index plus one; 0: none.
    block: u32,
    epoch: u32,
    lanes: u32,
    pc: u32,
    warp: u8,
    strong: bool,
}

/// The accesses of one word, or of one byte where narrower accesses were made.
#[derive(Clone, Copy, Default)]
struct Entry {
    write: Record,
    /// Readers of two different warps: one of them is another than any writer's.
    reads: [Record; 2],
    split: bool,
}

/// Who accesses now.
struct Agent<'c> {
    record: Record,
    seen: &'c [u32; 32],
}

impl Agent<'_> {
    /// Whether a remembered access came before this one for certain.
    fn after(&self, earlier: &Record) -> bool {
        let me = &self.record;
        if earlier.block != me.block {
            return false;
        }
        if earlier.warp == me.warp {
            // The same lane, an earlier epoch, or lanes of the same instruction.
            let lanes = earlier.lanes | me.lanes;
            return earlier.epoch < me.epoch || lanes.is_power_of_two() || earlier.pc == me.pc;
        }
        self.seen[usize::from(earlier.warp) & 31] >= earlier.epoch
    }

    fn conflicts(&self, earlier: &Record) -> bool {
        earlier.block != 0 && !(earlier.strong && self.record.strong) && !self.after(earlier)
    }
}

impl Entry {
    fn read(&mut self, agent: &Agent<'_>) -> Option<Record> {
        let conflict = agent.conflicts(&self.write).then_some(self.write);
        let me = &agent.record;
        let same = |r: &Record| r.block == me.block && r.warp == me.warp;
        if let Some(slot) = self.reads.iter_mut().find(|r| same(r)) {
            if slot.epoch == me.epoch {
                slot.lanes |= me.lanes;
                slot.strong &= me.strong;
            } else {
                *slot = *me;
            }
        } else {
            let free =
                self.reads.iter().position(|r| r.block == 0 || (r.block == me.block && agent.after(r)));
            self.reads[free.unwrap_or(1)] = *me;
        }
        conflict
    }

    /// `same_value`: the memory already holds what is written, so another write is no conflict.
    fn write(&mut self, agent: &Agent<'_>, same_value: bool) -> Option<Record> {
        let mut conflict = self.reads.iter().find(|r| agent.conflicts(r)).copied();
        if same_value {
            conflict = None;
        } else if agent.conflicts(&self.write) {
            conflict = Some(self.write);
        }
        // An atomic does not hide the plain write that its warp made just before: whatever may conflict with the one
        // may conflict with the other.
        let (me, last) = (&agent.record, &self.write);
        let hides =
            me.strong && !last.strong && (last.block, last.warp, last.epoch) == (me.block, me.warp, me.epoch);
        if !hides {
            self.write = agent.record;
        }
        self.reads = [Record::default(); 2];
        conflict
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
    fn touch(&mut self, offset: u64, size: u32, mut f: impl FnMut(&mut Entry)) {
        let end = offset + u64::from(size);
        let mut at = offset;
        while at < end {
            let word = at / 4;
            let next = ((word + 1) * 4).min(end);
            let Some(entry) = self.entries.get_mut(word as usize) else { return };
            if next - at == 4 && !entry.split {
                f(entry);
            } else {
                let whole = *entry;
                entry.split = true;
                let bytes = self.split.entry(word as u32).or_insert([Entry { split: false, ..whole }; 4]);
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

/// The shadow of global memory, by pages that are made when touched.
pub(crate) struct GlobalShadow {
    stripes: Vec<Mutex<HashMap<u64, Shadow>>>,
}

impl GlobalShadow {
    pub fn new() -> GlobalShadow {
        GlobalShadow { stripes: (0..STRIPES).map(|_| Mutex::default()).collect() }
    }

    fn page<T>(&self, page: u64, f: impl FnOnce(&mut Shadow) -> T) -> T {
        let stripe = &self.stripes[(page as usize ^ (page >> 28) as usize) % STRIPES];
        let mut map = stripe.lock().unwrap_or_else(PoisonError::into_inner);
        f(map.entry(page).or_insert_with(|| Shadow::new(PAGE)))
    }
}

/// An access of a warp to be judged.
#[derive(Clone, Copy)]
pub(super) struct Touch<'t> {
    pub addresses: &'t [u64; 32],
    pub mask: u32,
    pub size: u32,
    pub write: bool,
    /// Atomic, volatile or ordered.
    pub strong: bool,
    /// Lanes whose write changes nothing.
    pub unchanged: u32,
}

impl Touch<'_> {
    /// Neighbouring lanes that read the same place together; writing lanes one by one. The first lane, and all.
    fn groups(&self) -> impl Iterator<Item = (usize, u32)> {
        let (addresses, write) = (self.addresses, self.write);
        let mut left = self.mask;
        std::iter::from_fn(move || {
            if left == 0 {
                return None;
            }
            let first = left.trailing_zeros() as usize;
            let mut same = 1u32 << first;
            if !write {
                let mut lane = first + 1;
                while lane < 32 && left >> lane & 1 == 1 && addresses[lane] == addresses[first] {
                    same |= 1 << lane;
                    lane += 1;
                }
            }
            left &= !same;
            Some((first, same))
        })
    }

    fn judge(&self, lane: usize, entry: &mut Entry, agent: &Agent<'_>) -> Option<Record> {
        if self.write { entry.write(agent, self.unchanged >> lane & 1 == 1) } else { entry.read(agent) }
    }
}

impl Exec<'_> {
    fn agent_record(&self, lanes: u32, strong: bool) -> Record {
        Record {
            block: self.block.linear + 1,
            epoch: self.block.clocks.epoch[self.warp.index as usize & 31],
            lanes,
            pc: self.pc,
            warp: self.warp.index as u8,
            strong,
        }
    }

    fn order_strong(&mut self, strong: bool) {
        if strong && self.launch.kernel.synchronises {
            self.block.clocks.meet(self.warp.index);
        }
    }

    pub(super) fn race_shared(&mut self, touch: &Touch<'_>) -> Result<(), Trap> {
        self.order_strong(touch.strong);
        let words = self.block.shared.words();
        let mut shadow = std::mem::take(&mut self.block.shadow);
        let inner = shadow.0.get_or_insert_with(|| Shadow::new(words));
        let mut found = None;
        let seen = self.block.clocks.seen[self.warp.index as usize & 31];
        for (lane, same) in touch.groups() {
            let agent = Agent { record: self.agent_record(same, touch.strong), seen: &seen };
            inner.touch(touch.addresses[lane], touch.size, |entry| {
                // Records of earlier blocks mean nothing here.
                if entry.write.block != agent.record.block {
                    entry.write = Record::default();
                }
                for record in &mut entry.reads {
                    if record.block != agent.record.block {
                        *record = Record::default();
                    }
                }
                found = found.or(touch.judge(lane, entry, &agent).map(|record| (lane, record)));
            });
        }
        self.block.shadow = shadow;
        match found {
            Some((lane, record)) => self.report_race(lane, &record, touch, Space::Shared),
            None => Ok(()),
        }
    }

    pub(super) fn race_global(&mut self, touch: &Touch<'_>) -> Result<(), Trap> {
        let Some(shadow) = &self.launch.races else { return Ok(()) };
        let seen = self.block.clocks.seen[self.warp.index as usize & 31];
        let mut found = None;
        const PAGE_BYTES: u64 = PAGE as u64 * 4;
        let mut left = touch.mask;
        while left != 0 {
            let page = touch.addresses[left.trailing_zeros() as usize] / PAGE_BYTES;
            let here =
                lanes(left).filter(|&l| touch.addresses[l] / PAGE_BYTES == page).fold(0, |m, l| m | 1 << l);
            left &= !here;
            shadow.page(page, |shadow| {
                for (lane, same) in (Touch { mask: here, ..*touch }).groups() {
                    let agent = Agent { record: self.agent_record(same, touch.strong), seen: &seen };
                    shadow.touch(touch.addresses[lane] % PAGE_BYTES, touch.size, |entry| {
                        found = found.or(touch.judge(lane, entry, &agent).map(|record| (lane, record)));
                    });
                }
            });
        }
        match found {
            Some((lane, record)) => self.report_race(lane, &record, touch, Space::Global),
            None => Ok(()),
        }
    }

    #[cold]
    fn report_race(&self, lane: usize, record: &Record, touch: &Touch<'_>, space: Space) -> Result<(), Trap> {
        let launch: &Launch<'_> = self.launch;
        let [gx, gy, _] = launch.grid;
        let linear = record.block - 1;
        let kind = FaultKind::Race {
            other: Some(launch.thread(u32::from(record.warp) * 32 + record.lanes.trailing_zeros())),
            other_block: (linear != self.block.linear).then_some([
                linear % gx,
                linear / gx % gy,
                linear / (gx * gy),
            ]),
            other_line: launch.kernel.origin(record.pc).pos.line,
        };
        let address = touch.addresses[lane];
        let trap = self.access_trap(kind, lane as u32, space, address, touch.size.into(), touch.write);
        self.raise(trap)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn agent(block: u32, warp: u8, lane: u32, epoch: u32, seen: &[u32; 32]) -> Agent<'_> {
        Agent {
            record: Record { block: block + 1, epoch, lanes: 1 << lane, pc: lane, warp, strong: false },
            seen,
        }
    }

    #[test]
    fn barriers_order_warps() {
        let mut clocks = Clocks::default();
        let mut entry = Entry::default();
        assert!(entry.write(&agent(0, 0, 3, clocks.epoch[0], &clocks.seen[0]), false).is_none());
        // Another warp, no barrier: a race.
        assert!(entry.clone().read(&agent(0, 1, 0, clocks.epoch[1], &clocks.seen[1])).is_some());
        let mut barrier = [0; 32];
        clocks.arrive(0, &mut barrier);
        clocks.arrive(1, &mut barrier);
        clocks.leave(0, &barrier);
        clocks.leave(1, &barrier);
        assert!(entry.read(&agent(0, 1, 0, clocks.epoch[1], &clocks.seen[1])).is_none());
        // A write after the read, with no second barrier.
        assert!(entry.write(&agent(0, 0, 3, clocks.epoch[0], &clocks.seen[0]), false).is_some());
    }

    #[test]
    fn warp_barriers_order_lanes() {
        let mut clocks = Clocks::default();
        let mut entry = Entry::default();
        assert!(entry.write(&agent(0, 0, 3, clocks.epoch[0], &clocks.seen[0]), false).is_none());
        assert!(entry.clone().read(&agent(0, 0, 4, clocks.epoch[0], &clocks.seen[0])).is_some());
        assert!(entry.clone().read(&agent(0, 0, 3, clocks.epoch[0], &clocks.seen[0])).is_none());
        clocks.warp_sync(0);
        assert!(entry.read(&agent(0, 0, 4, clocks.epoch[0], &clocks.seen[0])).is_none());
    }

    #[test]
    fn bytes_of_a_word_are_told_apart() {
        let clocks = Clocks::default();
        let mut shadow = Shadow::new(4);
        let mut hits = 0;
        for (lane, offset) in [(0, 4), (1, 5), (2, 6), (3, 6)] {
            let agent = agent(0, 0, lane, 1, &clocks.seen[0]);
            shadow.touch(offset, 1, |entry| hits += u32::from(entry.write(&agent, false).is_some()));
        }
        assert_eq!(hits, 1);
    }
}
