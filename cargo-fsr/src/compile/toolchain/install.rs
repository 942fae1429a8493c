//! `cargo fsr toolchain install`: NVRTC and CUDA's headers from NVIDIA's Python wheels, with the user's own pip or uv,
//! so that their index, mirrors, proxies and cache apply. Nothing is redistributed and nothing fetched otherwise.
//!
//! A toolchain appears whole, by one rename, or not at all.

use std::fs::{self, File, TryLockError};
use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use fsr_build::spec::CudaVersion;

use super::headers::children;
use super::places::Origin;
use super::program::{self, Ended};
use super::{Settings, Toolchain, probe};
use crate::compile::CompilerError;

/// A slow line may take long over 130 MB.
const DEADLINE: Duration = Duration::from_secs(3600);

/// Why there is no new toolchain.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum InstallError {
    /// Neither pip nor uv.
    #[error(
        "neither pip nor uv is here to fetch CUDA {version} with; install Python 3 with pip, or uv, and run \
         `cargo fsr toolchain install {version}` again"
    )]
    NoInstaller {
        /// The version wanted.
        version: CudaVersion,
    },
    /// The package index cannot be reached.
    #[error(
        "{installer} could not reach its package index ({what}); connect, or set up a mirror for it, and run again"
    )]
    Network {
        /// `python3 -m pip` or `uv pip`.
        installer: String,
        /// What it said.
        what: String,
    },
    /// The index has no such version.
    #[error("there is no CUDA {version} in the package index{}", available_versions(.available))]
    UnknownVersion {
        /// The version wanted.
        version: CudaVersion,
        /// Versions that the index has, oldest first; empty when the installer did not say.
        available: Vec<CudaVersion>,
    },
    /// No room.
    #[error("{} is full; a toolchain needs about {megabytes} MB while it is installed: free some, or set FSR_TOOLCHAIN_DIR", .folder.display())]
    DiskFull {
        /// The toolchain folder.
        folder: PathBuf,
        /// Room that an installation takes.
        megabytes: u32,
    },
    /// The installer failed in another way.
    #[error("`{command}` failed:\n{output}")]
    Failed {
        /// The command line.
        command: String,
        /// The end of what it said.
        output: String,
    },
    /// What was installed does not work on this machine.
    #[error(transparent)]
    Broken(#[from] CompilerError),
    /// A file or folder could not be made.
    #[error("{}: {source}", .path.display())]
    Io {
        /// The file or folder.
        path: PathBuf,
        /// The cause.
        source: io::Error,
    },
}

fn available_versions(available: &[CudaVersion]) -> String {
    match available {
        [] => String::new(),
        versions => {
            let words: Vec<String> = versions.iter().map(CudaVersion::to_string).collect();
            format!("; it has {}", words.join(", "))
        }
    }
}

/// Megabytes to download, to hold while installing, and to keep.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Sizes {
    download: u32,
    meanwhile: u32,
    kept: u32,
}

/// Measured for 12.8 and 13.0 on x86-64 Linux; other versions are alike.
fn sizes(version: &CudaVersion) -> Sizes {
    if version.major >= 13 {
        Sizes { download: 96, meanwhile: 350, kept: 135 }
    } else {
        Sizes { download: 132, meanwhile: 470, kept: 130 }
    }
}

