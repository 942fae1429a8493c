//! Paths in a spec: relative, with `/`, and the same on every platform.

use std::fmt;
use std::path::{Path, PathBuf};

/// A path relative to the package's folder, with `/` between its parts on every platform.
///
/// It never leaves the package, except that host files of another package may begin with `..`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RelPath(String);

impl RelPath {
    /// The path as the spec spells it, without `.` parts and doubled slashes.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The path below `root`, with the platform's own separators: it works below `\\?\` too.
    pub fn under(&self, root: &Path) -> PathBuf {
        let mut path = root.to_owned();
        for part in self.0.split('/') {
            // A verbatim path takes `..` literally.
            if part != ".." || !path.pop() {
                path.push(part);
            }
        }
        path
    }

    pub(super) fn parse(text: &str, may_leave: bool) -> Result<RelPath, String> {
        if text.contains('\\') {
            return Err(format!("`{text}` has a backslash: write `/` between the parts of a path"));
        }
        if text.contains(|letter: char| letter.is_control()) {
            return Err("a path has no control characters".to_owned());
        }
        let drive = matches!(text.as_bytes(), [letter, b':', ..] if letter.is_ascii_alphabetic());
        if text.starts_with('/') || drive {
            return Err(format!("`{text}` is absolute: a spec's paths are relative to its Cargo.toml"));
        }
        let parts: Vec<&str> = text.split('/').filter(|part| !matches!(*part, "" | ".")).collect();
        let up = parts.iter().take_while(|part| **part == "..").count();
        if parts.len() == up {
            return Err(format!("`{text}` names no file"));
        }
        if parts[up..].contains(&"..") || (up > 0 && !may_leave) {
            return Err(format!("`{text}` must not contain `..`: it names a file of this package"));
        }
        Ok(RelPath(parts.join("/")))
    }
}

impl fmt::Display for RelPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_paths_are_spelled_alike() {
        let path = RelPath::parse("./kernels//a b/é.cu", false).unwrap();
        assert_eq!(path.as_str(), "kernels/a b/é.cu");
        assert_eq!(path.under(Path::new("root")), Path::new("root").join("kernels").join("a b").join("é.cu"));
    }

    #[test]
    fn a_path_stays_in_its_package() {
        for bad in ["", ".", "/etc/x", "C:/x", "c:x", "a\\b", "../x", "a/../x", "a/..", "..", "a\nb"] {
            assert!(RelPath::parse(bad, false).is_err(), "{bad}");
        }
    }

    #[test]
    fn host_files_of_another_package_may_lie_beside_it() {
        let path = RelPath::parse("../ops-host/examples/x.rs", true).unwrap();
        assert_eq!(path.under(Path::new("/w/ops")), Path::new("/w/ops-host/examples/x.rs"));
        assert_eq!(path.under(Path::new("")), Path::new("../ops-host/examples/x.rs"));
        for bad in ["..", "../..", "a/../../x", "/x"] {
            assert!(RelPath::parse(bad, true).is_err(), "{bad}");
        }
    }
}
