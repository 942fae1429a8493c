//! A device: memory, modules, launches. The library's front door; the driver interface is a crate of its own.

mod launch;
mod memory;
mod module;

pub use launch::{Arg, InvalidLaunch, LaunchConfig, LaunchError, Report};
pub use module::{Function, LoadedModule, Module};

use crate::check::Level;
use crate::memory::{BufferKind, Memory, MemoryError};
use crate::profile::Profile;
use std::sync::atomic::AtomicU64;
use std::sync::{Arc, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

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
            let mut data = variable.data.clone();
            for (at, index, addend) in &variable.relocations {
                let target = symbols.get(*index as usize).copied().unwrap_or(0).wrapping_add(*addend as u64);
                let at = *at as usize;
                if let Some(bytes) = data.get_mut(at..at + 8) {
                    bytes.copy_from_slice(&target.to_le_bytes());
                }
            }
            memory.define(*address, &data)?;
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
}
