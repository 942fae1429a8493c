//! A search as people see it: one line a result on stderr, a spinner for what is in the air, JSON where asked for.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use fsr_protocol::Tunables;
use indicatif::ProgressBar;
use serde_json::json;

use super::Shell;
use super::shell::count;
use super::show::micros;
use crate::journal::Purpose;
use crate::judge::{Ratio, Timing};
use crate::model::Origin;
use crate::search::{Event, Events};

/// Watches the search for one kernel.
#[derive(Debug)]
pub struct Watch {
    shell: Arc<Shell>,
    kernel: String,
    /// Verdicts and times are repeated from a recording.
    recorded: bool,
    asking: Mutex<BTreeMap<Origin, ProgressBar>>,
}

impl Watch {
    pub fn new(shell: Arc<Shell>, kernel: &str, recorded: bool) -> Self {
        Self { shell, kernel: kernel.to_owned(), recorded, asking: Mutex::default() }
    }

    fn message(&self, event: &str, origin: Origin, detail: serde_json::Value) {
        self.shell.message(&json!({
            "reason": "search",
            "kernel": self.kernel,
            "event": event,
            "candidate": origin.to_string(),
            "detail": detail,
        }));
    }

    fn stop_asking(&self, origin: Origin) {
        // A poisoned lock holds nothing but spinners.
        let mut asking = self.asking.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        if let Some(spinner) = asking.remove(&origin) {
            spinner.finish_and_clear();
        }
    }
}

impl Events for Watch {
    fn event(&self, event: Event<'_>) {
        let shell = &self.shell;
        match event {
            Event::Bench { bench } => {
                let timed = bench.cases.iter().filter(|case| case.timed).count();
                let how = match (self.recorded, bench.device.modelled) {
                    (true, _) => "as recorded; nothing is executed here".to_owned(),
                    (false, true) => "times are modelled, not measured".to_owned(),
                    (false, false) => format!("copies at {:.0} GB/s", bench.device.copy_bandwidth / 1e9),
                };
                let cases = count(bench.cases.len(), "case", "cases");
                shell.note("Device", format_args!("{}: {how}; {cases}, {timed} timed", bench.device.name));
            }
            Event::Round { round, of, candidates } => {
                shell.note(
                    "Round",
                    format_args!(
                        "{round} of {of}: {}",
                        count(candidates as usize, "candidate", "candidates")
                    ),
                );
            }
            Event::Asking { origin, stage, model, known: false } => {
                let spinner = shell.spinner(format!("{origin}: asking {model} ({stage} prompt)"));
                let mut asking = self.asking.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
                asking.insert(origin, spinner);
            }
            Event::Receiving { origin, bytes } => {
                let asking = self.asking.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
                if let Some(spinner) = asking.get(&origin) {
                    let tokens = crate::model::tokens(bytes);
                    spinner.set_message(format!("{origin}: about {tokens} tokens so far"));
                }
            }
            Event::Waiting { origin, time, why } => {
                shell.note("Waiting", format_args!("{origin}: {:.1} s, because {why}", time.as_secs_f64()));
            }
            Event::Budget { warning } => shell.warn(warning),
            Event::Answered { origin, bytes, known } => {
                self.stop_asking(origin);
                let source = if known { ", from the journal" } else { "" };
                shell.detail("Answered", format_args!("{origin}: {bytes} bytes{source}"));
            }
            Event::Rejected { origin, rejection } => {
                shell.note("No source", format_args!("{origin}: {}", rejection.fault));
                self.message("rejected", origin, json!({ "cause": rejection.fault.to_string() }));
            }
            Event::Compiled { origin, defines, failure: Some(failure), .. } => {
                let first = failure.log.lines().next().unwrap_or_default();
                shell.note("Not compiled", format_args!("{origin}{}: {first}", values(defines)));
                self.message("not-compiled", origin, json!({ "log": failure.log }));
            }
            Event::Validated { origin, defines, failure, .. } => match failure {
                Some(failure) => {
                    shell.note("Not valid", format_args!("{origin}{}: {}", values(defines), failure.summary));
                    self.message(
                        "not-valid",
                        origin,
                        json!({ "kind": failure.kind, "cause": failure.summary }),
                    );
                }
                None => {
                    shell.detail("Valid", format_args!("{origin}{}", values(defines)));
                    self.message("valid", origin, json!({ "parameters": defines }));
                }
            },
            Event::Timed { origin, defines, timing, baseline, purpose, .. } => {
                let ratio = baseline.and_then(|baseline| Ratio::of(timing, baseline));
                let verb = match purpose {
                    Purpose::Trial => "Timed",
                    Purpose::Duel => "Timed again",
                    Purpose::Final => "Timed afresh",
                };
                shell.note(
                    verb,
                    format_args!(
                        "{origin}{}: {}{}",
                        values(defines),
                        times(timing),
                        ratio.map(|ratio| beside(&ratio)).unwrap_or_default()
                    ),
                );
                self.message(
                    "timed",
                    origin,
                    json!({
                        "parameters": defines,
                        "purpose": purpose,
                        "nanos": timing.score(),
                        "speedup": ratio.map(|ratio| 1.0 / ratio.middle),
                        "speedup_interval": ratio.map(|ratio| [1.0 / ratio.high, 1.0 / ratio.low]),
                        "verdict": ratio.map(|ratio| ratio.separation().to_string()),
                        "modelled": timing.modelled,
                    }),
                );
            }
            Event::Best { origin, defines, timing, speedup } => {
                shell.status(
                    "Best",
                    format_args!("{origin}{}: {}{}", values(defines), times(timing), against(speedup)),
                );
                self.message(
                    "best",
                    origin,
                    json!({ "nanos": timing.score(), "speedup": speedup, "modelled": timing.modelled }),
                );
            }
            Event::Note { about, text } => {
                let about = about.map(|origin| format!("{origin}: ")).unwrap_or_default();
                shell.detail("Note", format_args!("{about}{text}"));
            }
            // The summary of the command says what these would.
            _ => {}
        }
    }
}

