//! What templates see. Every field is always there, so that a misspelt one is an error.

use fsr_protocol::{BufferRole, CaseInfo, DeviceFacts};
use serde::Serialize;

use super::history::History;
use super::view::{self, View};
use super::{hints, profile, quote};
use crate::brief::{Brief, SourceFile};
use crate::compile::CompileFailureKind;
use crate::judge::{Bench, FailureKind};
use crate::model::Origin;
use crate::search::attempt::{Attempt, Fate, Measured};
use crate::search::standing::speedup;
use crate::search::sweep;

/// Bytes of a compiler's log or a judge's evidence.
const DETAIL: usize = 6 * 1024;
/// Bytes of an answer that held no source.
const ANSWER: usize = 2 * 1024;
/// Lines about other combinations of tunables.
const SWEPT: usize = 16;

/// One prompt's context.
#[derive(Debug, Serialize)]
pub struct Context {
    pub kernel: String,
    pub task: String,
    pub entries: Vec<String>,
    pub keep: Vec<String>,
    pub arch: String,
    pub cuda: String,
    pub tolerance: Option<ToleranceWords>,
    pub host: Vec<FileWords>,
    pub headers: Vec<FileWords>,
    pub tunables: Vec<TunableWords>,
    pub launch: Vec<LaunchWords>,
    pub device: DeviceWords,
    pub cases: Vec<CaseWords>,
    pub hidden_cases: usize,
    pub round: u32,
    pub slot: u32,
    pub direction: Option<String>,
    pub parent: Option<ParentWords>,
    pub timing: Option<TimingWords>,
    pub hints: Vec<String>,
    pub dialogue: Vec<AttemptLine>,
    pub candidate: Option<CandidateWords>,
    pub failure: Option<FailureWords>,
    pub history: History,
}

#[derive(Debug, Serialize)]
pub struct ToleranceWords {
    pub rtol: f64,
    pub atol: f64,
}

#[derive(Debug, Serialize)]
pub struct FileWords {
    pub path: String,
    /// Name to include it by.
    pub include: String,
    /// For its fence.
    pub language: String,
    pub text: String,
}

#[derive(Debug, Serialize)]
pub struct TunableWords {
    pub name: String,
    pub values: Vec<u32>,
}

#[derive(Debug, Serialize)]
pub struct LaunchWords {
    pub name: String,
    pub min: u32,
    pub max: u32,
    pub example: u32,
}

#[derive(Debug, Serialize)]
pub struct DeviceWords {
    pub modelled: bool,
    pub name: String,
    pub compute_capability: String,
    pub multiprocessors: String,
    pub clock: String,
    pub registers: String,
    pub shared: String,
    pub shared_block: String,
    pub threads: String,
    pub block_threads: String,
    pub memory: String,
    pub l2: String,
    pub bandwidth: String,
}

#[derive(Debug, Serialize)]
pub struct CaseWords {
    pub name: String,
    pub buffers: Vec<BufferWords>,
    pub bytes: String,
    pub operations: String,
}

#[derive(Debug, Serialize)]
pub struct BufferWords {
    pub name: String,
    pub dtype: String,
    pub shape: String,
    pub role: String,
}

/// The kernel to be beaten.
#[derive(Debug, Serialize)]
pub struct ParentWords {
    pub origin: String,
    pub is_baseline: bool,
    pub code: String,
}

#[derive(Debug, Serialize)]
pub struct TimingWords {
    pub rows: Vec<TimingRow>,
    pub versus_baseline: Option<String>,
    pub resources: Vec<ResourceWords>,
    pub values: Option<String>,
    pub sweep: Vec<String>,
    pub counts: Vec<String>,
}

#[derive(Debug, Serialize)]
pub struct TimingRow {
    pub case: String,
    pub median: String,
    pub q1: String,
    pub q3: String,
    pub rate: Option<String>,
    pub floor: Option<String>,
    pub versus: Option<String>,
}

