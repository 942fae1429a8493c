//! What is stored already, and what may take its place.
//!
//! Every winner passes here on its way to the store, and every entry that stays is kept here with a word. Nothing here
//! searches.

use std::fs;

use fsr_build::key::Inputs;
use fsr_build::spec::{Arch, KernelSpec};
use fsr_build::store::{Entry, EntryPaths, Origin as EntryOrigin, Status};

use super::Tuning;
use crate::cli::list::speedup;
use crate::cli::{CommandError, rig};
use crate::entry;
use crate::exit::Exit;
use crate::journal;
use crate::judge::{Executable, Judge, JudgeError, Timed, Verdict};
use crate::project::{Package, Standing};
use crate::search::standing::beats;
use crate::search::{Stopped, Winner};
use crate::verify::{self, Verification, Verifier};

impl Tuning<'_> {
    /// Entries whose evidence alone changed are validated again: no model has to be asked for them.
    pub(super) fn restamp(
        &self,
        package: &Package,
        kernel: &KernelSpec,
        verifier: &mut Verifier<'_>,
    ) -> Result<(), CommandError> {
        for state in package.examine(kernel) {
            let (Standing::Compared(Status::Unverified { .. }), Some(entry)) = (&state.standing, state.entry)
            else {
                continue;
            };
            if let Verification::Holds { validation: Some(validation), .. } =
                verifier.verify(package, kernel, &entry)?
            {
                let (validation, device) = *validation;
                let inputs = rig::inputs(package, kernel, state.arch)?;
                match entry::restamped(entry, inputs, &validation, &device) {
                    Ok(restamped) => {
                        self.store(package, &restamped)?;
                        self.shell.status(
                            "Restamped",
                            format_args!("{} {}: it still holds", kernel.name, state.arch),
                        );
                    }
                    Err(refused) => {
                        self.shell
                            .note("Unverified", format_args!("{} {}: {refused}", kernel.name, state.arch));
                    }
                }
            }
        }
        Ok(())
    }

    /// A fresh tuned entry: where there is one, only other archs are missing.
    pub(super) fn donor(&self, package: &Package, kernel: &KernelSpec) -> Option<Entry> {
        let fresh = package.examine(kernel).into_iter().filter(|state| state.standing.is_fresh());
        fresh
            .filter_map(|state| state.entry)
            .filter(|entry| entry.manifest.origin == EntryOrigin::TunedOn)
            .max_by_key(|entry| entry.manifest.arch.capability())
    }

    /// Refuses a search whose winner could not be stored, before anybody is asked for one.
    pub(super) fn may_replace(
        &self,
        package: &Package,
        kernel: &KernelSpec,
        arch: Arch,
        judge: &mut dyn Judge,
    ) -> Result<(), CommandError> {
        let paths = self.place.paths(package, &kernel.name, arch);
        if !self.args.replace_measured && entry::holds_measured(&paths) && judge.bench()?.device.modelled {
            return Err(kept_from_a_gpu(&paths));
        }
        Ok(())
    }

    pub(super) fn store(&self, package: &Package, entry: &Entry) -> Result<(), CommandError> {
        let paths = self.place.paths(package, &entry.manifest.kernel, entry.manifest.arch);
        if !self.args.replace_measured && entry::lowers(&paths, entry) {
            return Err(kept_from_a_gpu(&paths));
        }
        self.place.write(package, entry)?;
        let manifest = &entry.manifest;
        self.shell.message(&serde_json::json!({
            "reason": "stored",
            "package": package.spec.package,
            "kernel": manifest.kernel,
            "arch": manifest.arch.to_string(),
            "manifest": paths.manifest,
            "origin": manifest.origin.as_str(),
            "speedup": speedup(manifest),
            "modelled": entry::is_modelled(entry),
            "model": manifest.model,
            "run": manifest.run,
        }));
        // The cache is a convenience: a full disk there must not cost a winner here.
        if self.place.is_package()
            && let Err(error) = self.cache.keep(entry)
        {
            self.shell.warn(format_args!("not kept in the cache: {error}"));
        }
        Ok(())
    }
}

fn kept_from_a_gpu(paths: &EntryPaths) -> CommandError {
    CommandError::new(
        Exit::Unsatisfied,
        format!("{} was tuned on a GPU, and this run on none: it is kept", paths.manifest.display()),
        "write elsewhere with --out DIR, or replace it all the same with --replace-measured; what was damaged comes \
         back from version control",
    )
}

/// The source that is stored. It outlives damage to the files beside it, since a search judges it like any other.
pub(super) fn stored_source(paths: &EntryPaths, old: Option<&Entry>) -> Option<String> {
    match old {
        Some(old) => Some(old.source.clone()),
        None => Some(fs::read_to_string(&paths.source).ok()?.replace("\r\n", "\n")),
    }
}

/// Whether a search's best is stored. Half a round is no reason to replace what is there; nor is a search that was
/// interrupted before its first round, when the earlier winner had perhaps not been tried yet.
pub(super) fn is_kept(stopped: &Stopped, rounds: u32, replaces: bool) -> bool {
    match stopped {
        Stopped::Awaiting(_) => false,
        Stopped::Interrupted => rounds > 0 || !replaces,
        Stopped::Rounds
        | Stopped::Plateau { .. }
        | Stopped::Target { .. }
        | Stopped::Budget { .. }
        | Stopped::Model { .. } => true,
    }
}

/// Whether a run that did not come to its end gave anything better than a fresh entry, which is then left as it is.
pub(super) fn is_nothing_new(stopped: &Stopped, winner: &Winner, old: &Entry, inputs: &Inputs) -> bool {
    matches!(stopped, Stopped::Model { .. } | Stopped::Budget { .. } | Stopped::Interrupted)
        && winner.source == old.source
        && winner.tunables == verify::values(old)
        && old.manifest.key() == inputs.key()
}

/// Whether a search knew of an entry: it raced it, or it stored it itself.
pub(super) fn is_known(old: &Entry, run: &str, journal: &[journal::Entry]) -> bool {
    let raced = journal::header(journal).is_some_and(|header| header.previous.contains(&old.source));
    raced || old.manifest.run == run
}

/// Whether a fresh entry that the search did not know of, because it was stored meanwhile, is as fast as its winner.
///
/// # Errors
/// When the judge is at fault.
pub(super) fn outlasts(old: &Entry, winner: &Winner, judge: &mut dyn Judge) -> Result<bool, JudgeError> {
    let held = verify::executable(old, &old.ptx);
    if let Verdict::Invalid(_) = judge.validate_fresh(&held)? {
        return Ok(false);
    }
    let tunables = winner.tunables.clone();
    let new = Executable { ptx: winner.ptx.text.clone(), entries: held.entries.clone(), tunables };
    Ok(match judge.time(&[&new, &held])? {
        Timed::Times(times) => !matches!(times.as_slice(), [new, held] if beats(new, held)),
        // It passed on other inputs before: not a winner to put in the place of anything.
        Timed::Invalid(_) => true,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_early_interrupt_replaces_nothing() {
        assert!(!is_kept(&Stopped::Interrupted, 0, true));
        assert!(is_kept(&Stopped::Interrupted, 0, false));
        assert!(is_kept(&Stopped::Interrupted, 1, true));
        assert!(!is_kept(&Stopped::Awaiting(Vec::new()), 3, false));
        assert!(is_kept(&Stopped::Rounds, 3, true));
    }
}
