//! What is remembered of a word: packed records of constant size, and the rule that judges a new access by them.

/// Bits of a record that hold the epoch.
const EPOCH_BITS: u32 = 27;
/// Epochs from here on do not fit: such accesses are not judged.
pub(super) const EPOCHS: u32 = 1 << EPOCH_BITS;
const PC: u64 = (1 << 24) - 1;
const LANE_SHIFT: u32 = 24;
const SEVERAL: u64 = 1 << 29;
const STRONG: u64 = 1 << 30;
const KEY_SHIFT: u32 = 32;

/// One access: from the top epoch (27 bits), warp (5), a free bit, strong, several lanes, first lane (5), pc (24).
/// Zero: none, since epochs begin with 1.
#[derive(Clone, Copy, Default, Debug, PartialEq, Eq)]
pub(super) struct Record(u64);

impl Record {
    fn key(self) -> u32 {
        (self.0 >> KEY_SHIFT) as u32
    }

    fn epoch(self) -> u32 {
        self.key() >> 5
    }

    pub fn warp(self) -> u32 {
        self.key() & 31
    }

    /// The first lane that made the access.
    pub fn lane(self) -> u32 {
        (self.0 >> LANE_SHIFT) as u32 & 31
    }

    pub fn pc(self) -> u32 {
        (self.0 & PC) as u32
    }

    fn strong(self) -> bool {
        self.0 & STRONG != 0
    }

    /// Whether both were made by one lane, the same.
    fn same_lane(self, other: Record) -> bool {
        (self.0 | other.0) & SEVERAL == 0 && self.lane() == other.lane()
    }

    /// This access, and `other` of the same warp and epoch.
    fn join(self, other: Record) -> Record {
        let several = if self.same_lane(other) { 0 } else { SEVERAL };
        Record((self.0 | several) & (other.0 | !STRONG))
    }
}

/// Who accesses now.
pub(super) struct Agent<'c> {
    /// Linear block index plus one.
    pub block: u32,
    key: u32,
    /// The record but for its lanes.
    template: u64,
    /// Up to which epoch each warp of the block has been before this access for certain.
    known: &'c [u32; 32],
}

impl<'c> Agent<'c> {
    /// `known`: what the warp has learned of all warps at barriers; `epoch` below [`EPOCHS`].
    pub fn new(block: u32, warp: u32, epoch: u32, known: &'c [u32; 32], pc: u32, strong: bool) -> Agent<'c> {
        let key = epoch << 5 | (warp & 31);
        let strong = if strong { STRONG } else { 0 };
        let template = u64::from(key) << KEY_SHIFT | strong | u64::from(pc).min(PC);
        Agent { block, key, template, known }
    }

    #[inline(always)]
    pub fn record(&self, lane: u32, several: bool) -> Record {
        Record(self.template | u64::from(lane) << LANE_SHIFT | if several { SEVERAL } else { 0 })
    }

    /// Whether there was no access, or one that barriers have ordered before this. In shared memory (`OWN`) the
    /// records of other blocks are of blocks that have ended.
    #[inline(always)]
    fn ordered<const OWN: bool>(&self, earlier: Record, block: u32) -> bool {
        if block != self.block {
            return OWN || block == 0;
        }
        earlier.epoch() <= self.known[earlier.warp() as usize]
    }

    /// As `ordered`, or both strong, or the same lane, or lanes of one instruction.
    #[inline(always)]
    fn conflicts<const OWN: bool>(&self, me: Record, earlier: Record, block: u32) -> bool {
        if self.ordered::<OWN>(earlier, block) || (earlier.strong() && me.strong()) {
            return false;
        }
        let own_warp = block == self.block && earlier.warp() == me.warp();
        !(own_warp && (earlier.same_lane(me) || earlier.pc() == me.pc()))
    }
}

/// The accesses of one word, or of one byte where narrower accesses were made.
#[derive(Clone, Copy, Default)]
#[repr(C)]
pub(super) struct Entry {
    write: Record,
    /// Readers of two different warps: one of them is another than any writer's.
    reads: [Record; 2],
    write_block: u32,
    read_blocks: [u32; 2],
    /// Bytes are remembered one by one, elsewhere.
    pub split: bool,
}

/// A remembered access that conflicts, and its block (linear index plus one).
pub(super) type Conflict = (Record, u32);

impl Entry {
    #[inline(always)]
    pub fn read<const OWN: bool>(&mut self, agent: &Agent<'_>, me: Record) -> Option<Conflict> {
        let conflict = agent.conflicts::<OWN>(me, self.write, self.write_block);
        let mine = |k: usize| self.read_blocks[k] == agent.block;
        let slot = if mine(0) && self.reads[0].key() == agent.key {
            self.reads[0] = self.reads[0].join(me);
            return conflict.then_some((self.write, self.write_block));
        } else if mine(1) && self.reads[1].key() == agent.key {
            self.reads[1] = self.reads[1].join(me);
            return conflict.then_some((self.write, self.write_block));
        } else if mine(1) && self.reads[1].warp() == me.warp() {
            1
        } else {
            // An earlier read of the same warp is ordered too.
            usize::from(!agent.ordered::<OWN>(self.reads[0], self.read_blocks[0]))
        };
        self.reads[slot] = me;
        self.read_blocks[slot] = agent.block;
        conflict.then_some((self.write, self.write_block))
    }

