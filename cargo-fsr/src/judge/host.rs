//! The judge over two host processes: starts them, keeps them, replaces the one that a candidate broke.
//!
//! What is right is decided by the reference process alone. The order of the checks is in `validation`, times are in
//! `timing`, and the words for a prompt in `evidence`.

use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;

use fsr_protocol::{
    BufferRole, CaseId, CaseInfo, Description, HostError, MIXED_DISTRIBUTIONS, Role, SetId, files,
};
use rand::TryRngCore;
use rand::rngs::OsRng;

use super::description;
use super::device::{Device, Identity, Loaded, Shot, is_usable_after};
use super::evidence::{self, Place};
use super::findings::{self, Finding};
use super::lock::DeviceLock;
use super::options::{Extent, HostJudgeOptions};
use super::process::{HostProcess, HostProgram, RequestError};
use super::reference::Reference;
use super::session::Session;
use super::{Bench, Executable, Failure, FailureKind, Judge, JudgeError, Split, Timed, Verdict, lint};

/// Dumps in flight: one is compared while the next is written.
pub(super) const SLOTS: u64 = 3;
/// Room in the share that is wanted before the cases are known.
const FIRST_ROOM: u64 = 64 << 20;
/// Bytes a second that a launch's buffers are moved with at the very least, dumps included.
const SLOWEST_MOVE: u64 = 100 << 20;
/// Modules that stay loaded: a candidate between validation and timing, the incumbent, the baseline.
const MODULES: usize = 4;

/// Seed of one set of inputs. Secret while the set is in use; noted so that a run can be explained afterwards.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct SetSeed {
    /// Name of the case.
    pub case: String,
    /// The set.
    pub set: SetId,
    /// Its seed.
    pub seed: u64,
    /// Made for one validation only.
    pub fresh: bool,
    /// It is this other set, but for one element.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub like: Option<SetId>,
}

/// The sets of one case that a kernel is validated with.
#[derive(Clone, Debug, Default)]
pub(super) struct Sets {
    /// Made independently.
    pub(super) sets: Vec<SetId>,
    /// A set, and its copy with one element changed.
    pub(super) twins: Option<(SetId, SetId)>,
}

impl Sets {
    /// All of them.
    pub(super) fn all(&self) -> impl Iterator<Item = SetId> {
        self.sets.iter().copied().chain(self.twins.map(|(_, twin)| twin))
    }
}

/// One launch by two clocks, in nanoseconds.
#[derive(Clone, Copy, Debug)]
pub(super) struct Clocks {
    /// Between the device's events.
    pub(super) events: f64,
    /// Between the host's waits for them.
    pub(super) wall: f64,
}

/// Why a candidate's examination stopped.
#[derive(Debug)]
pub(super) enum Stop {
    /// It is not valid.
    Candidate(Failure),
    /// The device process failed, and not visibly because of the candidate: worth a second try in a fresh one.
    Device(JudgeError),
    /// Nothing more can be judged.
    Judge(JudgeError),
}

impl From<JudgeError> for Stop {
    fn from(error: JudgeError) -> Self {
        Self::Judge(error)
    }
}

/// A kernel's judge: the host target in two roles.
// The processes come first: they must be gone before their folders are.
#[derive(Debug)]
pub struct HostJudge {
    device: Option<Device>,
    reference: Option<Reference>,
    session: Option<Session>,
    pub(super) options: HostJudgeOptions,
    bench: Option<Bench>,
    /// Whose turn has to be awaited.
    identity: Option<Identity>,
    pool: Vec<Sets>,
    seeds: Vec<SetSeed>,
    /// Turns the distributions of the sets, so that nobody knows which set has which.
    turn: u64,
    sets: SetId,
    /// Device memory is short: only one case's inputs are kept there.
    lean: bool,
    /// Which cases it executes.
    executed: Vec<bool>,
    /// Some kernel was launched and ended: the launch code works.
    proven: bool,
    /// What the CPU device said of the last candidate.
    finding: Option<Finding>,
    /// Modules that are needed at once.
    pub(super) modules: usize,
    /// Bytes per nanosecond of a copy, by bytes moved.
    pub(super) bandwidths: BTreeMap<u64, f64>,
    pub(super) split: Split,
}

