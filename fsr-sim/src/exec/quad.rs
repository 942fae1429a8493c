//! Matrix instructions of other layouts: `mma.m8n8k4` of halves, which is four products at once, and `movmatrix`.
//!
//! As in `matrix`, products are summed in double precision and rounded once.

use super::soft::{self, f16_to_f32};
use super::{Exec, Trap};
use crate::program::Inst;

/// Bits of `aux`: A and B are column-major; the sum before and after is single precision.
pub(crate) const A_COLUMNS: u32 = 1;
pub(crate) const B_COLUMNS: u32 = 2;
pub(crate) const C_SINGLE: u32 = 4;
pub(crate) const D_SINGLE: u32 = 8;

/// Lanes 0-3 and 16-19 make one product, 4-7 and 20-23 the next.
fn product(lane: u32) -> usize {
    (lane / 4 % 4) as usize
}

/// A line across the order of the elements, an element within it: element `i` of a lane in A or B where the lane holds
/// a whole line (`along`) or one element of each.
fn place(lane: u32, i: u32, along: bool) -> (u32, u32) {
    let upper = if lane < 16 { 0 } else { 4 };
    if along { (lane % 4 + upper, i) } else { (i + upper, lane % 4) }
}

/// Row and column of element `i` of a lane in the accumulator.
fn place_c(lane: u32, i: u32, single: bool) -> (u32, u32) {
    let upper = if lane < 16 { 0 } else { 4 };
    if single {
        ((lane & 1) + (i & 2) + upper, (i & 4) + (lane & 2) + (i & 1))
    } else {
        (lane % 4 + upper, i)
    }
}

/// Operands in `extras[target]`.
pub(crate) fn mma(x: &mut Exec<'_>, i: &Inst, mask: u32) -> Result<(), Trap> {
    let kernel = x.launch.kernel;
    let extra = &kernel.extras[i.target as usize];
    let (mut a, mut b, mut c) = ([[[0f64; 4]; 8]; 4], [[[0f64; 4]; 8]; 4], [[[0f64; 8]; 8]; 4]);
    let half = |x: &Exec<'_>, rows: &[u32], lane: u32, e: u32| {
        let word = x.regs.cells::<u32>(rows[e as usize / 2])[lane as usize];
        f64::from(f16_to_f32((word >> (16 * (e % 2))) as u16))
    };
    let c_single = i.aux & C_SINGLE != 0;
    for lane in 0..32u32 {
        let q = product(lane);
        for e in 0..4 {
            let (row, k) = place(lane, e, i.aux & A_COLUMNS == 0);
            a[q][row as usize][k as usize] = half(x, &extra.a, lane, e);
            let (column, k) = place(lane, e, i.aux & B_COLUMNS != 0);
            b[q][column as usize][k as usize] = half(x, &extra.b, lane, e);
        }
        for e in 0..8 {
            let (row, column) = place_c(lane, e, c_single);
            c[q][row as usize][column as usize] = if c_single {
                f32::from_bits(x.regs.cells::<u32>(extra.c[e as usize])[lane as usize]).into()
            } else {
                half(x, &extra.c, lane, e)
            };
        }
    }
    let result = |lane: u32, e: u32, single: bool| {
        let (q, (row, column)) = (product(lane), place_c(lane, e, single));
        let sum: f64 = (0..4).map(|k| a[q][row as usize][k] * b[q][column as usize][k]).sum();
        c[q][row as usize][column as usize] + sum
    };
    for (register, row) in extra.dst.iter().enumerate() {
        let register = register as u32;
        let out: [u32; 32] = std::array::from_fn(|lane| {
            let lane = lane as u32;
            if i.aux & D_SINGLE != 0 {
                return super::float::canon(result(lane, register, true) as f32).to_bits();
            }
            let half = |e| soft::F16.round_f64(result(lane, e, false), soft::Rounding::Nearest, false) as u32;
            half(2 * register) | half(2 * register + 1) << 16
        });
        x.regs.write(*row, &out, mask);
    }
    Ok(())
}

/// `movmatrix`: 8 x 8 elements of 16 bits, two a lane, exchanged across the diagonal.
pub(crate) fn transpose(x: &mut Exec<'_>, i: &Inst, mask: u32) -> Result<(), Trap> {
    let a = *x.regs.cells::<u32>(i.a);
    let element = |row: usize, column: usize| a[row * 4 + column / 2] >> (16 * (column % 2)) & 0xffff;
    let out: [u32; 32] = std::array::from_fn(|lane| {
        let (row, column) = (lane / 4, lane % 4 * 2);
        element(column, row) | element(column + 1, row) << 16
    });
    x.regs.write(i.d, &out, mask);
    Ok(())
}