fn values(defines: &Tunables) -> String {
    if defines.is_empty() {
        return String::new();
    }
    let values: Vec<String> = defines.iter().map(|(name, value)| format!("{name}={value}")).collect();
    format!(" [{}]", values.join(" "))
}

/// Medians, case by case.
pub fn times(timing: &Timing) -> String {
    let modelled = if timing.modelled { " modelled" } else { "" };
    let cases: Vec<String> = timing
        .cases
        .iter()
        .map(|case| {
            let rate = if case.work_bytes > 0 {
                format!(" ({:.0} GB/s)", case.work_bytes as f64 / case.median)
            } else {
                String::new()
            };
            format!("{}{modelled}{rate}", micros(case.median))
        })
        .collect();
    cases.join(", ")
}

fn against(ratio: Option<f64>) -> String {
    ratio.map(|ratio| format!(", {ratio:.2}x the baseline's speed")).unwrap_or_default()
}

/// A speed beside the baseline's, with the interval that noise leaves and what it allows to say.
fn beside(ratio: &Ratio) -> String {
    let words = against(Some(1.0 / ratio.middle));
    match ratio.separation() {
        // Modelled times have no noise.
        _ if ratio.low == ratio.high => words,
        verdict => format!("{words} ({:.2} to {:.2}: {verdict})", 1.0 / ratio.high, 1.0 / ratio.low),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::judge::timings::{around, timing};

    #[test]
    fn a_speed_has_an_interval_and_a_verdict() {
        let beside = |new: f64, old: f64, noise: f64| {
            let ratio = Ratio::of(&timing(&[&around(new, noise)]), &timing(&[&around(old, noise)]));
            beside(&ratio.unwrap())
        };
        insta::assert_snapshot!(beside(50.0, 100.0, 2.0), @", 2.00x the baseline's speed (1.96 to 2.04: faster)");
        insta::assert_snapshot!(beside(99.5, 100.0, 4.0), @", 1.01x the baseline's speed (0.98 to 1.03: no measurable difference)");
        insta::assert_snapshot!(beside(150.0, 100.0, 2.0), @", 0.67x the baseline's speed (0.66 to 0.67: slower)");
        let modelled = Ratio::of(&timing(&[&[50.0, 50.0]]), &timing(&[&[100.0, 100.0]])).unwrap();
        assert_eq!(super::beside(&modelled), ", 2.00x the baseline's speed");
    }
}
