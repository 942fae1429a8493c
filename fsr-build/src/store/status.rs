//! Whether an entry still answers its spec.

use std::fmt;
use std::path::{Path, PathBuf};

use super::error::ReadError;
use super::manifest::{Manifest, ManifestError};
use super::{Entry, EntryPaths, read_entry};
use crate::key::{Change, Observed, Part};
use crate::spec::{Arch, KernelSpec};

/// What an entry is worth.
#[derive(Debug)]
#[non_exhaustive]
pub enum Status {
    /// Made from exactly these inputs.
    Fresh,
    /// The contract is the same; some evidence is not.
    Unverified {
        /// What is different.
        changes: Vec<Change>,
    },
    /// The contract is another.
    Stale {
        /// What is different, evidence too.
        changes: Vec<Change>,
    },
    /// There is none.
    Missing {
        /// Where its manifest would be.
        manifest: PathBuf,
    },
    /// A file is gone, or is not the one that the manifest records.
    Tampered {
        /// Which, and what is wrong with it.
        error: ReadError,
    },
    /// The manifest or another file cannot be read or used.
    Unreadable {
        /// Which, and why.
        error: ReadError,
    },
}

impl Status {
    /// One word: `fresh`, `unverified`, `stale`, `missing`, `tampered`, `conflict` (a merge that nobody resolved),
    /// `other-format` or `unreadable`.
    pub fn word(&self) -> &'static str {
        match self {
            Status::Fresh => "fresh",
            Status::Unverified { .. } => "unverified",
            Status::Stale { .. } => "stale",
            Status::Missing { .. } => "missing",
            Status::Tampered { .. } => "tampered",
            Status::Unreadable { error: ReadError::Manifest { error, .. } } => match **error {
                ManifestError::MergeConflict { .. } => "conflict",
                ManifestError::UnknownFormat { .. } => "other-format",
                _ => "unreadable",
            },
            Status::Unreadable { .. } => "unreadable",
        }
    }

    /// The inputs that are different, where the entry could be compared.
    pub fn changes(&self) -> &[Change] {
        match self {
            Status::Unverified { changes } | Status::Stale { changes } => changes,
            _ => &[],
        }
    }
}

impl fmt::Display for Status {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.word())?;
        match self {
            Status::Fresh => Ok(()),
            Status::Unverified { changes } | Status::Stale { changes } => {
                let changes: Vec<String> = changes.iter().map(Change::to_string).collect();
                write!(f, ": {}", changes.join(", "))
            }
            Status::Missing { manifest } => write!(f, ": no {}", manifest.display()),
            Status::Tampered { error } | Status::Unreadable { error } => write!(f, ": {error}"),
        }
    }
}

/// An entry's status, and the entry itself where it could be read.
#[derive(Debug)]
pub struct Examined {
    /// What it is worth.
    pub status: Status,
    /// The entry, if fresh, unverified or stale.
    pub entry: Option<Entry>,
}

/// Compares the entry of a kernel and architecture, in the package at `root`, with the inputs of now.
///
/// A build passes what it can see ([`Observed::of`]). A check insists on every input: it passes
/// [`Inputs::of`](crate::key::Inputs::of), which fails where a file is absent.
pub fn examine(root: &Path, kernel: &KernelSpec, arch: Arch, now: &Observed) -> Examined {
    examine_at(&EntryPaths::in_package(root, &kernel.name, arch), kernel, arch, now)
}

/// As [`examine`], for an entry that lies elsewhere, such as in a cache.
pub fn examine_at(paths: &EntryPaths, kernel: &KernelSpec, arch: Arch, now: &Observed) -> Examined {
    let entry = match read_entry(paths) {
        Ok(entry) => entry,
        Err(error) => return Examined { status: unreadable(error), entry: None },
    };
    let changes = entry.manifest.inputs.changes(now);
    let status = if changes.iter().any(|change| change.part == Part::Contract) {
        Status::Stale { changes }
    } else if let Some(reason) = contradiction(kernel, arch, &entry.manifest) {
        let error = ManifestError::Contradiction { reason }.into();
        let error = ReadError::Manifest { file: paths.manifest.clone(), error };
        return Examined { status: Status::Unreadable { error }, entry: None };
    } else if changes.is_empty() {
        Status::Fresh
    } else {
        Status::Unverified { changes }
    };
    Examined { status, entry: Some(entry) }
}

