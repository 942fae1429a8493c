//! What becomes of candidates: right ones, wrong ones, and those that take their process with them.

use std::fs;
use std::path::{Path, PathBuf};

use cargo_fsr::judge::{Failure, FailureKind, Judge, JudgeError, Timed, Verdict};

use super::{Course, candidate};

#[track_caller]
fn failure(course: &mut Course, does: &str) -> Failure {
    match course.judge.validate(&candidate(does)).unwrap() {
        Verdict::Invalid(failure) => failure,
        Verdict::Valid(validation) => panic!("{does} is called valid: {validation:?}"),
    }
}

#[track_caller]
fn is_valid(course: &mut Course) {
    let verdict = course.judge.validate(&candidate("right")).unwrap();
    assert!(matches!(verdict, Verdict::Valid(_)), "{verdict:?}");
}

fn files_of(folder: &Path) -> impl Iterator<Item = String> {
    let folders: Vec<PathBuf> =
        fs::read_dir(folder.join("share")).unwrap().map(|entry| entry.unwrap().path()).collect();
    folders
        .into_iter()
        .flat_map(|folder| fs::read_dir(folder).unwrap())
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
}

/// The candidate fails in the way given, with these words, and the next one is judged as if nothing had been.
#[track_caller]
fn fails(does: &str, kind: FailureKind, summary: &str) -> Failure {
    let mut course = Course::new();
    let failure = failure(&mut course, does);
    assert_eq!((failure.kind, failure.summary.as_str()), (kind, summary));
    is_valid(&mut course);
    course.leaves_nothing();
    failure
}

#[test]
fn a_right_one_is_valid() {
    let mut course = Course::new();
    let Verdict::Valid(validation) = course.judge.validate(&candidate("right")).unwrap() else {
        panic!("called invalid")
    };
    let names: Vec<&str> = validation.cases.iter().map(|case| case.case.as_str()).collect();
    assert_eq!(names, ["n=7", "n=1000", "n=13"]);
    assert_eq!((validation.cases[0].max_abs, validation.cases[0].max_rel), (0.25, 0.125));
    assert_eq!(validation.resources[0].entry, "twice");
    assert!(validation.split.validate > 0.0);
    assert_eq!(course.pids().len(), 2, "two processes serve all candidates");
    is_valid(&mut course);
    assert_eq!(course.pids().len(), 2);
    course.leaves_nothing();
}

#[test]
fn the_driver_refuses_it() {
    let failure = fails("refused", FailureKind::Load, "the driver refused the PTX");
    assert_eq!(failure.evidence, "ptxas: line 3: syntax error");
}

#[test]
fn an_entry_is_missing() {
    fails("no-entry", FailureKind::Load, "the PTX has no entry `twice`");
}

#[test]
fn it_keeps_state_in_a_global() {
    fails("globals", FailureKind::Load, "writable device global `cache`");
}

#[test]
fn state_that_the_spec_allows_is_no_fault() {
    for (state, valid) in [("cache", true), ("ticket", false)] {
        let mut course = Course::over("well", |options| options.state = vec![state.to_owned()]);
        let verdict = course.judge.validate(&candidate("globals")).unwrap();
        assert_eq!(matches!(verdict, Verdict::Valid(_)), valid, "{state}: {verdict:?}");
        course.leaves_nothing();
    }
}

#[test]
fn loading_never_ends() {
    fails(
        "load-hangs",
        FailureKind::TimedOut,
        "the driver did not finish loading the PTX within 2 s and was killed",
    );
}

#[test]
fn it_cannot_be_launched() {
    let mut course = Course::new();
    let failure = failure(&mut course, "cannot-launch");
    assert_eq!(failure.kind, FailureKind::Launch);
    assert_eq!(failure.summary, "the launch failed: CUDA_ERROR_INVALID_VALUE: too much shared memory");
    is_valid(&mut course);
    assert_eq!(course.pids().len(), 2, "the device lives on after a refused launch");
    course.leaves_nothing();
}

#[test]
fn launch_code_panics_with_it() {
    let mut course = Course::new();
    let error = course.judge.validate(&candidate("panics")).unwrap_err();
    assert!(
        matches!(error, JudgeError::HostCode(_)),
        "nothing shows yet that the launch code works: {error:?}"
    );
    is_valid(&mut course);
    let failure = failure(&mut course, "panics");
    assert_eq!(failure.kind, FailureKind::Launch);
    assert_eq!(
        failure.summary,
        "the launch failed: the launch code panicked at src/launch.rs:7:5: CUDA_ERROR_INVALID_VALUE"
    );
    is_valid(&mut course);
    course.leaves_nothing();
}

#[test]
fn it_faults() {
    let mut course = Course::new();
    let failure = failure(&mut course, "faults");
    assert_eq!(failure.kind, FailureKind::Execution);
    assert_eq!(failure.summary, "the kernel failed: CUDA_ERROR_ILLEGAL_ADDRESS");
    is_valid(&mut course);
    assert_eq!(course.pids().len(), 3, "another device process took over");
    course.leaves_nothing();
}

