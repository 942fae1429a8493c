//! One access of a warp as offsets from a common base, with what the fast paths ask of them: how far they reach, and
//! which neighbours are adjacent or the same.

use crate::exec::regs::FULL;

/// Offsets of 32 lanes; inactive lanes have that of the first active one.
#[derive(Clone, Copy)]
pub(crate) struct Run {
    pub each: [u32; 32],
    pub mask: u32,
    /// Bytes of a lane.
    pub size: u32,
    pub least: u32,
    pub most: u32,
    /// All offsets, bit by bit or.
    low: u32,
    /// The same of their upper halves.
    high: u32,
    /// Bit `k`: lane `k + 1` begins where lane `k` ends. Seen only where both lanes follow the first of their eight.
    pub adjacent: u32,
    /// Bit `k`: lane `k + 1` has the same offset as lane `k`; seen in the same way.
    pub same: u32,
}

/// The bits of `adjacent` and `same` that tell of all 32 lanes.
const ALL: u32 = FULL >> 1;

impl Run {
    /// From 32-bit addresses, all of which count from 0.
    #[inline(always)]
    pub fn narrow(cells: &[u32; 32], add: u32, mask: u32, size: u32) -> Run {
        Run::new(|lane| cells[lane].wrapping_add(add).into(), mask, size)
    }

    /// From 64-bit addresses; those below `base`, or 2^32 bytes above, do not fit (see `fits`).
    #[inline(always)]
    pub fn wide(cells: &[u64; 32], add: u64, base: u64, mask: u32, size: u32) -> Run {
        let add = add.wrapping_sub(base);
        Run::new(|lane| cells[lane].wrapping_add(add), mask, size)
    }

    /// Loops of a kind and size that the compiler turns into vectors without a detour through memory: look at the
    /// machine code before changing them.
    #[inline(always)]
    fn new(offset: impl Fn(usize) -> u64, mask: u32, size: u32) -> Run {
        let first = offset(mask.trailing_zeros() as usize & 31) as u32;
        let mut each = [0u32; 32];
        let (mut least, mut most, mut low, mut high) = (u32::MAX, 0, 0, 0);
        for lane in 0..32 {
            let active = 0u32.wrapping_sub(mask >> lane & 1);
            let offset = offset(lane);
            let own = (offset as u32 & active) | (first & !active);
            high |= (offset >> 32) as u32 & active;
            least = least.min(own);
            most = most.max(own);
            low |= own;
            each[lane] = own;
        }
        // Eight lanes at a time are compared with the first of them.
        let mut leads = [0; 32];
        for part in 0..4 {
            let lead = each[8 * part];
            for lane in 0..8 {
                leads[8 * part + lane] = lead;
            }
        }
        let (mut adjacent, mut same) = (0u32, 0u32);
        for lane in 0..32 {
            let bit = 1u32 << lane;
            let distance = each[lane].wrapping_sub(leads[lane]);
            adjacent |= if distance == (lane as u32 & 7).wrapping_mul(size) { bit } else { 0 };
            same |= if distance == 0 { bit } else { 0 };
        }
        let between = |distance: u32| {
            (1..4).fold(0, |bits, part| {
                let follows = each[8 * part] == each[8 * part - 8].wrapping_add(distance);
                bits | u32::from(follows) << (8 * part - 1)
            })
        };
        let within = |bits: u32| bits & bits >> 1 & 0x7f7f_7f7f;
        let (adjacent, same) = (within(adjacent), within(same));
        let adjacent = adjacent | between(size.wrapping_mul(8)) & adjacent << 1;
        let same = same | between(0) & same << 1;
        Run { each, mask, size, least, most, low, high, adjacent, same }
    }

    /// Whether all lanes' ranges end within `end` bytes and begin at multiples of their size, a power of two; `base`
    /// is what offsets count from. Where not, nothing else of the run means anything.
    #[inline(always)]
    pub fn fits(&self, end: u64, base: u64) -> bool {
        let within = base as u32 & (self.size - 1);
        self.high == 0
            && self.most < u32::MAX - 64
            && u64::from(self.most) + u64::from(self.size) <= end
            && if within == 0 {
                self.low & (self.size - 1) == 0
            } else {
                self.each.iter().all(|offset| offset.wrapping_add(within) & (self.size - 1) == 0)
            }
    }

