//! Whatever is wrong with what a user gives: one clear error, the documented exit code, and a store that is whole.

use insta::assert_snapshot as snapshot;

use crate::support::{Outcome, Project, Run};

const INPUT: i32 = 3;
const ENVIRONMENT: i32 = 4;
const HOST: i32 = 6;

/// Runs and asserts that the store is as it was.
#[track_caller]
fn fails(project: &Project, run: Run, code: i32) -> Outcome {
    let before = project.stored();
    let outcome = run.fails_with(code);
    assert_eq!(project.stored(), before, "the store was touched\n{}", outcome.stderr);
    outcome
}

#[test]
fn specs() {
    let project = Project::tuned("bad-specs");
    let cargo_toml = project.read("Cargo.toml");
    let error = |from: &str, to: &str| {
        project.write("Cargo.toml", cargo_toml.replace(from, to));
        let outcome = fails(&project, project.fsr("tune"), INPUT);
        fails(&project, project.fsr("check"), INPUT);
        outcome.error()
    };
    snapshot!(error("tunables =", "tunabels ="), @"error: [project]/Cargo.toml:38:1: unknown key `tunabels` in [package.metadata.fsr.kernels.saxpy]; did you mean `tunables`?");
    snapshot!(error("arch = [\"sm_80\", \"sm_90\"]", "arch = [\"sm_80\", \"sm_9O\"]"), @"error: [project]/Cargo.toml:25:18: `package.metadata.fsr.arch`: `sm_9O` is no architecture such as `sm_90`");
    snapshot!(error("candidates = 2", "candidates = \"2\""), @"error: [project]/Cargo.toml:29:14: `package.metadata.fsr.search.candidates` must be an integer, but is a string");
    snapshot!(error("kernels/saxpy.cu", "../saxpy.cu"), @"error: [project]/Cargo.toml:36:12: `package.metadata.fsr.kernels.saxpy.baseline`: `../saxpy.cu` must not contain `..`: it names a file of this package");
    snapshot!(error("task = \"y", "task = 5 # \"y"), @"error: [project]/Cargo.toml:33:8: `package.metadata.fsr.kernels.saxpy.task` must be a string, but is an integer");
    snapshot!(error("[build-dependencies]", "[build-dependencies"), @"error: cargo: unclosed table, expected `]` --> Cargo.toml:17:20 | 17 | [build-dependencies | ^");
}

