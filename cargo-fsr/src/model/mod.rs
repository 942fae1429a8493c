//! Prompt in, answer out: whoever proposes candidates stands behind [`Model`].
//!
//! A model never sees verdicts other than through prompts, and its answer is text: nothing here parses or trusts it.

mod command;
mod files;
pub mod http;
mod replay;
mod witness;

use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::journal::JournalError;

pub use command::{CommandLimits, CommandModel};
pub use files::FilesModel;
pub use http::{HttpFault, HttpModel};
pub use replay::ReplayModel;
pub use witness::{Nobody, Request, Spent, Witness, tokens};

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

impl fmt::Display for Stage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Initial => "initial",
            Self::CompileFailure => "compile failure",
            Self::ExecutionFailure => "execution failure",
            Self::Mismatch => "mismatch",
            Self::Performance => "performance",
        })
    }
}

impl fmt::Display for Position {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} r{} c{}", self.kernel, self.round, self.slot)
    }
}

impl Position {
    /// The candidate that its answer becomes.
    pub fn origin(&self) -> Origin {
        Origin::Candidate { round: self.round, slot: self.slot }
    }
}

/// Where a kernel source came from. Written `baseline`, `previous-1`, `r2-c3`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub enum Origin {
    /// The hand-written kernel of the spec.
    Baseline,
    /// A source handed to the search, such as an earlier winner; counted from 1.
    Previous(u32),
    /// An answer of a model.
    Candidate {
        /// Counted from 1.
        round: u32,
        /// Counted from 1.
        slot: u32,
    },
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Baseline => f.write_str("baseline"),
            Self::Previous(number) => write!(f, "previous-{number}"),
            Self::Candidate { round, slot } => write!(f, "r{round}-c{slot}"),
        }
    }
}

/// Text that names no [`Origin`].
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` names no candidate: expected `baseline`, `previous-1` or `r1-c2`")]
pub struct UnknownOrigin(String);

impl FromStr for Origin {
    type Err = UnknownOrigin;

    fn from_str(text: &str) -> Result<Self, UnknownOrigin> {
        let unknown = || UnknownOrigin(text.to_owned());
        let origin = if text == "baseline" {
            Self::Baseline
        } else if let Some(number) = text.strip_prefix("previous-") {
            Self::Previous(number.parse().map_err(|_| unknown())?)
        } else {
            let (round, slot) =
                text.strip_prefix('r').and_then(|rest| rest.split_once("-c")).ok_or_else(unknown)?;
            Self::Candidate {
                round: round.parse().map_err(|_| unknown())?,
                slot: slot.parse().map_err(|_| unknown())?,
            }
        };
        // `r+1-c02` parses as numbers and is not how an origin is written.
        if origin.to_string() == text { Ok(origin) } else { Err(unknown()) }
    }
}

impl From<Origin> for String {
    fn from(origin: Origin) -> Self {
        origin.to_string()
    }
}

impl TryFrom<String> for Origin {
    type Error = UnknownOrigin;

    fn try_from(text: String) -> Result<Self, UnknownOrigin> {
        text.parse()
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
    /// The kernel whose code it shows and asks to change; none where there is no code yet.
    pub parent: Option<Origin>,
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
    /// What whoever answered has to say about it, for the journal and the user: a replay says where the prompt
    /// differs from the recorded one.
    #[serde(default)]
    pub notes: Vec<String>,
}

/// Tokens of one exchange.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Usage {
    /// In the prompt.
    pub input: u64,
    /// In the answer.
    pub output: u64,
    /// Those of the prompt that the endpoint had kept from an earlier one; usually cheaper.
    #[serde(default)]
    pub cached: u64,
}

/// Whoever proposes candidates.
pub trait Model: Send + Sync {
    /// Name for the journal and the manifest: no host, no key, no path.
    fn name(&self) -> String;

    /// Largest answer in tokens; none where nobody sets a limit.
    fn max_output(&self) -> Option<u64> {
        None
    }

    /// Answers one prompt. Called from several threads at once, one a slot.
    fn answer(&self, prompt: &Prompt, witness: &dyn Witness) -> Result<Answer, ModelError>;
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
    /// The file beside the prompt answers another prompt than this one.
    #[error(
        "{answer} answers an earlier prompt, not the one that is asked now; move it away, or choose another folder"
    )]
    StaleAnswer {
        /// The file.
        answer: PathBuf,
    },
    /// The command line of a model command cannot be used.
    #[error("model command line `{line}`: {what}")]
    CommandLine {
        /// As it was given.
        line: String,
        /// What is wrong with it.
        what: String,
    },
    /// The program could not be run, failed, or ran past its deadline.
    #[error("model command `{command}` {what}")]
    Command {
        /// The program, without its arguments.
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
    /// An endpoint gave no answer, or cannot be asked.
    #[error("model `{model}`: {fault}")]
    Http {
        /// The model.
        model: String,
        /// What happened.
        fault: HttpFault,
    },
    /// A file of the model could not be read or written.
    #[error("{path}: {source}")]
    Io {
        /// The file.
        path: PathBuf,
        /// The cause.
        source: std::io::Error,
    },
    /// Nothing more may be spent.
    #[error("the budget of {what} is spent")]
    Budget {
        /// `20 requests`.
        what: String,
    },
    /// A request that cannot be written down is not made.
    #[error(transparent)]
    Journal(#[from] JournalError),
    /// The search was interrupted.
    #[error("interrupted")]
    Interrupted,
}
