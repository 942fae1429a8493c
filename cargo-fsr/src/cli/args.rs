//! The command line, as clap reads it. The documentation of each item is the help text.

#![allow(missing_docs)]

use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, Parser, Subcommand, ValueEnum};

use crate::budget::{self, Budget};
use crate::project::{Locking, Selection};
use crate::settings::{Settings, Strategy, Target};

/// Tunes the CUDA kernels of a Rust project with a language model and keeps the winning PTX.
///
/// Exit codes: 0 done; 1 something is not fresh, or no valid kernel was found; 2 usage; 3 a spec or configuration is
/// at fault; 4 the machine lacks a GPU, NVRTC or a model; 5 awaiting answers; 6 host launch code at fault; 7 a stored
/// file was edited or cannot be read; 8 what is stored reaches nobody else or belongs to no spec; 130 interrupted.
#[derive(Debug, Parser)]
#[command(name = "cargo fsr", bin_name = "cargo fsr", version, propagate_version = true)]
pub struct Arguments {
    #[command(flatten)]
    pub global: Global,
    #[command(subcommand)]
    pub command: Command,
}

/// Flags that every command takes.
#[derive(Clone, Debug, Args)]
#[command(next_help_heading = "Display options")]
pub struct Global {
    /// More detail on stderr; twice for cargo's own output too.
    #[arg(short, long, global = true, action = clap::ArgAction::Count, conflicts_with = "quiet")]
    pub verbose: u8,
    /// Only errors on stderr.
    #[arg(short, long, global = true)]
    pub quiet: bool,
    /// When to colour.
    #[arg(long, global = true, value_name = "WHEN", default_value = "auto", env = "CARGO_TERM_COLOR")]
    pub color: Color,
    /// Form of what goes to stdout.
    #[arg(long, visible_alias = "format", global = true, value_name = "FORMAT", default_value = "human")]
    pub message_format: MessageFormat,
}

/// When to colour.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Color {
    Auto,
    Always,
    Never,
}

/// Form of stdout.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum MessageFormat {
    /// For people.
    Human,
    /// One JSON object a line.
    Json,
    /// Annotations for GitHub's checks; `check` alone has some.
    Github,
}

#[derive(Debug, Subcommand)]
pub enum Command {
    /// Search for faster kernels and store the winners.
    Tune(Tune),
    /// Tell whether every stored kernel fits its spec: offline, without a compiler or a GPU.
    Check(Check),
    /// Recompile the stored sources, compare the PTX, and validate it on the device at hand.
    Verify(Verify),
    /// List the kernels and the state of their entries.
    List(List),
    /// Show one kernel: its spec, its entries, its times.
    Show(Show),
    /// List the templates that prompts are made from, print some, or write them down to be changed.
    Prompts(Prompts),
    /// Remove entries that no spec asks for any more.
    Prune(Prune),
    /// Find or install the compiler (NVRTC).
    Toolchain(Toolchain),
    /// Write a folder from which a search runs where there is no cargo.
    Bundle(Bundle),
    /// Bring the entries of a bundle home.
    Import(Import),
}

#[derive(Debug, Args)]
pub struct Tune {
    /// Kernels to tune; all that are not fresh when left out.
    pub kernels: Vec<String>,
    /// Tune fresh ones too.
    #[arg(long)]
    pub force: bool,
    /// A model of fsr.toml, or `command:PROGRAM ARGS`, `files:FOLDER`, `replay:FOLDER`.
    #[arg(long, value_name = "MODEL", env = "FSR_MODEL")]
    pub model: Option<String>,
    /// What executes: `cuda` or `cuda:N`, a GPU; `sim` or `sim:PROFILE`, the CPU device with modelled times; `auto`, a
    /// GPU where there is one.
    #[arg(long, value_name = "DEVICE", env = "FSR_DEVICE", default_value = "auto")]
    pub device: String,
    /// Give candidates to the GPU without executing them on the CPU device first.
    #[arg(long, env = "FSR_NO_SCREEN", value_parser = clap::builder::BoolishValueParser::new())]
    pub no_screen: bool,
    /// Go on with the last run of each kernel.
    #[arg(long, conflicts_with = "force")]
    pub resume: bool,
    /// Print the prompts of the first round and what a search may cost at most; ask nobody, store nothing.
    #[arg(long, conflicts_with_all = ["resume", "verdicts"])]
    pub dry_run: bool,
    /// With a replayed model: repeat the recorded verdicts and times too, without a GPU or a compiler.
    #[arg(long)]
    pub verdicts: bool,
    /// Let the CPU device replace entries that were tuned on a GPU.
    #[arg(long)]
    pub replace_measured: bool,
    /// Write the entries to this folder, and leave the package's own alone.
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,
    /// Run from a folder that `cargo fsr bundle` wrote.
    #[arg(long, value_name = "DIR", conflicts_with_all = ["package", "workspace", "manifest_path"])]
    pub bundle: Option<PathBuf>,
    #[command(flatten)]
    pub search: SearchArgs,
    #[command(flatten)]
    pub budget: BudgetArgs,
    #[command(flatten)]
    pub selection: Selection,
    #[command(flatten)]
    pub locking: Locking,
}

