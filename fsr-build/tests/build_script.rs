//! A real cargo builds a real package: what `embed()` promises about failing, warning and rebuilding.
//!
//! Packages are temporary, in a folder whose name has blanks and non-ASCII letters; they share a target folder,
//! so that fsr-build itself is compiled once,
//! and have names of their own: there, cargo tells packages apart by name and version only.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use fsr_build::key::Inputs;
use fsr_build::spec::{Arch, Digest, PackageSpec};
use fsr_build::store::{Compiler, Entry, EntryPaths, Manifest, Origin, PtxFacts, write_entry};

struct Package {
    _folder: tempfile::TempDir,
    root: PathBuf,
    name: &'static str,
}

/// What a cargo command said and did.
struct Outcome {
    package: String,
    success: bool,
    stderr: String,
}

impl Outcome {
    /// The lines with the words of fsr-build.
    fn messages(&self) -> String {
        let lines: Vec<&str> = self.stderr.lines().filter(|line| line.contains(&self.package)).collect();
        lines.join("\n")
    }

    fn ran_build_script(&self) -> bool {
        assert!(
            self.stderr.contains("build-script-build") || self.stderr.contains("Fresh"),
            "{}",
            self.stderr
        );
        self.stderr.lines().any(|line| line.contains("Running") && line.contains("build-script-build"))
    }
}

impl Package {
    fn new(name: &'static str) -> Package {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().join("a package, größer");
        let here = Path::new(env!("CARGO_MANIFEST_DIR"));
        let cargo_toml = format!(
            "[package]\nname = {name:?}\nversion = \"0.1.0\"\nedition = \"2024\"\n\n[workspace]\n\n\
             [build-dependencies]\nfsr-build = {{ path = {here:?} }}\n\n\
             [package.metadata.fsr]\narch = [\"sm_80\"]\ncuda = \"12.8\"\n\n\
             [package.metadata.fsr.kernels.transpose]\ntask = \"Transpose.\"\nhost = [\"examples/host.rs\"]\n\
             tunables = {{ TILE = [8, 16] }}\n"
        );
        let package = Package { _folder: folder, root, name };
        package.write("Cargo.toml", &cargo_toml);
        package.write("build.rs", "fn main() {\n    fsr_build::embed();\n}\n");
        package.write("examples/host.rs", "fn main() {}\n");
        package.write(
            "src/main.rs",
            "pub mod kernels {\n    include!(env!(\"FSR_KERNELS\"));\n}\n\nfn main() {\n    \
             for image in kernels::transpose::IMAGES {\n        \
             print!(\"{} {} {}\", image.arch, image.tunables.tile, image.ptx);\n    }\n}\n",
        );
        // The workspace's lock file has all that fsr-build needs, so nothing is looked up.
        fs::copy(here.join("../Cargo.lock"), package.root.join("Cargo.lock")).unwrap();
        package
    }

