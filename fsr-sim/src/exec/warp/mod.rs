//! One warp: fragments of lanes that share a pc, and the loop that executes them.
//!
//! The fragment with the lowest position runs; fragments at equal positions merge. A position is the chain of return
//! addresses and the pc, so that lanes within a call run before those that wait behind it. A fragment that runs long
//! while others wait gives way to them, so that a spin lock within a warp makes progress.

mod barrier;
mod call;
mod cluster;
mod stack;

pub(super) use cluster::ClusterBarrier;

use self::stack::{Frame, Stack};
use super::regs::Regs;
use super::{BlockState, Exec, Launch, Trap, WarpState, lanes, trap};
use crate::check::{FaultKind, Level};
use crate::program::{Action, Control, Inst, NONE};
use std::cmp::Ordering;

/// Instructions that a fragment may run while others of its warp wait.
const TURN: u32 = 2048;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum State {
    Ready,
    /// At a `.sync` instruction whose other members have not arrived.
    AtSync,
    /// At an aligned barrier of the block, to which others of the warp are on their way.
    AtAligned,
    /// At the block barrier of this number.
    AtBarrier(u8),
}

/// Lanes that are at the same place.
#[derive(Clone, Debug)]
pub(super) struct Fragment {
    pub pc: u32,
    pub mask: u32,
    pub state: State,
    /// Turns given way: lower ones run first.
    turn: u32,
    stack: Stack,
}

impl Fragment {
    fn order(&self, other: &Fragment) -> Ordering {
        self.stack.order(self.pc, &other.stack, other.pc)
    }

    fn absorb(&mut self, other: &Fragment) {
        self.mask |= other.mask;
        self.turn = self.turn.max(other.turn);
        self.stack.absorb(&other.stack, other.mask);
    }
}

/// Why a warp stopped running.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stop {
    /// All lanes have exited.
    Done,
    /// All lanes that remain wait at block barriers.
    Parked,
    /// Its share of time is over, or it wants others to run.
    Yielded,
}

/// One warp.
pub(super) struct Warp {
    pub regs: Regs,
    pub state: WarpState,
    pub fragments: Vec<Fragment>,
    /// Of a block that it has not run for yet.
    pub fresh: bool,
    /// Where it stands, for reports.
    pub pc: u32,
    /// For each aligned barrier, the lanes that have passed it; kept at full checks.
    passed: Vec<(u32, u32)>,
}

enum Next {
    /// Go on with this fragment.
    Continue,
    /// Choose again; the fragment has been put back or is gone.
    Choose,
    /// As `Choose`, and let the block look at its barriers.
    Barrier,
}

impl Warp {
    pub fn new(regs: Regs, state: WarpState) -> Warp {
        Warp { regs, state, fragments: Vec::new(), fresh: true, pc: 0, passed: Vec::new() }
    }

    /// All lanes to the entry.
    pub fn start(&mut self, mask: u32) {
        self.fragments.clear();
        self.passed.clear();
        self.fragments.push(Fragment { pc: 0, mask, state: State::Ready, turn: 0, stack: Stack::default() });
        self.state.alive = mask;
        self.fresh = true;
    }

    /// Takes the fragment that should run next, merged with all at the same place.
    fn choose(&mut self) -> Option<Fragment> {
        if let [only] = self.fragments.as_slice()
            && only.state == State::Ready
        {
            return self.fragments.pop();
        }
        let ready = |f: &Fragment| f.state == State::Ready;
        let mut best: Option<usize> = None;
        for (k, fragment) in self.fragments.iter().enumerate().filter(|(_, f)| ready(f)) {
            let better = best.is_none_or(|b| {
                let known = &self.fragments[b];
                fragment.turn.cmp(&known.turn).then_with(|| fragment.order(known)) == Ordering::Less
            });
            if better {
                best = Some(k);
            }
        }
        // Only lanes that wait for others of their warp are left: they go on with those that there are.
        let forced = best.is_none();
        if forced {
            best = (0..self.fragments.len())
                .filter(|&k| matches!(self.fragments[k].state, State::AtSync | State::AtAligned))
                .min_by(|&a, &b| self.fragments[a].order(&self.fragments[b]));
        }
        let mut chosen = self.fragments.swap_remove(best?);
        let mut k = 0;
        while k < self.fragments.len() {
            let other = &self.fragments[k];
            if !matches!(other.state, State::AtBarrier(_)) && other.order(&chosen) == Ordering::Equal {
                let other = self.fragments.swap_remove(k);
                chosen.absorb(&other);
            } else {
                k += 1;
            }
        }
        if !forced {
            chosen.state = State::Ready;
        }
        Some(chosen)
    }

