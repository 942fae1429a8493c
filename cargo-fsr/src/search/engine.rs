//! The course of a search: header, bench, given kernels, rounds, final check.

use std::sync::atomic::{AtomicBool, Ordering};

use super::Cast;
use super::answer::{self, AnswerFault, Rejection};
use super::attempt::Fate;
use super::course::{Plan, Standing, course};
use super::effects::{Effects, Halt, Referee, Rival};
use super::ledger::Ledger;
use super::prompts::{Prompter, Subject, Templates};
use super::rounds::{ask_all, first_values, settle};
use super::standing::{beats, speedup};
use super::trial::{Entrant, Field};
use super::{Counts, Event, Measurement, Outcome, Search, SearchError, Stopped, Winner};
use crate::compile::CompileFailure;
use crate::journal::{self, FORMAT, Header, Purpose, Record, Step};
use crate::judge::{Failure, FailureKind, JudgeError, Verdict};
use crate::model::{Origin, Position, Prompt};
use crate::settings::{Settings, Target};

pub(super) fn run(search: Search<'_>) -> Result<Outcome, SearchError> {
    let mut header = header(&search)?;
    if let Some(recorded) = search.recording.and_then(journal::header) {
        header.previous.clone_from(&recorded.previous);
    }
    let Search {
        brief,
        settings,
        templates,
        cast,
        compiler,
        judge,
        journal,
        recording,
        purse,
        events,
        interrupt,
        ..
    } = search;
    purse.count(journal.entries());
    let ledger = Ledger::new(journal, recording);
    let previous = begin(&ledger, header, settings)?;
    let effects =
        Effects { ledger, brief, compiler, purse, events, interrupt, in_rounds: AtomicBool::new(false) };
    let referee = Referee::new(judge, &effects).map_err(before_anything)?;
    let field = Field { effects, referee, settings, attempts: Default::default(), bests: Vec::new() };
    let mut engine = Engine { field, templates, cast, rounds: 0 };
    let stopped = match engine.search(&previous) {
        Ok(stopped) | Err(Halt::Stop(stopped)) => stopped,
        Err(Halt::Fault(error)) => return Err(error),
    };
    engine.finish(stopped)
}

fn header(search: &Search<'_>) -> Result<Header, SearchError> {
    let Settings { candidates, rounds, strategy, target, .. } = *search.settings;
    let wrong = |what: String| Err(SearchError::Settings(what));
    if candidates == 0 || rounds == 0 {
        return wrong("a search needs at least one candidate and one round".to_owned());
    }
    let least = strategy.least_candidates();
    if candidates < least {
        return wrong(format!("the strategy {strategy} needs at least {least} candidates a round"));
    }
    if let (Some(target @ Target::Speedup(_)), None) = (target, &search.brief.baseline) {
        return wrong(format!("the target {target} needs a baseline, and the spec names none"));
    }
    if !search.cast.is_complete() {
        return wrong("no model is there to be asked".to_owned());
    }
    if search.brief.entries.is_empty() {
        return wrong("the spec names no entry".to_owned());
    }
    Ok(Header {
        format: FORMAT,
        run: search.run.run.clone(),
        tool: search.run.tool.clone(),
        key: search.run.key.clone(),
        inputs: search.run.inputs.clone(),
        brief: search.brief.clone(),
        settings: search.settings.clone(),
        previous: search.previous.to_vec(),
        models: search.cast.names(),
        templates: search.templates.records().to_vec(),
    })
}

/// Begins a run or takes it up; gives the sources to try before the first round.
fn begin(ledger: &Ledger<'_>, header: Header, settings: &Settings) -> Result<Vec<String>, SearchError> {
    let Some(Record::Header(then)) = ledger.known(&Step::Header) else {
        let previous = header.previous.clone();
        ledger.add(Record::Header(Box::new(header)))?;
        return Ok(previous);
    };
    let other = |what: &str| SearchError::AnotherRun { run: then.run.clone(), what: what.to_owned() };
    if then.key != header.key || then.brief != header.brief {
        return Err(other("the spec has changed since"));
    }
    // Every prompt was numbered by these.
    let fixed = |settings: &Settings| {
        (
            settings.candidates,
            settings.strategy,
            settings.seed,
            settings.max_combinations,
            settings.source_bytes,
        )
    };
    if fixed(&then.settings) != fixed(settings) {
        return Err(other("candidates, strategy, seed and limits must be those that it began with"));
    }
    ledger.resume(&header.tool, settings);
    Ok(then.previous.clone())
}

