//! What the CPU device counted, in words: a page at most, and what it suggests.

use crate::judge::{KernelCounts, Traffic};

/// Bytes of a sector of global memory.
const SECTOR: u64 = 32;
/// Bytes that one pass over the banks of shared memory moves.
const WAVEFRONT: u64 = 128;
/// Classes of instructions that are named.
const CLASSES: usize = 5;

/// The counts of one kernel, a line for each subject.
pub fn lines(launch: &KernelCounts) -> Vec<String> {
    let KernelCounts { kernel, case, grid, block, counts } = launch;
    let blocks: u64 = grid.iter().map(|n| u64::from(*n)).product();
    let threads: u64 = block.iter().map(|n| u64::from(*n)).product();
    let mut lines = vec![format!(
        "Counted by executing `{kernel}` on `{case}` on a CPU, {blocks} blocks of {threads} threads: {} instructions of \
         warps, {:.0} % of their lanes active, {} branches taken both ways within a warp.",
        counts.warp_instructions,
        100.0 * counts.active_lanes(),
        counts.divergent_branches,
    )];
    let traffic = |what: &str, unit: &str, bytes, [load, store]: [&Traffic; 2]| {
        let words = |verb: &str, traffic: &Traffic| {
            let (taken, least) = traffic.per_request(bytes)?;
            Some(format!(
                "{} {verb} of a warp, {taken:.1} {unit} each ({least:.1} would hold the data)",
                traffic.requests
            ))
        };
        let words: Vec<String> =
            [words("loads", load), words("stores", store)].into_iter().flatten().collect();
        (!words.is_empty()).then(|| format!("{what}: {}.", words.join("; ")))
    };
    let global = [&counts.global_load, &counts.global_store];
    let shared = [&counts.shared_load, &counts.shared_store];
    lines.extend(traffic("Global memory", "sectors", SECTOR, global));
    lines.extend(traffic("Shared memory", "passes over the banks", WAVEFRONT, shared));
    let mut classes: Vec<(&String, u64)> =
        counts.by_class.iter().map(|(name, count)| (name, *count)).collect();
    classes.sort_by(|(one, more), (other, less)| less.cmp(more).then(one.cmp(other)));
    let share = |count: u64| 100.0 * count as f64 / counts.warp_instructions.max(1) as f64;
    let named = classes.iter().take(CLASSES).map(|(name, count)| format!("{name} {:.0} %", share(*count)));
    lines.push(format!("Instructions by class: {}.", named.collect::<Vec<_>>().join(", ")));
    lines
}

/// What limits it, as far as counts show that.
pub fn hints(launch: &KernelCounts) -> Vec<String> {
    let KernelCounts { kernel, counts, .. } = launch;
    let mut hints = Vec::new();
    let wasteful = |traffic: &Traffic, bytes, factor: f64| {
        traffic.per_request(bytes).filter(|(taken, least)| *taken > factor * least)
    };
    for (traffic, verb) in [(&counts.global_load, "Loads"), (&counts.global_store, "Stores")] {
        if let Some((taken, least)) = wasteful(traffic, SECTOR, 1.5) {
            hints.push(format!(
                "{verb} of `{kernel}` touch {taken:.1} sectors of global memory a warp where {least:.1} would hold the \
                 data: neighbouring threads do not use neighbouring addresses."
            ));
        }
    }
    for (traffic, verb) in [(&counts.shared_load, "Loads from"), (&counts.shared_store, "Stores to")] {
        if let Some((taken, least)) = wasteful(traffic, WAVEFRONT, 1.25) {
            hints.push(format!(
                "{verb} shared memory in `{kernel}` take {taken:.1} passes over the banks where {least:.1} would do: \
                 threads of a warp use different words of one bank."
            ));
        }
    }
    if counts.active_lanes() < 0.8 && counts.warp_instructions > 0 {
        hints.push(format!(
            "On average {:.0} % of the lanes of a warp work in `{kernel}`: branches, or blocks that are no multiple of \
             32 threads, leave the others idle.",
            100.0 * counts.active_lanes()
        ));
    }
    hints
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::judge::Counts;

    fn launch(counts: Counts) -> KernelCounts {
        KernelCounts {
            kernel: "transpose".to_owned(),
            case: "rows=65 cols=33".to_owned(),
            grid: [2, 3, 1],
            block: [32, 8, 1],
            counts,
        }
    }

    #[test]
    fn counts_become_lines_and_hints() {
        let traffic = |requests, transactions, bytes| Traffic { requests, transactions, bytes };
        let mut counts = Counts {
            warp_instructions: 1000,
            thread_instructions: 20_000,
            divergent_branches: 3,
            by_class: [
                ("integer", 500),
                ("move", 300),
                ("control", 100),
                ("barrier", 60),
                ("special", 30),
                ("other", 10),
            ]
            .map(|(name, count)| (name.to_owned(), count))
            .into(),
            global_load: traffic(40, 160, 40 * 128),
            global_store: traffic(40, 1280, 40 * 128),
            shared_load: traffic(40, 1280, 40 * 128),
            shared_store: traffic(40, 40, 40 * 128),
        };
        let all = [lines(&launch(counts.clone())), hints(&launch(counts.clone()))].concat();
        insta::assert_snapshot!(all.join("\n"));

        counts.thread_instructions = 32_000;
        (counts.global_store, counts.shared_load) = (counts.global_load, counts.shared_store);
        assert_eq!(hints(&launch(counts)), [""; 0]);
        let nothing = launch(Counts::default());
        assert_eq!((lines(&nothing).len(), hints(&nothing).len()), (2, 0));
    }
}
