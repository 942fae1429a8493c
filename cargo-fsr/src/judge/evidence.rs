//! What a failed candidate is told: one line of summary, and evidence that fits a prompt.
//!
//! Only words are made here. Everything that was found is said once, shortest first, with positions in the case's own
//! shape; nothing of the machine (paths, addresses) is in it.

use std::fmt::{self, Write};

use fsr_protocol::{BufferInfo, CaseInfo, Comparison, HostError, OutputComparison, RedzoneHit, Tolerance};

use super::process::RequestError;
use super::{Failure, FailureKind};
use crate::paths;

/// Mismatching elements that are listed.
const LISTED: usize = 8;
/// Lines of a driver's or a process's own words.
const LINES: usize = 30;

/// Where in the judge's course something was found.
#[derive(Clone, Copy, Debug)]
pub struct Place<'a> {
    /// The case.
    pub case: &'a CaseInfo,
    /// Cases before this one, all of them right.
    pub passed: usize,
    /// How many cases there are.
    pub cases: usize,
    /// Launches on this case before this one, all of them right.
    pub launches: usize,
    /// How the data of this launch relate to what the kernel has seen.
    pub data: Data,
    /// In the validation or in the timing.
    pub course: Course,
}

/// What is new about the data of a launch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Data {
    /// Other data than the launch before it had, at the same addresses.
    Other,
    /// The data of the launch before it, at the same addresses, but for one element.
    OneChanged,
    /// Data that a launch had before, at addresses that none had.
    Moved,
}

/// What the launch was for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Course {
    /// To see that the kernel is right.
    Validation,
    /// To time it.
    Timing,
}

impl fmt::Display for Place<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { case, passed, cases, launches, data, course } = *self;
        write!(f, "case `{}`", case.name)?;
        if case.drawn {
            write!(f, " (a size drawn for this run)")?;
        }
        match course {
            Course::Validation if passed == 0 => write!(f, ", the first of {cases}")?,
            Course::Validation if passed == 1 => write!(f, " (1 case of {cases} before it passed)")?,
            Course::Validation => write!(f, " (the {passed} of {cases} cases before it passed)")?,
            Course::Timing => write!(f, ", in a timed launch after the candidate had passed validation")?,
        }
        let with = match data {
            Data::Other => "other data at the same addresses",
            Data::OneChanged => "one element of the inputs changed since the launch before it",
            Data::Moved => "the data of an earlier launch at other addresses",
        };
        match launches {
            0 => write!(f, "; first launch"),
            1 => write!(f, "; second launch, with {with}: the first one was right"),
            _ => write!(f, "; launch {}, with {with}: the {launches} before it were right", launches + 1),
        }
    }
}

/// The driver or the launch code refused, or the kernel did not come back. `None` where no candidate can be blamed.
pub fn of_request(error: &RequestError, place: Option<Place<'_>>) -> Option<Failure> {
    let during = place.is_some();
    let (kind, summary, words) = match error {
        RequestError::Failed(HostError::Load { message }) => {
            (FailureKind::Load, "the driver refused the PTX".to_owned(), message.as_str())
        }
        RequestError::Failed(HostError::NoEntry { entry }) => {
            (FailureKind::Load, format!("the PTX has no entry `{entry}`"), "")
        }
        RequestError::Failed(HostError::Launch { message }) => {
            (FailureKind::Launch, format!("the launch failed: {}", first_line(message)), rest(message))
        }
        RequestError::Failed(HostError::Execution { message }) => {
            (FailureKind::Execution, format!("the kernel failed: {}", first_line(message)), rest(message))
        }
        RequestError::Failed(HostError::OutOfMemory { message }) if during => {
            (FailureKind::Execution, "out of device memory".to_owned(), message.as_str())
        }
        RequestError::TimedOut { after, .. } => {
            let what =
                if during { "the kernel did not end" } else { "the driver did not finish loading the PTX" };
            (FailureKind::TimedOut, format!("{what} within {} s and was killed", after.as_secs_f64()), "")
        }
        RequestError::Ended { status, output, .. } if during => (
            FailureKind::Execution,
            format!("the process that launched the kernel ended ({status})"),
            output.as_str(),
        ),
        RequestError::Ended { status, output, .. } => {
            (FailureKind::Load, format!("the process that loaded the PTX ended ({status})"), output.as_str())
        }
        RequestError::Garbled { .. } if during => (
            FailureKind::Execution,
            "the process that launched the kernel answered garbage: its memory was overwritten".to_owned(),
            "",
        ),
        RequestError::Garbled { .. } | RequestError::Failed(_) | RequestError::Interrupted => return None,
    };
    let mut evidence = String::new();
    if let Some(place) = place {
        let _ = writeln!(evidence, "{place}");
    }
    evidence.push_str(&last_lines(words));
    Some(failure(kind, summary, evidence, place))
}

/// What the CPU device found takes the place of the driver's word, which names an error code at best.
pub fn of_finding(failure: Failure, (summary, found): (String, String)) -> Failure {
    // The first line says where in the judge's course it was.
    let place = failure.evidence.lines().next().filter(|_| failure.case.is_some()).unwrap_or_default();
    let evidence = [place, &found].join("\n").trim().to_owned();
    Failure { summary, evidence: paths::cut(&evidence), ..failure }
}

/// Device globals that a kernel could keep results in.
pub fn of_globals(names: &[String]) -> Failure {
    let list = names.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ");
    let plural = if names.len() == 1 { "" } else { "s" };
    failure(
        FailureKind::Load,
        format!("writable device global{plural} {list}"),
        format!(
            "the module declares writable device global{plural} {list}. A kernel must not keep state between launches: \
             use shared memory, registers or `__constant__`/`const` data instead"
        ),
        None,
    )
}