    fn write(&self, path: &str, text: &str) {
        let path = self.root.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    fn edit(&self, path: &str, from: &str, to: &str) {
        let text = fs::read_to_string(self.root.join(path)).unwrap();
        assert!(text.contains(from), "{path} has no {from}");
        self.write(path, &text.replace(from, to));
    }

    fn tune(&self) {
        let spec = PackageSpec::read(&self.root.join("Cargo.toml")).unwrap().unwrap();
        for arch in &spec.archs {
            let paths = EntryPaths::in_package(&self.root, "transpose", *arch);
            write_entry(&paths, &entry(&spec, *arch)).unwrap();
        }
    }

    fn cargo(&self, command: &str, switches: &[&str]) -> Outcome {
        let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
        let mut process = Command::new(cargo);
        process.args([command, "--offline", "--verbose", "--color", "never"]).current_dir(&self.root);
        process.env("CARGO_TARGET_DIR", Path::new(env!("CARGO_TARGET_TMPDIR")).join("build_script"));
        for switch in ["FSR_ALLOW_STALE", "DOCS_RS", "FSR_TUNING"] {
            process.env_remove(switch);
        }
        process.envs(switches.iter().map(|switch| (switch, "1")));
        let output = process.output().unwrap();
        Outcome {
            package: format!("{}@0.1.0: ", self.name),
            success: output.status.success(),
            stderr: String::from_utf8(output.stderr).unwrap() + &String::from_utf8(output.stdout).unwrap(),
        }
    }

    fn build(&self) -> Outcome {
        self.cargo("build", &[])
    }
}

fn entry(spec: &PackageSpec, arch: Arch) -> Entry {
    let nothing = Digest::of_bytes(b"");
    let manifest = Manifest {
        kernel: "transpose".to_owned(),
        arch,
        inputs: Inputs::of(spec, &spec.kernels["transpose"], &arch).unwrap(),
        entries: vec!["transpose".to_owned()],
        tunables: BTreeMap::from([("TILE".to_owned(), 16)]),
        launch: BTreeMap::new(),
        needs: BTreeMap::new(),
        ptx: PtxFacts { isa: "8.7".parse().unwrap(), target: arch, oldest_driver: "12.8".parse().unwrap() },
        ptx_sha256: nothing,
        source_sha256: nothing,
        compiler: Compiler { name: "nvrtc".to_owned(), version: "12.8.93".to_owned(), flags: Vec::new() },
        origin: Origin::CompiledOnly,
        validated: Vec::new(),
        timed: Vec::new(),
        device: None,
        model: None,
        run: "test".to_owned(),
    };
    Entry::new(manifest, &format!(".version 8.7\n.target {arch}\n// \"größe\"\n"), "// source\n")
}

#[test]
fn an_untuned_package_fails_with_the_command_that_tunes_it() {
    let package = Package::new("untuned");
    let outcome = package.build();
    assert!(!outcome.success);
    insta::assert_snapshot!(outcome.messages(), @"error: untuned@0.1.0: kernel `transpose` is not tuned for sm_80; run `cargo fsr tune -p untuned transpose`");
    assert!(!outcome.stderr.contains("panicked"), "{}", outcome.stderr);
    assert!(!package.root.join("fsr").exists());
}

#[test]
fn a_tuned_package_carries_its_kernel_and_is_built_once() {
    let package = Package::new("tuned");
    package.tune();
    let outcome = package.build();
    assert!(outcome.success && outcome.ran_build_script(), "{}", outcome.stderr);
    assert_eq!(outcome.messages(), "");
    assert!(!package.build().ran_build_script());
    assert!(
        package.cargo("run", &[]).stderr.ends_with("sm_80 16 .version 8.7\n.target sm_80\n// \"größe\"\n")
    );

    // Another package's file, and one of this package that no kernel is made from.
    package.write("src/other.rs", "// other\n");
    assert!(!package.build().ran_build_script());
}

#[test]
fn every_change_that_matters_is_noticed() {
    let package = Package::new("changing");
    package.tune();
    assert!(package.build().success);

    package.edit("examples/host.rs", "{}", "{ }");
    let outcome = package.build();
    assert!(outcome.success);
    insta::assert_snapshot!(outcome.messages(), @"warning: changing@0.1.0: kernel `transpose` is unverified for sm_80: host:examples/host.rs changed; run `cargo fsr verify --update -p changing transpose`");
    assert!(!package.build().ran_build_script());

    package.edit("fsr/transpose/sm_80.ptx", "8.7", "8.6");
    let outcome = package.build();
    assert!(!outcome.success);
    insta::assert_snapshot!(outcome.messages(), @"error: changing@0.1.0: kernel `transpose` has no usable entry for sm_80: fsr/transpose/sm_80.ptx is not the file that its manifest records; restore it from version control, or run `cargo fsr tune -p changing transpose`");

    package.tune();
    let outcome = package.build();
    assert!(outcome.success);
    assert_eq!(outcome.messages(), "");

    package.edit("Cargo.toml", "[8, 16]", "[16, 32]");
    let outcome = package.build();
    assert!(!outcome.success);
    insta::assert_snapshot!(outcome.messages(), @"error: changing@0.1.0: kernel `transpose` is stale for sm_80: tunables changed; run `cargo fsr tune -p changing transpose`, or set FSR_ALLOW_STALE=1 to build with the old one");
    let outcome = package.cargo("build", &["FSR_ALLOW_STALE"]);
    assert!(outcome.success);
    insta::assert_snapshot!(outcome.messages(), @"warning: changing@0.1.0: kernel `transpose` is stale for sm_80: tunables changed; run `cargo fsr tune -p changing transpose`");
    assert!(!package.build().success, "the switch is off again");

    package.tune();
    assert!(package.build().success);
    fs::remove_dir_all(package.root.join("fsr")).unwrap();
    let outcome = package.build();
    assert!(!outcome.success);
    assert!(outcome.messages().contains("is not tuned for sm_80"), "{}", outcome.stderr);
}

#[test]
fn documentation_is_built_without_kernels_and_not_again_and_again() {
    let package = Package::new("documented");
    let outcome = package.cargo("build", &["DOCS_RS"]);
    assert!(outcome.success, "{}", outcome.stderr);
    insta::assert_snapshot!(outcome.messages(), @"warning: documented@0.1.0: kernel `transpose` is not tuned for sm_80; run `cargo fsr tune -p documented transpose`");
    assert!(!package.cargo("build", &["DOCS_RS"]).ran_build_script());
    assert!(package.cargo("doc", &["DOCS_RS"]).success);
    // The empty table is not kept for a build that ships.
    assert!(!package.build().success);
}

#[test]
fn a_tuning_build_is_not_repeated_and_sees_a_kernel_that_appears() {
    let package = Package::new("tuning");
    fs::create_dir(package.root.join("fsr")).unwrap();
    let tuning = || package.cargo("run", &["FSR_TUNING"]);
    let outcome = tuning();
    assert!(outcome.success, "{}", outcome.stderr);
    assert_eq!(outcome.messages(), "");
    assert!(!tuning().ran_build_script());
    package.tune();
    assert!(tuning().stderr.contains("sm_80 16 .version"));
}
