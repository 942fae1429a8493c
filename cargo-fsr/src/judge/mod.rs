//! PTX in, verdict out: drives the two host processes and never takes a verdict from the one that ran a candidate.
//!
//! A candidate that fails is an ordinary result ([`Verdict::Invalid`]); `Err` is kept for faults of the machine, the
//! host launch code or the spec, which end a search.

pub(crate) mod cargo;
mod child;
mod counts;
mod description;
mod device;
mod evidence;
mod findings;
mod host;
mod lint;
mod lock;
mod options;
mod process;
mod ratio;
mod reference;
mod screen;
mod session;
mod statistics;
mod target;
mod timing;
mod validation;

pub use cargo::{BuildOptions, CargoFlags, Forward};
pub use counts::{Counts, KernelCounts, Traffic};
pub use host::{HostJudge, SetSeed};
pub use lock::DeviceLock;
pub use options::{Deadlines, Extent, HostJudgeOptions, Notice, Sampling};
pub use process::{HostProgram, library_path};
#[cfg(test)]
pub(crate) use ratio::fixture as timings;
pub use ratio::{Ratio, Separation};
pub use screen::Screened;
pub use target::{BuiltTarget, HostTarget, TargetKind};

use std::fmt;
use std::path::PathBuf;

use fsr_protocol::{CaseInfo, DeviceFacts, EntryResources, Tolerance, Tunables};
use serde::{Deserialize, Serialize};

/// A compiled candidate with the values it was compiled for.
#[derive(Clone, Debug, PartialEq)]
pub struct Executable {
    /// The PTX text.
    pub ptx: String,
    /// Kernels that the launch code wants.
    pub entries: Vec<String>,
    /// Tunables and launch parameters.
    pub tunables: Tunables,
}

/// The result of a validation.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "verdict", rename_all = "kebab-case")]
pub enum Verdict {
    /// Right on every case.
    Valid(Validation),
    /// Not right, or not able to run.
    Invalid(Failure),
}

/// What a valid candidate showed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Validation {
    /// Every case with its largest errors.
    pub cases: Vec<CaseErrors>,
    /// Registers, spills, shared memory.
    pub resources: Vec<EntryResources>,
    /// What the CPU device counted on the largest case that it executed; empty where it executed none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub counts: Vec<KernelCounts>,
    /// Where the time went, for people.
    pub split: Split,
}

/// Errors of one validated case.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CaseErrors {
    /// The case's name.
    pub case: String,
    /// Largest absolute error.
    pub max_abs: f64,
    /// Largest error relative to the element's scale.
    pub max_rel: f64,
}

/// Milliseconds of the judge's steps.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Split {
    /// Loading PTX, the driver's compilation included.
    pub load: f64,
    /// Validation launches and comparisons.
    pub validate: f64,
    /// Timed launches and their comparisons.
    pub time: f64,
}

/// Why a candidate is not valid.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Failure {
    /// At which step.
    pub kind: FailureKind,
    /// One line: `output differs in 12 of 4096 elements`.
    pub summary: String,
    /// Evidence for the next prompt: case, first mismatches, patterns, the driver's log.
    pub evidence: String,
    /// The case, where there is one.
    pub case: Option<String>,
}

/// Steps at which a candidate can fail, in the order in which they are tried.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum FailureKind {
    /// PTX not accepted, entry missing, writable device globals.
    Load,
    /// The launch was refused.
    Launch,
    /// CUDA error while running.
    Execution,
    /// Killed at the deadline.
    TimedOut,
    /// Wrote outside a buffer.
    OutOfBounds,
    /// Changed an input.
    InputChanged,
    /// Computed something else.
    Mismatch,
}

/// Times of one contender.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Timing {
    /// One for each timed case.
    pub cases: Vec<CaseTiming>,
    /// Modelled by the CPU device, not measured.
    pub modelled: bool,
}

impl Timing {
    /// Geometric mean of the medians, in nanoseconds: what the search minimises.
    pub fn score(&self) -> f64 {
        let sum: f64 = self.cases.iter().map(|case| case.median.ln()).sum();
        (sum / self.cases.len().max(1) as f64).exp()
    }
}

/// Times of one case, in nanoseconds.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CaseTiming {
    /// The case's name.
    pub case: String,
    /// Median.
    pub median: f64,
    /// First quartile.
    pub q1: f64,
    /// Third quartile.
    pub q3: f64,
    /// All samples, in the order in which they were taken.
    pub samples: Vec<f64>,
    /// Physical floor: declared work over measured ceilings, with what the L2 can hold left out; 0 when unknown.
    pub floor: f64,
    /// Declared bytes, for bandwidth.
    pub work_bytes: u64,
}

/// The outcome of timing one candidate next to others.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
// A list needs a name of its own beside the tag.
#[serde(tag = "timed", content = "of", rename_all = "kebab-case")]
pub enum Timed {
    /// Samples of every contender, in the order given.
    Times(Vec<Timing>),
    /// The first contender failed in a timed launch.
    Invalid(Failure),
}

