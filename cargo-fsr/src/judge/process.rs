//! One host process: started in a role, greeted, asked with a deadline, and killed with all that it started.
//!
//! Requests and replies travel on a socket in a private folder; what the process prints (device `printf` too) is kept
//! for error messages only and never read for results.

use std::collections::VecDeque;
use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::thread;
use std::time::{Duration, Instant};

use fsr_protocol::{
    Channel, ChannelError, Environment, Hello, HostError, PROTOCOL_VERSION, Reply, Request, Role,
};

use super::JudgeError;
use super::child::{Group, Tail};
use super::session::Session;

/// Bytes of output that are kept for messages.
const TAIL: usize = 8 * 1024;
/// How often a wait looks whether the search was interrupted.
const TICK: Duration = Duration::from_millis(50);

/// The program behind both roles and how it is started.
#[derive(Clone, Debug)]
pub struct HostProgram {
    /// The built host target.
    pub program: PathBuf,
    /// Arguments; none for a host target of fsr-host.
    pub args: Vec<OsString>,
    /// Further variables, such as the loader's path, see [`library_path`].
    pub envs: Vec<(OsString, OsString)>,
    /// Working folder; the caller's own when there is none.
    pub dir: Option<PathBuf>,
}

impl HostProgram {
    /// A program without arguments or variables of its own.
    pub fn new(program: impl Into<PathBuf>) -> Self {
        Self { program: program.into(), args: Vec::new(), envs: Vec::new(), dir: None }
    }

    fn name(&self) -> String {
        self.program.file_stem().map_or_else(String::new, |name| name.to_string_lossy().into_owned())
    }
}

/// The variable by which this platform's loader finds shared libraries, with `first` before whatever it holds now and
/// `then` behind that.
pub fn library_path(first: &[PathBuf], then: &[PathBuf]) -> Result<(OsString, OsString), JudgeError> {
    let name = if cfg!(windows) {
        "PATH"
    } else if cfg!(target_os = "macos") {
        "DYLD_FALLBACK_LIBRARY_PATH"
    } else {
        "LD_LIBRARY_PATH"
    };
    let now = std::env::var_os(name).unwrap_or_default();
    // An empty part would stand for the current folder.
    let now = std::env::split_paths(&now).filter(|path| !path.as_os_str().is_empty());
    let paths = first.iter().cloned().chain(now).chain(then.iter().cloned());
    let value = std::env::join_paths(paths)
        .map_err(|error| JudgeError::Process(format!("the library path cannot be set: {error}")))?;
    Ok((name.into(), value))
}

/// Why a request has no answer.
#[derive(Debug, thiserror::Error)]
pub enum RequestError {
    /// The process says that it could not be done. It lives on, but see [`HostError`].
    #[error("{0}")]
    Failed(HostError),
    /// The process was killed at the deadline.
    #[error("no answer to `{request}` within {} s", .after.as_secs_f64())]
    TimedOut {
        /// What it was asked.
        request: &'static str,
        /// How long it had.
        after: Duration,
    },
    /// The process ended by itself.
    #[error("ended ({status}) during `{request}`{}", appended(.output))]
    Ended {
        /// What it was asked.
        request: &'static str,
        /// Exit status or signal.
        status: String,
        /// The last lines that it printed.
        output: String,
    },
    /// What came back is no answer. The process was killed.
    #[error("answered `{request}` with something else: {what}")]
    Garbled {
        /// What it was asked.
        request: &'static str,
        /// What is wrong with the answer.
        what: String,
    },
    /// The search was interrupted. The process was killed.
    #[error("interrupted")]
    Interrupted,
}

fn appended(output: &str) -> String {
    if output.is_empty() { String::new() } else { format!(":\n{output}") }
}

impl RequestError {
    /// The same as a fault of the process or the host launch code, where no candidate can be blamed.
    pub fn into_fault(self, role: Role) -> JudgeError {
        match self {
            Self::Interrupted => JudgeError::Interrupted,
            Self::Failed(HostError::NoDevice { message }) => JudgeError::NoDevice(message),
            Self::Failed(HostError::HostCode { message }) => JudgeError::HostCode(message),
            other => JudgeError::Process(format!("the {} process: {other}", role_name(role))),
        }
    }
}

