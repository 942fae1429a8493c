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

/// Draws until an element is another: among few distinct values the same one comes up again.
const REDRAWS: u64 = 16;

/// What [`Values::few`] holds: their sums are exact in f32 up to millions of elements, and their mean is not zero.
const FEW: [f64; 5] = [-2.0, -0.5, 0.75, 1.0, 3.0];

/// Where the elements of an input come from.
///
/// [`Values::mix`] is what [`Case::input`](crate::Case::input) uses: the seed picks one of eight distributions, so that
/// over several sets a kernel meets all of them. Fix one where the kernel's inputs have a meaning, for example indices
/// or probabilities, and widen it by [`Values::any_of`] where the task allows more: sums that overflow, infinities,
/// a row without variance.
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
    Sorted(f64),
    Few,
    Special,
    Constant(T),
    AnyOf(Arc<[Values<T>]>),
    Custom(Arc<CustomFn<T>>),
    Whole(Arc<WholeFn<T>>),
}

type CustomFn<T> = dyn Fn(usize, &mut Rng) -> T + Send + Sync;
type WholeFn<T> = dyn Fn(&mut [T], &mut Rng) + Send + Sync;

impl<T: Element> Values<T> {
    /// One of eight distributions, picked by the seed's remainder modulo eight plus the buffer's position: standard
    /// normal, spikes, non-zero mean, large, uniform, heavy tail, sorted, few distinct values. Integers have
    /// counterparts of each.
    ///
    /// Left out is what some right kernel of some task cannot bear: [`Values::near_overflow`], [`Values::special`] and
    /// [`Values::constant`], whose variance is zero. Add them by [`Values::any_of`] where yours can.
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

    /// Ascending, positive, without steps: what a kernel that guesses from neighbours or from the ends gets
    /// nearly right.
    pub fn sorted() -> Self {
        Self(Kind::Sorted(1.0))
    }

    /// Five distinct values, all of them exact in every float type: ties everywhere, and most neighbours equal.
    pub fn few() -> Self {
        Self(Kind::Few)
    }

    /// Zeros of both signs, subnormals, the smallest and largest finite values and infinities, among standard normal
    /// ones; the least, the greatest and zero for integers. A reference must not make NaN of them.
    pub fn special() -> Self {
        Self(Kind::Special)
    }

    /// One of several, picked by each set's seed.
    ///
    /// # Panics
    ///
    /// With nothing to choose from.
    pub fn any_of(choices: impl Into<Vec<Self>>) -> Self {
        let choices: Vec<Self> = choices.into();
        assert!(!choices.is_empty(), "`Values::any_of` needs at least one choice");
        Self(Kind::AnyOf(choices.into()))
    }

    /// The same value everywhere.
    pub fn constant(value: T) -> Self {
        Self(Kind::Constant(value))
    }

    /// A function of the element's row-major position and a random source of its own.
    pub fn custom(make: impl Fn(usize, &mut Rng) -> T + Send + Sync + 'static) -> Self {
        Self(Kind::Custom(Arc::new(make)))
    }

    /// A function that fills a whole buffer, where elements depend on each other: a permutation, the row offsets of a
    /// sparse matrix. It runs on one thread.
    pub fn whole(make: impl Fn(&mut [T], &mut Rng) + Send + Sync + 'static) -> Self {
        Self(Kind::Whole(Arc::new(make)))
    }

    /// Fills one buffer of a set, in parallel.
    pub(crate) fn fill(&self, out: &mut [T], seed: u64, buffer: usize) {
        let kind = self.resolved(seed, buffer);
        if let Kind::Whole(make) = &kind {
            return make(out, &mut Rng::new(seed, buffer, 0));
        }
        let len = out.len();
        out.par_chunks_mut(CHUNK).enumerate().for_each(|(chunk, out)| {
            let mut rng = Rng::new(seed, buffer, chunk);
            kind.fill(out, chunk * CHUNK, len, &mut rng);
        });
    }

