//! A child process together with everything that it starts: one group, killed as a whole, its output kept short.
//!
//! Knows nothing of what the child does. Nothing waits here without an end, except [`Tail`]'s own threads, which end
//! with the stream that they drain.

use std::collections::VecDeque;
use std::io::{self, Read};
use std::process::{Command, ExitStatus};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use process_wrap::std::{ChildWrapper, CommandWrap};

use crate::leash::Leash;

/// How long a killed group may take to go: a driver tears down a hung kernel's context meanwhile.
const BURIAL: Duration = Duration::from_secs(20);

/// A child and its descendants. Dropping it kills them.
#[derive(Debug)]
pub struct Group {
    child: Box<dyn ChildWrapper>,
    /// Let go after the group was killed and reaped.
    _leash: Leash,
}

impl Group {
    /// Starts `command` as the leader of a group of its own, so that a terminal's Ctrl-C does not reach it.
    pub fn spawn(command: Command) -> io::Result<Self> {
        let mut wrap = CommandWrap::from(command);
        #[cfg(unix)]
        wrap.wrap(process_wrap::std::ProcessGroup::leader());
        #[cfg(windows)]
        wrap.wrap(process_wrap::std::JobObject);
        let child = wrap.spawn()?;
        let leash = Leash::on_group(child.id());
        Ok(Self { child, _leash: leash })
    }

    /// The leader's standard streams, where they are piped; each can be taken once.
    pub fn streams(&mut self) -> (Option<impl Read + Send + use<>>, Option<impl Read + Send + use<>>) {
        (self.child.stdout().take(), self.child.stderr().take())
    }

    /// The leader's status, if it has ended.
    pub fn ended(&mut self) -> io::Result<Option<ExitStatus>> {
        self.child.try_wait()
    }

    /// Waits for the leader to end, up to `limit`.
    pub fn wait(&mut self, limit: Duration) -> io::Result<Option<ExitStatus>> {
        let end = Instant::now() + limit;
        let mut nap = Duration::from_micros(200);
        loop {
            if let Some(status) = self.ended()? {
                return Ok(Some(status));
            }
            if Instant::now() >= end {
                return Ok(None);
            }
            thread::sleep(nap);
            nap = (nap * 2).min(Duration::from_millis(20));
        }
    }

    /// Kills the whole group and reaps it. Harmless when it has ended.
    pub fn kill(&mut self) {
        // The leader may be gone while a child of it lives on, so the signal goes out in any case; a group that no
        // longer exists refuses it.
        let _ = self.child.start_kill();
        let _ = self.wait(BURIAL);
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        self.kill();
    }
}

/// The last bytes of a stream, drained by a thread so that the writer never blocks.
#[derive(Clone, Debug)]
pub struct Tail {
    shared: Arc<(Mutex<Kept>, Condvar)>,
}

#[derive(Debug, Default)]
struct Kept {
    bytes: VecDeque<u8>,
    cut: bool,
    ended: bool,
}

impl Tail {
    /// Drains `stream` to its end and keeps the last `limit` bytes; `seen` is shown each piece as it comes.
    pub fn drain(
        stream: Option<impl Read + Send + 'static>,
        limit: usize,
        mut seen: impl FnMut(&[u8]) + Send + 'static,
    ) -> Self {
        let tail = Self { shared: Arc::default() };
        let Some(mut stream) = stream else {
            tail.lock().ended = true;
            return tail;
        };
        let shared = tail.clone();
        thread::spawn(move || {
            let mut piece = vec![0; 16 * 1024];
            loop {
                match stream.read(&mut piece) {
                    Ok(0) => break,
                    Ok(read) => {
                        seen(&piece[..read]);
                        shared.lock().push(&piece[..read], limit);
                    }
                    Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                    Err(_) => break,
                }
            }
            shared.lock().ended = true;
            shared.shared.1.notify_all();
        });
        tail
    }

    /// What is kept, after the stream's end or `limit`, whichever comes first: a grandchild may hold the stream open.
    pub fn text(&self, limit: Duration) -> String {
        let kept = self.lock();
        let (mut kept, _) = self
            .shared
            .1
            .wait_timeout_while(kept, limit, |kept| !kept.ended)
            .unwrap_or_else(PoisonError::into_inner);
        let text = String::from_utf8_lossy(kept.bytes.make_contiguous()).into_owned();
        match text.split_once('\n') {
            Some((_, rest)) if kept.cut => format!("[...]\n{rest}"),
            _ => text,
        }
    }

    fn lock(&self) -> MutexGuard<'_, Kept> {
        self.shared.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Kept {
    fn push(&mut self, piece: &[u8], limit: usize) {
        self.cut |= self.bytes.len() + piece.len() > limit;
        let piece = &piece[piece.len().saturating_sub(limit)..];
        let excess = (self.bytes.len() + piece.len()).saturating_sub(limit);
        self.bytes.drain(..excess);
        self.bytes.extend(piece);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tail_keeps_whole_last_lines() {
        let text: String = (0..100).map(|line| format!("line {line}\n")).collect();
        let tail = Tail::drain(Some(io::Cursor::new(text)), 30, |_| ());
        assert_eq!(tail.text(Duration::from_secs(10)), "[...]\nline 97\nline 98\nline 99\n");
    }

    #[test]
    fn a_short_stream_is_kept_whole() {
        let tail = Tail::drain(Some(io::Cursor::new("one\ntwo")), 30, |_| ());
        assert_eq!(tail.text(Duration::from_secs(10)), "one\ntwo");
    }

    #[cfg(unix)]
    #[test]
    fn killing_reaches_grandchildren() {
        let mut command = Command::new("sh");
        command.args(["-c", "sleep 1000 & echo $!; wait"]).stdout(std::process::Stdio::piped());
        let mut group = Group::spawn(command).unwrap();
        let tail = Tail::drain(group.streams().0, 100, |_| ());
        let pid: i32 = loop {
            match tail.text(Duration::from_millis(5)).trim().parse() {
                Ok(pid) => break pid,
                Err(_) => continue,
            }
        };
        group.kill();
        // The grandchild held the pipe: its end shows that the grandchild is gone.
        tail.text(Duration::from_secs(10));
        assert!(tail.lock().ended, "process {pid} still holds the stream");
    }
}
