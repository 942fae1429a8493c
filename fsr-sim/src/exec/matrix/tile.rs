//! Matrices between memory and registers: `wmma.load`, `wmma.store`, `ldmatrix`, `stmatrix`.

use super::{Element, place_wmma};
use crate::exec::memory::{self, Run, both, lane_load, lane_store, warp_load};
use crate::exec::regs::has_wide;
use crate::exec::{Exec, Trap, lanes};
use crate::parse::Space;
use crate::program::{Inst, MemoryFn};

/// A `wmma` load or store: which matrix, how it lies in memory. Packed into `aux`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Tile {
    pub rows: u32,
    pub columns: u32,
    pub element: Element,
    pub row_major: bool,
    pub space: Space,
    pub narrow: bool,
    /// Elements of memory in one of the tile's, as a power of two: sub-byte matrices are moved by words.
    pub packed: u32,
}

impl Tile {
    pub fn pack(self) -> u32 {
        let space = match self.space {
            Space::Generic => 0,
            Space::Shared => 1,
            _ => 2,
        };
        self.rows
            | self.columns << 6
            | (self.element as u32) << 12
            | u32::from(self.row_major) << 16
            | space << 17
            | u32::from(self.narrow) << 19
            | self.packed << 20
    }

    fn unpack(bits: u32) -> Tile {
        Tile {
            rows: bits & 63,
            columns: bits >> 6 & 63,
            element: Element::from_index(bits >> 12 & 15),
            row_major: bits >> 16 & 1 == 1,
            space: [Space::Generic, Space::Shared, Space::Global][(bits >> 17 & 3).min(2) as usize],
            narrow: bits >> 19 & 1 == 1,
            packed: bits >> 20 & 7,
        }
    }
}

/// Address row `a`, stride row `b` (elements), registers in `extras[target].dst`.
#[inline(always)]
fn load_body(x: &mut Exec<'_>, i: &Inst, mask: u32) -> Result<(), Trap> {
    let tile = Tile::unpack(i.aux);
    let addresses = x.addresses(i, tile.narrow);
    let stride = *x.regs.cells::<u32>(i.b);
    let kernel = x.launch.kernel;
    let rows = &kernel.extras[i.target as usize].dst;
    let bits = tile.element.bits();
    let (bytes, pack) = (bits / 8, (32 / bits).max(1));
    for (register, row) in rows.iter().enumerate() {
        let mut out = [0u64; 32];
        let address = |lane: usize, part: u32| {
            let (at, count) =
                (place_wmma(lane as u32, register as u32 * pack + part), tile.rows * tile.columns);
            let at = if at < count { at } else { at % count };
            tile_address(&tile, addresses[lane], stride[lane], at)
        };
        let parts = (0..pack).try_for_each(|part| {
            let raw =
                warp_load(x, tile.space, &std::array::from_fn(|lane| address(lane, part)), mask, bytes)?;
            (0..32).for_each(|lane| out[lane] |= raw[lane] << (bits % 64 * part));
            Some(())
        });
        if parts.is_none() {
            // Lane by lane, for the first that faults.
            out = [0; 32];
            for lane in lanes(mask) {
                for part in 0..pack {
                    let raw = lane_load(x, lane, tile.space, address(lane, part), bytes)?;
                    out[lane] |= raw << (bits % 64 * part);
                }
            }
        }
        if bits == 64 {
            x.regs.write(*row, &out, mask);
        } else {
            let out = out.map(|v| v as u32);
            x.regs.write(*row, &out, mask);
        }
    }
    x.block.counters.request(x.pc, tile.rows * tile.columns * bytes / 32);
    Ok(())
}

both! {
    wmma_load = load_body;
}

pub(crate) fn wmma_store(x: &mut Exec<'_>, i: &Inst, mask: u32) -> Result<(), Trap> {
    let tile = Tile::unpack(i.aux);
    let addresses = x.addresses(i, tile.narrow);
    let stride = *x.regs.cells::<u32>(i.b);
    let kernel = x.launch.kernel;
    let rows = &kernel.extras[i.target as usize].dst;
    let bits = tile.element.bits();
    let (bytes, pack) = (bits / 8, (32 / bits).max(1));
    for (register, row) in rows.iter().enumerate() {
        let values: [u64; 32] =
            if bits == 64 { *x.regs.cells::<u64>(*row) } else { x.regs.cells::<u32>(*row).map(u64::from) };
        for lane in lanes(mask) {
            for part in 0..pack {
                let at = place_wmma(lane as u32, register as u32 * pack + part);
                let address = tile_address(&tile, addresses[lane], stride[lane], at);
                lane_store(x, lane, tile.space, address, bytes, values[lane] >> (bits % 64 * part))?;
            }
        }
    }
    x.block.counters.request(x.pc, tile.rows * tile.columns * bytes / 32);
    Ok(())
}

