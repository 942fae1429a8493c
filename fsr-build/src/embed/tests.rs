//! What a build script tells cargo and what it generates, for packages in every state.

use std::fs;
use std::path::Path;
use std::process::Command;

use super::*;
use crate::fixture;
use crate::store::{EntryPaths, write_entry};

/// A package with its `OUT_DIR` beside it.
struct Package {
    folder: tempfile::TempDir,
    out: tempfile::TempDir,
}

impl Package {
    fn untuned() -> Package {
        Package { folder: fixture::package(), out: tempfile::tempdir().unwrap() }
    }

    fn tuned() -> Package {
        let package = Package::untuned();
        package.tune(&["sm_80", "sm_90a"]);
        package
    }

    fn root(&self) -> &Path {
        self.folder.path()
    }

    fn tune(&self, archs: &[&str]) {
        let spec = fixture::spec(self.root());
        for kernel in spec.kernels.values() {
            for arch in archs {
                let arch = fixture::arch(arch);
                let paths = EntryPaths::in_package(self.root(), &kernel.name, arch);
                write_entry(&paths, &fixture::entry(&spec, kernel, arch, "x")).unwrap();
            }
        }
    }

    fn edit(&self, file: &str, from: &str, to: &str) {
        let text = fs::read_to_string(self.root().join(file)).unwrap();
        assert!(text.contains(from), "{file} has no {from}");
        fs::write(self.root().join(file), text.replace(from, to)).unwrap();
    }

    fn surroundings(&self) -> Surroundings {
        Surroundings {
            manifest_dir: self.root().to_owned(),
            out_dir: self.out.path().to_owned(),
            allow_stale: false,
            docs: false,
            tuning: false,
        }
    }

    /// What a user sees: cargo's directives, then errors.
    fn build(&self) -> String {
        self.build_with(self.surroundings())
    }

    fn build_with(&self, around: Surroundings) -> String {
        let mut told = Vec::new();
        let result = around.embed(&mut told);
        if let Err(error) = result {
            told.extend(error.messages().into_iter().map(|message| format!("error={message}")));
        }
        told.retain(|line| !line.starts_with("rerun-if-env-changed"));
        // Windows paths, in directives as in messages.
        told.join("\n").replace(&self.out.path().display().to_string(), "OUT_DIR").replace('\\', "/")
    }

    fn complaints(&self) -> String {
        complaints(&self.build())
    }

    fn module(&self) -> String {
        fs::read_to_string(self.out.path().join("fsr.rs")).unwrap()
    }
}

fn complaints(told: &str) -> String {
    let lines: Vec<&str> =
        told.lines().filter(|line| line.starts_with("warning=") || line.starts_with("error=")).collect();
    lines.join("\n")
}

