//! A search that was killed anywhere goes on as if it had not been; a recorded one can be repeated.

use std::fs;
use std::sync::LazyLock;

use proptest::prelude::*;

use super::fixture::{Bed, essence};
use crate::budget::Purse;
use crate::journal::{Entry, FileJournal, Journal, MemoryJournal, Record, read};
use crate::model::{FilesModel, ModelError, ReplayModel};
use crate::search::fakes::{Script, answer, brief, device, with_baseline};
use crate::search::{Cast, RecordedOnly, RunFacts, Search, SearchError, Silent, Stopped, Templates};

const ROUNDS: &[&[&str]] = &[
    &["BROKEN", "WRONG", "raw:none"],
    &["ns8=190 ns16=100", "CRASH", "RACY ns=50"],
    &["ns=90", "DRIFT ns=10", "ns=80"],
    &["ns=70", "ns=85", "WRONG"],
];

fn bed() -> Bed {
    let mut brief = with_baseline();
    brief.tunables.insert("TILE".to_owned(), vec![8, 16]);
    let mut bed = Bed::new(brief, 3, 4);
    bed.previous = vec![crate::search::fakes::code("ns=190")];
    bed
}

fn records(entries: &[Entry]) -> Vec<Record> {
    let mut records: Vec<Record> = entries.iter().map(|entry| entry.record.clone()).collect();
    // Threads write in their own order.
    records.sort_by_key(|record| record.step());
    records
}

/// All but the records in which any two runs differ.
fn of_any_run(entries: &[Entry]) -> Vec<Record> {
    let mut records = records(entries);
    let differs = |record: &Record| {
        let spending = matches!(record, Record::Request { .. } | Record::Spent { .. });
        spending || matches!(record, Record::Header(_) | Record::Resumed { .. })
    };
    records.retain(|record| !differs(record));
    records
}

/// The journal of a whole run.
fn whole() -> (String, Vec<Entry>) {
    let mut bed = bed();
    let outcome = bed.run(&Script::new(ROUNDS)).unwrap();
    (essence(&outcome), bed.journal.entries().to_vec())
}

#[test]
fn after_any_record_a_search_goes_on_and_asks_nothing_twice() {
    let (essence_of_whole, entries) = whole();
    for length in 0..=entries.len() {
        let mut bed = bed();
        bed.journal = MemoryJournal::with_entries(entries[..length].to_vec());
        let script = Script::new(ROUNDS);
        let outcome = bed.run(&script).unwrap();
        assert_eq!(essence(&outcome), essence_of_whole, "after {length} records");

        let answered: Vec<_> = entries[..length]
            .iter()
            .filter_map(|entry| match &entry.record {
                Record::Answer { position, .. } => Some(position.clone()),
                _ => None,
            })
            .collect();
        let times = script.times_asked();
        assert_eq!(times.len() + answered.len(), 12);
        assert!(answered.iter().all(|position| !times.contains_key(position)));
        assert!(times.values().all(|&times| times == 1));

        let same = of_any_run(bed.journal.entries()) == of_any_run(&entries);
        assert!(same, "another journal after {length} records");
    }
}

#[test]
fn what_is_known_costs_nothing() {
    let (essence_of_whole, entries) = whole();
    let mut bed = bed();
    bed.journal = MemoryJournal::with_entries(entries.clone());
    let outcome = bed.run(&Script::new(&[])).unwrap();
    assert_eq!(essence(&outcome), essence_of_whole);
    assert!(bed.judge.log.is_empty());
    assert_eq!(bed.compiler.made.into_inner(), 0);
    assert_eq!(bed.journal.entries().len(), entries.len());
}

/// The whole run as a file.
static FILE: LazyLock<(String, Vec<u8>)> = LazyLock::new(|| {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("run.jsonl");
    let mut journal = FileJournal::create(&path).unwrap();
    let outcome = bed().run_with(&Script::new(ROUNDS), &mut journal).unwrap();
    (essence(&outcome), fs::read(&path).unwrap())
});

