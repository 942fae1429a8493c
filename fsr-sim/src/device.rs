//! A device: memory, modules, launches. The library's front door; the driver interface is a crate of its own.

use crate::check::{Faults, Level};
use crate::count::Counts;
use crate::exec::Launch;
use crate::exec::block::run_grid;
use crate::memory::{BufferKind, Memory, MemoryError};
use crate::parse::{self, ParseError};
use crate::profile::{Modelled, Profile, Shape};
use crate::program::{Kernel, Program, Unsupported};
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

/// A parsed and decoded PTX module, of no device yet.
#[derive(Debug)]
pub struct Module {
    program: Program,
}

impl Module {
    /// Parses and decodes PTX.
    ///
    /// Instructions that cannot be executed are no error here; launches of kernels that contain them are refused.
    ///
    /// # Errors
    /// Text that is not PTX, unknown names, operands of the wrong size: with line and column.
    pub fn parse(ptx: &str) -> Result<Module, ParseError> {
        let ast = parse::parse(ptx)?;
        Ok(Module { program: Program::decode(&ast)? })
    }

    /// Names of the entries, in the order of the text.
    pub fn entries(&self) -> impl Iterator<Item = &str> {
        self.program.kernels.iter().map(|k| k.name.as_str())
    }

    /// The PTX ISA version.
    pub fn version(&self) -> (u32, u32) {
        self.program.version
    }

    /// The target as written: `sm_90`.
    pub fn target(&self) -> &str {
        &self.program.target
    }
}

/// A module whose variables have addresses on a device.
#[derive(Debug)]
pub struct LoadedModule {
    program: Program,
    symbols: Vec<u64>,
}

impl LoadedModule {
    /// An entry by name.
    pub fn function(self: &Arc<Self>, name: &str) -> Option<Function> {
        let index = self.program.kernels.iter().position(|k| k.name == name)?;
        Some(Function { module: self.clone(), index })
    }

    /// A variable's address and size in bytes.
    pub fn variable(&self, name: &str) -> Option<(u64, u64)> {
        let index = self.program.variables.iter().position(|v| v.name == name)?;
        Some((*self.symbols.get(index)?, self.program.variables[index].bytes))
    }

    /// Names of the entries.
    pub fn entries(&self) -> impl Iterator<Item = &str> {
        self.program.kernels.iter().map(|k| k.name.as_str())
    }
}

/// An entry of a loaded module.
#[derive(Clone, Debug)]
pub struct Function {
    module: Arc<LoadedModule>,
    index: usize,
}

impl Function {
    fn kernel(&self) -> &Kernel {
        &self.module.program.kernels[self.index]
    }

    /// Its name.
    pub fn name(&self) -> &str {
        &self.kernel().name
    }

    /// Its parameters' places, in bytes.
    pub fn params(&self) -> &[crate::Param] {
        &self.kernel().params
    }

    /// Static shared memory, in bytes.
    pub fn static_shared(&self) -> u32 {
        self.kernel().static_shared
    }

    /// Local memory of a thread, in bytes.
    pub fn local_bytes(&self) -> u32 {
        self.kernel().local_bytes
    }

    /// An estimate of a thread's registers: what is declared, capped as a compiler would.
    pub fn registers(&self) -> u32 {
        self.kernel().declared_registers.clamp(16, 255).min(40)
    }

    /// The most threads that a block may have by the kernel's own words.
    pub fn max_threads(&self) -> Option<u32> {
        self.kernel().max_threads
    }

    /// Instructions that it contains and the simulator does not execute.
    pub fn unsupported(&self) -> &[Unsupported] {
        &self.kernel().unsupported
    }

    /// The PTX ISA version of its module.
    pub fn ptx_version(&self) -> (u32, u32) {
        self.module.program.version
    }
}

/// A launch's shape.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LaunchConfig {
    /// Blocks.
    pub grid: [u32; 3],
    /// Threads of a block.
    pub block: [u32; 3],
    /// Dynamic shared memory, in bytes.
    pub shared_bytes: u32,
}

impl LaunchConfig {
    /// One dimension, no dynamic shared memory.
    pub fn linear(blocks: u32, threads: u32) -> Self {
        LaunchConfig { grid: [blocks, 1, 1], block: [threads, 1, 1], shared_bytes: 0 }
    }
}

