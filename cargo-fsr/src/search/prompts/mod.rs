//! Prompts: which attempt they show, what is said about it, and what of the history goes along.
//!
//! Every prompt stands alone. It is rendered twice from the same template: as it is asked, and in canonical form for
//! comparison with a recording.

mod context;
mod hints;
mod history;
mod profile;
mod quote;
mod templates;
mod view;

pub use templates::{Template, TemplateError, Templates};

use super::attempt::{Attempt, Attempts, Fate};
use super::sweep;
use crate::brief::Brief;
use crate::judge::Bench;
use crate::model::{Origin, Position, Prompt, Stage};
use crate::settings::Settings;
use context::Context;
use view::View;

/// Makes the prompts of one search.
#[derive(Clone, Copy, Debug)]
pub(super) struct Prompter<'a> {
    pub templates: &'a Templates,
    pub brief: &'a Brief,
    pub bench: &'a Bench,
    pub settings: &'a Settings,
}

/// What a prompt is about.
#[derive(Clone, Copy, Debug)]
pub(super) enum Subject<'a> {
    /// The first round, with a kernel to start from where there is one.
    Initial(Option<&'a Attempt>),
    /// A candidate that failed.
    Failed(&'a Attempt),
    /// A valid kernel that shall be beaten.
    Faster(&'a Attempt),
}

impl Subject<'_> {
    fn stage(&self) -> Stage {
        match self {
            Self::Initial(_) => Stage::Initial,
            Self::Failed(attempt) => attempt.next_stage(),
            Self::Faster(_) => Stage::Performance,
        }
    }

    fn shown(&self) -> Option<&Attempt> {
        match self {
            Self::Initial(attempt) => *attempt,
            Self::Failed(attempt) | Self::Faster(attempt) => Some(attempt),
        }
    }
}

impl Prompter<'_> {
    /// The prompt for one slot.
    pub fn prompt(
        &self,
        position: Position,
        subject: Subject<'_>,
        attempts: &Attempts,
    ) -> Result<Prompt, TemplateError> {
        let stage = subject.stage();
        let shown: Vec<Origin> = subject.shown().map(|attempt| attempt.origin).into_iter().collect();
        let mut full = self.context(&position, subject, attempts, View::Full);
        let bare = self.templates.render(stage, &full)?;
        let room = self.settings.prompt_bytes.saturating_sub(bare.len());
        let selection = history::select(attempts, &shown, room);
        full.history = selection.words(View::Full);
        let mut canonical = self.context(&position, subject, attempts, View::Canonical);
        canonical.history = selection.words(View::Canonical);
        Ok(Prompt {
            position,
            stage,
            parent: shown.first().copied(),
            text: self.templates.render(stage, &full)?,
            canonical: self.templates.render(stage, &canonical)?,
        })
    }

    fn context(&self, position: &Position, subject: Subject<'_>, attempts: &Attempts, view: View) -> Context {
        let mut context = context::base(self.brief, self.bench, view);
        context.round = position.round;
        context.slot = position.slot;
        match subject {
            Subject::Failed(attempt) => {
                context.set_candidate(attempt, self.values(attempt), view);
                context.dialogue =
                    way_to(attempt, attempts).map(|turn| context::attempt_line(turn, view)).collect();
            }
            Subject::Initial(parent) => {
                context.direction = self.direction(position);
                if let Some(parent) = parent {
                    context.set_parent(parent, self.bench, view);
                }
            }
            Subject::Faster(parent) => {
                context.direction = self.direction(position);
                context.set_parent(parent, self.bench, view);
            }
        }
        context
    }

    fn direction(&self, position: &Position) -> Option<String> {
        let before = u64::from(position.round - 1) * u64::from(self.settings.candidates);
        let turn = self.settings.seed.wrapping_add(before + u64::from(position.slot - 1));
        self.templates.direction(self.brief.arch, turn).map(str::to_owned)
    }

    /// The values that a candidate failed with: always the first combination.
    fn values(&self, attempt: &Attempt) -> Option<String> {
        let source = attempt.source.as_ref()?;
        let mut values = sweep::first(&self.brief.tunables);
        values.extend(source.launch.clone());
        (!values.is_empty()).then(|| sweep::in_words(&values))
    }
}

/// Turns of a dialogue that are shown before the candidate itself.
const TURNS: usize = 6;

/// The attempts that led to a failed one, oldest first: its failed forerunners, and the valid kernel that they began
/// from; the newest few.
fn way_to<'a>(attempt: &Attempt, attempts: &'a Attempts) -> impl Iterator<Item = &'a Attempt> {
    let mut way = Vec::new();
    let mut next = attempt.parent;
    while let Some(parent) = next.and_then(|origin| attempts.get(origin)).filter(|_| way.len() < TURNS) {
        way.push(parent);
        next = if matches!(parent.fate, Fate::Valid(_)) { None } else { parent.parent };
    }
    way.into_iter().rev()
}
