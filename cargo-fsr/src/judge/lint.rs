//! Specs that any kernel would pass are refused before anyone is asked for a kernel.
//!
//! Trivial outputs are written where a launch would leave its own, and the reference process compares them as it would
//! a kernel's. A size where a trivial output is right by chance (a softmax over one column is all ones) is no fault;
//! one that passes every case is.

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io::{self, BufWriter, Read, Write};
use std::path::Path;

use fsr_protocol::{
    BufferInfo, BufferRole, CaseId, CaseInfo, Dtype, OutputComparison, SetId, Tolerance, files,
};

use super::JudgeError;
use super::reference::Reference;

/// Elements of all inputs of a case from which on nothing but zeros is no chance.
const TELLING: u64 = 16;

/// Apart from the slots of real launches.
const SLOT: u64 = 1_000_000;

/// What a kernel may leave in its outputs without computing anything.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Trivial {
    /// One value everywhere, given for each buffer.
    Constant(Constant),
    /// The first input that fits.
    Copy,
    /// In-outs as they were.
    Untouched,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Constant {
    Zero,
    One,
    /// The mean of what is right.
    Mean,
}

impl Trivial {
    fn words(self) -> &'static str {
        match self {
            Self::Constant(Constant::Zero) => "all zeros",
            Self::Constant(Constant::One) => "all ones",
            Self::Constant(Constant::Mean) => "the mean of what is right in every element",
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
    let mut lint = Lint { reference, share, cases, sets, tolerance };
    for constant in [Constant::Zero, Constant::One, Constant::Mean] {
        // One output that anything passes is as good as none.
        if let Some(output) = lint.passing(Trivial::Constant(constant))?.first() {
            return Err(lint.fault(&format!("output `{output}`: "), Trivial::Constant(constant)));
        }
    }
    for trivial in [Trivial::Copy, Trivial::Untouched] {
        // One output of several may well be a copy.
        if lint.passing(trivial)?.len() == lint.outputs().len() {
            return Err(lint.fault("", trivial));
        }
    }
    Ok(())
}

struct Lint<'a> {
    reference: &'a mut Reference,
    share: &'a Path,
    cases: &'a [CaseInfo],
    sets: &'a [SetId],
    tolerance: Option<Tolerance>,
}

impl Lint<'_> {
    fn fault(&self, place: &str, trivial: Trivial) -> JudgeError {
        let what = format!(
            "{place}a kernel that leaves {} passes every case: tighten the tolerance, or give the cases inputs with \
             more in them",
            trivial.words()
        );
        match self.tolerance {
            Some(tolerance) => JudgeError::Tolerance(tolerance, what),
            None => JudgeError::HostCode(what),
        }
    }

    /// Names of all outputs.
    fn outputs(&self) -> BTreeSet<String> {
        let buffers = self.cases.iter().flat_map(|case| &case.buffers);
        buffers.filter(|buffer| buffer.role != BufferRole::Input).map(|buffer| buffer.name.clone()).collect()
    }

    /// Outputs that a trivial result passes in every case.
    fn passing(&mut self, trivial: Trivial) -> Result<BTreeSet<String>, JudgeError> {
        let mut passing = self.outputs();
        let mut seen = BTreeSet::new();
        // Small cases first: one that fails is enough, and it costs least there.
        let mut order: Vec<(CaseId, &CaseInfo, SetId)> =
            (0..).zip(self.cases).zip(self.sets).map(|((id, case), set)| (id, case, *set)).collect();
        order.sort_by_key(|(_, case, _)| case.buffers.iter().map(BufferInfo::bytes).sum::<u64>());
        for (id, case, set) in order {
            if passing.is_empty() {
                break;
            }
            let means = match trivial {
                // What is compared does not matter, only what it is compared with.
                Trivial::Constant(Constant::Mean) => {
                    let compared = self.compared(id, case, set, Trivial::Constant(Constant::Zero), &[])?;
                    compared.iter().flatten().map(|output| output.expected_mean).collect()
                }
                _ => Vec::new(),
            };
            // No kernel can do this everywhere: the sum of one element is a copy of it, of more it is none.
            let Some(outputs) = self.compared(id, case, set, trivial, &means)? else {
                return Ok(BTreeSet::new());
            };
            for output in outputs {
                // Of a single element the mean is the result itself, and of none there is nothing to see.
                let least = if trivial == Trivial::Constant(Constant::Mean) { 2 } else { 1 };
                if output.mismatches > 0 {
                    passing.remove(&output.buffer);
                } else if output.elements >= least {
                    seen.insert(output.buffer);
                }
            }
        }
        Ok(passing.intersection(&seen).cloned().collect())
    }

    /// How a trivial result of a case compares; `None` where there is none of this kind.
    fn compared(
        &mut self,
        id: CaseId,
        case: &CaseInfo,
        set: SetId,
        trivial: Trivial,
        means: &[f64],
    ) -> Result<Option<Vec<OutputComparison>>, JudgeError> {
        let written = write_outputs(self.share, id, case, set, trivial, means)?;
        let compared = written.then(|| {
            let ticket = self.reference.compare(id, set, SLOT, false, self.tolerance)?;
            self.reference.compared(ticket)
        });
        // Some may lie there though not all could be written.
        for buffer in 0..case.buffers.len() {
            let _ = fs::remove_file(files::dump(self.share, SLOT, id, buffer));
        }
        Ok(compared.transpose()?.map(|comparison| comparison.outputs))
    }
}

