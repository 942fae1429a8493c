//! Requests, replies and the facts that they carry. Every request gets exactly one reply.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// Counted up when a message changes meaning; both sides refuse another version than their own.
pub const PROTOCOL_VERSION: u32 = 3;

/// How many distributions the inputs of a set are drawn from, by the remainder of the set's seed.
pub const MIXED_DISTRIBUTIONS: u64 = 8;

/// Which half of the work a host process does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Role {
    /// Owns the GPU and executes candidates; its word about results is never taken.
    Device,
    /// Makes inputs and references and compares; never opens a GPU.
    Reference,
}

/// The first message of a host process, before any request.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Hello {
    /// [`PROTOCOL_VERSION`] of the host process.
    pub protocol: u32,
    /// Version of the fsr-host crate, for messages.
    pub host: String,
    /// The role that it took.
    pub role: Role,
}

/// Values of tunables and launch parameters, by the names that the spec gives them.
pub type Tunables = BTreeMap<String, u32>;

/// A problem size of the host launch code, by its position in [`Description::cases`].
pub type CaseId = u32;

/// One set of inputs of a case; chosen by `cargo fsr`, unique within a run.
pub type SetId = u64;

/// A loaded kernel in the device process; chosen by `cargo fsr`.
pub type ModuleId = u64;

/// What a host process is asked to do.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(tag = "do", rename_all = "kebab-case")]
pub enum Request {
    /// Both roles: lists the cases. Answered by [`Reply::Description`].
    Describe,

    /// Reference: makes the inputs of one set from a seed, writes them to the shared folder and keeps the reference
    /// results. Answered by [`Reply::SetMade`].
    MakeSet {
        /// The problem size.
        case: CaseId,
        /// The new set.
        set: SetId,
        /// Everything random in the set comes from this. Its remainder modulo [`MIXED_DISTRIBUTIONS`] picks the
        /// distributions of the inputs, so a pool whose seeds have different remainders covers more of them.
        seed: u64,
        /// Another set of the case: the new one is its copy, but for one element of one input, which is drawn anew.
        #[serde(default)]
        like: Option<SetId>,
    },
    /// Reference: compares the dumped buffers of one launch with the reference. Answered by [`Reply::Compared`].
    Compare {
        /// The problem size.
        case: CaseId,
        /// The set that the launch ran on.
        set: SetId,
        /// Which dump to read, see [`files::dump`](crate::files::dump).
        dump: u64,
        /// Whether inputs were dumped too and must be unchanged.
        inputs: bool,
        /// The spec's own tolerance; `None` takes the default by dtype.
        tolerance: Option<Tolerance>,
    },

    /// Device: says which device an ordinal stands for, without touching it. Answered by [`Reply::Identified`].
    Identify {
        /// Ordinal of the device.
        ordinal: u32,
    },
    /// Device: opens the GPU, and may measure it. Answered by [`Reply::Opened`].
    Open {
        /// Ordinal of the device.
        ordinal: u32,
    },
    /// Device: loads PTX and looks up its entries. Answered by [`Reply::Loaded`].
    Load {
        /// Name for later requests.
        module: ModuleId,
        /// The PTX text.
        ptx: String,
        /// Names of the kernels that the launch code wants.
        entries: Vec<String>,
        /// Values handed to the launch code.
        tunables: Tunables,
    },
    /// Device: forgets a module. Answered by [`Reply::Done`].
    Unload {
        /// The module.
        module: ModuleId,
    },
    /// Device: places a set's inputs, from the shared folder, in device memory. Answered by [`Reply::Done`].
    Upload {
        /// The problem size.
        case: CaseId,
        /// The set.
        set: SetId,
    },
    /// Device: poisons outputs, restores in-outs, launches once, waits, checks redzones and dumps buffers.
    /// Answered by [`Reply::Launched`].
    Launch {
        /// The kernel.
        module: ModuleId,
        /// The problem size.
        case: CaseId,
        /// The inputs.
        set: SetId,
        /// Whether to flush the L2 between placing inputs and launching, as a timed launch needs.
        flush: bool,
        /// Whether the buffers of this launch lie at addresses of their own, where no launch had any before.
        #[serde(default)]
        moved: bool,
        /// What to write to the shared folder afterwards.
        dump: Option<Dump>,
    },
    /// Device: times copies of as many bytes as the case declares, the floor of a memory-bound kernel.
    /// Answered by [`Reply::Calibrated`].
    Calibrate {
        /// Bytes moved in all: half read, half written.
        bytes: u64,
        /// How many copies.
        samples: u32,
    },
    /// Both roles: forgets a set. Answered by [`Reply::Done`].
    DropSet {
        /// The problem size.
        case: CaseId,
        /// The set.
        set: SetId,
    },
    /// Both roles: ends the process after the reply [`Reply::Done`].
    Exit,
}

