//! Repeating a recording from the command line: what its verdicts may stamp, and how a stopped run goes on. The example
//! crate's kernels and their recorded dialogue serve as the project; neither a GPU nor a compiler is needed.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use cargo_fsr::state::ProjectState;
use tempfile::TempDir;

/// A package with the example crate's kernels, for one arch, and nothing tuned yet.
struct Bed {
    folder: TempDir,
}

/// How a command ended, and what it said on stderr.
struct Said {
    code: Option<i32>,
    stderr: String,
}

impl Bed {
    fn new() -> Self {
        let example = Path::new(env!("CARGO_MANIFEST_DIR")).join("../example-crate");
        let bed = Self { folder: tempfile::tempdir().unwrap() };
        for folder in ["cpp", "examples", "kernels", "src"] {
            copy(&example.join(folder), &bed.path(folder));
        }
        copy(&example.join("recorded/example-crate"), &bed.path("recorded/ops"));
        let manifest = fs::read_to_string(example.join("Cargo.toml")).unwrap();
        let (_, spec) = manifest.split_once("[package.metadata.fsr]").unwrap();
        let spec = spec.replacen("[\"sm_80\", \"sm_90\"]", "[\"sm_90\"]", 1);
        bed.write(
            "Cargo.toml",
            &format!(
                "[workspace]\n[package]\nname = \"ops\"\nversion = \"0.1.0\"\nedition = \"2024\"\n\
                 [package.metadata.fsr]{spec}"
            ),
        );
        bed
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn read(&self, name: &str) -> String {
        fs::read_to_string(self.path(name)).unwrap()
    }

    fn write(&self, name: &str, text: &str) {
        fs::write(self.path(name), text).unwrap();
    }

    /// `cargo fsr` in the package, with folders of its own for all that it keeps.
    fn fsr(&self, line: &str) -> Said {
        self.fsr_with(line, &[])
    }

    fn fsr_with(&self, line: &str, variables: &[(&str, &str)]) -> Said {
        let mut command = Command::new(env!("CARGO_BIN_EXE_cargo-fsr"));
        command.args(line.split_whitespace()).current_dir(self.folder.path());
        for name in ["CANDIDATES", "ROUNDS", "MODEL", "DEVICE"] {
            command.env_remove(format!("FSR_{name}"));
        }
        for name in ["STATE", "CACHE", "CONFIG"] {
            command.env(format!("FSR_{name}_DIR"), self.path(&name.to_lowercase()));
        }
        command.envs(variables.iter().copied());
        let output = command.output().unwrap();
        Said { code: output.status.code(), stderr: String::from_utf8(output.stderr).unwrap() }
    }

    /// What `cargo fsr bundle` writes, without a host program that runs.
    fn bundle_saxpy(&self) {
        for folder in ["examples", "kernels", "src", "cpp", "fsr"] {
            copy(&self.path(folder), &self.path("box/sources").join(folder));
        }
        fs::copy(self.path("Cargo.toml"), self.path("box/sources/Cargo.toml")).unwrap();
        self.write(
            "box/bundle.json",
            "{\"version\": 1, \"packages\": [{\"name\": \"ops\", \"folder\": \"\", \"candidates\": null, \
             \"rounds\": null, \"hosts\": {\"saxpy\": \"hosts/ops/saxpy\"}}]}",
        );
    }

    /// The run that an entry comes from.
    fn run_of_saxpy(&self) -> String {
        let manifest = self.read("fsr/saxpy/sm_90.toml");
        manifest.lines().find(|line| line.starts_with("run = ")).unwrap().to_owned()
    }

    fn replay(&self, rest: &str) -> Said {
        self.fsr(&format!("tune --model replay:recorded --verdicts {rest}"))
    }
}

fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let path = entry.unwrap().path();
        let to = to.join(path.file_name().unwrap());
        if path.is_dir() {
            copy(&path, &to);
        } else {
            fs::copy(&path, to).unwrap();
        }
    }
}

#[test]
fn verdicts_about_another_spec_stamp_nothing() {
    let bed = Bed::new();
    let baseline = "baseline = \"kernels/saxpy.cu\"";
    let manifest = bed.read("Cargo.toml");
    bed.write(
        "Cargo.toml",
        &manifest.replace(baseline, &format!("{baseline}\ntolerance = {{ rtol = 0.5, atol = 0.5 }}")),
    );
    let said = bed.replay("saxpy");
    assert_eq!(said.code, Some(3), "{}", said.stderr);
    assert!(said.stderr.contains("different since: tolerance"), "{}", said.stderr);
    assert!(!bed.path("fsr").exists());
}

