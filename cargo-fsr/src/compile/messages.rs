//! The compiler's messages as a model, or a person, can use them: `kernel.cu:4:75: error: ...`.
//!
//! NVRTC gives lines only; columns are read from its carets. Source text is shown of the candidate and the spec's own
//! headers alone, and no path of this machine remains.

use std::path::Path;

use crate::paths::cut_folders;

/// Errors that are kept; the first ones say most.
const ERRORS: usize = 20;
/// Warnings that are kept.
const WARNINGS: usize = 8;
/// Characters of one message: template instantiations grow without end.
const MESSAGE: usize = 1500;
/// Characters of all of them.
const ALL: usize = 12_000;
/// Characters of a source line that are shown around the caret.
const WINDOW: usize = 160;

/// Rewrites a log. `files` are the names whose source may be shown; `folders` are cut wherever they occur.
pub(super) fn rewrite(log: &str, files: &[&str], folders: &[&Path]) -> String {
    let log = cut_folders(log, folders);
    let mut shown = String::new();
    let (mut errors, mut warnings, mut left_out) = (0, 0, 0);
    for message in split(&log) {
        let text = message.render(files);
        let (count, most) =
            if message.is_error() { (&mut errors, ERRORS) } else { (&mut warnings, WARNINGS) };
        if *count >= most || shown.len() + text.len() > ALL {
            left_out += 1;
            continue;
        }
        *count += 1;
        shown.push_str(&text);
    }
    if left_out > 0 {
        shown.push_str(&format!("... and {left_out} more messages\n"));
    }
    shown
}

#[derive(Debug, PartialEq)]
struct Message<'a> {
    /// File and line; `None` for a message about the compilation as a whole.
    place: Option<(&'a str, u32)>,
    /// `error: ...`, `warning #177-D: ...`.
    text: &'a str,
    /// Source line, caret and notes, as they came.
    more: Vec<&'a str>,
}

fn split(log: &str) -> Vec<Message<'_>> {
    let mut messages: Vec<Message<'_>> = Vec::new();
    for line in log.lines() {
        if let Some((place, text)) = begins(line) {
            messages.push(Message { place: Some(place), text, more: Vec::new() });
        } else if is_tail(line) {
            continue;
        } else if let Some(message) =
            messages.last_mut().filter(|_| line.starts_with(' ') || line.starts_with('\t'))
        {
            message.more.push(line);
        } else if !line.trim().is_empty() {
            messages.push(Message { place: None, text: line.trim(), more: Vec::new() });
        }
    }
    messages
}

/// `kernel.cu(4): error: expected a ";"`.
fn begins(line: &str) -> Option<((&str, u32), &str)> {
    const KINDS: [&str; 7] =
        ["error", "warning", "catastrophic error", "fatal error", "internal error", "remark", "note"];
    if line.starts_with([' ', '\t']) {
        return None;
    }
    let (head, text) = line.split_once("): ")?;
    let (file, number) = head.rsplit_once('(')?;
    let number = number.parse().ok()?;
    KINDS.iter().any(|kind| text.starts_with(kind)).then_some(((file, number), text))
}

/// Sentences about the log itself.
fn is_tail(line: &str) -> bool {
    line.starts_with("Remark: The warnings can be suppressed")
        || line.starts_with("Compilation terminated.")
        || line.contains(" detected in the compilation of ")
}

impl Message<'_> {
    fn is_error(&self) -> bool {
        !self.text.starts_with("warning") && !self.text.starts_with("remark")
    }

    fn render(&self, files: &[&str]) -> String {
        let mut out = String::new();
        let Some((file, line)) = self.place else {
            return shorten(self.text, MESSAGE) + "\n";
        };
        let caret = self.more.iter().position(|line| line.trim() == "^");
        let column = caret.and_then(|at| column(self.more.get(at.checked_sub(1)?)?, self.more[at]));
        let own = files.contains(&file);
        match column.filter(|_| own) {
            Some(column) => out.push_str(&format!("{file}:{line}:{column}: {}\n", self.text)),
            None => out.push_str(&format!("{file}:{line}: {}\n", self.text)),
        }
        for (at, line) in self.more.iter().enumerate() {
            let is_source = caret.is_some_and(|caret| at == caret || at + 1 == caret);
            if !is_source && !line.trim().is_empty() {
                out.push_str(line);
                out.push('\n');
            }
            if own
                && let (Some(caret), Some(column)) = (caret, column)
                && at + 1 == caret
            {
                out.push_str(&excerpt(line, column));
            }
        }
        shorten(&out, MESSAGE)
    }
}

