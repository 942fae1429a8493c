//! The CI recipes, step by step as the services would run them: from a changed spec to the proposal with its new kernel.

use std::fs;
use std::path::Path;

use saphyr::{LoadableYamlNode, Yaml};

use crate::support::{ANSWERS, Project, Run};

fn recipe(path: &str) -> String {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    fs::read_to_string(root.join("recipes").join(path)).unwrap()
}

/// A step of a GitHub job that runs a script.
struct Step {
    script: String,
    condition: Option<String>,
    id: String,
}

/// The scripts of a workflow's only job. Installing is what these tests do otherwise.
fn steps(path: &str) -> Vec<Step> {
    let text = recipe(path);
    let workflow = Yaml::load_from_str(&text).unwrap().remove(0);
    let jobs: Vec<_> = workflow["jobs"].as_mapping().unwrap().values().collect();
    let [job] = jobs.as_slice() else { panic!("{path} has {} jobs", jobs.len()) };
    let get = |step: &Yaml<'_>, key| step.as_mapping_get(key).and_then(Yaml::as_str).map(str::to_owned);
    let steps = job["steps"].as_sequence().unwrap().iter().filter_map(|step| {
        let script = get(step, "run")?;
        let id = get(step, "id").unwrap_or_default();
        (!script.contains("cargo install")).then(|| Step { script, condition: get(step, "if"), id })
    });
    steps.collect()
}

/// A tuned project whose repository has an `origin`, checked out as a runner would.
fn repository(name: &str) -> Project {
    let project = Project::tuned(name);
    project.answers(ANSWERS);
    for left in [".git", "origin.git", "bin", "temp"] {
        let _ = fs::remove_dir_all(project.path(left));
    }
    project.link("cargo-fsr");
    // What a command-line tool of the service was told.
    project.write("bin/gh", "#!/bin/sh\nprintf '%s\\n' \"$@\" > temp/gh\nwhile [ $# -gt 0 ]; do\n  [ \"$1\" = --body-file ] && cat \"$2\" > temp/report\n  shift\ndone\n");
    project.run("chmod", "+x bin/gh").succeeds();
    project.write("temp/outputs", "");
    // The fixture's lock file names more than there is: a committed one does not.
    project.cargo("metadata --offline --format-version 1").succeeds();
    let git = |words: &str| project.run("git", words).succeeds();
    git("init --quiet --bare origin.git");
    git("-C origin.git config receive.advertisePushOptions true");
    git("init --quiet --initial-branch main .");
    git("remote add origin ./origin.git");
    project.write(".gitignore", "/bin\n/temp\n/origin.git\n/model\n/recorded\n/target\n");
    commit(&project, "Begin");
    project
}

fn commit(project: &Project, message: &str) {
    let git = |words: &str| project.run("git", words);
    git("config user.name somebody").succeeds();
    git("config user.email somebody@example.com").succeeds();
    git("add --all").succeeds();
    git("commit --quiet --message").arg(message).succeeds();
    git("push --quiet origin main").succeeds();
}

/// A step in the environment of a runner that has the program and the CPU device.
fn step(project: &Project, script: &str) -> Run {
    let folder = project.path("..");
    let mut path = project.path("bin").into_os_string();
    path.push(":");
    path.push(std::env::var_os("PATH").unwrap());
    project
        .run("bash", "--noprofile --norc -e -o pipefail -c")
        .arg(script)
        .beside_cpu_device()
        .env("PATH", path)
        .env("FSR_DEVICE", "sim")
        .env("FSR_STATE_DIR", folder.join("state"))
        .env("FSR_CACHE_DIR", folder.join("cache"))
        .env("FSR_CONFIG_DIR", folder.join("config"))
        .env("GITHUB_WORKSPACE", project.path(""))
        .env("GITHUB_OUTPUT", project.path("temp/outputs"))
        .env("RUNNER_TEMP", project.path("temp"))
        .env("PUSH_URL", "./origin.git")
        .env("CI_COMMIT_SHORT_SHA", "0123abcd")
}

