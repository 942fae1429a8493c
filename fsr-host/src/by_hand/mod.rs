//! A host file started by hand: validates and times one kernel, and prints a table.
//!
//! Owns both roles in one process, which is enough for a kernel that is trusted. A search never takes this way: there,
//! the verdict comes from a process that the kernel cannot reach.

mod options;
mod table;

use std::hash::{BuildHasher, RandomState};
use std::process::ExitCode;

use fsr_protocol::{
    CaseId, Comparison, DeviceFacts, Dump, HostError, MIXED_DISTRIBUTIONS, ModuleId, RedzoneHit, Reply,
    Request, SetId, Tunables,
};

use crate::device::Device;
use crate::program::Program;
use crate::reference::Reference;
pub(crate) use options::Options;
use options::Usage;
use table::{Row, Verdict};

/// Every case is right.
pub(crate) const EXIT_OK: u8 = 0;
/// A case is wrong, or the kernel failed.
pub(crate) const EXIT_WRONG: u8 = 1;
/// The command line, the environment or the host launch code is at fault.
pub(crate) const EXIT_USAGE: u8 = 2;
/// There is no CUDA device.
pub(crate) const EXIT_NO_DEVICE: u8 = 3;

const MODULE: ModuleId = 0;

pub(crate) type StoredFn = dyn Fn(i32, i32) -> Result<Stored, String>;

/// A kernel as a crate embeds it: what [`Kernel::stored`](crate::Kernel::stored) returns.
#[derive(Clone, Debug)]
pub struct Stored {
    ptx: String,
    entries: Vec<String>,
    tunables: Tunables,
}

impl Stored {
    /// PTX text with the names of its kernels, and the values of tunables and launch parameters that it was built for.
    pub fn new<E: AsRef<str>, T: AsRef<str>>(
        ptx: impl Into<String>,
        entries: impl IntoIterator<Item = E>,
        tunables: impl IntoIterator<Item = (T, u32)>,
    ) -> Self {
        Self {
            ptx: ptx.into(),
            entries: entries.into_iter().map(|entry| entry.as_ref().to_owned()).collect(),
            tunables: tunables.into_iter().map(|(name, value)| (name.as_ref().to_owned(), value)).collect(),
        }
    }
}

/// Why nothing could be validated.
enum Stop {
    Host(HostError),
    Usage(Usage),
}

impl From<HostError> for Stop {
    fn from(error: HostError) -> Self {
        Self::Host(error)
    }
}

impl From<Usage> for Stop {
    fn from(usage: Usage) -> Self {
        Self::Usage(usage)
    }
}

/// Reads the command line and runs the program that `declare` makes of it, with the sizes that it names if any.
pub(crate) fn run(
    declare: impl FnOnce(&Options) -> Result<Program, Usage>,
    stored: Option<&StoredFn>,
) -> ExitCode {
    let program =
        Options::parse(std::env::args().skip(1)).and_then(|options| Ok((declare(&options)?, options)));
    let outcome =
        program.map_err(Stop::from).and_then(|(program, options)| attempt(&program, &options, stored));
    let code = match outcome {
        Ok(true) => EXIT_OK,
        Ok(false) => EXIT_WRONG,
        Err(Stop::Usage(Usage::Help)) => {
            println!("{}", options::HELP);
            EXIT_OK
        }
        Err(Stop::Usage(usage)) => {
            eprintln!("error: {usage}");
            EXIT_USAGE
        }
        Err(Stop::Host(error @ HostError::NoDevice { .. })) => {
            eprintln!(
                "error: {error}\nnothing was validated: run it where there is an NVIDIA GPU, or tune and check with \
                 `cargo fsr`"
            );
            EXIT_NO_DEVICE
        }
        Err(Stop::Host(error)) => {
            eprintln!("error: {error}");
            match error {
                HostError::HostCode { .. } | HostError::Io { .. } | HostError::Protocol { .. } => EXIT_USAGE,
                _ => EXIT_WRONG,
            }
        }
    };
    ExitCode::from(code)
}

