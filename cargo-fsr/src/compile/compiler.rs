//! [`NvrtcCompiler`]: a pool of compiler processes behind the [`Compiler`] trait.
//!
//! Check, compile, normalize: a candidate that fails in any of the three is a result, never an error. A process that
//! a candidate brought down is replaced, and the others go on.

use std::collections::VecDeque;
use std::path::{Path, PathBuf};
use std::sync::{Condvar, Mutex, PoisonError};
use std::time::Duration;

use fsr_build::spec::{Arch, CudaVersion};

use super::include;
use super::lines::{self as places, LineTable, Lines};
use super::messages;
use super::protocol::{Done, End, Job, Limits};
use super::ptx;
use super::source::{self, Known};
use super::toolchain::{Origin, Settings, Toolchain};
use super::worker::{Lost, Ready, Worker};
use super::{CompileFailure, CompileFailureKind, CompileRequest, Compiled, Compiler, CompilerError, Ptx};

/// What a candidate is called in messages and in `__FILE__`. One name for all, so that it leaves no trace in the PTX.
pub const SOURCE_NAME: &str = "kernel.cu";

/// Compilations that are remembered.
const REMEMBERED: usize = 256;

/// A process that compiled for this long is replaced before its limit on processor time (an hour) can strike.
const RETIRE: Duration = Duration::from_secs(1200);

/// NVRTC in child processes.
#[derive(Debug)]
pub struct NvrtcCompiler {
    toolchain: Toolchain,
    program: PathBuf,
    limits: Limits,
    ready: Ready,
    pool: Mutex<Pool>,
    freed: Condvar,
    /// What was compiled of late, with the digest of its PTX: for whoever asks for lines.
    made: Mutex<VecDeque<(String, CompileRequest)>>,
}

#[derive(Debug, Default)]
struct Pool {
    idle: Vec<Worker>,
    busy: usize,
}

impl NvrtcCompiler {
    /// Starts the first compiler process; more follow as compilations overlap.
    ///
    /// # Errors
    /// When the process cannot be run, or its library does not work or is of another version than it was.
    pub fn start(toolchain: Toolchain, settings: &Settings, limits: Limits) -> Result<Self, CompilerError> {
        let program = settings.program.clone();
        let (worker, ready) = Worker::start(&program, &toolchain.library, &toolchain.include, limits)?;
        if ready.version != (toolchain.version.major, toolchain.version.minor) {
            let (major, minor) = ready.version;
            return Err(CompilerError::Broken {
                library: toolchain.library.display().to_string(),
                what: format!(
                    "it is version {major}.{minor} and was {} when it was found",
                    toolchain.version
                ),
            });
        }
        let pool = Mutex::new(Pool { idle: vec![worker], busy: 0 });
        Ok(Self { toolchain, program, limits, ready, pool, freed: Condvar::new(), made: Mutex::default() })
    }

    /// What it compiles with.
    pub fn toolchain(&self) -> &Toolchain {
        &self.toolchain
    }

    /// Whether the compiler processes are unable to open any file outside the toolkit (Linux with Landlock). The check
    /// of the sources holds with or without it.
    pub fn is_confined(&self) -> bool {
        self.ready.confined
    }

    /// Whether this toolkit knows a target.
    ///
    /// # Errors
    /// [`CompilerError::Target`] with the ones that it knows.
    pub fn check_target(&self, arch: &Arch) -> Result<(), CompilerError> {
        let number = arch.capability().major * 10 + arch.capability().minor;
        match self.ready.targets.is_empty() || self.ready.targets.contains(&number) {
            true => Ok(()),
            false => Err(self.unknown_target(arch)),
        }
    }

    fn unknown_target(&self, arch: &Arch) -> CompilerError {
        let known: Vec<String> = self.ready.targets.iter().map(|target| format!("sm_{target}")).collect();
        CompilerError::Target { arch: *arch, version: self.toolchain.version, known: known.join(", ") }
    }

    /// Checks the sources; `Some` refuses the candidate. A fault in the spec's own header is no fault of a candidate.
    fn check(&self, source: &str, headers: &[(String, String)]) -> Result<Option<String>, CompilerError> {
        let in_toolkit = |name: &str| self.toolchain.has_header(name);
        let known = Known { headers, in_toolkit: &in_toolkit };
        for (name, text) in headers {
            let checked = source::check(name, text, &known);
            self.headers_there(&checked.absent)?;
            if !checked.refusals.is_empty() {
                return Err(CompilerError::Spec(format!(
                    "header of the spec:\n{}",
                    checked.refusals.trim_end()
                )));
            }
        }
        let checked = source::check(SOURCE_NAME, source, &known);
        self.headers_there(&checked.absent)?;
        Ok((!checked.refusals.is_empty()).then_some(checked.refusals))
    }

