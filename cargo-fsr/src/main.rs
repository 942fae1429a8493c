//! The thin binary: arguments in, exit code out. All else is in the library.

#![forbid(unsafe_code)]

fn main() -> std::process::ExitCode {
    cargo_fsr::cli::main(std::env::args_os())
}
