//! Seeded input values: the distributions that a buffer can be filled from.
//!
//! Owns the mapping from (seed, buffer, position) to a value; it is a pure function, whatever the number of threads.
//! It never decides which seed is used: `cargo fsr` does, and tells it only afterwards.

use std::sync::Arc;

use fsr_protocol::{Dtype, MIXED_DISTRIBUTIONS};
use rand::{Rng as _, RngExt as _, SeedableRng as _};
use rand_chacha::ChaCha8Rng;
use rand_distr::{Distribution as _, StandardNormal};
use rayon::prelude::*;

use crate::Element;

/// Elements that share one random stream. Part of the meaning of a seed: never change it.
const CHUNK: usize = 1 << 14;

/// Where the elements of an input come from.
///
/// [`Values::mix`] is what [`Case::input`](crate::Case::input) uses: the seed picks one of six distributions, so that
/// over several sets a kernel meets all of them. Fix one where the kernel's inputs have a meaning, for example indices
/// or probabilities.
#[derive(Clone)]
pub struct Values<T>(Kind<T>);

#[derive(Clone)]
enum Kind<T> {
    Mix,
    Uniform(f64, f64),
    Normal(f64, f64),
    HeavyTail,
    Large,
    NearOverflow,
    Spikes,
    Constant(T),
    Custom(Arc<CustomFn<T>>),
}

type CustomFn<T> = dyn Fn(usize, &mut Rng) -> T + Send + Sync;

impl<T: Element> Values<T> {
    /// One of six distributions, picked by the seed's remainder modulo six plus the buffer's position: standard normal,
    /// spikes, non-zero mean, large, uniform, heavy tail. Integers have counterparts of each.
    pub fn mix() -> Self {
        Self(Kind::Mix)
    }

    /// Evenly spread: floats in `low..high`, integers in `low..=high`.
    pub fn uniform(low: f64, high: f64) -> Self {
        Self(Kind::Uniform(low, high))
    }

    /// Normal with the given mean and standard deviation.
    pub fn normal(mean: f64, deviation: f64) -> Self {
        Self(Kind::Normal(mean, deviation))
    }

    /// Signs at random, magnitudes log-normal over about six decades: few elements dominate every sum.
    pub fn heavy_tail() -> Self {
        Self(Kind::HeavyTail)
    }

    /// Uniform with magnitudes up to 1000: squares and sums stay finite in f32, but `exp` overflows where nobody
    /// subtracts the maximum.
    pub fn large() -> Self {
        Self(Kind::Large)
    }

    /// Magnitudes from a quarter to a half of the largest finite value: any sum of a few elements may overflow.
    pub fn near_overflow() -> Self {
        Self(Kind::NearOverflow)
    }

    /// Standard normal, with one element in 4096 and always the last one a hundred to a thousand times larger: a
    /// kernel that samples its input or leaves out the tail is far off.
    pub fn spikes() -> Self {
        Self(Kind::Spikes)
    }

    /// The same value everywhere.
    pub fn constant(value: T) -> Self {
        Self(Kind::Constant(value))
    }

    /// A function of the element's row-major position and a random source of its own.
    pub fn custom(make: impl Fn(usize, &mut Rng) -> T + Send + Sync + 'static) -> Self {
        Self(Kind::Custom(Arc::new(make)))
    }

    /// Fills one buffer of a set, in parallel.
    pub(crate) fn fill(&self, out: &mut [T], seed: u64, buffer: usize) {
        let kind = match &self.0 {
            Kind::Mix => mixed::<T>(seed, buffer),
            other => other.clone(),
        };
        let len = out.len();
        out.par_chunks_mut(CHUNK).enumerate().for_each(|(chunk, out)| {
            let mut rng = Rng::new(seed, buffer, chunk);
            kind.fill(out, chunk * CHUNK, len, &mut rng);
        });
    }
}

/// The distribution that [`Values::mix`] stands for in one buffer of one set.
fn mixed<T: Element>(seed: u64, buffer: usize) -> Kind<T> {
    let float = T::DTYPE.is_float();
    match (seed % MIXED_DISTRIBUTIONS + buffer as u64) % MIXED_DISTRIBUTIONS {
        0 if float => Kind::Normal(0.0, 1.0),
        0 => Kind::Uniform(-100.0, 100.0),
        1 => Kind::Spikes,
        2 if float => Kind::Normal(5.0, 1.0),
        2 => Kind::Uniform(50.0, 120.0),
        3 => Kind::Large,
        4 if float => Kind::Uniform(-1.0, 1.0),
        4 => Kind::Uniform(0.0, 10.0),
        _ => Kind::HeavyTail,
    }
}