/// What a judge says of its subject before any candidate.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Bench {
    /// The device.
    pub device: DeviceFacts,
    /// The cases of the host launch code.
    pub cases: Vec<CaseInfo>,
}

/// Whatever decides if and how fast a candidate works. One kernel's judge; one job at a time.
pub trait Judge {
    /// Device and cases. Starts what has to be started.
    fn bench(&mut self) -> Result<Bench, JudgeError>;

    /// Validates on every case: load, run, compare.
    fn validate(&mut self, candidate: &Executable) -> Result<Verdict, JudgeError>;

    /// As [`validate`](Judge::validate), for what the project has already: it is judged, and not screened.
    fn validate_own(&mut self, kernel: &Executable) -> Result<Verdict, JudgeError> {
        self.validate(kernel)
    }

    /// Validates on inputs that were made for this call alone: for a new best and for the final check.
    fn validate_fresh(&mut self, candidate: &Executable) -> Result<Verdict, JudgeError> {
        self.validate(candidate)
    }

    /// Forgets the state that launches may have left in the device process: the next job runs in a new one. For the
    /// final timing.
    fn renew(&mut self) {}

    /// Seeds of all sets of inputs so far. They are secret while candidates run, and belong into the journal.
    fn seeds(&self) -> &[SetSeed] {
        &[]
    }

    /// Times contenders in shuffled, interleaved order; the first is the new one, the others are known to be valid
    /// (incumbent, baseline). Every timed launch of the first is compared too.
    fn time(&mut self, contenders: &[&Executable]) -> Result<Timed, JudgeError>;
}

/// Faults that end a search.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum JudgeError {
    /// No GPU or no driver.
    #[error("{0}")]
    NoDevice(String),
    /// The first host file of a spec is no target that can be run.
    #[error("{}", no_target(.package, .file, *.exists, .candidates))]
    NoTarget {
        /// The package that should have it.
        package: String,
        /// The host file, relative to the package.
        file: PathBuf,
        /// Whether there is such a file at all.
        exists: bool,
        /// Sources of the targets that there are.
        candidates: Vec<String>,
    },
    /// cargo could not build the host target.
    #[error("the host target does not build:\n{log}")]
    Build {
        /// The compiler's output.
        log: String,
    },
    /// The host launch code is at fault.
    #[error("fault in the host launch code: {0}")]
    HostCode(String),
    /// A host process ended or did not answer, and not because of a candidate.
    #[error("host process: {0}")]
    Process(String),
    /// The tolerance of the spec cannot be used.
    #[error("{}: {}", tolerance(.0), .1)]
    Tolerance(Tolerance, String),
    /// A time that no correct kernel can have, twice: nothing measured on this case can be trusted.
    #[error(
        "case `{case}`: {} is below the physical floor of {}: the declared work is more than the kernel has to do, or \
         the judge was fooled; nothing of it is kept",
        Nanos(*.median), Nanos(*.floor)
    )]
    BelowFloor {
        /// The case.
        case: String,
        /// The median of the second timing, in nanoseconds.
        median: f64,
        /// The floor, in nanoseconds.
        floor: f64,
    },
    /// The device's clock and the host's do not agree, twice: what ran was not what was timed.
    #[error(
        "case `{case}`: the device says {}, and {} passed meanwhile: work went on outside of what was timed, or the \
         machine is too busy to time anything; nothing of it is kept",
        Nanos(*.events), Nanos(*.wall)
    )]
    Clocks {
        /// The case.
        case: String,
        /// Median between the device's events, in nanoseconds.
        events: f64,
        /// Median of the host's clock, in nanoseconds.
        wall: f64,
    },
    /// A file could not be read or written.
    #[error("{0}")]
    Io(#[from] std::io::Error),
    /// The search was interrupted.
    #[error("interrupted")]
    Interrupted,
}

fn no_target(package: &str, file: &std::path::Path, exists: bool, candidates: &[String]) -> String {
    let file = file.display();
    let mut text = if exists {
        format!("host file `{file}` of package `{package}` is no example, binary or test of its own")
    } else {
        format!("host file `{file}` of package `{package}` does not exist")
    };
    text.push_str("; ");
    match candidates {
        [] => text.push_str("the package has no such target: put the host launch code into `examples/`"),
        candidates => {
            text.push_str("there are: ");
            text.push_str(&candidates.join(", "));
        }
    }
    text
}

fn tolerance(Tolerance { rtol, atol }: &Tolerance) -> String {
    format!("tolerance = {{ rtol = {rtol:e}, atol = {atol:e} }}")
}

/// A time in words, from nanoseconds.
struct Nanos(f64);

impl fmt::Display for Nanos {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            nanos if nanos < 1e3 => write!(f, "{nanos:.0} ns"),
            nanos if nanos < 1e6 => write!(f, "{:.2} µs", nanos / 1e3),
            nanos if nanos < 1e9 => write!(f, "{:.3} ms", nanos / 1e6),
            nanos => write!(f, "{:.3} s", nanos / 1e9),
        }
    }
}
