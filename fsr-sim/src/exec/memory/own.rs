//! Local memory, the parameters of device functions, which live there, and the parameters of kernels.

use super::{At, Place, Shape, load_at, store_at};
use crate::check::FaultKind;
use crate::exec::{Exec, Launch, Trap, lanes};
use crate::parse::Space;
use crate::program::Inst;

struct Local;

impl Place for Local {
    type Reach<'m> = ();

    fn reach<'m>(x: &Exec<'m>, at: At<'_>, write: bool) -> Result<(), Trap> {
        x.own(Space::Local, at, x.warp.local.bytes(), write)
    }

    fn count(x: &mut Exec<'_>, _: At<'_>) {
        x.block.counters.request(x.pc, 1);
    }

    fn judge_load(x: &mut Exec<'_>, _: &Inst, at: At<'_>, (): &()) -> Result<(), Trap> {
        if at.shape.framed {
            return Ok(());
        }
        let size = at.size();
        for lane in lanes(at.mask) {
            let address = at.addresses[lane];
            if x.uses(size, |from, bytes| x.warp.local.unwritten(lane, address + u64::from(from), bytes)) {
                let kind = FaultKind::Uninitialised;
                x.raise(x.access_trap(kind, lane as u32, Space::Local, address, size.into(), false))?;
            }
        }
        Ok(())
    }

    fn judge_store(_: &mut Exec<'_>, _: &Inst, _: At<'_>, (): &()) -> Result<(), Trap> {
        Ok(())
    }

    fn load(x: &Exec<'_>, (): &(), lane: usize, address: u64, bytes: u32) -> u64 {
        x.warp.local.load(lane, address, bytes)
    }

    fn store(x: &mut Exec<'_>, (): &(), lane: usize, address: u64, bytes: u32, value: u64) {
        x.warp.local.store(lane, address, bytes, value);
    }
}

/// A kernel's parameters: read only, the same for all lanes.
struct Param;

impl Place for Param {
    type Reach<'m> = &'m [u8];

    fn reach<'m>(x: &Exec<'m>, at: At<'_>, write: bool) -> Result<&'m [u8], Trap> {
        x.own(Space::Param, at, x.launch.params.len() as u64, write)?;
        Ok(x.launch.params)
    }

    fn count(_: &mut Exec<'_>, _: At<'_>) {}

    fn judge_load(_: &mut Exec<'_>, _: &Inst, _: At<'_>, _: &&[u8]) -> Result<(), Trap> {
        Ok(())
    }

    fn judge_store(_: &mut Exec<'_>, _: &Inst, _: At<'_>, _: &&[u8]) -> Result<(), Trap> {
        Ok(())
    }

    fn load(x: &Exec<'_>, _: &&[u8], _: usize, address: u64, bytes: u32) -> u64 {
        parameter(x.launch, address as u32, bytes)
    }

    // No instruction stores here: a generic store faults before.
    fn store(_: &mut Exec<'_>, _: &&[u8], _: usize, _: u64, _: u32, _: u64) {}
}

/// `bytes` (at most 8) of a kernel's parameters; 0 beyond their end.
pub(in crate::exec) fn parameter(launch: &Launch<'_>, offset: u32, bytes: u32) -> u64 {
    let mut raw = [0u8; 8];
    if let Some(found) = launch.params.get(offset as usize..offset as usize + bytes as usize) {
        raw[..found.len()].copy_from_slice(found);
    }
    u64::from_le_bytes(raw)
}

fn local_addresses(x: &Exec<'_>, i: &Inst, shape: Shape) -> [u64; 32] {
    let mut addresses = x.addresses(i, shape.narrow);
    if shape.framed {
        let base = x.regs.cells::<u64>(i.b);
        for lane in 0..32 {
            addresses[lane] = addresses[lane].wrapping_add(base[lane]);
        }
    }
    addresses
}

pub(crate) fn load_local(x: &mut Exec<'_>, i: &Inst, m: u32) -> Result<(), Trap> {
    let shape = Shape::unpack(i.aux);
    load_local_at(x, i, At { addresses: &local_addresses(x, i, shape), mask: m, shape })
}

pub(super) fn load_local_at(x: &mut Exec<'_>, i: &Inst, at: At<'_>) -> Result<(), Trap> {
    load_at::<Local>(x, i, at)
}

pub(crate) fn store_local(x: &mut Exec<'_>, i: &Inst, m: u32) -> Result<(), Trap> {
    let shape = Shape::unpack(i.aux);
    store_local_at(x, i, At { addresses: &local_addresses(x, i, shape), mask: m, shape })
}

pub(super) fn store_local_at(x: &mut Exec<'_>, i: &Inst, at: At<'_>) -> Result<(), Trap> {
    store_at::<Local>(x, i, at)
}

/// `ld.param` in an entry.
pub(crate) fn load_param(x: &mut Exec<'_>, i: &Inst, m: u32) -> Result<(), Trap> {
    let shape = Shape::unpack(i.aux);
    load_param_at(x, i, At { addresses: &x.addresses(i, shape.narrow), mask: m, shape })
}

pub(super) fn load_param_at(x: &mut Exec<'_>, i: &Inst, at: At<'_>) -> Result<(), Trap> {
    load_at::<Param>(x, i, at)
}
