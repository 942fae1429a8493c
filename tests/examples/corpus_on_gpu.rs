//! The corpus on a real GPU, where there is no cargo: judged as a search judges, with the verdicts as a table, and the
//! figures that say how steady the clock is.
//!
//! `corpus_on_gpu compile CORPUS PTX CARGO_FSR` compiles beforehand, where there is an NVRTC; on the GPU's machine then
//! `corpus_on_gpu judge CORPUS PTX HOST` and `corpus_on_gpu stability PTX HOST`. `HOST` is the example `corpus_host`.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use cargo_fsr::compile::toolchain::{Settings, find};
use cargo_fsr::compile::{
    CompileFailure, CompileFailureKind, CompileRequest, Compiled, Compiler, CompilerError, Limits,
    NvrtcCompiler, Ptx,
};
use cargo_fsr::judge::{
    Executable, HostJudge, HostJudgeOptions, HostProgram, Judge, Ratio, Separation, Timed, Verdict,
};
use fsr_build::spec::{Arch, CudaVersion};
use fsr_tests::corpus::{Kernel, judge_all, table};

const CUDA: &str = "12.8";
const ARCH: &str = "sm_90";
/// Fresh processes that one kernel is judged in.
const PROCESSES: usize = 20;
/// Pairs that are told apart, or not.
const PAIRS: usize = 50;

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match words.as_slice() {
        ["compile", corpus, ptx, program] => compile(Path::new(corpus), Path::new(ptx), program),
        ["judge", corpus, ptx, host] => judge(Path::new(corpus), Path::new(ptx), host),
        ["stability", ptx, host] => stability(Path::new(ptx), host),
        _ => {
            eprintln!(
                "error: say `compile CORPUS PTX CARGO_FSR`, `judge CORPUS PTX HOST` or `stability PTX HOST`"
            );
            std::process::exit(2);
        }
    }
}

fn arch() -> Arch {
    ARCH.parse().expect("an architecture")
}

/// One file a kernel: `NAME.ptx`, or `NAME.refused` with the reason.
fn compile(corpus: &Path, folder: &Path, program: &str) {
    let mut settings = Settings::from_env(None).expect("a home folder");
    settings.program = program.into();
    let version: CudaVersion = CUDA.parse().expect("a version");
    let toolchain = find(&version, &settings).expect("`cargo fsr toolchain install 12.8` comes first");
    let compiler =
        NvrtcCompiler::start(toolchain, &settings, Limits::default()).expect("an NVRTC that works");
    fs::create_dir_all(folder).expect("a folder that can be written");
    for kernel in Kernel::all(corpus) {
        let (file, text) = match compiler.compile(&kernel.request(arch())).expect("a compiler that works") {
            Compiled::Ptx(ptx) => (format!("{}.ptx", kernel.name), ptx.text),
            Compiled::Failed(failure) => (format!("{}.refused", kernel.name), failure.log),
        };
        let file = folder.join(file);
        fs::create_dir_all(file.parent().unwrap_or(folder)).expect("a folder that can be written");
        fs::write(file, text).expect("a folder that can be written");
    }
}

/// What was compiled beforehand. Knows a kernel by its source.
struct Beforehand {
    folder: PathBuf,
    kernels: Vec<Kernel>,
}

impl Compiler for Beforehand {
    fn version(&self) -> CudaVersion {
        CUDA.parse().expect("a version")
    }

    fn compile(&self, request: &CompileRequest) -> Result<Compiled, CompilerError> {
        let same = |kernel: &&Kernel| kernel.request(request.arch).source == request.source;
        let name = self.kernels.iter().find(same).map_or("", |kernel| kernel.name.as_str());
        Ok(match fs::read_to_string(self.folder.join(format!("{name}.ptx"))) {
            Ok(text) => Compiled::Ptx(Ptx {
                text,
                compiler: CUDA.to_owned(),
                flags: Vec::new(),
                log: String::new(),
                millis: 0.0,
            }),
            Err(_) => Compiled::Failed(CompileFailure {
                kind: CompileFailureKind::Refused,
                log: fs::read_to_string(self.folder.join(format!("{name}.refused"))).unwrap_or_default(),
            }),
        })
    }
}

