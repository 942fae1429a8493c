//! `tune --dry-run`: the prompts of the first round and what a search may cost, without asking anybody.
//!
//! The host code, the baseline and the device come in as in a search, since prompts tell of them. Nothing is stored, and no
//! run is begun.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};

use fsr_build::spec::{Arch, KernelSpec};
use serde_json::json;

use super::Tuning;
use super::kernel::{Rig, Tuned};
use super::models::Models;
use super::run;
use crate::budget::{Budget, Purse};
use crate::cli::shell::count;
use crate::cli::watch::Watch;
use crate::cli::{CommandError, rig};
use crate::journal::MemoryJournal;
use crate::model::{Answer, Model, ModelError, Prompt, Witness, tokens};
use crate::project::Package;
use crate::search::{Cast, RunFacts, Search, Templates};
use crate::settings::Settings;

/// Keeps what it is asked and answers nothing.
#[derive(Default)]
struct Nobody {
    asked: Mutex<Vec<Prompt>>,
}

impl Model for Nobody {
    fn name(&self) -> String {
        "nobody".to_owned()
    }

    fn answer(&self, prompt: &Prompt, _: &dyn Witness) -> Result<Answer, ModelError> {
        self.asked.lock().unwrap_or_else(PoisonError::into_inner).push(prompt.clone());
        Err(ModelError::Awaiting { prompt: PathBuf::new(), answer: PathBuf::new() })
    }
}

/// What prompts are made of, and who gets them.
pub(super) struct Prompting<'a> {
    pub(super) previous: &'a [String],
    pub(super) models: &'a Models,
    pub(super) templates: &'a Templates,
}

impl Tuning<'_> {
    /// Shows what a search for one kernel would ask.
    pub(super) fn preview(
        &self,
        package: &Package,
        kernel: &KernelSpec,
        arch: Arch,
        rig: &mut Rig,
        prompting: &Prompting<'_>,
    ) -> Result<Tuned, CommandError> {
        let Prompting { previous, models, templates } = *prompting;
        let brief = package.brief(kernel, arch)?;
        let inputs = rig::inputs(package, kernel, arch)?;
        let settings = run::settings(self.args, package, None);
        let nobody = Nobody::default();
        let watch = Watch::new(self.shell.clone(), &kernel.name, false);
        let (compiler, judge) = rig.parts();
        Search {
            brief: &brief,
            settings: &settings,
            run: &RunFacts {
                run: "dry-run".to_owned(),
                tool: env!("CARGO_PKG_VERSION").to_owned(),
                key: inputs.key().to_string(),
                inputs: Default::default(),
            },
            previous,
            templates,
            cast: Cast::everyone(&[&nobody]),
            compiler,
            judge,
            journal: &mut MemoryJournal::new(),
            recording: None,
            purse: &Purse::new(Budget::default()),
            events: &watch,
            interrupt: self.interrupt,
        }
        .run()?;
        let mut prompts = nobody.asked.into_inner().unwrap_or_else(PoisonError::into_inner);
        prompts.sort_by_key(|prompt| prompt.position.slot);
        self.show(kernel, &prompts, models);
        self.bound(&settings, &prompts, models);
        Ok(Tuned::Shown)
    }

    fn show(&self, kernel: &KernelSpec, prompts: &[Prompt], models: &Models) {
        for prompt in prompts {
            let asked = asked(models, prompt);
            if self.shell.json() {
                self.shell.message(&json!({
                    "reason": "prompt",
                    "kernel": kernel.name,
                    "candidate": prompt.position.origin().to_string(),
                    "model": asked,
                    "tokens": tokens(prompt.text.len()),
                    "text": prompt.text,
                }));
            } else {
                let head = format!("{}, for {asked}", prompt.position);
                self.shell.data(format_args!("----- {head}\n{}", prompt.text.trim_end()));
            }
        }
    }

    /// What a whole search may take at most; repetitions of failed requests come on top.
    fn bound(&self, settings: &Settings, prompts: &[Prompt], models: &Models) {
        let (rounds, candidates) = (u64::from(settings.rounds), u64::from(settings.candidates));
        let (requests, later) = (rounds * candidates, rounds.saturating_sub(1) * candidates);
        let first: u64 = prompts.iter().map(|prompt| tokens(prompt.text.len())).sum();
        let long = tokens(settings.prompt_bytes);
        let input = first + later * long;
        self.shell.note(
            "Prompts",
            format_args!("{} in round 1, about {first} tokens", count(prompts.len(), "prompt", "prompts")),
        );
        let cast = models.cast();
        let all: Vec<&dyn Model> =
            cast.first_draft.iter().chain(&cast.repair).chain(&cast.speed_up).copied().collect();
        let longest = all.iter().map(|model| model.max_output()).collect::<Option<Vec<u64>>>();
        let output = longest.and_then(|longest| longest.into_iter().max());
        let out =
            output.map_or("answers of any length".to_owned(), |output| format!("{} out", requests * output));
        self.shell.note("At most", format_args!("{requests} requests, about {input} tokens in and {out}"));

        let names: BTreeSet<String> = all.iter().map(|model| model.name()).collect();
        let unpriced: Vec<&String> = names.iter().filter(|name| self.purse.price(name).is_none()).collect();
        if let Some(name) = unpriced.first() {
            self.shell.note("Cost", format_args!("not known: model `{name}` has no price"));
        } else if let Some(output) = output {
            let dearest = |input: u64| {
                let costs =
                    names.iter().filter_map(|name| Some(self.purse.price(name)?.of(input, 0, output)));
                costs.fold(0.0, f64::max)
            };
            let cost: f64 = prompts.iter().map(|prompt| dearest(tokens(prompt.text.len()))).sum();
            self.shell.note("Cost", format_args!("at most {:.2}", cost + later as f64 * dearest(long)));
        } else {
            self.shell.note("Cost", "without a bound: answers may have any length");
        }
    }
}

/// Who would be asked.
fn asked(models: &Models, prompt: &Prompt) -> String {
    models.cast().model(prompt.stage, prompt.position.slot).map_or_else(String::new, Model::name)
}
