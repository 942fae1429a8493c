//! What is wrong with a spec, with file, line and column.

use std::fmt;
use std::io;
use std::ops::Range;
use std::path::{Path, PathBuf};

use crate::document::{self, Fault, FaultKind};

/// Why a spec cannot be used. Shown as `Cargo.toml:14:1: cause`.
#[derive(Debug)]
pub struct SpecError(Box<Details>);

#[derive(Debug)]
struct Details {
    file: PathBuf,
    place: Option<Place>,
    kind: SpecErrorKind,
}

/// Where in a file a fault is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Place {
    /// The line, from 1.
    pub line: usize,
    /// The column in characters, from 1.
    pub column: usize,
    /// The bytes that it covers.
    pub span: Range<usize>,
}

/// The kinds of [`SpecError`].
#[derive(Debug)]
#[non_exhaustive]
pub enum SpecErrorKind {
    /// The file itself cannot be read.
    Read(io::Error),
    /// A `task-file` cannot be read, or is empty.
    TaskFile {
        /// The task file.
        path: PathBuf,
        /// Why.
        error: io::Error,
    },
    /// The document has a fault.
    Fault(FaultKind),
}

impl SpecError {
    /// The file with the fault.
    pub fn file(&self) -> &Path {
        &self.0.file
    }

    /// Where in the file it is, if it has a place.
    pub fn place(&self) -> Option<&Place> {
        self.0.place.as_ref()
    }

    /// What is wrong.
    pub fn kind(&self) -> &SpecErrorKind {
        &self.0.kind
    }

    pub(super) fn new(file: &Path, text: &str, span: Option<Range<usize>>, kind: SpecErrorKind) -> Self {
        let place = span.map(|span| {
            let (line, column) = document::line_and_column(text, span.start);
            Place { line, column, span }
        });
        SpecError(Box::new(Details { file: file.to_owned(), place, kind }))
    }

    pub(super) fn fault(file: &Path, text: &str, fault: Fault) -> Self {
        SpecError::new(file, text, fault.span, SpecErrorKind::Fault(*fault.kind))
    }
}

pub(super) fn read_text(file: &Path) -> Result<String, SpecError> {
    std::fs::read_to_string(file).map_err(|error| SpecError::new(file, "", None, SpecErrorKind::Read(error)))
}

impl fmt::Display for SpecErrorKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            SpecErrorKind::Read(error) => write!(f, "cannot be read: {error}"),
            SpecErrorKind::TaskFile { path, error } => {
                write!(f, "the task file {} cannot be used: {error}", path.display())
            }
            SpecErrorKind::Fault(kind) => kind.fmt(f),
        }
    }
}

impl fmt::Display for SpecError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0.file.display())?;
        if let Some(place) = &self.0.place {
            write!(f, ":{}:{}", place.line, place.column)?;
        }
        write!(f, ": {}", self.0.kind)
    }
}

// The cause is part of the message: naming it again as a source would print it twice.
impl std::error::Error for SpecError {}
