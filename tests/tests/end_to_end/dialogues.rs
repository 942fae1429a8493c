//! Models that are no program: files that someone fills in, and recorded dialogues.

use std::fs;

use crate::support::{ANSWERS, Project, records};

#[test]
fn answers_in_files_are_awaited_and_nobody_is_asked_twice() {
    let project = Project::new("files");
    let tune = |words: &str| project.fsr(&format!("tune --model files:answers {words}")).on_cpu_device();

    let awaiting = tune("").fails_with(5);
    awaiting.says("Awaiting 2 answers; then go on with --resume");
    assert_eq!(
        awaiting.stdout,
        "[project]/answers/ops/saxpy/r1-c1.answer.md\n[project]/answers/ops/saxpy/r1-c2.answer.md\n"
    );
    let asked = project.read("answers/ops/saxpy/r1-c1.prompt.md");
    assert!(asked.contains("extern \"C\""), "{asked}");
    assert!(project.stored().0.is_empty(), "nothing is stored yet");

    // Half of the answers are not enough, and what was asked stays as it was.
    project.write("answers/ops/saxpy/r1-c1.answer.md", ANSWERS[0]);
    let awaiting = tune("--resume --message-format json").fails_with(5).json();
    let awaiting: Vec<_> = awaiting.iter().filter(|message| message["reason"] == "awaiting").collect();
    assert_eq!(awaiting.len(), 1);
    assert!(awaiting[0]["answer"].as_str().unwrap().ends_with("/answers/ops/saxpy/r1-c2.answer.md"));
    project.write("answers/ops/saxpy/r1-c2.answer.md", ANSWERS[1]);
    tune("--resume").fails_with(5);
    assert_eq!(project.read("answers/ops/saxpy/r1-c1.prompt.md"), asked);
    // Answered is answered: the journal has it, and the file is not looked at again.
    fs::remove_file(project.path("answers/ops/saxpy/r1-c1.answer.md")).unwrap();
    project.write("answers/ops/saxpy/r2-c1.answer.md", ANSWERS[2]);
    project.write("answers/ops/saxpy/r2-c2.answer.md", ANSWERS[3]);
    tune("--resume").succeeds().says("Stored saxpy sm_90: r2-c2");

    let journals = project.journals();
    assert_eq!(journals.len(), 1, "all of it was one run");
    for position in [(1, 1), (1, 2), (2, 1), (2, 2)] {
        for is in ["prompt", "answer"] {
            let count = records(&journals[0], is).filter(|record| at(record) == position).count();
            assert_eq!(count, 1, "{is} of {position:?}");
        }
    }
    project.fsr("check").succeeds();
}

/// Round and slot of a prompt or an answer.
fn at(record: &serde_json::Value) -> (u64, u64) {
    let position = record["prompt"].get("position").unwrap_or(&record["position"]);
    (position["round"].as_u64().unwrap(), position["slot"].as_u64().unwrap())
}

#[test]
fn a_recording_is_repeated_and_its_verdicts_exactly() {
    let project = Project::tuned("replay");
    let stored = project.stored();

    // Verdicts too: without a compiler, a device or a host target that could be built.
    project.edit("src/lib.rs", "pub mod", "pub dom");
    let replay = "tune --force --model replay:recorded --verdicts --frozen --out again";
    let messages = format!("{replay} --message-format json");
    let replayed = project.fsr(&messages).env("FSR_TOOLCHAIN_DIR", "/nowhere").succeeds();
    replayed.says(" s: stored in again");
    let told = replayed.json().into_iter().find(|message| message["reason"] == "stored").unwrap();
    let fact = |key: &str| told[key].as_str().unwrap().to_owned();
    assert_eq!(
        ["package", "kernel", "arch", "origin", "model"].map(fact),
        ["ops", "saxpy", "sm_90", "tuned_on", "a script"]
    );
    assert!(told["speedup"].as_f64().unwrap() > 1.0);
    project.edit("src/lib.rs", "pub dom", "pub mod");
    for file in ["sm_90.ptx", "sm_90.cu"] {
        assert_eq!(
            project.read(&format!("again/ops/saxpy/{file}")).as_bytes(),
            &stored[&*format!("saxpy/{file}")]
        );
    }
    let timed = |manifest: &str| manifest.split("[[timed").nth(1).map(str::to_owned).expect("times");
    assert_eq!(
        timed(&project.read("again/ops/saxpy/sm_90.toml")),
        timed(&project.read("fsr/saxpy/sm_90.toml"))
    );

    // The answers alone: compiled, validated and timed again.
    let replayed = project.fsr("tune --force --model replay:recorded --out anew").on_cpu_device().succeeds();
    replayed.says("Stored saxpy sm_90: r2-c");
    assert_eq!(project.read("anew/ops/saxpy/sm_90.ptx").as_bytes(), &stored["saxpy/sm_90.ptx"]);
    assert!(project.asked().is_empty());
    assert_eq!(project.stored(), stored, "--out leaves the package alone");

    project.fsr("tune --force --verdicts").fails_with(2).says("--verdicts repeats a recording");
    project
        .fsr("tune --force --model replay:nowhere")
        .fails_with(3)
        .says("kernel `saxpy` is not recorded: there is no [project]/nowhere/ops/saxpy.jsonl");
    project.edit("examples/fsr_saxpy.rs", "//! Host", "//! The host");
    project.fsr(replay).fails_with(3).says("the recorded verdicts of `saxpy` are about another spec");
    project.edit("examples/fsr_saxpy.rs", "//! The host", "//! Host");
    project.edit("recorded/ops/saxpy.jsonl", "{\"at\"", "{\"tа\"");
    project.fsr(replay).fails_with(4).says("recorded/ops/saxpy.jsonl");
}
