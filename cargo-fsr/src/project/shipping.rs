//! Do the files that a build needs reach others? git's rules and those of `cargo package`, for every entry.
//!
//! git is asked once a repository; cargo's rules are applied here, since `cargo package --list` takes seconds. Nothing
//! here looks into the files.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread;

use fsr_build::store::FOLDER;
use ignore::gitignore::{Gitignore, GitignoreBuilder};
use toml::{Table, Value};

use super::{EntryState, Package, ProjectError};

/// The rules of all packages.
#[derive(Debug)]
pub struct Shipping {
    ignored: BTreeSet<PathBuf>,
    /// What git could not say, and why.
    unknown: Vec<String>,
    /// By the package's folder.
    rules: BTreeMap<PathBuf, Rules>,
}

/// Why a file does not reach others.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LeftOut {
    /// git ignores it.
    ByGit {
        /// Relative to the package, with `/`.
        file: String,
        /// What brings it in.
        remedy: String,
    },
    /// `package.include` has no pattern for it.
    NotIncluded {
        /// Relative to the package, with `/`.
        file: String,
        /// A pattern that would do.
        pattern: String,
    },
    /// `package.exclude` has one, or it is hidden and there is no repository.
    Excluded {
        /// Relative to the package, with `/`.
        file: String,
    },
}

impl LeftOut {
    /// One word for the state of the entry.
    pub fn word(&self) -> &'static str {
        match self {
            Self::ByGit { .. } => "ignored",
            Self::NotIncluded { .. } | Self::Excluded { .. } => "unpackaged",
        }
    }

    /// The file, relative to the package, with `/`.
    pub fn file(&self) -> &str {
        match self {
            Self::ByGit { file, .. } | Self::NotIncluded { file, .. } | Self::Excluded { file } => file,
        }
    }

    /// The command that mends it, where one does.
    pub fn remedy(&self) -> Option<String> {
        match self {
            Self::ByGit { remedy, .. } => Some(remedy.clone()),
            Self::NotIncluded { .. } | Self::Excluded { .. } => None,
        }
    }
}

impl fmt::Display for LeftOut {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::ByGit { file, .. } => write!(f, "git ignores {file}, so nobody else would get it"),
            Self::NotIncluded { file, pattern } => {
                write!(f, "`cargo package` leaves {file} out: add \"{pattern}\" to `package.include`")
            }
            Self::Excluded { file } => {
                write!(
                    f,
                    "`cargo package` leaves {file} out: `package.exclude` or a rule of cargo matches it"
                )
            }
        }
    }
}

