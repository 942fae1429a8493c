//! Which NVRTC compiles for a spec, and where it comes from.
//!
//! Owns the order of places and the rule that only the pinned major.minor will do. Loads no library itself: versions
//! are asked of a compiler process, so that a broken file cannot harm this one.

mod headers;
mod install;
mod places;
mod program;

use std::fmt;
use std::path::{Path, PathBuf};

use fsr_build::spec::CudaVersion;

use super::CompilerError;
use super::protocol::Limits;
use super::worker::Worker;

pub use headers::HeaderSet;
pub use install::{InstallError, install};
pub use places::{Origin, Places};

/// An NVRTC of known version, and the folders with CUDA's headers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Toolchain {
    /// Version that the library states.
    pub version: CudaVersion,
    /// Full path of the library.
    pub library: PathBuf,
    /// Folders to search for CUDA's headers; some or all may be missing in a partial installation.
    pub include: Vec<PathBuf>,
    /// Where it was found.
    pub origin: Origin,
}

impl Toolchain {
    /// Whether a header such as `cuda_fp16.h` or `cuda/std/cstdint` lies in one of the folders.
    pub fn has_header(&self, name: &str) -> bool {
        self.include.iter().any(|folder| folder.join(name).is_file())
    }

    /// Header sets that are missing; kernels that include nothing compile without them.
    pub fn missing_headers(&self) -> Vec<HeaderSet> {
        HeaderSet::ALL.into_iter().filter(|set| !self.has_header(set.marker())).collect()
    }
}

impl fmt::Display for Toolchain {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "NVRTC {} at {} ({})", self.version, self.library.display(), self.origin)
    }
}

/// What decides where toolchains are looked for and how they are started.
#[derive(Clone, Debug)]
pub struct Settings {
    /// The places, in order.
    pub places: Places,
    /// The program that serves as compiler process when called with `__nvrtc`: this one.
    pub program: PathBuf,
}

impl Settings {
    /// From the environment. `configured` is what the user's configuration names, if anything: a library, or a folder
    /// that holds one (the root of a CUDA toolkit, a `site-packages`).
    ///
    /// # Errors
    /// When this program cannot tell its own path, or there is no home folder and no `FSR_TOOLCHAIN_DIR`.
    pub fn from_env(configured: Option<PathBuf>) -> Result<Self, CompilerError> {
        Ok(Self { places: Places::from_env(configured)?, program: std::env::current_exe()? })
    }
}

/// Finds the toolchain of exactly this major.minor: configured path, `CUDA_HOME` and `CUDA_PATH`, the loader's path,
/// NVIDIA's Python wheels in the active environment, cargo-fsr's own folder. Headers that the chosen place lacks are
/// taken from a later place of the same version.
///
/// # Errors
/// [`CompilerError::NotFound`] with the places, what was found there, and the command that helps.
pub fn find(version: &CudaVersion, settings: &Settings) -> Result<Toolchain, CompilerError> {
    let mut others = Vec::new();
    let mut found: Option<Toolchain> = None;
    if let Some(configured) = &settings.places.configured
        && settings.places.libraries(Origin::Configured).is_empty()
    {
        return Err(CompilerError::NotFound(format!(
            "the configured {} is no NVRTC library and holds none",
            configured.display()
        )));
    }
    for origin in Origin::ORDER {
        for library in settings.places.libraries(origin) {
            match probe(&library, origin, settings) {
                Ok(toolchain) if toolchain.version == *version => match &mut found {
                    Some(first) => headers::complete(first, &toolchain),
                    None => found = Some(toolchain),
                },
                Ok(toolchain) => others.push(format!("found {toolchain}")),
                // What the user named must work; elsewhere a broken library is one that is not there.
                Err(error) if origin == Origin::Configured => return Err(error),
                Err(error) => others.push(error.to_string()),
            }
            if let Some(toolchain) = &found
                && toolchain.missing_headers().is_empty()
            {
                return Ok(toolchain.clone());
            }
        }
    }
    found.ok_or_else(|| not_found(version, &others, &settings.places))
}

/// Every toolchain that can be seen, in the order in which [`find`] looks; faulty ones with what is wrong.
pub fn list(settings: &Settings) -> Vec<Result<Toolchain, CompilerError>> {
    Origin::ORDER
        .into_iter()
        .flat_map(|origin| {
            settings.places.libraries(origin).into_iter().map(move |library| (origin, library))
        })
        .map(|(origin, library)| probe(&library, origin, settings))
        .collect()
}

/// Asks a compiler process what the library is.
fn probe(library: &Path, origin: Origin, settings: &Settings) -> Result<Toolchain, CompilerError> {
    let (_, ready) = Worker::start(&settings.program, library, &[], Limits::default())?;
    let (major, minor) = ready.version;
    Ok(Toolchain {
        version: CudaVersion { major, minor },
        library: library.to_owned(),
        include: headers::beside(library),
        origin,
    })
}

fn not_found(version: &CudaVersion, others: &[String], places: &Places) -> CompilerError {
    let mut message = format!("no NVRTC {version} on this machine");
    for other in others {
        message.push_str("\n  ");
        message.push_str(other);
        message.push_str(&format!(", need {version}"));
    }
    message.push_str("\nlooked in: ");
    message.push_str(&places.describe());
    message.push_str(&format!("\nrun `cargo fsr toolchain install {version}`"));
    CompilerError::NotFound(message)
}