    /// Draws one element of a filled buffer anew, from the distribution that the set's seed picked; false where it
    /// stays as it is, because the host code made it with a meaning of its own.
    pub(crate) fn redraw(&self, out: &mut [T], at: usize, seed: u64, buffer: usize, draw: u64) -> bool {
        let kind = self.resolved(seed, buffer);
        if matches!(kind, Kind::Constant(_) | Kind::Custom(_) | Kind::Whole(_)) {
            return false;
        }
        let (chunk, len) = (at / CHUNK, out.len());
        let first = chunk * CHUNK;
        let mut drawn = out[first..len.min(first + CHUNK)].to_vec();
        (0..REDRAWS).any(|more| {
            kind.fill(&mut drawn, first, len, &mut Rng::new(draw.wrapping_add(more), buffer, chunk));
            let new = drawn[at - first];
            let changed = bytemuck::bytes_of(&new) != bytemuck::bytes_of(&out[at]);
            out[at] = new;
            changed
        })
    }

    /// The distribution that is meant in one buffer of one set.
    fn resolved(&self, seed: u64, buffer: usize) -> Kind<T> {
        match &self.0 {
            Kind::Mix => mixed::<T>(seed, buffer),
            // The remainder is spread over the sets of a case, and may still be needed by the choice; of the quotient
            // the choice gets what was not used here, or one choice would always go with one sign.
            Kind::AnyOf(choices) => {
                let (rest, remainder) = (seed / MIXED_DISTRIBUTIONS, seed % MIXED_DISTRIBUTIONS);
                let count = choices.len() as u64;
                let rest_of_choice = rest / count * MIXED_DISTRIBUTIONS + remainder;
                choices[(rest % count) as usize].resolved(rest_of_choice, buffer)
            }
            other => other.clone(),
        }
    }
}

/// The distribution that [`Values::mix`] stands for in one buffer of one set.
fn mixed<T: Element>(seed: u64, buffer: usize) -> Kind<T> {
    let float = T::DTYPE.is_float();
    // Either sign: a maximum that starts at zero is right for all that is positive.
    let sign = if (seed / MIXED_DISTRIBUTIONS + buffer as u64).is_multiple_of(2) { 1.0 } else { -1.0 };
    match (seed % MIXED_DISTRIBUTIONS + buffer as u64) % MIXED_DISTRIBUTIONS {
        0 if float => Kind::Normal(0.0, 1.0),
        0 => Kind::Uniform(-100.0, 100.0),
        1 => Kind::Spikes,
        2 if float => Kind::Normal(5.0 * sign, 1.0),
        2 => Kind::Uniform(50.0, 120.0),
        // So far below zero that `exp` of all of it is nothing, unless the true maximum is subtracted.
        3 if float && sign < 0.0 => Kind::Uniform(-1000.0, -200.0),
        3 => Kind::Large,
        4 if float => Kind::Uniform(-1.0, 1.0),
        4 => Kind::Uniform(0.0, 10.0),
        5 => Kind::HeavyTail,
        // The other one, so that neighbouring sets have both.
        6 => Kind::Sorted(-sign),
        _ => Kind::Few,
    }
}

