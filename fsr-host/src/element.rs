//! The element types that buffers hold, and what comparing two of them means.
//!
//! Owns the closed list of types and the numbers of their default tolerances. It never allocates or launches.

use fsr_protocol::{Dtype, Tolerance};
use half::{bf16, f16};

/// An element type of a buffer: `f16`, `bf16`, `f32`, `f64`, `i8` to `i64` and `u8` to `u64`.
///
/// The list is closed: kernels with structs in their buffers declare them as arrays of these.
pub trait Element: bytemuck::Pod + Send + Sync + std::fmt::Debug + sealed::Sealed {
    /// The type's name in messages and files.
    const DTYPE: Dtype;

    /// Nearest value of this type; integers truncate and saturate.
    fn from_f64(value: f64) -> Self;

    /// The value, rounded where `f64` cannot hold it.
    fn to_f64(self) -> f64;
}

mod sealed {
    pub trait Sealed {}
}

macro_rules! element {
    ($($type:ty, $dtype:ident, $from:expr, $to:expr;)*) => {$(
        impl sealed::Sealed for $type {}
        impl Element for $type {
            const DTYPE: Dtype = Dtype::$dtype;
            fn from_f64(value: f64) -> Self {
                $from(value)
            }
            fn to_f64(self) -> f64 {
                $to(self)
            }
        }
    )*};
}

element! {
    f16, F16, f16::from_f64, f16::to_f64;
    bf16, Bf16, bf16::from_f64, bf16::to_f64;
    f32, F32, |v| v as f32, f64::from;
    f64, F64, |v| v, |v| v;
    i8, I8, |v| v as i8, f64::from;
    i16, I16, |v| v as i16, f64::from;
    i32, I32, |v| v as i32, f64::from;
    i64, I64, |v| v as i64, |v| v as f64;
    u8, U8, |v| v as u8, f64::from;
    u16, U16, |v| v as u16, f64::from;
    u32, U32, |v| v as u32, f64::from;
    u64, U64, |v| v as u64, |v| v as f64;
}

/// Runs the expression with `$type` bound to the Rust type of a [`Dtype`].
macro_rules! for_dtype {
    ($dtype:expr, $type:ident => $body:expr) => {
        match $dtype {
            fsr_protocol::Dtype::F16 => {
                type $type = half::f16;
                $body
            }
            fsr_protocol::Dtype::Bf16 => {
                type $type = half::bf16;
                $body
            }
            fsr_protocol::Dtype::F32 => {
                type $type = f32;
                $body
            }
            fsr_protocol::Dtype::F64 => {
                type $type = f64;
                $body
            }
            fsr_protocol::Dtype::I8 => {
                type $type = i8;
                $body
            }
            fsr_protocol::Dtype::I16 => {
                type $type = i16;
                $body
            }
            fsr_protocol::Dtype::I32 => {
                type $type = i32;
                $body
            }
            fsr_protocol::Dtype::I64 => {
                type $type = i64;
                $body
            }
            fsr_protocol::Dtype::U8 => {
                type $type = u8;
                $body
            }
            fsr_protocol::Dtype::U16 => {
                type $type = u16;
                $body
            }
            fsr_protocol::Dtype::U32 => {
                type $type = u32;
                $body
            }
            fsr_protocol::Dtype::U64 => {
                type $type = u64;
                $body
            }
        }
    };
}
pub(crate) use for_dtype;

