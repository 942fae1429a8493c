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

/// Keeps one program until dropped: by then it must have ended. A machine on which no keeper can be started only loses
/// its service.
#[derive(Debug)]
pub(crate) struct Leash(Held);

/// What is killed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Held {
    Group(u32),
    Process(u32),
}

impl Leash {
    /// The group that `leader` leads.
    pub(crate) fn on_group(leader: u32) -> Self {
        Self::on(Held::Group(leader))
    }

    /// A process in this one's own group, which a terminal's Ctrl-C reaches too.
    pub(crate) fn on_process(id: u32) -> Self {
        Self::on(Held::Process(id))
    }

    fn on(held: Held) -> Self {
        tell('+', held);
        Self(held)
    }
}

impl Drop for Leash {
    fn drop(&mut self) {
        tell('-', self.0);
    }
}

fn tell(sign: char, held: Held) {
    let Some(program) = PROGRAM.get().filter(|_| cfg!(unix)) else { return };
    let mut keeper = KEEPER.lock().unwrap_or_else(PoisonError::into_inner);
    if keeper.is_none() {
        *keeper = start(program).ok().flatten();
    }
    if let Some(pipe) = keeper.as_mut()
        && pipe.write_all(line(sign, held).as_bytes()).is_err()
    {
        // Somebody killed it; the next program starts another, which will not know of those at work.
        *keeper = None;
    }
}

fn line(sign: char, held: Held) -> String {
    match held {
        Held::Group(leader) => format!("{sign}g{leader}\n"),
        Held::Process(id) => format!("{sign}p{id}\n"),
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
    left(io::stdin().lock()).into_iter().for_each(kill);
    ExitCode::SUCCESS
}

/// What was not let go before the end.
fn left(told: impl BufRead) -> BTreeSet<Held> {
    let mut all = BTreeSet::new();
    for line in told.lines().map_while(Result::ok) {
        let mut line = line.chars();
        let (sign, kind) = (line.next(), line.next());
        // Half a line may come of a program that was killed while it wrote.
        let Ok(id) = line.as_str().parse() else { continue };
        let held = match kind {
            Some('g') => Held::Group(id),
            Some('p') => Held::Process(id),
            _ => continue,
        };
        match sign {
            Some('+') => drop(all.insert(held)),
            Some('-') => drop(all.remove(&held)),
            _ => {}
        }
    }
    all
}

#[cfg(unix)]
fn kill(held: Held) {
    use rustix::process::{Pid, Signal, kill_process, kill_process_group};
    // Zero and one stand for others than these. What is gone already refuses the signal.
    let id = |id: u32| i32::try_from(id).ok().filter(|id| *id > 1).and_then(Pid::from_raw);
    let _ = match held {
        Held::Group(leader) => id(leader).map(|leader| kill_process_group(leader, Signal::KILL)),
        Held::Process(process) => id(process).map(|process| kill_process(process, Signal::KILL)),
    };
}

#[cfg(not(unix))]
fn kill(_held: Held) {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_was_not_let_go_is_left() {
        let left = |told: &str| left(told.as_bytes()).into_iter().collect::<Vec<_>>();
        assert_eq!(left("+g12\n+g34\n+p56\n-g12\n"), [Held::Group(34), Held::Process(56)]);
        assert_eq!(left("+g12\n-g12\n-p12\n+g12\n"), [Held::Group(12)]);
        assert_eq!(left("+g12\nrubbish\n+\n+g\n-g1"), [Held::Group(12)]);
        assert_eq!(line('+', Held::Process(56)), "+p56\n");
        assert!(left("").is_empty());
    }

    #[cfg(unix)]
    #[test]
    fn a_group_is_killed_with_all_that_it_started() {
        use std::io::Read;
        use std::os::unix::process::{CommandExt, ExitStatusExt};
        let mut sh = Command::new("sh");
        let sh = sh.args(["-c", "sleep 1000 & wait"]).process_group(0).stdout(Stdio::piped());
        let mut group = sh.spawn().unwrap();
        let mut pipe = group.stdout.take().unwrap();
        kill(Held::Group(group.id()));
        assert_eq!(group.wait().unwrap().signal(), Some(9));
        // Both hold the pipe: it ends with the later of them.
        let (ended, heard) = std::sync::mpsc::channel();
        std::thread::spawn(move || ended.send(pipe.read_to_end(&mut Vec::new())));
        heard.recv_timeout(std::time::Duration::from_secs(60)).expect("its child is left").unwrap();
    }

    #[test]
    fn a_library_has_no_keeper() {
        drop(Leash::on_group(1));
        assert!(KEEPER.lock().unwrap().is_none());
    }
}
