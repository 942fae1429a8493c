//! Files of the shared folder as memory.

use std::fs::{File, OpenOptions};
use std::io;
use std::path::{Path, PathBuf};

use memmap2::{Mmap, MmapMut, MmapOptions};

/// Why a shared file cannot be used.
#[derive(Debug, thiserror::Error)]
#[error("{}: {source}", path.display())]
pub(crate) struct MapError {
    path: PathBuf,
    source: io::Error,
}

impl MapError {
    fn new(path: &Path, source: io::Error) -> Self {
        Self { path: path.to_owned(), source }
    }
}

/// A file mapped for reading.
#[derive(Debug)]
pub(crate) struct Mapped(Mmap);

impl Mapped {
    /// Maps an existing file, which must have exactly this length.
    pub(crate) fn open(path: &Path, len: u64) -> Result<Self, MapError> {
        let fail = |source| MapError::new(path, source);
        let file = File::open(path).map_err(fail)?;
        let found = file.metadata().map_err(fail)?.len();
        if found != len {
            let message = format!("{found} bytes where {len} are expected");
            return Err(fail(io::Error::new(io::ErrorKind::InvalidData, message)));
        }
        // SAFETY: the file is one of the shared folder, which only cargo fsr and its two host processes use. They take
        // turns by protocol: no file is written or shortened while another process reads it. Should one misbehave, the
        // contents are plain numbers, valid whatever their bits.
        let map = unsafe { MmapOptions::new().map(&file) }.map_err(fail)?;
        Ok(Self(map))
    }

    pub(crate) fn bytes(&self) -> &[u8] {
        &self.0
    }
}

/// A file mapped for writing.
#[derive(Debug)]
pub(crate) struct MappedMut(MmapMut);

impl MappedMut {
    /// Maps a file of this length, made where it does not exist; what it held is kept, as another process may have it
    /// mapped still.
    pub(crate) fn open(path: &Path, len: u64) -> Result<Self, MapError> {
        let fail = |source| MapError::new(path, source);
        let mut options = OpenOptions::new();
        let file = options.read(true).write(true).create(true).truncate(false).open(path).map_err(fail)?;
        if file.metadata().map_err(fail)?.len() != len {
            file.set_len(len).map_err(fail)?;
        }
        #[cfg(target_os = "linux")]
        match if len == 0 {
            Ok(())
        } else {
            rustix::fs::fallocate(&file, rustix::fs::FallocateFlags::empty(), 0, len)
        } {
            // Not every file system can reserve; the bus error then remains possible.
            Ok(()) | Err(rustix::io::Errno::OPNOTSUPP | rustix::io::Errno::NOSYS) => {}
            Err(error) => return Err(fail(error.into())),
        }
        // SAFETY: as in `Mapped::open`; this process is the only one that writes the file while the map lives.
        let map = unsafe { MmapOptions::new().map_mut(&file) }.map_err(fail)?;
        Ok(Self(map))
    }

    pub(crate) fn bytes(&self) -> &[u8] {
        &self.0
    }

    pub(crate) fn bytes_mut(&mut self) -> &mut [u8] {
        &mut self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_of_another_length_is_refused_with_its_path() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("d0-c0-b0.out");
        MappedMut::open(&path, 8).unwrap().bytes_mut().fill(7);
        assert_eq!(Mapped::open(&path, 8).unwrap().bytes(), [7; 8]);
        let error = Mapped::open(&path, 12).unwrap_err().to_string();
        assert!(error.ends_with("d0-c0-b0.out: 8 bytes where 12 are expected"), "{error}");
    }
}
