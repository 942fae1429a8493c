//! `cargo fsr show KERNEL`: its spec, its entries, its times.

use fsr_build::store::Origin;
use serde_json::json;

use super::args::Show;
use super::list::{columns, speedup};
use super::{CommandError, Shell, here};
use crate::entry::is_modelled;
use crate::exit::Exit;
use crate::project::{EntryState, Project};

pub fn run(args: Show, shell: &Shell) -> Result<Exit, CommandError> {
    let project = Project::open(&args.selection, args.locking, &here())?;
    for (package, kernel) in project.kernels(std::slice::from_ref(&args.kernel))? {
        let states = package.examine(kernel);
        if shell.json() {
            for state in &states {
                shell.message(&as_json(state));
            }
            continue;
        }
        shell.data(format_args!("{} of {}", kernel.name, package.spec.package));
        shell.data(format_args!("  task      {}", kernel.task.text.replace('\n', "\n            ")));
        shell.data(format_args!("  entries   {}", kernel.entries.join(", ")));
        let host: Vec<&str> = kernel.host.iter().map(|path| path.as_str()).collect();
        shell.data(format_args!("  host      {}", host.join(", ")));
        if let Some(baseline) = &kernel.baseline {
            shell.data(format_args!("  baseline  {baseline}"));
        }
        for (name, values) in &kernel.tunables {
            shell.data(format_args!("  tunable   {name} in {values:?}"));
        }
        for (name, bound) in &kernel.launch {
            shell.data(format_args!("  launch    {name} from {} to {}", bound.min, bound.max));
        }
        for keep in &kernel.keep {
            shell.data(format_args!("  keep      {keep}"));
        }
        for state in &states {
            entry(state, shell);
        }
    }
    Ok(Exit::Success)
}

fn entry(state: &EntryState, shell: &Shell) {
    let reason = state.standing.reason();
    let colon = if reason.is_empty() { "" } else { ": " };
    shell.data(format_args!("\n  {}  {}{colon}{reason}", state.arch, state.standing.word()));
    if let Some(remedy) = state.standing.remedy(&state.package.spec.package, &state.kernel.name) {
        shell.data(format_args!("    mend it with `{remedy}`"));
    }
    let Some(entry) = &state.entry else { return };
    let manifest = &entry.manifest;
    let device = manifest.device.as_ref().map(|device| format!(" on {}", device.name)).unwrap_or_default();
    let origin = match manifest.origin {
        Origin::TunedOn => "tuned",
        Origin::CompiledOnly if manifest.device.is_some() => "tuned for another arch, compiled and validated",
        Origin::CompiledOnly => "tuned for another arch, compiled only",
    };
    let author = match &manifest.model {
        Some(model) => format!("proposed by {model}"),
        None => "the baseline".to_owned(),
    };
    shell.data(format_args!("    {origin}{device}; {author}, run {}", manifest.run));
    shell.data(format_args!(
        "    {} {}, PTX ISA {}, driver {} or newer",
        manifest.compiler.name, manifest.compiler.version, manifest.ptx.isa, manifest.ptx.oldest_driver
    ));
    let parameters: Vec<String> = manifest
        .tunables
        .iter()
        .chain(&manifest.launch)
        .map(|(name, value)| format!("{name} = {value}"))
        .collect();
    if !parameters.is_empty() {
        shell.data(format_args!("    {}", parameters.join(", ")));
    }
    if !manifest.timed.is_empty() {
        let mut rows = vec![["CASE", "WINNER", "BASELINE", "SPEEDUP", ""].map(str::to_owned)];
        for case in &manifest.timed {
            let baseline = case.baseline.as_ref().map(|spread| spread.median_ns);
            rows.push([
                case.case.clone(),
                micros(case.winner.median_ns),
                baseline.map(micros).unwrap_or_else(|| "-".into()),
                baseline
                    .map(|ns| format!("{:.2}x", ns / case.winner.median_ns))
                    .unwrap_or_else(|| "-".into()),
                case.kind.as_str().to_owned(),
            ]);
        }
        for line in columns(&rows) {
            shell.data(format_args!("    {line}"));
        }
    }
    let worst = manifest.validated.iter().map(|case| case.max_rel_error).fold(0.0, f64::max);
    if !manifest.validated.is_empty() {
        let cases = manifest.validated.len();
        shell.data(format_args!("    validated on {cases} cases, largest relative error {worst:.1e}"));
    }
}

/// Nanoseconds as microseconds.
pub fn micros(nanos: f64) -> String {
    format!("{:.1} µs", nanos / 1e3)
}

fn as_json(state: &EntryState) -> serde_json::Value {
    let manifest = state.entry.as_ref().map(|entry| &entry.manifest);
    json!({
        "reason": "entry",
        "package": state.package.spec.package,
        "kernel": state.kernel.name,
        "arch": state.arch.to_string(),
        "state": state.standing.word(),
        "cause": state.standing.reason(),
        "speedup": manifest.and_then(speedup),
        "modelled": state.entry.as_ref().is_some_and(is_modelled),
        "key": manifest.map(|manifest| manifest.key().to_string()),
        "model": manifest.and_then(|manifest| manifest.model.clone()),
        "run": manifest.map(|manifest| manifest.run.clone()),
        "parameters": manifest.map(|manifest| {
            manifest.tunables.iter().chain(&manifest.launch).collect::<std::collections::BTreeMap<_, _>>()
        }),
        "timed": manifest.map(|manifest| manifest.timed.iter().map(|case| json!({
            "case": case.case,
            "kind": case.kind.as_str(),
            "winner_ns": case.winner.median_ns,
            "baseline_ns": case.baseline.as_ref().map(|spread| spread.median_ns),
        })).collect::<Vec<_>>()),
    })
}