/// Installs the newest toolchain of this major.minor into cargo-fsr's own folder, and returns it; one that is there
/// and works is returned as it is. `progress` gets lines for people: sizes first, then what the installer says.
///
/// # Errors
/// One clear cause each; the folder is as it was.
pub fn install(
    version: &CudaVersion,
    settings: &Settings,
    progress: &mut dyn FnMut(&str),
) -> Result<Toolchain, InstallError> {
    let folder = &settings.places.installed;
    fs::create_dir_all(folder).map_err(at(folder))?;
    let _lock = lock(folder, progress)?;
    let home = folder.join(format!("cuda-{version}"));
    if let Some(toolchain) = installed(&home, settings).filter(|toolchain| toolchain.version == *version) {
        progress(&format!("CUDA {version} is installed: {}", toolchain.library.display()));
        return Ok(toolchain);
    }
    sweep(folder);
    let size = sizes(version);
    progress(&format!(
        "NVRTC and headers of CUDA {version} (NVIDIA's wheels): about {} MB to download, {} MB kept in {}",
        size.download,
        size.kept,
        home.display()
    ));
    let stage = tempfile::Builder::new().prefix(".stage-").tempdir_in(folder).map_err(at(folder))?;
    fetch(version, stage.path(), folder, progress)?;
    prune(stage.path());
    let staged = installed(stage.path(), settings)
        .ok_or_else(|| failed("the installer", "it reported success, and there is no NVRTC that works"))?;
    if staged.version != *version {
        return Err(failed(
            "the installer",
            &format!("it brought CUDA {} instead of {version}", staged.version),
        ));
    }
    // Whatever lies there does not work; it is kept until the new one stands.
    let old = folder.join(format!(".old-{version}-{}", std::process::id()));
    if home.exists() {
        fs::rename(&home, &old).map_err(at(&home))?;
    }
    fs::rename(stage.path(), &home).map_err(at(&home))?;
    // The folder has moved away from under its guard.
    let _ = stage.keep();
    fs::remove_dir_all(old).ok();
    installed(&home, settings)
        .ok_or_else(|| failed("the installer", "the toolchain does not work in its final place"))
}

fn at(path: &Path) -> impl FnOnce(io::Error) -> InstallError + use<'_> {
    move |source| InstallError::Io { path: path.to_owned(), source }
}

fn failed(command: &str, output: &str) -> InstallError {
    InstallError::Failed { command: command.to_owned(), output: output.to_owned() }
}

/// One installation at a time; the second waits, and then finds the work done. Released when the file closes, and so
/// when the process is killed too.
fn lock(folder: &Path, progress: &mut dyn FnMut(&str)) -> Result<File, InstallError> {
    let path = folder.join(".lock");
    let file = File::create(&path).map_err(at(&path))?;
    match file.try_lock() {
        Ok(()) => return Ok(file),
        Err(TryLockError::WouldBlock) => progress("another installation is under way: waiting for its end"),
        Err(TryLockError::Error(source)) => return Err(at(&path)(source)),
    }
    file.lock().map_err(at(&path))?;
    Ok(file)
}

/// The toolchain in a folder, if it works.
fn installed(home: &Path, settings: &Settings) -> Option<Toolchain> {
    let places = super::Places { configured: Some(home.to_owned()), ..Default::default() };
    let libraries = places.libraries(Origin::Configured);
    libraries.iter().find_map(|library| probe(library, Origin::Installed, settings).ok())
}

/// Removes what killed installations left behind. Only called under the lock.
fn sweep(folder: &Path) {
    for child in children(folder) {
        let name = child.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        if name.starts_with(".stage-") || name.starts_with(".old-") {
            // What cannot be removed now is tried again next time.
            fs::remove_dir_all(child).ok();
        }
    }
}

/// NVIDIA's own list of what belongs to one toolkit version; a part of it is all that NVRTC needs.
fn requirement(version: &CudaVersion) -> String {
    // `crt/` became a wheel of its own with CUDA 13; before, it comes with nvcc.
    let crt = if version.major >= 13 { "crt" } else { "nvcc" };
    format!("cuda-toolkit[nvrtc,cudart,cccl,{crt}]=={version}.*")
}

fn fetch(
    version: &CudaVersion,
    target: &Path,
    folder: &Path,
    progress: &mut dyn FnMut(&str),
) -> Result<(), InstallError> {
    let requirement = requirement(version);
    for (program, words) in
        [("python3", ["-m", "pip"].as_slice()), ("python", &["-m", "pip"]), ("uv", &["pip"])]
    {
        let mut command = Command::new(program);
        command.args(words).arg("install").arg("--target").arg(target).arg(&requirement);
        let installer = format!("{program} {}", words.join(" "));
        if program == "uv" {
            command.args(["--no-progress", "--only-binary", ":all:"]);
        } else {
            command.args(["--no-input", "--progress-bar", "off", "--no-compile", "--only-binary", ":all:"]);
            command.args(["--disable-pip-version-check", "--no-warn-script-location"]);
            // A variable and not a flag: older versions do not know it.
            command.env("PIP_ROOT_USER_ACTION", "ignore");
        }
        match program::run(&mut command, DEADLINE, progress) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(failed(&installer, &error.to_string())),
            Ok(ended) if ended.success() => return Ok(()),
            Ok(ended) if lacks_pip(&ended) => {}
            Ok(ended) => return Err(diagnose(&ended, version, &installer, &requirement, folder)),
        }
    }
    Err(InstallError::NoInstaller { version: *version })
}

