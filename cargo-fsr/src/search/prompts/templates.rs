//! The prompt templates: built in, and replaceable file by file from a folder of the user's.
//!
//! Their versions and digests go into the journal, and so does the text of every replaced one: a run's journal is
//! enough to make its prompts again.

use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use fsr_build::spec::{Arch, ComputeCapability};
use minijinja::syntax::SyntaxConfig;
use minijinja::value::Serde;
use minijinja::{AutoEscape, Environment, UndefinedBehavior};
use serde::Serialize;

use super::quote;
use crate::journal::{TemplateRecord, digest};
use crate::model::Stage;

/// Built-in files, by name.
const BUILT_IN: &[(&str, &str)] = &[
    ("task.md.j2", include_str!("../templates/task.md.j2")),
    ("contract.md.j2", include_str!("../templates/contract.md.j2")),
    ("history.md.j2", include_str!("../templates/history.md.j2")),
    ("timing.md.j2", include_str!("../templates/timing.md.j2")),
    ("dialogue.md.j2", include_str!("../templates/dialogue.md.j2")),
    ("initial.md.j2", include_str!("../templates/initial.md.j2")),
    ("compile_failure.md.j2", include_str!("../templates/compile_failure.md.j2")),
    ("execution_failure.md.j2", include_str!("../templates/execution_failure.md.j2")),
    ("mismatch.md.j2", include_str!("../templates/mismatch.md.j2")),
    ("performance.md.j2", include_str!("../templates/performance.md.j2")),
    (DIRECTIONS, include_str!("../templates/directions.txt")),
];

const DIRECTIONS: &str = "directions.txt";

/// All templates of a run, ready to be rendered.
#[derive(Debug)]
pub struct Templates {
    environment: Environment<'static>,
    directions: Vec<Direction>,
    records: Vec<TemplateRecord>,
}

/// One template of a run.
#[derive(Clone, Copy, Debug)]
pub struct Template<'a> {
    /// Its file's name.
    pub name: &'a str,
    /// What it is for.
    pub purpose: &'static str,
    /// The text in force.
    pub text: &'a str,
    /// What the journal keeps of it.
    pub record: &'a TemplateRecord,
}

/// Why templates cannot be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TemplateError {
    /// The folder or a file in it could not be read.
    #[error("prompt template {path}: {source}")]
    Io {
        /// The file.
        path: PathBuf,
        /// The cause.
        source: std::io::Error,
    },
    /// A file that takes no template's place.
    #[error("prompt template {path} replaces nothing; the templates are {known}")]
    Unknown {
        /// The file.
        path: PathBuf,
        /// All names.
        known: String,
    },
    /// A template is at fault.
    #[error("prompt template {name}: {what}")]
    Template {
        /// The template.
        name: String,
        /// The fault, with its line.
        what: String,
    },
}

#[derive(Debug)]
struct Direction {
    since: Option<ComputeCapability>,
    text: Option<String>,
}

impl Templates {
    /// The built-in templates, with those replaced that a folder holds, where there is one.
    pub fn new(folder: Option<&Path>) -> Result<Self, TemplateError> {
        folder.map_or_else(Self::built_in, Self::with_folder)
    }

    /// The built-in templates.
    pub fn built_in() -> Result<Self, TemplateError> {
        Self::assemble(|_| Ok(None))
    }

    /// The built-in templates, with those replaced that a folder holds.
    fn with_folder(folder: &Path) -> Result<Self, TemplateError> {
        let io = |path: &Path, source| TemplateError::Io { path: path.to_owned(), source };
        for entry in fs::read_dir(folder).map_err(|source| io(folder, source))? {
            let name = entry.map_err(|source| io(folder, source))?.file_name();
            let name = name.to_string_lossy();
            let is_template = name.ends_with(".j2") || name.ends_with(".txt");
            if is_template && !BUILT_IN.iter().any(|(known, _)| *known == name) {
                let known: Vec<&str> = BUILT_IN.iter().map(|(name, _)| *name).collect();
                return Err(TemplateError::Unknown { path: folder.join(&*name), known: known.join(", ") });
            }
        }
        Self::assemble(|name| {
            let path = folder.join(name);
            match fs::read_to_string(&path) {
                Ok(text) => Ok(Some(text.replace("\r\n", "\n"))),
                Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
                Err(source) => Err(io(&path, source)),
            }
        })
    }