/// Runs a workflow; gives how many steps its conditions let through.
fn run(project: &Project, path: &str) -> usize {
    let mut ran = 0;
    for Step { script, condition, id } in steps(path) {
        if let Some(condition) = condition {
            let output =
                condition.strip_prefix("steps.look.outputs.due == ").expect("a condition known here");
            let expected = format!("due={}\n", output.trim_matches('\''));
            if !project.read("temp/outputs").contains(&expected) {
                continue;
            }
        }
        step(project, &script).succeeds();
        ran += 1;
        assert!(id.is_empty() || project.read("temp/outputs").contains("due="), "{script}");
    }
    ran
}

#[test]
fn github_checks_every_push_and_proposes_what_was_tuned_anew() {
    let project = repository("recipe-github");
    assert_eq!(run(&project, "github/check.yml"), 1);
    assert_eq!(run(&project, "github/tune.yml"), 1, "nothing is due: it only looks");

    project.write("temp/outputs", "");
    project.edit("Cargo.toml", "for i < n, in f32.", "for all i < n, in f32.");
    commit(&project, "Ask for more");
    let check = steps("github/check.yml").remove(0);
    let told = step(&project, &check.script).fails_with(1).stdout;
    assert!(told.contains("\n::error file=Cargo.toml,line="), "{told}");
    assert!(told.contains("title=stale%3A saxpy sm_90::ops saxpy sm_90: task changed"), "{told}");

    assert_eq!(run(&project, "github/tune.yml"), 3);
    let asked = project.read("temp/gh");
    assert!(asked.contains("--base\nmain\n--head\ntune-kernels-"), "{asked}");
    assert!(project.read("temp/report").contains("ops      saxpy   sm_90  fresh"));
    let branch = asked.lines().last().unwrap();
    let changed =
        project.run("git", &format!("-C origin.git diff --name-only main {branch}")).succeeds().stdout;
    assert!(
        changed.contains("fsr/saxpy/sm_90.toml") && changed.lines().all(|file| file.starts_with("fsr/")),
        "{changed}"
    );
    // What was proposed is what a check of it wants.
    assert_eq!(run(&project, "github/check.yml"), 1);
}

#[test]
fn what_needs_a_person_ends_the_workflow() {
    let project = repository("recipe-person");
    project.edit("fsr/saxpy/sm_90.ptx", "fma.rn.f32", "fma.rz.f32");
    commit(&project, "Edit by hand");
    let look = steps("github/tune.yml").remove(0);
    step(&project, &look.script).fails_with(7).says("tampered ops saxpy sm_90");
    assert_eq!(project.read("temp/outputs"), "");
}

#[test]
fn gitlab_does_the_same() {
    let project = repository("recipe-gitlab");
    let text = recipe("gitlab/kernels.yml");
    let jobs = Yaml::load_from_str(&text).unwrap().remove(0);
    // The lines of a job run in one shell.
    let script = |job: &str| {
        let lines = jobs[job]["script"].as_sequence().unwrap().iter().map(|line| line.as_str().unwrap());
        lines.filter(|line| !line.contains("cargo install")).collect::<Vec<_>>().join("\n")
    };
    step(&project, &script("kernels")).succeeds();
    step(&project, &script("tune-kernels")).succeeds();
    assert_eq!(project.asked().len(), 0);

    project.edit("Cargo.toml", "for i < n, in f32.", "for all i < n, in f32.");
    commit(&project, "Ask for more");
    step(&project, &script("kernels")).fails_with(1).says("stale ops saxpy sm_90: task changed");
    step(&project, &script("tune-kernels")).succeeds();
    let changed = "-C origin.git diff --name-only main tune-kernels-0123abcd";
    let changed = project.run("git", changed).succeeds().stdout;
    assert!(
        changed.contains("fsr/saxpy/sm_90.toml") && changed.lines().all(|file| file.starts_with("fsr/")),
        "{changed}"
    );
    step(&project, &script("kernels")).succeeds();
}