/// Where a launch leaves its buffers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Dump {
    /// Number in the file names, so that one dump can be compared while the next is written.
    pub slot: u64,
    /// Inputs too, to see that they are unchanged.
    pub inputs: bool,
}

/// The answer to one [`Request`].
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(tag = "reply", rename_all = "kebab-case")]
pub enum Reply {
    /// To [`Request::Describe`].
    Description(Description),
    /// To [`Request::MakeSet`].
    SetMade {
        /// Seconds spent on inputs and reference.
        seconds: f64,
    },
    /// To [`Request::Compare`].
    Compared(Comparison),
    /// To [`Request::Identify`].
    Identified {
        /// 32 hexadecimal digits; of the instance, where a GPU is parted.
        uuid: String,
        /// True on the CPU device, which any number of processes may use at once.
        modelled: bool,
    },
    /// To [`Request::Open`].
    Opened(DeviceFacts),
    /// To [`Request::Load`].
    Loaded {
        /// One a requested entry, in that order.
        entries: Vec<EntryResources>,
        /// Names of writable module globals; a candidate that has any is refused.
        writable_globals: Vec<String>,
    },
    /// To [`Request::Launch`].
    Launched {
        /// Device time between the events around the launch, in nanoseconds.
        nanos: f64,
        /// Host time around the same launch, in nanoseconds: a cross-check of the events.
        wall_nanos: f64,
        /// Damaged redzones; empty when the kernel stayed inside its buffers.
        redzones: Vec<RedzoneHit>,
    },
    /// To [`Request::Calibrate`]: one device time a copy, in nanoseconds.
    Calibrated {
        /// Nanoseconds of each copy.
        nanos: Vec<f64>,
    },
    /// Nothing to report.
    Done,
    /// The request could not be carried out.
    Failed(HostError),
}

/// All that the host launch code declares.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Description {
    /// Kernel name as the host code gives it.
    pub kernel: String,
    /// The cases in declaration order; a [`CaseId`] indexes them.
    pub cases: Vec<CaseInfo>,
}

/// One problem size.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CaseInfo {
    /// For people, unique: `rows=4096 cols=4096`.
    pub name: String,
    /// Dimension names and values.
    pub dims: Vec<(String, u64)>,
    /// Whether this size is timed, or only validated.
    pub timed: bool,
    /// Whether this size was drawn for this run: nobody who wrote a kernel can have seen it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub drawn: bool,
    /// Buffers in declaration order.
    pub buffers: Vec<BufferInfo>,
    /// Bytes that any correct kernel must move between device memory and the chip.
    pub work_bytes: u64,
    /// Operations that any correct kernel must do; 0 when not declared.
    pub work_flops: u64,
}

/// What a kernel does with a buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum BufferRole {
    /// Read only; checked to be unchanged.
    Input,
    /// Written whole; poisoned before each launch.
    Output,
    /// Read and written; restored before each launch and compared afterwards.
    InOut,
}