fn role_name(role: Role) -> &'static str {
    match role {
        Role::Device => "device",
        Role::Reference => "reference",
    }
}

/// A running host process. Dropping it kills it.
#[derive(Debug)]
pub struct HostProcess {
    group: Group,
    channel: Channel,
    replies: Receiver<Result<Reply, ChannelError>>,
    asked: VecDeque<&'static str>,
    stdout: Tail,
    stderr: Tail,
    interrupt: Arc<AtomicBool>,
}

impl HostProcess {
    /// Starts the program in a role and waits, up to `deadline`, for its greeting.
    pub fn start(
        program: &HostProgram,
        role: Role,
        session: &Session,
        deadline: Duration,
        interrupt: &Arc<AtomicBool>,
    ) -> Result<Self, JudgeError> {
        let end = Instant::now() + deadline;
        let door = Door::open(session.runtime())?;
        let environment = Environment {
            role,
            socket: door.path().to_owned(),
            share: session.share().to_owned(),
            sizes: session.sizes(),
        };

        let mut command = Command::new(&program.program);
        command.args(&program.args).envs(program.envs.iter().map(|(name, value)| (name, value)));
        if role == Role::Reference {
            // Results are judged here: no kernel shall ever run in this process.
            command.env("CUDA_VISIBLE_DEVICES", "");
        }
        command.envs(environment.variables());
        if let Some(dir) = &program.dir {
            command.current_dir(dir);
        }
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut group = Group::spawn(command).map_err(|error| {
            JudgeError::Process(format!("{} could not be started: {error}", program.program.display()))
        })?;
        let (stdout, stderr) = group.streams();
        let stdout = Tail::drain(stdout, TAIL, |_| ());
        let stderr = Tail::drain(stderr, TAIL, |_| ());

        let name = program.name();
        let silent = |what: &str, printed: String| {
            JudgeError::HostCode(format!(
                "`{name}` {what} without calling fsr_host: its `main` must hand over to fsr_host before anything \
                 else{}",
                appended(&printed)
            ))
        };
        let stream = loop {
            if interrupt.load(Ordering::Relaxed) {
                return Err(JudgeError::Interrupted);
            }
            // Asked before the door, so that a process that connects and ends at once is still let in.
            let ended = group.ended()?;
            if let Some(stream) = door.let_in()? {
                break stream;
            }
            if let Some(status) = ended {
                let printed = printed(&stderr, &stdout);
                return Err(match status.success() {
                    true => silent("ended", printed),
                    false => JudgeError::HostCode(format!(
                        "`{name}` ended ({}) before it called fsr_host{}",
                        status_text(Some(status)),
                        appended(&printed)
                    )),
                });
            }
            if Instant::now() >= end {
                group.kill();
                return Err(silent(
                    &format!("ran for {} s", deadline.as_secs_f64()),
                    printed(&stderr, &stdout),
                ));
            }
            thread::sleep(Duration::from_millis(1));
        };
        drop(door);

        // A process that stops reading must not block the judge for ever.
        stream.set_write_timeout(Some(deadline))?;
        let mut reader = Channel::new(stream.try_clone()?).map_err(channel_fault)?;
        let channel = Channel::new(stream).map_err(channel_fault)?;
        let (hello, greeting) = mpsc::sync_channel::<Result<Hello, ChannelError>>(1);
        let (sender, replies) = mpsc::channel();
        thread::spawn(move || {
            let greeted = reader.receive();
            let spoke = greeted.is_ok();
            if hello.send(greeted).is_err() || !spoke {
                return;
            }
            loop {
                let reply = reader.receive();
                let last = reply.is_err();
                if sender.send(reply).is_err() || last {
                    return;
                }
            }
        });
        let mut process = Self {
            group,
            channel,
            replies,
            asked: VecDeque::new(),
            stdout,
            stderr,
            interrupt: interrupt.clone(),
        };
        process.asked.push_back("hello");
        let hello = process.receive(&greeting, end, deadline).map_err(|error| match error {
            RequestError::Garbled { what, .. } => other_version(&name, &format!("its greeting is {what}")),
            RequestError::Ended { status, output, .. } => JudgeError::HostCode(format!(
                "`{name}` ended ({status}) before its greeting{}",
                appended(&output)
            )),
            other => other.into_fault(role),
        })?;
        if hello.protocol != PROTOCOL_VERSION {
            let what = format!("its fsr-host {} speaks protocol {}", hello.host, hello.protocol);
            return Err(other_version(&name, &what));
        }
        if hello.role != role {
            let what = format!("it took the role of the {} process", role_name(hello.role));
            return Err(other_version(&name, &what));
        }
        Ok(process)
    }

