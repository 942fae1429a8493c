//! The driver's state: one simulated device, handles, the sticky error, the modelled clock.
//!
//! Handles are numbers that look like pointers; every use is looked up, so that a stale one is an error.

use crate::error::{self, Code};
use fsr_sim::{Device, Function, LaunchConfig, LaunchError, Level, LoadedModule, Options, Profile};
use std::cell::RefCell;
use std::collections::{HashMap, HashSet};
use std::ffi::c_void;
use std::io::Write;
use std::sync::atomic::{AtomicI32, AtomicU32, AtomicUsize, Ordering::Relaxed};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

pub(crate) type Outcome<T = ()> = Result<T, Code>;
pub(crate) type Handle = *mut c_void;

/// A loaded function with what `cuFuncSetAttribute` changed.
pub(crate) struct FunctionState {
    pub function: Function,
    pub module: usize,
    pub dynamic_shared_most: AtomicI32,
}

/// A stream: nothing but its flags, since every operation is done when its call returns.
#[derive(Clone, Copy)]
pub(crate) struct Stream {
    pub flags: u32,
    pub priority: i32,
}

/// An event: when it was recorded, on the modelled clock, in nanoseconds.
#[derive(Clone, Copy)]
pub(crate) struct Event {
    pub timing: bool,
    pub at: Option<f64>,
}

/// Host memory that kernels reach at its own address.
pub(crate) struct HostRange {
    pub bytes: usize,
    pub kind: HostKind,
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum HostKind {
    /// Allocated here, and freed as host memory.
    Pinned(std::alloc::Layout),
    /// Allocated here, and freed as device memory.
    Managed(std::alloc::Layout),
    /// The program's own.
    Registered,
}

#[derive(Default)]
pub(crate) struct Tables {
    pub modules: HashMap<usize, Arc<LoadedModule>>,
    pub functions: HashMap<usize, Arc<FunctionState>>,
    pub function_of: HashMap<(usize, String), usize>,
    pub streams: HashMap<usize, Stream>,
    pub events: HashMap<usize, Event>,
    pub pools: HashMap<usize, ()>,
    pub host: HashMap<usize, HostRange>,
    /// Device memory that the program allocated.
    pub allocations: HashSet<u64>,
    /// Contexts that `cuCtxCreate` made.
    pub contexts: HashMap<usize, ()>,
    pub limits: HashMap<u32, usize>,
    /// Modelled time since the start, in nanoseconds.
    pub clock: f64,
}

/// Everything.
pub(crate) struct Driver {
    pub device: Device,
    tables: Mutex<Tables>,
    next: AtomicUsize,
    /// The error of a faulted kernel: all calls fail with it until the context is gone.
    sticky: AtomicI32,
    pub primary_users: AtomicU32,
    pub primary_flags: AtomicU32,
    pub cache_config: AtomicI32,
    report: Option<Mutex<std::fs::File>>,
}

/// The handle of the primary context, and of its default memory pool.
pub(crate) const PRIMARY: usize = 0x1000;
pub(crate) const DEFAULT_POOL: usize = 0x1008;

static DRIVER: OnceLock<Option<Driver>> = OnceLock::new();

thread_local! {
    /// Contexts of this thread; the last one is current.
    static CONTEXTS: RefCell<Vec<usize>> = const { RefCell::new(Vec::new()) };
}

fn setting<T: std::str::FromStr>(name: &str) -> Option<T> {
    let text = std::env::var(name).ok()?;
    match text.parse() {
        Ok(value) => Some(value),
        Err(_) => {
            eprintln!("fsr-sim: {name}={text} is not a number: ignored");
            None
        }
    }
}

fn profile() -> Option<Profile> {
    let name = std::env::var("FSR_SIM_DEVICE").unwrap_or_else(|_| "h200".to_owned());
    let found = if name.contains(['/', '.']) {
        std::fs::read_to_string(&name)
            .map_err(|e| format!("{name}: {e}"))
            .and_then(|text| Profile::from_toml(&text).map_err(|e| format!("{name}: {e}")))
    } else {
        Profile::named(&name).map_err(|e| e.to_string())
    };
    found.map_err(|message| eprintln!("fsr-sim: {message}")).ok()
}

/// `cuInit`: reads the settings and makes the device; an error of the settings is an error of the driver.
pub(crate) fn init() -> Outcome {
    let made = DRIVER.get_or_init(|| {
        let level = match std::env::var("FSR_SIM_LEVEL").as_deref() {
            Ok("off") => Level::Off,
            Ok("full") => Level::Full,
            Ok("bounds") | Err(_) => Level::Bounds,
            Ok(other) => {
                eprintln!("fsr-sim: FSR_SIM_LEVEL={other} is none of off, bounds, full");
                return None;
            }
        };
        let defaults = Options::default();
        let options = Options {
            level,
            threads: setting("FSR_SIM_THREADS").unwrap_or(defaults.threads),
            budget: setting("FSR_SIM_BUDGET").unwrap_or(defaults.budget),
            memory_bytes: setting("FSR_SIM_MEMORY"),
            ..defaults
        };
        let report = match std::env::var_os("FSR_SIM_REPORT") {
            Some(path) => match std::fs::OpenOptions::new().create(true).append(true).open(&path) {
                Ok(file) => Some(Mutex::new(file)),
                Err(error) => {
                    eprintln!("fsr-sim: {}: {error}", path.display());
                    return None;
                }
            },
            None => None,
        };
        Some(Driver {
            device: Device::with_options(profile()?, options),
            tables: Mutex::default(),
            next: AtomicUsize::new(0x2000),
            sticky: AtomicI32::new(error::SUCCESS),
            primary_users: AtomicU32::new(0),
            primary_flags: AtomicU32::new(0),
            cache_config: AtomicI32::new(0),
            report,
        })
    });
    if made.is_some() { Ok(()) } else { Err(error::NO_DEVICE) }
}

/// The driver after `cuInit`.
pub(crate) fn driver() -> Outcome<&'static Driver> {
    match DRIVER.get() {
        Some(Some(driver)) => Ok(driver),
        Some(None) => Err(error::NO_DEVICE),
        None => Err(error::NOT_INITIALIZED),
    }
}

