//! Cuts the paths of this machine from the words of others: they reach prompts, and journals that are shown around.
//!
//! What a path ends with stays, since it says most: `/home/jo/.cargo/.../driver.rs:7:5` becomes `driver.rs:7:5`. Of the
//! file system only the names of the topmost folders are looked at: `n /blockDim.x/2` is no path.

use std::path::{Path, PathBuf};

/// Cuts every absolute path down to its last part.
pub fn cut(text: &str) -> String {
    // A blank within a folder's name ends a path for anyone who does not know the folder.
    let text = cut_folders(text, &known_folders());
    let mut shown = String::with_capacity(text.len());
    let mut rest = text.as_str();
    let mut before = None;
    while let Some(first) = rest.chars().next() {
        let root = root(rest).filter(|_| before.is_none_or(|before| !is_of_path(before)));
        match root {
            Some(root) => {
                let inside = &rest[root..];
                let end = root + inside.find(|c| !is_of_path(c) && c != '\\').unwrap_or(inside.len());
                let last = last_part(&rest[..end], root);
                shown.push_str(last);
                before = last.chars().next_back();
                rest = &rest[end..];
            }
            None => {
                shown.push(first);
                before = Some(first);
                rest = &rest[first.len_utf8()..];
            }
        }
    }
    shown
}

/// Cuts folders from the paths that lie in them: the rest of a path stays.
pub fn cut_folders(text: &str, folders: &[impl AsRef<Path>]) -> String {
    let mut names: Vec<String> = folders
        .iter()
        .flat_map(|folder| [Some(folder.as_ref().to_path_buf()), folder.as_ref().canonicalize().ok()])
        .flatten()
        .map(|folder| folder.display().to_string().trim_end_matches(['/', '\\']).to_owned())
        .filter(|folder| folder.len() > 1 && Path::new(folder).is_absolute())
        .collect();
    names.sort_by_key(|name| std::cmp::Reverse(name.len()));
    names.dedup();
    names.iter().fold(text.to_owned(), |text, name| cut_folder(&text, name))
}

fn cut_folder(text: &str, folder: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find(folder) {
        let (before, after) = (&rest[..at], &rest[at + folder.len()..]);
        let begins = !before.chars().next_back().is_some_and(is_of_path);
        let inside = after.strip_prefix(['/', '\\']);
        shown.push_str(before);
        rest = match inside {
            Some(inside) if begins => inside,
            None if begins && !after.starts_with(is_of_path) => after,
            _ => {
                shown.push_str(folder);
                after
            }
        };
    }
    shown.push_str(rest);
    shown
}

/// Folders that this machine's paths begin with.
fn known_folders() -> Vec<PathBuf> {
    let named = ["HOME", "USERPROFILE", "CARGO_HOME", "RUSTUP_HOME", "CARGO_TARGET_DIR"];
    let named = named.iter().filter_map(std::env::var_os).map(PathBuf::from);
    named.chain(std::env::current_dir()).chain([std::env::temp_dir()]).collect()
}

/// Bytes that make a path absolute: `/`, or `C:\` with either slash.
fn root(text: &str) -> Option<usize> {
    let bytes = text.as_bytes();
    match bytes {
        // As in `https://`.
        [b'/', b'/', ..] => None,
        [b'/', ..] => Some(1),
        [drive, b':', b'\\' | b'/', ..] if drive.is_ascii_alphabetic() => Some(3),
        _ => None,
    }
}

/// The last part of a path with at least two.
fn last_part(path: &str, root: usize) -> &str {
    let inside = path[root..].trim_end_matches(['/', '\\']);
    match (inside.find(['/', '\\']), inside.rfind(['/', '\\'])) {
        (Some(first), Some(last)) if is_topmost(&path[..root + first]) => &inside[last + 1..],
        _ => path,
    }
}

/// Whether there is such a folder here, or in the paths that rustc gives to the standard library.
fn is_topmost(folder: &str) -> bool {
    folder == "/rustc" || Path::new(folder).is_dir() || !folder.starts_with('/')
}

fn is_of_path(c: char) -> bool {
    c.is_alphanumeric() || "/._-+@~%".contains(c)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_is_cut_down_to_its_last_part() {
        for (text, shown) in [
            (
                "panicked at /home/jo/.cargo/registry/src/x-1/driver.rs:7:5:\nno",
                "panicked at driver.rs:7:5:\nno",
            ),
            ("(/dev/shm/cargo-fsr-1/in.bin)", "(in.bin)"),
            ("at /rustc/0123/library/core/src/option.rs:1", "at option.rs:1"),
            ("cannot open '/etc/x.conf', nor \"/usr/cuda/lib/\"", "cannot open 'x.conf', nor \"lib\""),
            (r"at C:\Users\jo\ops\src\lib.rs:3", "at lib.rs:3"),
            ("D:/a/ops/lib.rs", "lib.rs"),
            ("library=/usr/lib/libcuda.so.1", "library=libcuda.so.1"),
            ("LD_LIBRARY_PATH=/usr/a/lib:/usr/b/lib64", "LD_LIBRARY_PATH=lib:lib64"),
        ] {
            assert_eq!(cut(text), shown);
        }
    }

    #[test]
    fn what_is_no_path_of_a_machine_stays() {
        for text in [
            "panicked at examples/fsr_saxpy.rs:13:13: not a multiple of four",
            "https://api.example.com/v1/models answered 404",
            "12 / 4, a/b, x // y/z, N/A and /",
            "expected 1/3, got 0.3",
            "int half = n /blockDim.x/2; int third = (/n/3)",
            "no credit / try later / bye",
        ] {
            assert_eq!(cut(text), text);
        }
    }

    #[test]
    fn known_folders_may_have_blanks() {
        let folders = [Path::new("/data/my work"), Path::new("/data/my work/ops")];
        let cut = |text| cut_folders(text, &folders);
        assert_eq!(cut("at /data/my work/ops/src/lib.rs:1"), "at src/lib.rs:1");
        assert_eq!(cut("at /data/my work/other/lib.rs:1"), "at other/lib.rs:1");
        assert_eq!(cut("in /data/my work: no"), "in : no");
        assert_eq!(cut("/data/my workshop /mnt/data/my work/x"), "/data/my workshop /mnt/data/my work/x");
    }

    #[test]
    fn the_folders_of_this_process_are_known() {
        let here = std::env::current_dir().unwrap();
        assert_eq!(cut(&format!("at {}/src/lib.rs:1", here.display())), "at src/lib.rs:1");
    }
}