    /// Runs until nothing can, or until `quantum` instructions are over. Gives back what is left of it.
    pub fn run(
        &mut self,
        launch: &Launch<'_>,
        block: &mut BlockState,
        mut quantum: u32,
    ) -> (Result<Stop, Trap>, u32) {
        loop {
            let Some(fragment) = self.choose() else {
                let stop = if self.fragments.is_empty() { Stop::Done } else { Stop::Parked };
                return (Ok(stop), quantum);
            };
            match self.run_fragment(launch, block, fragment, &mut quantum) {
                Ok(Next::Barrier) => return (Ok(Stop::Yielded), quantum),
                Ok(_) if quantum == 0 => return (Ok(Stop::Yielded), 0),
                Ok(_) => {}
                Err(trap) => return (Err(trap), quantum),
            }
        }
    }

    fn run_fragment(
        &mut self,
        launch: &Launch<'_>,
        block: &mut BlockState,
        mut fragment: Fragment,
        quantum: &mut u32,
    ) -> Result<Next, Trap> {
        let kernel = launch.kernel;
        let code = kernel.code.as_slice();
        let mut pc = fragment.pc;
        let mut mask = fragment.mask;
        // Where others of the same call chain wait: reaching that place is time to merge.
        let alone = !self.fragments.iter().any(|f| !matches!(f.state, State::AtBarrier(_)));
        let limit = self.limit(&fragment);
        let mut left = if alone { *quantum } else { (*quantum).min(TURN) };
        let given = left;
        // Instructions from here to the present one are not counted yet.
        let mut from = pc;
        let outcome = loop {
            if left == 0 || pc >= limit {
                block.counters.issue(from, pc, mask);
                fragment.pc = pc;
                if left == 0 && !alone {
                    fragment.turn += 1;
                }
                self.fragments.push(fragment);
                break Ok(Next::Choose);
            }
            left -= 1;
            let Some(inst) = code.get(pc as usize) else {
                block.counters.issue(from, pc, mask);
                self.state.alive &= !mask;
                break Ok(Next::Choose);
            };
            let mut active = mask;
            if inst.guard != 0 {
                active &= self.regs.pred(inst.guard.into()) ^ inst.invert;
                block.counters.idle(pc, mask & !active);
            }
            match inst.action {
                Action::Lane(f) => {
                    // SAFETY: decoding picked the version for this processor (`LaneOp::pick`).
                    unsafe { f(&mut self.regs, inst, active) };
                    pc += 1;
                }
                Action::Memory(f) => {
                    if active != 0 {
                        block.clock = block.clock.wrapping_add(1);
                        let mut exec =
                            Exec { launch, block, warp: &mut self.state, regs: &mut self.regs, pc };
                        // SAFETY: decoding picked a version for this processor.
                        if let Err(trap) = unsafe { f(&mut exec, inst, active) } {
                            block.counters.issue(from, pc + 1, mask);
                            self.pc = pc;
                            break Err(trap);
                        }
                    }
                    pc += 1;
                }
                Action::Sync(f) => {
                    if active != 0 {
                        let forced = fragment.state == State::AtSync;
                        let early = if forced { 0 } else { self.early(inst, active, active) };
                        if early == active {
                            block.counters.issue(from, pc + 1, mask);
                            fragment.pc = pc;
                            fragment.state = State::AtSync;
                            self.fragments.push(fragment);
                            break Ok(Next::Choose);
                        }
                        active &= !early;
                        fragment.state = State::Ready;
                        if launch.level == Level::Full {
                            block.clocks.warp_sync(self.state.index);
                        }
                        let mut exec =
                            Exec { launch, block, warp: &mut self.state, regs: &mut self.regs, pc };
                        if launch.level == Level::Full {
                            let outside = exec.outside_mask(inst, active);
                            if forced || outside != 0 {
                                let lane = if outside != 0 { outside } else { active }.trailing_zeros();
                                let raised = exec.raise(trap(FaultKind::MemberMask, lane));
                                debug_assert!(raised.is_ok());
                            }
                        }
                        // SAFETY: decoding picked a version for this processor.
                        if let Err(trap) = unsafe { f(&mut exec, inst, active) } {
                            block.counters.issue(from, pc + 1, mask);
                            self.pc = pc;
                            break Err(trap);
                        }
                        if early != 0 {
                            // Those that wait for others stay; their masks name nobody who goes on.
                            block.counters.issue(from, pc + 1, mask);
                            self.put_waiting(&fragment, pc, early);
                            self.put_back(&fragment, pc + 1, mask & !early);
                            break Ok(Next::Choose);
                        }
                    }
                    pc += 1;
                }
                Action::Control(control) => {
                    if active == 0 {
                        pc += 1;
                        continue;
                    }
                    block.counters.issue(from, pc + 1, mask);
                    if control == Control::Branch && active == mask {
                        pc = inst.target;
                        from = pc;
                        continue;
                    }
                    fragment.pc = pc;
                    fragment.mask = mask;
                    self.pc = pc;
                    match self.control(launch, block, &mut fragment, control, inst, active) {
                        Ok(Next::Continue) => {
                            pc = fragment.pc;
                            from = pc;
                            mask = fragment.mask;
                        }
                        Ok(next) => break Ok(next),
                        Err(trap) => break Err(trap),
                    }
                }
            }
        };
        let used = given - left;
        block.clock = block.clock.wrapping_add(used.into());
        *quantum -= used.min(*quantum);
        outcome
    }

