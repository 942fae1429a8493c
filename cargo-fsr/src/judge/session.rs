//! The private folders of one judge: sockets, and the bulk files of inputs and outputs in memory where there is room.
//!
//! They vanish with the judge.

use std::io;
use std::path::{Path, PathBuf};

use crate::scratch::Scratch;

/// A socket's path must fit into `sun_path`, 104 bytes on some systems, with the folder's and the socket's own name.
const SOCKET_ROOT: usize = 60;

/// Folders of one judge.
#[derive(Debug)]
pub struct Session {
    runtime: Scratch,
    share: Scratch,
    sizes: u64,
}

impl Session {
    /// Makes the folders. The bulk files go to the first of `roots` that exists and has `need` bytes to spare, else to
    /// the last one. `sizes` is handed to every process of the judge.
    pub fn create(roots: &[PathBuf], need: u64, sizes: u64) -> io::Result<Self> {
        let temp = std::env::temp_dir();
        let short = if temp.as_os_str().len() <= SOCKET_ROOT { temp } else { PathBuf::from("/tmp") };
        let last = roots.last().map_or(short.as_path(), PathBuf::as_path);
        let fits =
            |root: &&PathBuf| root.is_dir() && free_bytes(root).is_none_or(|free| free / 10 * 9 >= need);
        let chosen = roots.iter().find(fits).map_or(last, PathBuf::as_path);
        // A root that cannot be written to (a read-only /dev/shm) is as good as none.
        let share = Scratch::create(chosen).or_else(|_| Scratch::create(last))?;
        // Tests keep both below one root; a socket's path must stay short.
        let runtime_root = if last.as_os_str().len() <= SOCKET_ROOT { last } else { short.as_path() };
        Ok(Self { runtime: Scratch::create(runtime_root)?, share, sizes })
    }

    /// `/dev/shm` where it exists, then the temporary folder.
    pub fn default_roots() -> Vec<PathBuf> {
        let memory = PathBuf::from("/dev/shm");
        memory.is_dir().then_some(memory).into_iter().chain([std::env::temp_dir()]).collect()
    }

    /// Folder of the sockets.
    pub fn runtime(&self) -> &Path {
        self.runtime.path()
    }

    /// What the sizes of this run are drawn from.
    pub fn sizes(&self) -> u64 {
        self.sizes
    }

    /// Folder of the bulk files.
    pub fn share(&self) -> &Path {
        self.share.path()
    }

    /// Whether `need` bytes more fit into the folder of the bulk files; true where that cannot be asked.
    pub fn has_room(&self, need: u64) -> bool {
        free_bytes(self.share()).is_none_or(|free| free / 10 * 9 >= need)
    }
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
    use std::fs;

    use tempfile::TempDir;

    use super::*;

    fn names(root: &Path) -> Vec<String> {
        let mut names: Vec<_> = fs::read_dir(root)
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        names.sort();
        names
    }

    #[test]
    fn nothing_is_left_behind() {
        let root = TempDir::new().unwrap();
        let session = Session::create(&[root.path().to_owned()], 0, 0).unwrap();
        assert_eq!(names(root.path()).len(), 2);
        drop(session);
        assert!(names(root.path()).is_empty());
    }

    #[test]
    fn a_full_root_is_passed_over() {
        let (small, large) = (TempDir::new().unwrap(), TempDir::new().unwrap());
        let roots = [small.path().to_owned(), large.path().to_owned()];
        let session = Session::create(&roots, u64::MAX, 0).unwrap();
        assert!(session.share().starts_with(large.path()));
        assert!(!session.has_room(u64::MAX));
        assert!(session.has_room(1));
    }
}
