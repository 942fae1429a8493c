//! Programs that were started here end with this one, however it ends: by a second Ctrl-C, by SIGKILL, by a panic.
//!
//! A process of its own holds the other end of a pipe. It is told which groups are at work; when the pipe closes,
//! whoever closed it, it kills those that are left, with all that they started. Nothing here starts or waits for the
//! programs themselves.

use std::collections::BTreeSet;
use std::io::{self, BufRead, Write};
use std::path::PathBuf;
use std::process::{ChildStdin, Command, ExitCode, Stdio};
use std::sync::{Mutex, OnceLock, PoisonError};

/// The argument that makes this program the keeper of the leashes.
pub const COMMAND: &str = "__leash";

/// The program that knows [`COMMAND`].
static PROGRAM: OnceLock<PathBuf> = OnceLock::new();
/// The pipe to the keeper, once there is one.
static KEEPER: Mutex<Option<ChildStdin>> = Mutex::new(None);

/// From now on programs are kept on a leash. Only for a program whose `main` serves [`COMMAND`] by [`run`].
pub fn arm() {
    if let Ok(program) = std::env::current_exe() {
        let _ = PROGRAM.set(program);
    }
}

/// Keeps one process group until dropped: by then it must have ended.
#[derive(Debug)]
pub(crate) struct Leash(u32);

impl Leash {
    /// The group that `leader` leads. A machine on which no keeper can be started only loses its service.
    pub(crate) fn on_group(leader: u32) -> Self {
        tell('+', leader);
        Self(leader)
    }
}

impl Drop for Leash {
    fn drop(&mut self) {
        tell('-', self.0);
    }
}

fn tell(sign: char, leader: u32) {
    let Some(program) = PROGRAM.get().filter(|_| cfg!(unix)) else { return };
    let mut keeper = KEEPER.lock().unwrap_or_else(PoisonError::into_inner);
    if keeper.is_none() {
        *keeper = start(program).ok().flatten();
    }
    if let Some(pipe) = keeper.as_mut()
        && pipe.write_all(format!("{sign}{leader}\n").as_bytes()).is_err()
    {
        // Somebody killed it; the next program starts another, which will not know of those at work.
        *keeper = None;
    }
}

fn start(program: &PathBuf) -> io::Result<Option<ChildStdin>> {
    let mut command = Command::new(program);
    command.arg(COMMAND).stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null());
    // What a terminal sends to this program is not for the keeper, which outlives it.
    #[cfg(unix)]
    std::os::unix::process::CommandExt::process_group(&mut command, 0);
    Ok(command.spawn()?.stdin.take())
}

/// Keeps the leashes of whoever holds the other end of stdin, and draws them in at its end.
pub fn run() -> ExitCode {
    for leader in left(io::stdin().lock()) {
        kill(leader);
    }
    ExitCode::SUCCESS
}

/// The groups that were not let go before the end.
fn left(told: impl BufRead) -> BTreeSet<u32> {
    let mut held = BTreeSet::new();
    for line in told.lines().map_while(Result::ok) {
        let mut line = line.chars();
        match (line.next(), line.as_str().parse()) {
            (Some('+'), Ok(leader)) => drop(held.insert(leader)),
            (Some('-'), Ok(leader)) => drop(held.remove(&leader)),
            // Half a line, of a program that was killed while it wrote.
            _ => {}
        }
    }
    held
}

#[cfg(unix)]
fn kill(leader: u32) {
    // Zero and one stand for groups that are none of these.
    let leader = i32::try_from(leader).ok().filter(|leader| *leader > 1);
    if let Some(leader) = leader.and_then(rustix::process::Pid::from_raw) {
        // Refused when the group is gone already.
        let _ = rustix::process::kill_process_group(leader, rustix::process::Signal::KILL);
    }
}

#[cfg(not(unix))]
fn kill(_leader: u32) {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_was_not_let_go_is_left() {
        let left = |told: &str| left(told.as_bytes()).into_iter().collect::<Vec<_>>();
        assert_eq!(left("+12\n+34\n-12\n"), [34]);
        assert_eq!(left("+12\n-12\n+12\n"), [12]);
        assert_eq!(left("+12\nrubbish\n+\n-"), [12]);
        assert!(left("").is_empty());
    }

    #[cfg(unix)]
    #[test]
    fn a_group_is_killed_with_all_that_it_started() {
        use std::os::unix::process::{CommandExt, ExitStatusExt};
        let mut group =
            Command::new("sh").args(["-c", "sleep 1000 & wait"]).process_group(0).spawn().unwrap();
        kill(group.id());
        assert_eq!(group.wait().unwrap().signal(), Some(9));
    }

    #[test]
    fn a_library_has_no_keeper() {
        drop(Leash::on_group(1));
        assert!(KEEPER.lock().unwrap().is_none());
    }
}
