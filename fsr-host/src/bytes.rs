//! Host memory that any element type can be read from.

use bytemuck::Pod;

/// Bytes aligned for every [`Element`](crate::Element).
#[derive(Debug)]
pub(crate) struct AlignedBytes {
    words: Vec<u64>,
    len: usize,
}

impl AlignedBytes {
    /// All bits set: NaN in every float type.
    pub(crate) fn poisoned(len: usize) -> Self {
        Self { words: vec![u64::MAX; len.div_ceil(8)], len }
    }

    pub(crate) fn copied(bytes: &[u8]) -> Self {
        let mut copy = Self::poisoned(bytes.len());
        copy.bytes_mut().copy_from_slice(bytes);
        copy
    }

    pub(crate) fn bytes(&self) -> &[u8] {
        &bytemuck::cast_slice(&self.words)[..self.len]
    }

    pub(crate) fn bytes_mut(&mut self) -> &mut [u8] {
        &mut bytemuck::cast_slice_mut(&mut self.words)[..self.len]
    }

    pub(crate) fn elements<T: Pod>(&self) -> &[T] {
        bytemuck::cast_slice(self.bytes())
    }

    pub(crate) fn elements_mut<T: Pod>(&mut self) -> &mut [T] {
        bytemuck::cast_slice_mut(self.bytes_mut())
    }
}
