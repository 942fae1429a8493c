//! Execution: a launch's shared state, and what an instruction sees of it.
//!
//! A block runs on one thread of the host, its warps in turn (`block`); a warp is 32 lanes in lockstep with fragments
//! where they have diverged (`warp`). Instruction families have a file each. Nothing here parses or decodes.

pub(crate) mod atomic;
pub(crate) mod block;
pub(crate) mod bulk;
pub(crate) mod carry;
pub(crate) mod cluster;
pub(crate) mod compare;
pub(crate) mod convert;
pub(crate) mod copies;
pub(crate) mod exchange;
pub(crate) mod float;
pub(crate) mod half;
pub(crate) mod int;
pub(crate) mod local;
pub(crate) mod matrix;
pub(crate) mod mbarrier;
pub(crate) mod memory;
pub(crate) mod printf;
pub(crate) mod quad;
pub(crate) mod race;
pub(crate) mod regs;
pub(crate) mod shared;
pub(crate) mod soft;
pub(crate) mod system;
mod uniform;
pub(crate) mod video;
pub(crate) mod warp;

pub(crate) use regs::{LaneFn, Regs};

use crate::check::{Access, Fault, FaultKind, Level};
use crate::count::Counters;
use crate::memory::Memory;
use crate::parse::Space;
use crate::program::{Inst, Kernel};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicI64, Ordering::Relaxed};

/// Generic addresses of shared, local and parameter space are offsets plus one of these.
pub(crate) const SHARED_WINDOW: u64 = 1 << 62;
pub(crate) const LOCAL_WINDOW: u64 = 1 << 61;
pub(crate) const PARAM_WINDOW: u64 = 1 << 60;
/// What a function's address looks like: the callee's index plus this.
pub(crate) const FUNCTION_TAG: u64 = 0x00f0_0000_0000_0000;

/// Everything that the blocks of a launch share.
pub(crate) struct Launch<'a> {
    pub kernel: &'a Kernel,
    pub memory: &'a Memory,
    pub params: &'a [u8],
    /// Addresses of the module's variables, by index.
    pub symbols: &'a [u64],
    /// Names of the module's source files, by `.file` index.
    pub files: &'a std::collections::BTreeMap<u32, String>,
    pub grid: [u32; 3],
    pub block: [u32; 3],
    pub dynamic_shared: u32,
    pub level: Level,
    pub counting: bool,
    pub sms: u32,
    pub grid_id: u64,
    /// Warp instructions left.
    pub budget: AtomicI64,
    pub budget_total: u64,
    pub stop: AtomicBool,
    pub faults: Mutex<Vec<(u32, Fault)>>,
    pub output: &'a (dyn Fn(&str) + Sync),
    /// Shadow of global memory; `None`: races there are not judged.
    pub races: Option<race::GlobalShadow>,
}

impl Launch<'_> {
    pub fn threads(&self) -> u32 {
        self.block[0] * self.block[1] * self.block[2]
    }

    /// The index of thread `linear` of a block.
    pub fn thread(&self, linear: u32) -> [u32; 3] {
        let [x, y, _] = self.block;
        [linear % x, linear / x % y, linear / (x * y)]
    }

    /// Records a fault; one record for each instruction and kind.
    pub fn report(&self, pc: u32, trap: &Trap, block: [u32; 3], warp: u32) {
        let kernel = self.kernel;
        let origin = kernel.origin(pc);
        let fault = Fault {
            kind: trap.kind.clone(),
            kernel: kernel.name.clone(),
            instruction: kernel.instruction_name(pc).to_owned(),
            ptx_line: origin.pos.line,
            source: origin.source.and_then(|s| Some((self.files.get(&s.file)?.clone(), s.line))),
            block,
            thread: self.thread((warp * 32 + trap.lane).min(self.threads().saturating_sub(1))),
            access: trap.access.clone(),
            occurrences: 1,
        };
        if fault.kind.is_fatal() {
            self.stop.store(true, Relaxed);
        }
        let mut faults = self.faults.lock().unwrap_or_else(|e| e.into_inner());
        match faults.iter_mut().find(|(at, f)| *at == pc && f.kind.name() == fault.kind.name()) {
            Some((_, known)) => known.occurrences += 1,
            None => faults.push((pc, fault)),
        }
    }
}

