//! The thin binary: arguments in, exit code out. All else is in the library.

#![forbid(unsafe_code)]

use cargo_fsr::compile::child;
use cargo_fsr::leash;

fn main() -> std::process::ExitCode {
    // Two of its processes are this program again; no argument of theirs is for people.
    match std::env::args_os().nth(1) {
        Some(first) if first == child::COMMAND => return child::run(),
        Some(first) if first == leash::COMMAND => return leash::run(),
        _ => leash::arm(),
    }
    cargo_fsr::cli::main(std::env::args_os())
}
