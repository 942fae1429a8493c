//! One block: its warps in turn, its barriers, and all blocks of a grid over the host's threads.

use super::regs::Regs;
use super::warp::{Stop, Warp};
use super::{BlockState, Launch, WarpState, trap};
use crate::check::{FaultKind, Level};
use crate::count::Counters;
use crate::program::{Special, Uniform};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// Warp instructions that a warp runs before the next one's turn.
const QUANTUM: u32 = 1 << 14;
/// Rounds over its warps that a block gets before others that wait: blocks that wait for each other make progress.
const ROUNDS: u32 = 256;

/// A block barrier between arrivals and release.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct BarrierState {
    threads: u32,
    rounded: u32,
    expected: Option<u32>,
    votes: (u32, u32),
    /// What those that arrived know.
    clock: [u32; 32],
}

impl BlockState {
    /// Threads that arrive at a barrier: as they are, and with whole warps counted as 32.
    pub(super) fn arrive(&mut self, id: usize, warp: u32, arrival: (u32, u32), expected: Option<u32>) {
        if let Some(barrier) = self.barriers.get_mut(id) {
            self.clocks.arrive(warp, &mut barrier.clock);
            barrier.threads += arrival.0;
            barrier.rounded += arrival.1;
            barrier.expected = barrier.expected.or(expected);
        }
    }

    pub(super) fn vote(&mut self, id: usize, yes: u32, of: u32) {
        if let Some(barrier) = self.barriers.get_mut(id) {
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
    template: Regs,
    spare: Vec<Block>,
    counters: Counters,
}

enum Progress {
    Done,
    Waiting,
    Stopped,
}

/// Runs all blocks on `threads` threads; faults are in the launch.
pub(crate) fn run_grid(launch: &Launch<'_>, threads: usize) -> Counters {
    let [x, y, z] = launch.grid.map(u64::from);
    let total = x * y * z;
    let next = AtomicU64::new(0);
    let threads = threads.clamp(1, usize::try_from(total).unwrap_or(usize::MAX).max(1));
    if threads == 1 {
        return Worker::new(launch).run(&next, total);
    }
    std::thread::scope(|scope| {
        let workers: Vec<_> =
            (0..threads).map(|_| scope.spawn(|| Worker::new(launch).run(&next, total))).collect();
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
        let kernel = launch.kernel;
        let mut template = Regs::new(kernel.rows, kernel.preds);
        for (row, wide, uniform) in &kernel.uniforms {
            if let Some(value) = block_invariant(launch, *uniform) {
                fill(&mut template, *row, *wide, [value; 32]);
            }
        }
        Worker {
            launch,
            template,
            spare: Vec::new(),
            counters: Counters::new(kernel.code.len(), launch.counting),
        }
    }

    fn run(mut self, next: &AtomicU64, total: u64) -> Counters {
        let mut waiting: std::collections::VecDeque<Block> = std::collections::VecDeque::new();
        let mut fresh = true;
        loop {
            if self.launch.stop.load(Relaxed) {
                break;
            }
            // Blocks that gave way go on when there is no new one, or after each new one.
            let mut block = None;
            if fresh && waiting.len() < 2048 {
                let index = next.fetch_add(1, Relaxed);
                if index < total {
                    block = Some(self.start(index));
                } else {
                    fresh = false;
                }
            }
            let Some(mut block) = block.or_else(|| waiting.pop_front()) else { break };
            match self.advance(&mut block) {
                Progress::Done => self.retire(block),
                Progress::Waiting => waiting.push_back(block),
                Progress::Stopped => {
                    self.retire(block);
                    break;
                }
            }
        }
        self.counters
    }

    fn retire(&mut self, mut block: Block) {
        self.counters.merge(&block.state.counters);
        block.state.counters.clear();
        self.spare.push(block);
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
                shared: Default::default(),
                counters: Counters::new(kernel.code.len(), launch.counting),
                clock: 0,
                sm: 0,
                barriers: Default::default(),
            },
            warps: (0..warps)
                .map(|index| {
                    let state = WarpState { index, alive: 0, local: Default::default() };
                    Warp::new(Regs::new(kernel.rows, kernel.preds), state)
                })
                .collect(),
        });
        block.state.index = index;
        block.state.linear = linear as u32;
        if track {
            block.state.clocks = Default::default();
        }
        block.state.clock = 0;
        block.state.sm = (linear % u64::from(launch.sms.max(1))) as u32;
        block.state.barriers = Default::default();
        block.state.copies.reset();
        block.state.shared.reset(kernel.dynamic_offset() + launch.dynamic_shared, track);
        for (k, warp) in block.warps.iter_mut().enumerate() {
            let first = k as u32 * 32;
            let count = (launch.threads() - first).min(32);
            warp.regs.copy_from(&self.template);
            warp.state.local.reset(kernel.entry_frame, track);
            for (row, wide, uniform) in &kernel.uniforms {
                let Uniform::Special(special) = uniform else { continue };
                if let Some(values) = lane_values(launch, &block.state, *special, first) {
                    fill(&mut warp.regs, *row, *wide, values);
                }
            }
            warp.start(if count == 32 { u32::MAX } else { (1 << count) - 1 });
        }
        block
    }

