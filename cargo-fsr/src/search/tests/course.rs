//! The gate, the duel, the sweep, and every way to end.

use std::sync::atomic::Ordering;

use super::fixture::{Bed, asked, candidate, essence};
use crate::brief::Bounds;
use crate::journal::{Journal, MemoryJournal, Record, StopReason};
use crate::model::{ModelError, Origin, Stage};
use crate::search::fakes::{Script, answer, brief, code, with_baseline};
use crate::search::{Cast, SearchError, Stopped};

#[test]
fn while_none_passes_each_slot_gets_the_prompt_of_its_own_failure() {
    let script = Script::new(&[
        &["BROKEN", "CRASH", "WRONG", "raw:no code"],
        &["WRONG", "BROKEN", "CRASH", "raw:```\nint x;\n```"],
        &["ns=100", "ns=90", "WRONG", "ns=95"],
    ]);
    let outcome = Bed::new(brief(), 4, 3).run(&script).unwrap();
    assert_eq!(asked(&script, 1, 4), [(Stage::Initial, None); 4]);
    assert_eq!(
        asked(&script, 2, 4),
        [
            (Stage::CompileFailure, Some(candidate(1, 1))),
            (Stage::ExecutionFailure, Some(candidate(1, 2))),
            (Stage::Mismatch, Some(candidate(1, 3))),
            (Stage::CompileFailure, Some(candidate(1, 4))),
        ]
    );
    assert_eq!(
        asked(&script, 3, 4),
        [
            (Stage::Mismatch, Some(candidate(2, 1))),
            (Stage::CompileFailure, Some(candidate(2, 2))),
            (Stage::ExecutionFailure, Some(candidate(2, 3))),
            (Stage::CompileFailure, Some(candidate(2, 4))),
        ]
    );
    assert_eq!(outcome.best.unwrap().origin, candidate(3, 2));
    let counts = outcome.counts;
    assert_eq!((counts.answers, counts.rejected, counts.not_compiled), (12, 2, 2));
    assert_eq!((counts.execution_failures, counts.mismatches, counts.valid), (2, 3, 3));
}

#[test]
fn once_one_passes_the_fastest_seeds_every_slot_of_the_next_round() {
    let script = Script::new(&[
        &["ns=120", "BROKEN", "ns=110"],
        &["WRONG", "WRONG", "BROKEN"],
        &["ns=100", "ns=115", "WRONG"],
        &["ns=130", "ns=140", "ns=150"],
        &["WRONG", "WRONG", "WRONG"],
    ]);
    let outcome = Bed::new(brief(), 3, 5).run(&script).unwrap();
    assert_eq!(asked(&script, 2, 3), [(Stage::Performance, Some(candidate(1, 3))); 3]);
    // None passed: the failures of the round, not the best kernel.
    assert_eq!(
        asked(&script, 3, 3),
        [
            (Stage::Mismatch, Some(candidate(2, 1))),
            (Stage::Mismatch, Some(candidate(2, 2))),
            (Stage::CompileFailure, Some(candidate(2, 3))),
        ]
    );
    assert_eq!(asked(&script, 4, 3), [(Stage::Performance, Some(candidate(3, 1))); 3]);
    // Valid and slower: the incumbent stays and seeds on.
    assert_eq!(asked(&script, 5, 3), [(Stage::Performance, Some(candidate(3, 1))); 3]);
    let winner = outcome.best.unwrap();
    assert_eq!((winner.origin, winner.confirmed, winner.speedup), (candidate(3, 1), true, None));
}

#[test]
fn all_slots_are_asked_at_once() {
    let script = Script { together: 6, ..Script::new(&[&["ns=1", "ns=2", "ns=3", "ns=4", "ns=5", "ns=6"]]) };
    Bed::new(brief(), 6, 1).run(&script).unwrap();
}