    /// Whether 32 active lanes follow each other.
    #[inline(always)]
    pub fn contiguous(&self) -> bool {
        self.mask == FULL && self.adjacent == ALL
    }

    /// Sectors of 32 bytes that the lanes touch, where offsets count from `base`.
    #[inline(always)]
    pub fn sectors(&self, base: u64) -> u32 {
        let within = base as u32 & 31;
        let first = (self.least + within) / 32;
        let last = (self.most + within + self.size - 1) / 32;
        if self.contiguous() {
            return last - first + 1;
        }
        if last - first < 64 {
            let mut touched = 0u64;
            for lane in 0..32 {
                touched |= 1 << ((self.each[lane] + within) / 32 - first);
            }
            return touched.count_ones();
        }
        let mut all = self.each.map(|offset| (offset + within) / 32);
        all.sort_unstable();
        1 + all.windows(2).filter(|pair| pair[0] != pair[1]).count() as u32
    }

    /// Passes over the banks of shared memory, where that is easily seen.
    #[inline(always)]
    pub fn wavefronts(&self) -> Option<u32> {
        if self.least == self.most {
            return Some(1);
        }
        if self.contiguous() {
            return Some((self.size / 4).max(1));
        }
        if self.size > 4 {
            return None;
        }
        // Words within one row of the banks.
        if self.most / 4 - self.least / 4 < 32 {
            return Some(1);
        }
        let mut banks = [u32::MAX; 32];
        let mut free = true;
        for offset in self.each {
            let bank = &mut banks[(offset / 4) as usize % 32];
            free &= *bank == u32::MAX || *bank == offset / 4;
            *bank = offset / 4;
        }
        free.then_some(1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::exec::shared::Shared;
    use proptest::prelude::*;
    use std::collections::HashSet;

    /// Offsets as kernels make them: strides with a few lanes astray.
    fn offsets() -> impl Strategy<Value = [u32; 32]> {
        let stride = prop_oneof![Just(0u32), Just(1), Just(2), Just(33), Just(32), 0u32..70];
        (stride, 0u32..64, 1u32..33, proptest::collection::vec((0usize..32, 0u32..2000), 0..4)).prop_map(
            |(stride, first, period, astray)| {
                let mut out = std::array::from_fn(|lane| first + lane as u32 % period * stride);
                astray.into_iter().for_each(|(lane, value)| out[lane] = value);
                out
            },
        )
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

        /// The short cuts give what the definitions give.
        #[test]
        fn short_cuts_are_exact(
            elements in offsets(),
            mask in prop_oneof![Just(FULL), 1..FULL],
            shift in 0u32..5,
            base in prop_oneof![Just(0u64), (0u64..64).prop_map(|k| k * 16)],
        ) {
            let size = 1 << shift;
            let each = elements.map(|e| e * size);
            let cells = each.map(|e| u64::from(e) + base);
            let run = Run::wide(&cells, 0, base, mask, size);
            let active = || crate::exec::lanes(mask);
            prop_assert!(active().all(|lane| run.each[lane] == each[lane]));
            for lane in 0..31 {
                let (one, next) = (run.each[lane], run.each[lane + 1]);
                prop_assert!(run.adjacent >> lane & 1 == 0 || next == one.wrapping_add(size));
                prop_assert!(run.same >> lane & 1 == 0 || next == one);
            }
            let sectors: HashSet<u64> = active().map(|lane| cells[lane] / 32).collect();
            prop_assert_eq!(run.sectors(base) as usize, sectors.len());
            // One address for all is one pass at any size, though wide accesses go by parts of a warp.
            if let Some(wavefronts) = run.wavefronts().filter(|_| run.least != run.most) {
                let mut shared = Shared::default();
                shared.reset(1 << 16, false);
                prop_assert_eq!(wavefronts, shared.wavefronts(&run));
            }
            let most = active().map(|lane| each[lane]).max().unwrap();
            prop_assert!(run.fits(u64::from(most + size), base));
            prop_assert!(!run.fits(u64::from(most + size) - 1, base));
            prop_assert!(size == 1 || !run.fits(1 << 20, base + 1));
        }
    }
}
