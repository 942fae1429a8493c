//! One warp: fragments of lanes that share a pc, and the loop that executes them.
//!
//! The fragment with the lowest position runs; fragments at equal positions merge. A position is the chain of return
//! addresses and the pc, so that lanes within a call run before those that wait behind it. A fragment that runs long
//! while others wait gives way to them, so that a spin lock within a warp makes progress.

use super::regs::Regs;
use super::{BlockState, Exec, Launch, Trap, WarpState, lanes, trap};
use crate::check::{FaultKind, Level};
use crate::program::{Action, Barrier, BarrierKind, Body, Control, Inst, NONE};
use std::cmp::Ordering;

/// Instructions that a fragment may run while others of its warp wait.
const TURN: u32 = 2048;

/// A call that has not returned.
#[derive(Clone, Debug)]
pub(super) struct Frame {
    return_pc: u32,
    site: u32,
    callee: u32,
    /// Bytes that the frame base moved.
    step: u32,
    /// Rows and predicates of a recursive callee before the call.
    saved: Vec<[u32; 32]>,
    saved_preds: Vec<u32>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum State {
    Ready,
    /// At a `.sync` instruction whose other members have not arrived.
    AtSync,
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
    stack: Vec<Frame>,
}

impl Fragment {
    fn order(&self, other: &Fragment) -> Ordering {
        let mut mine = self.stack.iter().map(|f| f.return_pc).chain([self.pc]);
        let mut theirs = other.stack.iter().map(|f| f.return_pc).chain([other.pc]);
        loop {
            return match (mine.next(), theirs.next()) {
                (Some(a), Some(b)) if a == b => continue,
                (Some(a), Some(b)) => a.cmp(&b),
                // The deeper one first: the other is where it will return to.
                (Some(_), None) => Ordering::Less,
                (None, Some(_)) => Ordering::Greater,
                (None, None) => Ordering::Equal,
            };
        }
    }

    fn absorb(&mut self, other: &Fragment) {
        self.mask |= other.mask;
        self.turn = self.turn.max(other.turn);
        for (mine, theirs) in self.stack.iter_mut().zip(&other.stack) {
            for (row, from) in mine.saved.iter_mut().zip(&theirs.saved) {
                for lane in lanes(other.mask) {
                    row[lane] = from[lane];
                }
            }
            for (pred, from) in mine.saved_preds.iter_mut().zip(&theirs.saved_preds) {
                *pred = (*pred & !other.mask) | (from & other.mask);
            }
        }
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
        Warp { regs, state, fragments: Vec::new(), pc: 0, passed: Vec::new() }
    }

    /// All lanes to the entry.
    pub fn start(&mut self, mask: u32) {
        self.fragments.clear();
        self.passed.clear();
        self.fragments.push(Fragment { pc: 0, mask, state: State::Ready, turn: 0, stack: Vec::new() });
        self.state.alive = mask;
    }