    /// Sends a request without waiting. Answers come in the order of the requests.
    pub fn send(&mut self, request: &Request) -> Result<(), RequestError> {
        let verb = verb(request);
        match self.channel.send(request) {
            Ok(()) => {
                self.asked.push_back(verb);
                Ok(())
            }
            Err(ChannelError::Io(error)) if is_timeout(&error) => {
                self.group.kill();
                Err(RequestError::TimedOut { request: verb, after: Duration::ZERO })
            }
            Err(error) => Err(self.broken(verb, error)),
        }
    }

    /// Waits for the answer to the oldest open request. Past the deadline the process is killed.
    pub fn wait(&mut self, deadline: Duration) -> Result<Reply, RequestError> {
        let end = Instant::now() + deadline;
        // The receiver is lent out for the wait, since a failure needs the rest of `self`.
        let replies = std::mem::replace(&mut self.replies, mpsc::channel().1);
        let reply = self.receive(&replies, end, deadline);
        self.replies = replies;
        match reply? {
            // A driver without a device may say more on stderr than fits into its error code.
            Reply::Failed(HostError::NoDevice { message }) => {
                let said = self.stderr.text(Duration::from_millis(100));
                let message = [message.as_str(), said.trim()].join("; ").trim_end_matches("; ").to_owned();
                Err(RequestError::Failed(HostError::NoDevice { message }))
            }
            Reply::Failed(error) => Err(RequestError::Failed(error)),
            reply => Ok(reply),
        }
    }

    /// Sends a request and waits for its answer; none other may be open.
    pub fn request(&mut self, request: &Request, deadline: Duration) -> Result<Reply, RequestError> {
        debug_assert!(self.asked.is_empty(), "{:?} is still open", self.asked);
        self.send(request)?;
        self.wait(deadline)
    }

    /// Refuses an answer of the wrong kind.
    pub fn unexpected(&mut self, request: &'static str, reply: &Reply) -> RequestError {
        self.group.kill();
        let mut what = format!("{reply:?}");
        what.truncate(what.char_indices().nth(200).map_or(what.len(), |(at, _)| at));
        RequestError::Garbled { request, what }
    }

    fn receive<T>(
        &mut self,
        from: &Receiver<Result<T, ChannelError>>,
        end: Instant,
        deadline: Duration,
    ) -> Result<T, RequestError> {
        let request = self.asked.pop_front().unwrap_or("nothing");
        loop {
            if self.interrupt.load(Ordering::Relaxed) {
                self.group.kill();
                return Err(RequestError::Interrupted);
            }
            let left = end.saturating_duration_since(Instant::now());
            match from.recv_timeout(left.min(TICK)) {
                Ok(Ok(reply)) => return Ok(reply),
                Ok(Err(error)) => return Err(self.broken(request, error)),
                Err(RecvTimeoutError::Disconnected) => return Err(self.broken(request, ChannelError::Closed)),
                Err(RecvTimeoutError::Timeout) if left.is_zero() => {
                    self.group.kill();
                    return Err(RequestError::TimedOut { request, after: deadline });
                }
                Err(RecvTimeoutError::Timeout) => {}
            }
        }
    }

