//! Everything that was ever tried, with what became of it: the memory that prompts are made from.

use std::collections::BTreeMap;

use crate::compile::{CompileFailure, Ptx};
use crate::judge::{Executable, Failure, FailureKind, Timing, Validation};
use crate::model::{Origin, Stage};

use super::answer::{Rejection, Source};
use super::cuda_text;

/// One kernel, or one answer that should have been one.
#[derive(Clone, Debug)]
pub struct Attempt {
    /// Where it came from.
    pub origin: Origin,
    /// The prompt that asked for it; none for kernels that the search was given.
    pub stage: Option<Stage>,
    /// The kernel that the prompt showed.
    pub parent: Option<Origin>,
    /// Who answered.
    pub model: Option<String>,
    /// The answer, where no source could be taken from it.
    pub answer: Option<String>,
    /// The source.
    pub source: Option<Source>,
    /// What became of it.
    pub fate: Fate,
}

/// What became of an attempt.
#[derive(Clone, Debug)]
pub enum Fate {
    /// The answer broke its contract.
    Rejected(Rejection),
    /// No PTX.
    NotCompiled(CompileFailure),
    /// The judge found it wrong.
    Failed(Failure),
    /// Right, and its time was taken.
    Valid(Box<Measured>),
}

/// A valid kernel with its best combination of tunables.
#[derive(Clone, Debug)]
pub struct Measured {
    /// The PTX of that combination.
    pub ptx: Ptx,
    /// What the judge runs.
    pub executable: Executable,
    /// Its last validation.
    pub validation: Validation,
    /// Its last times.
    pub timing: Timing,
    /// The baseline's times from the same run; none for the baseline itself.
    pub baseline: Option<Timing>,
    /// Nanoseconds to rank by: the geometric mean of its medians, rid of what also slowed the baseline.
    pub score: f64,
    /// The other combinations, in the order of trial.
    pub swept: Vec<Swept>,
    /// How many combinations were left out.
    pub left_out: u64,
}

/// What another combination of tunables gave.
#[derive(Clone, Debug, PartialEq)]
pub struct Swept {
    /// The combination in words, `TILE=16`.
    pub values: String,
    /// Its score; none where it did not compile or is not valid.
    pub score: Option<f64>,
}

impl Attempt {
    /// Times and PTX of a valid one.
    pub fn measured(&self) -> Option<&Measured> {
        match &self.fate {
            Fate::Valid(measured) => Some(measured),
            _ => None,
        }
    }

    /// The code to show: the source, or what the answer had in its place.
    pub fn code(&self) -> Option<&str> {
        match (&self.source, &self.fate) {
            (Some(source), _) => Some(&source.text),
            (None, Fate::Rejected(rejection)) => rejection.code.as_deref(),
            _ => None,
        }
    }

    /// What its author says of it in one line: the comment `// idea: ...`.
    pub fn idea(&self) -> Option<String> {
        let code = self.code()?;
        let scan = cuda_text::scan(code);
        let idea = scan.comments.iter().find_map(|comment| comment.trim().strip_prefix("idea:"))?.trim();
        (!idea.is_empty()).then(|| idea.chars().take(120).collect())
    }

    /// The prompt that its failure asks for.
    pub fn next_stage(&self) -> Stage {
        match &self.fate {
            Fate::Rejected(_) | Fate::NotCompiled(_) => Stage::CompileFailure,
            Fate::Failed(failure) if failure.kind == FailureKind::Mismatch => Stage::Mismatch,
            Fate::Failed(_) => Stage::ExecutionFailure,
            Fate::Valid(_) => Stage::Performance,
        }
    }
}

/// All attempts, in the order in which they came: given kernels, then by round and slot.
#[derive(Clone, Debug, Default)]
pub struct Attempts(BTreeMap<Origin, Attempt>);

impl Attempts {
    /// Adds one.
    pub fn add(&mut self, attempt: Attempt) {
        self.0.insert(attempt.origin, attempt);
    }

    /// All, oldest first.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = &Attempt> {
        self.0.values()
    }

    /// The one from there.
    pub fn get(&self, origin: Origin) -> Option<&Attempt> {
        self.0.get(&origin)
    }

    /// Times and PTX of the one from there, if it is valid.
    pub fn measured(&self, origin: Origin) -> Option<&Measured> {
        self.get(origin)?.measured()
    }

    /// Gives an attempt another fate: a kernel may turn out to be wrong, or get newer times.
    pub fn set_fate(&mut self, origin: Origin, fate: Fate) {
        if let Some(attempt) = self.0.get_mut(&origin) {
            attempt.fate = fate;
        }
    }
}
