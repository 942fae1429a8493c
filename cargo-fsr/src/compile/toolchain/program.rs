//! Other people's programs, run with a deadline: python, uv, ldconfig. None of them sees a candidate.

use std::ffi::OsStr;
use std::io::{self, BufRead, BufReader, Read};
use std::process::{Command, ExitStatus, Stdio};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::{Duration, Instant};

use crate::leash::Leash;

/// How a program ended and what it said.
#[derive(Debug)]
pub(super) struct Ended {
    /// `None`: killed at the deadline.
    pub(super) status: Option<ExitStatus>,
    pub(super) stdout: String,
    pub(super) stderr: String,
}

impl Ended {
    pub(super) fn success(&self) -> bool {
        self.status.is_some_and(|status| status.success())
    }
}

/// Runs a program to its end or its deadline; each line of its output is told as it comes.
///
/// # Errors
/// When it cannot be started.
pub(super) fn run(
    command: &mut Command,
    deadline: Duration,
    said: &mut dyn FnMut(&str),
) -> io::Result<Ended> {
    let end = Instant::now() + deadline;
    let mut child = command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn()?;
    let _leash = Leash::on_process(child.id());
    let (send, lines) = mpsc::channel();
    listen(child.stdout.take(), false, &send);
    listen(child.stderr.take(), true, &send);
    drop(send);
    let (mut stdout, mut stderr) = (String::new(), String::new());
    let in_time = loop {
        match lines.recv_timeout(end.saturating_duration_since(Instant::now())) {
            Ok((is_error, line)) => {
                said(&line);
                let text = if is_error { &mut stderr } else { &mut stdout };
                text.push_str(&line);
                text.push('\n');
            }
            Err(RecvTimeoutError::Disconnected) => break true,
            Err(RecvTimeoutError::Timeout) => break false,
        }
    };
    if !in_time {
        // Fails only when it is gone already.
        child.kill().ok();
    }
    let status = child.wait()?;
    Ok(Ended { status: in_time.then_some(status), stdout, stderr })
}

fn listen(stream: Option<impl Read + Send + 'static>, is_error: bool, send: &mpsc::Sender<(bool, String)>) {
    let Some(stream) = stream else { return };
    let send = send.clone();
    thread::spawn(move || {
        let mut stream = BufReader::new(stream);
        let mut line = Vec::new();
        while stream.read_until(b'\n', &mut line).is_ok_and(|count| count > 0) {
            let text = String::from_utf8_lossy(&line).trim_end().to_owned();
            if send.send((is_error, text)).is_err() {
                break;
            }
            line.clear();
        }
    });
}

/// What a program prints within ten seconds; `None` when it is not there, fails or hangs.
pub(super) fn answer<S: AsRef<OsStr>>(program: &str, arguments: &[S]) -> Option<String> {
    let ended = run(Command::new(program).args(arguments), Duration::from_secs(10), &mut |_| ()).ok()?;
    ended.success().then_some(ended.stdout)
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    #[test]
    fn a_program_that_hangs_is_killed() {
        let ended = run(Command::new("sleep").arg("600"), Duration::from_millis(50), &mut |_| ()).unwrap();
        assert!(ended.status.is_none());
        assert!(!ended.success());
    }

    #[test]
    fn both_streams_are_kept_apart_and_told() {
        let mut told = Vec::new();
        let mut shell = Command::new("sh");
        shell.args(["-c", "echo one; echo two >&2; exit 3"]);
        let ended = run(&mut shell, Duration::from_secs(60), &mut |line| told.push(line.to_owned())).unwrap();
        told.sort();
        assert_eq!((ended.stdout.as_str(), ended.stderr.as_str()), ("one\n", "two\n"));
        assert_eq!(ended.status.unwrap().code(), Some(3));
        assert_eq!(told, ["one", "two"]);
    }

    #[test]
    fn a_program_that_is_not_there_has_no_answer() {
        assert_eq!(answer("no-such-program-of-that-name", &["-c"]), None);
    }
}
