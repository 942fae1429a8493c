//! The sum of a vector.

use std::sync::Arc;

use cudarc::driver::{CudaFunction, CudaStream, CudaView, CudaViewMut, PushKernelArg};

use crate::kernels::reduce_sum::Tunables;
use crate::launch::{config, holds};
use crate::{Error, GpuOps};

/// Enqueues `sum[0] = input[0] + ... + input[n - 1]`; 0 for an empty input.
pub fn reduce_sum(
    stream: &Arc<CudaStream>,
    function: &CudaFunction,
    tunables: &Tunables,
    input: &CudaView<'_, f32>,
    sum: &mut CudaViewMut<'_, f32>,
) -> Result<(), Error> {
    holds("sum", sum.len(), Some(1))?;
    stream.memset_zeros(&mut sum.slice_mut(0..1))?;
    let n = input.len() as u64;
    if n == 0 {
        return Ok(());
    }
    let config = config(function, tunables.blocks as usize, tunables.block, 0)?;
    let mut launch = stream.launch_builder(function);
    launch.arg(input).arg(&n).arg(sum);
    // SAFETY: the arguments are those of the kernel's signature; input holds n elements and sum one.
    unsafe { launch.launch(config) }?;
    Ok(())
}

impl GpuOps {
    /// See [`reduce_sum`].
    pub fn reduce_sum(&self, input: &CudaView<'_, f32>, sum: &mut CudaViewMut<'_, f32>) -> Result<(), Error> {
        let kernel = &self.reduce_sum;
        reduce_sum(self.stream(), &kernel.function, &kernel.tunables, input, sum)
    }
}
