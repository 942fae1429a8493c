//! The device role: opens the GPU, holds sets in its memory, loads candidates and launches them between checks.
//!
//! Owns everything on the device. Its word about results is never taken: it dumps buffers, and the reference process
//! compares. After an error that a kernel caused the process is of no more use, and `cargo fsr` replaces it.

pub(crate) mod buffers;
mod dump;
mod globals;
mod timing;

use std::collections::hash_map::Entry;
use std::collections::{BTreeMap, HashMap};
use std::path::PathBuf;
use std::time::Instant;

use fsr_protocol::{
    BufferInfo, CaseId, DeviceFacts, Dump, EntryResources, HostError, ModuleId, RedzoneHit, Reply, Request,
    SetId, Tunables, files,
};

use crate::fault::{guarded, io};
use crate::gpu::Gpu;
use crate::program::Program;
use crate::raw::{self, Attribute, Context, CudaError, DeviceMemory, Function, Mapped, Module, Resource};
use buffers::Workspace;
use dump::Dumps;
use timing::Timing;

/// The device half of a host process.
pub(crate) struct Device<'p> {
    program: &'p Program,
    share: PathBuf,
    open: Option<Opened<'p>>,
}

/// What exists once the GPU is open. Fields drop in this order: memory before the context.
struct Opened<'p> {
    program: &'p Program,
    share: PathBuf,
    modules: HashMap<ModuleId, Loaded>,
    sets: HashMap<(CaseId, SetId), Set>,
    workspaces: HashMap<CaseId, Workspace>,
    dumps: Dumps,
    timing: Timing,
    context: Context,
    /// The device checks every access itself.
    checked: bool,
}

/// A candidate.
struct Loaded {
    // Functions are dropped before the module that they belong to.
    functions: BTreeMap<String, Function>,
    tunables: Tunables,
    _module: Module,
}

/// A set's inputs, out of reach of any kernel.
struct Set {
    /// One a buffer; `None` for outputs and scalars.
    pristine: Vec<Option<DeviceMemory>>,
    /// One a buffer; `None` for all but scalars.
    scalars: Vec<Option<Vec<u8>>>,
}

/// What one launch showed.
pub(crate) struct Launched {
    pub(crate) nanos: f64,
    pub(crate) wall_nanos: f64,
    pub(crate) redzones: Vec<RedzoneHit>,
}

impl<'p> Device<'p> {
    pub(crate) fn new(program: &'p Program, share: PathBuf) -> Self {
        Self { program, share, open: None }
    }

    /// Answers one request. A panic, be it in the user's code or in a binding that misses a driver function, is an
    /// error like any other.
    pub(crate) fn answer(&mut self, request: Request) -> Result<Reply, HostError> {
        guarded(|| self.respond(request))?
    }

    fn respond(&mut self, request: Request) -> Result<Reply, HostError> {
        match request {
            Request::Describe => self.program.description().map(Reply::Description),
            Request::Identify { ordinal } => identify(ordinal),
            Request::Open { ordinal } => self.open(ordinal).map(Reply::Opened),
            Request::Exit => Ok(Reply::Done),
            Request::Load { module, ptx, entries, tunables } => {
                self.opened()?.load(module, &ptx, &entries, tunables)
            }
            Request::Unload { module } => {
                self.opened()?.modules.remove(&module);
                Ok(Reply::Done)
            }
            Request::Upload { case, set } => self.opened()?.upload(case, set).map(|()| Reply::Done),
            Request::Launch { module, case, set, flush, moved, dump } => {
                let Launched { nanos, wall_nanos, redzones } =
                    self.opened()?.launch(module, case, set, flush, moved, dump)?;
                Ok(Reply::Launched { nanos, wall_nanos, redzones })
            }
            Request::Calibrate { bytes, samples } => {
                let opened = self.opened()?;
                let nanos = opened.timing.copies(&opened.context, bytes, samples).map_err(harness)?;
                Ok(Reply::Calibrated { nanos })
            }
            Request::DropSet { case, set } => {
                let opened = self.opened()?;
                opened.sets.remove(&(case, set));
                // Where memory is short, the judge keeps one case at a time.
                if !opened.sets.keys().any(|(other, _)| *other == case) {
                    opened.workspaces.remove(&case);
                }
                Ok(Reply::Done)
            }
            other => Err(protocol(format!("not for the device role: {other:?}"))),
        }
    }

