//! Every way in which a command can end early, with its exit code.

use fsr_build::store::WriteError;
use miette::Diagnostic;

use crate::compile::CompilerError;
use crate::compile::toolchain::InstallError;
use crate::config::ConfigError;
use crate::device::UnknownDevice;
use crate::entry::HeaderError;
use crate::exit::Exit;
use crate::journal::JournalError;
use crate::judge::JudgeError;
use crate::model::{HttpFault, ModelError};
use crate::project::ProjectError;
use crate::search::{SearchError, TemplateError};
use crate::state::StateError;
use crate::verify::VerifyError;

/// See each variant.
#[derive(Debug, thiserror::Error, Diagnostic)]
#[non_exhaustive]
pub enum CommandError {
    /// Workspace, packages, specs.
    #[error(transparent)]
    #[diagnostic(transparent)]
    Project(#[from] ProjectError),
    /// `fsr.toml` and model names.
    #[error(transparent)]
    #[diagnostic(transparent)]
    Config(#[from] ConfigError),
    /// The compiler.
    #[error(transparent)]
    Compiler(#[from] CompilerError),
    /// The compiler could not be installed.
    #[error(transparent)]
    Install(#[from] InstallError),
    /// The device or the host launch code.
    #[error(transparent)]
    Judge(#[from] JudgeError),
    /// Journals.
    #[error(transparent)]
    #[diagnostic(transparent)]
    State(#[from] StateError),
    /// One journal.
    #[error(transparent)]
    Journal(#[from] JournalError),
    /// A model that cannot be set up.
    #[error(transparent)]
    Model(#[from] ModelError),
    /// Prompt templates.
    #[error(transparent)]
    Template(#[from] TemplateError),
    /// A search that could not go on.
    #[error("{error}")]
    Search {
        /// Why.
        error: SearchError,
        /// The way out, where it is not plain.
        #[help]
        help: Option<&'static str>,
    },
    /// An entry could not be written; the old one is whole.
    #[error(transparent)]
    Store(#[from] WriteError),
    /// PTX that cannot be described.
    #[error(transparent)]
    Header(#[from] HeaderError),
    /// Something else, already in words.
    #[error("{message}")]
    Other {
        /// The cause.
        message: String,
        /// The way out.
        #[help]
        help: Option<String>,
        /// How to exit.
        exit: Exit,
    },
}

impl From<UnknownDevice> for CommandError {
    fn from(error: UnknownDevice) -> Self {
        Self::new(Exit::Usage, error.to_string(), "use auto, cuda, cuda:N, sim or sim:PROFILE")
    }
}

impl From<SearchError> for CommandError {
    fn from(error: SearchError) -> Self {
        let help = match &error {
            SearchError::Baseline { differs: true, .. } => Some(
                "mend the baseline or the reference. Where both are right and f32 is no more exact than this, the \
                 reference tells how large the summed terms were, with `scale_at_least`, or the spec states a `tolerance`",
            ),
            _ => None,
        };
        Self::Search { error, help }
    }
}

impl From<VerifyError> for CommandError {
    fn from(error: VerifyError) -> Self {
        match error {
            VerifyError::Project(error) => error.into(),
            VerifyError::Compiler(error) => error.into(),
            VerifyError::Judge(error) => error.into(),
        }
    }
}

impl CommandError {
    /// An error in words, with the way out.
    pub fn new(exit: Exit, message: impl Into<String>, help: impl Into<String>) -> Self {
        Self::Other { message: message.into(), help: Some(help.into()), exit }
    }

    /// The exit code.
    pub fn exit(&self) -> Exit {
        match self {
            Self::Project(ProjectError::Target(error)) | Self::Judge(error) => judge_exit(error),
            Self::Project(ProjectError::NoPackage { .. } | ProjectError::NoKernel { .. }) => Exit::Usage,
            Self::Project(_) | Self::Template(_) => Exit::Input,
            Self::Config(ConfigError::NoModel) => Exit::Environment,
            Self::Config(_) => Exit::Input,
            Self::Compiler(CompilerError::Target { .. } | CompilerError::Spec(_)) => Exit::Input,
            Self::Compiler(_) | Self::Install(_) | Self::State(_) | Self::Store(_) | Self::Header(_) => {
                Exit::Environment
            }
            Self::Model(ModelError::CommandLine { .. }) => Exit::Input,
            Self::Model(ModelError::Http {
                fault: HttpFault::Address { .. } | HttpFault::Header { .. },
                ..
            }) => Exit::Input,
            Self::Journal(_) | Self::Model(_) => Exit::Environment,
            Self::Search { error, .. } => search_exit(error),
            Self::Other { exit, .. } => *exit,
        }
    }
}

fn search_exit(error: &SearchError) -> Exit {
    match error {
        SearchError::Judge(error) => judge_exit(error),
        SearchError::NoTimedCase => Exit::Host,
        SearchError::Settings(_) => Exit::Usage,
        SearchError::Compiler(CompilerError::Target { .. } | CompilerError::Spec(_)) => Exit::Input,
        SearchError::Compiler(_) | SearchError::Journal(_) | SearchError::DeviceChanged { .. } => {
            Exit::Environment
        }
        _ => Exit::Input,
    }
}

fn judge_exit(error: &JudgeError) -> Exit {
    match error {
        JudgeError::NoTarget { .. } | JudgeError::Tolerance(..) => Exit::Input,
        JudgeError::Build { .. }
        | JudgeError::HostCode(_)
        | JudgeError::BelowFloor { .. }
        | JudgeError::Clocks { .. } => Exit::Host,
        JudgeError::NoDevice(_) | JudgeError::Process(_) | JudgeError::Io(_) => Exit::Environment,
        JudgeError::Interrupted => Exit::Interrupted,
    }
}
