//! The internal program: what a kernel becomes once, before its first launch. Plain data; rows and predicates are
//! indices that decoding has proven to be within the kernel's register file.

use crate::exec::memory::Shape;
use crate::exec::{Exec, LaneFn, Trap};
use crate::parse::{Location, Pos};

/// A warp instruction that reaches beyond registers: memory, warp exchange, clocks.
///
/// Unsafe to call because it may be compiled for instruction sets that are checked for when it is chosen.
pub(crate) type MemoryFn = unsafe fn(&mut Exec<'_>, &Inst, u32) -> Result<(), Trap>;

/// What an instruction does.
#[derive(Clone, Copy)]
pub(crate) enum Action {
    /// Lane by lane in registers; cannot fail.
    Lane(LaneFn),
    /// Beyond registers; may fault. Not called with an empty mask.
    Memory(MemoryFn),
    /// As `Memory`, after all lanes of the member mask (row `c`) have arrived.
    Sync(MemoryFn),
    /// Changes which lanes run where.
    Control(Control),
}

/// Control transfer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Control {
    /// To `Inst::target`.
    Branch,
    /// To one of `Kernel::tables[target]`, index in row `a`.
    BranchIndexed,
    /// `Kernel::calls[target]`; row `a` holds the function handle where the call is indirect.
    Call,
    /// Back to the caller; from the entry: exit.
    Return,
    /// The lanes are done.
    Exit,
    /// `bar.warp.sync`, members in row `c`.
    WarpSync,
    /// `bar.sync`/`bar.arrive`/`bar.red`: see [`Barrier`].
    Barrier(Barrier),
    /// `barrier.cluster.arrive` or `.wait`.
    ClusterBarrier { wait: bool, aligned: bool },
    /// `trap`
    Trap,
    /// `brkpt`, `nanosleep`, spinning waits: lets others run.
    Yield,
}

/// A block barrier: number in row `a`, thread count in row `b` (`NONE`: the whole block).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Barrier {
    /// What arriving lanes get or wait for.
    pub kind: BarrierKind,
    /// `.aligned`: all lanes of a warp must arrive together.
    pub aligned: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum BarrierKind {
    Sync,
    Arrive,
    /// Predicate in `c` (inverted when `aux` is 1); result predicate `d`.
    RedAnd,
    RedOr,
    /// Result row `d`.
    RedPopc,
}

/// No row, no predicate.
pub(crate) const NONE: u32 = u32::MAX;

/// One decoded instruction.
#[derive(Clone, Copy)]
pub(crate) struct Inst {
    pub action: Action,
    /// Destination row or predicate.
    pub d: u32,
    /// Source rows or predicates.
    pub a: u32,
    pub b: u32,
    pub c: u32,
    /// Guard predicate; 0 is always true.
    pub guard: u16,
    /// What an instruction is, for counting.
    pub class: Class,
    /// Bytes that an active lane asks memory for.
    pub bytes: u8,
    /// All ones when the guard is negated.
    pub invert: u32,
    /// Meaning depends on the action: flags, a second destination, the index of an extra.
    pub aux: u32,
    /// Branch target, table or call index.
    pub target: u32,
    /// Address offset or another constant.
    pub imm: i64,
}

impl Inst {
    /// An instruction without operands.
    pub fn new(action: Action, class: Class) -> Inst {
        Inst {
            action,
            d: NONE,
            a: NONE,
            b: NONE,
            c: NONE,
            guard: 0,
            class,
            bytes: 0,
            invert: 0,
            aux: 0,
            target: NONE,
            imm: 0,
        }
    }
}

/// What executed instructions are counted as.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[repr(u8)]
#[allow(missing_docs)]
pub enum Class {
    Float32,
    Float64,
    Half,
    Integer,
    Convert,
    Move,
    Compare,
    Special,
    Control,
    Barrier,
    WarpExchange,
    LoadGlobal,
    StoreGlobal,
    LoadShared,
    StoreShared,
    LoadLocal,
    StoreLocal,
    LoadConst,
    Atomic,
    Matrix,
    Async,
    Other,
}

