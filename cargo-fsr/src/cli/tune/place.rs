//! Where entries are written: into the package, or wherever `--out` says.

use std::path::{Path, PathBuf};

use fsr_build::store::{Entry, EntryPaths, FOLDER, WriteError, recover, write_entry};

use crate::cli::CommandError;
use crate::exit::Exit;
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

    /// Finds out before a search whether its winner could be written. Leaves nothing behind.
    pub fn probe(&self, package: &Package, kernel: &str) -> Result<(), CommandError> {
        let folder = match &self.out {
            Some(out) => out.join(&package.spec.package).join(kernel),
            None => package.spec.root.join(FOLDER).join(kernel),
        };
        let folder = std::path::absolute(&folder).unwrap_or(folder);
        let there = folder.ancestors().find(|folder| folder.exists()).unwrap_or(&folder);
        match tempfile::Builder::new().prefix(".probe-").tempfile_in(there) {
            Ok(_) => Ok(()),
            Err(error) => Err(CommandError::new(
                Exit::Environment,
                format!("no entry could be written below {}: {}", there.display(), error.kind()),
                "make it writable, or let the entries be written elsewhere with --out DIR",
            )),
        }
    }

    pub fn write(&self, package: &Package, entry: &Entry) -> Result<EntryPaths, WriteError> {
        let paths = self.paths(package, &entry.manifest.kernel, entry.manifest.arch);
        recover(&paths)?;
        write_entry(&paths, entry)?;
        Ok(paths)
    }
}
