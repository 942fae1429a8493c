//! Host launch code for cargo-fsr: cases, buffers, references and launches of a CUDA kernel.
