//! `cargo fsr tune`: searches, kernel by kernel, and stores the winners.

use std::cell::OnceCell;
use std::sync::Arc;
use std::time::{Duration, Instant};

use fsr_build::spec::KernelSpec;

use super::args::Tune;
use super::devices::Devices;
use super::rig::{self, Interrupt};
use super::shell::count;
use super::{CommandError, Shell, here};
use crate::budget::Purse;
use crate::cache::{Cache, Found};
use crate::config::{Config, ConfigError, ModelConfig};
use crate::entry;
use crate::exit::Exit;
use crate::model::http::Network;
use crate::project::{Package, Project, bundle};
use crate::search::Awaited;
use crate::state::ProjectState;

mod incumbent;
mod kernel;
mod models;
mod place;
mod preview;
mod run;

use kernel::Tuned;
pub use place::Place;

/// A kernel to be tuned.
struct Due<'a> {
    package: &'a Package,
    kernel: &'a KernelSpec,
    /// Its last run was stopped before its end, and is taken up whatever is stored by now.
    goes_on: bool,
}

/// What all kernels of one command share.
struct Tuning<'a> {
    args: &'a Tune,
    project: &'a Project,
    config: &'a Config,
    model: ModelConfig,
    devices: Devices<'a>,
    state: ProjectState,
    cache: Cache,
    place: Place,
    shell: &'a Arc<Shell>,
    interrupt: &'a Interrupt,
    purse: Purse,
    /// Made when the first endpoint is asked.
    network: OnceCell<Network>,
}

/// How far all kernels of one command have come.
struct Done {
    exit: Exit,
    /// Kernels that came to their end.
    stored: usize,
    /// Prompts without an answer.
    awaited: Vec<Awaited>,
}

pub fn run(args: Tune, shell: &Arc<Shell>, interrupt: &Interrupt) -> Result<Exit, CommandError> {
    let project = match &args.bundle {
        Some(dir) => Project::open_bundle(dir)?,
        None => Project::open(&args.selection, args.locking, &here())?,
    };
    let kernels = project.kernels(&args.kernels)?;
    let config = Config::read(&project.root)?;
    let state_dir = if project.is_bundle() { bundle::state(&project.root) } else { config.state_dir() };
    let state = match project.is_bundle() {
        true => ProjectState::in_folder(state_dir.clone()),
        false => ProjectState::of_workspace(&state_dir, &project.root),
    };

    // What is said wrongly is told even where nothing has to be done.
    let device = args.device.parse()?;
    let model = match config.model(args.model.as_deref(), &here()) {
        Ok(model) => Some(model),
        Err(ConfigError::NoModel) => None,
        Err(error) => return Err(error.into()),
    };
    let replays = matches!(model, Some(ModelConfig::Replay { .. }));
    if args.verdicts && !replays {
        return Err(CommandError::new(
            Exit::Usage,
            "--verdicts repeats a recording, and the model is none",
            "add --model replay:FOLDER",
        ));
    }
    let mut due = Vec::new();
    for (package, kernel) in kernels {
        // A run that was stopped has stored its best so far, so that a fresh entry says nothing about its end.
        let goes_on = || run::goes_on(&state, package, kernel, &args.search, replays, shell);
        let resumed = args.resume && goes_on()?;
        if resumed || args.force || !is_fresh(package, kernel) {
            due.push(Due { package, kernel, goes_on: resumed });
            continue;
        }
        let more =
            if !args.resume && goes_on()? { "; its last run was stopped, and --resume goes on" } else { "" };
        shell.note("Fresh", format_args!("{} of {}{more}", kernel.name, package.spec.package));
    }
    if due.is_empty() {
        shell.status("Finished", "every kernel is fresh; --force tunes anyway");
        return Ok(Exit::Success);
    }
    let tuning = Tuning {
        model: model.ok_or(ConfigError::NoModel)?,
        devices: Devices::new(device, &config, &project, args.locking, shell, interrupt),
        place: Place::new(args.out.as_deref()),
        cache: Cache::from_env(),
        args: &args,
        project: &project,
        config: &config,
        state,
        shell,
        interrupt,
        purse: Purse::new(args.budget.limits().or(config.budget)),
        network: OnceCell::new(),
    };
    tuning.all(&due)
}

fn is_fresh(package: &Package, kernel: &KernelSpec) -> bool {
    package.examine(kernel).iter().all(|state| state.standing.is_fresh())
}

