//! Rounding into any small floating-point format, exactly, in any mode: what `cvt` and half precision rest on.

/// PTX rounding modes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum Rounding {
    /// To nearest, ties to even.
    Nearest = 0,
    /// Towards zero.
    Zero = 1,
    /// Down.
    Down = 2,
    /// Up.
    Up = 3,
    /// To nearest, ties away from zero.
    Away = 4,
}

impl Rounding {
    pub fn from_index(index: i64) -> Rounding {
        match index & 7 {
            1 => Rounding::Zero,
            2 => Rounding::Down,
            3 => Rounding::Up,
            4 => Rounding::Away,
            _ => Rounding::Nearest,
        }
    }
}

/// A binary format: sign, `exponent` bits, `mantissa` bits.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Format {
    pub exponent: u32,
    pub mantissa: u32,
    /// The format has infinities; otherwise overflow gives `max` (saturating) or NaN.
    pub infinite: bool,
    /// Largest finite magnitude, as bits without sign.
    pub max: u64,
    pub nan: u64,
}

pub(crate) const F16: Format = Format { exponent: 5, mantissa: 10, infinite: true, max: 0x7bff, nan: 0x7fff };
pub(crate) const BF16: Format = Format { exponent: 8, mantissa: 7, infinite: true, max: 0x7f7f, nan: 0x7fff };
pub(crate) const TF32: Format =
    Format { exponent: 8, mantissa: 10, infinite: true, max: 0x3fbff, nan: 0x3ffff };
pub(crate) const F32: Format =
    Format { exponent: 8, mantissa: 23, infinite: true, max: 0x7f7f_ffff, nan: 0x7fff_ffff };
pub(crate) const F64: Format = Format {
    exponent: 11,
    mantissa: 52,
    infinite: true,
    max: 0x7fef_ffff_ffff_ffff,
    nan: 0x7fff_ffff_ffff_ffff,
};
pub(crate) const E4M3: Format = Format { exponent: 4, mantissa: 3, infinite: false, max: 0x7e, nan: 0x7f };
pub(crate) const E5M2: Format = Format { exponent: 5, mantissa: 2, infinite: true, max: 0x7b, nan: 0x7f };

impl Format {
    fn bias(self) -> i32 {
        (1 << (self.exponent - 1)) - 1
    }

    fn sign_bit(self) -> u64 {
        1 << (self.exponent + self.mantissa)
    }

    fn infinity(self) -> u64 {
        ((1u64 << self.exponent) - 1) << self.mantissa
    }

    /// Rounds `(-1)^negative * magnitude * 2^scale`, a little more when `sticky`; `saturate` gives the largest
    /// finite value instead of an infinity.
    pub fn round(
        self,
        negative: bool,
        magnitude: u128,
        scale: i32,
        sticky: bool,
        mode: Rounding,
        saturate: bool,
    ) -> u64 {
        let sign = if negative { self.sign_bit() } else { 0 };
        if magnitude == 0 {
            return sign;
        }
        let top = 127 - magnitude.leading_zeros() as i32;
        // The unit of the last place: of the value's own binade, or of the subnormals.
        let least = 1 - self.bias() - self.mantissa as i32;
        let unit = (scale + top - self.mantissa as i32).max(least);
        let drop = unit - scale;
        let (mut kept, rest, half) = if drop <= 0 {
            // More room than bits: exact (the magnitude has at most 64 significant bits here).
            (magnitude << (-drop).min(127), 0u128, 0u128)
        } else if drop >= 128 {
            (0, magnitude, u128::MAX)
        } else {
            let mask = (1u128 << drop) - 1;
            (magnitude >> drop, magnitude & mask, 1u128 << (drop - 1))
        };
        let inexact = rest != 0 || sticky;
        let up = match mode {
            Rounding::Nearest => half != 0 && (rest > half || (rest == half && (sticky || kept & 1 == 1))),
            Rounding::Away => half != 0 && rest >= half,
            Rounding::Zero => false,
            Rounding::Down => negative && inexact,
            Rounding::Up => !negative && inexact,
        };
        kept += u128::from(up);
        // A carry into the next binade lands in the exponent field by itself.
        let normal = kept >> self.mantissa != 0;
        let field = if normal {
            let exponent = unit + self.mantissa as i32 + self.bias();
            ((i64::from(exponent) - 1) as u64) << self.mantissa
        } else {
            0
        };
        let bits = u64::try_from(kept).unwrap_or(u64::MAX).wrapping_add(field);
        let overflow = bits > self.max || unit + self.mantissa as i32 > self.bias() + 1;
        if overflow {
            let towards_zero = match mode {
                Rounding::Zero => true,
                Rounding::Down => !negative,
                Rounding::Up => negative,
                _ => false,
            };
            return sign
                | if saturate || towards_zero {
                    self.max
                } else if self.infinite {
                    self.infinity()
                } else {
                    self.nan
                };
        }
        sign | bits
    }

    /// Rounds a double.
    pub fn round_f64(self, value: f64, mode: Rounding, saturate: bool) -> u64 {
        self.round_sum(value, 0.0, mode, saturate)
    }