/// Writes a trivial result of a case; false where there is none of this kind.
fn write_outputs(
    share: &Path,
    id: CaseId,
    case: &CaseInfo,
    set: SetId,
    trivial: Trivial,
    means: &[f64],
) -> io::Result<bool> {
    let mut means = means.iter();
    for (at, buffer) in case.buffers.iter().enumerate() {
        if buffer.role == BufferRole::Input {
            continue;
        }
        let dump = files::dump(share, SLOT, id, at);
        let source = match trivial {
            Trivial::Constant(constant) => {
                let value = match constant {
                    Constant::Zero => 0.0,
                    Constant::One => 1.0,
                    Constant::Mean => means.next().copied().unwrap_or(0.0),
                };
                write_constant(&dump, buffer, value)?;
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

fn write_constant(path: &Path, buffer: &BufferInfo, value: f64) -> io::Result<()> {
    let element = element(buffer.dtype, value);
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

/// The nearest value of a type.
fn element(dtype: Dtype, value: f64) -> Vec<u8> {
    let whole = value.round();
    match dtype {
        Dtype::F16 => half::f16::from_f64(value).to_le_bytes().to_vec(),
        Dtype::Bf16 => half::bf16::from_f64(value).to_le_bytes().to_vec(),
        Dtype::F32 => (value as f32).to_le_bytes().to_vec(),
        Dtype::F64 => value.to_le_bytes().to_vec(),
        Dtype::I8 => (whole as i8).to_le_bytes().to_vec(),
        Dtype::U8 => vec![whole as u8],
        Dtype::I16 => (whole as i16).to_le_bytes().to_vec(),
        Dtype::U16 => (whole as u16).to_le_bytes().to_vec(),
        Dtype::I32 => (whole as i32).to_le_bytes().to_vec(),
        Dtype::U32 => (whole as u32).to_le_bytes().to_vec(),
        Dtype::I64 => (whole as i64).to_le_bytes().to_vec(),
        Dtype::U64 => (whole as u64).to_le_bytes().to_vec(),
    }
}

/// Inputs that are all zero show nothing.
fn check_inputs(share: &Path, id: CaseId, case: &CaseInfo, set: SetId) -> Result<(), JudgeError> {
    let inputs = case
        .buffers
        .iter()
        .enumerate()
        .filter(|(_, buffer)| buffer.role != BufferRole::Output && !buffer.is_scalar());
    // A few integers may all be zero by chance, beside buffers that are updated and begin as zeros.
    let updated = inputs.clone().all(|(_, buffer)| buffer.role == BufferRole::InOut || buffer.is_empty());
    let telling = inputs.clone().filter(|(_, buffer)| updated || buffer.role == BufferRole::Input);
    if telling.map(|(_, buffer)| buffer.len()).sum::<u64>() < TELLING {
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

#[cfg(test)]
mod tests {
    use super::*;

    /// What is said of a case with these inputs: role, elements and the last element.
    fn check_inputs_of(inputs: &[(BufferRole, usize, u8)]) -> Result<(), JudgeError> {
        let share = tempfile::tempdir().unwrap();
        for (at, (_, elements, last)) in inputs.iter().enumerate() {
            let mut content = vec![0; *elements];
            if let Some(element) = content.last_mut() {
                *element = *last;
            }
            fs::write(files::input(share.path(), 0, 0, at), content).unwrap();
        }
        let buffers = inputs.iter().enumerate().map(|(at, (role, elements, _))| BufferInfo {
            name: format!("b{at}"),
            role: *role,
            dtype: Dtype::U8,
            shape: vec![*elements as u64],
        });
        let case = CaseInfo {
            name: "n=1".to_owned(),
            dims: vec![("n".to_owned(), 1)],
            timed: false,
            drawn: true,
            buffers: buffers.collect(),
            work_bytes: 0,
            work_flops: 0,
        };
        check_inputs(share.path(), 0, &case, 0)
    }

    #[test]
    fn inputs_that_are_all_zero() {
        use BufferRole::{InOut, Input};
        let refused: [&[_]; 4] = [
            &[(Input, 1000, 0)],
            &[(Input, 10, 0), (Input, 10, 0)],
            // Nothing is merely read.
            &[(InOut, 1000, 0)],
            &[(Input, 0, 0), (InOut, 1000, 0)],
        ];
        for inputs in refused {
            let error = check_inputs_of(inputs).unwrap_err();
            assert!(error.to_string().contains("case `n=1`: all inputs are zero"), "{inputs:?}: {error}");
        }
        let accepted: [&[_]; 4] = [
            &[(Input, 1000, 1)],
            &[(Input, 1000, 0), (InOut, 1000, 1)],
            // One byte, drawn as zero, whose histogram begins as zeros.
            &[(Input, 1, 0), (InOut, 256, 0)],
            &[(Input, 0, 0)],
        ];
        for inputs in accepted {
            check_inputs_of(inputs).unwrap();
        }
    }
}
