//! Compiler and judge of a run that only repeats what was recorded: asked for anything else, they say so.

use fsr_build::spec::CudaVersion;

use crate::compile::{CompileRequest, Compiled, Compiler, CompilerError};
use crate::judge::{Bench, Executable, Judge, JudgeError, Timed, Verdict};

/// Stands where a compiler and a judge would be.
#[derive(Clone, Copy, Debug)]
pub struct RecordedOnly {
    /// Version of the compiler that the recording used.
    pub cuda: CudaVersion,
}

fn nothing(what: &str) -> JudgeError {
    JudgeError::Process(format!(
        "the recording holds no {what} for this step: it was made with other settings, or ended before"
    ))
}

impl Compiler for RecordedOnly {
    fn version(&self) -> CudaVersion {
        self.cuda
    }

    fn compile(&self, _: &CompileRequest) -> Result<Compiled, CompilerError> {
        Err(CompilerError::NotFound(
            "the recording holds no compilation for this step: it was made with other settings, or ended before"
                .to_owned(),
        ))
    }
}

impl Judge for RecordedOnly {
    fn bench(&mut self) -> Result<Bench, JudgeError> {
        Err(nothing("device"))
    }

    fn validate(&mut self, _: &Executable) -> Result<Verdict, JudgeError> {
        Err(nothing("verdict"))
    }

    fn time(&mut self, _: &[&Executable]) -> Result<Timed, JudgeError> {
        Err(nothing("times"))
    }
}
