//! The main path: from a spec without an entry to a program that carries the winner's PTX.

use crate::support::{ANSWERS, Project};

#[test]
fn a_kernel_is_tuned_stored_embedded_and_shown() {
    let project = Project::new("main-path");
    project.answers(ANSWERS);
    project
        .fsr("check")
        .fails_with(1)
        .says("missing ops saxpy sm_90: no")
        .says("cargo fsr tune -p ops saxpy");
    project.cargo("build --offline").fails_with(101).says("kernel `saxpy` is not tuned for sm_80, sm_90");

    let tuned = project.fsr("tune -v").on_cpu_device().succeeds();
    assert_eq!(tuned.stdout, "", "nothing that happens on the way is data");
    tuned
        // Two are asked at once: who gets which answer is chance.
        .says("[BLOCK=64 PER_THREAD=1]: kernel.cu:5:5: error: expected a \";\"")
        .says("[BLOCK=64 PER_THREAD=1]: output `y` differs in")
        .says("Stored saxpy sm_90: r2-c")
        .says("Stored saxpy sm_80: the winner, compiled and validated")
        .says("Finished 1 kernel in ")
        .says(" s: stored");
    let prompts = project.asked();
    assert_eq!(prompts.len(), 4);
    assert!(prompts.iter().all(|prompt| prompt.contains("saxpy") && prompt.contains("BLOCK")));
    // The baseline's counts are shown, and those of the kernel to be beaten.
    assert!(prompts.iter().all(|prompt| prompt.contains("- Counted by executing `saxpy` on `n=")));
    let baseline = prompts[0].lines().find(|line| line.starts_with("- Global memory: ")).unwrap();
    assert!(baseline.contains(" loads of a warp, 32.0 sectors each (4.0 would hold the data)"), "{baseline}");

    // What is stored says where it comes from.
    let manifest = project.read("fsr/saxpy/sm_90.toml");
    for fact in ["origin = \"tuned_on\"", "model = \"a script\"", "kind = \"modelled\"", "kind = \"sim\""] {
        assert!(manifest.contains(fact), "{fact} is not in\n{manifest}");
    }
    assert!(project.read("fsr/saxpy/sm_90.cu").contains("fmaf(a, x[i], y[i])"));
    let ptx = project.read("fsr/saxpy/sm_90.ptx");
    assert!(ptx.contains(".target sm_90") && ptx.contains("fma.rn.f32"), "{ptx}");

    project.fsr("check").succeeds().says("Checked 2 entries of 1 kernel: all fresh");
    project.fsr("tune").succeeds().says("every kernel is fresh");
    // What is said wrongly is told even then.
    project.fsr("tune --verdicts").fails_with(2).says("--verdicts repeats a recording");
    project.fsr("tune --device gpu").fails_with(2).says("there is no device `gpu`");
    project.fsr("tune --model command:").fails_with(3).says("`--model command:` names no program");
    project.fsr("tune --model scriptd").fails_with(3).says("did you mean `scripted`?");

    // The program carries it.
    // In a target folder of its own: in the shared one another test's package of this name may come between.
    let own = project.path("../target");
    let program = project.cargo("run --quiet --offline").env("CARGO_TARGET_DIR", &own).succeeds();
    let shown = program.stdout.split_once('\n').expect("two lines");
    assert_eq!(shown, (r#"sm_90 [("BLOCK", 64), ("PER_THREAD", 1)]"#, &*format!("{ptx}\n")));
    let again = project.cargo("build --offline --verbose").env("CARGO_TARGET_DIR", &own).succeeds();
    again.says("Fresh ops v0.1.0").says_nothing_of("build-script-build");

    // What people and programs are shown. What the model of a device makes of a kernel is tested beside it.
    let mut settings = insta::Settings::clone_current();
    settings.add_filter(r"\d+\.\d+( µs|x)", "[N]$1");
    let _masked = settings.bind_to_scope();
    let list = project.fsr("list").succeeds();
    insta::assert_snapshot!(list.stdout, @r"
    PACKAGE  KERNEL  ARCH   STATE  SPEEDUP         MODEL
    ops      saxpy   sm_80  fresh  -               a script
    ops      saxpy   sm_90  fresh  [N]x modelled  a script
    ");
    let show = project.fsr("show saxpy").succeeds().stdout;
    let run = manifest.lines().find_map(|line| line.strip_prefix("run = ")).expect("a run").trim_matches('"');
    insta::assert_snapshot!(show.replace(run, "[run]"), @r"
    saxpy of ops
      task      y[i] = a * x[i] + y[i] for i < n, in f32.
      entries   saxpy
      host      examples/fsr_saxpy.rs
      baseline  kernels/saxpy.cu
      tunable   BLOCK in [64, 256]
      launch    PER_THREAD from 1 to 16
      keep      the signature of saxpy

      sm_80  fresh
        tuned for another arch, compiled and validated on NVIDIA H200 (simulated); proposed by a script, run [run]
        nvrtc 12.8.93, PTX ISA 8.7, driver 12.8 or newer
        BLOCK = 64, PER_THREAD = 1
        validated on 3 cases, largest relative error 0.0e0

      sm_90  fresh
        tuned on NVIDIA H200 (simulated); proposed by a script, run [run]
        nvrtc 12.8.93, PTX ISA 8.7, driver 12.8 or newer
        BLOCK = 64, PER_THREAD = 1
        CASE     WINNER  BASELINE  SPEEDUP
        n=65536  [N] µs  [N] µs    [N]x    modelled
        validated on 3 cases, largest relative error 0.0e0
    ");
    let checked = project.fsr("check --message-format json").succeeds().json();
    let of = |entry: &serde_json::Value| ["kernel", "arch", "state"].map(|key| entry[key].clone());
    assert_eq!(of(&checked[0]), ["saxpy", "sm_80", "fresh"]);
    assert_eq!(of(&checked[1]), ["saxpy", "sm_90", "fresh"]);
    let shown = project.fsr("show saxpy --message-format json").succeeds().json();
    assert_eq!(shown[1]["parameters"], serde_json::json!({ "BLOCK": 64, "PER_THREAD": 1 }));
    assert_eq!(shown[1]["timed"][0]["kind"], "modelled");
    assert_eq!(project.fsr("list --message-format json").succeeds().json().len(), 2);

    // A second check-out finds the winner in the cache, without a model, a compiler or a device.
    std::fs::remove_dir_all(project.path("fsr")).unwrap();
    project.fsr("tune --offline").succeeds().says("Restored saxpy sm_90 from the cache");
    assert_eq!(project.read("fsr/saxpy/sm_90.ptx"), ptx);
    project.fsr("check").succeeds();
    assert_eq!(project.asked().len(), 4, "the model was not asked again");
}