/// The driver with a current context and no sticky error: what most calls need.
pub(crate) fn active() -> Outcome<&'static Driver> {
    let driver = driver()?;
    driver.check_sticky()?;
    let current = current();
    if current == 0 || !driver.context_exists(current) {
        return Err(error::INVALID_CONTEXT);
    }
    Ok(driver)
}

/// The current context; 0: none.
pub(crate) fn current() -> usize {
    CONTEXTS.with_borrow(|contexts| contexts.last().copied().unwrap_or(0))
}

/// Puts a context above the current one.
pub(crate) fn push_current(context: usize) {
    CONTEXTS.with_borrow_mut(|contexts| contexts.push(context));
}

/// Takes the current context away, so that the one below it is current.
pub(crate) fn pop_current() -> Option<usize> {
    CONTEXTS.with_borrow_mut(Vec::pop)
}

/// A device ordinal that exists.
pub(crate) fn check_device(device: i32) -> Outcome<&'static Driver> {
    let driver = driver()?;
    if device == 0 { Ok(driver) } else { Err(error::INVALID_DEVICE) }
}

impl Driver {
    pub fn tables(&self) -> MutexGuard<'_, Tables> {
        self.tables.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub fn handle(&self) -> usize {
        self.next.fetch_add(8, Relaxed)
    }

    pub fn check_sticky(&self) -> Outcome {
        match self.sticky.load(Relaxed) {
            error::SUCCESS => Ok(()),
            code => Err(code),
        }
    }

    pub fn context_exists(&self, context: usize) -> bool {
        if context == PRIMARY {
            return self.primary_users.load(Relaxed) > 0;
        }
        self.tables().contexts.contains_key(&context)
    }

    /// A context is gone: so are its modules, streams, events, memory and error. Contexts share their memory here, so that
    /// it outlives any but the last.
    pub fn forget_context(&self) {
        self.sticky.store(error::SUCCESS, Relaxed);
        let mut tables = self.tables();
        let modules = std::mem::take(&mut tables.modules);
        tables.functions.clear();
        tables.function_of.clear();
        tables.streams.clear();
        tables.events.clear();
        let allocations = match tables.contexts.is_empty() {
            true => std::mem::take(&mut tables.allocations),
            false => HashSet::new(),
        };
        drop(tables);
        for address in allocations {
            // What cannot be freed is gone already.
            let _ = self.device.free(address);
        }
        for module in modules.values() {
            self.device.unload(module);
        }
    }

    /// A stream handle: null, legacy (1) and per-thread (2) always exist.
    pub fn check_stream(&self, stream: Handle) -> Outcome {
        let number = stream as usize;
        if number <= 2 || self.tables().streams.contains_key(&number) {
            Ok(())
        } else {
            Err(error::INVALID_HANDLE)
        }
    }

    pub fn advance(&self, nanoseconds: f64) {
        self.tables().clock += nanoseconds;
    }

    /// A copy's modelled time: `bytes` at `gbs` 10^9 bytes a second, and what any operation costs.
    pub fn advance_copy(&self, bytes: usize, gbs: f64) {
        self.advance(1500.0 + bytes as f64 / gbs);
    }

    /// Executes a launch; a fault becomes the sticky error and a message.
    pub fn launch(&self, function: &Function, config: LaunchConfig, params: &[u8]) -> Outcome {
        let result = self.device.launch_raw(function, config, params);
        self.write_report(function.name(), config, &result);
        match result {
            Ok(report) => {
                self.advance(report.modelled.nanoseconds);
                Ok(())
            }
            Err(error) => {
                eprintln!("fsr-sim: {error}");
                match (&error, error::of_launch(&error)) {
                    (LaunchError::Fault(faults), _) => {
                        // As on hardware, the launch itself succeeds, and whatever comes next fails.
                        self.sticky.store(error::of_faults(faults), Relaxed);
                        Ok(())
                    }
                    (_, Some(code)) => Err(code),
                    (_, None) => Err(error::UNKNOWN),
                }
            }
        }
    }

    fn write_report(
        &self,
        kernel: &str,
        config: LaunchConfig,
        result: &Result<fsr_sim::Report, LaunchError>,
    ) {
        let Some(report) = &self.report else { return };
        let mut line = crate::loading::report_line(kernel, config, result).to_string();
        line.push('\n');
        let mut file = report.lock().unwrap_or_else(PoisonError::into_inner);
        // One write, so that lines of several processes do not mix; a full disk must not fail the program.
        if let Err(error) = file.write_all(line.as_bytes()) {
            eprintln!("fsr-sim: the report could not be written: {error}");
        }
    }
}
