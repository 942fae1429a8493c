//! Why an entry cannot be read or written.

use std::fmt;
use std::io;
use std::path::PathBuf;

use super::manifest::ManifestError;

/// Why an entry cannot be read.
#[derive(Debug)]
#[non_exhaustive]
pub enum ReadError {
    /// There is no manifest.
    Missing {
        /// Where it would be.
        manifest: PathBuf,
    },
    /// A file is not the one that the manifest records.
    Tampered {
        /// The file.
        file: PathBuf,
    },
    /// A file that the manifest records is not there.
    Lost {
        /// The file.
        file: PathBuf,
    },
    /// The manifest cannot be used.
    Manifest {
        /// The manifest.
        file: PathBuf,
        /// Why.
        error: Box<ManifestError>,
    },
    /// A file cannot be read.
    Io {
        /// The file.
        file: PathBuf,
        /// Why.
        error: io::Error,
    },
}

impl fmt::Display for ReadError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ReadError::Missing { manifest } => write!(f, "{} is missing", manifest.display()),
            ReadError::Tampered { file } => {
                write!(f, "{} is not the file that its manifest records", file.display())
            }
            ReadError::Lost { file } => write!(f, "{} is gone, but its manifest is there", file.display()),
            ReadError::Manifest { file, error } => write!(f, "{} cannot be used: {error}", file.display()),
            ReadError::Io { file, error } => write!(f, "{} cannot be read: {error}", file.display()),
        }
    }
}

// Causes are part of the message: naming them again as a source would print them twice.
impl std::error::Error for ReadError {}

/// Why an entry cannot be written.
#[derive(Debug)]
#[non_exhaustive]
pub enum WriteError {
    /// The file system refused.
    Io {
        /// What was being done: `write`, `rename`, ...
        action: &'static str,
        /// The file or folder.
        path: PathBuf,
        /// Why.
        error: io::Error,
    },
    /// The entry would break a promise of the store.
    Unfit {
        /// Which.
        reason: String,
    },
    /// What was staged does not read back as what was to be written.
    ReadBack {
        /// The staged file.
        path: PathBuf,
    },
}

impl fmt::Display for WriteError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            WriteError::Io { action, path, error } => {
                write!(f, "cannot {action} {}: {error}", path.display())
            }
            WriteError::Unfit { reason } => write!(f, "the entry cannot be stored: {reason}"),
            WriteError::ReadBack { path } => {
                write!(f, "{} does not read back as it was written; nothing was replaced", path.display())
            }
        }
    }
}

impl std::error::Error for WriteError {}