/// The column in characters, from 1. The log indents source lines by two, and places its caret by bytes.
fn column(source: &str, caret: &str) -> Option<usize> {
    let at = caret.find('^')?.checked_sub(2)?;
    let source = source.get(2..)?;
    let before = source.get(..at).map_or(at, |before| before.chars().count());
    Some(before + 1)
}

/// A source line and its caret; long lines are cut to the neighbourhood of the caret.
fn excerpt(line: &str, column: usize) -> String {
    let source: Vec<char> = line.chars().skip(2).collect();
    let at = column - 1;
    let first = if source.len() > WINDOW { at.saturating_sub(WINDOW / 2) } else { 0 };
    let last = (first + WINDOW).min(source.len());
    let shown: String = source.get(first..last).unwrap_or_default().iter().collect();
    // Tabs stay tabs, so that the caret stands right in any terminal.
    let before = source.get(first..at.min(last)).unwrap_or_default();
    let pad: String = before.iter().map(|c| if *c == '\t' { '\t' } else { ' ' }).collect();
    let pad = pad + &" ".repeat(at.saturating_sub(first).saturating_sub(before.len()));
    format!("  {shown}\n  {pad}^\n")
}

/// At most `most` characters, ended by a line feed where the text was.
fn shorten(text: &str, most: usize) -> String {
    match text.char_indices().nth(most) {
        None => text.to_owned(),
        Some((end, _)) => format!("{} ...\n", text[..end].trim_end()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LOG: &str = r#"kernel.cu(1): error: identifier "y" is undefined
  __device__ int f(int x){return y;}
                                 ^

/opt/cuda 12/include/cuda_fp16.h(2): error: identifier "zz" is undefined
  int bad(){ return zz; }
                    ^
          detected during instantiation of class "F<N> [with N=24]" at line 7 of /opt/cuda 12/include/mma.h

kernel.cu(3): warning #1105-D: #warning directive: hi
  	#warning hi
  	 ^

Remark: The warnings can be suppressed with "-diag-suppress <warning-number>"

common.cuh(9): error: expected a ";"
  a
  ^

nvrtc: error: something as a whole

3 errors detected in the compilation of "kernel.cu".
"#;

    #[test]
    fn places_have_columns_and_no_paths() {
        let folder = Path::new("/opt/cuda 12/include");
        insta::assert_snapshot!(rewrite(LOG, &["kernel.cu", "common.cuh"], &[folder]));
    }

    #[test]
    fn columns_count_characters_where_the_compiler_counts_bytes() {
        let log = "kernel.cu(1): error: no\n  /* \u{2014} */ bad;\n            ^\n";
        assert_eq!(
            rewrite(log, &["kernel.cu"], &[]),
            "kernel.cu:1:9: error: no\n  /* \u{2014} */ bad;\n          ^\n"
        );
    }

    #[test]
    fn source_of_other_files_is_not_shown() {
        let log = "/etc/passwd(1): error: identifier \"root\" is undefined\n  root:x:0:0\n  ^\n";
        assert!(!rewrite(log, &["kernel.cu"], &[]).contains("x:0:0"));
    }

    #[test]
    fn the_first_errors_are_kept_of_many() {
        let log: String = (1..=500).map(|n| format!("kernel.cu({n}): error: no {n}\n  x\n  ^\n\n")).collect();
        let shown = rewrite(&log, &["kernel.cu"], &[]);
        assert!(shown.starts_with("kernel.cu:1:1: error: no 1\n"));
        assert!(shown.contains("no 20\n") && !shown.contains("no 21\n"));
        assert!(shown.ends_with("... and 480 more messages\n"));
    }

    #[test]
    fn warnings_do_not_push_errors_out() {
        let mut log: String = (1..=500).map(|n| format!("kernel.cu({n}): warning #1-D: w{n}\n\n")).collect();
        log.push_str("kernel.cu(501): error: the cause\n");
        assert!(rewrite(&log, &["kernel.cu"], &[]).contains("kernel.cu:501: error: the cause"));
    }

    #[test]
    fn a_long_line_is_cut_around_its_caret() {
        let source = format!("{}BAD{}", "a+".repeat(400), "+b".repeat(400));
        let log = format!("kernel.cu(1): error: no\n  {source}\n  {}^\n", " ".repeat(800));
        let shown = rewrite(&log, &["kernel.cu"], &[]);
        let lines: Vec<&str> = shown.lines().collect();
        assert_eq!(lines[0], "kernel.cu:1:801: error: no");
        let caret = lines[2].find('^').unwrap();
        assert_eq!(&lines[1][caret..caret + 3], "BAD");
        assert!(lines[1].len() < 200);
    }

    #[test]
    fn endless_instantiations_are_cut() {
        let log = format!("kernel.cu(1): error: no {}\n", "x".repeat(100_000));
        assert!(rewrite(&log, &["kernel.cu"], &[]).len() < 2000);
    }
}
