//! `mbarrier`: arrivals and bytes are counted in the object's own 64 bits, phase by phase.
//!
//! Bulk copies are made when they are issued, so that their bytes count as arrived at once. A wait that finds its phase
//! incomplete gives false; its loop lets other warps run when the warp's share of time is over.

use super::memory::resolve;
use super::{Exec, Trap, lanes, trap};
use crate::check::{FaultKind, Level};
use crate::parse::Space;
use crate::program::{Inst, NONE};

/// What is done, in `aux`'s low byte.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum Op {
    Init = 0,
    Inval = 1,
    /// Operand: bytes.
    ExpectTx = 2,
    CompleteTx = 3,
    /// Operand: arrivals; none: one.
    Arrive = 4,
    /// Operand: bytes.
    ArriveExpectTx = 5,
    Drop = 6,
    DropExpectTx = 7,
    /// Operand: the state that an arrival gave.
    Wait = 8,
    /// Operand: the parity of the phase.
    WaitParity = 9,
    /// `cp.async.mbarrier.arrive`: an arrival that is expected in addition.
    Copies = 10,
    /// `.noinc`: an arrival that was expected.
    CopiesNoInc = 11,
}

/// The address register is 32 bits wide.
pub(crate) const NARROW: u32 = 1 << 8;
/// The address is a generic one.
pub(crate) const GENERIC: u32 = 1 << 9;

const COUNT: u64 = (1 << 20) - 1;
const EXPECTED: u32 = 20;
const BYTES: u32 = 40;
const BYTES_MASK: u64 = (1 << 22) - 1;
/// No bytes outstanding.
const BALANCED: u64 = 1 << 21;
const PHASE: u32 = 62;

/// The object, unpacked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Object {
    pending: u64,
    expected: u64,
    /// Bytes outstanding, plus `BALANCED`.
    bytes: u64,
    phase: u64,
}

impl Object {
    fn new(count: u64) -> Self {
        Self { pending: count & COUNT, expected: count & COUNT, bytes: BALANCED, phase: 0 }
    }

    fn unpack(word: u64) -> Self {
        Self {
            pending: word & COUNT,
            expected: word >> EXPECTED & COUNT,
            bytes: word >> BYTES & BYTES_MASK,
            phase: word >> PHASE & 1,
        }
    }

    fn pack(self) -> u64 {
        self.pending | self.expected << EXPECTED | (self.bytes & BYTES_MASK) << BYTES | self.phase << PHASE
    }

    /// False when it expects fewer.
    fn arrive(&mut self, count: u64) -> bool {
        let enough = count <= self.pending;
        self.pending = self.pending.saturating_sub(count);
        enough
    }

    /// Begins the next phase if this one is complete.
    fn complete(&mut self) -> bool {
        let complete = self.pending == 0 && self.bytes == BALANCED;
        if complete {
            (self.pending, self.phase) = (self.expected, self.phase ^ 1);
        }
        complete
    }
}

