//! Asynchronous copies of a block that nothing has waited for: which words of shared memory they still write.
//!
//! Groups are counted for each warp, and copies that an `mbarrier` is told of by that object. Copies are made when they
//! are issued; this only remembers that nobody could rely on it, whichever warp reads or writes.

/// What wrote a word last, of the copies.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
enum Owner {
    #[default]
    None,
    /// A group of a warp.
    Group { warp: u32, group: u32 },
    /// Whoever waits at the `mbarrier` of this address.
    Object(u32),
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
    /// Some word may belong to an object.
    told: bool,
}

impl Copies {
    /// Forgets everything.
    pub fn reset(&mut self) {
        self.owners.clear();
        self.groups.clear();
        self.told = false;
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
        self.own(address, size, Owner::Group { warp, group });
    }

    /// A copy to `size` bytes whose end the `mbarrier` at `object` is told.
    pub fn issue_to(&mut self, object: u64, address: u64, size: u32) {
        self.own(address, size, Owner::Object(object as u32));
    }

    /// A warp's copies so far are told to the `mbarrier` at `object`.
    pub fn hand_over(&mut self, warp: u32, object: u64) {
        let done = self.groups(warp).done;
        for owner in &mut self.owners {
            if matches!(owner, Owner::Group { warp: whose, group } if *whose == warp && *group >= done) {
                *owner = Owner::Object(object as u32);
                self.told = true;
            }
        }
        self.wait(warp, None);
    }

    /// Somebody has waited at an `mbarrier` until its phase was complete.
    pub fn waited_at(&mut self, object: u64) {
        for owner in self.owners.iter_mut().filter(|owner| **owner == Owner::Object(object as u32)) {
            *owner = Owner::None;
        }
        self.forget();
    }

    fn own(&mut self, address: u64, size: u32, owner: Owner) {
        self.told |= matches!(owner, Owner::Object(_));
        let (first, last) = (address as usize / 4, (address + u64::from(size)).div_ceil(4) as usize);
        if self.owners.len() < last {
            self.owners.resize(last, Owner::default());
        }
        self.owners[first..last].fill(owner);
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
        self.forget();
    }

    /// Forgets all words once nothing is awaited.
    fn forget(&mut self) {
        let objects = || self.owners.iter().any(|owner| matches!(owner, Owner::Object(_)));
        self.told = self.told && objects();
        if !self.told && self.groups.iter().all(|groups| groups.issued <= groups.done) {
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
            match *owner {
                Owner::None => false,
                Owner::Object(_) => true,
                Owner::Group { warp, group } => {
                    self.groups.get(warp as usize).is_some_and(|groups| group >= groups.done)
                }
            }
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
    fn what_an_object_is_told_of_is_pending_until_somebody_waits_there() {
        let mut copies = Copies::default();
        copies.issue_to(128, 0, 16);
        copies.issue(2, 16, 4);
        copies.hand_over(2, 136);
        copies.issue(2, 20, 4);
        copies.waited_at(128);
        assert!(!copies.pending(0, 16) && copies.pending(16, 4) && copies.pending(20, 4));
        copies.wait(2, None);
        assert!(copies.pending(16, 4) && !copies.pending(20, 4), "the object was told of the first alone");
        copies.waited_at(136);
        assert!(!copies.any());
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
