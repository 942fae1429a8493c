//! Loads and stores: addresses to places, checks, counts. One body for all state spaces; a space is a type that says
//! where its addresses lead ([`Place`]), in a file each.

mod copy;
mod generic;
mod global;
mod own;
mod run;
mod shape;
mod shared;

pub(crate) use copy::{copy_async, copy_commit, copy_wait};
pub(crate) use generic::{is_space, load_generic, store_generic};
pub(super) use generic::{lane_load, lane_store, resolve, warp_load, windows};
pub(super) use global::sectors;
pub(crate) use global::{load_global, store_global};
pub(super) use own::parameter;
pub(crate) use own::{load_local, load_param, store_local};
pub(crate) use run::Run;
pub(crate) use shape::Shape;
pub(crate) use shared::{load_shared, store_shared};

use super::regs::has_wide;
use super::{Exec, Trap, lanes, trap};
use crate::check::{FaultKind, Level};
use crate::parse::Space;
use crate::program::{Inst, NONE};

/// The addresses of one access, relative to its space.
#[derive(Clone, Copy)]
struct At<'t> {
    addresses: &'t [u64; 32],
    mask: u32,
    shape: Shape,
}

impl At<'_> {
    fn size(&self) -> u32 {
        self.shape.total()
    }
}

/// A state space as loads and stores see it.
trait Place {
    /// Where addresses that have been checked lead.
    type Reach<'m>;

    /// Checks that the active lanes' ranges are there, aligned, and writable where `write`.
    fn reach<'m>(x: &Exec<'m>, at: At<'_>, write: bool) -> Result<Self::Reach<'m>, Trap>;

    /// Counts the request.
    fn count(x: &mut Exec<'_>, at: At<'_>);