/// Element type of a buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[allow(missing_docs)]
pub enum Dtype {
    F16,
    Bf16,
    F32,
    F64,
    I8,
    I16,
    I32,
    I64,
    U8,
    U16,
    U32,
    U64,
}

impl Dtype {
    /// Bytes of one element.
    pub const fn size(self) -> usize {
        match self {
            Self::I8 | Self::U8 => 1,
            Self::F16 | Self::Bf16 | Self::I16 | Self::U16 => 2,
            Self::F32 | Self::I32 | Self::U32 => 4,
            Self::F64 | Self::I64 | Self::U64 => 8,
        }
    }

    /// Whether values are compared with a tolerance; integers must be equal.
    pub const fn is_float(self) -> bool {
        matches!(self, Self::F16 | Self::Bf16 | Self::F32 | Self::F64)
    }
}

impl std::fmt::Display for Dtype {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::F16 => "f16",
            Self::Bf16 => "bf16",
            Self::F32 => "f32",
            Self::F64 => "f64",
            Self::I8 => "i8",
            Self::I16 => "i16",
            Self::I32 => "i32",
            Self::I64 => "i64",
            Self::U8 => "u8",
            Self::U16 => "u16",
            Self::U32 => "u32",
            Self::U64 => "u64",
        })
    }
}

/// One device buffer of a case.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct BufferInfo {
    /// Unique within the case.
    pub name: String,
    /// Read, written or both.
    pub role: BufferRole,
    /// Element type.
    pub dtype: Dtype,
    /// Row-major extents; the product is the element count. Empty for a scalar that launch code passes by value: it has
    /// a file like any input, but no device memory, and is never dumped.
    pub shape: Vec<u64>,
}

impl BufferInfo {
    /// Number of elements.
    pub fn len(&self) -> u64 {
        self.shape.iter().product()
    }

    /// Whether it is a value passed to the kernel, without device memory.
    pub fn is_scalar(&self) -> bool {
        self.shape.is_empty()
    }

    /// Whether it holds no element.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Size in bytes.
    pub fn bytes(&self) -> u64 {
        self.len() * self.dtype.size() as u64
    }
}

/// Allowed deviation of one element: `|got - expected| <= atol + rtol * scale`, where `scale` is the magnitude of the
/// reference as fsr-host defines it.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Tolerance {
    /// Relative part.
    pub rtol: f64,
    /// Absolute part, in units of the output.
    pub atol: f64,
}

/// What the device is, read from its driver.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct DeviceFacts {
    /// Marketing name.
    pub name: String,
    /// Compute capability.
    pub compute_capability: (u32, u32),
    /// Driver's CUDA version as the driver reports it: 13000 for 13.0.
    pub driver: u32,
    /// Streaming multiprocessors.
    pub multiprocessors: u32,
    /// Bytes of global memory.
    pub memory_bytes: u64,
    /// Bytes of L2.
    pub l2_bytes: u64,
    /// Shared memory of one multiprocessor, bytes.
    pub shared_per_multiprocessor: u32,
    /// Largest shared memory of one block after opting in, bytes.
    pub shared_per_block_optin: u32,
    /// 32-bit registers of one multiprocessor.
    pub registers_per_multiprocessor: u32,
    /// Largest block, threads.
    pub max_threads_per_block: u32,
    /// Threads resident on one multiprocessor.
    pub max_threads_per_multiprocessor: u32,
    /// SM clock, kHz.
    pub clock_khz: u32,
    /// Memory clock, kHz.
    pub memory_clock_khz: u32,
    /// Memory bus width, bits.
    pub bus_bits: u32,
    /// Measured device-to-device copy, bytes per second counting reads and writes; 0 when not measured.
    pub copy_bandwidth: f64,
    /// True on the CPU device: times are modelled.
    pub modelled: bool,
}

