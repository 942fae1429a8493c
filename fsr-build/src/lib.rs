//! Embeds the kernels that `cargo fsr tune` found into the crate that declares them.
//!
//! A crate declares its CUDA kernels in `Cargo.toml`; cargo-fsr searches for fast ones and commits the winners'
//! PTX to the crate's `fsr/` folder. This crate is the other half: called from `build.rs`, it checks that the
//! committed kernels still answer their declaration and embeds them. It needs no GPU, no CUDA toolkit and no
//! network, so the crate builds anywhere.
//!
//! # Tutorial
//! **1. Declare a kernel** in the crate's `Cargo.toml`, and depend on this crate for the build script:
//! ```toml
//! [build-dependencies]
//! fsr-build = "0.1"
//!
//! [package.metadata.fsr]
//! arch = ["sm_80", "sm_90"]        # targets of the stored PTX
//! cuda = "12.8"                    # compiler version: decides the oldest driver that can load it
//!
//! [package.metadata.fsr.kernels.transpose]
//! task = "Transpose a row-major rows x cols f32 matrix."
//! host = ["examples/fsr_transpose.rs", "src/launch.rs"]    # first: the cargo target that runs and checks it
//! tunables = { TILE = [8, 16, 32] }                        # integers that kernel and host code share
//! launch = { BLOCK_X = [32, 1024] }                        # integers that the kernel chooses within bounds
//! ```
//!
//! **2. Call [`embed`]** from `build.rs`:
//! ```no_run
//! fn main() {
//!     fsr_build::embed();
//! }
//! ```
//!
//! **3. Include the generated module**, say in `src/lib.rs`:
//! ```ignore
//! pub mod kernels {
//!     include!(env!("FSR_KERNELS"));
//! }
//! ```
//!
//! **4. Write the launch function** against `Tunables`, so that the same function serves the search, where the
//! values vary by candidate, and the shipped program. For each kernel the module has
//! ```ignore
//! pub mod transpose {
//!     pub const ENTRIES: &[&str];                 // the names of the kernel's functions
//!     pub struct Tunables { pub block_x: u32, pub tile: u32 }
//!     pub static IMAGES: &[Image<Tunables>];      // PTX, architecture, chosen tunables, oldest driver, SHA-256
//!     pub fn image_for(major: i32, minor: i32) -> Result<&'static Image<Tunables>, NotTuned>;
//! }
//! ```
//! With cudarc (any version; cust and raw FFI work alike, `ptx_c_str` is what `cuModuleLoadData` takes):
//! ```ignore
//! pub fn transpose(stream: &Arc<CudaStream>, kernel: &CudaFunction, t: &Tunables, /* ... */) -> Result<(), Error> {
//!     let config = LaunchConfig { block_dim: (t.block_x, 1, 1), grid_dim: (cols.div_ceil(t.tile), 1, 1), shared_mem_bytes: 0 };
//!     // ...
//! }
//!
//! let (major, minor) = context.compute_capability()?;
//! let image = kernels::transpose::image_for(major, minor)?;
//! let module = context.load_module(Ptx::from_src(image.ptx))?;
//! let function = module.load_function(image.entries[0])?;
//! transpose(&stream, &function, &image.tunables, /* ... */)?;
//! ```
//! In the host code of the search, the values of the candidate in hand come by name:
//! `Tunables::resolve(|name| run.tunable(name))?`.
//!
//! **5. Tune**: `cargo fsr tune -p my-crate transpose`, and commit `fsr/`.
//!
//! # What a build says
//! | entry | meaning | build |
//! |---|---|---|
//! | fresh | made from exactly this spec | silent |
//! | unverified | a host file, header, baseline or tolerance changed | warns: `cargo fsr verify --update` |
//! | stale | task, entries, tunables, `keep`, launch, architecture or compiler changed | fails: `cargo fsr tune`; warns under `FSR_ALLOW_STALE=1` |
//! | missing | not tuned yet | fails: `cargo fsr tune` |
//! | tampered, unreadable | a file was edited, lost, or has a merge conflict | fails, with the file |
//!
//! A host file that a published package leaves out is not judged; `cargo fsr check` in the repository insists on
//! it. Under `DOCS_RS` (docs.rs sets it) an entry that would fail the build is left out of `IMAGES`, with a
//! warning; so it is under `FSR_TUNING`, which `cargo fsr` sets while it builds the host target, in silence.
//! Everywhere else there is no build with an empty table: `NotTuned` at run time means a device that
//! no listed architecture fits.
//!
//! [`embed`] writes `OUT_DIR/fsr.rs` and nothing else, and tells cargo exactly the existing files that it read.
//! When `fsr/` itself appears in a package that was built under `DOCS_RS` or `FSR_TUNING`, that build is not
//! repeated by itself; every other build failed, so it is.
//!
//! # As a library
//! [`spec`] reads declarations, [`key`] tells what an entry was made from, [`store`] reads and writes entries.
//! cargo-fsr is built on them.
#![forbid(unsafe_code)]
// A build script is a main function.
#![allow(clippy::needless_doctest_main)]

mod arch;
mod digest;
mod document;
mod embed;
#[cfg(test)]
mod fixture;
mod identifier;
pub mod key;
pub mod spec;
pub mod store;

pub use embed::{EmbedError, Problem, embed, try_embed};
