//! Local memory: each lane's own bytes, growing with call depth.

/// Bytes that a lane may have, as the hardware limits it.
const LIMIT: u64 = 512 << 10;

/// Local memory of one warp, lane after lane.
#[derive(Default)]
pub(crate) struct Local {
    bytes: Vec<u8>,
    /// One flag a byte; empty when not tracked.
    init: Vec<u8>,
    stride: usize,
    track: bool,
}

impl Local {
    /// Ready for a new warp with `bytes` for each lane.
    pub fn reset(&mut self, bytes: u32, track: bool) {
        self.stride = bytes as usize;
        self.track = track;
        self.bytes.clear();
        self.bytes.resize(self.stride * 32, 0);
        self.init.clear();
        if track {
            self.init.resize(self.stride * 32, 0);
        }
    }

    /// Makes room for `bytes` a lane; false when that is more than a lane may have.
    pub fn grow(&mut self, bytes: u64) -> bool {
        if bytes <= self.stride as u64 {
            return true;
        }
        if bytes > LIMIT {
            return false;
        }
        let stride = (bytes as usize).next_power_of_two().max(1024);
        for all in [&mut self.bytes, &mut self.init] {
            if all.is_empty() && self.stride != 0 {
                continue;
            }
            let mut wider = vec![0; stride * 32];
            for lane in 0..32 {
                wider[lane * stride..][..self.stride]
                    .copy_from_slice(&all[lane * self.stride..][..self.stride]);
            }
            *all = wider;
        }
        if !self.track {
            self.init.clear();
        }
        self.stride = stride;
        true
    }

    /// Bytes that each lane has.
    pub fn bytes(&self) -> u64 {
        self.stride as u64
    }

    pub fn fits(&self, offset: u64, size: u32) -> bool {
        offset <= self.stride as u64 && self.stride as u64 - offset >= u64::from(size)
    }

    /// The bytes of a lane's range; empty when it does not fit.
    pub fn range(&self, lane: usize, offset: u64, size: u32) -> &[u8] {
        if !self.fits(offset, size) {
            return &[];
        }
        let start = lane * self.stride + offset as usize;
        &self.bytes[start..start + size as usize]
    }

    pub fn load(&self, lane: usize, offset: u64, size: u32) -> u64 {
        let mut raw = [0; 8];
        let range = self.range(lane, offset, size);
        raw[..range.len()].copy_from_slice(range);
        u64::from_le_bytes(raw)
    }

    pub fn store(&mut self, lane: usize, offset: u64, size: u32, value: u64) {
        if self.fits(offset, size) {
            let start = lane * self.stride + offset as usize;
            self.bytes[start..start + size as usize].copy_from_slice(&value.to_le_bytes()[..size as usize]);
            if self.track {
                self.init[start..start + size as usize].fill(1);
            }
        }
    }

    pub fn unwritten(&self, lane: usize, offset: u64, size: u32) -> bool {
        if !self.track || !self.fits(offset, size) {
            return false;
        }
        let start = lane * self.stride + offset as usize;
        self.init[start..start + size as usize].contains(&0)
    }

    /// Copies bytes within a lane: how arguments reach a callee.
    pub fn copy(&mut self, lane: usize, from: u64, to: u64, size: u32) {
        if self.fits(from, size) && self.fits(to, size) {
            let start = lane * self.stride;
            let range = start + from as usize..start + (from + u64::from(size)) as usize;
            self.bytes.copy_within(range.clone(), start + to as usize);
            if self.track {
                self.init.copy_within(range, start + to as usize);
            }
        }
    }
}
