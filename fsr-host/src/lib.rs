//! What the host launch code of a CUDA kernel is written against: cases, buffers, references and launches.
//!
//! A *host file* is a small program of a crate that ships a kernel. It declares problem sizes, and for each of them the
//! buffers, the launch (the very function that the crate's users call) and a trusted result on the CPU:
//!
//! ```no_run
//! # mod launch {
//! #     use cudarc::driver::*;
//! #     pub fn double(_: &CudaStream, _: &CudaFunction, _: &Tunables, _: &CudaView<f32>, _: &mut CudaViewMut<f32>)
//! #         -> Result<(), DriverError> { Ok(()) }
//! #     pub struct Tunables;
//! #     impl Tunables {
//! #         pub fn resolve(_: impl FnMut(&str) -> Option<u32>) -> Result<Self, std::fmt::Error> { Ok(Self) }
//! #     }
//! # }
//! # use launch::Tunables;
//! fn main() -> fsr_host::ExitCode {
//!     fsr_host::kernel("double")
//!         .dims(["n"])
//!         .time([[1 << 24]])
//!         .check([[1], [1021], [4097]])
//!         .run(|case, [n]| {
//!             let x = case.input::<f32>("x", [n]);
//!             let y = case.output::<f32>("y", [n]);
//!             case.launch(move |gpu| {
//!                 let tunables = Tunables::resolve(|name| gpu.tunable(name))?;
//!                 let (stream, double) = (gpu.stream(), gpu.function("double")?);
//!                 launch::double(stream, &double, &tunables, &gpu.view(x), &mut gpu.view_mut(y))?;
//!                 Ok(())
//!             });
//!             case.reference(move |cpu| {
//!                 for (y, x) in cpu.write(y).iter_mut().zip(cpu.read(x)) {
//!                     *y = 2.0 * x;
//!                 }
//!             });
//!         })
//! }
//! ```
//!
//! `cargo fsr` starts the same program twice. The *device* process owns the GPU and launches candidates; the *reference*
//! process makes inputs and results and compares, and never opens a GPU. Started by hand, the program validates and
//! times the stored kernel once and prints a table; `--help` lists what else it takes.
//!
//! # Without cudarc, or with another version of it
//!
//! The feature `cudarc` (on by default) lends buffers, stream and functions as the types of cudarc 0.19. Everything
//! else can use [`Gpu::device_pointer`], [`Gpu::raw_stream`] and [`Gpu::raw_function`], which are the driver's own
//! handles: another cudarc, cust, or C++ through the driver interface.
//!
//! cudarc wants exactly one of its `cuda-*` features. This crate sets none, so the one of your own crate holds; where
//! nobody sets one, cudarc takes the version of the `nvcc` on the path, or its newest bindings. Either works with any
//! driver, since functions are looked up on first use.

#![deny(unsafe_code)]

mod by_hand;
mod bytes;
mod case;
mod cpu;
mod device;
mod element;
mod fault;
mod gpu;
#[cfg(unix)]
mod orphan;
mod program;
mod raw;
mod reference;
mod serve;
mod values;

pub use std::process::ExitCode;

pub use by_hand::Stored;
pub use case::{Buffer, Case, InOut, Input, LaunchError, Output, Readable, Scalar, Writable};
pub use cpu::Cpu;
pub use element::{Element, default_tolerance};
pub use fsr_protocol::{Dtype, Tolerance};
pub use gpu::Gpu;
pub use half;
pub use program::{Kernel, kernel};
pub use values::{Rng, Values};
