//! The corpus of kernels on the CPU device: nothing missed, no false alarm.
//!
//! Kinds 10, 16 and 24 in part show on hardware alone; `examples/corpus_on_gpu.rs` runs the same corpus there.

#![cfg(target_os = "linux")]

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use cargo_fsr::compile::toolchain::{Settings, find};
use cargo_fsr::compile::{Limits, NvrtcCompiler};
use cargo_fsr::judge::{HostJudgeOptions, HostProgram, library_path};
use fsr_tests::corpus::{Kernel, judge_all, table};

/// The program under test, which is the compiler process too.
const PROGRAM: &str = env!("CARGO_BIN_EXE_cargo-fsr-under-test");
const CUDA: &str = "12.8";

/// Folder of this test's own program.
fn built() -> PathBuf {
    std::env::current_exe().unwrap().parent().unwrap().to_owned()
}

/// NVRTC, installed where it is missing.
fn compiler() -> NvrtcCompiler {
    let mut settings = Settings::from_env(None).unwrap();
    settings.program = PROGRAM.into();
    let version = CUDA.parse().unwrap();
    let toolchain = find(&version, &settings).unwrap_or_else(|_| {
        let installed = Command::new(PROGRAM).args(["toolchain", "install", CUDA]).status().unwrap();
        assert!(installed.success());
        find(&version, &settings).unwrap()
    });
    NvrtcCompiler::start(toolchain, &settings, Limits::default()).unwrap()
}

/// A judge of a task, on the CPU device in `driver`.
fn options(driver: &Path, task: &str) -> HostJudgeOptions {
    let program = built().parent().unwrap().join("examples/corpus_host");
    assert!(program.is_file(), "{} is missing: run all tests of the package", program.display());
    let mut reference = HostProgram::new(program);
    reference.args = vec![task.into()];
    let mut device = reference.clone();
    device.envs.push(library_path(&[driver.to_owned()], &[]).unwrap());
    // Races too, as before a GPU.
    device.envs.push(("FSR_SIM_LEVEL".into(), "full".into()));
    let mut options = HostJudgeOptions::new(device);
    options.reference = reference;
    // Long enough for every kernel that ends on a busy machine of two cores; some never do.
    options.deadlines.launch = Duration::from_secs(30);
    options
}

/// Judges a folder of the corpus. What the snapshots call WRONG is known: the CPU device sees a race in a plain read before a
/// loop of compare-and-swap, and a divergent barrier where one lane has worked alone.
fn judged(corpus: &str) -> String {
    let driver = tempfile::tempdir().unwrap();
    for name in ["libcuda.so", "libcuda.so.1"] {
        std::os::unix::fs::symlink(built().join("libfsr_sim_libcuda.so"), driver.path().join(name)).unwrap();
    }
    let compiler = compiler();
    let kernels = Kernel::all(&Path::new(env!("CARGO_MANIFEST_DIR")).join(corpus));
    let outcomes =
        judge_all(kernels, &compiler, "sm_80".parse().unwrap(), |task| options(driver.path(), task));
    table(&outcomes)
}

#[test]
fn the_corpus_on_the_cpu_device() {
    insta::assert_snapshot!("on_the_cpu_device", judged("corpus"));
}

#[test]
fn kernels_of_someone_who_never_saw_the_judge() {
    insta::assert_snapshot!("blind_on_the_cpu_device", judged("corpus/blind"));
}
