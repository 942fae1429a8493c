//! Real compilations with NVRTC: what comes out, what is refused, and what limits do. No GPU is needed.
//!
//! A toolchain that is not on the machine is installed once into cargo-fsr's own folder (some 130 MB); a machine
//! without a package index sets `FSR_TOOLCHAIN_DIR` to one that was filled elsewhere. Nothing is skipped.

mod failures;
mod finding;
mod headers;
#[cfg(unix)]
mod installing;
mod limits;
mod ptx_that_comes_out;

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Mutex;
use std::time::Duration;

use cargo_fsr::compile::toolchain::{self, InstallError, Origin, Places, Settings, Toolchain};
use cargo_fsr::compile::{
    CompileFailureKind, CompileRequest, Compiled, Compiler, CompilerError, Limits, Lines, NvrtcCompiler, Ptx,
};

/// The version that most tests compile with.
const VERSION: &str = "12.8";

fn settings() -> Settings {
    let mut settings = Settings::from_env(None).unwrap();
    settings.program = env!("CARGO_BIN_EXE_cargo-fsr").into();
    settings
}

/// Only the folder that cargo-fsr fills: the same compiler on every machine.
fn own_settings() -> Settings {
    let mut settings = settings();
    settings.places = Places { installed: settings.places.installed, ..Places::default() };
    settings
}

fn toolchain(version: &str) -> Toolchain {
    let (version, settings) = (version.parse().unwrap(), own_settings());
    match toolchain::find(&version, &settings) {
        Ok(toolchain) => toolchain,
        Err(CompilerError::NotFound(_)) => {
            toolchain::install(&version, &settings, &mut |line| eprintln!("{line}")).unwrap()
        }
        Err(error) => panic!("{error}"),
    }
}

fn compiler_with(limits: Limits) -> NvrtcCompiler {
    NvrtcCompiler::start(toolchain(VERSION), &own_settings(), limits).unwrap()
}

fn compiler() -> NvrtcCompiler {
    compiler_with(Limits::default())
}

fn request(source: &str) -> CompileRequest {
    CompileRequest {
        source: source.to_owned(),
        entries: vec!["k".to_owned()],
        arch: "sm_90".parse().unwrap(),
        defines: Default::default(),
        headers: Vec::new(),
    }
}

#[track_caller]
fn ptx(compiled: Result<Compiled, CompilerError>) -> Ptx {
    match compiled.unwrap() {
        Compiled::Ptx(ptx) => ptx,
        Compiled::Failed(failure) => panic!("{:?}: {}", failure.kind, failure.log),
    }
}

#[track_caller]
fn failure(compiled: Result<Compiled, CompilerError>) -> (CompileFailureKind, String) {
    match compiled.unwrap() {
        Compiled::Failed(failure) => (failure.kind, failure.log),
        Compiled::Ptx(ptx) => panic!("compiled:\n{}", ptx.text),
    }
}

const SAXPY: &str = r#"
extern "C" __global__ void k(float a, const float* x, float* y, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = a * x[i] + y[i];
}
"#;
