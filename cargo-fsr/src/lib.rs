//! Tunes the CUDA kernels of a Rust project with a language model and keeps the winning PTX.
