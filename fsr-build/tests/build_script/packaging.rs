//! Builds as strangers make them: from a registry, vendored, installed, in large workspaces, at odd places.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::SystemTime;

use serde_json::Value;

use crate::support::{Package, by_path, cargo, here};

/// A folder that stands for the registry, as `cargo vendor` fills it: fsr-build as it would be published, and all that it
/// depends on. Gives a cargo home that takes everything from there.
fn vendored(folder: &Path) -> PathBuf {
    let vendor = folder.join("vendor");
    let packaged = folder.join("packaged");
    let quiet = ["--quiet", "--offline", "--locked"];
    let package = ["package", "-p", "fsr-build", "--no-verify", "--allow-dirty", "--target-dir"];
    run(cargo().args(package).arg(&packaged).args(quiet).current_dir(here()));
    unpack(&packaged.join("package").join(format!("fsr-build-{}.crate", env!("CARGO_PKG_VERSION"))), &vendor);

    // Not offline: it names packages for other platforms too, which a build of this workspace never fetches.
    let metadata = ["metadata", "--format-version", "1", "--quiet", "--locked"];
    let metadata = run(cargo().args(metadata).current_dir(here()));
    let metadata: Value = serde_json::from_str(&metadata).unwrap();
    let (packages, nodes) = (by_id(&metadata["packages"]), by_id(&metadata["resolve"]["nodes"]));
    // With every optional one: cargo looks at those too before it decides.
    let (own, _) = packages.iter().find(|(_, package)| package["name"] == "fsr-build").unwrap();
    let (mut open, mut seen) = (vec![*own], BTreeSet::new());
    while let Some(id) = open.pop() {
        for dependency in nodes[id]["deps"].as_array().unwrap() {
            let id = text(&dependency["pkg"]);
            let is_built =
                dependency["dep_kinds"].as_array().unwrap().iter().any(|kind| kind["kind"] != "dev");
            if is_built && seen.insert(id) {
                let package = packages[id];
                let name = format!("{}-{}", text(&package["name"]), text(&package["version"]));
                copy(Path::new(text(&package["manifest_path"])).parent().unwrap(), &vendor.join(name));
                open.push(id);
            }
        }
    }
    for entry in fs::read_dir(&vendor).unwrap() {
        fs::write(entry.unwrap().path().join(".cargo-checksum.json"), "{\"files\":{}}").unwrap();
    }

    let home = folder.join("cargo-home");
    fs::create_dir_all(&home).unwrap();
    let config = format!(
        "[source.crates-io]\nreplace-with = \"vendored\"\n\n[source.vendored]\ndirectory = {vendor:?}\n"
    );
    fs::write(home.join("config.toml"), config).unwrap();
    home
}

fn by_id(list: &Value) -> BTreeMap<&str, &Value> {
    list.as_array().unwrap().iter().map(|item| (text(&item["id"]), item)).collect()
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap()
}

/// What fsr-build depends on, as `NAME vVERSION`.
fn dependencies() -> BTreeSet<String> {
    let mut tree = cargo();
    tree.args([
        "tree",
        "-p",
        "fsr-build",
        "--edges",
        "normal,build",
        "--prefix",
        "none",
        "--no-dedupe",
        "--offline",
    ]);
    let tree = run(tree.current_dir(here()));
    let names = tree.lines().map(|line| line.split(' ').take(2).collect::<Vec<_>>().join(" "));
    names.filter(|name| !name.starts_with("fsr-build ")).collect()
}

#[test]
fn every_user_compiles_at_most_sixteen_crates() {
    let dependencies = dependencies();
    assert!(dependencies.len() < 16, "{dependencies:?}");
}

