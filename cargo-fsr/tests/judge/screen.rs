//! The CPU device before the GPU: what ends a candidate there, and what is the GPU's business.

use std::sync::{Arc, Mutex};

use cargo_fsr::judge::{Extent, FailureKind, Judge, Notice, Screened, Verdict};

use super::{Course, candidate};

/// Two fake devices in a row, and what the screen said.
struct Both {
    judge: Screened,
    said: Arc<Mutex<Vec<String>>>,
    /// Folders and counts of both.
    courses: [tempfile::TempDir; 2],
}

fn both(screen: &str) -> Both {
    let gpu = Course::new();
    let mut cpu = Course::over(screen, |options| {
        options.pool = 1;
        options.extent = Extent::Small { bytes: 200, flops: 1000, cases: 8 };
    });
    cpu.judge.bench().unwrap();
    assert_eq!(cpu.judge.extent(), 2, "n=7 and n=13 are small, n=1000 is not");
    let said = Arc::new(Mutex::new(Vec::new()));
    let hears = said.clone();
    let warn: Notice = Arc::new(move |text| hears.lock().unwrap().push(text.to_owned()));
    Both { judge: Screened::new(gpu.judge, cpu.judge, warn), said, courses: [gpu.folder, cpu.folder] }
}

fn started(folder: &tempfile::TempDir) -> usize {
    std::fs::read_dir(folder.path().join("pids")).unwrap().count()
}

#[test]
fn what_the_cpu_device_finds_never_reaches_the_gpu() {
    let mut both = both("cpu-device");
    let Verdict::Invalid(failure) = both.judge.validate(&candidate("races")).unwrap() else {
        panic!("called valid")
    };
    assert_eq!(failure.kind, FailureKind::Execution);
    insta::assert_snapshot!(format!("{}\n--\n{}", failure.summary, failure.evidence), @r"
    race at PTX line 7
    --
    case `n=7`, the first of 2; first launch
    race in twice at ptx line 7
    (found by executing it with every memory access checked; on a GPU it need not show in each run)
    ");
    assert_eq!(started(&both.courses[0]), 0, "the GPU was not touched");

    // The project's own kernels are what they are.
    assert!(matches!(both.judge.validate_own(&candidate("races")).unwrap(), Verdict::Valid(_)));
    assert!(matches!(both.judge.validate(&candidate("right")).unwrap(), Verdict::Valid(_)));
    assert!(both.said.lock().unwrap().is_empty());
}

#[test]
fn what_the_cpu_device_counted_goes_with_the_gpus_verdict() {
    let mut both = both("cpu-device");
    let Verdict::Valid(validation) = both.judge.validate(&candidate("right")).unwrap() else {
        panic!("called invalid")
    };
    assert_eq!(validation.cases.len(), 3, "the GPU has seen all cases");
    let [counted] = validation.counts.as_slice() else { panic!("{:?}", validation.counts) };
    assert_eq!((counted.kernel.as_str(), counted.case.as_str()), ("twice", "n=13"));
    assert_eq!(counted.counts.warp_instructions, 13, "of the largest case that it executed");
    // Nothing is counted on a GPU.
    let Verdict::Valid(own) = both.judge.validate_own(&candidate("right")).unwrap() else {
        panic!("called invalid")
    };
    assert!(own.counts.is_empty());
}

#[test]
fn what_it_found_in_one_candidate_is_not_told_of_the_next() {
    let mut both = both("cpu-device");
    let mut told = |does: &str| match both.judge.validate(&candidate(does)).unwrap() {
        Verdict::Invalid(failure) => format!("{}\n{}", failure.summary, failure.evidence),
        Verdict::Valid(_) => panic!("{does} was called valid"),
    };
    assert!(told("races").contains("race in twice"));
    let second = told("cannot-launch");
    assert!(second.contains("too much shared memory") && !second.contains("race"), "{second}");
}

#[test]
fn limits_of_the_cpu_device_are_no_fault_of_a_candidate() {
    let mut both = both("cpu-device");
    for does in ["is-strange", "spins"] {
        let verdict = both.judge.validate(&candidate(does)).unwrap();
        assert!(matches!(verdict, Verdict::Valid(_)), "{does}: {verdict:?}");
    }
    // A wrong result is the GPU's to find: it has the larger cases too.
    let Verdict::Invalid(failure) = both.judge.validate(&candidate("last-is-wrong")).unwrap() else {
        panic!("called valid")
    };
    assert_eq!(failure.kind, FailureKind::Mismatch);
    assert!(!failure.evidence.contains("every memory access"), "{}", failure.evidence);
    assert!(started(&both.courses[0]) > 0);
}

#[test]
fn a_case_that_holds_candidates_up_is_left_out() {
    let mut both = both("cpu-device");
    for _ in 0..2 {
        let verdict = both.judge.validate(&candidate("hangs-on-the-cpu-device")).unwrap();
        assert!(matches!(verdict, Verdict::Valid(_)), "{verdict:?}");
    }
    let before = started(&both.courses[1]);
    // The first case is skipped now, the other one is still tried: a fault there still counts.
    assert!(matches!(both.judge.validate(&candidate("races")).unwrap(), Verdict::Invalid(_)));
    assert!(started(&both.courses[1]) > before);
}

#[test]
fn a_screen_that_fails_is_taken_away_and_ends_no_search() {
    let mut both = both("reference-dies");
    for _ in 0..2 {
        assert!(matches!(both.judge.validate(&candidate("right")).unwrap(), Verdict::Valid(_)));
    }
    let said = both.said.lock().unwrap();
    assert_eq!(said.len(), 1, "{said:?}");
    assert!(
        said[0].starts_with("the CPU device fails, and candidates go to the GPU unscreened: "),
        "{said:?}"
    );
}