    fn limit(&self, fragment: &Fragment) -> u32 {
        self.fragments
            .iter()
            .filter(|f| !matches!(f.state, State::AtBarrier(_)))
            .filter(|f| f.stack.len() == fragment.stack.len() && f.pc > fragment.pc)
            .map(|f| f.pc)
            .min()
            .unwrap_or(u32::MAX)
    }

    /// The active lanes whose member masks name lanes that are neither among those `here` nor gone.
    #[inline(always)]
    fn early(&self, inst: &Inst, active: u32, here: u32) -> u32 {
        let away = self.state.alive & !here;
        if away == 0 || inst.c == NONE {
            return 0;
        }
        let members = self.regs.cells::<u32>(inst.c);
        lanes(active).filter(|&lane| members[lane] & away != 0).fold(0, |early, lane| early | 1 << lane)
    }

    /// Lets lanes wait at a `.sync` instruction.
    fn put_waiting(&mut self, fragment: &Fragment, pc: u32, mask: u32) {
        self.put_back(fragment, pc, mask);
        if let Some(waiting) = self.fragments.last_mut().filter(|_| mask != 0) {
            waiting.state = State::AtSync;
        }
    }

    fn put_back(&mut self, fragment: &Fragment, pc: u32, mask: u32) {
        if mask != 0 {
            self.fragments.push(Fragment {
                pc,
                mask,
                state: State::Ready,
                turn: fragment.turn,
                stack: fragment.stack.clone(),
            });
        }
    }

    fn control(
        &mut self,
        launch: &Launch<'_>,
        block: &mut BlockState,
        fragment: &mut Fragment,
        control: Control,
        inst: &Inst,
        active: u32,
    ) -> Result<Next, Trap> {
        let rest = fragment.mask & !active;
        let pc = fragment.pc;
        match control {
            Control::Branch => {
                block.counters.diverge(pc);
                self.put_back(fragment, inst.target, active);
                self.put_back(fragment, pc + 1, rest);
                Ok(Next::Choose)
            }
            Control::BranchIndexed => {
                let index = *self.regs.cells::<u32>(inst.a);
                let table = launch.kernel.tables.get(inst.target as usize).map_or(&[][..], Vec::as_slice);
                let mut left = active;
                while left != 0 {
                    let lane = left.trailing_zeros();
                    let value = index[lane as usize];
                    let same = lanes(left).filter(|&l| index[l] == value).fold(0, |m, l| m | 1 << l);
                    let target =
                        *table.get(value as usize).ok_or_else(|| trap(FaultKind::BadTarget, lane))?;
                    self.put_back(fragment, target, same);
                    left &= !same;
                    if left != 0 {
                        block.counters.diverge(pc);
                    }
                }
                self.put_back(fragment, pc + 1, rest);
                Ok(Next::Choose)
            }
            Control::Exit => {
                self.state.alive &= !active;
                self.put_back(fragment, pc + 1, rest);
                // A barrier may be complete without the lanes that have gone.
                Ok(if self.state.alive == 0 { Next::Choose } else { Next::Barrier })
            }
            Control::Return => {
                let Some(frame) = fragment.stack.last().cloned() else {
                    return self.control(launch, block, fragment, Control::Exit, inst, active);
                };
                self.put_back(fragment, pc + 1, rest);
                fragment.mask = active;
                fragment.stack.pop();
                self.leave(launch, &frame, active);
                fragment.pc = frame.return_pc;
                self.fragments.push(fragment.clone());
                Ok(Next::Choose)
            }
            Control::Call => {
                self.call(launch, block, fragment, inst, active)?;
                Ok(Next::Choose)
            }
            Control::ClusterBarrier { wait, aligned } => {
                self.cluster_barrier(launch, block, fragment, (wait, aligned), active)
            }
            Control::WarpSync => {
                block.clocks.warp_sync(self.state.index);
                self.warp_sync(launch, block, fragment, inst, active)
            }
            Control::Barrier(barrier) => self.barrier(launch, block, fragment, barrier, inst, active),
            Control::Trap => Err(trap(FaultKind::Trap, active.trailing_zeros())),
            Control::Yield => {
                fragment.turn += 1;
                fragment.pc = pc + 1;
                self.fragments.push(fragment.clone());
                Ok(Next::Barrier)
            }
        }
    }
}