    /// Runs a block until it ends, faults, or has had its share.
    fn advance(&self, block: &mut Block) -> Progress {
        for _ in 0..ROUNDS {
            let mut running = false;
            let mut progressed = false;
            for k in 0..block.warps.len() {
                let warp = &mut block.warps[k];
                if warp.fragments.is_empty() {
                    continue;
                }
                let (stop, left) = warp.run(self.launch, &mut block.state, QUANTUM);
                let used = i64::from(QUANTUM - left);
                progressed |= used > 0;
                match stop {
                    Err(trap) => {
                        self.launch.report(warp.pc, &trap, block.state.index, warp.state.index);
                        return Progress::Stopped;
                    }
                    Ok(Stop::Done | Stop::Parked) => {}
                    Ok(Stop::Yielded) => running = true,
                }
                if self.launch.budget.fetch_sub(used, Relaxed) - used < 0 {
                    let pc = warp.fragments.first().map_or(warp.pc, |f| f.pc);
                    let lane = warp.fragments.first().map_or(0, |f| f.mask.trailing_zeros());
                    let trap = trap(FaultKind::Budget(self.launch.budget_total), lane);
                    self.launch.report(pc, &trap, block.state.index, warp.state.index);
                    return Progress::Stopped;
                }
                running |= self.release(block);
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
        for id in 0..block.state.barriers.len() {
            let barrier = block.state.barriers[id];
            if barrier.threads == 0 {
                continue;
            }
            let alive: u32 = block.warps.iter().map(|w| w.state.alive.count_ones()).sum();
            let complete = match barrier.expected {
                None => barrier.threads >= alive,
                Some(count) => barrier.rounded >= count,
            };
            if complete {
                block.state.barriers[id] = BarrierState::default();
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

fn fill(regs: &mut Regs, row: u32, wide: bool, values: [u64; 32]) {
    if wide {
        *regs.cells_mut::<u64>(row) = values;
    } else {
        *regs.cells_mut::<u32>(row) = values.map(|v| v as u32);
    }
}

/// The value that a row has in every block, if it is such a row.
fn block_invariant(launch: &Launch<'_>, uniform: Uniform) -> Option<u64> {
    let axis = |values: [u32; 3], k: u8| values.get(usize::from(k)).copied().map_or(0, u64::from);
    Some(match uniform {
        Uniform::Value(bits) => bits,
        Uniform::Symbol(index, offset) => {
            launch.symbols.get(index as usize).copied().unwrap_or(0).wrapping_add(offset as u64)
        }
        Uniform::Special(special) => match special {
            Special::Ntid(k) => axis(launch.block, k),
            Special::Nctaid(k) => axis(launch.grid, k),
            Special::NWarpId => u64::from(launch.threads().div_ceil(32)),
            Special::NSmId => launch.sms.into(),
            Special::GridId => launch.grid_id,
            Special::DynamicSmemSize => launch.dynamic_shared.into(),
            Special::TotalSmemSize => (launch.kernel.dynamic_offset() + launch.dynamic_shared).into(),
            Special::DynamicShared => launch.kernel.dynamic_offset().into(),
            Special::Zero | Special::FrameBase => 0,
            Special::One => 1,
            _ => return None,
        },
    })
}

/// The values of a row that differ between blocks or lanes.
fn lane_values(launch: &Launch<'_>, block: &BlockState, special: Special, first: u32) -> Option<[u64; 32]> {
    let each = |f: &dyn Fn(u32) -> u32| std::array::from_fn(|lane| u64::from(f(lane as u32)));
    Some(match special {
        Special::Tid(k) => {
            each(&|lane| launch.thread(first + lane).get(usize::from(k)).copied().unwrap_or(0))
        }
        Special::Ctaid(k) => [block.index.get(usize::from(k)).copied().map_or(0, u64::from); 32],
        Special::LaneId => each(&|lane| lane),
        Special::WarpId => [u64::from(first / 32); 32],
        Special::SmId => [block.sm.into(); 32],
        Special::LanemaskEq => each(&|lane| 1 << lane),
        Special::LanemaskLe => each(&|lane| u32::MAX >> (31 - lane)),
        Special::LanemaskLt => each(&|lane| (1u32 << lane) - 1),
        Special::LanemaskGe => each(&|lane| u32::MAX << lane),
        Special::LanemaskGt => each(&|lane| !(u32::MAX >> (31 - lane))),
        _ => return None,
    })
}
