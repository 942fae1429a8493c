//! How two kernels of one interleaved run compare: the ratio of their times with an interval, and the verdict that the
//! interval allows. Makes no assumption about how times are distributed, and decides nothing about a search.

use std::fmt;

use super::{CaseTiming, Timing};

/// Half the width of a 99 % interval of the standard normal distribution.
const NORMAL_99: f64 = 2.576;

/// Times of one kernel over those of another, as geometric means over the cases.
///
/// Each case's median has a distribution-free 99 % interval: order statistics of its samples (David and Nagaraja, Order
/// Statistics, 7.1). The ends of the ratio's interval pair the upper ends of one kernel with the lower ends of the
/// other, so it is wider than it had to be, and two kernels of the same speed are told apart by chance in far less than
/// one run in a hundred.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Ratio {
    /// Lower end.
    pub low: f64,
    /// Of the medians.
    pub middle: f64,
    /// Upper end.
    pub high: f64,
}

/// What a ratio says of the first kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Separation {
    /// It takes less time, beyond noise.
    Faster,
    /// It takes more time, beyond noise.
    Slower,
    /// Neither can be said.
    None,
}

impl fmt::Display for Separation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Faster => "faster",
            Self::Slower => "slower",
            Self::None => "no measurable difference",
        })
    }
}

impl Ratio {
    /// Of two kernels that were timed on the same cases; `None` otherwise.
    pub fn of(new: &Timing, old: &Timing) -> Option<Self> {
        let same = new.cases.len() == old.cases.len()
            && new.cases.iter().zip(&old.cases).all(|(new, old)| new.case == old.case);
        if !same || new.cases.is_empty() {
            return None;
        }
        let low = |timing: &Timing| mean(timing.cases.iter().map(|case| interval(case).0));
        let high = |timing: &Timing| mean(timing.cases.iter().map(|case| interval(case).1));
        Some(Self {
            low: low(new) / high(old),
            middle: new.score() / old.score(),
            high: high(new) / low(old),
        })
    }

    /// The verdict.
    pub fn separation(&self) -> Separation {
        match self {
            _ if self.high < 1.0 => Separation::Faster,
            _ if self.low > 1.0 => Separation::Slower,
            _ => Separation::None,
        }
    }
}

/// A 99 % interval of the median.
fn interval(case: &CaseTiming) -> (f64, f64) {
    let mut samples = case.samples.clone();
    samples.sort_by(f64::total_cmp);
    let count = samples.len() as f64;
    let reach = NORMAL_99 * count.sqrt() / 2.0;
    let low = (count / 2.0 - reach).floor().max(0.0) as usize;
    let high = ((count / 2.0 + reach).ceil() as usize).min(samples.len().saturating_sub(1));
    match (samples.get(low), samples.get(high)) {
        (Some(&low), Some(&high)) => (low, high),
        // No samples to look at: the quartiles are wider, and so on the safe side.
        _ => (case.q1, case.q3),
    }
}

fn mean(values: impl ExactSizeIterator<Item = f64>) -> f64 {
    let count = values.len().max(1) as f64;
    (values.map(f64::ln).sum::<f64>() / count).exp()
}

/// Times for tests.
#[cfg(test)]
pub mod fixture {
    use super::super::statistics::Quartiles;
    use super::{CaseTiming, Timing};

    /// Of cases with these samples.
    pub fn timing(cases: &[&[f64]]) -> Timing {
        let cases = cases.iter().enumerate().map(|(index, samples)| {
            let Quartiles { q1, median, q3 } = Quartiles::of(samples).expect("a sample");
            let (case, samples) = (format!("case {index}"), samples.to_vec());
            CaseTiming { case, median, q1, q3, samples, floor: 0.0, work_bytes: 0 }
        });
        Timing { cases: cases.collect(), modelled: false }
    }

    /// Samples that are evenly spread around a middle.
    pub fn around(middle: f64, spread: f64) -> Vec<f64> {
        (0..20).map(|step| middle + spread * (f64::from(step) / 19.0 - 0.5)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::fixture::timing;
    use super::*;

    fn around(middle: f64, spread: f64) -> Timing {
        timing(&[&fixture::around(middle, spread)])
    }

    #[test]
    fn a_verdict_needs_an_interval_that_leaves_one_out() {
        let verdict =
            |new: f64, old: f64| Ratio::of(&around(new, 4.0), &around(old, 4.0)).unwrap().separation();
        assert_eq!(verdict(90.0, 100.0), Separation::Faster);
        assert_eq!(verdict(110.0, 100.0), Separation::Slower);
        assert_eq!(verdict(99.0, 100.0), Separation::None);
        assert_eq!(verdict(101.0, 100.0), Separation::None);
    }

    #[test]
    fn the_medians_lie_in_the_interval() {
        let ratio = Ratio::of(&around(90.0, 4.0), &around(100.0, 8.0)).unwrap();
        assert!(ratio.low < ratio.middle && ratio.middle < ratio.high, "{ratio:?}");
        assert!((ratio.middle - 0.9).abs() < 0.01);
    }

    #[test]
    fn other_cases_do_not_compare() {
        let mut other = around(1.0, 0.0);
        other.cases[0].case = "another".to_owned();
        assert_eq!(Ratio::of(&other, &around(1.0, 0.0)), None);
    }

    /// Two kernels of one speed whose samples jitter: the verdict is by chance in less than one run in a hundred.
    #[test]
    fn the_same_speed_is_hardly_ever_told_apart() {
        use rand::{Rng, SeedableRng};
        let mut random = rand::rngs::StdRng::seed_from_u64(3);
        let mut jitter = || -> Timing {
            let samples: Vec<f64> = (0..20).map(|_| 100.0 * (1.0 + random.random::<f64>().powi(4))).collect();
            timing(&[&samples])
        };
        let told = (0..2000)
            .filter(|_| Ratio::of(&jitter(), &jitter()).unwrap().separation() != Separation::None)
            .count();
        assert!(told < 10, "{told} of 2000");
    }
}
