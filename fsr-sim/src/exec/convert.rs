//! `cvt`: the frequent forms in wide loops, every other form through one exact path.

use super::float::{canon, flush};
use super::regs::{Regs, map1, op, slow};
use super::soft::{self, Format, Rounding};
use crate::program::Inst;

op! {
    U64_U32 = map1::<u32, u64>, |a| u64::from(a);
    S64_S32 = map1::<i32, i64>, |a| i64::from(a);
    U32_U64 = map1::<u64, u32>, |a| a as u32;
    U32_U16 = map1::<u16, u32>, |a| u32::from(a);
    S32_S16 = map1::<i16, i32>, |a| i32::from(a);
    U16_U32 = map1::<u32, u16>, |a| a as u16;
    F32_S32 = map1::<i32, f32>, |a| a as f32;
    F32_U32 = map1::<u32, f32>, |a| a as f32;
    F64_S32 = map1::<i32, f64>, |a| f64::from(a);
    F64_F32 = map1::<f32, f64>, |a| f64::from(a);
    F64_F32_FTZ = map1::<f32, f64>, |a| f64::from(canon(flush(a)));
    F32_F64 = map1::<f64, f32>, |a| narrow(a);
    S32_F32_RZ = map1::<f32, i32>, |a| if a.is_nan() { 0 } else { a as i32 };
    F32_SAT = map1::<f32, f32>, |a| if a > 0.0 { if a < 1.0 { a } else { 1.0 } } else { 0.0 };
    F32_F16 = map1::<u16, f32>, |a| canon(soft::f16_to_f32(a));
    F32_BF16 = map1::<u16, f32>, |a| soft::bf16_to_f32(a);
}

slow! {
    CVT_ANY = cvt_any;
    CVT_PACK_F = cvt_pack_f;
    CVT_PACK_I = cvt_pack_i;
    UNPACK_F8X2 = unpack_f8x2;
    PACK_F8X2 = pack_f8x2;
}

/// To single precision; a NaN keeps its sign and the top of its payload.
#[inline(always)]
fn narrow(a: f64) -> f32 {
    let bits = a.to_bits();
    if a.is_nan() {
        f32::from_bits((bits >> 63 << 31) as u32 | 0x7fc0_0000 | (bits >> 29) as u32 & 0x3f_ffff)
    } else {
        a as f32
    }
}

/// What a conversion reads or writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum Number {
    U8 = 0,
    S8 = 1,
    U16 = 2,
    S16 = 3,
    U32 = 4,
    S32 = 5,
    U64 = 6,
    S64 = 7,
    F16 = 8,
    Bf16 = 9,
    F32 = 10,
    F64 = 11,
    Tf32 = 12,
    E4m3 = 13,
    E5m2 = 14,
}

const NUMBERS: [Number; 15] = [
    Number::U8,
    Number::S8,
    Number::U16,
    Number::S16,
    Number::U32,
    Number::S32,
    Number::U64,
    Number::S64,
    Number::F16,
    Number::Bf16,
    Number::F32,
    Number::F64,
    Number::Tf32,
    Number::E4m3,
    Number::E5m2,
];

impl Number {
    fn from_index(index: u32) -> Number {
        NUMBERS.get(index as usize).copied().unwrap_or(Number::U64)
    }

    fn is_float(self) -> bool {
        self as u8 >= Number::F16 as u8
    }

    /// Bits and signedness of an integer.
    fn integer(self) -> (u32, bool) {
        (8 << (self as u32 / 2), self as u32 & 1 == 1)
    }

    /// Whether both are integers and the other type has every value of this one.
    pub fn fits(self, other: Number) -> bool {
        if self.is_float() || other.is_float() {
            return false;
        }
        let ((mine, signed), (theirs, other_signed)) = (self.integer(), other.integer());
        if signed == other_signed { theirs >= mine } else { other_signed && theirs > mine }
    }

    fn format(self) -> Format {
        match self {
            Number::F16 => soft::F16,
            Number::Bf16 => soft::BF16,
            Number::F64 => soft::F64,
            Number::Tf32 => soft::TF32,
            Number::E4m3 => soft::E4M3,
            Number::E5m2 => soft::E5M2,
            _ => soft::F32,
        }
    }
}

