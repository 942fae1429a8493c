//! The effects of a search, each looked up in the ledger before it is made.

use std::sync::atomic::{AtomicBool, Ordering};

use fsr_protocol::{CaseInfo, Tunables};

use super::ledger::{Ledger, diverged};
use super::{Event, Events, SearchError, Stopped, TemplateError};
use crate::brief::Brief;
use crate::budget::Purse;
use crate::compile::{CompileRequest, Compiled, Compiler, CompilerError, Ptx};
use crate::journal::{Contender, JournalError, Purpose, Record, Step, digest};
use crate::judge::{Bench, Executable, Judge, JudgeError, Timed, Timing, Verdict};
use crate::model::Origin;

/// Why the course of a search breaks off.
#[derive(Debug)]
pub(super) enum Halt {
    /// An ordinary end, for now or for good.
    Stop(Stopped),
    /// A fault.
    Fault(SearchError),
}

impl From<SearchError> for Halt {
    fn from(error: SearchError) -> Self {
        match error {
            SearchError::Judge(JudgeError::Interrupted) => Self::Stop(Stopped::Interrupted),
            error => Self::Fault(error),
        }
    }
}

impl From<JournalError> for Halt {
    fn from(error: JournalError) -> Self {
        Self::Fault(error.into())
    }
}

impl From<CompilerError> for Halt {
    fn from(error: CompilerError) -> Self {
        Self::Fault(error.into())
    }
}

impl From<JudgeError> for Halt {
    fn from(error: JudgeError) -> Self {
        SearchError::from(error).into()
    }
}

impl From<TemplateError> for Halt {
    fn from(error: TemplateError) -> Self {
        Self::Fault(error.into())
    }
}

/// What may be used from several threads.
pub(super) struct Effects<'a> {
    pub ledger: Ledger<'a>,
    pub brief: &'a Brief,
    pub compiler: &'a dyn Compiler,
    pub purse: &'a Purse,
    pub events: &'a dyn Events,
    pub interrupt: &'a AtomicBool,
    /// The time of the budget is for rounds alone: what comes before is needed by all, and for what comes after time was
    /// kept.
    pub in_rounds: AtomicBool,
}

impl Effects<'_> {
    /// To be asked before every effect that is not in the ledger.
    pub fn may_go_on(&self) -> Result<(), Halt> {
        if self.interrupt.load(Ordering::Relaxed) {
            return Err(Halt::Stop(Stopped::Interrupted));
        }
        match self.purse.is_late() {
            Some(what) if self.in_rounds.load(Ordering::Relaxed) => Err(Halt::Stop(Stopped::Budget { what })),
            _ => Ok(()),
        }
    }

    /// Compiles a source for some values.
    pub fn compile(&self, origin: Origin, source: &str, defines: &Tunables) -> Result<Compiled, Halt> {
        let request = self.brief.request(source, defines);
        let input = request_digest(&request);
        let step = Step::Compile(origin, defines.clone());
        let (compiled, known) = match self.ledger.find(&step)? {
            Some(Record::Compiled { input: then, compiled, .. }) if then == input => (compiled, true),
            Some(_) => return Err(diverged(&step).into()),
            None => {
                self.may_go_on()?;
                let compiled = self.compiler.compile(&request)?;
                self.ledger.add(Record::Compiled {
                    origin,
                    defines: defines.clone(),
                    input,
                    compiled: compiled.clone(),
                })?;
                (compiled, false)
            }
        };
        let failure = match &compiled {
            Compiled::Failed(failure) => Some(failure),
            Compiled::Ptx(_) => None,
        };
        self.events.event(Event::Compiled { origin, defines, failure, known });
        Ok(compiled)
    }

    /// What the judge runs.
    pub fn executable(&self, ptx: &Ptx, defines: &Tunables) -> Executable {
        Executable { ptx: ptx.text.clone(), entries: self.brief.entries.clone(), tunables: defines.clone() }
    }

    /// Writes a note down and says it; once, however often the course comes by.
    pub fn note(&self, about: Option<Origin>, text: String) -> Result<(), JournalError> {
        let fresh = self.ledger.known(&Step::Note(about, text.clone())).is_none();
        if fresh {
            self.ledger.add(Record::Note { about, text: text.clone() })?;
            self.events.event(Event::Note { about, text: &text });
        }
        Ok(())
    }
}

fn request_digest(request: &CompileRequest) -> String {
    let mut parts = vec![request.source.clone(), request.arch.to_string()];
    parts.extend(request.entries.iter().cloned());
    parts.extend(request.defines.iter().map(|(name, value)| format!("{name}={value}")));
    for (name, text) in &request.headers {
        parts.push(name.clone());
        parts.push(text.clone());
    }
    digest(parts.iter().map(String::as_str))
}

/// The judge, started only when a step is really needed of it.
pub(super) struct Referee<'a> {
    judge: &'a mut dyn Judge,
    bench: Bench,
    started: bool,
}

/// Someone to be timed.
#[derive(Clone, Copy, Debug)]
pub(super) struct Rival<'a> {
    pub origin: Origin,
    pub executable: &'a Executable,
}

