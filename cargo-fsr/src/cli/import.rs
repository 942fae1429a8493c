//! `cargo fsr import DIR`: brings the entries of a bundle home, where the specs are still the same.

use fsr_build::key::Inputs;
use fsr_build::store::{self, Entry, EntryPaths, Status};

use super::args::Import;
use super::{CommandError, Shell, here};
use crate::config::Config;
use crate::entry::lowers;
use crate::exit::Exit;
use crate::project::Project;
use crate::state::ProjectState;

pub fn run(args: Import, shell: &Shell) -> Result<Exit, CommandError> {
    let bundle = Project::open_bundle(&args.dir)?;
    let home = Project::open(&args.selection, args.locking, &here())?;
    let state = ProjectState::of_workspace(&Config::read(&home.root)?.state_dir(), &home.root);
    let (mut written, mut refused) = (0, 0);
    for (package, kernel) in home.kernels(&[])? {
        let Some(bundled) = bundle.packages.iter().find(|other| other.spec.package == package.spec.package)
        else {
            continue;
        };
        // A search may be writing the same entries.
        let _held = state.kernel(&package.spec.package, &kernel.name)?;
        for arch in &package.spec.archs {
            let subject = format!("{} {} {arch}", package.spec.package, kernel.name);
            let now = Inputs::of(&package.spec, kernel, arch).map_err(|error| {
                CommandError::new(
                    Exit::Input,
                    format!("{subject}: {error}"),
                    "restore the file, or take it out of the spec",
                )
            })?;
            // The bundle's entry against the spec of here and now.
            let examined = store::examine(&bundled.spec.root, kernel, *arch, &now.clone().into());
            let entry = match (examined.status, examined.entry) {
                (Status::Missing { .. }, _) => continue,
                (Status::Fresh, Some(entry)) => entry,
                (status, Some(entry)) if args.force => {
                    shell.warn(format_args!("{subject}: brought home although it is {status}"));
                    entry
                }
                (status, _) => {
                    refused += 1;
                    shell.fault("Refused", format_args!("{subject}: the bundle's entry is {status}"));
                    continue;
                }
            };
            let paths = EntryPaths::in_package(&package.spec.root, &kernel.name, *arch);
            if !args.force && lowers(&paths, &entry) {
                shell.note(
                    "Kept",
                    format_args!(
                        "{subject}: a GPU tuned it, and the CPU device the bundle's; --force takes that all the same"
                    ),
                );
                continue;
            }
            if let Ok(present) = store::read_entry(&paths) {
                if present == entry {
                    shell.detail("Unchanged", subject);
                    continue;
                }
                let fresh = present.manifest.inputs == now;
                if fresh && !args.force && is_newer(&present, &entry) {
                    shell.note(
                        "Kept",
                        format_args!("{subject}: it was tuned since; --force takes the bundle's"),
                    );
                    continue;
                }
            }
            store::write_entry(&paths, &entry)?;
            written += 1;
            shell.status("Imported", subject);
        }
    }
    shell.status("Finished", format_args!("{written} entries imported, {refused} refused"));
    if refused > 0 {
        shell.note(
            "Help",
            "the spec changed since the bundle was written: write a new one, or insist with --force",
        );
        return Ok(Exit::Unsatisfied);
    }
    Ok(Exit::Success)
}

/// Whether what is here comes from a later run. A bundle holds every entry that it was written with, tuned there or not.
fn is_newer(present: &Entry, bundled: &Entry) -> bool {
    // The names of runs sort by time.
    present.manifest.run > bundled.manifest.run
}
