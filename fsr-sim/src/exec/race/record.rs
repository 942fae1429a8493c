//! What is remembered of a range of bytes: packed records of constant size, and the rule that judges a new access.
//!
//! A range is a group of 32 bytes, a word of such a group, or a byte of such a word. A record tells which lane touched
//! each byte of its range: one lane all of them, or neighbouring lanes equal shares.

/// Bits of a record that hold the epoch.
const EPOCH_BITS: u32 = 27;
/// Epochs from here on do not fit: such accesses are not judged.
pub(super) const EPOCHS: u32 = 1 << EPOCH_BITS;
const PC: u64 = (1 << 22) - 1;
const LANE_SHIFT: u32 = 22;
const SHARE_SHIFT: u32 = 27;
const SHARE: u64 = 7 << SHARE_SHIFT;
const SEVERAL: u64 = 1 << 30;
const STRONG: u64 = 1 << 31;
const KEY_SHIFT: u32 = 32;

/// One access: from the top epoch (27 bits), warp (5), strong, several lanes at the same bytes, share (3), first lane
/// (5), pc (22). Share 0: the lane touched all bytes; k: each lane from the first on touched 2^(k - 1) bytes. Zero:
/// none, since epochs begin with 1.
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

    pub fn strong(self) -> bool {
        self.0 & STRONG != 0
    }

    fn share(self) -> u32 {
        ((self.0 & SHARE) >> SHARE_SHIFT) as u32
    }

    /// Whether both were made by one lane, the same at each byte; `None`: here and there.
    fn same_lane(self, other: Record) -> Option<bool> {
        if (self.0 | other.0) & SEVERAL != 0 {
            return Some(false);
        }
        (self.share() == other.share()).then(|| self.lane() == other.lane())
    }

    /// This access, and `other` of the same warp and epoch; `None`: it needs a closer look, at smaller ranges.
    fn join(self, other: Record) -> Option<Record> {
        let several = if self.same_lane(other)? { 0 } else { SEVERAL };
        Some(Record((self.0 | several) & (other.0 | !STRONG)))
    }

    /// The record of the `size` bytes from `offset` of its range.
    pub fn part(self, offset: u32, size: u32) -> Record {
        let share = self.share();
        if share == 0 {
            return self;
        }
        let moved = self.0 + (u64::from(offset >> (share - 1)) << LANE_SHIFT);
        Record(if 1 << (share - 1) >= size { moved & !SHARE } else { moved })
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
    /// The kernel compares and exchanges: a plain read may be the guess that a loop of exchanges begins with, which nothing
    /// has to order before the atomics of others.
    pub exchanges: bool,
}

impl<'c> Agent<'c> {
    /// `known`: what the warp has learned of all warps at barriers; `epoch` below [`EPOCHS`].
    pub fn new(block: u32, warp: u32, epoch: u32, known: &'c [u32; 32], pc: u32, strong: bool) -> Agent<'c> {
        let key = epoch << 5 | (warp & 31);
        let strong = if strong { STRONG } else { 0 };
        let template = u64::from(key) << KEY_SHIFT | strong | u64::from(pc).min(PC);
        Agent { block, key, template, known, exchanges: false }
    }

    /// The access of one lane, or of several at the same bytes.
    #[inline(always)]
    pub fn record(&self, lane: u32, several: bool) -> Record {
        Record(self.template | u64::from(lane) << LANE_SHIFT | if several { SEVERAL } else { 0 })
    }

    /// The access of neighbouring lanes from `lane` on to `bytes` each, a power of two.
    #[inline(always)]
    pub fn record_shared(&self, lane: u32, bytes: u32) -> Record {
        let share = u64::from(bytes.trailing_zeros() + 1);
        Record(self.template | u64::from(lane) << LANE_SHIFT | share << SHARE_SHIFT)
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

    /// Neither ordered, nor both strong, nor the same lane, nor lanes of one instruction; `None`: in part of the range.
    #[inline(always)]
    fn conflicts<const OWN: bool>(&self, me: Record, earlier: Record, block: u32) -> Option<bool> {
        if self.ordered::<OWN>(earlier, block) || (earlier.strong() && me.strong()) {
            return Some(false);
        }
        if block != self.block || earlier.warp() != me.warp() {
            return Some(true);
        }
        if earlier.pc() == me.pc() {
            return Some(false);
        }
        Some(!earlier.same_lane(me)?)
    }
}

/// The accesses of a range.
#[derive(Clone, Copy, Default)]
#[repr(C)]
pub(super) struct Entry {
    write: Record,
    /// Readers of two different warps: one of them is another than any writer's.
    reads: [Record; 2],
    write_block: u32,
    read_blocks: [u32; 2],
    /// Where the parts of the range are remembered; see `shadow`.
    pub parts: u32,
}

/// A remembered access that conflicts, and its block (linear index plus one).
pub(super) type Conflict = (Record, u32);

/// What an entry says to an access.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Verdict {
    Fine,
    Conflict(Conflict),
    /// Its parts must be asked: nothing has been remembered.
    Unclear,
}

impl Verdict {
    fn of(conflict: bool, record: Record, block: u32) -> Verdict {
        if conflict { Verdict::Conflict((record, block)) } else { Verdict::Fine }
    }
}

impl Entry {
    /// What is known of the `size` bytes from `offset` of the range.
    pub fn part(&self, offset: u32, size: u32) -> Entry {
        Entry {
            write: self.write.part(offset, size),
            reads: self.reads.map(|read| read.part(offset, size)),
            parts: 0,
            ..*self
        }
    }

