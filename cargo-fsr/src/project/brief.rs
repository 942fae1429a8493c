//! A spec with the text of every file that it names: what a search is about.

use std::collections::BTreeMap;
use std::path::Path;

use fsr_build::spec::{Arch, KernelSpec, RelPath};
use fsr_protocol::Tolerance;

use super::{Package, ProjectError};
use crate::brief::{Bounds, Brief, SourceFile};

impl Package {
    /// Reads one kernel's brief for one arch.
    ///
    /// # Errors
    /// When a file that the spec names cannot be read.
    pub fn brief(&self, kernel: &KernelSpec, arch: Arch) -> Result<Brief, ProjectError> {
        let read = |path: &RelPath| source_file(path, &path.under(&self.spec.root));
        let launch = kernel.launch.iter();
        Ok(Brief {
            kernel: kernel.name.clone(),
            task: kernel.task.text.clone(),
            entries: kernel.entries.clone(),
            keep: kernel.keep.clone(),
            tunables: kernel.tunables.clone(),
            launch: launch
                .map(|(name, bound)| (name.clone(), Bounds { min: bound.min, max: bound.max }))
                .collect::<BTreeMap<_, _>>(),
            host: kernel.host.iter().map(read).collect::<Result<_, _>>()?,
            headers: kernel.headers.iter().map(read).collect::<Result<_, _>>()?,
            baseline: kernel.baseline.as_ref().map(read).transpose()?,
            arch,
            cuda: self.spec.cuda,
            tolerance: kernel.tolerance.map(|own| Tolerance { rtol: own.rtol, atol: own.atol }),
        })
    }
}

fn source_file(path: &RelPath, file: &Path) -> Result<SourceFile, ProjectError> {
    let text =
        std::fs::read_to_string(file).map_err(|source| ProjectError::Io { path: file.to_owned(), source })?;
    Ok(SourceFile { path: path.to_string(), text: text.replace("\r\n", "\n") })
}
