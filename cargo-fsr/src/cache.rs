//! The second, content-addressed store: key to entry, in the user's cache folder.
//!
//! Switching branches, or a second check-out, finds a winner there without one model call. Entries are verified as in
//! the store; a corrupt one is reported and treated as absent, and nothing here ever replaces an entry of a package.

use std::path::PathBuf;

use fsr_build::key::Inputs;
use fsr_build::spec::{Arch, KernelSpec};
use fsr_build::store::{
    Entry, EntryPaths, Examined, ReadError, Status, WriteError, examine_at, read_entry, write_entry,
};

use crate::config::cache_dir;
use crate::entry::lowers;

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
    /// One that cannot be used, and why.
    Corrupt(String),
}

impl Cache {
    /// `$FSR_CACHE_DIR`, else the user's cache folder.
    pub fn from_env() -> Self {
        Self { folder: cache_dir() }
    }

    /// A cache in a given folder.
    pub fn in_folder(folder: PathBuf) -> Self {
        Self { folder: Some(folder) }
    }

    /// Looks for an entry made from exactly these inputs.
    pub fn find(&self, kernel: &KernelSpec, arch: Arch, inputs: &Inputs) -> Found {
        let Some(paths) = self.paths(arch, inputs) else { return Found::Nothing };
        match read_entry(&paths) {
            // Kernels with equal specs and other names share a key; an entry bears its name.
            Ok(entry) if entry.manifest.kernel != kernel.name || entry.manifest.inputs != *inputs => {
                return Found::Nothing;
            }
            Ok(_) => {}
            Err(ReadError::Missing { .. }) => return Found::Nothing,
            Err(error) => return Found::Corrupt(error.to_string()),
        }
        // Whatever has the right key must also be of use where it is brought back to.
        let Examined { status, entry } = examine_at(&paths, kernel, arch, &inputs.clone().into());
        match (status, entry) {
            (Status::Fresh, Some(entry)) => Found::Entry(Box::new(entry)),
            (status, _) => Found::Corrupt(status.to_string()),
        }
    }

    /// Keeps an entry, but none from the CPU device in place of one from a GPU.
    ///
    /// # Errors
    /// When it cannot be written; the cache is then as it was.
    pub fn keep(&self, entry: &Entry) -> Result<(), WriteError> {
        let Some(paths) = self.paths(entry.manifest.arch, &entry.manifest.inputs) else { return Ok(()) };
        match read_entry(&paths) {
            Ok(old) if old.manifest.kernel == entry.manifest.kernel && lowers(&paths, entry) => Ok(()),
            _ => write_entry(&paths, entry),
        }
    }

    fn paths(&self, arch: Arch, inputs: &Inputs) -> Option<EntryPaths> {
        let folder = self.folder.as_ref()?.join("entries").join(inputs.key().to_string());
        Some(EntryPaths::in_folder(&folder, arch))
    }
}

#[cfg(test)]
mod tests {
    use fsr_build::spec::{ComputeCapability, PackageSpec};
    use fsr_build::store::{Device, DeviceKind, Manifest};

    use super::*;

    /// The example crate's `saxpy` with its committed entry: something real to keep.
    fn saxpy() -> (PackageSpec, Entry) {
        let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../example-crate");
        let package = PackageSpec::read(&root.join("Cargo.toml")).expect("a spec").expect("kernels");
        let arch = "sm_90".parse().expect("an arch");
        let entry = read_entry(&EntryPaths::in_package(&root, "saxpy", arch)).expect("an entry");
        (package, entry)
    }

    fn with(entry: &Entry, change: impl FnOnce(&mut Manifest)) -> Entry {
        let mut manifest = entry.manifest.clone();
        change(&mut manifest);
        Entry::new(manifest, &entry.ptx, &entry.source)
    }

    fn cache() -> (tempfile::TempDir, Cache) {
        let folder = tempfile::tempdir().expect("a folder");
        let cache = Cache::in_folder(folder.path().to_owned());
        (folder, cache)
    }

    #[test]
    fn what_was_kept_is_found_under_its_name_alone() {
        let (package, entry) = saxpy();
        let (_folder, cache) = cache();
        let Manifest { arch, inputs, .. } = &entry.manifest;
        let find = |name: &str| cache.find(&package.kernels[name], *arch, inputs);
        assert!(matches!(find("saxpy"), Found::Nothing));
        cache.keep(&entry).expect("writable");
        assert!(matches!(find("saxpy"), Found::Entry(found) if *found == entry));
        assert!(matches!(find("transpose"), Found::Nothing));
    }

    #[test]
    fn an_entry_that_its_spec_does_not_allow_is_not_brought_back() {
        let (package, entry) = saxpy();
        let (_folder, cache) = cache();
        let bad = with(&entry, |manifest| {
            manifest.launch.insert("BLOCK".to_owned(), 4096);
        });
        cache.keep(&bad).expect("writable");
        let Manifest { arch, inputs, .. } = &entry.manifest;
        let Found::Corrupt(why) = cache.find(&package.kernels["saxpy"], *arch, inputs) else {
            panic!("it is of no use");
        };
        assert!(why.contains("`BLOCK = 4096` is not in the spec"), "{why}");
    }

    #[test]
    fn the_cpu_device_replaces_no_winner_of_a_gpu() {
        let (package, entry) = saxpy();
        let (_folder, cache) = cache();
        let modelled = with(&entry, |manifest| {
            manifest.device = Some(Device {
                kind: DeviceKind::Sim,
                name: "modelled".to_owned(),
                compute_capability: ComputeCapability { major: 9, minor: 0 },
                driver: None,
            });
        });
        let Manifest { arch, inputs, .. } = &entry.manifest;
        let found = || match cache.find(&package.kernels["saxpy"], *arch, inputs) {
            Found::Entry(entry) => entry.manifest.device.map(|device| device.kind),
            other => panic!("{other:?}"),
        };
        cache.keep(&modelled).expect("writable");
        assert_eq!(found(), Some(DeviceKind::Sim));
        cache.keep(&entry).expect("writable");
        assert_eq!(found(), Some(DeviceKind::Cuda));
        cache.keep(&modelled).expect("writable");
        assert_eq!(found(), Some(DeviceKind::Cuda));
    }
}
