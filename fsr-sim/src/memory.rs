//! Device memory: buffers whose addresses cannot be confused, so that a wild pointer is always caught.
//!
//! The address of a device buffer is `(id << 40) + offset` with ids from 128 up; host memory that kernels may touch
//! (pinned, managed) keeps its own address, which is below 2^47. Kernels run on several threads and may race: every
//! access to buffer contents goes through relaxed atomics, so that a racing kernel is only as wrong as on a GPU.
//! This file owns the storage; what an instruction may touch is decided in `exec::memory`.

use std::alloc::{Layout, alloc_zeroed, dealloc};
use std::collections::{BTreeMap, VecDeque};
use std::sync::atomic::{AtomicU8, AtomicU16, AtomicU32, AtomicU64, Ordering::Relaxed};

/// Bits of an address that are the offset within a buffer.
pub(crate) const OFFSET_BITS: u32 = 40;
/// First id: below are the addresses of host memory.
const FIRST_ID: u64 = 128;
/// Ids of freed buffers rest in a queue of this length before they are used again.
const QUARANTINE: usize = 1 << 16;
/// Buffers start at multiples of this, as `cuMemAlloc` promises.
const ALIGN: usize = 512;

/// What a buffer is for, as reports name it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum BufferKind {
    /// Allocated by the host program; the number counts allocations of the device from 0.
    Allocation(u64),
    /// The same, with a name that the program gave it.
    Named(String),
    /// A module's variable.
    Variable(String),
    /// Host memory that is mapped into the device.
    Host,
}

impl std::fmt::Display for BufferKind {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            BufferKind::Allocation(number) => write!(f, "allocation {number}"),
            BufferKind::Named(name) => write!(f, "buffer `{name}`"),
            BufferKind::Variable(name) => write!(f, "variable {name}"),
            BufferKind::Host => write!(f, "host memory"),
        }
    }
}

/// Why a memory operation of the host was refused.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum MemoryError {
    /// The device has not that much memory left.
    #[error("out of device memory: {requested} bytes requested, {available} of {total} left")]
    OutOfMemory {
        /// Bytes asked for.
        requested: u64,
        /// Bytes left.
        available: u64,
        /// Bytes of the device.
        total: u64,
    },
    /// The address belongs to no buffer.
    #[error("{address:#x} is not an address of a live buffer")]
    InvalidAddress {
        /// The address.
        address: u64,
    },
    /// The range reaches beyond its buffer.
    #[error("{bytes} bytes at {address:#x} reach beyond the end of {buffer} ({length} bytes)")]
    OutOfRange {
        /// First byte.
        address: u64,
        /// Length of the range.
        bytes: u64,
        /// The buffer that the range starts in.
        buffer: BufferKind,
        /// Length of that buffer.
        length: u64,
    },
    /// A buffer of no bytes.
    #[error("an allocation of zero bytes")]
    Empty,
}

struct Storage {
    ptr: *mut u8,
    /// What was allocated, of which `ptr` is the first aligned byte; `None`: host memory that is not ours.
    whole: Option<(*mut u8, Layout)>,
}

// SAFETY: the pointer is to memory that lives as long as the storage (our own, or host memory that its owner promised
// to keep), and all access to it is by atomics.
unsafe impl Send for Storage {}
// SAFETY: as above.
unsafe impl Sync for Storage {}

impl Drop for Storage {
    fn drop(&mut self) {
        if let Some((start, layout)) = self.whole {
            // SAFETY: allocated in `Buffer::new` with this layout.
            unsafe { dealloc(start, layout) }
        }
    }
}

/// One buffer.
pub(crate) struct Buffer {
    storage: Storage,
    pub base: u64,
    pub len: u64,
    pub kind: BufferKind,
    pub read_only: bool,
    /// One bit a byte, set where something was written; `None` when not tracked.
    init: Option<Box<[AtomicU64]>>,
    /// Tracked bytes that nothing has written.
    missing: AtomicU64,
}

impl Buffer {
    fn new(base: u64, len: u64, kind: BufferKind, track: bool) -> Option<Buffer> {
        let size = usize::try_from(len).ok()?.checked_next_multiple_of(16)?;
        // Aligned by hand: an allocator asked for this alignment would write the zeros that fresh pages are anyway, and
        // buffers may be larger than the host's memory as long as few of their pages are touched.
        let layout = Layout::from_size_align(size.checked_add(ALIGN)?, 16).ok()?;
        // SAFETY: the size is not zero.
        let start = unsafe { alloc_zeroed(layout) };
        if start.is_null() {
            return None;
        }
        // SAFETY: `ALIGN` bytes more were allocated than are needed.
        let ptr = unsafe { start.add(start.align_offset(ALIGN)) };
        let init = track.then(|| (0..len.div_ceil(64)).map(|_| AtomicU64::new(0)).collect());
        Some(Buffer {
            storage: Storage { ptr, whole: Some((start, layout)) },
            base,
            len,
            kind,
            read_only: false,
            init,
            missing: AtomicU64::new(if track { len } else { 0 }),
        })
    }

