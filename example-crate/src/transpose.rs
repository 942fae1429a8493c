//! Matrix transpose.

use cudarc::driver::{CudaFunction, CudaStream, CudaView, CudaViewMut, PushKernelArg};

use crate::kernels::transpose::Tunables;
use crate::launch::{config, extent, holds};
use crate::{Error, GpuOps};

/// Enqueues `output[c * rows + r] = input[r * cols + c]` for a row-major matrix of `rows` x `cols`.
pub fn transpose(
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
    let tiles = rows.div_ceil(tunables.tile_rows as usize) * cols.div_ceil(tunables.tile_cols as usize);
    let config = config(function, tiles, tunables.block, tunables.shared_bytes)?;
    let (rows, cols) = (extent("rows", rows)?, extent("cols", cols)?);
    let mut launch = stream.launch_builder(function);
    launch.arg(input).arg(output).arg(&rows).arg(&cols);
    // SAFETY: the arguments are those of the kernel's signature, and both buffers hold rows * cols elements.
    unsafe { launch.launch(config) }?;
    Ok(())
}

impl GpuOps {
    /// See [`transpose`].
    pub fn transpose(
        &self,
        input: &CudaView<'_, f32>,
        output: &mut CudaViewMut<'_, f32>,
        rows: usize,
        cols: usize,
    ) -> Result<(), Error> {
        let kernel = &self.transpose;
        transpose(self.stream(), &kernel.function, &kernel.tunables, input, output, rows, cols)
    }
}