#[test]
fn names_and_configuration() {
    let project = Project::tuned("bad-names");
    let error = |words: &str, code| fails(&project, project.fsr(words), code).error();
    snapshot!(error("tune saxpi", 2), @"error: there is no kernel `saxpi`; did you mean `saxpy`?");
    snapshot!(error("tune -p opps", 2), @"error: the workspace has no package `opps`; did you mean `ops`?");
    snapshot!(error("check --manifest-path nowhere/Cargo.toml", INPUT), @"error: cargo: manifest path `nowhere/Cargo.toml` does not exist");
    snapshot!(error("tune --force --model scripte", INPUT), @"error: there is no model `scripte`; did you mean `scripted`? help: name one in fsr.toml, or pass --model command:PROGRAM, files:FOLDER or replay:FOLDER");
    snapshot!(error("tune --force --device gpu", 2), @"error: there is no device `gpu` help: use auto, cuda, cuda:N, sim or sim:PROFILE");
    snapshot!(error("tune --bundle model", INPUT), @"error: [project]/model/bundle.json: no bundle: No such file or directory (os error 2) help: write it anew with `cargo fsr bundle DIR`, with the same cargo-fsr");

    let config = project.read("fsr.toml");
    project.write("fsr.toml", config.replace("model =", "modle ="));
    fails(&project, project.fsr("tune --force"), INPUT)
        .says("fsr.toml:1:1]")
        .says("unknown field `modle`, expected one of `model`, ");
    project.write("fsr.toml", config.replace("deadline = 60", "deadline = \"a minute\""));
    snapshot!(error("tune --force", INPUT), @r#"error: [project]/fsr.toml: invalid type: string "a minute", expected u64"#);
    project.write("fsr.toml", "");
    snapshot!(error("tune --force", ENVIRONMENT), @r#"error: no model is configured help: write `model = "mine"` and a table [models.mine] to fsr.toml beside the workspace, or pass --model command:PROGRAM, files:FOLDER or replay:FOLDER"#);
}

#[test]
fn host_launch_code() {
    let project = Project::tuned("bad-host");
    let cargo_toml = project.read("Cargo.toml");
    let host = project.read("examples/fsr_saxpy.rs");
    let tune = || project.fsr("tune --force").on_cpu_device();

    project.write("Cargo.toml", cargo_toml.replace("\"examples/fsr_saxpy.rs\"]", "\"examples/saxpy.rs\"]"));
    snapshot!(fails(&project, tune(), INPUT).error(), @"error: host file `[project]/examples/saxpy.rs` of package `ops` does not exist; there are: examples/fsr_saxpy.rs, src/main.rs");
    project.write("Cargo.toml", cargo_toml.replace("\"examples/fsr_saxpy.rs\"]", "\"src/lib.rs\"]"));
    snapshot!(fails(&project, tune(), INPUT).error(), @"error: host file `[project]/src/lib.rs` of package `ops` is no example, binary or test of its own; there are: examples/fsr_saxpy.rs, src/main.rs");
    project.write("Cargo.toml", &cargo_toml);

    project.write(
        "examples/fsr_saxpy.rs",
        host.replace("let mut y = gpu.view_mut(y);", "let mut y = gpu.view_mut(z);"),
    );
    fails(&project, tune(), HOST)
        .says("error: the host target does not build: error[E0425]: cannot find value `z`")
        .says("gpu.view_mut(z)");
    let main = "fsr_host::ExitCode {\n";
    project.write(
        "examples/fsr_saxpy.rs",
        host.replace(main, &format!("{main}    panic!(\"the table is empty\");\n")),
    );
    fails(&project, tune(), HOST)
        .says("`host-bad-host` ended (exit status: 101) before it called fsr_host:")
        .says("panicked at examples/fsr_saxpy.rs:8:5: the table is empty");
    project.write(
        "examples/fsr_saxpy.rs",
        host.replace(main, &format!("{main}    return fsr_host::ExitCode::SUCCESS;\n")),
    );
    snapshot!(fails(&project, tune(), HOST).error(), @"error: fault in the host launch code: `host-bad-host` ended without calling fsr_host: its `main` must hand over to fsr_host before anything else");
    project.write("examples/fsr_saxpy.rs", host.replace("kernel(\"saxpy\")", "kernel(\"scale\")"));
    snapshot!(fails(&project, tune(), HOST).error(), @"error: fault in the host launch code: it is about the kernel `scale`, and the spec names it as the host of `saxpy`: one of the two names is wrong");
    // Whether launch code or baseline is to blame, nobody can tell.
    let launch = "let function = ";
    project.write(
        "examples/fsr_saxpy.rs",
        host.replace(launch, &format!("assert!(n != 1021, \"not a multiple of four\");\n{launch}")),
    );
    snapshot!(fails(&project, tune(), INPUT).error(), @"error: the baseline kernels/saxpy.cu is not valid: the launch failed: the launch code panicked at examples/fsr_saxpy.rs:13:13: not a multiple of four: case `n=1021` (the 2 of 3 cases before it passed); first launch");
    assert!(project.asked().is_empty(), "nobody was asked for a kernel");
}

#[test]
fn specs_that_let_anything_pass() {
    let project = Project::tuned("loose-specs");
    let host = project.read("examples/fsr_saxpy.rs");
    let cargo_toml = project.read("Cargo.toml");
    let error = |from: &str, to: &str| {
        assert!(host.contains(from), "{from}");
        project.write("examples/fsr_saxpy.rs", host.replace(from, to));
        fails(&project, project.fsr("tune --force").on_cpu_device(), HOST).error()
    };
    snapshot!(error("*y = a.mul_add(*x, *y);", "*y = f32::NAN * a * x;").split(" at [").next().unwrap(), @"error: fault in the host launch code: case `n=65536`: the reference leaves NaN in output `y`");
    snapshot!(error("let a = cpu.scalar(a);", "let a = cpu.scalar(a);\n            cpu.scale_at_least(y, 1e30);"), @"error: fault in the host launch code: output `y`: a kernel that leaves all zeros passes every case: tighten the tolerance, or give the cases inputs with more in them");
    snapshot!(error("*y = a.mul_add(*x, *y);", "*y = 7.5 + 0.0 * (a + x);"), @"error: fault in the host launch code: output `y`: a kernel that leaves the mean of what is right in every element passes every case: tighten the tolerance, or give the cases inputs with more in them");
    snapshot!(error("case.input::<f32>(\"x\", [n]);\n        let y = case.in_out::<f32>(\"y\", [n]);", "case.input_from::<f32>(\"x\", [n], Values::constant(0.0));\n        let y = case.in_out_from::<f32>(\"y\", [n], Values::constant(0.0));"), @"error: fault in the host launch code: case `n=65536`: all inputs are zero");
    snapshot!(error("[1], [1021]", "[1021], [1021]"), @"error: fault in the host launch code: two cases are named `n=1021`");
    snapshot!(error("case.in_out::<f32>(\"y\", [n]);", "case.in_out::<f32>(\"y\", [n]);\n        case.work_bytes(32 * 12 * n);"), @"error: fault in the host launch code: case `n=65536` declares 25165824 bytes of work, and its buffers hold only 786432 to read and write: no kernel would be fast enough to be believed; give `work_bytes` what any right kernel must move");

    project.write("examples/fsr_saxpy.rs", &host);
    project.write(
        "Cargo.toml",
        cargo_toml.replace("tunables = {", "tolerance = { rtol = 1.0, atol = 0.0 }\ntunables = {"),
    );
    snapshot!(fails(&project, project.fsr("tune --force"), INPUT).error(), @"error: [project]/Cargo.toml:38:22: `package.metadata.fsr.kernels.saxpy.tolerance.rtol`: must be from 0 to below 1, but is 1");
    project.write(
        "Cargo.toml",
        cargo_toml.replace("tunables = {", "tolerance = { rtol = 0.0, atol = 1e30 }\ntunables = {"),
    );
    snapshot!(fails(&project, project.fsr("tune --force"), INPUT).error(), @"error: [project]/Cargo.toml:38:34: `package.metadata.fsr.kernels.saxpy.tolerance.atol`: must be from 0 to below 1, but is 1000000000000000000000000000000");
    assert!(project.asked().is_empty(), "nobody was asked for a kernel");
}

#[test]
fn baselines_models_and_machines() {
    let project = Project::tuned("bad-machine");
    let baseline = project.read("kernels/saxpy.cu");
    let tune = |words: &str| project.fsr(&format!("tune --force {words}"));

    // Machines.
    snapshot!(fails(&project, tune("--device cuda"), ENVIRONMENT).error(), @"error: the CUDA driver library (libcuda.so.1) is not installed or not on the loader's path help: that device is an NVIDIA GPU with its driver. `--device sim` executes on the CPU; `cargo fsr bundle DIR` takes the search to a machine that has one");
    project.edit("Cargo.toml", "cuda = \"12.8\"", "cuda = \"12.1\"");
    let nowhere = tune("--offline").env("FSR_TOOLCHAIN_DIR", project.path("toolchains"));
    fails(&project, nowhere, ENVIRONMENT)
        .says("error: no NVRTC 12.1 on this machine")
        .says("run `cargo fsr toolchain install 12.1`");
    project.edit("Cargo.toml", "cuda = \"12.1\"", "cuda = \"12.8\"");

    // Baselines.
    project.write("kernels/saxpy.cu", baseline.replace("void saxpy", "void saxpi"));
    snapshot!(fails(&project, tune("").on_cpu_device(), INPUT).error(), @"error: the baseline kernels/saxpy.cu does not define the entry `saxpy` as a __global__ function");
    project.write("kernels/saxpy.cu", baseline.replace("y[i] = a", "y[i] = b"));
    snapshot!(fails(&project, tune("").on_cpu_device(), INPUT).error(), @r#"error: the baseline kernels/saxpy.cu does not compile: kernel.cu:6:16: error: identifier "b" is undefined y[i] = b * x[i] + y[i]; ^"#);
    project.write("kernels/saxpy.cu", baseline.replace(" + y[i]", ""));
    let error = fails(&project, tune("").on_cpu_device(), INPUT).error();
    assert!(
        error.starts_with("error: the baseline kernels/saxpy.cu is not valid: output `y` differs")
            && error.contains("help: mend the baseline or the reference. Where both are right"),
        "{error}"
    );

    // Models. Without a baseline there is nothing that could be kept.
    project.edit("Cargo.toml", "baseline = \"kernels/saxpy.cu\"\n", "");
    project.remove("fsr");
    let told = |outcome: &Outcome| {
        let lines = outcome.stderr.lines().filter(|line| line.contains("Stopped") || line.contains("Failed"));
        lines.map(str::trim).collect::<Vec<_>>().join("\n")
    };
    let scripted = project.read("fsr.toml");
    let with = |command: &str| {
        let text =
            format!("model = \"m\"\n[models.m]\nkind = \"command\"\ndeadline = 1\ncommand = {command:?}\n");
        project.write("fsr.toml", text);
        told(&fails(&project, tune("").on_cpu_device(), ENVIRONMENT))
    };
    snapshot!(with("sh -c 'echo no credit left >&2; exit 7'"), @r"
    Failed saxpy: none of 0 candidates is valid
    Stopped saxpy: model command `sh` ended with exit status: 7: no credit left; --resume goes on
    ");
    snapshot!(with("sleep 600"), @r"
    Failed saxpy: none of 0 candidates is valid
    Stopped saxpy: model command `sleep` did not answer within 1 s; --resume goes on
    ");
    snapshot!(with("no-such-model --fast"), @r"
    Failed saxpy: none of 0 candidates is valid
    Stopped saxpy: model command `no-such-model` could not be started: No such file or directory (os error 2); --resume goes on
    ");
    project.write("fsr.toml", scripted.replace("command = \"sh '", "command = \"sh "));
    fails(&project, tune(""), INPUT).says(": a quotation mark is not closed");
    project.write("fsr.toml", &scripted);
    let rubbish = [
        "Sorry.",
        "I cannot help with that.",
        "```\nint main() { return system(\"true\"); }\n```",
        "```cuda\nextern",
    ];
    project.answers(&rubbish);
    snapshot!(told(&fails(&project, tune("").on_cpu_device(), 1)), @"Failed saxpy: none of 4 candidates is valid");
    assert_eq!(project.asked().len(), 4);
}

#[test]
fn disks_that_are_full_or_read_only() {
    let project = Project::tuned("bad-disk");
    let tune = "tune --force --model replay:recorded --verdicts --frozen";
    // In a mount namespace of its own the store is a small disk, or one that cannot be written.
    let small = "mount -t tmpfs -o size=32k none \"$FOLDER\" && cp -r before/. \"$FOLDER\"";
    let read_only = "mount --bind \"$FOLDER\" \"$FOLDER\" && mount -o remount,bind,ro \"$FOLDER\"";
    let run = |disk: &str, folder: &str, words: &str| {
        let _ =
            (std::fs::remove_dir_all(project.path("before")), std::fs::remove_dir_all(project.path("after")));
        for (path, content) in project.stored().0 {
            project.write(&format!("before/{path}"), content);
        }
        let script = format!("{disk} || exit 99; \"$@\"; code=$?; cp -r fsr after; exit $code");
        project
            .fsr(words)
            .inside(&["unshare", "--map-root-user", "--mount", "sh", "-c", &script, "sh"])
            .env("FOLDER", folder)
    };
    if run(read_only, "fsr", "list").output().code != Some(0) {
        eprintln!("SKIPPED: this machine lets nobody mount a disk of their own");
        return;
    }

    let full = run(small, "fsr", tune).fails_with(ENVIRONMENT);
    snapshot!(full.error(), @"error: cannot write [project]/fsr/saxpy/sm_90.cu.new: No space left on device (os error 28)");
    assert_eq!(project.files("after"), project.stored());
    // What was found is not lost, and asks for no search once there is room.
    project
        .fsr("tune --resume --model replay:recorded --verdicts --frozen")
        .succeeds()
        .says("Stored saxpy sm_90");
    let read_only_store = run(read_only, "fsr", tune).fails_with(ENVIRONMENT);
    snapshot!(read_only_store.error(), @"error: no entry could be written below [project]/fsr/saxpy: read-only filesystem or storage medium help: make it writable, or let the entries be written elsewhere with --out DIR");
    assert_eq!(project.files("after"), project.stored());
    run(read_only, "fsr", "verify --update").fails_with(ENVIRONMENT).says("no entry could be written below");

    // Where journals go.
    let state = project.path("../state");
    std::fs::create_dir_all(&state).unwrap();
    run("mount -t tmpfs -o size=4k none \"$FOLDER\"", "../state", tune)
        .fails_with(ENVIRONMENT)
        .says(".jsonl: No space left on device (os error 28)")
        .says_nothing_of("(os error 28) ╰─▶");
    run(read_only, "../state", tune)
        .fails_with(ENVIRONMENT)
        .says("/ops/saxpy: Read-only file system (os error 30)")
        .says("set `state-dir` in fsr.toml or FSR_STATE_DIR to a folder that can be written");
    assert_eq!(project.files("after"), project.stored());
    project.fsr("check").succeeds();
}

#[test]
fn two_runs_at_once() {
    let project = Project::tuned("two-runs");
    project.write("fsr.toml", project.read("fsr.toml").replace("deadline = 60", "deadline = 600"));
    project.write("model/model.sh", "mkdir \"$1/asked/$$\"\nexec sleep 600\n");
    let mut first = project.fsr("tune --force").on_cpu_device().start();
    project.wait_until_asked();

    let second = fails(&project, project.fsr("tune --force").on_cpu_device(), ENVIRONMENT);
    assert!(
        second.error().contains(&format!("another run is tuning kernel `saxpy` (process {})", first.id()))
    );
    // Reading is not disturbed.
    project.fsr("check").succeeds();

    // The first Ctrl-C keeps the best so far: here what was stored, which went first.
    first.interrupt();
    assert_eq!(first.wait(), Some(130));
    project.fsr("check").succeeds();
}
