//! Which run of a search this is: a new one, or the last one taken up again.

use std::collections::BTreeMap;

use fsr_build::key::Inputs;
use fsr_build::spec::KernelSpec;

use crate::cli::args::{SearchArgs, Tune};
use crate::cli::{CommandError, Shell};
use crate::journal::{self, Entry, FileJournal, Header, Journal, JournalError, Record, StopReason, header};
use crate::model::ReplayModel;
use crate::project::Package;
use crate::search::RunFacts;
use crate::settings::Settings;
use crate::state::{KernelState, ProjectState, Run};

/// A run that can be searched.
pub struct Started {
    pub facts: RunFacts,
    pub journal: FileJournal,
    pub settings: Settings,
}

/// Whether `--resume` goes on with the kernel's last run: it was made for the spec as it is now, and it was stopped
/// before its end, or another end is asked for than it had.
pub fn goes_on(
    state: &ProjectState,
    package: &Package,
    kernel: &KernelSpec,
    wanted: &SearchArgs,
    replays: bool,
    shell: &Shell,
) -> Result<bool, CommandError> {
    let runs = state.runs(&package.spec.package, &kernel.name)?;
    let entries = match newest(runs, replays) {
        Ok(Some((_, entries))) => entries,
        Ok(None) => return Ok(false),
        Err(error) => {
            shell.warn(format_args!("{}: its last run cannot be taken up: {error}", kernel.name));
            return Ok(false);
        }
    };
    let Some(then) = header(&entries) else { return Ok(false) };
    // A file that cannot be read is told where the kernel is examined.
    let same_spec = Inputs::of(&package.spec, kernel, &then.brief.arch)
        .is_ok_and(|now| now.key().to_string() == then.key && then.brief.kernel == kernel.name);
    Ok(same_spec && !is_finished(&entries, wanted))
}

/// The newest run that asked a model, or that repeated a recording: a demonstration does not hide what was paid for.
fn newest(runs: Vec<Run>, replays: bool) -> Result<Option<(Run, Vec<Entry>)>, JournalError> {
    for run in runs {
        let entries = journal::read(&run.journal)?;
        let replayed = header(&entries).is_some_and(|header| header.models == [ReplayModel::NAME]);
        if replayed == replays {
            return Ok(Some((run, entries)));
        }
    }
    Ok(None)
}

/// Whether a run came to the end that is wanted, and stored what it found.
fn is_finished(entries: &[Entry], wanted: &SearchArgs) -> bool {
    let found = entries.iter().rposition(|entry| matches!(entry.record, Record::Best { .. }));
    let stored = entries.iter().rposition(|entry| matches!(entry.record, Record::Stored { .. }));
    if found > stored {
        return false;
    }
    let after = |entry: &&Entry| matches!(entry.record, Record::Seeds { .. } | Record::Stored { .. });
    let last = entries.iter().rev().find(|entry| !after(entry));
    let ended = last.is_some_and(|entry| match &entry.record {
        Record::Stopped { reason } => {
            matches!(reason, StopReason::Rounds | StopReason::Plateau { .. } | StopReason::Target { .. })
        }
        _ => false,
    });
    let settings = entries.iter().rev().find_map(|entry| match &entry.record {
        Record::Resumed { settings, .. } => Some(settings),
        Record::Header(header) => Some(&header.settings),
        _ => None,
    });
    ended
        && settings.is_none_or(|had| {
            let wanted = wanted.over(had.clone());
            wanted.rounds <= had.rounds && (wanted.patience, wanted.target) == (had.patience, had.target)
        })
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
    let last = match args.resume {
        true => newest(state.runs()?, recording.is_some())?.map(|(run, _)| run),
        false => None,
    };
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
    let earlier = header(journal.entries()).or_else(|| recording.and_then(header));
    let settings = settings(args, package, earlier);
    let facts = RunFacts {
        run: run.id,
        tool: env!("CARGO_PKG_VERSION").to_owned(),
        key: inputs.key().to_string(),
        inputs: inputs.iter().map(|input| (input.name, input.digest.to_string())).collect::<BTreeMap<_, _>>(),
    };
    Ok(Started { facts, journal, settings })
}

