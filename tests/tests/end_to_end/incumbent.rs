//! What is stored, and what may take its place.

use fsr_build::spec::Arch;
use fsr_build::store::{DeviceKind, EntryPaths, read_entry, write_entry};

use crate::support::{ANSWERS, Project};

/// Lets the entry say that a GPU tuned it: there is none here.
pub fn claim_a_gpu(project: &Project) {
    let arch: Arch = "sm_90".parse().unwrap();
    let paths = EntryPaths::in_package(&project.path(""), "saxpy", arch);
    let mut entry = read_entry(&paths).unwrap();
    let device = entry.manifest.device.as_mut().unwrap();
    device.kind = DeviceKind::Cuda;
    device.name = "NVIDIA H200".to_owned();
    write_entry(&paths, &entry).unwrap();
}

#[test]
fn what_a_gpu_tuned_is_neither_restamped_nor_replaced_without_one() {
    let project = Project::tuned("gpu-tuned");
    claim_a_gpu(&project);
    project.fsr("check").succeeds();
    project.edit("examples/fsr_saxpy.rs", "//! Host launch code", "//! The host launch code");
    let sm_90 = project.read("fsr/saxpy/sm_90.toml");

    // It holds, and its manifest would say that the GPU had seen the new host code.
    project
        .fsr("verify --update")
        .on_cpu_device()
        .fails_with(1)
        .says("not restamped: it was tuned on NVIDIA H200, and valid here on NVIDIA H200 (simulated) only");
    assert_eq!(project.read("fsr/saxpy/sm_90.toml"), sm_90);

    project.answers(ANSWERS);
    project
        .fsr("tune")
        .on_cpu_device()
        .fails_with(1)
        .says("was tuned on a GPU, and this run on none: it is kept");
    assert_eq!(project.read("fsr/saxpy/sm_90.toml"), sm_90);
    assert!(project.asked().is_empty(), "nothing is paid for what could not be stored");

    // Nor where a file beside the manifest is damaged: version control has it still.
    project.edit("fsr/saxpy/sm_90.ptx", "fma.rn.f32", "fma.rz.f32");
    project.fsr("tune").on_cpu_device().fails_with(1).says("it is kept").says("version control");
    assert_eq!(project.read("fsr/saxpy/sm_90.toml"), sm_90);
    project.fsr("tune --replace-measured").on_cpu_device().succeeds();
    assert!(project.read("fsr/saxpy/sm_90.toml").contains("kind = \"sim\""));
}

#[test]
fn a_source_outlives_damage_to_the_files_beside_it() {
    let project = Project::tuned("outlives");
    let stored = project.stored();
    project.remove("fsr/saxpy/sm_90.ptx");
    // What does not compile.
    project.answers(&ANSWERS[..1]);
    project
        .fsr("tune --rounds 1 --candidates 1")
        .on_cpu_device()
        .succeeds()
        .says("Stored saxpy sm_90: previous-1")
        .says_nothing_of("was tuned on a GPU");
    for file in ["saxpy/sm_90.cu", "saxpy/sm_90.ptx"] {
        assert_eq!(project.stored()[file], stored[file], "{file}");
    }
}

#[test]
fn a_model_that_fails_leaves_a_fresh_entry_alone() {
    let project = Project::tuned("model-fails");
    let stored = project.stored();
    project
        .fsr("tune --force --model command:false")
        .on_cpu_device()
        .fails_with(4)
        .says("Kept saxpy sm_90")
        .says("--resume");
    assert_eq!(project.stored(), stored);
    project.fsr("tune").succeeds().says("Fresh saxpy of ops; its last run was stopped, and --resume goes on");
}

#[test]
fn what_was_stored_since_a_run_began_is_replaced_by_nothing_slower() {
    let project = Project::new("meanwhile");
    let by_hand =
        |words: &str| project.fsr(&format!("tune --model files:answers --rounds 1 {words}")).on_cpu_device();
    by_hand("--force").fails_with(5);
    project.answers(&[ANSWERS[3], ANSWERS[3]]);
    // Elsewhere, and brought here by git.
    let elsewhere = project.fsr("tune --rounds 1").env("FSR_STATE_DIR", project.path("../state-elsewhere"));
    elsewhere.on_cpu_device().succeeds().says("Stored saxpy sm_90: r1-c");
    let better = project.stored();

    for slot in ["r1-c1", "r1-c2"] {
        project.write(&format!("answers/ops/saxpy/{slot}.answer.md"), ANSWERS[1]);
    }
    by_hand("--resume").succeeds().says("Kept saxpy sm_90: stored since this run began");
    assert_eq!(project.stored(), better);
}

#[test]
fn a_recording_is_raced_against_what_is_stored() {
    // A recording whose winner is the baseline.
    let project = Project::new("race");
    project.answers(&[ANSWERS[0], ANSWERS[0], ANSWERS[0], ANSWERS[0]]);
    project.fsr("tune").on_cpu_device().succeeds().says("Stored saxpy sm_90: baseline");
    project.write("recorded/ops/saxpy.jsonl", &project.journals()[0]);

    project.answers(&[ANSWERS[0], ANSWERS[0], ANSWERS[0], ANSWERS[0], ANSWERS[3], ANSWERS[3]]);
    project.fsr("tune --force --rounds 1").on_cpu_device().succeeds().says("Stored saxpy sm_90: r1-c");
    let better = project.stored();

    project
        .fsr("tune --force --model replay:recorded")
        .on_cpu_device()
        .succeeds()
        .says("Stored saxpy sm_90: previous-1");
    for file in ["saxpy/sm_90.cu", "saxpy/sm_90.ptx"] {
        assert_eq!(project.stored()[file], better[file]);
    }
}
