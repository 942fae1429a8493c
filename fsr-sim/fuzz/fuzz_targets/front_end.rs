//! Parsing and decoding: text becomes a program or an error with its place, never a panic.

#![no_main]

use fsr_sim::Module;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    if let Err(error) = Module::parse(text) {
        assert!(error.pos.line >= 1, "{error}");
    }
});
