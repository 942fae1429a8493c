//! A search where there is no cargo: the folder goes there, the entries come home.

use crate::incumbent::claim_a_gpu;
use crate::support::{ANSWERS, Project, compiler_folder};

#[test]
fn a_search_in_a_bundle_brings_its_winner_home() {
    let project = Project::new("bundle");
    let bundle = |words: &str| project.fsr(&format!("bundle {words} --no-toolchain")).beside_cpu_device();
    bundle("box").succeeds().says("Bundled 1 kernel into box");
    bundle("box").fails_with(3).says("the folder is not empty");
    bundle("small --no-cpu-device").succeeds();
    let carries = |folder: &str| project.files(folder).0.keys().any(|path| path.starts_with("cpu-device/"));
    assert!(carries("box") && !carries("small"));
    project.fsr("import box").succeeds().says("0 entries imported, 0 refused");

    // There: a machine with a shell, and neither cargo nor the project; the CPU device comes along.
    let there = project.elsewhere("box");
    there.answers(ANSWERS);
    for program in ["sh", "cat", "mkdir"] {
        there.link(program);
    }
    let tune = |words: &str| {
        there
            .fsr(&format!("{words} --bundle ."))
            .env("PATH", there.path("bin"))
            .env("LD_LIBRARY_PATH", compiler_folder())
            .without("CARGO")
            .without("FSR_TOOLCHAIN_DIR")
    };
    tune("tune")
        .succeeds()
        .says("Stored saxpy sm_90: r2-c")
        .says("Stored saxpy sm_80: the winner, compiled and validated");
    tune("tune").succeeds().says("every kernel is fresh");
    tune("verify").succeeds().says("the source gives the same PTX; valid on 3 cases");
    assert_eq!(there.asked().len(), 4);
    assert!(project.stored().0.is_empty());

    // At home.
    project.fsr("import box").succeeds().says("2 entries imported, 0 refused");
    project.fsr("check").succeeds();
    assert_eq!(project.stored(), there.files("sources/fsr"));
    project.fsr("import box").succeeds().says("0 entries imported, 0 refused");

    // What a GPU tuned since is kept, whether or not its evidence is as it was.
    claim_a_gpu(&project);
    project.edit("kernels/saxpy.cu", "first + PER_THREAD", "PER_THREAD + first");
    let gpu = project.read("fsr/saxpy/sm_90.toml");
    project.fsr("import box --force").succeeds();
    let forced = project.read("fsr/saxpy/sm_90.toml");
    assert_ne!(forced, gpu);
    project.edit("kernels/saxpy.cu", "PER_THREAD + first", "first + PER_THREAD");
    claim_a_gpu(&project);
    project.fsr("import box").succeeds().says("Kept ops saxpy sm_90: a GPU tuned it");
    assert_eq!(project.read("fsr/saxpy/sm_90.toml"), gpu);

    // A spec that moved on meanwhile wants another kernel.
    project.remove("fsr");
    project.edit("Cargo.toml", "for i < n, in f32.", "for all i < n, in f32.");
    let refused = project.fsr("import box").fails_with(1);
    refused.says("Refused ops saxpy sm_90: the bundle's entry is stale: task changed");
    assert!(project.stored().0.is_empty());
    project.fsr("import nowhere").fails_with(3).says("nowhere");
    project.write("box/bundle.json", "{\"version\": 99}");
    project.fsr("import box").fails_with(3).says("a bundle of version 99");
}
