//! Calls of functions and their ends: the frame stack, arguments and results in local memory.

use super::{Fragment, Frame, Warp};
use crate::check::FaultKind;
use crate::exec::{BlockState, Exec, FUNCTION_TAG, Launch, Regs, Trap, lanes, printf, trap};
use crate::program::{Body, Inst};

impl Warp {
    pub(super) fn call(
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
                let place = handle.checked_sub(FUNCTION_TAG);
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
                printf::call(&mut exec, builtin, site, same)?;
                fragment.pc = pc + 1;
                self.fragments.push(fragment.clone());
                return Ok(());
            }
            Body::Missing => return Err(trap(FaultKind::Unsupported(callee.name.clone()), first)),
        };
        // What a call of a recursive function keeps is on a stack of the same size, and a call is never for nothing.
        let kept = if callee.recursive { (4 * callee.rows.len() as u32).max(16) } else { 0 };
        let step = step.saturating_add(kept).next_multiple_of(16);
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
    pub(super) fn leave(&mut self, launch: &Launch<'_>, frame: &Frame, mask: u32) {
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
