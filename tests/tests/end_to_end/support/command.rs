//! Runs programs in a known environment and says what they did.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use super::machine;

/// Takes away what the outer cargo, its configuration and the user's CUDA would tell a program.
pub fn scrubbed(command: &mut Command) -> &mut Command {
    let foreign = |name: &str| {
        let kept = ["CARGO", "CARGO_HOME"].contains(&name)
            || ["CARGO_HTTP_", "CARGO_NET_", "CARGO_REGISTR", "CARGO_SOURCE_"]
                .iter()
                .any(|own| name.starts_with(own));
        let foreign = ["CARGO", "FSR_", "RUSTFLAGS", "RUSTC", "CUDA_", "LD_LIBRARY_PATH", "DOCS_RS"];
        !kept && foreign.iter().any(|foreign| name.starts_with(foreign)) && name != "FSR_TOOLCHAIN_DIR"
    };
    for (name, _) in std::env::vars_os() {
        if name.to_str().is_some_and(foreign) {
            command.env_remove(name);
        }
    }
    // Nothing reads debug information or is compiled twice: half the time of a build.
    command.envs([
        ("CARGO_PROFILE_DEV_DEBUG", "0"),
        ("CARGO_INCREMENTAL", "0"),
        ("CARGO_TERM_COLOR", "never"),
    ])
}

/// One program that is about to run.
#[must_use = "nothing happens before it is ended by `succeeds`, `fails_with` or `output`"]
pub struct Run {
    command: Command,
    folder: PathBuf,
    words: String,
}

impl Run {
    /// `program` in `folder`, with arguments parted by blanks.
    pub fn new(program: impl AsRef<OsStr>, words: &str, folder: &Path) -> Self {
        let mut command = Command::new(program);
        scrubbed(&mut command).args(words.split_whitespace()).current_dir(folder);
        command.env("CARGO_TARGET_DIR", machine::home().join("target")).stdin(Stdio::null());
        // A GPU that is there by chance stays out of it.
        command.env("CUDA_VISIBLE_DEVICES", "");
        Self { command, folder: folder.to_owned(), words: words.to_owned() }
    }

    pub fn env(mut self, name: &str, value: impl AsRef<OsStr>) -> Self {
        self.command.env(name, value);
        self
    }

    /// The loader finds the CPU device as the CUDA driver, and the compiler is on the machine.
    pub fn on_cpu_device(self) -> Self {
        machine::compiler();
        self.env("LD_LIBRARY_PATH", machine::cpu_device()).env("FSR_SIM_THREADS", "1")
    }

    #[track_caller]
    pub fn output(mut self) -> Outcome {
        let output = self.command.output().unwrap();
        let Output { status, stdout, stderr } = output;
        let text = |bytes: Vec<u8>| {
            let text = String::from_utf8(bytes).expect("the program prints UTF-8");
            text.replace(&*self.folder.to_string_lossy(), "[project]")
                .replace(&*machine::home().to_string_lossy(), "[home]")
        };
        Outcome { words: self.words, code: status.code(), stdout: text(stdout), stderr: text(stderr) }
    }

    #[track_caller]
    pub fn succeeds(self) -> Outcome {
        self.fails_with(0)
    }

    #[track_caller]
    pub fn fails_with(self, code: i32) -> Outcome {
        let outcome = self.output();
        assert_eq!(outcome.code, Some(code), "`{}`\n{}", outcome.words, outcome.both());
        outcome
    }
}

/// What a program did. The project's folder reads `[project]` in its words.
#[derive(Debug)]
pub struct Outcome {
    pub words: String,
    /// None after a signal.
    pub code: Option<i32>,
    pub stdout: String,
    pub stderr: String,
}

impl Outcome {
    fn both(&self) -> String {
        format!("-- stdout\n{}\n-- stderr\n{}", self.stdout, self.stderr)
    }

    /// Asserts that stderr says something, whatever the width that its lines are wrapped at.
    #[track_caller]
    pub fn says(&self, what: &str) -> &Self {
        assert!(self.unwrapped().contains(what), "{what:?} is not said\n{}", self.both());
        self
    }

    #[track_caller]
    pub fn says_nothing_of(&self, what: &str) -> &Self {
        assert!(!self.unwrapped().contains(what), "{what:?} is said\n{}", self.both());
        self
    }

    fn unwrapped(&self) -> String {
        let words = self.stderr.split_whitespace().filter(|word| !["×", "│", "help:"].contains(word));
        words.collect::<Vec<_>>().join(" ")
    }

    /// The objects of `--message-format json`.
    #[track_caller]
    pub fn json(&self) -> Vec<serde_json::Value> {
        self.stdout.lines().map(|line| serde_json::from_str(line).expect("a JSON object a line")).collect()
    }
}
