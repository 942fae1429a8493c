//! Scalar video instructions: arithmetic of bytes and half-words of registers, with a second operation or a merge.

use super::regs::{Regs, slow};
use crate::program::Inst;

/// The operation, in `imm`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(i64)]
pub(crate) enum VideoOp {
    Add = 0,
    Sub = 1,
    AbsDiff = 2,
    Min = 3,
    Max = 4,
}

/// A part of a register: the whole, a byte or a half-word.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Part {
    shift: u32,
    /// 0: the whole.
    bits: u32,
}

impl Part {
    /// `b0` to `b3`, `h0`, `h1`.
    pub fn from_name(name: &str) -> Option<Part> {
        Some(match name {
            "b0" => Part { shift: 0, bits: 8 },
            "b1" => Part { shift: 8, bits: 8 },
            "b2" => Part { shift: 16, bits: 8 },
            "b3" => Part { shift: 24, bits: 8 },
            "h0" => Part { shift: 0, bits: 16 },
            "h1" => Part { shift: 16, bits: 16 },
            _ => return None,
        })
    }

    fn pack(self) -> u32 {
        self.shift / 8 | self.bits / 8 << 2
    }

    fn unpack(bits: u32) -> Part {
        Part { shift: (bits & 3) * 8, bits: (bits >> 2 & 3) * 8 }
    }

    fn width(self) -> u32 {
        if self.bits == 0 { 32 } else { self.bits }
    }

    fn of(self, word: u32, signed: bool) -> i64 {
        let left = 32 - self.width() - self.shift;
        let word = word << left;
        let down = 32 - self.width();
        if signed { i64::from(word as i32 >> down) } else { i64::from(word >> down) }
    }
}

/// What is done with the result and `c`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Second {
    /// There is no `c`.
    None,
    Add,
    Min,
    Max,
    /// The result takes the place of a part of `c`.
    Merge(Part),
}

/// Everything but the operation, packed into `aux`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Video {
    pub a: Part,
    pub b: Part,
    pub a_signed: bool,
    pub b_signed: bool,
    pub d_signed: bool,
    pub saturate: bool,
    pub second: Second,
}

impl Video {
    pub fn pack(self) -> u32 {
        let (second, part) = match self.second {
            Second::None => (0, 0),
            Second::Add => (1, 0),
            Second::Min => (2, 0),
            Second::Max => (3, 0),
            Second::Merge(part) => (4, part.pack()),
        };
        self.a.pack()
            | self.b.pack() << 4
            | part << 8
            | second << 12
            | u32::from(self.a_signed) << 16
            | u32::from(self.b_signed) << 17
            | u32::from(self.d_signed) << 18
            | u32::from(self.saturate) << 19
    }

    fn unpack(bits: u32) -> Video {
        let flag = |k: u32| bits >> k & 1 == 1;
        Video {
            a: Part::unpack(bits),
            b: Part::unpack(bits >> 4),
            a_signed: flag(16),
            b_signed: flag(17),
            d_signed: flag(18),
            saturate: flag(19),
            second: match bits >> 12 & 7 {
                0 => Second::None,
                1 => Second::Add,
                2 => Second::Min,
                3 => Second::Max,
                _ => Second::Merge(Part::unpack(bits >> 8)),
            },
        }
    }

    fn apply(self, op: i64, a: u32, b: u32, c: u32) -> u32 {
        let (x, y) = (self.a.of(a, self.a_signed), self.b.of(b, self.b_signed));
        let mut value = match op {
            0 => x + y,
            1 => x - y,
            2 => (x - y).abs(),
            3 => x.min(y),
            _ => x.max(y),
        };
        if self.saturate {
            let width = match self.second {
                Second::Merge(part) => part.width(),
                _ => 32,
            };
            let (least, most) = match self.d_signed {
                true => (-(1i64 << (width - 1)), (1i64 << (width - 1)) - 1),
                false => (0, (1i64 << width) - 1),
            };
            value = value.clamp(least, most);
        }
        let value = value as u32;
        let first = |less: bool| match self.d_signed {
            true => ((value as i32) < c as i32) == less,
            false => (value < c) == less,
        };
        match self.second {
            Second::None => value,
            Second::Add => value.wrapping_add(c),
            Second::Min => {
                if first(true) {
                    value
                } else {
                    c
                }
            }
            Second::Max => {
                if first(false) {
                    value
                } else {
                    c
                }
            }
            Second::Merge(part) => {
                let mask = (u32::MAX >> (32 - part.width())) << part.shift;
                c & !mask | value << part.shift & mask
            }
        }
    }
}

slow! {
    VIDEO = video;
}

fn video(r: &mut Regs, i: &Inst, m: u32) {
    let what = Video::unpack(i.aux);
    let (a, b, c) = (*r.cells::<u32>(i.a), *r.cells::<u32>(i.b), *r.cells::<u32>(i.c));
    let out: [u32; 32] = std::array::from_fn(|lane| what.apply(i.imm, a[lane], b[lane], c[lane]));
    r.write(i.d, &out, m);
}