fn attempt(program: &Program, options: &Options, stored: Option<&StoredFn>) -> Result<bool, Stop> {
    let cases = program.cases()?.len();
    let share = tempfile::tempdir()
        .map_err(|error| HostError::Io { message: format!("no temporary folder: {error}") })?;
    let mut reference = Reference::new(program, share.path().to_owned());
    let mut device = Device::new(program, share.path().to_owned());
    let facts = device.open(options.device)?;
    let stored = options.kernel(stored, facts.compute_capability)?;
    let loaded = device.answer(Request::Load {
        module: MODULE,
        ptx: stored.ptx,
        entries: stored.entries,
        tunables: stored.tunables,
    })?;
    table::print_device(program.kernel(), &facts);
    if let Reply::Loaded { entries, writable_globals } = loaded {
        table::print_resources(&entries, &writable_globals);
    }
    let seed = options.seed.unwrap_or_else(|| RandomState::new().hash_one("seed"));
    let mut bench = Bench { program, reference: &mut reference, device: &mut device, facts: &facts };
    let mut right = true;
    table::print_head();
    for case in 0..cases as CaseId {
        let row = bench.case(case, seed, options.sets, options.samples)?;
        right &= matches!(row.verdict, Verdict::Right);
        table::print_row(&row);
    }
    if !right {
        eprintln!("the inputs were made from `--seed {seed}`");
    }
    Ok(right)
}

/// What one launch showed.
struct Shown {
    nanos: f64,
    redzone: Option<RedzoneHit>,
    comparison: Comparison,
}

/// Both roles, and what they work on.
struct Bench<'b, 'p> {
    program: &'p Program,
    reference: &'b mut Reference<'p>,
    device: &'b mut Device<'p>,
    facts: &'b DeviceFacts,
}

impl Bench<'_, '_> {
    /// Validates one case on several sets, and times it on the last of them.
    fn case(&mut self, case: CaseId, seed: u64, sets: u64, samples: u32) -> Result<Row, HostError> {
        let info = self.program.case(case)?.info.clone();
        let mut row = Row::new(&info, self.facts);
        // Each set draws from another distribution.
        let seed = seed / MIXED_DISTRIBUTIONS * MIXED_DISTRIBUTIONS;
        for set in 0..sets as SetId {
            self.reference.make_set(case, set, seed.wrapping_add(set), None)?;
            self.device.answer(Request::Upload { case, set })?;
            let shown = match self.launch_and_compare(case, set, true) {
                Ok(shown) => shown,
                Err(HostError::Launch { message }) => {
                    row.verdict = Verdict::Refused(message);
                    return Ok(row);
                }
                Err(error) => return Err(error),
            };
            row.add(&shown);
            if matches!(row.verdict, Verdict::Right) && info.timed && set + 1 == sets {
                for _ in 0..samples {
                    let shown = self.launch_and_compare(case, set, false)?;
                    row.nanos.push(shown.nanos);
                    row.add(&shown);
                }
            }
            self.device.answer(Request::DropSet { case, set })?;
            self.reference.answer(Request::DropSet { case, set })?;
            if !matches!(row.verdict, Verdict::Right) {
                break;
            }
        }
        Ok(row)
    }

    fn launch_and_compare(&mut self, case: CaseId, set: SetId, inputs: bool) -> Result<Shown, HostError> {
        let dump = Some(Dump { slot: 0, inputs });
        let launch = Request::Launch { module: MODULE, case, set, flush: true, moved: false, dump };
        let Reply::Launched { nanos, redzones, .. } = self.device.answer(launch)? else {
            return Err(HostError::Protocol { message: "a launch is answered by its times".to_owned() });
        };
        let comparison = self.reference.compare(case, set, 0, inputs, None)?;
        Ok(Shown { nanos, redzone: redzones.into_iter().next(), comparison })
    }
}
