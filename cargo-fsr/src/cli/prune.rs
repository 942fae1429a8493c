//! `cargo fsr prune`: removes entries that no spec of the selected packages asks for. Nothing else is touched.

use serde::Serialize;

use super::args::Prune;
use super::shell::count;
use super::{CommandError, Shell, here};
use crate::config::Config;
use crate::exit::Exit;
use crate::project::Project;
use crate::state::ProjectState;

/// One entry, as `--message-format json` prints it.
#[derive(Serialize)]
struct Message<'a> {
    reason: &'static str,
    package: &'a str,
    kernel: &'a str,
    arch: String,
    cause: String,
    removed: bool,
}

pub fn run(args: Prune, shell: &Shell) -> Result<Exit, CommandError> {
    let project = Project::open(&args.selection, args.locking, &here())?;
    let state = ProjectState::of_workspace(&Config::read(&project.root)?.state_dir(), &project.root);
    let mut found = 0;
    for package in &project.packages {
        let name = package.spec.package.as_str();
        for orphan in package.orphans()? {
            found += 1;
            let cause = orphan.finding(package).cause;
            let subject = format!("{name} {} {}: {cause}", orphan.kernel, orphan.arch);
            if args.check {
                shell.fault("orphaned", &subject);
            } else {
                // A search of an older check-out may be writing it.
                let _held = state.kernel(name, &orphan.kernel)?;
                fsr_build::store::remove_entry(&orphan.paths)?;
                shell.status("Removed", &subject);
            }
            shell.message(&Message {
                reason: "orphan",
                package: name,
                kernel: &orphan.kernel,
                arch: orphan.arch.to_string(),
                cause,
                removed: !args.check,
            });
        }
    }
    let entries = count(found, "orphaned entry", "orphaned entries");
    if args.check && found > 0 {
        shell.fault("Found", format_args!("{entries}; `cargo fsr prune` removes them"));
        return Ok(Exit::Astray);
    }
    shell.status(
        "Finished",
        if found == 0 { "nothing is orphaned".to_owned() } else { format!("{entries} removed") },
    );
    Ok(Exit::Success)
}
