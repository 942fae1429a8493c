//! The device process: loads candidates, launches them and dumps what they left. Its word about results is not taken.
//!
//! After a CUDA error, a deadline or an exit the process is dead or useless; the owner drops it and starts another. What
//! it holds (modules, uploaded sets) goes with it.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use fsr_protocol::{
    CaseId, Description, DeviceFacts, Dump, EntryResources, HostError, ModuleId, RedzoneHit, Reply, Request,
    Role, SetId,
};

use super::process::{HostProcess, RequestError};
use super::{Deadlines, Executable, JudgeError};

/// A loaded candidate.
#[derive(Clone, Debug)]
pub struct Loaded {
    /// Name of the module in the process.
    pub module: ModuleId,
    /// What its kernels need.
    pub resources: Vec<EntryResources>,
    /// Device globals that a kernel could keep state in.
    pub writable_globals: Vec<String>,
}

/// What one launch is made with.
#[derive(Clone, Copy, Debug)]
pub struct Shot {
    /// The inputs.
    pub set: SetId,
    /// Whether the L2 is flushed in between.
    pub flush: bool,
    /// Whether the buffers lie elsewhere than usual.
    pub moved: bool,
    /// What is kept of it.
    pub dump: Option<Dump>,
}

/// What one launch showed.
#[derive(Clone, Debug)]
pub struct Launched {
    /// Time between the events, in nanoseconds.
    pub nanos: f64,
    /// Time that the host saw pass meanwhile, in nanoseconds.
    pub wall_nanos: f64,
    /// Damaged redzones.
    pub redzones: Vec<RedzoneHit>,
}

/// Which device a process would open.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Identity {
    /// As the driver gives it: 32 hexadecimal digits.
    pub uuid: String,
    /// The CPU device, which needs no turn.
    pub modelled: bool,
}

impl Identity {
    /// Asks a started process, which touches no device for that.
    pub fn ask(process: &mut HostProcess, ordinal: u32, deadlines: Deadlines) -> Result<Self, JudgeError> {
        match process.request(&Request::Identify { ordinal }, deadlines.host).map_err(fault)? {
            // It becomes the name of a file.
            Reply::Identified { uuid, modelled } if uuid.bytes().all(|byte| byte.is_ascii_hexdigit()) => {
                Ok(Self { uuid, modelled })
            }
            other => Err(fault(process.unexpected("identify", &other))),
        }
    }
}

/// The running device process.
#[derive(Debug)]
pub struct Device {
    process: HostProcess,
    deadlines: Deadlines,
    facts: DeviceFacts,
    uploaded: BTreeMap<CaseId, BTreeSet<SetId>>,
    /// Oldest first.
    modules: Vec<(Executable, Loaded)>,
    loads: ModuleId,
}

impl Device {
    /// Opens the GPU in a started process.
    pub fn open(mut process: HostProcess, ordinal: u32, deadlines: Deadlines) -> Result<Self, JudgeError> {
        match process.request(&Request::Open { ordinal }, deadlines.host).map_err(fault)? {
            Reply::Opened(facts) => Ok(Self {
                process,
                deadlines,
                facts,
                uploaded: BTreeMap::new(),
                modules: Vec::new(),
                loads: 0,
            }),
            other => Err(fault(process.unexpected("open", &other))),
        }
    }

    /// What the device is.
    pub fn facts(&self) -> &DeviceFacts {
        &self.facts
    }

    /// The cases as this process sees them.
    pub fn describe(&mut self) -> Result<Description, JudgeError> {
        match self.process.request(&Request::Describe, self.deadlines.host).map_err(fault)? {
            Reply::Description(description) => Ok(description),
            other => Err(fault(self.process.unexpected("describe", &other))),
        }
    }

