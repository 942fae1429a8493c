//! `mma`, `wmma`, `ldmatrix`, `stmatrix`.
//!
//! Products are exact in double precision and summed in double precision, rounded once: one legal result; hardware
//! sums in another order and precision. A `wmma` fragment's layout is opaque in PTX: here it is each type's own, used
//! by `load`, `mma` and `store` alike.

mod tile;

pub(crate) use tile::{Tile, ldmatrix, stmatrix, wmma_load, wmma_store};

use super::memory::both;
use super::regs::has_wide;
use super::soft::{bf16_to_f32, f16_to_f32};
use super::{Exec, Trap, soft};
use crate::program::{Inst, MemoryFn};

/// Element types of matrices.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum Element {
    F16 = 0,
    Bf16 = 1,
    Tf32 = 2,
    F32 = 3,
    F64 = 4,
    S8 = 5,
    U8 = 6,
    S32 = 7,
    E4m3 = 8,
    E5m2 = 9,
    S4 = 10,
    U4 = 11,
    B1 = 12,
}

const ELEMENTS: [Element; 13] = [
    Element::F16,
    Element::Bf16,
    Element::Tf32,
    Element::F32,
    Element::F64,
    Element::S8,
    Element::U8,
    Element::S32,
    Element::E4m3,
    Element::E5m2,
    Element::S4,
    Element::U4,
    Element::B1,
];

impl Element {
    pub fn from_name(name: &str) -> Option<Element> {
        Some(match name {
            "f16" => Element::F16,
            "bf16" => Element::Bf16,
            "tf32" => Element::Tf32,
            "f32" => Element::F32,
            "f64" => Element::F64,
            "s8" => Element::S8,
            "u8" => Element::U8,
            "s32" => Element::S32,
            "e4m3" => Element::E4m3,
            "e5m2" => Element::E5m2,
            "s4" => Element::S4,
            "u4" => Element::U4,
            "b1" => Element::B1,
            _ => return None,
        })
    }

    fn from_index(index: u32) -> Element {
        ELEMENTS.get(index as usize & 15).copied().unwrap_or(Element::F32)
    }

    pub fn bits(self) -> u32 {
        match self {
            Element::F16 | Element::Bf16 => 16,
            Element::Tf32 | Element::F32 | Element::S32 => 32,
            Element::F64 => 64,
            Element::S8 | Element::U8 | Element::E4m3 | Element::E5m2 => 8,
            Element::S4 | Element::U4 => 4,
            Element::B1 => 1,
        }
    }

    fn value(self, raw: u64) -> f64 {
        match self {
            Element::F16 => f16_to_f32(raw as u16).into(),
            Element::Bf16 => bf16_to_f32(raw as u16).into(),
            // The low 13 bits are not looked at.
            Element::Tf32 => f64::from(f32::from_bits(raw as u32 & 0xffff_e000)),
            Element::F32 => f64::from(f32::from_bits(raw as u32)),
            Element::F64 => f64::from_bits(raw),
            Element::S8 => f64::from(raw as u8 as i8),
            Element::U8 => f64::from(raw as u8),
            Element::S32 => f64::from(raw as u32 as i32),
            Element::E4m3 => soft::E4M3.to_f64(raw & 0xff),
            Element::E5m2 => soft::E5M2.to_f64(raw & 0xff),
            Element::S4 => f64::from(((raw as u8) << 4) as i8 >> 4),
            Element::U4 => f64::from(raw as u8 & 15),
            Element::B1 => f64::from(raw as u8 & 1),
        }
    }

    fn bits_of(self, value: f64) -> u64 {
        match self {
            Element::F16 => soft::F16.round_f64(value, soft::Rounding::Nearest, false),
            Element::F64 => value.to_bits(),
            Element::S32 => u64::from(value as i64 as u32),
            _ => u64::from(super::float::canon(value as f32).to_bits()),
        }
    }
}

/// Shape and types of a multiplication, packed into `imm`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Mma {
    pub m: u32,
    pub n: u32,
    pub k: u32,
    pub a: Element,
    pub b: Element,
    pub c: Element,
    pub d: Element,
    /// `.satfinite` of integers: clamp the sum.
    pub sat: bool,
    /// A `wmma` fragment (layout of its own).
    pub wmma: bool,
    /// Single bits are joined by exclusive or, not by and.
    pub xor: bool,
}

impl Mma {
    pub fn pack(self) -> i64 {
        i64::from(self.m | self.n << 6 | self.k << 12)
            | (self.a as i64) << 24
            | (self.b as i64) << 28
            | (self.c as i64) << 32
            | (self.d as i64) << 36
            | i64::from(self.sat) << 40
            | i64::from(self.wmma) << 41
            | i64::from(self.xor) << 42
    }

