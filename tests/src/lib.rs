//! End-to-end tests of cargo-fsr: see `tests/end_to_end/main.rs`. Nothing lives here.
