//! The host target, in real cargo packages.

use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::sync::mpsc;
use std::time::Duration;

use cargo_fsr::judge::{BuildOptions, CargoFlags, HostTarget, JudgeError, TargetKind};
use cargo_metadata::{MetadataCommand, Package};
use tempfile::TempDir;

/// A package without dependencies.
struct Crate(TempDir);

impl Crate {
    fn new(files: &[(&str, &str)]) -> Self {
        let folder = TempDir::new().unwrap();
        let manifest =
            "[package]\nname = \"ops\"\nversion = \"0.1.0\"\nedition = \"2021\"\n[features]\nextra = []\n";
        for (path, text) in [("Cargo.toml", manifest), ("src/lib.rs", "")].iter().chain(files) {
            let path = folder.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        Self(folder)
    }

    fn package(&self) -> Package {
        let mut command = MetadataCommand::new();
        command.manifest_path(self.0.path().join("Cargo.toml")).no_deps();
        command.exec().unwrap().packages.remove(0)
    }

    fn target(&self, file: &str) -> HostTarget {
        let (kind, name) = HostTarget::find(&self.package(), Path::new(file)).unwrap();
        HostTarget {
            manifest: self.0.path().join("Cargo.toml"),
            package: "ops".to_owned(),
            kind,
            name,
            features: Vec::new(),
            profile: "release".to_owned(),
            target_dir: self.0.path().join("target/fsr"),
            flags: CargoFlags { offline: true, ..Default::default() },
        }
    }
}

fn options(interrupted: bool) -> BuildOptions {
    BuildOptions { interrupt: Arc::new(AtomicBool::new(interrupted)), ..Default::default() }
}

#[test]
fn a_target_is_found_by_its_file() {
    let ops = Crate::new(&[
        ("examples/fsr_ops.rs", "fn main() {}"),
        ("examples/deep/main.rs", "fn main() {}"),
        ("tests/host.rs", ""),
        ("src/bin/tool.rs", "fn main() {}"),
    ]);
    let package = ops.package();
    let find = |file: &str| HostTarget::find(&package, Path::new(file));
    assert_eq!(find("examples/fsr_ops.rs").unwrap(), (TargetKind::Example, "fsr_ops".to_owned()));
    assert_eq!(find("examples/deep/main.rs").unwrap(), (TargetKind::Example, "deep".to_owned()));
    assert_eq!(find("tests/host.rs").unwrap(), (TargetKind::Test, "host".to_owned()));
    assert_eq!(find("src/bin/tool.rs").unwrap(), (TargetKind::Bin, "tool".to_owned()));
    insta::assert_snapshot!(find("src/lib.rs").unwrap_err(), @r#"
    host file `src/lib.rs` of package `ops` is no example, binary or test of its own; there are: examples/deep/main.rs, examples/fsr_ops.rs, src/bin/tool.rs, tests/host.rs
    "#);
    insta::assert_snapshot!(find("examples/fsr_op.rs").unwrap_err(), @r#"
    host file `examples/fsr_op.rs` of package `ops` does not exist; there are: examples/deep/main.rs, examples/fsr_ops.rs, src/bin/tool.rs, tests/host.rs
    "#);
}

#[test]
fn a_package_without_targets() {
    let ops = Crate::new(&[]);
    insta::assert_snapshot!(HostTarget::find(&ops.package(), Path::new("examples/x.rs")).unwrap_err(), @r#"
    host file `examples/x.rs` of package `ops` does not exist; the package has no such target: put the host launch code into `examples/`
    "#);
}

#[test]
fn it_is_built_apart_and_in_release() {
    let main = "fn main() { assert!(!cfg!(debug_assertions)); assert!(cfg!(feature = \"extra\")); \
                assert_eq!(option_env!(\"FSR_TUNING\"), Some(\"1\")); }";
    let ops = Crate::new(&[("examples/fsr_ops.rs", main)]);
    let mut target = ops.target("examples/fsr_ops.rs");
    target.features = vec!["extra".to_owned()];
    let built = target.build(options(false)).unwrap();
    assert!(built.executable.starts_with(ops.0.path().join("target/fsr")), "{built:?}");
    assert!(std::process::Command::new(&built.executable).status().unwrap().success());
    assert_eq!(built.library_paths[0], ops.0.path().join("target/fsr/release/deps"));
    assert_eq!(target.build(options(false)).unwrap(), built, "built once");
}

#[test]
fn it_does_not_build() {
    let ops = Crate::new(&[("examples/fsr_ops.rs", "fn main() { nonsense() }")]);
    let (sender, forwarded) = mpsc::channel();
    let options = BuildOptions {
        forward: Some(Box::new(move |piece| sender.send(piece.to_vec()).unwrap())),
        ..options(false)
    };
    let error = ops.target("examples/fsr_ops.rs").build(options).unwrap_err();
    let JudgeError::Build { log } = &error else { panic!("{error:?}") };
    assert!(log.contains("cannot find function `nonsense`"), "{log}");
    assert!(error.to_string().starts_with("the host target does not build:\n"));
    let forwarded: Vec<u8> = forwarded.iter().flatten().collect();
    let forwarded = String::from_utf8(forwarded).unwrap();
    assert!(forwarded.trim_end().ends_with(log.as_str()), "{forwarded}");
    assert!(forwarded.contains("Compiling ops") && !log.contains("Compiling ops"), "{log}");
}

#[test]
fn the_lock_file_is_respected() {
    let ops = Crate::new(&[("examples/fsr_ops.rs", "fn main() {}")]);
    fs::remove_file(ops.0.path().join("Cargo.lock")).ok();
    let mut target = ops.target("examples/fsr_ops.rs");
    fs::remove_file(ops.0.path().join("Cargo.lock")).ok();
    target.flags = CargoFlags { frozen: true, ..Default::default() };
    let error = target.build(options(false)).unwrap_err();
    assert!(matches!(&error, JudgeError::Build { log } if log.contains("--locked")), "{error}");
}

#[test]
fn a_build_can_be_interrupted_and_has_an_end() {
    // A build script that never ends, and a child of it that would outlive cargo alone.
    let build = "fn main() { std::fs::write(\"pid\", std::process::id().to_string()).unwrap(); \
                 loop { std::thread::sleep(std::time::Duration::from_secs(1)) } }";
    let ops = Crate::new(&[("examples/fsr_ops.rs", "fn main() {}"), ("build.rs", build)]);
    let target = ops.target("examples/fsr_ops.rs");
    let error = target.build(options(true)).unwrap_err();
    assert!(matches!(error, JudgeError::Interrupted), "{error}");
    let deadline = Duration::from_secs(3);
    let error = target.build(BuildOptions { deadline, ..options(false) }).unwrap_err();
    assert!(error.to_string().ends_with("cargo was stopped: the build took longer than 3 s"), "{error}");
    if let Ok(pid) = fs::read_to_string(ops.0.path().join("pid")) {
        assert!(super::goes(pid.parse().unwrap()), "the build script {pid} is left");
    }
}
