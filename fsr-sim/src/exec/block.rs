//! One block: its warps in turn, its barriers, and all blocks of a grid over the host's threads.

use super::uniform::Uniforms;
use super::warp::{ClusterBarrier, Stop, Warp};
use super::{BlockState, Launch, WarpState, trap};
use crate::check::{FaultKind, Level};
use crate::count::Counters;
use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// Warp instructions that a warp runs before the next one's turn.
const QUANTUM: u32 = 1 << 14;
/// Rounds over its warps that a block gets before others that wait: blocks that wait for each other make progress.
const ROUNDS: u32 = 256;

/// A block barrier between arrivals and release.
#[derive(Clone, Copy, Debug, Default)]
struct BarrierState {
    threads: u32,
    rounded: u32,
    expected: Option<u32>,
    votes: (u32, u32),
    /// What those that arrived know.
    clock: [u32; 32],
}

/// The barriers of a block.
#[derive(Default)]
pub(super) struct Barriers {
    all: [BarrierState; 16],
    /// Those at which somebody has arrived, as a mask.
    waiting: u32,
}

impl Barriers {
    /// As before any arrival.
    fn reset(&mut self) {
        while self.waiting != 0 {
            self.take(self.waiting.trailing_zeros() as usize);
        }
    }

    fn take(&mut self, id: usize) -> BarrierState {
        self.waiting &= !(1 << id);
        std::mem::take(&mut self.all[id])
    }
}

impl BlockState {
    /// Threads that arrive at a barrier: as they are, and with whole warps counted as 32.
    pub(super) fn arrive(&mut self, id: usize, warp: u32, arrival: (u32, u32), expected: Option<u32>) {
        if let Some(barrier) = self.barriers.all.get_mut(id) {
            self.clocks.arrive(warp, &mut barrier.clock);
            barrier.threads += arrival.0;
            barrier.rounded += arrival.1;
            barrier.expected = barrier.expected.or(expected);
            self.barriers.waiting |= 1 << id;
        }
    }

    pub(super) fn vote(&mut self, id: usize, yes: u32, of: u32) {
        if let Some(barrier) = self.barriers.all.get_mut(id) {
            barrier.votes.0 += yes;
            barrier.votes.1 += of;
        }
    }
}

struct Block {
    state: BlockState,
    warps: Vec<Warp>,
}

/// What one thread of the host keeps from block to block.
struct Worker<'l> {
    launch: &'l Launch<'l>,
    uniforms: Uniforms,
    spare: Vec<Block>,
    /// Of all blocks; the one that runs has them.
    counters: Counters,
    /// Warp instructions that the budget has not been told of.
    spent: i64,
}

enum Progress {
    Done,
    Waiting,
    Stopped,
}

/// Blocks that no thread has taken.
struct Blocks {
    next: AtomicU64,
    total: u64,
    threads: u64,
}

impl Blocks {
    /// Some that follow each other, fewer towards the end: neighbours often share pages of memory, for whose records
    /// threads would wait for each other.
    fn take(&self) -> Range<u64> {
        let after =
            |first: u64| (first + ((self.total - first) / (8 * self.threads)).clamp(1, 64)).min(self.total);
        let (Ok(first) | Err(first)) = self.next.fetch_update(Relaxed, Relaxed, |first| Some(after(first)));
        first..after(first)
    }
}

/// Runs all blocks on `threads` threads; faults are in the launch.
pub(crate) fn run_grid(launch: &Launch<'_>, threads: usize) -> Counters {
    let [x, y, z] = launch.grid.map(u64::from);
    let total = x * y * z;
    let threads = threads.clamp(1, usize::try_from(total).unwrap_or(usize::MAX).max(1));
    let blocks = Blocks { next: AtomicU64::new(0), total, threads: threads as u64 };
    if threads == 1 {
        return Worker::new(launch).run(&blocks);
    }
    std::thread::scope(|scope| {
        let workers: Vec<_> =
            (0..threads).map(|_| scope.spawn(|| Worker::new(launch).run(&blocks))).collect();
        let mut counters = Counters::new(launch.kernel.code.len(), launch.counting);
        for worker in workers {
            match worker.join() {
                Ok(part) => counters.merge(&part),
                Err(panic) => std::panic::resume_unwind(panic),
            }
        }
        counters
    })
}

impl<'l> Worker<'l> {
    fn new(launch: &'l Launch<'l>) -> Self {
        Worker {
            launch,
            uniforms: Uniforms::new(launch),
            spare: Vec::new(),
            counters: Counters::new(launch.kernel.code.len(), launch.counting),
            spent: 0,
        }
    }

    fn run(mut self, blocks: &Blocks) -> Counters {
        let mut waiting: std::collections::VecDeque<Block> = std::collections::VecDeque::new();
        let mut fresh = 0..0;
        loop {
            if self.launch.stop.load(Relaxed) {
                break;
            }
            // Blocks that gave way go on when there is no new one, or after each new one.
            let mut block = None;
            if waiting.len() < 2048 {
                if fresh.is_empty() {
                    fresh = blocks.take();
                }
                block = fresh.next().map(|index| self.start(index));
            }
            let Some(mut block) = block.or_else(|| waiting.pop_front()) else { break };
            match self.advance(&mut block) {
                Progress::Done => self.spare.push(block),
                Progress::Waiting => waiting.push_back(block),
                Progress::Stopped => break,
            }
        }
        self.counters
    }