/// A conversion, packed into `aux`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Conversion {
    pub from: Number,
    pub to: Number,
    pub mode: Rounding,
    /// Round to an integral value (`.rni` and so on).
    pub integral: bool,
    pub ftz: bool,
    pub sat: bool,
    pub satfinite: bool,
    pub relu: bool,
    /// The source register is 64 bits wide.
    pub wide_source: bool,
    /// Bits of the destination register: narrower results are extended by the destination type.
    pub wide_target: bool,
    /// Bits of the destination register are 32 (else 16), when it is not wide.
    pub full_target: bool,
}

impl Conversion {
    pub fn pack(self) -> u32 {
        let flags = [
            self.integral,
            self.ftz,
            self.sat,
            self.satfinite,
            self.relu,
            self.wide_source,
            self.wide_target,
            self.full_target,
        ];
        flags
            .iter()
            .enumerate()
            .fold(self.from as u32 | (self.to as u32) << 4 | (self.mode as u32) << 8, |bits, (k, flag)| {
                bits | u32::from(*flag) << (12 + k)
            })
    }

    fn unpack(bits: u32) -> Conversion {
        let flag = |k: u32| bits >> (12 + k) & 1 == 1;
        Conversion {
            from: Number::from_index(bits & 15),
            to: Number::from_index(bits >> 4 & 15),
            mode: Rounding::from_index((bits >> 8 & 7).into()),
            integral: flag(0),
            ftz: flag(1),
            sat: flag(2),
            satfinite: flag(3),
            relu: flag(4),
            wide_source: flag(5),
            wide_target: flag(6),
            full_target: flag(7),
        }
    }

    /// One value; the result is the bits of the destination type.
    fn convert(&self, raw: u64) -> u64 {
        if self.from.is_float() {
            self.float_value(raw)
        } else {
            let (bits, signed) = self.from.integer();
            let value = if signed {
                i128::from((raw << (64 - bits)) as i64 >> (64 - bits))
            } else {
                i128::from(raw << (64 - bits) >> (64 - bits))
            };
            if self.to.is_float() {
                let rounded =
                    self.to.format().round(value < 0, value.unsigned_abs(), 0, false, self.mode, false);
                self.saturate(rounded)
            } else {
                self.clamp_int(value)
            }
        }
    }

    /// Integer to integer: wraps, or clamps with `.sat`.
    fn clamp_int(&self, value: i128) -> u64 {
        let (bits, signed) = self.to.integer();
        if !self.sat {
            return value as u64;
        }
        clamp(value, bits, signed)
    }

    fn float_value(&self, raw: u64) -> u64 {
        let format = self.from.format();
        let raw = if matches!(self.from, Number::F64) {
            raw
        } else {
            raw & (u64::MAX >> (63 - format.exponent - format.mantissa))
        };
        let mut value = if self.from == Number::F64 { f64::from_bits(raw) } else { format.to_f64(raw) };
        if self.ftz && self.from == Number::F32 && value.abs() < f64::from(f32::MIN_POSITIVE) {
            value = 0f64.copysign(value);
        }
        if !self.to.is_float() {
            let (bits, signed) = self.to.integer();
            if value.is_nan() {
                // The manual: zero, unless one of the two has 64 bits; then only the top bit is set.
                return if bits == 64 || self.from == Number::F64 { 1 << (bits - 1) } else { 0 };
            }
            let whole = integral(value, self.mode);
            // Out of range clamps, whether `.sat` is written or not.
            let wide = if whole >= 1e30 {
                i128::MAX
            } else if whole <= -1e30 {
                i128::MIN
            } else {
                whole as i128
            };
            return clamp(wide, bits, signed);
        }
        if self.integral {
            value = integral(value, self.mode);
        }
        if value.is_nan() && !self.sat {
            return self.nan(raw);
        }
        let mut out = self.to.format().round_f64(value, self.mode, self.satfinite);
        if self.relu && value <= 0.0 {
            out = 0;
        }
        if self.ftz && self.to == Number::F32 && out & 0x7f80_0000 == 0 {
            out &= 0x8000_0000;
        }
        self.saturate(out)
    }