    #[inline(always)]
    fn at(&self, offset: u64, size: u64) -> *mut u8 {
        debug_assert!(offset + size <= self.len);
        // SAFETY: callers keep `offset + size <= len` (checked in debug builds).
        unsafe { self.storage.ptr.add(offset as usize) }
    }

    #[inline(always)]
    pub fn cell8(&self, offset: u64) -> &AtomicU8 {
        // SAFETY: within the buffer, which lives as long as `self`; all access is atomic.
        unsafe { AtomicU8::from_ptr(self.at(offset, 1)) }
    }

    #[inline(always)]
    pub fn cell16(&self, offset: u64) -> &AtomicU16 {
        debug_assert!((self.base + offset).is_multiple_of(2));
        // SAFETY: as above; callers keep the address aligned, and buffer bases are aligned to the host's own.
        unsafe { AtomicU16::from_ptr(self.at(offset, 2).cast()) }
    }

    #[inline(always)]
    pub fn cell32(&self, offset: u64) -> &AtomicU32 {
        debug_assert!((self.base + offset).is_multiple_of(4));
        // SAFETY: as above.
        unsafe { AtomicU32::from_ptr(self.at(offset, 4).cast()) }
    }

    #[inline(always)]
    pub fn cell64(&self, offset: u64) -> &AtomicU64 {
        debug_assert!((self.base + offset).is_multiple_of(8));
        // SAFETY: as above.
        unsafe { AtomicU64::from_ptr(self.at(offset, 8).cast()) }
    }

    /// A little-endian value of 1, 2, 4 or 8 bytes at an aligned offset.
    #[inline(always)]
    pub fn load(&self, offset: u64, size: u32) -> u64 {
        match size {
            1 => self.cell8(offset).load(Relaxed).into(),
            2 => self.cell16(offset).load(Relaxed).into(),
            4 => self.cell32(offset).load(Relaxed).into(),
            _ => self.cell64(offset).load(Relaxed),
        }
    }

    #[inline(always)]
    pub fn store(&self, offset: u64, size: u32, value: u64) {
        match size {
            1 => self.cell8(offset).store(value as u8, Relaxed),
            2 => self.cell16(offset).store(value as u16, Relaxed),
            4 => self.cell32(offset).store(value as u32, Relaxed),
            _ => self.cell64(offset).store(value, Relaxed),
        }
    }

    /// Marks bytes as written.
    #[inline(always)]
    pub fn mark(&self, offset: u64, size: u64) {
        let Some(init) = &self.init else { return };
        let (mut at, end) = (offset, offset + size);
        while at < end {
            let take = (64 - at % 64).min(end - at);
            let bits = (u64::MAX >> (64 - take)) << (at % 64);
            if let Some(word) = init.get((at / 64) as usize)
                && word.load(Relaxed) & bits != bits
            {
                let new = bits & !word.fetch_or(bits, Relaxed);
                self.missing.fetch_sub(new.count_ones().into(), Relaxed);
            }
            at += take;
        }
    }

    /// Whether no byte is left that nothing has written.
    #[inline(always)]
    pub fn complete(&self) -> bool {
        self.missing.load(Relaxed) == 0
    }

    /// The first byte of a range that nothing has written, if any.
    #[inline(always)]
    pub fn unwritten(&self, offset: u64, size: u64) -> Option<u64> {
        let init = self.init.as_ref()?;
        let (mut at, end) = (offset, offset + size);
        while at < end {
            let take = (64 - at % 64).min(end - at);
            let bits = (u64::MAX >> (64 - take)) << (at % 64);
            let missing = init.get((at / 64) as usize).map_or(0, |w| !w.load(Relaxed) & bits);
            if missing != 0 {
                return Some(at / 64 * 64 + u64::from(missing.trailing_zeros()));
            }
            at += take;
        }
        None
    }

    fn read_bytes(&self, offset: u64, out: &mut [u8]) {
        let (mut at, mut done) = (offset, 0);
        while done < out.len() {
            if (self.base + at).is_multiple_of(8) && out.len() - done >= 8 {
                out[done..done + 8].copy_from_slice(&self.cell64(at).load(Relaxed).to_le_bytes());
                (at, done) = (at + 8, done + 8);
            } else {
                out[done] = self.cell8(at).load(Relaxed);
                (at, done) = (at + 1, done + 1);
            }
        }
    }

