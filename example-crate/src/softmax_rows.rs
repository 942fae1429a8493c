//! Softmax of each row of a matrix.

use cudarc::driver::{CudaFunction, CudaStream, CudaView, CudaViewMut, PushKernelArg};

use crate::kernels::softmax_rows::Tunables;
use crate::launch::{config, extent, holds};
use crate::{Error, GpuOps};

/// Enqueues the softmax of each row of a row-major matrix of `rows` x `cols`.
pub fn softmax_rows(
    stream: &CudaStream,
    function: &CudaFunction,
    tunables: &Tunables,
    input: &CudaView<'_, f32>,
    output: &mut CudaViewMut<'_, f32>,
    rows: usize,
    cols: usize,
) -> Result<(), Error> {
    holds("input", input.len(), rows.checked_mul(cols))?;
    holds("output", output.len(), rows.checked_mul(cols))?;
    if rows == 0 || cols == 0 {
        return Ok(());
    }
    let blocks = rows.div_ceil(tunables.rows_per_block as usize);
    let config = config(function, blocks, tunables.block, tunables.shared_bytes)?;
    let (rows, cols) = (extent("rows", rows)?, extent("cols", cols)?);
    let mut launch = stream.launch_builder(function);
    launch.arg(input).arg(output).arg(&rows).arg(&cols);
    // SAFETY: the arguments are those of the kernel's signature, and both buffers hold rows * cols elements.
    unsafe { launch.launch(config) }?;
    Ok(())
}

impl GpuOps {
    /// See [`softmax_rows`].
    pub fn softmax_rows(
        &self,
        input: &CudaView<'_, f32>,
        output: &mut CudaViewMut<'_, f32>,
        rows: usize,
        cols: usize,
    ) -> Result<(), Error> {
        let kernel = &self.softmax_rows;
        softmax_rows(self.stream(), &kernel.function, &kernel.tunables, input, output, rows, cols)
    }
}