impl Class {
    /// All of them, in order.
    pub const ALL: [Class; 22] = [
        Class::Float32,
        Class::Float64,
        Class::Half,
        Class::Integer,
        Class::Convert,
        Class::Move,
        Class::Compare,
        Class::Special,
        Class::Control,
        Class::Barrier,
        Class::WarpExchange,
        Class::LoadGlobal,
        Class::StoreGlobal,
        Class::LoadShared,
        Class::StoreShared,
        Class::LoadLocal,
        Class::StoreLocal,
        Class::LoadConst,
        Class::Atomic,
        Class::Matrix,
        Class::Async,
        Class::Other,
    ];

    /// A lower-case name with underscores.
    pub fn name(self) -> &'static str {
        match self {
            Class::Float32 => "float32",
            Class::Float64 => "float64",
            Class::Half => "half",
            Class::Integer => "integer",
            Class::Convert => "convert",
            Class::Move => "move",
            Class::Compare => "compare",
            Class::Special => "special",
            Class::Control => "control",
            Class::Barrier => "barrier",
            Class::WarpExchange => "warp_exchange",
            Class::LoadGlobal => "load_global",
            Class::StoreGlobal => "store_global",
            Class::LoadShared => "load_shared",
            Class::StoreShared => "store_shared",
            Class::LoadLocal => "load_local",
            Class::StoreLocal => "store_local",
            Class::LoadConst => "load_const",
            Class::Atomic => "atomic",
            Class::Matrix => "matrix",
            Class::Async => "async",
            Class::Other => "other",
        }
    }
}

/// A value that is the same for every lane and known before the launch.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Uniform {
    /// Bits.
    Value(u64),
    /// The address of module variable `index`, plus an offset.
    Symbol(u32, i64),
    /// `%ntid.x` and so on.
    Special(Special),
    /// What an entry's `ld.param` of this offset and shape loads.
    Param(u32, Shape),
}

/// Special registers that fill a row before a warp starts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Special {
    Tid(u8),
    Ntid(u8),
    Ctaid(u8),
    Nctaid(u8),
    LaneId,
    WarpId,
    NWarpId,
    SmId,
    NSmId,
    GridId,
    LanemaskEq,
    LanemaskLe,
    LanemaskLt,
    LanemaskGe,
    LanemaskGt,
    DynamicSmemSize,
    TotalSmemSize,
    /// Cluster registers of a launch without clusters: a cluster of one block.
    Zero,
    One,
    /// Each lane's frame base in local memory; changed by calls.
    FrameBase,
    /// Size of the static shared variables: where the dynamic ones begin.
    DynamicShared,
}

/// Where an instruction came from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Origin {
    pub pos: Pos,
    pub source: Option<Location>,
}

/// A parameter's place in the parameter buffer, in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Param {
    /// Offset from the start of the buffer.
    pub offset: u32,
    /// Size.
    pub size: u32,
}

/// A call site.
#[derive(Clone, Debug)]
pub(crate) struct CallSite {
    /// Callee index in `Kernel::functions`; `None`: the handle is in a register.
    pub callee: Option<u32>,
    /// Frame offsets of the argument variables, with sizes.
    pub args: Vec<Param>,
    /// Frame offsets of the result variables, with sizes.
    pub returns: Vec<Param>,
}

/// What a called function is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Body {
    /// PTX at this pc.
    Code(u32),
    /// Provided by the device.
    Builtin(Builtin),
    /// Declared only: unsupported when reached.
    Missing,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Builtin {
    Vprintf,
    AssertFail,
    Malloc,
    Free,
}

/// A function as a call needs it.
#[derive(Clone, Debug)]
pub(crate) struct Callee {
    pub name: String,
    /// Its place in the module: what its address is made of.
    pub handle: u32,
    pub body: Body,
    pub params: Vec<Param>,
    pub returns: Vec<Param>,
    /// Bytes of local memory that one activation takes.
    pub frame: u32,
    /// Rows and predicates that belong to it: saved around a call when it is recursive.
    pub rows: std::ops::Range<u32>,
    pub preds: std::ops::Range<u32>,
    pub recursive: bool,
}

/// Operands of an instruction that has more than three.
#[derive(Clone, Debug, Default)]
pub(crate) struct Extra {
    pub dst: Vec<u32>,
    pub a: Vec<u32>,
    pub b: Vec<u32>,
    pub c: Vec<u32>,
}
