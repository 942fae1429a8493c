//! When is one kernel faster than another? The one rule by which an incumbent gives way.

use crate::judge::{CaseTiming, Timing};

/// Half the width of a 99 % interval of the standard normal distribution.
const NORMAL_99: f64 = 2.576;

/// Whether `new` is faster than `old` beyond noise. Both must come from one interleaved run.
///
/// Each case's median has a distribution-free 99 % interval (order statistics of its samples). `new` is faster when
/// the geometric mean of the upper ends of its intervals is below that of the lower ends of `old`'s. Two kernels that
/// take the same time are so told apart by chance in far less than one run in a hundred, and a kernel that is faster
/// by less than the noise of its samples stays unproven: the incumbent keeps its place.
pub fn beats(new: &Timing, old: &Timing) -> bool {
    let same_cases = new.cases.len() == old.cases.len()
        && new.cases.iter().zip(&old.cases).all(|(new, old)| new.case == old.case);
    same_cases
        && !new.cases.is_empty()
        && mean(new.cases.iter().map(|case| interval(case).1))
            < mean(old.cases.iter().map(|case| interval(case).0))
}

/// How many times faster `new` is than `old`, by the geometric means of their medians.
pub fn speedup(new: &Timing, old: &Timing) -> f64 {
    old.score() / new.score()
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

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn timing(cases: &[&[f64]]) -> Timing {
        let cases = cases
            .iter()
            .enumerate()
            .map(|(index, samples)| CaseTiming {
                case: format!("case {index}"),
                median: samples[samples.len() / 2],
                q1: samples[samples.len() / 4],
                q3: samples[samples.len() * 3 / 4],
                samples: samples.to_vec(),
                floor: 0.0,
                work_bytes: 0,
            })
            .collect();
        Timing { cases, modelled: false }
    }

    fn around(middle: f64, spread: f64) -> Vec<f64> {
        (0..20).map(|step| middle + spread * (f64::from(step) / 19.0 - 0.5)).collect()
    }

    #[test]
    fn a_clear_gain_beats_and_a_gain_within_noise_does_not() {
        let old = timing(&[&around(100.0, 4.0)]);
        assert!(beats(&timing(&[&around(90.0, 4.0)]), &old));
        assert!(!beats(&timing(&[&around(99.0, 4.0)]), &old));
        assert!(!beats(&timing(&[&around(110.0, 4.0)]), &old));
        assert!(!beats(&old, &old));
    }

    #[test]
    fn a_gain_on_one_case_may_pay_for_a_loss_on_another() {
        let old = timing(&[&around(100.0, 1.0), &around(10.0, 0.1)]);
        assert!(beats(&timing(&[&around(50.0, 1.0), &around(12.0, 0.1)]), &old));
        assert!(!beats(&timing(&[&around(90.0, 1.0), &around(15.0, 0.1)]), &old));
    }

    #[test]
    fn modelled_times_have_no_noise() {
        assert!(beats(&timing(&[&[99.0, 99.0]]), &timing(&[&[100.0, 100.0]])));
        assert!(!beats(&timing(&[&[100.0, 100.0]]), &timing(&[&[100.0, 100.0]])));
    }

    #[test]
    fn times_of_other_cases_prove_nothing() {
        let mut other = timing(&[&around(1.0, 0.0)]);
        other.cases[0].case = "another".to_owned();
        assert!(!beats(&other, &timing(&[&around(100.0, 1.0)])));
    }

    proptest! {
        #[test]
        fn two_kernels_never_beat_each_other(
            a in prop::collection::vec(1.0..100.0f64, 2..40),
            b in prop::collection::vec(1.0..100.0f64, 2..40),
        ) {
            let (a, b) = (timing(&[&a]), timing(&[&b]));
            prop_assert!(!(beats(&a, &b) && beats(&b, &a)));
        }
    }
}