    /// What a NaN becomes. Double precision keeps sign and payload, as far as the narrower format has room; tf32
    /// only loses bits, so that a NaN may become an infinity; everything else is canonical.
    fn nan(&self, raw: u64) -> u64 {
        let (from, to) = (self.from.format(), self.to.format());
        if self.to == Number::Tf32 {
            return raw >> (from.mantissa - to.mantissa);
        }
        if self.from != Number::F64 && self.to != Number::F64 {
            return to.nan;
        }
        let payload = raw << (64 - from.mantissa) >> (64 - to.mantissa);
        let sign = raw >> (from.exponent + from.mantissa) << (to.exponent + to.mantissa);
        sign | ((2u64 << to.exponent) - 1) << (to.mantissa - 1) | payload
    }

    /// `.sat` of a floating result: to [0, 1], NaN to +0.
    fn saturate(&self, bits: u64) -> u64 {
        if !self.sat {
            return bits;
        }
        let format = self.to.format();
        let value = if self.to == Number::F64 { f64::from_bits(bits) } else { format.to_f64(bits) };
        if value > 0.0 {
            if value < 1.0 { bits } else { format.round_f64(1.0, Rounding::Nearest, false) }
        } else {
            0
        }
    }

    /// The register bits of a result: extended to the register's width by the sign of the destination type.
    fn extend(&self, bits: u64) -> u64 {
        if self.to.is_float() {
            return if self.to == Number::Tf32 { bits << 13 } else { bits };
        }
        let (width, signed) = self.to.integer();
        let value = if signed {
            ((bits << (64 - width)) as i64 >> (64 - width)) as u64
        } else {
            bits << (64 - width) >> (64 - width)
        };
        match (self.wide_target, self.full_target) {
            (true, _) => value,
            (false, true) => value & 0xffff_ffff,
            (false, false) => value & 0xffff,
        }
    }
}

fn clamp(value: i128, bits: u32, signed: bool) -> u64 {
    let (low, high) =
        if signed { (-(1i128 << (bits - 1)), (1i128 << (bits - 1)) - 1) } else { (0, (1i128 << bits) - 1) };
    value.clamp(low, high) as u64
}

fn integral(value: f64, mode: Rounding) -> f64 {
    match mode {
        Rounding::Nearest => value.round_ties_even(),
        Rounding::Zero => value.trunc(),
        Rounding::Down => value.floor(),
        Rounding::Up => value.ceil(),
        Rounding::Away => value.round(),
    }
}

fn cvt_any(r: &mut Regs, i: &Inst, m: u32) {
    let conversion = Conversion::unpack(i.aux);
    let source: [u64; 32] =
        if conversion.wide_source { *r.cells::<u64>(i.a) } else { r.cells::<u32>(i.a).map(u64::from) };
    // Tf32 is held in the high bits of a single.
    let shift = if conversion.from == Number::Tf32 { 13 } else { 0 };
    if conversion.wide_target {
        let out = source.map(|raw| conversion.extend(conversion.convert(raw >> shift)));
        r.write(i.d, &out, m);
    } else {
        let out = source.map(|raw| conversion.extend(conversion.convert(raw >> shift)) as u32);
        r.write(i.d, &out, m);
    }
}

/// `cvt.rn.f16x2.f32 d, a, b` and the 8-bit pairs: `a` to the high part, `b` to the low.
fn cvt_pack_f(r: &mut Regs, i: &Inst, m: u32) {
    let conversion = Conversion::unpack(i.aux);
    let width = if matches!(conversion.to, Number::E4m3 | Number::E5m2) { 8 } else { 16 };
    let (a, b) = (*r.cells::<u32>(i.a), *r.cells::<u32>(i.b));
    let out: [u32; 32] = std::array::from_fn(|lane| {
        let one = |raw: u32| conversion.convert(raw.into()) as u32 & ((1 << width) - 1);
        one(a[lane]) << width | one(b[lane])
    });
    r.write(i.d, &out, m);
}

