//! Where journals live: outside `target/`, since they are paid for, and outside the package, since they are large.
//!
//! One folder a project, package and kernel, one journal a run, and a lock, so that two runs never search for the
//! same kernel at once. Nothing here reads a journal.

use std::fs::{File, OpenOptions, TryLockError};
use std::io::{self, BufRead, BufReader, Read, Seek, Write};
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use fsr_build::spec::Digest;

use crate::lock::try_lock;

/// The state of one project.
#[derive(Clone, Debug)]
pub struct ProjectState {
    folder: PathBuf,
}

impl ProjectState {
    /// The folder of the project at `root`, below the state folder. Two check-outs have two.
    pub fn of_workspace(state_dir: &Path, root: &Path) -> Self {
        let name = root.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        let digest = Digest::of_bytes(root.as_os_str().as_encoded_bytes()).to_string();
        Self { folder: state_dir.join(format!("{name}-{}", &digest[..12])) }
    }

    /// A folder that serves one project alone, as in a bundle.
    pub fn in_folder(folder: PathBuf) -> Self {
        Self { folder }
    }

    /// The runs of a kernel, newest first, without taking its state: only to see how they stand.
    ///
    /// # Errors
    /// When the folder is there and cannot be read.
    pub fn runs(&self, package: &str, kernel: &str) -> Result<Vec<Run>, StateError> {
        runs(&self.folder.join(package).join(kernel))
    }

    /// Takes one kernel's state for as long as the result lives.
    ///
    /// # Errors
    /// When another run has it, or the folder cannot be written.
    pub fn kernel(&self, package: &str, kernel: &str) -> Result<KernelState, StateError> {
        let folder = self.folder.join(package).join(kernel);
        let io = |source| StateError::Io { path: folder.clone(), source };
        std::fs::create_dir_all(&folder).map_err(io)?;
        let mut lock = OpenOptions::new()
            .read(true)
            .write(true)
            .create(true)
            .truncate(false)
            .open(folder.join("lock"))
            .map_err(io)?;
        match try_lock(&lock) {
            Ok(()) => {
                // For the message of whoever comes second.
                lock.set_len(0).and_then(|()| write!(lock, "{}", std::process::id())).map_err(io)?;
                Ok(KernelState { folder, _lock: lock })
            }
            Err(TryLockError::WouldBlock) => {
                let mut holder = String::new();
                let _ = lock.rewind().and_then(|()| lock.read_to_string(&mut holder));
                Err(StateError::Locked { kernel: kernel.to_owned(), holder })
            }
            Err(TryLockError::Error(source)) => Err(io(source)),
        }
    }
}

/// One kernel's runs, locked.
#[derive(Debug)]
pub struct KernelState {
    folder: PathBuf,
    _lock: File,
}

impl KernelState {
    /// A name for a new run: sorts by time, and says nothing of who or where. Runs of one kernel follow one another,
    /// since it is locked, so that a millisecond tells them apart.
    pub fn new_run(&self) -> Run {
        let millis = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_millis();
        // A clock that was set back must not hide this run behind an older one.
        let newest =
            self.runs().ok().and_then(|runs| runs.first()?.id.split('-').next()?.parse::<u128>().ok());
        let millis = newest.map_or(millis, |newest| millis.max(newest.saturating_add(1)));
        let id = format!("{millis:013}-{:06x}", rand::random::<u32>() & 0xff_ffff);
        let journal = self.folder.join(format!("{id}.jsonl"));
        Run { id, journal }
    }

    /// All runs, newest first.
    ///
    /// # Errors
    /// When the folder cannot be read.
    pub fn runs(&self) -> Result<Vec<Run>, StateError> {
        runs(&self.folder)
    }
}

/// A run that ended before its first record holds nothing to go on with, and must not hide one that was paid for.
fn runs(folder: &Path) -> Result<Vec<Run>, StateError> {
    let io = |source| StateError::Io { path: folder.to_owned(), source };
    let listing = match std::fs::read_dir(folder) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        listing => listing.map_err(io)?,
    };
    let mut runs = Vec::new();
    for entry in listing {
        let name = entry.map_err(io)?.file_name();
        if let Some(id) = name.to_str().and_then(|name| name.strip_suffix(".jsonl")) {
            runs.push(Run { id: id.to_owned(), journal: folder.join(format!("{id}.jsonl")) });
        }
    }
    runs.sort_by(|a, b| b.id.cmp(&a.id));
    let mut begun = Vec::new();
    for run in runs {
        if has_record(&run.journal).map_err(|source| StateError::Io { path: run.journal.clone(), source })? {
            begun.push(run);
        }
    }
    Ok(begun)
}

