//! A block's shared memory: words, and at full checks what was written.

use super::memory::Run;

/// Shared memory of one block. Offsets are checked by the callers of `load` and `store` through `fits`.
#[derive(Default)]
pub(crate) struct Shared {
    words: Vec<u32>,
    bytes: u32,
    /// One bit a byte; empty when not tracked.
    init: Vec<u32>,
    /// Tracked bytes that nothing has written.
    missing: u32,
    /// For counting bank conflicts: the request that last touched a word.
    stamps: Vec<u32>,
    stamp: u32,
}

impl Shared {
    /// Ready for a new block: zeroed, nothing written.
    pub fn reset(&mut self, bytes: u32, track: bool) {
        self.bytes = bytes;
        let words = bytes.div_ceil(4) as usize;
        self.words.clear();
        self.words.resize(words, 0);
        self.init.clear();
        self.missing = if track { bytes } else { 0 };
        if track {
            self.init.resize(bytes.div_ceil(32) as usize, 0);
        }
        self.stamps.clear();
        self.stamps.resize(words, 0);
        self.stamp = 0;
    }

    /// Size in bytes.
    pub fn bytes(&self) -> u32 {
        self.bytes
    }

    /// The `k`-th words behind the offsets, which are multiples of 4 with room behind them; 0 beyond the end.
    #[inline(always)]
    pub fn gather(&self, run: &Run, k: u32) -> [u32; 32] {
        let words = self.words.as_slice();
        let mut out = [0; 32];
        // Eight lanes at a time: neighbours of words, or all the same word, or anything.
        for (part, out) in out.as_chunks_mut::<8>().0.iter_mut().enumerate() {
            let lanes = &run.each[8 * part..8 * part + 8];
            let first = (lanes[0] / 4 + k) as usize;
            if run.adjacent >> (8 * part) & 0x7f == 0x7f && run.size == 4 {
                if let Some(run) = words.get(first..).and_then(|from| from.first_chunk::<8>()) {
                    *out = *run;
                }
            } else if run.same >> (8 * part) & 0x7f == 0x7f {
                *out = [words.get(first).copied().unwrap_or(0); 8];
            } else {
                for (out, offset) in out.iter_mut().zip(lanes) {
                    *out = words.get((offset / 4 + k) as usize).copied().unwrap_or(0);
                }
            }
        }
        out
    }

    /// Writes the `k`-th words behind the offsets of the active lanes, lowest lane first.
    #[inline(always)]
    pub fn scatter(&mut self, run: &Run, k: u32, values: &[u32; 32], mask: u32) {
        if run.contiguous() && run.size == 4 {
            let first = (run.least / 4) as usize;
            if let Some(words) = self.words.get_mut(first..).and_then(|from| from.first_chunk_mut::<32>()) {
                *words = *values;
            }
            return;
        }
        for lane in super::lanes(mask) {
            if let Some(word) = self.words.get_mut((run.each[lane] / 4 + k) as usize) {
                *word = values[lane];
            }
        }
    }

    /// Adds to the words at the offsets, lane after lane; what was there before each.
    #[inline(always)]
    pub fn add(&mut self, run: &Run, values: &[u32; 32]) -> [u32; 32] {
        let mut out = [0; 32];
        for lane in super::lanes(run.mask) {
            if let Some(word) = self.words.get_mut(run.each[lane] as usize / 4) {
                out[lane] = *word;
                *word = word.wrapping_add(values[lane]);
            }
        }
        out
    }

    #[inline(always)]
    pub fn fits(&self, offset: u64, size: u32) -> bool {
        offset <= u64::from(self.bytes) && u64::from(self.bytes) - offset >= u64::from(size)
    }

    /// A value of 1, 2, 4 or 8 bytes at an aligned offset; zero beyond the end.
    #[inline(always)]
    pub fn load(&self, offset: u64, size: u32) -> u64 {
        let word = |k: usize| self.words.get(k).copied().unwrap_or(0);
        let at = (offset / 4) as usize;
        match size {
            4 => word(at).into(),
            8 => u64::from(word(at)) | u64::from(word(at + 1)) << 32,
            1 => (word(at) >> (8 * (offset & 3)) & 0xff).into(),
            _ => (word(at) >> (8 * (offset & 2)) & 0xffff).into(),
        }
    }

    #[inline(always)]
    pub fn store(&mut self, offset: u64, size: u32, value: u64) {
        let at = (offset / 4) as usize;
        match size {
            4 => {
                if let Some(word) = self.words.get_mut(at) {
                    *word = value as u32;
                }
            }
            8 => {
                if let Some(words) = self.words.get_mut(at..at + 2) {
                    words[0] = value as u32;
                    words[1] = (value >> 32) as u32;
                }
            }
            _ => {
                if let Some(word) = self.words.get_mut(at) {
                    let (shift, mask) =
                        if size == 1 { (8 * (offset & 3), 0xff) } else { (8 * (offset & 2), 0xffff) };
                    *word = (*word & !(mask << shift)) | (value as u32 & mask) << shift;
                }
            }
        }
    }

    /// Whether bytes are marked: in `init`'s words, 32 bytes each; an aligned access never straddles two.
    fn bits(offset: u64, size: u32) -> (usize, u32) {
        ((offset / 32) as usize, (u32::MAX >> (32 - size.clamp(1, 32))) << (offset % 32))
    }

    pub fn mark(&mut self, offset: u64, size: u32) {
        let (word, bits) = Self::bits(offset, size);
        if let Some(init) = self.init.get_mut(word) {
            self.missing = self.missing.saturating_sub((bits & !*init).count_ones());
            *init |= bits;
        }
    }

    /// Whether no byte is left that nothing has written.
    #[inline(always)]
    pub fn complete(&self) -> bool {
        self.missing == 0
    }

    pub fn unwritten(&self, offset: u64, size: u32) -> bool {
        let (word, bits) = Self::bits(offset, size);
        self.init.get(word).is_some_and(|init| init & bits != bits)
    }

    /// Passes over the banks that the active lanes' accesses of `size` bytes take: 32 banks of 4 bytes, accesses to
    /// the same word together; 8 and 16 byte accesses go by half and quarter warps.
    pub fn wavefronts(&mut self, run: &Run) -> u32 {
        let (mask, size) = (run.mask, run.size);
        let words = (size / 4).max(1);
        let group = 32 / words;
        let mut total = 0;
        let mut first = 0;
        while first < 32 {
            let lanes = if group == 32 { mask } else { mask >> first & ((1 << group) - 1) };
            if lanes != 0 {
                self.stamp += 1;
                let mut load = [0u8; 32];
                for lane in super::lanes(lanes) {
                    let word = run.each[first as usize + lane] / 4;
                    for word in word..word + words {
                        // Without a branch on what nobody can foresee.
                        if let Some(stamp) = self.stamps.get_mut(word as usize) {
                            load[word as usize % 32] += u8::from(*stamp != self.stamp);
                            *stamp = self.stamp;
                        }
                    }
                }
                total += load.into_iter().fold(1, |worst, load| worst.max(u32::from(load)));
            }
            first += group;
        }
        total
    }
}
