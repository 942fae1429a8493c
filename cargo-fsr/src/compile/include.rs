//! One include folder of fixed name for all of CUDA's headers, made of links in the compiler process's own folder. It
//! also has the standard library's headers that are accepted, as empty files: in memory they would come before those
//! that CUDA's library has for itself.
//!
//! So that neither messages nor `__FILE__` in PTX hold a path of this machine, that the layout of an installation
//! leaves no trace, and that other headers beside CUDA's (as in `/usr/include`) are out of reach.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};

use super::source;

/// The folder's name, as messages show it before it is cut.
pub(super) const FOLDER: &str = "cuda-include";

/// Links what CUDA has in `include` into a new folder below `folder`; where two have the same file the first counts.
/// Returns what the compiler is to search.
///
/// # Errors
/// When a folder or link cannot be made.
pub(super) fn gather(folder: &Path, include: &[PathBuf]) -> io::Result<Vec<PathBuf>> {
    let target = folder.join(FOLDER);
    let mut search = vec![PathBuf::from(FOLDER)];
    if cfg!(unix) {
        link(&target, include, &is_cudas)?;
    } else {
        // Links need a privilege on Windows.
        std::fs::create_dir(&target)?;
        search.extend_from_slice(include);
    }
    for name in source::STANDARD {
        std::fs::write(target.join(name), "")?;
    }
    Ok(search)
}

/// Headers of CUDA and folders of them by their first name; more than candidates may name, since these include others.
fn is_cudas(name: &str) -> bool {
    source::is_cuda(name)
        || source::is_cuda_folder(name)
        || ["cuda", "nv", "fatbinary"].iter().any(|prefix| name.starts_with(prefix))
}

fn link(target: &Path, sources: &[PathBuf], wanted: &dyn Fn(&str) -> bool) -> io::Result<()> {
    let mut children: BTreeMap<OsString, Vec<PathBuf>> = BTreeMap::new();
    for source in sources {
        for entry in source.read_dir()? {
            let name = entry?.file_name();
            if name.to_str().is_some_and(wanted) {
                children.entry(name.clone()).or_default().push(source.join(name));
            }
        }
    }
    std::fs::create_dir(target)?;
    for (name, found) in children {
        let target = target.join(name);
        match found.as_slice() {
            // CUDA 13 has an `nv` folder in two places, each with a part of it.
            [_, _, ..] if found.iter().all(|path| path.is_dir()) && !same(&found) => {
                link(&target, &found, &|_| true)?;
            }
            [first, ..] => symlink(&std::path::absolute(first)?, &target)?,
            [] => {}
        }
    }
    Ok(())
}

#[cfg(unix)]
fn symlink(original: &Path, link: &Path) -> io::Result<()> {
    std::os::unix::fs::symlink(original, link)
}

#[cfg(not(unix))]
fn symlink(_original: &Path, _link: &Path) -> io::Result<()> {
    Err(io::ErrorKind::Unsupported.into())
}

/// All paths lead to one place.
fn same(paths: &[PathBuf]) -> bool {
    let mut real = paths.iter().map(|path| path.canonicalize().ok());
    let first = real.next();
    real.all(|other| Some(other) == first)
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    #[test]
    fn headers_of_several_folders_are_one() {
        let root = tempfile::tempdir().unwrap();
        for (file, text) in [
            ("a/cuda_fp16.h", "a"),
            ("a/nv/target", "a"),
            ("a/stdio.h", "a"),
            ("a/sys/stat.h", "a"),
            ("a/unistd.h", "a"),
            ("a/cccl/cuda/std/cstdint", "a"),
            ("b/cuda_fp16.h", "b"),
            ("b/nv/detail/more", "b"),
            ("b/nv/target", "b"),
            ("b/cub/cub.cuh", "b"),
        ] {
            let path = root.path().join(file);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        }
        let work = tempfile::tempdir().unwrap();
        let from = ["a", "a/cccl", "b"].map(|name| root.path().join(name));
        assert_eq!(gather(work.path(), &from).unwrap(), [PathBuf::from(FOLDER)]);
        let read = |name: &str| std::fs::read_to_string(work.path().join(FOLDER).join(name)).ok();
        for (name, text) in [
            ("cuda_fp16.h", Some("a")),
            ("nv/target", Some("a")),
            ("nv/detail/more", Some("b")),
            ("cuda/std/cstdint", Some("a")),
            ("cub/cub.cuh", Some("b")),
            ("stdio.h", Some("")),
            ("sys/stat.h", None),
            ("unistd.h", None),
        ] {
            assert_eq!(read(name).as_deref(), text, "{name}");
        }
    }
}
