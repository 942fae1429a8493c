//! The FSR loop (arXiv 2506.09092, section 3): pure over model, compiler, judge and journal.
//!
//! Its course follows from the results of its effects alone, and every effect is looked up in the journal before it
//! is made: a search that was killed goes on where it was by running again. It never reads a clock, a file or a
//! random number of its own.

pub mod answer;
mod asking;
mod attempt;
mod cast;
mod course;
mod cuda_text;
mod effects;
mod engine;
mod events;
#[cfg(test)]
pub(crate) mod fakes;
pub mod launch;
mod ledger;
mod prompts;
mod recorded;
mod rounds;
pub mod standing;
mod sweep;
#[cfg(test)]
mod tests;
mod trial;

use std::path::PathBuf;
use std::sync::atomic::AtomicBool;

use fsr_protocol::Tunables;

use crate::brief::Brief;
use crate::budget::Purse;
use crate::compile::{Compiler, CompilerError, Ptx};
use crate::journal::{Entry, Journal, JournalError, StopReason};
use crate::judge::{Bench, Judge, JudgeError, Timing, Validation};
use crate::model::Origin;
use crate::paths;
use crate::settings::Settings;

pub use cast::Cast;
pub use events::{Event, Events, Silent};
pub use prompts::{Template, TemplateError, Templates};
pub use recorded::RecordedOnly;

/// Everything that a search needs.
pub struct Search<'a> {
    /// What it is about.
    pub brief: &'a Brief,
    /// How far and how wide.
    pub settings: &'a Settings,
    /// What the journal's header says besides.
    pub run: &'a RunFacts,
    /// Sources to try before the first round, such as an earlier winner. A run that is taken up again has its own,
    /// and one that repeats a recording takes the recording's.
    pub previous: &'a [String],
    /// The prompt templates.
    pub templates: &'a Templates,
    /// Who is asked for what.
    pub cast: Cast<'a>,
    /// Makes PTX.
    pub compiler: &'a dyn Compiler,
    /// Decides what works.
    pub judge: &'a mut dyn Judge,
    /// Where every step goes, and where those already made are found.
    pub journal: &'a mut dyn Journal,
    /// A recorded run whose compilations, verdicts and times are repeated instead of made anew; with
    /// [`RecordedOnly`] as compiler and judge nothing but the recording decides.
    pub recording: Option<&'a [Entry]>,
    /// What may be spent, and who counts it.
    pub purse: &'a Purse,
    /// Told what happens.
    pub events: &'a dyn Events,
    /// Set from outside to stop and keep the best so far. Models and judges watch it too.
    pub interrupt: &'a AtomicBool,
}

/// What identifies a run, for the header of its journal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RunFacts {
    /// Unique name of the run.
    pub run: String,
    /// Version of cargo-fsr.
    pub tool: String,
    /// Key of the spec for the arch of the brief.
    pub key: String,
    /// Digest of each input of the key.
    pub inputs: std::collections::BTreeMap<String, String>,
}

/// How a search ended.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// Device and cases.
    pub bench: Bench,
    /// The fastest valid kernel: perhaps the baseline itself; none when nothing was valid.
    pub best: Option<Winner>,
    /// The baseline's validation and its times beside the winner.
    pub baseline: Option<Measurement>,
    /// Why it ended.
    pub stopped: Stopped,
    /// Rounds that were begun.
    pub rounds: u32,
    /// What became of the candidates.
    pub counts: Counts,
}

/// The kernel to keep.
#[derive(Clone, Debug)]
pub struct Winner {
    /// Where it came from.
    pub origin: Origin,
    /// Who wrote it; none for kernels that the search was given.
    pub model: Option<String>,
    /// CUDA C++.
    pub source: String,
    /// The PTX for the brief's arch and these values.
    pub ptx: Ptx,
    /// Tunables and launch parameters.
    pub tunables: Tunables,
    /// Its validation.
    pub validation: Validation,
    /// Its times.
    pub timing: Timing,
    /// How many times faster than the baseline in the same run.
    pub speedup: Option<f64>,
    /// Validated and timed afresh at the end. Otherwise the figures are those that made it the best, because the
    /// search was stopped.
    pub confirmed: bool,
}

/// A valid kernel's figures.
#[derive(Clone, Debug)]
pub struct Measurement {
    /// Its validation.
    pub validation: Validation,
    /// Its times.
    pub timing: Timing,
    /// Its tunables and launch parameters.
    pub tunables: Tunables,
}

