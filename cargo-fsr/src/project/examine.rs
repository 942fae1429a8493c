//! The state of every entry of a project, as a check sees it: strictly, with every input there.

use std::path::PathBuf;

use fsr_build::key::{InputError, Inputs};
use fsr_build::spec::{Arch, KernelSpec};
use fsr_build::store::{self, Entry, EntryPaths, Status};

use super::Package;

/// One entry that a spec asks for.
#[derive(Debug)]
pub struct EntryState<'a> {
    /// The package.
    pub package: &'a Package,
    /// The kernel.
    pub kernel: &'a KernelSpec,
    /// The target.
    pub arch: Arch,
    /// How it stands.
    pub standing: Standing,
    /// The entry, where it can be read.
    pub entry: Option<Entry>,
    paths: EntryPaths,
}

impl EntryState<'_> {
    /// Where it lies.
    pub fn entry_paths(&self) -> EntryPaths {
        self.paths.clone()
    }

    /// Its three files.
    pub fn paths(&self) -> impl Iterator<Item = PathBuf> + use<> {
        let EntryPaths { manifest, ptx, source } = self.entry_paths();
        [manifest, ptx, source].into_iter()
    }
}

/// How an entry stands.
#[derive(Debug)]
pub enum Standing {
    /// Compared with its spec.
    Compared(Status),
    /// A file that the spec names cannot be read.
    InputMissing(InputError),
}

impl Standing {
    /// Whether nothing has to be done.
    pub fn is_fresh(&self) -> bool {
        matches!(self, Self::Compared(Status::Fresh))
    }

    /// One word.
    pub fn word(&self) -> &'static str {
        match self {
            Self::Compared(status) => status.word(),
            Self::InputMissing(_) => "input-missing",
        }
    }

    /// Why it is not fresh, without the word; empty when it is.
    pub fn reason(&self) -> String {
        match self {
            Self::Compared(status) => {
                let text = status.to_string();
                text.split_once(": ").map(|(_, reason)| reason.to_owned()).unwrap_or_default()
            }
            Self::InputMissing(error) => format!("{error}; restore it, or take it out of the spec"),
        }
    }

    /// The command that mends it, for a kernel of a package; `None` when it is fresh.
    pub fn remedy(&self, package: &str, kernel: &str) -> Option<String> {
        match self {
            Self::Compared(Status::Fresh) | Self::InputMissing(_) => None,
            Self::Compared(Status::Unverified { .. }) => {
                Some(format!("cargo fsr verify --update -p {package} {kernel}"))
            }
            Self::Compared(_) => Some(format!("cargo fsr tune -p {package} {kernel}")),
        }
    }
}

impl Package {
    /// Examines one kernel's entries, in the order of the spec's archs.
    pub fn examine<'a>(&'a self, kernel: &'a KernelSpec) -> Vec<EntryState<'a>> {
        self.examine_in(kernel, |arch| EntryPaths::in_package(&self.spec.root, &kernel.name, arch))
    }

    /// As [`examine`](Self::examine), for entries that lie elsewhere.
    pub fn examine_in<'a>(
        &'a self,
        kernel: &'a KernelSpec,
        place: impl Fn(Arch) -> EntryPaths,
    ) -> Vec<EntryState<'a>> {
        let state = |arch: &Arch| {
            let paths = place(*arch);
            let (standing, entry) = match Inputs::of(&self.spec, kernel, arch) {
                Ok(now) => {
                    let examined = store::examine_at(&paths, kernel, *arch, &now.into());
                    (Standing::Compared(examined.status), examined.entry)
                }
                Err(error) => (Standing::InputMissing(error), None),
            };
            EntryState { package: self, kernel, arch: *arch, standing, entry, paths }
        };
        self.spec.archs.iter().map(state).collect()
    }
}

#[cfg(test)]
mod tests {
    use fsr_build::spec::PackageSpec;

    use super::*;

    #[test]
    fn entries_elsewhere_are_examined_there() {
        let manifest = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../example-crate/Cargo.toml");
        let spec = PackageSpec::read(&manifest).expect("a spec").expect("kernels");
        let package = Package { search: spec.search, spec };
        let kernel = &package.spec.kernels["saxpy"];
        assert!(package.examine(kernel).iter().all(|state| state.standing.is_fresh()));
        let empty = tempfile::tempdir().expect("a folder");
        for state in package.examine_in(kernel, |arch| EntryPaths::in_folder(empty.path(), arch)) {
            assert_eq!(state.standing.word(), "missing");
            assert!(state.paths().all(|path| path.starts_with(empty.path())));
        }
    }
}
