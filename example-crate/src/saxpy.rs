//! Scaled vector addition.

use cudarc::driver::{CudaFunction, CudaStream, CudaView, CudaViewMut, PushKernelArg};

use crate::kernels::saxpy::Tunables;
use crate::launch::{config, holds};
use crate::{Error, GpuOps};

/// Enqueues `y[i] = a * x[i] + y[i]` for all elements of `x`.
pub fn saxpy(
    stream: &CudaStream,
    function: &CudaFunction,
    tunables: &Tunables,
    a: f32,
    x: &CudaView<'_, f32>,
    y: &mut CudaViewMut<'_, f32>,
) -> Result<(), Error> {
    let n = x.len();
    holds("y", y.len(), Some(n))?;
    if n == 0 {
        return Ok(());
    }
    let blocks = n.div_ceil(tunables.block as usize * tunables.per_thread as usize);
    let config = config(function, blocks, tunables.block, 0)?;
    let n = n as u64;
    let mut launch = stream.launch_builder(function);
    launch.arg(&n).arg(&a).arg(x).arg(y);
    // SAFETY: the arguments are those of the kernel's signature, and both buffers hold n elements.
    unsafe { launch.launch(config) }?;
    Ok(())
}

impl GpuOps {
    /// See [`saxpy`].
    pub fn saxpy(&self, a: f32, x: &CudaView<'_, f32>, y: &mut CudaViewMut<'_, f32>) -> Result<(), Error> {
        let kernel = &self.saxpy;
        saxpy(self.stream(), &kernel.function, &kernel.tunables, a, x, y)
    }
}
