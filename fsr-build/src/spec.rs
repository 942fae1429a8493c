//! The spec: what a package's `Cargo.toml` says about its kernels.
//!
//! Owns the meaning of `[package.metadata.fsr]` and of `[workspace.metadata.fsr.search]`, and every rule that
//! a spec has to keep. Reads `Cargo.toml` itself, since only then a fault has a line and a column. Never reads
//! other files than `Cargo.toml` and the `task-file`s, and never asks cargo.

mod error;
mod parse;
mod path;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

pub use crate::arch::{Arch, ComputeCapability, CudaVersion, Malformed, PtxIsa, Reach};
pub use crate::digest::{Digest, MalformedDigest, SpecKey};
pub use crate::document::FaultKind;
pub use crate::identifier::field_name;
pub use error::{Place, SpecError, SpecErrorKind};
pub use path::RelPath;

/// Everything that a package's `Cargo.toml` says about its kernels.
#[derive(Debug, Clone, PartialEq)]
pub struct PackageSpec {
    /// The package's name, for messages and commands.
    pub package: String,
    /// The package's folder.
    pub root: PathBuf,
    /// The package's `Cargo.toml`.
    pub manifest: PathBuf,
    /// The targets of the stored PTX, as listed: at least one, none twice.
    pub archs: Vec<Arch>,
    /// The compiler version, which decides the PTX ISA and so the oldest driver.
    pub cuda: CudaVersion,
    /// The package's own search defaults.
    pub search: SearchDefaults,
    /// The kernels by name.
    pub kernels: BTreeMap<String, KernelSpec>,
}

impl PackageSpec {
    /// Reads a package's spec; `None` when its `Cargo.toml` has no `[package.metadata.fsr]`.
    ///
    /// # Errors
    /// When a file cannot be read, is no TOML, or breaks a rule.
    pub fn read(manifest: &Path) -> Result<Option<PackageSpec>, SpecError> {
        let text = error::read_text(manifest)?;
        PackageSpec::parse(&text, manifest)
    }

    /// As [`PackageSpec::read`], from the text of the `Cargo.toml` that lies, or would lie, at `manifest`.
    ///
    /// # Errors
    /// When a `task-file` cannot be read, or the text is no TOML or breaks a rule.
    pub fn parse(text: &str, manifest: &Path) -> Result<Option<PackageSpec>, SpecError> {
        let root = manifest.parent().unwrap_or(Path::new(""));
        parse::package(text, manifest, root)
    }
}

/// How long a search looks; what is unset here is decided elsewhere.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct SearchDefaults {
    /// Candidates in a round, at least one.
    pub candidates: Option<u32>,
    /// Rounds, at least one.
    pub rounds: Option<u32>,
}

impl SearchDefaults {
    /// These, and what they leave unset from `fallback`.
    pub fn or(self, fallback: SearchDefaults) -> SearchDefaults {
        SearchDefaults {
            candidates: self.candidates.or(fallback.candidates),
            rounds: self.rounds.or(fallback.rounds),
        }
    }
}

/// What a workspace's `Cargo.toml` says for all its packages.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct WorkspaceDefaults {
    /// Search defaults, behind those of a package.
    pub search: SearchDefaults,
}

impl WorkspaceDefaults {
    /// Reads `[workspace.metadata.fsr.search]`; nothing is set when it is not there.
    ///
    /// # Errors
    /// When the file cannot be read, is no TOML, or breaks a rule.
    pub fn read(manifest: &Path) -> Result<WorkspaceDefaults, SpecError> {
        let text = error::read_text(manifest)?;
        parse::workspace(&text, manifest)
    }
}

/// One kernel's spec.
#[derive(Debug, Clone, PartialEq)]
pub struct KernelSpec {
    /// The kernel's name: its module, its folder in the store, and by default its entry.
    pub name: String,
    /// What the kernel computes, in words.
    pub task: Task,
    /// The `extern "C" __global__` names, in the order of the spec: at least one, none twice.
    pub entries: Vec<String>,
    /// The host launch code: the first is the cargo target that runs it. At least one, none twice.
    pub host: Vec<RelPath>,
    /// How the host target is built.
    pub host_build: HostBuild,
    /// The project's own headers that candidates may include.
    pub headers: Vec<RelPath>,
    /// The hand-written kernel of today.
    pub baseline: Option<RelPath>,
    /// What the model must not change, in words.
    pub keep: Vec<String>,
    /// Integers that kernel and host code share, each with the values to try: at least one, none twice.
    pub tunables: BTreeMap<String, Vec<u32>>,
    /// Integers that the candidate chooses and declares.
    pub launch: BTreeMap<String, LaunchBound>,
    /// Module variables that may keep something from one launch to the next; the judge refuses all others.
    pub state: Vec<String>,
    /// How far a result may be from the reference; by data type where unset.
    pub tolerance: Option<Tolerance>,
}

impl KernelSpec {
    /// The names of tunables and launch parameters: what the generated `Tunables` has fields for.
    pub fn parameters(&self) -> impl Iterator<Item = &str> {
        self.tunables.keys().chain(self.launch.keys()).map(String::as_str)
    }

    /// The file that an input of the key is read from, such as `host:src/launch.rs`; none for those that are not files.
    pub fn file_of(&self, input: &str) -> Option<&RelPath> {
        let named = |files: &'_ [RelPath], name: &str| files.iter().position(|file| file.to_string() == name);
        match input.split_once(':') {
            Some(("host", name)) => named(&self.host, name).map(|at| &self.host[at]),
            Some(("header", name)) => named(&self.headers, name).map(|at| &self.headers[at]),
            _ if input == "baseline" => self.baseline.as_ref(),
            _ => None,
        }
    }

    /// Whether `value` is one that the spec allows for a tunable or launch parameter.
    pub fn allows(&self, parameter: &str, value: u32) -> bool {
        match (self.tunables.get(parameter), self.launch.get(parameter)) {
            (Some(values), _) => values.contains(&value),
            (None, Some(bound)) => bound.contains(value),
            (None, None) => false,
        }
    }
}

/// What a kernel computes, in words.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Task {
    /// The words: LF, no blank lines around them, never empty.
    pub text: String,
    /// The file that they come from, if not from `Cargo.toml` itself.
    pub file: Option<RelPath>,
}

/// How the host target is built.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct HostBuild {
    /// The package that has the host target, if not this one.
    pub package: Option<String>,
    /// The features that it needs.
    pub features: Vec<String>,
    /// The cargo profile; `release` where unset.
    pub profile: Option<String>,
}

impl HostBuild {
    /// The cargo profile to build with.
    pub fn profile(&self) -> &str {
        self.profile.as_deref().unwrap_or("release")
    }
}

/// The values that a candidate may choose for a launch parameter, both ends included.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LaunchBound {
    /// The least value.
    pub min: u32,
    /// The greatest value.
    pub max: u32,
}

impl LaunchBound {
    /// What a launch parameter without stated bounds may be: any C `int` that is not negative.
    pub const UNSTATED: LaunchBound = LaunchBound { min: 0, max: i32::MAX as u32 };

    /// Whether a candidate may choose this value.
    pub fn contains(self, value: u32) -> bool {
        (self.min..=self.max).contains(&value)
    }
}

/// How far a result may be from the reference: `|got - want| <= atol + rtol * |want|`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Tolerance {
    /// Relative to the reference; from 0, below 1.
    pub rtol: f64,
    /// Absolute; from 0, below 1.
    pub atol: f64,
}
