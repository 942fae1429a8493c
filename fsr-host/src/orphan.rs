//! The end of a host process whose `cargo fsr` was killed.
//!
//! A process that waits for a request sees the end of its channel by itself. One that waits for a kernel does not, and
//! if that kernel hangs it would hold the GPU for ever: it ends itself.

use std::os::fd::OwnedFd;
use std::thread;
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, poll};
use rustix::process::{Signal, getpid, kill_process};

/// Time for an orderly end.
pub(crate) const GRACE: Duration = Duration::from_secs(2);

/// Calls `end`, from a thread of its own, when the other side of `socket` has been gone for `grace`.
pub(crate) fn watch(socket: OwnedFd, grace: Duration, end: impl FnOnce() + Send + 'static) {
    thread::spawn(move || {
        loop {
            // No event is asked for: the end of the connection is reported in any case.
            let mut sockets = [PollFd::new(&socket, PollFlags::empty())];
            match poll(&mut sockets, None) {
                Ok(_) if sockets[0].revents().is_empty() => {}
                Ok(_) => break,
                Err(rustix::io::Errno::INTR) => {}
                Err(_) => return,
            }
        }
        thread::sleep(grace);
        end();
    });
}

/// Ends this process at once: an orderly exit would wait for the driver, which waits for the kernel.
pub(crate) fn end() {
    let _ = kill_process(getpid(), Signal::KILL);
}

#[cfg(test)]
mod tests {
    use std::io::Write;
    use std::os::unix::net::UnixStream;
    use std::sync::mpsc;

    use super::*;

    #[test]
    fn the_end_comes_with_the_end_of_the_channel_and_not_before() {
        let (mut judge, host) = UnixStream::pair().unwrap();
        let (sender, ended) = mpsc::channel();
        watch(host.try_clone().unwrap().into(), Duration::ZERO, move || sender.send(()).unwrap());
        judge.write_all(b"a request that nobody reads yet\n").unwrap();
        assert!(ended.recv_timeout(Duration::from_millis(50)).is_err());
        drop(judge);
        ended.recv_timeout(Duration::from_secs(60)).unwrap();
    }
}
