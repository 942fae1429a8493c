//! The reference role: makes inputs and trusted results, and compares what the device process dumped.
//!
//! Owns the sets of inputs with their references. It never opens a GPU, so no kernel can reach what it holds.

mod compare;
mod pattern;

#[cfg(all(test, unix))]
mod tests;

#[cfg(test)]
mod compare_tests;

use std::collections::HashMap;
use std::path::PathBuf;
use std::time::Instant;

use fsr_protocol::{BufferRole, CaseId, Comparison, HostError, Reply, Request, SetId, Tolerance, files};

use crate::case::DeclaredCase;
use crate::cpu::Cpu;
use crate::element::accumulated;
use crate::fault::{guarded, host_code, io};
use crate::program::Program;
use crate::raw::{Mapped, MappedMut};
use compare::Expected;

/// The reference half of a host process.
pub(crate) struct Reference<'p> {
    program: &'p Program,
    share: PathBuf,
    sets: HashMap<(CaseId, SetId), Set>,
}

/// One set of inputs and what a correct kernel makes of it.
struct Set {
    /// What its inputs were made from.
    seed: u64,
    /// One a buffer; `None` for pure outputs.
    inputs: Vec<Option<MappedMut>>,
    /// One a buffer; `None` for inputs.
    expected: Vec<Option<Expected>>,
}

impl<'p> Reference<'p> {
    pub(crate) fn new(program: &'p Program, share: PathBuf) -> Self {
        Self { program, share, sets: HashMap::new() }
    }

    /// Answers one request.
    pub(crate) fn answer(&mut self, request: Request) -> Result<Reply, HostError> {
        match request {
            Request::Describe => self.program.description().map(Reply::Description),
            Request::MakeSet { case, set, seed, like } => {
                let start = Instant::now();
                self.make_set(case, set, seed, like)?;
                Ok(Reply::SetMade { seconds: start.elapsed().as_secs_f64() })
            }
            Request::Compare { case, set, dump, inputs, tolerance } => {
                self.compare(case, set, dump, inputs, tolerance).map(Reply::Compared)
            }
            Request::DropSet { case, set } => {
                self.sets.remove(&(case, set));
                Ok(Reply::Done)
            }
            Request::Exit => Ok(Reply::Done),
            other => Err(HostError::Protocol { message: format!("not for the reference role: {other:?}") }),
        }
    }

    /// Makes a set from a seed. `like` another set it is that one with one element drawn anew.
    pub(crate) fn make_set(
        &mut self,
        id: CaseId,
        set: SetId,
        seed: u64,
        like: Option<SetId>,
    ) -> Result<(), HostError> {
        let case = self.program.case(id)?;
        if self.sets.contains_key(&(id, set)) {
            return Err(HostError::Protocol { message: format!("set {set} of case {id} exists already") });
        }
        let original = match like {
            None => seed,
            Some(like) => self.sets.get(&(id, like)).map(|set| set.seed).ok_or_else(|| {
                HostError::Protocol { message: format!("there is no set {like} of case {id}") }
            })?,
        };
        let mut made = guarded(|| self.inputs(case, id, set, original))??;
        if like.is_some() {
            guarded(|| case.change_one(&mut made, original, seed))?;
        }
        let expected = guarded(|| reference(case, &made))??;
        self.sets.insert((id, set), Set { seed: original, inputs: made, expected });
        Ok(())
    }

    fn inputs(
        &self,
        case: &DeclaredCase,
        id: CaseId,
        set: SetId,
        seed: u64,
    ) -> Result<Vec<Option<MappedMut>>, HostError> {
        (0..case.info.buffers.len())
            .map(|buffer| case.fill(buffer, seed, &files::input(&self.share, id, set, buffer)).map_err(io))
            .collect()
    }

    pub(crate) fn compare(
        &self,
        id: CaseId,
        set: SetId,
        slot: u64,
        inputs: bool,
        tolerance: Option<Tolerance>,
    ) -> Result<Comparison, HostError> {
        let case = self.program.case(id)?;
        let Set { inputs: initial, expected, .. } = self
            .sets
            .get(&(id, set))
            .ok_or_else(|| HostError::Protocol { message: format!("there is no set {set} of case {id}") })?;
        let dumped = |buffer: usize| {
            let bytes = case.info.buffers[buffer].bytes();
            Mapped::open(&files::dump(&self.share, slot, id, buffer), bytes).map_err(io)
        };
        let mut comparison = Comparison { outputs: Vec::new(), changed_inputs: Vec::new() };
        for (buffer, info) in case.info.buffers.iter().enumerate() {
            if let Some(expected) = &expected[buffer] {
                let got = dumped(buffer)?;
                let default = case.terms.get(&buffer).map(|terms| accumulated(info.dtype, *terms));
                comparison.outputs.push(compare::compare(info, expected, got.bytes(), tolerance.or(default)));
            } else if let (true, false, Some(initial)) = (inputs, info.is_scalar(), &initial[buffer])
                && !compare::same_bytes(initial.bytes(), dumped(buffer)?.bytes())
            {
                comparison.changed_inputs.push(info.name.clone());
            }
        }
        Ok(comparison)
    }
}

/// Runs the user's reference on one set.
fn reference(case: &DeclaredCase, inputs: &[Option<MappedMut>]) -> Result<Vec<Option<Expected>>, HostError> {
    let buffers = &case.info.buffers;
    let inputs: Vec<Option<&[u8]>> = inputs.iter().map(|file| file.as_ref().map(MappedMut::bytes)).collect();
    let cpu = Cpu::new(buffers, &inputs);
    (case.reference)(&cpu);
    let filled = cpu.finish().into_iter().zip(buffers).map(|(filled, info)| {
        debug_assert_eq!(filled.is_none(), info.role == BufferRole::Input);
        filled.map(|filled| Expected::new(info, filled)).transpose()
    });
    let expected: Result<_, String> = filled.collect();
    expected.map_err(|message| host_code(format!("case `{}`: {message}", case.info.name)))
}
