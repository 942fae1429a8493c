//! One round's questions: the prompts are written down, the models asked in parallel, and what they answer is turned
//! into sources and PTX as it comes.

use std::num::NonZero;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::thread;

use super::answer::{self, Source};
use super::asking::Asking;
use super::effects::{Effects, Halt};
use super::ledger::diverged;
use super::sweep;
use super::trial::Entrant;
use super::{Awaited, Cast, Event, Stopped};
use crate::journal::{Record, SourceResult, Step};
use crate::model::{Answer, Model, ModelError, Prompt};
use crate::paths;
use crate::settings::Settings;

/// Writes a prompt down, or takes the one that was written before: what was asked stays asked, even where a newer
/// version would word it differently.
pub(super) fn settle(effects: &Effects<'_>, prompt: Prompt) -> Result<Prompt, Halt> {
    let origin = prompt.position.origin();
    let step = Step::Prompt(origin);
    match effects.ledger.known(&step) {
        None => {
            effects.ledger.add(Record::Prompt { prompt: prompt.clone() })?;
            Ok(prompt)
        }
        Some(Record::Prompt { prompt: then })
            if then.stage == prompt.stage && then.parent == prompt.parent =>
        {
            if then.text != prompt.text {
                let text =
                    "the prompt was written by another version or other templates; it is kept as it was";
                effects.note(Some(origin), text.to_owned())?;
            }
            Ok(then)
        }
        Some(_) => Err(diverged(&step).into()),
    }
}

/// Asks for every prompt at once. All are asked before any failure ends the round.
pub(super) fn ask_all(
    effects: &Effects<'_>,
    cast: &Cast<'_>,
    settings: &Settings,
    prompts: &[Prompt],
) -> Result<(Vec<Entrant>, Option<Stopped>), Halt> {
    let answers: Vec<Result<Entrant, Halt>> = thread::scope(|scope| {
        let threads: Vec<_> = prompts
            .iter()
            // A cast is complete, or the search did not begin.
            .filter_map(|prompt| Some((prompt, cast.model(prompt.stage, prompt.position.slot)?)))
            .map(|(prompt, model)| scope.spawn(move || ask(effects, model, settings, prompt)))
            .collect();
        threads
            .into_iter()
            .map(|thread| thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)))
            .collect()
    });
    gather(answers)
}

/// All entrants, and the budget that kept others out; or the weightiest reason why some are missing: a fault, an interrupt,
/// a failed model, an answer that is awaited.
fn gather(answers: Vec<Result<Entrant, Halt>>) -> Result<(Vec<Entrant>, Option<Stopped>), Halt> {
    let mut entrants = Vec::new();
    let mut awaited = Vec::new();
    let (mut fault, mut interrupted, mut failed, mut spent) = (None, false, Vec::new(), None);
    for answer in answers {
        match answer {
            Ok(entrant) => entrants.push(entrant),
            Err(Halt::Fault(error)) => fault = fault.or(Some(error)),
            Err(Halt::Stop(Stopped::Awaiting(more))) => awaited.extend(more),
            Err(Halt::Stop(Stopped::Model { message })) => failed.push(message),
            Err(Halt::Stop(stopped @ Stopped::Budget { .. })) => spent = Some(stopped),
            Err(Halt::Stop(_)) => interrupted = true,
        }
    }
    failed.dedup();
    match fault {
        Some(error) => Err(Halt::Fault(error)),
        None if interrupted => Err(Halt::Stop(Stopped::Interrupted)),
        None if !failed.is_empty() => Err(Halt::Stop(Stopped::Model { message: failed.join("; ") })),
        None if !awaited.is_empty() => Err(Halt::Stop(Stopped::Awaiting(awaited))),
        None => Ok((entrants, spent)),
    }
}

