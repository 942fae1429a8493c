//! A spec with the text of every file that it names: what a search is about.

use fsr_build::spec::{Arch, KernelSpec};

use super::{Package, ProjectError};
use crate::brief::Brief;

impl Package {
    /// Reads one kernel's brief for one arch.
    ///
    /// # Errors
    /// When a file that the spec names cannot be read.
    pub fn brief(&self, kernel: &KernelSpec, arch: Arch) -> Result<Brief, ProjectError> {
        Brief::new(kernel, arch, self.spec.cuda, |path| {
            let path = path.under(&self.spec.root);
            std::fs::read_to_string(&path).map_err(|source| ProjectError::Io { path, source })
        })
    }
}
