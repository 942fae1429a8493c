//! What the CPU device found in a launch that failed: kind, PTX line, source line, block, thread, buffer and offset.
//!
//! It writes a line for each launch to a file. The words are evidence for people and prompts; a verdict is never taken
//! from them.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

use serde::Deserialize;

use crate::compile::{LineTable, SourceLine};

/// Names the file to the CPU device.
pub(super) const VARIABLE: &str = "FSR_SIM_REPORT";
/// The last line lies within so many bytes of the end: a fault takes some hundred, and few of them are listed.
const TAIL: u64 = 256 << 10;
/// Faults that are listed.
const LISTED: usize = 5;

/// The file of one judge.
pub(super) fn file(runtime: &Path) -> PathBuf {
    runtime.join("launches.jsonl")
}

/// What the last launch came to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Finding {
    /// It did something that it must not do; the first fault ended it.
    Faults(Vec<Fault>),
    /// It has instructions that the CPU device does not know: no fault of the kernel.
    Unsupported {
        /// Which.
        instructions: Vec<String>,
    },
}

#[derive(Deserialize)]
struct Line {
    verdict: String,
    #[serde(default)]
    faults: Vec<Fault>,
    #[serde(default)]
    instructions: Vec<UnsupportedLine>,
}

/// One fault, at one instruction.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub(super) struct Fault {
    kind: String,
    /// All of it in words.
    message: String,
    ptx_line: u32,
    /// Where the PTX itself has line information.
    source_line: Option<u32>,
    /// Of a race: the earlier access.
    #[serde(default)]
    other_ptx_line: Option<u32>,
    occurrences: u64,
}

#[derive(Deserialize)]
struct UnsupportedLine {
    instruction: String,
    ptx_line: u32,
}

/// Kinds of fault that may be limits of the CPU device.
const LIMITS: [&str; 3] = ["instruction budget exhausted", "stack overflow", "unsupported"];

impl Finding {
    /// Whether nothing but the kernel can be at fault.
    pub(super) fn is_conclusive(&self) -> bool {
        match self {
            Self::Faults(faults) => {
                faults.first().is_some_and(|fault| !LIMITS.contains(&fault.kind.as_str()))
            }
            Self::Unsupported { .. } => false,
        }
    }

    /// A line of summary, and evidence. The table leads to the source where the PTX does not.
    pub(super) fn words(&self, table: Option<&LineTable>) -> (String, String) {
        match self {
            Self::Faults(faults) => {
                let mut evidence: Vec<String> =
                    faults.iter().take(LISTED).map(|fault| fault.words(table)).collect();
                if faults.len() > LISTED {
                    evidence.push(format!("and {} more", faults.len() - LISTED));
                }
                (faults.first().map(|first| first.summary(table)).unwrap_or_default(), evidence.join("\n"))
            }
            Self::Unsupported { instructions } => (
                format!(
                    "the CPU device does not execute {}",
                    instructions.first().map_or("its instructions", String::as_str)
                ),
                format!("not supported by the CPU device, though a GPU may be: {}", instructions.join(", ")),
            ),
        }
    }
}

impl Fault {
    fn summary(&self, table: Option<&LineTable>) -> String {
        let Self { kind, ptx_line, .. } = self;
        match (self.source_line, table.and_then(|table| table.source(*ptx_line))) {
            (_, Some(at)) => format!("{kind} at {}:{}", at.file, at.line),
            (Some(line), None) => format!("{kind} at source line {line}"),
            (None, None) => format!("{kind} at PTX line {ptx_line}"),
        }
    }

    fn words(&self, table: Option<&LineTable>) -> String {
        let mut words = self.message.clone();
        if self.occurrences > 1 && !words.ends_with("times)") {
            words.push_str(&format!(" ({} times)", self.occurrences));
        }
        let mut place = |line: u32, what: &str| {
            if let Some(SourceLine { file, line, text }) = table.and_then(|table| table.source(line)) {
                words.push_str(&format!("\n  {what}{file}:{line}: `{text}`"));
            }
        };
        place(self.ptx_line, "");
        if let Some(other) = self.other_ptx_line {
            place(other, "races with ");
        }
        words
    }
}

/// Begins anew: whatever fails before its first launch must not be told what another candidate did.
pub(super) fn forget(file: &Path) -> io::Result<()> {
    match File::options().write(true).open(file) {
        // The device appends to it, wherever its end is by then.
        Ok(file) => file.set_len(0),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        Err(error) => Err(error),
    }
}

/// Reads the last line; `None` where there is none, or where that launch was clean.
pub(super) fn last(file: &Path) -> Option<Finding> {
    let mut file = File::open(file).ok()?;
    let length = file.metadata().ok()?.len();
    file.seek(SeekFrom::Start(length.saturating_sub(TAIL))).ok()?;
    let mut bytes = Vec::new();
    file.read_to_end(&mut bytes).ok()?;
    let text = String::from_utf8_lossy(&bytes);
    // A line that is not whole belongs to a launch that never ended.
    let line = text.strip_suffix('\n')?.rsplit('\n').next()?;
    understand(line)
}

fn understand(line: &str) -> Option<Finding> {
    let line: Line = serde_json::from_str(line).ok()?;
    match line.verdict.as_str() {
        "fault" if !line.faults.is_empty() => Some(Finding::Faults(line.faults)),
        "unsupported" => {
            let instructions = line.instructions.iter().take(LISTED);
            let named = instructions.map(|it| format!("`{}` (PTX line {})", it.instruction, it.ptx_line));
            Some(Finding::Unsupported { instructions: named.collect() })
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_launch_is_told() {
        let folder = tempfile::tempdir().unwrap();
        let path = file(folder.path());
        assert_eq!(last(&path), None);
        let clean = r#"{"kernel":"k","verdict":"clean","counts":{}}"#;
        let fault = r#"{"kernel":"k","verdict":"fault","faults":[{"kind":"race","message":"race in k","instruction":"st","ptx_line":7,"source_file":"kernel.cu","source_line":3,"block":[0,0,0],"thread":[0,0,0],"occurrences":4}]}"#;
        let unsupported = r#"{"kernel":"k","verdict":"unsupported","instructions":[{"instruction":"wgmma.fence","ptx_line":9}]}"#;
        let written = |lines: &[&str]| {
            std::fs::write(&path, lines.concat()).unwrap();
            last(&path)
        };
        assert_eq!(written(&[fault, "\n", clean, "\n"]), None);
        let found = written(&[clean, "\n", fault, "\n"]).unwrap();
        assert!(found.is_conclusive());
        assert_eq!(found.words(None), ("race at source line 3".to_owned(), "race in k (4 times)".to_owned()));
        let budget = written(&[&fault.replace("race", "instruction budget exhausted"), "\n"]).unwrap();
        assert!(!budget.is_conclusive());
        assert_eq!(
            written(&[clean, "\n", unsupported, "\n"]),
            Some(Finding::Unsupported { instructions: vec!["`wgmma.fence` (PTX line 9)".to_owned()] })
        );
        assert_eq!(written(&[clean, "\n", "{\"kernel\""]), None);
        assert!(written(&[fault, "\n"]).is_some());
        forget(&path).unwrap();
        assert_eq!(last(&path), None);
    }
}
