//! `cargo fsr verify`: recompiles stored sources, compares the PTX, and validates it on the device at hand.

use std::sync::Arc;

use fsr_build::store::{Status, write_entry};

use super::args::Verify;
use super::devices::{Devices, Subject};
use super::rig::{self, Interrupt};
use super::tune::Place;
use super::{CommandError, Shell, here};
use crate::config::Config;
use crate::entry;
use crate::exit::Exit;
use crate::judge::Judge;
use crate::project::{EntryState, Project, Standing, bundle};
use crate::state::ProjectState;
use crate::verify::{PtxComparison, Verification, Verifier};

pub fn run(args: Verify, shell: &Arc<Shell>, interrupt: &Interrupt) -> Result<Exit, CommandError> {
    let project = match &args.bundle {
        Some(dir) => Project::open_bundle(dir)?,
        None => Project::open(&args.selection, args.locking, &here())?,
    };
    let config = Config::read(&project.root)?;
    let state_dir = if project.is_bundle() { bundle::state(&project.root) } else { config.state_dir() };
    let state = match project.is_bundle() {
        true => ProjectState::in_folder(state_dir.clone()),
        false => ProjectState::of_workspace(&state_dir, &project.root),
    };
    let devices = Devices::new(args.device.parse()?, &config, &project, args.locking, shell, interrupt);
    let place = Place::new(args.out.as_deref());
    let (mut faults, mut damaged) = (0, 0);
    for (package, kernel) in project.kernels(&args.kernels)? {
        // A search may be writing the same entries.
        let _held = match args.update {
            true => {
                // Worth saying before anything is built.
                place.probe(package, &kernel.name)?;
                Some(state.kernel(&package.spec.package, &kernel.name)?)
            }
            false => None,
        };
        let compiler = Arc::new(rig::compiler(&config, &project, package, args.locking, shell)?);
        let mut judge = match args.no_device {
            true => None,
            false => {
                let host = rig::host(&project, package, kernel, shell, interrupt)?;
                Some(devices.judge(Subject { host: &host, kernel, lines: &compiler })?)
            }
        };
        let mut verifier =
            Verifier { compiler: &*compiler, judge: judge.as_mut().map(|judge| judge as &mut dyn Judge) };
        for state in package.examine_in(kernel, |arch| place.paths(package, &kernel.name, arch)) {
            let subject = format!("{} {} {}", package.spec.package, kernel.name, state.arch);
            damaged += usize::from(matches!(
                state.standing,
                Standing::Compared(Status::Tampered { .. } | Status::Unreadable { .. })
            ));
            match one(&args, state, &subject, &mut verifier, shell)? {
                Ok(words) => shell.status("Verified", format_args!("{subject}: {words}")),
                Err(words) => {
                    faults += 1;
                    shell.fault("Not verified", format_args!("{subject}: {words}"));
                }
            }
        }
    }
    Ok(match (faults, damaged) {
        (0, _) => Exit::Success,
        (_, 0) => Exit::Unsatisfied,
        _ => Exit::Damaged,
    })
}

/// One entry; the inner result says in words whether it holds.
fn one(
    args: &Verify,
    state: EntryState<'_>,
    subject: &str,
    verifier: &mut Verifier<'_>,
    shell: &Shell,
) -> Result<Result<String, String>, CommandError> {
    let (package, kernel) = (state.package, state.kernel);
    let unverified = matches!(state.standing, Standing::Compared(Status::Unverified { .. }));
    if !state.standing.is_fresh() && !unverified {
        let remedy = state.standing.remedy(&package.spec.package, &kernel.name);
        let remedy = remedy.map(|remedy| format!("; mend it with `{remedy}`")).unwrap_or_default();
        let (word, reason) = (state.standing.word(), state.standing.reason());
        return Ok(Err(format!("{word}: {reason}{remedy}")));
    }
    let paths = state.entry_paths();
    let Some(entry) = state.entry else {
        return Ok(Err("it cannot be read".to_owned()));
    };
    let (ptx, validation) = match verifier.verify(package, kernel, &entry)? {
        Verification::Holds { ptx, validation } => (ptx, validation),
        Verification::OtherPtx { what } => return Ok(Err(what)),
        Verification::Invalid(failure) => {
            return Ok(Err(format!("{}\n{}", failure.summary, failure.evidence)));
        }
    };
    let compared = match ptx {
        PtxComparison::Same => "the source gives the same PTX".to_owned(),
        PtxComparison::OtherCompiler { stored, here } => {
            format!("PTX not compared: compiled by {stored}, and here is {here}")
        }
    };
    let Some((validation, device)) = validation.map(|found| *found) else {
        let why = match args.no_device {
            true => "not validated, as --no-device says".to_owned(),
            false => format!("not validated, since no device here loads {}", state.arch),
        };
        return Ok(if unverified {
            Err(format!("{compared}; {why}; {}", state.standing.reason()))
        } else if args.no_device || args.skip_unloadable {
            Ok(format!("{compared}; {why}"))
        } else {
            Err(format!("{compared}; {why}; name one with --device, or let it pass with --skip-unloadable"))
        });
    };
    let cases = validation.cases.len();
    let worst = validation.cases.iter().map(|case| case.max_rel).fold(0.0, f64::max);
    let words = format!("{compared}; valid on {cases} cases, largest relative error {worst:.1e}");
    if unverified && args.update {
        let inputs = rig::inputs(package, kernel, state.arch)?;
        return match entry::restamped(entry, inputs, &validation, &device) {
            Ok(restamped) => {
                write_entry(&paths, &restamped)?;
                Ok(Ok(format!("{words}; restamped")))
            }
            Err(refused) => Ok(Err(format!("{words}; not restamped: {refused}"))),
        };
    }
    if unverified {
        shell
            .note("Unverified", format_args!("{subject}: {}; --update restamps it", state.standing.reason()));
    }
    Ok(Ok(words))
}
