//! Combinations of tunables, without a model: the first is tried first, and where there are too many, as many as the
//! settings allow, spread evenly over all.

use std::collections::BTreeMap;

use fsr_protocol::Tunables;

/// Combinations to try.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Combinations {
    /// Tried on every candidate; empty when there are no tunables.
    pub first: Tunables,
    /// Tried on valid ones, in this order.
    pub others: Vec<Tunables>,
    /// How many there are in all, the first among them.
    pub all: u64,
}

impl Combinations {
    /// How many are not tried.
    pub fn left_out(&self) -> u64 {
        self.all - 1 - self.others.len() as u64
    }
}

/// The combination that decides whether a candidate is valid: the first value of each.
pub fn first(tunables: &BTreeMap<String, Vec<u32>>) -> Tunables {
    tunables.iter().filter_map(|(name, values)| Some((name.clone(), *values.first()?))).collect()
}

/// All combinations of the values, at most `limit` of them (at least one).
pub fn combinations(tunables: &BTreeMap<String, Vec<u32>>, limit: u32) -> Combinations {
    let all = tunables.values().fold(1u64, |all, values| all.saturating_mul(values.len().max(1) as u64));
    let count = all.min(u64::from(limit.max(1)));
    let others = (1..count)
        .map(|step| {
            // Widened: `step * all` passes 64 bits.
            let mut index = (u128::from(step) * u128::from(all) / u128::from(count)) as u64;
            let mut chosen = Tunables::new();
            // The last name turns fastest, as a nested loop would.
            for (name, values) in tunables.iter().rev() {
                let size = values.len().max(1) as u64;
                if let Some(&value) = values.get((index % size) as usize) {
                    chosen.insert(name.clone(), value);
                }
                index /= size;
            }
            chosen
        })
        .collect();
    Combinations { first: first(tunables), others, all }
}

/// `TILE=16 WIDTH=4`; empty without values.
pub fn in_words(values: &Tunables) -> String {
    values.iter().map(|(name, value)| format!("{name}={value}")).collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::*;

    fn tunables(lists: &[(&str, &[u32])]) -> BTreeMap<String, Vec<u32>> {
        lists.iter().map(|(name, values)| ((*name).to_owned(), values.to_vec())).collect()
    }

    #[test]
    fn all_combinations_in_order() {
        let found = combinations(&tunables(&[("A", &[1, 2]), ("B", &[8, 16])]), 64);
        let words: Vec<String> = found.others.iter().map(in_words).collect();
        assert_eq!((in_words(&found.first).as_str(), found.left_out()), ("A=1 B=8", 0));
        assert_eq!(words, ["A=1 B=16", "A=2 B=8", "A=2 B=16"]);
        let none = combinations(&tunables(&[]), 64);
        assert_eq!((none.first, none.others, none.all), (Tunables::new(), vec![], 1));
    }

    proptest! {
        #[test]
        fn a_limit_leaves_different_ones_beginning_with_the_first(
            sizes in prop::collection::vec(1usize..40, 0..14),
            limit in 0u32..50,
        ) {
            let values: Vec<u32> = (0..40).collect();
            let named: BTreeMap<String, Vec<u32>> = sizes
                .iter()
                .enumerate()
                .map(|(at, &size)| (format!("T{at:02}"), values[..size].to_vec()))
                .collect();
            let found = combinations(&named, limit);
            let tried: BTreeSet<&Tunables> = found.others.iter().chain([&found.first]).collect();
            prop_assert_eq!(tried.len() as u64, found.all.min(u64::from(limit.max(1))));
            prop_assert_eq!(found.left_out(), found.all - tried.len() as u64);
            prop_assert!(found.first.values().all(|&value| value == 0));
        }
    }
}
