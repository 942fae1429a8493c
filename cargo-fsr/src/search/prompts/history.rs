//! What of everything tried goes into a prompt: one line each, and in full the best kernels and the newest failures.
//!
//! Trimmed by rule, never by accident: lines take up to a quarter of the room, newest first; then best kernels and
//! newest failures take turns while they fit. What a prompt shows anyway is not shown again.

use serde::Serialize;

use super::context::{self, AttemptLine};
use super::view::View;
use crate::model::Origin;
use crate::search::attempt::{Attempt, Attempts, Fate};

/// Best kernels in full.
const BEST: usize = 2;
/// Newest failures in full.
const FAILURES: usize = 3;
/// Headings and fences of one attempt in full.
const FRAME: usize = 200;

/// The history as templates see it.
#[derive(Debug, Default, Serialize)]
pub struct History {
    /// Oldest first.
    pub lines: Vec<AttemptLine>,
    /// Older ones that had no room.
    pub omitted: usize,
    /// Fastest first.
    pub best: Vec<FullWords>,
    /// Newest first.
    pub failures: Vec<FullWords>,
}

/// One attempt in full.
#[derive(Debug, Serialize)]
pub struct FullWords {
    pub origin: String,
    pub outcome: String,
    pub code: String,
    pub detail: String,
}

/// What goes in, chosen once and then rendered in both views.
#[derive(Debug, Default)]
pub struct Selection<'a> {
    lines: Vec<&'a Attempt>,
    omitted: usize,
    best: Vec<&'a Attempt>,
    failures: Vec<&'a Attempt>,
}

/// Chooses for a prompt that shows some attempts already and has `room` bytes left.
pub fn select<'a>(attempts: &'a Attempts, shown: &[Origin], room: usize) -> Selection<'a> {
    let mut selection = Selection::default();
    let mut left = room;

    for attempt in attempts.iter().rev() {
        let line = context::attempt_line(attempt, View::Full);
        let size = line.origin.len() + line.outcome.len() + line.idea.map_or(0, |idea| idea.len()) + 10;
        if selection.omitted > 0 || room - left + size > room / 4 {
            selection.omitted += 1;
        } else {
            left -= size;
            selection.lines.push(attempt);
        }
    }
    selection.lines.reverse();

    let mut best: Vec<(&Attempt, f64)> = attempts
        .iter()
        .filter(|attempt| !shown.contains(&attempt.origin))
        .filter_map(|attempt| Some((attempt, attempt.measured()?.score)))
        .collect();
    best.sort_by(|one, other| one.1.total_cmp(&other.1));
    let mut best = best.into_iter().map(|(attempt, _)| attempt).take(BEST);
    let mut failures = attempts
        .iter()
        .rev()
        .filter(|attempt| !shown.contains(&attempt.origin))
        // Of an answer that held no source there is nothing to learn but its line.
        .filter(|attempt| matches!(attempt.fate, Fate::NotCompiled(_) | Fate::Failed(_)))
        .take(FAILURES);
    let mut fits = |attempt: &Attempt| {
        let code = attempt.code().unwrap_or_default().len();
        let size = code + context::detail(attempt, View::Full).len() + FRAME;
        let fits = size <= left;
        left -= if fits { size } else { 0 };
        fits
    };
    loop {
        let (kernel, failure) = (best.next(), failures.next());
        selection.best.extend(kernel.filter(|attempt| fits(attempt)));
        selection.failures.extend(failure.filter(|attempt| fits(attempt)));
        if kernel.is_none() && failure.is_none() {
            return selection;
        }
    }
}

impl Selection<'_> {
    /// In words.
    pub fn words(&self, view: View) -> History {
        let full = |attempt: &&Attempt| FullWords {
            origin: attempt.origin.to_string(),
            outcome: context::attempt_line(attempt, view).outcome,
            code: attempt.code().unwrap_or_default().to_owned(),
            detail: context::detail(attempt, view),
        };
        History {
            lines: self.lines.iter().map(|attempt| context::attempt_line(attempt, view)).collect(),
            omitted: self.omitted,
            // Which kernels are good is a matter of the clock.
            best: match view {
                View::Full => self.best.iter().map(full).collect(),
                View::Canonical => Vec::new(),
            },
            failures: self.failures.iter().map(full).collect(),
        }
    }
}
