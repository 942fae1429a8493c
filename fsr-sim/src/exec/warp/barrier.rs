//! Where lanes wait for each other: the barriers of a warp and of its block.

use super::{Fragment, Next, State, Warp};
use crate::check::{FaultKind, Level};
use crate::exec::{BlockState, Exec, Launch, Trap, lanes, trap};
use std::cmp::Ordering;

use crate::program::{Action, Barrier, BarrierKind, Control, Inst, NONE};

impl Warp {
    /// `bar.warp.sync`: lanes may stand at different ones; all members together go on.
    pub(super) fn warp_sync(
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
        // A fragment that was chosen although it waits has nobody else to wait for.
        let forced = fragment.state == State::AtSync;
        let early = if forced { 0 } else { self.early(inst, active, waiting) };
        if early == active {
            fragment.state = State::AtSync;
            self.fragments.push(fragment.clone());
            return Ok(Next::Choose);
        }
        // Those of another mask wait on.
        self.put_waiting(fragment, fragment.pc, early);
        let active = active & !early;
        fragment.mask = active;
        if launch.level == Level::Full {
            let exec = Exec { launch, block, warp: &mut self.state, regs: &mut self.regs, pc: fragment.pc };
            let outside = exec.outside_mask(inst, active);
            if forced || outside != 0 {
                let lane = if outside != 0 { outside } else { active }.trailing_zeros();
                exec.raise(trap(FaultKind::MemberMask, lane))?;
            }
        }
        let members = self.regs.cells::<u32>(inst.c);
        let released = lanes(active).fold(0, |m, lane| m | members[lane]) & !active & !early;
        let mut stay = Vec::new();
        for other in self.fragments.iter_mut().filter(|f| f.state == State::AtSync && f.mask & released != 0)
        {
            // Those at instructions of another kind stay: only a barrier releases without its own turn.
            let kind = launch.kernel.code.get(other.pc as usize).map(|i| i.action);
            if matches!(kind, Some(Action::Control(Control::WarpSync))) {
                stay.push((other.clone(), other.mask & !released));
                other.mask &= released;
                other.pc += 1;
                other.state = State::Ready;
            }
        }
        for (other, mask) in stay {
            self.put_waiting(&other, other.pc, mask);
        }
        fragment.state = State::Ready;
        fragment.pc += 1;
        if !self.fragments.is_empty() {
            self.fragments.push(fragment.clone());
            return Ok(Next::Choose);
        }
        Ok(Next::Continue)
    }

    pub(super) fn barrier(
        &mut self,
        launch: &Launch<'_>,
        block: &mut BlockState,
        fragment: &mut Fragment,
        barrier: Barrier,
        inst: &Inst,
        active: u32,
    ) -> Result<Next, Trap> {
        if barrier.aligned {
            if self.others_may_come(fragment) {
                return Ok(Next::Choose);
            }
            self.check_aligned(launch, block, fragment.pc, active)?;
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

    /// Lets a fragment wait at an aligned barrier for others of its warp that stand before it and only gave way to it:
    /// hardware brings them together first, however long they take. False when it goes on.
    pub(super) fn others_may_come(&mut self, fragment: &mut Fragment) -> bool {
        // One that was chosen although it waits has nobody else to wait for.
        let forced = fragment.state == State::AtAligned;
        fragment.state = State::Ready;
        let on_the_way =
            |other: &Fragment| other.state == State::Ready && other.order(fragment) == Ordering::Less;
        if forced || !self.fragments.iter().any(on_the_way) {
            return false;
        }
        fragment.state = State::AtAligned;
        self.fragments.push(fragment.clone());
        true
    }

    /// At full checks: all lanes of the warp must be at an aligned barrier together.
    pub(super) fn check_aligned(
        &mut self,
        launch: &Launch<'_>,
        block: &mut BlockState,
        pc: u32,
        active: u32,
    ) -> Result<(), Trap> {
        if launch.level == Level::Full
            && (active | self.about_to_exit(launch) != self.state.alive || self.left_behind(pc, active))
        {
            let lane = active.trailing_zeros();
            let exec = Exec { launch, block, warp: &mut self.state, regs: &mut self.regs, pc };
            exec.raise(trap(FaultKind::DivergentBarrier, lane))?;
        }
        Ok(())
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
    pub(in crate::exec) fn release(&mut self, launch: &Launch<'_>, id: u8, votes: (u32, u32)) -> bool {
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
}
