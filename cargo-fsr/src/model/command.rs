//! A program as a model: the prompt on its standard input, the answer from its standard output.
//!
//! No shell is involved. The program gets a process group of its own, which is ended as a whole at the deadline, at
//! the output limit and at an interrupt, so that nothing that it started is left behind.

use std::io::{self, Read, Write};
use std::process::{Command, ExitStatus, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::thread;
use std::time::{Duration, Instant};

use process_wrap::std::{ChildWrapper, CommandWrap};

use super::{Answer, Model, ModelError, Prompt, Request, Spent, Usage, Witness, tokens};
use crate::leash::Leash;

/// How long between two looks at the deadline and the interrupt.
const POLL: Duration = Duration::from_millis(10);

/// How long a program that ended may leave its output open, in the hands of something that it started.
const DRAIN: Duration = Duration::from_secs(2);

/// Bytes of standard error that are kept for messages.
const STDERR_TAIL: usize = 2048;

/// What a model command may use.
#[derive(Clone, Copy, Debug)]
pub struct CommandLimits {
    /// Time for one answer.
    pub deadline: Duration,
    /// Largest answer, in bytes.
    pub output: usize,
}

impl Default for CommandLimits {
    fn default() -> Self {
        Self { deadline: Duration::from_secs(600), output: 4 * 1024 * 1024 }
    }
}

/// Runs a program for each prompt.
#[derive(Debug)]
pub struct CommandModel {
    name: String,
    program: String,
    arguments: Vec<String>,
    limits: CommandLimits,
    interrupt: Arc<AtomicBool>,
}

impl CommandModel {
    /// Reads a command line as a POSIX shell would split it; nothing is expanded. The model's name is the program's,
    /// without its folder.
    pub fn new(line: &str, limits: CommandLimits, interrupt: Arc<AtomicBool>) -> Result<Self, ModelError> {
        let fault = |what: &str| ModelError::CommandLine { line: line.to_owned(), what: what.to_owned() };
        let mut words =
            shell_words::split(line).map_err(|_| fault("a quotation mark is not closed"))?.into_iter();
        let program = words.next().ok_or_else(|| fault("no program is named"))?;
        let name = std::path::Path::new(&program)
            .file_stem()
            .map_or_else(|| program.clone(), |stem| stem.to_string_lossy().into_owned());
        Ok(Self { name, program, arguments: words.collect(), limits, interrupt })
    }

    /// Gives it another name in journal and manifest.
    pub fn named(mut self, name: impl Into<String>) -> Self {
        self.name = name.into();
        self
    }

    fn failed(&self, what: impl Into<String>) -> ModelError {
        // Its arguments may hold a key, and what failed is written into the journal.
        ModelError::Command { command: self.program.clone(), what: what.into() }
    }

    fn run(&self, prompt: &str, time_left: Option<Duration>) -> Result<String, ModelError> {
        let mut command = CommandWrap::from({
            let mut command = Command::new(&self.program);
            command.args(&self.arguments).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
            command
        });
        #[cfg(unix)]
        command.wrap(process_wrap::std::ProcessGroup::leader());
        #[cfg(windows)]
        command.wrap(process_wrap::std::JobObject);
        let child = command.spawn().map_err(|error| self.failed(format!("could not be started: {error}")))?;
        let leash = Leash::on_group(child.id());
        let mut group = Group(child, leash);

        let stdin = group.0.stdin().take();
        let prompt = prompt.to_owned();
        thread::spawn(move || {
            // A program need not read its input: a closed pipe is no fault.
            if let Some(mut stdin) = stdin {
                let _ = stdin.write_all(prompt.as_bytes());
            }
        });
        let limit = self.limits.output;
        let stdout = in_thread(group.0.stdout().take(), move |pipe| read_limited(pipe, limit));
        let stderr = in_thread(group.0.stderr().take(), read_tail);

        let deadline = self.limits.deadline.min(time_left.unwrap_or(Duration::MAX));
        let status = self.wait(&mut group, &stdout, deadline)?;
        let (status, early) = status;
        let output = match early {
            Some(output) => Ok(output),
            None => stdout.recv_timeout(DRAIN),
        };
        // Whatever is still alive in the group holds the pipes and answers to nobody.
        group.end();
        let stderr = stderr.recv_timeout(DRAIN).ok().and_then(Result::ok).unwrap_or_default();
        if !status.success() {
            return Err(self.failed(format!("ended with {status}{}", told(&stderr))));
        }
        match output {
            // No kernel comes of it, and what is wrong stands on standard error, if anywhere.
            Ok(Ok(Output::Whole(bytes))) if bytes.trim_ascii().is_empty() => {
                Err(self.failed(format!("printed no answer{}", told(&stderr))))
            }
            Ok(Ok(Output::Whole(bytes))) => Ok(String::from_utf8_lossy(&bytes).into_owned()),
            Ok(Ok(Output::TooLong)) => Err(self.too_long()),
            Ok(Err(error)) => Err(self.failed(format!("could not be read from: {error}"))),
            Err(_) => Err(self.failed("ended and left its output open in another process")),
        }
    }

    /// Waits for the end of the program; output that was complete before is handed on.
    #[allow(clippy::type_complexity)]
    fn wait(
        &self,
        group: &mut Group,
        stdout: &Receiver<io::Result<Output>>,
        deadline: Duration,
    ) -> Result<(ExitStatus, Option<io::Result<Output>>), ModelError> {
        let start = Instant::now();
        let mut output = None;
        loop {
            if let Some(status) = group
                .0
                .try_wait()
                .map_err(|error| self.failed(format!("could not be waited for: {error}")))?
            {
                return Ok((status, output));
            }
            if self.interrupt.load(Ordering::Relaxed) {
                return Err(ModelError::Interrupted);
            }
            if start.elapsed() >= deadline {
                let seconds = (deadline.as_secs_f64() * 10.0).round() / 10.0;
                return Err(self.failed(format!("did not answer within {seconds} s")));
            }
            if output.is_some() {
                thread::sleep(POLL);
                continue;
            }
            match stdout.recv_timeout(POLL) {
                Ok(Ok(Output::TooLong)) => return Err(self.too_long()),
                Ok(result) => output = Some(result),
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => thread::sleep(POLL),
            }
        }
    }

    fn too_long(&self) -> ModelError {
        self.failed(format!("printed more than {} bytes", self.limits.output))
    }
}

impl Model for CommandModel {
    fn name(&self) -> String {
        self.name.clone()
    }

    fn answer(&self, prompt: &Prompt, witness: &dyn Witness) -> Result<Answer, ModelError> {
        let input = tokens(prompt.text.len());
        witness.request(Request { input, output: None })?;
        let result = self.run(&prompt.text, witness.time_left());
        // What a program spends for an answer only its maker knows.
        let output = result.as_ref().map_or(0, |text| tokens(text.len()));
        let usage = Usage { input, output, cached: 0 };
        witness.settle(Spent { usage, estimated: true, failed: result.is_err() });
        let text = result?;
        Ok(Answer { text, model: self.name.clone(), usage: None, notes: Vec::new() })
    }
}

/// Ends the whole process group when it goes out of scope.
struct Group(Box<dyn ChildWrapper>, #[allow(dead_code)] Leash);

impl Group {
    fn end(&mut self) {
        // Fails when all have ended by themselves.
        let _ = self.0.start_kill();
        let _ = self.0.wait();
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        self.end();
    }
}

enum Output {
    Whole(Vec<u8>),
    TooLong,
}

fn in_thread<P, T, F>(pipe: Option<P>, read: F) -> Receiver<io::Result<T>>
where
    P: Read + Send + 'static,
    T: Send + 'static,
    F: FnOnce(P) -> io::Result<T> + Send + 'static,
{
    let (sender, receiver) = mpsc::sync_channel(1);
    if let Some(pipe) = pipe {
        thread::spawn(move || {
            let _ = sender.send(read(pipe));
        });
    }
    receiver
}

fn read_limited(pipe: impl Read, limit: usize) -> io::Result<Output> {
    let mut bytes = Vec::new();
    pipe.take(limit as u64 + 1).read_to_end(&mut bytes)?;
    Ok(if bytes.len() > limit { Output::TooLong } else { Output::Whole(bytes) })
}

fn read_tail(mut pipe: impl Read) -> io::Result<Vec<u8>> {
    let mut tail = Vec::new();
    let mut chunk = [0; 4096];
    loop {
        match pipe.read(&mut chunk)? {
            0 => return Ok(tail),
            count => {
                tail.extend_from_slice(&chunk[..count]);
                let excess = tail.len().saturating_sub(STDERR_TAIL);
                tail.drain(..excess);
            }
        }
    }
}

fn told(stderr: &[u8]) -> String {
    let text = String::from_utf8_lossy(stderr);
    let lines: Vec<&str> = text.lines().map(str::trim_end).filter(|line| !line.is_empty()).collect();
    match lines.as_slice() {
        [] => String::new(),
        lines => format!(": {}", lines[lines.len().saturating_sub(5)..].join(" / ")),
    }
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;
    use crate::model::Nobody;
    use crate::model::{Position, Stage};

    fn prompt(text: &str) -> Prompt {
        Prompt {
            position: Position { kernel: "k".to_owned(), round: 1, slot: 1 },
            stage: Stage::Initial,
            parent: None,
            text: text.to_owned(),
            canonical: text.to_owned(),
        }
    }

    fn model(line: &str, limits: CommandLimits) -> CommandModel {
        CommandModel::new(line, limits, Arc::default()).unwrap()
    }

    fn error(line: &str, limits: CommandLimits) -> String {
        model(line, limits).answer(&prompt("hello"), &Nobody).unwrap_err().to_string()
    }

    #[test]
    fn the_prompt_goes_in_and_the_answer_comes_out() {
        let text = "a line\n".repeat(100_000);
        let answer = model("/bin/cat", CommandLimits::default()).answer(&prompt(&text), &Nobody).unwrap();
        assert_eq!((answer.text, answer.model), (text, "cat".to_owned()));
    }

    #[test]
    fn a_program_need_not_read_its_input() {
        let answer = model("echo 'two words'", CommandLimits::default())
            .answer(&prompt(&"x".repeat(1 << 20)), &Nobody);
        assert_eq!(answer.unwrap().text, "two words\n");
    }

    #[test]
    fn failures_say_what_happened() {
        let limits = CommandLimits::default();
        insta::assert_snapshot!(error("sh -c 'echo no key >&2; exit 3'", limits),
            @"model command `sh` ended with exit status: 3: no key");
        insta::assert_snapshot!(error("sh -c 'echo; echo not logged in >&2'", limits),
            @"model command `sh` printed no answer: not logged in");
        insta::assert_snapshot!(error("true", limits), @"model command `true` printed no answer");
        insta::assert_snapshot!(error("no-such-program-here", limits),
            @"model command `no-such-program-here` could not be started: No such file or directory (os error 2)");
        insta::assert_snapshot!(error("yes", CommandLimits { output: 1000, ..limits }),
            @"model command `yes` printed more than 1000 bytes");
        insta::assert_snapshot!(CommandModel::new("a 'b", limits, Arc::default()).unwrap_err(),
            @"model command line `a 'b`: a quotation mark is not closed");
        insta::assert_snapshot!(CommandModel::new("  ", limits, Arc::default()).unwrap_err(),
            @"model command line `  `: no program is named");
    }

    #[test]
    fn the_deadline_ends_grandchildren_too() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("pid");
        let line = format!("sh -c 'sleep 1000 & echo $! > {}; wait'", file.display());
        let limits = CommandLimits { deadline: Duration::from_secs(2), ..CommandLimits::default() };
        assert!(error(&line, limits).ends_with("did not answer within 2 s"));
        let pid = std::fs::read_to_string(&file).unwrap().trim().to_owned();
        // Gone, or a zombie that nobody has collected yet; dying takes a moment.
        let state = || std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
        let is_over = || state().is_empty() || state().contains(") Z");
        let start = Instant::now();
        while !is_over() && start.elapsed() < Duration::from_secs(20) {
            thread::sleep(POLL);
        }
        assert!(is_over(), "{}", state());
    }

    #[test]
    fn an_interrupt_ends_the_wait() {
        let interrupt = Arc::new(AtomicBool::new(true));
        let model = CommandModel::new("sleep 1000", CommandLimits::default(), interrupt).unwrap();
        assert!(matches!(model.answer(&prompt(""), &Nobody), Err(ModelError::Interrupted)));
    }

    #[test]
    fn bytes_that_are_no_text_are_an_answer_that_will_be_rejected() {
        let answer =
            model(r"printf '\377\376'", CommandLimits::default()).answer(&prompt(""), &Nobody).unwrap();
        assert_eq!(answer.text, "\u{fffd}\u{fffd}");
    }
}