/// Writes outside of buffers.
pub fn of_redzones(hits: &[RedzoneHit], place: Place<'_>) -> Failure {
    let mut evidence = format!("{place}\n");
    for hit in hits.iter().take(LISTED) {
        let side = if hit.before { "before the first element" } else { "behind the last element" };
        let at = match hit.distance {
            0 => format!("directly {side}"),
            distance => format!("{distance} bytes {side}"),
        };
        let buffer = place.case.buffers.iter().find(|buffer| buffer.name == hit.buffer);
        let what = buffer.map_or_else(String::new, |buffer| format!(" ({})", shape(buffer)));
        let _ = writeln!(evidence, "buffer `{}`{what}: {} damaged, {at}", hit.buffer, bytes(hit.bytes));
    }
    if hits.len() > LISTED {
        let _ = writeln!(evidence, "and {} more", hits.len() - LISTED);
    }
    let summary = match hits {
        [hit] => format!("write outside of buffer `{}`", hit.buffer),
        _ => format!("writes outside of {} buffers", hits.len()),
    };
    failure(FailureKind::OutOfBounds, summary, evidence, Some(place))
}

/// Outputs that differ, or inputs that changed; `None` when all is right.
pub fn of_comparison(comparison: &Comparison, place: Place<'_>) -> Option<Failure> {
    if !comparison.changed_inputs.is_empty() {
        let list =
            comparison.changed_inputs.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ");
        let plural = if comparison.changed_inputs.len() == 1 { "" } else { "s" };
        let evidence =
            format!("{place}\nthe kernel may only read the input{plural} {list}, and wrote there\n");
        let summary = format!("changed the input{plural} {list}");
        return Some(failure(FailureKind::InputChanged, summary, evidence, Some(place)));
    }
    let wrong: Vec<&OutputComparison> =
        comparison.outputs.iter().filter(|output| output.mismatches > 0).collect();
    let first = wrong.first()?;
    let summary = match first.untouched {
        untouched if untouched == first.elements => format!("output `{}` was never written", first.buffer),
        _ => format!(
            "output `{}` differs in {} of {} elements",
            first.buffer, first.mismatches, first.elements
        ),
    };
    let mut evidence = format!("{place}\n");
    for output in &wrong {
        describe_output(&mut evidence, output, place.case);
    }
    for output in comparison.outputs.iter().filter(|output| output.mismatches == 0) {
        let _ = writeln!(evidence, "output `{}` is right", output.buffer);
    }
    Some(failure(FailureKind::Mismatch, summary, evidence, Some(place)))
}

fn describe_output(evidence: &mut String, output: &OutputComparison, case: &CaseInfo) {
    let OutputComparison { buffer, elements, mismatches, untouched, .. } = output;
    let info = case.buffers.iter().find(|known| known.name == *buffer);
    let what = info.map_or_else(String::new, |info| format!(" ({})", shape(info)));
    let _ = writeln!(
        evidence,
        "output `{buffer}`{what}: {mismatches} of {elements} elements differ{}",
        if info.is_none_or(|info| info.dtype.is_float()) { allowed(output.tolerance) } else { String::new() }
    );
    if *untouched > 0 {
        let _ = writeln!(evidence, "  {untouched} elements were never written");
    }
    if !output.pattern.is_empty() {
        let _ = writeln!(evidence, "  where: {}", output.pattern);
    }
    if output.max_abs > 0.0 {
        let _ = writeln!(
            evidence,
            "  largest error: {} absolute, {} relative",
            error_size(output.max_abs),
            error_size(output.max_rel)
        );
    }
    if !output.first.is_empty() {
        evidence.push_str("  first of them:\n");
    }
    for mismatch in output.first.iter().take(LISTED) {
        let index = mismatch.index.iter().map(u64::to_string).collect::<Vec<_>>().join(", ");
        let _ =
            writeln!(evidence, "    {buffer}[{index}]: expected {}, got {}", mismatch.expected, mismatch.got);
    }
}

fn failure(kind: FailureKind, summary: String, evidence: String, place: Option<Place<'_>>) -> Failure {
    Failure {
        kind,
        summary: paths::cut(&summary),
        evidence: paths::cut(evidence.trim_end()),
        case: place.map(|place| place.case.name.clone()),
    }
}

fn shape(buffer: &BufferInfo) -> String {
    let extents = buffer.shape.iter().map(u64::to_string).collect::<Vec<_>>().join(" x ");
    format!("{extents} {}", buffer.dtype)
}

fn allowed(Tolerance { rtol, atol }: Tolerance) -> String {
    format!(" by more than {atol:e} + {rtol:e} * scale")
}

fn error_size(error: f64) -> String {
    // JSON has no infinity; the reference process says it so.
    if error == f64::MAX { "not finite".to_owned() } else { format!("{error:.3e}") }
}

fn bytes(count: u64) -> String {
    if count == 1 { "1 byte".to_owned() } else { format!("{count} bytes") }
}

fn first_line(text: &str) -> &str {
    text.lines().next().unwrap_or_default()
}

fn rest(text: &str) -> &str {
    text.split_once('\n').map_or("", |(_, rest)| rest)
}

fn last_lines(text: &str) -> String {
    let lines: Vec<&str> = text.lines().collect();
    let from = lines.len().saturating_sub(LINES);
    let cut = if from > 0 { "[...]\n" } else { "" };
    format!("{cut}{}", lines[from..].join("\n"))
}

#[cfg(test)]
#[path = "evidence_tests.rs"]
mod tests;
