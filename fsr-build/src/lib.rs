//! Embeds the kernels that cargo-fsr tuned: the spec, its key and the store, for build scripts.