    fn assemble(
        replacement: impl Fn(&str) -> Result<Option<String>, TemplateError>,
    ) -> Result<Self, TemplateError> {
        let mut environment = Environment::new();
        environment.set_auto_escape_callback(|_| AutoEscape::None);
        environment.set_undefined_behavior(UndefinedBehavior::Strict);
        let syntax = SyntaxConfig::builder().trim_blocks(true).lstrip_blocks(true).build();
        environment.set_syntax(syntax.map_err(|error| template("syntax", &error))?);
        environment.add_filter("fenced", |text: &str, language: &str| quote::fenced(text, language));
        environment.add_filter("quoted", |text: &str| quote::quoted(text));

        let mut records = Vec::new();
        let mut directions = Vec::new();
        for (name, built_in) in BUILT_IN {
            let replaced_by = replacement(name)?;
            let text = replaced_by.clone().unwrap_or_else(|| (*built_in).to_owned());
            records.push(TemplateRecord {
                name: (*name).to_owned(),
                version: version(&text),
                sha256: digest([text.as_str()]),
                replaced_by,
            });
            if *name == DIRECTIONS {
                directions = parse_directions(&text)?;
            } else {
                environment.add_template_owned(*name, text).map_err(|error| template(name, &error))?;
            }
        }
        Ok(Self { environment, directions, records })
    }

    /// All of them, in the order of a prompt's parts.
    pub fn list(&self) -> impl Iterator<Item = Template<'_>> {
        self.records.iter().zip(BUILT_IN).map(|(record, (name, built_in))| Template {
            name,
            purpose: purpose(built_in),
            text: record.replaced_by.as_deref().unwrap_or(built_in),
            record,
        })
    }

    /// What the journal keeps of them.
    pub fn records(&self) -> &[TemplateRecord] {
        &self.records
    }

    /// Renders the prompt of a stage.
    pub fn render(&self, stage: Stage, context: &impl Serialize) -> Result<String, TemplateError> {
        let name = match stage {
            Stage::Initial => "initial.md.j2",
            Stage::CompileFailure => "compile_failure.md.j2",
            Stage::ExecutionFailure => "execution_failure.md.j2",
            Stage::Mismatch => "mismatch.md.j2",
            Stage::Performance => "performance.md.j2",
        };
        let text = self
            .environment
            .get_template(name)
            .and_then(|found| found.render(Serde(context)))
            .map_err(|error| template(name, &error))?;
        Ok(one_blank_line(&text))
    }

    /// The direction for one slot: all in turn, beginning where the seed says.
    pub fn direction(&self, arch: Arch, turn: u64) -> Option<&str> {
        let suited: Vec<&Direction> = self
            .directions
            .iter()
            .filter(|direction| direction.since.is_none_or(|since| arch.capability() >= since))
            .collect();
        let index = turn.checked_rem(suited.len() as u64)?;
        suited.get(index as usize)?.text.as_deref()
    }
}

/// Optional parts leave blank lines behind; outside fences, one is enough.
fn one_blank_line(text: &str) -> String {
    let mut result = String::with_capacity(text.len());
    let mut fence: Option<String> = None;
    let mut blanks = 0;
    for line in text.trim_start_matches('\n').lines() {
        let ticks = line.len() - line.trim_start_matches('`').len();
        match &fence {
            None if ticks >= 3 => fence = Some("`".repeat(ticks)),
            Some(open) if line == open => fence = None,
            _ => {}
        }
        blanks = if line.trim().is_empty() && fence.is_none() { blanks + 1 } else { 0 };
        if blanks < 2 {
            result.push_str(if blanks == 1 { "" } else { line });
            result.push('\n');
        }
    }
    result.truncate(result.trim_end().len());
    result.push('\n');
    result
}

fn version(text: &str) -> u32 {
    let digits = text.lines().next().and_then(|line| line.split("version:").nth(1)).unwrap_or_default();
    let digits: String = digits.trim_start().chars().take_while(char::is_ascii_digit).collect();
    digits.parse().unwrap_or(0)
}

/// What the second line of every built-in file says.
fn purpose(built_in: &str) -> &str {
    let line = built_in.lines().nth(1).unwrap_or_default();
    line.trim_start_matches(['{', '#', ' ']).trim_end_matches(['}', '#', ' '])
}

