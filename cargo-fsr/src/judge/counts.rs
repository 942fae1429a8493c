//! What the CPU device counted in the launches of one case: a candidate's profile where no profiler is at hand.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use serde::{Deserialize, Serialize};

/// One kernel's last launch on one case.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct KernelCounts {
    /// The `__global__` function.
    pub kernel: String,
    /// The case.
    pub case: String,
    /// Blocks.
    pub grid: [u32; 3],
    /// Threads of a block.
    pub block: [u32; 3],
    /// The counts.
    #[serde(flatten)]
    pub counts: Counts,
}

/// Counts of a launch.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Counts {
    /// Instructions, once for each warp.
    pub warp_instructions: u64,
    /// The same, once for each active lane.
    pub thread_instructions: u64,
    /// Branches whose lanes went both ways.
    pub divergent_branches: u64,
    /// Warp instructions by class, as `integer`.
    pub by_class: BTreeMap<String, u64>,
    /// Loads from global memory; transactions are sectors of 32 bytes.
    pub global_load: Traffic,
    /// Stores to global memory; transactions are sectors of 32 bytes.
    pub global_store: Traffic,
    /// Loads from shared memory; transactions are wavefronts over 32 banks.
    pub shared_load: Traffic,
    /// Stores to shared memory; transactions are wavefronts over 32 banks.
    pub shared_store: Traffic,
}

/// Requests of one kind.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Traffic {
    /// Warp-wide requests.
    pub requests: u64,
    /// What they took.
    pub transactions: u64,
    /// Bytes that active lanes asked for.
    pub bytes: u64,
}

impl Traffic {
    /// Transactions of a request, and how many would do if each carried `bytes`; `None` without requests.
    pub fn per_request(&self, bytes: u64) -> Option<(f64, f64)> {
        let requests = self.requests as f64;
        let least = (self.bytes as f64 / bytes as f64).max(requests).min(self.transactions as f64);
        (self.requests > 0).then(|| (self.transactions as f64 / requests, least / requests))
    }
}

impl Counts {
    /// Mean share of active lanes, between 0 and 1.
    pub fn active_lanes(&self) -> f64 {
        self.thread_instructions as f64 / (32 * self.warp_instructions).max(1) as f64
    }
}

#[derive(Deserialize)]
struct Line {
    kernel: String,
    grid: [u32; 3],
    block: [u32; 3],
    counts: Option<Counts>,
}

/// Each kernel's last launch of those in the device's report, in the order of first launches. What cannot be read is left out:
/// no verdict rests on it.
pub(super) fn read(report: &Path, case: &str) -> Vec<KernelCounts> {
    let text = fs::read_to_string(report).unwrap_or_default();
    let mut kernels: Vec<KernelCounts> = Vec::new();
    for line in text.lines() {
        let Ok(Line { kernel, grid, block, counts: Some(counts) }) = serde_json::from_str(line) else {
            continue;
        };
        let launch = KernelCounts { kernel, case: case.to_owned(), grid, block, counts };
        match kernels.iter_mut().find(|known| known.kernel == launch.kernel) {
            Some(known) => *known = launch,
            None => kernels.push(launch),
        }
    }
    kernels
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_launch_of_each_kernel_counts() {
        let folder = tempfile::tempdir().unwrap();
        let report = folder.path().join("launches.jsonl");
        assert_eq!(read(&report, "n=7"), []);
        let line = |kernel: &str, loads: u64| {
            let traffic = |requests: u64| {
                format!(
                    "{{\"requests\":{requests},\"transactions\":{},\"bytes\":{},\"per_request\":8.0}}",
                    8 * requests,
                    128 * requests
                )
            };
            format!(
                "{{\"kernel\":\"{kernel}\",\"grid\":[2,1,1],\"block\":[32,1,1],\"shared_bytes\":0,\"verdict\":\"clean\",\"counts\":{{\"warp_instructions\":10,\"thread_instructions\":160,\"divergent_branches\":1,\"by_class\":{{\"integer\":4}},\"global_load\":{},\"global_store\":{none},\"shared_load\":{none},\"shared_store\":{none},\"local\":{none},\"atomic\":{none},\"copies\":{none}}}}}\n",
                traffic(loads),
                none = traffic(0),
            )
        };
        let other =
            "{\"kernel\":\"b\",\"grid\":[1,1,1],\"block\":[1,1,1],\"verdict\":\"fault\",\"faults\":[]}\n";
        std::fs::write(&report, [&line("a", 1), &line("b", 2), other, &line("a", 3), "{\"kernel\""].concat())
            .unwrap();
        let counted = read(&report, "n=7");
        let loads = |counted: &[KernelCounts]| -> Vec<(String, u64)> {
            counted.iter().map(|it| (it.kernel.clone(), it.counts.global_load.requests)).collect()
        };
        assert_eq!(loads(&counted), [("a".to_owned(), 3), ("b".to_owned(), 2)]);
        assert_eq!((counted[0].grid, counted[0].case.as_str()), ([2, 1, 1], "n=7"));
        assert_eq!(counted[0].counts.active_lanes(), 0.5);
        assert_eq!(counted[0].counts.global_load.per_request(32), Some((8.0, 4.0)));
        assert_eq!(counted[0].counts.shared_load.per_request(128), None);
        let written = serde_json::to_string(&counted).unwrap();
        assert_eq!(serde_json::from_str::<Vec<KernelCounts>>(&written).unwrap(), counted);
    }

    #[test]
    fn no_request_does_with_less_than_one_transaction() {
        let narrow = Traffic { requests: 10, transactions: 40, bytes: 40 };
        assert_eq!(narrow.per_request(128), Some((4.0, 1.0)));
        let wide = Traffic { requests: 10, transactions: 40, bytes: 10 * 512 };
        assert_eq!(wide.per_request(128), Some((4.0, 4.0)));
        // A broadcast takes less than its bytes.
        let same = Traffic { requests: 10, transactions: 10, bytes: 1280 };
        assert_eq!(same.per_request(32), Some((1.0, 1.0)));
    }
}
