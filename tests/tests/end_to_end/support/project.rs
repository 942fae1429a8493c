//! A temporary package with one kernel, its host launch code and a scripted model.

use std::collections::BTreeMap;
use std::fmt;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

use super::command::Run;
use super::fixture;
use super::machine::{self, CUDA};

/// Files by their path in a folder, with `/`.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Files(pub BTreeMap<String, Vec<u8>>);

impl fmt::Debug for Files {
    /// The beginning of each file: enough to see which one is another.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let head = |bytes: &Vec<u8>| {
            let head: String = String::from_utf8_lossy(bytes).chars().take(200).collect();
            format!("{} bytes: {head}", bytes.len())
        };
        f.debug_map().entries(self.0.iter().map(|(path, content)| (path, head(content)))).finish()
    }
}

impl std::ops::Index<&str> for Files {
    type Output = [u8];

    fn index(&self, path: &str) -> &[u8] {
        &self.0[path]
    }
}

/// A package `ops` with the kernel `saxpy`.
pub struct Project {
    root: PathBuf,
    /// The folder is the same in each run: two runs at once wait for each other.
    _turn: File,
}

impl Project {
    /// An untuned package in a folder of its own. The name must be no other test's.
    pub fn new(name: &str) -> Self {
        let turn = machine::turn(name);
        let folder = machine::home().join(name);
        let root = folder.join("ops");
        let (program, model) = (machine::PROGRAM, root.join("model"));
        let workspace = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
        let lock = fs::read_to_string(workspace.join("Cargo.lock")).unwrap();
        assert!(Path::new(program).is_file());
        let files = [
            ("Cargo.toml", cargo_toml(name, workspace)),
            // With the workspace's versions nothing has to be looked up or downloaded.
            ("Cargo.lock", lock),
            ("fsr.toml", fsr_toml(&model)),
            ("build.rs", "fn main() {\n    fsr_build::embed();\n}\n".to_owned()),
            ("src/lib.rs", fixture::LIBRARY.to_owned()),
            ("src/main.rs", fixture::PROGRAM.to_owned()),
            ("examples/fsr_saxpy.rs", fixture::HOST.to_owned()),
            ("kernels/saxpy.cu", fixture::BASELINE.to_owned()),
            ("model/model.sh", fixture::MODEL.to_owned()),
        ];
        let files = files.map(|(path, text)| (path.to_owned(), text.into_bytes()));
        for own in ["state", "cache", "config", "ops/model/asked"] {
            let _ = fs::remove_dir_all(folder.join(own));
        }
        sync(&root, &Files(files.into()));
        fs::create_dir_all(model.join("asked")).unwrap();
        Self { root, _turn: turn }
    }

    /// The same, tuned: entries in `fsr/`, the journal of the run that made them as a recording in `recorded/`.
    pub fn tuned(name: &str) -> Self {
        let project = Self::new(name);
        for (path, content) in &fixture::tuned().0 {
            project.write(path, content);
        }
        project
    }

    /// An empty folder for a test that needs no project.
    pub fn empty(name: &str) -> PathBuf {
        let folder = machine::home().join(name);
        let _ = fs::remove_dir_all(&folder);
        fs::create_dir_all(&folder).unwrap();
        folder
    }

    /// Another folder, of which no cargo knows, with a scripted model.
    pub fn elsewhere(&self, path: &str) -> Self {
        let there = Self { root: self.path(path), _turn: machine::turn("elsewhere") };
        there.write("fsr.toml", fsr_toml(&there.path("model")));
        there.write("model/model.sh", fixture::MODEL);
        fs::create_dir_all(there.path("model/asked")).unwrap();
        there
    }

    /// Files of the scripted model: what it says to the first prompt, to the second, and so on.
    pub fn answers(&self, answers: &[&str]) {
        for (at, answer) in (1..).zip(answers) {
            self.write(&format!("model/answers/{at}.md"), answer);
        }
    }

    /// The prompts that the scripted model was asked, in the order of asking.
    pub fn asked(&self) -> Vec<String> {
        let number = |path: &String| path.split('/').next().and_then(|number| number.parse::<u32>().ok());
        let mut prompts: Vec<_> = self.files("model/asked").0.into_iter().collect();
        prompts.sort_by_key(|(path, _)| number(path));
        prompts.into_iter().map(|(_, text)| String::from_utf8_lossy(&text).into_owned()).collect()
    }

    pub fn path(&self, path: &str) -> PathBuf {
        self.root.join(path)
    }

    pub fn write(&self, path: &str, content: impl AsRef<[u8]>) {
        let path = self.path(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, content).unwrap();
    }