    fn start(&mut self, linear: u64) -> Block {
        let launch = self.launch;
        let kernel = launch.kernel;
        let [gx, gy, _] = launch.grid.map(u64::from);
        let index = [(linear % gx) as u32, (linear / gx % gy) as u32, (linear / (gx * gy)) as u32];
        let track = launch.level == Level::Full;
        let warps = launch.threads().div_ceil(32);
        let mut block = self.spare.pop().unwrap_or_else(|| Block {
            state: BlockState {
                index,
                linear: 0,
                clocks: Default::default(),
                shadow: Default::default(),
                copies: Default::default(),
                sources: Default::default(),
                shared: Default::default(),
                counters: Counters::default(),
                clock: 0,
                sm: 0,
                barriers: Default::default(),
                cluster: Default::default(),
            },
            warps: (0..warps)
                .map(|index| {
                    let state = WarpState { index, alive: 0, local: Default::default() };
                    Warp::new(self.uniforms.file(launch, index), state)
                })
                .collect(),
        });
        block.state.index = index;
        block.state.linear = linear as u32;
        if track {
            block.state.clocks.reset(warps);
        }
        block.state.clock = 0;
        block.state.sm = (linear % u64::from(launch.sms.max(1))) as u32;
        block.state.barriers.reset();
        block.state.cluster = Default::default();
        block.state.copies.reset();
        block.state.sources.reset();
        block.state.shared.reset(kernel.dynamic_offset() + launch.dynamic_shared, track);
        for (k, warp) in block.warps.iter_mut().enumerate() {
            let first = k as u32 * 32;
            let count = (launch.threads() - first).min(32);
            warp.state.local.reset(kernel.entry_frame, track);
            warp.start(if count == 32 { u32::MAX } else { (1 << count) - 1 });
        }
        block
    }

    /// Runs a block until it ends, faults, or has had its share.
    fn advance(&mut self, block: &mut Block) -> Progress {
        std::mem::swap(&mut self.counters, &mut block.state.counters);
        let progress = self.rounds(block);
        std::mem::swap(&mut self.counters, &mut block.state.counters);
        progress
    }

    fn rounds(&mut self, block: &mut Block) -> Progress {
        for _ in 0..ROUNDS {
            let mut running = false;
            let mut progressed = false;
            let warps = block.warps.len();
            for k in 0..warps {
                let warp = &mut block.warps[k];
                if !warp.fragments.is_empty() {
                    if std::mem::take(&mut warp.fresh) {
                        self.uniforms.renew(&mut warp.regs, &block.state);
                    }
                    let (stop, left) = warp.run(self.launch, &mut block.state, QUANTUM);
                    let used = i64::from(QUANTUM - left);
                    progressed |= used > 0;
                    self.spent += used;
                    match stop {
                        Err(trap) => {
                            self.launch.report(warp.pc, &trap, block.state.index, warp.state.index);
                            return Progress::Stopped;
                        }
                        Ok(Stop::Done | Stop::Parked) => {}
                        Ok(Stop::Yielded) => running = true,
                    }
                }
                // All threads share the budget: it is told once a round, or where a warp runs long.
                if self.spent >= i64::from(QUANTUM) || k + 1 == warps {
                    let spent = std::mem::take(&mut self.spent);
                    if self.launch.budget.fetch_sub(spent, Relaxed) - spent < 0 {
                        let pc = warp.fragments.first().map_or(warp.pc, |f| f.pc);
                        let lane = warp.fragments.first().map_or(0, |f| f.mask.trailing_zeros());
                        let trap = trap(FaultKind::Budget(self.launch.budget_total), lane);
                        self.launch.report(pc, &trap, block.state.index, warp.state.index);
                        return Progress::Stopped;
                    }
                }
                if block.state.barriers.waiting != 0 {
                    running |= self.release(block);
                }
                if block.state.cluster.waiting() {
                    running |= ClusterBarrier::release(self.launch, &mut block.state, &mut block.warps);
                }
            }
            if block.warps.iter().all(|w| w.fragments.is_empty()) {
                return Progress::Done;
            }
            if !running && !progressed {
                let stuck = block.warps.iter().find_map(|w| Some((w.state.index, w.fragments.first()?)));
                if let Some((warp, fragment)) = stuck {
                    let trap = trap(FaultKind::Deadlock, fragment.mask.trailing_zeros());
                    self.launch.report(fragment.pc, &trap, block.state.index, warp);
                }
                return Progress::Stopped;
            }
            if self.launch.stop.load(Relaxed) {
                return Progress::Stopped;
            }
        }
        Progress::Waiting
    }

    /// Releases complete barriers; whether any was.
    fn release(&self, block: &mut Block) -> bool {
        let mut any = false;
        let mut waiting = block.state.barriers.waiting;
        while waiting != 0 {
            let id = waiting.trailing_zeros() as usize;
            waiting &= waiting - 1;
            let barrier = &block.state.barriers.all[id];
            let alive: u32 = block.warps.iter().map(|w| w.state.alive.count_ones()).sum();
            let complete = match barrier.expected {
                None => barrier.threads >= alive,
                Some(count) => barrier.rounded >= count,
            };
            if complete {
                let barrier = block.state.barriers.take(id);
                for warp in &mut block.warps {
                    if warp.release(self.launch, id as u8, barrier.votes) {
                        block.state.clocks.leave(warp.state.index, &barrier.clock);
                    }
                }
                any = true;
            }
        }
        any
    }
}
