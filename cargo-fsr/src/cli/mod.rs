//! Arguments in, exit code out; one file a command.
//!
//! Commands render and decide nothing: what they show comes from the library, and how they exit from their results.

pub mod args;
mod bundle;
mod check;
mod devices;
mod error;
mod github;
mod import;
mod list;
mod prompts;
mod prune;
mod rig;
mod shell;
mod show;
mod toolchain;
mod tune;
mod verify;
mod watch;

use std::ffi::OsString;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use clap::Parser;

pub use error::CommandError;
pub use shell::Shell;

use crate::exit::Exit;
use args::{Arguments, Color, Command, MessageFormat};

/// Runs the program: parses, dispatches, renders the error.
pub fn main(args: impl IntoIterator<Item = OsString>) -> ExitCode {
    let arguments = match Arguments::try_parse_from(without_subcommand_name(args)) {
        Ok(arguments) => arguments,
        Err(error) => {
            let _ = error.print();
            return ExitCode::from(if error.use_stderr() { Exit::Usage } else { Exit::Success });
        }
    };
    let shell = Arc::new(Shell::new(&arguments.global));
    let color = arguments.global.color;
    match run(arguments, &shell) {
        Ok(exit) => exit.into(),
        Err(error) => {
            let exit = error.exit();
            render(error, color);
            exit.into()
        }
    }
}

/// cargo runs `cargo-fsr fsr ...`; people may run `cargo-fsr ...`.
fn without_subcommand_name(args: impl IntoIterator<Item = OsString>) -> Vec<OsString> {
    let mut args: Vec<OsString> = args.into_iter().collect();
    if args.get(1).is_some_and(|first| first == "fsr") {
        args.remove(1);
    }
    args
}

fn render(error: CommandError, color: Color) {
    let _ = miette::set_hook(Box::new(move |_| {
        // A message holds its causes already: as a chain they would be told twice.
        let options = miette::MietteHandlerOpts::new().width(100).without_cause_chain();
        Box::new(match color {
            Color::Auto => options.build(),
            Color::Always => options.color(true).build(),
            Color::Never => options.color(false).build(),
        })
    }));
    eprintln!("error: {:?}", miette::Report::new(error));
}

/// The folder that relative paths of the command line start from.
fn here() -> PathBuf {
    std::env::current_dir().unwrap_or_default()
}

fn run(arguments: Arguments, shell: &Arc<Shell>) -> Result<Exit, CommandError> {
    if arguments.global.message_format == MessageFormat::Github
        && !matches!(arguments.command, Command::Check(_))
    {
        let help = "use --message-format json, or leave it out";
        return Err(CommandError::new(Exit::Usage, "only `check` has annotations for GitHub", help));
    }
    match arguments.command {
        Command::Tune(args) => tune::run(args, shell, &interrupt(shell)),
        Command::Check(args) => check::run(args, shell),
        Command::Verify(args) => verify::run(args, shell, &interrupt(shell)),
        Command::List(args) => list::run(args, shell),
        Command::Show(args) => show::run(args, shell),
        Command::Prompts(args) => prompts::run(args, shell),
        Command::Prune(args) => prune::run(args, shell),
        Command::Toolchain(args) => toolchain::run(args, shell),
        Command::Bundle(args) => bundle::run(args, shell, &interrupt(shell)),
        Command::Import(args) => import::run(args, shell),
    }
}

/// The first Ctrl-C sets a flag, so that the best so far is kept; the second ends the process.
fn interrupt(shell: &Arc<Shell>) -> rig::Interrupt {
    let flag = rig::Interrupt::default();
    let (set, told) = (flag.clone(), shell.clone());
    let handler = ctrlc::set_handler(move || {
        if set.swap(true, Ordering::SeqCst) {
            std::process::exit(Exit::Interrupted.code().into());
        }
        told.warn("stopping; the best so far is kept. Once more ends at once");
    });
    if let Err(error) = handler {
        shell.warn(format_args!("Ctrl-C cannot be caught: {error}"));
    }
    flag
}
