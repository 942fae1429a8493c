//! Why a project cannot be worked with.

use std::path::PathBuf;

use fsr_build::spec::SpecError;
use miette::Diagnostic;

use crate::judge::JudgeError;
use crate::report::{TextFault, suggestion};

/// See each variant.
#[derive(Debug, thiserror::Error, Diagnostic)]
#[non_exhaustive]
pub enum ProjectError {
    /// `cargo metadata` failed; its own words.
    #[error("cargo: {message}")]
    Cargo {
        /// cargo's message.
        message: String,
    },
    /// `-p` names no member.
    #[error("the workspace has no package `{name}`{}", suggestion(.name, .members))]
    NoPackage {
        /// What was asked for.
        name: String,
        /// What there is.
        members: Vec<String>,
    },
    /// No selected package declares a kernel.
    #[error("no kernel is declared in {}", packages.join(", "))]
    #[diagnostic(help(
        "declare one in [package.metadata.fsr.kernels.NAME] of Cargo.toml, or select its package with -p"
    ))]
    NoKernels {
        /// The packages that were looked at.
        packages: Vec<String>,
    },
    /// A kernel on the command line is in no selected package.
    #[error("there is no kernel `{name}`{}", suggestion(.name, .known))]
    NoKernel {
        /// What was asked for.
        name: String,
        /// What there is.
        known: Vec<String>,
    },
    /// A spec cannot be read.
    #[error(transparent)]
    #[diagnostic(transparent)]
    Spec(Box<TextFault>),
    /// The first host file is no target of its package.
    #[error(transparent)]
    Target(#[from] JudgeError),
    /// The folder is no bundle, or one of another version, or cannot be written.
    #[error("{}: {message}", path.display())]
    #[diagnostic(help("{help}"))]
    Bundle {
        /// The folder or file.
        path: PathBuf,
        /// What is wrong.
        message: String,
        /// The way out.
        help: &'static str,
    },
    /// A file could not be read or written.
    #[error("{}: {source}", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// The cause.
        source: std::io::Error,
    },
}

impl From<SpecError> for ProjectError {
    fn from(error: SpecError) -> Self {
        // The text is read again only to be shown; if that fails, file, line and column are still in the message.
        let text = std::fs::read_to_string(error.file()).ok();
        let span = error.place().map(|place| place.span.clone());
        Self::Spec(TextFault::new(error.to_string(), &error.file().display().to_string(), text, span))
    }
}