/// One kernel argument.
#[derive(Clone, Copy, Debug, PartialEq)]
#[allow(missing_docs)]
pub enum Arg {
    U8(u8),
    U16(u16),
    U32(u32),
    U64(u64),
    I32(i32),
    I64(i64),
    F32(f32),
    F64(f64),
}

impl Arg {
    fn bytes(self) -> ([u8; 8], usize) {
        let (raw, size) = match self {
            Arg::U8(v) => (u64::from(v), 1),
            Arg::U16(v) => (v.into(), 2),
            Arg::U32(v) => (v.into(), 4),
            Arg::U64(v) => (v, 8),
            Arg::I32(v) => (u64::from(v as u32), 4),
            Arg::I64(v) => (v as u64, 8),
            Arg::F32(v) => (v.to_bits().into(), 4),
            Arg::F64(v) => (v.to_bits(), 8),
        };
        (raw.to_le_bytes(), size)
    }
}

macro_rules! arg_from {
    ($($ty:ty => $variant:ident),+) => { $(
        impl From<$ty> for Arg {
            fn from(value: $ty) -> Arg { Arg::$variant(value) }
        }
    )+ };
}
arg_from!(u8 => U8, u16 => U16, u32 => U32, u64 => U64, i32 => I32, i64 => I64, f32 => F32, f64 => F64);

/// Why a launch did not run clean.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum LaunchError {
    /// The launch itself is wrong: nothing was executed.
    #[error("{0}")]
    Invalid(InvalidLaunch),
    /// The kernel contains instructions beyond this simulator: nothing was executed.
    #[error("{kernel} uses instructions that the simulator does not support: {}", list(.instructions))]
    Unsupported {
        /// The kernel.
        kernel: String,
        /// The instructions, each once.
        instructions: Vec<Unsupported>,
    },
    /// The kernel did something wrong.
    #[error("{0}")]
    Fault(Faults),
}

fn list(instructions: &[Unsupported]) -> String {
    let names: Vec<String> = instructions
        .iter()
        .map(|u| {
            if u.line > 0 {
                format!("{} (ptx line {})", u.instruction, u.line)
            } else {
                u.instruction.clone()
            }
        })
        .collect();
    names.join(", ")
}

/// What a device refuses before it executes anything.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[allow(missing_docs)]
pub enum InvalidLaunch {
    #[error("a grid or block dimension is zero")]
    Empty,
    #[error("a block of {threads} threads; at most {most} are allowed")]
    TooManyThreads { threads: u64, most: u32 },
    #[error("grid or block dimension {axis} is {size}; at most {most} is allowed")]
    DimensionTooLarge { axis: usize, size: u32, most: u32 },
    #[error("{bytes} bytes of shared memory a block; at most {most} are allowed")]
    TooMuchShared { bytes: u64, most: u32 },
    #[error("the kernel requires blocks of {0:?} threads")]
    RequiredBlock([u32; 3]),
    #[error("{given} arguments; the kernel takes {wanted}")]
    ArgumentCount { given: usize, wanted: usize },
    #[error("argument {index} has {given} bytes; the kernel's parameter has {wanted}")]
    ArgumentSize { index: usize, given: usize, wanted: u32 },
}

/// What a clean launch tells.
#[derive(Clone, Debug, PartialEq)]
pub struct Report {
    /// Counts over all blocks.
    pub counts: Counts,
    /// The time that the device profile would take: modelled, never measured.
    pub modelled: Modelled,
}

/// Takes what kernels print.
pub type Output = Arc<dyn Fn(&str) + Send + Sync>;

/// How a device executes.
#[derive(Clone)]
pub struct Options {
    /// What is checked.
    pub level: Level,
    /// Host threads that blocks run on; 0: as many as the host has.
    pub threads: usize,
    /// Warp instructions that a launch may execute before it counts as endless.
    pub budget: u64,
    /// Whether sectors and bank conflicts are counted.
    pub counting: bool,
    /// Where `printf` of kernels goes; `None`: standard output.
    pub output: Option<Output>,
    /// Device memory, in bytes; `None`: the profile's.
    pub memory_bytes: Option<u64>,
}