#[test]
fn the_baseline_is_the_first_incumbent_and_stays_until_beaten_beyond_noise() {
    let script = Script::new(&[&["ns=199"], &["ns=150"]]);
    let mut bed = Bed::new(with_baseline(), 1, 2);
    let outcome = bed.run(&script).unwrap();
    assert_eq!(asked(&script, 1, 1), [(Stage::Initial, Some(Origin::Baseline))]);
    assert_eq!(asked(&script, 2, 1), [(Stage::Performance, Some(Origin::Baseline))]);
    let winner = outcome.best.unwrap();
    assert_eq!(winner.origin, candidate(2, 1));
    assert!((winner.speedup.unwrap() - 200.0 / 150.0).abs() < 1e-9);
    assert!((outcome.baseline.unwrap().timing.score() - 200_000.0).abs() < 1e-6);
}

#[test]
fn without_a_gain_the_baseline_itself_is_the_winner() {
    let outcome = Bed::new(with_baseline(), 2, 1).run(&Script::new(&[&["ns=300", "WRONG"]])).unwrap();
    let winner = outcome.best.unwrap();
    assert_eq!((winner.origin, winner.speedup, winner.confirmed), (Origin::Baseline, None, true));
}

#[test]
fn a_baseline_that_does_not_work_ends_the_search_before_any_model_is_asked() {
    let error = |words: &str| {
        let mut brief = with_baseline();
        if let Some(file) = &mut brief.baseline {
            file.text = code(words);
        }
        let script = Script::new(&[]);
        let error = Bed::new(brief, 1, 1).run(&script).unwrap_err();
        assert!(script.asked.lock().unwrap().is_empty());
        error.to_string()
    };
    insta::assert_snapshot!(error("WRONG"), @r"
    the baseline kernels/saxpy.cu is not valid: output `y` differs in 3 of 1003 elements:
    case `n=1003`; first launch
    output `y`: 3 of 1003 elements differ
    ");
    assert!(
        error("BROKEN")
            .starts_with("the baseline kernels/saxpy.cu does not compile:\ncandidate.cu(2): error")
    );

    let mut brief = with_baseline();
    brief.entries = vec!["axpy".to_owned()];
    let error = Bed::new(brief, 1, 1).run(&Script::new(&[])).unwrap_err();
    insta::assert_snapshot!(error, @"the baseline kernels/saxpy.cu does not define the entry `axpy` as a __global__ function");
}

#[test]
fn an_earlier_winner_is_tried_first_and_may_fail() {
    let script = Script::new(&[&["ns=150"]]);
    let mut bed = Bed::new(with_baseline(), 1, 1);
    bed.previous = vec![code("WRONG"), code("ns=100"), "not even a kernel".to_owned()];
    let outcome = bed.run(&script).unwrap();
    assert_eq!(asked(&script, 1, 1), [(Stage::Initial, Some(Origin::Previous(2)))]);
    assert_eq!(outcome.best.unwrap().origin, Origin::Previous(2));
    assert_eq!(outcome.counts.answers, 1);
}

#[test]
fn a_kernel_found_wrong_later_leaves_its_place_to_the_next() {
    // In a timed launch; on fresh inputs in the duel; in the final check.
    let script = Script::new(&[&["DRIFT ns=10", "RACY ns=20", "LATE ns=30", "ns=40"]]);
    let mut bed = Bed::new(with_baseline(), 4, 1);
    let outcome = bed.run(&script).unwrap();
    // The fourth never had a duel: the third was the best until the very end.
    assert_eq!(outcome.best.unwrap().origin, Origin::Baseline);
    assert_eq!((outcome.counts.mismatches, outcome.counts.valid), (3, 1));
    let heard = bed.events.0.lock().unwrap().join("\n");
    assert!(heard.contains("note r1-c3: failed in the final check and is not kept"), "{heard}");

    let script = Script::new(&[&["DRIFT ns=10", "RACY ns=20"], &["ns=50", "ns=60"]]);
    let outcome = Bed::new(brief(), 2, 2).run(&script).unwrap();
    // Both passed the gate and neither stood: their own failures are what the next round is about.
    assert_eq!(
        asked(&script, 2, 2),
        [(Stage::Mismatch, Some(candidate(1, 1))), (Stage::Mismatch, Some(candidate(1, 2)))]
    );
    assert_eq!(outcome.best.unwrap().origin, candidate(2, 1));
}

#[test]
fn tunables_are_swept_without_a_model() {
    let mut brief = with_baseline();
    brief.tunables.insert("TILE".to_owned(), vec![8, 16, 32]);
    let script = Script::new(&[&["ns8=180 ns16=120 ns32=150", "ns8=130 ns16=140 ns32=150"]]);
    let mut bed = Bed::new(brief, 2, 1);
    let outcome = bed.run(&script).unwrap();
    let winner = outcome.best.unwrap();
    assert_eq!(winner.origin, candidate(1, 1));
    assert_eq!(winner.tunables["TILE"], 16);
    assert!((winner.timing.score() - 120_000.0).abs() < 1e-6);
    assert_eq!(script.asked.lock().unwrap().len(), 2);
    // Baseline and two candidates, three combinations each.
    assert_eq!(bed.compiler.made.load(Ordering::Relaxed), 9);
}

#[test]
fn a_combination_that_fails_is_no_failure_of_the_kernel() {
    let mut brief = brief();
    brief.tunables.insert("TILE".to_owned(), vec![8, 16, 32]);
    let script = Script::new(&[&["BAD16 ns8=180 ns16=10 ns32=150"], &["ns=1"]]);
    let outcome = Bed::new(brief, 1, 2).run(&script).unwrap();
    let text = script.prompt(2, 1).text;
    assert!(text.contains("- With TILE=16: not valid\n- With TILE=32: 150 us"), "{text}");
    assert_eq!(outcome.counts.valid, 2);
}

#[test]
fn the_clock_is_spared_where_the_trial_has_decided() {
    let mut bed = Bed::new(with_baseline(), 1, 1);
    bed.run(&Script::new(&[&["ns=300"]])).unwrap();
    let timed: Vec<_> = bed.judge.log.iter().filter(|line| line.starts_with("time")).collect();
    // The baseline, the candidate's trial, the final check: no duel.
    assert_eq!(timed.len(), 3, "{timed:?}");
}

#[test]
fn a_cap_on_combinations_is_said_once() {
    let mut brief = brief();
    brief.tunables.insert("TILE".to_owned(), (1..=100).collect());
    let mut bed = Bed::new(brief, 2, 1);
    bed.settings.max_combinations = 5;
    bed.run(&Script::new(&[&["ns=100", "ns=110"]])).unwrap();
    assert_eq!(bed.compiler.made.load(Ordering::Relaxed), 10);
    let heard = bed.events.0.lock().unwrap();
    let notes: Vec<_> = heard.iter().filter(|line| line.starts_with("note")).collect();
    assert_eq!(notes, ["note : 5 of 100 combinations of tunables are tried for each valid kernel"]);
}

#[test]
fn launch_parameters_reach_compiler_and_judge() {
    let mut brief = brief();
    brief.launch.insert("BLOCK_X".to_owned(), Bounds { min: 32, max: 1024 });
    let with = format!("```cuda\n{}// fsr: BLOCK_X = 128\n```", code("ns=100"));
    let script = Script::new(&[&[&format!("raw:{with}"), "ns=10"]]);
    let outcome = Bed::new(brief, 2, 1).run(&script).unwrap();
    let winner = outcome.best.unwrap();
    assert_eq!(winner.tunables["BLOCK_X"], 128);
    assert!(winner.ptx.text.contains("128"));
    assert_eq!(outcome.counts.rejected, 1);
}

#[test]
fn nothing_valid_is_an_outcome_too() {
    let script = Script { otherwise: Some(|_| Ok("rubbish".to_owned())), ..Script::default() };
    let outcome = Bed::new(brief(), 3, 4).run(&script).unwrap();
    assert!(outcome.best.is_none() && outcome.stopped == Stopped::Rounds);
    assert_eq!((outcome.counts.answers, outcome.counts.rejected), (12, 12));
}

#[test]
fn patience_ends_a_search_that_finds_nothing_better() {
    let script = Script { otherwise: Some(|_| Ok(answer("ns=100"))), ..Script::default() };
    let mut bed = Bed::new(brief(), 2, 10);
    bed.settings.patience = Some(2);
    let outcome = bed.run(&script).unwrap();
    assert_eq!((outcome.stopped, outcome.rounds), (Stopped::Plateau { rounds: 2 }, 3));
    assert!(outcome.best.unwrap().confirmed);
}

#[test]
fn a_failed_model_ends_the_search_and_keeps_the_best() {
    let fail = |_: &_| {
        let what = "ended with exit status: 1: no key in /home/jo/.config/ask".to_owned();
        Err(ModelError::Command { command: "ask".to_owned(), what })
    };
    let script = Script { otherwise: Some(fail), ..Script::new(&[&["ns=100", "ns=90"], &["ns=80"]]) };
    let mut bed = Bed::new(brief(), 2, 3);
    let outcome = bed.run(&script).unwrap();
    let told = "model command `ask` ended with exit status: 1: no key in /home/jo/.config/ask".to_owned();
    assert_eq!(outcome.stopped, Stopped::Model { message: told });
    let winner = outcome.best.unwrap();
    assert_eq!((winner.origin, winner.confirmed), (candidate(1, 2), true));
    // What the other slot answered is not lost.
    let answers = bed.journal.entries().iter().filter(|entry| matches!(entry.record, Record::Answer { .. }));
    assert_eq!(answers.count(), 3);
    // The journal may go to other machines.
    let message = "model command `ask` ended with exit status: 1: no key in ask".to_owned();
    let last = &bed.journal.entries().last().unwrap().record;
    assert_eq!(*last, Record::Stopped { reason: StopReason::Model { message } });
}

#[test]
fn an_interrupt_keeps_the_best_so_far() {
    let interrupted = |_: &_| Err(ModelError::Interrupted);
    let script = Script { otherwise: Some(interrupted), ..Script::new(&[&["ns=100"], &["ns=90"]]) };
    let mut bed = Bed::new(with_baseline(), 1, 5);
    let outcome = bed.run(&script).unwrap();
    assert_eq!((&outcome.stopped, outcome.rounds), (&Stopped::Interrupted, 3));
    let winner = outcome.best.as_ref().unwrap();
    assert_eq!((winner.origin, winner.confirmed), (candidate(2, 1), false));

    // From outside, before anything: there is nothing to keep.
    let mut bed = Bed::new(with_baseline(), 1, 5);
    bed.interrupt.store(true, Ordering::Relaxed);
    assert!(matches!(bed.run(&script), Err(SearchError::Judge(crate::judge::JudgeError::Interrupted))));
}

#[test]
fn settings_that_cannot_be_are_refused() {
    for (candidates, rounds) in [(0, 1), (1, 0)] {
        let error = Bed::new(brief(), candidates, rounds).run(&Script::default()).unwrap_err();
        assert!(matches!(error, SearchError::Settings(_)));
    }
}

#[test]
fn equal_searches_are_equal() {
    let run = || {
        let script = Script::new(&[&["ns=100", "BROKEN"], &["ns=90", "WRONG"]]);
        let mut bed = Bed::new(with_baseline(), 2, 2);
        let outcome = bed.run(&script).unwrap();
        (essence(&outcome), bed.judge.log)
    };
    assert_eq!(run(), run());
}

#[test]
fn each_part_has_its_model() {
    let script = |words: &'static [&'static [&'static str]]| Script::new(words);
    let draft = script(&[&["BROKEN", "WRONG"]]);
    let repair = script(&[&[], &["ns=100", "WRONG"]]);
    let (one, other) = (script(&[&[], &[], &["ns=90"]]), script(&[&[], &[], &["never", "ns=80"]]));
    let mut bed = Bed::new(brief(), 2, 3);
    let cast = Cast { first_draft: vec![&draft], repair: vec![&repair], speed_up: vec![&one, &other] };
    let outcome = bed.run_cast(cast, &mut MemoryJournal::new()).unwrap();
    assert_eq!(outcome.best.unwrap().origin.to_string(), "r3-c2");
    assert_eq!(
        [&draft, &repair, &one, &other].map(|script| script.asked.lock().unwrap().len()),
        [2, 2, 1, 1]
    );
    let nobody = Cast { repair: Vec::new(), ..Cast::everyone(&[&draft]) };
    assert!(matches!(bed.run_cast(nobody, &mut MemoryJournal::new()), Err(SearchError::Settings(_))));
}
