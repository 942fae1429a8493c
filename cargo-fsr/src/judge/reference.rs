//! The reference process: makes inputs, keeps the results that are right, and compares.
//!
//! Its work is queued, so that a comparison runs while the device launches. Every answer here ends a search when it is
//! an error: no candidate ran in this process.

use std::collections::{BTreeMap, VecDeque};

use fsr_protocol::{CaseId, Comparison, Description, Reply, Request, Role, SetId, Tolerance};

use super::process::{HostProcess, RequestError};
use super::{Deadlines, JudgeError};

/// A comparison that was asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Ticket(u64);

#[derive(Debug)]
enum Queued {
    Set,
    Dropped,
    Compare(Ticket),
}

/// The running reference process.
#[derive(Debug)]
pub struct Reference {
    process: HostProcess,
    deadlines: Deadlines,
    queue: VecDeque<Queued>,
    done: BTreeMap<Ticket, Comparison>,
    tickets: u64,
}

impl Reference {
    /// Wraps a started process.
    pub fn new(process: HostProcess, deadlines: Deadlines) -> Self {
        Self { process, deadlines, queue: VecDeque::new(), done: BTreeMap::new(), tickets: 0 }
    }

    /// The cases as this process sees them.
    pub fn describe(&mut self) -> Result<Description, JudgeError> {
        self.settle()?;
        match self.process.request(&Request::Describe, self.deadlines.host).map_err(fault)? {
            Reply::Description(description) => Ok(description),
            other => Err(fault(self.process.unexpected("describe", &other))),
        }
    }

    /// Queues the making of a set; `like` another one it differs from that in one element.
    pub fn make_set(
        &mut self,
        case: CaseId,
        set: SetId,
        seed: u64,
        like: Option<SetId>,
    ) -> Result<(), JudgeError> {
        self.enqueue(&Request::MakeSet { case, set, seed, like }, Queued::Set)
    }

    /// Queues the forgetting of a set.
    pub fn drop_set(&mut self, case: CaseId, set: SetId) -> Result<(), JudgeError> {
        self.enqueue(&Request::DropSet { case, set }, Queued::Dropped)
    }

    /// Queues the comparison of a dump with what is right.
    pub fn compare(
        &mut self,
        case: CaseId,
        set: SetId,
        dump: u64,
        inputs: bool,
        tolerance: Option<Tolerance>,
    ) -> Result<Ticket, JudgeError> {
        let ticket = Ticket(self.tickets);
        self.tickets += 1;
        let request = Request::Compare { case, set, dump, inputs, tolerance };
        self.enqueue(&request, Queued::Compare(ticket))?;
        Ok(ticket)
    }

    /// Waits for a comparison. Each is given out once.
    pub fn compared(&mut self, ticket: Ticket) -> Result<Comparison, JudgeError> {
        loop {
            if let Some(comparison) = self.done.remove(&ticket) {
                // Older ones belong to launches that were given up.
                self.done = self.done.split_off(&ticket);
                return Ok(comparison);
            }
            if self.queue.is_empty() {
                return Err(JudgeError::Process("a comparison was asked for twice".to_owned()));
            }
            self.step()?;
        }
    }

    /// Waits until all sets that were asked for exist.
    pub fn settle(&mut self) -> Result<(), JudgeError> {
        while !self.queue.is_empty() {
            self.step()?;
        }
        Ok(())
    }

    fn enqueue(&mut self, request: &Request, queued: Queued) -> Result<(), JudgeError> {
        self.process.send(request).map_err(fault)?;
        self.queue.push_back(queued);
        Ok(())
    }

    fn step(&mut self) -> Result<(), JudgeError> {
        let Some(next) = self.queue.pop_front() else { return Ok(()) };
        let (request, deadline) = match next {
            Queued::Set => ("make-set", self.deadlines.reference),
            Queued::Dropped => ("drop-set", self.deadlines.host),
            Queued::Compare(_) => ("compare", self.deadlines.reference),
        };
        match (next, self.process.wait(deadline).map_err(fault)?) {
            (Queued::Set, Reply::SetMade { .. }) | (Queued::Dropped, Reply::Done) => {}
            (Queued::Compare(ticket), Reply::Compared(comparison)) => {
                self.done.insert(ticket, comparison);
            }
            (_, other) => return Err(fault(self.process.unexpected(request, &other))),
        }
        Ok(())
    }
}

fn fault(error: RequestError) -> JudgeError {
    error.into_fault(Role::Reference)
}