#[test]
fn a_stopped_run_goes_on_where_something_fresh_is_stored_already() {
    let bed = Bed::new();
    assert_eq!(bed.replay("saxpy").code, Some(0));
    let stored = bed.read("fsr/saxpy/sm_90.toml");

    // The same again, and the recording ends in the second round.
    let whole = bed.read("recorded/ops/saxpy.jsonl");
    let end = whole.find("{\"kernel\":\"saxpy\",\"round\":2,\"slot\":2}").unwrap();
    bed.write("recorded/ops/saxpy.jsonl", &whole[..end]);
    let said = bed.replay("--force saxpy");
    assert_eq!(said.code, Some(4), "{}", said.stderr);
    assert_eq!(bed.read("fsr/saxpy/sm_90.toml"), stored);

    bed.write("recorded/ops/saxpy.jsonl", &whole);
    let said = bed.replay("--resume saxpy");
    assert_eq!(said.code, Some(0), "{}", said.stderr);
    assert!(said.stderr.contains("Stored"), "{}", said.stderr);
    // Once it has come to its end there is nothing to go on with.
    let said = bed.replay("--resume saxpy");
    assert!(said.stderr.contains("every kernel is fresh"), "{}", said.stderr);
}

#[test]
fn a_kernel_that_is_not_recorded_leaves_the_others_alone() {
    let bed = Bed::new();
    fs::remove_file(bed.path("recorded/ops/saxpy.jsonl")).unwrap();
    let said = bed.replay("saxpy transpose");
    assert_eq!(said.code, Some(3), "{}", said.stderr);
    assert!(said.stderr.contains("kernel `saxpy` is not recorded"), "{}", said.stderr);
    assert!(bed.path("fsr/transpose/sm_90.ptx").exists());
}

#[test]
fn a_bundle_does_not_bring_back_what_was_tuned_again_at_home() {
    let bed = Bed::new();
    assert_eq!(bed.replay("saxpy").code, Some(0));
    bed.bundle_saxpy();
    let bundled = bed.run_of_saxpy();
    assert_eq!(bed.replay("--force saxpy").code, Some(0));
    let at_home = bed.run_of_saxpy();
    assert!(at_home > bundled, "{at_home} is no newer than {bundled}");

    let said = bed.fsr("import box");
    assert_eq!(said.code, Some(0), "{}", said.stderr);
    assert!(said.stderr.contains("it was tuned since"), "{}", said.stderr);
    assert_eq!(bed.run_of_saxpy(), at_home);
    assert_eq!(bed.fsr("import --force box").code, Some(0));
    assert_eq!(bed.run_of_saxpy(), bundled);
}

#[test]
fn nothing_is_imported_beneath_a_running_search() {
    let bed = Bed::new();
    assert_eq!(bed.replay("saxpy").code, Some(0));
    bed.bundle_saxpy();
    fs::remove_dir_all(bed.path("fsr")).unwrap();
    let state = ProjectState::of_workspace(&bed.path("state"), bed.folder.path());
    let _search = state.kernel("ops", "saxpy").unwrap();
    let said = bed.fsr("import box");
    assert_eq!(said.code, Some(4), "{}", said.stderr);
    assert!(said.stderr.contains("another run is tuning kernel `saxpy`"), "{}", said.stderr);
    assert!(!bed.path("fsr").exists());
}

#[test]
fn an_empty_variable_is_no_folder() {
    let bed = Bed::new();
    let home = bed.path("home");
    let variables = [("FSR_STATE_DIR", ""), ("FSR_CACHE_DIR", ""), ("FSR_CONFIG_DIR", "")];
    let homes = [("HOME", home.to_str().unwrap()), ("XDG_STATE_HOME", ""), ("XDG_CACHE_HOME", "")];
    let line = "tune --model replay:recorded --verdicts saxpy";
    let said = bed.fsr_with(line, &[&variables[..], &homes[..]].concat());
    assert_eq!(said.code, Some(0), "{}", said.stderr);
    let here: Vec<_> =
        fs::read_dir(bed.folder.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert!(!here.iter().any(|name| name == "entries" || name == "devices"), "{here:?}");
    assert!(
        home.join(".local/state/cargo-fsr").exists() && home.join(".cache/cargo-fsr").exists(),
        "{here:?}"
    );
}

#[test]
fn a_model_that_cannot_be_is_told_before_anything_is_built() {
    let bed = Bed::new();
    let said = bed.fsr("tune saxpy --offline --model command:'open");
    assert_eq!(said.code, Some(3), "{}", said.stderr);
    assert!(said.stderr.contains("a quotation mark is not closed"), "{}", said.stderr);
    assert!(!bed.path("target").exists());
}