    pub(crate) fn open(&mut self, ordinal: u32) -> Result<DeviceFacts, HostError> {
        if self.open.is_some() {
            return Err(protocol("the device is open already"));
        }
        let context =
            Context::open(ordinal).map_err(|error| HostError::NoDevice { message: error.to_string() })?;
        let mut facts = facts(&context).map_err(harness)?;
        let mut timing = Timing::new(&context, &facts).map_err(harness)?;
        facts.copy_bandwidth = timing.bandwidth(&context, &facts).map_err(harness)?;
        self.open = Some(Opened {
            program: self.program,
            share: self.share.clone(),
            modules: HashMap::new(),
            sets: HashMap::new(),
            workspaces: HashMap::new(),
            dumps: Dumps::default(),
            timing,
            context,
            checked: facts.modelled,
        });
        Ok(facts)
    }

    fn opened(&mut self) -> Result<&mut Opened<'p>, HostError> {
        self.open.as_mut().ok_or_else(|| protocol("the device is not open"))
    }
}

impl Opened<'_> {
    fn load(
        &mut self,
        id: ModuleId,
        ptx: &str,
        entries: &[String],
        tunables: Tunables,
    ) -> Result<Reply, HostError> {
        if self.modules.contains_key(&id) {
            return Err(protocol(format!("module {id} is loaded already")));
        }
        let module = self.context.load(ptx).map_err(|message| HostError::Load { message })?;
        let mut functions = BTreeMap::new();
        let mut resources = Vec::new();
        for entry in entries {
            let found =
                module.function(entry).map_err(|error| HostError::Load { message: error.to_string() })?;
            let function = found.ok_or_else(|| HostError::NoEntry { entry: entry.clone() })?;
            resources.push(resources_of(entry, &function).map_err(harness)?);
            functions.insert(entry.clone(), function);
        }
        self.modules.insert(id, Loaded { functions, tunables, _module: module });
        Ok(Reply::Loaded { entries: resources, writable_globals: globals::writable_globals(ptx) })
    }

    fn upload(&mut self, id: CaseId, set: SetId) -> Result<(), HostError> {
        let case = self.program.case(id)?;
        if self.sets.contains_key(&(id, set)) {
            return Err(protocol(format!("set {set} of case {id} is uploaded already")));
        }
        let mut made = Set { pristine: Vec::new(), scalars: Vec::new() };
        for (buffer, info) in case.info.buffers.iter().enumerate() {
            let (mut pristine, mut scalar) = (None, None);
            if info.role != fsr_protocol::BufferRole::Output {
                let path = files::input(&self.share, id, set, buffer);
                let file = Mapped::open(&path, info.bytes()).map_err(io)?;
                if info.is_scalar() {
                    scalar = Some(file.bytes().to_vec());
                } else if !info.is_empty() {
                    let memory = self.context.allocate(file.bytes().len()).map_err(harness)?;
                    self.context.upload(file.bytes(), &memory).map_err(harness)?;
                    pristine = Some(memory);
                }
            }
            made.pristine.push(pristine);
            made.scalars.push(scalar);
        }
        self.sets.insert((id, set), made);
        Ok(())
    }

    fn launch(
        &mut self,
        module: ModuleId,
        id: CaseId,
        set: SetId,
        flush: bool,
        moved: bool,
        dump: Option<Dump>,
    ) -> Result<Launched, HostError> {
        let case = self.program.case(id)?;
        let loaded =
            self.modules.get(&module).ok_or_else(|| protocol(format!("there is no module {module}")))?;
        let set = self.sets.get(&(id, set)).ok_or_else(|| protocol(format!("set {set} is not uploaded")))?;
        let infos: &[BufferInfo] = &case.info.buffers;
        let context = &self.context;
        // The usual buffers stay in place meanwhile, so that these cannot get their addresses. Where memory is short,
        // the usual ones have to do.
        let allocate = || Workspace::allocate(context, infos, self.checked);
        let mut elsewhere = moved.then(allocate).and_then(Result::ok);
        let workspace = match (&mut elsewhere, self.workspaces.entry(id)) {
            (Some(elsewhere), _) => elsewhere,
            (None, Entry::Occupied(workspace)) => workspace.into_mut(),
            (None, Entry::Vacant(place)) => place.insert(allocate().map_err(harness)?),
        };
        workspace.prepare(context, infos, &set.pristine).map_err(harness)?;
        if flush {
            self.timing.flush(context).map_err(harness)?;
        }

        context.record(&self.timing.start).map_err(harness)?;
        let launched = {
            let gpu = Gpu {
                context,
                functions: &loaded.functions,
                tunables: &loaded.tunables,
                buffers: &workspace.buffers,
                scalars: &set.scalars,
                #[cfg(feature = "cudarc")]
                lender: crate::raw::Lender::default(),
            };
            guarded(|| (case.launch)(&gpu))?
        };
        if let Err(error) = launched {
            let message = error.into_message();
            // A refused launch leaves the device usable, and everything enqueued before it ends well.
            context.synchronize().map_err(execution)?;
            return Err(HostError::Launch { message });
        }
        context.record(&self.timing.end).map_err(execution)?;
        self.timing.start.wait().map_err(execution)?;
        let started = Instant::now();
        self.timing.end.wait().map_err(execution)?;
        let wall_nanos = started.elapsed().as_secs_f64() * 1e9;
        let nanos = self.timing.start.nanos_until(&self.timing.end).map_err(execution)?;

        context.synchronize_all().map_err(execution)?;
        let redzones = workspace.damage(context, infos).map_err(execution)?;
        if let Some(dump) = dump {
            self.dumps.write(context, &self.share, dump, id, infos, &workspace.buffers)?;
        }
        Ok(Launched { nanos, wall_nanos, redzones })
    }
}

