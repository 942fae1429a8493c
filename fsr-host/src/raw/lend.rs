//! Device memory of this crate, lent as cudarc's slices.
//!
//! Owns the wrappers for as long as a launch lasts. It never lets cudarc free what it lent.

use std::ops::Range;
use std::sync::Arc;

use cudarc::driver::{CudaSlice, CudaStream, CudaView, CudaViewMut};
use typed_arena::Arena;

use super::DeviceMemory;

/// A slice that cudarc must not free; empty only while it is dropped.
struct Lent(Option<CudaSlice<u8>>);

impl Drop for Lent {
    fn drop(&mut self) {
        if let Some(slice) = self.0.take() {
            // Gives up the wrapper's own parts and leaves the memory alone.
            let _ = slice.leak();
        }
    }
}

/// The wrappers lent during one launch.
#[derive(Default)]
pub(crate) struct Lender {
    lent: Arena<Lent>,
}

impl Lender {
    /// Lends a range, in bytes, of an allocation as elements of `T`.
    pub(crate) fn view<'l, T>(
        &'l self,
        stream: &Arc<CudaStream>,
        memory: &DeviceMemory,
        range: Range<usize>,
    ) -> CudaView<'l, T> {
        let len = range.len() / size_of::<T>();
        let slice = self.lend(stream, memory, range).0.as_ref();
        // SAFETY: the range is inside a live allocation, and every element type is plain numbers.
        let view = slice.and_then(|slice| unsafe { slice.transmute(len) });
        view.expect("the range holds that many elements")
    }

    /// The same for writing.
    pub(crate) fn view_mut<'l, T>(
        &'l self,
        stream: &Arc<CudaStream>,
        memory: &DeviceMemory,
        range: Range<usize>,
    ) -> CudaViewMut<'l, T> {
        let len = range.len() / size_of::<T>();
        let slice = self.lend(stream, memory, range).0.as_mut();
        // SAFETY: as in `view`.
        let view = slice.and_then(|slice| unsafe { slice.transmute_mut(len) });
        view.expect("the range holds that many elements")
    }

    /// A wrapper of its own for every borrow, so that no two of them share a Rust reference.
    #[allow(clippy::mut_from_ref)]
    fn lend<'l>(
        &'l self,
        stream: &Arc<CudaStream>,
        memory: &DeviceMemory,
        range: Range<usize>,
    ) -> &'l mut Lent {
        let len = range.len();
        // SAFETY: `at` checks that the range is inside the allocation, which outlives the launch; `Lent` never frees it.
        let slice = unsafe { stream.upgrade_device_ptr(memory.at(&range), len) };
        self.lent.alloc(Lent(Some(slice)))
    }
}
