//! The messages between cargo-fsr and the host processes that run a kernel.
