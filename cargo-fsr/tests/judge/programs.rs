//! Host programs and machines at fault: one clear error each, before anyone is asked for a kernel.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use cargo_fsr::judge::{DeviceLock, Judge, JudgeError, Verdict};
use fsr_protocol::Tolerance;

use super::{Course, candidate, fake};

/// What `bench` says of a program that behaves so.
#[track_caller]
fn error(behaviour: &str) -> String {
    let mut course = Course::over(behaviour, |options| {
        if behaviour == "sleeps" {
            options.deadlines.start = Duration::from_millis(500);
        }
    });
    let error = course.judge.bench().unwrap_err();
    course.leaves_nothing();
    // The path differs from run to run.
    let program = std::env::current_exe().unwrap().file_stem().unwrap().to_str().unwrap().to_owned();
    error.to_string().replace(&program, "fake")
}

#[test]
fn a_bench_is_made_once() {
    let mut course = Course::new();
    let bench = course.judge.bench().unwrap();
    assert_eq!(bench.device.name, "Fake");
    assert_eq!(bench.cases.len(), 3);
    assert_eq!(course.judge.bench().unwrap(), bench);
    assert_eq!(course.pids().len(), 2);
    course.leaves_nothing();
}

#[test]
fn it_never_calls_fsr_host() {
    let error = error("silent");
    assert!(
        error.starts_with(
            "fault in the host launch code: `fake` ended without calling fsr_host: its `main` must hand over to \
             fsr_host before anything else"
        ),
        "{error}"
    );
}

#[test]
fn it_waits_for_something() {
    let error = error("sleeps");
    assert!(error.contains("`fake` ran for 0.5 s without calling fsr_host"), "{error}");
}

