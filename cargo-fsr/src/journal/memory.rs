//! A journal that lives and dies with the process: for tests, and for replays that leave nothing behind.

use super::{Entry, Journal, JournalError, Record};

/// Keeps records in memory. Its clock stands still, so that equal searches give equal journals.
#[derive(Debug, Default)]
pub struct MemoryJournal {
    entries: Vec<Entry>,
}

impl MemoryJournal {
    /// An empty journal.
    pub fn new() -> Self {
        Self::default()
    }

    /// A journal with a past.
    pub fn with_entries(entries: Vec<Entry>) -> Self {
        Self { entries }
    }
}

impl Journal for MemoryJournal {
    fn entries(&self) -> &[Entry] {
        &self.entries
    }

    fn append(&mut self, record: Record) -> Result<(), JournalError> {
        self.entries.push(Entry { at: 0, record });
        Ok(())
    }
}
