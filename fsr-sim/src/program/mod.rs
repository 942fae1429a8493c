//! The compact program that executes: one [`Kernel`] for each entry, with all functions that it reaches.
//!
//! Decoding happens once, when a module is loaded; it resolves every name, lays out registers, frames and shared
//! memory, and lists what cannot be executed. Nothing here runs.

mod alu;
mod async_copy;
mod builder;
mod cluster;
mod decode;
mod hints;
mod inst;
mod matrix;
mod mbarrier;
mod memory;
mod module;
mod wide;

pub(crate) use inst::{
    Action, Barrier, BarrierKind, Body, Builtin, CallSite, Callee, Control, Extra, Inst, MemoryFn, NONE,
    Origin, Special, Uniform,
};
pub use inst::{Class, Param};
pub(crate) use module::Program;

use crate::parse::Pos;
use std::collections::BTreeMap;

/// An instruction that a kernel contains and the simulator does not execute.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unsupported {
    /// The instruction as written, or `call name`.
    pub instruction: String,
    /// Line of the PTX text.
    pub line: u32,
}

/// An entry, ready to run.
#[derive(Debug)]
pub(crate) struct Kernel {
    pub name: String,
    pub code: Vec<Inst>,
    pub origins: Vec<Origin>,
    /// Index into `names` for each instruction.
    pub name_of: Vec<u32>,
    pub names: Vec<String>,
    pub extras: Vec<Extra>,
    pub tables: Vec<Vec<u32>>,
    pub calls: Vec<CallSite>,
    pub functions: Vec<Callee>,
    pub rows: u32,
    pub preds: u32,
    /// Rows filled before a warp starts; the flag says 64 bits.
    pub uniforms: Vec<(u32, bool, Uniform)>,
    pub params: Vec<Param>,
    pub param_bytes: u32,
    pub static_shared: u32,
    pub dynamic_align: u32,
    pub entry_frame: u32,
    pub frame_row: Option<u32>,
    pub max_threads: Option<u32>,
    pub required_block: Option<[u32; 3]>,
    pub local_bytes: u32,
    /// Most 32-bit registers alive by declaration: an upper bound of what a compiler would allocate.
    pub declared_registers: u32,
    pub unsupported: Vec<Unsupported>,
    /// By instruction: the bytes of a load that are used, where not all are.
    pub used_bytes: BTreeMap<u32, u32>,
    /// It has fences, or volatile or ordered accesses: it may synchronise through memory.
    pub synchronises: bool,
    /// Compares and exchanges somewhere.
    pub exchanges: bool,
}

impl Kernel {
    /// Where dynamic shared memory begins.
    pub fn dynamic_offset(&self) -> u32 {
        self.static_shared.next_multiple_of(self.dynamic_align.max(1))
    }

    pub fn origin(&self, pc: u32) -> Origin {
        self.origins.get(pc as usize).copied().unwrap_or_default()
    }

    pub fn instruction_name(&self, pc: u32) -> &str {
        let index = self.name_of.get(pc as usize).copied().unwrap_or(0);
        self.names.get(index as usize).map_or("", String::as_str)
    }
}

impl std::fmt::Debug for Inst {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{:?} d{} a{} b{} c{}", self.class, self.d, self.a, self.b, self.c)
    }
}

/// Why an instruction was not decoded.
#[derive(Debug)]
pub(crate) enum Refusal {
    /// Beyond this simulator: launches that contain it are refused by name.
    Unsupported,
    /// Not valid PTX.
    Invalid(String),
}

impl Refusal {
    fn at(self, pos: Pos) -> Result<(), crate::parse::ParseError> {
        match self {
            Refusal::Unsupported => Ok(()),
            Refusal::Invalid(message) => Err(crate::parse::ParseError { pos, message }),
        }
    }
}

pub(crate) type Decoded<T> = Result<T, Refusal>;

pub(crate) fn invalid<T>(message: impl Into<String>) -> Decoded<T> {
    Err(Refusal::Invalid(message.into()))
}
