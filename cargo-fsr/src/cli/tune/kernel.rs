//! One kernel: from its spec through the search to the entries of all its archs.

use std::collections::{BTreeMap, BTreeSet};
use std::io::ErrorKind;
use std::sync::Arc;

use fsr_build::spec::{Arch, ComputeCapability, KernelSpec};
use fsr_build::store::{Entry, EntryPaths, read_entry};

use super::Tuning;
use super::incumbent::{is_kept, is_known, is_nothing_new, outlasts, stored_source};
use super::preview::Prompting;
use super::run::{self, Started};
use crate::cli::devices::Subject;
use crate::cli::watch::{Watch, times};
use crate::cli::{CommandError, rig};
use crate::compile::{Compiled, Compiler, NvrtcCompiler};
use crate::config::ModelConfig;
use crate::entry::{self, Carried};
use crate::exit::Exit;
use crate::journal::{self, FileJournal, Journal, JournalError, Record};
use crate::judge::{Executable, Judge, Verdict};
use crate::model::Origin;
use crate::project::{HostSource, Package};
use crate::search::answer;
use crate::search::{Awaited, Outcome, RecordedOnly, Search, Stopped, Templates, Winner};
use crate::verify::{self, Verifier};

/// How one kernel's tuning ended.
pub enum Tuned {
    /// Every arch has its entry.
    Stored,
    /// No valid kernel was found, or not for every arch.
    Incomplete,
    /// Prompts wait for their answers.
    Awaiting(Vec<Awaited>),
    /// Ctrl-C; the best so far is stored.
    Interrupted,
    /// The model failed; the best so far is stored.
    ModelFailed,
    /// Nobody was asked: it was shown what would be.
    Shown,
}

/// What compiles and executes: the machine, or a recording.
pub(super) enum Rig {
    Machine { compiler: Arc<NvrtcCompiler>, judge: Box<dyn Judge> },
    Recorded { compiler: RecordedOnly, judge: RecordedOnly },
}

impl Rig {
    /// What a search works with.
    pub(super) fn parts(&mut self) -> (&dyn Compiler, &mut dyn Judge) {
        match self {
            Self::Machine { compiler, judge } => (&**compiler, judge.as_mut()),
            Self::Recorded { compiler, judge } => (compiler, judge),
        }
    }
}

