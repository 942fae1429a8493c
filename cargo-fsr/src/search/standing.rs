//! When is one kernel faster than another? The one rule by which an incumbent gives way.

use crate::judge::{Ratio, Separation, Timing};

/// Whether `new` is faster than `old` beyond noise, see [`Ratio`]. Both must come from one interleaved run. A kernel
/// that is faster by less than the noise of its samples stays unproven: the incumbent keeps its place.
pub fn beats(new: &Timing, old: &Timing) -> bool {
    Ratio::of(new, old).is_some_and(|ratio| ratio.separation() == Separation::Faster)
}

/// How many times faster `new` is than `old`, by the geometric means of their medians.
pub fn speedup(new: &Timing, old: &Timing) -> f64 {
    old.score() / new.score()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::judge::timings::{around, timing};

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