    /// Takes the fragment that should run next, merged with all at the same place.
    fn choose(&mut self) -> Option<Fragment> {
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
        // Only lanes that wait for members are left: they go on with those that there are.
        let forced = best.is_none();
        if forced {
            best = (0..self.fragments.len())
                .filter(|&k| self.fragments[k].state == State::AtSync)
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
        let outcome = loop {
            if left == 0 || pc >= limit {
                fragment.pc = pc;
                if left == 0 && !alone {
                    fragment.turn += 1;
                }
                self.fragments.push(fragment);
                break Ok(Next::Choose);
            }
            left -= 1;
            let Some(inst) = code.get(pc as usize) else {
                self.state.alive &= !mask;
                break Ok(Next::Choose);
            };
            let active = mask & (self.regs.pred(inst.guard.into()) ^ inst.invert);
            block.counters.issue(pc, active);
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
                            self.pc = pc;
                            break Err(trap);
                        }
                    }
                    pc += 1;
                }
                Action::Sync(f) => {
                    if active != 0 {
                        if !self.members_arrived(inst, active) && fragment.state != State::AtSync {
                            fragment.pc = pc;
                            fragment.state = State::AtSync;
                            self.fragments.push(fragment);
                            break Ok(Next::Choose);
                        }
                        let forced = fragment.state == State::AtSync;
                        fragment.state = State::Ready;
                        if launch.level == Level::Full {
                            block.clocks.warp_sync(self.state.index);
                        }
                        let mut exec =
                            Exec { launch, block, warp: &mut self.state, regs: &mut self.regs, pc };
                        let outside = exec.outside_mask(inst, active);
                        if launch.level == Level::Full && (forced || outside != 0) {
                            let lane = if outside != 0 { outside } else { active }.trailing_zeros();
                            let raised = exec.raise(trap(FaultKind::MemberMask, lane));
                            debug_assert!(raised.is_ok());
                        }
                        // SAFETY: decoding picked a version for this processor.
                        if let Err(trap) = unsafe { f(&mut exec, inst, active) } {
                            self.pc = pc;
                            break Err(trap);
                        }
                    }
                    pc += 1;
                }
                Action::Control(control) => {
                    if control == Control::Branch && (active == mask || active == 0) {
                        pc = if active == 0 { pc + 1 } else { inst.target };
                        continue;
                    }
                    if active == 0 {
                        pc += 1;
                        continue;
                    }
                    fragment.pc = pc;
                    fragment.mask = mask;
                    self.pc = pc;
                    match self.control(launch, block, &mut fragment, control, inst, active) {
                        Ok(Next::Continue) => {
                            pc = fragment.pc;
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

    /// Whether every lane that the active lanes' member masks name is here or gone.
    #[inline(always)]
    fn members_arrived(&self, inst: &Inst, active: u32) -> bool {
        if active == self.state.alive || inst.c == NONE {
            return true;
        }
        let members = self.regs.cells::<u32>(inst.c);
        lanes(active).all(|lane| members[lane] & self.state.alive & !active == 0)
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

    /// `bar.warp.sync`: lanes may stand at different ones; all members together go on.
    fn warp_sync(
        &mut self,
        launch: &Launch<'_>,
        block: &mut BlockState,
        fragment: &mut Fragment,
        inst: &Inst,
        active: u32,
    ) -> Result<Next, Trap> {
        let rest = fragment.mask & !active;
        if rest != 0 {
            // Lanes that are predicated off pass by.
            self.put_back(fragment, fragment.pc + 1, rest);
            fragment.mask = active;
        }
        let waiting =
            self.fragments.iter().filter(|f| f.state == State::AtSync).fold(active, |m, f| m | f.mask);
        let members = self.regs.cells::<u32>(inst.c);
        let wanted = lanes(active).fold(0, |m, lane| m | members[lane]) & self.state.alive;
        // A fragment that was chosen although it waits has nobody else to wait for.
        let forced = fragment.state == State::AtSync;
        if wanted & !waiting != 0 && !forced {
            fragment.state = State::AtSync;
            self.fragments.push(fragment.clone());
            return Ok(Next::Choose);
        }
        if launch.level == Level::Full {
            let exec = Exec { launch, block, warp: &mut self.state, regs: &mut self.regs, pc: fragment.pc };
            let outside = exec.outside_mask(inst, active);
            if forced || outside != 0 {
                let lane = if outside != 0 { outside } else { active }.trailing_zeros();
                exec.raise(trap(FaultKind::MemberMask, lane))?;
            }
        }
        for other in self.fragments.iter_mut().filter(|f| f.state == State::AtSync && f.mask & wanted != 0) {
            // Those at instructions of another kind stay: only a barrier releases without its own turn.
            let kind = launch.kernel.code.get(other.pc as usize).map(|i| i.action);
            if matches!(kind, Some(Action::Control(Control::WarpSync))) {
                other.pc += 1;
                other.state = State::Ready;
            }
        }
        fragment.state = State::Ready;
        fragment.pc += 1;
        if rest != 0 || !self.fragments.is_empty() {
            self.fragments.push(fragment.clone());
            return Ok(Next::Choose);
        }
        Ok(Next::Continue)
    }

    fn barrier(
        &mut self,
        launch: &Launch<'_>,
        block: &mut BlockState,
        fragment: &mut Fragment,
        barrier: Barrier,
        inst: &Inst,
        active: u32,
    ) -> Result<Next, Trap> {
        if barrier.aligned
            && launch.level == Level::Full
            && (active | self.about_to_exit(launch) != self.state.alive
                || self.left_behind(fragment.pc, active))
        {
            let lane = active.trailing_zeros();
            let exec = Exec { launch, block, warp: &mut self.state, regs: &mut self.regs, pc: fragment.pc };
            exec.raise(trap(FaultKind::DivergentBarrier, lane))?;
        }
        let rest = fragment.mask & !active;
        self.put_back(fragment, fragment.pc + 1, rest);
        fragment.mask = active;
        let first = active.trailing_zeros() as usize;
        let id = self.regs.cells::<u32>(inst.a)[first] & 15;
        if barrier.kind == BarrierKind::Arrive {
            block.arrive(id as usize, self.state.index, self.arrival(active), self.expected(inst, first));
            fragment.pc += 1;
            self.fragments.push(fragment.clone());
            return Ok(Next::Barrier);
        }
        let arrival = self.arrival(active);
        block.arrive(id as usize, self.state.index, arrival, self.expected(inst, first));
        if matches!(barrier.kind, BarrierKind::RedAnd | BarrierKind::RedOr | BarrierKind::RedPopc) {
            let pred = (self.regs.pred(inst.c) ^ 0u32.wrapping_sub(inst.aux & 1)) & active;
            block.vote(id as usize, pred.count_ones(), active.count_ones());
        }
        fragment.state = State::AtBarrier(id as u8);
        self.fragments.push(fragment.clone());
        Ok(Next::Barrier)
    }

    /// Whether lanes passed this barrier before and do not come again, as in a loop that each lane leaves at its own
    /// time. Hardware waits for them at the end of the loop, and they for the barrier; lanes that exit before they
    /// ever reach a barrier are no fault.
    fn left_behind(&mut self, pc: u32, active: u32) -> bool {
        let Some((_, passed)) = self.passed.iter_mut().find(|(at, _)| *at == pc) else {
            self.passed.push((pc, active));
            return false;
        };
        let missing = *passed & !active != 0;
        *passed |= active;
        missing
    }

    /// Lanes whose next instruction is the end: a compiler lets them exit where they branch away, so that they are gone
    /// when the others reach a barrier.
    fn about_to_exit(&self, launch: &Launch<'_>) -> u32 {
        let ends = |f: &Fragment| {
            launch.kernel.code.get(f.pc as usize).is_none_or(|inst| {
                inst.guard == 0
                    && f.stack.is_empty()
                    && matches!(inst.action, Action::Control(Control::Return | Control::Exit))
            })
        };
        self.fragments.iter().filter(|f| f.state == State::Ready && ends(f)).fold(0, |m, f| m | f.mask)
    }

    /// Threads that arrive, and the same with whole warps counted as 32.
    fn arrival(&self, active: u32) -> (u32, u32) {
        let threads = active.count_ones();
        (threads, if active == self.state.alive { 32 } else { threads })
    }

    fn expected(&self, inst: &Inst, lane: usize) -> Option<u32> {
        (inst.b != NONE).then(|| self.regs.cells::<u32>(inst.b)[lane])
    }

    /// Lets the fragments at a block barrier go on, with the result of its reduction; whether there were any.
    pub fn release(&mut self, launch: &Launch<'_>, id: u8, votes: (u32, u32)) -> bool {
        let mut any = false;
        for fragment in &mut self.fragments {
            if fragment.state != State::AtBarrier(id) {
                continue;
            }
            if let Some(inst) = launch.kernel.code.get(fragment.pc as usize)
                && let Action::Control(Control::Barrier(barrier)) = inst.action
            {
                let all = |yes: bool| if yes { u32::MAX } else { 0 };
                match barrier.kind {
                    BarrierKind::RedAnd => self.regs.set_pred(inst.d, all(votes.0 == votes.1), fragment.mask),
                    BarrierKind::RedOr => self.regs.set_pred(inst.d, all(votes.0 != 0), fragment.mask),
                    BarrierKind::RedPopc => self.regs.write(inst.d, &[votes.0; 32], fragment.mask),
                    BarrierKind::Sync | BarrierKind::Arrive => {}
                }
            }
            fragment.state = State::Ready;
            fragment.turn = 0;
            fragment.pc += 1;
            any = true;
        }
        any
    }

    // ---- calls ----

    fn call(
        &mut self,
        launch: &Launch<'_>,
        block: &mut BlockState,
        fragment: &mut Fragment,
        inst: &Inst,
        active: u32,
    ) -> Result<(), Trap> {
        let kernel = launch.kernel;
        let pc = fragment.pc;
        let site_index = inst.target;
        let first = active.trailing_zeros();
        let Some(site) = kernel.calls.get(site_index as usize) else {
            return Err(trap(FaultKind::BadTarget, first));
        };
        let mut same = active;
        let callee_index = match site.callee {
            Some(index) => index,
            None => {
                let handles = self.regs.cells::<u64>(inst.a);
                let handle = handles[first as usize];
                same = lanes(active).filter(|&l| handles[l] == handle).fold(0, |m, l| m | 1 << l);
                let place = handle.checked_sub(super::FUNCTION_TAG);
                let found = kernel.functions.iter().position(|f| Some(u64::from(f.handle)) == place);
                found.ok_or_else(|| trap(FaultKind::BadTarget, first))? as u32
            }
        };
        // Lanes that call another function come back to this instruction; predicated-off ones pass it.
        self.put_back(fragment, pc, active & !same);
        self.put_back(fragment, pc + 1, fragment.mask & !active);
        let callee = &kernel.functions[callee_index as usize];
        fragment.mask = same;
        let step =
            fragment.stack.last().map_or(kernel.entry_frame, |f| kernel.functions[f.callee as usize].frame);
        let base = |regs: &Regs, lane: usize| kernel.frame_row.map_or(0, |row| regs.cells::<u64>(row)[lane]);
        let entry = match callee.body {
            Body::Code(entry) => entry,
            Body::Builtin(builtin) => {
                let mut exec = Exec { launch, block, warp: &mut self.state, regs: &mut self.regs, pc };
                super::printf::call(&mut exec, builtin, site, same)?;
                fragment.pc = pc + 1;
                self.fragments.push(fragment.clone());
                return Ok(());
            }
            Body::Missing => return Err(trap(FaultKind::Unsupported(callee.name.clone()), first)),
        };
        let top = lanes(same).map(|l| base(&self.regs, l)).max().unwrap_or(0);
        if !self.state.local.grow(top + u64::from(step) + u64::from(callee.frame)) {
            return Err(trap(FaultKind::StackOverflow, first));
        }
        for lane in lanes(same) {
            let here = base(&self.regs, lane);
            let there = here + u64::from(step);
            for (from, to) in site.args.iter().zip(&callee.params) {
                let size = from.size.min(to.size);
                self.state.local.copy(
                    lane,
                    here + u64::from(from.offset),
                    there + u64::from(to.offset),
                    size,
                );
            }
            if let Some(row) = kernel.frame_row {
                self.regs.cells_mut::<u64>(row)[lane] = there;
            }
        }
        let (mut saved, mut saved_preds) = (Vec::new(), Vec::new());
        if callee.recursive {
            saved = callee.rows.clone().map(|row| *self.regs.cells::<u32>(row)).collect();
            saved_preds = callee.preds.clone().map(|p| self.regs.pred(p)).collect();
        }
        fragment.stack.push(Frame {
            return_pc: pc + 1,
            site: site_index,
            callee: callee_index,
            step,
            saved,
            saved_preds,
        });
        fragment.pc = entry;
        self.fragments.push(fragment.clone());
        Ok(())
    }

    /// Undoes a call for lanes that return: registers, frame base, results.
    fn leave(&mut self, launch: &Launch<'_>, frame: &Frame, mask: u32) {
        let kernel = launch.kernel;
        let callee = &kernel.functions[frame.callee as usize];
        for (row, values) in callee.rows.clone().zip(&frame.saved) {
            self.regs.write(row, values, mask);
        }
        for (pred, value) in callee.preds.clone().zip(&frame.saved_preds) {
            self.regs.set_pred(pred, *value, mask);
        }
        for lane in lanes(mask) {
            let there = kernel.frame_row.map_or(0, |row| self.regs.cells::<u64>(row)[lane]);
            let here = there - u64::from(frame.step);
            if let Some(site) = kernel.calls.get(frame.site as usize) {
                for (to, from) in site.returns.iter().zip(&callee.returns) {
                    let size = from.size.min(to.size);
                    self.state.local.copy(
                        lane,
                        there + u64::from(from.offset),
                        here + u64::from(to.offset),
                        size,
                    );
                }
            }
            if let Some(row) = kernel.frame_row {
                self.regs.cells_mut::<u64>(row)[lane] = here;
            }
        }
    }
}