/// What it printed.
#[track_caller]
fn run(command: &mut Command) -> String {
    let output = command.output().unwrap();
    assert!(output.status.success(), "{command:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

fn unpack(file: &Path, folder: &Path) {
    fs::create_dir_all(folder).unwrap();
    run(Command::new("tar").arg("xzf").arg(file).arg("-C").arg(folder));
}

fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap().map(Result::unwrap) {
        let to = to.join(entry.file_name());
        if entry.path().is_dir() {
            copy(&entry.path(), &to)
        } else {
            fs::copy(entry.path(), to).map(drop).unwrap()
        }
    }
}

/// Every file with its time: what a build must leave alone.
fn state(folder: &Path) -> BTreeMap<PathBuf, (u64, SystemTime)> {
    let mut files = BTreeMap::new();
    for entry in fs::read_dir(folder).unwrap().map(Result::unwrap) {
        if entry.path().is_dir() {
            files.extend(state(&entry.path()));
        } else {
            let data = entry.metadata().unwrap();
            files.insert(entry.path(), (data.len(), data.modified().unwrap()));
        }
    }
    files
}

fn read_only(folder: &Path, yes: bool) {
    let mode = if yes { "a-w" } else { "u+w" };
    run(Command::new("chmod").args(["-R", mode]).arg(folder));
}

/// A published package is packaged, unpacked, built without workspace, network, home and leave to write, and installed.
#[test]
fn a_published_package_builds_from_vendored_read_only_sources() {
    let folder = tempfile::tempdir().unwrap();
    let home = vendored(folder.path());
    let package = Package::at(folder.path().join("ops"), "published", "\"0.1\"");
    package.append("Cargo.toml", "\n[workspace]\n");
    package.edit(
        "Cargo.toml",
        "edition =",
        "description = \"Kernels.\"\nlicense = \"MIT\"\nexclude = [\"/examples\"]\nedition =",
    );
    package.tune();
    let target = folder.path().join("elsewhere/target");
    let cargo = || {
        let mut command = cargo();
        // Of its own: the same crates from another place would be built anew for every other test.
        command.env("CARGO_HOME", &home).env("CARGO_TARGET_DIR", &target);
        command.arg("--offline").current_dir(&package.root);
        command
    };
    // Verified: cargo builds what it packaged.
    let packaged = package.outcome(cargo().args(["package", "--allow-dirty"]));
    assert!(packaged.success, "{}", packaged.stderr);
    assert!(!packaged.stderr.contains("warning: published@"), "{}", packaged.stderr);
    let sources = folder.path().join("sources");
    unpack(&target.join("package/published-0.1.0.crate"), &sources);
    let source = sources.join("published-0.1.0");
    assert!(source.join("fsr/transpose/sm_80.ptx").exists() && !source.join("examples").exists());

    // As a distribution's sandbox builds it. Superusers may write anything, so what is there is compared as well.
    let before = state(&source);
    read_only(&source, true);
    let sandbox = |words: &str| {
        let mut command = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
        command.env_clear().env("PATH", std::env::var_os("PATH").unwrap()).env("CARGO_HOME", &home);
        if let Some(rustup) = std::env::var_os("RUSTUP_HOME") {
            command.env("RUSTUP_HOME", rustup);
        } else if let Some(home) = std::env::home_dir() {
            command.env("RUSTUP_HOME", home.join(".rustup"));
        }
        command.env("CARGO_TARGET_DIR", &target);
        command.args(words.split(' ')).current_dir(&source);
        command
    };
    let shown = "sm_80 16 .version 8.7\n.target sm_80\n// \"größe\"\n";
    assert_eq!(run(&mut sandbox("run --offline --locked --quiet")), shown);
    assert_eq!(run(sandbox("run --quiet --offline --release --target").arg(host())), shown);
    let installed = folder.path().join("installed");
    run(sandbox("install --quiet --offline --locked --path . --root").arg(&installed));
    assert_eq!(run(&mut Command::new(installed.join("bin/published"))), shown);
    // docs.rs builds so, kernels or not.
    run(sandbox("doc --quiet --offline --locked --no-deps").env("DOCS_RS", "1"));
    assert_eq!(state(&source), before);
    read_only(&source, false);
}

/// The triple of this machine: cargo takes another way when it is named.
fn host() -> String {
    let rustc = std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
    let told = run(Command::new(rustc).arg("-vV"));
    told.lines().find_map(|line| line.strip_prefix("host: ")).unwrap().to_owned()
}

#[test]
fn in_a_workspace_of_twenty_one_changed_kernel_rebuilds_its_own_package() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().join("ws");
    let names: Vec<String> = (0..20).map(|at| format!("member-{at:02}")).collect();
    let packages: Vec<Package> =
        names.iter().map(|name| Package::at(root.join(name), name, &by_path())).collect();
    fs::write(root.join("Cargo.toml"), format!("[workspace]\nresolver = \"3\"\nmembers = {names:?}\n"))
        .unwrap();
    fs::copy(here().join("../Cargo.lock"), root.join("Cargo.lock")).unwrap();
    packages.iter().for_each(Package::tune);
    let build = || {
        let built = packages[0]
            .outcome(cargo().args(["build", "--workspace", "--offline", "--verbose"]).current_dir(&root));
        assert!(built.success, "{}", built.stderr);
        let ran = built.stderr.lines().filter(|line| {
            line.contains("Running") && line.contains("build/member-") && line.contains("/build-script-build")
        });
        ran.count()
    };
    assert_eq!(build(), 20);
    assert_eq!(build(), 0);
    packages[7].edit("Cargo.toml", "Transpose.", "Transpose quickly.");
    packages[7].tune();
    assert_eq!(build(), 1);
    assert_eq!(build(), 0);
}

