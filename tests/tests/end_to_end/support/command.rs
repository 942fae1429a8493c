//! Runs programs in a known environment and says what they did.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};

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
#[must_use = "nothing happens before it is ended by `succeeds`, `fails_with`, `output` or `start`"]
pub struct Run {
    command: Command,
    folder: PathBuf,
    words: String,
}

impl Run {
    /// `program` in `folder`, with arguments parted by blanks; an argument with blanks comes by [`Run::arg`].
    pub fn new(program: impl AsRef<OsStr>, words: &str, folder: &Path) -> Self {
        let mut command = Command::new(program);
        scrubbed(&mut command).args(words.split_whitespace()).current_dir(folder);
        command.env("CARGO_TARGET_DIR", machine::home().join("target")).stdin(Stdio::null());
        // A GPU that is there by chance stays out of it.
        command.env("CUDA_VISIBLE_DEVICES", "");
        Self { command, folder: folder.to_owned(), words: words.to_owned() }
    }

    /// The program under test in a folder that is no project of these tests.
    pub fn program(words: &str, folder: &Path) -> Self {
        Self::new(machine::PROGRAM, words, folder)
    }

    pub fn arg(mut self, argument: impl AsRef<OsStr>) -> Self {
        self.command.arg(argument);
        self
    }

    pub fn env(mut self, name: &str, value: impl AsRef<OsStr>) -> Self {
        self.command.env(name, value);
        self
    }

    pub fn without(mut self, name: &str) -> Self {
        self.command.env_remove(name);
        self
    }

    /// Hands program and arguments to another program, behind its own.
    pub fn inside(mut self, outer: &[&str]) -> Self {
        let mut command = Command::new(outer[0]);
        command.args(&outer[1..]).arg(self.command.get_program()).args(self.command.get_args());
        for (name, value) in self.command.get_envs() {
            match value {
                Some(value) => command.env(name, value),
                None => command.env_remove(name),
            };
        }
        command.current_dir(&self.folder).stdin(Stdio::null());
        self.command = command;
        self
    }

    /// cargo-fsr finds the CPU device as this test was built with it, and the compiler is on the machine.
    pub fn beside_cpu_device(self) -> Self {
        machine::compiler_folder();
        let library = std::fs::read_link(machine::cpu_device().join("libcuda.so")).unwrap();
        self.env("FSR_SIM_LIBRARY", library).env("FSR_SIM_THREADS", "1")
    }

    /// The loader finds the CPU device as the CUDA driver, and the compiler is on the machine.
    pub fn on_cpu_device(self) -> Self {
        machine::compiler_folder();
        self.env("LD_LIBRARY_PATH", machine::cpu_device()).env("FSR_SIM_THREADS", "1")
    }

    /// Starts it, with nobody listening.
    pub fn start(mut self) -> Started {
        Started(self.command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap())
    }

    #[track_caller]
    pub fn output(mut self) -> Outcome {
        let output = self.command.output().unwrap();
        let Output { status, stdout, stderr } = output;
        let text = |bytes: Vec<u8>| {
            named(&String::from_utf8(bytes).expect("the program prints UTF-8"), &self.folder)
        };
        let (stdout, stderr) = (text(stdout), text(stderr));
        Outcome { words: self.words, folder: self.folder, code: status.code(), stdout, stderr }
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

/// A running program. It is killed when this is dropped.
pub struct Started(Child);

impl Started {
    pub fn id(&self) -> u32 {
        self.0.id()
    }

    /// SIGKILL. False when it had ended before.
    pub fn kill(&mut self) -> bool {
        let running = self.0.try_wait().unwrap().is_none();
        let _ = self.0.kill();
        self.0.wait().unwrap();
        running
    }

    /// As Ctrl-C does.
    pub fn interrupt(&self) {
        let id = rustix::process::Pid::from_child(&self.0);
        rustix::process::kill_process(id, rustix::process::Signal::INT).unwrap();
    }

    /// Its exit code.
    pub fn wait(&mut self) -> Option<i32> {
        self.0.wait().unwrap().code()
    }
}

impl Drop for Started {
    fn drop(&mut self) {
        self.kill();
    }
}

/// What a program did. The project's folder reads `[project]` in its words.
#[derive(Debug)]
pub struct Outcome {
    words: String,
    folder: PathBuf,
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
        assert!(self.unwrapped(&self.stderr).contains(what), "{what:?} is not said\n{}", self.both());
        self
    }

    #[track_caller]
    pub fn says_nothing_of(&self, what: &str) -> &Self {
        assert!(!self.unwrapped(&self.stderr).contains(what), "{what:?} is said\n{}", self.both());
        self
    }

    /// The error with its help, on one line, without the excerpt of the file that it is about; for snapshots.
    #[track_caller]
    pub fn error(&self) -> String {
        let lines = self.stderr.split_inclusive('\n').skip_while(|line| !line.starts_with("error: "));
        let error: String = lines.take_while(|line| !line.contains("╭─[")).collect();
        assert!(!error.is_empty(), "no error\n{}", self.both());
        self.unwrapped(&error)
    }

    /// Undoes what rendering an error does to its words: marks, bars, and lines that end at blanks, hyphens and
    /// slashes.
    fn unwrapped(&self, text: &str) -> String {
        let mut whole = String::new();
        for line in text.lines() {
            let line = line.trim_start();
            let continued = line.starts_with('│') && whole.ends_with(['/', '-']);
            if !continued {
                whole.push(' ');
            }
            let words = line.trim_start_matches('│').split_whitespace().filter(|word| *word != "×");
            whole.push_str(&words.collect::<Vec<_>>().join(" "));
        }
        let words: Vec<&str> = whole.split_whitespace().collect();
        named(&words.join(" "), &self.folder)
    }

    /// The objects of `--message-format json`.
    #[track_caller]
    pub fn json(&self) -> Vec<serde_json::Value> {
        self.stdout.lines().map(|line| serde_json::from_str(line).expect("a JSON object a line")).collect()
    }
}

/// Puts names in the place of paths that differ from machine to machine.
fn named(text: &str, folder: &Path) -> String {
    text.replace(&*folder.to_string_lossy(), "[project]")
        .replace(&*machine::home().to_string_lossy(), "[home]")
}
