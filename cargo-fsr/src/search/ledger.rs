//! Steps that were made already are not made again: the loop's way to its journal.
//!
//! A step is looked for in the journal of this run, then, where a recorded run is repeated, among the recording's
//! compilations, verdicts and times; what is found there is written down as if it had just been made.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use super::SearchError;
use crate::journal::{Entry, Journal, JournalError, Record, Step};
use crate::settings::Settings;

/// The journal and all that is known from it.
pub(super) struct Ledger<'a> {
    open: Mutex<Open<'a>>,
    recording: HashMap<Step, Record>,
}

struct Open<'a> {
    journal: &'a mut dyn Journal,
    known: HashMap<Step, Record>,
    /// To be written before the first new record of a run that was taken up again.
    resumed: Option<Record>,
}

impl<'a> Ledger<'a> {
    /// A ledger over a journal, and over a recorded run that shall be repeated.
    pub fn new(journal: &'a mut dyn Journal, recording: Option<&[Entry]>) -> Self {
        let by_step = |entries: &[Entry]| -> HashMap<Step, Record> {
            entries.iter().filter_map(|entry| Some((entry.record.step()?, entry.record.clone()))).collect()
        };
        let known = by_step(journal.entries());
        let repeated = |record: &Record| {
            matches!(
                record,
                Record::Bench { .. }
                    | Record::Compiled { .. }
                    | Record::Verdict { .. }
                    | Record::Timed { .. }
            )
        };
        let mut recording = recording.map(by_step).unwrap_or_default();
        recording.retain(|_, record| repeated(record));
        Self { open: Mutex::new(Open { journal, known, resumed: None }), recording }
    }

    /// Says, before the next new record, that the run was taken up again.
    pub fn resume(&self, tool: &str, settings: &Settings) {
        self.lock().resumed = Some(Record::Resumed { tool: tool.to_owned(), settings: settings.clone() });
    }

    /// What this run's journal knows of a step.
    pub fn known(&self, step: &Step) -> Option<Record> {
        self.lock().known.get(step).cloned()
    }

    /// What is known of a step, from the journal or the recording.
    pub fn find(&self, step: &Step) -> Result<Option<Record>, JournalError> {
        if let Some(known) = self.known(step) {
            return Ok(Some(known));
        }
        match self.recording.get(step) {
            Some(record) => {
                self.add(record.clone())?;
                Ok(Some(record.clone()))
            }
            None => Ok(None),
        }
    }

    /// Writes a record down, unless its step was made before.
    pub fn add(&self, record: Record) -> Result<(), JournalError> {
        let mut open = self.lock();
        let step = record.step();
        if step.as_ref().is_some_and(|step| open.known.contains_key(step)) {
            return Ok(());
        }
        if let Some(resumed) = open.resumed.take() {
            open.journal.append(resumed)?;
        }
        open.journal.append(record.clone())?;
        if let Some(step) = step {
            open.known.insert(step, record);
        }
        Ok(())
    }

    /// Writes down why the search ended, unless the journal ends with just that.
    pub fn stop(&self, record: Record) -> Result<(), JournalError> {
        let said = self.lock().journal.entries().last().is_some_and(|entry| entry.record == record);
        if said { Ok(()) } else { self.add(record) }
    }

    fn lock(&self) -> MutexGuard<'_, Open<'a>> {
        // A thread that panicked here left no half-made change behind: records are added as the last act.
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A recorded step that was made on something else than what is at hand.
pub(super) fn diverged(step: &Step) -> SearchError {
    SearchError::Diverged { step: format!("{step:?}") }
}
