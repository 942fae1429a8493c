//! What a line of a journal says, and the step that it answers for.

use std::collections::BTreeMap;

use fsr_build::spec::Arch;
use fsr_protocol::Tunables;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use crate::brief::{Brief, as_text};
use crate::compile::Compiled;
use crate::judge::{Bench, Executable, SetSeed, Timed, Verdict};
use crate::model::{Answer, Origin, Position, Prompt, Request, Spent};
use crate::search::answer::{Rejection, Source};
use crate::settings::Settings;

/// Counted up when a record changes meaning.
pub const FORMAT: u32 = 1;

/// One line.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Entry {
    /// Milliseconds since the Unix epoch, when the step had been made.
    pub at: u64,
    /// What happened.
    pub record: Record,
}

/// What happened.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "is", rename_all = "kebab-case")]
pub enum Record {
    /// The first record.
    Header(Box<Header>),
    /// The run was taken up again.
    Resumed {
        /// Version of cargo-fsr that went on.
        tool: String,
        /// Settings from here on: more rounds, perhaps.
        settings: Settings,
    },
    /// Device and cases.
    Bench {
        /// What the judge said.
        bench: Bench,
    },
    /// A prompt, before it was asked.
    Prompt {
        /// With full text.
        prompt: Prompt,
    },
    /// A request for an answer is about to be made: whatever comes of it, it may have to be paid.
    Request {
        /// The candidate-to-be.
        origin: Origin,
        /// Who is asked.
        model: String,
        /// What it may cost at most.
        request: Request,
    },
    /// The last request for an answer is over.
    Spent {
        /// The candidate-to-be.
        origin: Origin,
        /// What it cost.
        spent: Spent,
    },
    /// What a model said.
    Answer {
        /// Which prompt it answers.
        position: Position,
        /// As it came.
        answer: Answer,
    },
    /// What was taken from an answer.
    Source {
        /// The candidate.
        origin: Origin,
        /// The source, or why there is none.
        result: SourceResult,
    },
    /// A compilation.
    Compiled {
        /// Whose source.
        origin: Origin,
        /// Values handed over.
        defines: Tunables,
        /// [`digest`] of source and all that shapes the PTX.
        input: String,
        /// PTX or log.
        compiled: Compiled,
    },
    /// A validation.
    Verdict {
        /// Whose kernel.
        origin: Origin,
        /// What for.
        purpose: Purpose,
        /// Values that it was compiled for.
        defines: Tunables,
        /// [`digest`] of the PTX.
        input: String,
        /// The judge's word.
        verdict: Verdict,
    },
    /// A run of the clock.
    Timed {
        /// Whose kernel.
        origin: Origin,
        /// What for.
        purpose: Purpose,
        /// Values that it was compiled for.
        defines: Tunables,
        /// [`digest`] of the contenders' PTX.
        input: String,
        /// All contenders, in the order of the times.
        contenders: Vec<Contender>,
        /// The judge's word.
        timed: Timed,
    },
    /// The winner has become an entry: what was found is in the store.
    Stored {
        /// Of this arch.
        #[serde(with = "as_text")]
        arch: Arch,
    },
    /// A new best.
    Best {
        /// Whose kernel.
        origin: Origin,
        /// Values that it was compiled for.
        defines: Tunables,
        /// Geometric mean of its medians, in nanoseconds.
        score: f64,
    },
    /// Something to know.
    Note {
        /// What it is about.
        about: Option<Origin>,
        /// One or more lines.
        text: String,
    },
    /// Seeds of the judge's inputs: secret while it judged, noted afterwards so that a verdict can be explained.
    Seeds {
        /// In the order in which the sets were made.
        seeds: Vec<SetSeed>,
    },
    /// The search ended here, for now or for good.
    Stopped {
        /// Why.
        reason: StopReason,
    },
}

/// What identifies a run and what it depended on.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Header {
    /// [`FORMAT`].
    pub format: u32,
    /// Unique name of the run.
    pub run: String,
    /// Version of cargo-fsr.
    pub tool: String,
    /// Key of the spec for this arch, as the manifest holds it.
    pub key: String,
    /// Digest of each input of the key.
    pub inputs: BTreeMap<String, String>,
    /// The kernel, with the text of its files.
    pub brief: Brief,
    /// Settings at the beginning.
    pub settings: Settings,
    /// Sources that were to be tried before the first round.
    pub previous: Vec<String>,
    /// Names of the models.
    pub models: Vec<String>,
    /// The prompt templates.
    pub templates: Vec<TemplateRecord>,
}

