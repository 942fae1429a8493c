//! Asynchronous copies of a block that nothing has waited for: which words of shared memory they still write.
//!
//! Groups are counted for each warp. Copies are made when they are issued; this only remembers that a reader could not
//! rely on it, whichever warp reads.

/// What wrote a word last, of the copies.
#[derive(Clone, Copy, Default)]
struct Owner {
    /// Warp plus one; 0: none.
    warp: u32,
    group: u32,
}

/// Groups of one warp.
#[derive(Clone, Copy, Default)]
struct Groups {
    /// The group that the next copy belongs to.
    open: u32,
    /// Groups from here on have no copy.
    issued: u32,
    /// Groups below are complete.
    done: u32,
}

/// Copies of one block.
#[derive(Default)]
pub(crate) struct Copies {
    /// By word of shared memory; as long as the last word that was copied to.
    owners: Vec<Owner>,
    groups: Vec<Groups>,
}

impl Copies {
    /// Forgets everything.
    pub fn reset(&mut self) {
        self.owners.clear();
        self.groups.clear();
    }

    fn groups(&mut self, warp: u32) -> &mut Groups {
        let index = warp as usize;
        if self.groups.len() <= index {
            self.groups.resize(index + 1, Groups::default());
        }
        &mut self.groups[index]
    }

    /// A warp's copy to `size` bytes; the range lies within shared memory.
    pub fn issue(&mut self, warp: u32, address: u64, size: u32) {
        let groups = self.groups(warp);
        let group = groups.open;
        groups.issued = group + 1;
        let (first, last) = (address as usize / 4, (address + u64::from(size)).div_ceil(4) as usize);
        if self.owners.len() < last {
            self.owners.resize(last, Owner::default());
        }
        self.owners[first..last].fill(Owner { warp: warp + 1, group });
    }

    /// Ends a warp's group.
    pub fn commit(&mut self, warp: u32) {
        self.groups(warp).open += 1;
    }

    /// A warp waits for all but its newest `keep` groups; `None`: for all copies, committed or not.
    pub fn wait(&mut self, warp: u32, keep: Option<u32>) {
        let groups = self.groups(warp);
        if keep.is_none() {
            groups.open += 1;
        }
        groups.done = groups.done.max(groups.open.saturating_sub(keep.unwrap_or(0)));
        if self.groups.iter().all(|groups| groups.issued <= groups.done) {
            self.owners.clear();
        }
    }

    /// Whether there is a copy that nothing has waited for.
    pub fn any(&self) -> bool {
        !self.owners.is_empty()
    }

    /// Whether a copy to any of these bytes was not waited for.
    #[inline(always)]
    pub fn pending(&self, address: u64, size: u32) -> bool {
        !self.owners.is_empty() && self.find(address, size)
    }

    fn find(&self, address: u64, size: u32) -> bool {
        let (first, last) = (address as usize / 4, (address + u64::from(size)).div_ceil(4) as usize);
        self.owners.get(first..last.min(self.owners.len())).unwrap_or_default().iter().any(|owner| {
            owner.warp != 0
                && self.groups.get(owner.warp as usize - 1).is_some_and(|groups| owner.group >= groups.done)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_copy_is_pending_until_its_own_warp_waits_for_its_group() {
        let mut copies = Copies::default();
        assert!(!copies.pending(0, 4));
        copies.issue(1, 16, 16);
        copies.commit(1);
        copies.issue(1, 32, 8);
        assert!(copies.pending(28, 4) && copies.pending(36, 4));
        assert!(!copies.pending(12, 4) && !copies.pending(40, 4));
        copies.wait(0, Some(0));
        assert!(copies.pending(16, 4), "another warp waited");
        copies.wait(1, Some(0));
        assert!(!copies.pending(16, 16));
        assert!(copies.pending(32, 4), "this copy is of no group yet");
        copies.wait(1, None);
        assert!(!copies.pending(32, 8));
    }

    #[test]
    fn the_newest_groups_stay() {
        let mut copies = Copies::default();
        for k in 0..3 {
            copies.issue(0, 4 * k, 4);
            copies.commit(0);
        }
        copies.wait(0, Some(1));
        assert!(!copies.pending(4, 4));
        assert!(copies.pending(8, 4));
    }
}
