//! The folder from which a search runs where there is no cargo.
//!
//! It mirrors the parts of the workspace that specs name (`sources/`), holds one host program a kernel (`hosts/`), the
//! compiler (`toolchain/`) and, after a run, journals (`state/`). Entries land in the mirrored packages, so that
//! bringing them home is a comparison of keys and a copy.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::ProjectError;

const INDEX: &str = "bundle.json";
const VERSION: u32 = 1;
const WRITE_ANEW: &str = "write it anew with `cargo fsr bundle DIR`, with the same cargo-fsr";

/// What is in a bundle.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct BundleIndex {
    /// Counted up when the layout changes.
    pub version: u32,
    /// The packages.
    pub packages: Vec<BundledPackage>,
}

/// One package of a bundle.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct BundledPackage {
    /// Its name.
    pub name: String,
    /// Its folder below [`sources`], with `/`.
    pub folder: String,
    /// Resolved search default.
    pub candidates: Option<u32>,
    /// Resolved search default.
    pub rounds: Option<u32>,
    /// Kernel to host program, relative to the bundle, with `/`.
    pub hosts: BTreeMap<String, String>,
}

/// Where the mirrored files lie.
pub fn sources(root: &Path) -> PathBuf {
    root.join("sources")
}

/// Where host programs lie.
pub fn hosts(root: &Path) -> PathBuf {
    root.join("hosts")
}

/// Where the compiler lies, as cargo-fsr's own toolchain folder.
pub fn toolchain(root: &Path) -> PathBuf {
    root.join("toolchain")
}

/// Where the CPU device's library lies, where the bundle has it.
pub fn cpu_device(root: &Path) -> PathBuf {
    root.join("cpu-device").join(crate::device::file_name())
}

/// Where journals live.
pub fn state(root: &Path) -> PathBuf {
    root.join("state")
}

impl BundleIndex {
    /// An index of this version.
    pub fn new(packages: Vec<BundledPackage>) -> Self {
        Self { version: VERSION, packages }
    }

    /// Reads it.
    ///
    /// # Errors
    /// When the folder is no bundle, or one of another version.
    pub fn read(root: &Path) -> Result<Self, ProjectError> {
        let path = root.join(INDEX);
        let fault = |message: String| ProjectError::Bundle { path: path.clone(), message, help: WRITE_ANEW };
        let text = std::fs::read_to_string(&path).map_err(|error| fault(format!("no bundle: {error}")))?;
        #[derive(Deserialize)]
        struct Version {
            version: u32,
        }
        let version: Version =
            serde_json::from_str(&text).map_err(|error| fault(format!("not understood: {error}")))?;
        if version.version != VERSION {
            let found = version.version;
            return Err(fault(format!(
                "a bundle of version {found}; this cargo-fsr reads version {VERSION}"
            )));
        }
        serde_json::from_str(&text).map_err(|error| fault(format!("not understood: {error}")))
    }

    /// Writes it: the last step of making a bundle, so that half a bundle is none.
    ///
    /// # Errors
    /// When the file cannot be written.
    pub fn write(&self, root: &Path) -> Result<(), ProjectError> {
        let path = root.join(INDEX);
        let mut text = serde_json::to_string_pretty(self)
            .map_err(std::io::Error::from)
            .map_err(|source| ProjectError::Io { path: path.clone(), source })?;
        text.push('\n');
        std::fs::write(&path, text).map_err(|source| ProjectError::Io { path, source })
    }

    pub(super) fn host(&self, root: &Path, package: &str, kernel: &str) -> Result<PathBuf, ProjectError> {
        let relative = self
            .packages
            .iter()
            .find(|bundled| bundled.name == package)
            .and_then(|bundled| bundled.hosts.get(kernel));
        let path = relative.map(|relative| root.join(relative)).filter(|path| path.is_file());
        path.ok_or_else(|| ProjectError::Bundle {
            path: root.to_owned(),
            message: format!("it has no host program for kernel `{kernel}` of package `{package}`"),
            help: WRITE_ANEW,
        })
    }
}