impl HostJudge {
    /// A judge that has not started anything yet.
    pub fn new(options: HostJudgeOptions) -> Self {
        Self {
            device: None,
            reference: None,
            session: None,
            options,
            bench: None,
            identity: None,
            pool: Vec::new(),
            seeds: Vec::new(),
            turn: 0,
            sets: 0,
            lean: false,
            executed: Vec::new(),
            proven: false,
            finding: None,
            modules: 0,
            bandwidths: BTreeMap::new(),
            split: Split::default(),
        }
    }

    /// Where the time of the last validation and the last timing went.
    pub fn split(&self) -> Split {
        self.split
    }

    fn start(&mut self) -> Result<Bench, JudgeError> {
        self.turn = secret()? % MIXED_DISTRIBUTIONS;

        // Cases are known only when a process runs, and their size decides where the process finds its files.
        let sizes = secret()?;
        let mut session = Session::create(&self.options.roots, FIRST_ROOM, sizes)?;
        let mut reference = self.start_reference(&session)?;
        let description = reference.describe()?;
        description::check(&description, self.options.kernel.as_deref())?;
        self.executed = description::executed(self.options.extent, &description.cases);
        let room = self.room(&description.cases);
        if !session.has_room(room) {
            drop(reference);
            session = Session::create(&self.options.roots, room, sizes)?;
            if !session.has_room(room) {
                (self.options.notice)(&format!(
                    "{} has less than the {} MiB free that the inputs and outputs of all cases may take",
                    session.share().display(),
                    room >> 20
                ));
            }
            reference = self.start_reference(&session)?;
        }
        self.session = Some(session);
        self.reference = Some(reference);

        // Opening may measure the device.
        let mut process = self.start_device()?;
        self.identity = Some(Identity::ask(&mut process, self.options.ordinal, self.options.deadlines)?);
        let turn = self.turn()?;
        let device = self.open_device(process, Some(&description))?.facts().clone();
        drop(turn);
        let bench = Bench { device, cases: description.cases };

        // One set of each case now, so that a fault of the spec shows before anyone is asked for a kernel; the others
        // while the first answers are awaited.
        let executed: Vec<(CaseId, String)> = (0..)
            .zip(&bench.cases)
            .filter(|(id, _)| self.executes(*id))
            .map(|(id, case)| (id, case.name.clone()))
            .collect();
        self.pool = vec![Sets::default(); bench.cases.len()];
        for (case, name) in &executed {
            let set = self.make_set(*case, name, false)?;
            self.pool[*case as usize].sets.push(set);
        }
        let firsts: Vec<SetId> = self.pool.iter().filter_map(|pool| pool.sets.first().copied()).collect();
        let tolerance = self.options.tolerance;
        let whole = self.options.extent == Extent::All;
        let (reference, session) = self.referee()?;
        reference.settle()?;
        if whole {
            lint::check(reference, session.share(), &bench.cases, &firsts, tolerance)?;
        }
        for (case, name) in executed.iter().map(|(case, name)| (*case, name)) {
            for _ in 1..self.options.pool {
                let set = self.make_set(case, name, false)?;
                self.pool[case as usize].sets.push(set);
            }
            let sets = &self.pool[case as usize].sets;
            let twins = self.make_twin(case, name, &sets.clone(), false)?;
            self.pool[case as usize].twins = twins;
        }
        Ok(bench)
    }

    fn start_reference(&self, session: &Session) -> Result<Reference, JudgeError> {
        let process = self.start_process(&self.options.reference, Role::Reference, session)?;
        Ok(Reference::new(process, self.options.deadlines))
    }

    fn start_process(
        &self,
        program: &HostProgram,
        role: Role,
        session: &Session,
    ) -> Result<HostProcess, JudgeError> {
        HostProcess::start(program, role, session, self.options.deadlines.start, &self.options.interrupt)
    }

    /// Bytes in the share at the worst moment: pool and fresh sets of all cases, and all dumps.
    fn room(&self, cases: &[CaseInfo]) -> u64 {
        // And a twin for each of the two.
        let sets = (self.options.pool + self.options.fresh + 2) as u64;
        let of_case = |case: &CaseInfo| {
            let all: u64 = case.buffers.iter().map(|buffer| buffer.bytes()).sum();
            let filled = case.buffers.iter().filter(|buffer| buffer.role != BufferRole::Output);
            sets * filled.map(|buffer| buffer.bytes()).sum::<u64>() + SLOTS * all
        };
        (0..).zip(cases).filter(|(id, _)| self.executes(*id)).map(|(_, case)| of_case(case)).sum()
    }

