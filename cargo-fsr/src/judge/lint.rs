//! Specs that any kernel would pass are refused before anyone is asked for a kernel.
//!
//! Trivial outputs are written where a launch would leave its own, and the reference process compares them as it would
//! a kernel's. A size where a trivial output is right by chance (a softmax over one column is all ones) is no fault;
//! one that passes every case is.

use std::fs::{self, File};
use std::io::{self, BufWriter, Read, Write};
use std::path::Path;

use fsr_protocol::{BufferInfo, BufferRole, CaseId, CaseInfo, Dtype, SetId, Tolerance, files};

use super::JudgeError;
use super::reference::Reference;

/// Apart from the slots of real launches.
const SLOT: u64 = 1_000_000;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Trivial {
    Zeros,
    Ones,
    /// The first input that fits.
    Copy,
    /// In-outs as they were.
    Untouched,
}

impl Trivial {
    fn words(self) -> &'static str {
        match self {
            Self::Zeros => "all zeros",
            Self::Ones => "all ones",
            Self::Copy => "a copy of an input",
            Self::Untouched => "what was there before the launch",
        }
    }
}

/// Checks every case on one set each.
pub(super) fn check(
    reference: &mut Reference,
    share: &Path,
    cases: &[CaseInfo],
    sets: &[SetId],
    tolerance: Option<Tolerance>,
) -> Result<(), JudgeError> {
    for ((id, case), set) in (0..).zip(cases).zip(sets) {
        check_inputs(share, id, case, *set)?;
    }
    for trivial in [Trivial::Zeros, Trivial::Ones, Trivial::Copy, Trivial::Untouched] {
        if passes(reference, share, cases, sets, tolerance, trivial)? {
            let what = format!(
                "a kernel that leaves {} passes every case: tighten the tolerance, or give the cases inputs with more in them",
                trivial.words()
            );
            return Err(match tolerance {
                Some(tolerance) => JudgeError::Tolerance(tolerance, what),
                None => JudgeError::HostCode(what),
            });
        }
    }
    Ok(())
}

fn passes(
    reference: &mut Reference,
    share: &Path,
    cases: &[CaseInfo],
    sets: &[SetId],
    tolerance: Option<Tolerance>,
    trivial: Trivial,
) -> Result<bool, JudgeError> {
    // Small cases first: one that fails is enough, and it costs least there.
    let mut order: Vec<_> = (0..).zip(cases).zip(sets).collect();
    order.sort_by_key(|((_, case), _)| case.buffers.iter().map(BufferInfo::bytes).sum::<u64>());
    for ((id, case), set) in order {
        // No kernel can do this everywhere: the sum of one element is a copy of it, of more it is none.
        if !write_outputs(share, id, case, *set, trivial)? {
            return Ok(false);
        }
        let ticket = reference.compare(id, *set, SLOT, false, tolerance)?;
        let matches = reference.compared(ticket)?.is_match();
        for buffer in 0..case.buffers.len() {
            let _ = fs::remove_file(files::dump(share, SLOT, id, buffer));
        }
        if !matches {
            return Ok(false);
        }
    }
    Ok(true)
}

/// Writes a trivial result of a case; false where there is none of this kind.
fn write_outputs(
    share: &Path,
    id: CaseId,
    case: &CaseInfo,
    set: SetId,
    trivial: Trivial,
) -> io::Result<bool> {
    for (at, buffer) in case.buffers.iter().enumerate() {
        if buffer.role == BufferRole::Input {
            continue;
        }
        let dump = files::dump(share, SLOT, id, at);
        let source = match trivial {
            Trivial::Zeros | Trivial::Ones => {
                write_constant(&dump, buffer, trivial == Trivial::Ones)?;
                continue;
            }
            Trivial::Copy => case.buffers.iter().position(|source| {
                source.role == BufferRole::Input
                    && !source.is_scalar()
                    && (source.dtype, source.len()) == (buffer.dtype, buffer.len())
            }),
            Trivial::Untouched => (buffer.role == BufferRole::InOut).then_some(at),
        };
        let Some(source) = source else { return Ok(false) };
        fs::copy(files::input(share, id, set, source), dump)?;
    }
    Ok(true)
}

fn write_constant(path: &Path, buffer: &BufferInfo, ones: bool) -> io::Result<()> {
    let element = if ones { one(buffer.dtype) } else { vec![0; buffer.dtype.size()] };
    let mut file = BufWriter::new(File::create(path)?);
    let piece = element.repeat(16 * 1024);
    let mut left = buffer.bytes();
    while left > 0 {
        let now = left.min(piece.len() as u64);
        file.write_all(&piece[..now as usize])?;
        left -= now;
    }
    file.flush()
}

fn one(dtype: Dtype) -> Vec<u8> {
    match dtype {
        Dtype::F16 => 0x3c00_u16.to_le_bytes().to_vec(),
        Dtype::Bf16 => 0x3f80_u16.to_le_bytes().to_vec(),
        Dtype::F32 => 1_f32.to_le_bytes().to_vec(),
        Dtype::F64 => 1_f64.to_le_bytes().to_vec(),
        Dtype::I8 | Dtype::U8 => vec![1],
        Dtype::I16 | Dtype::U16 => 1_u16.to_le_bytes().to_vec(),
        Dtype::I32 | Dtype::U32 => 1_u32.to_le_bytes().to_vec(),
        Dtype::I64 | Dtype::U64 => 1_u64.to_le_bytes().to_vec(),
    }
}

/// Inputs that are all zero show nothing.
fn check_inputs(share: &Path, id: CaseId, case: &CaseInfo, set: SetId) -> Result<(), JudgeError> {
    let mut inputs = case
        .buffers
        .iter()
        .enumerate()
        .filter(|(_, buffer)| buffer.role != BufferRole::Output && !buffer.is_scalar() && !buffer.is_empty())
        .peekable();
    if inputs.peek().is_none() {
        return Ok(());
    }
    for (at, _) in inputs {
        if !is_all_zero(&files::input(share, id, set, at))? {
            return Ok(());
        }
    }
    Err(JudgeError::HostCode(format!("case `{}`: all inputs are zero", case.name)))
}

fn is_all_zero(path: &Path) -> io::Result<bool> {
    let mut file = File::open(path)?;
    let mut piece = vec![0; 64 * 1024];
    loop {
        match file.read(&mut piece)? {
            0 => return Ok(true),
            read if piece[..read].iter().any(|byte| *byte != 0) => return Ok(false),
            _ => {}
        }
    }
}