    /// `same_value`: whether the memory already holds what is written, so that another write is no conflict.
    #[inline(always)]
    pub fn write<const OWN: bool>(
        &mut self,
        agent: &Agent<'_>,
        me: Record,
        same_value: impl FnOnce() -> bool,
    ) -> Option<Conflict> {
        let mut conflict = None;
        let mut hides = false;
        let fresh = agent.ordered::<OWN>(self.write, self.write_block)
            && agent.ordered::<OWN>(self.reads[0], self.read_blocks[0])
            && agent.ordered::<OWN>(self.reads[1], self.read_blocks[1]);
        if !fresh {
            let (last, block) = (self.write, self.write_block);
            let against = agent.conflicts::<OWN>(me, last, block);
            let read = (0..2).find(|&k| agent.conflicts::<OWN>(me, self.reads[k], self.read_blocks[k]));
            if (against || read.is_some()) && !same_value() {
                conflict = if against {
                    Some((last, block))
                } else {
                    read.map(|k| (self.reads[k], self.read_blocks[k]))
                };
            }
            // An atomic does not hide the plain write that its warp made just before: whatever may conflict with the
            // one may conflict with the other.
            hides = me.strong() && !last.strong() && block == agent.block && last.key() == agent.key;
        }
        if !hides {
            self.write = me;
            self.write_block = agent.block;
        }
        self.reads = [Record::default(); 2];
        self.read_blocks = [0; 2];
        conflict
    }
}

#[cfg(test)]
mod tests {
    use super::super::Clocks;
    use super::*;

    fn agent(warp: u32, pc: u32, clocks: &Clocks) -> Agent<'_> {
        let warp_index = warp as usize;
        Agent::new(1, warp, clocks.epoch[warp_index], &clocks.seen[warp_index], pc, false)
    }

    fn read(mut entry: Entry, warp: u32, lane: u32, clocks: &Clocks) -> (Entry, bool) {
        let agent = agent(warp, lane, clocks);
        let conflict = entry.read::<false>(&agent, agent.record(lane, false));
        (entry, conflict.is_some())
    }

    fn write(mut entry: Entry, warp: u32, lane: u32, clocks: &Clocks) -> (Entry, bool) {
        let agent = agent(warp, lane, clocks);
        let conflict = entry.write::<false>(&agent, agent.record(lane, false), || false);
        (entry, conflict.is_some())
    }

    #[test]
    fn barriers_order_warps() {
        let mut clocks = Clocks::default();
        clocks.reset(4);
        let (entry, conflict) = write(Entry::default(), 0, 3, &clocks);
        assert!(!conflict);
        // Another warp, no barrier: a race.
        assert!(read(entry, 1, 0, &clocks).1);
        let mut barrier = [0; 32];
        clocks.arrive(0, &mut barrier);
        clocks.arrive(1, &mut barrier);
        clocks.leave(0, &barrier);
        clocks.leave(1, &barrier);
        let (entry, conflict) = read(entry, 1, 0, &clocks);
        assert!(!conflict);
        // A write after the read, with no second barrier.
        assert!(write(entry, 0, 3, &clocks).1);
    }

    #[test]
    fn warp_barriers_order_lanes() {
        let mut clocks = Clocks::default();
        clocks.reset(4);
        let (entry, conflict) = write(Entry::default(), 0, 3, &clocks);
        assert!(!conflict);
        assert!(read(entry, 0, 4, &clocks).1);
        assert!(!read(entry, 0, 3, &clocks).1);
        clocks.warp_sync(0);
        assert!(!read(entry, 0, 4, &clocks).1);
    }

    #[test]
    fn a_third_reader_is_remembered_in_the_second_place() {
        let clocks = Clocks::default();
        let mut entry = Entry::default();
        for warp in 0..3 {
            entry = read(entry, warp, 5, &clocks).0;
        }
        assert!(write(entry, 0, 5, &clocks).1, "warp 2 has read");
        assert_eq!(entry.reads.map(Record::warp), [0, 2]);
    }
}