impl Tuning<'_> {
    fn network(&self) -> std::io::Result<&Network> {
        if let Some(network) = self.network.get() {
            return Ok(network);
        }
        let network = Network::new()?;
        Ok(self.network.get_or_init(|| network))
    }

    fn all(&self, due: &[Due<'_>]) -> Result<Exit, CommandError> {
        let began = Instant::now();
        let mut done = Done { exit: Exit::Success, stored: 0, awaited: Vec::new() };
        let ended = self.each(due, &mut done);
        // However it ended, this was spent, and those prompts lie there.
        self.tell_spent();
        self.tell_awaited(&done.awaited);
        ended?;
        if done.exit != Exit::Interrupted && done.awaited.is_empty() && !self.args.dry_run {
            self.tell_end(due.len(), &done, began.elapsed());
        }
        Ok(done.exit)
    }

    fn each(&self, due: &[Due<'_>], done: &mut Done) -> Result<(), CommandError> {
        let Done { exit, stored, awaited } = done;
        for Due { package, kernel, goes_on } in due {
            let anew = self.args.force || *goes_on;
            if !anew && !self.args.dry_run && self.restore(package, kernel)? {
                *stored += 1;
                continue;
            }
            self.shell.status("Tuning", format_args!("{} of {}", kernel.name, package.spec.package));
            match self.kernel(package, kernel, anew) {
                Ok(Tuned::Stored) => *stored += 1,
                Ok(Tuned::Shown) => {}
                Ok(Tuned::Incomplete) => *exit = worse(*exit, Exit::Unsatisfied),
                Ok(Tuned::Awaiting(mut prompts)) => {
                    awaited.append(&mut prompts);
                    *exit = worse(*exit, Exit::Awaiting);
                }
                Ok(Tuned::Interrupted) => {
                    *exit = Exit::Interrupted;
                    break;
                }
                Ok(Tuned::ModelFailed) => *exit = worse(*exit, Exit::Environment),
                // What is wrong with one kernel leaves the others alone; what is wrong with the machine does not.
                Err(error) if due.len() > 1 && matches!(error.exit(), Exit::Host | Exit::Input) => {
                    *exit = worse(*exit, error.exit());
                    super::render(error, self.shell.color());
                }
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    fn tell_spent(&self) {
        let spent = self.purse.spent();
        if spent.requests > 0 {
            self.shell.note("Spent", spent);
            self.shell.message(&serde_json::json!({ "reason": "spent", "totals": spent }));
        }
    }

    fn tell_awaited(&self, awaited: &[Awaited]) {
        if awaited.is_empty() {
            return;
        }
        let missing = count(awaited.len(), "answer", "answers");
        let again = |flag: &str, value: &str| format!(" {flag} {}", shell_words::quote(value));
        let model = self.args.model.as_ref().map(|model| again("--model", model)).unwrap_or_default();
        let out = self.args.out.as_ref().map(|out| again("--out", &out.to_string_lossy()));
        let out = out.unwrap_or_default();
        self.shell.status("Awaiting", format_args!("{missing}; then go on with --resume{model}{out}"));
        for awaited in awaited {
            self.shell.note("Prompt", awaited.prompt.display());
            if self.shell.json() {
                self.shell.message(&serde_json::json!({
                    "reason": "awaiting", "prompt": awaited.prompt, "answer": awaited.answer,
                }));
            } else {
                self.shell.data(awaited.answer.display());
            }
        }
    }

    fn tell_end(&self, due: usize, done: &Done, took: Duration) {
        let place = self.args.out.as_ref().map(|out| format!(" in {}", out.display())).unwrap_or_default();
        let stored = match due - done.stored {
            0 => format!("stored{place}"),
            // What a model gave before it failed is stored all the same: this counts what came to its end.
            rest => format!("{} done{place}, {rest} not", done.stored),
        };
        let summary = format!("{} in {:.1} s: {stored}", count(due, "kernel", "kernels"), took.as_secs_f64());
        match done.exit {
            Exit::Success => self.shell.status("Finished", summary),
            _ => self.shell.fault("Finished", summary),
        }
    }

    /// Brings back from the cache what was tuned for exactly this spec before. True when nothing is left to do.
    fn restore(&self, package: &Package, kernel: &KernelSpec) -> Result<bool, CommandError> {
        let mut missing = false;
        for state in package.examine(kernel) {
            if state.standing.is_fresh() {
                continue;
            }
            let inputs = rig::inputs(package, kernel, state.arch)?;
            let paths = self.place.paths(package, &kernel.name, state.arch);
            match self.cache.find(kernel, state.arch, &inputs) {
                // What is stored is not fresh, and still worth more than a model of a GPU.
                Found::Entry(entry) if entry::lowers(&paths, &entry) => {
                    missing = true;
                }
                Found::Entry(entry) => {
                    self.place.write(package, &entry)?;
                    self.shell
                        .status("Restored", format_args!("{} {} from the cache", kernel.name, state.arch));
                }
                Found::Nothing => missing = true,
                Found::Corrupt(error) => {
                    self.shell
                        .warn(format_args!("the cache has a corrupt entry, which is not used: {error}"));
                    missing = true;
                }
            }
        }
        Ok(!missing)
    }
}

/// Of two ways to end, the one that needs attention first.
fn worse(a: Exit, b: Exit) -> Exit {
    let rank = |exit: Exit| match exit {
        Exit::Success => 0,
        Exit::Awaiting => 1,
        Exit::Unsatisfied => 2,
        Exit::Environment => 3,
        Exit::Host => 4,
        Exit::Input => 5,
        Exit::Usage | Exit::Damaged | Exit::Astray | Exit::Interrupted => 6,
    };
    if rank(b) > rank(a) { b } else { a }
}
