//! The inputs of a form, by SplitMix64 from the form's text: the script that ran on the GPU makes the same ones.

use crate::form::{COUNT, Form, Type};

pub struct Numbers(u64);

impl Numbers {
    /// Seeded by the FNV-1a hash of a text.
    pub fn of(text: &str) -> Numbers {
        Numbers(
            text.bytes().fold(0xcbf2_9ce4_8422_2325, |h, b| (h ^ u64::from(b)).wrapping_mul(0x100_0000_01b3)),
        )
    }

    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    fn between(&mut self, low: u64, high: u64) -> u64 {
        low + self.next() % (high - low)
    }

    fn pick(&mut self, from: &[u64]) -> u64 {
        from[(self.next() % from.len() as u64) as usize]
    }

    fn coin(&mut self) -> bool {
        self.next() >> 63 == 0
    }
}

/// Zeros, subnormals, the ends of ranges, infinities, NaNs, ties of rounding and of conversions to integers.
#[rustfmt::skip]
const F32: [u64; 38] = [
    0, 0x80000000, 1, 0x80000001, 0x7fffff, 0x800000, 0x00800001, 0x3f800000, 0xbf800000, 0x7f7fffff, 0xff7fffff,
    0x7f800000, 0xff800000, 0x7fc00000, 0xffc00000, 0x7f800001, 0x7fc12345, 0x3f000000, 0x3effffff, 0x3f000001,
    0x4b000000, 0x4b7fffff, 0xcf000000, 0x4f000000, 0x4f800000, 0x5f000000, 0x5f800000, 0x40490fdb, 0x7effffff,
    0x00ffffff, 0x33800000, 0x477fe000, 0x477fefff, 0x477ff000, 0x38800000, 0x387fffff, 0x33000000, 0x33000001,
];

#[rustfmt::skip]
const F64: [u64; 26] = [
    0, 1 << 63, 1, (1 << 63) | 1, 0x000fffffffffffff, 0x0010000000000000, 0x3ff0000000000000, 0xbff0000000000000,
    0x7fefffffffffffff, 0xffefffffffffffff, 0x7ff0000000000000, 0xfff0000000000000, 0x7ff8000000000000,
    0xfff8000000000000, 0x7ff0000000000001, 0x7ff8000012345678, 0x3fe0000000000000, 0x41e0000000000000,
    0xc1e0000000000000, 0x41f0000000000000, 0x43e0000000000000, 0x43f0000000000000, 0x47efffffe0000000,
    0x47effffff0000000, 0x36a0000000000000, 0x3690000000000000,
];

/// For both 16-bit formats.
#[rustfmt::skip]
const F16: [u64; 21] = [
    0, 0x8000, 1, 0x8001, 0x3ff, 0x400, 0x3c00, 0xbc00, 0x7bff, 0xfbff, 0x7c00, 0xfc00, 0x7e00, 0x7c01, 0xfe00,
    0x3555, 0x7fff, 0x7f80, 0x7f7f, 0x80, 0x7f,
];

#[rustfmt::skip]
const INTEGERS: [u64; 20] = [
    0, 1, 2, 31, 32, 33, 63, 64, 0x7fffffff, 0x80000000, 0xffffffff, 0xffff, 0x10000, 0x8000, 0x7fff, 255, 128, 127,
    5, 0xfffffff0,
];

fn value(ty: Type, numbers: &mut Numbers, k: usize) -> u64 {
    let bytes = ty.bytes() as u32;
    let bits = numbers.next() >> (64 - 8 * bytes);
    match ty.0 {
        "f32" => match k % 4 {
            0 => numbers.pick(&F32),
            1 => (numbers.between(100, 150) << 23) | (bits & 0x807f_ffff),
            2 => bits,
            _ => (numbers.between(124, 131) << 23) | (bits & 0x807f_ffff),
        },
        "f64" => match k % 4 {
            0 => numbers.pick(&F64),
            1 => (numbers.between(950, 1100) << 52) | (bits & 0x800f_ffff_ffff_ffff),
            2 => bits,
            _ => (numbers.between(1020, 1028) << 52) | (bits & 0x800f_ffff_ffff_ffff),
        },
        "f16" | "bf16" if k % 2 == 1 => numbers.pick(&F16),
        "f16x2" | "bf16x2" if k % 2 == 1 => (numbers.pick(&F16) << 16) | numbers.pick(&F16),
        "f16" | "bf16" | "f16x2" | "bf16x2" => bits,
        _ => match k % 3 {
            0 => {
                let mut v = numbers.pick(&INTEGERS);
                if bytes == 8 && numbers.coin() {
                    v = (v << 32) | numbers.pick(&INTEGERS);
                }
                if v == 0x8000_0000 && bytes == 8 && numbers.coin() {
                    v = 1 << 63;
                }
                v & (u64::MAX >> (64 - 8 * bytes))
            }
            1 => bits & 0xff,
            _ => bits,
        },
    }
}

/// For each source, [`COUNT`] values' bits. The kinds of values vary at another pace in each, so that they meet.
pub fn inputs(form: &Form) -> Vec<Vec<u64>> {
    let mut numbers = Numbers::of(&form.text);
    let pace =
        |source: usize, index: usize| if source < 3 { index / 4usize.pow(source as u32) } else { index };
    (0..form.sources.len())
        .map(|s| (0..COUNT).map(|i| value(form.sources[s], &mut numbers, pace(s, i))).collect())
        .collect()
}