impl Tuning<'_> {
    /// Tunes one kernel; `anew` also where an entry is fresh.
    pub(super) fn kernel(
        &self,
        package: &Package,
        kernel: &KernelSpec,
        anew: bool,
    ) -> Result<Tuned, CommandError> {
        let state = self.state.kernel(&package.spec.package, &kernel.name)?;
        let recording = self.recording(package, kernel)?;
        // What is wrong with these is worth saying before anything is built or begun.
        self.place.probe(package, &kernel.name)?;
        let models = self.models(package, recording.as_deref())?;
        let templates = Templates::new(self.config.templates.as_deref())?;
        let (mut rig, arch) = self.rig(package, kernel, recording.as_deref())?;
        let paths = self.place.paths(package, &kernel.name, arch);
        let old = read_entry(&paths).ok();
        let previous = self.previous(&paths, old.as_ref(), recording.as_deref());
        if self.args.dry_run {
            let prompting = Prompting { previous: &previous, models: &models, templates: &templates };
            return self.preview(package, kernel, arch, &mut rig, &prompting);
        }
        if !anew && let Rig::Machine { compiler, judge } = &mut rig {
            let mut verifier = Verifier { compiler: compiler.as_ref(), judge: Some(judge.as_mut()) };
            self.restamp(package, kernel, &mut verifier)?;
            if let Some(donor) = self.donor(package, kernel) {
                return self.other_archs(package, kernel, &donor, anew, &mut rig);
            }
        }
        if let Rig::Machine { judge, .. } = &mut rig {
            self.may_replace(package, kernel, arch, judge.as_mut())?;
        }

        let brief = package.brief(kernel, arch)?;
        let inputs = rig::inputs(package, kernel, arch)?;
        let Started { facts, mut journal, settings } =
            run::start(&state, self.args, package, &inputs, recording.as_deref(), self.shell)?;
        let watch = Watch::new(self.shell.clone(), &kernel.name, self.args.verdicts);
        let (compiler, judge) = rig.parts();
        let searched = Search {
            brief: &brief,
            settings: &settings,
            run: &facts,
            previous: &previous,
            templates: &templates,
            cast: models.cast(),
            compiler,
            judge,
            journal: &mut journal,
            recording: recording.as_deref().filter(|_| self.args.verdicts),
            purse: &self.purse,
            events: &watch,
            interrupt: self.interrupt,
        }
        .run();
        // Secret while candidates ran; from now on they explain the verdicts.
        if let Rig::Machine { judge, .. } = &rig
            && !judge.seeds().is_empty()
        {
            journal.append(Record::Seeds { seeds: judge.seeds().to_vec() })?;
        }
        let outcome = searched?;
        self.shell.detail("Journal", FileJournal::path(&journal).display());

        let mut anew = anew;
        let stored = match (&outcome.best, old) {
            (Some(winner), Some(old)) if is_nothing_new(&outcome.stopped, winner, &old, &inputs) => {
                let name = &kernel.name;
                self.shell
                    .note("Kept", format_args!("{name} {arch}: the model gave nothing to hold against it"));
                anew = false;
                Some(old)
            }
            (Some(winner), old) if is_kept(&outcome.stopped, outcome.rounds, old.is_some()) => {
                let stranger = old.as_ref().filter(|old| {
                    old.manifest.key() == inputs.key() && !is_known(old, &facts.run, journal.entries())
                });
                let outlasts = match (stranger, &mut rig) {
                    (Some(old), Rig::Machine { judge, .. }) => outlasts(old, winner, judge.as_mut())?,
                    _ => false,
                };
                if outlasts {
                    self.shell.note(
                        "Kept",
                        format_args!("{} {arch}: stored since this run began, and no slower", kernel.name),
                    );
                    anew = false;
                    journal.append(Record::Stored { arch })?;
                    old
                } else {
                    let mut made = entry::tuned(kernel, arch, inputs, &facts.run, &outcome, winner)?;
                    // The search does not know who wrote what it was given.
                    if let Some(old) = old.filter(|old| old.source == winner.source)
                        && matches!(winner.origin, Origin::Previous(_))
                    {
                        made.manifest.model = old.manifest.model;
                    }
                    self.store(package, &made)?;
                    journal.append(Record::Stored { arch })?;
                    self.shell.status("Stored", summary(kernel, arch, winner));
                    Some(made)
                }
            }
            _ => None,
        };
        self.finish(package, kernel, outcome, stored, anew, &mut rig)
    }

    /// Sources that a search begins with.
    fn previous(
        &self,
        paths: &EntryPaths,
        old: Option<&Entry>,
        recording: Option<&[journal::Entry]>,
    ) -> Vec<String> {
        let recorded = recording.and_then(journal::header);
        let mut previous = recorded.map(|header| header.previous.clone()).unwrap_or_default();
        // Whatever answers, what is stored here is replaced by nothing slower; recorded verdicts do not know it.
        if let Some(source) = stored_source(paths, old)
            && !self.args.verdicts
            && !previous.contains(&source)
        {
            previous.push(source);
        }
        previous
    }

    fn finish(
        &self,
        package: &Package,
        kernel: &KernelSpec,
        outcome: Outcome,
        stored: Option<Entry>,
        anew: bool,
        rig: &mut Rig,
    ) -> Result<Tuned, CommandError> {
        match outcome.stopped {
            Stopped::Awaiting(prompts) => return Ok(Tuned::Awaiting(prompts)),
            Stopped::Interrupted => return Ok(Tuned::Interrupted),
            Stopped::Rounds
            | Stopped::Plateau { .. }
            | Stopped::Target { .. }
            | Stopped::Budget { .. }
            | Stopped::Model { .. } => {}
        }
        let complete = match &stored {
            Some(donor) => self.other_archs(package, kernel, donor, anew, rig)?,
            None => {
                let answers = outcome.counts.answers;
                self.shell
                    .fault("Failed", format_args!("{}: none of {answers} candidates is valid", kernel.name));
                Tuned::Incomplete
            }
        };
        if let Stopped::Target { what } = &outcome.stopped {
            self.shell.note("Reached", format_args!("{}: the target of {what}", kernel.name));
        }
        if let Stopped::Budget { what } = &outcome.stopped {
            let name = &kernel.name;
            self.shell.warn(format_args!(
                "{name}: the budget of {what} is spent, so the search ended early; with a larger one --resume goes on"
            ));
        }
        if let Stopped::Model { message } = outcome.stopped {
            self.shell.fault("Stopped", format_args!("{}: {message}; --resume goes on", kernel.name));
            return Ok(Tuned::ModelFailed);
        }
        Ok(complete)
    }

    /// Carries the winner to the archs that it was not tuned for; where it does not work, the baseline.
    fn other_archs(
        &self,
        package: &Package,
        kernel: &KernelSpec,
        donor: &Entry,
        anew: bool,
        rig: &mut Rig,
    ) -> Result<Tuned, CommandError> {
        let states = package.examine(kernel);
        let fresh = |arch| states.iter().any(|state| state.arch == arch && state.standing.is_fresh());
        let mut complete = true;
        for arch in package.spec.archs.iter().copied().filter(|arch| *arch != donor.manifest.arch) {
            if self.place.is_package() && !anew && fresh(arch) {
                continue;
            }
            let Rig::Machine { compiler, judge } = rig else {
                self.shell.note("Skipped", format_args!("{} {arch}: not in the recording", kernel.name));
                continue;
            };
            let winner = Carried {
                source: donor.source.clone(),
                tunables: verify::values(donor),
                model: donor.manifest.model.clone(),
                run: donor.manifest.run.clone(),
            };
            let mut stored = false;
            for carried in [Some(winner), self.baseline(package, kernel, donor, arch)?].into_iter().flatten()
            {
                let name = if carried.model.is_some() { "the winner" } else { "the baseline" };
                match self.carry(package, kernel, &carried, arch, &**compiler, judge.as_mut())? {
                    Ok(how) => {
                        self.shell.status("Stored", format_args!("{} {arch}: {name}, {how}", kernel.name));
                        stored = true;
                        break;
                    }
                    Err(why) => {
                        self.shell
                            .warn(format_args!("{} {arch}: {name} does not work there: {why}", kernel.name));
                    }
                }
            }
            complete &= stored;
        }
        Ok(if complete { Tuned::Stored } else { Tuned::Incomplete })
    }

    /// Compiles a kernel for an arch, validates it where the device loads that, and stores it. The inner result says
    /// how far it was tried, or why it is not stored.
    fn carry(
        &self,
        package: &Package,
        kernel: &KernelSpec,
        carried: &Carried,
        arch: Arch,
        compiler: &dyn Compiler,
        judge: &mut dyn Judge,
    ) -> Result<Result<&'static str, String>, CommandError> {
        let request = package.brief(kernel, arch)?.request(&carried.source, &carried.tunables);
        let ptx = match compiler.compile(&request)? {
            Compiled::Ptx(ptx) => ptx,
            Compiled::Failed(failure) => return Ok(Err(failure.log)),
        };
        let facts = judge.bench()?.device;
        let (major, minor) = facts.compute_capability;
        let validation = if arch.loads_on(ComputeCapability { major, minor }) {
            let entries = kernel.entries.clone();
            let executable =
                Executable { ptx: ptx.text.clone(), entries, tunables: carried.tunables.clone() };
            match judge.validate_fresh(&executable)? {
                Verdict::Valid(validation) => Some(validation),
                Verdict::Invalid(failure) => return Ok(Err(failure.summary)),
            }
        } else {
            None
        };
        let inputs = rig::inputs(package, kernel, arch)?;
        let evidence = validation.as_ref().map(|validation| (validation, &facts));
        self.store(package, &entry::compiled_only(kernel, arch, inputs, carried, &ptx, evidence)?)?;
        Ok(Ok(if validation.is_some() { "compiled and validated" } else { "compiled only" }))
    }

    /// The baseline with the winner's tunables, unless it is the winner.
    fn baseline(
        &self,
        package: &Package,
        kernel: &KernelSpec,
        donor: &Entry,
        arch: Arch,
    ) -> Result<Option<Carried>, CommandError> {
        let brief = package.brief(kernel, arch)?;
        // A baseline without a usable source was an error of the search.
        let source = brief.baseline.as_ref().and_then(|file| answer::check(&file.text, &brief).ok());
        let Some(source) = source.filter(|source| source.text != donor.source) else { return Ok(None) };
        let tunables = donor.manifest.tunables.iter().map(|(name, value)| (name.clone(), *value));
        Ok(Some(Carried {
            source: source.text,
            tunables: tunables.chain(source.launch).collect(),
            model: None,
            run: donor.manifest.run.clone(),
        }))
    }

    fn recording(
        &self,
        package: &Package,
        kernel: &KernelSpec,
    ) -> Result<Option<Vec<journal::Entry>>, CommandError> {
        match &self.model {
            ModelConfig::Replay { folder } => {
                let path = folder.join(&package.spec.package).join(format!("{}.jsonl", kernel.name));
                match journal::read(&path) {
                    Err(JournalError::Io { source, .. }) if source.kind() == ErrorKind::NotFound => {
                        Err(CommandError::new(
                            Exit::Input,
                            format!(
                                "kernel `{}` is not recorded: there is no {}",
                                kernel.name,
                                path.display()
                            ),
                            "name the kernels that are, or tune it with another model",
                        ))
                    }
                    read => Ok(Some(read?)),
                }
            }
            _ => Ok(None),
        }
    }

    /// Compiler and judge, and the arch that the search is for: the best listed one that the device loads.
    fn rig(
        &self,
        package: &Package,
        kernel: &KernelSpec,
        recording: Option<&[journal::Entry]>,
    ) -> Result<(Rig, Arch), CommandError> {
        let version = package.spec.cuda;
        if self.args.verdicts {
            let recorded = recording.and_then(journal::header);
            let arch = recorded_for(package, kernel, recorded)?;
            let recorded = RecordedOnly { cuda: version };
            return Ok((Rig::Recorded { compiler: recorded, judge: recorded }, arch));
        }
        // A host target that cargo cannot find is worth saying before a compiler is fetched.
        let _: HostSource = self.project.host_source(package, kernel)?;
        let compiler = rig::compiler(self.config, self.project, package, self.args.locking, self.shell)?;
        let compiler = Arc::new(compiler);
        let host = rig::host(self.project, package, kernel, self.shell, self.interrupt)?;
        let screened = !self.args.no_screen && self.config.screen.unwrap_or(true);
        let mut judge =
            self.devices.search_judge(Subject { host: &host, kernel, lines: &compiler }, screened)?;
        let device = judge.bench()?.device;
        let (major, minor) = device.compute_capability;
        let archs = &package.spec.archs;
        let arch = rig::best_arch(archs, ComputeCapability { major, minor }).ok_or_else(|| {
            let archs: Vec<String> = archs.iter().map(Arch::to_string).collect();
            CommandError::new(
                Exit::Environment,
                format!("{} loads none of {}", device.name, archs.join(", ")),
                format!("add \"sm_{major}{minor}\" to `arch` in {}", package.spec.manifest.display()),
            )
        })?;
        Ok((Rig::Machine { compiler, judge }, arch))
    }
}