    fn unpack(bits: i64) -> Mma {
        let field = |shift: u32| (bits >> shift & 63) as u32;
        let element = |shift: u32| Element::from_index((bits >> shift & 15) as u32);
        Mma {
            m: field(0),
            n: field(6),
            k: (bits >> 12 & 0xfff) as u32,
            a: element(24),
            b: element(28),
            c: element(32),
            d: element(36),
            sat: bits >> 40 & 1 == 1,
            wmma: bits >> 41 & 1 == 1,
            xor: bits >> 42 & 1 == 1,
        }
    }

    pub fn a_count(self) -> u32 {
        self.m * self.k / 32
    }

    pub fn b_count(self) -> u32 {
        self.n * self.k / 32
    }

    pub fn c_count(self) -> u32 {
        self.m * self.n / 32
    }
}

/// Registers that `count` elements of `bits` bits take in a lane.
pub(crate) fn registers(count: u32, bits: u32) -> u32 {
    if bits == 64 { count } else { (count * bits).div_ceil(32) }
}

/// Row and column of element `i` of a lane in operand A of `mma` (rows are M, columns K).
pub(super) fn place_a(lane: u32, i: u32, bits: u32, m: u32) -> (u32, u32) {
    let (group, member) = (lane / 4, lane % 4);
    // Elements of one 32-bit register are neighbours in K; 64-bit ones stand alone.
    let pack = (32 / bits).max(1);
    let (register, within) = (i / pack, i % pack);
    let halves = if m >= 16 { 2 } else { 1 };
    let row = group + 8 * (register % halves);
    let column = member * pack + within + (register / halves) * 4 * pack;
    (row, column)
}

/// Row (K) and column (N) of element `i` of a lane in operand B.
pub(super) fn place_b(lane: u32, i: u32, bits: u32) -> (u32, u32) {
    let (group, member) = (lane / 4, lane % 4);
    let pack = (32 / bits).max(1);
    let (register, within) = (i / pack, i % pack);
    (member * pack + within + register * 4 * pack, group)
}

/// Row and column of element `i` of a lane in the accumulator.
pub(super) fn place_c(lane: u32, i: u32) -> (u32, u32) {
    let (group, member) = (lane / 4, lane % 4);
    (group + 8 * (i / 2), member * 2 + i % 2)
}

/// A fragment layout for `wmma`: element `i` of a lane to its index in the matrix, row-major.
fn place_wmma(lane: u32, i: u32) -> u32 {
    i * 32 + lane
}

/// Element `i` of all lanes.
#[inline(always)]
fn gather(x: &Exec<'_>, rows: &[u32], element: Element, i: u32) -> [f64; 32] {
    let bits = element.bits();
    let pack = (32 / bits).max(1);
    let Some(row) = rows.get((i / pack) as usize) else { return [0.0; 32] };
    if bits == 64 {
        return x.regs.cells::<u64>(*row).map(|raw| element.value(raw));
    }
    let shift = bits * (i % pack);
    let cells = x.regs.cells::<u32>(*row);
    let mut out = [0.0; 32];
    match element {
        Element::F16 => {
            for lane in 0..32 {
                out[lane] = f16_value(cells[lane] >> shift & 0xffff).into();
            }
        }
        Element::F32 => {
            for lane in 0..32 {
                out[lane] = f32::from_bits(cells[lane]).into();
            }
        }
        _ => {
            for lane in 0..32 {
                out[lane] = element.value(u64::from(cells[lane]) >> shift);
            }
        }
    }
    out
}

/// As `f16_to_f32`, in steps that the compiler makes vectors of.
#[inline(always)]
fn f16_value(bits: u32) -> f32 {
    let magnitude = bits << 13 & 0x0fff_e000;
    // 2^112: the difference of the exponents' biases.
    let finite = f32::from_bits(magnitude) * f32::from_bits(0x7780_0000);
    let finite = if magnitude >= 0x0f80_0000 { magnitude | 0x7f80_0000 } else { finite.to_bits() };
    f32::from_bits(finite | bits << 16 & 0x8000_0000)
}

