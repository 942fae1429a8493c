//! Finds the workspace, its packages and their kernel specs.
//!
//! cargo says which packages there are and which targets they have; the specs themselves are read from each package's
//! own manifest by `fsr-build`, so that `cargo fsr` and the build script cannot disagree. A bundle is the same
//! project without cargo: its manifests lie in the folder, and its host targets are built already.

mod brief;
pub mod bundle;
mod error;
mod examine;
mod finding;
mod select;
mod shipping;

use std::path::{Path, PathBuf};

use cargo_metadata::Metadata;
use fsr_build::spec::{KernelSpec, PackageSpec, SearchDefaults, WorkspaceDefaults};

pub use error::ProjectError;
pub use examine::{EntryState, Standing};
pub use finding::{Finding, Kind, Orphan};
pub use select::{Locking, Selection};
pub use shipping::{LeftOut, Shipping};

use crate::device::{PACKAGE, Source};
use crate::judge::HostTarget;
use bundle::BundleIndex;

/// A workspace, or a bundle of one.
#[derive(Debug)]
pub struct Project {
    /// The workspace's folder, or the bundle's.
    pub root: PathBuf,
    /// The selected packages that declare kernels, by name.
    pub packages: Vec<Package>,
    origin: Origin,
}

#[derive(Debug)]
enum Origin {
    Workspace { metadata: Box<Metadata>, locking: Locking },
    Bundle(BundleIndex),
}

/// One package that declares kernels.
#[derive(Debug)]
pub struct Package {
    /// Its spec, from its own manifest.
    pub spec: PackageSpec,
    /// Search defaults: the package's own, then the workspace's.
    pub search: SearchDefaults,
}

/// Where the program that runs a kernel comes from.
#[derive(Debug)]
pub enum HostSource {
    /// cargo builds it.
    Build(HostTarget),
    /// It lies in the bundle.
    Built(PathBuf),
}

impl Project {
    /// Reads the workspace around `here`.
    ///
    /// # Errors
    /// When cargo cannot read it, a package is not there, a spec is at fault, or no selected package has kernels.
    pub fn open(selection: &Selection, locking: Locking, here: &Path) -> Result<Self, ProjectError> {
        let metadata = select::metadata(selection, locking)?;
        let root = metadata.workspace_root.clone().into_std_path_buf();
        let defaults = WorkspaceDefaults::read(&root.join("Cargo.toml"))?.search;
        let selected = select::packages(&metadata, selection, here)?;
        let mut packages = Vec::new();
        for package in &selected {
            if let Some(spec) = PackageSpec::read(package.manifest_path.as_std_path())? {
                packages.push(Package { search: spec.search.or(defaults), spec });
            }
        }
        if packages.iter().all(|package| package.spec.kernels.is_empty()) {
            let packages = selected.iter().map(|package| package.name.to_string()).collect();
            return Err(ProjectError::NoKernels { packages });
        }
        packages.sort_by(|a, b| a.spec.package.cmp(&b.spec.package));
        Ok(Self { root, packages, origin: Origin::Workspace { metadata: Box::new(metadata), locking } })
    }

    /// Reads a bundle.
    ///
    /// # Errors
    /// When the folder is no bundle or a spec in it is at fault.
    pub fn open_bundle(dir: &Path) -> Result<Self, ProjectError> {
        let root = dir.canonicalize().map_err(|source| ProjectError::Io { path: dir.to_owned(), source })?;
        let index = BundleIndex::read(&root)?;
        let mut packages = Vec::new();
        for bundled in &index.packages {
            let manifest = bundle::sources(&root).join(&bundled.folder).join("Cargo.toml");
            if let Some(mut spec) = PackageSpec::read(&manifest)? {
                spec.kernels.retain(|name, _| bundled.hosts.contains_key(name));
                let search = SearchDefaults { candidates: bundled.candidates, rounds: bundled.rounds };
                packages.push(Package { spec, search });
            }
        }
        Ok(Self { root, packages, origin: Origin::Bundle(index) })
    }

    /// The kernels that a command line names, or all, package by package.
    ///
    /// # Errors
    /// When a name is in no selected package.
    pub fn kernels(&self, names: &[String]) -> Result<Vec<(&Package, &KernelSpec)>, ProjectError> {
        let all = self
            .packages
            .iter()
            .flat_map(|package| package.spec.kernels.values().map(move |kernel| (package, kernel)));
        let all: Vec<_> = all.collect();
        if let Some(unknown) = names.iter().find(|name| all.iter().all(|(_, kernel)| kernel.name != **name)) {
            let known = all.iter().map(|(_, kernel)| kernel.name.clone()).collect();
            return Err(ProjectError::NoKernel { name: unknown.clone(), known });
        }
        Ok(all.into_iter().filter(|(_, kernel)| names.is_empty() || names.contains(&kernel.name)).collect())
    }

    /// The program that runs a kernel.
    ///
    /// # Errors
    /// When the first host file is no target of its package.
    pub fn host_source(&self, package: &Package, kernel: &KernelSpec) -> Result<HostSource, ProjectError> {
        let spec = &package.spec;
        let (metadata, locking) = match &self.origin {
            Origin::Workspace { metadata, locking } => (metadata, *locking),
            Origin::Bundle(index) => {
                return index.host(&self.root, &spec.package, &kernel.name).map(HostSource::Built);
            }
        };
        let owner_name = kernel.host_build.package.as_deref().unwrap_or(&spec.package);
        let owner = select::member(metadata, owner_name)?;
        // A spec has at least one host file: fsr-build insists on it.
        let file = kernel.host.first().map(|path| path.under(&spec.root)).unwrap_or_default();
        let (kind, name) = HostTarget::find(owner, &file)?;
        Ok(HostSource::Build(HostTarget {
            manifest: owner.manifest_path.clone().into_std_path_buf(),
            package: owner.name.to_string(),
            kind,
            name,
            features: kernel.host_build.features.clone(),
            profile: kernel.host_build.profile().to_owned(),
            // Of its own, so that tuning and the user's builds do not undo each other.
            target_dir: metadata.target_directory.as_std_path().join("fsr"),
            flags: locking.into(),
        }))
    }

    /// Where the CPU device's library comes from, unless a setting names it.
    pub fn cpu_device(&self) -> Source {
        match &self.origin {
            Origin::Bundle(_) => Source::File(bundle::cpu_device(&self.root)),
            Origin::Workspace { metadata, .. } => {
                let members = metadata.workspace_packages();
                let own = members.iter().find(|package| package.name.as_str() == PACKAGE);
                let own = own.map(|package| package.manifest_path.clone().into_std_path_buf());
                // Who takes the host library from a check-out has the CPU device there too.
                let beside = || {
                    let all = members.iter().flat_map(|package| &package.dependencies);
                    let mut host = all.filter(|dependency| dependency.name == "fsr-host");
                    let manifest =
                        host.find_map(|host| host.path.as_ref())?.join("../fsr-sim/libcuda/Cargo.toml");
                    manifest.is_file().then(|| manifest.into_std_path_buf())
                };
                match own.or_else(beside) {
                    Some(manifest) => Source::Workspace {
                        manifest,
                        target_dir: metadata.target_directory.as_std_path().join("fsr"),
                    },
                    None => Source::Registry,
                }
            }
        }
    }

    /// Whether this is a bundle: nothing is built, and journals live in the folder itself.
    pub fn is_bundle(&self) -> bool {
        matches!(self.origin, Origin::Bundle(_))
    }
}
