//! What executed instructions cost: counted for each instruction, summed for a report.

use crate::program::{Class, Kernel};

/// Counts of one instruction of the text.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Line {
    pub issued: u64,
    pub lanes: u64,
    /// Memory requests (warp instructions with an active lane).
    pub requests: u64,
    /// Sectors of 32 bytes, or passes over the shared memory's banks.
    pub transactions: u64,
    pub divergent: u64,
}

/// Counts while running: one line for each instruction.
pub(crate) struct Counters {
    lines: Vec<Line>,
    pub enabled: bool,
}

impl Counters {
    pub fn new(instructions: usize, enabled: bool) -> Self {
        Counters { lines: vec![Line::default(); instructions], enabled }
    }

    #[inline(always)]
    pub fn issue(&mut self, pc: u32, active: u32) {
        if let Some(line) = self.lines.get_mut(pc as usize) {
            line.issued += 1;
            line.lanes += u64::from(active.count_ones());
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

    pub fn clear(&mut self) {
        self.lines.fill(Line::default());
    }

    pub fn merge(&mut self, other: &Counters) {
        for (mine, theirs) in self.lines.iter_mut().zip(&other.lines) {
            mine.issued += theirs.issued;
            mine.lanes += theirs.lanes;
            mine.requests += theirs.requests;
            mine.transactions += theirs.transactions;
            mine.divergent += theirs.divergent;
        }
    }

    pub fn summarise(&self, kernel: &Kernel) -> Counts {
        let mut counts = Counts::default();
        for (line, inst) in self.lines.iter().zip(&kernel.code) {
            counts.warp_instructions += line.issued;
            counts.thread_instructions += line.lanes;
            counts.by_class[inst.class as usize] += line.issued;
            counts.divergent_branches += line.divergent;
            let bytes = line.lanes * u64::from(inst.bytes);
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