/// What an instruction raises: completed with place and thread by [`Launch::report`].
#[derive(Debug)]
pub(crate) struct TrapInfo {
    pub kind: FaultKind,
    pub lane: u32,
    pub access: Option<Access>,
}

pub(crate) type Trap = Box<TrapInfo>;

pub(crate) fn trap(kind: FaultKind, lane: u32) -> Trap {
    Box::new(TrapInfo { kind, lane, access: None })
}

/// A block's own state beside its warps.
pub(crate) struct BlockState {
    pub index: [u32; 3],
    /// The same as one number.
    pub linear: u32,
    pub shared: shared::Shared,
    pub counters: Counters,
    /// Warp instructions that this block has executed: its clock.
    pub clock: u64,
    pub sm: u32,
    pub(in crate::exec) barriers: block::Barriers,
    pub(in crate::exec) cluster: warp::ClusterBarrier,
    pub clocks: race::Clocks,
    pub shadow: race::SharedShadow,
    /// Asynchronous copies to shared memory.
    pub copies: copies::Copies,
    /// What of shared memory bulk copies read.
    pub sources: copies::Copies,
}

/// A warp's own state beside its registers.
pub(crate) struct WarpState {
    pub index: u32,
    /// Lanes that have not exited.
    pub alive: u32,
    pub local: local::Local,
}

/// What an instruction that reaches beyond registers works with.
pub(crate) struct Exec<'a> {
    pub launch: &'a Launch<'a>,
    pub block: &'a mut BlockState,
    pub warp: &'a mut WarpState,
    pub regs: &'a mut Regs,
    pub pc: u32,
}

impl Exec<'_> {
    /// Lanes that execute a `.sync` instruction though its member mask does not name them.
    fn outside_mask(&self, i: &Inst, m: u32) -> u32 {
        if i.c == crate::program::NONE {
            return 0;
        }
        let members = self.regs.cells::<u32>(i.c);
        let mut inside = 0;
        for lane in 0..32 {
            inside |= members[lane] & 1 << lane;
        }
        m & !inside
    }

    /// Addresses of all lanes: row `a` (32-bit when `narrow`) plus the offset.
    #[inline(always)]
    pub fn addresses(&self, i: &Inst, narrow: bool) -> [u64; 32] {
        let offset = i.imm as u64;
        let mut out = [0; 32];
        if narrow {
            let cells = self.regs.cells::<u32>(i.a);
            for lane in 0..32 {
                out[lane] = u64::from(cells[lane].wrapping_add(offset as u32));
            }
        } else {
            let cells = self.regs.cells::<u64>(i.a);
            for lane in 0..32 {
                out[lane] = cells[lane].wrapping_add(offset);
            }
        }
        out
    }

    /// Records what does not end the kernel; gives back what does.
    pub fn raise(&self, trap: Trap) -> Result<(), Trap> {
        if trap.kind.is_fatal() {
            return Err(trap);
        }
        self.launch.report(self.pc, &trap, self.block.index, self.warp.index);
        Ok(())
    }

    #[cold]
    #[inline(never)]
    pub fn access_trap(
        &self,
        kind: FaultKind,
        lane: u32,
        space: Space,
        address: u64,
        bytes: u64,
        write: bool,
    ) -> Trap {
        let buffer = match space {
            Space::Global | Space::Const | Space::Generic => {
                self.launch.memory.near(address).map(|(b, offset)| (b.kind.clone(), b.len, offset))
            }
            _ => None,
        };
        let space = if space == Space::Generic { Space::Global } else { space };
        Box::new(TrapInfo { kind, lane, access: Some(Access { space, address, bytes, write, buffer }) })
    }
}

/// Lanes of a mask, lowest first.
#[inline(always)]
pub(crate) fn lanes(mask: u32) -> impl Iterator<Item = usize> {
    let mut left = mask;
    std::iter::from_fn(move || {
        if left == 0 {
            return None;
        }
        let lane = left.trailing_zeros();
        left &= left - 1;
        Some(lane as usize)
    })
}
