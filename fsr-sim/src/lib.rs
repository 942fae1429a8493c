//! PTX on the CPU: parses, executes and checks CUDA kernels without a GPU.

pub mod parse;
