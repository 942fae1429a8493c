//! What a launch closure sees: stream, functions, tunables, and the buffers of its case.
//!
//! Owns nothing: it lends what the device role holds, as cudarc's types or as raw handles. It never launches.

use std::collections::BTreeMap;
use std::ffi::c_void;

#[cfg(feature = "cudarc")]
use std::sync::Arc;

#[cfg(feature = "cudarc")]
use cudarc::driver::{CudaFunction, CudaStream, CudaView, CudaViewMut};
use fsr_protocol::Tunables;

use crate::device::buffers::Guarded;
use crate::raw::{Context, Function};
use crate::{Buffer, Element, LaunchError, Scalar};
#[cfg(feature = "cudarc")]
use crate::{Writable, raw::Lender};

/// The device side of one launch, lent to [`Case::launch`](crate::Case::launch).
///
/// Its methods panic on a handle of another case; such a panic is reported as a fault in the host launch code.
pub struct Gpu<'a> {
    pub(crate) context: &'a Context,
    pub(crate) functions: &'a BTreeMap<String, Function>,
    pub(crate) tunables: &'a Tunables,
    /// One a buffer; `None` for scalars.
    pub(crate) buffers: &'a [Option<Guarded>],
    /// One a buffer; `None` for all but scalars.
    pub(crate) scalars: &'a [Option<Vec<u8>>],
    #[cfg(feature = "cudarc")]
    pub(crate) lender: Lender,
}

impl Gpu<'_> {
    /// Value of a tunable or launch parameter, by the name that the spec gives it. Made for the generated
    /// `Tunables::resolve(|name| gpu.tunable(name))`, whose error names what is missing.
    pub fn tunable(&self, name: &str) -> Option<u32> {
        self.tunables.get(name).copied()
    }

    /// The value of a scalar in this set.
    pub fn scalar<T: Element>(&self, scalar: Scalar<T>) -> T {
        match self.scalars.get(scalar.position()) {
            Some(Some(bytes)) => bytemuck::pod_read_unaligned(bytes),
            _ => foreign(),
        }
    }

    /// The stream as the driver's `CUstream`.
    pub fn raw_stream(&self) -> *mut c_void {
        self.context.raw_stream()
    }

    /// An entry of the loaded kernel as the driver's `CUfunction`, valid during this launch.
    pub fn raw_function(&self, entry: &str) -> Result<*mut c_void, LaunchError> {
        self.entry(entry).map(Function::raw)
    }

    /// Address of a buffer's first element, the driver's `CUdeviceptr`, aligned to 256 bytes and valid during this
    /// launch.
    pub fn device_pointer(&self, buffer: impl Buffer) -> u64 {
        let guarded = self.guarded(buffer);
        guarded.memory.at(&guarded.range())
    }

    /// The one stream that everything of this launch must be enqueued on.
    #[cfg(feature = "cudarc")]
    pub fn stream(&self) -> &Arc<CudaStream> {
        self.context.safe_stream()
    }

    /// An entry of the loaded kernel.
    #[cfg(feature = "cudarc")]
    pub fn function(&self, entry: &str) -> Result<CudaFunction, LaunchError> {
        self.entry(entry).map(|function| function.safe().clone())
    }

    /// A buffer for the kernel to read.
    #[cfg(feature = "cudarc")]
    pub fn view<B: Buffer>(&self, buffer: B) -> CudaView<'_, B::Element> {
        let guarded = self.guarded(buffer);
        self.lender.view(self.stream(), &guarded.memory, guarded.range())
    }

    /// A buffer for the kernel to write.
    #[cfg(feature = "cudarc")]
    pub fn view_mut<B: Writable>(&self, buffer: B) -> CudaViewMut<'_, B::Element> {
        let guarded = self.guarded(buffer);
        self.lender.view_mut(self.stream(), &guarded.memory, guarded.range())
    }

    fn entry(&self, entry: &str) -> Result<&Function, LaunchError> {
        self.functions.get(entry).ok_or_else(|| {
            let known: Vec<&str> = self.functions.keys().map(String::as_str).collect();
            LaunchError::new(format_args!(
                "`{entry}` is no entry of the spec: it declares {}",
                if known.is_empty() { "none".to_owned() } else { known.join(", ") }
            ))
        })
    }

    fn guarded(&self, buffer: impl Buffer) -> &Guarded {
        match self.buffers.get(buffer.position()) {
            Some(Some(guarded)) => guarded,
            _ => foreign(),
        }
    }
}

fn foreign() -> ! {
    panic!("a handle of another case is used")
}