    /// Loads a candidate, or finds it loaded; keeps at most `keep` modules.
    pub fn load(&mut self, executable: &Executable, keep: usize) -> Result<Loaded, RequestError> {
        if let Some(at) = self.modules.iter().position(|(known, _)| known == executable) {
            let known = self.modules.remove(at);
            let loaded = known.1.clone();
            self.modules.push(known);
            return Ok(loaded);
        }
        while self.modules.len() >= keep.max(1) {
            let (_, oldest) = self.modules.remove(0);
            self.done(&Request::Unload { module: oldest.module }, "unload")?;
        }
        let module = self.loads;
        self.loads += 1;
        let request = Request::Load {
            module,
            ptx: executable.ptx.clone(),
            entries: executable.entries.clone(),
            tunables: executable.tunables.clone(),
        };
        match self.process.request(&request, self.deadlines.load)? {
            Reply::Loaded { entries, writable_globals } => {
                let loaded = Loaded { module, resources: entries, writable_globals };
                self.modules.push((executable.clone(), loaded.clone()));
                Ok(loaded)
            }
            other => Err(self.process.unexpected("load", &other)),
        }
    }

    /// Places a set in device memory, unless it is there.
    pub fn upload(&mut self, case: CaseId, set: SetId) -> Result<(), RequestError> {
        if self.uploaded.get(&case).is_some_and(|sets| sets.contains(&set)) {
            return Ok(());
        }
        self.done(&Request::Upload { case, set }, "upload")?;
        self.uploaded.entry(case).or_default().insert(set);
        Ok(())
    }

    /// Frees a set.
    pub fn drop_set(&mut self, case: CaseId, set: SetId) -> Result<(), RequestError> {
        let uploaded = self.uploaded.get_mut(&case).is_some_and(|sets| sets.remove(&set));
        if uploaded { self.done(&Request::DropSet { case, set }, "drop-set") } else { Ok(()) }
    }

    /// Frees the sets of all cases but one, where memory is short.
    pub fn keep_only(&mut self, case: CaseId) -> Result<(), RequestError> {
        let others: Vec<(CaseId, SetId)> = self
            .uploaded
            .iter()
            .filter(|(other, _)| **other != case)
            .flat_map(|(other, sets)| sets.iter().map(|set| (*other, *set)))
            .collect();
        others.into_iter().try_for_each(|(case, set)| self.drop_set(case, set))
    }

    /// Launches once and waits.
    pub fn launch(
        &mut self,
        module: ModuleId,
        case: CaseId,
        Shot { set, flush, moved, dump }: Shot,
        deadline: Duration,
    ) -> Result<Launched, RequestError> {
        let request = Request::Launch { module, case, set, flush, moved, dump };
        match self.process.request(&request, deadline)? {
            Reply::Launched { nanos, wall_nanos, redzones } => Ok(Launched { nanos, wall_nanos, redzones }),
            other => Err(self.process.unexpected("launch", &other)),
        }
    }

    /// Times copies that move `bytes` in all, in nanoseconds.
    pub fn calibrate(&mut self, bytes: u64, samples: u32) -> Result<Vec<f64>, RequestError> {
        match self.process.request(&Request::Calibrate { bytes, samples }, self.deadlines.host)? {
            Reply::Calibrated { nanos } => Ok(nanos),
            other => Err(self.process.unexpected("calibrate", &other)),
        }
    }

    fn done(&mut self, request: &Request, verb: &'static str) -> Result<(), RequestError> {
        match self.process.request(request, self.deadlines.host)? {
            Reply::Done => Ok(()),
            other => Err(self.process.unexpected(verb, &other)),
        }
    }
}

/// Whether the process can go on after this.
pub fn is_usable_after(error: &RequestError) -> bool {
    match error {
        RequestError::Failed(error) => match error {
            HostError::Load { .. } | HostError::NoEntry { .. } | HostError::Launch { .. } => true,
            HostError::NoDevice { .. }
            | HostError::Execution { .. }
            | HostError::OutOfMemory { .. }
            | HostError::HostCode { .. }
            | HostError::Protocol { .. }
            | HostError::Io { .. } => false,
        },
        RequestError::TimedOut { .. }
        | RequestError::Ended { .. }
        | RequestError::Garbled { .. }
        | RequestError::Interrupted => false,
    }
}

fn fault(error: RequestError) -> JudgeError {
    error.into_fault(Role::Device)
}
