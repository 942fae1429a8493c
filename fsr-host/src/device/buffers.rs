//! Device buffers between guard bytes.
//!
//! Owns the working memory of one case: allocated once, poisoned or restored before each launch. It never holds a
//! set's pristine inputs, so no kernel is ever given their address. The CPU device checks every access itself: there a
//! buffer is exactly as large as it is declared, and has a name.

use std::ops::Range;

use fsr_protocol::{BufferInfo, BufferRole, RedzoneHit};

use crate::raw::{Context, CudaError, DeviceMemory, Pinned};

/// Guard bytes on either side of a buffer. Keeps the alignment of the allocation, and is wide enough for an index that
/// is off by a row of 16,384 f32.
const REDZONE: usize = 64 * 1024;

/// What guard bytes hold: a NaN-free pattern that no poison and no zero equals.
const GUARD: u8 = 0xa5;

/// What outputs hold before a launch: NaN in every float type.
const POISON: u8 = 0xff;

/// One buffer with its guards.
#[derive(Debug)]
pub(crate) struct Guarded {
    pub(crate) memory: DeviceMemory,
    len: usize,
    /// Bytes on either side.
    guard: usize,
}

impl Guarded {
    fn allocate(context: &Context, len: usize) -> Result<Self, CudaError> {
        Ok(Self { memory: context.allocate(REDZONE + len + REDZONE)?, len, guard: REDZONE })
    }

    /// On a device that knows where a buffer ends.
    fn exact(context: &Context, len: usize, name: &str) -> Result<Self, CudaError> {
        // There is no allocation of no bytes.
        let memory = context.allocate(len.max(1))?;
        context.name_buffer(&memory, name);
        Ok(Self { memory, len, guard: 0 })
    }

    /// Where the elements lie in the allocation, in bytes.
    pub(crate) fn range(&self) -> Range<usize> {
        self.guard..self.guard + self.len
    }

    fn guards(&self) -> [Range<usize>; 2] {
        [0..self.guard, self.guard + self.len..self.guard + self.len + self.guard]
    }
}

/// The working buffers of one case.
#[derive(Debug)]
pub(crate) struct Workspace {
    /// One a declared buffer; `None` for scalars.
    pub(crate) buffers: Vec<Option<Guarded>>,
    /// Where the guards are looked at; none on a device that needs none.
    guards: Option<Pinned>,
}

impl Workspace {
    /// `checked`: the device checks every access itself.
    pub(crate) fn allocate(
        context: &Context,
        infos: &[BufferInfo],
        checked: bool,
    ) -> Result<Self, CudaError> {
        let allocate = |info: &BufferInfo| {
            let len = info.bytes() as usize;
            match (info.is_scalar(), checked) {
                (true, _) => Ok(None),
                (false, true) => Guarded::exact(context, len, &info.name).map(Some),
                (false, false) => Guarded::allocate(context, len).map(Some),
            }
        };
        let buffers: Vec<Option<Guarded>> = infos.iter().map(allocate).collect::<Result<_, _>>()?;
        let count = buffers.iter().flatten().count();
        let guards = (!checked).then(|| context.pinned(count * 2 * REDZONE)).transpose()?;
        Ok(Self { buffers, guards })
    }

    /// Enqueues the state before a launch: guards armed, outputs poisoned, the rest restored from the set.
    pub(crate) fn prepare(
        &self,
        context: &Context,
        infos: &[BufferInfo],
        pristine: &[Option<DeviceMemory>],
    ) -> Result<(), CudaError> {
        for ((info, buffer), pristine) in infos.iter().zip(&self.buffers).zip(pristine) {
            let Some(buffer) = buffer else { continue };
            for guard in buffer.guards() {
                context.fill(&buffer.memory, guard, GUARD)?;
            }
            match (info.role, pristine) {
                (BufferRole::Input | BufferRole::InOut, Some(pristine)) => {
                    context.copy(pristine, 0, &buffer.memory, buffer.guard, buffer.len)?;
                }
                _ => context.fill(&buffer.memory, buffer.range(), POISON)?,
            }
        }
        Ok(())
    }

    /// Waits for the launch and looks at all guards.
    pub(crate) fn damage(
        &mut self,
        context: &Context,
        infos: &[BufferInfo],
    ) -> Result<Vec<RedzoneHit>, CudaError> {
        let Some(seen) = &mut self.guards else { return Ok(Vec::new()) };
        let guards = self
            .buffers
            .iter()
            .flatten()
            .flat_map(|buffer| buffer.guards().into_iter().map(|guard| (&buffer.memory, guard.start)));
        let chunks = seen.bytes_mut().chunks_exact_mut(REDZONE);
        context.download(guards.zip(chunks).map(|((memory, start), seen)| (memory, start, seen)))?;
        let guarded = infos.iter().zip(&self.buffers).filter(|(_, buffer)| buffer.is_some());
        let hits = guarded.zip(seen.bytes().chunks_exact(2 * REDZONE)).flat_map(|((info, _), seen)| {
            let (before, behind) = seen.split_at(REDZONE);
            [hit(info, before, true), hit(info, behind, false)]
        });
        Ok(hits.flatten().collect())
    }
}

/// What a guard tells.
fn hit(info: &BufferInfo, guard: &[u8], before: bool) -> Option<RedzoneHit> {
    if guard.iter().fold(0, |seen, byte| seen | (byte ^ GUARD)) == 0 {
        return None;
    }
    let damaged = |byte: &u8| *byte != GUARD;
    let first = guard.iter().position(damaged)?;
    let last = guard.iter().rposition(damaged)?;
    let distance = if before { guard.len() - 1 - last } else { first };
    let bytes = guard.iter().filter(|byte| damaged(byte)).count();
    Some(RedzoneHit { buffer: info.name.clone(), before, distance: distance as u64, bytes: bytes as u64 })
}

#[cfg(test)]
mod tests {
    use fsr_protocol::Dtype;

    use super::*;

    fn guard(damage: &[usize]) -> Vec<u8> {
        let mut guard = vec![GUARD; REDZONE];
        for position in damage {
            guard[*position] = 0;
        }
        guard
    }

    #[test]
    fn damage_is_measured_from_the_buffers_edge() {
        let info =
            BufferInfo { name: "y".into(), role: BufferRole::Output, dtype: Dtype::F32, shape: vec![4] };
        assert_eq!(hit(&info, &guard(&[]), true), None);
        let behind = hit(&info, &guard(&[0, 1, 2, 3, 100]), false).unwrap();
        assert_eq!((behind.distance, behind.bytes, behind.before), (0, 5, false));
        let before = hit(&info, &guard(&[REDZONE - 8]), true).unwrap();
        assert_eq!((before.distance, before.bytes, before.before), (7, 1, true));
    }
}
