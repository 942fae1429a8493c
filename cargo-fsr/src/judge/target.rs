//! The host target: found among a package's targets and built once with the user's own cargo.
//!
//! It is built in a target folder of its own, so that the user's other builds and this one do not undo each other.
//! Nothing here runs the result.

use std::fmt;
use std::path::{Path, PathBuf};
use std::process::Command;

use cargo_metadata::{Message, Package, TargetKind as Kind};

use super::JudgeError;
use super::cargo::{self, BuildOptions, CargoFlags};

/// Kinds of target that can hold a `main` of the host launch code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TargetKind {
    /// `examples/`.
    Example,
    /// `src/bin/` or `src/main.rs`.
    Bin,
    /// `tests/`, with `harness = false`.
    Test,
}

impl TargetKind {
    fn of(kinds: &[Kind]) -> Option<Self> {
        kinds.iter().find_map(|kind| match kind {
            Kind::Example => Some(Self::Example),
            Kind::Bin => Some(Self::Bin),
            Kind::Test => Some(Self::Test),
            _ => None,
        })
    }

    fn flag(self) -> &'static str {
        match self {
            Self::Example => "--example",
            Self::Bin => "--bin",
            Self::Test => "--test",
        }
    }
}

impl fmt::Display for TargetKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.flag()[2..])
    }
}

/// The cargo target that runs a kernel's host launch code, and how it is built.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HostTarget {
    /// `Cargo.toml` of the package, or of its workspace.
    pub manifest: PathBuf,
    /// Name of the package that has the target.
    pub package: String,
    /// Example, binary or test.
    pub kind: TargetKind,
    /// Name of the target.
    pub name: String,
    /// `host-features` of the spec, added to the default ones.
    pub features: Vec<String>,
    /// `host-profile` of the spec; `release` by default.
    pub profile: String,
    /// Where it is built: `<target>/fsr`.
    pub target_dir: PathBuf,
    /// Forwarded to cargo.
    pub flags: CargoFlags,
}

/// A built host target.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BuiltTarget {
    /// The program.
    pub executable: PathBuf,
    /// Folders of shared libraries that cargo itself would put into the loader's path when it runs the program.
    pub library_paths: Vec<PathBuf>,
}

impl HostTarget {
    /// Finds the target of `package` whose source is the host file `file`, a path relative to the package.
    pub fn find(package: &Package, file: &Path) -> Result<(TargetKind, String), JudgeError> {
        let root = package.manifest_path.parent().map(|root| root.as_std_path()).unwrap_or(Path::new(""));
        let source = root.join(file);
        let same = |path: &Path| {
            path == source || matches!((path.canonicalize(), source.canonicalize()), (Ok(a), Ok(b)) if a == b)
        };
        let mut candidates = Vec::new();
        for target in &package.targets {
            let Some(kind) = TargetKind::of(&target.kind) else { continue };
            if same(target.src_path.as_std_path()) {
                return Ok((kind, target.name.clone()));
            }
            let path = target.src_path.as_std_path();
            candidates.push(path.strip_prefix(root).unwrap_or(path).display().to_string());
        }
        candidates.sort();
        Err(JudgeError::NoTarget {
            package: package.name.to_string(),
            file: file.to_owned(),
            exists: source.is_file(),
            candidates,
        })
    }

    /// Builds it, or finds it built.
    pub fn build(&self, options: BuildOptions) -> Result<BuiltTarget, JudgeError> {
        let mut executable = None;
        let mut linked = Vec::new();
        cargo::run(self.command(options.color), options, |message| match message {
            Message::CompilerArtifact(artifact) if self.is_made_by(&artifact) => {
                executable = artifact.executable.map(PathBuf::from);
            }
            Message::BuildScriptExecuted(script) => {
                linked.extend(script.linked_paths.into_iter().map(PathBuf::from));
            }
            _ => {}
        })?;
        let executable = executable.ok_or_else(|| {
            JudgeError::Process(format!(
                "cargo built {} `{}` of `{}` and named no executable",
                self.kind, self.name, self.package
            ))
        })?;
        let library_paths = self.library_paths(&executable, linked);
        Ok(BuiltTarget { executable, library_paths })
    }

    fn command(&self, color: bool) -> Command {
        let mut command = cargo::build();
        command
            .arg("--manifest-path")
            .arg(&self.manifest)
            .args(["--package", &self.package, self.kind.flag(), &self.name, "--profile", &self.profile])
            .arg("--target-dir")
            .arg(&self.target_dir)
            .args(["--color", if color { "always" } else { "never" }])
            .args(self.flags.arguments());
        if !self.features.is_empty() {
            command.arg("--features").arg(self.features.join(","));
        }
        // fsr-build leaves out what is not tuned yet instead of failing.
        command.env("FSR_TUNING", "1");
        command
    }

    fn is_made_by(&self, artifact: &cargo_metadata::Artifact) -> bool {
        artifact.executable.is_some()
            && artifact.target.name == self.name
            && TargetKind::of(&artifact.target.kind) == Some(self.kind)
    }

    /// What `cargo run` would add, but for the toolchain's own libraries: folders that build scripts named inside the
    /// target folder, and the profile's `deps` folder.
    fn library_paths(&self, executable: &Path, linked: Vec<PathBuf>) -> Vec<PathBuf> {
        let mut paths: Vec<PathBuf> = Vec::new();
        for path in linked {
            let path = match path.to_str().and_then(|text| text.split_once('=')) {
                Some(("native" | "crate" | "dependency" | "framework" | "all", path)) => PathBuf::from(path),
                _ => path,
            };
            if path.starts_with(&self.target_dir) && !paths.contains(&path) {
                paths.push(path);
            }
        }
        let folder = executable.parent();
        let profile = match self.kind {
            TargetKind::Bin => folder,
            TargetKind::Example | TargetKind::Test => folder.and_then(Path::parent),
        };
        paths.extend(profile.into_iter().flat_map(|profile| [profile.join("deps"), profile.to_owned()]));
        paths
    }
}