fn identify(ordinal: u32) -> Result<Reply, HostError> {
    let (name, uuid) =
        raw::identify(ordinal).map_err(|error| HostError::NoDevice { message: error.to_string() })?;
    let uuid = uuid.iter().map(|byte| format!("{byte:02x}")).collect();
    Ok(Reply::Identified { uuid, modelled: is_modelled(&name) })
}

/// Every profile of the CPU device, fsr-sim, is named so.
fn is_modelled(name: &str) -> bool {
    name.ends_with("(simulated)")
}

fn facts(context: &Context) -> Result<DeviceFacts, CudaError> {
    let attribute = |attribute| context.attribute(attribute);
    let name = context.name()?;
    Ok(DeviceFacts {
        modelled: is_modelled(&name),
        name,
        compute_capability: (
            attribute(Attribute::CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR)?,
            attribute(Attribute::CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR)?,
        ),
        driver: context.driver_version()?,
        multiprocessors: attribute(Attribute::CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT)?,
        memory_bytes: context.memory_bytes()?,
        l2_bytes: attribute(Attribute::CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE)?.into(),
        shared_per_multiprocessor: attribute(
            Attribute::CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR,
        )?,
        shared_per_block_optin: attribute(Attribute::CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN)?,
        registers_per_multiprocessor: attribute(
            Attribute::CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_MULTIPROCESSOR,
        )?,
        max_threads_per_block: attribute(Attribute::CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK)?,
        max_threads_per_multiprocessor: attribute(
            Attribute::CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR,
        )?,
        clock_khz: attribute(Attribute::CU_DEVICE_ATTRIBUTE_CLOCK_RATE)?,
        memory_clock_khz: attribute(Attribute::CU_DEVICE_ATTRIBUTE_MEMORY_CLOCK_RATE)?,
        bus_bits: attribute(Attribute::CU_DEVICE_ATTRIBUTE_GLOBAL_MEMORY_BUS_WIDTH)?,
        copy_bandwidth: 0.0,
    })
}

fn resources_of(entry: &str, function: &Function) -> Result<EntryResources, CudaError> {
    Ok(EntryResources {
        entry: entry.to_owned(),
        registers: function.resource(Resource::Registers)?,
        local_bytes: function.resource(Resource::LocalBytes)?,
        shared_bytes: function.resource(Resource::SharedBytes)?,
        max_threads: function.resource(Resource::MaxThreads)?,
    })
}

/// An error of the harness's own calls, before a kernel was involved.
fn harness(error: CudaError) -> HostError {
    match error.is_out_of_memory() {
        true => HostError::OutOfMemory { message: error.to_string() },
        false => HostError::Execution { message: error.to_string() },
    }
}

/// An error that comes out after a launch.
fn execution(error: CudaError) -> HostError {
    HostError::Execution { message: error.to_string() }
}

fn protocol(message: impl Into<String>) -> HostError {
    HostError::Protocol { message: message.into() }
}
