//! What executes: a GPU, which these tests have not, or the CPU device.

use crate::support::{ANSWERS, Project, Run};

#[test]
fn the_cpu_device_steps_in_where_there_is_no_gpu_and_says_so() {
    let project = Project::new("device-auto");
    project.answers(ANSWERS);
    project
        .fsr("tune --device cuda")
        .beside_cpu_device()
        .fails_with(4)
        .says("--device sim")
        .says("cargo fsr bundle DIR");
    assert!(project.asked().is_empty());

    project
        .fsr("tune")
        .beside_cpu_device()
        .succeeds()
        .says("warning: no GPU (")
        .says("the CPU device executes, and its times are modelled, not measured")
        .says("Device NVIDIA H200 (simulated): times are modelled, not measured; 3 cases, 1 timed")
        .says("µs modelled")
        .says("Stored saxpy sm_90: r2-c");
    project.fsr("check").succeeds().says(
        "warning: ops saxpy sm_90 was never timed: the CPU device tuned it, and its times are modelled",
    );
    assert_eq!(project.fsr("check --message-format json").succeeds().json()[1]["modelled"], true);
    assert!(project.fsr("list").succeeds().stdout.contains("x modelled"));

    // It is there for `verify` too; nothing is called verified that nobody executed, unless that was asked for.
    project
        .fsr("verify")
        .beside_cpu_device()
        .succeeds()
        .says("the source gives the same PTX; valid on 3 cases");
    project
        .fsr("verify")
        .beside_cpu_device()
        .env("FSR_SIM_LIBRARY", "/nowhere/device.so")
        .fails_with(4)
        .says("there is no CPU device at /nowhere/device.so")
        .says("FSR_SIM_LIBRARY");
    project
        .fsr("verify --no-device")
        .beside_cpu_device()
        .succeeds()
        .says("not validated, as --no-device says");
}

#[test]
fn a_profile_is_named_and_its_device_loads_what_that_gpu_loads() {
    let project = Project::tuned("device-profile");
    let half = |words: &str, code: i32| {
        project
            .fsr(&format!("verify --device sim:rtx4090{words}"))
            .beside_cpu_device()
            .fails_with(code)
            .says("Verified ops saxpy sm_80: the source gives the same PTX; valid on 3 cases")
            .says("ops saxpy sm_90: the source gives the same PTX; not validated, since no device here loads sm_90");
    };
    // Nothing passes that nobody executed, unless that is asked for.
    half("", 1);
    half(" --skip-unloadable", 0);
    project.fsr("verify --device sim:gtx9").beside_cpu_device().fails_with(4).says("gtx9").says("rtx4090");
}

#[test]
fn the_cpu_device_is_built_once_with_the_users_own_cargo() {
    let project = Project::tuned("device-built");
    // Not published while this is developed: cargo is told where the package lies.
    let checkout = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    let patch = |package: &str, path: &str| format!("{package} = {{ path = {:?} }}\n", checkout.join(path));
    let config = "[patch.crates-io]\n".to_owned()
        + &patch("fsr-sim", "fsr-sim")
        + &patch("fsr-sim-libcuda", "fsr-sim/libcuda");
    project.write("../cache/.cargo/config.toml", config);
    let host = format!("fsr-host = {{ path = {:?} }}", checkout.join("fsr-host"));
    project.edit("Cargo.toml", &host, "fsr-host = \"0.1\"");
    project.write(".cargo/config.toml", "[patch.crates-io]\n".to_owned() + &patch("fsr-host", "fsr-host"));
    let verify = |words: &str| {
        project
            .fsr(words)
            .beside_cpu_device()
            .without("FSR_SIM_LIBRARY")
            .env("CARGO_PROFILE_RELEASE_OPT_LEVEL", "1")
    };
    verify("verify --device sim --offline")
        .succeeds()
        .says("Building the CPU device: this takes a minute or two, once")
        .says("valid on 3 cases");
    // Whatever could build it is gone, and it is there.
    std::fs::remove_dir_all(project.path("../cache/.cargo")).unwrap();
    verify("verify --device sim --offline").succeeds().says("valid on 3 cases").says_nothing_of("Building");
}

#[test]
fn who_takes_the_host_library_from_a_checkout_has_the_cpu_device_from_there() {
    let project = Project::tuned("device-beside");
    let verify = project.fsr("verify --device sim --offline").beside_cpu_device().without("FSR_SIM_LIBRARY");
    verify.env("CARGO_PROFILE_RELEASE_OPT_LEVEL", "1").succeeds().says("valid on 3 cases");
    // Nothing comes from a registry.
    let kept =
        std::fs::read_dir(project.path("../cache/sim")).unwrap().map(|entry| entry.unwrap().file_name());
    assert_eq!(kept.collect::<Vec<_>>(), ["drivers"]);
}

