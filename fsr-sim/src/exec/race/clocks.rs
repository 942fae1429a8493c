//! What warps of a block know of each other: an epoch for each, which grows where the warp synchronises, and up to which
//! epoch of every other it has synchronised.

use super::record::{Agent, EPOCHS};
use std::collections::HashMap;

/// What warps of a block know of each other.
#[derive(Clone)]
pub(crate) struct Clocks {
    /// Warps of the block; 0 where races are not judged.
    warps: usize,
    epoch: [u32; 32],
    /// Up to which epoch each warp has been before a warp's present one for certain.
    seen: Box<[[u32; 32]; 32]>,
    /// Where all strong accesses of the block meet.
    meeting: [u32; 32],
    /// What arrivals have brought to an `mbarrier`, by its address: in all, and up to its last complete phase.
    objects: HashMap<u64, [[u32; 32]; 2]>,
}

impl Default for Clocks {
    fn default() -> Self {
        Clocks {
            warps: 0,
            epoch: [1; 32],
            seen: Box::new([[0; 32]; 32]),
            meeting: [0; 32],
            objects: HashMap::new(),
        }
    }
}

fn join(into: &mut [u32; 32], from: &[u32; 32], warps: usize) {
    for (a, b) in into.iter_mut().zip(from).take(warps) {
        *a = (*a).max(*b);
    }
}

impl Clocks {
    /// Ready for a new block.
    pub fn reset(&mut self, warps: u32) {
        self.warps = warps.min(32) as usize;
        self.epoch = [1; 32];
        self.seen[..self.warps].fill([0; 32]);
        self.meeting = [0; 32];
        self.objects.clear();
    }

    fn step(&mut self, warp: usize) {
        self.seen[warp][warp] = self.epoch[warp];
        self.epoch[warp] += 1;
    }

    /// Lanes of a warp have met.
    pub fn warp_sync(&mut self, warp: u32) {
        self.step(warp as usize & 31);
    }

    /// A warp gives what it knows to a barrier.
    pub fn arrive(&mut self, warp: u32, barrier: &mut [u32; 32]) {
        let warp = warp as usize & 31;
        join(barrier, &self.seen[warp], self.warps);
        barrier[warp] = barrier[warp].max(self.epoch[warp]);
        self.step(warp);
    }

    /// A warp leaves a barrier.
    pub fn leave(&mut self, warp: u32, barrier: &[u32; 32]) {
        join(&mut self.seen[warp as usize & 31], barrier, self.warps);
    }

    /// A warp arrives at an `mbarrier`.
    pub fn arrive_at(&mut self, warp: u32, address: u64) {
        let mut object = self.objects.remove(&address).unwrap_or_default();
        self.arrive(warp, &mut object[0]);
        self.objects.insert(address, object);
    }

    /// A phase of an `mbarrier` is complete.
    pub fn complete_at(&mut self, address: u64) {
        if let Some([all, complete]) = self.objects.get_mut(&address) {
            *complete = *all;
        }
    }

    /// A warp's wait at an `mbarrier` is over.
    pub fn leave_at(&mut self, warp: u32, address: u64) {
        if let Some([_, complete]) = self.objects.get(&address).copied() {
            self.leave(warp, &complete);
        }
    }

    /// A strong access of a kernel that synchronises through memory.
    pub(super) fn meet(&mut self, warp: u32) {
        let mut meeting = self.meeting;
        self.arrive(warp, &mut meeting);
        self.leave(warp, &meeting);
        self.meeting = meeting;
    }

    /// The access of a warp that is made now; `None` where it has passed more barriers than records can tell apart.
    pub(super) fn agent(&self, block: u32, warp: u32, pc: u32, strong: bool) -> Option<Agent<'_>> {
        let warp = warp as usize & 31;
        let epoch = self.epoch[warp];
        (epoch < EPOCHS).then(|| Agent::new(block, warp as u32, epoch, &self.seen[warp], pc, strong))
    }
}
