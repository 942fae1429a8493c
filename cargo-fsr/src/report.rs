//! A fault with its place in a text file, as miette shows it.

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