/// One template of a run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TemplateRecord {
    /// File name.
    pub name: String,
    /// As its first line says; 0 when it does not.
    pub version: u32,
    /// SHA-256 of the text.
    pub sha256: String,
    /// The text, where the user's own took the place of the built-in one.
    pub replaced_by: Option<String>,
}

/// What was taken from an answer.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "found", rename_all = "kebab-case")]
pub enum SourceResult {
    /// A source.
    Source(Source),
    /// None that can be used.
    Rejected(Rejection),
}

/// What a validation or a run of the clock is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Purpose {
    /// To see whether and how fast a candidate works.
    Trial,
    /// To see whether the fastest of a round is a new best.
    Duel,
    /// The figures that are kept.
    Final,
}

/// Someone whose time was taken.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Contender {
    /// Whose kernel.
    pub origin: Origin,
    /// Values that it was compiled for.
    pub defines: Tunables,
}

/// Why a search ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "stop", rename_all = "kebab-case")]
pub enum StopReason {
    /// All rounds done.
    Rounds,
    /// So many rounds in a row without a new best.
    Plateau {
        /// The patience that ended.
        rounds: u32,
    },
    /// The best kernel is fast enough.
    Target {
        /// The target, as `2x`.
        what: String,
    },
    /// Nothing more may be spent.
    Budget {
        /// The budget, as `20 requests`.
        what: String,
    },
    /// Prompts were written, and the answers are not there yet.
    Awaiting,
    /// The user stopped it.
    Interrupted,
    /// A model failed.
    Model {
        /// What it said.
        message: String,
    },
}

/// A step that is made once in a search: the loop looks here before it acts.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[allow(missing_docs)]
pub enum Step {
    Header,
    Bench,
    Prompt(Origin),
    Answer(Origin),
    Source(Origin),
    Compile(Origin, Tunables),
    Validate(Purpose, Origin, Tunables),
    Time(Purpose, Origin, Tunables),
    Best(Origin),
    Note(Option<Origin>, String),
}

impl Record {
    /// The step that this record is the result of; none for records that may be repeated.
    pub fn step(&self) -> Option<Step> {
        Some(match self {
            Self::Header(_) => Step::Header,
            Self::Resumed { .. }
            | Self::Request { .. }
            | Self::Spent { .. }
            | Self::Seeds { .. }
            | Self::Stopped { .. }
            | Self::Stored { .. } => return None,
            Self::Bench { .. } => Step::Bench,
            Self::Prompt { prompt } => Step::Prompt(prompt.position.origin()),
            Self::Answer { position, .. } => Step::Answer(position.origin()),
            Self::Source { origin, .. } => Step::Source(*origin),
            Self::Compiled { origin, defines, .. } => Step::Compile(*origin, defines.clone()),
            Self::Verdict { origin, purpose, defines, .. } => {
                Step::Validate(*purpose, *origin, defines.clone())
            }
            Self::Timed { origin, purpose, defines, .. } => Step::Time(*purpose, *origin, defines.clone()),
            Self::Best { origin, .. } => Step::Best(*origin),
            Self::Note { about, text } => Step::Note(*about, text.clone()),
        })
    }
}

/// The header of a journal's records; none in an empty journal.
pub fn header(entries: &[Entry]) -> Option<&Header> {
    match &entries.first()?.record {
        Record::Header(header) => Some(header),
        _ => None,
    }
}

/// SHA-256, in hexadecimal, over parts that cannot run into each other.
pub fn digest<'a>(parts: impl IntoIterator<Item = &'a str>) -> String {
    let mut hash = Sha256::new();
    for part in parts {
        hash.update((part.len() as u64).to_le_bytes());
        hash.update(part.as_bytes());
    }
    hash.finalize().iter().map(|byte| format!("{byte:02x}")).collect()
}

impl Executable {
    /// [`digest`] of all that decides what runs.
    pub fn digest(&self) -> String {
        let values: Vec<String> =
            self.tunables.iter().map(|(name, value)| format!("{name}={value}")).collect();
        digest(
            [self.ptx.as_str()]
                .into_iter()
                .chain(self.entries.iter().map(String::as_str))
                .chain(values.iter().map(String::as_str)),
        )
    }
}
