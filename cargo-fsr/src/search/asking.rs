//! Stands by while a model works on one prompt: what comes and what is waited for goes to whoever watches.

use std::time::Duration;

use super::Event;
use super::effects::Effects;
use crate::model::{ModelError, Origin, Request, Spent, Witness};

/// One prompt that is being answered.
pub(super) struct Asking<'e, 'a> {
    pub effects: &'e Effects<'a>,
    pub origin: Origin,
}

impl Witness for Asking<'_, '_> {
    fn request(&self, _: Request) -> Result<(), ModelError> {
        Ok(())
    }

    fn settle(&self, _: Spent) {}

    fn received(&self, bytes: usize) {
        self.effects.events.event(Event::Receiving { origin: self.origin, bytes });
    }

    fn waits(&self, time: Duration, why: &str) {
        self.effects.events.event(Event::Waiting { origin: self.origin, time, why });
    }
}
