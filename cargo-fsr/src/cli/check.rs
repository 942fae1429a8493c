//! `cargo fsr check`: does every stored kernel fit its spec, and reach others? Offline, without a compiler or a GPU.

use serde::Serialize;

use super::args::Check;
use super::github::{Annotation, Level};
use super::shell::count;
use super::{CommandError, Shell, here};
use crate::entry::is_modelled;
use crate::exit::Exit;
use crate::project::{EntryState, Finding, Kind, Project, Shipping};

/// One entry, as `--message-format json` prints it.
#[derive(Serialize)]
struct Message<'a> {
    reason: &'static str,
    package: &'a str,
    kernel: &'a str,
    arch: String,
    state: &'a str,
    cause: &'a str,
    remedy: Option<&'a str>,
    /// Where to look, and the line where one is known; none for what is fresh.
    file: Option<String>,
    line: Option<usize>,
    /// No GPU has seen it: the CPU device tuned it, and its times are modelled.
    modelled: bool,
}

pub fn run(args: Check, shell: &Shell) -> Result<Exit, CommandError> {
    let project = Project::open(&args.selection, args.locking, &here())?;
    let kernels = project.kernels(&args.kernels)?;
    let states: Vec<EntryState> =
        kernels.iter().flat_map(|(package, kernel)| package.examine(kernel)).collect();
    let shipping = Shipping::of(&states, &project.root)?;
    shipping.unknown().iter().for_each(|unknown| shell.warn(unknown));

    let mut findings = Vec::new();
    for state in &states {
        let subject = Subject {
            package: &state.package.spec.package,
            kernel: &state.kernel.name,
            arch: state.arch.to_string(),
        };
        let finding = Finding::of(state, &shipping);
        let modelled = state.entry.as_ref().is_some_and(is_modelled);
        subject.message(shell, finding.as_ref(), modelled);
        if modelled {
            let text =
                format!("{subject} was never timed: the CPU device tuned it, and its times are modelled");
            if shell.annotates() {
                let file = &state.entry_paths().manifest;
                let level = Level::Warning;
                shell.data(Annotation { level, file, line: None, title: "modelled", text: &text });
            }
            shell.warn(text);
        }
        match finding {
            None => shell.detail("Fresh", &subject),
            Some(finding) => {
                subject.tell(shell, &finding);
                findings.push(finding.kind);
            }
        }
    }
    // Who asks about one kernel does not ask about what is left of others.
    if args.kernels.is_empty() {
        for package in &project.packages {
            for orphan in package.orphans()? {
                let subject = Subject {
                    package: &package.spec.package,
                    kernel: &orphan.kernel,
                    arch: orphan.arch.to_string(),
                };
                let finding = orphan.finding(package);
                subject.message(shell, Some(&finding), false);
                subject.tell(shell, &finding);
                findings.push(finding.kind);
            }
        }
    }

    let checked = format!(
        "{} of {}",
        count(states.len(), "entry", "entries"),
        count(kernels.len(), "kernel", "kernels")
    );
    // The gravest decides: what cannot be trusted before what has to be tuned before what only lies wrong.
    let Some(gravest) = findings.iter().max() else {
        shell.status("Checked", format!("{checked}: all fresh"));
        return Ok(Exit::Success);
    };
    shell.fault("Checked", format!("{checked}: {} not as they should be", findings.len()));
    Ok(match gravest {
        Kind::Damaged => Exit::Damaged,
        Kind::Unfit => Exit::Unsatisfied,
        Kind::Astray => Exit::Astray,
    })
}

/// What a line is about.
struct Subject<'a> {
    package: &'a str,
    kernel: &'a str,
    arch: String,
}

impl std::fmt::Display for Subject<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} {} {}", self.package, self.kernel, self.arch)
    }
}

impl Subject<'_> {
    /// As data for programs.
    fn message(&self, shell: &Shell, finding: Option<&Finding>, modelled: bool) {
        shell.message(&Message {
            reason: "entry",
            package: self.package,
            kernel: self.kernel,
            arch: self.arch.clone(),
            state: finding.map_or("fresh", |finding| finding.word),
            cause: finding.map_or("", |finding| &finding.cause),
            remedy: finding.and_then(|finding| finding.remedy.as_deref()),
            file: finding.map(|finding| finding.file.to_string_lossy().into_owned()),
            line: finding.and_then(|finding| finding.line),
            modelled,
        });
    }

    /// In words, and at its place where GitHub reads along.
    fn tell(&self, shell: &Shell, finding: &Finding) {
        let Finding { word, cause, .. } = finding;
        let remedy = finding.remedy.as_ref().map(|remedy| format!("mend it with `{remedy}`"));
        if shell.annotates() {
            let text = match &remedy {
                Some(remedy) => format!("{self}: {cause}\n{remedy}"),
                None => format!("{self}: {cause}"),
            };
            let title = format!("{word}: {} {}", self.kernel, self.arch);
            let (file, line) = (&*finding.file, finding.line);
            shell.data(Annotation { level: Level::Error, file, line, title: &title, text: &text });
        }
        let remedy = remedy.map(|remedy| format!("\n             {remedy}")).unwrap_or_default();
        shell.fault(word, format!("{self}: {cause}{remedy}"));
    }
}
