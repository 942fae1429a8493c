//! What is wrong with an entry, in the words that every form of `check` shows: one finding an entry, the gravest.
//!
//! Owns the words, their kinds, the commands that mend them and the place to look at. Changes nothing.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use fsr_build::key::Part;
use fsr_build::spec::Arch;
use fsr_build::store::{self, EntryPaths, ManifestError, ReadError, Status};

use super::{EntryState, Package, ProjectError, Shipping, Standing};

/// What has to be done about a finding. Exit codes follow it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    /// What is stored does not reach others, or belongs to no spec.
    Astray,
    /// There is none for this spec: tune, or verify.
    Unfit,
    /// What is stored cannot be trusted or read.
    Damaged,
}

/// One entry that is not as it should be.
#[derive(Clone, Debug)]
pub struct Finding {
    /// What has to be done.
    pub kind: Kind,
    /// One word.
    pub word: &'static str,
    /// Why.
    pub cause: String,
    /// The command that mends it, where one does.
    pub remedy: Option<String>,
    /// The file to look at.
    pub file: PathBuf,
    /// The line in it, from 1, where one is known.
    pub line: Option<usize>,
}

impl Finding {
    /// What is wrong with an entry that a spec asks for; nothing when it is fresh and reaches others.
    pub fn of(state: &EntryState<'_>, shipping: &Shipping) -> Option<Self> {
        let spec = &state.package.spec;
        if !state.standing.is_fresh() {
            let (file, line) = place(state);
            return Some(Self {
                kind: kind(&state.standing),
                word: state.standing.word(),
                cause: state.standing.reason(),
                remedy: state.standing.remedy(&spec.package, &state.kernel.name),
                file,
                line,
            });
        }
        shipping.left_out(state).map(|left_out| Self {
            kind: Kind::Astray,
            word: left_out.word(),
            cause: left_out.to_string(),
            remedy: left_out.remedy(),
            file: spec.root.join(left_out.file()),
            line: None,
        })
    }
}

fn kind(standing: &Standing) -> Kind {
    match standing {
        Standing::Compared(Status::Tampered { .. } | Status::Unreadable { .. }) => Kind::Damaged,
        Standing::Compared(_) | Standing::InputMissing(_) => Kind::Unfit,
    }
}

/// Where somebody who wants to mend it looks first.
fn place(state: &EntryState<'_>) -> (PathBuf, Option<usize>) {
    let spec = &state.package.spec;
    match &state.standing {
        Standing::Compared(Status::Tampered { error } | Status::Unreadable { error }) => {
            let line = match error {
                ReadError::Manifest { error, .. } => match **error {
                    ManifestError::MergeConflict { line } => Some(line),
                    ManifestError::Fault { place, .. } => place.map(|(line, _)| line),
                    _ => None,
                },
                _ => None,
            };
            (error.file().to_owned(), line)
        }
        Standing::InputMissing(error) => (error.path().to_owned(), None),
        Standing::Compared(status) => {
            // Changed evidence lies in its own file; everything else is the declaration.
            let evidence = status.changes().iter().all(|change| change.part == Part::Evidence);
            let changed = status.changes().iter().find_map(|change| state.kernel.file_of(&change.name));
            match changed.filter(|_| evidence) {
                Some(file) => (file.under(&spec.root), None),
                None => (spec.manifest.clone(), line_of(&spec.manifest, &state.kernel.name)),
            }
        }
    }
}

/// The line on which `Cargo.toml` declares a kernel, as people write it; none where it is written otherwise.
fn line_of(manifest: &Path, kernel: &str) -> Option<usize> {
    let text = std::fs::read_to_string(manifest).ok()?;
    let header = format!("[package.metadata.fsr.kernels.{kernel}]");
    text.lines().position(|line| line.trim_start().starts_with(&header)).map(|at| at + 1)
}

/// An entry that no spec asks for.
#[derive(Debug)]
pub struct Orphan {
    /// The kernel's name: its folder.
    pub kernel: String,
    /// The target.
    pub arch: Arch,
    /// Its files.
    pub paths: EntryPaths,
    known_kernel: bool,
}

impl Orphan {
    /// As a finding of this package.
    pub fn finding(&self, package: &Package) -> Finding {
        let cause = if self.known_kernel {
            format!("`arch` does not list {}", self.arch)
        } else {
            format!("no kernel of the package is called `{}`", self.kernel)
        };
        Finding {
            kind: Kind::Astray,
            word: "orphaned",
            cause,
            remedy: Some(format!("cargo fsr prune -p {}", package.spec.package)),
            file: self.paths.manifest.clone(),
            line: None,
        }
    }
}

impl Package {
    /// The entries of this package's store that its spec does not ask for, sorted.
    ///
    /// # Errors
    /// When the store is there and cannot be listed.
    pub fn orphans(&self) -> Result<Vec<Orphan>, ProjectError> {
        let wanted: BTreeSet<Arch> = self.spec.archs.iter().copied().collect();
        let folder = |kernel: &str| self.spec.root.join(store::FOLDER).join(kernel);
        let real = |kernel: &String| folder(kernel).canonicalize().ok();
        let kept: BTreeSet<PathBuf> = self.spec.kernels.keys().filter_map(real).collect();
        let stored = store::list(&self.spec.root)
            .map_err(|source| ProjectError::Io { path: self.spec.root.join(store::FOLDER), source })?
            .into_iter();
        let orphans = stored.filter_map(|(kernel, arch)| {
            let known_kernel = self.spec.kernels.contains_key(&kernel);
            // A link, or a name that differs in case where that makes no difference: what lies there is somebody's.
            let alias =
                folder(&kernel).is_symlink() || real(&kernel).is_some_and(|real| kept.contains(&real));
            if !known_kernel && alias {
                return None;
            }
            (!known_kernel || !wanted.contains(&arch)).then(|| Orphan {
                paths: EntryPaths::in_package(&self.spec.root, &kernel, arch),
                kernel,
                arch,
                known_kernel,
            })
        });
        Ok(orphans.collect())
    }
}
