//! Which functions may call themselves, directly or through others.

/// For each function whether it can reach itself; `edges` are calls, of which those of the entry name no function.
///
/// Tarjan's strongly connected components (SIAM J. Comput. 1, 1972), without recursion of its own.
pub(super) fn recursive(functions: usize, edges: &[(u32, u32)]) -> Vec<bool> {
    let mut callees = vec![Vec::new(); functions];
    let mut out = vec![false; functions];
    for (caller, callee) in edges {
        if let Some(list) = callees.get_mut(*caller as usize)
            && (*callee as usize) < functions
        {
            list.push(*callee as usize);
            out[*caller as usize] |= caller == callee;
        }
    }
    const NEW: usize = usize::MAX;
    let (mut index, mut low) = (vec![NEW; functions], vec![0; functions]);
    let (mut open, mut is_open, mut count) = (Vec::new(), vec![false; functions], 0);
    for start in 0..functions {
        let mut path = if index[start] == NEW { vec![(start, 0)] } else { Vec::new() };
        while let Some((at, next)) = path.pop() {
            if next == 0 {
                (index[at], low[at]) = (count, count);
                count += 1;
                open.push(at);
                is_open[at] = true;
            }
            match callees[at].get(next) {
                Some(&callee) => {
                    path.push((at, next + 1));
                    if index[callee] == NEW {
                        path.push((callee, 0));
                    } else if is_open[callee] {
                        low[at] = low[at].min(index[callee]);
                    }
                }
                None => {
                    if let Some((caller, _)) = path.last() {
                        low[*caller] = low[*caller].min(low[at]);
                    }
                    if low[at] == index[at] {
                        let first = open.iter().rposition(|f| *f == at).unwrap_or(0);
                        let together = open.split_off(first);
                        for function in &together {
                            is_open[*function] = false;
                            out[*function] |= together.len() > 1;
                        }
                    }
                }
            }
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn agrees_with_following_every_call(edges in prop::collection::vec((0u32..9, 0u32..9), 0..20)) {
            let slow = |start: u32| {
                let (mut seen, mut left) = ([false; 9], vec![start]);
                while let Some(at) = left.pop() {
                    for (_, callee) in edges.iter().filter(|(caller, _)| *caller == at) {
                        if !std::mem::replace(&mut seen[*callee as usize], true) {
                            left.push(*callee);
                        }
                    }
                }
                seen[start as usize]
            };
            prop_assert_eq!(recursive(9, &edges), (0..9).map(slow).collect::<Vec<bool>>());
        }
    }
}
