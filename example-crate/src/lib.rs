//! A small library of GPU operations whose kernels cargo-fsr tuned.
