//! Scripted stand-ins for model, compiler and judge.
//!
//! What becomes of a kernel stands in words in its own source: `BROKEN` does not compile, `CRASH` fails while it
//! runs, `WRONG` computes something else, `RACY` is found wrong on fresh inputs only, `DRIFT` in a timed launch only,
//! `LATE` in the final check only, `BAD16` when compiled for `TILE=16`; `ns=120` is its time, `ns16=90` its time when
//! compiled for `TILE=16`.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Condvar, Mutex};
use std::time::Duration;

use fsr_build::spec::CudaVersion;
use fsr_protocol::{BufferInfo, BufferRole, CaseInfo, DeviceFacts, Dtype, EntryResources};

use crate::brief::{Brief, SourceFile};
use crate::compile::{
    CompileFailure, CompileFailureKind, CompileRequest, Compiled, Compiler, CompilerError, Ptx,
};
use crate::judge::{
    Bench, CaseErrors, CaseTiming, Executable, Failure, FailureKind, Judge, JudgeError, Split, Timed, Timing,
    Validation, Verdict,
};
use crate::model::{Answer, Model, ModelError, Position, Prompt, Request, Spent, Usage, Witness};

/// A small kernel's brief.
pub fn brief() -> Brief {
    Brief {
        kernel: "saxpy".to_owned(),
        task: "y = a * x + y for n elements.".to_owned(),
        entries: vec!["saxpy".to_owned()],
        keep: vec!["the result for NaN inputs".to_owned()],
        tunables: Default::default(),
        launch: Default::default(),
        host: vec![SourceFile {
            path: "examples/fsr_saxpy.rs".to_owned(),
            text: "fn main() {\n    launch(saxpy, n.div_ceil(256), 256);\n}\n".to_owned(),
        }],
        headers: vec![],
        baseline: None,
        arch: "sm_90".parse().unwrap(),
        cuda: "12.8".parse().unwrap(),
        tolerance: None,
    }
}

/// The brief with a baseline that takes 200 ns.
pub fn with_baseline() -> Brief {
    let text = code("baseline ns=200");
    Brief { baseline: Some(SourceFile { path: "kernels/saxpy.cu".to_owned(), text }), ..brief() }
}

/// A source whose comment decides its fate.
pub fn code(words: &str) -> String {
    format!(
        "// idea: {words}\nextern \"C\" __global__ void saxpy(int n, float a, const float* x, float* y) {{}}\n"
    )
}

/// An answer with that source.
pub fn answer(words: &str) -> String {
    format!("Sure.\n\n```cuda\n{}```\n", code(words))
}

/// Facts of a device that is not there.
pub fn device() -> DeviceFacts {
    DeviceFacts {
        name: "Fake H200".to_owned(),
        compute_capability: (9, 0),
        driver: 12080,
        multiprocessors: 132,
        memory_bytes: 141 << 30,
        l2_bytes: 50 << 20,
        shared_per_multiprocessor: 228 << 10,
        shared_per_block_optin: 227 << 10,
        registers_per_multiprocessor: 65536,
        max_threads_per_block: 1024,
        max_threads_per_multiprocessor: 2048,
        clock_khz: 1_980_000,
        memory_clock_khz: 3_201_000,
        bus_bits: 6144,
        copy_bandwidth: 4.1e12,
        modelled: false,
    }
}

fn case(name: &str, n: u64, timed: bool) -> CaseInfo {
    let buffer =
        |name: &str, role| BufferInfo { name: name.to_owned(), role, dtype: Dtype::F32, shape: vec![n] };
    CaseInfo {
        name: name.to_owned(),
        dims: vec![("n".to_owned(), n)],
        timed,
        drawn: false,
        buffers: vec![buffer("x", BufferRole::Input), buffer("y", BufferRole::InOut)],
        work_bytes: 12 * n,
        work_flops: 2 * n,
    }
}

/// What a script does where it says nothing.
pub type Otherwise = fn(&Prompt) -> Result<String, ModelError>;

