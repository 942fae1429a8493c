//! Order statistics of a few samples. Makes no assumption about their distribution.

/// Median and quartiles.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Quartiles {
    /// First quartile.
    pub q1: f64,
    /// Median.
    pub median: f64,
    /// Third quartile.
    pub q3: f64,
}

impl Quartiles {
    /// Of at least one sample, with linear interpolation between neighbours; `None` of no samples.
    pub fn of(samples: &[f64]) -> Option<Self> {
        let mut sorted = samples.to_vec();
        sorted.sort_by(f64::total_cmp);
        let last = sorted.len().checked_sub(1)?;
        let at = |share: f64| {
            let position = share * last as f64;
            let below = position as usize;
            let above = (below + 1).min(last);
            sorted[below] + (sorted[above] - sorted[below]) * (position - below as f64)
        };
        Some(Self { q1: at(0.25), median: at(0.5), q3: at(0.75) })
    }

    /// Half the width of the median's 95 % interval over the median, by the notch rule of McGill, Tukey and Larsen
    /// (The American Statistician, 1978): 1.57 interquartile ranges over the root of the count.
    pub fn relative_noise(&self, samples: usize) -> f64 {
        if self.median > 0.0 {
            1.57 * (self.q3 - self.q1) / ((samples as f64).sqrt() * self.median)
        } else {
            f64::INFINITY
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quartiles_of_few() {
        assert_eq!(Quartiles::of(&[]), None);
        assert_eq!(Quartiles::of(&[3.0]), Some(Quartiles { q1: 3.0, median: 3.0, q3: 3.0 }));
        assert_eq!(
            Quartiles::of(&[5.0, 1.0, 3.0, 2.0, 4.0]),
            Some(Quartiles { q1: 2.0, median: 3.0, q3: 4.0 })
        );
        assert_eq!(Quartiles::of(&[4.0, 1.0]).unwrap().median, 2.5);
    }

    #[test]
    fn noise_falls_with_the_root_of_the_count() {
        let quartiles = Quartiles { q1: 99.0, median: 100.0, q3: 101.0 };
        let (few, many) = (quartiles.relative_noise(4), quartiles.relative_noise(400));
        assert!((few / many - 10.0).abs() < 1e-9);
        assert!((few - 0.0157).abs() < 1e-9);
    }

    proptest::proptest! {
        #[test]
        fn quartiles_are_ordered_and_within(samples in proptest::collection::vec(0.0..1e12f64, 1..60)) {
            let quartiles = Quartiles::of(&samples).unwrap();
            let least = samples.iter().copied().fold(f64::INFINITY, f64::min);
            let most = samples.iter().copied().fold(0.0, f64::max);
            assert!(least <= quartiles.q1 && quartiles.q1 <= quartiles.median);
            assert!(quartiles.median <= quartiles.q3 && quartiles.q3 <= most);
        }
    }
}
