//! The words that prompts are made of.

use std::time::Duration;

use fsr_protocol::{BufferRole, Dtype, Mismatch};

use super::*;

fn case() -> CaseInfo {
    let buffer = |name: &str, role, shape: &[u64]| BufferInfo {
        name: name.to_owned(),
        role,
        dtype: Dtype::F32,
        shape: shape.to_vec(),
    };
    CaseInfo {
        name: "rows=1031 cols=517".to_owned(),
        dims: vec![("rows".to_owned(), 1031), ("cols".to_owned(), 517)],
        timed: false,
        drawn: false,
        buffers: vec![
            buffer("x", BufferRole::Input, &[1031, 517]),
            buffer("y", BufferRole::Output, &[517, 1031]),
        ],
        work_bytes: 0,
        work_flops: 0,
    }
}

fn place(case: &CaseInfo) -> Place<'_> {
    Place { case, passed: 2, cases: 4, launches: 1, data: Data::Other, course: Course::Validation }
}

fn shown(failure: Failure) -> String {
    let Failure { kind, summary, evidence, case } = failure;
    format!("{kind:?}: {summary}\ncase: {case:?}\n{evidence}")
}

fn output() -> OutputComparison {
    OutputComparison {
        buffer: "y".to_owned(),
        elements: 533_027,
        mismatches: 517,
        untouched: 500,
        max_abs: f64::MAX,
        max_rel: 0.25,
        expected_mean: 0.0,
        tolerance: Tolerance { rtol: 1e-5, atol: 1e-6 },
        first: (0..20)
            .map(|row| Mismatch { index: vec![row, 1030], expected: "1.5".to_owned(), got: "NaN".to_owned() })
            .collect(),
        pattern: "all in the last column".to_owned(),
    }
}

