//! `barrier.cluster` where a cluster is one block: a barrier in two steps, to arrive at and to wait for.

use super::{Fragment, Next, State, Warp};
use crate::exec::{BlockState, Launch, Trap};

/// The number under which fragments wait at it: beyond those of block barriers.
const ID: u8 = 16;

/// The barrier of one block.
#[derive(Clone, Debug, Default)]
pub(in crate::exec) struct ClusterBarrier {
    /// Lanes of each warp that have arrived in this phase.
    arrived: [u32; 32],
    /// Some have.
    waiting: bool,
    /// What those know that have arrived in this phase, and what those knew whose phase is complete.
    clock: [u32; 32],
    complete: [u32; 32],
}

impl ClusterBarrier {
    pub fn waiting(&self) -> bool {
        self.waiting
    }

    /// Begins the next phase if every thread that has not exited has arrived; whether so.
    pub fn release(launch: &Launch<'_>, block: &mut BlockState, warps: &mut [Warp]) -> bool {
        let barrier = &mut block.cluster;
        if warps.iter().zip(&barrier.arrived).any(|(warp, arrived)| warp.state.alive & !arrived != 0) {
            return false;
        }
        let clock = std::mem::take(&mut barrier.clock);
        *barrier = ClusterBarrier { complete: clock, ..ClusterBarrier::default() };
        for warp in warps {
            if warp.release(launch, ID, (0, 0)) {
                block.clocks.leave(warp.state.index, &clock);
            }
        }
        true
    }
}

impl Warp {
    /// `barrier.cluster.arrive` or, with `wait`, `barrier.cluster.wait`.
    pub(super) fn cluster_barrier(
        &mut self,
        launch: &Launch<'_>,
        block: &mut BlockState,
        fragment: &mut Fragment,
        (wait, aligned): (bool, bool),
        active: u32,
    ) -> Result<Next, Trap> {
        if aligned {
            if self.others_may_come(fragment) {
                return Ok(Next::Choose);
            }
            self.check_aligned(launch, block, fragment.pc, active)?;
        }
        self.put_back(fragment, fragment.pc + 1, fragment.mask & !active);
        fragment.mask = active;
        let index = self.state.index;
        let barrier = &mut block.cluster;
        let arrived = &mut barrier.arrived[index as usize & 31];
        if !wait {
            *arrived |= active;
            barrier.waiting = true;
            block.clocks.arrive(index, &mut barrier.clock);
            fragment.pc += 1;
        } else if *arrived & active != 0 {
            fragment.state = State::AtBarrier(ID);
        } else {
            // All have arrived since this warp did.
            block.clocks.leave(index, &barrier.complete);
            fragment.pc += 1;
        }
        self.fragments.push(fragment.clone());
        Ok(Next::Barrier)
    }
}
