//! The store: the tuned kernels that a package commits, in its `fsr/` folder.
//!
//! Owns where an entry's files lie, how they are written and read, and whether an entry still answers its spec.
//! One entry a kernel and architecture: `fsr/<kernel>/<arch>.toml` (the manifest), `.ptx` and `.cu`, so that
//! merges stay local. Never compiles, never judges a kernel, and never writes outside the entry's folder and
//! `fsr/.gitattributes`.

mod error;
mod manifest;
mod manifest_toml;
mod status;
mod toml_text;
mod write;

use std::io;
use std::path::{Path, PathBuf};

use crate::arch::Arch;
use crate::digest::{Digest, lf};

pub use error::{ReadError, WriteError};
pub use manifest::{
    Compiler, Device, DeviceKind, FORMAT, LaunchNeeds, Manifest, ManifestError, Origin, PtxFacts, PtxHeader,
    Spread, TimeKind, TimedCase, ValidatedCase,
};
pub use status::{Examined, Status, examine, examine_at};
pub use write::{recover, remove_entry, write_entry};

/// The folder beside a package's `Cargo.toml` that holds its entries.
pub const FOLDER: &str = "fsr";

/// Where the three files of an entry lie.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EntryPaths {
    /// The manifest, `<arch>.toml`.
    pub manifest: PathBuf,
    /// The PTX, `<arch>.ptx`.
    pub ptx: PathBuf,
    /// The winning source, `<arch>.cu`.
    pub source: PathBuf,
}

impl EntryPaths {
    /// The place of an entry in the package whose folder is `root`.
    pub fn in_package(root: &Path, kernel: &str, arch: Arch) -> EntryPaths {
        EntryPaths::in_folder(&root.join(FOLDER).join(kernel), arch)
    }

    /// The place of an entry in some other folder, such as a cache's.
    pub fn in_folder(folder: &Path, arch: Arch) -> EntryPaths {
        let file = |extension: &str| folder.join(format!("{arch}.{extension}"));
        EntryPaths { manifest: file("toml"), ptx: file("ptx"), source: file("cu") }
    }

    /// The folder that holds the three files.
    pub fn folder(&self) -> &Path {
        self.manifest.parent().unwrap_or(Path::new(""))
    }
}

/// What the store keeps for one kernel and architecture.
#[derive(Debug, Clone, PartialEq)]
pub struct Entry {
    /// Everything known about it.
    pub manifest: Manifest,
    /// The PTX, LF.
    pub ptx: String,
    /// The winning source, LF.
    pub source: String,
}

impl Entry {
    /// Joins the three, makes both texts LF and puts their digests into the manifest.
    pub fn new(mut manifest: Manifest, ptx: &str, source: &str) -> Entry {
        let (ptx, source) = (ptx.replace("\r\n", "\n"), source.replace("\r\n", "\n"));
        manifest.ptx_sha256 = Digest::of_bytes(ptx.as_bytes());
        manifest.source_sha256 = Digest::of_bytes(source.as_bytes());
        Entry { manifest, ptx, source }
    }
}

/// Reads an entry and checks that its three files belong together.
///
/// An entry whose writer was killed reads as the old one or the new one, never as a mixture (see
/// [`write_entry`]); nothing is repaired here, since build scripts may not write.
///
/// # Errors
/// When it is missing, tampered with or unreadable.
pub fn read_entry(paths: &EntryPaths) -> Result<Entry, ReadError> {
    let mut text = manifest_text(paths)?;
    loop {
        let entry = read_files(paths, &text);
        if entry.is_ok() {
            return entry;
        }
        // A writer may have replaced the entry between two reads: only what stands still is at fault.
        let again = manifest_text(paths)?;
        if again == text {
            return entry;
        }
        text = again;
    }
}

fn manifest_text(paths: &EntryPaths) -> Result<String, ReadError> {
    let bytes = std::fs::read(&paths.manifest).map_err(|error| match error.kind() {
        io::ErrorKind::NotFound => ReadError::Missing { manifest: paths.manifest.clone() },
        _ => ReadError::Io { file: paths.manifest.clone(), error },
    })?;
    utf8(&paths.manifest, &bytes)
}

fn read_files(paths: &EntryPaths, manifest: &str) -> Result<Entry, ReadError> {
    let manifest = Manifest::from_toml(manifest)
        .map_err(|error| ReadError::Manifest { file: paths.manifest.clone(), error: error.into() })?;
    let ptx = read_matching(&paths.ptx, manifest.ptx_sha256)?;
    let source = read_matching(&paths.source, manifest.source_sha256)?;
    Ok(Entry { manifest, ptx, source })
}

/// The file that the manifest means: in its place, or still staged if a writer was killed after its commit.
fn read_matching(file: &Path, digest: Digest) -> Result<String, ReadError> {
    let staged = write::staged(file);
    // Its place twice: a writer may move the staged file there between the first look and the second.
    for path in [file, &staged, file] {
        match std::fs::read(path) {
            Ok(bytes) if Digest::of_text(&bytes) == digest => return utf8(path, &bytes),
            _ => {}
        }
    }
    let file = file.to_owned();
    Err(match std::fs::read(&file) {
        Ok(_) => ReadError::Tampered { file },
        Err(error) if error.kind() == io::ErrorKind::NotFound => ReadError::Lost { file },
        Err(error) => ReadError::Io { file, error },
    })
}

fn utf8(file: &Path, bytes: &[u8]) -> Result<String, ReadError> {
    let invalid = |error| ReadError::Io {
        file: file.to_owned(),
        error: io::Error::new(io::ErrorKind::InvalidData, error),
    };
    String::from_utf8(lf(bytes).into_owned()).map_err(invalid)
}

/// The entries that a package has manifests for, sorted, whatever its spec says.
///
/// # Errors
/// When a folder that is there cannot be listed.
pub fn list(root: &Path) -> io::Result<Vec<(String, Arch)>> {
    let mut entries = Vec::new();
    for folder in names(&root.join(FOLDER))? {
        let path = root.join(FOLDER).join(&folder);
        if !path.is_dir() {
            continue;
        }
        for file in names(&path)? {
            if let Some(arch) = file.strip_suffix(".toml").and_then(|stem| stem.parse().ok()) {
                entries.push((folder.clone(), arch));
            }
        }
    }
    entries.sort();
    Ok(entries)
}

fn names(folder: &Path) -> io::Result<Vec<String>> {
    let listing = match std::fs::read_dir(folder) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        listing => listing?,
    };
    // Nothing that the store writes has a name that is no UTF-8.
    listing.map(|entry| Ok(entry?.file_name().into_string().unwrap_or_default())).collect()
}
