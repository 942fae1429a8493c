//! Every step of a search, append-only.
//!
//! One JSON line a step, in the file before the next step begins: killing the process loses at most the step in flight.
//! The loop asks the journal before it asks a model, a compiler or a judge, so that resuming and replaying are the
//! same thing as running, with some answers already known. A journal holds no secret: no key, no user or host name.

mod file;
#[cfg(test)]
pub(crate) mod fixture;
mod memory;
mod record;

use std::path::PathBuf;

pub use file::{FileJournal, read};
pub use memory::MemoryJournal;
pub use record::{
    Contender, Entry, FORMAT, Header, Purpose, Record, SourceResult, Step, StopReason, TemplateRecord,
    digest, header,
};

/// Where a search writes its steps, and finds those that were already made.
pub trait Journal: Send {
    /// All records so far, in order; empty or beginning with the header.
    fn entries(&self) -> &[Entry];

    /// Adds a record and returns once it would survive the end of the process.
    fn append(&mut self, record: Record) -> Result<(), JournalError>;
}

/// Why a journal cannot be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum JournalError {
    /// A file could not be read or written.
    #[error("journal {path}: {source}")]
    Io {
        /// The file.
        path: PathBuf,
        /// The cause.
        source: std::io::Error,
    },
    /// There is a journal already where a new one shall begin.
    #[error("journal {path} exists already; go on with it by `--resume`")]
    Exists {
        /// The file.
        path: PathBuf,
    },
    /// Another process writes to it.
    #[error("journal {path} is in use by another run")]
    Locked {
        /// The file.
        path: PathBuf,
    },
    /// A line in the middle cannot be read: the file was damaged or edited.
    #[error("journal {path}, line {line}: {what}")]
    Corrupt {
        /// The file.
        path: PathBuf,
        /// Counted from 1.
        line: usize,
        /// What is wrong with it.
        what: String,
    },
    /// Written by a version with another format.
    #[error("journal {path} has format {found}, and this version of cargo-fsr reads format {known}")]
    Format {
        /// The file.
        path: PathBuf,
        /// The file's.
        found: u64,
        /// [`FORMAT`].
        known: u32,
    },
    /// An earlier write failed, and what the file holds since then is not known.
    #[error("journal {path} could not be written before; nothing more is added to it")]
    Broken {
        /// The file.
        path: PathBuf,
    },
    /// A record that could not be read back, such as a time that is not a number.
    #[error("a record that cannot be written down: {0}")]
    Unwritable(String),
}
