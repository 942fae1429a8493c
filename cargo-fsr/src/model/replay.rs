//! A recorded dialogue as a model: answers by kernel, round and slot.
//!
//! The same answers are given whatever is asked, and what is asked is compared with the recording in canonical form:
//! a difference is said, and so it is when noise in the timing chose another kernel to build on.

use std::collections::HashMap;

use super::{Answer, Model, ModelError, Position, Prompt, Witness};
use crate::journal::{Entry, Record};

/// Answers from a journal.
#[derive(Clone, Debug)]
pub struct ReplayModel {
    name: String,
    recorded: HashMap<Position, (Option<Prompt>, Answer)>,
}

impl ReplayModel {
    /// Its name in a journal.
    pub const NAME: &str = "replay";

    /// A model over the records of one or more runs; a later run adds other kernels and overrides nothing.
    pub fn new<'a>(entries: impl IntoIterator<Item = &'a Entry>) -> Self {
        let mut prompts = HashMap::new();
        let mut recorded = HashMap::new();
        for entry in entries {
            match &entry.record {
                Record::Prompt { prompt } => {
                    prompts.entry(prompt.position.clone()).or_insert_with(|| prompt.clone());
                }
                Record::Answer { position, answer } => {
                    recorded
                        .entry(position.clone())
                        .or_insert_with(|| (prompts.get(position).cloned(), answer.clone()));
                }
                _ => {}
            }
        }
        Self { name: Self::NAME.to_owned(), recorded }
    }

    /// Positions that it can answer.
    pub fn positions(&self) -> impl Iterator<Item = &Position> {
        self.recorded.keys()
    }
}

impl Model for ReplayModel {
    fn name(&self) -> String {
        self.name.clone()
    }

    fn answer(&self, prompt: &Prompt, _: &dyn Witness) -> Result<Answer, ModelError> {
        let (recorded, answer) = self
            .recorded
            .get(&prompt.position)
            .ok_or_else(|| ModelError::NotRecorded { position: prompt.position.clone() })?;
        let notes = recorded.as_ref().map_or_else(Vec::new, |recorded| differences(recorded, prompt));
        Ok(Answer { notes, ..answer.clone() })
    }
}

/// What tells a prompt from the recorded one, in one line each.
fn differences(recorded: &Prompt, asked: &Prompt) -> Vec<String> {
    let mut notes = Vec::new();
    let at = &asked.position;
    if recorded.stage != asked.stage {
        notes.push(format!(
            "the recorded prompt of {at} is about {}, this one about {}",
            recorded.stage, asked.stage
        ));
    }
    if recorded.parent != asked.parent {
        let name =
            |prompt: &Prompt| prompt.parent.map_or("no kernel".to_owned(), |parent| parent.to_string());
        notes.push(format!(
            "the recorded prompt of {at} builds on {}, this one on {}: the clock chose another",
            name(recorded),
            name(asked)
        ));
    }
    // Once the subject is another, every line differs and says nothing more.
    if notes.is_empty() && recorded.canonical != asked.canonical {
        let (mut then, mut now) = (recorded.canonical.lines(), asked.canonical.lines());
        let mut line = 0;
        loop {
            line += 1;
            match (then.next(), now.next()) {
                (Some(then), Some(now)) if then == now => {}
                (None, None) => break,
                (then, now) => {
                    notes.push(format!(
                        "the prompt of {at} differs from the recorded one at line {line} of its canonical form: \
                         recorded `{}`, now `{}`",
                        excerpt(then),
                        excerpt(now)
                    ));
                    break;
                }
            }
        }
    }
    notes
}

fn excerpt(line: Option<&str>) -> String {
    line.map_or("its end".to_owned(), |line| line.chars().take(100).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::Nobody;
    use crate::model::{Origin, Stage};

    fn prompt(canonical: &str) -> Prompt {
        Prompt {
            position: Position { kernel: "k".to_owned(), round: 2, slot: 1 },
            stage: Stage::Performance,
            parent: Some(Origin::Candidate { round: 1, slot: 3 }),
            text: format!("{canonical} 12.3 us"),
            canonical: canonical.to_owned(),
        }
    }

    fn replay() -> ReplayModel {
        let recorded = prompt("one\ntwo");
        let answer =
            Answer { text: "text".to_owned(), model: "m".to_owned(), usage: None, notes: Vec::new() };
        let position = recorded.position.clone();
        let records = [Record::Prompt { prompt: recorded }, Record::Answer { position, answer }];
        ReplayModel::new(&records.map(|record| Entry { at: 0, record }))
    }

    #[test]
    fn the_recorded_answer_is_given_and_keeps_its_author() {
        let answer = replay().answer(&prompt("one\ntwo"), &Nobody).unwrap();
        assert_eq!((answer.text.as_str(), answer.model.as_str()), ("text", "m"));
        assert!(answer.notes.is_empty());
    }

    #[test]
    fn differences_are_said() {
        let notes = |prompt: Prompt| replay().answer(&prompt, &Nobody).unwrap().notes.join("\n");
        insta::assert_snapshot!(notes(prompt("one\nthree")),
            @"the prompt of k r2 c1 differs from the recorded one at line 2 of its canonical form: recorded `two`, now `three`");
        let other = Prompt { parent: Some(Origin::Baseline), ..prompt("other") };
        insta::assert_snapshot!(notes(other),
            @"the recorded prompt of k r2 c1 builds on r1-c3, this one on baseline: the clock chose another");
        let other = Prompt { stage: Stage::Mismatch, ..prompt("other") };
        insta::assert_snapshot!(notes(other),
            @"the recorded prompt of k r2 c1 is about performance, this one about mismatch");
    }

    #[test]
    fn what_was_not_recorded_is_an_error() {
        let mut asked = prompt("one");
        asked.position.slot = 9;
        assert!(matches!(replay().answer(&asked, &Nobody), Err(ModelError::NotRecorded { .. })));
    }
}