/// How far, how wide and on which course `tune` searches.
#[derive(Debug, Default, Args)]
#[command(next_help_heading = "Search")]
pub struct SearchArgs {
    /// Candidates a round.
    #[arg(short = 'n', long, value_name = "N", env = "FSR_CANDIDATES", value_parser = clap::value_parser!(u32).range(1..=64))]
    pub candidates: Option<u32>,
    /// Rounds.
    #[arg(long, value_name = "N", env = "FSR_ROUNDS", value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub rounds: Option<u32>,
    /// From which kernels a round goes on: `fsr`, all candidates from the best; `beam:K`, in turn from the K best;
    /// `islands:K`, K groups of candidates, each from its own best, and every third round from its neighbour's.
    #[arg(long, value_name = "STRATEGY", env = "FSR_STRATEGY")]
    pub strategy: Option<Strategy>,
    /// End after so many rounds in a row without a new best kernel.
    #[arg(long, value_name = "N", env = "FSR_PATIENCE", value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub patience: Option<u32>,
    /// End with a kernel that is fast enough: `2x`, twice as fast as the baseline; `0.9-roofline`, nine tenths of what
    /// the memory of a GPU allows.
    #[arg(long, value_name = "TARGET", env = "FSR_TARGET")]
    pub target: Option<Target>,
}

impl SearchArgs {
    /// These over other settings.
    pub fn over(&self, settings: Settings) -> Settings {
        Settings {
            candidates: self.candidates.unwrap_or(settings.candidates),
            rounds: self.rounds.unwrap_or(settings.rounds),
            strategy: self.strategy.unwrap_or(settings.strategy),
            patience: self.patience.or(settings.patience),
            target: self.target.or(settings.target),
            ..settings
        }
    }
}

/// What `tune` may spend; `[budget]` in fsr.toml says the same.
#[derive(Debug, Args)]
#[command(next_help_heading = "Budget")]
pub struct BudgetArgs {
    /// Requests to models, failed ones too.
    #[arg(long, value_name = "N", env = "FSR_MAX_REQUESTS")]
    pub max_requests: Option<u64>,
    /// Tokens of prompts and answers together.
    #[arg(long, value_name = "N", env = "FSR_MAX_TOKENS")]
    pub max_tokens: Option<u64>,
    /// Money, by the prices of the models.
    #[arg(long, value_name = "AMOUNT", env = "FSR_MAX_COST", value_parser = budget::amount)]
    pub max_cost: Option<f64>,
    /// Wall time, as `90m`, with the final check.
    #[arg(long, value_name = "TIME", env = "FSR_MAX_TIME", value_parser = humantime::parse_duration)]
    pub max_time: Option<Duration>,
}

impl BudgetArgs {
    /// As limits.
    pub fn limits(&self) -> Budget {
        Budget {
            requests: self.max_requests,
            tokens: self.max_tokens,
            cost: self.max_cost,
            time: self.max_time,
        }
    }
}

#[derive(Debug, Args)]
pub struct Check {
    /// Kernels to check; all when left out.
    pub kernels: Vec<String>,
    #[command(flatten)]
    pub selection: Selection,
    #[command(flatten)]
    pub locking: Locking,
}