    /// What full checks say to a load.
    fn judge_load(x: &mut Exec<'_>, i: &Inst, at: At<'_>, reach: &Self::Reach<'_>) -> Result<(), Trap>;

    /// What full checks say to a store that has not been made yet.
    fn judge_store(x: &mut Exec<'_>, i: &Inst, at: At<'_>, reach: &Self::Reach<'_>) -> Result<(), Trap>;

    /// `bytes` (1, 2, 4 or 8) of a lane's range.
    fn load(x: &Exec<'_>, reach: &Self::Reach<'_>, lane: usize, address: u64, bytes: u32) -> u64;

    /// The same, written.
    fn store(x: &mut Exec<'_>, reach: &Self::Reach<'_>, lane: usize, address: u64, bytes: u32, value: u64);
}

#[inline(always)]
fn load_at<P: Place>(x: &mut Exec<'_>, i: &Inst, at: At<'_>) -> Result<(), Trap> {
    let At { addresses, mask, shape } = at;
    let reach = P::reach(x, at, false)?;
    P::count(x, at);
    if x.full() {
        P::judge_load(x, i, at, &reach)?;
    }
    for k in 0..shape.count {
        let mut out = [0u64; 32];
        for lane in lanes(mask) {
            let address = addresses[lane] + u64::from(k * shape.bytes);
            out[lane] = P::load(x, &reach, lane, address, shape.bytes);
        }
        x.put(i, shape, k, mask, &out);
    }
    Ok(())
}

#[inline(always)]
fn store_at<P: Place>(x: &mut Exec<'_>, i: &Inst, at: At<'_>) -> Result<(), Trap> {
    let At { addresses, mask, shape } = at;
    let reach = P::reach(x, at, true)?;
    P::count(x, at);
    if x.full() {
        P::judge_store(x, i, at, &reach)?;
    }
    for k in 0..shape.count {
        let values = x.get(i, shape, k);
        for lane in lanes(mask) {
            let address = addresses[lane] + u64::from(k * shape.bytes);
            P::store(x, &reach, lane, address, shape.bytes, values[lane]);
        }
    }
    Ok(())
}

/// Whether a lane's store would change nothing.
fn unchanged<P: Place>(x: &Exec<'_>, i: &Inst, at: At<'_>, reach: &P::Reach<'_>, lane: usize) -> bool {
    let shape = at.shape;
    (0..shape.count).all(|k| {
        let address = at.addresses[lane] + u64::from(k * shape.bytes);
        P::load(x, reach, lane, address, shape.bytes) == x.get(i, shape, k)[lane] & shape.mask()
    })
}

impl Exec<'_> {
    /// Checks addresses of a block's or lane's own memory of `end` bytes.
    #[inline(always)]
    fn own(&self, space: Space, at: At<'_>, end: u64, write: bool) -> Result<(), Trap> {
        if Run::wide(at.addresses, 0, 0, at.mask, at.size()).fits(end, 0) {
            return Ok(());
        }
        self.own_each(space, at, end, write)
    }

    #[cold]
    #[inline(never)]
    fn own_each(&self, space: Space, at: At<'_>, end: u64, write: bool) -> Result<(), Trap> {
        let size = u64::from(at.size());
        for lane in lanes(at.mask) {
            let address = at.addresses[lane];
            let fits = address.checked_add(size).is_some_and(|last| last <= end);
            if !fits || address & (size - 1) != 0 {
                let kind = if fits { FaultKind::Misaligned } else { FaultKind::OutOfBounds };
                return Err(self.access_trap(kind, lane as u32, space, address, size, write));
            }
        }
        Ok(())
    }

    /// Whether a load of `size` bytes uses any that `unwritten(from, bytes)` tells of.
    fn uses(&self, size: u32, unwritten: impl Fn(u32, u32) -> bool) -> bool {
        unwritten(0, size)
            && self.launch.kernel.used_bytes.get(&self.pc).is_none_or(|used| {
                (0..size.min(u32::BITS)).any(|byte| used >> byte & 1 != 0 && unwritten(byte, 1))
            })
    }

    #[inline(always)]
    fn full(&self) -> bool {
        self.launch.level == Level::Full
    }

    /// The register of element `k`.
    #[inline(always)]
    fn element(&self, i: &Inst, shape: Shape, k: u32) -> u32 {
        if shape.count == 1 { i.d } else { self.launch.kernel.extras[i.target as usize].dst[k as usize] }
    }

    /// Writes loaded values into element `k`'s register.
    #[inline(always)]
    fn put(&mut self, i: &Inst, shape: Shape, k: u32, mask: u32, values: &[u64; 32]) {
        let row = self.element(i, shape, k);
        if row == NONE {
            return;
        }
        if shape.wide {
            let mut out = [0u64; 32];
            for lane in 0..32 {
                out[lane] = shape.extend(values[lane]);
            }
            self.regs.write(row, &out, mask);
        } else {
            let mut out = [0u32; 32];
            for lane in 0..32 {
                out[lane] = shape.extend(values[lane]) as u32;
            }
            self.regs.write(row, &out, mask);
        }
    }

    /// Values of element `k`'s register.
    #[inline(always)]
    fn get(&self, i: &Inst, shape: Shape, k: u32) -> [u64; 32] {
        let row = self.element(i, shape, k);
        if shape.wide {
            return *self.regs.cells::<u64>(row);
        }
        let cells = self.regs.cells::<u32>(row);
        let mut out = [0; 32];
        for lane in 0..32 {
            out[lane] = cells[lane].into();
        }
        out
    }

    /// Whether all registers of a load or store are there, and take its elements without widening to 64 bits.
    #[inline(always)]
    fn plain(&self, i: &Inst, shape: Shape) -> bool {
        shape.wide == (shape.bytes == 8)
            && (shape.count == 1
                || self.launch.kernel.extras[i.target as usize].dst.iter().all(|r| *r != NONE))
    }
}

/// Defines how a memory instruction is chosen: compiled twice, as lane-wise ones are.
macro_rules! both {
    ($($name:ident = $body:path;)+) => { $(
        pub(crate) fn $name() -> MemoryFn {
            fn base(x: &mut Exec<'_>, i: &Inst, m: u32) -> Result<(), Trap> {
                $body(x, i, m)
            }
            #[cfg_attr(target_arch = "x86_64", target_feature(enable = "avx2,fma,bmi1,bmi2,lzcnt,popcnt"))]
            unsafe fn wide(x: &mut Exec<'_>, i: &Inst, m: u32) -> Result<(), Trap> {
                $body(x, i, m)
            }
            if has_wide() { wide } else { base }
        }
    )+ };
}
pub(super) use both;

/// `prefetch`, `fence`, `membar` and other instructions that change no value here. Addresses are not even looked at.
pub(crate) fn nothing(_: &mut Exec<'_>, _: &Inst, _: u32) -> Result<(), Trap> {
    Ok(())
}

/// An instruction that the launch has refused; reached only through a defect.
pub(crate) fn unsupported(x: &mut Exec<'_>, _: &Inst, m: u32) -> Result<(), Trap> {
    let name = x.launch.kernel.instruction_name(x.pc).to_owned();
    Err(trap(FaultKind::Unsupported(name), m.trailing_zeros()))
}
