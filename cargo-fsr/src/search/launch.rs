//! Launch parameters: integers that a candidate chooses and declares in a comment, `// fsr: BLOCK_X = 32`.
//!
//! They are read from comments, so that the same source compiles anywhere, and handed to compiler and host code like
//! tunables are.

use std::collections::BTreeMap;

use fsr_protocol::Tunables;
use serde::{Deserialize, Serialize};

use super::cuda_text::Scan;
use crate::brief::{Bounds, Brief};

/// What is wrong with a candidate's declarations.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
#[serde(tag = "fault", rename_all = "kebab-case")]
pub enum LaunchFault {
    /// A parameter of the spec is not declared.
    #[error(
        "the launch parameter {name} is not declared: add a line `// fsr: {name} = VALUE`, VALUE from {bounds}"
    )]
    Missing {
        /// The parameter.
        name: String,
        /// What it may be.
        bounds: Bounds,
    },
    /// Declared, and not within its bounds.
    #[error("the launch parameter {name} is declared as {value}, and must lie within {bounds}")]
    OutOfBounds {
        /// The parameter.
        name: String,
        /// What it was declared as.
        value: String,
        /// What it may be.
        bounds: Bounds,
    },
    /// Not a parameter of the spec.
    #[error("`{name}` is declared and is no launch parameter; there are: {known}")]
    Unknown {
        /// As declared.
        name: String,
        /// All that there are.
        known: String,
    },
    /// Declared twice with different values.
    #[error("the launch parameter {name} is declared as {first} and as {second}")]
    Twice {
        /// The parameter.
        name: String,
        /// First value.
        first: u32,
        /// Second value.
        second: u32,
    },
    /// A comment begins with `fsr:` and does not read on as a declaration.
    #[error("the comment `// fsr:{text}` does not read `// fsr: NAME = VALUE`")]
    Unreadable {
        /// What follows `fsr:`.
        text: String,
    },
}

/// Reads the declarations of a source and holds them against the spec.
pub fn declared(scan: &Scan<'_>, brief: &Brief) -> Result<Tunables, LaunchFault> {
    let mut values = Tunables::new();
    for comment in &scan.comments {
        let Some(text) = comment.trim_start_matches(['/', '!', ' ', '\t']).strip_prefix("fsr:") else {
            continue;
        };
        for part in text.split([',', ';']).map(str::trim).filter(|part| !part.is_empty()) {
            let unreadable = || LaunchFault::Unreadable { text: shortened(text) };
            let (name, value) = part.split_once('=').ok_or_else(unreadable)?;
            let (name, value) = (name.trim(), value.trim());
            let bounds = *brief.launch.get(name).ok_or_else(|| unknown(name, &brief.launch))?;
            if value.is_empty() || !value.bytes().all(|byte| byte.is_ascii_digit()) {
                return Err(unreadable());
            }
            let value =
                value.parse::<u64>().ok().filter(|&value| bounds.contains(value)).ok_or_else(|| {
                    LaunchFault::OutOfBounds { name: name.to_owned(), value: shortened(value), bounds }
                })? as u32;
            if let Some(first) = values.insert(name.to_owned(), value).filter(|&first| first != value) {
                return Err(LaunchFault::Twice { name: name.to_owned(), first, second: value });
            }
        }
    }
    match brief.launch.iter().find(|(name, _)| !values.contains_key(*name)) {
        Some((name, &bounds)) => Err(LaunchFault::Missing { name: name.clone(), bounds }),
        None => Ok(values),
    }
}

fn unknown(name: &str, launch: &BTreeMap<String, Bounds>) -> LaunchFault {
    let known: Vec<&str> = launch.keys().map(String::as_str).collect();
    let known = if known.is_empty() { "none".to_owned() } else { known.join(", ") };
    LaunchFault::Unknown { name: shortened(name), known }
}

fn shortened(text: &str) -> String {
    text.chars().take(80).collect()
}
