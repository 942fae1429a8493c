//! One compiler process from its parent's side: started, asked, and killed at the deadline.

use std::io::{self, BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::thread;
use std::time::Duration;

use super::CompilerError;
use super::include;
use super::protocol::{Arguments, COMMAND, Done, Hello, Job, Limits};
use crate::leash::Leash;
use crate::scratch::Scratch;
use serde::de::DeserializeOwned;

/// Loading the library from a cold disk, on a busy machine.
const START: Duration = Duration::from_secs(60);

/// A running compiler process; killed on drop.
#[derive(Debug)]
pub(super) struct Worker {
    child: Child,
    /// A compilation does not look whether anyone is left who waits for it.
    _leash: Leash,
    stdin: ChildStdin,
    lines: Receiver<String>,
    deadline: Duration,
    /// Time spent in compilations, against the process's limit on processor time.
    pub(super) used: Duration,
    // The process's working folder, with links to CUDA's headers and nothing else; removed after the process is gone.
    _folder: Scratch,
}

/// What a library says of itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Ready {
    pub(super) version: (u32, u32),
    pub(super) targets: Vec<u32>,
    pub(super) confined: bool,
}

/// Why a process has no answer. Either way it is gone.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Lost {
    /// Killed at the deadline.
    TimedOut,
    /// It ended, or what it said is no answer.
    Ended(String),
}

impl Worker {
    /// Starts `program` as a compiler process and waits until its library is loaded; `include` are the folders with
    /// CUDA's headers.
    ///
    /// # Errors
    /// When the process cannot be run, or the library does not work.
    pub(super) fn start(
        program: &Path,
        library: &Path,
        include: &[PathBuf],
        limits: Limits,
    ) -> Result<(Self, Ready), CompilerError> {
        let folder = Scratch::create(&std::env::temp_dir())?;
        let arguments = Arguments {
            library: library.to_owned(),
            include: include::gather(folder.path(), include)?,
            readable: [include, &[folder.path().to_owned()]].concat(),
            limits,
        };
        let mut command = Command::new(program);
        command
            .arg(COMMAND)
            .args(arguments.words())
            .env_clear()
            .current_dir(folder.path())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null());
        // Windows cannot load system libraries without it.
        if let Some(root) = std::env::var_os("SystemRoot").filter(|_| cfg!(windows)) {
            command.env("SystemRoot", root);
        }
        // Ctrl-C is for the parent, which decides what becomes of a compilation.
        #[cfg(unix)]
        std::os::unix::process::CommandExt::process_group(&mut command, 0);
        let mut child = command.spawn().map_err(|error| {
            io::Error::new(error.kind(), format!("{} could not be started: {error}", program.display()))
        })?;
        let leash = Leash::on_group(child.id());
        let (Some(stdin), Some(stdout)) = (child.stdin.take(), child.stdout.take()) else {
            return Err(io::Error::other("a pipe is missing").into());
        };
        let (send, lines) = mpsc::channel();
        thread::spawn(move || {
            for line in BufReader::new(stdout).lines() {
                if line.is_err() || line.is_ok_and(|line| send.send(line).is_err()) {
                    break;
                }
            }
        });
        let mut worker = Self {
            child,
            _leash: leash,
            stdin,
            lines,
            deadline: limits.time,
            used: Duration::ZERO,
            _folder: folder,
        };
        let broken = |what: String| CompilerError::Broken { library: library.display().to_string(), what };
        match worker.receive::<Hello>(START) {
            Ok(Hello::Ready { version, targets, confined }) => {
                Ok((worker, Ready { version, targets, confined }))
            }
            Ok(Hello::Broken { what }) => Err(broken(what)),
            Err(Lost::TimedOut) => Err(broken(format!("not loaded within {} s", START.as_secs()))),
            Err(Lost::Ended(how)) => Err(broken(format!("the process that loads it ended: {how}"))),
        }
    }

    /// Compiles one job within the deadline.
    pub(super) fn compile(&mut self, job: &Job) -> Result<Done, Lost> {
        let mut line = serde_json::to_vec(job).map_err(|error| Lost::Ended(error.to_string()))?;
        line.push(b'\n');
        // The process reads a whole line before it works, so this cannot block on a compilation.
        if self.stdin.write_all(&line).and_then(|()| self.stdin.flush()).is_err() {
            return Err(Lost::Ended(self.end()));
        }
        let done: Done = self.receive(self.deadline)?;
        self.used += Duration::from_secs_f64(done.millis.clamp(0.0, 1e9) / 1e3);
        Ok(done)
    }

    fn receive<T: DeserializeOwned>(&mut self, deadline: Duration) -> Result<T, Lost> {
        match self.lines.recv_timeout(deadline) {
            Ok(line) => {
                serde_json::from_str(&line).map_err(|error| Lost::Ended(format!("not an answer: {error}")))
            }
            Err(RecvTimeoutError::Timeout) => {
                self.kill();
                Err(Lost::TimedOut)
            }
            Err(RecvTimeoutError::Disconnected) => Err(Lost::Ended(self.end())),
        }
    }

    /// How the process ended; its output is closed, so it has or will.
    fn end(&mut self) -> String {
        self.child.kill().ok();
        self.child.wait().map_or_else(|error| error.to_string(), |status| status.to_string())
    }

    fn kill(&mut self) {
        // Both fail only when the process is gone already.
        self.child.kill().ok();
        self.child.wait().ok();
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        self.kill();
    }
}
