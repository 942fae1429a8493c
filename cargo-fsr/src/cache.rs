//! The second, content-addressed store: key to entry, in the user's cache folder.
//!
//! Switching branches, or a second check-out, finds a winner there without one model call. Entries are verified as in
//! the store; a corrupt one is reported and treated as absent, and nothing here ever replaces an entry of a package.

use std::path::PathBuf;

use etcetera::BaseStrategy;
use fsr_build::key::Inputs;
use fsr_build::spec::Arch;
use fsr_build::store::{Entry, EntryPaths, ReadError, WriteError, read_entry, write_entry};

/// The cache; or none, where the machine has no place for it.
#[derive(Clone, Debug)]
pub struct Cache {
    folder: Option<PathBuf>,
}

/// What a look-up found.
#[derive(Debug)]
pub enum Found {
    /// The entry for exactly these inputs.
    Entry(Box<Entry>),
    /// None.
    Nothing,
    /// One that cannot be used.
    Corrupt(ReadError),
}

impl Cache {
    /// `$FSR_CACHE_DIR`, else the user's cache folder.
    pub fn from_env() -> Self {
        let folder = std::env::var_os("FSR_CACHE_DIR")
            .map(PathBuf::from)
            .or_else(|| Some(etcetera::choose_base_strategy().ok()?.cache_dir().join("cargo-fsr")));
        Self { folder }
    }

    /// A cache in a given folder.
    pub fn in_folder(folder: PathBuf) -> Self {
        Self { folder: Some(folder) }
    }

    /// Looks for an entry made from exactly these inputs.
    pub fn find(&self, kernel: &str, arch: Arch, inputs: &Inputs) -> Found {
        let Some(paths) = self.paths(arch, inputs) else { return Found::Nothing };
        match read_entry(&paths) {
            // Kernels with equal specs and other names share a key; an entry bears its name.
            Ok(entry) if entry.manifest.kernel == kernel && entry.manifest.inputs == *inputs => {
                Found::Entry(Box::new(entry))
            }
            Ok(_) | Err(ReadError::Missing { .. }) => Found::Nothing,
            Err(error) => Found::Corrupt(error),
        }
    }

    /// Keeps an entry.
    ///
    /// # Errors
    /// When it cannot be written; the cache is then as it was.
    pub fn keep(&self, entry: &Entry) -> Result<(), WriteError> {
        match self.paths(entry.manifest.arch, &entry.manifest.inputs) {
            Some(paths) => write_entry(&paths, entry),
            None => Ok(()),
        }
    }

    fn paths(&self, arch: Arch, inputs: &Inputs) -> Option<EntryPaths> {
        let folder = self.folder.as_ref()?.join("entries").join(inputs.key().to_string());
        Some(EntryPaths::in_folder(&folder, arch))
    }
}