/// What one kernel of a module needs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct EntryResources {
    /// Entry name.
    pub entry: String,
    /// 32-bit registers a thread.
    pub registers: u32,
    /// Bytes of local memory a thread: spills and stack.
    pub local_bytes: u32,
    /// Bytes of statically declared shared memory a block.
    pub shared_bytes: u32,
    /// Largest block that the kernel can be launched with.
    pub max_threads: u32,
}

/// A write outside a buffer, found in the guard bytes around it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RedzoneHit {
    /// The buffer.
    pub buffer: String,
    /// True: before the first byte, false: behind the last.
    pub before: bool,
    /// Bytes between the buffer's edge and the nearest damaged byte, 0 for an adjacent one.
    pub distance: u64,
    /// How many guard bytes were damaged.
    pub bytes: u64,
}

/// The reference process's judgement of one launch.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Comparison {
    /// One for each output and in-out, in declaration order.
    pub outputs: Vec<OutputComparison>,
    /// Inputs that the kernel changed.
    pub changed_inputs: Vec<String>,
}

impl Comparison {
    /// Every element within tolerance and no input changed.
    pub fn is_match(&self) -> bool {
        self.changed_inputs.is_empty() && self.outputs.iter().all(|output| output.mismatches == 0)
    }
}

/// How one output compares.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct OutputComparison {
    /// The buffer.
    pub buffer: String,
    /// Elements compared: all of them.
    pub elements: u64,
    /// Elements outside the tolerance.
    pub mismatches: u64,
    /// Elements that still hold the poison pattern.
    pub untouched: u64,
    /// Largest absolute error; `f64::MAX` where a value is not finite and should be (JSON has no infinity).
    pub max_abs: f64,
    /// Largest error relative to the element's scale; `f64::MAX` likewise.
    pub max_rel: f64,
    /// The tolerance that was applied.
    pub tolerance: Tolerance,
    /// Mean of the finite elements of the reference.
    #[serde(default)]
    pub expected_mean: f64,
    /// The first few elements outside the tolerance.
    pub first: Vec<Mismatch>,
    /// Where the mismatches lie, in words: `all in the last 3 columns`; empty when there is no pattern.
    pub pattern: String,
}

/// One element outside its tolerance.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Mismatch {
    /// Position in the buffer's shape.
    pub index: Vec<u64>,
    /// What the reference says, in shortest round-trip form.
    pub expected: String,
    /// What the kernel wrote.
    pub got: String,
}

/// Why a request failed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum HostError {
    /// The machine has no driver or no device.
    #[error("no CUDA device: {message}")]
    NoDevice {
        /// What the driver said.
        message: String,
    },
    /// The driver refused the PTX.
    #[error("the driver refused the PTX: {message}")]
    Load {
        /// Error name and the JIT's log.
        message: String,
    },
    /// An entry is not in the module.
    #[error("the PTX has no entry `{entry}`")]
    NoEntry {
        /// The missing name.
        entry: String,
    },
    /// The launch itself was refused; the device is still usable.
    #[error("the launch failed: {message}")]
    Launch {
        /// What the launch code returned.
        message: String,
    },
    /// A CUDA error while or after the kernel ran; the process must be replaced.
    #[error("the kernel failed: {message}")]
    Execution {
        /// Error name.
        message: String,
    },
    /// Device memory ran out while the harness placed buffers.
    #[error("out of device memory: {message}")]
    OutOfMemory {
        /// What was asked for.
        message: String,
    },
    /// The host launch code is at fault: two cases with one name, NaN in a reference, a panic.
    #[error("fault in the host launch code: {message}")]
    HostCode {
        /// What and where.
        message: String,
    },
    /// `cargo fsr` asked for something that cannot be; a bug on its side.
    #[error("request out of order: {message}")]
    Protocol {
        /// What was wrong.
        message: String,
    },
    /// The shared folder could not be read or written.
    #[error("shared folder: {message}")]
    Io {
        /// Path and cause.
        message: String,
    },
}
