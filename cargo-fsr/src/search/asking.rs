//! Stands by while a model works on one prompt: what it may spend is asked of the purse and written down before and after,
//! what comes and what is waited for goes to whoever watches.

use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use super::Event;
use super::effects::Effects;
use crate::budget::{Hold, unsettled};
use crate::journal::Record;
use crate::model::{ModelError, Origin, Request, Spent, Witness};

/// One prompt that is being answered.
pub(super) struct Asking<'e, 'a> {
    effects: &'e Effects<'a>,
    origin: Origin,
    model: &'e str,
    /// The request in flight.
    hold: Mutex<Option<Hold>>,
}

impl<'e, 'a> Asking<'e, 'a> {
    pub fn new(effects: &'e Effects<'a>, origin: Origin, model: &'e str) -> Self {
        Self { effects, origin, model, hold: Mutex::default() }
    }

    fn take(&self) -> Option<Hold> {
        self.hold.lock().unwrap_or_else(PoisonError::into_inner).take()
    }
}

/// A model that never says how a request ended may have spent all of it.
impl Drop for Asking<'_, '_> {
    fn drop(&mut self) {
        if let Some(hold) = self.take() {
            self.effects.purse.settle(hold, unsettled(hold.request()));
        }
    }
}

impl Witness for Asking<'_, '_> {
    fn request(&self, request: Request) -> Result<(), ModelError> {
        let (effects, origin) = (self.effects, self.origin);
        let hold = effects.purse.hold_for(self.model, request)?;
        // Before it is made: a run that is killed now must not forget that it may have to be paid.
        let record = Record::Request { origin, model: self.model.to_owned(), request };
        effects.ledger.add(record).inspect_err(|_| effects.purse.release(hold))?;
        *self.hold.lock().unwrap_or_else(PoisonError::into_inner) = Some(hold);
        Ok(())
    }

    fn settle(&self, spent: Spent) {
        if let Some(hold) = self.take() {
            self.effects.purse.settle(hold, spent);
            // Unwritten it counts in full when the run is taken up; the answer's own record fails then, and tells.
            let _ = self.effects.ledger.add(Record::Spent { origin: self.origin, spent });
        }
        for warning in self.effects.purse.warnings() {
            self.effects.events.event(Event::Budget { warning: &warning });
        }
    }

    fn time_left(&self) -> Option<Duration> {
        self.effects.purse.time_left()
    }

    fn received(&self, bytes: usize) {
        self.effects.events.event(Event::Receiving { origin: self.origin, bytes });
    }

    fn waits(&self, time: Duration, why: &str) {
        self.effects.events.event(Event::Waiting { origin: self.origin, time, why });
    }
}
