//! The compiler process: this program again, started with [`COMMAND`], an empty environment and an empty folder.
//!
//! It hosts NVRTC, answers one job at a time, and trusts nothing to outlive it: its parent kills and replaces it.

use std::ffi::OsString;
use std::io::{self, BufRead, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::{Duration, Instant};

use super::confine;
use super::nvrtc::{Nvrtc, NvrtcError, Program};
pub use super::protocol::COMMAND;
use super::protocol::{Arguments, Done, End, Hello, Job, Limits};

/// Grace of the watchdog over the parent's own deadline.
const GRACE: Duration = Duration::from_secs(5);

impl Arguments {
    /// As words behind [`COMMAND`].
    pub(super) fn words(&self) -> Vec<OsString> {
        let mut words = vec![
            self.limits.time.as_millis().to_string().into(),
            self.limits.memory.to_string().into(),
            self.include.len().to_string().into(),
            self.library.clone().into(),
        ];
        words.extend(self.include.iter().chain(&self.readable).map(|folder| folder.clone().into()));
        words
    }

    fn parse(mut words: impl Iterator<Item = OsString>) -> Option<Self> {
        let mut number = || words.next()?.to_str()?.parse::<u64>().ok();
        let time = Duration::from_millis(number()?);
        let memory = number()?;
        let count = usize::try_from(number()?).ok()?;
        let library = PathBuf::from(words.next()?);
        let mut include: Vec<PathBuf> = words.map(PathBuf::from).collect();
        let readable = include.split_off(count.min(include.len()));
        Some(Self { library, include, readable, limits: Limits { time, memory, parallel: 1 } })
    }
}

/// Serves jobs from stdin until it is closed. The program calls this when its first argument is [`COMMAND`].
pub fn run() -> ExitCode {
    let Some(arguments) = Arguments::parse(std::env::args_os().skip(2)) else {
        eprintln!("{COMMAND} is started by cargo fsr itself and takes no orders from people");
        return ExitCode::from(2);
    };
    match serve(&arguments) {
        Ok(()) => ExitCode::SUCCESS,
        // The parent is gone or no longer listens; there is nobody to tell.
        Err(_) => ExitCode::FAILURE,
    }
}

fn serve(arguments: &Arguments) -> io::Result<()> {
    let mut out = io::stdout().lock();
    let nvrtc = match start(arguments) {
        Ok((nvrtc, hello)) => {
            say(&mut out, &hello)?;
            nvrtc
        }
        Err(what) => return say(&mut out, &Hello::Broken { what }),
    };
    let mut lines = io::stdin().lock();
    let mut line = String::new();
    while lines.read_line(&mut line)? > 0 {
        let job: Job = serde_json::from_str(&line)?;
        let done =
            confine::watched(arguments.limits.time + GRACE, || compile(&nvrtc, &job, &arguments.include));
        say(&mut out, &done)?;
        line.clear();
    }
    Ok(())
}

fn start(arguments: &Arguments) -> Result<(Nvrtc, Hello), String> {
    confine::limit(&arguments.limits).map_err(|error| format!("limits cannot be set: {error}"))?;
    let nvrtc = Nvrtc::open(&arguments.library).map_err(|error| error.to_string())?;
    let mut readable: Vec<&Path> = arguments.readable.iter().map(PathBuf::as_path).collect();
    readable.extend(arguments.library.parent());
    let confined = confine::close_files(&readable);
    let hello = Hello::Ready { version: nvrtc.version(), targets: nvrtc.targets(), confined };
    Ok((nvrtc, hello))
}

fn compile(nvrtc: &Nvrtc, job: &Job, include: &[PathBuf]) -> Done {
    let program = Program { name: &job.name, source: &job.source, headers: &job.headers };
    let begin = Instant::now();
    let outcome = nvrtc.compile(&program, &job.options, include);
    let millis = begin.elapsed().as_secs_f64() * 1e3;
    match outcome {
        Ok(outcome) => {
            let end = end(outcome.status, &outcome.meaning, &outcome.log);
            Done { end, log: outcome.log, ptx: outcome.ptx, millis }
        }
        Err(error) => Done { end: fault(&error), log: String::new(), ptx: None, millis },
    }
}

fn end(status: i32, meaning: &str, log: &str) -> End {
    // Numbers of `nvrtcResult`.
    match status {
        0 => End::Ptx,
        1 => End::OutOfMemory,
        5 => End::Option,
        // The front end reports memory as an error of the program.
        6 if log.contains("catastrophic error: out of memory") => End::OutOfMemory,
        6 => End::Errors,
        _ => End::Fault(meaning.to_owned()),
    }
}

fn fault(error: &NvrtcError) -> End {
    End::Fault(error.to_string())
}

fn say(out: &mut impl Write, message: &impl serde::Serialize) -> io::Result<()> {
    let mut line = serde_json::to_vec(message)?;
    line.push(b'\n');
    out.write_all(&line)?;
    out.flush()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arguments_survive_the_command_line() {
        let arguments = Arguments {
            library: "/opt/cuda 12/lib64/libnvrtc.so.12".into(),
            include: vec!["cuda-include".into()],
            readable: vec!["/opt/cuda 12/include".into(), "/opt/cuda 12/include/cccl".into()],
            limits: Limits { time: Duration::from_millis(1500), memory: 1 << 32, parallel: 1 },
        };
        assert_eq!(Arguments::parse(arguments.words().into_iter()), Some(arguments));
        assert_eq!(Arguments::parse([OsString::from("--help")].into_iter()), None);
        assert_eq!(Arguments::parse(std::iter::empty()), None);
    }

    #[test]
    fn running_out_of_memory_is_no_error_of_the_program() {
        let log = "kernel.cu(9): catastrophic error: out of memory\n";
        assert_eq!(end(6, "NVRTC_ERROR_COMPILATION", log), End::OutOfMemory);
        assert_eq!(end(6, "NVRTC_ERROR_COMPILATION", "kernel.cu(9): error: no"), End::Errors);
    }
}
