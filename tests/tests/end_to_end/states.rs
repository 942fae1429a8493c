//! What becomes of an entry when its spec, its evidence or its files change.

use crate::support::Project;

#[test]
fn formatting_means_nothing() {
    let project = Project::tuned("formatting");
    project.fsr("check").succeeds();
    project.edit(
        "Cargo.toml",
        "tunables = { BLOCK = [64, 256] }",
        "tunables.BLOCK = [\n    64,\n    256, # two warps or eight\n]",
    );
    project.edit("Cargo.toml", "keep = [\"the signature of saxpy\"]\n", "");
    project.edit("Cargo.toml", "baseline =", "keep = ['the signature of saxpy']\nbaseline =");
    for file in ["Cargo.toml", "examples/fsr_saxpy.rs", "kernels/saxpy.cu", "fsr/saxpy/sm_90.ptx"] {
        project.write(file, project.read(file).replace('\n', "\r\n"));
    }
    project.fsr("check").succeeds().says("all fresh");
}

#[test]
fn changed_evidence_warns_and_is_restamped_without_a_model() {
    let project = Project::tuned("evidence");
    let ptx = project.read("fsr/saxpy/sm_90.ptx");
    project.edit("examples/fsr_saxpy.rs", "//! Host launch code", "//! The host launch code");

    project
        .fsr("check")
        .fails_with(1)
        .says("unverified ops saxpy sm_90: host:examples/fsr_saxpy.rs changed")
        .says("mend it with `cargo fsr verify --update -p ops saxpy`");
    let unverified = project.fsr("check --message-format json").fails_with(1).json();
    assert_eq!(unverified[1]["state"], "unverified");
    assert_eq!(unverified[1]["remedy"], "cargo fsr verify --update -p ops saxpy");
    project.cargo("build --offline").succeeds().says("kernel `saxpy` is unverified for sm_80, sm_90");

    // It is validated first, and without `--update` nothing is written.
    let before = project.stored();
    project.fsr("verify").on_cpu_device().succeeds().says("the source gives the same PTX; valid on 3 cases");
    assert_eq!(project.stored(), before);
    project
        .fsr("verify --update --device sim:t4")
        .beside_cpu_device()
        .fails_with(1)
        .says("not validated, since no device here loads sm_80");
    assert_eq!(project.stored(), before);
    project.fsr("verify --update").on_cpu_device().succeeds().says("restamped");
    project.fsr("check").succeeds();
    assert_eq!(project.read("fsr/saxpy/sm_90.ptx"), ptx);
    project.cargo("build --offline").succeeds().says_nothing_of("warning");
    assert!(project.asked().is_empty());

    // A launch that no longer fits the kernel is not waved through.
    project.edit("examples/fsr_saxpy.rs", "a.mul_add(*x, *y)", "a.mul_add(*x, -*y)");
    let before = project.stored();
    project
        .fsr("verify --update")
        .on_cpu_device()
        .fails_with(1)
        .says("Not verified ops saxpy sm_90: output `y` differs");
    assert_eq!(project.stored(), before);
}

#[test]
fn a_changed_contract_is_stale_and_fails_the_build() {
    let project = Project::tuned("contract");
    project.edit("Cargo.toml", "for i < n, in f32.", "for all i < n, in f32.");
    project
        .fsr("check")
        .fails_with(1)
        .says("stale ops saxpy sm_80: task changed")
        .says("cargo fsr tune -p ops saxpy");
    project
        .cargo("build --offline")
        .fails_with(101)
        .says("kernel `saxpy` is stale for sm_80, sm_90: task changed; run `cargo fsr tune -p ops saxpy`");
    project.cargo("build --offline").env("FSR_ALLOW_STALE", "1").succeeds().says("is stale");
    project.fsr("verify").on_cpu_device().fails_with(1).says("stale: task changed");
}

#[test]
fn what_was_edited_by_hand_is_told() {
    let project = Project::tuned("tampered");
    let good = project.read("fsr/saxpy/sm_90.ptx");
    project.edit("fsr/saxpy/sm_90.ptx", "fma.rn.f32", "fma.rz.f32");
    project
        .fsr("check")
        .fails_with(7)
        .says("tampered ops saxpy sm_90: [project]/fsr/saxpy/sm_90.ptx is not the file");
    project
        .cargo("build --offline")
        .fails_with(101)
        .says("fsr/saxpy/sm_90.ptx is not the file that its manifest records");
    let verified = project.fsr("verify --no-device").fails_with(7);
    verified.says("Not verified ops saxpy sm_90: tampered").says("Verified ops saxpy sm_80");
    project.write("fsr/saxpy/sm_90.ptx", &good);

    let manifest = project.read("fsr/saxpy/sm_90.toml");
    project.edit("fsr/saxpy/sm_90.toml", "PER_THREAD = 1", "PER_THREAD = 2");
    project.fsr("check").fails_with(7).says("tampered ops saxpy sm_90");
    project.write(
        "fsr/saxpy/sm_90.toml",
        format!("<<<<<<< ours\n{manifest}=======\n{manifest}>>>>>>> theirs\n"),
    );
    project.fsr("check").fails_with(7).says("conflict ops saxpy sm_90").says("merge conflict");
    project.cargo("build --offline").fails_with(101).says("merge conflict");
    project.write("fsr/saxpy/sm_90.toml", &manifest[..manifest.len() / 2]);
    project.fsr("check").fails_with(7).says("ops saxpy sm_90");
    project.write("fsr/saxpy/sm_90.toml", b"\xff\xfe\0");
    project.fsr("check").fails_with(7).says("unreadable ops saxpy sm_90");
    project.write("fsr/saxpy/sm_90.toml", &manifest);
    project.fsr("check").succeeds();

    std::fs::remove_file(project.path("fsr/saxpy/sm_90.cu")).unwrap();
    project.fsr("check").fails_with(7).says("tampered ops saxpy sm_90");
    std::fs::remove_dir_all(project.path("fsr")).unwrap();
    project.fsr("check").fails_with(1).says("missing ops saxpy sm_90");
    assert_eq!(project.fsr("list --message-format json").succeeds().json()[0]["state"], "missing");
}

