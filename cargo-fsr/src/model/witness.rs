//! Who stands by while a model works on one prompt: asked before anything is spent, and told what comes.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::{ModelError, Usage};

/// What a request may cost at most.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Request {
    /// Tokens of the prompt, about.
    pub input: u64,
    /// Largest answer in tokens; none where nobody sets a limit.
    pub output: Option<u64>,
}

/// What a request cost.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Spent {
    /// Tokens, as the endpoint says or as the bytes suggest.
    pub usage: Usage,
    /// Nobody said how many tokens it was.
    pub estimated: bool,
    /// It gave no answer.
    pub failed: bool,
}

/// Stands by. Requests for one prompt follow each other, so that each [`Witness::settle`] is about the last one.
pub trait Witness: Sync {
    /// A request is about to be made.
    ///
    /// # Errors
    /// When it must not be made; the model hands the error on.
    fn request(&self, request: Request) -> Result<(), ModelError>;

    /// The last request is over. One that is never settled counts with all that it might have cost.
    fn settle(&self, spent: Spent);

    /// How long the answer may still take, if there is a limit beside the model's own.
    fn time_left(&self) -> Option<Duration> {
        None
    }

    /// So many bytes of the answer are there.
    fn received(&self, bytes: usize);

    /// The model waits before it asks again.
    fn waits(&self, time: Duration, why: &str);
}

/// Allows everything and keeps nothing.
#[derive(Clone, Copy, Debug, Default)]
pub struct Nobody;

impl Witness for Nobody {
    fn request(&self, _: Request) -> Result<(), ModelError> {
        Ok(())
    }

    fn settle(&self, _: Spent) {}

    fn received(&self, _: usize) {}

    fn waits(&self, _: Duration, _: &str) {}
}

/// Tokens that a text has, about: a little more than in ordinary code and English.
pub fn tokens(bytes: usize) -> u64 {
    (bytes as u64).div_ceil(3)
}
