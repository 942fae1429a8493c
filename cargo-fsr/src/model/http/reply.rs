//! An answer while it comes in.

use crate::model::Usage;

/// What has come so far.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Reply {
    /// The text.
    pub text: String,
    /// Tokens, where the endpoint says.
    pub usage: Option<Usage>,
    /// Why it was not finished, in the endpoint's words: `length`, `content_filter`.
    pub stopped: Option<String>,
    /// The model is done; figures may follow.
    pub ended: bool,
    /// Nothing follows.
    pub closed: bool,
}

impl Reply {
    /// Notes the reason for the end.
    pub fn end(&mut self, reason: &str) {
        self.ended = true;
        if !matches!(reason, "stop" | "end_turn" | "stop_sequence" | "completed" | "eos") {
            self.stopped = Some(reason.chars().filter(|sign| !sign.is_control()).take(60).collect());
        }
    }

    /// What the user should know about it.
    pub fn notes(&self) -> Vec<String> {
        self.stopped.iter().map(|reason| format!("the answer is not complete: `{reason}`")).collect()
    }
}
