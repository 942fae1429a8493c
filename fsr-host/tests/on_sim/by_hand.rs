//! The host program started by hand.

use std::path::Path;

use crate::hosts::{driver_folder, host_program, unmarked_profile};
use crate::kernels;

/// How the program ended, and what it printed on stdout and stderr.
struct Ended {
    code: Option<i32>,
    out: String,
    err: String,
}

/// Runs it on a kernel, with the simulated driver or none.
fn run(kernel: &str, arguments: &str, with_driver: bool) -> Ended {
    let folder = if with_driver { driver_folder() } else { tempfile::tempdir().unwrap() };
    run_in(folder.path(), kernel, arguments, &[])
}

fn run_in(folder: &Path, kernel: &str, arguments: &str, settings: &[(&str, &Path)]) -> Ended {
    let ptx = folder.join("scale.ptx");
    std::fs::write(&ptx, kernels::by_name(kernel)).unwrap();
    let output = host_program(folder)
        .envs(settings.iter().copied())
        .arg("--ptx")
        .arg(ptx)
        .args(arguments.split_whitespace())
        .output()
        .unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    Ended { code: output.status.code(), out: text(output.stdout), err: text(output.stderr) }
}

#[test]
fn a_right_kernel_is_shown_case_by_case() {
    let ended = run("right", "--set BLOCK=64 --samples 3", true);
    assert_eq!(ended.code, Some(0), "{}", ended.err);
    assert_eq!(ended.err, "");
    let cases: Vec<Vec<&str>> =
        ended.out.lines().skip(4).map(|line| line.split_whitespace().collect()).collect();
    let verdicts: Vec<&[&str]> = cases.iter().map(|words| &words[..2]).collect();
    assert_eq!(verdicts, [["n=1000", "right"], ["n=1", "right"], ["n=257", "right"]]);
    assert!(cases[0].contains(&"modelled") && cases[1].len() == 3, "only the first is timed: {}", ended.out);
}

#[test]
fn a_wrong_kernel_is_shown_with_the_reason_and_the_seed() {
    let ended = run("leaves out the tail", "--set BLOCK=64 --seed 6", true);
    assert_eq!(ended.code, Some(1));
    assert!(ended.out.contains("n=1000                           WRONG"), "{}", ended.out);
    assert!(
        ended.out.contains("  `y`: 232 of 1000 elements, exactly the last 232 elements"),
        "{}",
        ended.out
    );
    assert_eq!(ended.err, "the inputs were made from `--seed 6`\n");
}

#[test]
fn a_write_outside_is_shown() {
    let (profile, folder) = (unmarked_profile(), driver_folder());
    let gpu = [("FSR_SIM_DEVICE", profile.path())];
    let ended = run_in(folder.path(), "one behind", "--set BLOCK=64", &gpu);
    assert_eq!(ended.code, Some(1));
    assert!(ended.out.contains("  a write outside of buffer `y`, 0 bytes behind it"), "{}", ended.out);

    // The CPU device says more, and the program ends there.
    let ended = run("one behind", "--set BLOCK=64", true);
    assert_eq!(ended.code, Some(1));
    assert!(ended.err.contains("0 bytes past the end of buffer `y` (4000 bytes)"), "{}", ended.err);
}

#[test]
fn a_refused_launch_is_shown() {
    let ended = run("right", "", true);
    assert_eq!(ended.code, Some(1));
    assert!(ended.out.contains("REFUSED") && ended.out.contains("  no BLOCK is given"), "{}", ended.out);
}

#[test]
fn a_failed_kernel_ends_the_program() {
    let ended = run("far away", "--set BLOCK=64", true);
    assert_eq!(ended.code, Some(1));
    assert!(ended.err.contains("error: the kernel failed: CUDA_ERROR_"), "{}", ended.err);
}

#[test]
fn other_sizes_can_be_timed() {
    let ended = run("right", "--set BLOCK=64 --size 12345 --samples 1", true);
    assert_eq!(ended.code, Some(0), "{}", ended.err);
    assert!(ended.out.lines().last().unwrap().starts_with("n=12345 "), "{}", ended.out);
}

#[test]
fn without_a_driver_it_is_one_clear_word_and_a_code_of_its_own() {
    let ended = run("right", "--set BLOCK=64", false);
    if ended.code == Some(3) {
        insta::assert_snapshot!(ended.err, @r"
        error: no CUDA device: the CUDA driver library (libcuda.so.1) is not installed or not on the loader's path
        nothing was validated: run it where there is an NVIDIA GPU, or tune and check with `cargo fsr`
        ");
    } else {
        // A machine with a driver of its own.
        assert_eq!(ended.code, Some(0), "{}", ended.err);
    }
}

#[test]
fn a_wrong_command_line_is_told_before_anything_is_opened() {
    let ended = run("right", "--fast", false);
    assert_eq!(ended.code, Some(2));
    assert_eq!(ended.err, "error: `--fast` is not understood; `--help` lists the options\n");
}
