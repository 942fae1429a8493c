//! JSON lines over a local stream socket, and the environment that tells a host process where it is.

use std::ffi::OsString;
use std::io::{self, BufRead, BufReader, Write};
use std::path::PathBuf;

use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::Role;

#[cfg(unix)]
type Stream = std::os::unix::net::UnixStream;
#[cfg(not(unix))]
type Stream = std::net::TcpStream;

const ROLE: &str = "FSR_HOST_ROLE";
const SOCKET: &str = "FSR_HOST_SOCKET";
const SHARE: &str = "FSR_HOST_SHARE";
const SIZES: &str = "FSR_HOST_SIZES";

/// What `cargo fsr` puts into the environment of a host process.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Environment {
    /// The half of the work to do.
    pub role: Role,
    /// Path of the listening socket.
    pub socket: PathBuf,
    /// Folder of the bulk files.
    pub share: PathBuf,
    /// What sizes that nobody knows beforehand are drawn from; the same for both processes of a run.
    pub sizes: u64,
}

impl Environment {
    /// Reads it; `None` where the program was started by hand.
    pub fn read() -> Result<Option<Self>, ChannelError> {
        let Some(role) = std::env::var_os(ROLE) else { return Ok(None) };
        let role = match role.to_str() {
            Some("device") => Role::Device,
            Some("reference") => Role::Reference,
            _ => return Err(ChannelError::Environment(ROLE)),
        };
        let path = |name| std::env::var_os(name).map(PathBuf::from).ok_or(ChannelError::Environment(name));
        let sizes = std::env::var(SIZES).ok().and_then(|sizes| sizes.parse().ok());
        let sizes = sizes.ok_or(ChannelError::Environment(SIZES))?;
        Ok(Some(Self { role, socket: path(SOCKET)?, share: path(SHARE)?, sizes }))
    }

    /// The variables to set on the child.
    pub fn variables(&self) -> [(&'static str, OsString); 4] {
        let role = match self.role {
            Role::Device => "device",
            Role::Reference => "reference",
        };
        [
            (ROLE, role.into()),
            (SOCKET, self.socket.clone().into()),
            (SHARE, self.share.clone().into()),
            (SIZES, self.sizes.to_string().into()),
        ]
    }
}

/// A connected pair of message streams.
#[derive(Debug)]
pub struct Channel {
    reader: BufReader<Stream>,
    writer: Stream,
}

impl Channel {
    /// Wraps a connected socket.
    pub fn new(stream: Stream) -> Result<Self, ChannelError> {
        Ok(Self { reader: BufReader::new(stream.try_clone()?), writer: stream })
    }

    /// Connects to the socket of the environment.
    #[cfg(unix)]
    pub fn connect(environment: &Environment) -> Result<Self, ChannelError> {
        Self::new(Stream::connect(&environment.socket)?)
    }

    /// Connects to the address of the environment, `127.0.0.1:port` where there are no socket files.
    #[cfg(not(unix))]
    pub fn connect(environment: &Environment) -> Result<Self, ChannelError> {
        Self::new(Stream::connect(environment.socket.to_string_lossy().as_ref())?)
    }

    /// Another handle of the socket, for whoever wants to know that the other process is gone.
    #[cfg(unix)]
    pub fn socket(&self) -> Result<std::os::fd::OwnedFd, ChannelError> {
        Ok(self.writer.try_clone()?.into())
    }

    /// Sends one message.
    pub fn send<T: Serialize>(&mut self, message: &T) -> Result<(), ChannelError> {
        let mut line = serde_json::to_vec(message)?;
        line.push(b'\n');
        Ok(self.writer.write_all(&line)?)
    }

    /// Waits for one message; [`ChannelError::Closed`] when the other side is gone.
    pub fn receive<T: DeserializeOwned>(&mut self) -> Result<T, ChannelError> {
        let mut line = Vec::new();
        self.reader.read_until(b'\n', &mut line)?;
        if line.pop() != Some(b'\n') {
            return Err(ChannelError::Closed);
        }
        Ok(serde_json::from_slice(&line)?)
    }
}

/// Why a message did not get through.
#[derive(Debug, thiserror::Error)]
pub enum ChannelError {
    /// The other process ended.
    #[error("the other process closed the channel")]
    Closed,
    /// A variable is missing or unreadable.
    #[error(
        "environment variable {0} is missing or not understood: cargo-fsr sets it, where it has the version of this \
         fsr-host"
    )]
    Environment(&'static str),
    /// The socket failed.
    #[error(transparent)]
    Io(#[from] io::Error),
    /// The text is no message: another version of fsr-host, or not fsr-host at all.
    #[error("not a message: {0}")]
    Message(#[from] serde_json::Error),
}
