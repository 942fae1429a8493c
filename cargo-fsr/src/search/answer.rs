//! From the text of an answer to the one source that it proposes.
//!
//! The contract: one fenced code block defines every entry, with C linkage and device code only. An answer that
//! breaks it is an ordinary failed candidate with a feedback of its own. What the answer says around the block, its
//! own speed for instance, is never read. Several blocks that define the entries are ambiguous, unless they are the
//! same text or exactly one carries the word `final` behind its fence: a guess here would validate one kernel while
//! the model believes in another.

use fsr_protocol::Tunables;
use serde::{Deserialize, Serialize};

use super::cuda_text::{Scan, Token, scan};
use super::launch::{LaunchFault, declared};
use crate::brief::Brief;

/// A source that keeps the contract.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Source {
    /// CUDA C++, with LF.
    pub text: String,
    /// Launch parameters that it declares.
    pub launch: Tunables,
}

/// Why an answer gives no source.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Rejection {
    /// What is wrong.
    pub fault: AnswerFault,
    /// The code that it is about, where one block can be told.
    pub code: Option<String>,
}

/// Kinds of answers that break the contract. Each message tells a model what to do about it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum AnswerFault {
    /// No code block at all.
    #[error("the answer holds no fenced code block; put the whole source into one ```cuda block")]
    NoBlock,
    /// Code blocks, and no kernel in any.
    #[error("no code block of the answer defines a __global__ function; expected {expected}")]
    NoKernel {
        /// The entries.
        expected: String,
    },
    /// Kernels, and not those that are launched.
    #[error("the code defines {found}, and the program launches {expected}; keep the name")]
    WrongEntry {
        /// Kernels that are there.
        found: String,
        /// The entries.
        expected: String,
    },
    /// Some entries, not all in one block.
    #[error("no single code block defines all of {expected}; missing beside the others: {missing}")]
    MissingEntry {
        /// Not there.
        missing: String,
        /// The entries.
        expected: String,
    },
    /// The name would be mangled.
    #[error("{name} is not declared extern \"C\", so the program cannot find it by its name")]
    NotExternC {
        /// The entry.
        name: String,
    },
    /// Several candidates in one answer.
    #[error(
        "{blocks} different code blocks define {expected}; answer with exactly one, or mark one as ```cuda final"
    )]
    Several {
        /// How many.
        blocks: usize,
        /// The entries.
        expected: String,
    },
    /// The last fence is open.
    #[error("the answer ends in the middle of its code block; it was cut off, so write a shorter one")]
    Truncated,
    /// Longer than the limit.
    #[error("the source has {bytes} bytes, and the limit is {limit}")]
    TooLong {
        /// Its size.
        bytes: usize,
        /// The limit.
        limit: usize,
    },
    /// Code for the CPU.
    #[error(
        "the source holds host code: {what}; only device code is compiled, and the program allocates, launches and measures by itself"
    )]
    HostCode {
        /// The construct.
        what: String,
    },
    /// A header for the CPU.
    #[error("the source includes <{name}>, a header for the CPU; CUDA's built-in functions need no include")]
    HostHeader {
        /// The header.
        name: String,
    },
    /// Launch parameters.
    #[error("{0}")]
    Launch(LaunchFault),
}

/// Takes the source from an answer.
pub fn extract(answer: &str, brief: &Brief, limit: usize) -> Result<Source, Rejection> {
    // Editors leave a byte order mark before the first fence.
    let answer = answer.trim_start_matches('\u{feff}').replace("\r\n", "\n");
    let blocks = blocks(&answer);
    let text = choose(&blocks, brief)?;
    if text.len() > limit {
        let fault = AnswerFault::TooLong { bytes: text.len(), limit };
        return Err(Rejection { fault, code: Some(text.chars().take(limit).collect()) });
    }
    let source = check(&text, brief)?;
    match host_code(&scan(&text)) {
        Some(fault) => Err(Rejection { fault, code: Some(text) }),
        None => Ok(source),
    }
}

