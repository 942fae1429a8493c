//! Where entries are written: into the package, or wherever `--out` says.

use std::path::{Path, PathBuf};

use fsr_build::store::{Entry, EntryPaths, WriteError, recover, write_entry};

use crate::project::Package;

#[derive(Debug)]
pub struct Place {
    out: Option<PathBuf>,
}

impl Place {
    pub fn new(out: Option<&Path>) -> Self {
        Self { out: out.map(Path::to_owned) }
    }

    /// Whether it is the package's own store.
    pub fn is_package(&self) -> bool {
        self.out.is_none()
    }

    pub fn paths(&self, package: &Package, kernel: &str, arch: fsr_build::spec::Arch) -> EntryPaths {
        match &self.out {
            Some(out) => EntryPaths::in_folder(&out.join(&package.spec.package).join(kernel), arch),
            None => EntryPaths::in_package(&package.spec.root, kernel, arch),
        }
    }

    pub fn write(&self, package: &Package, entry: &Entry) -> Result<EntryPaths, WriteError> {
        let paths = self.paths(package, &entry.manifest.kernel, entry.manifest.arch);
        recover(&paths)?;
        write_entry(&paths, entry)?;
        Ok(paths)
    }
}