impl Default for Options {
    fn default() -> Self {
        Options {
            level: Level::Bounds,
            threads: 0,
            budget: 1 << 36,
            counting: true,
            output: None,
            memory_bytes: None,
        }
    }
}

impl std::fmt::Debug for Options {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Options")
            .field("level", &self.level)
            .field("threads", &self.threads)
            .field("budget", &self.budget)
            .field("counting", &self.counting)
            .finish_non_exhaustive()
    }
}

/// A simulated GPU. All methods can be called from several threads; a launch returns when it is done.
pub struct Device {
    profile: Profile,
    options: Options,
    memory: RwLock<Memory>,
    launches: AtomicU64,
}

impl std::fmt::Debug for Device {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Device").field("profile", &self.profile.name).field("options", &self.options).finish()
    }
}

impl Device {
    /// A device with default options: bounds are checked, counts are kept.
    pub fn new(profile: Profile) -> Device {
        Device::with_options(profile, Options::default())
    }

    /// A device with given options.
    pub fn with_options(profile: Profile, options: Options) -> Device {
        let total = options.memory_bytes.unwrap_or(profile.memory_bytes);
        let memory = RwLock::new(Memory::new(total, options.level == Level::Full));
        Device { profile, options, memory, launches: AtomicU64::new(0) }
    }

    /// Its profile.
    pub fn profile(&self) -> &Profile {
        &self.profile
    }

    /// Its options.
    pub fn options(&self) -> &Options {
        &self.options
    }

