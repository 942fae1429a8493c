//! A folder of kernels that cheat and kernels that do not, each before the judge, and the table of what became of them.
//!
//! A kernel is one `.cu` file. Comments at its top say `task:` (see `examples/corpus_host.rs`), `row:` (its kind, by
//! the number in the list of cheats, or `honest`), `expect:` (the verdicts that are right, any of them) and, where the
//! spec would allow them, `state:` (variables that may outlive a launch); `fsr: NAME = VALUE` is a parameter of the
//! launch. To add a kernel, add a file. A folder with a `manifest.csv` says the same there instead: it holds kernels of
//! someone who knew the tasks and never saw the judge.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use cargo_fsr::compile::{CompileRequest, Compiled, Compiler};
use cargo_fsr::judge::{Executable, FailureKind, HostJudge, HostJudgeOptions, Judge, Timed, Verdict};
use fsr_build::spec::Arch;
use fsr_protocol::Tunables;

/// One kernel of the corpus.
#[derive(Clone, Debug)]
pub struct Kernel {
    /// Its file's name, without `.cu`.
    pub name: String,
    /// The task, which is its entry too.
    pub task: String,
    /// Which kind of cheat it is; `honest` for none.
    pub row: String,
    /// Verdicts that are right.
    pub expect: Vec<String>,
    /// Variables that may outlive a launch.
    pub state: Vec<String>,
    parameters: Tunables,
    source: String,
}

impl Kernel {
    /// All of a folder, by name.
    ///
    /// # Panics
    ///
    /// When a file cannot be read or lacks a line at its top.
    pub fn all(folder: &Path) -> Vec<Self> {
        let manifest = folder.join("manifest.csv");
        if manifest.is_file() {
            return Self::of_manifest(folder, &manifest);
        }
        let mut kernels: Vec<Self> = fs::read_dir(folder)
            .unwrap_or_else(|error| panic!("{}: {error}", folder.display()))
            .map(|entry| entry.unwrap().path())
            .filter(|path| path.extension().is_some_and(|extension| extension == "cu"))
            .map(|path| Self::read(&path))
            .collect();
        kernels.sort_by(|one, other| one.name.cmp(&other.name));
        kernels
    }

    /// `file,task,row,expected,reason,also_acceptable`; a reason may stand in quotes.
    fn of_manifest(folder: &Path, manifest: &Path) -> Vec<Self> {
        let text =
            fs::read_to_string(manifest).unwrap_or_else(|error| panic!("{}: {error}", manifest.display()));
        let of_line = |line: &str| {
            let mut fields = line.splitn(5, ',');
            let mut next = || fields.next().unwrap_or_else(|| panic!("{}: {line}", manifest.display()));
            let (file, task, row, expected, rest) = (next(), next(), next(), next(), next());
            let also = rest.rsplit_once(',').map_or("", |(_, also)| also);
            let source =
                fs::read_to_string(folder.join(file)).unwrap_or_else(|error| panic!("{file}: {error}"));
            let words = [expected, also].join(" ");
            let words =
                words.split(|c: char| !(c.is_alphanumeric() || c == '-')).filter(|word| !word.is_empty());
            Self {
                name: format!("blind/{}", file.trim_end_matches(".cu")),
                task: format!("blind-{task}"),
                row: if row == "0" { "honest".to_owned() } else { row.to_owned() },
                expect: words.flat_map(verdicts).map(|verdict| (*verdict).to_owned()).collect(),
                state: Vec::new(),
                parameters: parameters(&source),
                source,
            }
        };
        text.lines().skip(1).map(of_line).collect()
    }

    /// Name of its kernel function.
    fn entry(&self) -> &str {
        self.task.trim_start_matches("blind-")
    }

