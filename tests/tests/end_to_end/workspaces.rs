//! Several packages with kernels, one of them named alike in both.

use std::fs;

use crate::support::{ANSWERS, Project, read_all};

/// The package `ops` and a member `more` with the same kernel.
fn workspace(name: &str) -> Project {
    let project = Project::new(name);
    for file in
        ["Cargo.toml", "build.rs", "src/lib.rs", "src/main.rs", "examples/fsr_saxpy.rs", "kernels/saxpy.cu"]
    {
        let text = project.read(file).replace("ops::", "more::").replace("\"ops\"", "\"more\"");
        let text =
            text.replace("[workspace]\n", "").replace(&format!("-{name}\""), &format!("-{name}-more\""));
        project.write(&format!("more/{file}"), text);
    }
    project.edit("Cargo.toml", "[workspace]\n", "[workspace]\nmembers = [\"more\"]\n");
    project
}

#[test]
fn kernels_of_one_name_in_two_packages_are_two() {
    let project = workspace("two-packages");
    let count =
        |words: &str| project.fsr(&format!("list --message-format json {words}")).succeeds().json().len();
    assert_eq!([count(""), count("-p more"), count("--workspace"), count("-p ops -p more")], [2, 2, 4, 4]);
    project.fsr("check -p more").fails_with(1).says("missing more saxpy sm_90").says_nothing_of("ops saxpy");

    let by_hand = |words: &str| project.fsr(&format!("tune --workspace --model files:answers {words}"));
    let awaited = by_hand("--rounds 1 --candidates 1").on_cpu_device().fails_with(5).stdout;
    let mut awaited: Vec<&str> = awaited.lines().collect();
    awaited.sort_unstable();
    let answers = ["more", "ops"].map(|package| format!("[project]/answers/{package}/saxpy/r1-c1.answer.md"));
    assert_eq!(awaited, answers);
    project.write("answers/more/saxpy/r1-c1.answer.md", ANSWERS[1]);
    project.write("answers/ops/saxpy/r1-c1.answer.md", ANSWERS[3]);
    by_hand("--resume").on_cpu_device().succeeds();
    project.fsr("check --workspace").succeeds().says("all fresh");
    let (ops, more) = (project.files("fsr"), project.files("more/fsr"));
    let source = |files: &crate::support::Files| String::from_utf8(files["saxpy/sm_90.cu"].to_vec()).unwrap();
    assert!(source(&ops).contains("fmaf") && !source(&more).contains("fmaf"));

    // Their recordings are two as well.
    for (path, journal) in read_all(&project.path("../state")).0 {
        let parts: Vec<&str> = path.split('/').collect();
        if let [_, package, kernel, file] = parts.as_slice()
            && file.ends_with(".jsonl")
        {
            project.write(&format!("recorded/{package}/{kernel}.jsonl"), journal);
        }
    }
    let replay = "tune --workspace --force --model replay:recorded --verdicts --frozen --out again";
    project.fsr(replay).succeeds();
    for (package, stored) in [("ops", &ops), ("more", &more)] {
        let repeated = fs::read(project.path(&format!("again/{package}/saxpy/sm_90.ptx"))).unwrap();
        assert!(repeated == stored["saxpy/sm_90.ptx"], "{package}");
    }
}