    /// Whether a case is executed at all.
    pub(super) fn executes(&self, case: CaseId) -> bool {
        self.executed.get(case as usize).copied().unwrap_or(false)
    }

    /// How many cases are executed, as far as that is known.
    pub fn extent(&self) -> usize {
        self.executed.iter().filter(|executed| **executed).count()
    }

    /// Executes a case no more.
    pub(super) fn leave_out(&mut self, name: &str) {
        let at = self.bench.as_ref().and_then(|bench| bench.cases.iter().position(|case| case.name == name));
        if let Some(executed) = at.and_then(|at| self.executed.get_mut(at)) {
            *executed = false;
        }
    }

    /// What the CPU device said of the last candidate that it was given.
    pub(super) fn finding(&self) -> Option<&Finding> {
        self.finding.as_ref()
    }

    /// A candidate's turn begins.
    pub(super) fn forget_finding(&mut self) {
        self.finding = None;
    }

    /// Device and cases; starts everything on the first call.
    pub(super) fn known(&mut self) -> Result<Bench, JudgeError> {
        if let Some(bench) = &self.bench {
            return Ok(bench.clone());
        }
        let bench = self.start().inspect_err(|_| self.stop_processes())?;
        self.bench = Some(bench.clone());
        Ok(bench)
    }

    fn stop_processes(&mut self) {
        self.device = None;
        self.reference = None;
        self.session = None;
    }

    /// Waits for this process's turn on the device.
    pub(super) fn turn(&self) -> Result<Option<DeviceLock>, JudgeError> {
        let HostJudgeOptions { locks, notice, interrupt, .. } = &self.options;
        match (locks, &self.identity) {
            (Some(folder), Some(identity)) if !identity.modelled => {
                DeviceLock::acquire(folder, &identity.uuid, notice, interrupt).map(Some)
            }
            _ => Ok(None),
        }
    }

    pub(super) fn referee(&mut self) -> Result<(&mut Reference, &Session), JudgeError> {
        match (&mut self.reference, &self.session) {
            (Some(reference), Some(session)) => Ok((reference, session)),
            _ => Err(JudgeError::Process("the reference process is not running".to_owned())),
        }
    }

    /// Names of the pool's sets of one case.
    pub(super) fn pool(&self) -> &[Sets] {
        &self.pool
    }

    /// Has a set made, from a seed that nobody can know.
    pub(super) fn make_set(&mut self, case: CaseId, name: &str, fresh: bool) -> Result<SetId, JudgeError> {
        // The remainder chooses among the distributions: neighbouring sets of a case shall differ in it.
        let earlier = self.seeds.iter().filter(|seed| seed.case == name).count() as u64;
        let distribution = (self.turn + u64::from(case) + earlier) % MIXED_DISTRIBUTIONS;
        let seed = (secret()? >> 8) * MIXED_DISTRIBUTIONS + distribution;
        let set = self.sets;
        self.referee()?.0.make_set(case, set, seed, None)?;
        self.sets += 1;
        self.seeds.push(SetSeed { case: name.to_owned(), set, seed, fresh, like: None });
        Ok(set)
    }

    /// Has a copy of one of the sets made, with one element changed that nobody can know.
    pub(super) fn make_twin(
        &mut self,
        case: CaseId,
        name: &str,
        sets: &[SetId],
        fresh: bool,
    ) -> Result<Option<(SetId, SetId)>, JudgeError> {
        let (which, seed) = (secret()?, secret()?);
        let Some(like) = sets.get(which as usize % sets.len().max(1)).copied() else { return Ok(None) };
        let set = self.sets;
        self.referee()?.0.make_set(case, set, seed, Some(like))?;
        self.sets += 1;
        self.seeds.push(SetSeed { case: name.to_owned(), set, seed, fresh, like: Some(like) });
        Ok(Some((like, set)))
    }

