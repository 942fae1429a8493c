//! Device memory as the host sees it.

use super::Device;
use crate::memory::{Memory, MemoryError};

impl Device {
    /// Whether an address is of those that buffers are given: of no host's, whether a buffer is there or not.
    pub fn is_address(address: u64) -> bool {
        Memory::slot(address).is_some()
    }

    /// Allocates `bytes`; the content is undefined to kernels.
    ///
    /// # Errors
    /// Zero bytes, or more than is left.
    pub fn alloc(&self, bytes: u64) -> Result<u64, MemoryError> {
        self.write_memory().alloc(bytes)
    }

    /// Frees a buffer by its first address.
    ///
    /// # Errors
    /// An address that is not the start of a live buffer.
    pub fn free(&self, address: u64) -> Result<(), MemoryError> {
        self.write_memory().free(address)
    }

    /// Names the buffer that starts at an address, for reports.
    ///
    /// # Errors
    /// An address that is not the start of a live buffer.
    pub fn name_buffer(&self, address: u64, name: &str) -> Result<(), MemoryError> {
        self.write_memory().name(address, name)
    }

    /// Copies from the host to the device.
    ///
    /// # Errors
    /// A range that is not within one live buffer.
    pub fn write(&self, address: u64, data: &[u8]) -> Result<(), MemoryError> {
        self.read_memory().write(address, data)
    }

    /// Copies from the device to the host.
    ///
    /// # Errors
    /// A range that is not within one live buffer.
    pub fn read(&self, address: u64, out: &mut [u8]) -> Result<(), MemoryError> {
        self.read_memory().read(address, out)
    }

    /// Copies within the device.
    ///
    /// # Errors
    /// A range that is not within one live buffer.
    pub fn copy(&self, to: u64, from: u64, bytes: u64) -> Result<(), MemoryError> {
        self.read_memory().copy(to, from, bytes)
    }

    /// Writes a pattern of 1, 2 or 4 bytes `count` times.
    ///
    /// # Errors
    /// A range that is not within one live buffer.
    pub fn fill(&self, address: u64, pattern: &[u8], count: u64) -> Result<(), MemoryError> {
        self.read_memory().fill(address, pattern, count)
    }

    /// Whether a range lies within one live buffer.
    ///
    /// # Errors
    /// Where it does not.
    pub fn check_range(&self, address: u64, bytes: u64) -> Result<(), MemoryError> {
        self.read_memory().check(address, bytes)
    }

    /// First address and length of the buffer that an address lies in.
    pub fn extent(&self, address: u64) -> Option<(u64, u64)> {
        self.read_memory().extent(address)
    }

    /// Bytes left, and bytes in all.
    pub fn memory_info(&self) -> (u64, u64) {
        let total = self.options.memory_bytes.unwrap_or(self.profile.memory_bytes);
        (self.read_memory().free_bytes(), total)
    }

    /// Lets kernels access host memory at its own address.
    ///
    /// # Safety
    /// `ptr` must be valid for reads and writes of `bytes` bytes until [`Device::unmap_host`].
    pub unsafe fn map_host(&self, ptr: *mut u8, bytes: u64) {
        // SAFETY: the caller's promise.
        unsafe { self.write_memory().map_host(ptr, bytes) }
    }

    /// Ends [`Device::map_host`]; whether there was such a mapping.
    pub fn unmap_host(&self, address: u64) -> bool {
        self.write_memory().unmap_host(address)
    }
}
