//! From which kernels a round goes on, and when a kernel is fast enough.

use super::fixture::{Bed, asked, candidate, essence};
use crate::journal::{Journal, Record, StopReason};
use crate::model::{Origin, Stage};
use crate::search::fakes::{Script, answer, brief, with_baseline};
use crate::search::{SearchError, Stopped};
use crate::settings::{Strategy, Target};

fn bed(strategy: Strategy, candidates: u32, rounds: u32) -> Bed {
    let mut bed = Bed::new(brief(), candidates, rounds);
    bed.settings.strategy = strategy;
    bed
}

fn faster(parents: &[(u32, u32)]) -> Vec<(Stage, Option<Origin>)> {
    parents.iter().map(|&(round, slot)| (Stage::Performance, Some(candidate(round, slot)))).collect()
}

#[test]
fn a_beam_goes_on_from_its_best_few_in_turn() {
    let script = Script::new(&[
        &["ns=120", "BROKEN", "ns=110", "ns=100"],
        // The same again is no second kernel.
        &["ns=100", "ns=90", "WRONG", "ns=130"],
        &["WRONG", "BROKEN", "WRONG", "WRONG"],
        &["ns=95", "ns=85", "ns=200", "ns=200"],
        &["ns=300", "ns=300", "ns=300", "ns=300"],
    ]);
    bed(Strategy::Beam { width: 2 }, 4, 5).run(&script).unwrap();
    assert_eq!(asked(&script, 2, 4), faster(&[(1, 4), (1, 3), (1, 4), (1, 3)]));
    assert_eq!(asked(&script, 3, 4), faster(&[(2, 2), (1, 4), (2, 2), (1, 4)]));
    // None passed: each slot mends its own.
    let mends = |stage, slot| (stage, Some(candidate(3, slot)));
    assert_eq!(
        asked(&script, 4, 4),
        [
            mends(Stage::Mismatch, 1),
            mends(Stage::CompileFailure, 2),
            mends(Stage::Mismatch, 3),
            mends(Stage::Mismatch, 4)
        ]
    );
    assert_eq!(asked(&script, 5, 4), faster(&[(4, 2), (2, 2), (4, 2), (2, 2)]));
}

#[test]
fn a_beam_with_one_valid_kernel_goes_on_from_that() {
    let script = Script::new(&[&["ns=120", "BROKEN", "WRONG"], &["WRONG", "WRONG", "WRONG"]]);
    bed(Strategy::Beam { width: 3 }, 3, 2).run(&script).unwrap();
    assert_eq!(asked(&script, 2, 3), faster(&[(1, 1); 3]));
}

#[test]
fn islands_go_their_own_ways_and_look_at_their_neighbours_now_and_then() {
    let script = Script::new(&[
        // Slots 1 and 3 are one island, 2 and 4 the other.
        &["ns=120", "BROKEN", "ns=110", "WRONG"],
        &["ns=100", "ns=500", "ns=130", "BROKEN"],
        &["ns=90", "ns=400", "ns=80", "ns=300"],
        &["ns=70", "ns=60", "WRONG", "WRONG"],
        &["ns=75", "WRONG", "ns=75", "WRONG"],
    ]);
    let outcome = bed(Strategy::Islands { count: 2 }, 4, 5).run(&script).unwrap();
    let [mends, beats] = [Stage::CompileFailure, Stage::Performance];
    assert_eq!(
        asked(&script, 2, 4),
        [
            (beats, Some(candidate(1, 3))),
            (mends, Some(candidate(1, 2))),
            (beats, Some(candidate(1, 3))),
            (Stage::Mismatch, Some(candidate(1, 4))),
        ]
    );
    assert_eq!(asked(&script, 3, 4), faster(&[(2, 1), (2, 2), (2, 1), (2, 2)]));
    // Before the fourth round both know what the other has.
    assert_eq!(asked(&script, 4, 4), faster(&[(3, 3); 4]));
    // And then go on alone.
    assert_eq!(asked(&script, 5, 4), faster(&[(4, 1), (4, 2), (4, 1), (4, 2)]));
    assert_eq!(outcome.best.unwrap().origin, candidate(4, 2));
}

#[test]
fn a_slow_island_goes_on_from_the_baseline() {
    let script = Script::new(&[&["ns=100", "ns=300"], &["WRONG", "WRONG"]]);
    let mut bed = bed(Strategy::Islands { count: 2 }, 2, 2);
    bed.brief = with_baseline();
    bed.run(&script).unwrap();
    let beats = |parent| (Stage::Performance, Some(parent));
    assert_eq!(asked(&script, 2, 2), [beats(candidate(1, 1)), beats(Origin::Baseline)]);
}

