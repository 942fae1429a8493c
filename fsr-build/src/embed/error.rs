//! What a build script says when kernels cannot be embedded, or only with a word of warning.

use std::fmt;
use std::io;
use std::path::PathBuf;

use crate::key::InputError;
use crate::spec::{Arch, PackageSpec, SpecError};
use crate::store::{ManifestError, ReadError, Status};

/// Why a package's kernels cannot be embedded.
#[derive(Debug)]
#[non_exhaustive]
pub enum EmbedError {
    /// This is no build script: a variable that cargo sets for one is not there.
    NoBuildScript {
        /// The variable.
        variable: &'static str,
    },
    /// The package's `Cargo.toml` has no `[package.metadata.fsr]`.
    NoSpec {
        /// The `Cargo.toml`.
        manifest: PathBuf,
    },
    /// The spec is at fault.
    Spec(SpecError),
    /// A file that the spec names is there and cannot be read.
    Input(InputError),
    /// Entries are missing, stale or damaged.
    NotReady {
        /// Which, and how.
        problems: Vec<Problem>,
        /// What to tell the user: at least one message for each kernel.
        messages: Vec<String>,
    },
    /// The generated module cannot be written.
    Write {
        /// The module.
        path: PathBuf,
        /// Why.
        error: io::Error,
    },
    /// The generated module's path is no UTF-8, so that `env!` cannot name it.
    NotUnicode {
        /// The module.
        path: PathBuf,
    },
}

/// One kernel and architecture whose entry is not as it should be.
#[derive(Debug)]
pub struct Problem {
    /// The kernel.
    pub kernel: String,
    /// The architecture.
    pub arch: Arch,
    /// What is the matter.
    pub status: Status,
}

impl EmbedError {
    /// What to tell the user, each message a line.
    pub fn messages(&self) -> Vec<String> {
        match self {
            EmbedError::NotReady { messages, .. } => messages.clone(),
            _ => vec![self.to_string()],
        }
    }
}

impl fmt::Display for EmbedError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            EmbedError::NoBuildScript { variable } => {
                write!(f, "{variable} is not set: fsr_build::embed() works in a build script, run by cargo")
            }
            EmbedError::NoSpec { manifest } => write!(
                f,
                "{} has no [package.metadata.fsr], so there are no kernels to embed; declare one, or drop \
                 fsr_build::embed() from build.rs",
                manifest.display()
            ),
            EmbedError::Spec(error) => error.fmt(f),
            EmbedError::Input(error) => error.fmt(f),
            EmbedError::NotReady { messages, .. } => f.write_str(&messages.join("\n")),
            EmbedError::Write { path, error } => write!(f, "cannot write {}: {error}", path.display()),
            EmbedError::NotUnicode { path } => write!(
                f,
                "the path {} is no UTF-8, so env!(\"FSR_KERNELS\") cannot hold it; build in another target folder",
                path.display()
            ),
        }
    }
}

// Causes are part of the message: naming them again as a source would print them twice.
impl std::error::Error for EmbedError {}

impl From<SpecError> for EmbedError {
    fn from(error: SpecError) -> Self {
        EmbedError::Spec(error)
    }
}

impl From<InputError> for EmbedError {
    fn from(error: InputError) -> Self {
        EmbedError::Input(error)
    }
}

/// Whether a message ends the build.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Severity {
    Error,
    Warning,
}

/// One message for each kernel and fault, with the architectures that share it and the way out.
pub(super) fn messages(package: &PackageSpec, problems: &[Problem], severity: Severity) -> Vec<String> {
    let mut groups: Vec<(String, String, Vec<String>)> = Vec::new();
    for problem in problems {
        let (before, after) = wording(package, problem, severity);
        let arch = problem.arch.to_string();
        match groups.iter_mut().find(|group| group.0 == before && group.1 == after) {
            Some((_, _, archs)) => archs.push(arch),
            None => groups.push((before, after, vec![arch])),
        }
    }
    groups
        .into_iter()
        .map(|(before, after, archs)| format!("{before} for {}{after}", archs.join(", ")))
        .collect()
}

/// The words before and after the list of architectures.
fn wording(package: &PackageSpec, problem: &Problem, severity: Severity) -> (String, String) {
    let kernel = &problem.kernel;
    let tune = format!("run `cargo fsr tune -p {} {kernel}`", package.package);
    let changes: Vec<String> = problem.status.changes().iter().map(ToString::to_string).collect();
    let changes = changes.join(", ");
    let (state, after) = match &problem.status {
        Status::Fresh => ("is fresh", String::new()),
        Status::Unverified { .. } => (
            "is unverified",
            format!(": {changes}; run `cargo fsr verify --update -p {} {kernel}`", package.package),
        ),
        Status::Stale { .. } => {
            let allow = match severity {
                Severity::Error => ", or set FSR_ALLOW_STALE=1 to build with the old one",
                Severity::Warning => "",
            };
            ("is stale", format!(": {changes}; {tune}{allow}"))
        }
        Status::Missing { .. } => ("is not tuned", format!("; {tune}")),
        Status::Tampered { error } | Status::Unreadable { error } => {
            let way_out = match error {
                ReadError::Manifest { error, .. }
                    if matches!(
                        **error,
                        ManifestError::UnknownFormat { .. } | ManifestError::MergeConflict { .. }
                    ) =>
                {
                    format!("or {tune}")
                }
                _ => format!("restore it from version control, or {tune}"),
            };
            ("has no usable entry", format!(": {}; {way_out}", error.under(&package.root)))
        }
    };
    (format!("kernel `{kernel}` {state}"), after)
}
