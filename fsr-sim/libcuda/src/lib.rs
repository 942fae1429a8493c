//! The CUDA driver interface over `fsr-sim`: a shared library that stands in for `libcuda.so.1`.
//!
//! Put the built library into a folder as `libcuda.so` and `libcuda.so.1`, and that folder first into
//! `LD_LIBRARY_PATH`: programs on the driver interface then run on the CPU. What is not implemented exists as a
//! symbol, prints its name once and answers `CUDA_ERROR_NOT_SUPPORTED`. This crate alone exports `cu*` symbols; what
//! a kernel does is decided in `fsr-sim`.
//!
//! One function is no function of CUDA's: `fsrSimNameBuffer(address, name)` gives an allocation a name for the reports.
//!
//! Settings, read once from the environment:
//!
//! | variable | meaning | default |
//! |---|---|---|
//! | `FSR_SIM_DEVICE` | profile: `h200`, `a100`, `rtx4090`, `t4`, or the path of a profile file | `h200` |
//! | `FSR_SIM_LEVEL` | checks: `off`, `bounds`, `full` | `bounds` |
//! | `FSR_SIM_THREADS` | host threads for a launch's blocks; 0: all | `0` |
//! | `FSR_SIM_BUDGET` | warp instructions that a launch may execute | `2^36` |
//! | `FSR_SIM_MEMORY` | bytes of device memory | the profile's |
//! | `FSR_SIM_REPORT` | a file that gets one JSON line for each launch: counts and modelled time, or faults | none |

#![allow(non_snake_case, clippy::missing_safety_doc, missing_docs)]

mod api;
mod error;
mod loading;
mod state;
mod unsupported;
