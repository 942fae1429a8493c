//! The CUDA driver interface over fsr-sim, as a shared library.