#[test]
fn a_fresh_package_is_embedded_without_a_word() {
    let package = Package::tuned();
    insta::assert_snapshot!(package.build(), @r"
    rerun-if-changed=Cargo.toml
    rerun-if-changed=examples/fsr_transpose.rs
    rerun-if-changed=fsr/transpose
    rerun-if-changed=kernels/common.cuh
    rerun-if-changed=kernels/transpose.cu
    rerun-if-changed=src/launch.rs
    rustc-env=FSR_KERNELS=OUT_DIR/fsr.rs
    ");
}

#[test]
fn the_generated_module_is_readable() {
    let package = Package::tuned();
    package.build();
    let module = package.module();
    let kernels = module.split_once("/// The kernel `transpose`").map(|(_, kernels)| kernels).unwrap();
    insta::assert_snapshot!(kernels);
}

#[test]
fn an_unchanged_module_is_not_written_again() {
    let package = Package::tuned();
    package.build();
    let module = package.out.path().join("fsr.rs");
    let long_ago = std::time::SystemTime::UNIX_EPOCH + std::time::Duration::from_secs(1_000_000);
    fs::File::options().write(true).open(&module).unwrap().set_modified(long_ago).unwrap();
    package.build();
    assert_eq!(fs::metadata(&module).unwrap().modified().unwrap(), long_ago);
    let names: Vec<_> =
        fs::read_dir(package.out.path()).unwrap().map(|file| file.unwrap().file_name()).collect();
    assert_eq!(names, ["fsr.rs"]);
}

#[test]
fn a_missing_entry_names_the_command_and_watches_the_nearest_folder() {
    let package = Package::untuned();
    insta::assert_snapshot!(package.build(), @r"
    rerun-if-changed=Cargo.toml
    rerun-if-changed=examples/fsr_transpose.rs
    rerun-if-changed=kernels/common.cuh
    rerun-if-changed=kernels/transpose.cu
    rerun-if-changed=src/launch.rs
    error=kernel `transpose` is not tuned for sm_80, sm_90a; run `cargo fsr tune -p ops transpose`
    ");
    package.tune(&["sm_80"]);
    insta::assert_snapshot!(package.complaints(), @"error=kernel `transpose` is not tuned for sm_90a; run `cargo fsr tune -p ops transpose`");
}

#[test]
fn missing_folders_are_noticed_without_watching_the_package() {
    let package = Package::untuned();
    fs::create_dir(package.root().join("fsr")).unwrap();
    fs::remove_file(package.root().join("examples/fsr_transpose.rs")).unwrap();
    fs::remove_dir_all(package.root().join("kernels")).unwrap();
    insta::assert_snapshot!(package.build(), @r"
    rerun-if-changed=Cargo.toml
    rerun-if-changed=examples
    rerun-if-changed=fsr
    rerun-if-changed=src/launch.rs
    error=kernel `transpose` is not tuned for sm_80, sm_90a; run `cargo fsr tune -p ops transpose`
    ");
}

#[test]
fn a_changed_contract_fails_and_says_what_changed() {
    let package = Package::tuned();
    package.edit("Cargo.toml", "TILE = [8, 16, 32]", "TILE = [8, 16]");
    package.edit("Cargo.toml", "atol = 1e-6", "atol = 1e-7");
    insta::assert_snapshot!(package.complaints(), @"error=kernel `transpose` is stale for sm_80, sm_90a: tolerance changed, tunables changed; run `cargo fsr tune -p ops transpose`, or set FSR_ALLOW_STALE=1 to build with the old one");
    let allowed = Surroundings { allow_stale: true, ..package.surroundings() };
    insta::assert_snapshot!(complaints(&package.build_with(allowed)), @"warning=kernel `transpose` is stale for sm_80, sm_90a: tolerance changed, tunables changed; run `cargo fsr tune -p ops transpose`");
}

#[test]
fn a_stale_entry_without_a_value_for_a_new_tunable_cannot_be_allowed() {
    let package = Package::tuned();
    package.edit("Cargo.toml", "TILE = [8, 16, 32]", "TILE = [8, 16, 32], UNROLL = [1, 2]");
    let allowed = Surroundings { allow_stale: true, ..package.surroundings() };
    let told = complaints(&package.build_with(allowed));
    assert!(
        told.starts_with("error=kernel `transpose` is stale for sm_80, sm_90a: tunables changed"),
        "{told}"
    );
}

#[test]
fn changed_evidence_warns_and_builds() {
    let package = Package::tuned();
    package.edit("examples/fsr_transpose.rs", "fn main() {\n}", "fn main() {}");
    insta::assert_snapshot!(package.complaints(), @"warning=kernel `transpose` is unverified for sm_80, sm_90a: host:examples/fsr_transpose.rs changed; run `cargo fsr verify --update -p ops transpose`");
    assert!(package.module().contains(".target sm_90a"));
}

#[test]
fn what_a_published_package_leaves_out_is_not_judged() {
    let package = Package::tuned();
    fs::remove_dir_all(package.root().join("examples")).unwrap();
    assert_eq!(package.complaints(), "");
}

#[test]
fn line_endings_of_a_checkout_are_not_judged() {
    let package = Package::tuned();
    for file in
        ["Cargo.toml", "examples/fsr_transpose.rs", "fsr/transpose/sm_80.toml", "fsr/transpose/sm_80.ptx"]
    {
        package.edit(file, "\n", "\r\n");
    }
    assert_eq!(package.complaints(), "");
    assert!(!package.module().contains('\r'));
}

#[test]
fn damage_is_named_with_the_file_and_the_way_out() {
    let damage = |damage: &dyn Fn(&Package)| {
        let package = Package::tuned();
        damage(&package);
        let told = package.complaints();
        assert!(!package.out.path().join("fsr.rs").exists());
        told
    };
    let manifest = "fsr/transpose/sm_80.toml";
    let told = [
        damage(&|package| package.edit("fsr/transpose/sm_80.ptx", "64", "32")),
        damage(&|package| package.edit("fsr/transpose/sm_80.cu", "source", "edited")),
        damage(&|package| fs::remove_file(package.root().join("fsr/transpose/sm_80.ptx")).unwrap()),
        damage(&|package| package.edit(manifest, "TILE = 8", "TILE = 16")),
        damage(&|package| package.edit(manifest, "format = 1", "format = 2")),
        damage(&|package| package.edit(manifest, "format = 1\n", "<<<<<<< HEAD\nformat = 1\n=======\n")),
        damage(&|package| package.edit(manifest, "format = 1\n", "format = 1\nnonsense = 1\n")),
        damage(&|package| package.edit(manifest, "origin = \"tuned_on\"", "origin = \"found\"")),
        damage(&|package| package.edit(manifest, "format = 1\n", "format = \n")),
        damage(&|package| fs::write(package.root().join(manifest), "").unwrap()),
        damage(&|package| fs::write(package.root().join(manifest), b"\xff").unwrap()),
    ];
    insta::assert_snapshot!(told.join("\n"), @r"
    error=kernel `transpose` has no usable entry for sm_80: fsr/transpose/sm_80.ptx is not the file that its manifest records; restore it from version control, or run `cargo fsr tune -p ops transpose`
    error=kernel `transpose` has no usable entry for sm_80: fsr/transpose/sm_80.cu is not the file that its manifest records; restore it from version control, or run `cargo fsr tune -p ops transpose`
    error=kernel `transpose` has no usable entry for sm_80: fsr/transpose/sm_80.ptx is gone, but its manifest is there; restore it from version control, or run `cargo fsr tune -p ops transpose`
    error=kernel `transpose` has no usable entry for sm_80: fsr/transpose/sm_80.toml cannot be used: it was edited after cargo fsr wrote it; restore it from version control, or run `cargo fsr tune -p ops transpose`
    error=kernel `transpose` has no usable entry for sm_80: fsr/transpose/sm_80.toml cannot be used: it has format 2 and this fsr-build reads format 1: update fsr-build; or run `cargo fsr tune -p ops transpose`
    error=kernel `transpose` has no usable entry for sm_80: fsr/transpose/sm_80.toml cannot be used: line 4 marks a merge conflict: take the three files of one side; or run `cargo fsr tune -p ops transpose`
    error=kernel `transpose` has no usable entry for sm_80: fsr/transpose/sm_80.toml cannot be used: 5:1: unknown key `nonsense`; restore it from version control, or run `cargo fsr tune -p ops transpose`
    error=kernel `transpose` has no usable entry for sm_80: fsr/transpose/sm_80.toml cannot be used: 8:10: `origin`: `found` is none of `tuned_on`, `compiled_only`; restore it from version control, or run `cargo fsr tune -p ops transpose`
    error=kernel `transpose` has no usable entry for sm_80: fsr/transpose/sm_80.toml cannot be used: 4:10: string values must be quoted, expected literal string; restore it from version control, or run `cargo fsr tune -p ops transpose`
    error=kernel `transpose` has no usable entry for sm_80: fsr/transpose/sm_80.toml cannot be used: `format` is missing, such as `format = 1`; restore it from version control, or run `cargo fsr tune -p ops transpose`
    error=kernel `transpose` has no usable entry for sm_80: fsr/transpose/sm_80.toml cannot be read: invalid utf-8 sequence of 1 bytes from index 0; restore it from version control, or run `cargo fsr tune -p ops transpose`
    ");
}

#[test]
fn docs_are_built_without_images_and_say_so() {
    let package = Package::untuned();
    package.tune(&["sm_80"]);
    let docs = Surroundings { docs: true, ..package.surroundings() };
    insta::assert_snapshot!(complaints(&package.build_with(docs)), @"warning=kernel `transpose` is not tuned for sm_90a; run `cargo fsr tune -p ops transpose`");
    assert!(package.module().contains("pub const ARCHS: &[&str] = &[\"sm_80\"];"));
}

#[test]
fn a_tuning_build_leaves_out_what_is_not_fresh_in_silence() {
    let package = Package::tuned();
    package.edit("Cargo.toml", "TILE = [8, 16, 32]", "TILE = [8, 16]");
    let tuning = Surroundings { tuning: true, ..package.surroundings() };
    assert_eq!(complaints(&package.build_with(tuning)), "");
    assert!(package.module().contains("pub const ARCHS: &[&str] = &[];"));
}

#[test]
fn faults_of_the_spec_have_a_place() {
    let package = Package::tuned();
    package.edit("Cargo.toml", "baseline =", "base-line =");
    let told = package.complaints().replace(&package.root().display().to_string().replace('\\', "/"), "ROOT");
    insta::assert_snapshot!(told, @"error=ROOT/Cargo.toml:14:1: unknown key `base-line` in [package.metadata.fsr.kernels.transpose]; did you mean `baseline`?");
    fs::write(package.root().join("Cargo.toml"), "[package]\nname = \"ops\"\n").unwrap();
    let told = package.complaints().replace(&package.root().display().to_string().replace('\\', "/"), "ROOT");
    insta::assert_snapshot!(told, @"error=ROOT/Cargo.toml has no [package.metadata.fsr], so there are no kernels to embed; declare one, or drop fsr_build::embed() from build.rs");
}

#[test]
fn switches_are_on_unless_empty_or_zero() {
    let on = |value: Option<&str>| is_on(value.map(OsString::from));
    assert!(on(Some("1")) && on(Some("true")));
    assert!(!on(None) && !on(Some("")) && !on(Some("0")));
}

#[test]
fn no_message_begins_another_directive() {
    assert_eq!(one_line("a\ncargo::warning=b\r\n"), "a cargo::warning=b  ");
}

/// Compiles the module into a program under the strictest lints, and runs that.
fn run(package: &Package, edition: &str, main: &str) {
    let module = package.out.path().join("fsr.rs");
    let source = package.out.path().join("main.rs");
    let program = package.out.path().join("main");
    let text = format!(
        "#![deny(warnings, missing_docs, rust_2018_idioms, unreachable_pub, unused)]\n#![forbid(unsafe_code)]\n//! Test.\n\
         /// Kernels.\npub mod kernels {{ include!(env!(\"FSR_KERNELS\")); }}\n{main}"
    );
    fs::write(&source, text).unwrap();
    let rustc = std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
    let output = Command::new(rustc)
        .args(["--edition", edition, "-o"])
        .args([&program, &source])
        .env("FSR_KERNELS", module)
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let output = Command::new(program).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}

#[test]
fn the_module_gives_each_device_its_best_image() {
    let package = Package::untuned();
    package.edit("Cargo.toml", "\"sm_90a\"", "\"sm_90a\", \"sm_90\", \"sm_100f\"");
    package.tune(&["sm_80", "sm_90", "sm_90a", "sm_100f"]);
    assert_eq!(package.complaints(), "");
    let main = r#"
        fn main() {
            use kernels::transpose::{image_for, Tunables, ENTRIES, IMAGES};
            let arch = |major, minor| image_for(major, minor).map(|image| image.arch).ok();
            assert_eq!(arch(7, 5), None);
            assert_eq!(arch(8, 0), Some("sm_80"));
            assert_eq!(arch(8, 9), Some("sm_80"));
            assert_eq!(arch(9, 0), Some("sm_90a"));
            assert_eq!(arch(10, 0), Some("sm_100f"));
            assert_eq!(arch(10, 1), Some("sm_90"));
            assert_eq!(arch(10, 3), Some("sm_100f"));
            assert_eq!(arch(12, 0), Some("sm_90"));

            assert_eq!(ENTRIES, ["transpose", "transpose_edge"]);
            let image = &IMAGES[0];
            assert_eq!((image.arch, image.compute_capability, image.oldest_driver), ("sm_80", (8, 0), (12, 8)));
            assert!(image.loads_with_driver(12080) && image.loads_with_driver(13000) && !image.loads_with_driver(12070));
            assert_eq!(image.ptx, "// x\n.version 8.7\n.target sm_80\n.address_size 64\n");
            assert_eq!(image.ptx_c_str.to_bytes(), image.ptx.as_bytes());
            assert_eq!(image.tunables, Tunables { tile: 8, block_x: 32 });
            assert_eq!(image.tunables.pairs(), [("BLOCK_X", 32), ("TILE", 8)]);

            let failure = |driver, major, minor| image.load_failure(driver, major, minor).to_string();
            assert_eq!(failure(12040, 8, 6), "the driver is for CUDA 12.4 and the image for sm_80 needs one for 12.8 or \
                newer: update the NVIDIA driver, or set `cuda = \"12.4\"` or older in Cargo.toml and tune");
            assert_eq!(failure(12040, 7, 5), "the image for sm_80 does not load on compute capability 7.5: take the one \
                that `image_for` gives, or add `sm_75` to `arch` in Cargo.toml and tune");
            assert!(failure(13000, 9, 0).starts_with("the driver (CUDA 13.0) should load the image for sm_80"));

            let values = |name: &str| (name == "TILE").then_some(16);
            let missing = Tunables::resolve(values).unwrap_err();
            assert_eq!(missing.to_string(), "kernel `transpose` has no value for `BLOCK_X`");
            assert_eq!(Tunables::resolve(|_| Some(64)), Ok(Tunables { tile: 64, block_x: 64 }));

            assert_eq!(image_for(7, 5).unwrap_err().to_string(), "kernel `transpose` has no image for compute \
                capability 7.5, only for sm_80, sm_90a, sm_90, sm_100f; add `sm_75` to `arch` in Cargo.toml and run \
                `cargo fsr tune -p ops transpose`");
        }"#;
    run(&package, "2021", main);
}

#[test]
fn the_module_compiles_without_images_parameters_or_kernels() {
    let package = Package::untuned();
    let docs = Surroundings { docs: true, ..package.surroundings() };
    package.build_with(docs.clone());
    let main = r#"fn main() {
        let error = kernels::transpose::image_for(9, 0).unwrap_err();
        assert_eq!(error.to_string(), "kernel `transpose` has no image for compute capability 9.0: it was built \
            without images; run `cargo fsr tune -p ops transpose` and build again");
    }"#;
    run(&package, "2018", main);

    package.edit("Cargo.toml", "tunables = { TILE = [8, 16, 32] }", "");
    package.edit("Cargo.toml", "launch = { BLOCK_X = [32, 1024] }", "");
    package.build_with(docs.clone());
    run(&package, "2024", "fn main() { assert!(kernels::transpose::Tunables::resolve(|_| None).is_ok()); }");

    package.edit("Cargo.toml", "[package.metadata.fsr.kernels.transpose]", "[package.metadata.other]");
    package.build_with(docs);
    run(&package, "2024", "fn main() {}");
}

#[test]
fn odd_names_compile() {
    let package = Package::untuned();
    package.edit("Cargo.toml", "kernels.transpose]", "kernels.Core]\nentry = \"core\"");
    package.edit("Cargo.toml", "entries = [\"transpose\", \"transpose_edge\"]", "");
    package.edit("Cargo.toml", "TILE =", "TYPE =");
    package.edit("Cargo.toml", "BLOCK_X", "gen");
    package.tune(&["sm_80", "sm_90a"]);
    assert_eq!(package.complaints(), "");
    run(&package, "2024", "fn main() { assert_eq!(kernels::Core::IMAGES[0].tunables.r#type, 8); }");
}

#[test]
fn a_module_called_as_something_of_the_prelude_compiles() {
    for name in ["Option", "Result", "Some", "Copy", "str", "u32", "core"] {
        let package = Package::untuned();
        package.edit("Cargo.toml", "kernels.transpose]", &format!("kernels.{name}]"));
        package.tune(&["sm_80", "sm_90a"]);
        assert_eq!(package.complaints(), "", "{name}");
        run(&package, "2024", &format!("fn main() {{ assert!(kernels::{name}::image_for(9, 0).is_ok()); }}"));
    }
}

/// Whatever happens to the files of a store, a build gives the kernels that were tuned, or fails.
#[test]
fn no_corruption_of_a_store_embeds_another_kernel() {
    corrupt(400);
}

/// As above, ten thousand times: `cargo test --release -p fsr-build -- --ignored corrupt --nocapture` prints the figures.
#[test]
#[ignore = "takes a while"]
fn ten_thousand_corruptions() {
    corrupt(10_000);
}

fn corrupt(times: u64) {
    let package = Package::tuned();
    package.build();
    let tuned = package.module();
    let folder = package.root().join("fsr/transpose");
    let files: Vec<_> = ["sm_80", "sm_90a"]
        .iter()
        .flat_map(|arch| ["toml", "ptx", "cu"].map(|kind| folder.join(format!("{arch}.{kind}"))))
        .collect();
    let whole: Vec<_> = files.iter().map(|file| fs::read(file).unwrap()).collect();

    let mut random = Random(1);
    let (mut refused, mut unharmed) = (0, 0);
    for time in 0..times {
        for _ in 0..=random.below(2) {
            random.corrupt(&files);
        }
        let told = package.build();
        if told.contains("error=") {
            refused += 1;
        } else {
            // A change that means nothing, such as one that was undone or touches line ends alone.
            assert_eq!(package.module(), tuned, "corruption {time}:\n{told}");
            unharmed += 1;
        }
        for (file, bytes) in files.iter().zip(&whole) {
            if fs::read(file).ok().as_ref() != Some(bytes) {
                fs::write(file, bytes).unwrap();
            }
        }
    }
    println!("{times} corruptions: {refused} refused, {unharmed} without effect, 0 embedded another kernel");
    assert!(refused > times / 2, "most corruptions are told");
}

/// A fixed sequence: a failure is found again.
struct Random(u64);

impl Random {
    fn below(&mut self, end: usize) -> usize {
        // Knuth's MMIX constants; the upper bits are the random ones.
        self.0 = self.0.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (self.0 >> 33) as usize % end
    }

    fn corrupt(&mut self, files: &[std::path::PathBuf]) {
        let [file, other] = [0; 2].map(|_| &files[self.below(files.len())]);
        let Ok(mut bytes) = fs::read(file) else { return };
        let at = self.below(bytes.len().max(1));
        match self.below(8) {
            0 if !bytes.is_empty() => bytes[at] ^= 1 << self.below(8),
            1 => bytes.truncate(at),
            2 => return fs::remove_file(file).unwrap(),
            3 => {
                let Ok(others) = fs::read(other) else { return };
                fs::write(other, &bytes).unwrap();
                bytes = others;
            }
            4 => {
                let text = String::from_utf8_lossy(&bytes).into_owned();
                bytes = format!("<<<<<<< ours\n{text}=======\n{text}>>>>>>> theirs\n").into_bytes();
            }
            5 => {
                let line = bytes[..at].iter().rposition(|byte| *byte == b'\n').map_or(0, |end| end + 1);
                let end = bytes[at..]
                    .iter()
                    .position(|byte| *byte == b'\n')
                    .map_or(bytes.len(), |end| at + end + 1);
                bytes.drain(line..end);
            }
            6 => bytes = String::from_utf8_lossy(&bytes).replace('\n', "\r\n").into_bytes(),
            _ => {
                // What an editor would do: a digit is another one.
                if let Some(digit) = bytes[at..].iter_mut().find(|byte| byte.is_ascii_digit()) {
                    *digit = b'0' + (*digit - b'0' + 1) % 10;
                }
            }
        }
        fs::write(file, bytes).unwrap();
    }
}
