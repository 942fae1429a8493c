//! Builds with the user's own cargo: one command, its messages, its end. Runs nothing that it built.

use std::io::BufReader;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::{Duration, Instant};

use cargo_metadata::Message;

use super::JudgeError;
use super::child::{Group, Tail};

/// Bytes of cargo's messages that are kept for an error.
const LOG: usize = 256 * 1024;

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

/// `cargo build` with messages for [`run`].
pub fn build() -> Command {
    let mut command = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    command.args(["build", "--message-format", "json-render-diagnostics"]);
    command
}

/// Runs a command of [`build`] to its end.
///
/// # Errors
/// When cargo cannot be started, fails, takes too long, or is interrupted.
pub fn run(
    mut command: Command,
    options: BuildOptions,
    mut message: impl FnMut(Message),
) -> Result<(), JudgeError> {
    let BuildOptions { mut forward, interrupt, deadline, color: _ } = options;
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut group = Group::spawn(command)
        .map_err(|error| JudgeError::Process(format!("cargo could not be started: {error}")))?;
    let (stdout, stderr) = group.streams();
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
    loop {
        match messages.recv_timeout(Duration::from_millis(50)) {
            Ok(Message::BuildFinished(_)) | Err(RecvTimeoutError::Disconnected) => break,
            Ok(other) => message(other),
            Err(RecvTimeoutError::Timeout) => {}
        }
        if interrupt.load(Ordering::Relaxed) {
            return Err(JudgeError::Interrupted);
        }
        if Instant::now() >= end {
            group.kill();
            let log = log.text(Duration::from_millis(100));
            return Err(JudgeError::Build {
                log: format!("{log}\ncargo was stopped: the build took longer than {} s", deadline.as_secs()),
            });
        }
    }
    match group.wait(Duration::from_secs(30))?.is_some_and(|status| status.success()) {
        true => Ok(()),
        false => Err(JudgeError::Build { log: complaints(&log.text(Duration::from_secs(2))) }),
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