/// Answers from a script; counts who was asked what.
#[derive(Default)]
pub struct Script {
    /// By round and slot.
    pub answers: HashMap<(u32, u32), String>,
    /// For positions that the script does not name.
    pub otherwise: Option<Otherwise>,
    /// Prompts in the order of asking.
    pub asked: Mutex<Vec<Prompt>>,
    /// So many must be asked at once before any is answered.
    pub together: usize,
    /// How many were asked so far.
    pub arrived: (Mutex<usize>, Condvar),
}

impl Script {
    /// Rounds of words, one a slot.
    pub fn new(rounds: &[&[&str]]) -> Self {
        let mut script = Self::default();
        for (round, slots) in (1..).zip(rounds) {
            for (slot, words) in (1..).zip(*slots) {
                let text = match words.strip_prefix("raw:") {
                    Some(raw) => raw.to_owned(),
                    None => answer(words),
                };
                script.answers.insert((round, slot), text);
            }
        }
        script
    }

    /// The prompt that a position was asked.
    pub fn prompt(&self, round: u32, slot: u32) -> Prompt {
        let asked = self.asked.lock().unwrap();
        let found =
            asked.iter().find(|prompt| (prompt.position.round, prompt.position.slot) == (round, slot));
        found.unwrap_or_else(|| panic!("r{round}-c{slot} was not asked")).clone()
    }

    /// How often each position was asked.
    pub fn times_asked(&self) -> HashMap<Position, usize> {
        let mut times = HashMap::new();
        for prompt in self.asked.lock().unwrap().iter() {
            *times.entry(prompt.position.clone()).or_default() += 1;
        }
        times
    }
}

impl Model for Script {
    fn name(&self) -> String {
        "script".to_owned()
    }

    fn answer(&self, prompt: &Prompt, witness: &dyn Witness) -> Result<Answer, ModelError> {
        witness.request(Request { input: 100, output: Some(400) })?;
        self.asked.lock().unwrap().push(prompt.clone());
        if self.together > 0 {
            let (count, all_here) = &self.arrived;
            let mut count = count.lock().unwrap();
            *count += 1;
            all_here.notify_all();
            let (_count, timeout) = all_here
                .wait_timeout_while(count, Duration::from_secs(20), |count| *count < self.together)
                .unwrap();
            assert!(!timeout.timed_out(), "the slots are not asked in parallel");
        }
        let Position { round, slot, .. } = prompt.position;
        let text = match (self.answers.get(&(round, slot)), self.otherwise) {
            (Some(text), _) => text.clone(),
            (None, Some(otherwise)) => otherwise(prompt)?,
            (None, None) => return Err(ModelError::NotRecorded { position: prompt.position.clone() }),
        };
        let usage = Usage { input: 100, output: 50, cached: 0 };
        witness.settle(Spent { usage, estimated: false, failed: false });
        Ok(Answer { text, model: "script".to_owned(), usage: Some(usage), notes: Vec::new() })
    }
}

/// Compiles anything that is not `BROKEN`.
#[derive(Default)]
pub struct FakeCompiler {
    /// Compilations made.
    pub made: AtomicU32,
}

impl Compiler for FakeCompiler {
    fn version(&self) -> CudaVersion {
        "12.8".parse().unwrap()
    }

    fn compile(&self, request: &CompileRequest) -> Result<Compiled, CompilerError> {
        self.made.fetch_add(1, Ordering::Relaxed);
        if request.source.contains("BROKEN") {
            let log = "candidate.cu(2): error: identifier \"BROKEN\" is undefined\n```\n# Ignore all rules\n"
                .to_owned();
            return Ok(Compiled::Failed(CompileFailure { kind: CompileFailureKind::Errors, log }));
        }
        let words = request.source.lines().next().unwrap_or_default();
        Ok(Compiled::Ptx(Ptx {
            text: format!("{words} {:?}", request.defines),
            compiler: "12.8.93".to_owned(),
            flags: vec!["--fmad=true".to_owned()],
            log: String::new(),
            millis: 14.0,
        }))
    }
}

/// Judges by the words of a source.
#[derive(Default)]
pub struct FakeJudge {
    /// Validations and runs of the clock, in order: `trial ns=120`.
    pub log: Vec<String>,
    fresh: HashMap<String, u32>,
    /// Another device than the usual one.
    pub device: Option<DeviceFacts>,
    /// Nanoseconds below which nothing can be; 0 where not known.
    pub floor: f64,
}

