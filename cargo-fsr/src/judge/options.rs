//! What a judge is told before it starts: the program, the device, limits and sampling rules.

use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use fsr_protocol::Tolerance;

use super::process::HostProgram;
use super::session::Session;
use crate::compile::Lines;

/// Tells people something while they wait; one line, without an end of line.
pub type Notice = Arc<dyn Fn(&str) + Send + Sync>;

/// Wall-clock limits. Past one of them the process group is killed.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Deadlines {
    /// From the start of a process to its greeting.
    pub start: Duration,
    /// Ordinary requests: opening the device, describing cases, placing inputs.
    pub host: Duration,
    /// Loading PTX, with the driver's compilation.
    pub load: Duration,
    /// One launch of a candidate, on top of what moving the case's buffers may take.
    pub launch: Duration,
    /// Making one set with its reference results, or one comparison: plain CPU code, perhaps slow.
    pub reference: Duration,
}

impl Default for Deadlines {
    fn default() -> Self {
        Self {
            start: Duration::from_secs(30),
            host: Duration::from_secs(120),
            load: Duration::from_secs(60),
            launch: Duration::from_secs(10),
            reference: Duration::from_secs(900),
        }
    }
}

/// When enough samples were taken.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Sampling {
    /// Samples of each contender that are taken in any case.
    pub min: usize,
    /// Samples of each contender after which it ends in any case.
    pub max: usize,
    /// It ends when every contender's median is known this well: half a 95 % interval over the median.
    pub noise: f64,
    /// After this time no more than `min` samples are taken.
    pub wall: Duration,
    /// Launches of each contender before the first sample.
    pub warmup: usize,
}

impl Default for Sampling {
    fn default() -> Self {
        Self { min: 10, max: 50, noise: 0.005, wall: Duration::from_secs(2), warmup: 2 }
    }
}

impl Sampling {
    /// Modelled times are the same in every run: two samples show that.
    pub fn modelled() -> Self {
        Self { min: 2, max: 2, noise: 0.0, wall: Duration::ZERO, warmup: 0 }
    }
}

/// Which cases a judge executes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Extent {
    /// All, and the spec is linted by them.
    All,
    /// A few small ones, beside a judge that executes all.
    Small {
        /// Bytes of all buffers of a case, at most.
        bytes: u64,
        /// Operations that a case declares, at most.
        flops: u64,
        /// How many cases.
        cases: usize,
    },
}

impl Extent {
    /// What the CPU device executes within a second or so, with every check.
    pub fn screen() -> Self {
        Self::Small { bytes: 4 << 20, flops: 1 << 25, cases: 8 }
    }
}

/// Everything that a [`HostJudge`](super::HostJudge) has to know.
#[derive(Clone)]
pub struct HostJudgeOptions {
    /// The program of the device process.
    pub device: HostProgram,
    /// The program of the reference process: the same binary, as a rule with the same variables.
    pub reference: HostProgram,
    /// The kernel that the host code has to be about; `None` takes any.
    pub kernel: Option<String>,
    /// Which GPU.
    pub ordinal: u32,
    /// The spec's tolerance; `None` takes the defaults by dtype.
    pub tolerance: Option<Tolerance>,
    /// Writable globals that the spec allows.
    pub state: Vec<String>,
    /// Which cases it executes.
    pub extent: Extent,
    /// Sets of inputs for each case, made once and used for every candidate.
    pub pool: usize,
    /// Sets of inputs for each case that are made for one [`validate_fresh`](super::Judge::validate_fresh).
    pub fresh: usize,
    /// Limits.
    pub deadlines: Deadlines,
    /// Sampling rules on a real device.
    pub sampling: Sampling,
    /// Knows which lines of a source are behind a candidate's PTX.
    pub lines: Option<Arc<dyn Lines>>,
    /// Folder of the device locks; `None` for a device that needs no turn, such as the CPU.
    pub locks: Option<PathBuf>,
    /// Folders for bulk files, best first.
    pub roots: Vec<PathBuf>,
    /// Set to end whatever is running.
    pub interrupt: Arc<AtomicBool>,
    /// Told when people have to wait.
    pub notice: Notice,
}

impl HostJudgeOptions {
    /// The defaults for a program: device 0, three sets a case, no lock.
    pub fn new(program: HostProgram) -> Self {
        Self {
            reference: program.clone(),
            device: program,
            kernel: None,
            ordinal: 0,
            tolerance: None,
            state: Vec::new(),
            extent: Extent::All,
            pool: 3,
            fresh: 2,
            deadlines: Deadlines::default(),
            sampling: Sampling::default(),
            lines: None,
            locks: None,
            roots: Session::default_roots(),
            interrupt: Arc::default(),
            notice: Arc::new(|_| ()),
        }
    }
}

impl fmt::Debug for HostJudgeOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HostJudgeOptions").field("device", &self.device).finish_non_exhaustive()
    }
}
