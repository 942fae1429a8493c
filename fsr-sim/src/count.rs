//! What executed instructions cost: counted for each instruction, summed for a report.

use crate::program::{Class, Kernel};

/// Counts of one instruction of the text.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Line {
    /// How much more often than the instruction before it was issued, modulo 2^64: a straight run of instructions
    /// counts at its two ends.
    issued: u64,
    /// The same for lanes that came by.
    lanes: u64,
    /// Lanes that came by and were predicated off.
    idle: u64,
    /// Memory requests (warp instructions with an active lane).
    requests: u64,
    /// Sectors of 32 bytes, or passes over the shared memory's banks.
    transactions: u64,
    divergent: u64,
}

/// Counts while running: one line for each instruction, and one for the end.
#[derive(Default)]
pub(crate) struct Counters {
    lines: Vec<Line>,
    pub enabled: bool,
}

impl Counters {
    pub fn new(instructions: usize, enabled: bool) -> Self {
        Counters { lines: vec![Line::default(); instructions + 1], enabled }
    }

    /// The instructions from `from` to before `to` were issued for the lanes of `mask`.
    #[inline(always)]
    pub fn issue(&mut self, from: u32, to: u32, mask: u32) {
        let lanes = if mask == u32::MAX { 32 } else { mask.count_ones().into() };
        if let Some(line) = self.lines.get_mut(from as usize) {
            line.issued = line.issued.wrapping_add(1);
            line.lanes = line.lanes.wrapping_add(lanes);
        }
        if let Some(line) = self.lines.get_mut(to as usize) {
            line.issued = line.issued.wrapping_sub(1);
            line.lanes = line.lanes.wrapping_sub(lanes);
        }
    }

    /// Lanes that an instruction was issued for and that are predicated off.
    #[inline(always)]
    pub fn idle(&mut self, pc: u32, lanes: u32) {
        if let Some(line) = self.lines.get_mut(pc as usize) {
            line.idle += u64::from(lanes.count_ones());
        }
    }

    #[inline(always)]
    pub fn request(&mut self, pc: u32, transactions: u32) {
        if let Some(line) = self.lines.get_mut(pc as usize) {
            line.requests += 1;
            line.transactions += u64::from(transactions);
        }
    }

    pub fn diverge(&mut self, pc: u32) {
        if let Some(line) = self.lines.get_mut(pc as usize) {
            line.divergent += 1;
        }
    }

    pub fn merge(&mut self, other: &Counters) {
        for (mine, theirs) in self.lines.iter_mut().zip(&other.lines) {
            mine.issued = mine.issued.wrapping_add(theirs.issued);
            mine.lanes = mine.lanes.wrapping_add(theirs.lanes);
            mine.idle += theirs.idle;
            mine.requests += theirs.requests;
            mine.transactions += theirs.transactions;
            mine.divergent += theirs.divergent;
        }
    }

    pub fn summarise(&self, kernel: &Kernel) -> Counts {
        let mut counts = Counts::default();
        let (mut issued, mut came) = (0u64, 0u64);
        for (line, inst) in self.lines.iter().zip(&kernel.code) {
            issued = issued.wrapping_add(line.issued);
            came = came.wrapping_add(line.lanes);
            let lanes = came - line.idle;
            counts.warp_instructions += issued;
            counts.thread_instructions += lanes;
            counts.by_class[inst.class as usize] += issued;
            counts.divergent_branches += line.divergent;
            let bytes = lanes * u64::from(inst.bytes);
            let traffic = match inst.class {
                Class::LoadGlobal => &mut counts.global_load,
                Class::StoreGlobal => &mut counts.global_store,
                Class::LoadShared => &mut counts.shared_load,
                Class::StoreShared => &mut counts.shared_store,
                Class::LoadLocal | Class::StoreLocal => &mut counts.local,
                Class::Atomic => &mut counts.atomic,
                Class::Async => &mut counts.copies,
                _ => continue,
            };
            traffic.requests += line.requests;
            traffic.transactions += line.transactions;
            traffic.bytes += bytes;
        }
        counts
    }
}

/// Requests of one kind.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Traffic {
    /// Warp-wide requests.
    pub requests: u64,
    /// Sectors of 32 bytes (global), or wavefronts over 32 banks (shared).
    pub transactions: u64,
    /// Bytes that active lanes asked for.
    pub bytes: u64,
}

impl Traffic {
    /// Sectors, or wavefronts, for each request; 0 without requests.
    pub fn per_request(&self) -> f64 {
        if self.requests == 0 { 0.0 } else { self.transactions as f64 / self.requests as f64 }
    }
}

/// Counts of a launch.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Instructions issued, once for each warp.
    pub warp_instructions: u64,
    /// The same, once for each active lane.
    pub thread_instructions: u64,
    /// Warp instructions by class, in the order of [`Class::ALL`].
    pub by_class: [u64; Class::ALL.len()],
    /// Branches whose lanes went both ways.
    pub divergent_branches: u64,
    /// Loads from global memory; transactions are sectors.
    pub global_load: Traffic,
    /// Stores to global memory; transactions are sectors.
    pub global_store: Traffic,
    /// Loads from shared memory; transactions are wavefronts.
    pub shared_load: Traffic,
    /// Stores to shared memory; transactions are wavefronts.
    pub shared_store: Traffic,
    /// Local memory.
    pub local: Traffic,
    /// Atomics, global and shared.
    pub atomic: Traffic,
    /// Asynchronous copies; transactions are sectors read.
    pub copies: Traffic,
}

impl Counts {
    /// Warp instructions of one class.
    pub fn of(&self, class: Class) -> u64 {
        self.by_class[class as usize]
    }

    /// Mean share of active lanes, between 0 and 1.
    pub fn lane_efficiency(&self) -> f64 {
        if self.warp_instructions == 0 {
            return 0.0;
        }
        self.thread_instructions as f64 / (self.warp_instructions as f64 * 32.0)
    }
}
