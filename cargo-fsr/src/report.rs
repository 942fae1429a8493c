//! What people see of a fault: its place in a text file, as miette shows it, and the name that they may have meant.

use std::ops::Range;

use miette::{Diagnostic, NamedSource, SourceSpan};

/// What is wrong, and where.
#[derive(Debug, thiserror::Error, Diagnostic)]
#[error("{message}")]
pub struct TextFault {
    message: String,
    #[source_code]
    text: Option<NamedSource<String>>,
    #[label("here")]
    span: Option<SourceSpan>,
}

impl TextFault {
    /// A fault in `text`, which was read from `file`; without a span the text is not shown.
    pub fn new(message: String, file: &str, text: Option<String>, span: Option<Range<usize>>) -> Box<Self> {
        let (text, span) = match (text, span) {
            (Some(text), Some(span)) => (Some(NamedSource::new(file, text)), Some(SourceSpan::from(span))),
            _ => (None, None),
        };
        Box::new(Self { message, text, span })
    }
}

/// What follows «there is no such name»: the nearest of the known names, else all of them.
pub(crate) fn suggestion(name: &str, known: &[String]) -> String {
    let near = known.iter().max_by(|a, b| strsim::jaro(a, name).total_cmp(&strsim::jaro(b, name)));
    match near.filter(|near| strsim::jaro(near, name) > 0.7) {
        Some(near) => format!("; did you mean `{near}`?"),
        None if known.is_empty() => String::new(),
        None => format!("; there are {}", known.join(", ")),
    }
}
