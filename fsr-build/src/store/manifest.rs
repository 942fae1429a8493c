//! What an entry says about its PTX: where it comes from, what it needs and how well it did.
//!
//! Owns the meaning of `<arch>.toml`; `manifest_toml` owns its spelling. Holds no user or host name and no
//! absolute path: entries are committed and published.

use std::collections::BTreeMap;
use std::fmt;

use crate::arch::{Arch, ComputeCapability, CudaVersion, PtxIsa};
use crate::digest::{Digest, SpecKey};
use crate::document::FaultKind;
use crate::key::Inputs;

/// The version of the manifest's format that this crate writes, and the only one that it reads.
pub const FORMAT: u64 = 1;

/// What is known about one entry of the store.
#[derive(Debug, Clone, PartialEq)]
pub struct Manifest {
    /// The kernel's name.
    pub kernel: String,
    /// The target that the entry is for.
    pub arch: Arch,
    /// The inputs that it was made from; the key is computed from them.
    pub inputs: Inputs,
    /// The entry names, in the order of the spec.
    pub entries: Vec<String>,
    /// The value chosen for each tunable.
    pub tunables: BTreeMap<String, u32>,
    /// The value that the candidate declared for each launch parameter.
    pub launch: BTreeMap<String, u32>,
    /// What launching needs, by entry.
    pub needs: BTreeMap<String, LaunchNeeds>,
    /// What the PTX says about itself.
    pub ptx: PtxFacts,
    /// SHA-256 of the PTX, with CRLF read as LF.
    pub ptx_sha256: Digest,
    /// SHA-256 of the source, with CRLF read as LF.
    pub source_sha256: Digest,
    /// What compiled it.
    pub compiler: Compiler,
    /// Whether the search ran for this target.
    pub origin: Origin,
    /// The cases that it passed, in the order of the host code.
    pub validated: Vec<ValidatedCase>,
    /// The times of baseline and winner.
    pub timed: Vec<TimedCase>,
    /// The device that it was validated and timed on; none where no device at hand loads it.
    pub device: Option<Device>,
    /// The model that proposed it; none for a baseline that nothing beat.
    pub model: Option<String>,
    /// The run that found it.
    pub run: String,
}

impl Manifest {
    /// The key that the entry is fresh for.
    pub fn key(&self) -> SpecKey {
        self.inputs.key()
    }

    /// The value of a tunable or launch parameter.
    pub fn parameter(&self, name: &str) -> Option<u32> {
        self.tunables.get(name).or_else(|| self.launch.get(name)).copied()
    }
}

/// What one entry function needs, as far as it is known: a compiler knows less than a device that loaded it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct LaunchNeeds {
    /// 32-bit registers a thread.
    pub registers: Option<u32>,
    /// Bytes of static shared memory a block.
    pub static_shared_bytes: Option<u32>,
    /// Bytes of dynamic shared memory a block, as launched in validation.
    pub dynamic_shared_bytes: Option<u32>,
    /// Bytes of local memory a thread: spills and arrays.
    pub local_bytes: Option<u32>,
    /// The most threads a block that it can be launched with.
    pub max_threads_per_block: Option<u32>,
}

/// What a PTX module says about itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PtxFacts {
    /// Its `.version`.
    pub isa: PtxIsa,
    /// Its `.target`.
    pub target: Arch,
    /// The oldest driver that loads it, in CUDA's counting (`cuDriverGetVersion`).
    pub oldest_driver: CudaVersion,
}

/// The two lines that every PTX module begins with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PtxHeader {
    /// Its `.version`.
    pub isa: PtxIsa,
    /// Its `.target`, without options such as `texmode_independent`.
    pub target: Arch,
}

impl PtxHeader {
    /// Reads the header; `None` when this is no PTX with both lines.
    pub fn read(ptx: &str) -> Option<PtxHeader> {
        let word = |directive: &str| {
            let line = ptx.lines().map(str::trim_start).find_map(|line| line.strip_prefix(directive))?;
            line.split([' ', '\t', ',', '/']).find(|word| !word.is_empty())
        };
        Some(PtxHeader { isa: word(".version")?.parse().ok()?, target: word(".target")?.parse().ok()? })
    }
}

/// What compiled an entry.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Compiler {
    /// Such as `nvrtc`.
    pub name: String,
    /// Its full version, such as `12.8.93`.
    pub version: String,
    /// Its options, in order.
    pub flags: Vec<String>,
}

/// How an entry came to be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Origin {
    /// The search ran for this target.
    TunedOn,
    /// The winner for another target, recompiled for this one.
    CompiledOnly,
}