    /// A header that CUDA has and this installation lacks is no fault of a candidate either.
    fn headers_there(&self, absent: &[String]) -> Result<(), CompilerError> {
        match absent.first() {
            Some(name) if self.lacks_headers() => Err(self.no_headers(name)),
            _ => Ok(()),
        }
    }

    /// Whether an installation would bring more headers. What it left out does not exist: the wheels of CUDA 12.0 to
    /// 12.2 have no `cuda/std`, and that is for a candidate to know.
    fn lacks_headers(&self) -> bool {
        self.toolchain.origin != Origin::Installed && !self.toolchain.missing_headers().is_empty()
    }

    fn no_headers(&self, name: &str) -> CompilerError {
        CompilerError::Broken {
            library: self.toolchain.library.display().to_string(),
            what: format!(
                "`{name}` is included, and CUDA's headers are not all installed beside this library; run \
                 `cargo fsr toolchain install {}`",
                self.toolchain.version
            ),
        }
    }

    /// Runs a job on a free process. One that ends without an answer is tried once more on a fresh process: only what
    /// happens twice is the candidate's doing.
    fn run(&self, job: &Job) -> Result<Result<Done, Lost>, CompilerError> {
        let slot = self.slot();
        let idle = self.lock().idle.pop();
        let mut worker = match idle {
            Some(worker) => worker,
            None => self.worker()?,
        };
        let mut outcome = worker.compile(job);
        if matches!(outcome, Err(Lost::Ended(_))) {
            worker = self.worker()?;
            outcome = worker.compile(job);
        }
        let reusable =
            matches!(&outcome, Ok(done) if matches!(done.end, End::Ptx | End::Errors | End::Option));
        if reusable && worker.used < RETIRE {
            self.lock().idle.push(worker);
        }
        drop(slot);
        Ok(outcome)
    }

    fn worker(&self) -> Result<Worker, CompilerError> {
        let Toolchain { library, include, .. } = &self.toolchain;
        Worker::start(&self.program, library, include, self.limits).map(|(worker, _)| worker)
    }

    /// Waits for the right to run one process.
    fn slot(&self) -> Slot<'_> {
        let mut pool = self.lock();
        while pool.busy >= self.limits.parallel.max(1) {
            pool = self.freed.wait(pool).unwrap_or_else(PoisonError::into_inner);
        }
        pool.busy += 1;
        Slot { compiler: self }
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Pool> {
        self.pool.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn rewrite(&self, log: &str, headers: &[(String, String)]) -> String {
        let mut files = vec![SOURCE_NAME];
        files.extend(headers.iter().map(|(name, _)| name.as_str()));
        let mut folders: Vec<&Path> = vec![Path::new(include::FOLDER)];
        folders.extend(self.toolchain.include.iter().map(PathBuf::as_path));
        folders.extend(self.toolchain.library.parent());
        messages::rewrite(log, &files, &folders)
    }

    fn finish(
        &self,
        request: &CompileRequest,
        flags: Vec<String>,
        done: Done,
    ) -> Result<Compiled, CompilerError> {
        let log = self.rewrite(&done.log, &request.headers);
        match (done.end, done.ptx) {
            (End::Ptx, Some(raw)) => {
                let normal = match ptx::normalize(&raw) {
                    Ok(normal) => normal,
                    Err(reason) => return Ok(failed(CompileFailureKind::Refused, format!("{reason}\n"))),
                };
                if let Some(log) = missing_entries(&request.entries, &normal.entries) {
                    return Ok(failed(CompileFailureKind::NoEntry, log));
                }
                let compiler = normal.compiler.ok_or_else(|| CompilerError::Broken {
                    library: self.toolchain.library.display().to_string(),
                    what: "its PTX does not say which compiler wrote it".to_owned(),
                })?;
                Ok(Compiled::Ptx(Ptx { text: normal.text, compiler, flags, log, millis: done.millis }))
            }
            (End::Errors, _) => {
                if done.log.contains("cannot open source file")
                    && !self.toolchain.missing_headers().is_empty()
                {
                    return Err(self.no_headers("a header"));
                }
                Ok(failed(CompileFailureKind::Errors, log))
            }
            (End::OutOfMemory, _) => Ok(failed(CompileFailureKind::Crashed, self.out_of_memory())),
            (End::Option, _) if done.log.contains("gpu-architecture") => {
                Err(self.unknown_target(&request.arch))
            }
            (End::Option, _) => Err(self.broken(format!("it does not take an option: {}", log.trim_end()))),
            (End::Fault(what), _) => Err(self.broken(what)),
            (End::Ptx, None) => Err(self.broken("it reports success and gives no PTX".to_owned())),
        }
    }

    fn remember(&self, request: &CompileRequest, compiled: &Compiled) {
        let Compiled::Ptx(ptx) = compiled else { return };
        let mut made = self.made.lock().unwrap_or_else(PoisonError::into_inner);
        made.truncate(REMEMBERED - 1);
        made.push_front((digest(&ptx.text), request.clone()));
    }

    fn broken(&self, what: String) -> CompilerError {
        CompilerError::Broken { library: self.toolchain.library.display().to_string(), what }
    }

    fn out_of_memory(&self) -> String {
        format!(
            "the compiler ran out of memory at its limit of {} MiB: less unrolling, smaller templates or constant arrays\n",
            self.limits.memory >> 20
        )
    }
}

impl Compiler for NvrtcCompiler {
    fn version(&self) -> CudaVersion {
        self.toolchain.version
    }