#[derive(Debug, Serialize)]
pub struct ResourceWords {
    pub name: String,
    pub registers: String,
    pub local: String,
    pub shared: String,
    pub threads: String,
}

/// A candidate that failed.
#[derive(Debug, Serialize)]
pub struct CandidateWords {
    pub origin: String,
    pub rejected: bool,
    pub code: Option<String>,
    pub answer: String,
    pub values: Option<String>,
}

#[derive(Debug, Serialize)]
pub struct FailureWords {
    pub kind: String,
    pub summary: String,
    pub detail: String,
}

/// One attempt in a line.
#[derive(Clone, Debug, Serialize)]
pub struct AttemptLine {
    pub origin: String,
    pub idea: Option<String>,
    pub outcome: String,
}

/// The part that is the same in every prompt of a search.
pub fn base(brief: &Brief, bench: &Bench, view: View) -> Context {
    Context {
        kernel: brief.kernel.clone(),
        task: brief.task.clone(),
        entries: brief.entries.clone(),
        keep: brief.keep.clone(),
        arch: brief.arch.to_string(),
        cuda: brief.cuda.to_string(),
        tolerance: brief
            .tolerance
            .map(|tolerance| ToleranceWords { rtol: tolerance.rtol, atol: tolerance.atol }),
        host: files(&brief.host),
        headers: files(&brief.headers),
        tunables: brief
            .tunables
            .iter()
            .map(|(name, values)| TunableWords { name: name.clone(), values: values.clone() })
            .collect(),
        launch: brief
            .launch
            .iter()
            .map(|(name, bounds)| LaunchWords {
                name: name.clone(),
                min: bounds.min,
                max: bounds.max,
                example: 256.clamp(bounds.min, bounds.max.max(bounds.min)),
            })
            .collect(),
        device: device(&bench.device, view),
        cases: bench.cases.iter().filter(|case| case.timed).map(case).collect(),
        hidden_cases: bench.cases.iter().filter(|case| !case.timed && !case.drawn).count(),
        round: 0,
        slot: 0,
        direction: None,
        parent: None,
        timing: None,
        hints: Vec::new(),
        dialogue: Vec::new(),
        candidate: None,
        failure: None,
        history: History::default(),
    }
}

impl Context {
    /// Adds a valid kernel to be beaten, with its measurements.
    pub fn set_parent(&mut self, attempt: &Attempt, bench: &Bench, view: View) {
        self.parent = Some(ParentWords {
            origin: attempt.origin.to_string(),
            is_baseline: attempt.origin == Origin::Baseline,
            code: attempt.code().unwrap_or_default().to_owned(),
        });
        if let Some(measured) = attempt.measured() {
            self.timing = Some(timing(measured, bench, view));
            self.hints = match view {
                View::Full => hints::hints(measured, &bench.device, &bench.cases),
                View::Canonical => vec![view.measured(String::new)],
            };
        }
    }

    /// Adds a candidate that failed.
    pub fn set_candidate(&mut self, attempt: &Attempt, values: Option<String>, view: View) {
        let answer = attempt.answer.as_deref().unwrap_or_default();
        self.candidate = Some(CandidateWords {
            origin: attempt.origin.to_string(),
            rejected: matches!(attempt.fate, Fate::Rejected(_)),
            code: attempt.code().map(str::to_owned),
            answer: quote::head(answer, ANSWER),
            values,
        });
        self.failure = Some(failure(attempt, view));
    }
}

fn files(files: &[SourceFile]) -> Vec<FileWords> {
    files
        .iter()
        .map(|file| FileWords {
            path: file.path.clone(),
            include: file.include_name().to_owned(),
            language: match file.path.rsplit('.').next() {
                Some("rs") => "rust",
                Some("cu" | "cuh") => "cuda",
                _ => "cpp",
            }
            .to_owned(),
            text: file.text.clone(),
        })
        .collect()
}

