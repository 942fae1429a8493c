//! Sets up the judge of a kernel on the device that was asked for, and says so where another one steps in.

use std::cell::{Cell, OnceCell};
use std::io;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use fsr_build::spec::KernelSpec;
use fsr_protocol::{DeviceFacts, Tolerance};

use super::rig::{Host, Interrupt};
use super::{CommandError, Shell};
use crate::compile::NvrtcCompiler;
use crate::config::{Config, cache_dir};
use crate::device::{self, DeviceChoice, Driver, LibraryError, Source};
use crate::exit::Exit;
use crate::judge::{
    BuildOptions, DeviceLock, Extent, HostJudge, HostJudgeOptions, HostProgram, Judge, JudgeError, Screened,
};
use crate::project::{Locking, Project, bundle};
use crate::scratch::Scratch;

/// Warp instructions that a small case may take on the CPU device: some seconds.
const SCREEN_BUDGET: &str = "268435456";

/// What is judged.
#[derive(Clone, Copy)]
pub struct Subject<'a> {
    /// Runs it.
    pub host: &'a Host,
    /// Its spec.
    pub kernel: &'a KernelSpec,
    /// Leads from its PTX to its source.
    pub lines: &'a Arc<NvrtcCompiler>,
}

/// The devices of one command.
pub struct Devices<'a> {
    choice: DeviceChoice,
    config: &'a Config,
    project: &'a Project,
    locking: Locking,
    shell: &'a Arc<Shell>,
    interrupt: &'a Interrupt,
    /// Why `auto` means the CPU device here; set when that is known.
    no_gpu: OnceCell<String>,
    driver: OnceCell<Driver>,
    /// There is no CPU device that could stand before a GPU.
    unscreened: Cell<bool>,
    /// Folder of the profile that the CPU device has before a GPU.
    shape: OnceCell<Scratch>,
}

impl<'a> Devices<'a> {
    pub fn new(
        choice: DeviceChoice,
        config: &'a Config,
        project: &'a Project,
        locking: Locking,
        shell: &'a Arc<Shell>,
        interrupt: &'a Interrupt,
    ) -> Self {
        let (no_gpu, driver, unscreened, shape) = Default::default();
        Self { choice, config, project, locking, shell, interrupt, no_gpu, driver, unscreened, shape }
    }

    /// A judge of one kernel whose device has answered.
    pub fn judge(&self, subject: Subject<'_>) -> Result<HostJudge, CommandError> {
        match &self.choice {
            DeviceChoice::Cuda { ordinal } => self.gpu(subject, *ordinal)?.map_err(|reason| {
                CommandError::new(
                    Exit::Environment,
                    reason,
                    "that device is an NVIDIA GPU with its driver. `--device sim` executes on the CPU; `cargo fsr \
                     bundle DIR` takes the search to a machine that has one",
                )
            }),
            DeviceChoice::Sim { profile } => self.sim(subject, profile.as_deref()),
            DeviceChoice::Auto => {
                if self.no_gpu.get().is_none() {
                    match self.gpu(subject, 0)? {
                        Ok(judge) => return Ok(judge),
                        Err(reason) => {
                            self.shell.warn(format_args!(
                                "no GPU ({reason}): the CPU device executes, and its times are modelled, not measured"
                            ));
                            let _ = self.no_gpu.set(reason);
                        }
                    }
                }
                self.sim(subject, None)
            }
        }
    }

    /// A judge for a search. Before the device stands a screen of small cases on the CPU device with all its checks, if
    /// that is wanted and can be had: before the CPU device itself too, whose large cases go without the dear ones.
    pub fn search_judge(&self, subject: Subject<'_>, screened: bool) -> Result<Box<dyn Judge>, CommandError> {
        let mut judge = self.judge(subject)?;
        let gpu = judge.bench()?.device;
        // One that the user's loader found is no concern of ours, and a level that was asked for is what is wanted.
        let theirs =
            gpu.modelled && (self.driver.get().is_none() || std::env::var_os("FSR_SIM_LEVEL").is_some());
        if theirs || !screened || self.unscreened.get() {
            return Ok(Box::new(judge));
        }
        let mut screen = match self.screen(subject, &gpu) {
            Ok(screen) => screen,
            Err(error) if error.exit() == Exit::Interrupted => return Err(error),
            Err(error) => {
                // Said and tried once for all kernels.
                self.unscreened.set(true);
                let text = error.to_string();
                let first = text.lines().next().unwrap_or_default();
                self.shell.warn(format_args!(
                    "candidates go to the GPU without being tried on the CPU device first: {first} (--no-screen: do \
                     not try)"
                ));
                return Ok(Box::new(judge));
            }
        };
        let all = screen.bench()?.cases.len();
        match screen.extent() {
            0 => {
                self.shell.detail("Screen", "none: no case is small enough for the CPU device");
                Ok(Box::new(judge))
            }
            some => {
                self.shell.detail(
                    "Screen",
                    format_args!(
                        "{some} of {all} cases are small: there, candidates first meet the CPU device with all its checks"
                    ),
                );
                let shell = self.shell.clone();
                Ok(Box::new(Screened::new(judge, screen, Arc::new(move |text| shell.warn(text)))))
            }
        }
    }

