//! What `cargo fsr` and its compiler process say to each other: JSON lines, one answer to each question.
//!
//! Paths do not travel here but as arguments of the process, where they need not be Unicode.

use std::path::PathBuf;
use std::time::Duration;

use serde::{Deserialize, Serialize};

/// First argument of the program when it is to be the compiler process. No command that people type.
pub const COMMAND: &str = "__nvrtc";

/// What one compilation may use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Wall-clock time of one compilation; the process is killed past it.
    pub time: Duration,
    /// Address space of the compiler process, in bytes. The library itself maps about 110 MB.
    pub memory: u64,
    /// Compilations at once, each in a process of its own; at least one.
    pub parallel: usize,
}

impl Default for Limits {
    /// A minute and 4 GiB: the slowest CUDA headers take under two seconds and 200 MB on an idle machine.
    fn default() -> Self {
        let parallel = std::thread::available_parallelism().map_or(1, usize::from);
        Self { time: Duration::from_secs(60), memory: 4 << 30, parallel: parallel.clamp(1, 8) }
    }
}

/// The first line from the process, unasked.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "hello", rename_all = "kebab-case")]
pub enum Hello {
    /// The library is loaded and the limits are set.
    Ready {
        /// Major and minor version of the library.
        version: (u32, u32),
        /// Numbers of the targets that it knows; empty when it cannot tell.
        targets: Vec<u32>,
        /// The process cannot open files outside the toolkit.
        confined: bool,
    },
    /// The library does not work.
    Broken {
        /// What happened.
        what: String,
    },
}

/// One compilation.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Job {
    /// Name of the source in messages.
    pub name: String,
    /// CUDA C++.
    pub source: String,
    /// Headers in memory: name and text.
    pub headers: Vec<(String, String)>,
    /// Options without paths; the process adds the include folders.
    pub options: Vec<String>,
}

/// What came of it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Done {
    /// How it ended.
    pub end: End,
    /// The compiler's messages as they came.
    pub log: String,
    /// The PTX as it came.
    pub ptx: Option<String>,
    /// Milliseconds inside the compiler.
    pub millis: f64,
}

/// Ends of a compilation.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum End {
    /// There is PTX.
    Ptx,
    /// The program has errors.
    Errors,
    /// The limit on memory was met.
    OutOfMemory,
    /// An option was not understood: an unknown target, most likely.
    Option,
    /// The library or its use is at fault.
    Fault(String),
}

/// Arguments of the process behind [`COMMAND`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Arguments {
    /// The library.
    pub library: PathBuf,
    /// Folders to search for CUDA's headers, seen from the process's working folder.
    pub include: Vec<PathBuf>,
    /// Folders that these lead to.
    pub readable: Vec<PathBuf>,
    /// Limits that the process sets for itself.
    pub limits: Limits,
}