impl<T: Element> Kind<T> {
    fn fill(&self, out: &mut [T], first: usize, len: usize, rng: &mut Rng) {
        let float = T::DTYPE.is_float();
        match self {
            Self::Mix => unreachable!("resolved before the buffer is split"),
            Self::Uniform(low, high) if float => each(out, || T::from_f64(rng.uniform(*low, *high))),
            Self::Uniform(low, high) => {
                let (low, high) = (T::from_f64(low.ceil()), T::from_f64(high.floor()));
                each(out, || integer(rng, low, high));
            }
            Self::Normal(mean, deviation) => each(out, || T::from_f64(mean + deviation * rng.normal())),
            Self::HeavyTail if float => {
                let most = highest::<T>().to_f64();
                each(out, || T::from_f64((2.0 * rng.normal()).exp().min(most) * rng.sign()));
            }
            Self::HeavyTail => each(out, || T::from_f64((4.0 / rng.uniform(0.01, 1.0)).floor())),
            Self::Large if float => each(out, || T::from_f64(rng.uniform(-1000.0, 1000.0))),
            Self::Large => each(out, || integer(rng, lowest(), highest())),
            Self::NearOverflow if float => {
                each(out, || T::from_f64(rng.uniform(0.25, 0.5) * highest::<T>().to_f64() * rng.sign()));
            }
            Self::NearOverflow => each(out, || {
                let half = T::from_f64(highest::<T>().to_f64() / 2.0);
                integer(rng, half, highest())
            }),
            Self::Spikes => {
                let (base, factor) = if float { (1.0, 100.0) } else { (5.0, 10.0) };
                for (position, element) in out.iter_mut().enumerate() {
                    let mut value = base * rng.normal();
                    if rng.below(4096) == 0 || first + position + 1 == len {
                        value = rng.uniform(1.0, 10.0) * factor * rng.sign();
                    }
                    *element = T::from_f64(value);
                }
            }
            Self::Constant(value) => out.fill(*value),
            Self::Custom(make) => {
                for (position, element) in out.iter_mut().enumerate() {
                    *element = make(first + position, rng);
                }
            }
        }
    }
}

fn each<T>(out: &mut [T], mut value: impl FnMut() -> T) {
    for element in out {
        *element = value();
    }
}

/// Largest finite value.
fn highest<T: Element>() -> T {
    T::from_f64(match T::DTYPE {
        Dtype::F16 => half::f16::MAX.to_f64(),
        Dtype::Bf16 => half::bf16::MAX.to_f64(),
        Dtype::F32 => f64::from(f32::MAX),
        // Integers saturate.
        _ => f64::MAX,
    })
}

/// Smallest finite value.
fn lowest<T: Element>() -> T {
    if T::DTYPE.is_float() { T::from_f64(-highest::<T>().to_f64()) } else { T::from_f64(f64::MIN) }
}

/// Evenly among the integers of `low..=high`, with every bit random in the 64-bit types too.
fn integer<T: Element>(rng: &mut Rng, low: T, high: T) -> T {
    let (low, high) = (widen(low), widen(high));
    let span = high.saturating_sub(low).max(0) as u128 + 1;
    let offset = if span > u128::from(u64::MAX) { rng.bits() } else { rng.below(span as u64) };
    narrow(low + i128::from(offset))
}

fn widen<T: Element>(value: T) -> i128 {
    match T::DTYPE {
        Dtype::I64 => i128::from(bytemuck::cast::<T, i64>(value)),
        Dtype::U64 => i128::from(bytemuck::cast::<T, u64>(value)),
        _ => value.to_f64() as i128,
    }
}

fn narrow<T: Element>(value: i128) -> T {
    match T::DTYPE {
        Dtype::I64 => bytemuck::cast::<i64, T>(value as i64),
        Dtype::U64 => bytemuck::cast::<u64, T>(value as u64),
        _ => T::from_f64(value as f64),
    }
}

/// A source of random numbers for [`Values::custom`].
pub struct Rng(ChaCha8Rng);

impl Rng {
    fn new(seed: u64, buffer: usize, chunk: usize) -> Self {
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        rng.set_stream((buffer as u64) << 40 | chunk as u64);
        Self(rng)
    }

    /// 64 random bits.
    pub fn bits(&mut self) -> u64 {
        self.0.next_u64()
    }

    /// Evenly in `low..high`.
    pub fn uniform(&mut self, low: f64, high: f64) -> f64 {
        low + (high - low) * self.0.random::<f64>()
    }

    /// Evenly among `0..bound`; 0 when `bound` is 0.
    pub fn below(&mut self, bound: u64) -> u64 {
        // The multiplication spreads 64 bits over the range; the bias is below bound / 2^64.
        ((u128::from(self.bits()) * u128::from(bound)) >> 64) as u64
    }

    /// Standard normal.
    pub fn normal(&mut self) -> f64 {
        StandardNormal.sample(&mut self.0)
    }

    /// 1 or -1.
    pub fn sign(&mut self) -> f64 {
        if self.bits() & 1 == 0 { 1.0 } else { -1.0 }
    }
}

#[cfg(test)]
mod tests {
    use half::f16;
    use proptest::prelude::*;

    use super::*;

    fn made<T: Element>(values: Values<T>, len: usize, seed: u64) -> Vec<T> {
        let mut out = vec![T::from_f64(0.0); len];
        values.fill(&mut out, seed, 0);
        out
    }

