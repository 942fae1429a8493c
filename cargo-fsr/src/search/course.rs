//! From which kernels a round goes on: the paper's course, and others under the same judge and budget.
//!
//! What a slot is asked about follows from what was tried before and from nothing else, so that a search that is taken
//! up again asks the same.

use super::attempt::Attempts;
use crate::model::Origin;
use crate::settings::Strategy;

/// What the prompt of a slot is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Plan {
    /// The task.
    Initial,
    /// A candidate that failed.
    Failure(Origin),
    /// A kernel that shall be beaten.
    Faster(Origin),
}

/// What there is to go on from.
pub(super) struct Standing<'a> {
    pub attempts: &'a Attempts,
    /// Winner of the duels so far.
    pub best: Option<Origin>,
    pub candidates: u32,
    /// The round to be asked.
    pub round: u32,
}

/// A way through a search.
pub(super) trait Course {
    /// What a slot is asked about; slots count from 1.
    fn plan(&self, standing: &Standing<'_>, slot: u32) -> Plan;
}

/// The course of a strategy.
pub(super) fn course(strategy: Strategy) -> Box<dyn Course> {
    match strategy {
        Strategy::Fsr => Box::new(Greedy),
        Strategy::Beam { width } => Box::new(Beam { width: width as usize }),
        Strategy::Islands { count } => Box::new(Islands { count }),
    }
}

impl Standing<'_> {
    /// The paper's rule for a group of slots: as long as none of them has a valid kernel of the last round, each mends
    /// its own failure; else all go on from a valid one.
    fn step(&self, slot: u32, in_group: impl Fn(u32) -> bool, parent: Option<Origin>) -> Plan {
        if self.round == 1 {
            return Plan::Initial;
        }
        let last = |slot| Origin::Candidate { round: self.round - 1, slot };
        let any_valid = (1..=self.candidates)
            .filter(|&slot| in_group(slot))
            .any(|slot| self.attempts.measured(last(slot)).is_some());
        match parent {
            Some(parent) if any_valid => Plan::Faster(parent),
            _ => Plan::Failure(last(slot)),
        }
    }

    /// Valid kernels of some origins, each source once: the winner of the duels, then by their scores.
    fn ranked(&self, among: impl Fn(Origin) -> bool) -> Vec<Origin> {
        let mut ranked: Vec<_> = self
            .attempts
            .iter()
            .filter(|attempt| among(attempt.origin))
            .filter_map(|attempt| Some((attempt, attempt.measured()?.score)))
            .collect();
        ranked.sort_by(|(one, fast), (other, slow)| {
            let is_best = |origin| Some(origin) != self.best;
            is_best(one.origin).cmp(&is_best(other.origin)).then(fast.total_cmp(slow))
        });
        let mut sources = Vec::new();
        ranked.retain(|(attempt, _)| {
            let is_new = !sources.contains(&attempt.code());
            sources.push(attempt.code());
            is_new
        });
        ranked.into_iter().map(|(attempt, _)| attempt.origin).collect()
    }
}

/// All slots go on from the best kernel.
struct Greedy;

impl Course for Greedy {
    fn plan(&self, standing: &Standing<'_>, slot: u32) -> Plan {
        standing.step(slot, |_| true, standing.best)
    }
}

/// The slots go on from the best few kernels in turn.
struct Beam {
    width: usize,
}

impl Course for Beam {
    fn plan(&self, standing: &Standing<'_>, slot: u32) -> Plan {
        let mut parents = standing.ranked(|_| true);
        parents.truncate(self.width);
        let turn = (slot as usize - 1) % parents.len().max(1);
        standing.step(slot, |_| true, parents.get(turn).copied())
    }
}

/// Groups of slots that know nothing of each other, but for the kernels that were given.
struct Islands {
    count: u32,
}

impl Islands {
    /// Every so many rounds a group goes on from its neighbour's best kernel where that is faster than its own.
    const MIGRATION: u32 = 3;

    fn island(&self, slot: u32) -> u32 {
        (slot - 1) % self.count
    }
}

impl Course for Islands {
    fn plan(&self, standing: &Standing<'_>, slot: u32) -> Plan {
        let home = self.island(slot);
        let migrates = standing.round > 1 && (standing.round - 1).is_multiple_of(Self::MIGRATION);
        let neighbour = (home + self.count - 1) % self.count;
        let known = |slot| self.island(slot) == home || migrates && self.island(slot) == neighbour;
        let ranked = standing.ranked(|origin| match origin {
            Origin::Candidate { slot, .. } => known(slot),
            Origin::Baseline | Origin::Previous(_) => true,
        });
        standing.step(slot, known, ranked.first().copied())
    }
}
