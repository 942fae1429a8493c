//! Annotations: GitHub shows them at the file and line of a change that a check failed on.
//!
//! Owns the form of the workflow commands (`::error file=...::text`) and how paths and texts go into them.

use std::fmt::{self, Display};
use std::path::{Path, PathBuf};

/// How loud an annotation is.
#[derive(Clone, Copy, Debug)]
pub enum Level {
    /// The check fails for it.
    Error,
    /// It only says something.
    Warning,
}

/// One annotation, shown as a line.
#[derive(Debug)]
pub struct Annotation<'a> {
    /// How loud.
    pub level: Level,
    /// The file; shown relative to the check-out, which is all that GitHub can place.
    pub file: &'a Path,
    /// The line, from 1.
    pub line: Option<usize>,
    /// A few words.
    pub title: &'a str,
    /// The whole story.
    pub text: &'a str,
}

impl Display for Annotation<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let level = match self.level {
            Level::Error => "error",
            Level::Warning => "warning",
        };
        let file = within(self.file, &checkout());
        write!(f, "::{level} file={}", property(&file.to_string_lossy().replace('\\', "/")))?;
        if let Some(line) = self.line {
            write!(f, ",line={line}")?;
        }
        write!(f, ",title={}::{}", property(self.title), data(self.text))
    }
}

/// GitHub says where it put the check-out; elsewhere the check runs in it.
fn checkout() -> PathBuf {
    std::env::var_os("GITHUB_WORKSPACE").map(PathBuf::from).unwrap_or_else(super::here)
}

fn within<'a>(file: &'a Path, root: &Path) -> &'a Path {
    file.strip_prefix(root).unwrap_or(file)
}

fn data(text: &str) -> String {
    text.replace('%', "%25").replace('\r', "%0D").replace('\n', "%0A")
}

fn property(text: &str) -> String {
    data(text).replace(':', "%3A").replace(',', "%2C")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_would_end_a_property_is_escaped() {
        let annotation = Annotation {
            level: Level::Error,
            file: Path::new("odd, path:x/100%.toml"),
            line: Some(7),
            title: "stale: a",
            text: "first, 50%:\nsecond",
        };
        assert_eq!(
            annotation.to_string(),
            "::error file=odd%2C path%3Ax/100%25.toml,line=7,title=stale%3A a::first, 50%25:%0Asecond"
        );
    }

    #[test]
    fn files_are_told_from_the_root_of_the_checkout() {
        let root = Path::new("checkout");
        assert_eq!(within(&root.join("fsr/a.toml"), root), Path::new("fsr/a.toml"));
        assert_eq!(within(Path::new("elsewhere/a"), root), Path::new("elsewhere/a"));
    }
}