/// No Python behind the name, or one without pip.
fn lacks_pip(ended: &Ended) -> bool {
    // 9009 is what the Windows shop's stand-in for Python says; 127 a version manager's shim for no version.
    ended.stderr.contains("No module named pip")
        || ended.status.and_then(|status| status.code()).is_some_and(|code| code == 9009 || code == 127)
}

/// What an installer's failure means.
fn diagnose(
    ended: &Ended,
    version: &CudaVersion,
    installer: &str,
    requirement: &str,
    folder: &Path,
) -> InstallError {
    let all = format!("{}{}", ended.stdout, ended.stderr);
    let line = |needles: &[&str]| {
        all.lines()
            .find(|line| needles.iter().any(|needle| line.contains(needle)))
            .map(|line| excerpt(line.trim()))
    };
    if line(&["No space left on device", "os error 28", "Errno 28", "not enough space on the disk"]).is_some()
    {
        return InstallError::DiskFull { folder: folder.to_owned(), megabytes: sizes(version).meanwhile };
    }
    const UNREACHABLE: [&str; 11] = [
        "NewConnectionError",
        "ConnectTimeoutError",
        "ReadTimeoutError",
        "ProxyError",
        "SSLError",
        "Max retries exceeded",
        "Temporary failure in name resolution",
        "Failed to establish a new connection",
        "error sending request",
        "dns error",
        "Network connectivity is disabled",
    ];
    if let Some(what) = line(&UNREACHABLE) {
        return InstallError::Network { installer: installer.to_owned(), what };
    }
    if ended.status.is_none() {
        let what = format!("it did not end within {} minutes", DEADLINE.as_secs() / 60);
        return InstallError::Network { installer: installer.to_owned(), what };
    }
    if line(&["from versions: none)"]).is_some() {
        let what = "it knows no version of cuda-toolkit at all".to_owned();
        return InstallError::Network { installer: installer.to_owned(), what };
    }
    if line(&["No matching distribution found for cuda-toolkit", "no version of cuda-toolkit"]).is_some() {
        return InstallError::UnknownVersion { version: *version, available: listed_versions(&all) };
    }
    let lines: Vec<&str> = ended.stderr.lines().filter(|line| !line.trim().is_empty()).collect();
    let last = lines[lines.len().saturating_sub(10)..].join("\n");
    failed(&format!("{installer} install {requirement}"), &last)
}

fn excerpt(line: &str) -> String {
    let short: String = line.chars().take(300).collect();
    if short.len() < line.len() { short + " ..." } else { short }
}

/// The versions in pip's `(from versions: 11.8.0, 12.0.0, 12.0.1)`, shortened to what a spec can pin.
fn listed_versions(said: &str) -> Vec<CudaVersion> {
    let Some(list) = said.split("(from versions: ").nth(1).and_then(|rest| rest.split(')').next()) else {
        return Vec::new();
    };
    let mut versions: Vec<CudaVersion> = list
        .split(", ")
        .filter_map(|word| {
            let mut parts = word.split('.');
            format!("{}.{}", parts.next()?, parts.next()?).parse().ok()
        })
        .filter(|version: &CudaVersion| version.major >= 11)
        .collect();
    versions.sort();
    versions.dedup();
    versions
}