/// The tolerance of an output whose spec names none. Allowed is `atol + rtol * scale`, where `scale` of an element is
/// the larger of its own magnitude and the root mean square of the whole output (or what
/// [`Cpu::scale_at_least`](crate::Cpu::scale_at_least) says).
///
/// How the numbers come about, with `u` the unit roundoff:
/// - f32 (`u = 2^-24`): summing K terms one after the other in another order than the reference deviates by about
///   `2^-23 * sqrt(K / 24)` of the result's scale, and the worst of 10^8 elements by 5.6 times that: `3e-5` for
///   K = 50,000. Rounding the operands to tf32 or f16 (11 bits) costs `2e-4` of the scale for a typical element,
///   whatever K is, and bf16 eight times more. `3e-5` lies between.
/// - f64: an f32 computation costs `6e-8`; a sum of 10^7 terms in f64 `1e-12`.
/// - f16, bf16: two units in the last place, as the result may be rounded differently; a computation in bf16 costs an
///   f16 output up to four times that.
/// - integers are exact.
///
/// The absolute part only forgives flushing the smallest values to zero.
///
/// Where the host code says how many terms an element is accumulated from ([`Case::accumulates`](crate::Case::accumulates)),
/// the f32 and f64 parts follow that instead: `u * (16 + 11.2 * sqrt(K / 24))`, at most `1e-4` and `1e-9`.
pub fn default_tolerance(dtype: Dtype) -> Tolerance {
    let (rtol, atol) = match dtype {
        Dtype::F16 => (1.0 / 512.0, f16::MIN_POSITIVE_SUBNORMAL.to_f64()),
        Dtype::Bf16 => (1.0 / 64.0, bf16::MIN_POSITIVE.to_f64()),
        Dtype::F32 => (3e-5, f64::from(f32::MIN_POSITIVE)),
        Dtype::F64 => (1e-12, f64::MIN_POSITIVE),
        _ => (0.0, 0.0),
    };
    Tolerance { rtol, atol }
}

/// The tolerance of an element that is accumulated from so many terms.
///
/// With `u` the unit roundoff: every rounding of a sum of K terms of random sign errs by up to `u` times what is summed so
/// far, which adds up to `2 u * sqrt(K / 24)` of the result's scale for K in a row, and the worst of 10^8 elements is 5.6
/// deviations off. Terms of one sign make the partial sums grow, and the same error is smaller than the sum's own scale.
/// Sixteen units more are for what is done to a term or to the sum: a division, an exponential, a few products.
/// - f32: K = 1 gives `9.5e-7`, K = 1000 `5.3e-6`, K = 50,000 `3.1e-5`. Two bf16 for one f32 cost `7.6e-6`, one tf32 or f16
///   `2e-4` for a typical element. Above `1e-4` (K = 560,000) it does not grow, so that those stay apart: whoever sums
///   more in one f32 has to give a tolerance.
/// - f64: the same with its own `u`, and `1e-9` at most; f32 costs `6e-8`.
/// - f16 and bf16 are summed in f32 by any kernel that is meant to be right, and rounded once.
pub(crate) fn accumulated(dtype: Dtype, terms: u64) -> Tolerance {
    let default = default_tolerance(dtype);
    let (unit, most) = match dtype {
        Dtype::F32 => (2f64.powi(-24), 1e-4),
        Dtype::F64 => (2f64.powi(-53), 1e-9),
        _ => return default,
    };
    let rtol = unit * (16.0 + 5.6 * 2.0 * (terms as f64 / 24.0).sqrt());
    Tolerance { rtol: rtol.min(most), ..default }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tolerance_grows_with_what_is_summed_and_stays_below_a_lower_precision() {
        let f32s = |terms| accumulated(Dtype::F32, terms).rtol;
        assert!(f32s(1) < 2f64.powi(-19) && f32s(1) > 8.0 * 2f64.powi(-24));
        assert!(f32s(1) < f32s(1000) && f32s(1000) < f32s(50_000));
        assert!(
            (f32s(50_000) / default_tolerance(Dtype::F32).rtol - 1.0).abs() < 0.1,
            "the default's own derivation"
        );
        assert_eq!(f32s(u64::MAX), 1e-4);
        assert!(accumulated(Dtype::F64, u64::MAX).rtol < 6e-8);
        for dtype in [Dtype::F16, Dtype::Bf16, Dtype::I32] {
            assert_eq!(accumulated(dtype, 1000), default_tolerance(dtype));
        }
    }

    #[test]
    fn every_dtype_maps_to_a_type_of_its_size() {
        use Dtype::*;
        for dtype in [F16, Bf16, F32, F64, I8, I16, I32, I64, U8, U16, U32, U64] {
            for_dtype!(dtype, T => {
                assert_eq!(T::DTYPE, dtype);
                assert_eq!(size_of::<T>(), dtype.size());
                assert_eq!(T::from_f64(1.0).to_f64(), 1.0);
            });
        }
    }
}
