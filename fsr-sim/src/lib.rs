//! PTX on the CPU: parses, executes and checks CUDA kernels without a GPU.
//!
//! ```
//! use fsr_sim::{Device, LaunchConfig, Module, Profile};
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let ptx = r#"
//!     .version 8.0
//!     .target sm_80
//!     .address_size 64
//!     .visible .entry double_all(.param .u64 data)
//!     {
//!         .reg .b32 %r<3>;
//!         .reg .b64 %rd<4>;
//!         ld.param.u64 %rd1, [data];
//!         mov.u32 %r1, %tid.x;
//!         mul.wide.u32 %rd2, %r1, 4;
//!         add.s64 %rd3, %rd1, %rd2;
//!         ld.global.u32 %r2, [%rd3];
//!         shl.b32 %r2, %r2, 1;
//!         st.global.u32 [%rd3], %r2;
//!         ret;
//!     }
//! "#;
//! let device = Device::new(Profile::named("h200")?);
//! let module = device.load(Module::parse(ptx)?)?;
//! let kernel = module.function("double_all").ok_or("no such kernel")?;
//!
//! let data = device.alloc(32 * 4)?;
//! device.write(data, &[7, 0, 0, 0].repeat(32))?;
//! let report = device.launch(&kernel, LaunchConfig::linear(1, 32), &[data.into()])?;
//!
//! let mut out = [0; 4];
//! device.read(data, &mut out)?;
//! assert_eq!(u32::from_le_bytes(out), 14);
//! assert_eq!(report.counts.global_load.transactions, 4);
//!
//! // One thread too many: the fault names what was touched, and by whom.
//! let fault = device.launch(&kernel, LaunchConfig::linear(1, 33), &[data.into()]).unwrap_err();
//! assert!(fault.to_string().contains("0 bytes past the end of allocation 0 (128 bytes)"));
//! # Ok(())
//! # }
//! ```
//!
//! A kernel ends in one of three ways: clean, with a [`Report`]; with [`Faults`], each of which names the PTX line,
//! the CUDA source line where the PTX has line information, block, thread, buffer and offset; or refused as
//! unsupported, with the names of the instructions, before anything is executed.

// Instruction semantics are bit arithmetic and unordered comparisons, written as the PTX manual writes them; each
// operation of a table is a closure, also where a path would do.
#![allow(
    clippy::precedence,
    clippy::neg_cmp_op_on_partial_ord,
    clippy::double_comparisons,
    clippy::redundant_closure,
    clippy::needless_range_loop,
    clippy::if_same_then_else
)]

pub mod check;
mod count;
mod device;
mod exec;
mod memory;
pub mod parse;
pub mod profile;
mod program;

pub use check::{Fault, FaultKind, Faults, Level};
pub use count::{Counts, Traffic};
pub use device::{
    Arg, Device, Function, InvalidLaunch, LaunchConfig, LaunchError, LoadedModule, Module, Options, Output,
    Report,
};
pub use memory::{BufferKind, MemoryError};
pub use parse::ParseError;
pub use profile::{Modelled, Profile};
pub use program::{Class, Param, Unsupported};
