//! Which run of a search this is: a new one, or the last one taken up again.

use std::collections::BTreeMap;

use fsr_build::key::Inputs;

use crate::brief::Settings;
use crate::cli::args::Tune;
use crate::cli::{CommandError, Shell};
use crate::journal::{Entry, FileJournal, Journal, header};
use crate::project::Package;
use crate::search::RunFacts;
use crate::state::KernelState;

/// A run that can be searched.
pub struct Started {
    pub facts: RunFacts,
    pub journal: FileJournal,
    pub settings: Settings,
}

/// Begins a run, or takes up the last one where `--resume` asks for it.
pub fn start(
    state: &KernelState,
    args: &Tune,
    package: &Package,
    inputs: &Inputs,
    recording: Option<&[Entry]>,
    shell: &Shell,
) -> Result<Started, CommandError> {
    let last = if args.resume { state.latest_run()? } else { None };
    if args.resume && last.is_none() {
        shell.note("Resuming", "there is no run to go on with: a new one begins");
    }
    let (run, journal) = match last {
        Some(run) => (run.clone(), FileJournal::open(run.journal)?),
        None => {
            let run = state.new_run();
            (run.clone(), FileJournal::create(run.journal)?)
        }
    };
    // A run that goes on has settings already, and so has a recording; flags still win.
    let earlier = header(journal.entries()).or_else(|| recording.and_then(header));
    let mut settings = match earlier {
        Some(header) => header.settings.clone(),
        None => {
            let fallback = Settings::default();
            Settings {
                candidates: package.search.candidates.unwrap_or(fallback.candidates),
                rounds: package.search.rounds.unwrap_or(fallback.rounds),
                ..fallback
            }
        }
    };
    settings.candidates = args.candidates.unwrap_or(settings.candidates);
    settings.rounds = args.rounds.unwrap_or(settings.rounds);
    let facts = RunFacts {
        run: run.id,
        tool: env!("CARGO_PKG_VERSION").to_owned(),
        key: inputs.key().to_string(),
        inputs: inputs.iter().map(|input| (input.name, input.digest.to_string())).collect::<BTreeMap<_, _>>(),
    };
    Ok(Started { facts, journal, settings })
}
