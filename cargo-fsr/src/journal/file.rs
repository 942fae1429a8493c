//! The journal on disk: one JSON line a record.
//!
//! A last line without its line feed was being written when the process ended; it is dropped. Anything else that
//! cannot be read is an error with its line: nothing is repaired silently.

use std::fs::{File, OpenOptions, TryLockError};
use std::io::{Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use serde::Deserialize;

use super::{Entry, FORMAT, Journal, JournalError, Record};
use crate::lock::try_lock;

/// A journal that is open for more, locked against other runs.
#[derive(Debug)]
pub struct FileJournal {
    path: PathBuf,
    file: File,
    entries: Vec<Entry>,
    broken: bool,
}

impl FileJournal {
    /// Begins a new journal where there is none.
    pub fn create(path: impl Into<PathBuf>) -> Result<Self, JournalError> {
        let path = path.into();
        if let Some(parent) = path.parent() {
            std::fs::create_dir_all(parent).map_err(|source| io(parent, source))?;
        }
        match OpenOptions::new().read(true).append(true).create_new(true).open(&path) {
            Ok(file) => Self::lock(path, file),
            Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => {
                Err(JournalError::Exists { path })
            }
            Err(source) => Err(JournalError::Io { path, source }),
        }
    }

    /// Takes up a journal: reads it and cuts off a torn last line.
    pub fn open(path: impl Into<PathBuf>) -> Result<Self, JournalError> {
        let path = path.into();
        let file =
            OpenOptions::new().read(true).append(true).open(&path).map_err(|source| io(&path, source))?;
        let mut journal = Self::lock(path, file)?;
        let mut bytes = Vec::new();
        journal
            .file
            .seek(SeekFrom::Start(0))
            .and_then(|_| journal.file.read_to_end(&mut bytes))
            .map_err(|source| io(&journal.path, source))?;
        let whole = whole_lines(&bytes);
        journal.entries = parse(&journal.path, whole)?;
        if whole.len() < bytes.len() {
            journal
                .file
                .set_len(whole.len() as u64)
                .and_then(|()| journal.file.sync_data())
                .map_err(|source| io(&journal.path, source))?;
        }
        Ok(journal)
    }

    /// Where it lies.
    pub fn path(&self) -> &Path {
        &self.path
    }

    fn lock(path: PathBuf, file: File) -> Result<Self, JournalError> {
        match try_lock(&file) {
            Ok(()) => Ok(Self { path, file, entries: Vec::new(), broken: false }),
            Err(TryLockError::WouldBlock) => Err(JournalError::Locked { path }),
            // A file system without locks is no reason to refuse a search; the store has a lock of its own.
            Err(TryLockError::Error(error)) if error.kind() == std::io::ErrorKind::Unsupported => {
                Ok(Self { path, file, entries: Vec::new(), broken: false })
            }
            Err(TryLockError::Error(source)) => Err(JournalError::Io { path, source }),
        }
    }
}

impl Journal for FileJournal {
    fn entries(&self) -> &[Entry] {
        &self.entries
    }

    fn append(&mut self, record: Record) -> Result<(), JournalError> {
        if self.broken {
            return Err(JournalError::Broken { path: self.path.clone() });
        }
        let entry = Entry { at: now(), record };
        let mut line =
            serde_json::to_string(&entry).map_err(|error| JournalError::Unwritable(error.to_string()))?;
        // A line that cannot be read back would make the whole journal useless: infinities become `null`, say.
        match serde_json::from_str::<Entry>(&line) {
            Ok(back) if back == entry => {}
            Ok(_) => return Err(JournalError::Unwritable("it would read differently".to_owned())),
            Err(error) => return Err(JournalError::Unwritable(error.to_string())),
        }
        line.push('\n');
        // Written is safe from the end of the process. Power cuts are guarded against where a step was paid for.
        let sync = is_dear(&entry.record);
        let written = self.file.write_all(line.as_bytes());
        if let Err(source) = written.and_then(|()| if sync { self.file.sync_data() } else { Ok(()) }) {
            self.broken = true;
            return Err(JournalError::Io { path: self.path.clone(), source });
        }
        self.entries.push(entry);
        Ok(())
    }
}

/// Reads a journal without touching or locking it, leaving out a torn last line.
pub fn read(path: &Path) -> Result<Vec<Entry>, JournalError> {
    let bytes = std::fs::read(path).map_err(|source| io(path, source))?;
    parse(path, whole_lines(&bytes))
}

/// Whether losing a record costs more than the machine's time. It is synced together with all before it.
fn is_dear(record: &Record) -> bool {
    matches!(record, Record::Header(_) | Record::Answer { .. } | Record::Best { .. } | Record::Stopped { .. })
}

fn whole_lines(bytes: &[u8]) -> &[u8] {
    let end = bytes.iter().rposition(|&byte| byte == b'\n').map_or(0, |at| at + 1);
    &bytes[..end]
}

fn parse(path: &Path, bytes: &[u8]) -> Result<Vec<Entry>, JournalError> {
    let corrupt = |line: usize, what: String| JournalError::Corrupt { path: path.to_owned(), line, what };
    let mut entries = Vec::new();
    let mut steps = std::collections::HashSet::new();
    for (index, line) in bytes.split_inclusive(|&byte| byte == b'\n').enumerate() {
        let number = index + 1;
        if index == 0 {
            check_format(path, line)?;
        }
        let entry: Entry = serde_json::from_slice(line).map_err(|error| corrupt(number, fault(&error)))?;
        if (index == 0) != matches!(entry.record, Record::Header(_)) {
            return Err(corrupt(number, "a journal begins with its header, and has no other".to_owned()));
        }
        if let Some(step) = entry.record.step()
            && !steps.insert(step)
        {
            return Err(corrupt(number, "a step that an earlier line recorded".to_owned()));
        }
        entries.push(entry);
    }
    Ok(entries)
}

/// The parser counts lines within the one that it was given: only the column is of use.
fn fault(error: &serde_json::Error) -> String {
    let text = error.to_string();
    let place = format!(" at line {} column {}", error.line(), error.column());
    text.strip_suffix(&place).map_or(text.clone(), |what| format!("{what} (column {})", error.column()))
}

/// The version is looked at before anything else, so that another format is named as such.
fn check_format(path: &Path, line: &[u8]) -> Result<(), JournalError> {
    #[derive(Deserialize)]
    struct First {
        record: FirstRecord,
    }
    #[derive(Deserialize)]
    struct FirstRecord {
        format: u64,
    }
    let first: First = serde_json::from_slice(line).map_err(|_| JournalError::Corrupt {
        path: path.to_owned(),
        line: 1,
        what: "this is no journal of cargo-fsr".to_owned(),
    })?;
    match first.record.format {
        format if format == u64::from(FORMAT) => Ok(()),
        found => Err(JournalError::Format { path: path.to_owned(), found, known: FORMAT }),
    }
}

fn io(path: &Path, source: std::io::Error) -> JournalError {
    JournalError::Io { path: path.to_owned(), source }
}

fn now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_millis() as u64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::journal::fixture::header;
    use crate::model::Origin;

    fn note(text: &str) -> Record {
        Record::Note { about: Some(Origin::Candidate { round: 1, slot: 2 }), text: text.to_owned() }
    }

    fn written(folder: &tempfile::TempDir) -> PathBuf {
        let path = folder.path().join("deep/run.jsonl");
        let mut journal = FileJournal::create(&path).unwrap();
        for record in [header(), note("one"), note("two\nlines")] {
            journal.append(record).unwrap();
        }
        path
    }

    #[test]
    fn records_come_back_as_they_were() {
        let folder = tempfile::tempdir().unwrap();
        let path = written(&folder);
        let journal = FileJournal::open(&path).unwrap();
        let records: Vec<_> = journal.entries().iter().map(|entry| entry.record.clone()).collect();
        assert_eq!(records, [header(), note("one"), note("two\nlines")]);
        assert_eq!(read(&path).unwrap(), journal.entries());
    }

    #[test]
    fn a_torn_end_is_cut_off_at_every_byte() {
        let folder = tempfile::tempdir().unwrap();
        let path = written(&folder);
        let bytes = std::fs::read(&path).unwrap();
        let header = bytes.iter().position(|&byte| byte == b'\n').unwrap();
        for length in (0..header).step_by(97).chain(header - 1..bytes.len()) {
            std::fs::write(&path, &bytes[..length]).unwrap();
            let whole = bytes[..length].iter().filter(|&&byte| byte == b'\n').count();
            assert_eq!(read(&path).unwrap().len(), whole);
            let mut journal = FileJournal::open(&path).unwrap();
            assert_eq!(journal.entries().len(), whole);
            if whole > 0 {
                journal.append(note("three")).unwrap();
                drop(journal);
                assert_eq!(FileJournal::open(&path).unwrap().entries().len(), whole + 1);
            }
        }
    }

    #[test]
    fn damage_elsewhere_is_named_by_its_line() {
        let folder = tempfile::tempdir().unwrap();
        let path = written(&folder);
        let text = std::fs::read_to_string(&path).unwrap();
        let error = |text: String| {
            std::fs::write(&path, text).unwrap();
            FileJournal::open(&path).unwrap_err().to_string().replace(&*path.to_string_lossy(), "RUN")
        };
        let line = |index: usize| text.lines().nth(index).unwrap();
        insta::assert_snapshot!(error(text.replace("\"one\"", "one")),
            @"journal RUN, line 2: expected value (column 66)");
        insta::assert_snapshot!(error(format!("{}\n{text}", line(1))),
            @"journal RUN, line 1: this is no journal of cargo-fsr");
        insta::assert_snapshot!(error(format!("{text}{}\n", line(0))),
            @"journal RUN, line 4: a journal begins with its header, and has no other");
        insta::assert_snapshot!(error(format!("{text}{}\n", line(1))),
            @"journal RUN, line 4: a step that an earlier line recorded");
        insta::assert_snapshot!(error(text.replace("\"format\":1", "\"format\":7")),
            @"journal RUN has format 7, and this version of cargo-fsr reads format 1");
    }

    #[test]
    fn one_run_writes_at_a_time_and_none_begins_twice() {
        let folder = tempfile::tempdir().unwrap();
        let path = written(&folder);
        assert!(matches!(FileJournal::create(&path), Err(JournalError::Exists { .. })));
        let _held = FileJournal::open(&path).unwrap();
        assert!(matches!(FileJournal::open(&path), Err(JournalError::Locked { .. })));
        assert_eq!(read(&path).unwrap().len(), 3);
    }

    #[test]
    fn a_time_that_is_no_number_is_not_written() {
        let folder = tempfile::tempdir().unwrap();
        let path = written(&folder);
        let mut journal = FileJournal::open(&path).unwrap();
        let best =
            Record::Best { origin: Origin::Baseline, defines: Default::default(), score: f64::INFINITY };
        assert!(matches!(journal.append(best), Err(JournalError::Unwritable(_))));
        drop(journal);
        assert_eq!(read(&path).unwrap().len(), 3);
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn a_full_disk_breaks_the_journal_and_nothing_before_it() {
        let file = OpenOptions::new().append(true).open("/dev/full").unwrap();
        let mut journal = FileJournal { path: "/dev/full".into(), file, entries: Vec::new(), broken: false };
        assert!(matches!(journal.append(header()), Err(JournalError::Io { .. })));
        assert!(matches!(journal.append(header()), Err(JournalError::Broken { .. })));
        assert!(journal.entries().is_empty());
    }
}
