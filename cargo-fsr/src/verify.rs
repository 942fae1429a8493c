//! Does a stored kernel still hold? Recompiles its source, compares the PTX byte by byte, and validates the stored
//! PTX with the host launch code. Writes nothing.

use fsr_build::spec::{ComputeCapability, KernelSpec};
use fsr_build::store::Entry;
use fsr_protocol::{DeviceFacts, Tunables};

use crate::compile::{Compiled, Compiler, CompilerError};
use crate::judge::{Executable, Failure, Judge, JudgeError, Validation, Verdict};
use crate::project::{Package, ProjectError};

/// Verifies entries of one kernel.
pub struct Verifier<'a> {
    /// Recompiles.
    pub compiler: &'a dyn Compiler,
    /// Validates; none where no device is at hand.
    pub judge: Option<&'a mut dyn Judge>,
}

/// What was found.
#[derive(Debug)]
pub enum Verification {
    /// Nothing speaks against it.
    Holds {
        /// Whether the PTX came out the same, or why it was not compared.
        ptx: PtxComparison,
        /// The validation and its device, where one could load the PTX.
        validation: Option<Box<(Validation, DeviceFacts)>>,
    },
    /// The stored source does not compile any more, or gives other PTX.
    OtherPtx {
        /// What is different.
        what: String,
    },
    /// It is not valid on this device.
    Invalid(Failure),
}

/// How the recompiled PTX compares.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PtxComparison {
    /// Byte by byte the same.
    Same,
    /// Compiled by another patch version than the one at hand, which may write other bytes.
    OtherCompiler {
        /// The entry's.
        stored: String,
        /// The one at hand.
        here: String,
    },
}

/// Why nothing was found out.
#[derive(Debug, thiserror::Error)]
pub enum VerifyError {
    /// A header of the spec cannot be read.
    #[error(transparent)]
    Project(#[from] ProjectError),
    /// The compiler is at fault.
    #[error(transparent)]
    Compiler(#[from] CompilerError),
    /// The judge is at fault.
    #[error(transparent)]
    Judge(#[from] JudgeError),
}

impl Verifier<'_> {
    /// Verifies one entry.
    ///
    /// # Errors
    /// When something other than the entry is at fault.
    pub fn verify(
        &mut self,
        package: &Package,
        kernel: &KernelSpec,
        entry: &Entry,
    ) -> Result<Verification, VerifyError> {
        let request = package.brief(kernel, entry.manifest.arch)?.request(&entry.source, &values(entry));
        let ptx = match self.compiler.compile(&request)? {
            Compiled::Failed(failure) => {
                return Ok(Verification::OtherPtx {
                    what: format!("its source does not compile:\n{}", failure.log),
                });
            }
            Compiled::Ptx(ptx) if ptx.compiler != entry.manifest.compiler.version => {
                PtxComparison::OtherCompiler {
                    stored: entry.manifest.compiler.version.clone(),
                    here: ptx.compiler,
                }
            }
            Compiled::Ptx(ptx) if ptx.text == entry.ptx => PtxComparison::Same,
            Compiled::Ptx(ptx) => {
                return Ok(Verification::OtherPtx { what: first_difference(&entry.ptx, &ptx.text) });
            }
        };
        let Some(judge) = &mut self.judge else { return Ok(Verification::Holds { ptx, validation: None }) };
        let device = judge.bench()?.device;
        let (major, minor) = device.compute_capability;
        if !entry.manifest.arch.loads_on(ComputeCapability { major, minor }) {
            return Ok(Verification::Holds { ptx, validation: None });
        }
        Ok(match judge.validate_fresh(&executable(entry, &entry.ptx))? {
            Verdict::Valid(validation) => {
                Verification::Holds { ptx, validation: Some(Box::new((validation, device))) }
            }
            Verdict::Invalid(failure) => Verification::Invalid(failure),
        })
    }
}

/// Some PTX with the values that an entry chose.
pub fn executable(entry: &Entry, ptx: &str) -> Executable {
    Executable { ptx: ptx.to_owned(), entries: entry.manifest.entries.clone(), tunables: values(entry) }
}

/// Tunables and launch parameters that an entry chose.
pub fn values(entry: &Entry) -> Tunables {
    let both = entry.manifest.tunables.iter().chain(&entry.manifest.launch);
    both.map(|(name, value)| (name.clone(), *value)).collect()
}

fn first_difference(stored: &str, made: &str) -> String {
    let differing = stored.lines().zip(made.lines()).position(|(stored, made)| stored != made);
    let line = differing.unwrap_or_else(|| stored.lines().count().min(made.lines().count()));
    let show = |text: &str| text.lines().nth(line).unwrap_or("(end of file)").trim().to_owned();
    format!(
        "its source gives other PTX, from line {}: stored `{}`, compiled `{}`",
        line + 1,
        show(stored),
        show(made)
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_difference_is_named() {
        assert_eq!(
            first_difference("a\nb\n", "a\nc\n"),
            "its source gives other PTX, from line 2: stored `b`, compiled `c`"
        );
        assert_eq!(
            first_difference("a\n", "a\nc\n"),
            "its source gives other PTX, from line 2: stored `(end of file)`, compiled `c`"
        );
    }
}
