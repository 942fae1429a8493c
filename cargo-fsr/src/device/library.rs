//! The CPU device's shared library: found, or built with the user's own cargo, of exactly this version.
//!
//! Programs open the CUDA driver by name, so the library is lent to a host process under the driver's names, in a
//! folder that holds nothing else and that only this process's children are pointed at.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;

use cargo_metadata::Message;
use sha2::{Digest, Sha256};

use crate::judge::JudgeError;
use crate::judge::cargo::{self, BuildOptions, CargoFlags};
use crate::lock;

/// The package whose shared library it is.
pub const PACKAGE: &str = "fsr-sim-libcuda";
const VERSION: &str = env!("CARGO_PKG_VERSION");
/// What programs open.
const DRIVER_NAMES: [&str; 2] = ["libcuda.so", "libcuda.so.1"];

/// Where the library comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Source {
    /// This file.
    File(PathBuf),
    /// A check-out of this project, which has the package as a member.
    Workspace {
        /// Its `Cargo.toml`.
        manifest: PathBuf,
        /// Where it is built.
        target_dir: PathBuf,
    },
    /// The package registry; kept in the cache folder once it is built, by version and Rust compiler.
    Registry,
}

/// Why there is no CPU device.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LibraryError {
    /// The named file is not there.
    #[error("there is no CPU device at {}", path.display())]
    NoFile {
        /// As named.
        path: PathBuf,
    },
    /// The named file is something else.
    #[error("{} is not the CPU device: no library with the CUDA driver's functions", path.display())]
    NoDriver {
        /// As named.
        path: PathBuf,
    },
    /// It could not be built.
    #[error("the CPU device ({PACKAGE} {VERSION}) does not build:\n{log}")]
    Build {
        /// cargo's messages.
        log: String,
    },
    /// cargo or the build is at fault otherwise.
    #[error(transparent)]
    Cargo(JudgeError),
    /// A file could not be written.
    #[error("{}: {source}", path.display())]
    Io {
        /// The file or folder.
        path: PathBuf,
        /// The cause.
        source: io::Error,
    },
    /// No programs open their driver here as they do on Linux.
    #[error("the CPU device runs on Linux only")]
    Platform,
}

/// A folder in which programs find the CPU device as their driver.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Driver {
    /// The library itself.
    pub library: PathBuf,
    /// Goes first in the loader's path.
    pub folder: PathBuf,
}

/// Finds or builds the library and lends it under the driver's names, in a folder below `cache`.
///
/// # Errors
/// One clear cause each; what was there before is whole.
pub fn find(
    source: &Source,
    cache: &Path,
    flags: CargoFlags,
    options: BuildOptions,
) -> Result<Driver, LibraryError> {
    let library = match source {
        Source::File(path) if path.is_file() => {
            // A program that finds another thing in its driver's place says anything but that.
            if !is_driver(path)? {
                return Err(LibraryError::NoDriver { path: path.clone() });
            }
            absolute(path)?
        }
        Source::File(path) => return Err(LibraryError::NoFile { path: path.clone() }),
        Source::Workspace { manifest, target_dir } => build(manifest, target_dir, flags, options)?,
        Source::Registry => from_registry(cache, flags, options)?,
    };
    let folder = lend(&library, cache)?;
    Ok(Driver { library, folder })
}

/// Whether a file has the first function of the CUDA driver's interface among its names.
fn is_driver(path: &Path) -> Result<bool, LibraryError> {
    let bytes = fs::read(path).map_err(|source| LibraryError::Io { path: path.to_owned(), source })?;
    const NAME: &[u8] = b"\0cuInit\0";
    Ok(bytes.starts_with(b"\x7fELF") && bytes.windows(NAME.len()).any(|window| window == NAME))
}

/// Whether [`find`] has nothing to build that takes long.
pub fn is_built(source: &Source, cache: &Path) -> bool {
    match source {
        Source::File(_) => true,
        Source::Workspace { target_dir, .. } => target_dir.join("release").join(file_name()).is_file(),
        Source::Registry => cached(cache).is_file(),
    }
}

/// Where the library of this version lies that was built with the Rust compiler at hand.
fn cached(cache: &Path) -> PathBuf {
    let compiler =
        Command::new(std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into())).arg("-vV").output();
    // Without one there is no other that could be meant.
    let compiler = compiler.map(|output| output.stdout).unwrap_or_default();
    cache.join("sim").join(format!("{VERSION}-{}", short_digest(&compiler))).join(file_name())
}

/// Builds the package as a member of `manifest`'s workspace.
fn build(
    manifest: &Path,
    target_dir: &Path,
    flags: CargoFlags,
    options: BuildOptions,
) -> Result<PathBuf, LibraryError> {
    let mut command = cargo::build();
    command.args(["--release", "--package", PACKAGE]);
    run(command, manifest, target_dir, flags, options)
}

