//! What people see: status lines as cargo writes them on stderr, data on stdout, and progress where there is a
//! terminal.

use std::fmt::Display;
use std::io::{IsTerminal, Write};
use std::time::Duration;

use anstyle::{AnsiColor, Style};
use indicatif::{MultiProgress, ProgressBar, ProgressDrawTarget, ProgressStyle};
use serde::Serialize;

use super::args::{Color, Global, MessageFormat};
use crate::judge::Forward;

const GOOD: Style = AnsiColor::Green.on_default().bold();
const NOTE: Style = AnsiColor::Cyan.on_default().bold();
const BAD: Style = AnsiColor::Red.on_default().bold();
const WARN: Style = AnsiColor::Yellow.on_default().bold();

/// Where output goes. Cheap to share; never panics on a closed pipe.
#[derive(Debug)]
pub struct Shell {
    quiet: bool,
    verbose: u8,
    format: MessageFormat,
    color: Color,
    progress: MultiProgress,
}

impl Shell {
    /// Applies the display flags to the whole process.
    pub fn new(global: &Global) -> Self {
        match global.color {
            Color::Auto => anstream::ColorChoice::Auto,
            Color::Always => anstream::ColorChoice::Always,
            Color::Never => anstream::ColorChoice::Never,
        }
        .write_global();
        let visible = !global.quiet && std::io::stderr().is_terminal();
        let target = if visible { ProgressDrawTarget::stderr() } else { ProgressDrawTarget::hidden() };
        Self {
            quiet: global.quiet,
            verbose: global.verbose,
            format: global.message_format,
            color: global.color,
            progress: MultiProgress::with_draw_target(target),
        }
    }

    /// When to colour.
    pub fn color(&self) -> Color {
        self.color
    }

    /// Whether cargo's output is to be coloured: it is handed on to stderr.
    pub fn colors(&self) -> bool {
        match self.color {
            Color::Always => true,
            Color::Never => false,
            Color::Auto => anstream::AutoStream::choice(&std::io::stderr()) != anstream::ColorChoice::Never,
        }
    }

    /// Shows cargo's own output as it comes, with `-v`.
    pub fn cargo_output(&self) -> Option<Forward> {
        (self.verbose > 0).then(|| {
            Box::new(|piece: &[u8]| {
                let _ = std::io::stderr().write_all(piece);
            }) as Forward
        })
    }

    /// Whether stdout carries JSON.
    pub fn json(&self) -> bool {
        self.format == MessageFormat::Json
    }

    /// Whether stdout carries annotations for GitHub.
    pub fn annotates(&self) -> bool {
        self.format == MessageFormat::Github
    }

    /// A step, as `     Tuning transpose`.
    pub fn status(&self, verb: &str, text: impl Display) {
        if !self.quiet {
            self.line(GOOD, verb, &text);
        }
    }

    /// A step that matters less.
    pub fn note(&self, verb: &str, text: impl Display) {
        if !self.quiet {
            self.line(NOTE, verb, &text);
        }
    }

    /// A finding that makes the command fail; shown with `-q` too.
    pub fn fault(&self, verb: &str, text: impl Display) {
        self.line(BAD, verb, &text);
    }

    /// A step that only `-v` shows.
    pub fn detail(&self, verb: &str, text: impl Display) {
        if self.verbose > 0 {
            self.line(NOTE, verb, &text);
        }
    }

    /// Something to look at that ends nothing.
    pub fn warn(&self, text: impl Display) {
        self.progress.suspend(|| {
            let _ = writeln!(anstream::stderr(), "{WARN}warning{WARN:#}: {text}");
        });
    }

    /// A line of data.
    pub fn data(&self, text: impl Display) {
        self.progress.suspend(|| {
            let _ = writeln!(anstream::stdout(), "{text}");
        });
    }

    /// A JSON object on a line of its own, where stdout carries JSON.
    pub fn message(&self, message: &impl Serialize) {
        if self.json()
            && let Ok(line) = serde_json::to_string(message)
        {
            self.data(line);
        }
    }

    /// A spinner, for as long as it lives; nothing without a terminal.
    pub fn spinner(&self, text: impl Into<String>) -> ProgressBar {
        let style = ProgressStyle::with_template("{spinner} {msg} {elapsed:.dim}")
            .unwrap_or_else(|_| ProgressStyle::default_spinner());
        let bar = self.progress.add(ProgressBar::new_spinner().with_style(style).with_message(text.into()));
        bar.enable_steady_tick(Duration::from_millis(120));
        bar
    }

    fn line(&self, style: Style, verb: &str, text: &dyn Display) {
        let text = text.to_string();
        let text = behind(verb, &text);
        self.progress.suspend(|| {
            let _ = writeln!(anstream::stderr(), "{style}{verb:>12}{style:#} {text}");
        });
    }
}

/// What is left to say behind a verb: other programs' lines, and sentences that stand alone elsewhere, begin with it.
fn behind<'a>(verb: &str, text: &'a str) -> &'a str {
    let text = text.trim_start();
    match text.get(..verb.len()) {
        Some(first) if first.eq_ignore_ascii_case(verb) && text[verb.len()..].starts_with(' ') => {
            text[verb.len()..].trim_start()
        }
        _ => text,
    }
}

/// `1 kernel`, `2 kernels`.
pub fn count(number: usize, one: &str, many: &str) -> String {
    format!("{number} {}", if number == 1 { one } else { many })
}

#[cfg(test)]
mod tests {
    use super::behind;

    #[test]
    fn no_verb_is_said_twice() {
        assert_eq!(behind("Waiting", "waiting for the device"), "for the device");
        assert_eq!(behind("Installing", "Installing collected packages: x"), "collected packages: x");
        assert_eq!(behind("Installing", "  Downloading x"), "Downloading x");
        assert_eq!(behind("Waiting", "waitingroom"), "waitingroom");
        assert_eq!(behind("Kept", "Kepä"), "Kepä");
    }
}
