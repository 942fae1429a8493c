//! What is remembered of a stretch of memory: an entry for each group of 32 bytes as long as warps touch it whole, with
//! neighbouring lanes side by side; else one for each word, or for each byte of words that are touched in part.

use super::record::{Agent, Entry, Record, Verdict};

/// Bytes of a group.
pub(super) const GROUP: u32 = 32;
/// The parts are in force; without it they only wait to be used again.
const ACTIVE: u32 = 1 << 31;

pub(super) struct Shadow {
    groups: Box<[Entry]>,
    words: Vec<[Entry; 8]>,
    bytes: Vec<[Entry; 4]>,
}

impl Entry {
    /// Where its parts are, when they are in force.
    #[inline(always)]
    fn split(&self) -> Option<usize> {
        (self.parts & ACTIVE != 0).then(|| (self.parts & !ACTIVE) as usize - 1)
    }

    /// Puts its parts, `size` bytes each, in force.
    #[inline(always)]
    fn open<const N: usize>(&mut self, all: &mut Vec<[Entry; N]>, size: u32) -> usize {
        match self.split() {
            Some(place) => place,
            None => self.open_new(all, size),
        }
    }

    #[inline(never)]
    fn open_new<const N: usize>(&mut self, all: &mut Vec<[Entry; N]>, size: u32) -> usize {
        if self.parts == 0 {
            all.push([Entry::default(); N]);
            self.parts = all.len() as u32;
        }
        let place = self.parts as usize - 1;
        for (k, part) in all[place].iter_mut().enumerate() {
            // A part keeps the place of its own parts.
            let parts = part.parts & !ACTIVE;
            *part = self.part(k as u32 * size, size);
            part.parts = parts;
        }
        self.parts |= ACTIVE;
        place
    }
}

impl Shadow {
    pub fn new(bytes: usize) -> Shadow {
        let groups = vec![Entry::default(); bytes.div_ceil(GROUP as usize)].into_boxed_slice();
        Shadow { groups, words: Vec::new(), bytes: Vec::new() }
    }

    /// Judges an access to a whole group by neighbouring lanes; false: nothing was done, lane by lane it must be.
    #[inline(always)]
    pub fn whole<const OWN: bool>(&mut self, group: u32, agent: &Agent<'_>, me: Record, write: bool) -> bool {
        let Some(entry) = self.groups.get_mut(group as usize) else { return true };
        let Some(place) = entry.split() else {
            let verdict = if write {
                entry.write::<OWN, true>(agent, me, || false)
            } else {
                entry.read::<OWN, true>(agent, me)
            };
            return verdict == Verdict::Fine;
        };
        write && !me.strong() && self.unite::<OWN>(group, place, agent, me)
    }

    /// A plain write to a whole group that has been split: what went before is forgotten, so that it is whole again.
    fn unite<const OWN: bool>(&mut self, group: u32, place: usize, agent: &Agent<'_>, me: Record) -> bool {
        let clear = self.words[place].iter().zip(0..).all(|(word, w)| {
            let me = me.part(4 * w, 4);
            match word.split() {
                None => word.clear::<OWN>(agent, me),
                Some(place) => {
                    self.bytes[place].iter().zip(0..).all(|(byte, b)| byte.clear::<OWN>(agent, me.part(b, 1)))
                }
            }
        });
        if clear {
            let entry = &mut self.groups[group as usize];
            entry.parts &= !ACTIVE;
            entry.begin(agent, me);
        }
        clear
    }