/// The library in the cache, built there once from a package that does nothing but depend on it.
fn from_registry(cache: &Path, flags: CargoFlags, options: BuildOptions) -> Result<PathBuf, LibraryError> {
    let library = cached(cache);
    if library.is_file() {
        return Ok(library);
    }
    let folder = library.parent().unwrap_or(cache).to_owned();
    let package = folder.join("build");
    let source = package.join("src");
    fs::create_dir_all(&source).map_err(at(&source))?;
    let turn = folder.join("lock");
    let held = fs::File::create(&turn).map_err(at(&turn))?;
    if !lock::wait(&held, &options.interrupt).map_err(at(&turn))? {
        return Err(LibraryError::Cargo(JudgeError::Interrupted));
    }
    // Somebody else may have built it meanwhile.
    if library.is_file() {
        return Ok(library);
    }
    let manifest = package.join("Cargo.toml");
    let text = format!(
        "[package]\nname = \"cpu-device\"\nversion = \"{VERSION}\"\nedition = \"2024\"\n\n\
         [dependencies]\n{PACKAGE} = \"={VERSION}\"\n\n[workspace]\n"
    );
    fs::write(&manifest, text).map_err(at(&manifest))?;
    let code = source.join("lib.rs");
    fs::write(&code, "").map_err(at(&code))?;

    let mut command = cargo::build();
    // Its folder's own configuration applies, and no other project's.
    command.arg("--release").current_dir(&package);
    // There is no lock file yet that could be kept to.
    let flags = CargoFlags { locked: false, frozen: false, offline: flags.offline || flags.frozen };
    let built = run(command, &manifest, &package.join("target"), flags, options)?;
    let stage = tempfile::NamedTempFile::new_in(&folder).map_err(at(&folder))?;
    fs::copy(&built, stage.path()).map_err(at(&built))?;
    stage
        .persist(&library)
        .map_err(|error| LibraryError::Io { path: library.clone(), source: error.error })?;
    // A hundred megabytes that nobody needs any more; the library is whole without them.
    let _ = fs::remove_dir_all(&package);
    Ok(library)
}

fn run(
    mut command: Command,
    manifest: &Path,
    target_dir: &Path,
    flags: CargoFlags,
    options: BuildOptions,
) -> Result<PathBuf, LibraryError> {
    command.arg("--manifest-path").arg(manifest).arg("--target-dir").arg(target_dir);
    command.args(["--color", if options.color { "always" } else { "never" }]).args(flags.arguments());
    let mut library = None;
    let built = cargo::run(command, options, |message| {
        if let Message::CompilerArtifact(artifact) = message
            && artifact.target.name == PACKAGE.replace('-', "_")
        {
            let files = artifact.filenames.into_iter().map(PathBuf::from);
            library = files.into_iter().find(|file| file.extension() == Path::new(&file_name()).extension());
        }
    });
    match built {
        Ok(()) => library.ok_or_else(|| {
            LibraryError::Cargo(JudgeError::Process(format!("cargo built {PACKAGE} and named no library")))
        }),
        Err(JudgeError::Build { log }) => Err(LibraryError::Build { log }),
        Err(error) => Err(LibraryError::Cargo(error)),
    }
}

/// What the library's file is called on this platform.
pub fn file_name() -> String {
    let stem = PACKAGE.replace('-', "_");
    format!("{}{stem}{}", std::env::consts::DLL_PREFIX, std::env::consts::DLL_SUFFIX)
}

/// The folder with the driver's names for one library. Links, not copies: the loader then maps one library, whichever
/// of the names a program opens, and both share their state.
fn lend(library: &Path, cache: &Path) -> Result<PathBuf, LibraryError> {
    let name = short_digest(library.as_os_str().as_encoded_bytes());
    let folder = cache.join("sim").join("drivers").join(name);
    fs::create_dir_all(&folder).map_err(at(&folder))?;
    for name in DRIVER_NAMES {
        let link = folder.join(name);
        if fs::read_link(&link).ok().as_deref() != Some(library) {
            replace_link(library, &link)?;
        }
    }
    Ok(folder)
}

#[cfg(unix)]
fn replace_link(to: &Path, link: &Path) -> Result<(), LibraryError> {
    let stage = link.with_extension(format!("new-{}", std::process::id()));
    let _ = fs::remove_file(&stage);
    std::os::unix::fs::symlink(to, &stage).map_err(at(&stage))?;
    fs::rename(&stage, link).map_err(at(link))
}

#[cfg(not(unix))]
fn replace_link(_to: &Path, _link: &Path) -> Result<(), LibraryError> {
    Err(LibraryError::Platform)
}

fn short_digest(bytes: &[u8]) -> String {
    Sha256::digest(bytes)[..8].iter().map(|byte| format!("{byte:02x}")).collect()
}

fn absolute(path: &Path) -> Result<PathBuf, LibraryError> {
    std::path::absolute(path).map_err(at(path))
}

fn at(path: &Path) -> impl FnOnce(io::Error) -> LibraryError {
    let path = path.to_owned();
    move |source| LibraryError::Io { path, source }
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    #[test]
    fn a_library_is_lent_under_both_names_and_never_copied() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("device.so");
        let find = || {
            find(&Source::File(file.clone()), folder.path(), CargoFlags::default(), BuildOptions::default())
        };
        assert!(matches!(find(), Err(LibraryError::NoFile { path }) if path == file));
        fs::write(&file, "a library").unwrap();
        assert!(matches!(find(), Err(LibraryError::NoDriver { path }) if path == file));
        fs::write(&file, b"\x7fELF...\0cuGetErrorName\0").unwrap();
        assert!(matches!(find(), Err(LibraryError::NoDriver { .. })));
        fs::write(&file, b"\x7fELF...\0cuInit\0").unwrap();
        let driver = find().unwrap();
        for name in ["libcuda.so", "libcuda.so.1"] {
            assert_eq!(fs::read_link(driver.folder.join(name)).unwrap(), file);
        }
        // A link that somebody bent is set right.
        fs::remove_file(driver.folder.join("libcuda.so")).unwrap();
        std::os::unix::fs::symlink("/nowhere", driver.folder.join("libcuda.so")).unwrap();
        assert_eq!(find().unwrap(), driver);
        assert_eq!(fs::read_link(driver.folder.join("libcuda.so")).unwrap(), file);
    }
}