    fn write_bytes(&self, offset: u64, data: &[u8]) {
        let (mut at, mut rest) = (offset, data);
        while !rest.is_empty() {
            if let (true, Some((word, tail))) =
                ((self.base + at).is_multiple_of(8), rest.split_first_chunk::<8>())
            {
                self.cell64(at).store(u64::from_le_bytes(*word), Relaxed);
                (at, rest) = (at + 8, tail);
            } else {
                self.cell8(at).store(rest[0], Relaxed);
                (at, rest) = (at + 1, &rest[1..]);
            }
        }
        self.mark(offset, data.len() as u64);
    }
}

/// All buffers of a device.
pub(crate) struct Memory {
    table: Vec<Option<Buffer>>,
    resting: VecDeque<usize>,
    /// Host buffers by their first address.
    host: BTreeMap<u64, Buffer>,
    used: u64,
    total: u64,
    allocations: u64,
    track: bool,
}

impl Memory {
    pub fn new(total: u64, track: bool) -> Self {
        Memory {
            table: Vec::new(),
            resting: VecDeque::new(),
            host: BTreeMap::new(),
            used: 0,
            total,
            allocations: 0,
            track,
        }
    }

    pub fn free_bytes(&self) -> u64 {
        self.total - self.used
    }

    pub fn alloc(&mut self, len: u64) -> Result<u64, MemoryError> {
        let kind = BufferKind::Allocation(self.allocations);
        let address = self.insert(len, kind)?;
        self.allocations += 1;
        Ok(address)
    }

    pub fn insert(&mut self, len: u64, kind: BufferKind) -> Result<u64, MemoryError> {
        if len == 0 {
            return Err(MemoryError::Empty);
        }
        let refused =
            MemoryError::OutOfMemory { requested: len, available: self.free_bytes(), total: self.total };
        if len > self.free_bytes() || len > 1 << OFFSET_BITS {
            return Err(refused);
        }
        let slot = if self.resting.len() > QUARANTINE { self.resting.pop_front() } else { None };
        let slot = slot.unwrap_or_else(|| {
            self.table.push(None);
            self.table.len() - 1
        });
        let base = (slot as u64 + FIRST_ID) << OFFSET_BITS;
        let Some(buffer) = Buffer::new(base, len, kind, self.track) else {
            self.resting.push_front(slot);
            return Err(refused);
        };
        self.table[slot] = Some(buffer);
        self.used += len;
        Ok(base)
    }

    /// Frees the buffer that starts at `address`.
    pub fn free(&mut self, address: u64) -> Result<(), MemoryError> {
        let invalid = MemoryError::InvalidAddress { address };
        let slot = (address >> OFFSET_BITS).checked_sub(FIRST_ID).ok_or(invalid.clone())? as usize;
        let buffer = self.table.get_mut(slot).ok_or(invalid.clone())?;
        match buffer {
            Some(found) if found.base == address => {
                self.used -= found.len;
                *buffer = None;
                self.resting.push_back(slot);
                Ok(())
            }
            _ => Err(invalid),
        }
    }

    /// Makes host memory reachable for kernels at its own address.
    ///
    /// # Safety
    /// `ptr` must be valid for reads and writes of `len` bytes until it is removed again.
    pub unsafe fn map_host(&mut self, ptr: *mut u8, len: u64) {
        let base = ptr as u64;
        let storage = Storage { ptr, whole: None };
        self.host.insert(
            base,
            Buffer {
                storage,
                base,
                len,
                kind: BufferKind::Host,
                read_only: false,
                init: None,
                missing: AtomicU64::new(0),
            },
        );
    }

    pub fn unmap_host(&mut self, address: u64) -> bool {
        self.host.remove(&address).is_some()
    }

    /// The place of a device buffer's address among device buffers; `None`: an address of the host.
    #[inline(always)]
    pub fn slot(address: u64) -> Option<usize> {
        (address >> OFFSET_BITS).checked_sub(FIRST_ID).map(|slot| slot as usize)
    }

    /// Base and length of the device buffers, by slot.
    pub fn extents(&self) -> impl Iterator<Item = Option<(u64, u64)>> {
        self.table.iter().map(|buffer| buffer.as_ref().map(|b| (b.base, b.len)))
    }

    /// The buffer that an address lies in, or one past whose end it points.
    #[inline(always)]
    pub fn find(&self, address: u64) -> Option<&Buffer> {
        let id = address >> OFFSET_BITS;
        if id >= FIRST_ID {
            self.table.get((id - FIRST_ID) as usize)?.as_ref()
        } else {
            self.find_host(address)
        }
    }

    #[cold]
    fn find_host(&self, address: u64) -> Option<&Buffer> {
        let (_, buffer) = self.host.range(..=address).next_back()?;
        (address - buffer.base < buffer.len).then_some(buffer)
    }