fn ask(
    effects: &Effects<'_>,
    model: &dyn Model,
    settings: &Settings,
    prompt: &Prompt,
) -> Result<Entrant, Halt> {
    let origin = prompt.position.origin();
    let answer = answer(effects, model, prompt)?;
    let source = match effects.ledger.known(&Step::Source(origin)) {
        Some(Record::Source { result, .. }) => result,
        _ => {
            let result = match answer::extract(&answer.text, effects.brief, settings.source_bytes) {
                Ok(source) => SourceResult::Source(source),
                Err(rejection) => SourceResult::Rejected(rejection),
            };
            effects.ledger.add(Record::Source { origin, result: result.clone() })?;
            result
        }
    };
    let (source, compiled) = match source {
        SourceResult::Source(source) => {
            let defines = first_values(effects, &source);
            let compiled = effects.compile(origin, &source.text, &defines)?;
            (Ok(source), Some(compiled))
        }
        SourceResult::Rejected(rejection) => {
            effects.events.event(Event::Rejected { origin, rejection: &rejection });
            (Err(rejection), None)
        }
    };
    Ok(Entrant {
        origin,
        stage: Some(prompt.stage),
        parent: prompt.parent,
        model: Some(answer.model),
        answer: Some(answer.text),
        source,
        compiled,
    })
}

fn answer(effects: &Effects<'_>, model: &dyn Model, prompt: &Prompt) -> Result<Answer, Halt> {
    let position = &prompt.position;
    let origin = position.origin();
    let step = Step::Answer(origin);
    let known = match effects.ledger.known(&step) {
        Some(Record::Answer { answer, .. }) => Some(answer),
        Some(_) => return Err(diverged(&step).into()),
        None => None,
    };
    let name = model.name();
    let was_known = known.is_some();
    effects.events.event(Event::Asking { origin, stage: prompt.stage, model: &name, known: was_known });
    let answer = match known {
        Some(answer) => answer,
        None => {
            effects.may_go_on()?;
            let asking = Asking::new(effects, origin, &name);
            let answer =
                model.answer(prompt, &asking).map_err(|error| match (error, effects.purse.is_late()) {
                    (ModelError::Awaiting { prompt, answer }, _) => {
                        Halt::Stop(Stopped::Awaiting(vec![Awaited { prompt, answer }]))
                    }
                    (ModelError::Interrupted, _) => Halt::Stop(Stopped::Interrupted),
                    (ModelError::Journal(error), _) => Halt::Fault(error.into()),
                    // Whatever the model calls it, time was up.
                    (ModelError::Budget { what }, _) | (_, Some(what)) => {
                        Halt::Stop(Stopped::Budget { what })
                    }
                    (error, None) => Halt::Stop(Stopped::Model { message: error.to_string() }),
                })?;
            effects.ledger.add(Record::Answer { position: position.clone(), answer: answer.clone() })?;
            answer
        }
    };
    for note in &answer.notes {
        effects.note(Some(origin), paths::cut(note))?;
    }
    effects.events.event(Event::Answered { origin, bytes: answer.text.len(), known: was_known });
    Ok(answer)
}

/// The first combination of tunables, with the source's own launch parameters.
pub(super) fn first_values(effects: &Effects<'_>, source: &Source) -> fsr_protocol::Tunables {
    let mut values = sweep::first(&effects.brief.tunables);
    values.extend(source.launch.clone());
    values
}

/// Does something with every item on as many threads as the machine has cores; results in the items' order.
pub(super) fn in_parallel<T: Sync, R: Send>(items: &[T], does: impl Fn(&T) -> R + Sync) -> Vec<R> {
    let workers = thread::available_parallelism().map_or(1, NonZero::get).min(items.len());
    let next = AtomicUsize::new(0);
    let done = Mutex::new(Vec::with_capacity(items.len()));
    thread::scope(|scope| {
        for _ in 0..workers {
            scope.spawn(|| {
                loop {
                    let index = next.fetch_add(1, Ordering::Relaxed);
                    let Some(item) = items.get(index) else { return };
                    let result = does(item);
                    done.lock().unwrap_or_else(PoisonError::into_inner).push((index, result));
                }
            });
        }
    });
    let mut done = done.into_inner().unwrap_or_else(PoisonError::into_inner);
    done.sort_by_key(|(index, _)| *index);
    done.into_iter().map(|(_, result)| result).collect()
}