    fn compile(&self, request: &CompileRequest) -> Result<Compiled, CompilerError> {
        self.check_target(&request.arch)?;
        let flags = flags(request)?;
        let job = job(request, &flags);
        let headers = &job.headers[1..];
        if let Some(log) = self.check(&job.source, headers)? {
            return Ok(failed(CompileFailureKind::Refused, log));
        }
        match self.run(&job)? {
            Ok(done) => {
                let compiled = self.finish(request, flags, done)?;
                self.remember(request, &compiled);
                Ok(compiled)
            }
            Err(Lost::TimedOut) => {
                let log = format!(
                    "the compiler did not end within {} s and was killed: less unrolling, shallower templates, no heavy constexpr\n",
                    self.limits.time.as_secs_f64()
                );
                Ok(failed(CompileFailureKind::TimedOut, log))
            }
            Err(Lost::Ended(how)) => {
                let log = format!(
                    "the compiler crashed on this source ({how}), or met its limit of {} MiB: simpler nesting, less unrolling\n",
                    self.limits.memory >> 20
                );
                Ok(failed(CompileFailureKind::Crashed, log))
            }
        }
    }
}

impl Lines for NvrtcCompiler {
    fn lines(&self, ptx: &str) -> Option<LineTable> {
        let wanted = digest(ptx);
        let made = self.made.lock().unwrap_or_else(PoisonError::into_inner);
        let request = made.iter().find(|(digest, _)| *digest == wanted)?.1.clone();
        drop(made);
        let mut flags = flags(&request).ok()?;
        flags.push("--generate-line-info".to_owned());
        let job = job(&request, &flags);
        // What was compiled once was checked then.
        let raw = self.run(&job).ok()?.ok()?.ptx?;
        let headers = job.headers[1..].iter().map(|(name, text)| (name.as_str(), text.as_str()));
        let sources: Vec<(&str, &str)> =
            [(SOURCE_NAME, job.source.as_str())].into_iter().chain(headers).collect();
        places::table(&raw, ptx, &sources)
    }
}

/// What a compiler process is given. The prelude is the first header, those of the spec follow.
fn job(request: &CompileRequest, flags: &[String]) -> Job {
    let (prelude, text) = source::PRELUDE;
    let own = request.headers.iter().map(|(name, text)| (name.clone(), lines(text)));
    let mut options = flags.to_vec();
    options.extend([
        format!("--pre-include={prelude}"),
        // Redefinition of a macro: of the prelude's, by sources that bring their own.
        "--diag-suppress=47".to_owned(),
    ]);
    Job {
        name: SOURCE_NAME.to_owned(),
        source: lines(&request.source),
        headers: [(prelude.to_owned(), text.to_owned())].into_iter().chain(own).collect(),
        options,
    }
}

fn digest(text: &str) -> String {
    use sha2::{Digest, Sha256};
    Sha256::digest(text).iter().map(|byte| format!("{byte:02x}")).collect()
}

/// One running process, counted; another may start when it is dropped.
struct Slot<'a> {
    compiler: &'a NvrtcCompiler,
}

