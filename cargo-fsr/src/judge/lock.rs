//! One job at a time on a device, across processes: a second search waits, and says so.
//!
//! A lock is named by its device, and all of a user's processes on a machine look for it in the same place. It is the
//! file's, not the file: it dies with its process, and nothing has to be cleaned up.

use std::fs::{self, DirBuilder, File, TryLockError};
use std::io;
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
    /// Where this user's processes keep the locks, whatever their settings and their project.
    pub fn folder() -> PathBuf {
        // Not the folder that `TMPDIR` names: it differs from session to session.
        #[cfg(unix)]
        return Path::new("/tmp").join(format!("cargo-fsr-locks-{}", rustix::process::getuid().as_raw()));
        #[cfg(not(unix))]
        return std::env::temp_dir().join("cargo-fsr-locks");
    }

    /// Waits for the turn on the device with this UUID.
    ///
    /// # Errors
    /// When the lock cannot be had at all, or the wait is interrupted.
    pub fn acquire(
        folder: &Path,
        uuid: &str,
        notice: &Notice,
        interrupt: &AtomicBool,
    ) -> Result<Self, JudgeError> {
        let path = folder.join(format!("{uuid}.lock"));
        let fault = |error| JudgeError::Process(format!("lock file {}: {error}", path.display()));
        own_folder(folder).map_err(fault)?;
        let file = File::options().create(true).truncate(false).write(true).open(&path).map_err(fault)?;
        let mut told = false;
        loop {
            match file.try_lock() {
                Ok(()) => return Ok(Self { _file: file }),
                Err(TryLockError::WouldBlock) => {}
                Err(TryLockError::Error(error)) => return Err(fault(error)),
            }
            if !told {
                notice("waiting for the device: another cargo fsr is using it");
                told = true;
            }
            if interrupt.load(Ordering::Relaxed) {
                return Err(JudgeError::Interrupted);
            }
            thread::sleep(Duration::from_millis(20));
        }
    }
}

/// Makes the folder for this user alone. In a place that others can write to, somebody else's is not trusted.
fn own_folder(folder: &Path) -> io::Result<()> {
    let mut builder = DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(folder)?;
    #[cfg(unix)]
    {
        use std::os::unix::fs::MetadataExt;
        let there = fs::symlink_metadata(folder)?;
        if !there.is_dir() || there.uid() != rustix::process::getuid().as_raw() {
            return Err(io::Error::other("its folder belongs to another user; have it removed"));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::sync::{Arc, Mutex, mpsc};

    use super::*;

    const GPU: &str = "6a";
    /// A test that waits longer has failed.
    const PATIENCE: Duration = Duration::from_secs(60);

    #[test]
    fn the_second_waits_and_says_so() {
        let folder = tempfile::tempdir().unwrap();
        let quiet: Notice = Arc::new(|_| ());
        let never = AtomicBool::new(false);
        let first = DeviceLock::acquire(folder.path(), GPU, &quiet, &never).unwrap();
        let _other_device = DeviceLock::acquire(folder.path(), "0f", &quiet, &never).unwrap();

        let (said, heard) = mpsc::channel();
        let said = Mutex::new(said);
        let notice: Notice = Arc::new(move |text: &str| said.lock().unwrap().send(text.to_owned()).unwrap());
        thread::scope(|scope| {
            let second = scope.spawn(|| DeviceLock::acquire(folder.path(), GPU, &notice, &never).map(drop));
            assert_eq!(
                heard.recv_timeout(PATIENCE).unwrap(),
                "waiting for the device: another cargo fsr is using it"
            );
            drop(first);
            second.join().unwrap().unwrap();
        });
        assert!(heard.try_recv().is_err(), "said once");
    }

    #[test]
    fn waiting_can_be_interrupted() {
        let folder = tempfile::tempdir().unwrap();
        let quiet: Notice = Arc::new(|_| ());
        let _held = DeviceLock::acquire(folder.path(), GPU, &quiet, &AtomicBool::new(false)).unwrap();
        let second = DeviceLock::acquire(folder.path(), GPU, &quiet, &AtomicBool::new(true));
        assert!(matches!(second, Err(JudgeError::Interrupted)));
    }

    #[cfg(unix)]
    #[test]
    fn a_folder_that_somebody_else_may_have_laid_out_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let link = folder.path().join("link");
        std::os::unix::fs::symlink(folder.path(), &link).unwrap();
        let quiet: Notice = Arc::new(|_| ());
        let refused = DeviceLock::acquire(&link, GPU, &quiet, &AtomicBool::new(false)).unwrap_err();
        assert!(refused.to_string().ends_with("its folder belongs to another user; have it removed"));
    }
}