impl<'a> Referee<'a> {
    /// Device and cases, from the ledger or from the judge.
    pub fn new(judge: &'a mut dyn Judge, effects: &Effects<'_>) -> Result<Self, Halt> {
        let step = Step::Bench;
        let (bench, started) = match effects.ledger.find(&step)? {
            Some(Record::Bench { bench }) => (bench, false),
            Some(_) => return Err(diverged(&step).into()),
            None => {
                effects.may_go_on()?;
                let bench = judge.bench()?;
                effects.ledger.add(Record::Bench { bench: bench.clone() })?;
                (bench, true)
            }
        };
        if !bench.cases.iter().any(|case| case.timed) {
            return Err(SearchError::NoTimedCase.into());
        }
        effects.events.event(Event::Bench { bench: &bench });
        Ok(Self { judge, bench, started })
    }

    /// Device and cases.
    pub fn bench(&self) -> &Bench {
        &self.bench
    }

    /// The judge, on the device that the run began with.
    fn judge(&mut self) -> Result<&mut dyn Judge, Halt> {
        if !self.started {
            let now = self.judge.bench()?;
            let name = |bench: &Bench| {
                let device = &bench.device;
                let (major, minor) = device.compute_capability;
                let modelled = if device.modelled { ", modelled" } else { "" };
                format!("{} ({major}.{minor}, driver {}{modelled})", device.name, device.driver)
            };
            if name(&now) != name(&self.bench) {
                let (then, now) = (name(&self.bench), name(&now));
                return Err(SearchError::DeviceChanged { then, now }.into());
            }
            // Sizes drawn for a run are others in every run.
            let declared = |bench: &Bench| -> Vec<CaseInfo> {
                bench.cases.iter().filter(|case| !case.drawn).cloned().collect()
            };
            if declared(&now) != declared(&self.bench) {
                let fault = "its cases are not those that the run began with".to_owned();
                return Err(JudgeError::HostCode(fault).into());
            }
            self.started = true;
        }
        Ok(self.judge)
    }

    /// Validates: a trial on the judge's pool of inputs, anything else on fresh ones.
    pub fn validate(
        &mut self,
        effects: &Effects<'_>,
        purpose: Purpose,
        rival: Rival<'_>,
    ) -> Result<Verdict, Halt> {
        let Rival { origin, executable } = rival;
        let defines = &executable.tunables;
        let input = executable.digest();
        let step = Step::Validate(purpose, origin, defines.clone());
        let (verdict, known) = match effects.ledger.find(&step)? {
            Some(Record::Verdict { input: then, verdict, .. }) if then == input => (verdict, true),
            Some(_) => return Err(diverged(&step).into()),
            None => {
                effects.may_go_on()?;
                let judge = self.judge()?;
                let verdict = match purpose {
                    Purpose::Trial if matches!(origin, Origin::Baseline | Origin::Previous(_)) => {
                        judge.validate_own(executable)?
                    }
                    Purpose::Trial => judge.validate(executable)?,
                    Purpose::Duel | Purpose::Final => judge.validate_fresh(executable)?,
                };
                let defines = defines.clone();
                effects.ledger.add(Record::Verdict {
                    origin,
                    purpose,
                    defines,
                    input,
                    verdict: verdict.clone(),
                })?;
                (verdict, false)
            }
        };
        let failure = match &verdict {
            Verdict::Invalid(failure) => Some(failure),
            Verdict::Valid(_) => None,
        };
        effects.events.event(Event::Validated { origin, defines, failure, known });
        Ok(verdict)
    }

    /// Times the first beside the others.
    pub fn time(
        &mut self,
        effects: &Effects<'_>,
        purpose: Purpose,
        rivals: &[Rival<'_>],
    ) -> Result<Timed, Halt> {
        let Some(&Rival { origin, executable }) = rivals.first() else {
            return Ok(Timed::Times(Vec::new()));
        };
        let defines = &executable.tunables;
        let digests: Vec<String> = rivals.iter().map(|rival| rival.executable.digest()).collect();
        let input = digest(digests.iter().map(String::as_str));
        let step = Step::Time(purpose, origin, defines.clone());
        let (timed, known) = match effects.ledger.find(&step)? {
            Some(Record::Timed { input: then, timed, .. }) if then == input => (timed, true),
            Some(_) => return Err(diverged(&step).into()),
            None => {
                effects.may_go_on()?;
                let executables: Vec<&Executable> = rivals.iter().map(|rival| rival.executable).collect();
                let timed = self.judge()?.time(&executables)?;
                let contenders = rivals
                    .iter()
                    .map(|rival| Contender {
                        origin: rival.origin,
                        defines: rival.executable.tunables.clone(),
                    })
                    .collect();
                let (defines, timed_too) = (defines.clone(), timed.clone());
                effects.ledger.add(Record::Timed {
                    origin,
                    purpose,
                    defines,
                    input,
                    contenders,
                    timed: timed_too,
                })?;
                (timed, false)
            }
        };
        match &timed {
            Timed::Times(times) if times.len() != rivals.len() => {
                let what = format!("the judge timed {} contenders of {}", times.len(), rivals.len());
                return Err(JudgeError::Process(what).into());
            }
            Timed::Times(times) => {
                let baseline = rivals.iter().position(|rival| rival.origin == Origin::Baseline);
                let baseline: Option<&Timing> =
                    baseline.filter(|&index| index > 0).and_then(|index| times.get(index));
                if let Some(timing) = times.first() {
                    effects.events.event(Event::Timed { origin, defines, timing, baseline, purpose, known });
                }
            }
            Timed::Invalid(failure) => {
                effects.events.event(Event::Validated { origin, defines, failure: Some(failure), known });
            }
        }
        Ok(timed)
    }
}