    fn moments(values: &[f32]) -> (f64, f64) {
        let n = values.len() as f64;
        let mean = values.iter().map(|v| f64::from(*v)).sum::<f64>() / n;
        let variance = values.iter().map(|v| (f64::from(*v) - mean).powi(2)).sum::<f64>() / n;
        (mean, variance.sqrt())
    }

    #[test]
    fn a_seed_means_the_same_values_on_any_number_of_threads() {
        let one = rayon::ThreadPoolBuilder::new().num_threads(1).build().unwrap();
        let single = one.install(|| made(Values::<f32>::normal(0.0, 1.0), 100_000, 7));
        let many = rayon::ThreadPoolBuilder::new().num_threads(5).build().unwrap();
        assert_eq!(single, many.install(|| made(Values::<f32>::normal(0.0, 1.0), 100_000, 7)));
        assert_ne!(single, made(Values::<f32>::normal(0.0, 1.0), 100_000, 8));
    }

    #[test]
    fn the_buffers_of_a_set_differ() {
        let mut x = vec![0.0f32; 1000];
        let mut y = x.clone();
        Values::normal(0.0, 1.0).fill(&mut x, 3, 0);
        Values::normal(0.0, 1.0).fill(&mut y, 3, 1);
        assert!(x.iter().zip(&y).all(|(x, y)| x != y));
    }

    #[test]
    fn moments_are_as_asked() {
        let (mean, deviation) = moments(&made(Values::normal(5.0, 2.0), 200_000, 1));
        assert!((mean - 5.0).abs() < 0.03 && (deviation - 2.0).abs() < 0.03, "{mean} {deviation}");
        let (mean, deviation) = moments(&made(Values::uniform(-1.0, 1.0), 200_000, 1));
        assert!(mean.abs() < 0.01 && (deviation - 1.0 / 3f64.sqrt()).abs() < 0.01, "{mean} {deviation}");
    }

    #[test]
    fn six_consecutive_seeds_give_six_distributions() {
        let scales: Vec<f64> = (600..606).map(|seed| moments(&made(Values::mix(), 50_000, seed)).1).collect();
        let means: Vec<f64> = (600..606).map(|seed| moments(&made(Values::mix(), 50_000, seed)).0).collect();
        assert!((scales[0] - 1.0).abs() < 0.1, "normal");
        assert!(scales[1] > 3.0 && scales[1] < 30.0, "spikes");
        assert!((means[2] - 5.0).abs() < 0.1, "non-zero mean");
        assert!(scales[3] > 500.0, "large");
        assert!((scales[4] - 0.577).abs() < 0.05, "uniform");
        assert!(scales[5] > 10.0, "heavy tail");
    }

    #[test]
    fn spikes_always_hit_the_last_element() {
        for len in [1, 2, 1021, CHUNK, CHUNK + 1] {
            let last = *made(Values::<f32>::spikes(), len, 11).last().unwrap();
            assert!(last.abs() >= 100.0, "{len}: {last}");
        }
    }

    #[test]
    fn near_overflow_is_finite_and_two_of_a_sign_may_not_add_up_to_a_finite_value() {
        let values = made(Values::<f16>::near_overflow(), 10_000, 2);
        assert!(values.iter().all(|v| v.is_finite() && v.to_f64().abs() > 16_000.0));
        let values = made(Values::<f64>::near_overflow(), 1000, 2);
        assert!(values.iter().all(|v| v.is_finite() && v.abs() > f64::MAX / 5.0));
    }

    #[test]
    fn full_range_integers_reach_both_halves_of_64_bits() {
        let values = made(Values::<u64>::large(), 1000, 4);
        assert!(values.iter().any(|v| *v > u64::MAX / 2) && values.iter().any(|v| *v < u64::MAX / 2));
        assert!(values.iter().fold(0, |bits, v| bits | v) == u64::MAX);
        let values = made(Values::<i64>::large(), 1000, 4);
        assert!(values.iter().any(|v| *v > 0) && values.iter().any(|v| *v < 0));
    }

    proptest! {
        #[test]
        fn uniform_integers_stay_inside_their_bounds(low in -100i32..100, span in 0i32..50, seed: u64) {
            let values = made(Values::<i32>::uniform(f64::from(low), f64::from(low + span)), 300, seed);
            prop_assert!(values.iter().all(|v| (low..=low + span).contains(v)));
        }

        #[test]
        fn mixed_floats_are_finite(seed: u64) {
            prop_assert!(made(Values::<f16>::mix(), 300, seed).iter().all(|v| v.is_finite()));
            prop_assert!(made(Values::<f32>::mix(), 300, seed).iter().all(|v| v.is_finite()));
        }
    }

    #[test]
    fn a_custom_generator_sees_positions() {
        let values = made(Values::<u32>::custom(|position, _| position as u32), CHUNK + 5, 0);
        assert!(values.iter().enumerate().all(|(position, v)| *v == position as u32));
    }
}