fn parse_directions(text: &str) -> Result<Vec<Direction>, TemplateError> {
    let mut directions = Vec::new();
    for (number, line) in (1..).zip(text.lines()) {
        let line = line.trim();
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        let (since, text) = match line.strip_prefix('[').and_then(|rest| rest.split_once(']')) {
            Some((arch, text)) => {
                let arch: Arch = arch.parse().map_err(|error| TemplateError::Template {
                    name: DIRECTIONS.to_owned(),
                    what: format!("line {number}: {error}"),
                })?;
                (Some(arch.capability()), text.trim())
            }
            None => (None, line),
        };
        directions.push(Direction { since, text: (text != "-").then(|| text.to_owned()) });
    }
    Ok(directions)
}

fn template(name: &str, error: &minijinja::Error) -> TemplateError {
    // The place is in an included file as often as in the one that was rendered.
    let place = match (error.name(), error.line()) {
        (Some(other), Some(line)) if other != name => format!(" ({other}, line {line})"),
        (_, Some(line)) => format!(" (line {line})"),
        _ => String::new(),
    };
    let mut what = error.kind().to_string();
    if let Some(detail) = error.detail() {
        what = format!("{what}: {detail}");
    }
    let mut cause = std::error::Error::source(error);
    while let Some(inner) = cause {
        what = format!("{what}: {inner}");
        cause = inner.source();
    }
    TemplateError::Template { name: name.to_owned(), what: format!("{what}{place}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_built_in_template_has_a_version() {
        let templates = Templates::built_in().unwrap();
        for template in templates.list() {
            assert!(
                template.record.version >= 1 && template.record.replaced_by.is_none(),
                "{}",
                template.name
            );
            assert!(
                template.purpose.ends_with(['.', ';', ',']) && !template.purpose.contains('{'),
                "{template:?}"
            );
        }
    }

    #[test]
    fn a_folder_replaces_single_templates_and_says_what_it_cannot() {
        let folder = tempfile::tempdir().unwrap();
        let error = |name: &str, text: &str| {
            fs::write(folder.path().join(name), text).unwrap();
            let error = Templates::with_folder(folder.path()).and_then(|templates| {
                templates.render(Stage::Initial, &serde_json::json!({ "kernel": "k" }))
            });
            fs::remove_file(folder.path().join(name)).unwrap();
            error.map_err(|error| error.to_string().replace(&*folder.path().to_string_lossy(), "FOLDER"))
        };
        assert_eq!(
            error("initial.md.j2", "{# version: 7 #}\nonly {{ kernel }}\n\n\n"),
            Ok("only k\n".to_owned())
        );
        insta::assert_snapshot!(error("initial.md.j2", "one\n{{ colour }}").unwrap_err(),
            @"prompt template initial.md.j2: undefined value: `colour` is undefined (line 2)");
        insta::assert_snapshot!(error("initial.md.j2", "one\n{% if %}").unwrap_err(),
            @"prompt template initial.md.j2: syntax error: unexpected end of block (line 2)");
        insta::assert_snapshot!(error("directions.txt", "[sm80] x").unwrap_err(),
            @"prompt template directions.txt: line 1: `sm80` is no architecture such as `sm_90`; did you mean `sm_80`?");
        assert!(
            error("inital.md.j2", "")
                .unwrap_err()
                .starts_with("prompt template FOLDER/inital.md.j2 replaces nothing")
        );
    }

    #[test]
    fn directions_follow_each_other_and_suit_the_target() {
        let templates = Templates::built_in().unwrap();
        let all = |arch: &str| -> Vec<Option<String>> {
            (0..10).map(|turn| templates.direction(arch.parse().unwrap(), turn).map(str::to_owned)).collect()
        };
        assert_eq!(all("sm_90")[0], None);
        assert!(all("sm_90").iter().flatten().any(|text| text.contains("cp.async")));
        assert!(!all("sm_75").iter().flatten().any(|text| text.contains("cp.async")));
    }

    #[test]
    fn blank_lines_in_code_stay() {
        assert_eq!(
            one_blank_line("\n\na\n\n\n\nb\n```\nx\n\n\ny\n```\n\n\n"),
            "a\n\nb\n```\nx\n\n\ny\n```\n"
        );
    }
}
