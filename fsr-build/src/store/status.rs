//! Whether an entry still answers its spec.

use std::fmt;
use std::path::{Path, PathBuf};

use super::error::ReadError;
use super::manifest::{Manifest, ManifestError};
use super::{Entry, EntryPaths, read_entry};
use crate::key::{Change, Observed, Part};
use crate::spec::{Arch, KernelSpec};

/// What an entry is worth.
#[derive(Debug)]
#[non_exhaustive]
pub enum Status {
    /// Made from exactly these inputs.
    Fresh,
    /// The contract is the same; some evidence is not.
    Unverified {
        /// What is different.
        changes: Vec<Change>,
    },
    /// The contract is another.
    Stale {
        /// What is different, evidence too.
        changes: Vec<Change>,
    },
    /// There is none.
    Missing {
        /// Where its manifest would be.
        manifest: PathBuf,
    },
    /// A file is gone, or is not the one that the manifest records.
    Tampered {
        /// Which, and what is wrong with it.
        error: ReadError,
    },
    /// The manifest or another file cannot be read or used.
    Unreadable {
        /// Which, and why.
        error: ReadError,
    },
}

impl Status {
    /// One word: `fresh`, `unverified`, `stale`, `missing`, `tampered` or `unreadable`.
    pub fn word(&self) -> &'static str {
        match self {
            Status::Fresh => "fresh",
            Status::Unverified { .. } => "unverified",
            Status::Stale { .. } => "stale",
            Status::Missing { .. } => "missing",
            Status::Tampered { .. } => "tampered",
            Status::Unreadable { .. } => "unreadable",
        }
    }

    /// The inputs that are different, where the entry could be compared.
    pub fn changes(&self) -> &[Change] {
        match self {
            Status::Unverified { changes } | Status::Stale { changes } => changes,
            _ => &[],
        }
    }
}

impl fmt::Display for Status {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.word())?;
        match self {
            Status::Fresh => Ok(()),
            Status::Unverified { changes } | Status::Stale { changes } => {
                let changes: Vec<String> = changes.iter().map(Change::to_string).collect();
                write!(f, ": {}", changes.join(", "))
            }
            Status::Missing { manifest } => write!(f, ": no {}", manifest.display()),
            Status::Tampered { error } | Status::Unreadable { error } => write!(f, ": {error}"),
        }
    }
}

/// An entry's status, and the entry itself where it could be read.
#[derive(Debug)]
pub struct Examined {
    /// What it is worth.
    pub status: Status,
    /// The entry, if fresh, unverified or stale.
    pub entry: Option<Entry>,
}

/// Compares the entry of a kernel and architecture, in the package at `root`, with the inputs of now.
///
/// A build passes what it can see ([`Observed::of`]). A check insists on every input: it passes
/// [`Inputs::of`](crate::key::Inputs::of), which fails where a file is absent.
pub fn examine(root: &Path, kernel: &KernelSpec, arch: Arch, now: &Observed) -> Examined {
    let paths = EntryPaths::in_package(root, &kernel.name, arch);
    let entry = match read_entry(&paths) {
        Ok(entry) => entry,
        Err(error) => return Examined { status: unreadable(error), entry: None },
    };
    let changes = entry.manifest.inputs.changes(now);
    let status = if changes.iter().any(|change| change.part == Part::Contract) {
        Status::Stale { changes }
    } else if let Some(reason) = contradiction(kernel, arch, &entry.manifest) {
        let error = ManifestError::Contradiction { reason }.into();
        let error = ReadError::Manifest { file: paths.manifest, error };
        return Examined { status: Status::Unreadable { error }, entry: None };
    } else if changes.is_empty() {
        Status::Fresh
    } else {
        Status::Unverified { changes }
    };
    Examined { status, entry: Some(entry) }
}

fn unreadable(error: ReadError) -> Status {
    match error {
        ReadError::Missing { manifest } => Status::Missing { manifest },
        ReadError::Tampered { .. } | ReadError::Lost { .. } => Status::Tampered { error },
        ReadError::Manifest { error: ref why, .. }
            if matches!(**why, ManifestError::WrongChecksum | ManifestError::WrongKey) =>
        {
            Status::Tampered { error }
        }
        ReadError::Manifest { .. } | ReadError::Io { .. } => Status::Unreadable { error },
    }
}

/// What a manifest for this very contract must not say.
fn contradiction(kernel: &KernelSpec, arch: Arch, manifest: &Manifest) -> Option<String> {
    if manifest.kernel != kernel.name {
        return Some(format!("it belongs to the kernel `{}`", manifest.kernel));
    }
    if manifest.arch != arch {
        return Some(format!("it belongs to {}", manifest.arch));
    }
    if manifest.entries != kernel.entries {
        return Some(format!("it has the entries {:?}", manifest.entries));
    }
    kernel.parameters().find_map(|name| match manifest.parameter(name) {
        None => Some(format!("it has no value for `{name}`")),
        Some(value) if !kernel.allows(name, value) => Some(format!("`{name} = {value}` is not in the spec")),
        Some(_) => None,
    })
}