    fn read(path: &Path) -> Self {
        let source = fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        let words = |key: &str| -> Vec<String> {
            let marked = source.lines().find_map(|line| line.strip_prefix(&format!("// {key}: ")));
            let words = marked.unwrap_or_default().split([' ', ',']).filter(|word| !word.is_empty());
            words.map(str::to_owned).collect()
        };
        let one = |key: &str| {
            words(key).into_iter().next().unwrap_or_else(|| panic!("{}: no `// {key}:`", path.display()))
        };
        Self {
            name: path.file_stem().unwrap_or_default().to_string_lossy().into_owned(),
            task: one("task"),
            row: one("row"),
            expect: words("expect"),
            state: words("state"),
            parameters: parameters(&source),
            source,
        }
    }

    /// Its compilation.
    pub fn request(&self, arch: Arch) -> CompileRequest {
        CompileRequest {
            source: self.source.clone(),
            entries: vec![self.entry().to_owned()],
            arch,
            defines: self.parameters.clone(),
            headers: Vec::new(),
        }
    }

    /// It, once compiled.
    pub fn executable(&self, ptx: String) -> Executable {
        Executable { ptx, entries: vec![self.entry().to_owned()], tunables: self.parameters.clone() }
    }

    /// Whether nothing is wrong with it.
    pub fn is_honest(&self) -> bool {
        self.row == "honest"
    }
}

/// Lines such as `// fsr: BLOCK = 256`.
fn parameters(source: &str) -> Tunables {
    let line = |line: &str| {
        let (name, value) = line.strip_prefix("// fsr: ")?.split_once(" = ")?;
        Some((name.to_owned(), value.trim().parse().ok()?))
    };
    source.lines().filter_map(line).collect()
}

/// The judge's words for one of a manifest's.
fn verdicts(word: &str) -> &'static [&'static str] {
    match word {
        "honest" | "hardware" => &["valid"],
        "execution" => &["execution", "launch", "timed-out", "out-of-bounds", "input-changed"],
        "rejected" => &["load", "compile"],
        "compile" => &["compile"],
        "mismatch" => &["mismatch"],
        other => panic!("a manifest expects `{other}`"),
    }
}

/// What became of one kernel.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// The kernel.
    pub kernel: Kernel,
    /// `valid`, or the step at which it failed.
    pub verdict: String,
    /// In words.
    pub summary: String,
}

impl Outcome {
    /// Whether it is what has to happen: an honest kernel is valid, and one that cheats is caught, by whichever check.
    pub fn is_right(&self) -> bool {
        self.is_expected() || (!self.kernel.is_honest() && self.verdict != "valid")
    }

    /// Whether it is the very verdict that was foreseen.
    fn is_expected(&self) -> bool {
        self.kernel.expect.contains(&self.verdict)
    }
}

/// Takes every kernel through compilation, validation, validation on fresh inputs and timing, as a search does.
///
/// `options` makes a judge's options for a task. Kernels of one task share a judge, as those of a search do, so one
/// that leaves the device unusable spoils the verdicts of those after it.
///
/// # Panics
///
/// When the compiler or a judge fails, and not a kernel.
pub fn judge_all(
    kernels: Vec<Kernel>,
    compiler: &dyn Compiler,
    arch: Arch,
    options: impl Fn(&str) -> HostJudgeOptions,
) -> Vec<Outcome> {
    let mut judges: BTreeMap<(String, Vec<String>), HostJudge> = BTreeMap::new();
    let mut outcomes = Vec::new();
    for kernel in kernels {
        let executable = match compiled(&kernel, compiler, arch) {
            Ok(executable) => executable,
            Err(log) => {
                let summary = log.lines().next().unwrap_or_default().to_owned();
                outcomes.push(Outcome { kernel, verdict: "compile".to_owned(), summary });
                continue;
            }
        };
        let judge = judges.entry((kernel.task.clone(), kernel.state.clone())).or_insert_with(|| {
            let mut options = options(&kernel.task);
            options.state = kernel.state.clone();
            HostJudge::new(options)
        });
        let (verdict, summary) = judged(judge, &executable).unwrap_or_else(|fault| {
            panic!("{}: the judge failed: {fault}", kernel.name);
        });
        outcomes.push(Outcome { kernel, verdict, summary });
    }
    outcomes
}

