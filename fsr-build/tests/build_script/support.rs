//! A temporary package with one kernel, and the user's cargo on it.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use fsr_build::key::Inputs;
use fsr_build::spec::{Arch, Digest, PackageSpec};
use fsr_build::store::{Compiler, Entry, EntryPaths, Manifest, Origin, PtxFacts, write_entry};

/// A package with the kernel `transpose`.
pub struct Package {
    pub root: PathBuf,
    name: String,
    /// Where it lies, if it has a folder of its own.
    _folder: Option<tempfile::TempDir>,
}

/// What a cargo command said and did.
pub struct Outcome {
    package: String,
    pub success: bool,
    pub stderr: String,
}

impl Outcome {
    /// The lines with the words of fsr-build.
    pub fn messages(&self) -> String {
        let lines: Vec<&str> = self.stderr.lines().filter(|line| line.contains(&self.package)).collect();
        lines.join("\n")
    }

    pub fn ran_build_script(&self) -> bool {
        assert!(
            self.stderr.contains("build-script-build") || self.stderr.contains("Fresh"),
            "{}",
            self.stderr
        );
        self.stderr.lines().any(|line| line.contains("Running") && line.contains("build-script-build"))
    }
}

impl Package {
    /// A package in a workspace and a folder of its own.
    pub fn new(name: &str) -> Package {
        let folder = tempfile::tempdir().unwrap();
        let mut package = Package::at(folder.path().join("a package, größer"), name, &by_path());
        package.append("Cargo.toml", "\n[workspace]\n");
        // The workspace's lock file has all that fsr-build needs, so nothing is looked up.
        fs::copy(here().join("../Cargo.lock"), package.root.join("Cargo.lock")).unwrap();
        package._folder = Some(folder);
        package
    }

    /// A package at `root` that takes fsr-build from `dependency`; a member of whatever workspace is around it.
    pub fn at(root: PathBuf, name: &str, dependency: &str) -> Package {
        let package = Package { root, name: name.to_owned(), _folder: None };
        package.write(
            "Cargo.toml",
            format!(
                "[package]\nname = {name:?}\nversion = \"0.1.0\"\nedition = \"2024\"\n\n\
                 [build-dependencies]\nfsr-build = {dependency}\n\n\
                 [package.metadata.fsr]\narch = [\"sm_80\"]\ncuda = \"12.8\"\n\n\
                 [package.metadata.fsr.kernels.transpose]\ntask = \"Transpose.\"\n\
                 host = [\"examples/host.rs\"]\ntunables = {{ TILE = [8, 16] }}\n"
            ),
        );
        package.write("build.rs", "fn main() {\n    fsr_build::embed();\n}\n");
        package.write("examples/host.rs", "fn main() {}\n");
        package.write("src/lib.rs", "pub mod kernels {\n    include!(env!(\"FSR_KERNELS\"));\n}\n");
        let library = name.replace('-', "_");
        package.write(
            "src/main.rs",
            format!(
                "fn main() {{\n    for image in {library}::kernels::transpose::IMAGES {{\n        \
                 print!(\"{{}} {{}} {{}}\", image.arch, image.tunables.tile, image.ptx);\n    }}\n}}\n"
            ),
        );
        package
    }

    pub fn write(&self, path: &str, text: impl AsRef<[u8]>) {
        let path = self.root.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    pub fn append(&self, path: &str, text: &str) {
        let before = fs::read_to_string(self.root.join(path)).unwrap();
        self.write(path, before + text);
    }

    pub fn edit(&self, path: &str, from: &str, to: &str) {
        let text = fs::read_to_string(self.root.join(path)).unwrap();
        assert!(text.contains(from), "{path} has no {from}");
        self.write(path, text.replace(from, to));
    }

    pub fn tune(&self) {
        let spec = PackageSpec::read(&self.root.join("Cargo.toml")).unwrap().unwrap();
        for arch in &spec.archs {
            let paths = EntryPaths::in_package(&self.root, "transpose", *arch);
            write_entry(&paths, &entry(&spec, *arch)).unwrap();
        }
    }

    pub fn cargo(&self, command: &str, switches: &[&str]) -> Outcome {
        let mut process = cargo();
        process.args(command.split(' ')).args(["--offline", "--verbose"]).current_dir(&self.root);
        process.envs(switches.iter().map(|switch| (switch, "1")));
        self.outcome(&mut process)
    }

    /// Runs a command that builds this package.
    pub fn outcome(&self, process: &mut Command) -> Outcome {
        let output = process.output().unwrap();
        Outcome {
            package: format!("{}@0.1.0: ", self.name),
            success: output.status.success(),
            stderr: String::from_utf8(output.stderr).unwrap() + &String::from_utf8(output.stdout).unwrap(),
        }
    }

    pub fn build(&self) -> Outcome {
        self.cargo("build", &[])
    }
}

/// This crate's folder.
pub fn here() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// A dependency on this very crate.
pub fn by_path() -> String {
    format!("{{ path = {:?} }}", here())
}

/// The user's cargo, without the switches of fsr-build, with the tests' own target folder.
pub fn cargo() -> Command {
    let mut process = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    process.env("CARGO_TARGET_DIR", Path::new(env!("CARGO_TARGET_TMPDIR")).join("build_script"));
    process.env("CARGO_TERM_COLOR", "never");
    for switch in ["FSR_ALLOW_STALE", "DOCS_RS", "FSR_TUNING"] {
        process.env_remove(switch);
    }
    process
}

/// An entry that is fresh for the spec as it is now, with a mark in its PTX.
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
