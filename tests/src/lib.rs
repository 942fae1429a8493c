//! End-to-end tests of cargo-fsr.
