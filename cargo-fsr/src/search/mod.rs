//! The FSR loop: pure over model, compiler, judge and journal.

pub mod answer;
mod cuda_text;
#[cfg(test)]
pub(crate) mod fakes;
pub mod launch;
