//! Source in, PTX or log out.
//!
//! Candidate text is compiled to PTX by NVRTC and to nothing else, so that a candidate cannot run one host
//! instruction. The compiler runs in a child process with limits and sees no file of the user's but the spec's headers.

mod asm;
pub mod child;
mod compiler;
mod confine;
mod include;
mod lines;
mod messages;
mod nvrtc;
mod protocol;
mod ptx;
mod source;
pub mod toolchain;
mod worker;

pub use compiler::{NvrtcCompiler, SOURCE_NAME};
pub use lines::{LineTable, Lines, SourceLine};
pub use protocol::Limits;

use fsr_build::spec::{Arch, CudaVersion};
use fsr_protocol::Tunables;
use serde::{Deserialize, Serialize};

/// One compilation.
#[derive(Clone, Debug)]
pub struct CompileRequest {
    /// CUDA C++ of the candidate.
    pub source: String,
    /// Kernels that the PTX must define.
    pub entries: Vec<String>,
    /// Target of the PTX.
    pub arch: Arch,
    /// Tunables and launch parameters, handed over as `-DNAME=VALUE`.
    pub defines: Tunables,
    /// The spec's own headers: name as in the `#include`, and text.
    pub headers: Vec<(String, String)>,
}

/// What became of it. Both are results: a candidate that does not compile is an ordinary thing.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "compiled", rename_all = "kebab-case")]
pub enum Compiled {
    /// PTX, made reproducible.
    Ptx(Ptx),
    /// No PTX.
    Failed(CompileFailure),
}

/// A compiled kernel.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Ptx {
    /// The text: same source, compiler and flags give the same bytes.
    pub text: String,
    /// Full version of the compiler, as the PTX header says it.
    pub compiler: String,
    /// Flags that shaped the PTX, in order, without paths.
    pub flags: Vec<String>,
    /// Warnings; empty when there are none.
    pub log: String,
    /// Milliseconds inside the compiler.
    pub millis: f64,
}

/// Why there is no PTX.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CompileFailure {
    /// What kind, for the prompt.
    pub kind: CompileFailureKind,
    /// Messages with line and column of the candidate, without machine paths.
    pub log: String,
}

/// Kinds of compile failure.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum CompileFailureKind {
    /// The compiler's own errors.
    Errors,
    /// An include, or another construct, that candidates may not use.
    Refused,
    /// Compiled, and an entry is missing.
    NoEntry,
    /// Past the limit on time.
    TimedOut,
    /// Past the limit on memory, or the compiler crashed.
    Crashed,
}

/// Whatever turns sources into PTX.
pub trait Compiler: Send + Sync {
    /// `cuda` of the spec that it serves.
    fn version(&self) -> CudaVersion;

    /// Compiles one candidate. `Err` means that the machine is at fault, not the candidate.
    fn compile(&self, request: &CompileRequest) -> Result<Compiled, CompilerError>;
}

/// Faults of the machine.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CompilerError {
    /// No NVRTC of the wanted version; the message lists where it was looked for and the command that helps.
    #[error("{0}")]
    NotFound(String),
    /// The library was found and does not work.
    #[error("NVRTC at {library}: {what}")]
    Broken {
        /// The library.
        library: String,
        /// What happened.
        what: String,
    },
    /// The toolkit does not know an arch of the spec.
    #[error("CUDA {version} does not compile for {arch}; it knows {known}")]
    Target {
        /// The arch asked for.
        arch: Arch,
        /// The toolkit's version.
        version: CudaVersion,
        /// The targets that it knows.
        known: String,
    },
    /// What the spec hands over cannot be compiled with any candidate.
    #[error("{0}")]
    Spec(String),
    /// The child process could not be run.
    #[error("compiler process: {0}")]
    Process(#[from] std::io::Error),
}
