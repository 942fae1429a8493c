//! Embeds the kernels that cargo-fsr tuned: the spec, its key and the store, for build scripts.
#![forbid(unsafe_code)]

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