fn compiled(kernel: &Kernel, compiler: &dyn Compiler, arch: Arch) -> Result<Executable, String> {
    match compiler.compile(&kernel.request(arch)).expect("a compiler that works") {
        Compiled::Ptx(ptx) => Ok(kernel.executable(ptx.text)),
        Compiled::Failed(failure) => Err(failure.log),
    }
}

fn judged(
    judge: &mut HostJudge,
    executable: &Executable,
) -> Result<(String, String), cargo_fsr::judge::JudgeError> {
    let failed = |failure: cargo_fsr::judge::Failure| (word(failure.kind).to_owned(), failure.summary);
    // One after the other: a kernel that counts its launches meets them all.
    for fresh in [false, true] {
        let verdict = if fresh { judge.validate_fresh(executable)? } else { judge.validate(executable)? };
        if let Verdict::Invalid(failure) = verdict {
            return Ok(failed(failure));
        }
    }
    Ok(match judge.time(&[executable])? {
        Timed::Invalid(failure) => failed(failure),
        Timed::Times(_) => ("valid".to_owned(), String::new()),
    })
}

fn word(kind: FailureKind) -> &'static str {
    match kind {
        FailureKind::Load => "load",
        FailureKind::Launch => "launch",
        FailureKind::Execution => "execution",
        FailureKind::TimedOut => "timed-out",
        FailureKind::OutOfBounds => "out-of-bounds",
        FailureKind::InputChanged => "input-changed",
        FailureKind::Mismatch => "mismatch",
    }
}

/// The table: kind by kind, and below it what is not as it must be.
pub fn table(outcomes: &[Outcome]) -> String {
    let mut rows: BTreeMap<(u32, &str), Vec<&Outcome>> = BTreeMap::new();
    for outcome in outcomes {
        let row = outcome.kernel.row.as_str();
        rows.entry((row.parse().unwrap_or(u32::MAX), row)).or_default().push(outcome);
    }
    let mut text = String::new();
    for ((_, row), of_row) in rows {
        let mut verdicts: BTreeMap<&str, usize> = BTreeMap::new();
        of_row.iter().for_each(|outcome| *verdicts.entry(&outcome.verdict).or_default() += 1);
        let verdicts: Vec<String> =
            verdicts.iter().map(|(verdict, count)| format!("{count} {verdict}")).collect();
        let right = of_row.iter().filter(|outcome| outcome.is_right()).count();
        let _ = writeln!(text, "{row:>6}  {right:>3} of {:>3} right: {}", of_row.len(), verdicts.join(", "));
    }
    let (honest, cheats): (Vec<&Outcome>, Vec<&Outcome>) =
        outcomes.iter().partition(|outcome| outcome.kernel.is_honest());
    let wrong = |outcomes: &[&Outcome]| outcomes.iter().filter(|outcome| !outcome.is_right()).count();
    let harmless = cheats.iter().filter(|outcome| outcome.verdict == "valid" && outcome.is_right()).count();
    let _ = writeln!(
        text,
        "{} kernels that cheat: {} caught, {harmless} right where times are modelled, {} missed; {} honest: {} false alarms",
        cheats.len(),
        cheats.len() - harmless - wrong(&cheats),
        wrong(&cheats),
        honest.len(),
        wrong(&honest)
    );
    for outcome in outcomes.iter().filter(|outcome| !outcome.is_expected()) {
        let Outcome { kernel, verdict, summary } = outcome;
        let what = if outcome.is_right() { "caught otherwise" } else { "WRONG" };
        let _ = writeln!(
            text,
            "{what}: {}: {verdict} ({summary}), foreseen was {}",
            kernel.name,
            kernel.expect.join(" or ")
        );
    }
    text
}