/// What became of the candidates of all rounds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Prompts answered.
    pub answers: u32,
    /// Answers without a usable source.
    pub rejected: u32,
    /// Sources that did not compile.
    pub not_compiled: u32,
    /// Kernels that could not run properly.
    pub execution_failures: u32,
    /// Kernels that computed something else.
    pub mismatches: u32,
    /// Valid kernels.
    pub valid: u32,
}

/// Why a search ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Stopped {
    /// All rounds done.
    Rounds,
    /// So many rounds in a row brought no new best.
    Plateau {
        /// The patience that ended.
        rounds: u32,
    },
    /// The best kernel is fast enough.
    Target {
        /// The target, as `2x`.
        what: String,
    },
    /// Nothing more may be spent; what was found is kept.
    Budget {
        /// The budget, as `20 requests`.
        what: String,
    },
    /// Answers are awaited; go on by running again with the same journal.
    Awaiting(Vec<Awaited>),
    /// The user stopped it.
    Interrupted,
    /// A model failed; what it had answered before is kept.
    Model {
        /// What it said.
        message: String,
    },
}

/// A prompt that someone has to answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Awaited {
    /// The prompt's file.
    pub prompt: PathBuf,
    /// The file to fill in.
    pub answer: PathBuf,
}

impl Stopped {
    /// As the journal writes it.
    pub fn reason(&self) -> StopReason {
        match self {
            Self::Rounds => StopReason::Rounds,
            Self::Plateau { rounds } => StopReason::Plateau { rounds: *rounds },
            Self::Target { what } => StopReason::Target { what: what.clone() },
            Self::Budget { what } => StopReason::Budget { what: what.clone() },
            Self::Awaiting(_) => StopReason::Awaiting,
            Self::Interrupted => StopReason::Interrupted,
            // People are told where; whoever reads the journal may be elsewhere.
            Self::Model { message } => StopReason::Model { message: paths::cut(message) },
        }
    }

    /// Whether nothing is left to do: the search ran its course.
    pub fn is_finished(&self) -> bool {
        matches!(self, Self::Rounds | Self::Plateau { .. } | Self::Target { .. })
    }
}

/// Why a search could not go on. What it did so far is in the journal.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SearchError {
    /// The baseline does not work: the spec, the host code or the baseline is at fault.
    #[error("the baseline {path} {what}{}", detail(.evidence))]
    Baseline {
        /// Its path in the spec.
        path: String,
        /// `does not compile`, `is not valid: output differs`.
        what: String,
        /// The log or the evidence.
        evidence: String,
        /// It computes something else than the reference.
        differs: bool,
    },
    /// The host launch code declares no case to be timed.
    #[error("the host launch code declares no timed case; time at least one problem size")]
    NoTimedCase,
    /// Settings that cannot be.
    #[error("{0}")]
    Settings(String),
    /// The journal belongs to another run.
    #[error("the journal of run {run} cannot be taken up: {what}; begin a new run without `--resume`")]
    AnotherRun {
        /// The journal's run.
        run: String,
        /// What is not the same.
        what: String,
    },
    /// The device is another than at the beginning.
    #[error("the run began on {then}, and this device is {now}: times cannot be compared; begin a new run")]
    DeviceChanged {
        /// Device of the journal.
        then: String,
        /// The device at hand.
        now: String,
    },
    /// A recorded step was made on something else.
    #[error("the recorded step {step} was made on another source or another prompt than this run has there")]
    Diverged {
        /// The step.
        step: String,
    },
    /// The compiler is at fault.
    #[error(transparent)]
    Compiler(#[from] CompilerError),
    /// The judge is at fault, or the host launch code.
    #[error(transparent)]
    Judge(#[from] JudgeError),
    /// The journal is at fault.
    #[error(transparent)]
    Journal(#[from] JournalError),
    /// A prompt template is at fault.
    #[error(transparent)]
    Template(#[from] TemplateError),
}

fn detail(evidence: &str) -> String {
    if evidence.trim().is_empty() { String::new() } else { format!(":\n{}", evidence.trim_end()) }
}

impl Search<'_> {
    /// Searches until it ends, for good or for now.
    ///
    /// # Errors
    /// When something other than a candidate or a model is at fault. The journal then holds everything up to there.
    pub fn run(self) -> Result<Outcome, SearchError> {
        engine::run(self)
    }
}
