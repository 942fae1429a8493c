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

#[test]
fn templates_are_listed_written_down_and_changed() {
    let project = Project::new("prompts");
    let list = project.fsr("prompts").succeeds().stdout;
    assert!(list.starts_with("TEMPLATE "), "{list}");
    assert!(list.contains("\nperformance.md.j2        built in, version 1  "), "{list}");
    project.fsr("prompts --write mine task.md.j2").succeeds().says("Written mine");
    let text = project.fsr("prompts task.md.j2").succeeds().stdout;
    assert_eq!(text.trim_end(), project.read("mine/task.md.j2").trim_end());

    project.edit("mine/task.md.j2", "You write CUDA kernels.", "You write good CUDA kernels.");
    let config = project.read("fsr.toml");
    project.write("fsr.toml", format!("templates = \"mine\"\n{config}"));
    let list = project.fsr("prompts").succeeds().stdout;
    assert!(
        list.lines().nth(1).unwrap().contains("/mine/task.md.j2  What every prompt begins with"),
        "{list}"
    );
    let mine = project.fsr("prompts task.md.j2 --message-format json").succeeds().json();
    assert_eq!((mine.len(), &mine[0]["replaced"]), (1, &true.into()));
    let shown = project.fsr("tune --dry-run").on_cpu_device().succeeds().stdout;
    assert!(shown.contains("You write good CUDA kernels."), "{shown}");

    // What was changed is never overwritten.
    let error = |words: &str, code| project.fsr(words).fails_with(code).error();
    insta::assert_snapshot!(error("prompts --write mine", 2), @"error: mine/task.md.j2 is there already help: name another folder, or only the templates that are not there yet");
    assert!(
        project.read("mine/task.md.j2").contains("good CUDA") && !project.path("mine/initial.md.j2").exists()
    );
    insta::assert_snapshot!(error("prompts tusk.md.j2", 2), @"error: there is no prompt template `tusk.md.j2`; did you mean `task.md.j2`? help: `cargo fsr prompts` lists them");
    project.write("mine/tusk.md.j2", "");
    project.fsr("prompts").fails_with(3).says("[project]/mine/tusk.md.j2 replaces nothing");
}
