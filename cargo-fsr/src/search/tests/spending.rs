//! Budgets end a search early; nothing that was paid for is lost, and nothing is paid for twice.

use std::time::Duration;

use super::fixture::Bed;
use crate::budget::{Budget, Purse};
use crate::journal::{Entry, Journal, JournalError, MemoryJournal, Record, StopReason};
use crate::model::{Origin, Request};
use crate::search::fakes::{Script, with_baseline};
use crate::search::{Outcome, SearchError, Stopped};

const ROUNDS: &[&[&str]] = &[&["ns=190", "ns=180"], &["ns=100", "ns=90"], &["ns=80", "ns=70"]];

fn bed(budget: Budget) -> Bed {
    let mut bed = Bed::new(with_baseline(), 2, 3);
    bed.purse = Purse::new(budget);
    bed
}

fn requests(limit: u64) -> Budget {
    Budget { requests: Some(limit), ..Budget::default() }
}

fn found(outcome: &Outcome) -> (Option<Origin>, Option<bool>, u32) {
    let best = outcome.best.as_ref();
    (best.map(|best| best.origin), best.map(|best| best.confirmed), outcome.counts.answers)
}

/// A journal on a disk that has become full: requests find no room.
#[derive(Default)]
struct Full(MemoryJournal);

impl Journal for Full {
    fn entries(&self) -> &[Entry] {
        self.0.entries()
    }

    fn append(&mut self, record: Record) -> Result<(), JournalError> {
        match record {
            Record::Request { .. } => Err(JournalError::Io {
                path: "run.jsonl".into(),
                source: std::io::ErrorKind::StorageFull.into(),
            }),
            record => self.0.append(record),
        }
    }
}

#[test]
fn what_cannot_be_written_down_is_not_spent() {
    let mut bed = bed(requests(3));
    let error = bed.run_with(&Script::new(ROUNDS), &mut Full::default()).unwrap_err();
    assert!(matches!(error, SearchError::Journal(JournalError::Io { .. })), "{error:?}");
    assert_eq!(bed.purse.spent().requests, 0);
    // Nothing is held for them either.
    let request = Request { input: 1, output: None };
    assert!((0..3).all(|_| bed.purse.hold_for("script", request).is_ok()));
}

#[test]
fn what_was_paid_for_is_tried_and_the_best_is_checked_afresh() {
    let mut bed = bed(requests(3));
    let script = Script::new(ROUNDS);
    let outcome = bed.run(&script).unwrap();
    assert_eq!(outcome.stopped, Stopped::Budget { what: "3 requests".to_owned() });
    // Of the second round one was asked, and it is better than the first round's.
    let (best, confirmed, answers) = found(&outcome);
    assert_eq!((confirmed, answers), (Some(true), 3));
    assert!(matches!(best, Some(Origin::Candidate { round: 2, .. })), "{best:?}");
    let last = bed.journal.entries().last().map(|entry| entry.record.clone());
    assert_eq!(last, Some(Record::Stopped { reason: StopReason::Budget { what: "3 requests".to_owned() } }));
    let spent = bed.purse.spent();
    assert_eq!((spent.requests, spent.input, spent.output), (3, 300, 150));
}

#[test]
fn resuming_goes_on_counting_and_asks_nobody_twice() {
    let mut first = bed(requests(3));
    first.run(&Script::new(ROUNDS)).unwrap();

    // The budget is spent: nobody is asked.
    let mut again = bed(requests(3));
    again.journal = first.journal;
    let script = Script::new(ROUNDS);
    let outcome = again.run(&script).unwrap();
    assert!(matches!(outcome.stopped, Stopped::Budget { .. }), "{:?}", outcome.stopped);
    assert_eq!((script.asked.lock().unwrap().len(), again.purse.spent().requests), (0, 3));

    // A larger one goes on where it was.
    let mut more = bed(requests(6));
    more.journal = again.journal;
    let script = Script::new(ROUNDS);
    let outcome = more.run(&script).unwrap();
    assert_eq!(outcome.stopped, Stopped::Rounds);
    assert_eq!(found(&outcome), (Some(Origin::Candidate { round: 3, slot: 2 }), Some(true), 6));
    assert_eq!((script.asked.lock().unwrap().len(), more.purse.spent().requests), (3, 6));
}

#[test]
fn a_budget_of_tokens_lets_nothing_through_that_might_not_fit() {
    // A request may take 500: two in flight are 1000, whatever they take in the end.
    let mut bed = bed(Budget { tokens: Some(1000), ..Budget::default() });
    let outcome = bed.run(&Script::new(ROUNDS)).unwrap();
    assert!(matches!(outcome.stopped, Stopped::Budget { .. }));
    let spent = bed.purse.spent();
    assert!(spent.input + spent.output <= 1000);
    // 2, then 2 more (300 spent, 700 left: one fits at once, the second if the first is over by then), and so on.
    assert!((3..=6).contains(&spent.requests), "{spent:?}");
}

#[test]
fn time_that_is_up_before_the_first_request_leaves_the_baseline() {
    let mut bed = bed(Budget { time: Some(Duration::ZERO), ..Budget::default() });
    let script = Script::new(ROUNDS);
    let outcome = bed.run(&script).unwrap();
    assert_eq!(outcome.stopped, Stopped::Budget { what: "0s".to_owned() });
    assert_eq!(
        (found(&outcome), script.asked.lock().unwrap().len()),
        ((Some(Origin::Baseline), Some(true), 0), 0)
    );
}