fn unreadable(error: ReadError) -> Status {
    match error {
        ReadError::Missing { manifest } => Status::Missing { manifest },
        ReadError::Tampered { .. } | ReadError::Lost { .. } => Status::Tampered { error },
        ReadError::Manifest { error: ref why, .. }
            if matches!(**why, ManifestError::WrongChecksum | ManifestError::WrongKey) =>
        {
            Status::Tampered { error }
        }
        ReadError::Manifest { .. } | ReadError::Io { .. } => Status::Unreadable { error },
    }
}

/// What a manifest for this very contract must not say.
fn contradiction(kernel: &KernelSpec, arch: Arch, manifest: &Manifest) -> Option<String> {
    if manifest.kernel != kernel.name {
        return Some(format!("it belongs to the kernel `{}`", manifest.kernel));
    }
    if manifest.arch != arch {
        return Some(format!("it belongs to {}", manifest.arch));
    }
    if manifest.entries != kernel.entries {
        return Some(format!("it has the entries {:?}", manifest.entries));
    }
    kernel.parameters().find_map(|name| match manifest.parameter(name) {
        None => Some(format!("it has no value for `{name}`")),
        Some(value) if !kernel.allows(name, value) => Some(format!("`{name} = {value}` is not in the spec")),
        Some(_) => None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture;
    use crate::key::Inputs;
    use crate::spec::PackageSpec;
    use crate::store::write_entry;

    struct Package {
        folder: tempfile::TempDir,
        spec: PackageSpec,
    }

    fn package() -> Package {
        let folder = fixture::package();
        Package { spec: fixture::spec(folder.path()), folder }
    }

    impl Package {
        /// Stores an entry that is fresh but for `change`.
        fn store(&self, change: impl FnOnce(&mut Manifest)) {
            let kernel = fixture::kernel(&self.spec);
            let arch = fixture::arch("sm_80");
            let mut entry = fixture::entry(&self.spec, kernel, arch, "x");
            change(&mut entry.manifest);
            write_entry(&EntryPaths::in_package(self.folder.path(), &kernel.name, arch), &entry).unwrap();
        }

        fn status(&self) -> String {
            let kernel = fixture::kernel(&self.spec);
            let arch = fixture::arch("sm_80");
            let now = Inputs::of(&self.spec, kernel, &arch).unwrap().into();
            let examined = examine(self.folder.path(), kernel, arch, &now);
            let usable = matches!(examined.status.word(), "fresh" | "unverified" | "stale");
            assert_eq!(examined.entry.is_some(), usable);
            let root = format!("{}{}", self.folder.path().display(), std::path::MAIN_SEPARATOR);
            examined.status.to_string().replace(&root, "").replace('\\', "/")
        }
    }

    #[test]
    fn what_was_stored_is_fresh() {
        let package = package();
        assert_eq!(package.status(), "missing: no fsr/transpose/sm_80.toml");
        package.store(|_| {});
        assert_eq!(package.status(), "fresh");
    }

    #[test]
    fn evidence_makes_unverified_and_contract_makes_stale() {
        let mut package = package();
        package.store(|_| {});
        package.spec.kernels.get_mut("transpose").unwrap().tolerance = None;
        assert_eq!(package.status(), "unverified: tolerance removed");
        package.spec.cuda = "13.0".parse().unwrap();
        assert_eq!(package.status(), "stale: cuda changed, tolerance removed");
    }

    #[test]
    fn a_manifest_that_contradicts_its_own_contract_is_no_use() {
        let status = |change: fn(&mut Manifest)| {
            let package = package();
            package.store(change);
            package.status().replace("unreadable: fsr/transpose/sm_80.toml cannot be used: ", "")
        };
        let told = [
            status(|manifest| manifest.kernel = "softmax".to_owned()),
            status(|manifest| manifest.entries.reverse()),
            status(|manifest| *manifest.tunables.get_mut("TILE").unwrap() = 7),
            status(|manifest| *manifest.launch.get_mut("BLOCK_X").unwrap() = 2048),
            status(|manifest| manifest.launch.clear()),
        ];
        insta::assert_snapshot!(told.join("\n"), @r#"
        it belongs to the kernel `softmax`
        it has the entries ["transpose_edge", "transpose"]
        `TILE = 7` is not in the spec
        `BLOCK_X = 2048` is not in the spec
        it has no value for `BLOCK_X`
        "#);
    }
}