#[test]
fn two_versions_of_a_package_in_one_program_keep_their_own_kernels() {
    let folder = tempfile::tempdir().unwrap();
    let old = Package::at(folder.path().join("old"), "twice", &by_path());
    let new = Package::at(folder.path().join("new"), "twice", &by_path());
    new.edit("Cargo.toml", "version = \"0.1.0\"", "version = \"0.2.0\"");
    new.edit("Cargo.toml", "sm_80", "sm_90");
    old.tune();
    new.tune();
    let both = Package::at(folder.path().join("both"), "both", &by_path());
    both.append(
        "Cargo.toml",
        "\n[dependencies]\nold = { package = \"twice\", path = \"../old\" }\nnew = { package = \"twice\", path = \"../new\" }\n\
         [workspace]\n",
    );
    fs::copy(here().join("../Cargo.lock"), both.root.join("Cargo.lock")).unwrap();
    both.tune();
    both.write(
        "src/main.rs",
        "fn main() {\n    print!(\"{:?} {:?} {:?}\", old::kernels::transpose::ARCHS, new::kernels::transpose::ARCHS, \
         both::kernels::transpose::ARCHS);\n}\n",
    );
    let ran = both.cargo("run", &[]);
    assert!(ran.stderr.ends_with(r#"["sm_80"] ["sm_90"] ["sm_80"]"#), "{}", ran.stderr);
}

#[test]
fn places_with_odd_names_are_places() {
    let folder = tempfile::tempdir().unwrap();
    for (at, odd) in ["it's \"quoted\"", "größe 日本 🦀", "a#b$HOME&;(x)"].iter().enumerate() {
        let package = Package::at(folder.path().join(odd), &format!("odd-{at}"), &by_path());
        package.append("Cargo.toml", "\n[workspace]\n");
        fs::copy(here().join("../Cargo.lock"), package.root.join("Cargo.lock")).unwrap();
        package.tune();
        let run = |target: &Path| {
            let mut command = cargo();
            command
                .args(["run", "--offline", "--verbose"])
                .env("CARGO_TARGET_DIR", target)
                .current_dir(&package.root);
            package.outcome(&mut command)
        };
        // The target folder, and so `OUT_DIR`, is as odd.
        let shared = Path::new(env!("CARGO_TARGET_TMPDIR")).join("odd").join(odd);
        let ran = run(&shared);
        assert!(ran.stderr.contains("sm_80 16 .version 8.7"), "{odd}: {}", ran.stderr);
        assert!(!run(&shared).ran_build_script(), "{odd}");
        package.edit("examples/host.rs", "{}", "{ }");
        assert!(run(&shared).messages().contains("is unverified for sm_80"), "{odd}");
    }
}