    #[track_caller]
    pub fn read(&self, path: &str) -> String {
        fs::read_to_string(self.path(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
    }

    #[track_caller]
    pub fn edit(&self, path: &str, from: &str, to: &str) {
        let text = self.read(path);
        assert!(text.contains(from), "{path} has no {from:?}");
        self.write(path, text.replace(from, to));
    }

    /// Takes a file or a folder away.
    pub fn remove(&self, path: &str) {
        let path = self.path(path);
        if path.is_dir() { fs::remove_dir_all(path).unwrap() } else { fs::remove_file(path).unwrap() }
    }

    /// Puts a program of `PATH`, or the one under test, into the project's `bin`.
    pub fn link(&self, program: &str) {
        let path = std::env::var_os("PATH").unwrap();
        let found = match program {
            "cargo-fsr" => Some(PathBuf::from(machine::PROGRAM)),
            _ => std::env::split_paths(&path).map(|folder| folder.join(program)).find(|path| path.is_file()),
        };
        fs::create_dir_all(self.path("bin")).unwrap();
        std::os::unix::fs::symlink(found.unwrap(), self.path("bin").join(program)).unwrap();
    }

    /// Waits until the scripted model was asked once.
    #[track_caller]
    pub fn wait_until_asked(&self) {
        let asked = self.path("model/asked");
        let end = Instant::now() + Duration::from_secs(120);
        while fs::read_dir(&asked).unwrap().next().is_none() {
            assert!(Instant::now() < end, "nobody was asked");
            thread::sleep(Duration::from_millis(20));
        }
    }

    /// `cargo-fsr` with these words. State, cache and configuration are the project's own.
    pub fn fsr(&self, words: &str) -> Run {
        let folder = self.root.parent().unwrap();
        Run::new(machine::PROGRAM, words, &self.root)
            .env("FSR_STATE_DIR", folder.join("state"))
            .env("FSR_CACHE_DIR", folder.join("cache"))
            .env("FSR_CONFIG_DIR", folder.join("config"))
    }

    /// The user's cargo.
    pub fn cargo(&self, words: &str) -> Run {
        let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
        Run::new(cargo, words, &self.root)
    }

    /// Any program.
    pub fn run(&self, program: &str, words: &str) -> Run {
        Run::new(program, words, &self.root)
    }

    /// All files of the store.
    pub fn stored(&self) -> Files {
        self.files("fsr")
    }

    /// All files of a folder.
    pub fn files(&self, folder: &str) -> Files {
        read_all(&self.path(folder))
    }

    /// The journals of the kernel, oldest first.
    pub fn journals(&self) -> Vec<String> {
        let state = read_all(&self.root.parent().unwrap().join("state"));
        let journals = state.0.into_iter().filter(|(path, _)| path.ends_with(".jsonl"));
        journals.map(|(_, text)| String::from_utf8_lossy(&text).into_owned()).collect()
    }
}

fn cargo_toml(name: &str, workspace: &Path) -> String {
    let path = |package: &str| workspace.join(package);
    format!(
        r#"[package]
name = "ops"
version = "0.1.0"
edition = "2024"

[workspace]

# Names of their own: projects share a target folder.
[[bin]]
name = "program-{name}"
path = "src/main.rs"

[[example]]
name = "host-{name}"
path = "examples/fsr_saxpy.rs"

[build-dependencies]
fsr-build = {{ path = {build:?} }}

[dev-dependencies]
cudarc = {{ version = "0.19", default-features = false, features = ["std", "driver", "nvrtc", "cuda-12080"] }}
fsr-host = {{ path = {host:?} }}

[package.metadata.fsr]
arch = ["sm_80", "sm_90"]
cuda = "{CUDA}"

[package.metadata.fsr.search]
candidates = 2
rounds = 2

[package.metadata.fsr.kernels.saxpy]
task = "y[i] = a * x[i] + y[i] for i < n, in f32."
host = ["examples/fsr_saxpy.rs"]
host-profile = "dev"
baseline = "kernels/saxpy.cu"
keep = ["the signature of saxpy"]
tunables = {{ BLOCK = [64, 256] }}
launch = {{ PER_THREAD = [1, 16] }}
"#,
        build = path("fsr-build"),
        host = path("fsr-host"),
    )
}

fn fsr_toml(model: &Path) -> String {
    format!(
        "model = \"scripted\"\n\n[models.scripted]\nkind = \"command\"\ncommand = \"sh '{folder}/model.sh' '{folder}'\"\n\
         deadline = 60\nname = \"a script\"\n",
        folder = model.display()
    )
}

/// Makes a folder hold exactly these files, and leaves those alone that it holds already: cargo builds nothing anew.
fn sync(root: &Path, files: &Files) {
    for entry in fs::read_dir(root).into_iter().flatten().map(Result::unwrap) {
        let name = entry.file_name();
        if entry.path().is_dir() && !files.0.keys().any(|path| Path::new(path).starts_with(&name)) {
            fs::remove_dir_all(entry.path()).unwrap();
        }
    }
    for (path, content) in read_all(root).0 {
        if files.0.get(&path) != Some(&content) {
            fs::remove_file(root.join(path)).unwrap();
        }
    }
    for (path, content) in &files.0 {
        let path = root.join(path);
        if !path.exists() {
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, content).unwrap();
        }
    }
}

/// All files below a folder; none where there is no folder.
pub fn read_all(root: &Path) -> Files {
    let mut files = Files::default();
    let mut folders = vec![root.to_owned()];
    while let Some(folder) = folders.pop() {
        let Ok(entries) = fs::read_dir(&folder) else { continue };
        for entry in entries.map(Result::unwrap) {
            let path = entry.path();
            if entry.file_type().unwrap().is_dir() {
                folders.push(path);
            } else {
                let name = path.strip_prefix(root).unwrap().to_str().unwrap().replace('\\', "/");
                files.0.insert(name, fs::read(&path).unwrap());
            }
        }
    }
    files
}

/// The records of one kind in a journal. A last line that was cut off by a kill is none.
pub fn records<'a>(journal: &'a str, is: &'a str) -> impl Iterator<Item = serde_json::Value> + 'a {
    let lines = journal.split_inclusive('\n').filter(|line| line.ends_with('\n'));
    let entries = lines.map(|line| serde_json::from_str::<serde_json::Value>(line).unwrap());
    entries.map(|entry| entry["record"].clone()).filter(move |record| record["is"] == is)
}
