//! The thin binary: arguments in, exit code out. All else is in the library.

#![forbid(unsafe_code)]

use cargo_fsr::compile::child;

fn main() -> std::process::ExitCode {
    // The compiler process is this program again; no argument of it is for people.
    if std::env::args_os().nth(1).is_some_and(|first| first == child::COMMAND) {
        return child::run();
    }
    cargo_fsr::cli::main(std::env::args_os())
}