impl Drop for Slot<'_> {
    fn drop(&mut self) {
        self.compiler.lock().busy -= 1;
        self.compiler.freed.notify_one();
    }
}

/// The flags that shape the PTX, in a fixed order and without paths.
fn flags(request: &CompileRequest) -> Result<Vec<String>, CompilerError> {
    let mut flags = vec![
        format!("--gpu-architecture={}", request.arch.virtual_name()),
        "--std=c++17".to_owned(),
        // Plain functions become device functions, as a kernel's own text expects without host code around it.
        "--device-as-default-execution-space".to_owned(),
    ];
    for (name, value) in &request.defines {
        let plain = name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
            && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
        if !plain {
            return Err(CompilerError::Spec(format!(
                "`{name}` is no name for a tunable or launch parameter"
            )));
        }
        flags.push(format!("--define-macro={name}={value}"));
    }
    Ok(flags)
}

/// Text with LF ends and without a byte-order mark, which NVRTC does not know.
fn lines(text: &str) -> String {
    text.strip_prefix('\u{feff}').unwrap_or(text).replace("\r\n", "\n")
}

fn failed(kind: CompileFailureKind, log: String) -> Compiled {
    Compiled::Failed(CompileFailure { kind, log })
}

/// What to say when kernels are missing.
fn missing_entries(wanted: &[String], defined: &[String]) -> Option<String> {
    let missing: Vec<&String> = wanted.iter().filter(|entry| !defined.contains(entry)).collect();
    if missing.is_empty() {
        return None;
    }
    let names =
        |names: &[&String]| names.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ");
    let mut log = format!("it compiles, and defines no kernel {}\n", names(&missing));
    log.push_str(&match defined {
        [] => "it defines no kernel at all; a template that is not instantiated is none\n".to_owned(),
        defined => format!("it defines {}\n", names(&defined.iter().collect::<Vec<_>>())),
    });
    for entry in missing {
        let mangled = format!("_Z{}{entry}", entry.len());
        if defined
            .iter()
            .any(|name| name.starts_with(&mangled) || name.contains(&format!("{}{entry}E", entry.len())))
        {
            log.push_str(&format!("`{entry}` is there under a C++ name: "));
        }
        log.push_str(&format!(
            "declare it as extern \"C\" __global__ void {entry}(...), outside any namespace\n"
        ));
    }
    Some(log)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request() -> CompileRequest {
        CompileRequest {
            source: String::new(),
            entries: vec!["k".to_owned()],
            arch: "sm_90a".parse().unwrap(),
            defines: [("TILE".to_owned(), 16), ("BLOCK_X".to_owned(), 256)].into(),
            headers: Vec::new(),
        }
    }

    #[test]
    fn flags_are_in_order_and_hold_no_path() {
        assert_eq!(
            flags(&request()).unwrap(),
            [
                "--gpu-architecture=compute_90a",
                "--std=c++17",
                "--device-as-default-execution-space",
                "--define-macro=BLOCK_X=256",
                "--define-macro=TILE=16",
            ]
        );
    }

    #[test]
    fn a_define_cannot_smuggle_an_option() {
        for name in ["A -I/etc", "A=1 ", "", "1A", "A(x)"] {
            let request = CompileRequest { defines: [(name.to_owned(), 1)].into(), ..request() };
            assert!(matches!(flags(&request), Err(CompilerError::Spec(_))), "{name}");
        }
    }

    #[test]
    fn a_missing_entry_says_what_is_there_and_what_to_write() {
        let list = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>();
        assert_eq!(missing_entries(&list(&["k"]), &list(&["k", "helper"])), None);
        insta::assert_snapshot!(missing_entries(&list(&["transpose"]), &list(&["_Z9transposePfii"])).unwrap(), @r#"
        it compiles, and defines no kernel `transpose`
        it defines `_Z9transposePfii`
        `transpose` is there under a C++ name: declare it as extern "C" __global__ void transpose(...), outside any namespace
        "#);
        insta::assert_snapshot!(missing_entries(&list(&["partial", "total"]), &list(&[])).unwrap(), @r#"
        it compiles, and defines no kernel `partial`, `total`
        it defines no kernel at all; a template that is not instantiated is none
        declare it as extern "C" __global__ void partial(...), outside any namespace
        declare it as extern "C" __global__ void total(...), outside any namespace
        "#);
    }
}