    /// `WHOLE`: the lanes of `me` differ, so that only what is fine is told.
    #[inline(always)]
    pub fn read<const OWN: bool, const WHOLE: bool>(&mut self, agent: &Agent<'_>, me: Record) -> Verdict {
        let conflict = match agent.conflicts::<OWN>(me, self.write, self.write_block) {
            Some(_) if agent.exchanges && self.write.strong() => false,
            Some(conflict) if !(WHOLE && conflict) => conflict,
            _ => return Verdict::Unclear,
        };
        let verdict = Verdict::of(conflict, self.write, self.write_block);
        let mine = |k: usize| self.read_blocks[k] == agent.block;
        for k in 0..2 {
            if mine(k) && self.reads[k].key() == agent.key {
                let Some(both) = self.reads[k].join(me) else { return Verdict::Unclear };
                self.reads[k] = both;
                return verdict;
            }
        }
        let slot = if mine(1) && self.reads[1].warp() == me.warp() {
            1
        } else {
            // An earlier read of the same warp is ordered too.
            usize::from(!agent.ordered::<OWN>(self.reads[0], self.read_blocks[0]))
        };
        self.reads[slot] = me;
        self.read_blocks[slot] = agent.block;
        verdict
    }

    /// Whether all earlier accesses are ordered before a new one.
    #[inline(always)]
    fn past<const OWN: bool>(&self, agent: &Agent<'_>) -> bool {
        agent.ordered::<OWN>(self.write, self.write_block)
            && agent.ordered::<OWN>(self.reads[0], self.read_blocks[0])
            && agent.ordered::<OWN>(self.reads[1], self.read_blocks[1])
    }

    /// Whether a plain write to all of the range conflicts with nothing.
    pub fn clear<const OWN: bool>(&self, agent: &Agent<'_>, me: Record) -> bool {
        let fine = |record, block| agent.conflicts::<OWN>(me, record, block) == Some(false);
        self.past::<OWN>(agent)
            || fine(self.write, self.write_block) && (0..2).all(|k| fine(self.reads[k], self.read_blocks[k]))
    }

    /// Only this write is remembered from now on.
    #[inline(always)]
    pub fn begin(&mut self, agent: &Agent<'_>, me: Record) {
        self.write = me;
        self.write_block = agent.block;
        self.reads = [Record::default(); 2];
        self.read_blocks = [0; 2];
    }

    /// `same_value`: whether the memory already holds what is written, so that another write is no conflict. `WHOLE`:
    /// as in `read`.
    #[inline(always)]
    pub fn write<const OWN: bool, const WHOLE: bool>(
        &mut self,
        agent: &Agent<'_>,
        me: Record,
        same_value: impl FnOnce() -> bool,
    ) -> Verdict {
        if self.past::<OWN>(agent) {
            self.begin(agent, me);
            return Verdict::Fine;
        }
        let (last, block) = (self.write, self.write_block);
        let against = agent.conflicts::<OWN>(me, last, block);
        let reads = match agent.exchanges && me.strong() {
            true => [Some(false); 2],
            false => [0, 1].map(|k| agent.conflicts::<OWN>(me, self.reads[k], self.read_blocks[k])),
        };
        let (Some(against), [Some(first), Some(second)]) = (against, reads) else { return Verdict::Unclear };
        let mut verdict = Verdict::Fine;
        if against || first || second {
            if WHOLE {
                return Verdict::Unclear;
            }
            if !same_value() {
                let k = usize::from(!first);
                verdict = Verdict::Conflict(if against {
                    (last, block)
                } else {
                    (self.reads[k], self.read_blocks[k])
                });
            }
        }
        // An atomic does not hide the plain write that its warp made just before: whatever may conflict with the one may
        // conflict with the other.
        let hides = me.strong() && !last.strong() && block == agent.block && last.key() == agent.key;
        self.begin(agent, if hides { last } else { me });
        verdict
    }
}

#[cfg(test)]
mod tests {
    use super::super::Clocks;
    use super::*;

    fn agent(warp: u32, pc: u32, clocks: &Clocks) -> Agent<'_> {
        clocks.agent(1, warp, pc, false).unwrap()
    }

    fn read(mut entry: Entry, warp: u32, lane: u32, clocks: &Clocks) -> (Entry, bool) {
        let agent = agent(warp, lane, clocks);
        let conflict = entry.read::<false, false>(&agent, agent.record(lane, false));
        (entry, conflict != Verdict::Fine)
    }

    fn write(mut entry: Entry, warp: u32, lane: u32, clocks: &Clocks) -> (Entry, bool) {
        let agent = agent(warp, lane, clocks);
        let conflict = entry.write::<false, false>(&agent, agent.record(lane, false), || false);
        (entry, conflict != Verdict::Fine)
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