/// Address row `a`, operand row `b` or `NONE`; the state goes to row `d` or `NONE`, a wait's answer to predicate `d`.
pub(crate) fn mbarrier(x: &mut Exec<'_>, i: &Inst, m: u32) -> Result<(), Trap> {
    let addresses = x.addresses(i, i.aux & NARROW != 0);
    let op = i.aux & 0xff;
    let state = op == Op::Wait as u32;
    let operand = match i.b {
        NONE => [1; 32],
        row if state => *x.regs.cells::<u64>(row),
        row => x.regs.cells::<u32>(row).map(u64::from),
    };
    let (mut out, mut done) = ([0u64; 32], 0u32);
    for lane in lanes(m) {
        let address = object(x, lane, addresses[lane], i.aux & GENERIC != 0)?;
        let n = operand[lane];
        let word = if op == Op::Init as u32 { Object::new(n).pack() } else { touch(x, lane, address)? };
        let mut object = Object::unpack(word);
        out[lane] = word;
        let mut enough = true;
        match op {
            o if o == Op::ExpectTx as u32 => object.bytes += n,
            o if o == Op::CompleteTx as u32 => object.bytes = object.bytes.wrapping_sub(n),
            o if o == Op::Arrive as u32 => enough = object.arrive(n),
            o if o == Op::ArriveExpectTx as u32 => {
                object.bytes += n;
                enough = object.arrive(1);
            }
            o if o == Op::Drop as u32 || o == Op::DropExpectTx as u32 => {
                let count = if o == Op::Drop as u32 { n } else { 1 };
                if o == Op::DropExpectTx as u32 {
                    object.bytes += n;
                }
                object.expected = object.expected.saturating_sub(count);
                enough = object.arrive(count);
            }
            o if o == Op::Copies as u32 || o == Op::CopiesNoInc as u32 => {
                x.block.copies.hand_over(x.warp.index, address);
                if o == Op::CopiesNoInc as u32 {
                    enough = object.arrive(1);
                }
            }
            o if o == Op::Wait as u32 || o == Op::WaitParity as u32 => {
                let phase = if o == Op::Wait as u32 { Object::unpack(n).phase } else { n & 1 };
                if phase != object.phase {
                    done |= 1 << lane;
                    leaves(x, address);
                }
            }
            _ => {}
        }
        if !enough {
            let what = "more arrivals than the mbarrier expects".to_owned();
            return Err(trap(FaultKind::Unsupported(what), lane as u32));
        }
        if op == Op::Wait as u32 || op == Op::WaitParity as u32 {
            continue;
        }
        let arrives =
            (Op::CompleteTx as u32..=Op::DropExpectTx as u32).contains(&op) || op >= Op::Copies as u32;
        put(x, address, object, arrives);
    }
    if op == Op::Wait as u32 || op == Op::WaitParity as u32 {
        x.regs.set_pred(i.d, done, m);
    } else if i.d != NONE {
        x.regs.write(i.d, &out, m);
    }
    Ok(())
}

/// A bulk copy's bytes have arrived at `shared`: one lane's object.
pub(super) fn arrived(
    x: &mut Exec<'_>,
    lane: usize,
    address: u64,
    (shared, bytes): (u64, u32),
) -> Result<(), Trap> {
    let address = object(x, lane, address, false)?;
    if x.launch.level == Level::Full {
        x.block.copies.issue_to(address, shared, bytes);
    }
    let mut object = Object::unpack(touch(x, lane, address)?);
    object.bytes = object.bytes.wrapping_sub(bytes.into());
    put(x, address, object, true);
    Ok(())
}

/// The shared address of an object.
fn object(x: &Exec<'_>, lane: usize, address: u64, generic: bool) -> Result<u64, Trap> {
    let (space, address) = resolve(if generic { Space::Generic } else { Space::Shared }, address);
    let kind = match space {
        Space::Shared if x.block.shared.fits(address, 8) => match address.is_multiple_of(8) {
            true => return Ok(address),
            false => FaultKind::Misaligned,
        },
        _ => FaultKind::OutOfBounds,
    };
    Err(x.access_trap(kind, lane as u32, space, address, 8, true))
}

/// Reads an object; at full checks it must have been initialised.
fn touch(x: &mut Exec<'_>, lane: usize, address: u64) -> Result<u64, Trap> {
    if x.launch.level == Level::Full && x.block.shared.unwritten(address, 8) {
        let kind = FaultKind::Uninitialised;
        x.raise(x.access_trap(kind, lane as u32, Space::Shared, address, 8, false))?;
    }
    Ok(x.block.shared.load(address, 8))
}

/// Writes an object. An arrival begins its next phase where this one is complete; what it orders is told to the race
/// check.
fn put(x: &mut Exec<'_>, address: u64, mut object: Object, arrives: bool) {
    let complete = arrives && object.complete();
    x.block.shared.store(address, 8, object.pack());
    if x.launch.level == Level::Full {
        x.block.shared.mark(address, 8);
        if arrives {
            x.block.clocks.arrive_at(x.warp.index, address);
        }
        if complete {
            x.block.clocks.complete_at(address);
        }
    }
}

fn leaves(x: &mut Exec<'_>, address: u64) {
    if x.launch.level == Level::Full {
        x.block.copies.waited_at(address);
        x.block.clocks.leave_at(x.warp.index, address);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_phase_ends_with_its_last_arrival_and_its_last_byte() {
        let mut object = Object::new(2);
        assert!(object.arrive(1));
        object.bytes += 4096;
        object.complete();
        assert!(object.arrive(1));
        object.complete();
        assert_eq!((object.pending, object.phase), (0, 0), "bytes are missing");
        object.bytes -= 4096;
        object.complete();
        assert_eq!(object, Object { phase: 1, ..Object::new(2) });
        assert_eq!(Object::unpack(object.pack()), object);
        assert!(!object.arrive(3));
    }
}