/// A run that goes on has settings already, and so has a recording; flags still win.
pub fn settings(args: &Tune, package: &Package, earlier: Option<&Header>) -> Settings {
    args.search.over(match earlier {
        Some(header) => header.settings.clone(),
        None => {
            let fallback = Settings::default();
            Settings {
                candidates: package.search.candidates.unwrap_or(fallback.candidates),
                rounds: package.search.rounds.unwrap_or(fallback.rounds),
                ..fallback
            }
        }
    })
}

#[cfg(test)]
mod tests {
    use fsr_protocol::Tunables;

    use super::*;
    use crate::journal::fixture::header;
    use crate::model::Origin;
    use crate::settings::Target;

    fn entries(records: impl IntoIterator<Item = Record>) -> Vec<Entry> {
        [header()].into_iter().chain(records).map(|record| Entry { at: 0, record }).collect()
    }

    fn stopped(reason: StopReason) -> Record {
        Record::Stopped { reason }
    }

    #[test]
    fn only_a_run_at_its_end_is_finished() {
        let finished = |records: Vec<Record>| is_finished(&entries(records), &SearchArgs::default());
        assert!(!finished(vec![]));
        assert!(!finished(vec![stopped(StopReason::Interrupted)]));
        assert!(!finished(vec![stopped(StopReason::Awaiting), Record::Seeds { seeds: Vec::new() }]));
        assert!(finished(vec![stopped(StopReason::Rounds)]));
        assert!(finished(vec![
            stopped(StopReason::Plateau { rounds: 2 }),
            Record::Seeds { seeds: Vec::new() }
        ]));
        let best = || Record::Best { origin: Origin::Baseline, defines: Tunables::new(), score: 1.0 };
        assert!(!finished(vec![best(), stopped(StopReason::Rounds)]), "what was found is not stored yet");
        let arch = "sm_90".parse().unwrap();
        assert!(finished(vec![best(), stopped(StopReason::Rounds), Record::Stored { arch }]));
        let more = Record::Resumed { tool: String::new(), settings: Settings::default() };
        assert!(!finished(vec![stopped(StopReason::Rounds), more]));
    }

    #[test]
    fn a_repeated_recording_does_not_hide_a_run_that_was_paid_for() {
        let folder = tempfile::tempdir().unwrap();
        let run = |id: &str, model: &str| {
            let journal = folder.path().join(id);
            let Record::Header(mut first) = header() else { unreachable!("it is one") };
            first.models = vec![model.to_owned()];
            FileJournal::create(&journal).unwrap().append(Record::Header(first)).unwrap();
            Run { id: id.to_owned(), journal }
        };
        let runs = vec![run("3", "replay"), run("2", "claude"), run("1", "replay")];
        let found = |replays| newest(runs.clone(), replays).unwrap().map(|(run, _)| run.id);
        assert_eq!(found(false).as_deref(), Some("2"));
        assert_eq!(found(true).as_deref(), Some("3"));
    }

    #[test]
    fn another_end_than_it_had_is_something_to_do() {
        let finished =
            |reason: StopReason, wanted: SearchArgs| is_finished(&entries([stopped(reason)]), &wanted);
        let wanted = SearchArgs::default;
        let rounds = Settings::default().rounds;
        assert!(finished(StopReason::Rounds, SearchArgs { rounds: Some(rounds), ..wanted() }));
        assert!(!finished(StopReason::Rounds, SearchArgs { rounds: Some(rounds + 1), ..wanted() }));
        let reached = || StopReason::Target { what: "2x".to_owned() };
        assert!(finished(reached(), wanted()));
        assert!(!finished(reached(), SearchArgs { target: Some(Target::Speedup(3.0)), ..wanted() }));
        assert!(!finished(StopReason::Plateau { rounds: 2 }, SearchArgs { patience: Some(4), ..wanted() }));
    }
}
