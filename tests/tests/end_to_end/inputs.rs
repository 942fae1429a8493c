//! What a search is made from besides host code and baseline: a task in a file, headers, templates of the user's own;
//! and a run that is taken up after one of them has changed.

use crate::support::{ANSWERS, Project, records};

const TASK: &str = "Scale `x` and add it to `y`, for every i < n, in f32.\n";
const HEADER: &str = "#pragma once\n__device__ __forceinline__ float scaled(float a, float x, float y) { return a * x + y; }\n";
/// Right only with the header.
const WITH_HEADER: &str = r#"
```cuda
#include "common.cuh"
// fsr: PER_THREAD = 1
extern "C" __global__ void saxpy(unsigned int n, float a, const float* x, float* y)
{
    unsigned int i = blockIdx.x * BLOCK + threadIdx.x;
    if (i < n) y[i] = scaled(a, x[i], y[i]);
}
```
"#;

#[test]
fn a_task_in_a_file_and_headers_reach_the_model_and_the_key() {
    let project = Project::new("task-file");
    project.edit(
        "Cargo.toml",
        "task = \"y[i] = a * x[i] + y[i] for i < n, in f32.\"",
        "task-file = \"kernels/saxpy.md\"",
    );
    project.edit("Cargo.toml", "baseline =", "headers = [\"kernels/common.cuh\"]\nbaseline =");
    let missing = project.fsr("tune").fails_with(3).error();
    assert!(missing.contains("kernels/saxpy.md"), "{missing}");
    project.write("kernels/saxpy.md", TASK);
    project.write("kernels/common.cuh", HEADER);

    project.answers(&[WITH_HEADER]);
    project
        .fsr("tune --rounds 1 --candidates 1")
        .on_cpu_device()
        .succeeds()
        .says("Stored saxpy sm_90: r1-c1");
    let asked = project.asked().concat();
    assert!(asked.contains(TASK.trim()) && asked.contains(HEADER.trim()), "{asked}");
    assert!(project.read("fsr/saxpy/sm_90.cu").contains("#include \"common.cuh\""));

    // A line end is none of their meaning; a word of the task is the contract, one of a header is evidence.
    project.write("kernels/saxpy.md", TASK.replace('\n', "\r\n"));
    project.fsr("check").succeeds();
    project.edit("kernels/common.cuh", "#pragma once\n", "#pragma once\n// One rounding or two.\n");
    project.fsr("check").fails_with(1).says("unverified ops saxpy sm_90: header:kernels/common.cuh changed");
    project.fsr("verify --update").on_cpu_device().succeeds().says("restamped");
    project.edit("kernels/saxpy.md", "in f32", "in single precision");
    project.fsr("check").fails_with(1).says("stale ops saxpy sm_90: task changed");
}

#[test]
fn templates_of_the_users_own_are_asked_with() {
    let project = Project::tuned("templates");
    let config = project.read("fsr.toml");
    project.write("fsr.toml", format!("templates = \"prompts\"\n{config}"));
    let tune = || project.fsr("tune --force --rounds 1 --candidates 1").on_cpu_device();

    // What is wrong with them is told before anything is built or asked.
    tune().fails_with(3).says("[project]/prompts");
    project.write("prompts/inital.md.j2", "");
    tune().fails_with(3).says("inital.md.j2").says("initial.md.j2");
    project.remove("prompts/inital.md.j2");
    project.write("prompts/initial.md.j2", "{% if kernel %}no end");
    tune().fails_with(3).says("prompt template initial.md.j2: ");
    assert!(project.asked().is_empty());

    let own = "{# version: 7 #}\nIn one word: {{ kernel }}.\n{% include \"contract.md.j2\" %}\n";
    project.write("prompts/initial.md.j2", own);
    project.answers(&[ANSWERS[3]]);
    tune().succeeds();
    let asked = project.asked().concat();
    assert!(asked.starts_with("In one word: saxpy.\n") && asked.contains("## Your answer"), "{asked}");
    let journals = project.journals().concat();
    let header = records(&journals, "header").last().expect("a header");
    let template =
        &header["templates"].as_array().unwrap().iter().find(|it| it["name"] == "initial.md.j2").unwrap();
    assert_eq!((&template["version"], &template["replaced_by"]), (&7.into(), &own.into()));
}

#[test]
fn a_run_is_not_taken_up_for_another_spec() {
    let project = Project::new("moved-on");
    let by_hand = |words: &str| {
        project.fsr(&format!("tune --model files:answers --rounds 1 --candidates 1 {words}")).on_cpu_device()
    };
    by_hand("").fails_with(5);
    let answer = "answers/ops/saxpy/r1-c1.answer.md";
    project.write(answer, ANSWERS[3]);
    project.edit("Cargo.toml", "for i < n, in f32.", "for all i < n, in f32.");

    // Answers to the old task are not passed off as answers to the new one.
    let refused = by_hand("--resume").fails_with(3);
    refused.says("cannot be taken up: the spec has changed since; begin a new run without `--resume`");
    assert!(project.stored().0.is_empty());
    by_hand("--force").fails_with(4).says("r1-c1.answer.md");
    assert_eq!(project.read(answer), ANSWERS[3], "nothing that someone wrote is overwritten");
    project.remove("answers");
    by_hand("--force").fails_with(5);
    assert!(project.read("answers/ops/saxpy/r1-c1.prompt.md").contains("for all i < n"));

    // Back to the first spec: the newest run is for the other one.
    project.edit("Cargo.toml", "for all i < n, in f32.", "for i < n, in f32.");
    by_hand("--resume").fails_with(3).says("the spec has changed since");
}