/// Whether a journal has one whole line: its header.
fn has_record(journal: &Path) -> io::Result<bool> {
    let mut line = Vec::new();
    BufReader::new(File::open(journal)?).read_until(b'\n', &mut line)?;
    Ok(line.ends_with(b"\n"))
}

/// One run of a search.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Run {
    /// Its name in journal and manifest.
    pub id: String,
    /// Its journal.
    pub journal: PathBuf,
}

/// Why a kernel's state is not to be had.
#[derive(Debug, thiserror::Error, miette::Diagnostic)]
pub enum StateError {
    /// Another process has it.
    #[error("another run is tuning kernel `{kernel}` (process {holder})")]
    #[diagnostic(help("wait for it, or end it with Ctrl-C: what it found is kept"))]
    Locked {
        /// The kernel.
        kernel: String,
        /// Process id, as the other run wrote it.
        holder: String,
    },
    /// The folder cannot be written.
    #[error("state folder {}: {source}", path.display())]
    #[diagnostic(help("set `state-dir` in fsr.toml or FSR_STATE_DIR to a folder that can be written"))]
    Io {
        /// The folder.
        path: PathBuf,
        /// The cause.
        source: io::Error,
    },
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_run_a_kernel_at_a_time() {
        let folder = tempfile::tempdir().expect("a folder");
        let state = ProjectState::of_workspace(folder.path(), Path::new("/projects/ops"));
        let held = state.kernel("ops", "transpose").expect("free");
        let second = state.kernel("ops", "transpose").expect_err("taken");
        assert_eq!(
            second.to_string(),
            format!("another run is tuning kernel `transpose` (process {})", std::process::id())
        );
        state.kernel("ops", "saxpy").expect("another kernel is free");
        drop(held);
        state.kernel("ops", "transpose").expect("free again");
    }

    #[test]
    fn a_later_run_is_a_newer_one_even_in_the_same_second() {
        let folder = tempfile::tempdir().expect("a folder");
        let state = ProjectState::in_folder(folder.path().to_owned()).kernel("ops", "saxpy").expect("free");
        let ids: Vec<String> = (0..20)
            .map(|_| {
                std::thread::sleep(std::time::Duration::from_millis(2));
                state.new_run().id
            })
            .collect();
        assert!(ids.is_sorted(), "{ids:?}");
    }

    #[test]
    fn a_later_run_is_a_newer_one_though_the_clock_was_set_back() {
        let folder = tempfile::tempdir().expect("a folder");
        let state = ProjectState::in_folder(folder.path().to_owned()).kernel("ops", "saxpy").expect("free");
        let tomorrow = folder.path().join("ops/saxpy/9000000000000-ffffff.jsonl");
        std::fs::write(&tomorrow, "{}\n").expect("writable");
        let run = state.new_run();
        std::fs::write(&run.journal, "{}\n").expect("writable");
        assert_eq!(state.runs().expect("readable")[0], run);
    }

    #[test]
    fn runs_are_found_newest_first() {
        let folder = tempfile::tempdir().expect("a folder");
        let state = ProjectState::in_folder(folder.path().to_owned()).kernel("ops", "saxpy").expect("free");
        assert_eq!(state.runs().expect("readable"), []);
        // The third ended before its header was written.
        for (id, text) in
            [("0000000001-ffffff", "{}\n"), ("0000000002-000000", "{}\n{"), ("0000000003-000000", "{\"at\"")]
        {
            std::fs::write(folder.path().join("ops/saxpy").join(format!("{id}.jsonl")), text)
                .expect("writable");
        }
        let ids: Vec<String> = state.runs().expect("readable").into_iter().map(|run| run.id).collect();
        assert_eq!(ids, ["0000000002-000000", "0000000001-ffffff"]);
    }
}