#[test]
fn what_no_spec_asks_for_any_more_is_told_and_pruned() {
    let project = Project::tuned("orphans");
    let both = project.stored();
    project.edit("Cargo.toml", "arch = [\"sm_80\", \"sm_90\"]", "arch = [\"sm_90\"]");
    for file in ["sm_90.toml", "sm_90.ptx", "sm_90.cu"] {
        project.write(&format!("fsr/old/{file}"), project.read(&format!("fsr/saxpy/{file}")));
    }
    project.write("fsr/notes.md", "kept");
    std::os::unix::fs::symlink("saxpy", project.path("fsr/alias")).unwrap();
    project
        .fsr("check")
        .fails_with(8)
        .says("orphaned ops old sm_90: no kernel of the package is called `old`")
        .says("orphaned ops saxpy sm_80: `arch` does not list sm_80")
        .says("mend it with `cargo fsr prune -p ops`")
        .says("Checked 1 entry of 1 kernel: 2 not as they should be");
    // What is left of others is no fault of this kernel, and nothing to a build.
    project.fsr("check saxpy").succeeds();
    project.cargo("build --offline").succeeds().says_nothing_of("warning");

    let told = project.fsr("prune --check --message-format json").fails_with(8).json();
    assert_eq!(told.iter().map(|entry| &entry["kernel"]).collect::<Vec<_>>(), ["old", "saxpy"]);
    assert_eq!(told[0]["removed"], false);
    assert!(project.path("fsr/old/sm_90.toml").exists());
    project.fsr("prune").succeeds().says("Removed ops old sm_90").says("2 orphaned entries removed");
    assert!(!project.path("fsr/old").exists());
    assert_eq!(project.read("fsr/notes.md"), "kept");
    project.fsr("prune").succeeds().says("nothing is orphaned");
    project.fsr("check").succeeds();
    std::fs::remove_file(project.path("fsr/alias")).unwrap();
    let left = project.stored();
    assert!(left.0.keys().all(|file| !file.contains("sm_80")) && left.0.len() < both.0.len());
}

#[test]
fn the_gravest_finding_decides_and_github_is_told_the_places() {
    let project = Project::tuned("annotated");
    project.edit("Cargo.toml", "arch = [\"sm_80\", \"sm_90\"]", "arch = [\"sm_75\", \"sm_90\"]");
    let checkout = project.path("").display().to_string();
    let annotated = |code| {
        let checked =
            project.fsr("check --format github").env("GITHUB_WORKSPACE", checkout.trim_end_matches('/'));
        checked.fails_with(code).stdout
    };
    let declared =
        project.read("Cargo.toml").lines().position(|line| line.contains("fsr.kernels.saxpy")).unwrap() + 1;
    insta::assert_snapshot!(annotated(1).replace(&format!("line={declared}"), "line=[declared]"), @r"
    ::error file=Cargo.toml,line=[declared],title=missing%3A saxpy sm_75::ops saxpy sm_75: no [project]/fsr/saxpy/sm_75.toml%0Amend it with `cargo fsr tune -p ops saxpy`
    ::warning file=fsr/saxpy/sm_90.toml,title=modelled::ops saxpy sm_90 was never timed: the CPU device tuned it, and its times are modelled
    ::error file=fsr/saxpy/sm_80.toml,title=orphaned%3A saxpy sm_80::ops saxpy sm_80: `arch` does not list sm_80%0Amend it with `cargo fsr prune -p ops`
    ");
    project.edit("fsr/saxpy/sm_90.toml", "kernel = ", "<<<<<<< ours\nkernel = ");
    insta::assert_snapshot!(annotated(7).lines().find(|line| line.contains("conflict")).unwrap(), @"::error file=fsr/saxpy/sm_90.toml,line=5,title=conflict%3A saxpy sm_90::ops saxpy sm_90: [project]/fsr/saxpy/sm_90.toml cannot be used: line 5 marks a merge conflict: take the three files of one side%0Amend it with `cargo fsr tune -p ops saxpy`");
    project.fsr("list --format github").fails_with(2).says("only `check` has annotations");
}