/// Without a device there is no outcome to speak of.
fn before_anything(halt: Halt) -> SearchError {
    match halt {
        Halt::Fault(error) => error,
        Halt::Stop(_) => SearchError::Judge(JudgeError::Interrupted),
    }
}

struct Engine<'a> {
    field: Field<'a>,
    templates: &'a Templates,
    cast: Cast<'a>,
    /// Rounds begun.
    rounds: u32,
}

impl Engine<'_> {
    fn search(&mut self, previous: &[String]) -> Result<Stopped, Halt> {
        self.given(previous)?;
        self.field.effects.in_rounds.store(true, Ordering::Relaxed);
        let mut without_best = 0;
        let Settings { rounds, candidates, patience, strategy, target, .. } = *self.field.settings;
        let course = course(strategy);
        for round in 1..=rounds {
            self.rounds = round;
            let before = self.field.best();
            self.event(Event::Round { round, of: rounds, candidates });
            let standing = Standing { attempts: &self.field.attempts, best: before, candidates, round };
            let prompts: Vec<Prompt> = (1..=candidates)
                .map(|slot| self.prompt(course.plan(&standing, slot), round, slot))
                .collect::<Result<_, Halt>>()?;
            let effects = &self.field.effects;
            let (entrants, spent) = ask_all(effects, &self.cast, self.field.settings, &prompts)?;
            self.field.try_all(entrants)?;
            // What was paid for before the budget ended has been tried like any other.
            if let Some(stopped) = spent {
                return Ok(stopped);
            }

            let slots = (1..=candidates).map(|slot| Origin::Candidate { round, slot });
            let valid = slots.clone().filter(|&slot| self.field.any_valid([slot])).count() as u32;
            self.event(Event::RoundDone { round, valid, best: self.field.best() });
            if let Some(target) = target
                && self.is_reached(target)?
            {
                return Ok(Stopped::Target { what: target.to_string() });
            }
            without_best = if self.field.best() == before { without_best + 1 } else { 0 };
            if patience.is_some_and(|patience| without_best >= patience) && round < rounds {
                return Ok(Stopped::Plateau { rounds: without_best });
            }
        }
        Ok(Stopped::Rounds)
    }

    /// Whether the best kernel is fast enough.
    fn is_reached(&self, target: Target) -> Result<bool, Halt> {
        let Field { effects, attempts, .. } = &self.field;
        let Some(best) = self.field.best().and_then(|best| attempts.measured(best)) else { return Ok(false) };
        match target {
            Target::Speedup(times) => {
                let baseline = best.baseline.as_ref();
                Ok(baseline.is_some_and(|baseline| speedup(&best.timing, baseline) >= times))
            }
            Target::Roofline(share) => {
                let mut known = best.timing.cases.iter().filter(|case| case.floor > 0.0).peekable();
                if known.peek().is_none() {
                    let text = "what memory allows is not known here: the target cannot be reached";
                    effects.note(None, text.to_owned())?;
                    return Ok(false);
                }
                Ok(known.all(|case| case.floor >= share * case.median))
            }
        }
    }

    /// The kernels that are there already: the baseline must work, an earlier winner may.
    fn given(&mut self, previous: &[String]) -> Result<(), Halt> {
        if let Some(file) = &self.field.effects.brief.baseline {
            let entrant = self.entrant(Origin::Baseline, &file.text)?;
            self.field.try_all(vec![entrant])?;
            let fate = self.field.attempts.get(Origin::Baseline).map(|attempt| &attempt.fate);
            let broken = |(what, evidence): (String, String), differs| {
                Halt::from(SearchError::Baseline { path: file.path.clone(), what, evidence, differs })
            };
            match fate {
                Some(Fate::Valid(_)) => {}
                Some(fate) => {
                    let mismatch = |failure: &Failure| failure.kind == FailureKind::Mismatch;
                    let differs = matches!(fate, Fate::Failed(failure) if mismatch(failure));
                    return Err(broken(in_words(fate), differs));
                }
                None => return Err(broken(("was not tried".to_owned(), String::new()), false)),
            }
        }
        let entrants: Vec<Entrant> = (1..)
            .zip(previous)
            .map(|(number, text)| self.entrant(Origin::Previous(number), text))
            .collect::<Result<_, Halt>>()?;
        self.field.try_all(entrants)
    }

    fn entrant(&self, origin: Origin, text: &str) -> Result<Entrant, Halt> {
        let effects = &self.field.effects;
        let source = answer::check(text, effects.brief);
        let compiled = match &source {
            Ok(source) => Some(effects.compile(origin, &source.text, &first_values(effects, source))?),
            Err(_) => None,
        };
        Ok(Entrant { origin, stage: None, parent: None, model: None, answer: None, source, compiled })
    }

    fn prompt(&self, plan: Plan, round: u32, slot: u32) -> Result<Prompt, Halt> {
        let Field { effects, referee, settings, attempts, .. } = &self.field;
        let prompter =
            Prompter { templates: self.templates, brief: effects.brief, bench: referee.bench(), settings };
        let subject = match plan {
            Plan::Initial => Subject::Initial(self.field.best().and_then(|best| attempts.get(best))),
            Plan::Faster(best) => match attempts.get(best) {
                Some(attempt) => Subject::Faster(attempt),
                None => Subject::Initial(None),
            },
            Plan::Failure(candidate) => match attempts.get(candidate) {
                Some(attempt) => Subject::Failed(attempt),
                None => Subject::Initial(None),
            },
        };
        let position = Position { kernel: effects.brief.kernel.clone(), round, slot };
        let prompt = prompter.prompt(position, subject, attempts)?;
        if prompt.text.len() > settings.prompt_bytes {
            // Task, program and code are never cut: without them no answer could be right.
            let limit = settings.prompt_bytes;
            let text =
                format!("prompts are longer than the {limit} bytes aimed at, even without any history");
            effects.note(None, text)?;
        }
        settle(effects, prompt)
    }

    /// Checks the winner afresh where the search came to an end, and says how it all went.
    fn finish(mut self, mut stopped: Stopped) -> Result<Outcome, SearchError> {
        self.field.effects.in_rounds.store(false, Ordering::Relaxed);
        let mut winner = None;
        let mut baseline = self.measurement(Origin::Baseline);
        while let Some(best) = self.field.best() {
            let checked = match stopped {
                // An interrupted user waits for nothing more, and an awaiting search goes on.
                Stopped::Interrupted | Stopped::Awaiting(_) => Ok(Some(self.winner(best, false))),
                Stopped::Rounds
                | Stopped::Plateau { .. }
                | Stopped::Target { .. }
                | Stopped::Budget { .. }
                | Stopped::Model { .. } => self.check(best, &mut baseline),
            };
            match checked {
                Ok(Some(checked)) => {
                    winner = checked;
                    break;
                }
                Ok(None) => {
                    self.field.bests.pop();
                }
                Err(Halt::Stop(halted)) => stopped = halted,
                Err(Halt::Fault(error)) => return Err(error),
            }
        }
        if let Some(winner) = &winner {
            self.event(Event::Final { winner });
        }
        self.field.effects.ledger.stop(Record::Stopped { reason: stopped.reason() })?;
        Ok(Outcome {
            bench: self.field.referee.bench().clone(),
            best: winner,
            baseline,
            stopped,
            rounds: self.rounds,
            counts: self.counts(),
        })
    }

    /// Validates and times a would-be winner afresh; `None` when it does not stand.
    fn check(
        &mut self,
        origin: Origin,
        baseline: &mut Option<Measurement>,
    ) -> Result<Option<Option<Winner>>, Halt> {
        let Some(mut measured) = self.field.attempts.measured(origin).cloned() else { return Ok(None) };
        let rival = Rival { origin, executable: &measured.executable };
        let Field { effects, referee, .. } = &mut self.field;
        match referee.validate(effects, Purpose::Final, rival)? {
            Verdict::Invalid(failure) => return self.drop_best(origin, failure),
            Verdict::Valid(validation) => measured.validation = validation,
        }
        let race = match self.field.race(Purpose::Final, origin, &measured.executable)? {
            Err(failure) => return self.drop_best(origin, failure),
            Ok(race) => race,
        };
        if let Some(times) = &race.baseline {
            if beats(times, &race.timing) {
                let text = "in the final check the baseline was faster: it is not kept".to_owned();
                self.field.effects.note(Some(origin), text)?;
                return Ok(None);
            }
            if let Some(baseline) = baseline {
                baseline.timing = times.clone();
            }
        } else if let Some(baseline) = baseline {
            baseline.timing = race.timing.clone();
            baseline.validation = measured.validation.clone();
        }
        measured.timing = race.timing;
        measured.baseline = race.baseline;
        self.field.attempts.set_fate(origin, Fate::Valid(Box::new(measured)));
        Ok(Some(self.winner(origin, true)))
    }

    fn drop_best(&mut self, origin: Origin, failure: Failure) -> Result<Option<Option<Winner>>, Halt> {
        let text = format!("failed in the final check and is not kept: {}", failure.summary);
        self.field.effects.note(Some(origin), text)?;
        self.field.attempts.set_fate(origin, Fate::Failed(failure));
        Ok(None)
    }

    fn winner(&self, origin: Origin, confirmed: bool) -> Option<Winner> {
        let attempt = self.field.attempts.get(origin)?;
        let measured = attempt.measured()?;
        Some(Winner {
            origin,
            model: attempt.model.clone(),
            source: attempt.code().unwrap_or_default().to_owned(),
            ptx: measured.ptx.clone(),
            tunables: measured.executable.tunables.clone(),
            validation: measured.validation.clone(),
            timing: measured.timing.clone(),
            speedup: measured.baseline.as_ref().map(|baseline| speedup(&measured.timing, baseline)),
            confirmed,
        })
    }

    fn measurement(&self, origin: Origin) -> Option<Measurement> {
        self.field.attempts.measured(origin).map(|measured| Measurement {
            validation: measured.validation.clone(),
            timing: measured.timing.clone(),
            tunables: measured.executable.tunables.clone(),
        })
    }

    fn counts(&self) -> Counts {
        let mut counts = Counts::default();
        for attempt in self.field.attempts.iter().filter(|attempt| attempt.stage.is_some()) {
            counts.answers += 1;
            match &attempt.fate {
                Fate::Rejected(_) => counts.rejected += 1,
                Fate::NotCompiled(_) => counts.not_compiled += 1,
                Fate::Failed(failure) if failure.kind == FailureKind::Mismatch => counts.mismatches += 1,
                Fate::Failed(_) => counts.execution_failures += 1,
                Fate::Valid(_) => counts.valid += 1,
            }
        }
        counts
    }

    fn event(&self, event: Event<'_>) {
        self.field.effects.events.event(event);
    }
}

/// What is wrong with a given kernel, and the evidence.
fn in_words(fate: &Fate) -> (String, String) {
    match fate {
        Fate::Rejected(Rejection { fault: AnswerFault::MissingEntry { missing, .. }, .. }) => {
            (format!("does not define the entry `{missing}` as a __global__ function"), String::new())
        }
        Fate::Rejected(rejection) => (format!("cannot be used: {}", rejection.fault), String::new()),
        Fate::NotCompiled(CompileFailure { log, .. }) => ("does not compile".to_owned(), log.clone()),
        Fate::Failed(failure) => (format!("is not valid: {}", failure.summary), failure.evidence.clone()),
        Fate::Valid(_) => ("is valid".to_owned(), String::new()),
    }
}