/// Removes what NVRTC does not need: a second build of it, device libraries and tools of nvcc, static libraries. More
/// than half of the room. What cannot be removed stays.
fn prune(folder: &Path) {
    let mut folders = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        for child in children(&folder) {
            let name = child.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
            let unneeded = name.contains(".alt.")
                || name.ends_with(".a")
                || name.starts_with("libcudart")
                || ["nvvm", "cmake", "__pycache__", "ptxas", "ptxas.exe"].contains(&name.as_str());
            if !unneeded {
                if child.is_dir() {
                    folders.push(child);
                }
            } else if child.is_dir() {
                fs::remove_dir_all(child).ok();
            } else {
                fs::remove_file(child).ok();
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn version(text: &str) -> CudaVersion {
        text.parse().unwrap()
    }

    #[cfg(unix)]
    fn says(stderr: &str) -> String {
        use std::os::unix::process::ExitStatusExt;
        let status = Some(std::process::ExitStatus::from_raw(1 << 8));
        let ended = Ended { status, stdout: String::new(), stderr: stderr.to_owned() };
        let wanted = version("12.7");
        diagnose(&ended, &wanted, "python3 -m pip", &requirement(&wanted), Path::new("/home/me/toolchains"))
            .to_string()
    }

    #[test]
    fn one_requirement_names_all_parts() {
        assert_eq!(requirement(&version("12.8")), "cuda-toolkit[nvrtc,cudart,cccl,nvcc]==12.8.*");
        assert_eq!(requirement(&version("13.0")), "cuda-toolkit[nvrtc,cudart,cccl,crt]==13.0.*");
    }

    #[test]
    #[cfg(unix)]
    fn an_unknown_version_lists_the_known_ones() {
        insta::assert_snapshot!(says(
            "ERROR: Could not find a version that satisfies the requirement cuda-toolkit[cccl,cudart,nvcc,nvrtc]==12.7.* \
             (from versions: 0.1.3, 11.8.0, 12.6.3, 12.8.0, 12.8.1, 12.8.2.0, 13.4.1.0, 13.5.0)\n\
             ERROR: No matching distribution found for cuda-toolkit[cccl,cudart,nvcc,nvrtc]==12.7.*\n"
        ), @"there is no CUDA 12.7 in the package index; it has 11.8, 12.6, 12.8, 13.4, 13.5");
    }

    #[test]
    #[cfg(unix)]
    fn an_index_out_of_reach_is_told_from_an_unknown_version() {
        insta::assert_snapshot!(says(
            "WARNING: Retrying (Retry(total=4, connect=None, read=None, redirect=None, status=None)) after connection broken by \
             'NewConnectionError: Failed to establish a new connection: [Errno -3] Temporary failure in name resolution'\n\
             ERROR: Could not find a version that satisfies the requirement cuda-toolkit==12.7.* (from versions: none)\n\
             ERROR: No matching distribution found for cuda-toolkit==12.7.*\n"
        ), @"python3 -m pip could not reach its package index (WARNING: Retrying (Retry(total=4, connect=None, read=None, redirect=None, status=None)) after connection broken by 'NewConnectionError: Failed to establish a new connection: [Errno -3] Temporary failure in name resolution'); connect, or set up a mirror for it, and run again");
        insta::assert_snapshot!(says(
            "ERROR: Could not find a version that satisfies the requirement cuda-toolkit==12.7.* (from versions: none)\n"
        ), @"python3 -m pip could not reach its package index (it knows no version of cuda-toolkit at all); connect, or set up a mirror for it, and run again");
    }

    #[test]
    #[cfg(unix)]
    fn a_full_disk_says_how_much_is_needed() {
        insta::assert_snapshot!(
            says("ERROR: Could not install packages due to an OSError: [Errno 28] No space left on device\n"),
            @"/home/me/toolchains is full; a toolchain needs about 470 MB while it is installed: free some, or set FSR_TOOLCHAIN_DIR"
        );
    }

    #[test]
    #[cfg(unix)]
    fn any_other_failure_is_quoted() {
        insta::assert_snapshot!(says("ERROR: the moon is in the wrong phase\n"), @r"
        `python3 -m pip install cuda-toolkit[nvrtc,cudart,cccl,nvcc]==12.7.*` failed:
        ERROR: the moon is in the wrong phase
        ");
    }

    #[test]
    fn leftovers_of_a_killed_installation_are_swept_and_toolchains_stay() {
        let folder = tempfile::tempdir().unwrap();
        for name in [".stage-abc/nvidia", ".old-12.8-7", "cuda-12.8/nvidia"] {
            fs::create_dir_all(folder.path().join(name)).unwrap();
        }
        sweep(folder.path());
        let left: Vec<_> =
            children(folder.path()).into_iter().map(|path| path.file_name().unwrap().to_owned()).collect();
        assert_eq!(left, ["cuda-12.8"]);
    }
}
