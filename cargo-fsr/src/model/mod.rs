//! Prompt in, answer out: whoever proposes candidates stands behind [`Model`].
//!
//! A model never sees verdicts other than through prompts, and its answer is text: nothing here parses or trusts it.

use std::fmt;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

/// Where in a search a prompt belongs. Unique: a slot is asked once a round.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Position {
    /// The kernel's name.
    pub kernel: String,
    /// Counted from 1.
    pub round: u32,
    /// Counted from 1, up to the number of candidates.
    pub slot: u32,
}

impl fmt::Display for Position {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} r{} c{}", self.kernel, self.round, self.slot)
    }
}

/// Which of the five prompts of the paper (arXiv 2506.09092, section 3) a text was made from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Stage {
    /// First round: the task, the interface, perhaps a baseline.
    Initial,
    /// The candidate did not compile, or the answer held no usable source.
    CompileFailure,
    /// It compiled and could not be loaded or launched, crashed, hung or wrote out of bounds.
    ExecutionFailure,
    /// It ran and computed something else.
    Mismatch,
    /// It is right; now faster.
    Performance,
}

/// One request to a model.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Prompt {
    /// Where it belongs.
    pub position: Position,
    /// What it was made from.
    pub stage: Stage,
    /// The whole text, self-contained.
    pub text: String,
    /// The text with measurements, device facts and mismatch values left out: what a replay compares.
    pub canonical: String,
}

/// What came back.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Answer {
    /// The text as it came.
    pub text: String,
    /// Name of who answered, as the manifest will call it.
    pub model: String,
    /// Tokens, where the model says.
    pub usage: Option<Usage>,
}

/// Tokens of one exchange.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Usage {
    /// In the prompt.
    pub input: u64,
    /// In the answer.
    pub output: u64,
}

/// Whoever proposes candidates.
pub trait Model: Send + Sync {
    /// Name for the journal and the manifest: no host, no key, no path.
    fn name(&self) -> String;

    /// Answers one prompt. Called from several threads at once, one a slot.
    fn answer(&self, prompt: &Prompt) -> Result<Answer, ModelError>;
}

/// Why there is no answer.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ModelError {
    /// Someone will fill in the file; the search stops and can be resumed.
    #[error("awaiting an answer in {answer}")]
    Awaiting {
        /// The prompt that was written.
        prompt: PathBuf,
        /// The file to fill in.
        answer: PathBuf,
    },
    /// The program could not be run, failed, or ran past its deadline.
    #[error("model command `{command}` {what}")]
    Command {
        /// The command line.
        command: String,
        /// `exited with status 1: ...`, `did not answer within 300 s`.
        what: String,
    },
    /// The recording has no answer for this position.
    #[error("the recorded dialogue has no answer for {position}")]
    NotRecorded {
        /// The position asked for.
        position: Position,
    },
    /// A file of the model could not be read or written.
    #[error("{path}: {source}")]
    Io {
        /// The file.
        path: PathBuf,
        /// The cause.
        source: std::io::Error,
    },
    /// The search was interrupted.
    #[error("interrupted")]
    Interrupted,
}