    fn read_memory(&self) -> RwLockReadGuard<'_, Memory> {
        self.memory.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn write_memory(&self) -> RwLockWriteGuard<'_, Memory> {
        self.memory.write().unwrap_or_else(PoisonError::into_inner)
    }

    // ---- memory ----

    /// Allocates `bytes`; the content is undefined to kernels.
    ///
    /// # Errors
    /// Zero bytes, or more than is left.
    pub fn alloc(&self, bytes: u64) -> Result<u64, MemoryError> {
        self.write_memory().alloc(bytes)
    }

    /// Frees a buffer by its first address.
    ///
    /// # Errors
    /// An address that is not the start of a live buffer.
    pub fn free(&self, address: u64) -> Result<(), MemoryError> {
        self.write_memory().free(address)
    }

    /// Names the buffer that starts at an address, for reports.
    ///
    /// # Errors
    /// An address that is not the start of a live buffer.
    pub fn name_buffer(&self, address: u64, name: &str) -> Result<(), MemoryError> {
        self.write_memory().name(address, name)
    }

    /// Copies from the host to the device.
    ///
    /// # Errors
    /// A range that is not within one live buffer.
    pub fn write(&self, address: u64, data: &[u8]) -> Result<(), MemoryError> {
        self.read_memory().write(address, data)
    }

    /// Copies from the device to the host.
    ///
    /// # Errors
    /// A range that is not within one live buffer.
    pub fn read(&self, address: u64, out: &mut [u8]) -> Result<(), MemoryError> {
        self.read_memory().read(address, out)
    }

    /// Copies within the device.
    ///
    /// # Errors
    /// A range that is not within one live buffer.
    pub fn copy(&self, to: u64, from: u64, bytes: u64) -> Result<(), MemoryError> {
        self.read_memory().copy(to, from, bytes)
    }

    /// Writes a pattern of 1, 2 or 4 bytes `count` times.
    ///
    /// # Errors
    /// A range that is not within one live buffer.
    pub fn fill(&self, address: u64, pattern: &[u8], count: u64) -> Result<(), MemoryError> {
        self.read_memory().fill(address, pattern, count)
    }

    /// Whether a range lies within one live buffer.
    ///
    /// # Errors
    /// Where it does not.
    pub fn check_range(&self, address: u64, bytes: u64) -> Result<(), MemoryError> {
        self.read_memory().check(address, bytes)
    }

    /// First address and length of the buffer that an address lies in.
    pub fn extent(&self, address: u64) -> Option<(u64, u64)> {
        self.read_memory().extent(address)
    }

    /// Bytes left, and bytes in all.
    pub fn memory_info(&self) -> (u64, u64) {
        let total = self.options.memory_bytes.unwrap_or(self.profile.memory_bytes);
        (self.read_memory().free_bytes(), total)
    }

    /// Lets kernels access host memory at its own address.
    ///
    /// # Safety
    /// `ptr` must be valid for reads and writes of `bytes` bytes until [`Device::unmap_host`].
    pub unsafe fn map_host(&self, ptr: *mut u8, bytes: u64) {
        // SAFETY: the caller's promise.
        unsafe { self.write_memory().map_host(ptr, bytes) }
    }

    /// Ends [`Device::map_host`]; whether there was such a mapping.
    pub fn unmap_host(&self, address: u64) -> bool {
        self.write_memory().unmap_host(address)
    }

    // ---- modules ----

    /// Gives a module's variables memory and initial values.
    ///
    /// # Errors
    /// Not enough memory.
    pub fn load(&self, module: Module) -> Result<Arc<LoadedModule>, MemoryError> {
        let program = module.program;
        let mut memory = self.write_memory();
        let mut symbols = Vec::new();
        for variable in &program.variables {
            match memory.insert(variable.bytes, BufferKind::Variable(variable.name.clone())) {
                Ok(address) => symbols.push(address),
                Err(error) => {
                    for address in symbols {
                        memory.free(address)?;
                    }
                    return Err(error);
                }
            }
        }
        for (variable, address) in program.variables.iter().zip(&symbols) {
            // What has no initial value is zero by definition.
            let mut data = variable.data.clone();
            data.resize(usize::try_from(variable.bytes).unwrap_or(0), 0);
            for (at, index, addend) in &variable.relocations {
                let target = symbols.get(*index as usize).copied().unwrap_or(0).wrapping_add(*addend as u64);
                let at = *at as usize;
                if let Some(bytes) = data.get_mut(at..at + 8) {
                    bytes.copy_from_slice(&target.to_le_bytes());
                }
            }
            memory.write(*address, &data)?;
            if variable.constant {
                memory.protect(*address);
            }
        }
        Ok(Arc::new(LoadedModule { program, symbols }))
    }

    /// Frees a module's variables. Functions of it must not be launched any more.
    pub fn unload(&self, module: &LoadedModule) {
        let mut memory = self.write_memory();
        for address in &module.symbols {
            // Freed twice only if the module is unloaded twice: nothing is left to do then.
            let _ = memory.free(*address);
        }
    }

    // ---- launches ----

    /// Runs a kernel to its end.
    ///
    /// # Errors
    /// An invalid launch, unsupported instructions, or the kernel's faults.
    pub fn launch(
        &self,
        function: &Function,
        config: LaunchConfig,
        args: &[Arg],
    ) -> Result<Report, LaunchError> {
        let kernel = function.kernel();
        if args.len() != kernel.params.len() {
            let (given, wanted) = (args.len(), kernel.params.len());
            return Err(LaunchError::Invalid(InvalidLaunch::ArgumentCount { given, wanted }));
        }
        let mut params = vec![0; kernel.param_bytes as usize];
        for (index, (arg, param)) in args.iter().zip(&kernel.params).enumerate() {
            let (raw, given) = arg.bytes();
            if given != param.size as usize {
                let wanted = param.size;
                return Err(LaunchError::Invalid(InvalidLaunch::ArgumentSize { index, given, wanted }));
            }
            params[param.offset as usize..][..given].copy_from_slice(&raw[..given]);
        }
        self.launch_raw(function, config, &params)
    }

    /// Runs a kernel with its parameters as they lie in memory (see [`Function::params`]).
    ///
    /// # Errors
    /// An invalid launch, unsupported instructions, or the kernel's faults.
    pub fn launch_raw(
        &self,
        function: &Function,
        config: LaunchConfig,
        params: &[u8],
    ) -> Result<Report, LaunchError> {
        let kernel = function.kernel();
        self.validate(kernel, config).map_err(LaunchError::Invalid)?;
        if !kernel.unsupported.is_empty() {
            let mut instructions: Vec<Unsupported> = Vec::new();
            for unsupported in &kernel.unsupported {
                if !instructions.iter().any(|u| u.instruction == unsupported.instruction) {
                    instructions.push(unsupported.clone());
                }
            }
            return Err(LaunchError::Unsupported { kernel: kernel.name.clone(), instructions });
        }
        let memory = self.read_memory();
        let print = |text: &str| match &self.options.output {
            Some(output) => output(text),
            None => print!("{text}"),
        };
        let budget = self.options.budget.min(i64::MAX as u64);
        let launch = Launch {
            kernel,
            memory: &memory,
            params,
            symbols: &function.module.symbols,
            files: &function.module.program.files,
            grid: config.grid,
            block: config.block,
            dynamic_shared: config.shared_bytes,
            level: self.options.level,
            counting: self.options.counting,
            sms: self.profile.multiprocessors,
            grid_id: self.launches.fetch_add(1, Relaxed),
            budget: AtomicI64::new(budget as i64),
            budget_total: budget,
            stop: AtomicBool::new(false),
            faults: Mutex::new(Vec::new()),
            output: &print,
            races: (self.options.level == Level::Full && !kernel.synchronises)
                .then(|| crate::exec::race::GlobalShadow::new(&memory)),
        };
        let threads = match self.options.threads {
            0 => std::thread::available_parallelism().map_or(1, std::num::NonZero::get),
            threads => threads,
        };
        let counters = run_grid(&launch, threads);
        let mut faults = launch.faults.into_inner().unwrap_or_else(PoisonError::into_inner);
        if !faults.is_empty() {
            faults.sort_by_key(|(pc, fault)| (!fault.kind.is_fatal(), *pc));
            return Err(LaunchError::Fault(Faults { all: faults.into_iter().map(|(_, f)| f).collect() }));
        }
        let counts = counters.summarise(kernel);
        let shape = Shape {
            blocks: config.grid.iter().map(|n| u64::from(*n)).product(),
            threads: config.block.iter().product(),
            shared: kernel.dynamic_offset() + config.shared_bytes,
            registers: function.registers(),
            footprint: footprint(&memory, kernel, params),
        };
        let modelled = self.profile.model(&counts, &shape);
        Ok(Report { counts, modelled })
    }

    fn validate(&self, kernel: &Kernel, config: LaunchConfig) -> Result<(), InvalidLaunch> {
        let LaunchConfig { grid, block, shared_bytes } = config;
        if grid.contains(&0) || block.contains(&0) {
            return Err(InvalidLaunch::Empty);
        }
        for (axis, (size, most)) in grid.into_iter().zip([i32::MAX as u32, 65_535, 65_535]).enumerate() {
            if size > most {
                return Err(InvalidLaunch::DimensionTooLarge { axis, size, most });
            }
        }
        for (axis, (size, most)) in block.into_iter().zip([1024, 1024, 64]).enumerate() {
            if size > most {
                return Err(InvalidLaunch::DimensionTooLarge { axis, size, most });
            }
        }
        let threads: u64 = block.iter().map(|n| u64::from(*n)).product();
        let most = kernel.max_threads.unwrap_or(1024).min(1024);
        if threads > u64::from(most) {
            return Err(InvalidLaunch::TooManyThreads { threads, most });
        }
        if let Some(required) = kernel.required_block
            && required != block
        {
            return Err(InvalidLaunch::RequiredBlock(required));
        }
        let bytes = u64::from(kernel.dynamic_offset()) + u64::from(shared_bytes);
        let most = self.profile.shared_per_block_optin;
        if bytes > u64::from(most) {
            return Err(InvalidLaunch::TooMuchShared { bytes, most });
        }
        Ok(())
    }
}

/// Bytes of the buffers that 8-byte parameters point into, each once.
fn footprint(memory: &Memory, kernel: &Kernel, params: &[u8]) -> u64 {
    let mut seen = std::collections::BTreeMap::new();
    for param in kernel.params.iter().filter(|p| p.size == 8) {
        if let Some(bytes) = params.get(param.offset as usize..param.offset as usize + 8)
            && let Ok(raw) = bytes.try_into()
            && let Some(buffer) = memory.find(u64::from_le_bytes(raw))
        {
            seen.insert(buffer.base, buffer.len);
        }
    }
    seen.values().sum()
}
