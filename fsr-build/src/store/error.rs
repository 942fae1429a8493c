//! Why an entry cannot be read or written.

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

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

impl ReadError {
    /// The file that is at fault.
    pub fn file(&self) -> &Path {
        match self {
            ReadError::Missing { manifest: file }
            | ReadError::Tampered { file }
            | ReadError::Lost { file }
            | ReadError::Manifest { file, .. }
            | ReadError::Io { file, .. } => file,
        }
    }

    /// The error in words, with paths below `root` shown relative to it.
    pub fn under<'e>(&'e self, root: &'e Path) -> impl fmt::Display + 'e {
        Under { error: self, root }
    }
}

struct Under<'e> {
    error: &'e ReadError,
    root: &'e Path,
}

impl fmt::Display for Under<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let shown = |path: &'_ PathBuf| path.strip_prefix(self.root).unwrap_or(path).display().to_string();
        match self.error {
            ReadError::Missing { manifest } => write!(f, "{} is missing", shown(manifest)),
            ReadError::Tampered { file } => {
                write!(f, "{} is not the file that its manifest records", shown(file))
            }
            ReadError::Lost { file } => write!(f, "{} is gone, but its manifest is there", shown(file)),
            ReadError::Manifest { file, error } => write!(f, "{} cannot be used: {error}", shown(file)),
            ReadError::Io { file, error } => write!(f, "{} cannot be read: {error}", shown(file)),
        }
    }
}

impl fmt::Display for ReadError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // No path lies below it, so all are shown in full.
        self.under(Path::new("\0")).fmt(f)
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
