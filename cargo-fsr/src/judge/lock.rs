//! One job at a time on a device, across processes: a second search waits, and says so.
//!
//! The lock is the file's, not the file: it dies with its process, and nothing has to be cleaned up.

use std::fs::{self, File, TryLockError};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use super::{JudgeError, Notice};

/// The right to run something on a device, until dropped.
#[derive(Debug)]
pub struct DeviceLock {
    _file: File,
}

impl DeviceLock {
    /// Waits for the device's turn. `folder` is the same for all processes of a user.
    pub fn acquire(
        folder: &Path,
        ordinal: u32,
        notice: &Notice,
        interrupt: &AtomicBool,
    ) -> Result<Self, JudgeError> {
        let path = folder.join(format!("device-{ordinal}.lock"));
        let fault = |error| JudgeError::Process(format!("lock file {}: {error}", path.display()));
        fs::create_dir_all(folder).map_err(fault)?;
        let file = open(&path).map_err(fault)?;
        let mut told = false;
        loop {
            match file.try_lock() {
                Ok(()) => return Ok(Self { _file: file }),
                Err(TryLockError::WouldBlock) => {}
                Err(TryLockError::Error(error)) => return Err(fault(error)),
            }
            if !told {
                notice(&format!("waiting for device {ordinal}: another cargo fsr is using it"));
                told = true;
            }
            if interrupt.load(Ordering::Relaxed) {
                return Err(JudgeError::Interrupted);
            }
            thread::sleep(Duration::from_millis(20));
        }
    }
}

fn open(path: &PathBuf) -> std::io::Result<File> {
    File::options().create(true).truncate(false).write(true).open(path)
}

#[cfg(test)]
mod tests {
    use std::sync::{Arc, Mutex, mpsc};

    use super::*;

    #[test]
    fn the_second_waits_and_says_so() {
        let folder = tempfile::tempdir().unwrap();
        let quiet: Notice = Arc::new(|_| ());
        let never = AtomicBool::new(false);
        let first = DeviceLock::acquire(folder.path(), 0, &quiet, &never).unwrap();
        let _other_device = DeviceLock::acquire(folder.path(), 1, &quiet, &never).unwrap();

        let (said, heard) = mpsc::channel();
        let said = Mutex::new(said);
        let notice: Notice = Arc::new(move |text: &str| said.lock().unwrap().send(text.to_owned()).unwrap());
        thread::scope(|scope| {
            let second = scope.spawn(|| DeviceLock::acquire(folder.path(), 0, &notice, &never).map(drop));
            assert_eq!(heard.recv().unwrap(), "waiting for device 0: another cargo fsr is using it");
            drop(first);
            second.join().unwrap().unwrap();
        });
        assert!(heard.try_recv().is_err(), "said once");
    }

    #[test]
    fn waiting_can_be_interrupted() {
        let folder = tempfile::tempdir().unwrap();
        let quiet: Notice = Arc::new(|_| ());
        let _held = DeviceLock::acquire(folder.path(), 0, &quiet, &AtomicBool::new(false)).unwrap();
        let second = DeviceLock::acquire(folder.path(), 0, &quiet, &AtomicBool::new(true));
        assert!(matches!(second, Err(JudgeError::Interrupted)));
    }
}