    /// Rounds `value + error` where `error` is less than half a unit of `value`'s last place.
    pub fn round_sum(self, value: f64, error: f64, mode: Rounding, saturate: bool) -> u64 {
        if value.is_nan() {
            return self.nan;
        }
        let negative = value.is_sign_negative();
        if value.is_infinite() {
            let magnitude = if self.infinite && !saturate {
                self.infinity()
            } else if saturate {
                self.max
            } else {
                self.nan
            };
            return if negative { self.sign_bit() | magnitude } else { magnitude };
        }
        let bits = value.to_bits();
        let field = (bits >> 52 & 0x7ff) as i32;
        let fraction = bits & ((1 << 52) - 1);
        let (magnitude, scale) =
            if field == 0 { (fraction, -1074) } else { (fraction | 1 << 52, field - 1075) };
        if error == 0.0 {
            return self.round(negative, magnitude.into(), scale, false, mode, saturate);
        }
        // Widen by two bits; below the value, borrow one unit of the widened place.
        let below = (error < 0.0) != negative;
        let wide = u128::from(magnitude) * 4 - u128::from(below);
        self.round(negative, wide, scale - 2, true, mode, saturate)
    }

    /// The exact value of a bit pattern.
    pub fn to_f64(self, bits: u64) -> f64 {
        let sign = if bits & self.sign_bit() != 0 { -1.0 } else { 1.0 };
        let magnitude = bits & (self.sign_bit() - 1);
        let fraction = magnitude & ((1 << self.mantissa) - 1);
        let field = (magnitude >> self.mantissa) as i32;
        if self.infinite {
            if magnitude == self.infinity() {
                return sign * f64::INFINITY;
            }
            if magnitude > self.infinity() {
                return f64::NAN;
            }
        } else if magnitude == self.nan {
            return f64::NAN;
        }
        let least = 1 - self.bias() - self.mantissa as i32;
        if field == 0 {
            sign * fraction as f64 * power_of_two(least)
        } else {
            sign * (fraction | 1 << self.mantissa) as f64 * power_of_two(least + field - 1)
        }
    }
}

/// 2^n; exact where it is representable, and split where it is subnormal.
fn power_of_two(n: i32) -> f64 {
    if n >= -1022 {
        f64::from_bits(((n + 1023) as u64) << 52)
    } else {
        f64::from_bits(1u64 << (n + 1074).max(0))
    }
}

/// `a + b` and its exact rounding error.
#[inline(always)]
pub(crate) fn two_sum(a: f64, b: f64) -> (f64, f64) {
    let s = a + b;
    let t = s - a;
    (s, (a - (s - t)) + (b - t))
}

/// A half from its bits.
#[inline(always)]
pub(crate) fn f16_to_f32(bits: u16) -> f32 {
    half::f16::from_bits(bits).to_f32()
}

/// A bfloat16 from its bits.
#[inline(always)]
pub(crate) fn bf16_to_f32(bits: u16) -> f32 {
    f32::from_bits(u32::from(bits) << 16)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use rustc_apfloat::{Float, Round, ieee};

    fn reference(value: f64, mode: Rounding) -> (u64, u64, u64) {
        let round = match mode {
            Rounding::Nearest => Round::NearestTiesToEven,
            Rounding::Zero => Round::TowardZero,
            Rounding::Down => Round::TowardNegative,
            Rounding::Up => Round::TowardPositive,
            Rounding::Away => Round::NearestTiesToAway,
        };
        use rustc_apfloat::FloatConvert;
        let wide = ieee::Double::from_bits(value.to_bits().into());
        let mut lost = false;
        let half: ieee::Half = wide.convert_r(round, &mut lost).value;
        let brain: ieee::BFloat = wide.convert_r(round, &mut lost).value;
        let single: ieee::Single = wide.convert_r(round, &mut lost).value;
        (half.to_bits() as u64, brain.to_bits() as u64, single.to_bits() as u64)
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn rounding_agrees_with_a_soft_float(bits in any::<u64>(), scale in -160i32..140, index in 0i64..5) {
            let mode = Rounding::from_index(index);
            let fraction = f64::from_bits((bits & !(0x7ff << 52)) | (1023 << 52));
            let value = fraction * 2f64.powi(scale);
            let (half, brain, single) = reference(value, mode);
            prop_assert_eq!(F16.round_f64(value, mode, false), half);
            prop_assert_eq!(BF16.round_f64(value, mode, false), brain);
            prop_assert_eq!(F32.round_f64(value, mode, false), single);
        }
    }

    #[test]
    fn every_half_survives_the_round_trip() {
        for bits in 0..=u16::MAX {
            let value = F16.to_f64(bits.into());
            if !value.is_nan() {
                assert_eq!(value, f64::from(f16_to_f32(bits)));
                assert_eq!(F16.round_f64(value, Rounding::Nearest, false), u64::from(bits));
            }
        }
        for bits in (0..=u8::MAX).filter(|b| b & 0x7f != 0x7f) {
            let value = E4M3.to_f64(bits.into());
            assert_eq!(E4M3.round_f64(value, Rounding::Nearest, false), u64::from(bits));
        }
        assert_eq!(E4M3.to_f64(0x7e), 448.0);
    }

    #[test]
    fn an_error_term_decides_ties() {
        // 1 + 2^-11 is half way between two halves.
        let tie = 1.0 + 2f64.powi(-11);
        assert_eq!(F16.round_sum(tie, 0.0, Rounding::Nearest, false), 0x3c00);
        assert_eq!(F16.round_sum(tie, 1e-30, Rounding::Nearest, false), 0x3c01);
        assert_eq!(F16.round_sum(1.0, -1e-30, Rounding::Zero, false), 0x3bff);
        assert_eq!(F16.round_sum(1.0, 1e-30, Rounding::Up, false), 0x3c01);
    }
}