proptest! {
    #![proptest_config(ProptestConfig::with_cases(16))]
    #[test]
    fn a_file_cut_anywhere_is_taken_up(cut in 0.0..1.0f64, again in 0.0..1.0f64) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("run.jsonl");
        fs::write(&path, &FILE.1).unwrap();
        // Twice: a run that was taken up may be killed as well.
        for cut in [cut, again] {
            let bytes = fs::read(&path).unwrap();
            fs::write(&path, &bytes[..(bytes.len() as f64 * cut) as usize]).unwrap();
            let mut journal = FileJournal::open(&path).unwrap();
            let outcome = bed().run_with(&Script::new(ROUNDS), &mut journal).unwrap();
            prop_assert_eq!(&essence(&outcome), &FILE.0);
            drop(journal);
            read(&path).unwrap();
        }
    }
}

#[test]
fn more_rounds_go_on_from_a_finished_run() {
    let mut bed = Bed::new(brief(), 1, 1);
    bed.run(&Script::new(&[&["ns=100"]])).unwrap();
    bed.settings.rounds = 2;
    let script = Script::new(&[&["never asked"], &["ns=50"]]);
    let outcome = bed.run(&script).unwrap();
    assert_eq!(script.asked.lock().unwrap().len(), 1);
    assert!((outcome.best.unwrap().timing.score() - 50_000.0).abs() < 1e-6);
}

#[test]
fn a_journal_of_another_spec_is_refused() {
    let mut bed = Bed::new(brief(), 1, 1);
    bed.run(&Script::new(&[&["ns=100"]])).unwrap();
    bed.settings.candidates = 2;
    insta::assert_snapshot!(bed.run(&Script::new(&[])).unwrap_err(),
        @"the journal of run test cannot be taken up: candidates, strategy, seed and limits must be those that it began with; begin a new run without `--resume`");
    bed.settings.candidates = 1;
    bed.brief.task.push('!');
    insta::assert_snapshot!(bed.run(&Script::new(&[])).unwrap_err(),
        @"the journal of run test cannot be taken up: the spec has changed since; begin a new run without `--resume`");
}

#[test]
fn times_of_two_devices_are_not_mixed() {
    let mut bed = Bed::new(brief(), 1, 1);
    bed.run(&Script::new(&[&["ns=100"]])).unwrap();
    bed.settings.rounds = 2;
    bed.judge.device = Some(fsr_protocol::DeviceFacts { name: "Other".to_owned(), ..device() });
    let error = bed.run(&Script::new(&[&[], &["ns=50"]])).unwrap_err();
    insta::assert_snapshot!(error, @"the run began on Fake H200 (9.0, driver 12080), and this device is Other (9.0, driver 12080): times cannot be compared; begin a new run");
}

#[test]
fn with_files_every_prompt_is_written_before_the_search_stops() {
    let folder = tempfile::tempdir().unwrap();
    let model = FilesModel::new(folder.path());
    let mut bed = Bed::new(brief(), 3, 2);
    let file = |name: &str| folder.path().join("saxpy").join(name);

    let outcome = bed.run(&model).unwrap();
    let Stopped::Awaiting(awaited) = &outcome.stopped else { panic!("{:?}", outcome.stopped) };
    assert_eq!(awaited.len(), 3);
    assert!(awaited.iter().all(|awaited| awaited.prompt.exists() && !awaited.answer.exists()));

    fs::write(file("r1-c1.answer.md"), answer("ns=100")).unwrap();
    fs::write(file("r1-c3.answer.md"), answer("WRONG")).unwrap();
    let outcome = bed.run(&model).unwrap();
    let Stopped::Awaiting(awaited) = &outcome.stopped else { panic!("{:?}", outcome.stopped) };
    assert_eq!(awaited.iter().map(|awaited| &awaited.answer).collect::<Vec<_>>(), [&file("r1-c2.answer.md")]);
    assert!(outcome.best.is_none());

    fs::write(file("r1-c2.answer.md"), answer("ns=90")).unwrap();
    bed.run(&model).unwrap();
    assert!(file("r2-c3.prompt.md").exists());
    for slot in 1..=3 {
        fs::write(file(&format!("r2-c{slot}.answer.md")), answer("ns=80")).unwrap();
    }
    let outcome = bed.run(&model).unwrap();
    assert_eq!(outcome.stopped, Stopped::Rounds);
    assert!((outcome.best.unwrap().timing.score() - 80_000.0).abs() < 1e-6);
}