#[inline(always)]
fn tile_address(tile: &Tile, base: u64, stride: u32, at: u32) -> u64 {
    let (row, column) = if tile.columns.is_power_of_two() {
        (at >> tile.columns.trailing_zeros(), at & (tile.columns - 1))
    } else {
        (at / tile.columns, at % tile.columns)
    };
    let (row, column) = (u64::from(row), u64::from(column));
    let stride = u64::from(stride >> tile.packed);
    let element = if tile.row_major { row * stride + column } else { column * stride + row };
    base.wrapping_add(element * u64::from(tile.element.bits() / 8))
}

/// `ldmatrix`: 8 x 8 matrices of 16-bit elements, row addresses from eight lanes each. `aux`: bit 0 transposes,
/// bit 1: the address register is 32 bits wide, bit 2: generic addresses.
pub(crate) fn ldmatrix(x: &mut Exec<'_>, i: &Inst, mask: u32) -> Result<(), Trap> {
    let kernel = x.launch.kernel;
    let rows = &kernel.extras[i.target as usize].dst;
    let addresses = x.addresses(i, i.aux & 2 != 0);
    let space = if i.aux & 4 != 0 { Space::Generic } else { Space::Shared };
    let run = matrix_checks(x, &addresses, rows.len(), space, false)?;
    for (matrix, row) in rows.iter().enumerate() {
        let element = |x: &Exec<'_>, r: usize, c: u64| {
            x.block.shared.load(u64::from(run.each[matrix * 8 + r]) + 2 * c, 2)
        };
        let mut out = [0u32; 32];
        for (lane, value) in out.iter_mut().enumerate() {
            let (group, member) = (lane / 4, (lane % 4) as u64);
            let pair = if i.aux & 1 == 0 {
                (element(x, group, 2 * member), element(x, group, 2 * member + 1))
            } else {
                let (r, c) = (2 * member as usize, group as u64);
                (element(x, r, c), element(x, r + 1, c))
            };
            *value = pair.0 as u32 | (pair.1 as u32) << 16;
        }
        x.regs.write(*row, &out, mask);
    }
    Ok(())
}

pub(crate) fn stmatrix(x: &mut Exec<'_>, i: &Inst, mask: u32) -> Result<(), Trap> {
    let _ = mask;
    let kernel = x.launch.kernel;
    let rows = &kernel.extras[i.target as usize].dst;
    let addresses = x.addresses(i, i.aux & 2 != 0);
    let space = if i.aux & 4 != 0 { Space::Generic } else { Space::Shared };
    matrix_checks(x, &addresses, rows.len(), space, true)?;
    for (matrix, row) in rows.iter().enumerate() {
        let values = *x.regs.cells::<u32>(*row);
        for (lane, value) in values.into_iter().enumerate() {
            let (group, member) = (lane / 4, (lane % 4) as u64);
            for part in 0..2u64 {
                let (r, c) = if i.aux & 1 == 0 {
                    (group, 2 * member + part)
                } else {
                    ((2 * member + part) as usize, group as u64)
                };
                let target = matrix * 8 + r;
                lane_store(
                    x,
                    target,
                    space,
                    addresses[target] + 2 * c,
                    2,
                    (value >> (16 * part) & 0xffff).into(),
                )?;
            }
        }
    }
    Ok(())
}

/// Rows of matrices are 16 bytes, aligned; counts and checks their access.
fn matrix_checks(
    x: &mut Exec<'_>,
    addresses: &[u64; 32],
    matrices: usize,
    space: Space,
    write: bool,
) -> Result<Run, Trap> {
    let mask = if matrices >= 4 { u32::MAX } else { (1u32 << (8 * matrices)) - 1 };
    for lane in lanes(mask) {
        let (space, address) = memory::resolve(space, addresses[lane]);
        let fits = space == Space::Shared && x.block.shared.fits(address, 16);
        if !fits || address & 15 != 0 {
            let kind =
                if fits { crate::check::FaultKind::Misaligned } else { crate::check::FaultKind::OutOfBounds };
            return Err(x.access_trap(kind, lane as u32, space, address, 16, write));
        }
    }
    let inner = addresses.map(|a| memory::resolve(space, a).1);
    let run = Run::wide(&inner, 0, 0, mask, 16);
    if x.launch.level == crate::check::Level::Full {
        if write {
            x.check_shared_store(&run, false, |_, _| false)?;
        } else {
            x.check_shared_read(&run, false)?;
        }
    }
    x.count_run(&run);
    Ok(run)
}