#[test]
fn what_the_cpu_device_finds_is_in_the_next_prompt() {
    let project = Project::new("device-findings");
    let good = ANSWERS[3];
    let wild = good.replace("y[i] = fmaf", "y[i + (i > 65000 ? 1 << 27 : 0)] = fmaf");
    // Right everywhere, and reads one element too many where `n` is odd.
    let beyond = good.replace("fmaf(a, x[i], y[i])", "fmaf(a, x[i] + 0.0f * (x[i | 1] < 9.0f), y[i])");
    project.answers(&[&wild, &beyond, good]);
    project
        .fsr("tune --candidates 1 --rounds 3")
        .beside_cpu_device()
        .succeeds()
        .says("Not valid r1-c1 [BLOCK=64 PER_THREAD=1]: out of bounds at kernel.cu:5")
        .says("Not valid r2-c1 [BLOCK=64 PER_THREAD=1]: out of bounds at kernel.cu:5");
    let told = "reads 4 bytes at ";
    assert!(project.asked()[2].contains(told), "{}", project.asked()[2]);
    assert!(
        project.asked()[2].contains("0 bytes past the end of buffer `x` (4 bytes)"),
        "{}",
        project.asked()[2]
    );
    let prompt = &project.asked()[1];
    for told in [
        "out of bounds at kernel.cu:5",
        "ptx line",
        "st.global.f32",
        "by thread (",
        "of global memory",
        " bytes past the end of buffer `y` (262144 bytes)",
        "kernel.cu:5: `if (i < n) y[i + (i > 65000 ? 1 << 27 : 0)] = fmaf(a, x[i], y[i]);`",
    ] {
        assert!(prompt.contains(told), "{told} is not in\n{prompt}");
    }
}

/// A project beside a device that passes for a GPU: the CPU device under a name that is not marked as simulated.
fn beside_a_gpu(project: &Project, words: &str) -> Run {
    let profile = include_str!("../../../fsr-sim/profiles/h200.toml").replace(" (simulated)", "");
    project.write("../gpu.toml", profile);
    project
        .fsr(words)
        .beside_cpu_device()
        .on_cpu_device()
        .env("FSR_SIM_DEVICE", project.path("../gpu.toml"))
        .env("CUDA_VISIBLE_DEVICES", "0")
}

#[test]
fn candidates_meet_the_cpu_device_before_the_gpu() {
    let project = Project::new("device-screen");
    // Right on every device that runs one warp after the other, and a race all the same.
    let good = ANSWERS[3];
    let racy = good.replace(
        "if (i < n) y[i] = fmaf(a, x[i], y[i]);",
        "__shared__ float kept[BLOCK];\n    kept[threadIdx.x] = i < n ? x[i] : 0.0f;\n    float other = \
         kept[BLOCK - 1 - threadIdx.x];\n    if (i < n) y[i] = fmaf(a, other == 1234.5f ? other : x[i], y[i]);",
    );
    assert_ne!(racy, good);
    project.answers(&[&racy, good]);
    beside_a_gpu(&project, "tune --candidates 1 --rounds 2 -v")
        .succeeds()
        .says(
            "Screen 3 of 3 cases are small: there, candidates first meet the CPU device with all its checks",
        )
        .says("Not valid r1-c1 [BLOCK=64 PER_THREAD=1]: race at ")
        .says("Stored saxpy sm_90: r2-c1");
    let prompt = &project.asked()[1];
    for told in
        ["race in saxpy", "ptx line", "by thread (", "found by executing it with every memory access checked"]
    {
        assert!(prompt.contains(told), "{told} is not in\n{prompt}");
    }

    // Without it the race is not found, since the results are right.
    for (words, setting) in [(" --no-screen", ""), ("", "screen = false\n")] {
        let project = Project::new("device-no-screen");
        project.answers(&[&racy]);
        project.write("fsr.toml", setting.to_owned() + &project.read("fsr.toml"));
        beside_a_gpu(&project, &format!("tune --candidates 1 --rounds 1 -v{words}"))
            .succeeds()
            .says_nothing_of("Screen")
            .says_nothing_of("race at");
    }
}

#[test]
fn a_race_that_no_result_shows_is_found_without_a_gpu_too() {
    let project = Project::new("device-race");
    // Each thread reads what the other warp may not have written yet, and uses none of it.
    let racy = ANSWERS[3].replace(
        "    unsigned int i = ",
        "    __shared__ float seen[BLOCK];\n    seen[threadIdx.x] = a;\n    float other = seen[BLOCK - 1 - threadIdx.x];\n    unsigned int i = ",
    );
    let racy = racy.replace("fmaf(a, x[i], y[i])", "other > 3e38f ? other : fmaf(a, x[i], y[i])");
    project.answers(&[&racy, ANSWERS[3]]);
    project
        .fsr("tune --candidates 1 --rounds 2 --device sim")
        .beside_cpu_device()
        .succeeds()
        .says("Not valid r1-c1 [BLOCK=64 PER_THREAD=1]: race at kernel.cu:")
        .says("Best r2-c1");
}