#[test]
fn it_fails_at_once() {
    insta::assert_snapshot!(error("fails"), @r#"
    fault in the host launch code: `fake` ended (exit status: 3) before it called fsr_host:
    error: no such file
    "#);
}

#[test]
fn it_panics() {
    let error = error("panics");
    assert!(error.contains("(exit status: 101) before it called fsr_host"), "{error}");
    assert!(error.contains("the table is empty"), "{error}");
}

#[test]
fn it_is_of_another_version() {
    insta::assert_snapshot!(error("other-version"), @r#"
    fault in the host launch code: `fake` and this cargo-fsr do not understand each other: its fsr-host 9.9.9 speaks protocol 4, wanted is protocol 3; use the fsr-host of version 0.1.0 in the host target, or the cargo-fsr of its version
    "#);
}

#[test]
fn it_speaks_something_else() {
    let error = error("not-json");
    assert!(error.contains("`fake` and this cargo-fsr do not understand each other"), "{error}");
}

#[test]
fn there_is_no_such_program() {
    let mut course =
        Course::over("well", |options| options.reference.program = PathBuf::from("/no/such/program"));
    let error = course.judge.bench().unwrap_err().to_string();
    assert!(error.contains("/no/such/program could not be started"), "{error}");
    course.leaves_nothing();
}

#[test]
fn there_is_no_device() {
    let mut course = Course::over("no-device", |_| ());
    let error = course.judge.bench().unwrap_err();
    assert!(
        matches!(&error, JudgeError::NoDevice(what) if what == "libcuda.so.1 was not found"),
        "{error:?}"
    );
    course.leaves_nothing();
}

#[test]
fn the_cases_make_no_sense() {
    let said = [
        "no-case",
        "no-output",
        "two-names",
        "untimed",
        "nan",
        "zeros",
        "copies",
        "flat",
        "overstated",
        "moody",
    ]
    .map(error);
    insta::assert_snapshot!(said.join("\n"), @r#"
    fault in the host launch code: no case is declared
    fault in the host launch code: case `n=1000` has no output
    fault in the host launch code: two cases are named `n=7`
    fault in the host launch code: no case is timed: declare at least one size that the kernel is tuned for
    fault in the host launch code: case `n=7`: the reference of output `y` holds NaN at [3]
    fault in the host launch code: case `n=1000`: all inputs are zero
    fault in the host launch code: a kernel that leaves a copy of an input passes every case: tighten the tolerance, or give the cases inputs with more in them
    fault in the host launch code: output `y`: a kernel that leaves the mean of what is right in every element passes every case: tighten the tolerance, or give the cases inputs with more in them
    fault in the host launch code: case `n=13` declares 1000 bytes of work, and its buffers hold only 104 to read and write: no kernel would be fast enough to be believed; give `work_bytes` what any right kernel must move
    fault in the host launch code: the cases are not the same in every run: case `n=1000` has other buffers or other work; they must not depend on time, chance or the device
    "#);
}

#[test]
fn a_copy_that_is_right_for_one_size_is_no_fault() {
    let mut course = Course::over("copies-one", |_| ());
    course.judge.bench().unwrap();
    course.leaves_nothing();
}

#[test]
fn a_tolerance_that_anything_passes() {
    let tolerance = Some(Tolerance { rtol: 1.0, atol: 1.0 });
    let mut course = Course::over("well", |options| options.tolerance = tolerance);
    let error = course.judge.bench().unwrap_err();
    insta::assert_snapshot!(error, @r#"
    tolerance = { rtol = 1e0, atol = 1e0 }: output `y`: a kernel that leaves all zeros passes every case: tighten the tolerance, or give the cases inputs with more in them
    "#);
    course.leaves_nothing();
}

#[test]
fn the_reference_dies() {
    let mut course = Course::over("reference-dies", |_| ());
    let error = course.judge.bench().unwrap_err().to_string();
    assert!(error.starts_with("host process: the reference process: ended (exit status: 7)"), "{error}");
    course.leaves_nothing();
}

#[test]
fn short_memory_holds_one_case_at_a_time() {
    let mut course = Course::over("small-memory", |_| ());
    for _ in 0..2 {
        let verdict = course.judge.validate(&candidate("right")).unwrap();
        assert!(matches!(verdict, Verdict::Valid(_)), "{verdict:?}");
    }
    assert_eq!(course.pids().len(), 3, "the device process is replaced once");
    course.leaves_nothing();
}

/// Waits for what shall come about; what does not within a minute is the test's to notice.
fn wait_for(mut come_about: impl FnMut() -> bool) {
    let end = Instant::now() + Duration::from_secs(60);
    while !come_about() && Instant::now() < end {
        std::thread::sleep(Duration::from_millis(5));
    }
}

#[test]
fn an_interrupt_ends_a_hanging_launch() {
    let interrupt = Arc::new(AtomicBool::new(false));
    let mut course = Course::over("well", |options| {
        options.interrupt = interrupt.clone();
        options.deadlines.launch = Duration::from_secs(600);
    });
    course.judge.bench().unwrap();
    let pids = course.pids().len();
    let folder = course.folder.path().join("pids");
    std::thread::scope(|scope| {
        scope.spawn(|| {
            // The hanging kernel announces itself with one more process.
            wait_for(|| std::fs::read_dir(&folder).unwrap().count() > pids);
            interrupt.store(true, Ordering::Relaxed);
        });
        let error = course.judge.validate(&candidate("hangs")).unwrap_err();
        assert!(matches!(error, JudgeError::Interrupted), "{error:?}");
    });
    course.leaves_nothing();
}

#[test]
fn the_device_is_waited_for() {
    let mut course = Course::new();
    course.judge.bench().unwrap();
    let never = AtomicBool::new(false);
    let locks = course.folder.path().join("locks");
    let held = DeviceLock::acquire(&locks, fake::UUID, &(Arc::new(|_: &str| ()) as _), &never).unwrap();
    let said = course.said.clone();
    std::thread::scope(|scope| {
        scope.spawn(move || {
            wait_for(|| !said.lock().unwrap().is_empty());
            drop(held);
        });
        let verdict = course.judge.validate(&candidate("right")).unwrap();
        assert!(matches!(verdict, Verdict::Valid(_)));
    });
    assert_eq!(*course.said.lock().unwrap(), ["waiting for the device: another cargo fsr is using it"]);
    course.leaves_nothing();
}

#[test]
fn a_device_that_only_models_needs_no_turn() {
    let mut course = Course::over("modelled", |_| ());
    let locks = course.folder.path().join("locks");
    let never = AtomicBool::new(false);
    let _held = DeviceLock::acquire(&locks, fake::UUID, &(Arc::new(|_: &str| ()) as _), &never).unwrap();
    assert!(course.judge.bench().unwrap().device.modelled);
    assert!(matches!(course.judge.validate(&candidate("right")).unwrap(), Verdict::Valid(_)));
    assert!(course.said.lock().unwrap().is_empty());
    course.leaves_nothing();
}