fn device(facts: &DeviceFacts, view: View) -> DeviceWords {
    let word = |text: &dyn Fn() -> String| view.device(text);
    DeviceWords {
        modelled: facts.modelled && view == View::Full,
        name: word(&|| facts.name.clone()),
        compute_capability: word(&|| {
            format!("{}.{}", facts.compute_capability.0, facts.compute_capability.1)
        }),
        multiprocessors: word(&|| facts.multiprocessors.to_string()),
        clock: word(&|| format!("{} MHz", facts.clock_khz / 1000)),
        registers: word(&|| facts.registers_per_multiprocessor.to_string()),
        shared: word(&|| view::bytes(facts.shared_per_multiprocessor.into())),
        shared_block: word(&|| view::bytes(facts.shared_per_block_optin.into())),
        threads: word(&|| facts.max_threads_per_multiprocessor.to_string()),
        block_threads: word(&|| facts.max_threads_per_block.to_string()),
        memory: word(&|| view::bytes(facts.memory_bytes)),
        l2: word(&|| view::bytes(facts.l2_bytes)),
        bandwidth: word(&|| match facts.copy_bandwidth {
            rate if rate > 0.0 => view::rate(rate, "B"),
            _ => "an unmeasured rate".to_owned(),
        }),
    }
}

fn case(info: &CaseInfo) -> CaseWords {
    CaseWords {
        name: info.name.clone(),
        buffers: info
            .buffers
            .iter()
            .map(|buffer| BufferWords {
                name: buffer.name.clone(),
                dtype: buffer.dtype.to_string(),
                shape: format!("{:?}", buffer.shape),
                role: match buffer.role {
                    BufferRole::Input => "read",
                    BufferRole::Output => "written",
                    BufferRole::InOut => "read and written",
                }
                .to_owned(),
            })
            .collect(),
        bytes: view::bytes(info.work_bytes),
        operations: if info.work_flops > 0 {
            format!(", {} operations", info.work_flops)
        } else {
            String::new()
        },
    }
}

fn timing(measured: &Measured, bench: &Bench, view: View) -> TimingWords {
    let mut rows = Vec::new();
    for (index, case) in measured.timing.cases.iter().enumerate() {
        let baseline = measured.baseline.as_ref().and_then(|baseline| baseline.cases.get(index));
        let seconds = case.median * 1e-9;
        let flops = bench.cases.iter().find(|info| info.name == case.case).map_or(0, |info| info.work_flops);
        let rate = (case.work_bytes > 0).then(|| {
            view.measured(|| {
                let achieved = case.work_bytes as f64 / seconds;
                let mut text = view::rate(achieved, "B");
                if bench.device.copy_bandwidth > 0.0 {
                    text.push_str(&format!(
                        ", {:.0} % of a large copy's",
                        100.0 * achieved / bench.device.copy_bandwidth
                    ));
                }
                if flops > 0 {
                    text.push_str(&format!(", {}", view::rate(flops as f64 / seconds, " operations")));
                }
                text
            })
        });
        rows.push(TimingRow {
            case: case.case.clone(),
            median: view.measured(|| view::time(case.median)),
            q1: view.measured(|| view::time(case.q1)),
            q3: view.measured(|| view::time(case.q3)),
            rate,
            floor: (case.floor > 0.0 && view == View::Full).then(|| view::time(case.floor)),
            versus: baseline.map(|baseline| {
                view.measured(|| format!("{} as the baseline", view::factor(baseline.median / case.median)))
            }),
        });
    }
    TimingWords {
        rows,
        versus_baseline: measured.baseline.as_ref().map(|baseline| {
            view.measured(|| format!("{} as the baseline", view::factor(speedup(&measured.timing, baseline))))
        }),
        resources: measured
            .validation
            .resources
            .iter()
            .map(|entry| ResourceWords {
                name: entry.entry.clone(),
                registers: view.measured(|| entry.registers.to_string()),
                local: view.measured(|| entry.local_bytes.to_string()),
                shared: view.measured(|| entry.shared_bytes.to_string()),
                threads: view.measured(|| entry.max_threads.to_string()),
            })
            .collect(),
        values: (!measured.executable.tunables.is_empty())
            .then(|| view.measured(|| sweep::in_words(&measured.executable.tunables))),
        sweep: match view {
            View::Full => swept(measured),
            View::Canonical => Vec::new(),
        },
        counts: match view {
            View::Full => measured.validation.counts.iter().flat_map(profile::lines).collect(),
            View::Canonical => Vec::new(),
        },
    }
}