#[test]
fn every_strategy_goes_on_where_it_was_killed() {
    for strategy in ["fsr", "beam:2", "islands:3"] {
        let strategy = strategy.parse().unwrap();
        let script = || {
            Script::new(&[
                &["ns=120", "BROKEN", "ns=110"],
                &["ns=100", "WRONG", "ns=105"],
                &["ns=130", "ns=90", "ns=95"],
                &["ns=91", "ns=80", "WRONG"],
            ])
        };
        let mut whole = bed(strategy, 3, 4);
        let wanted = essence(&whole.run(&script()).unwrap());
        let entries = whole.journal.entries().to_vec();
        for kept in 1..entries.len() {
            let mut again = bed(strategy, 3, 4);
            for entry in &entries[..kept] {
                again.journal.append(entry.record.clone()).unwrap();
            }
            let outcome = again.run(&script()).unwrap();
            assert_eq!(essence(&outcome), wanted, "{strategy}, killed after {kept} records");
        }
    }
}

#[test]
fn a_strategy_wants_a_slot_for_each_of_its_lines() {
    let refused = bed(Strategy::Islands { count: 4 }, 3, 1).run(&Script::new(&[])).unwrap_err();
    assert_eq!(refused.to_string(), "the strategy islands:4 needs at least 4 candidates a round");
}

#[test]
fn a_run_keeps_the_strategy_that_it_began_with() {
    let script = Script::new(&[&["ns=120", "ns=110"], &["ns=100", "ns=105"]]);
    let mut bed = bed(Strategy::Fsr, 2, 1);
    bed.run(&script).unwrap();
    bed.settings.strategy = Strategy::Beam { width: 2 };
    let refused = bed.run(&script).unwrap_err();
    assert!(
        matches!(&refused, SearchError::AnotherRun { what, .. } if what.contains("strategy")),
        "{refused}"
    );
}

#[test]
fn a_kernel_that_is_fast_enough_ends_the_search() {
    let script = || Script::new(&[&["ns=150"], &["ns=100"], &["ns=40"]]);
    let mut bed = Bed::new(with_baseline(), 1, 3);
    bed.settings.target = Some(Target::Speedup(2.0));
    let outcome = bed.run(&script()).unwrap();
    assert_eq!((outcome.stopped.clone(), outcome.rounds), (Stopped::Target { what: "2x".to_owned() }, 2));
    assert!(outcome.stopped.is_finished() && outcome.best.unwrap().confirmed);
    let last = &bed.journal.entries().last().unwrap().record;
    assert_eq!(*last, Record::Stopped { reason: StopReason::Target { what: "2x".to_owned() } });

    // A higher one goes on from there.
    bed.settings.target = Some(Target::Speedup(5.0));
    let outcome = bed.run(&script()).unwrap();
    assert_eq!((outcome.stopped, outcome.rounds), (Stopped::Target { what: "5x".to_owned() }, 3));
}

#[test]
fn a_share_of_what_memory_allows_is_a_target_where_that_is_known() {
    let script = || Script { otherwise: Some(|_| Ok(answer("ns=100"))), ..Script::default() };
    let ended = |floor: f64| {
        let mut bed = Bed::new(brief(), 1, 2);
        bed.settings.target = Some(Target::Roofline(0.9));
        bed.judge.floor = floor;
        let outcome = bed.run(&script()).unwrap();
        (outcome.stopped, outcome.rounds, bed.events.0.lock().unwrap().join("; "))
    };
    let (stopped, rounds, _) = ended(91_000.0);
    assert_eq!((stopped, rounds), (Stopped::Target { what: "0.9-roofline".to_owned() }, 1));
    assert_eq!(ended(89_000.0).0, Stopped::Rounds);
    let (stopped, _, said) = ended(0.0);
    assert_eq!(stopped, Stopped::Rounds);
    assert_eq!(said.matches("what memory allows is not known here").count(), 1, "{said}");
}

#[test]
fn a_target_beside_the_baseline_wants_one() {
    let mut bed = Bed::new(brief(), 1, 1);
    bed.settings.target = Some(Target::Speedup(2.0));
    let refused = bed.run(&Script::new(&[])).unwrap_err();
    assert_eq!(refused.to_string(), "the target 2x needs a baseline, and the spec names none");
}
