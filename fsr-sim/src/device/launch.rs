//! Launches: shape and arguments, what is refused before anything runs, what comes back.

use super::{Device, Function};
use crate::check::{Faults, Level};
use crate::count::Counts;
use crate::exec::Launch;
use crate::exec::block::run_grid;
use crate::memory::Memory;
use crate::profile::{Modelled, Shape};
use crate::program::{Kernel, Unsupported};
use std::collections::HashSet;
use std::sync::atomic::{AtomicBool, AtomicI64, Ordering::Relaxed};
use std::sync::{Mutex, PoisonError};

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

/// Instructions that a message names.
const LISTED: usize = 16;
/// Bytes of registers of a block: those of 2048 threads of 1024 registers each would be as many.
const REGISTER_BYTES: u64 = 256 << 20;

fn list(instructions: &[Unsupported]) -> String {
    let mut names: Vec<String> = instructions
        .iter()
        .take(LISTED)
        .map(|u| {
            if u.line > 0 {
                format!("{} (ptx line {})", u.instruction, u.line)
            } else {
                u.instruction.clone()
            }
        })
        .collect();
    if instructions.len() > LISTED {
        names.push(format!("and {} more", instructions.len() - LISTED));
    }
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
    #[error("{registers} registers and constants in each of {threads} threads; at most {most} can be held")]
    TooManyRegisters { registers: u32, threads: u64, most: u32 },
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

impl Device {
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
            let mut seen = HashSet::new();
            let each = kernel.unsupported.iter().filter(|u| seen.insert(&u.instruction));
            let instructions: Vec<Unsupported> = each.cloned().collect();
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
        let per_warp = REGISTER_BYTES / threads.div_ceil(32);
        if u64::from(kernel.rows) * 128 > per_warp {
            let (registers, most) = (kernel.rows, (per_warp / 128) as u32);
            return Err(InvalidLaunch::TooManyRegisters { registers, threads, most });
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