fn options(host: &str, task: &str) -> HostJudgeOptions {
    let mut program = HostProgram::new(host);
    program.args = vec![task.into()];
    program.envs.push(("CORPUS_SIZES".into(), "large".into()));
    let mut options = HostJudgeOptions::new(program);
    options.deadlines.launch = Duration::from_secs(5);
    options
}

fn judge(corpus: &Path, ptx: &Path, host: &str) {
    let kernels = Kernel::all(corpus);
    let compiler = Beforehand { folder: ptx.to_owned(), kernels: kernels.clone() };
    let outcomes = judge_all(kernels, &compiler, arch(), |task| options(host, task));
    for outcome in &outcomes {
        println!("{:<36} {:<14} {}", outcome.kernel.name, outcome.verdict, outcome.summary);
    }
    print!("{}", table(&outcomes));
}

fn loaded(ptx: &Path, name: &str, task: &str) -> Executable {
    let text = fs::read_to_string(ptx.join(format!("{name}.ptx"))).expect("a kernel that was compiled");
    Executable { ptx: text, entries: vec![task.to_owned()], tunables: Default::default() }
}

/// Spread over processes; how often two equal kernels are told apart; how often one that is slower by 2 % is.
fn stability(ptx: &Path, host: &str) {
    for (task, name) in [
        ("scale", "h_scale_plain"),
        ("transpose", "h_transpose_tiled"),
        ("softmax", "h_softmax_three_passes"),
        ("matmul", "h_matmul_tiled"),
    ] {
        let kernel = loaded(ptx, name, task);
        let mut judge = HostJudge::new(options(host, task));
        let valid = judge.validate(&kernel).expect("a judge that works");
        assert!(matches!(valid, Verdict::Valid(_)), "{valid:?}");
        let mut medians: Vec<f64> = (0..PROCESSES)
            .map(|_| {
                judge.renew();
                times(&mut judge, &[&kernel])[0].score()
            })
            .collect();
        medians.sort_by(f64::total_cmp);
        let middle = medians[PROCESSES / 2];
        println!(
            "{name}: median of {PROCESSES} processes {:.3} us, from {:+.2} % to {:+.2} %",
            middle / 1e3,
            (medians[0] / middle - 1.0) * 100.0,
            (medians[PROCESSES - 1] / middle - 1.0) * 100.0
        );
        // Another text, and so another module, of the same kernel.
        let twin = Executable { ptx: format!("{}\n// the same\n", kernel.ptx), ..kernel.clone() };
        pairs(&mut judge, &twin, &kernel, "the same kernel twice");
    }
    let mut judge = HostJudge::new(options(host, "slowed"));
    let (fast, slow) =
        (loaded(ptx, "h_slowed_by_nothing", "slowed"), loaded(ptx, "h_slowed_by_two", "slowed"));
    pairs(&mut judge, &slow, &fast, "2 % more work");
}

fn times(judge: &mut HostJudge, contenders: &[&Executable]) -> Vec<cargo_fsr::judge::Timing> {
    match judge.time(contenders).expect("a judge that works") {
        Timed::Times(times) => times,
        Timed::Invalid(failure) => panic!("a valid kernel failed: {}", failure.summary),
    }
}

fn pairs(judge: &mut HostJudge, new: &Executable, old: &Executable, what: &str) {
    let ratios: Vec<Ratio> = (0..PAIRS)
        .filter_map(|_| match times(judge, &[new, old]).as_slice() {
            [new, old] => Ratio::of(new, old),
            _ => None,
        })
        .collect();
    let count = |wanted| ratios.iter().filter(|ratio| ratio.separation() == wanted).count();
    let middle = ratios.iter().map(|ratio| ratio.middle).sum::<f64>() / ratios.len().max(1) as f64;
    println!(
        "  {what}: faster {}, slower {}, no measurable difference {}, of {PAIRS}; mean ratio {middle:.4}",
        count(Separation::Faster),
        count(Separation::Slower),
        count(Separation::None)
    );
}