/// `mma.sync` and `wmma.mma`: operands in `extras[target]`.
#[inline(always)]
fn mma_body(x: &mut Exec<'_>, i: &Inst, mask: u32) -> Result<(), Trap> {
    let shape = Mma::unpack(i.imm);
    let (m, n, k) = (shape.m as usize, shape.n as usize, shape.k as usize);
    let kernel = x.launch.kernel;
    let extra = &kernel.extras[i.target as usize];
    // Fragments of less than bytes are loaded as words, which puts them where `mma` has them.
    let own_layout = shape.wmma && shape.a.bits() >= 8;
    let mut a = vec![0f64; m * k];
    let mut b = vec![0f64; n * k];
    let mut c = vec![0f64; m * n];
    for e in 0..shape.a_count() {
        let values = gather(x, &extra.a, shape.a, e);
        for lane in 0..32 {
            let at = if own_layout {
                place_wmma(lane, e) as usize
            } else {
                let (row, column) = place_a(lane, e, shape.a.bits(), shape.m);
                row as usize * k + column as usize
            };
            a[at] = values[lane as usize];
        }
    }
    for e in 0..shape.b_count() {
        let values = gather(x, &extra.b, shape.b, e);
        for lane in 0..32 {
            let at = if own_layout {
                place_wmma(lane, e) as usize
            } else {
                let (row, column) = place_b(lane, e, shape.b.bits());
                row as usize * n + column as usize
            };
            b[at] = values[lane as usize];
        }
    }
    for e in 0..shape.c_count() {
        let values = gather(x, &extra.c, shape.c, e);
        for lane in 0..32 {
            c[place_result(&shape, lane, e)] = values[lane as usize];
        }
    }
    debug_assert!(n.is_multiple_of(8));
    for row in 0..m {
        let left = &a[row * k..][..k];
        for (part, values) in c[row * n..][..n].as_chunks_mut::<8>().0.iter_mut().enumerate() {
            // Eight sums side by side, each in the order of K.
            let mut sums = [-0.0; 8];
            for (p, right) in left.iter().zip(b.chunks_exact(n)) {
                let Some(right) = right[8 * part..].first_chunk::<8>() else { break };
                for (sum, q) in sums.iter_mut().zip(right) {
                    *sum += if shape.xor { (p - q).abs() } else { p * q };
                }
            }
            for (value, sum) in values.iter_mut().zip(sums) {
                *value += sum;
                if shape.d == Element::S32 {
                    *value = if shape.sat {
                        value.clamp(i32::MIN.into(), i32::MAX.into())
                    } else {
                        f64::from(*value as i64 as i32)
                    };
                }
            }
        }
    }
    let bits = shape.d.bits();
    let pack = (32 / bits).max(1);
    for (register, row) in extra.dst.iter().enumerate() {
        if bits == 64 {
            let out: [u64; 32] = std::array::from_fn(|lane| {
                shape.d.bits_of(c[place_result(&shape, lane as u32, register as u32)])
            });
            x.regs.write(*row, &out, mask);
        } else {
            let out: [u32; 32] = std::array::from_fn(|lane| {
                (0..pack).fold(0, |word, part| {
                    let e = register as u32 * pack + part;
                    word | (shape.d.bits_of(c[place_result(&shape, lane as u32, e)]) as u32) << (bits * part)
                })
            });
            x.regs.write(*row, &out, mask);
        }
    }
    Ok(())
}

both! {
    mma = mma_body;
}

fn place_result(shape: &Mma, lane: u32, e: u32) -> usize {
    if shape.wmma {
        place_wmma(lane, e) as usize
    } else {
        let (row, column) = place_c(lane, e);
        (row * shape.n + column) as usize
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    /// Every fragment layout names each element of its matrix exactly once.
    #[test]
    fn layouts_cover_their_matrices() {
        for (m, n, k, bits) in [
            (16, 8, 16, 16),
            (16, 8, 8, 16),
            (16, 8, 8, 32),
            (16, 8, 4, 32),
            (16, 8, 32, 8),
            (16, 8, 16, 8),
            (8, 8, 16, 8),
            (8, 8, 4, 64),
            (8, 8, 32, 4),
            (16, 8, 64, 4),
            (8, 8, 128, 1),
            (16, 8, 256, 1),
        ] {
            let a: HashSet<_> =
                (0..32).flat_map(|l| (0..m * k / 32).map(move |i| place_a(l, i, bits, m))).collect();
            assert_eq!(a.len() as u32, m * k);
            assert!(a.iter().all(|(r, c)| *r < m && *c < k), "a {m} {n} {k} {bits}");
            let b: HashSet<_> =
                (0..32).flat_map(|l| (0..n * k / 32).map(move |i| place_b(l, i, bits))).collect();
            assert_eq!(b.len() as u32, n * k);
            assert!(b.iter().all(|(r, c)| *r < k && *c < n));
            let c: HashSet<_> = (0..32).flat_map(|l| (0..m * n / 32).map(move |i| place_c(l, i))).collect();
            assert_eq!(c.len() as u32, m * n);
        }
    }
}
