//! What the host launch code declares, held against what a judge needs. Starts nothing.

use fsr_protocol::{BufferInfo, BufferRole, CaseInfo, Description};

use super::JudgeError;
use super::options::Extent;

/// A kernel whose working set the chip cannot hold may have to move its buffers more than once, but not this often.
const OVERSTATED: u64 = 8;

/// Bytes that moving a buffer's content once takes.
fn moved(buffer: &BufferInfo) -> u64 {
    match buffer.role {
        _ if buffer.is_scalar() => 0,
        BufferRole::InOut => buffer.bytes().saturating_mul(2),
        BufferRole::Input | BufferRole::Output => buffer.bytes(),
    }
}

/// Refuses what no candidate could be judged by.
pub(super) fn check(description: &Description, kernel: Option<&str>) -> Result<(), JudgeError> {
    let fault = |what: String| Err(JudgeError::HostCode(what));
    if let Some(kernel) = kernel.filter(|kernel| *kernel != description.kernel) {
        // Copied from another kernel, most likely: cases and reference would be the other's too.
        let other = &description.kernel;
        return fault(format!(
            "it is about the kernel `{other}`, and the spec names it as the host of `{kernel}`: one of the two \
             names is wrong"
        ));
    }
    let cases = &description.cases;
    if cases.is_empty() {
        return fault("no case is declared".to_owned());
    }
    if !cases.iter().any(|case| case.timed) {
        return fault("no case is timed: declare at least one size that the kernel is tuned for".to_owned());
    }
    for (at, case) in cases.iter().enumerate() {
        let name = &case.name;
        if cases[..at].iter().any(|other| other.name == *name) {
            return fault(format!("two cases are named `{name}`"));
        }
        if !case.buffers.iter().any(|buffer| buffer.role != BufferRole::Input) {
            return fault(format!("case `{name}` has no output"));
        }
        let once: u64 = case.buffers.iter().map(moved).fold(0, u64::saturating_add);
        if case.work_bytes > once.saturating_mul(OVERSTATED) {
            return fault(format!(
                "case `{name}` declares {} bytes of work, and its buffers hold only {once} to read and write: no kernel \
                 would be fast enough to be believed; give `work_bytes` what any right kernel must move",
                case.work_bytes
            ));
        }
        for (at, buffer) in case.buffers.iter().enumerate() {
            if case.buffers[..at].iter().any(|other| other.name == buffer.name) {
                return fault(format!("case `{name}` has two buffers named `{}`", buffer.name));
            }
        }
    }
    Ok(())
}

/// How the cases of another process differ.
pub(super) fn difference(known: &[CaseInfo], now: &[CaseInfo]) -> Option<String> {
    if known == now {
        return None;
    }
    let differs = known.iter().zip(now).find(|(a, b)| a != b);
    Some(match differs {
        Some((a, b)) if a.name == b.name => format!("case `{}` has other buffers or other work", a.name),
        Some((a, b)) => format!("case `{}` became `{}`", a.name, b.name),
        None => format!("{} cases became {}", known.len(), now.len()),
    })
}

/// Which cases are executed. Of small ones the first so many: the order is the author's.
pub(super) fn executed(extent: Extent, cases: &[CaseInfo]) -> Vec<bool> {
    let Extent::Small { bytes, flops, cases: most } = extent else { return vec![true; cases.len()] };
    let mut left = most;
    let mut is_executed = |case: &CaseInfo| {
        let size: u64 = case.buffers.iter().map(|buffer| buffer.bytes()).sum();
        let small = size <= bytes && case.work_flops <= flops && left > 0;
        left -= usize::from(small);
        small
    };
    cases.iter().map(&mut is_executed).collect()
}
