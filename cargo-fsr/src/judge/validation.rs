//! Is it right? Load, run, compare, in this order, on every case; the first failure ends it.
//!
//! Every case is launched several times with other data at the same addresses, so that a result kept from an earlier
//! launch shows. A comparison runs while the next launch does.

use std::time::Instant;

use fsr_protocol::{CaseId, CaseInfo, Dump, SetId};
use rand::seq::{IndexedRandom, SliceRandom};

use super::counts;
use super::device::Shot;
use super::evidence::{self, Course, Data, Place};
use super::host::{HostJudge, SLOTS, Sets, Stop};
use super::reference::Ticket;
use super::{CaseErrors, Executable, JudgeError, Split, Validation, Verdict};

impl HostJudge {
    /// On the pool: what every candidate of a search has to pass.
    pub(super) fn validate_on_pool(&mut self, candidate: &Executable) -> Result<Verdict, JudgeError> {
        let cases = self.known()?.cases;
        self.referee()?.0.settle()?;
        let _turn = self.turn()?;
        let sets = self.pool().to_vec();
        self.verdict(candidate, &cases, &sets)
    }

    /// On sets that are made for this call and forgotten afterwards.
    pub(super) fn validate_on_fresh(&mut self, candidate: &Executable) -> Result<Verdict, JudgeError> {
        let cases = self.known()?.cases;
        let count = self.options.fresh.max(1);
        let mut sets: Vec<Sets> = Vec::new();
        for (id, case) in (0..).zip(&cases) {
            let count = if self.executes(id) { count } else { 0 };
            let made: Result<Vec<SetId>, JudgeError> =
                (0..count).map(|_| self.make_set(id, &case.name, true)).collect();
            let made = made?;
            let twins = self.make_twin(id, &case.name, &made, true)?;
            sets.push(Sets { sets: made, twins });
        }
        self.referee()?.0.settle()?;
        let _turn = self.turn()?;
        let verdict = self.verdict(candidate, &cases, &sets);
        for (id, sets) in (0..).zip(&sets) {
            for set in sets.all() {
                self.drop_set(id, set)?;
            }
        }
        verdict
    }

    fn verdict(
        &mut self,
        candidate: &Executable,
        cases: &[CaseInfo],
        sets: &[Sets],
    ) -> Result<Verdict, JudgeError> {
        self.forget_finding();
        Ok(match self.twice(|judge| judge.examine(candidate, cases, sets))? {
            Ok(validation) => Verdict::Valid(validation),
            Err(failure) => Verdict::Invalid(failure),
        })
    }

    fn examine(
        &mut self,
        candidate: &Executable,
        cases: &[CaseInfo],
        sets: &[Sets],
    ) -> Result<Validation, Stop> {
        let began = Instant::now();
        self.split = Split::default();
        let resources = self.load(candidate)?.resources;
        self.split.load = millis(began);

        let began = Instant::now();
        let largest = self.largest(cases);
        let mut counted = Vec::new();
        let mut errors = Vec::new();
        for ((id, case), sets) in (0..).zip(cases).zip(sets) {
            if !self.executes(id) {
                continue;
            }
            let place = Place {
                case,
                passed: errors.len(),
                cases: self.extent(),
                launches: 0,
                data: Data::Other,
                course: Course::Validation,
            };
            let examined = self.examine_case(candidate, id, sets, place);
            self.split.validate = millis(began);
            errors.push(examined?);
            if let Some(report) = self.report().filter(|_| largest == Some(id)) {
                counted = counts::read(&report, &case.name);
            }
        }
        Ok(Validation { cases: errors, resources, counts: counted, split: self.split })
    }

    /// The case that counts are taken from: what is executed of the timed ones, or of all, with the most to do.
    fn largest(&self, cases: &[CaseInfo]) -> Option<CaseId> {
        let executed = (0..).zip(cases).filter(|(id, _)| self.executes(*id));
        executed.max_by_key(|(_, case)| (case.timed, case.work_bytes)).map(|(id, _)| id)
    }

    fn examine_case(
        &mut self,
        candidate: &Executable,
        id: CaseId,
        sets: &Sets,
        place: Place<'_>,
    ) -> Result<CaseErrors, Stop> {
        let mut errors = CaseErrors { case: place.case.name.clone(), max_abs: 0.0, max_rel: 0.0 };
        let mut open: Option<(Ticket, Place<'_>)> = None;
        for (slot, (set, data)) in (0..).zip(course(sets)) {
            let place = Place { launches: slot as usize, data, ..place };
            let dump = Dump { slot: slot % SLOTS, inputs: true };
            let shot = Shot { set, flush: false, moved: data == Data::Moved, dump: Some(dump) };
            let launched = self.launch(candidate, id, shot, place);
            // What the launch before it computed comes first, whatever became of this one.
            if let Some((ticket, place)) = open.take() {
                self.judge(ticket, place, &mut errors)?;
            }
            launched?;
            let tolerance = self.options.tolerance;
            let ticket = self.referee()?.0.compare(id, set, dump.slot, dump.inputs, tolerance)?;
            open = Some((ticket, place));
        }
        if let Some((ticket, place)) = open {
            self.judge(ticket, place, &mut errors)?;
        }
        Ok(errors)
    }

    /// Takes the reference process's word on a launch.
    pub(super) fn judge(
        &mut self,
        ticket: Ticket,
        place: Place<'_>,
        errors: &mut CaseErrors,
    ) -> Result<(), Stop> {
        let comparison = self.referee()?.0.compared(ticket)?;
        if let Some(failure) = evidence::of_comparison(&comparison, place) {
            return Err(Stop::Candidate(failure));
        }
        for output in &comparison.outputs {
            errors.max_abs = errors.max_abs.max(output.max_abs);
            errors.max_rel = errors.max_rel.max(output.max_rel);
        }
        Ok(())
    }
}

/// Every set once, in an order that nobody knows; after one of them its twin; and last one of the earlier ones again,
/// elsewhere in memory.
fn course(Sets { sets, twins }: &Sets) -> Vec<(SetId, Data)> {
    let mut random = rand::rng();
    let mut order = sets.clone();
    order.shuffle(&mut random);
    let earlier = order.len().saturating_sub(1).max(1).min(order.len());
    let again = order[..earlier].choose(&mut random).copied();
    let mut course = Vec::new();
    for set in order {
        course.push((set, Data::Other));
        course.extend(twins.filter(|(one, _)| *one == set).map(|(_, twin)| (twin, Data::OneChanged)));
    }
    course.extend(again.map(|set| (set, Data::Moved)));
    course
}

pub(super) fn millis(since: Instant) -> f64 {
    since.elapsed().as_secs_f64() * 1e3
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_course_visits_every_set_and_returns_to_one() {
        for _ in 0..50 {
            let course = course(&Sets { sets: vec![1, 2, 3], twins: Some((2, 9)) });
            let mut once: Vec<SetId> = course[..4].iter().map(|(set, _)| *set).collect();
            let two = once.iter().position(|set| *set == 2).unwrap();
            assert_eq!(course[two + 1], (9, Data::OneChanged), "a twin follows its set");
            once.sort();
            assert_eq!(once, [1, 2, 3, 9]);
            assert_eq!((course.len(), course[4].1), (5, Data::Moved));
            assert_ne!(course[3].0, course[4].0, "the same data twice in a row shows nothing");
        }
        let only = Sets { sets: vec![7], twins: None };
        assert_eq!(course(&only), [(7, Data::Other), (7, Data::Moved)]);
    }
}