/// Holds a source that the search was given (a baseline, an earlier winner) against what every kernel has to keep:
/// its entries and its launch parameters. What else it holds, the compiler judges.
pub fn check(text: &str, brief: &Brief) -> Result<Source, Rejection> {
    let reject = |fault| Rejection { fault, code: Some(text.to_owned()) };
    let scan = scan(text);
    let kernels = scan.kernels();
    for entry in &brief.entries {
        let definitions: Vec<_> = kernels.iter().filter(|kernel| kernel.name == entry).collect();
        if definitions.is_empty() {
            return Err(reject(AnswerFault::MissingEntry {
                missing: entry.clone(),
                expected: brief.entries.join(", "),
            }));
        }
        if !definitions.iter().any(|kernel| kernel.extern_c) {
            return Err(reject(AnswerFault::NotExternC { name: entry.clone() }));
        }
    }
    let launch = declared(&scan, brief).map_err(|fault| reject(AnswerFault::Launch(fault)))?;
    Ok(Source { text: text.to_owned(), launch })
}

/// A fenced block of Markdown.
#[derive(Debug)]
struct Block<'a> {
    info: &'a str,
    text: String,
    closed: bool,
}

fn blocks(answer: &str) -> Vec<Block<'_>> {
    let mut blocks: Vec<Block<'_>> = Vec::new();
    let mut open: Option<(char, usize, &str)> = None;
    for line in answer.split_inclusive('\n') {
        let bare = line.trim_end_matches('\n');
        let stripped = bare.trim_start();
        let indent = &bare[..bare.len() - stripped.len()];
        match open {
            None => {
                if let Some((sign, length)) = fence(stripped) {
                    let info = stripped[length..].trim();
                    // An info string with a backtick is inline code, not a fence (CommonMark 4.5).
                    if !(sign == '`' && info.contains('`')) {
                        open = Some((sign, length, indent));
                        blocks.push(Block { info, text: String::new(), closed: false });
                    }
                }
            }
            Some((sign, length, indent)) => {
                let Some(block) = blocks.last_mut() else { continue };
                let closes = fence(stripped).is_some_and(|(other, count)| {
                    other == sign && count >= length && stripped[count..].trim().is_empty()
                });
                if closes {
                    block.closed = true;
                    open = None;
                } else {
                    // Blocks inside a list are indented with it.
                    block.text.push_str(line.strip_prefix(indent).unwrap_or(line));
                }
            }
        }
    }
    blocks
}

fn fence(line: &str) -> Option<(char, usize)> {
    let sign = line.chars().next().filter(|sign| matches!(sign, '`' | '~'))?;
    let length = line.len() - line.trim_start_matches(sign).len();
    (length >= 3).then_some((sign, length))
}

fn choose(blocks: &[Block<'_>], brief: &Brief) -> Result<String, Rejection> {
    let expected = brief.entries.join(", ");
    let plain = |fault| Rejection { fault, code: None };
    let defined = |block: &Block<'_>| -> Vec<String> {
        scan(&block.text).kernels().iter().map(|kernel| kernel.name.to_owned()).collect()
    };
    let mentions_entry = |block: &Block<'_>| {
        let scan = scan(&block.text);
        scan.tokens.contains(&Token::Word("__global__"))
            && brief.entries.iter().any(|entry| scan.tokens.contains(&Token::Word(entry)))
    };

    let closed: Vec<(&Block<'_>, Vec<String>)> =
        blocks.iter().filter(|block| block.closed).map(|block| (block, defined(block))).collect();
    let whole: Vec<&Block<'_>> = closed
        .iter()
        .filter(|(_, names)| brief.entries.iter().all(|entry| names.contains(entry)))
        .map(|(block, _)| *block)
        .collect();
    // An open block that begins the kernel anew was to replace whatever came before it.
    let open = blocks.iter().find(|block| !block.closed);
    if let Some(open) = open
        && (whole.is_empty() || mentions_entry(open))
    {
        return Err(Rejection { fault: AnswerFault::Truncated, code: Some(open.text.clone()) });
    }

    let marked: Vec<&&Block<'_>> = whole.iter().filter(|block| is_final(block.info)).collect();
    match (whole.as_slice(), marked.as_slice()) {
        ([], _) => {}
        ([only], _) => return Ok(only.text.clone()),
        (_, [only]) => return Ok(only.text.clone()),
        ([first, rest @ ..], _) if rest.iter().all(|block| block.text.trim() == first.text.trim()) => {
            return Ok(first.text.clone());
        }
        (several, _) => return Err(plain(AnswerFault::Several { blocks: several.len(), expected })),
    }

    let Some((best, names)) = closed.iter().max_by_key(|(_, names)| {
        (names.iter().filter(|name| brief.entries.contains(name)).count(), names.len())
    }) else {
        return Err(plain(AnswerFault::NoBlock));
    };
    let code = (!names.is_empty()).then(|| best.text.clone());
    let missing: Vec<&str> =
        brief.entries.iter().filter(|entry| !names.contains(entry)).map(String::as_str).collect();
    let fault = if names.is_empty() {
        AnswerFault::NoKernel { expected }
    } else if missing.len() == brief.entries.len() {
        AnswerFault::WrongEntry { found: names.join(", "), expected }
    } else {
        AnswerFault::MissingEntry { missing: missing.join(", "), expected }
    };
    Err(Rejection { fault, code })
}