#[test]
fn it_never_ends() {
    let failure = fails("hangs", FailureKind::TimedOut, "the kernel did not end within 2 s and was killed");
    assert_eq!(failure.case.as_deref(), Some("n=7"));
}

#[test]
fn it_takes_its_process_down() {
    let failure = fails(
        "exits",
        FailureKind::Execution,
        "the process that launched the kernel ended (exit status: 101)",
    );
    assert!(failure.evidence.ends_with("thread 'main' panicked: attempt to divide by zero"), "{failure:?}");
    let mut course = Course::new();
    let summary = self::failure(&mut course, "aborts").summary;
    assert!(summary.contains("SIGABRT"), "{summary}");
    is_valid(&mut course);
    course.leaves_nothing();
}

#[test]
fn it_overwrites_the_process() {
    fails(
        "garbage",
        FailureKind::Execution,
        "the process that launched the kernel answered garbage: its memory was overwritten",
    );
}

#[test]
fn it_fills_the_memory() {
    fails("fills-memory", FailureKind::Execution, "out of device memory");
}

#[test]
fn it_writes_outside() {
    let failure = fails("overruns", FailureKind::OutOfBounds, "write outside of buffer `y`");
    insta::assert_snapshot!(failure.evidence, @r#"
    case `n=7`, the first of 3; first launch
    buffer `y` (7 f32): 4 bytes damaged, directly behind the last element
    "#);
}

#[test]
fn it_changes_an_input() {
    fails("changes-input", FailureKind::InputChanged, "changed the input `x`");
}

#[test]
fn it_does_nothing() {
    fails("nothing", FailureKind::Mismatch, "output `y` was never written");
}

#[test]
fn it_computes_something_else() {
    fails("last-is-wrong", FailureKind::Mismatch, "output `y` differs in 1 of 7 elements");
}

#[test]
fn it_fails_on_one_size() {
    let failure = fails("prime-is-wrong", FailureKind::Mismatch, "output `y` differs in 1 of 13 elements");
    assert_eq!(failure.case.as_deref(), Some("n=13"));
    assert!(failure.evidence.starts_with("case `n=13` (the 2 of 3 cases before it passed)"), "{failure:?}");
}

#[test]
fn it_keeps_results_by_address() {
    let mut course = Course::new();
    let failure = failure(&mut course, "caches");
    assert_eq!(failure.kind, FailureKind::Mismatch);
    // The launch after the first is on other data, or on the same but for one element: chance decides.
    assert!(failure.evidence.contains("second launch, with "), "{failure:?}");
    is_valid(&mut course);
    course.leaves_nothing();
}

#[test]
fn it_keeps_results_by_a_few_elements() {
    let failure = fails("fingerprints", FailureKind::Mismatch, "output `y` differs in 1 of 7 elements");
    assert!(
        failure.evidence.contains("with one element of the inputs changed since the launch before it"),
        "{failure:?}"
    );
}

#[test]
fn it_knows_addresses() {
    let failure = fails("stays", FailureKind::Mismatch, "output `y` differs in 7 of 7 elements");
    assert!(
        failure.evidence.contains("launch 5, with the data of an earlier launch at other addresses"),
        "{failure:?}"
    );
}

#[test]
fn what_it_prints_is_not_read() {
    let mut course = Course::new();
    let verdict = course.judge.validate(&candidate("chatty")).unwrap();
    assert!(matches!(verdict, Verdict::Valid(_)), "{verdict:?}");
    course.leaves_nothing();
}

#[test]
fn fresh_sets_are_made_and_forgotten() {
    let mut course = Course::new();
    course.judge.bench().unwrap();
    let before = course.judge.seeds().len();
    for does in ["right", "right"] {
        let verdict = course.judge.validate_fresh(&candidate(does)).unwrap();
        assert!(matches!(verdict, Verdict::Valid(_)), "{verdict:?}");
    }
    assert!(matches!(course.judge.validate_fresh(&candidate("hangs")).unwrap(), Verdict::Invalid(_)));
    let seeds = course.judge.seeds();
    assert_eq!(seeds.len() - before, 3 * 3 * 3, "two sets and a twin for each case");
    assert!(seeds[before..].iter().all(|seed| seed.fresh));
    let mut values: Vec<u64> = seeds.iter().map(|seed| seed.seed).collect();
    values.sort();
    values.dedup();
    assert_eq!(values.len(), seeds.len(), "no seed twice");
    let inputs = files_of(course.folder.path()).filter(|file| file.ends_with(".in")).count();
    assert_eq!(inputs, 3 * 4, "the pool alone is left");
    course.leaves_nothing();
}

#[test]
fn the_sets_of_a_case_have_different_distributions() {
    let mut course = Course::new();
    course.judge.bench().unwrap();
    let seeds = course.judge.seeds().iter().filter(|seed| seed.case == "n=1000" && seed.like.is_none());
    let mut distributions: Vec<u64> =
        seeds.map(|seed| seed.seed % fsr_protocol::MIXED_DISTRIBUTIONS).collect();
    distributions.sort();
    distributions.dedup();
    assert_eq!(distributions.len(), 3, "and a twin, which has none of its own");
    course.leaves_nothing();
}

#[test]
fn contenders_are_timed_side_by_side() {
    let mut course = Course::new();
    let (new, old) = (candidate("right"), candidate("chatty"));
    let Timed::Times(timings) = course.judge.time(&[&new, &old]).unwrap() else { panic!("called invalid") };
    assert_eq!(timings.len(), 2);
    for timing in &timings {
        assert!(!timing.modelled);
        let [case] = timing.cases.as_slice() else { panic!("only one case is timed: {timing:?}") };
        assert_eq!(case.case, "n=1000");
        assert!(case.samples.len() >= 10);
        assert!(case.q1 <= case.median && case.median <= case.q3);
        assert!((10_000.0..10_010.0).contains(&case.median));
        // 8000 bytes declared, 1000 in the L2, one byte a nanosecond.
        assert_eq!(case.floor, 7000.0);
        assert_eq!(case.work_bytes, 8000);
    }
    assert!(course.judge.split().time > 0.0);
    course.leaves_nothing();
}

#[test]
fn the_final_timing_has_a_process_of_its_own() {
    let mut course = Course::new();
    is_valid(&mut course);
    course.judge.renew();
    assert!(matches!(course.judge.time(&[&candidate("right")]).unwrap(), Timed::Times(_)));
    assert_eq!(course.pids().len(), 3);
    course.leaves_nothing();
}

#[test]
fn timing_waits_for_the_sets() {
    let mut course = Course::over("slow", |_| ());
    assert!(matches!(course.judge.time(&[&candidate("right")]).unwrap(), Timed::Times(_)));
    course.leaves_nothing();
}

#[test]
fn a_timed_launch_that_is_wrong_counts() {
    let mut course = Course::new();
    let wears_out = candidate("wears-out");
    assert!(matches!(course.judge.validate(&wears_out).unwrap(), Verdict::Valid(_)));
    let timed = course.judge.time(&[&wears_out, &candidate("right")]).unwrap();
    let Timed::Invalid(failure) = timed else { panic!("{timed:?}") };
    assert_eq!(failure.kind, FailureKind::Mismatch);
    assert!(failure.evidence.contains("in a timed launch after the candidate had passed validation"));
    is_valid(&mut course);
    course.leaves_nothing();
}

#[test]
fn what_was_wrong_first_is_told_first() {
    let mut course = Course::new();
    let timed = course.judge.time(&[&candidate("wears-out-and-hangs")]).unwrap();
    let Timed::Invalid(failure) = timed else { panic!("{timed:?}") };
    assert_eq!(failure.kind, FailureKind::Mismatch);
    course.leaves_nothing();
}

#[test]
fn a_hang_while_timing_ends_the_candidate_alone() {
    let mut course = Course::new();
    let timed = course.judge.time(&[&candidate("hangs"), &candidate("right")]).unwrap();
    assert!(matches!(timed, Timed::Invalid(Failure { kind: FailureKind::TimedOut, .. })), "{timed:?}");
    is_valid(&mut course);
    course.leaves_nothing();
}

#[test]
fn an_incumbent_that_fails_is_no_fault_of_the_candidate() {
    let mut course = Course::new();
    let error = course.judge.time(&[&candidate("right"), &candidate("faults")]).unwrap_err();
    assert!(matches!(error, JudgeError::Process(_)), "{error:?}");
    course.leaves_nothing();
}

#[test]
fn an_impossible_time_is_a_fault_of_the_judge() {
    let mut course = Course::new();
    let error = course.judge.time(&[&candidate("too-fast")]).unwrap_err();
    insta::assert_snapshot!(error, @r#"
    case `n=1000`: 3 ns is below the physical floor of 7.00 µs: the declared work is more than the kernel has to do, or the judge was fooled; nothing of it is kept
    "#);
    course.leaves_nothing();
}

#[test]
fn an_impossible_time_is_taken_again() {
    let mut course = Course::new();
    let Timed::Times(timings) = course.judge.time(&[&candidate("once-too-fast")]).unwrap() else {
        panic!("called invalid")
    };
    assert!(timings[0].cases[0].median > 7000.0);
    course.leaves_nothing();
}

#[test]
fn work_that_goes_on_beside_the_events_is_a_fault_of_the_judge() {
    let mut course = Course::new();
    let error = course.judge.time(&[&candidate("goes-on")]).unwrap_err();
    insta::assert_snapshot!(error, @"case `n=1000`: the device says 10.00 µs, and 5.000 ms passed meanwhile: work went on outside of what was timed, or the machine is too busy to time anything; nothing of it is kept");
    course.leaves_nothing();
}