impl Origin {
    /// `tuned_on` or `compiled_only`, as the manifest spells it.
    pub fn as_str(self) -> &'static str {
        match self {
            Origin::TunedOn => "tuned_on",
            Origin::CompiledOnly => "compiled_only",
        }
    }
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// A case that the entry passed, and how far it was from the reference.
#[derive(Debug, Clone, PartialEq)]
pub struct ValidatedCase {
    /// The case's name.
    pub case: String,
    /// The largest `|got - want|` of any element.
    pub max_abs_error: f64,
    /// The largest `|got - want| / |want|` of any element whose reference is not zero.
    pub max_rel_error: f64,
}

/// How fast baseline and winner ran one case.
#[derive(Debug, Clone, PartialEq)]
pub struct TimedCase {
    /// The case's name.
    pub case: String,
    /// Whether a device ran it or a model of one was asked.
    pub kind: TimeKind,
    /// The baseline's time, where there is a baseline that runs it.
    pub baseline: Option<Spread>,
    /// The winner's time.
    pub winner: Spread,
}

/// Where a time comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TimeKind {
    /// A GPU ran it.
    Measured,
    /// Counted on the CPU device and computed from a device profile.
    Modelled,
}

impl TimeKind {
    /// `measured` or `modelled`, as the manifest spells it.
    pub fn as_str(self) -> &'static str {
        match self {
            TimeKind::Measured => "measured",
            TimeKind::Modelled => "modelled",
        }
    }
}

impl fmt::Display for TimeKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// A time with its spread, in nanoseconds.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Spread {
    /// Half of the samples are below it.
    pub median_ns: f64,
    /// A quarter of the samples is below it.
    pub lower_quartile_ns: f64,
    /// A quarter of the samples is above it.
    pub upper_quartile_ns: f64,
    /// How many samples.
    pub samples: u32,
}

/// The device that an entry was validated and timed on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Device {
    /// A GPU, or the CPU device.
    pub kind: DeviceKind,
    /// Its name, such as `NVIDIA H200`.
    pub name: String,
    /// Its compute capability.
    pub compute_capability: ComputeCapability,
    /// Its driver, in CUDA's counting.
    pub driver: Option<CudaVersion>,
}

/// What executes a kernel.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DeviceKind {
    /// A GPU.
    Cuda,
    /// PTX on the CPU.
    Sim,
}

impl DeviceKind {
    /// `cuda` or `sim`, as the manifest spells it.
    pub fn as_str(self) -> &'static str {
        match self {
            DeviceKind::Cuda => "cuda",
            DeviceKind::Sim => "sim",
        }
    }
}

impl fmt::Display for DeviceKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// Why a manifest cannot be used.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum ManifestError {
    /// It has the marks of a merge that nobody resolved.
    MergeConflict {
        /// The line of the first mark, from 1.
        line: usize,
    },
    /// Another version of the tool wrote it.
    UnknownFormat {
        /// The format that it states.
        found: u64,
    },
    /// A fault in the document.
    Fault {
        /// Line and column, both from 1.
        place: Option<(usize, usize)>,
        /// What is wrong.
        kind: FaultKind,
    },
    /// The key is not the one of the inputs that it lists.
    WrongKey,
    /// Its values are not those that were written.
    WrongChecksum,
    /// It says something that cannot be, or belongs elsewhere.
    Contradiction {
        /// What.
        reason: String,
    },
}

impl fmt::Display for ManifestError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ManifestError::MergeConflict { line } => {
                write!(f, "line {line} marks a merge conflict: take the three files of one side")
            }
            ManifestError::UnknownFormat { found } if *found > FORMAT => {
                write!(f, "it has format {found} and this fsr-build reads format {FORMAT}: update fsr-build")
            }
            ManifestError::UnknownFormat { found } => {
                write!(f, "it has format {found}, which no version of cargo-fsr writes")
            }
            ManifestError::Fault { place: Some((line, column)), kind } => {
                write!(f, "{line}:{column}: {kind}")
            }
            ManifestError::Fault { place: None, kind } => kind.fmt(f),
            ManifestError::WrongKey => f.write_str("its key is not the one of the inputs that it lists"),
            ManifestError::WrongChecksum => f.write_str("it was edited after cargo fsr wrote it"),
            ManifestError::Contradiction { reason } => f.write_str(reason),
        }
    }
}

impl std::error::Error for ManifestError {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_header_of_ptx_is_found_behind_comments() {
        let ptx = "//\n// Generated by NVIDIA NVVM Compiler\n//\n\n.version 8.7\n.target sm_90a, texmode_independent\n";
        let header = PtxHeader::read(ptx).unwrap();
        assert_eq!(
            (header.isa.to_string(), header.target.to_string()),
            ("8.7".to_owned(), "sm_90a".to_owned())
        );
        assert_eq!(PtxHeader::read(".version 8.7\n"), None);
        assert_eq!(PtxHeader::read(""), None);
    }
}