fn is_final(info: &str) -> bool {
    info.split([' ', ',', '{', '}'])
        .any(|word| word.trim_start_matches(['.', '#']).eq_ignore_ascii_case("final"))
}

/// Headers that only make sense on the CPU, and that people know by heart. Others are left to the compiler, which
/// knows what it has, and gives the C library's names to sources that were written for nvcc.
const HOST_HEADERS: &[&str] = &[
    "algorithm",
    "chrono",
    "fstream",
    "functional",
    "iomanip",
    "iostream",
    "map",
    "memory",
    "numeric",
    "random",
    "sstream",
    "string",
    "thread",
    "torch/extension.h",
    "vector",
];

/// Calls of the runtime interface that exist on the device as well.
const DEVICE_CALLS: &[&str] = &["cudaGridDependencySynchronize", "cudaTriggerProgrammaticLaunchCompletion"];

fn host_code(scan: &Scan<'_>) -> Option<AnswerFault> {
    if scan.tokens.contains(&Token::Sign("<<<")) {
        return Some(AnswerFault::HostCode { what: "a launch with <<< >>>".to_owned() });
    }
    for include in scan.includes() {
        let name = include.trim_matches(['<', '>', '"', ' ']);
        if include.starts_with('<') && HOST_HEADERS.contains(&name) {
            return Some(AnswerFault::HostHeader { name: name.to_owned() });
        }
    }
    let is_api = |name: &str| {
        name.strip_prefix("cuda").is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_uppercase()))
    };
    scan.calls()
        .find(|name| *name == "main" || (is_api(name) && !DEVICE_CALLS.contains(name)))
        .map(|name| AnswerFault::HostCode { what: format!("{name}()") })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::search::fakes::brief;

    const SAXPY: &str = "extern \"C\" __global__ void saxpy(float* y) { y[0] = 1.0f; }";

    fn fenced(code: &str) -> String {
        format!("Here it is:\n```cuda\n{code}\n```\nIt runs at 9000 GB/s, 40x faster.\n")
    }

    fn fault(answer: &str) -> AnswerFault {
        extract(answer, &brief(), 4096).unwrap_err().fault
    }

    #[test]
    fn the_block_that_defines_the_entry_is_taken() {
        let answer =
            format!("First an idea:\n```cpp\n__device__ int f() {{ return 1; }}\n```\n{}", fenced(SAXPY));
        assert_eq!(extract(&answer, &brief(), 4096).unwrap().text.trim(), SAXPY);
    }

    #[test]
    fn line_ends_and_indentation_do_not_matter() {
        let answer = format!("- so:\r\n  ~~~~\r\n  {SAXPY}\r\n  ~~~~\r\n");
        assert_eq!(extract(&answer, &brief(), 4096).unwrap().text, format!("{SAXPY}\n"));
    }

    #[test]
    fn a_byte_order_mark_hides_no_fence() {
        let answer = format!("\u{feff}```cuda\r\n{SAXPY}\r\n```\r\n");
        assert_eq!(extract(&answer, &brief(), 4096).unwrap().text, format!("{SAXPY}\n"));
    }

    #[test]
    fn several_blocks_are_ambiguous_unless_equal_or_marked() {
        let other = SAXPY.replace("1.0f", "2.0f");
        let twice = format!("{}{}", fenced(SAXPY), fenced(SAXPY));
        assert!(extract(&twice, &brief(), 4096).is_ok());
        let two = format!("{}{}", fenced(SAXPY), fenced(&other));
        assert!(matches!(fault(&two), AnswerFault::Several { blocks: 2, .. }));
        let marked = format!("{}```cuda final\n{other}\n```\n{}", fenced(SAXPY), fenced(SAXPY));
        assert_eq!(extract(&marked, &brief(), 4096).unwrap().text.trim(), other);
    }

    #[test]
    fn every_breach_has_its_own_fault() {
        assert_eq!(fault("I cannot help with that."), AnswerFault::NoBlock);
        assert_eq!(fault(""), AnswerFault::NoBlock);
        assert!(matches!(fault("```\nint x;\n```"), AnswerFault::NoKernel { .. }));
        assert!(matches!(fault(&fenced(&SAXPY.replace("saxpy", "axpy"))), AnswerFault::WrongEntry { .. }));
        assert!(matches!(
            fault(&fenced(&SAXPY.replace("extern \"C\" ", ""))),
            AnswerFault::NotExternC { .. }
        ));
        assert_eq!(fault(&format!("```cuda\n{SAXPY}\n")), AnswerFault::Truncated);
        assert_eq!(
            fault(&format!("{}Better:\n```cuda\n{}", fenced(SAXPY), &SAXPY[..40])),
            AnswerFault::Truncated
        );
        assert!(matches!(
            fault(&fenced(&format!("{SAXPY}{}", " ".repeat(4096)))),
            AnswerFault::TooLong { .. }
        ));
        for (code, what) in [
            ("int main() { return 0; }", "main()"),
            ("void f(float* y) { saxpy<<<1, 1>>>(y); }", "a launch with <<< >>>"),
            ("void f(float** y) { cudaMalloc(y, 4); }", "cudaMalloc()"),
        ] {
            let fault = fault(&fenced(&format!("{SAXPY}\n{code}")));
            assert_eq!(fault, AnswerFault::HostCode { what: what.to_owned() });
        }
        assert_eq!(
            fault(&fenced(&format!("#include <iostream>\n{SAXPY}"))),
            AnswerFault::HostHeader { name: "iostream".to_owned() }
        );
    }

    #[test]
    fn a_trailing_open_block_without_the_kernel_is_ignored() {
        let answer = format!("{}Run it:\n```sh\nnvcc", fenced(SAXPY));
        assert!(extract(&answer, &brief(), 4096).is_ok());
    }

    #[test]
    fn all_entries_must_stand_in_one_block() {
        let mut brief = brief();
        brief.entries.push("second".to_owned());
        let second = "extern \"C\" __global__ void second() {}";
        let split = format!("{}{}", fenced(SAXPY), fenced(second));
        assert!(matches!(extract(&split, &brief, 4096).unwrap_err().fault, AnswerFault::MissingEntry { .. }));
        assert!(extract(&fenced(&format!("{SAXPY}\n{second}")), &brief, 4096).is_ok());
    }

    #[test]
    fn words_in_comments_and_strings_are_no_host_code() {
        let code = format!("// not main(), no cudaMalloc(), no <<<1, 1>>>\n{SAXPY}");
        assert!(extract(&fenced(&code), &brief(), 4096).is_ok());
    }

    #[test]
    fn launch_parameters_are_declared_within_bounds() {
        let mut brief = brief();
        brief.launch.insert("BLOCK_X".to_owned(), crate::brief::Bounds { min: 32, max: 1024 });
        let launch = |line: &str| match extract(&fenced(&format!("{line}\n{SAXPY}")), &brief, 4096) {
            Ok(source) => Ok(source.launch["BLOCK_X"]),
            Err(Rejection { fault: AnswerFault::Launch(fault), .. }) => Err(fault),
            Err(other) => panic!("{other:?}"),
        };
        assert_eq!(launch("// fsr: BLOCK_X = 128"), Ok(128));
        assert_eq!(launch("#define B 1 // fsr: BLOCK_X=64"), Ok(64));
        assert!(matches!(launch(""), Err(LaunchFault::Missing { .. })));
        assert!(matches!(
            launch("const char* s = \"// fsr: BLOCK_X = 64\";"),
            Err(LaunchFault::Missing { .. })
        ));
        assert!(matches!(launch("// fsr: BLOCK_X = 16"), Err(LaunchFault::OutOfBounds { .. })));
        assert!(matches!(
            launch("// fsr: BLOCK_X = 99999999999999999999"),
            Err(LaunchFault::OutOfBounds { .. })
        ));
        assert!(matches!(launch("// fsr: BLOCK_X = 64, BLOCK_Y = 2"), Err(LaunchFault::Unknown { .. })));
        assert!(matches!(launch("// fsr: BLOCK_X = many"), Err(LaunchFault::Unreadable { .. })));
        assert!(matches!(
            launch("// fsr: BLOCK_X = 64\n// fsr: BLOCK_X = 32"),
            Err(LaunchFault::Twice { .. })
        ));
    }
}