#[test]
fn mismatch() {
    let case = case();
    let comparison = Comparison { outputs: vec![output()], changed_inputs: Vec::new() };
    insta::assert_snapshot!(shown(of_comparison(&comparison, place(&case)).unwrap()), @r#"
    Mismatch: output `y` differs in 517 of 533027 elements
    case: Some("rows=1031 cols=517")
    case `rows=1031 cols=517` (the 2 of 4 cases before it passed); second launch, with other data at the same addresses: the first one was right
    output `y` (517 x 1031 f32): 517 of 533027 elements differ by more than 1e-6 + 1e-5 * scale
      500 elements were never written
      where: all in the last column
      largest error: not finite absolute, 2.500e-1 relative
      first of them:
        y[0, 1030]: expected 1.5, got NaN
        y[1, 1030]: expected 1.5, got NaN
        y[2, 1030]: expected 1.5, got NaN
        y[3, 1030]: expected 1.5, got NaN
        y[4, 1030]: expected 1.5, got NaN
        y[5, 1030]: expected 1.5, got NaN
        y[6, 1030]: expected 1.5, got NaN
        y[7, 1030]: expected 1.5, got NaN
    "#);
}

#[test]
fn nothing_written() {
    let case = case();
    let output = OutputComparison {
        mismatches: 533_027,
        untouched: 533_027,
        first: Vec::new(),
        pattern: String::new(),
        ..output()
    };
    let comparison = Comparison { outputs: vec![output], changed_inputs: Vec::new() };
    let place = Place { passed: 0, launches: 0, ..place(&case) };
    insta::assert_snapshot!(shown(of_comparison(&comparison, place).unwrap()), @r#"
    Mismatch: output `y` was never written
    case: Some("rows=1031 cols=517")
    case `rows=1031 cols=517`, the first of 4; first launch
    output `y` (517 x 1031 f32): 533027 of 533027 elements differ by more than 1e-6 + 1e-5 * scale
      533027 elements were never written
      largest error: not finite absolute, 2.500e-1 relative
    "#);
}

#[test]
fn changed_input_comes_before_mismatch() {
    let case = case();
    let comparison = Comparison { outputs: vec![output()], changed_inputs: vec!["x".to_owned()] };
    insta::assert_snapshot!(shown(of_comparison(&comparison, place(&case)).unwrap()), @r#"
    InputChanged: changed the input `x`
    case: Some("rows=1031 cols=517")
    case `rows=1031 cols=517` (the 2 of 4 cases before it passed); second launch, with other data at the same addresses: the first one was right
    the kernel may only read the input `x`, and wrote there
    "#);
}

#[test]
fn all_right() {
    let case = case();
    let right = OutputComparison { mismatches: 0, untouched: 0, ..output() };
    let comparison = Comparison { outputs: vec![right], changed_inputs: Vec::new() };
    assert_eq!(of_comparison(&comparison, place(&case)), None);
}

#[test]
fn redzone() {
    let case = case();
    let hits = [
        RedzoneHit { buffer: "y".to_owned(), before: false, distance: 0, bytes: 1 },
        RedzoneHit { buffer: "x".to_owned(), before: true, distance: 12, bytes: 64 },
    ];
    let place = Place { course: Course::Timing, launches: 7, ..place(&case) };
    insta::assert_snapshot!(shown(of_redzones(&hits, place)), @r#"
    OutOfBounds: writes outside of 2 buffers
    case: Some("rows=1031 cols=517")
    case `rows=1031 cols=517`, in a timed launch after the candidate had passed validation; launch 8, with other data at the same addresses: the 7 before it were right
    buffer `y` (517 x 1031 f32): 1 byte damaged, directly behind the last element
    buffer `x` (1031 x 517 f32): 64 bytes damaged, 12 bytes before the first element
    "#);
}

#[test]
fn driver_and_process() {
    let case = case();
    let failed = |error| RequestError::Failed(error);
    let message = "CUDA_ERROR_ILLEGAL_ADDRESS".to_owned();
    let said = [
        of_request(&failed(HostError::Load { message: "ptxas: line 12: bad\nmore".to_owned() }), None),
        of_request(&failed(HostError::NoEntry { entry: "transpose".to_owned() }), None),
        of_request(
            &failed(HostError::Launch { message: "CUDA_ERROR_INVALID_VALUE".to_owned() }),
            Some(place(&case)),
        ),
        of_request(&failed(HostError::Execution { message }), Some(place(&case))),
        of_request(
            &RequestError::TimedOut { request: "launch", after: Duration::from_secs(10) },
            Some(place(&case)),
        ),
        of_request(
            &RequestError::Ended {
                request: "launch",
                status: "signal: 11 (SIGSEGV)".to_owned(),
                output: "last words".to_owned(),
            },
            Some(place(&case)),
        ),
        Some(of_globals(&["cache".to_owned(), "flag".to_owned()])),
    ];
    let said: Vec<String> = said.into_iter().map(|failure| shown(failure.unwrap())).collect();
    insta::assert_snapshot!(said.join("\n\n"), @r#"
    Load: the driver refused the PTX
    case: None
    ptxas: line 12: bad
    more

    Load: the PTX has no entry `transpose`
    case: None


    Launch: the launch failed: CUDA_ERROR_INVALID_VALUE
    case: Some("rows=1031 cols=517")
    case `rows=1031 cols=517` (the 2 of 4 cases before it passed); second launch, with other data at the same addresses: the first one was right

    Execution: the kernel failed: CUDA_ERROR_ILLEGAL_ADDRESS
    case: Some("rows=1031 cols=517")
    case `rows=1031 cols=517` (the 2 of 4 cases before it passed); second launch, with other data at the same addresses: the first one was right

    TimedOut: the kernel did not end within 10 s and was killed
    case: Some("rows=1031 cols=517")
    case `rows=1031 cols=517` (the 2 of 4 cases before it passed); second launch, with other data at the same addresses: the first one was right

    Execution: the process that launched the kernel ended (signal: 11 (SIGSEGV))
    case: Some("rows=1031 cols=517")
    case `rows=1031 cols=517` (the 2 of 4 cases before it passed); second launch, with other data at the same addresses: the first one was right
    last words

    Load: writable device globals `cache`, `flag`
    case: None
    the module declares writable device globals `cache`, `flag`. A kernel must not keep state between launches: use shared memory, registers or `__constant__`/`const` data instead
    "#);
}

#[test]
fn no_path_of_the_machine_is_left() {
    let case = case();
    let launch = "the launch code panicked at /home/jo/.cargo/registry/src/x-1/cudarc/result.rs:7:5:\nno\nin /usr/app/run";
    let ended = RequestError::Ended {
        request: "launch",
        status: "signal: 6 (SIGABRT)".to_owned(),
        output: "cannot open /home/jo/ops/data.bin".to_owned(),
    };
    let said = [RequestError::Failed(HostError::Launch { message: launch.to_owned() }), ended];
    let said = said.map(|error| shown(of_request(&error, Some(place(&case))).unwrap())).concat();
    assert!(said.contains("panicked at result.rs:7:5") && said.contains("cannot open data.bin"), "{said}");
    assert!(!said.contains("/home") && !said.contains("/usr"), "{said}");
}

#[test]
fn the_machine_is_not_blamed_on_the_candidate() {
    let io = RequestError::Failed(HostError::Io { message: "disk full".to_owned() });
    assert_eq!(of_request(&io, None), None);
    assert_eq!(of_request(&RequestError::Interrupted, None), None);
}
