//! A search over the fakes, ready to be changed and run.

use std::sync::atomic::AtomicBool;
use std::sync::{LazyLock, Mutex};

use crate::brief::Brief;
use crate::budget::Purse;
use crate::journal::{Entry, Journal, MemoryJournal};
use crate::model::{Model, Origin, Stage};
use crate::search::fakes::{FakeCompiler, FakeJudge, Script};
use crate::search::{Cast, Event, Events, Outcome, RunFacts, Search, SearchError, Templates};
use crate::settings::Settings;

static TEMPLATES: LazyLock<Templates> = LazyLock::new(|| Templates::built_in().unwrap());

/// All parts of a search but its models.
pub struct Bed {
    pub brief: Brief,
    pub settings: Settings,
    pub previous: Vec<String>,
    pub compiler: FakeCompiler,
    pub judge: FakeJudge,
    pub journal: MemoryJournal,
    pub recording: Option<Vec<Entry>>,
    pub interrupt: AtomicBool,
    pub purse: Purse,
    pub events: Heard,
}

impl Bed {
    pub fn new(brief: Brief, candidates: u32, rounds: u32) -> Self {
        Self {
            brief,
            settings: Settings { candidates, rounds, ..Settings::default() },
            previous: Vec::new(),
            compiler: FakeCompiler::default(),
            judge: FakeJudge::default(),
            journal: MemoryJournal::new(),
            recording: None,
            interrupt: AtomicBool::new(false),
            purse: Purse::new(Default::default()),
            events: Heard::default(),
        }
    }

    /// Runs, or goes on with what the journal holds.
    pub fn run(&mut self, model: &dyn Model) -> Result<Outcome, SearchError> {
        let mut journal = std::mem::take(&mut self.journal);
        let outcome = self.run_with(model, &mut journal);
        self.journal = journal;
        outcome
    }

    pub fn run_with(&mut self, model: &dyn Model, journal: &mut dyn Journal) -> Result<Outcome, SearchError> {
        self.run_cast(Cast::everyone(&[model]), journal)
    }

    pub fn run_cast(&mut self, cast: Cast<'_>, journal: &mut dyn Journal) -> Result<Outcome, SearchError> {
        let run = RunFacts {
            run: "test".to_owned(),
            tool: "0.0.0".to_owned(),
            key: "00".to_owned(),
            inputs: Default::default(),
        };
        Search {
            brief: &self.brief,
            settings: &self.settings,
            run: &run,
            previous: &self.previous,
            templates: &TEMPLATES,
            cast,
            compiler: &self.compiler,
            judge: &mut self.judge,
            journal,
            recording: self.recording.as_deref(),
            purse: &self.purse,
            events: &self.events,
            interrupt: &self.interrupt,
        }
        .run()
    }
}

/// Keeps what the search said.
#[derive(Default)]
pub struct Heard(pub Mutex<Vec<String>>);

impl Events for Heard {
    fn event(&self, event: Event<'_>) {
        let line = match event {
            Event::Note { about, text } => {
                format!("note {}: {text}", about.map_or_else(String::new, |origin| origin.to_string()))
            }
            Event::Best { origin, .. } => format!("best {origin}"),
            Event::Round { round, .. } => format!("round {round}"),
            Event::RoundDone { round, valid, .. } => format!("round {round} done, {valid} valid"),
            Event::Asking { origin, known: false, .. } => format!("asking {origin}"),
            _ => return,
        };
        self.0.lock().unwrap().push(line);
    }
}

/// The candidate of a slot.
pub fn candidate(round: u32, slot: u32) -> Origin {
    Origin::Candidate { round, slot }
}

/// Stages and parents of a round's prompts.
pub fn asked(script: &Script, round: u32, slots: u32) -> Vec<(Stage, Option<Origin>)> {
    (1..=slots).map(|slot| script.prompt(round, slot)).map(|prompt| (prompt.stage, prompt.parent)).collect()
}

/// What must be the same however a search came to its end.
pub fn essence(outcome: &Outcome) -> String {
    let winner = outcome.best.as_ref().map(|winner| {
        format!("{} {:?} {} {}", winner.origin, winner.tunables, winner.timing.score(), winner.confirmed)
    });
    format!("{winner:?} {:?} {} {:?}", outcome.stopped, outcome.rounds, outcome.counts)
}