/// The arch of a recording whose verdicts may be repeated: they were made for this very spec. Otherwise an entry would
/// claim that a kernel was validated by what it was never held against.
fn recorded_for(
    package: &Package,
    kernel: &KernelSpec,
    recorded: Option<&journal::Header>,
) -> Result<Arch, CommandError> {
    let refuse = |message: String| {
        let help = "leave out --verdicts: the recorded answers are then judged anew, on a device";
        Err(CommandError::new(Exit::Input, message, help))
    };
    let Some(header) = recorded else {
        return refuse(format!("the recording of `{}` is empty", kernel.name));
    };
    let arch = header.brief.arch;
    if !package.spec.archs.contains(&arch) {
        return refuse(format!(
            "the recording of `{}` is for {arch}, which the spec does not list",
            kernel.name
        ));
    }
    let now = rig::inputs(package, kernel, arch)?;
    if header.key == now.key().to_string() {
        return Ok(arch);
    }
    let now: BTreeMap<String, String> =
        now.iter().map(|input| (input.name, input.digest.to_string())).collect();
    let names: BTreeSet<&String> = header.inputs.keys().chain(now.keys()).collect();
    let other: Vec<&str> = names
        .into_iter()
        .filter(|name| header.inputs.get(*name) != now.get(*name))
        .map(String::as_str)
        .collect();
    refuse(format!(
        "the recorded verdicts of `{}` are about another spec; different since: {}",
        kernel.name,
        other.join(", ")
    ))
}

fn summary(kernel: &KernelSpec, arch: Arch, winner: &Winner) -> String {
    let speedup =
        winner.speedup.map(|ratio| format!(", {ratio:.2}x the baseline's speed")).unwrap_or_default();
    let doubt = if winner.confirmed { "" } else { ", not timed afresh" };
    format!("{} {arch}: {}, {}{speedup}{doubt}", kernel.name, winner.origin, times(&winner.timing))
}
