//! The CPU device before the GPU: a candidate is first executed on small cases with every access checked.
//!
//! Only a fault that the CPU device found ends a candidate here. Wrong results, limits and instructions that it does
//! not know are the GPU's business, and so is everything once the screen itself fails.

use std::collections::BTreeMap;

use super::options::Notice;
use super::{
    Bench, Executable, Failure, FailureKind, HostJudge, Judge, JudgeError, KernelCounts, SetSeed, Timed,
    Validation, Verdict,
};

/// Candidates that a case may hold up before it is left out.
const PATIENCE: u32 = 2;

/// A judge on a GPU, and before it a judge of small cases on the CPU device.
pub struct Screened {
    judge: HostJudge,
    screen: Option<HostJudge>,
    /// Candidates that did not end, by case.
    slow: BTreeMap<String, u32>,
    warn: Notice,
}

impl Screened {
    /// Puts a judge that has answered, and executes small cases on the CPU device, before another.
    pub fn new(judge: HostJudge, screen: HostJudge, warn: Notice) -> Self {
        Self { judge, screen: Some(screen), slow: BTreeMap::new(), warn }
    }

    /// What the CPU device holds against a candidate, or what it counted.
    fn screen(&mut self, candidate: &Executable) -> Result<Result<Vec<KernelCounts>, Failure>, JudgeError> {
        let unknown = Ok(Ok(Vec::new()));
        let Some(screen) = &mut self.screen else { return unknown };
        let failure = match screen.validate(candidate) {
            Ok(Verdict::Valid(validation)) => return Ok(Ok(validation.counts)),
            Ok(Verdict::Invalid(failure)) => failure,
            Err(JudgeError::Interrupted) => return Err(JudgeError::Interrupted),
            Err(error) => {
                (self.warn)(&format!(
                    "the CPU device fails, and candidates go to the GPU unscreened: {error}"
                ));
                self.screen = None;
                return unknown;
            }
        };
        if screen.finding().is_some_and(|finding| finding.is_conclusive()) {
            return Ok(Err(told(failure)));
        }
        if let (FailureKind::TimedOut, Some(case)) = (failure.kind, failure.case) {
            let slow = self.slow.entry(case.clone()).or_default();
            *slow += 1;
            if *slow >= PATIENCE {
                screen.leave_out(&case);
                if screen.extent() == 0 {
                    self.screen = None;
                }
            }
        }
        unknown
    }
}

/// Says where it was found: results on a GPU may have been right, by luck.
fn told(failure: Failure) -> Failure {
    let evidence = format!(
        "{}\n(found by executing it with every memory access checked; on a GPU it need not show in each run)",
        failure.evidence
    );
    Failure { evidence, ..failure }
}

impl Judge for Screened {
    fn bench(&mut self) -> Result<Bench, JudgeError> {
        self.judge.bench()
    }

    fn validate(&mut self, candidate: &Executable) -> Result<Verdict, JudgeError> {
        let counts = match self.screen(candidate)? {
            Err(failure) => return Ok(Verdict::Invalid(failure)),
            Ok(counts) => counts,
        };
        Ok(match self.judge.validate(candidate)? {
            Verdict::Valid(validation) => Verdict::Valid(Validation { counts, ..validation }),
            invalid @ Verdict::Invalid(_) => invalid,
        })
    }

    fn validate_own(&mut self, kernel: &Executable) -> Result<Verdict, JudgeError> {
        self.judge.validate(kernel)
    }

    fn validate_fresh(&mut self, candidate: &Executable) -> Result<Verdict, JudgeError> {
        self.judge.validate_fresh(candidate)
    }

    fn renew(&mut self) {
        self.judge.renew();
    }

    fn seeds(&self) -> &[SetSeed] {
        self.judge.seeds()
    }

    fn time(&mut self, contenders: &[&Executable]) -> Result<Timed, JudgeError> {
        self.judge.time(contenders)
    }
}
