//! Generic addresses: which space each lane means; accesses of single lanes for collective instructions.

use super::{At, Run, Shape, global, own, shared};
use crate::check::FaultKind;
use crate::exec::{Exec, LOCAL_WINDOW, PARAM_WINDOW, SHARED_WINDOW, Trap, lanes};
use crate::parse::Space;
use crate::program::Inst;

/// Which window an address is in, and the lanes of a mask in each.
pub(in crate::exec) fn windows(addresses: &[u64; 32], mask: u32) -> [(Space, u32, u64); 4] {
    let mut out = [
        (Space::Global, 0, 0),
        (Space::Shared, 0, SHARED_WINDOW),
        (Space::Local, 0, LOCAL_WINDOW),
        (Space::Param, 0, PARAM_WINDOW),
    ];
    for lane in lanes(mask) {
        let top = addresses[lane] >> 60;
        let k = match top {
            4 | 5 => 1,
            2 | 3 => 2,
            1 => 3,
            _ => 0,
        };
        out[k].1 |= 1 << lane;
    }
    out
}

pub(crate) fn load_generic(x: &mut Exec<'_>, i: &Inst, m: u32) -> Result<(), Trap> {
    let shape = Shape::unpack(i.aux);
    let addresses = x.addresses(i, shape.narrow);
    for (space, mask, window) in windows(&addresses, m) {
        if mask == 0 {
            continue;
        }
        let inner = addresses.map(|a| a.wrapping_sub(window));
        let at = At { addresses: &inner, mask, shape };
        match space {
            Space::Global => global::load(x, i, at)?,
            Space::Shared => shared::load(x, i, at)?,
            Space::Local => own::load_local_at(x, i, at)?,
            _ => own::load_param_at(x, i, at)?,
        }
    }
    Ok(())
}

pub(crate) fn store_generic(x: &mut Exec<'_>, i: &Inst, m: u32) -> Result<(), Trap> {
    let shape = Shape::unpack(i.aux);
    let addresses = x.addresses(i, shape.narrow);
    for (space, mask, window) in windows(&addresses, m) {
        if mask == 0 {
            continue;
        }
        let inner = addresses.map(|a| a.wrapping_sub(window));
        let at = At { addresses: &inner, mask, shape };
        match space {
            Space::Global => global::store(x, i, at)?,
            Space::Shared => shared::store(x, i, at)?,
            Space::Local => own::store_local_at(x, i, at)?,
            _ => {
                let (lane, bytes) = (mask.trailing_zeros(), at.size().into());
                let address = inner[lane as usize];
                return Err(x.access_trap(FaultKind::ReadOnly, lane, Space::Param, address, bytes, true));
            }
        }
    }
    Ok(())
}

/// `isspacep`: space in `imm` (0 global, 1 shared, 2 local, 3 param, 4 const), result predicate `d`.
pub(crate) fn is_space(x: &mut Exec<'_>, i: &Inst, m: u32) -> Result<(), Trap> {
    let addresses = *x.regs.cells::<u64>(i.a);
    let windows = windows(&addresses, m);
    let value = windows.get(i.imm as usize).map_or(0, |w| w.1);
    x.regs.set_pred(i.d, value, m);
    Ok(())
}

/// Checks one lane's range of a given space before a collective access; gives its value readers.
pub(in crate::exec) fn lane_load(
    x: &Exec<'_>,
    lane: usize,
    space: Space,
    address: u64,
    size: u32,
) -> Result<u64, Trap> {
    let (space, address) = resolve(space, address);
    let fault = |kind| Err(x.access_trap(kind, lane as u32, space, address, size.into(), false));
    match space {
        Space::Shared => {
            if !x.block.shared.fits(address, size) {
                return fault(FaultKind::OutOfBounds);
            }
            if !address.is_multiple_of(size.into()) {
                return fault(FaultKind::Misaligned);
            }
            Ok(x.block.shared.load(address, size))
        }
        Space::Local => {
            if !x.warp.local.fits(address, size) {
                return fault(FaultKind::OutOfBounds);
            }
            Ok(x.warp.local.load(lane, address, size))
        }
        _ => {
            let Some(buffer) = x.launch.memory.find(address) else { return fault(FaultKind::OutOfBounds) };
            let offset = address - buffer.base;
            if buffer.len < u64::from(size) || offset > buffer.len - u64::from(size) {
                return fault(FaultKind::OutOfBounds);
            }
            if !address.is_multiple_of(size.into()) {
                return fault(FaultKind::Misaligned);
            }
            Ok(buffer.load(offset, size))
        }
    }
}

/// The same of all active lanes, where that needs no closer look; those of other lanes mean nothing.
#[inline(always)]
pub(in crate::exec) fn warp_load(
    x: &Exec<'_>,
    space: Space,
    addresses: &[u64; 32],
    mask: u32,
    size: u32,
) -> Option<[u64; 32]> {
    let (space, first) = resolve(space, addresses[mask.trailing_zeros() as usize & 31]);
    let window =
        if space == Space::Shared { addresses[mask.trailing_zeros() as usize & 31] - first } else { 0 };
    if space == Space::Shared {
        let run = Run::wide(addresses, 0, window, mask, size);
        return run
            .fits(x.block.shared.bytes().into(), 0)
            .then(|| run.each.map(|offset| x.block.shared.load(offset.into(), size)));
    }
    let buffer = x.launch.memory.find(first).filter(|_| space == Space::Global)?;
    let run = Run::wide(addresses, 0, buffer.base, mask, size);
    buffer.takes(&run, false).then(|| run.each.map(|offset| buffer.load(offset.into(), size)))
}

pub(in crate::exec) fn lane_store(
    x: &mut Exec<'_>,
    lane: usize,
    space: Space,
    address: u64,
    size: u32,
    value: u64,
) -> Result<(), Trap> {
    let (space, address) = resolve(space, address);
    lane_load(x, lane, space, address, size).map_err(|mut trap| {
        if let Some(access) = &mut trap.access {
            access.write = true;
        }
        trap
    })?;
    match space {
        Space::Shared => {
            x.block.shared.store(address, size, value);
            x.block.shared.mark(address, size);
        }
        Space::Local => x.warp.local.store(lane, address, size, value),
        _ => {
            if let Some(buffer) = x.launch.memory.find(address) {
                if buffer.read_only {
                    return Err(x.access_trap(
                        FaultKind::ReadOnly,
                        lane as u32,
                        space,
                        address,
                        size.into(),
                        true,
                    ));
                }
                buffer.store(address - buffer.base, size, value);
                buffer.mark(address - buffer.base, size.into());
            }
        }
    }
    Ok(())
}

/// A generic address to its space and the address there.
pub(in crate::exec) fn resolve(space: Space, address: u64) -> (Space, u64) {
    if space != Space::Generic {
        return (space, address);
    }
    match address >> 60 {
        4 | 5 => (Space::Shared, address - SHARED_WINDOW),
        2 | 3 => (Space::Local, address - LOCAL_WINDOW),
        _ => (Space::Global, address),
    }
}