    /// Finds out why the channel broke, and makes sure that the process is gone.
    fn broken(&mut self, request: &'static str, error: ChannelError) -> RequestError {
        match error {
            ChannelError::Message(error) => {
                self.group.kill();
                RequestError::Garbled { request, what: format!("not a message ({error})") }
            }
            _ => {
                // It closes its socket a moment before it ends; one that lives on is of no use either.
                let status = self.group.wait(Duration::from_secs(2)).ok().flatten();
                self.group.kill();
                let output = printed(&self.stderr, &self.stdout);
                RequestError::Ended { request, status: status_text(status), output }
            }
        }
    }
}

fn printed(stderr: &Tail, stdout: &Tail) -> String {
    let text = stderr.text(Duration::from_millis(500));
    let text = if text.trim().is_empty() { stdout.text(Duration::from_millis(500)) } else { text };
    text.trim_end().to_owned()
}

fn status_text(status: Option<std::process::ExitStatus>) -> String {
    status.map_or_else(|| "closed its channel".to_owned(), |status| status.to_string())
}

fn channel_fault(error: ChannelError) -> JudgeError {
    JudgeError::Process(error.to_string())
}

fn other_version(name: &str, what: &str) -> JudgeError {
    JudgeError::HostCode(format!(
        "`{name}` and this cargo-fsr do not understand each other: {what}, wanted is protocol {PROTOCOL_VERSION}; use \
         the fsr-host of version {} in the host target, or the cargo-fsr of its version",
        env!("CARGO_PKG_VERSION")
    ))
}

fn is_timeout(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut)
}

fn verb(request: &Request) -> &'static str {
    match request {
        Request::Describe => "describe",
        Request::MakeSet { .. } => "make-set",
        Request::Compare { .. } => "compare",
        Request::Identify { .. } => "identify",
        Request::Open { .. } => "open",
        Request::Load { .. } => "load",
        Request::Unload { .. } => "unload",
        Request::Upload { .. } => "upload",
        Request::Launch { .. } => "launch",
        Request::Calibrate { .. } => "calibrate",
        Request::DropSet { .. } => "drop-set",
        Request::Exit => "exit",
    }
}

/// A listening socket in a private folder, for one visitor.
#[cfg(unix)]
struct Door {
    listener: std::os::unix::net::UnixListener,
    path: PathBuf,
}

#[cfg(unix)]
impl Door {
    fn open(runtime: &Path) -> Result<Self, JudgeError> {
        static OPENED: std::sync::atomic::AtomicU32 = std::sync::atomic::AtomicU32::new(0);
        let path = runtime.join(format!("{}.sock", OPENED.fetch_add(1, Ordering::Relaxed)));
        let listener = std::os::unix::net::UnixListener::bind(&path)
            .map_err(|error| JudgeError::Process(format!("socket {}: {error}", path.display())))?;
        listener.set_nonblocking(true)?;
        Ok(Self { listener, path })
    }

    fn path(&self) -> &Path {
        &self.path
    }

    fn let_in(&self) -> io::Result<Option<std::os::unix::net::UnixStream>> {
        match self.listener.accept() {
            Ok((stream, _)) => {
                stream.set_nonblocking(false)?;
                Ok(Some(stream))
            }
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => Ok(None),
            Err(error) => Err(error),
        }
    }
}

#[cfg(unix)]
impl Drop for Door {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.path);
    }
}

/// Local sockets of other platforms are still to come: everything else here is ready for them.
#[cfg(not(unix))]
struct Door;

#[cfg(not(unix))]
impl Door {
    fn open(_runtime: &Path) -> Result<Self, JudgeError> {
        Err(JudgeError::Process("host processes do not run on this platform yet".to_owned()))
    }

    fn path(&self) -> &Path {
        Path::new("")
    }

    fn let_in(&self) -> io::Result<Option<std::net::TcpStream>> {
        Ok(None)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_private_library_comes_first_and_cargos_paths_last() {
        let (name, value) = library_path(&["/sim".into()], &["/deps".into()]).unwrap();
        assert!(!name.is_empty());
        let paths: Vec<PathBuf> = std::env::split_paths(&value).collect();
        assert_eq!(paths.first(), Some(&"/sim".into()));
        assert_eq!(paths.last(), Some(&"/deps".into()));
    }
}
