//! What measurements suggest, in words: only what the figures themselves show, nothing of the source.

use fsr_protocol::{CaseInfo, DeviceFacts};

use super::{profile, view};
use crate::judge::CaseTiming;
use crate::search::attempt::Measured;

/// Below this a launch's own cost dominates.
const LAUNCH_BOUND: f64 = 6_000.0;

/// One line a finding, the most important first.
pub fn hints(measured: &Measured, device: &DeviceFacts, cases: &[CaseInfo]) -> Vec<String> {
    let mut hints = Vec::new();
    for entry in &measured.validation.resources {
        let name = &entry.entry;
        if entry.local_bytes > 0 {
            hints.push(format!(
                "`{name}` keeps {} bytes a thread in local memory: registers spill, or an array is indexed by values \
                 that the compiler does not know.",
                entry.local_bytes
            ));
        }
        if let Some(threads) = resident_threads(entry.registers, device)
            && threads < device.max_threads_per_multiprocessor
        {
            let share = 100 * threads / device.max_threads_per_multiprocessor.max(1);
            hints.push(format!(
                "With {} registers a thread at most {threads} threads of `{name}` fit on an SM at once ({share} %).{}",
                entry.registers,
                if share < 40 { " That is little to hide latency with." } else { "" }
            ));
        }
    }
    hints.extend(measured.validation.counts.iter().flat_map(profile::hints));
    for timing in &measured.timing.cases {
        let info = cases.iter().find(|case| case.name == timing.case);
        hints.extend(case_hint(timing, info, device));
    }
    hints
}

fn case_hint(timing: &CaseTiming, info: Option<&CaseInfo>, device: &DeviceFacts) -> Option<String> {
    let case = &timing.case;
    if timing.floor > 0.0 && timing.median <= 1.1 * timing.floor {
        return Some(format!("`{case}` is within 10 % of its physical floor: little is left to gain there."));
    }
    if timing.median < LAUNCH_BOUND {
        return Some(format!(
            "`{case}` takes {}: starting the kernel is a large part of that, so fewer blocks, barriers and dependent \
             loads count for more than bandwidth.",
            view::time(timing.median)
        ));
    }
    // Data that fits the L2 may be faster than a copy of memory: a share says nothing then.
    if timing.work_bytes == 0 || device.copy_bandwidth <= 0.0 || timing.work_bytes < 2 * device.l2_bytes {
        return None;
    }
    let share = timing.work_bytes as f64 / (timing.median * 1e-9) / device.copy_bandwidth;
    let flops = info.map_or(0, |info| info.work_flops);
    let intensity = flops as f64 / timing.work_bytes as f64;
    if share >= 0.9 {
        Some(format!(
            "`{case}` moves data at {:.0} % of a copy's rate: near the limit of memory.",
            100.0 * share
        ))
    } else if intensity > 16.0 {
        Some(format!(
            "`{case}` uses {:.0} % of a copy's bandwidth and does {intensity:.0} operations a byte: computing, not \
             memory, is likely to limit it.",
            100.0 * share
        ))
    } else {
        Some(format!(
            "`{case}` moves data at {:.0} % of a copy's rate: look for accesses that are not contiguous over a warp, \
             data that is read twice, narrow loads, and too few loads in flight.",
            100.0 * share
        ))
    }
}

/// Threads that the register file of an SM holds, in whole warps; registers are given out in eights.
fn resident_threads(registers: u32, device: &DeviceFacts) -> Option<u32> {
    if registers == 0 || device.registers_per_multiprocessor == 0 {
        return None;
    }
    let each = registers.div_ceil(8) * 8;
    Some(device.registers_per_multiprocessor / (each * 32) * 32)
}