    /// Forgets a set in both processes.
    pub(super) fn drop_set(&mut self, case: CaseId, set: SetId) -> Result<(), JudgeError> {
        if let Some(device) = &mut self.device
            && device.drop_set(case, set).is_err()
        {
            self.device = None;
        }
        let files: Vec<_> = match (&self.bench, &self.session) {
            (Some(bench), Some(session)) => {
                let buffers = bench.cases.get(case as usize).map_or(0, |case| case.buffers.len());
                (0..buffers).map(|buffer| files::input(session.share(), case, set, buffer)).collect()
            }
            _ => Vec::new(),
        };
        let (reference, _) = self.referee()?;
        reference.drop_set(case, set)?;
        reference.settle()?;
        // Outputs have no such file.
        files.iter().for_each(|file| drop(fs::remove_file(file)));
        Ok(())
    }

    /// The device process; a new one where the last was lost.
    pub(super) fn device(&mut self) -> Result<&mut Device, JudgeError> {
        if self.device.is_none() {
            let process = self.start_device()?;
            self.open_device(process, None)?;
        }
        let gone = || JudgeError::Process("the device process is not running".to_owned());
        self.device.as_mut().ok_or_else(gone)
    }

    fn start_device(&self) -> Result<HostProcess, JudgeError> {
        let session = self.session.as_ref();
        let session = session.ok_or_else(|| JudgeError::Process("the judge has no session".to_owned()))?;
        let mut program = self.options.device.clone();
        if let Some(report) = self.report() {
            program.envs.push((findings::VARIABLE.into(), report.into()));
        }
        self.start_process(&program, Role::Device, session)
    }

    fn open_device(
        &mut self,
        process: HostProcess,
        description: Option<&Description>,
    ) -> Result<&mut Device, JudgeError> {
        let mut device = Device::open(process, self.options.ordinal, self.options.deadlines)?;
        let cases = device.describe()?.cases;
        let known = match (description, &self.bench) {
            (Some(description), _) => &description.cases,
            (None, Some(bench)) => &bench.cases,
            (None, None) => &cases,
        };
        if let Some(difference) = description::difference(known, &cases) {
            return Err(JudgeError::HostCode(format!(
                "the cases are not the same in every run: {difference}; they must not depend on time, chance or the \
                 device"
            )));
        }
        Ok(self.device.insert(device))
    }

    /// Does something with the device process. Past an error that it cannot survive, it is gone; a failure that cannot
    /// be the candidate's is a [`Stop::Device`].
    pub(super) fn on_device<T>(
        &mut self,
        does: impl FnOnce(&mut Device) -> Result<T, RequestError>,
        blame: impl FnOnce(&RequestError) -> Option<Failure>,
    ) -> Result<T, Stop> {
        let error = match does(self.device()?) {
            Ok(done) => return Ok(done),
            Err(error) => error,
        };
        if !is_usable_after(&error) {
            self.device = None;
        }
        if matches!(error, RequestError::Failed(HostError::OutOfMemory { .. })) && !self.lean {
            // The pool of several cases may be what filled it. In a second try, only one case's sets are resident.
            self.lean = true;
            return Err(Stop::Device(error.into_fault(Role::Device)));
        }
        if let Some(failure) = blame(&error) {
            return Err(Stop::Candidate(failure));
        }
        Err(match error.into_fault(Role::Device) {
            fault @ JudgeError::Process(_) => Stop::Device(fault),
            fault => Stop::Judge(fault),
        })
    }

    /// The file to which the CPU device writes what its launches came to. On another device it never comes to be.
    pub(super) fn report(&self) -> Option<PathBuf> {
        self.session.as_ref().map(|session| findings::file(session.runtime()))
    }

    /// Adds what the CPU device says of the launch that failed.
    fn explained(&mut self, stop: Stop, candidate: &Executable) -> Stop {
        let Stop::Candidate(failure) = stop else { return stop };
        let told = matches!(failure.kind, FailureKind::Launch | FailureKind::Execution);
        self.finding = self.report().filter(|_| told).and_then(|report| findings::last(&report));
        let Some(finding) = &self.finding else { return Stop::Candidate(failure) };
        let table = self.options.lines.as_ref().and_then(|lines| lines.lines(&candidate.ptx));
        Stop::Candidate(evidence::of_finding(failure, finding.words(table.as_ref())))
    }