impl Shipping {
    /// Reads the rules that concern these entries; `root` is the workspace's folder.
    ///
    /// # Errors
    /// When a manifest cannot be read or has a pattern that means nothing.
    pub fn of(states: &[EntryState<'_>], root: &Path) -> Result<Self, ProjectError> {
        let mut rules = BTreeMap::new();
        let mut repositories: BTreeMap<PathBuf, BTreeSet<PathBuf>> = BTreeMap::new();
        for state in states.iter().filter(|state| state.entry.is_some()) {
            let package = state.package;
            if !rules.contains_key(&package.spec.root) {
                rules.insert(package.spec.root.clone(), Rules::of(package, root)?);
            }
            for file in needed(state) {
                if let Some(repository) = repository(&file) {
                    repositories.entry(repository.to_owned()).or_default().insert(file);
                }
            }
        }
        let (mut all, mut unknown) = (BTreeSet::new(), Vec::new());
        for (repository, files) in &repositories {
            match ignored(repository, files) {
                Ok(files) => all.extend(files),
                Err(why) => unknown.push(format!(
                    "whether git ignores entries in {} is not known: {why}",
                    repository.display()
                )),
            }
        }
        Ok(Self { ignored: all, unknown, rules })
    }

    /// What git could not say, and why.
    pub fn unknown(&self) -> &[String] {
        &self.unknown
    }

    /// The first file of an entry that does not reach others.
    pub fn left_out(&self, state: &EntryState<'_>) -> Option<LeftOut> {
        let root = &state.package.spec.root;
        let rules = self.rules.get(root);
        needed(state).find_map(|path| {
            let inside = path.strip_prefix(root).unwrap_or(&path);
            let file = inside.components().map(|part| part.as_os_str().to_string_lossy());
            let file = file.collect::<Vec<_>>().join("/");
            if self.ignored.contains(&path) {
                // The other entries are ignored too, as a rule.
                let store = root.join(FOLDER);
                let add = if path.starts_with(&store) { &store } else { &path };
                return Some(LeftOut::ByGit { file, remedy: format!("git add --force {}", add.display()) });
            }
            match rules? {
                Rules::Include(included) if !is_matched(included, inside) => {
                    let folder = file.split_once('/').map_or(file.as_str(), |(folder, _)| folder);
                    Some(LeftOut::NotIncluded { pattern: format!("/{folder}"), file })
                }
                Rules::Exclude(excluded) if is_matched(excluded, inside) => Some(LeftOut::Excluded { file }),
                Rules::Include(_) | Rules::Exclude(_) => None,
            }
        })
    }
}

/// What a build cannot do without: the entry, and the task where it is a file. Evidence may be absent.
fn needed(state: &EntryState<'_>) -> impl Iterator<Item = PathBuf> + use<> {
    let task = state.kernel.task.file.as_ref().map(|path| path.under(&state.package.spec.root));
    state.paths().chain(task)
}

/// `include` alone decides where there is one; otherwise `exclude` does.
#[derive(Debug)]
enum Rules {
    Include(Gitignore),
    Exclude(Gitignore),
}

impl Rules {
    fn of(package: &Package, root: &Path) -> Result<Self, ProjectError> {
        let manifest = &package.spec.manifest;
        let own = table(manifest)?;
        let mut inherited = None;
        let mut patterns = |key: &str| -> Result<Vec<String>, ProjectError> {
            let Some(value) = own.get("package").and_then(|package| package.get(key)) else {
                return Ok(Vec::new());
            };
            if value.get("workspace").is_none() {
                return Ok(strings(value));
            }
            if inherited.is_none() {
                inherited = Some(table(&root.join("Cargo.toml"))?);
            }
            let workspace = inherited.as_ref().and_then(|table| table.get("workspace"));
            let value = workspace.and_then(|workspace| workspace.get("package")?.get(key));
            Ok(value.map(strings).unwrap_or_default())
        };
        let build = |patterns: &[String]| {
            let mut builder = GitignoreBuilder::new(&package.spec.root);
            for pattern in patterns {
                builder.add_line(None, pattern).map_err(|error| fault(manifest, &error))?;
            }
            builder.build().map_err(|error| fault(manifest, &error))
        };
        let include = patterns("include")?;
        if !include.is_empty() {
            return build(&include).map(Self::Include);
        }
        let mut exclude = patterns("exclude")?;
        // cargo's own rule for a package that is in no repository.
        if repository(manifest).is_none() {
            exclude.insert(0, ".*".to_owned());
        }
        build(&exclude).map(Self::Exclude)
    }
}

fn is_matched(rules: &Gitignore, file: &Path) -> bool {
    rules.matched_path_or_any_parents(file, false).is_ignore()
}

fn table(manifest: &Path) -> Result<Table, ProjectError> {
    let text = std::fs::read_to_string(manifest)
        .map_err(|source| ProjectError::Io { path: manifest.to_owned(), source })?;
    // cargo has read it before, with better words for what is wrong.
    text.parse().map_err(|error: toml::de::Error| fault(manifest, &error))
}

fn strings(value: &Value) -> Vec<String> {
    let all = value.as_array().into_iter().flatten();
    all.filter_map(|value| value.as_str().map(str::to_owned)).collect()
}

fn fault(manifest: &Path, error: &dyn fmt::Display) -> ProjectError {
    ProjectError::Cargo { message: format!("{}: {error}", manifest.display()) }
}

/// The repository that a file lies in; one may lie in another.
fn repository(file: &Path) -> Option<&Path> {
    file.ancestors().skip(1).find(|folder| folder.join(".git").exists())
}

/// Which of the files git would leave out of a commit; or why it does not say.
fn ignored(repository: &Path, files: &BTreeSet<PathBuf>) -> Result<Vec<PathBuf>, String> {
    let git = Command::new("git")
        .arg("-C")
        .arg(repository)
        .args(["check-ignore", "-z", "--stdin"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn();
    let mut git = git.map_err(|error| format!("git could not be started: {error}"))?;
    let asked: Vec<u8> =
        files.iter().flat_map(|file| [file.as_os_str().as_encoded_bytes(), b"\0"].concat()).collect();
    let stdin = git.stdin.take();
    // Apart, since git answers while it is asked. It may end before: then it has no answer.
    let asking = thread::spawn(move || stdin.map(|mut stdin| stdin.write_all(&asked)));
    let output = git.wait_with_output().map_err(|error| error.to_string())?;
    let _ = asking.join();
    // 1 stands for none.
    if !matches!(output.status.code(), Some(0 | 1)) {
        let said = String::from_utf8_lossy(&output.stderr);
        return Err(said.lines().next().unwrap_or("it failed").trim_start_matches("fatal: ").to_owned());
    }
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    Ok(text.split('\0').filter(|path| !path.is_empty()).map(PathBuf::from).collect())
}