    /// Calls `f`, which judges, for the entries of the bytes from `offset` that one lane touches.
    #[inline(always)]
    pub fn touch(&mut self, offset: u32, size: u32, mut f: impl FnMut(&mut Entry) -> Verdict) {
        let end = offset + size;
        let mut at = offset;
        while at < end {
            let next = (at / 4 * 4 + 4).min(end);
            let Some(group) = self.groups.get_mut((at / GROUP) as usize) else { return };
            let place = group.open(&mut self.words, 4);
            let word = &mut self.words[place][(at / 4) as usize % 8];
            if next - at != 4 || word.split().is_some() || f(word) == Verdict::Unclear {
                let place = word.open(&mut self.bytes, 1);
                for byte in at..next {
                    f(&mut self.bytes[place][byte as usize % 4]);
                }
            }
            at = next;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::Clocks;
    use super::*;
    use proptest::prelude::*;

    /// One access: lanes of a warp side by side from a byte on.
    #[derive(Clone, Debug)]
    enum Step {
        Touch { warp: u32, lane: u32, lanes: u32, first: u32, bytes: u32, write: bool },
        Sync(u32),
        Barrier,
    }

    fn step() -> impl Strategy<Value = Step> {
        let touch = (0u32..2, 0u32..32, 0u32..5, 0u32..64, 0u32..2, any::<bool>(), any::<bool>()).prop_map(
            |(warp, lane, size, first, extra, write, whole)| {
                let bytes = 1 << size;
                let lanes = (if whole { GROUP / bytes } else { 1 + extra }).min(32 - lane);
                let first = if whole { first / GROUP * GROUP } else { first / bytes * bytes };
                Step::Touch { warp, lane, lanes, first, bytes, write }
            },
        );
        prop_oneof![8 => touch, 1 => (0u32..2).prop_map(Step::Sync), 1 => Just(Step::Barrier)]
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 400, failure_persistence: None, ..ProptestConfig::default() })]

        /// Groups and words are only a shorter way to remember what each byte would.
        #[test]
        fn ranges_say_what_their_bytes_say(steps in proptest::collection::vec(step(), 1..60)) {
            let mut clocks = Clocks::default();
            clocks.reset(2);
            let (mut shadow, mut bytes) = (Shadow::new(64), vec![Entry::default(); 64]);
            for (pc, step) in steps.iter().enumerate() {
                match *step {
                    Step::Sync(warp) => clocks.warp_sync(warp),
                    Step::Barrier => {
                        let mut barrier = [0; 32];
                        (0..2).for_each(|warp| clocks.arrive(warp, &mut barrier));
                        (0..2).for_each(|warp| clocks.leave(warp, &barrier));
                    }
                    Step::Touch { warp, lane, lanes, first, bytes: size, write } => {
                        let agent = clocks.agent(1, warp, pc as u32, false).unwrap();
                        let lanes = lanes.min((64 - first) / size);
                        let judge = |entry: &mut Entry, me| match write {
                            true => entry.write::<true, false>(&agent, me, || false),
                            false => entry.read::<true, false>(&agent, me),
                        };
                        let mut wanted = false;
                        for k in 0..lanes {
                            let me = agent.record(lane + k, false);
                            for byte in first + k * size..first + (k + 1) * size {
                                wanted |= judge(&mut bytes[byte as usize], me) != Verdict::Fine;
                            }
                        }
                        let mut found = false;
                        let shared = agent.record_shared(lane, size);
                        if lanes * size != GROUP
                            || !first.is_multiple_of(GROUP)
                            || !shadow.whole::<true>(first / GROUP, &agent, shared, write) {
                            for k in 0..lanes {
                                let me = agent.record(lane + k, false);
                                shadow.touch(first + k * size, size, |entry| {
                                    let verdict = judge(entry, me);
                                    found |= matches!(verdict, Verdict::Conflict(_));
                                    verdict
                                });
                            }
                        }
                        prop_assert_eq!(found, wanted, "step {}", pc);
                    }
                }
            }
        }
    }

    #[test]
    fn what_is_written_whole_is_whole_again() {
        let mut clocks = Clocks::default();
        clocks.reset(1);
        let mut shadow = Shadow::new(32);
        let agent = clocks.agent(1, 0, 7, false).unwrap();
        shadow.touch(6, 2, |entry| entry.write::<true, false>(&agent, agent.record(3, false), || false));
        assert!(shadow.groups[0].split().is_some());
        clocks.warp_sync(0);
        let agent = clocks.agent(1, 0, 8, false).unwrap();
        assert!(shadow.whole::<true>(0, &agent, agent.record_shared(0, 4), true));
        assert!(shadow.groups[0].split().is_none());
    }
}
