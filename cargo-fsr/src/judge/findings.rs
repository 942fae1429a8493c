//! What the CPU device found in a launch that failed: kind, PTX line, source line, block, thread, buffer and offset.
//!
//! It writes a line for each launch to a file. The words are evidence for people and prompts; a verdict is never taken
//! from them.

use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

use serde::Deserialize;

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
    /// It did something that it must not do.
    Fault {
        /// The first fault in a line.
        summary: String,
        /// Some of them.
        evidence: String,
        /// Whether a GPU would be as wrong: not so where the CPU device met a limit of its own.
        conclusive: bool,
    },
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
    faults: Vec<FaultLine>,
    #[serde(default)]
    instructions: Vec<UnsupportedLine>,
}

#[derive(Deserialize)]
struct FaultLine {
    kind: String,
    message: String,
    ptx_line: u32,
    source_line: Option<u32>,
    occurrences: u64,
}

#[derive(Deserialize)]
struct UnsupportedLine {
    instruction: String,
    ptx_line: u32,
}

/// Kinds of fault that are limits of the CPU device, as they may be.
const LIMITS: [&str; 3] = ["instruction budget exhausted", "stack overflow", "unsupported"];

impl Finding {
    /// Whether nothing but the kernel can be at fault.
    pub(super) fn is_conclusive(&self) -> bool {
        matches!(self, Self::Fault { conclusive: true, .. })
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
        "fault" => {
            let first = line.faults.first()?;
            let at = match first.source_line {
                Some(source) => format!("source line {source}"),
                None => format!("PTX line {}", first.ptx_line),
            };
            let mut evidence: Vec<String> = line
                .faults
                .iter()
                .take(LISTED)
                .map(|fault| match fault.occurrences {
                    0 | 1 => fault.message.clone(),
                    times => format!("{} ({times} times)", fault.message),
                })
                .collect();
            if line.faults.len() > LISTED {
                evidence.push(format!("and {} more", line.faults.len() - LISTED));
            }
            Some(Finding::Fault {
                summary: format!("{} at {at}", first.kind),
                evidence: evidence.join("\n"),
                conclusive: !LIMITS.contains(&first.kind.as_str()),
            })
        }
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
        assert_eq!(
            written(&[clean, "\n", fault, "\n"]),
            Some(Finding::Fault {
                summary: "race at source line 3".to_owned(),
                evidence: "race in k (4 times)".to_owned(),
                conclusive: true,
            })
        );
        assert_eq!(
            written(&[clean, "\n", unsupported, "\n"]),
            Some(Finding::Unsupported { instructions: vec!["`wgmma.fence` (PTX line 9)".to_owned()] })
        );
        assert_eq!(written(&[clean, "\n", "{\"kernel\""]), None);
    }
}
