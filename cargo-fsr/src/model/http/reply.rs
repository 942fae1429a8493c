//! An answer while it comes in.

use crate::budget::unsettled;
use crate::model::{Request, Spent, Usage, tokens};

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
    /// The endpoint began to work on it, so that it costs whatever comes of it.
    pub accepted: bool,
}

impl Reply {
    /// Notes the reason for the end.
    pub fn end(&mut self, reason: &str) {
        self.ended = true;
        if !matches!(reason, "stop" | "end_turn" | "stop_sequence" | "completed" | "eos") {
            self.stopped = Some(reason.chars().filter(|sign| !sign.is_control()).take(60).collect());
        }
    }

    /// What it cost: as the endpoint says, or about.
    pub fn spent(&self, request: Request, failed: bool) -> Spent {
        match self.usage {
            // A request that was refused costs nothing.
            _ if !self.accepted => Spent { usage: Usage::default(), estimated: false, failed },
            // Given up on it may go on, and reasoning is not seen: figures so far are no figures.
            _ if failed => unsettled(request),
            Some(usage) => Spent { usage, estimated: false, failed },
            None => {
                let usage = Usage { input: request.input, output: tokens(self.text.len()), cached: 0 };
                Spent { usage, estimated: true, failed }
            }
        }
    }

    /// What the user should know about it.
    pub fn notes(&self) -> Vec<String> {
        self.stopped.iter().map(|reason| format!("the answer is not complete: `{reason}`")).collect()
    }
}
