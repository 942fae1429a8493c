//! `cargo fsr check`: does every stored kernel fit its spec? Offline, without a compiler or a GPU.

use serde::Serialize;

use super::args::Check;
use super::shell::count;
use super::{CommandError, Shell, here};
use crate::entry::is_modelled;
use crate::exit::Exit;
use crate::project::{EntryState, Project, Shipping};

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
        if fault.is_none()
            && let Some(left_out) = shipping.left_out(state)
        {
            fault = Some((left_out.word(), left_out.to_string(), left_out.remedy()));
        }
        let subject = format!("{package} {} {}", state.kernel.name, state.arch);
        let modelled = state.entry.as_ref().is_some_and(is_modelled);
        let (word, cause, remedy) = fault.clone().unwrap_or(("fresh", String::new(), None));
        shell.message(&Message {
            reason: "entry",
            package,
            kernel: &state.kernel.name,
            arch: state.arch.to_string(),
            state: word,
            cause: cause.clone(),
            remedy: remedy.clone(),
            modelled,
        });
        if modelled {
            shell.warn(format_args!(
                "{subject} was never timed: the CPU device tuned it, and its times are modelled"
            ));
        }
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