    fn range(&self, address: u64, bytes: u64) -> Result<(&Buffer, u64), MemoryError> {
        let buffer = self.find(address).ok_or(MemoryError::InvalidAddress { address })?;
        let offset = address - buffer.base;
        if offset.checked_add(bytes).is_none_or(|end| end > buffer.len) {
            let (kind, length) = (buffer.kind.clone(), buffer.len);
            return Err(MemoryError::OutOfRange { address, bytes, buffer: kind, length });
        }
        Ok((buffer, offset))
    }

    pub fn check(&self, address: u64, bytes: u64) -> Result<(), MemoryError> {
        self.range(address, bytes).map(|_| ())
    }

    pub fn read(&self, address: u64, out: &mut [u8]) -> Result<(), MemoryError> {
        let (buffer, offset) = self.range(address, out.len() as u64)?;
        buffer.read_bytes(offset, out);
        Ok(())
    }

    pub fn write(&self, address: u64, data: &[u8]) -> Result<(), MemoryError> {
        let (buffer, offset) = self.range(address, data.len() as u64)?;
        buffer.write_bytes(offset, data);
        Ok(())
    }

    /// Fills a range with a repeated pattern of 1, 2 or 4 bytes.
    pub fn fill(&self, address: u64, pattern: &[u8], count: u64) -> Result<(), MemoryError> {
        let bytes = count.saturating_mul(pattern.len() as u64);
        let (buffer, offset) = self.range(address, bytes)?;
        let chunk: Vec<u8> = pattern.iter().copied().cycle().take(4096).collect();
        let mut done = 0;
        while done < bytes {
            let take = (bytes - done).min(chunk.len() as u64);
            buffer.write_bytes(offset + done, &chunk[..take as usize]);
            done += take;
        }
        Ok(())
    }

    /// Copies within the device; what was never written stays unwritten.
    pub fn copy(&self, to: u64, from: u64, bytes: u64) -> Result<(), MemoryError> {
        let (source, from) = self.range(from, bytes)?;
        let (target, to) = self.range(to, bytes)?;
        let mut data = vec![0; usize::try_from(bytes).unwrap_or(0)];
        source.read_bytes(from, &mut data);
        if source.unwritten(from, bytes).is_none() {
            target.write_bytes(to, &data);
            return Ok(());
        }
        for (k, byte) in data.iter().enumerate() {
            let k = k as u64;
            target.cell8(to + k).store(*byte, Relaxed);
            if source.unwritten(from + k, 1).is_none() {
                target.mark(to + k, 1);
            }
        }
        Ok(())
    }

    /// Gives a module's variable its initial values; what has none is zero by definition, which new memory is.
    pub fn define(&mut self, address: u64, data: &[u8]) -> Result<(), MemoryError> {
        self.write(address, data)?;
        if let Some(buffer) = self.find_mut(address) {
            (buffer.init, buffer.missing) = (None, AtomicU64::new(0));
        }
        Ok(())
    }

    /// Marks a module's constant as read-only.
    pub fn protect(&mut self, address: u64) {
        if let Some(buffer) = self.find_mut(address) {
            buffer.read_only = true;
        }
    }

    /// Gives the allocation that starts at `address` a name.
    pub fn name(&mut self, address: u64, name: &str) -> Result<(), MemoryError> {
        match self.find_mut(address) {
            Some(buffer) if buffer.base == address => {
                buffer.kind = BufferKind::Named(name.to_owned());
                Ok(())
            }
            _ => Err(MemoryError::InvalidAddress { address }),
        }
    }

    fn find_mut(&mut self, address: u64) -> Option<&mut Buffer> {
        let slot = (address >> OFFSET_BITS).checked_sub(FIRST_ID)? as usize;
        self.table.get_mut(slot)?.as_mut()
    }

    /// The buffer that an address was most likely meant for, and the offset, which is below 0 before its start.
    pub fn near(&self, address: u64) -> Option<(&Buffer, i64)> {
        let after = address.checked_add(1 << (OFFSET_BITS - 1))?;
        match self.find(address) {
            Some(buffer) if after >> OFFSET_BITS == address >> OFFSET_BITS => {
                Some((buffer, (address - buffer.base) as i64))
            }
            // Far behind one buffer, and shortly before another.
            found => match self.table.get((after >> OFFSET_BITS).checked_sub(FIRST_ID)? as usize) {
                Some(Some(next)) => Some((next, address.wrapping_sub(next.base) as i64)),
                _ => found.map(|buffer| (buffer, (address - buffer.base) as i64)),
            },
        }
    }

    /// The buffer's base and length, for `cuMemGetAddressRange` and reports.
    pub fn extent(&self, address: u64) -> Option<(u64, u64)> {
        self.find(address).map(|b| (b.base, b.len))
    }
}
