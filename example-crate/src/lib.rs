//! A small library of GPU operations on f32, with kernels that cargo-fsr tuned.
//!
//! [`GpuOps`] is the easy way in: it loads the kernels that this crate embeds for a device. The functions beneath it
//! take a loaded kernel and its [`Tunables`](kernels::transpose::Tunables), so that the same code launches the shipped
//! kernels and, during a search, the candidates.
//!
//! ```no_run
//! use cudarc::driver::CudaContext;
//! use example_crate::GpuOps;
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let ops = GpuOps::new(&CudaContext::new(0)?)?;
//! let input = ops.stream().clone_htod(&[1.0, 2.0, 3.0, 4.0, 5.0, 6.0])?;
//! let mut output = ops.stream().alloc_zeros::<f32>(6)?;
//! ops.transpose(&input.as_view(), &mut output.as_view_mut(), 2, 3)?;
//! assert_eq!(ops.stream().clone_dtoh(&output)?, [1.0, 4.0, 2.0, 5.0, 3.0, 6.0]);
//! # Ok(())
//! # }
//! ```

#[cfg(feature = "cpp-host")]
pub mod cpp_host;
mod error;
mod launch;
mod ops;
mod reduce_sum;
mod saxpy;
mod softmax_rows;
mod transpose;

/// The tuned kernels, embedded by the build script.
#[allow(missing_docs)]
pub mod kernels {
    include!(env!("FSR_KERNELS"));
}

pub use error::Error;
pub use ops::GpuOps;
pub use reduce_sum::reduce_sum;
pub use saxpy::saxpy;
pub use softmax_rows::softmax_rows;
pub use transpose::transpose;
