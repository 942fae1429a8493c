//! Private temporary folders: they vanish with their owner, and what a killed owner left is swept by the next.

use std::fs::{self, File};
use std::io;
use std::path::Path;
use std::time::{Duration, SystemTime};

use tempfile::TempDir;

const PREFIX: &str = "cargo-fsr-";
const HOLD: &str = "hold";
/// Folders younger than this are never swept: their owner may not have locked them yet.
const GRACE: Duration = Duration::from_secs(60);

/// A folder that nobody else can look into.
#[derive(Debug)]
pub(crate) struct Scratch {
    dir: TempDir,
    /// Locked as long as the folder is in use; the lock dies with the process.
    _hold: File,
}

impl Scratch {
    /// Makes a folder in `root`, and sweeps it.
    pub(crate) fn create(root: &Path) -> io::Result<Self> {
        sweep(root);
        let mut builder = tempfile::Builder::new();
        builder.prefix(PREFIX);
        #[cfg(unix)]
        builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o700));
        let dir = builder.tempdir_in(root)?;
        let hold = File::create(dir.path().join(HOLD))?;
        hold.lock()?;
        Ok(Self { dir, _hold: hold })
    }

    pub(crate) fn path(&self) -> &Path {
        self.dir.path()
    }
}

/// Removes what killed processes left in `root`. Whatever fails is left for the next time: it may be another user's.
fn sweep(root: &Path) {
    let Ok(entries) = fs::read_dir(root) else { return };
    for entry in entries.flatten() {
        let path = entry.path();
        let ours = entry.file_name().to_str().is_some_and(|name| name.starts_with(PREFIX));
        if ours && is_old(&path) && is_abandoned(&path) {
            let _ = fs::remove_dir_all(&path);
        }
    }
}

fn is_old(path: &Path) -> bool {
    let age = fs::symlink_metadata(path)
        .and_then(|meta| meta.modified())
        .ok()
        .and_then(|modified| SystemTime::now().duration_since(modified).ok());
    age.is_some_and(|age| age > GRACE)
}

fn is_abandoned(path: &Path) -> bool {
    File::open(path.join(HOLD)).is_ok_and(|hold| hold.try_lock().is_ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(root: &Path) -> Vec<String> {
        let names = fs::read_dir(root).unwrap().map(|entry| entry.unwrap().file_name());
        names.map(|name| name.into_string().unwrap()).collect()
    }

    fn age(folder: &Path) {
        let past = SystemTime::now() - 2 * GRACE;
        File::open(folder).unwrap().set_modified(past).unwrap();
    }

    #[test]
    fn only_abandoned_folders_are_swept() {
        let root = TempDir::new().unwrap();
        let held = Scratch::create(root.path()).unwrap();
        for (folder, hold) in [("cargo-fsr-dead", true), ("cargo-fsr-strange", false), ("other", true)] {
            fs::create_dir(root.path().join(folder)).unwrap();
            if hold {
                fs::write(root.path().join(folder).join(HOLD), "").unwrap();
            }
            age(&root.path().join(folder));
        }
        age(held.path());
        drop(Scratch::create(root.path()).unwrap());
        let left = names(root.path());
        assert!(!left.contains(&"cargo-fsr-dead".to_owned()));
        assert_eq!(left.len(), 3, "{left:?}");
    }

    #[cfg(unix)]
    #[test]
    fn others_cannot_look_inside() {
        use std::os::unix::fs::PermissionsExt;
        let root = TempDir::new().unwrap();
        let folder = Scratch::create(root.path()).unwrap();
        assert_eq!(fs::metadata(folder.path()).unwrap().permissions().mode() & 0o777, 0o700);
    }
}
