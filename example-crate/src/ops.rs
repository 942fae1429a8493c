//! All operations of the crate, loaded for one device.

use std::sync::Arc;

use cudarc::driver::{CudaContext, CudaFunction, CudaStream, DriverError, sys};
use cudarc::nvrtc::Ptx;

use crate::{Error, kernels};

/// A kernel with the values that it was tuned for.
#[derive(Debug)]
pub(crate) struct Loaded<T> {
    pub(crate) function: CudaFunction,
    pub(crate) tunables: T,
}

/// The operations of this crate on one device, enqueued on its default stream.
#[derive(Debug)]
pub struct GpuOps {
    stream: Arc<CudaStream>,
    pub(crate) transpose: Loaded<kernels::transpose::Tunables>,
    pub(crate) softmax_rows: Loaded<kernels::softmax_rows::Tunables>,
    pub(crate) reduce_sum: Loaded<kernels::reduce_sum::Tunables>,
    pub(crate) saxpy: Loaded<kernels::saxpy::Tunables>,
}

impl GpuOps {
    /// Loads the embedded kernels that are best for the device of the context.
    pub fn new(context: &Arc<CudaContext>) -> Result<Self, Error> {
        let (major, minor) = context.compute_capability()?;
        Ok(Self {
            stream: context.default_stream(),
            transpose: load(context, kernels::transpose::image_for(major, minor)?)?,
            softmax_rows: load(context, kernels::softmax_rows::image_for(major, minor)?)?,
            reduce_sum: load(context, kernels::reduce_sum::image_for(major, minor)?)?,
            saxpy: load(context, kernels::saxpy::image_for(major, minor)?)?,
        })
    }

    /// The stream that the operations are enqueued on.
    pub fn stream(&self) -> &Arc<CudaStream> {
        &self.stream
    }
}

fn load<T: Copy>(context: &Arc<CudaContext>, image: &kernels::Image<T>) -> Result<Loaded<T>, Error> {
    let module =
        context.load_module(Ptx::from_src(image.ptx)).map_err(|source| match refusal(context, image) {
            Ok(why) => Error::Load { why, source },
            Err(error) => error.into(),
        })?;
    // Each spec of this crate has one entry.
    Ok(Loaded { function: module.load_function(image.entries[0])?, tunables: image.tunables })
}

/// What a driver that refuses an image does not say: whether it is too old for it.
fn refusal<T>(context: &CudaContext, image: &kernels::Image<T>) -> Result<kernels::LoadFailure, DriverError> {
    let mut version = 0;
    // SAFETY: the driver writes one integer; it was initialised for the context.
    unsafe { sys::cuDriverGetVersion(&mut version) }.result()?;
    let (major, minor) = context.compute_capability()?;
    Ok(image.load_failure(version, major, minor))
}
