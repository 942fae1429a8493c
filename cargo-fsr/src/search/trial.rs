//! A group of kernels before the judge: the gate, the clock, the sweep of tunables, and the duel for the best place.

use fsr_protocol::Tunables;

use super::answer::{Rejection, Source};
use super::attempt::{Attempt, Attempts, Fate, Measured, Swept};
use super::effects::{Effects, Halt, Referee, Rival};
use super::rounds::{first_values, in_parallel};
use super::standing::{beats, speedup};
use super::{Event, sweep};
use crate::compile::{Compiled, Ptx};
use crate::journal::{Purpose, Record};
use crate::judge::{Executable, Failure, FailureKind, Timed, Timing, Validation, Verdict};
use crate::model::{Origin, Stage};
use crate::settings::Settings;

/// A kernel, or an answer that holds none, before its trial.
#[derive(Debug)]
pub(super) struct Entrant {
    pub origin: Origin,
    pub stage: Option<Stage>,
    pub parent: Option<Origin>,
    pub model: Option<String>,
    pub answer: Option<String>,
    pub source: Result<Source, Rejection>,
    /// For the first combination of tunables; none without a source.
    pub compiled: Option<Compiled>,
}

/// What the search knows of all kernels, and the judge that it learns from.
pub(super) struct Field<'a> {
    pub effects: Effects<'a>,
    pub referee: Referee<'a>,
    pub settings: &'a Settings,
    pub attempts: Attempts,
    /// Every kernel that was the best for a while; the last one is.
    pub bests: Vec<Origin>,
}

/// A kernel that passed the gate.
struct Passed {
    origin: Origin,
    stage: Option<Stage>,
    parent: Option<Origin>,
    model: Option<String>,
    source: Source,
    ptx: Ptx,
    executable: Executable,
    validation: Validation,
}

/// A combination of tunables whose time was taken.
struct Clocked {
    ptx: Ptx,
    executable: Executable,
    validation: Validation,
    timing: Timing,
    baseline: Option<Timing>,
    score: f64,
}

