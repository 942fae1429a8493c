//! What one search is about: the kernel as prompts and compiler see it.
//!
//! Plain data, resolved and read: nothing here opens a file, and a journal's header can hold all of it.

use std::collections::BTreeMap;
use std::fmt;

use fsr_build::spec::{Arch, CudaVersion, KernelSpec, RelPath};
use fsr_protocol::{Tolerance, Tunables};
use serde::{Deserialize, Serialize};

use crate::compile::CompileRequest;

/// One kernel of one package for one arch, with the text of every file that its spec names.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Brief {
    /// The kernel's name in the spec.
    pub kernel: String,
    /// What it shall compute, in the project's words.
    pub task: String,
    /// The `extern "C" __global__` functions that the source must define; at least one.
    pub entries: Vec<String>,
    /// What the model must not change.
    pub keep: Vec<String>,
    /// Integers that kernel and host code share, with the values to sweep; the first combination is tried first.
    pub tunables: BTreeMap<String, Vec<u32>>,
    /// Integers that each candidate chooses and declares.
    pub launch: BTreeMap<String, Bounds>,
    /// The host launch code, the cargo target first.
    pub host: Vec<SourceFile>,
    /// Headers that candidates may include, by the name of the `#include`.
    pub headers: Vec<SourceFile>,
    /// The kernel that the project has today.
    pub baseline: Option<SourceFile>,
    /// Target of the PTX.
    #[serde(with = "as_text")]
    pub arch: Arch,
    /// Version of the compiler.
    #[serde(with = "as_text")]
    pub cuda: CudaVersion,
    /// The spec's own tolerance; `None` takes the default by dtype.
    pub tolerance: Option<Tolerance>,
}

impl Brief {
    /// Resolves a spec for one arch; `read` gives the text of a file of the package.
    ///
    /// # Errors
    /// Whatever `read` fails with.
    pub fn new<E>(
        spec: &KernelSpec,
        arch: Arch,
        cuda: CudaVersion,
        mut read: impl FnMut(&RelPath) -> Result<String, E>,
    ) -> Result<Self, E> {
        let mut file = |path: &RelPath| -> Result<SourceFile, E> {
            Ok(SourceFile { path: path.as_str().to_owned(), text: read(path)?.replace("\r\n", "\n") })
        };
        Ok(Self {
            kernel: spec.name.clone(),
            task: spec.task.text.clone(),
            entries: spec.entries.clone(),
            keep: spec.keep.iter().cloned().chain(kept(&spec.state)).collect(),
            tunables: spec.tunables.clone(),
            launch: spec
                .launch
                .iter()
                .map(|(name, bound)| (name.clone(), Bounds { min: bound.min, max: bound.max }))
                .collect(),
            host: spec.host.iter().map(&mut file).collect::<Result<_, E>>()?,
            headers: spec.headers.iter().map(&mut file).collect::<Result<_, E>>()?,
            baseline: spec.baseline.as_ref().map(&mut file).transpose()?,
            arch,
            cuda,
            tolerance: spec
                .tolerance
                .map(|tolerance| Tolerance { rtol: tolerance.rtol, atol: tolerance.atol }),
        })
    }
}

/// What a kernel is told of the variables that it may keep something in.
fn kept(state: &[String]) -> Option<String> {
    let names = state.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ");
    (!state.is_empty()).then(|| {
        format!("{names}: the only `__device__` variables that may keep anything from one launch to the next")
    })
}

impl Brief {
    /// A compilation of a source for this kernel. Each header goes by its file name and by its path in the spec.
    pub fn request(&self, source: &str, defines: &Tunables) -> CompileRequest {
        let mut headers = Vec::new();
        for file in &self.headers {
            headers.push((file.include_name().to_owned(), file.text.clone()));
            if file.include_name() != file.path {
                headers.push((file.path.clone(), file.text.clone()));
            }
        }
        CompileRequest {
            source: source.to_owned(),
            entries: self.entries.clone(),
            arch: self.arch,
            defines: defines.clone(),
            headers,
        }
    }
}

/// A text file of the project.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SourceFile {
    /// Path as the spec writes it, relative to the package.
    pub path: String,
    /// The text, with LF.
    pub text: String,
}

impl SourceFile {
    /// The name by which candidates include it: the file's own, without its folder.
    pub fn include_name(&self) -> &str {
        self.path.rsplit('/').next().unwrap_or(&self.path)
    }
}

/// Inclusive bounds of a launch parameter.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Bounds {
    /// Smallest value.
    pub min: u32,
    /// Largest value.
    pub max: u32,
}

impl Bounds {
    /// Whether a value lies within.
    pub fn contains(self, value: u64) -> bool {
        (u64::from(self.min)..=u64::from(self.max)).contains(&value)
    }
}

impl fmt::Display for Bounds {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} to {}", self.min, self.max)
    }
}

pub(crate) mod as_text {
    use std::fmt::Display;
    use std::str::FromStr;

    use serde::{Deserialize, Deserializer, Serializer};

    pub fn serialize<T: Display, S: Serializer>(value: &T, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(value)
    }

    pub fn deserialize<'de, T, D>(deserializer: D) -> Result<T, D::Error>
    where
        T: FromStr<Err: Display>,
        D: Deserializer<'de>,
    {
        String::deserialize(deserializer)?.parse().map_err(serde::de::Error::custom)
    }
}
