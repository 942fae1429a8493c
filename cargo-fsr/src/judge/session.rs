//! The private folders of one judge: sockets, and the bulk files of inputs and outputs in memory where there is room.
//!
//! They vanish with the judge. A process killed outright leaves them behind; the next one sweeps what nobody holds.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use tempfile::TempDir;

const PREFIX: &str = "cargo-fsr-";
const HOLD: &str = "hold";
/// Folders younger than this are never swept: their owner may not have locked them yet.
const GRACE: Duration = Duration::from_secs(60);
/// A socket's path must fit into `sun_path`, 104 bytes on some systems, with the folder's and the socket's own name.
const SOCKET_ROOT: usize = 60;

/// Folders of one judge.
#[derive(Debug)]
pub struct Session {
    runtime: Folder,
    share: Folder,
}

impl Session {
    /// Makes the folders. The bulk files go to the first of `roots` that exists and has `need` bytes to spare, else to
    /// the last one.
    pub fn create(roots: &[PathBuf], need: u64) -> io::Result<Self> {
        let temp = std::env::temp_dir();
        let short = if temp.as_os_str().len() <= SOCKET_ROOT { temp } else { PathBuf::from("/tmp") };
        let last = roots.last().map_or(short.as_path(), PathBuf::as_path);
        let fits =
            |root: &&PathBuf| root.is_dir() && free_bytes(root).is_none_or(|free| free / 10 * 9 >= need);
        let chosen = roots.iter().find(fits).map_or(last, PathBuf::as_path);
        // A root that cannot be written to (a read-only /dev/shm) is as good as none.
        let share = Folder::create(chosen).or_else(|_| Folder::create(last))?;
        // Tests keep both below one root; a socket's path must stay short.
        let runtime_root = if last.as_os_str().len() <= SOCKET_ROOT { last } else { short.as_path() };
        Ok(Self { runtime: Folder::create(runtime_root)?, share })
    }

    /// `/dev/shm` where it exists, then the temporary folder.
    pub fn default_roots() -> Vec<PathBuf> {
        let memory = PathBuf::from("/dev/shm");
        memory.is_dir().then_some(memory).into_iter().chain([std::env::temp_dir()]).collect()
    }

    /// Folder of the sockets.
    pub fn runtime(&self) -> &Path {
        self.runtime.dir.path()
    }

    /// Folder of the bulk files.
    pub fn share(&self) -> &Path {
        self.share.dir.path()
    }

    /// Whether `need` bytes more fit into the folder of the bulk files; true where that cannot be asked.
    pub fn has_room(&self, need: u64) -> bool {
        free_bytes(self.share()).is_none_or(|free| free / 10 * 9 >= need)
    }
}

#[derive(Debug)]
struct Folder {
    dir: TempDir,
    /// Locked as long as the folder is in use; the lock dies with the process.
    _hold: File,
}

impl Folder {
    fn create(root: &Path) -> io::Result<Self> {
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

#[cfg(unix)]
fn free_bytes(path: &Path) -> Option<u64> {
    let stat = rustix::fs::statvfs(path).ok()?;
    Some(stat.f_bavail.saturating_mul(stat.f_frsize))
}

#[cfg(not(unix))]
fn free_bytes(_path: &Path) -> Option<u64> {
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(root: &Path) -> Vec<String> {
        let mut names: Vec<_> = fs::read_dir(root)
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        names.sort();
        names
    }

    fn age(folder: &Path) {
        let past = SystemTime::now() - 2 * GRACE;
        File::open(folder).unwrap().set_modified(past).unwrap();
    }

    #[test]
    fn nothing_is_left_behind() {
        let root = TempDir::new().unwrap();
        let session = Session::create(&[root.path().to_owned()], 0).unwrap();
        assert_eq!(names(root.path()).len(), 2);
        drop(session);
        assert!(names(root.path()).is_empty());
    }

    #[test]
    fn a_full_root_is_passed_over() {
        let (small, large) = (TempDir::new().unwrap(), TempDir::new().unwrap());
        let roots = [small.path().to_owned(), large.path().to_owned()];
        let session = Session::create(&roots, u64::MAX).unwrap();
        assert!(session.share().starts_with(large.path()));
        assert!(!session.has_room(u64::MAX));
        assert!(session.has_room(1));
    }

    #[test]
    fn only_abandoned_folders_are_swept() {
        let root = TempDir::new().unwrap();
        let roots = [root.path().to_owned()];
        let held = Session::create(&roots, 0).unwrap();
        for (folder, hold) in [("cargo-fsr-dead", true), ("cargo-fsr-strange", false), ("other", true)] {
            fs::create_dir(root.path().join(folder)).unwrap();
            if hold {
                fs::write(root.path().join(folder).join(HOLD), "").unwrap();
            }
            age(&root.path().join(folder));
        }
        age(held.share());
        drop(Session::create(&roots, 0).unwrap());
        let left = names(root.path());
        assert!(!left.contains(&"cargo-fsr-dead".to_owned()));
        assert_eq!(left.len(), 4, "{left:?}");
    }

    #[cfg(unix)]
    #[test]
    fn others_cannot_look_inside() {
        use std::os::unix::fs::PermissionsExt;
        let root = TempDir::new().unwrap();
        let session = Session::create(&[root.path().to_owned()], 0).unwrap();
        for folder in [session.runtime(), session.share()] {
            assert_eq!(fs::metadata(folder).unwrap().permissions().mode() & 0o777, 0o700);
        }
    }
}