#[test]
fn an_interrupted_search_goes_on() {
    let interrupted = |_: &_| Err(ModelError::Interrupted);
    let mut bed = Bed::new(with_baseline(), 2, 2);
    let script = Script { otherwise: Some(interrupted), ..Script::new(&[&["ns=100", "ns=90"], &["ns=80"]]) };
    assert_eq!(bed.run(&script).unwrap().stopped, Stopped::Interrupted);
    let script = Script::new(&[&[], &["never asked", "ns=70"]]);
    let outcome = bed.run(&script).unwrap();
    assert_eq!(script.asked.lock().unwrap().len(), 1);
    assert!((outcome.best.unwrap().timing.score() - 70_000.0).abs() < 1e-6);
}

#[test]
fn a_recording_answers_again_and_other_clocks_are_said() {
    let (_, entries) = whole();
    let mut bed = bed();
    let replay = ReplayModel::new(&entries);
    let outcome = bed.run(&replay).unwrap();
    assert_eq!(essence(&outcome), whole().0);
    assert!(bed.events.0.lock().unwrap().iter().all(|line| !line.starts_with("note")));

    // Another device and the same dialogue: no note, since facts of the device are no part of the canonical form.
    let mut elsewhere = Bed { ..bed };
    elsewhere.journal = MemoryJournal::new();
    elsewhere.judge.device = Some(fsr_protocol::DeviceFacts { name: "Other".to_owned(), ..device() });
    elsewhere.run(&replay).unwrap();
    assert!(elsewhere.events.0.lock().unwrap().iter().all(|line| !line.starts_with("note")));

    // Another task: the prompts differ, the answers are the same.
    elsewhere.journal = MemoryJournal::new();
    elsewhere.brief.task = "y = a * x - y.".to_owned();
    elsewhere.run(&replay).unwrap();
    let heard = elsewhere.events.0.lock().unwrap().join("\n");
    assert!(
        heard.contains("note r1-c1: the prompt of saxpy r1 c1 differs from the recorded one at line"),
        "{heard}"
    );
}

#[test]
fn recorded_verdicts_are_repeated_exactly_without_compiler_and_judge() {
    let (essence_of_whole, entries) = whole();
    let repeat = |rounds: u32, entries: &[Entry]| {
        let Bed { brief, mut settings, .. } = bed();
        settings.rounds = rounds;
        let mut nobody = RecordedOnly { cuda: brief.cuda };
        let mut journal = MemoryJournal::new();
        let run = RunFacts {
            run: "again".to_owned(),
            tool: "0.0.0".to_owned(),
            key: "00".to_owned(),
            inputs: Default::default(),
        };
        let outcome = Search {
            brief: &brief,
            settings: &settings,
            run: &run,
            previous: &[],
            templates: &Templates::built_in().unwrap(),
            cast: Cast::everyone(&[&ReplayModel::new(entries)]),
            compiler: &{ nobody },
            judge: &mut nobody,
            journal: &mut journal,
            recording: Some(entries),
            purse: &Purse::new(Default::default()),
            events: &Silent,
            interrupt: &Default::default(),
        }
        .run();
        outcome.map(|outcome| (essence(&outcome), of_any_run(journal.entries())))
    };
    let (essence, ours) = repeat(4, &entries).unwrap();
    assert_eq!(essence, essence_of_whole);
    assert!(ours == of_any_run(&entries), "another journal");

    // An unfinished recording ends where it ends.
    let half: Vec<Entry> = entries[..entries.len() / 2].to_vec();
    let ended = repeat(4, &half);
    assert!(
        matches!(&ended, Ok((essence, _)) if essence.contains("Model"))
            || matches!(&ended, Err(SearchError::Judge(_) | SearchError::Compiler(_))),
    );
}

#[test]
fn a_source_that_is_not_the_recorded_one_is_an_error() {
    let (_, mut entries) = whole();
    for entry in &mut entries {
        if let Record::Compiled { input, .. } = &mut entry.record {
            *input = "another".to_owned();
        }
    }
    let mut bed = bed();
    bed.journal = MemoryJournal::with_entries(entries);
    assert!(matches!(bed.run(&Script::new(&[])), Err(SearchError::Diverged { .. })));
}