impl Field<'_> {
    /// The best so far.
    pub fn best(&self) -> Option<Origin> {
        self.bests.last().copied()
    }

    /// Tries a group. Afterwards each is among the attempts with its fate, and the best is the best.
    pub fn try_all(&mut self, entrants: Vec<Entrant>) -> Result<(), Halt> {
        let group: Vec<Origin> = entrants.iter().map(|entrant| entrant.origin).collect();
        let mut passed = Vec::new();
        for entrant in entrants {
            passed.extend(self.gate(entrant)?);
        }
        for kernel in passed {
            self.clock(kernel)?;
        }
        self.duel(&group)
    }

    /// Whether any of a group is valid.
    pub fn any_valid(&self, group: impl IntoIterator<Item = Origin>) -> bool {
        group.into_iter().any(|origin| self.attempts.measured(origin).is_some())
    }

    /// Compiled and right? Otherwise its fate is settled here.
    fn gate(&mut self, entrant: Entrant) -> Result<Option<Passed>, Halt> {
        let Entrant { origin, stage, parent, model, answer, source, compiled } = entrant;
        let (source, fate) = match (source, compiled) {
            (Err(rejection), _) => (None, Fate::Rejected(rejection)),
            (Ok(source), Some(Compiled::Failed(failure))) => (Some(source), Fate::NotCompiled(failure)),
            (Ok(_), None) => return Ok(None),
            (Ok(source), Some(Compiled::Ptx(ptx))) => {
                let defines = first_values(&self.effects, &source);
                let executable = self.effects.executable(&ptx, &defines);
                let rival = Rival { origin, executable: &executable };
                match self.referee.validate(&self.effects, Purpose::Trial, rival)? {
                    Verdict::Invalid(failure) => (Some(source), Fate::Failed(failure)),
                    Verdict::Valid(validation) => {
                        let kernel =
                            Passed { origin, stage, parent, model, source, ptx, executable, validation };
                        return Ok(Some(kernel));
                    }
                }
            }
        };
        let answer = answer.filter(|_| source.is_none());
        self.attempts.add(Attempt { origin, stage, parent, model, answer, source, fate });
        Ok(None)
    }

    /// Takes the time of a kernel that passed the gate, then of its other combinations of tunables.
    fn clock(&mut self, kernel: Passed) -> Result<(), Halt> {
        let Passed { origin, stage, parent, model, source, ptx, executable, validation } = kernel;
        let fate = match self.clock_one(origin, ptx, executable, validation)? {
            Err(failure) => Fate::Failed(failure),
            Ok(first) => Fate::Valid(Box::new(self.tune(origin, &source, first)?)),
        };
        self.attempts.add(Attempt { origin, stage, parent, model, answer: None, source: Some(source), fate });
        Ok(())
    }

    /// The best combination of tunables of a kernel that is valid with the first.
    fn tune(&mut self, origin: Origin, source: &Source, first: Clocked) -> Result<Measured, Halt> {
        let mut best = first;
        let combinations = sweep::combinations(&self.effects.brief.tunables, self.settings.max_combinations);
        let left_out = combinations.left_out();
        let mut swept = Vec::new();
        if combinations.all > 1 {
            swept.push(Swept { values: sweep::in_words(&combinations.first), score: Some(best.score) });
            if left_out > 0 {
                let (tried, all) = (combinations.all - left_out, combinations.all);
                let text =
                    format!("{tried} of {all} combinations of tunables are tried for each valid kernel");
                self.effects.note(None, text)?;
            }
        }
        for (values, clocked) in self.sweep(origin, source, &combinations.others)? {
            swept.push(Swept { values, score: clocked.as_ref().map(|clocked| clocked.score) });
            if let Some(clocked) = clocked.filter(|clocked| clocked.score < best.score) {
                best = clocked;
            }
        }
        let Clocked { ptx, executable, validation, timing, baseline, score } = best;
        Ok(Measured { ptx, executable, validation, timing, baseline, score, swept, left_out })
    }

    /// Tries other combinations: without a model, and a failed one is no failure of the kernel.
    fn sweep(
        &mut self,
        origin: Origin,
        source: &Source,
        combinations: &[Tunables],
    ) -> Result<Vec<(String, Option<Clocked>)>, Halt> {
        let effects = &self.effects;
        let compiled = in_parallel(combinations, |combination| {
            let mut defines = combination.clone();
            defines.extend(source.launch.clone());
            effects.compile(origin, &source.text, &defines).map(|compiled| (defines, compiled))
        });
        let mut results = Vec::new();
        for (combination, compiled) in combinations.iter().zip(compiled) {
            let (defines, compiled) = compiled?;
            let clocked = match compiled {
                Compiled::Failed(_) => None,
                Compiled::Ptx(ptx) => {
                    let executable = self.effects.executable(&ptx, &defines);
                    let rival = Rival { origin, executable: &executable };
                    match self.referee.validate(&self.effects, Purpose::Trial, rival)? {
                        Verdict::Invalid(_) => None,
                        Verdict::Valid(validation) => {
                            self.clock_one(origin, ptx, executable, validation)?.ok()
                        }
                    }
                }
            };
            results.push((sweep::in_words(combination), clocked));
        }
        Ok(results)
    }

    /// Takes the time of one combination, beside the best and the baseline.
    fn clock_one(
        &mut self,
        origin: Origin,
        ptx: Ptx,
        executable: Executable,
        validation: Validation,
    ) -> Result<Result<Clocked, Failure>, Halt> {
        match self.race(Purpose::Trial, origin, &executable)? {
            Err(failure) => Ok(Err(failure)),
            Ok(Race { timing, best, baseline }) => {
                let score = self.score(&timing, best.as_ref());
                Ok(Ok(Clocked { ptx, executable, validation, timing, baseline, score }))
            }
        }
    }

    /// Nanoseconds to rank by. What slowed the best so far in the same run, a lower clock say, is taken out. The best
    /// is the ruler, not the baseline: it is what has to be beaten, and slow kernels can be unsteady ones.
    fn score(&self, timing: &Timing, best: Option<&Timing>) -> f64 {
        match (best, self.best().and_then(|best| self.attempts.measured(best))) {
            (Some(now), Some(measured)) => measured.score / speedup(timing, now),
            _ => timing.score(),
        }
    }

    /// The fastest of a group against the best so far, on fresh inputs and in one run. A kernel that is found wrong
    /// here leaves its place to the next.
    fn duel(&mut self, group: &[Origin]) -> Result<(), Halt> {
        let mut order: Vec<(Origin, f64)> = group
            .iter()
            .filter_map(|&origin| Some((origin, self.attempts.measured(origin)?.score)))
            .collect();
        order.sort_by(|one, other| one.1.total_cmp(&other.1).then(one.0.cmp(&other.0)));
        for (origin, score) in order {
            let best = self.best();
            // Who was slower in the trial has no chance: the clock is spared.
            if best.and_then(|best| self.attempts.measured(best)).is_some_and(|best| score >= best.score) {
                return Ok(());
            }
            let Some(measured) = self.attempts.measured(origin).cloned() else { continue };
            let rival = Rival { origin, executable: &measured.executable };
            let validation = match self.referee.validate(&self.effects, Purpose::Duel, rival)? {
                Verdict::Valid(validation) => validation,
                Verdict::Invalid(failure) => {
                    self.attempts.set_fate(origin, Fate::Failed(failure));
                    continue;
                }
            };
            // A GPU counts nothing: what was counted before it still holds.
            let counts = match validation.counts.is_empty() {
                true => measured.validation.counts.clone(),
                false => validation.counts.clone(),
            };
            let mut measured = Measured { validation: Validation { counts, ..validation }, ..measured };
            if best.is_some() {
                match self.race(Purpose::Duel, origin, &measured.executable)? {
                    Err(failure) => {
                        self.attempts.set_fate(origin, Fate::Failed(failure));
                        continue;
                    }
                    Ok(race) => {
                        let won = race.best.as_ref().is_some_and(|best| beats(&race.timing, best));
                        measured.score = self.score(&race.timing, race.best.as_ref());
                        measured.timing = race.timing;
                        measured.baseline = race.baseline;
                        self.attempts.set_fate(origin, Fate::Valid(Box::new(measured)));
                        if !won {
                            return Ok(());
                        }
                    }
                }
            } else {
                self.attempts.set_fate(origin, Fate::Valid(Box::new(measured)));
            }
            return self.crown(origin);
        }
        Ok(())
    }

    fn crown(&mut self, origin: Origin) -> Result<(), Halt> {
        self.bests.push(origin);
        if let Some(measured) = self.attempts.measured(origin) {
            let defines = &measured.executable.tunables;
            self.effects.ledger.add(Record::Best {
                origin,
                defines: defines.clone(),
                score: measured.score,
            })?;
            self.effects.events.event(Event::Best {
                origin,
                defines,
                timing: &measured.timing,
                speedup: measured.baseline.as_ref().map(|baseline| speedup(&measured.timing, baseline)),
            });
        }
        Ok(())
    }

    /// Times a kernel beside the best and the baseline, as far as they are others than itself. In the final check the
    /// best is the kernel itself.
    pub fn race(
        &mut self,
        purpose: Purpose,
        origin: Origin,
        executable: &Executable,
    ) -> Result<Result<Race, Failure>, Halt> {
        let mut rivals = vec![Rival { origin, executable }];
        let best = self.best().filter(|&best| best != origin && purpose != Purpose::Final);
        for other in best.into_iter().chain([Origin::Baseline]) {
            let present = rivals.iter().any(|rival| rival.origin == other);
            if let Some(measured) = self.attempts.measured(other).filter(|_| !present) {
                rivals.push(Rival { origin: other, executable: &measured.executable });
            }
        }
        let place = |wanted: Origin| rivals.iter().skip(1).position(|rival| rival.origin == wanted);
        let (best, baseline) = (best.and_then(place), place(Origin::Baseline));
        Ok(match self.referee.time(&self.effects, purpose, &rivals)? {
            Timed::Invalid(failure) => Err(failure),
            Timed::Times(times) => {
                let mut times = times.into_iter();
                let Some(timing) = times.next() else { return Ok(Err(no_times())) };
                let others: Vec<Timing> = times.collect();
                let other = |place: Option<usize>| place.and_then(|place| others.get(place).cloned());
                Ok(Race { timing, best: other(best), baseline: other(baseline) })
            }
        })
    }
}

/// Times of one run.
pub(super) struct Race {
    pub timing: Timing,
    /// The best so far, where it is another kernel.
    pub best: Option<Timing>,
    /// The baseline, where it is another kernel.
    pub baseline: Option<Timing>,
}

/// The referee has counted the times already.
fn no_times() -> Failure {
    Failure {
        kind: FailureKind::Execution,
        summary: "its time was not taken".to_owned(),
        evidence: String::new(),
        case: None,
    }
}
