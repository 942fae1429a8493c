//! A file lock that is either ours or really somebody else's.
//!
//! A child process inherits every open lock between its fork and its exec. Whoever lets a lock go while another thread
//! starts a program so keeps it for an instant; only a lock that stays is taken to be held.

use std::fs::{File, TryLockError};
use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

/// How long an inherited lock may live: far longer than an exec takes, and short for a person.
const INHERITED: Duration = Duration::from_millis(500);

/// As [`File::try_lock`], but for locks that a child is about to let go.
///
/// # Errors
/// As [`File::try_lock`].
pub fn try_lock(file: &File) -> Result<(), TryLockError> {
    let end = Instant::now() + INHERITED;
    loop {
        match file.try_lock() {
            Err(TryLockError::WouldBlock) if Instant::now() < end => thread::sleep(Duration::from_millis(5)),
            result => return result,
        }
    }
}

/// Waits for a lock until it is ours; false where `interrupt` ends the wait.
///
/// # Errors
/// As [`File::try_lock`].
pub fn wait(file: &File, interrupt: &AtomicBool) -> io::Result<bool> {
    loop {
        match try_lock(file) {
            Ok(()) => return Ok(true),
            Err(TryLockError::Error(error)) => return Err(error),
            Err(TryLockError::WouldBlock) if interrupt.load(Ordering::Relaxed) => return Ok(false),
            Err(TryLockError::WouldBlock) => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn open(path: &std::path::Path) -> File {
        File::options().create(true).truncate(false).write(true).open(path).expect("writable")
    }

    #[test]
    fn a_lock_that_is_let_go_soon_is_waited_for_and_one_that_stays_is_not() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("lock");
        let held = open(&path);
        held.lock().expect("free");
        let heir = thread::spawn(move || {
            thread::sleep(Duration::from_millis(50));
            drop(held);
        });
        let second = open(&path);
        try_lock(&second).expect("let go in time");
        heir.join().expect("no panic");
        assert!(matches!(try_lock(&open(&path)), Err(TryLockError::WouldBlock)));
        assert!(!wait(&open(&path), &AtomicBool::new(true)).expect("a lock"));
        drop(second);
        assert!(wait(&open(&path), &AtomicBool::new(true)).expect("a lock"));
    }
}
