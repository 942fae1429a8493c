//! `cargo fsr list`: the kernels, and how their entries stand.

use serde::Serialize;

use super::args::List;
use super::{CommandError, Shell, here};
use crate::entry::is_modelled;
use crate::exit::Exit;
use crate::project::Project;

#[derive(Serialize)]
struct Message<'a> {
    reason: &'static str,
    package: &'a str,
    kernel: &'a str,
    arch: String,
    state: &'a str,
    cause: String,
    speedup: Option<f64>,
    modelled: bool,
}

pub fn run(args: List, shell: &Shell) -> Result<Exit, CommandError> {
    let project = Project::open(&args.selection, args.locking, &here())?;
    let mut rows = vec![["PACKAGE", "KERNEL", "ARCH", "STATE", "SPEEDUP", "MODEL"].map(str::to_owned)];
    for (package, kernel) in project.kernels(&[])? {
        for state in package.examine(kernel) {
            let manifest = state.entry.as_ref().map(|entry| &entry.manifest);
            let speedup = manifest.and_then(speedup);
            let modelled = state.entry.as_ref().is_some_and(is_modelled);
            shell.message(&Message {
                reason: "entry",
                package: &package.spec.package,
                kernel: &kernel.name,
                arch: state.arch.to_string(),
                state: state.standing.word(),
                cause: state.standing.reason(),
                speedup,
                modelled,
            });
            rows.push([
                package.spec.package.clone(),
                kernel.name.clone(),
                state.arch.to_string(),
                state.standing.word().to_owned(),
                match speedup {
                    Some(ratio) if modelled => format!("{ratio:.2}x modelled"),
                    Some(ratio) => format!("{ratio:.2}x"),
                    None => "-".to_owned(),
                },
                match manifest {
                    Some(manifest) => manifest.model.clone().unwrap_or_else(|| "baseline".to_owned()),
                    None => "-".to_owned(),
                },
            ]);
        }
    }
    if !shell.json() {
        for line in columns(&rows) {
            shell.data(line);
        }
    }
    Ok(Exit::Success)
}

/// Geometric mean over the timed cases of baseline over winner; `None` without a timed baseline.
pub fn speedup(manifest: &fsr_build::store::Manifest) -> Option<f64> {
    let ratios: Option<Vec<f64>> = manifest
        .timed
        .iter()
        .map(|case| Some((case.baseline.as_ref()?.median_ns / case.winner.median_ns).ln()))
        .collect();
    let ratios = ratios.filter(|ratios| !ratios.is_empty())?;
    Some((ratios.iter().sum::<f64>() / ratios.len() as f64).exp())
}

/// Left-aligned columns, two spaces apart.
pub fn columns<const N: usize>(rows: &[[String; N]]) -> impl Iterator<Item = String> {
    let widths: [usize; N] =
        std::array::from_fn(|at| rows.iter().map(|row| row[at].chars().count()).max().unwrap_or(0));
    rows.iter().map(move |row| {
        let cells: Vec<String> =
            row.iter().zip(widths).map(|(cell, width)| format!("{cell:width$}")).collect();
        cells.join("  ").trim_end().to_owned()
    })
}
