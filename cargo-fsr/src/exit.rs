//! The exit codes of `cargo fsr`. They are part of its interface: CI scripts branch on them.

use std::process::ExitCode;

/// How a run ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Exit {
    /// All that was asked for is done, or was already so.
    Success,
    /// An entry is missing, stale or unverified, `verify` found one that does not hold, or `tune` found no valid kernel.
    Unsatisfied,
    /// The command line cannot be understood (clap's own code).
    Usage,
    /// A spec, a manifest or a configuration file is at fault.
    Input,
    /// The machine lacks something: a GPU, NVRTC, a model, room on the disk.
    Environment,
    /// Prompts were written and wait for their answers; `--resume` goes on.
    Awaiting,
    /// The host launch code does not build or is at fault.
    Host,
    /// A stored file was edited or lost, or cannot be read.
    Damaged,
    /// What is stored does not reach others, or belongs to no spec.
    Astray,
    /// Ctrl-C. What was found until then is kept.
    Interrupted,
}

impl Exit {
    /// The number that a shell sees.
    pub const fn code(self) -> u8 {
        match self {
            Self::Success => 0,
            Self::Unsatisfied => 1,
            Self::Usage => 2,
            Self::Input => 3,
            Self::Environment => 4,
            Self::Awaiting => 5,
            Self::Host => 6,
            Self::Damaged => 7,
            Self::Astray => 8,
            Self::Interrupted => 130,
        }
    }
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(exit.code())
    }
}