#[derive(Debug, Args)]
pub struct Verify {
    /// Kernels to verify; all when left out.
    pub kernels: Vec<String>,
    /// Restamp entries whose evidence changed and that still hold.
    #[arg(long)]
    pub update: bool,
    /// What executes: `cuda` or `cuda:N`, a GPU; `sim` or `sim:PROFILE`, the CPU device with modelled times; `auto`, a
    /// GPU where there is one.
    #[arg(long, value_name = "DEVICE", env = "FSR_DEVICE", default_value = "auto")]
    pub device: String,
    /// Only compile and compare: validate nothing.
    #[arg(long, conflicts_with = "update")]
    pub no_device: bool,
    /// Let entries pass that no device here loads: their PTX is compared alone.
    #[arg(long)]
    pub skip_unloadable: bool,
    /// Verify the entries of a folder that `tune --out` wrote, instead of the package's own.
    #[arg(long, value_name = "DIR", conflicts_with = "update")]
    pub out: Option<PathBuf>,
    /// Run from a folder that `cargo fsr bundle` wrote.
    #[arg(long, value_name = "DIR", conflicts_with_all = ["package", "workspace", "manifest_path"])]
    pub bundle: Option<PathBuf>,
    #[command(flatten)]
    pub selection: Selection,
    #[command(flatten)]
    pub locking: Locking,
}

#[derive(Debug, Args)]
pub struct List {
    #[command(flatten)]
    pub selection: Selection,
    #[command(flatten)]
    pub locking: Locking,
}

#[derive(Debug, Args)]
pub struct Show {
    /// The kernel.
    pub kernel: String,
    #[command(flatten)]
    pub selection: Selection,
    #[command(flatten)]
    pub locking: Locking,
}

#[derive(Debug, Args)]
pub struct Prompts {
    /// Templates to print or write; listed are all.
    pub names: Vec<String>,
    /// Write their texts into this folder, which `templates` in fsr.toml then names. No file there is overwritten.
    #[arg(long, value_name = "DIR")]
    pub write: Option<PathBuf>,
    #[command(flatten)]
    pub selection: Selection,
}

#[derive(Debug, Args)]
pub struct Prune {
    /// Only tell what would be removed; exit code 8 if there is something.
    #[arg(long)]
    pub check: bool,
    #[command(flatten)]
    pub selection: Selection,
    #[command(flatten)]
    pub locking: Locking,
}

#[derive(Debug, Args)]
pub struct Toolchain {
    #[command(subcommand)]
    pub command: ToolchainCommand,
}

#[derive(Debug, Subcommand)]
pub enum ToolchainCommand {
    /// Install NVRTC and its headers with your own pip or uv.
    Install {
        /// CUDA version, as `12.8`; the one that the specs pin when left out.
        #[arg(value_name = "VERSION")]
        cuda: Option<String>,
        #[command(flatten)]
        selection: Selection,
    },
    /// List the compilers that were found, in the order in which they are tried.
    List,
}

#[derive(Debug, Args)]
pub struct Bundle {
    /// The folder to write; must not exist yet, or be empty.
    pub dir: PathBuf,
    /// Kernels to take along; all when left out.
    #[arg(long = "kernel", value_name = "KERNEL")]
    pub kernels: Vec<String>,
    /// Leave the compiler out: the other machine has a CUDA toolkit of the pinned version.
    #[arg(long)]
    pub no_toolchain: bool,
    /// Leave the CPU device out: the other machine has a GPU.
    #[arg(long)]
    pub no_cpu_device: bool,
    #[command(flatten)]
    pub selection: Selection,
    #[command(flatten)]
    pub locking: Locking,
}

#[derive(Debug, Args)]
pub struct Import {
    /// A folder that `cargo fsr bundle` wrote and `tune --bundle` filled.
    pub dir: PathBuf,
    /// Bring entries home even where the spec has changed since the bundle was written.
    #[arg(long)]
    pub force: bool,
    #[command(flatten)]
    pub selection: Selection,
    #[command(flatten)]
    pub locking: Locking,
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use clap::CommandFactory;

    use super::*;

    /// What follows a flattened group in a struct would be shown among that group.
    #[test]
    fn every_flag_stands_under_its_own_heading() {
        let mut command = Arguments::command();
        command.build();
        let mut headings: BTreeMap<String, Vec<String>> = BTreeMap::new();
        for command in command.get_subcommands() {
            for arg in command.get_arguments() {
                let heading = arg.get_help_heading().unwrap_or("Options").to_owned();
                headings.entry(heading).or_default().push(arg.get_id().to_string());
            }
        }
        headings.remove("Options");
        for names in headings.values_mut() {
            names.sort();
            names.dedup();
        }
        insta::assert_debug_snapshot!(headings);
    }
}
