//! `toolchain install` with the user's pip, and with pips that misbehave.

use super::*;

/// A folder with one script, to be the whole `PATH`.
fn path_with(name: &str, script: &str) -> tempfile::TempDir {
    use std::os::unix::fs::PermissionsExt;
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join(name);
    std::fs::write(&path, format!("#!/bin/sh\n{script}\n")).unwrap();
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
    folder
}

#[test]
fn again_is_nothing_to_do() {
    let own = toolchain(VERSION);
    let mut said = Vec::new();
    let again =
        toolchain::install(&own.version, &own_settings(), &mut |line| said.push(line.to_owned())).unwrap();
    assert_eq!(again, own);
    assert!(said.last().unwrap().starts_with("CUDA 12.8 is installed: "), "{said:?}");
}

#[test]
fn a_version_that_does_not_exist_lists_those_that_do() {
    let folder = tempfile::tempdir().unwrap();
    let mut settings = own_settings();
    settings.places.installed = folder.path().join("toolchains");
    let error = toolchain::install(&"12.7".parse().unwrap(), &settings, &mut |_| ()).unwrap_err();
    let InstallError::UnknownVersion { available, .. } = &error else { panic!("{error}") };
    assert!(available.contains(&"12.8".parse().unwrap()), "{error}");
    assert!(!settings.places.installed.join("cuda-12.7").exists());
    let left: Vec<_> =
        settings.places.installed.read_dir().unwrap().flatten().map(|e| e.file_name()).collect();
    assert_eq!(left, [".lock"]);
}

#[test]
fn an_installer_that_brings_nothing_is_found_out() {
    let folder = tempfile::tempdir().unwrap();
    let bin = path_with("python3", "exit 0");
    let mut settings = own_settings();
    settings.places.installed = folder.path().to_owned();
    let text = install_with_path(bin.path(), &settings).unwrap_err();
    assert!(text.contains("it reported success, and there is no NVRTC that works"), "{text}");
    assert!(!folder.path().join("cuda-12.8").exists());
}

#[test]
fn without_pip_and_uv_there_is_a_word() {
    let folder = tempfile::tempdir().unwrap();
    let bin = path_with("python3", "echo 'No module named pip' >&2; exit 1");
    let mut settings = own_settings();
    settings.places.installed = folder.path().to_owned();
    assert_eq!(
        install_with_path(bin.path(), &settings).unwrap_err(),
        "neither pip nor uv is here to fetch CUDA 12.8 with; install Python 3 with pip, or uv, and run \
         `cargo fsr toolchain install 12.8` again"
    );
}

/// A pip that takes its time, notes that it ran, and brings what is installed already.
fn slow_pip(notes: &Path) -> tempfile::TempDir {
    let own = toolchain(VERSION).library.ancestors().nth(4).unwrap().to_owned();
    path_with(
        "python3",
        &format!(
            "while [ \"$1\" != --target ]; do shift; done\n\
             echo run >> '{}'\n/bin/sleep 1\n/bin/cp -al '{}/nvidia' \"$2/\" || /bin/cp -a '{}/nvidia' \"$2/\"",
            notes.display(),
            own.display(),
            own.display()
        ),
    )
}

#[test]
fn twice_at_once_is_done_once() {
    let folder = tempfile::tempdir().unwrap();
    let notes = folder.path().join("notes");
    let bin = slow_pip(&notes);
    let mut settings = own_settings();
    settings.places.installed = folder.path().join("toolchains");
    std::thread::scope(|scope| {
        for _ in 0..3 {
            scope.spawn(|| install_with_path(bin.path(), &settings).unwrap());
        }
    });
    assert_eq!(std::fs::read_to_string(notes).unwrap(), "run\n");
    assert!(toolchain::find(&VERSION.parse().unwrap(), &settings).unwrap().missing_headers().is_empty());
}

#[test]
fn killed_half_way_leaves_nothing_that_counts() {
    let folder = tempfile::tempdir().unwrap();
    let notes = folder.path().join("notes");
    let bin = slow_pip(&notes);
    let mut settings = own_settings();
    settings.places.installed = folder.path().join("toolchains");
    let mut inner = inner(bin.path(), &settings).stdout(Stdio::null()).spawn().unwrap();
    while !notes.exists() {
        std::thread::yield_now();
    }
    inner.kill().unwrap();
    inner.wait().unwrap();
    assert!(toolchain::list(&settings).is_empty());
    install_with_path(bin.path(), &settings).unwrap();
    // The orphaned installer may still write into its hidden folder, which the next installation sweeps.
    let names = settings.places.installed.read_dir().unwrap().flatten().map(|entry| entry.file_name());
    let seen: Vec<_> = names.filter(|name| !name.to_string_lossy().starts_with('.')).collect();
    assert_eq!(seen, ["cuda-12.8"]);
    assert_eq!(toolchain::list(&settings).len(), 1);
}

#[test]
fn in_place_of_a_broken_one_mends_it() {
    let folder = tempfile::tempdir().unwrap();
    let bin = slow_pip(&folder.path().join("notes"));
    let mut settings = own_settings();
    settings.places.installed = folder.path().join("toolchains");
    let library = settings.places.installed.join("cuda-12.8/nvidia/cuda_nvrtc/lib/libnvrtc.so.12");
    std::fs::create_dir_all(library.parent().unwrap()).unwrap();
    std::fs::write(&library, "rubbish").unwrap();
    install_with_path(bin.path(), &settings).unwrap();
    assert_eq!(toolchain::find(&VERSION.parse().unwrap(), &settings).unwrap().library, library);
}

/// `PATH` belongs to the process, so this is done in one of its own: the test binary again.
fn inner(bin: &Path, settings: &Settings) -> Command {
    let mut inner = Command::new(std::env::current_exe().unwrap());
    inner
        .args(["installing::in_a_process_of_its_own", "--exact", "--ignored", "--nocapture"])
        .env("PATH", bin)
        .env("FSR_TOOLCHAIN_DIR", &settings.places.installed);
    inner
}

fn install_with_path(bin: &Path, settings: &Settings) -> Result<(), String> {
    let output = inner(bin, settings).output().unwrap();
    let out = String::from_utf8(output.stdout).unwrap();
    let (_, result) = out.split_once("RESULT<").expect("the inner test says its result");
    let (result, _) = result.split_once(">RESULT").unwrap();
    if result == "ok" { Ok(()) } else { Err(result.to_owned()) }
}

#[test]
#[ignore = "run by other tests with a PATH of their own"]
fn in_a_process_of_its_own() {
    let result = toolchain::install(&VERSION.parse().unwrap(), &own_settings(), &mut |_| ());
    println!("RESULT<{}>RESULT", result.map_or_else(|error| error.to_string(), |_| "ok".to_owned()));
}
