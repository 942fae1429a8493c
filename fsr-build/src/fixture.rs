//! A spec and an entry for the unit tests.

use std::fs;
use std::path::Path;

use crate::digest::Digest;
use crate::key::Inputs;
use crate::spec::{Arch, KernelSpec, PackageSpec};
use crate::store::{
    Compiler, Device, DeviceKind, Entry, LaunchNeeds, Manifest, Origin, PtxFacts, Spread, TimeKind,
    TimedCase, ValidatedCase,
};

pub(crate) const CARGO_TOML: &str = r#"
[package]
name = "ops"

[package.metadata.fsr]
arch = ["sm_80", "sm_90a"]
cuda = "12.8"

[package.metadata.fsr.kernels.transpose]
task = "Transpose a row-major rows x cols f32 matrix."
entries = ["transpose", "transpose_edge"]
host = ["examples/fsr_transpose.rs", "src/launch.rs"]
headers = ["kernels/common.cuh"]
baseline = "kernels/transpose.cu"
keep = ["the signature of transpose"]
tunables = { TILE = [8, 16, 32] }
launch = { BLOCK_X = [32, 1024] }
tolerance = { rtol = 1e-5, atol = 1e-6 }
"#;

/// A package folder with all the files that [`CARGO_TOML`] names.
pub(crate) fn package() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    write(folder.path(), "Cargo.toml", CARGO_TOML);
    write(folder.path(), "examples/fsr_transpose.rs", "fn main() {\n}\n");
    write(folder.path(), "src/launch.rs", "// launch\n");
    write(folder.path(), "kernels/common.cuh", "#define COMMON\n");
    write(folder.path(), "kernels/transpose.cu", "// baseline\n");
    folder
}

pub(crate) fn write(root: &Path, path: &str, text: &str) {
    let path = root.join(path);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text).unwrap();
}

pub(crate) fn spec(root: &Path) -> PackageSpec {
    PackageSpec::read(&root.join("Cargo.toml")).unwrap().unwrap()
}

pub(crate) fn kernel(spec: &PackageSpec) -> &KernelSpec {
    &spec.kernels["transpose"]
}

pub(crate) fn arch(text: &str) -> Arch {
    text.parse().unwrap()
}

/// An entry that is fresh for the spec as it is now.
pub(crate) fn entry(spec: &PackageSpec, kernel: &KernelSpec, arch: Arch, mark: &str) -> Entry {
    let spread = |median_ns: f64| Spread {
        median_ns,
        lower_quartile_ns: median_ns - 0.5,
        upper_quartile_ns: median_ns + 0.5,
        samples: 30,
    };
    let needs =
        LaunchNeeds { registers: Some(32), max_threads_per_block: Some(1024), ..LaunchNeeds::default() };
    let manifest = Manifest {
        kernel: kernel.name.clone(),
        arch,
        inputs: Inputs::of(spec, kernel, &arch).unwrap(),
        entries: kernel.entries.clone(),
        tunables: kernel.tunables.iter().map(|(name, values)| (name.clone(), values[0])).collect(),
        launch: kernel.launch.iter().map(|(name, bound)| (name.clone(), bound.min)).collect(),
        needs: kernel.entries.iter().map(|entry| (entry.clone(), needs)).collect(),
        ptx: PtxFacts { isa: "8.7".parse().unwrap(), target: arch, oldest_driver: "12.8".parse().unwrap() },
        ptx_sha256: Digest::of_bytes(b""),
        source_sha256: Digest::of_bytes(b""),
        compiler: Compiler {
            name: "nvrtc".to_owned(),
            version: "12.8.93".to_owned(),
            flags: vec![format!("--gpu-architecture={}", arch.virtual_name())],
        },
        origin: Origin::TunedOn,
        validated: vec![ValidatedCase {
            case: "4096 x 4096".to_owned(),
            max_abs_error: 0.0,
            max_rel_error: 1e-7,
        }],
        timed: vec![TimedCase {
            case: "4096 x 4096".to_owned(),
            kind: TimeKind::Measured,
            baseline: Some(spread(812.5)),
            winner: spread(129.25),
        }],
        device: Some(Device {
            kind: DeviceKind::Cuda,
            name: "NVIDIA H200".to_owned(),
            compute_capability: "9.0".parse().unwrap(),
            driver: Some("13.0".parse().unwrap()),
        }),
        model: Some("some-model".to_owned()),
        run: format!("2026-01-01-{mark}"),
    };
    let ptx = format!("// {mark}\n.version 8.7\n.target {arch}\n.address_size 64\n");
    Entry::new(manifest, &ptx, &format!("// source {mark}\n"))
}
