//! `cargo fsr check`: does every stored kernel fit its spec? Offline, without a compiler or a GPU.

use std::path::Path;
use std::process::{Command, Stdio};

use serde::Serialize;

use super::args::Check;
use super::shell::count;
use super::{CommandError, Shell, here};
use crate::exit::Exit;
use crate::project::{EntryState, Project};

/// One entry, as `--message-format json` prints it.
#[derive(Serialize)]
struct Message<'a> {
    reason: &'static str,
    package: &'a str,
    kernel: &'a str,
    arch: String,
    state: &'a str,
    cause: String,
    remedy: Option<String>,
}

pub fn run(args: Check, shell: &Shell) -> Result<Exit, CommandError> {
    let project = Project::open(&args.selection, args.locking, &here())?;
    let kernels = project.kernels(&args.kernels)?;
    let states: Vec<EntryState> =
        kernels.iter().flat_map(|(package, kernel)| package.examine(kernel)).collect();
    let ignored = ignored_by_git(&states);

    let mut faults = 0;
    for state in &states {
        let package = state.package.spec.package.as_str();
        let mut fault = (!state.standing.is_fresh()).then(|| {
            (
                state.standing.word(),
                state.standing.reason(),
                state.standing.remedy(package, &state.kernel.name),
            )
        });
        if fault.is_none() && ignored.iter().any(|path| state.paths().any(|own| own == *path)) {
            let remedy = format!("git add --force {}/fsr", state.package.spec.root.display());
            fault = Some((
                "ignored",
                "git ignores its files, so nobody else would get them".into(),
                Some(remedy),
            ));
        }
        let subject = format!("{package} {} {}", state.kernel.name, state.arch);
        let (word, cause, remedy) = fault.clone().unwrap_or(("fresh", String::new(), None));
        shell.message(&Message {
            reason: "entry",
            package,
            kernel: &state.kernel.name,
            arch: state.arch.to_string(),
            state: word,
            cause: cause.clone(),
            remedy: remedy.clone(),
        });
        if fault.is_none() {
            shell.detail("Fresh", subject);
            continue;
        }
        faults += 1;
        let remedy =
            remedy.map(|remedy| format!("\n             mend it with `{remedy}`")).unwrap_or_default();
        shell.fault(word, format!("{subject}: {cause}{remedy}"));
    }
    let checked = format!(
        "{} of {}",
        count(states.len(), "entry", "entries"),
        count(kernels.len(), "kernel", "kernels")
    );
    if faults == 0 {
        shell.status("Checked", format!("{checked}: all fresh"));
        Ok(Exit::Success)
    } else {
        shell.fault("Checked", format!("{checked}: {faults} not as they should be"));
        Ok(Exit::Unsatisfied)
    }
}

/// Entry files that git would leave out of a commit. Nothing where there is no git or no repository.
fn ignored_by_git(states: &[EntryState]) -> Vec<std::path::PathBuf> {
    let paths: Vec<_> = states.iter().filter(|state| state.entry.is_some()).flat_map(|s| s.paths()).collect();
    let Some(folder) = paths.first().and_then(|path| path.parent()) else { return Vec::new() };
    let output = Command::new("git")
        .arg("-C")
        .arg(folder)
        .args(["check-ignore", "-z"])
        .args(&paths)
        .stdin(Stdio::null())
        .stderr(Stdio::null())
        .output();
    let Ok(output) = output else { return Vec::new() };
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    text.split('\0').filter(|path| !path.is_empty()).map(|path| Path::new(path).to_owned()).collect()
}