    /// Loads a candidate, or finds it loaded.
    pub(super) fn load(&mut self, candidate: &Executable) -> Result<Loaded, Stop> {
        if let Some(file) = self.report() {
            findings::forget(&file)
                .map_err(|error| Stop::Judge(JudgeError::Process(format!("{}: {error}", file.display()))))?;
        }
        let keep = self.modules.max(MODULES);
        let loaded =
            self.on_device(|device| device.load(candidate, keep), |error| evidence::of_request(error, None))?;
        let refused = |name: &&String| !self.options.state.contains(name);
        let refused: Vec<String> = loaded.writable_globals.iter().filter(refused).cloned().collect();
        match refused.as_slice() {
            [] => Ok(loaded),
            names => Err(Stop::Candidate(evidence::of_globals(names))),
        }
    }

    /// Places a set in device memory.
    pub(super) fn upload(&mut self, case: CaseId, set: SetId) -> Result<(), Stop> {
        let lean = self.lean;
        let upload = |device: &mut Device| {
            if lean {
                device.keep_only(case)?;
            }
            device.upload(case, set)
        };
        self.on_device(upload, |_| None)
    }

    /// Tries twice: the second time in a fresh device process.
    pub(super) fn twice<T>(
        &mut self,
        mut tries: impl FnMut(&mut Self) -> Result<T, Stop>,
    ) -> Result<Result<T, Failure>, JudgeError> {
        for last in [false, true] {
            match tries(self) {
                Ok(done) => return Ok(Ok(done)),
                Err(Stop::Candidate(failure)) => return Ok(Err(failure)),
                Err(Stop::Judge(error)) => return Err(error),
                Err(Stop::Device(error)) if last => return Err(error),
                Err(Stop::Device(_)) => self.device = None,
            }
        }
        Err(JudgeError::Process("the device process failed twice".to_owned()))
    }

    /// How long one launch request may take: moving the buffers is no fault of the candidate.
    pub(super) fn launch_deadline(&self, case: &CaseInfo) -> std::time::Duration {
        let bytes: u64 = case.buffers.iter().map(|buffer| buffer.bytes()).sum();
        self.options.deadlines.launch + std::time::Duration::from_secs(bytes / SLOWEST_MOVE)
    }

    /// One launch; gives the nanoseconds between the events, and those of the host's clock. Writes outside of buffers are the candidate's failure.
    pub(super) fn launch(
        &mut self,
        candidate: &Executable,
        id: CaseId,
        shot: Shot,
        place: Place<'_>,
    ) -> Result<Clocks, Stop> {
        let deadline = self.launch_deadline(place.case);
        let module = self.load(candidate)?.module;
        self.upload(id, shot.set)?;
        let proven = self.proven;
        let launched = self.on_device(
            |device| device.launch(module, id, shot, deadline),
            |error| match error {
                // Launch code that unwraps panics with a candidate that cannot be launched. Where it has worked
                // before, that is no fault of its own.
                RequestError::Failed(HostError::HostCode { message }) if proven => {
                    let message = format!("the launch code {message}");
                    evidence::of_request(&RequestError::Failed(HostError::Launch { message }), Some(place))
                }
                error => evidence::of_request(error, Some(place)),
            },
        );
        let launched = launched.map_err(|stop| self.explained(stop, candidate))?;
        self.proven = true;
        match launched.redzones.as_slice() {
            [] => Ok(Clocks { events: launched.nanos, wall: launched.wall_nanos }),
            hits => Err(Stop::Candidate(evidence::of_redzones(hits, place))),
        }
    }
}

impl Judge for HostJudge {
    fn bench(&mut self) -> Result<Bench, JudgeError> {
        self.known()
    }

    fn validate(&mut self, candidate: &Executable) -> Result<Verdict, JudgeError> {
        self.validate_on_pool(candidate)
    }

    fn validate_fresh(&mut self, candidate: &Executable) -> Result<Verdict, JudgeError> {
        self.validate_on_fresh(candidate)
    }

    fn renew(&mut self) {
        self.device = None;
    }

    fn seeds(&self) -> &[SetSeed] {
        &self.seeds
    }

    fn time(&mut self, contenders: &[&Executable]) -> Result<Timed, JudgeError> {
        self.time_all(contenders)
    }
}

/// A number that nobody can know.
fn secret() -> Result<u64, JudgeError> {
    let mut random = [0; 8];
    OsRng
        .try_fill_bytes(&mut random)
        .map_err(|error| JudgeError::Process(format!("the system gives no random numbers: {error}")))?;
    Ok(u64::from_ne_bytes(random))
}