    /// Small cases on the CPU device, in the shape of a GPU.
    fn screen(&self, subject: Subject<'_>, gpu: &DeviceFacts) -> Result<HostJudge, CommandError> {
        let driver = self.driver()?;
        let profile = self.shape(gpu).map_err(JudgeError::Io)?;
        let mut program = subject.host.program(std::slice::from_ref(&driver.folder))?;
        program.envs.push(("FSR_SIM_DEVICE".into(), profile.into()));
        for (name, value) in [("FSR_SIM_LEVEL", "full"), ("FSR_SIM_BUDGET", SCREEN_BUDGET)] {
            if std::env::var_os(name).is_none() {
                program.envs.push((name.into(), value.into()));
            }
        }
        let mut options = self.options(program, subject.host.program(&[])?, subject);
        options.extent = Extent::screen();
        options.pool = 1;
        let mut judge = HostJudge::new(options);
        judge.bench()?;
        Ok(judge)
    }

    /// The CPU device's profile of a GPU, in a file.
    fn shape(&self, gpu: &DeviceFacts) -> io::Result<PathBuf> {
        let folder = match self.shape.get() {
            Some(folder) => folder,
            None => {
                let folder = Scratch::create(&std::env::temp_dir())?;
                self.shape.get_or_init(|| folder)
            }
        };
        let file = folder.path().join("gpu.toml");
        std::fs::write(&file, device::shaped_like(gpu))?;
        Ok(file)
    }

    /// The inner error says why there is no GPU.
    fn gpu(&self, subject: Subject<'_>, ordinal: u32) -> Result<Result<HostJudge, String>, CommandError> {
        let program = subject.host.program(&[])?;
        let mut options = self.options(program.clone(), program, subject);
        options.ordinal = ordinal;
        options.locks = Some(DeviceLock::folder());
        let mut judge = HostJudge::new(options);
        match judge.bench() {
            Ok(_) => Ok(Ok(judge)),
            Err(JudgeError::NoDevice(reason)) => Ok(Err(reason)),
            Err(error) => Err(error.into()),
        }
    }

    fn sim(&self, subject: Subject<'_>, profile: Option<&str>) -> Result<HostJudge, CommandError> {
        let driver = self.driver()?;
        let mut device = subject.host.program(std::slice::from_ref(&driver.folder))?;
        if let Some(profile) = profile {
            device.envs.push(("FSR_SIM_DEVICE".into(), profile.into()));
        }
        let mut options = self.options(device, subject.host.program(&[])?, subject);
        // What a GPU does in a millisecond may take half a minute here; what never ends has an end all the same.
        options.deadlines.launch = Duration::from_secs(300);
        let mut judge = HostJudge::new(options);
        judge.bench()?;
        Ok(judge)
    }

    /// Built or found once.
    fn driver(&self) -> Result<&Driver, CommandError> {
        if let Some(driver) = self.driver.get() {
            return Ok(driver);
        }
        let source = self.source();
        if !device::is_built(&source, &self.folder()) {
            self.shell.note("Building", "the CPU device: this takes a minute or two, once");
        }
        let spinner = self.shell.spinner("building the CPU device");
        let options = BuildOptions {
            forward: self.shell.cargo_output(),
            color: self.shell.colors(),
            interrupt: self.interrupt.clone(),
            ..BuildOptions::default()
        };
        let found = device::find(&source, &self.folder(), self.locking.into(), options);
        spinner.finish_and_clear();
        let driver = found.map_err(|error| no_library(error, &source))?;
        self.shell.detail("CPU device", driver.library.display());
        Ok(self.driver.get_or_init(|| driver))
    }

    fn source(&self) -> Source {
        self.config.sim_library().map_or_else(|| self.project.cpu_device(), Source::File)
    }

    /// Where what is made for the library is kept.
    fn folder(&self) -> PathBuf {
        match self.project.is_bundle() {
            true => bundle::state(&self.project.root),
            false => cache_dir().unwrap_or_else(|| self.config.state_dir()),
        }
    }

    /// The library alone, for a bundle.
    pub fn library(&self) -> Result<PathBuf, CommandError> {
        self.driver().map(|driver| driver.library.clone())
    }

    fn options(&self, device: HostProgram, reference: HostProgram, subject: Subject<'_>) -> HostJudgeOptions {
        let mut options = HostJudgeOptions::new(device);
        options.reference = reference;
        options.kernel = Some(subject.kernel.name.clone());
        options.lines = Some(subject.lines.clone());
        options.tolerance = subject.kernel.tolerance.map(|own| Tolerance { rtol: own.rtol, atol: own.atol });
        options.state = subject.kernel.state.clone();
        options.interrupt = self.interrupt.clone();
        let shell = self.shell.clone();
        options.notice = Arc::new(move |text| shell.note("Waiting", text));
        options
    }
}

fn no_library(error: LibraryError, source: &Source) -> CommandError {
    let help = match source {
        _ if matches!(error, LibraryError::Io { .. }) => {
            "programs find it in a folder of the cache: let that one be written, or name another in FSR_CACHE_DIR"
        }
        Source::File(_) => "name the library in FSR_SIM_LIBRARY or as `sim-library` in fsr.toml",
        _ => {
            "build it in a check-out of cargo-fsr with `cargo build --release -p fsr-sim-libcuda`, and name the \
              library in FSR_SIM_LIBRARY or as `sim-library` in fsr.toml"
        }
    };
    CommandError::new(Exit::Environment, error.to_string(), help)
}