impl<T: Element> Kind<T> {
    fn fill(&self, out: &mut [T], first: usize, len: usize, rng: &mut Rng) {
        let float = T::DTYPE.is_float();
        match self {
            Self::Mix | Self::AnyOf(_) | Self::Whole(_) => {
                unreachable!("resolved before the buffer is split")
            }
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
            Self::Sorted(sign) => {
                // Away from zero, where a sum of them would cancel and no kernel come near it.
                let (least, span) = match (float, *sign < 0.0) {
                    (true, false) => (0.25, 3.75),
                    (true, true) => (-4.0, 3.75),
                    (false, _) => (0.0, 100.0),
                };
                for (position, element) in out.iter_mut().enumerate() {
                    let share = ((first + position) as f64 + rng.uniform(0.0, 1.0)) / len as f64;
                    *element = T::from_f64(least + span * share);
                }
            }
            Self::Few if float => each(out, || T::from_f64(FEW[rng.below(FEW.len() as u64) as usize])),
            Self::Few => each(out, || T::from_f64(rng.below(5) as f64)),
            Self::Special => {
                let special = specials::<T>();
                each(out, || match rng.below(4) {
                    0 => special[rng.below(special.len() as u64) as usize],
                    _ if float => T::from_f64(rng.normal()),
                    _ => integer(rng, lowest(), highest()),
                });
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

/// Values at the ends of a type.
fn specials<T: Element>() -> Vec<T> {
    let smallest = match T::DTYPE {
        Dtype::F16 => half::f16::MIN_POSITIVE_SUBNORMAL.to_f64(),
        Dtype::Bf16 => half::bf16::MIN_POSITIVE_SUBNORMAL.to_f64(),
        Dtype::F32 => f64::from(f32::from_bits(1)),
        Dtype::F64 => f64::from_bits(1),
        _ => return vec![lowest(), highest(), T::from_f64(0.0)],
    };
    let ends = [0.0, -0.0, smallest, -smallest, f64::INFINITY, f64::NEG_INFINITY];
    ends.map(T::from_f64).into_iter().chain([lowest(), highest()]).collect()
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
    pub(crate) fn new(seed: u64, buffer: usize, chunk: usize) -> Self {
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

    /// An extent or count in a range, for [`Kernel::draw`](crate::Kernel::draw): odd and prime ones more often than
    /// others.
    pub fn size(&mut self, range: std::ops::RangeInclusive<usize>) -> usize {
        let (low, high) = (*range.start(), *range.end());
        let any =
            |rng: &mut Self| low + rng.below((high.saturating_sub(low) as u64).saturating_add(1)) as usize;
        let wanted: fn(usize) -> bool = match self.below(4) {
            0 => |_| true,
            1 => |size| size % 2 == 1,
            _ => is_prime,
        };
        // Where there is no such size at all, any will do.
        (0..1000).map(|_| any(self)).find(|size| wanted(*size)).unwrap_or_else(|| any(self))
    }

    /// 1 or -1.
    pub fn sign(&mut self) -> f64 {
        if self.bits() & 1 == 0 { 1.0 } else { -1.0 }
    }
}

fn is_prime(size: usize) -> bool {
    size > 1 && (2..).take_while(|factor| factor * factor <= size).all(|factor| !size.is_multiple_of(factor))
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
    fn consecutive_seeds_give_all_distributions() {
        let scales: Vec<f64> = (800..808).map(|seed| moments(&made(Values::mix(), 50_000, seed)).1).collect();
        let means: Vec<f64> = (800..808).map(|seed| moments(&made(Values::mix(), 50_000, seed)).0).collect();
        assert!((scales[0] - 1.0).abs() < 0.1, "normal");
        assert!(scales[1] > 3.0 && scales[1] < 30.0, "spikes");
        assert!((means[2].abs() - 5.0).abs() < 0.1, "non-zero mean");
        assert!(means[2] * means[6] < 0.0, "one of either sign");
        assert!(scales[3] > 200.0, "large");
        assert!((scales[4] - 0.577).abs() < 0.05, "uniform");
        assert!(scales[5] > 10.0, "heavy tail");
        assert!(made(Values::<f32>::mix(), 50_000, 806).is_sorted(), "sorted");
        let mut few: Vec<u32> = made(Values::<f32>::mix(), 50_000, 807).iter().map(|v| v.to_bits()).collect();
        few.sort();
        few.dedup();
        assert_eq!(few.len(), FEW.len(), "few distinct values");
    }

    #[test]
    fn large_values_are_of_both_signs_or_all_negative() {
        let all_negative = |seed| made(Values::<f32>::mix(), 1000, seed).iter().all(|value| *value < -100.0);
        let of = |sets: std::ops::Range<u64>| {
            sets.filter(|set| all_negative(set * MIXED_DISTRIBUTIONS + 3)).count()
        };
        assert_eq!(of(0..10), 5);
    }

    #[test]
    fn a_mix_among_several_values_has_either_sign_too() {
        let either = Values::<f32>::any_of([Values::mix(), Values::constant(0.0)]);
        let larges = (0..64).map(|set| made(either.clone(), 1000, set * MIXED_DISTRIBUTIONS + 3));
        let larges: Vec<Vec<f32>> =
            larges.filter(|values| values.iter().any(|value| *value != 0.0)).collect();
        let negative = larges.iter().filter(|values| values.iter().all(|value| *value < 0.0)).count();
        assert_eq!((larges.len(), negative), (32, 16));
    }

    #[test]
    fn special_values_are_all_there() {
        let values = made(Values::<f16>::special(), 10_000, 1);
        let has = |wanted: f16| values.iter().any(|v| v.to_bits() == wanted.to_bits());
        for wanted in [f16::INFINITY, f16::NEG_INFINITY, f16::NEG_ZERO, f16::MAX, f16::MIN_POSITIVE_SUBNORMAL]
        {
            assert!(has(wanted), "{wanted:?}");
        }
        assert!(values.iter().all(|v| !v.is_nan()));
        let values = made(Values::<i8>::special(), 1000, 1);
        assert!(values.contains(&i8::MIN) && values.contains(&i8::MAX));
    }

    #[test]
    fn one_of_several_values_is_picked_by_the_seed_and_a_mix_among_them_stays_one() {
        let either = || Values::<f32>::any_of([Values::mix(), Values::constant(9.0)]);
        let mut constant = 0;
        let mut mixes = std::collections::BTreeSet::new();
        for seed in 0..64 * MIXED_DISTRIBUTIONS {
            let values = made(either(), 20, seed);
            if values.iter().all(|v| *v == 9.0) {
                constant += 1;
            } else {
                mixes.insert(seed % MIXED_DISTRIBUTIONS);
            }
        }
        assert_eq!(constant, 32 * MIXED_DISTRIBUTIONS);
        assert_eq!(mixes.len() as u64, MIXED_DISTRIBUTIONS);
    }

    #[test]
    fn a_whole_buffer_may_be_made_at_once() {
        let shuffled = Values::<u32>::whole(|out, rng| {
            out.iter_mut().zip(0..).for_each(|(element, at)| *element = at);
            for at in (1..out.len()).rev() {
                out.swap(at, rng.below(at as u64 + 1) as usize);
            }
        });
        let mut values = made(shuffled.clone(), CHUNK + 7, 3);
        assert!(!values.is_sorted());
        assert!(!shuffled.redraw(&mut values, 5, 3, 0, 99), "no longer a permutation");
        values.sort();
        assert!(values.iter().enumerate().all(|(at, value)| at as u32 == *value));
    }

    #[test]
    fn sizes_keep_to_their_range_and_most_are_odd() {
        let mut rng = super::Rng::new(1, 0, 0);
        let sizes: Vec<usize> = (0..400).map(|_| rng.size(1..=4096)).collect();
        assert!(sizes.iter().all(|size| (1..=4096).contains(size)));
        assert!(sizes.iter().filter(|size| *size % 2 == 1).count() > 240);
        assert!(sizes.iter().filter(|size| is_prime(**size)).count() > 150);
        assert!((0..100).all(|_| rng.size(8..=8) == 8), "a range without a prime");
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
        fn one_element_is_drawn_anew_and_no_other(seed: u64, at in 0..3 * CHUNK) {
            let before = made(Values::<f32>::mix(), 3 * CHUNK, seed);
            let mut after = before.clone();
            prop_assert!(Values::<f32>::mix().redraw(&mut after, at, seed, 0, seed.wrapping_add(1)));
            let changed = (0..before.len()).filter(|at| before[*at].to_bits() != after[*at].to_bits());
            prop_assert_eq!(changed.collect::<Vec<_>>(), [at]);
        }

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
