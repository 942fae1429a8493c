//! `cargo fsr`: tunes the CUDA kernels of a Rust project with a language model and keeps the winning PTX.
//!
//! The modules read as the data flows: [`cli`] parses and renders, [`project`] finds packages and specs, [`search`]
//! runs the loop over four traits: [`model::Model`] (prompt in, answer out), [`compile::Compiler`] (source in, PTX or
//! log out), [`judge::Judge`] (PTX in, verdict out) and [`journal::Journal`] (every step, append-only). The winner
//! goes to the store, whose format `fsr-build` owns.

// The binding to NVRTC is the only unsafe code of this crate, and allows it for itself.
#![deny(unsafe_code)]

pub mod brief;
pub mod budget;
pub mod cache;
pub mod cli;
pub mod compile;
pub mod config;
pub mod device;
pub mod entry;
pub mod exit;
pub mod journal;
pub mod judge;
pub mod leash;
mod lock;
pub mod model;
mod paths;
pub mod project;
pub mod report;
mod scratch;
pub mod search;
pub mod settings;
pub mod state;
pub mod verify;