fn swept(measured: &Measured) -> Vec<String> {
    let mut lines: Vec<String> = measured
        .swept
        .iter()
        .take(SWEPT)
        .map(|swept| match swept.score {
            Some(score) => format!("With {}: {}", swept.values, view::time(score)),
            None => format!("With {}: not valid", swept.values),
        })
        .collect();
    let more = measured.swept.len().saturating_sub(SWEPT);
    if more > 0 {
        lines.push(format!("{more} other combinations were tried and were slower"));
    }
    if measured.left_out > 0 {
        lines.push(format!("{} other combinations were not tried", measured.left_out));
    }
    lines
}

fn failure(attempt: &Attempt, view: View) -> FailureWords {
    match &attempt.fate {
        Fate::Rejected(rejection) => FailureWords {
            kind: "rejected".to_owned(),
            summary: rejection.fault.to_string(),
            detail: String::new(),
        },
        Fate::NotCompiled(failure) => FailureWords {
            kind: "not compiled".to_owned(),
            summary: match failure.kind {
                CompileFailureKind::Errors => "",
                CompileFailureKind::Refused => ": it uses what a candidate may not use",
                CompileFailureKind::NoEntry => ": the PTX lacks an entry point",
                CompileFailureKind::TimedOut => " within the limit on time",
                CompileFailureKind::Crashed => ": the compiler crashed or ran out of memory",
            }
            .to_owned(),
            detail: quote::head(&failure.log, DETAIL),
        },
        Fate::Failed(failure) => FailureWords {
            kind: failure_kind(failure.kind).to_owned(),
            summary: view.evidence(|| failure.summary.clone()),
            detail: view.evidence(|| quote::head(&failure.evidence, DETAIL)),
        },
        Fate::Valid(_) => {
            FailureWords { kind: "valid".to_owned(), summary: String::new(), detail: String::new() }
        }
    }
}

/// Detail of a failure, for the history.
pub fn detail(attempt: &Attempt, view: View) -> String {
    failure(attempt, view).detail
}

/// One attempt in a line, what foreign text it holds quoted.
pub fn attempt_line(attempt: &Attempt, view: View) -> AttemptLine {
    let outcome = match &attempt.fate {
        Fate::Rejected(rejection) => {
            format!("answer not usable: {}", view::line(&rejection.fault.to_string()))
        }
        Fate::NotCompiled(failure) => {
            let first =
                failure.log.lines().find(|line| line.contains("error")).or(failure.log.lines().next());
            format!("does not compile: {}", view::line(first.unwrap_or_default()))
        }
        Fate::Failed(failure) => {
            format!("{}: {}", failure_kind(failure.kind), view.evidence(|| view::line(&failure.summary)))
        }
        Fate::Valid(measured) => {
            let figure = view.measured(|| match &measured.baseline {
                Some(baseline) => {
                    format!("{} as the baseline", view::factor(speedup(&measured.timing, baseline)))
                }
                None => view::time(measured.timing.score()),
            });
            format!("valid, {figure}")
        }
    };
    AttemptLine { origin: attempt.origin.to_string(), idea: attempt.idea(), outcome }
}

fn failure_kind(kind: FailureKind) -> &'static str {
    match kind {
        FailureKind::Load => "it cannot be loaded",
        FailureKind::Launch => "its launch is refused",
        FailureKind::Execution => "it fails while it runs",
        FailureKind::TimedOut => "it does not end in time",
        FailureKind::OutOfBounds => "it writes outside its buffers",
        FailureKind::InputChanged => "it changes an input",
        FailureKind::Mismatch => "its results are wrong",
    }
}