/// `cvt.rn.f16x2.e4m3x2`: both 8-bit values of a 16-bit register.
fn unpack_f8x2(r: &mut Regs, i: &Inst, m: u32) {
    let conversion = Conversion::unpack(i.aux);
    let a = *r.cells::<u32>(i.a);
    let out: [u32; 32] = std::array::from_fn(|lane| {
        let one = |raw: u32| conversion.convert(raw.into()) as u32 & 0xffff;
        one(a[lane] >> 8 & 0xff) << 16 | one(a[lane] & 0xff)
    });
    r.write(i.d, &out, m);
}

/// `cvt.rn.satfinite.e4m3x2.f16x2`: both halves of a 32-bit register.
fn pack_f8x2(r: &mut Regs, i: &Inst, m: u32) {
    let conversion = Conversion::unpack(i.aux);
    let a = *r.cells::<u32>(i.a);
    let out: [u32; 32] = std::array::from_fn(|lane| {
        let one = |raw: u32| conversion.convert(raw.into()) as u32 & 0xff;
        one(a[lane] >> 16) << 8 | one(a[lane] & 0xffff)
    });
    r.write(i.d, &out, m);
}

/// `cvt.pack.sat`: the low `imm` bits: result width; bit 8: signed result; bit 9: unsigned source; row `c` is
/// shifted up below (bit 10 says that it exists).
fn cvt_pack_i(r: &mut Regs, i: &Inst, m: u32) {
    let width = (i.imm & 0xff) as u32;
    let (a, b) = (*r.cells::<u32>(i.a), *r.cells::<u32>(i.b));
    let c = if i.imm >> 10 & 1 == 1 { *r.cells::<u32>(i.c) } else { [0; 32] };
    let out: [u32; 32] = std::array::from_fn(|lane| {
        let one = |raw: u32| {
            let value = if i.imm >> 9 & 1 == 1 { i128::from(raw) } else { i128::from(raw as i32) };
            clamp(value, width, i.imm >> 8 & 1 == 1) as u32 & ((1u32 << width) - 1)
        };
        let pair = one(a[lane]) << width | one(b[lane]);
        if width == 16 { pair } else { c[lane] << (2 * width) | pair }
    });
    r.write(i.d, &out, m);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn convert(from: Number, to: Number, mode: Rounding, raw: u64) -> u64 {
        Conversion {
            from,
            to,
            mode,
            integral: false,
            ftz: false,
            sat: false,
            satfinite: false,
            relu: false,
            wide_source: true,
            wide_target: true,
            full_target: true,
        }
        .convert(raw)
    }

    #[test]
    fn floats_to_integers_clamp_and_round() {
        let f = |x: f32| u64::from(x.to_bits());
        assert_eq!(convert(Number::F32, Number::S32, Rounding::Nearest, f(2.5)), 2);
        assert_eq!(convert(Number::F32, Number::S32, Rounding::Up, f(2.1)), 3);
        assert_eq!(convert(Number::F32, Number::S32, Rounding::Zero, f(-2.9)) as i32, -2);
        assert_eq!(convert(Number::F32, Number::U8, Rounding::Zero, f(300.0)), 255);
        assert_eq!(convert(Number::F32, Number::U32, Rounding::Zero, f(-1.0)), 0);
        assert_eq!(convert(Number::F32, Number::S32, Rounding::Zero, f(f32::NAN)), 0);
        assert_eq!(convert(Number::F32, Number::S64, Rounding::Zero, f(f32::INFINITY)), i64::MAX as u64);
    }

    #[test]
    fn integers_to_floats_round_in_every_mode() {
        let value = (1u64 << 24) + 1;
        assert_eq!(
            convert(Number::U64, Number::F32, Rounding::Nearest, value),
            u64::from(16_777_216f32.to_bits())
        );
        assert_eq!(
            convert(Number::U64, Number::F32, Rounding::Up, value),
            u64::from(16_777_218f32.to_bits())
        );
        assert_eq!(
            convert(Number::S64, Number::F32, Rounding::Down, (-(value as i64)) as u64),
            u64::from((-16_777_218f32).to_bits())
        );
        assert_eq!(
            convert(Number::S32, Number::F64, Rounding::Nearest, (-3i32) as u32 as u64),
            (-3f64).to_bits()
        );
    }
}