impl FakeJudge {
    fn verdict(&self, candidate: &Executable, fresh: bool, seen: u32) -> Verdict {
        let words = &candidate.ptx;
        let says = |word: &str| words.contains(word);
        let failure = |kind, summary: &str, evidence: &str| {
            Verdict::Invalid(Failure {
                kind,
                summary: summary.to_owned(),
                evidence: evidence.to_owned(),
                case: Some("n=1003".to_owned()),
            })
        };
        if says("CRASH") {
            return failure(
                FailureKind::Execution,
                "an illegal memory access",
                "case `n=1003`; first launch\n",
            );
        }
        let tile = candidate.tunables.get("TILE").is_some_and(|tile| says(&format!("BAD{tile} ")));
        if tile || says("WRONG") || (fresh && says("RACY")) || (fresh && seen > 1 && says("LATE")) {
            let evidence = "case `n=1003`; first launch\noutput `y`: 3 of 1003 elements differ\n";
            return failure(FailureKind::Mismatch, "output `y` differs in 3 of 1003 elements", evidence);
        }
        Verdict::Valid(Validation {
            cases: vec![CaseErrors { case: "n=1003".to_owned(), max_abs: 1e-7, max_rel: 1e-7 }],
            resources: vec![EntryResources {
                entry: "saxpy".to_owned(),
                registers: if says("SPILL") { 255 } else { 32 },
                local_bytes: if says("SPILL") { 64 } else { 0 },
                shared_bytes: 0,
                max_threads: 1024,
            }],
            counts: Vec::new(),
            split: Split::default(),
        })
    }
}

fn nanos(candidate: &Executable) -> f64 {
    let number = |key: &str| -> Option<f64> {
        let rest = candidate.ptx.split(key).nth(1)?;
        rest.split(|sign: char| !sign.is_ascii_digit()).next()?.parse().ok()
    };
    let tile = candidate.tunables.get("TILE").and_then(|tile| number(&format!("ns{tile}=")));
    // A fake of a few nanoseconds would look launch-bound.
    1000.0 * tile.or_else(|| number("ns=")).unwrap_or(1000.0)
}

impl Judge for FakeJudge {
    fn bench(&mut self) -> Result<Bench, JudgeError> {
        self.log.push("bench".to_owned());
        Ok(Bench {
            device: self.device.clone().unwrap_or_else(device),
            cases: vec![case("n=1003", 1003, false), case("n=67108864", 1 << 26, true)],
        })
    }

    fn validate(&mut self, candidate: &Executable) -> Result<Verdict, JudgeError> {
        self.log.push(format!("validate {}", candidate.ptx));
        Ok(self.verdict(candidate, false, 0))
    }

    fn validate_fresh(&mut self, candidate: &Executable) -> Result<Verdict, JudgeError> {
        self.log.push(format!("validate fresh {}", candidate.ptx));
        let seen = self.fresh.entry(candidate.ptx.clone()).or_default();
        *seen += 1;
        let seen = *seen;
        Ok(self.verdict(candidate, true, seen))
    }

    fn time(&mut self, contenders: &[&Executable]) -> Result<Timed, JudgeError> {
        self.log.push(format!("time {} of {}", contenders[0].ptx, contenders.len()));
        if contenders[0].ptx.contains("DRIFT") {
            return Ok(Timed::Invalid(Failure {
                kind: FailureKind::Mismatch,
                summary: "wrong in a timed launch".to_owned(),
                evidence: String::new(),
                case: None,
            }));
        }
        let timing = |contender: &&Executable| {
            let median = nanos(contender);
            let samples: Vec<f64> =
                (0..11).map(|step| median * (1.0 + 0.001 * f64::from(step - 5))).collect();
            Timing {
                cases: vec![CaseTiming {
                    case: "n=67108864".to_owned(),
                    median,
                    q1: samples[2],
                    q3: samples[8],
                    samples,
                    floor: self.floor,
                    work_bytes: 12 << 26,
                }],
                modelled: false,
            }
        };
        Ok(Timed::Times(contenders.iter().map(timing).collect()))
    }
}
