//! The host target: found among a package's targets and built once with the user's own cargo.
//!
//! It is built in a target folder of its own, so that the user's other builds and this one do not undo each other.
//! Nothing here runs the result.

use std::fmt;
use std::io::BufReader;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::{Duration, Instant};

use cargo_metadata::{Message, Package, TargetKind as Kind};

use super::JudgeError;
use super::child::{Group, Tail};

/// Bytes of cargo's messages that are kept for an error.
const LOG: usize = 256 * 1024;

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

/// How cargo may resolve and download, forwarded exactly.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CargoFlags {
    /// `Cargo.lock` must not change.
    pub locked: bool,
    /// No network.
    pub offline: bool,
    /// Both.
    pub frozen: bool,
}

impl CargoFlags {
    /// The flags for a cargo command.
    pub fn arguments(self) -> impl Iterator<Item = &'static str> {
        [("--locked", self.locked || self.frozen), ("--offline", self.offline || self.frozen)]
            .into_iter()
            .filter_map(|(flag, set)| set.then_some(flag))
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

/// Takes pieces of a program's messages as they come.
pub type Forward = Box<dyn FnMut(&[u8]) + Send>;

/// What surrounds a build.
pub struct BuildOptions {
    /// Shown cargo's messages as they come, where the user wants to see them.
    pub forward: Option<Forward>,
    /// Whether messages may be coloured.
    pub color: bool,
    /// Ends the build.
    pub interrupt: Arc<AtomicBool>,
    /// Ends a build that takes longer.
    pub deadline: Duration,
}

impl Default for BuildOptions {
    fn default() -> Self {
        Self { forward: None, color: false, interrupt: Arc::default(), deadline: Duration::from_secs(3600) }
    }
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
        let BuildOptions { forward, color, interrupt, deadline } = options;
        let mut group = Group::spawn(self.command(color))
            .map_err(|error| JudgeError::Process(format!("cargo could not be started: {error}")))?;
        let (stdout, stderr) = group.streams();
        let mut forward = forward;
        let log = Tail::drain(stderr, LOG, move |piece| {
            if let Some(forward) = &mut forward {
                forward(piece);
            }
        });
        let (sender, messages) = mpsc::channel();
        if let Some(stdout) = stdout {
            thread::spawn(move || {
                for message in Message::parse_stream(BufReader::new(stdout)).map_while(Result::ok) {
                    if sender.send(message).is_err() {
                        break;
                    }
                }
            });
        }

        let end = Instant::now() + deadline;
        let mut executable = None;
        let mut linked = Vec::new();
        loop {
            match messages.recv_timeout(Duration::from_millis(50)) {
                Ok(Message::CompilerArtifact(artifact)) if self.is_made_by(&artifact) => {
                    executable = artifact.executable.map(PathBuf::from);
                }
                Ok(Message::BuildScriptExecuted(script)) => {
                    linked.extend(script.linked_paths.into_iter().map(PathBuf::from));
                }
                Ok(Message::BuildFinished(_)) | Err(RecvTimeoutError::Disconnected) => break,
                Ok(_) | Err(RecvTimeoutError::Timeout) => {}
            }
            if interrupt.load(Ordering::Relaxed) {
                return Err(JudgeError::Interrupted);
            }
            if Instant::now() >= end {
                group.kill();
                let log = log.text(Duration::from_millis(100));
                return Err(JudgeError::Build {
                    log: format!(
                        "{log}\ncargo was stopped: the build took longer than {} s",
                        deadline.as_secs()
                    ),
                });
            }
        }
        let status = group.wait(Duration::from_secs(30))?;
        match (status.is_some_and(|status| status.success()), executable) {
            (true, Some(executable)) => {
                let library_paths = self.library_paths(&executable, linked);
                Ok(BuiltTarget { executable, library_paths })
            }
            (true, None) => Err(JudgeError::Process(format!(
                "cargo built {} `{}` of `{}` and named no executable",
                self.kind, self.name, self.package
            ))),
            (false, _) => Err(JudgeError::Build { log: complaints(&log.text(Duration::from_secs(2))) }),
        }
    }

    fn command(&self, color: bool) -> Command {
        let mut command = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
        command
            .args(["build", "--message-format", "json-render-diagnostics"])
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
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
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

/// cargo's messages without its progress.
fn complaints(log: &str) -> String {
    let is_progress = |line: &&str| {
        let plain = anstream::adapter::strip_str(line).to_string();
        let text = plain.trim_start();
        // Verbs are right-aligned; what a compiler quotes is not of this form.
        plain.len() > text.len()
            && ["Blocking ", "Compiling ", "Downloading ", "Downloaded "]
                .iter()
                .any(|verb| text.starts_with(verb))
    };
    log.trim_end().lines().filter(|line| !is_progress(line)).collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frozen_is_locked_and_offline() {
        let flags = |locked, offline, frozen| {
            CargoFlags { locked, offline, frozen }.arguments().collect::<Vec<_>>().join(" ")
        };
        assert_eq!(flags(false, false, false), "");
        assert_eq!(flags(true, false, false), "--locked");
        assert_eq!(flags(false, true, false), "--offline");
        assert_eq!(flags(false, false, true), "--locked --offline");
        assert_eq!(flags(true, true, true), "--locked --offline");
    }

    #[test]
    fn progress_is_no_complaint() {
        let log = "    Blocking waiting for file lock on artifact directory\n   Compiling serde v1.0.0\n\u{1b}[1m\u{1b}[92m   Compiling\u{1b}[0m ops v0.1.0\nerror: bad\n  --> x.rs:1\n";
        assert_eq!(complaints(log), "error: bad\n  --> x.rs:1");
    }
}
