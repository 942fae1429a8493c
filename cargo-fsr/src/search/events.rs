//! What a search tells whoever watches. Nothing here changes its course.

use fsr_protocol::Tunables;

use super::Winner;
use super::answer::Rejection;
use crate::compile::CompileFailure;
use crate::journal::Purpose;
use crate::judge::{Bench, Failure, Timing};
use crate::model::{Origin, Stage};

/// Whoever watches. Called from several threads.
pub trait Events: Sync {
    /// Something happened. Must not block for long.
    fn event(&self, event: Event<'_>);
}

/// Watches and says nothing.
#[derive(Clone, Copy, Debug, Default)]
pub struct Silent;

impl Events for Silent {
    fn event(&self, _: Event<'_>) {}
}

/// Something that happened. `known` tells steps that the journal had already from those just made.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub enum Event<'a> {
    /// The judge is ready.
    Bench {
        /// Device and cases.
        bench: &'a Bench,
    },
    /// A round begins.
    Round {
        /// Counted from 1.
        round: u32,
        /// How many at most.
        of: u32,
        /// Candidates in it.
        candidates: u32,
    },
    /// A model is asked.
    Asking {
        /// The candidate-to-be.
        origin: Origin,
        /// The prompt.
        stage: Stage,
        /// Who is asked.
        model: &'a str,
        /// In the journal already.
        known: bool,
    },
    /// An answer is coming in.
    Receiving {
        /// The candidate-to-be.
        origin: Origin,
        /// Bytes so far.
        bytes: usize,
    },
    /// A good part of a budget is spent.
    Budget {
        /// Which, and how much of it.
        warning: &'a str,
    },
    /// A model waits before it asks again.
    Waiting {
        /// The candidate-to-be.
        origin: Origin,
        /// How long.
        time: std::time::Duration,
        /// Why.
        why: &'a str,
    },
    /// A model answered.
    Answered {
        /// The candidate-to-be.
        origin: Origin,
        /// Bytes of the answer.
        bytes: usize,
        /// In the journal already.
        known: bool,
    },
    /// An answer held no usable source: an ordinary thing.
    Rejected {
        /// The candidate.
        origin: Origin,
        /// Why.
        rejection: &'a Rejection,
    },
    /// A source was compiled.
    Compiled {
        /// The candidate.
        origin: Origin,
        /// For these values.
        defines: &'a Tunables,
        /// Why there is no PTX: an ordinary thing.
        failure: Option<&'a CompileFailure>,
        /// In the journal already.
        known: bool,
    },
    /// A kernel was validated.
    Validated {
        /// The candidate.
        origin: Origin,
        /// Compiled for these values.
        defines: &'a Tunables,
        /// Why it is not valid: an ordinary thing.
        failure: Option<&'a Failure>,
        /// In the journal already.
        known: bool,
    },
    /// A kernel's time was taken.
    Timed {
        /// The candidate.
        origin: Origin,
        /// Compiled for these values.
        defines: &'a Tunables,
        /// Its times.
        timing: &'a Timing,
        /// The baseline's times from the same run.
        baseline: Option<&'a Timing>,
        /// What for.
        purpose: Purpose,
        /// In the journal already.
        known: bool,
    },
    /// A new best.
    Best {
        /// The kernel.
        origin: Origin,
        /// Compiled for these values.
        defines: &'a Tunables,
        /// Its times.
        timing: &'a Timing,
        /// How many times faster than the baseline.
        speedup: Option<f64>,
    },
    /// A round ended.
    RoundDone {
        /// Counted from 1.
        round: u32,
        /// Candidates that are valid.
        valid: u32,
        /// The best so far.
        best: Option<Origin>,
    },
    /// Something to know.
    Note {
        /// What it is about.
        about: Option<Origin>,
        /// The text.
        text: &'a str,
    },
    /// The figures that are kept.
    Final {
        /// The winner.
        winner: &'a Winner,
    },
}
