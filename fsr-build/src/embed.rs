//! Embeds a package's tuned kernels: what its `build.rs` calls.
//!
//! Owns the decision which entries are good enough to ship, and what cargo is told about it. Writes
//! `OUT_DIR/fsr.rs` and nothing else; never runs a program, never touches the network, never panics.

mod error;
mod generate;
mod watch;

use std::ffi::OsString;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use crate::key::Observed;
use crate::spec::{KernelSpec, PackageSpec};
use crate::store::{self, Entry, Status};

use error::Severity;
pub use error::{EmbedError, Problem};

/// Embeds the kernels of the package whose build script calls this.
///
/// Writes the generated module to `OUT_DIR/fsr.rs` and sets `FSR_KERNELS` to its path for the crate:
/// `pub mod kernels { include!(env!("FSR_KERNELS")); }`.
///
/// Where a kernel cannot be embedded it tells cargo why and which command mends it, and ends the process with
/// status 1.
pub fn embed() {
    if let Err(error) = try_embed() {
        for message in error.messages() {
            println!("cargo::error={}", one_line(&message));
        }
        std::process::exit(1);
    }
}

/// As [`embed`], with the error returned instead of told to cargo; gives the path of the generated module.
///
/// # Errors
/// When the spec is at fault, an entry is not good enough, or the module cannot be written.
pub fn try_embed() -> Result<PathBuf, EmbedError> {
    let mut told = Vec::new();
    let result = Surroundings::of_build_script().and_then(|around| around.embed(&mut told));
    for directive in told {
        println!("cargo::{}", one_line(&directive));
    }
    result
}

/// A directive is a line: whatever a message holds, it must not begin another one.
fn one_line(text: &str) -> String {
    text.replace(['\r', '\n'], " ")
}

/// What a build script is told by its environment.
#[derive(Debug, Clone)]
struct Surroundings {
    manifest_dir: PathBuf,
    out_dir: PathBuf,
    /// `FSR_ALLOW_STALE`: build with stale entries.
    allow_stale: bool,
    /// `DOCS_RS`: nobody will run this.
    docs: bool,
    /// `FSR_TUNING`: `cargo fsr` builds the host target, and brings the PTX itself.
    tuning: bool,
}

const SWITCHES: [&str; 3] = ["FSR_ALLOW_STALE", "DOCS_RS", "FSR_TUNING"];

impl Surroundings {
    fn of_build_script() -> Result<Surroundings, EmbedError> {
        let path = |name| {
            std::env::var_os(name).map(PathBuf::from).ok_or(EmbedError::NoBuildScript { variable: name })
        };
        let [allow_stale, docs, tuning] = SWITCHES.map(|name| is_on(std::env::var_os(name)));
        Ok(Surroundings {
            manifest_dir: path("CARGO_MANIFEST_DIR")?,
            out_dir: path("OUT_DIR")?,
            allow_stale,
            docs,
            tuning,
        })
    }

    /// Does everything but printing; `told` receives cargo's directives, also where this fails.
    fn embed(&self, told: &mut Vec<String>) -> Result<PathBuf, EmbedError> {
        told.extend(SWITCHES.map(|name| format!("rerun-if-env-changed={name}")));
        told.push("rerun-if-changed=Cargo.toml".to_owned());
        let manifest = self.manifest_dir.join("Cargo.toml");
        let package = PackageSpec::read(&manifest)?.ok_or(EmbedError::NoSpec { manifest })?;
        told.extend(watch::paths(&package).iter().map(|path| format!("rerun-if-changed={}", path.display())));

        let mut embedded = Vec::new();
        let mut problems = Vec::new();
        for kernel in package.kernels.values() {
            let mut warnings = Vec::new();
            let mut entries = Vec::new();
            for arch in &package.archs {
                let now = Observed::of(&package, kernel, arch)?;
                let examined = store::examine(&package.root, kernel, *arch, &now);
                let problem = Problem { kernel: kernel.name.clone(), arch: *arch, status: examined.status };
                match self.decide(&problem.status, kernel, examined.entry.as_ref()) {
                    Decision::Use => {}
                    Decision::UseAndWarn => warnings.push(problem),
                    Decision::LeaveOut => {
                        if self.docs {
                            warnings.push(problem);
                        }
                        continue;
                    }
                    Decision::Fail => {
                        problems.push(problem);
                        continue;
                    }
                }
                entries.extend(examined.entry);
            }
            let warnings = error::messages(&package, &warnings, Severity::Warning);
            told.extend(warnings.iter().map(|warning| format!("warning={warning}")));
            embedded.push((kernel, entries));
        }
        if !problems.is_empty() {
            let messages = error::messages(&package, &problems, Severity::Error);
            return Err(EmbedError::NotReady { problems, messages });
        }

        let module = self.out_dir.join("fsr.rs");
        let text = generate::module(&package.package, &embedded);
        write_if_changed(&module, &text)
            .map_err(|error| EmbedError::Write { path: module.clone(), error })?;
        match module.to_str() {
            Some(path) => told.push(format!("rustc-env=FSR_KERNELS={path}")),
            None => return Err(EmbedError::NotUnicode { path: module }),
        }
        Ok(module)
    }

    fn decide(&self, status: &Status, kernel: &KernelSpec, entry: Option<&Entry>) -> Decision {
        let lenient = self.docs || self.tuning;
        match status {
            Status::Fresh => Decision::Use,
            Status::Unverified { .. } if self.tuning => Decision::Use,
            Status::Unverified { .. } => Decision::UseAndWarn,
            // The generated fields need values, whatever the user allows.
            Status::Stale { .. }
                if self.allow_stale && entry.is_some_and(|entry| has_all_values(kernel, entry)) =>
            {
                Decision::UseAndWarn
            }
            _ if lenient => Decision::LeaveOut,
            _ => Decision::Fail,
        }
    }
}

enum Decision {
    Use,
    UseAndWarn,
    LeaveOut,
    Fail,
}

fn has_all_values(kernel: &KernelSpec, entry: &Entry) -> bool {
    kernel.parameters().all(|name| entry.manifest.parameter(name).is_some())
}

/// Set, and neither empty nor `0`.
fn is_on(value: Option<OsString>) -> bool {
    value.is_some_and(|value| !value.is_empty() && value != "0")
}

/// An untouched module keeps its time, and a killed build leaves no half of one.
fn write_if_changed(path: &Path, text: &str) -> io::Result<()> {
    if fs::read(path).is_ok_and(|old| old == text.as_bytes()) {
        return Ok(());
    }
    let staged = path.with_extension("rs.new");
    fs::write(&staged, text)?;
    fs::rename(&staged, path)
}

#[cfg(test)]
mod tests;
