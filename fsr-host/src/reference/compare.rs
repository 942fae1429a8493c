//! One output against its reference: every element, in parallel.
//!
//! Owns the rule of what counts as equal. It never sees a device; what it reads was dumped by another process.

use bytemuck::Pod;
use fsr_protocol::{BufferInfo, Mismatch, OutputComparison, Tolerance};
use rayon::prelude::*;

use super::pattern::{coordinates, describe};
use crate::bytes::AlignedBytes;
use crate::element::{default_tolerance, for_dtype};
use crate::{Element, cpu::Filled};

/// Elements that one task compares.
const CHUNK: usize = 1 << 16;

/// Mismatches that are told in full.
const TOLD: usize = 8;

/// The reference of one output.
#[derive(Debug)]
pub(crate) struct Expected {
    values: AlignedBytes,
    /// Smallest scale of an element: the root mean square of all, or what the host code asked for.
    scale: f64,
    /// Mean of the finite elements.
    mean: f64,
}

impl Expected {
    /// Takes what a reference closure wrote, or says what is wrong with it.
    pub(crate) fn new(info: &BufferInfo, filled: Filled) -> Result<Self, String> {
        let name = &info.name;
        if !filled.written {
            return Err(format!("the reference never writes output `{name}`"));
        }
        if !filled.least_scale.is_finite() {
            return Err(format!("the scale of output `{name}` is not finite"));
        }
        let scale = for_dtype!(info.dtype, T => {
            root_mean_square(filled.values.elements::<T>()).map_err(|position| {
                let index = coordinates(&info.shape, position as u64);
                format!("the reference leaves NaN in output `{name}` at {index:?}")
            })?
        });
        let mean = for_dtype!(info.dtype, T => mean(filled.values.elements::<T>()));
        Ok(Self { values: filled.values, scale: scale.max(filled.least_scale), mean })
    }
}

/// Root of the mean square of the finite values, without overflow; fails with the position of the first NaN.
fn root_mean_square<T: Element>(values: &[T]) -> Result<f64, usize> {
    /// What one chunk adds up to.
    struct Sum {
        squares: f64,
        finite: usize,
        largest: f64,
        nan: Option<usize>,
    }
    let sums = |unit: f64| -> Vec<Sum> {
        let of_chunk = |(chunk, values): (usize, &[T])| {
            let mut sum = Sum { squares: 0.0, finite: 0, largest: 0.0, nan: None };
            let mut nan = false;
            for value in values {
                let value = value.to_f64();
                nan |= value.is_nan();
                let magnitude = if value.is_finite() { value.abs() } else { 0.0 };
                sum.finite += usize::from(value.is_finite());
                sum.largest = sum.largest.max(magnitude);
                sum.squares += (magnitude / unit) * (magnitude / unit);
            }
            if nan {
                sum.nan =
                    values.iter().position(|value| value.to_f64().is_nan()).map(|at| chunk * CHUNK + at);
            }
            sum
        };
        values.par_chunks(CHUNK).enumerate().map(of_chunk).collect()
    };
    let mut unit = 1.0;
    let mut seen = sums(unit);
    if let Some(position) = seen.iter().find_map(|sum| sum.nan) {
        return Err(position);
    }
    let largest = seen.iter().fold(0.0, |largest: f64, sum| largest.max(sum.largest));
    if largest == 0.0 {
        return Ok(0.0);
    }
    if !(1e-100..1e100).contains(&largest) {
        unit = largest;
        seen = sums(unit);
    }
    // Added in order, so that the result does not depend on the number of threads.
    let squares: f64 = seen.iter().map(|sum| sum.squares).sum();
    let finite: usize = seen.iter().map(|sum| sum.finite).sum();
    Ok(unit * (squares / finite as f64).sqrt())
}

/// Mean of the finite values, without overflow; added in order, whatever the number of threads.
fn mean<T: Element>(values: &[T]) -> f64 {
    let of_chunk = |values: &[T]| {
        let finite = values.iter().map(|value| value.to_f64()).filter(|value| value.is_finite());
        finite.fold((0.0, 0.0), |(mean, count): (f64, f64), value| {
            let count = count + 1.0;
            (mean * ((count - 1.0) / count) + value / count, count)
        })
    };
    let chunks: Vec<(f64, f64)> = values.par_chunks(CHUNK).map(of_chunk).collect();
    let all: f64 = chunks.iter().map(|(_, count)| count).sum();
    chunks.iter().map(|(mean, count)| mean * (count / all.max(1.0))).sum()
}

/// Compares a dumped output. `got` must be aligned for the element type and as long as the reference.
pub(crate) fn compare(
    info: &BufferInfo,
    expected: &Expected,
    got: &[u8],
    tolerance: Option<Tolerance>,
) -> OutputComparison {
    let tolerance = tolerance.unwrap_or_else(|| default_tolerance(info.dtype));
    for_dtype!(info.dtype, T => {
        let rule = Rule { tolerance, scale: expected.scale };
        let compared = rule.compare::<T>(info, expected.values.elements(), bytemuck::cast_slice(got));
        OutputComparison { expected_mean: expected.mean, ..compared }
    })
}

struct Rule {
    tolerance: Tolerance,
    scale: f64,
}

/// How far one element is off.
struct Deviation {
    wrong: bool,
    abs: f64,
    rel: f64,
}

/// What one chunk adds up to.
struct Tally {
    mismatches: u64,
    untouched: u64,
    max_abs: f64,
    max_rel: f64,
    first: Vec<usize>,
}

impl Rule {
    /// Floats deviate by at most `atol + rtol * scale`; infinities and integers must be equal; NaN never is.
    #[inline(always)]
    fn deviation<T: Element>(&self, expected: T, got: T) -> Deviation {
        if !T::DTYPE.is_float() {
            let wrong = bytemuck::bytes_of(&expected) != bytemuck::bytes_of(&got);
            let abs = (got.to_f64() - expected.to_f64()).abs();
            return Deviation { wrong, abs, rel: abs / expected.to_f64().abs().max(1.0) };
        }
        let (expected, got) = (expected.to_f64(), got.to_f64());
        if expected == got {
            return Deviation { wrong: false, abs: 0.0, rel: 0.0 };
        }
        let scale = expected.abs().max(self.scale);
        let abs = (got - expected).abs();
        if abs.is_finite() {
            let wrong = abs > self.tolerance.atol + self.tolerance.rtol * scale;
            Deviation { wrong, abs, rel: (abs / scale).min(f64::MAX) }
        } else {
            Deviation { wrong: true, abs: f64::MAX, rel: f64::MAX }
        }
    }

    fn compare<T: Element>(&self, info: &BufferInfo, expected: &[T], got: &[T]) -> OutputComparison {
        let tallies: Vec<Tally> = expected
            .par_chunks(CHUNK)
            .zip(got.par_chunks(CHUNK))
            .enumerate()
            .map(|(chunk, (expected, got))| self.tally(chunk * CHUNK, expected, got))
            .collect();
        let mismatches = tallies.iter().map(|tally| tally.mismatches).sum();
        let first = tallies.iter().flat_map(|tally| &tally.first).take(TOLD).map(|position| Mismatch {
            index: coordinates(&info.shape, *position as u64),
            expected: format!("{:?}", expected[*position]),
            got: format!("{:?}", got[*position]),
        });
        let pattern = if mismatches == 0 {
            String::new()
        } else if mismatches == expected.len() as u64 {
            "every element".to_owned()
        } else {
            let wrong = |at: u64| self.deviation(expected[at as usize], got[at as usize]).wrong;
            describe(&info.shape, wrong)
        };
        OutputComparison {
            buffer: info.name.clone(),
            elements: expected.len() as u64,
            mismatches,
            untouched: tallies.iter().map(|tally| tally.untouched).sum(),
            max_abs: tallies.iter().fold(0.0, |max, tally| max.max(tally.max_abs)),
            max_rel: tallies.iter().fold(0.0, |max, tally| max.max(tally.max_rel)),
            tolerance: self.tolerance,
            expected_mean: 0.0,
            first: first.collect(),
            pattern,
        }
    }

    fn tally<T: Element>(&self, start: usize, expected: &[T], got: &[T]) -> Tally {
        let mut tally = Tally { mismatches: 0, untouched: 0, max_abs: 0.0, max_rel: 0.0, first: Vec::new() };
        for (position, (expected, got)) in expected.iter().zip(got).enumerate() {
            let deviation = self.deviation(*expected, *got);
            tally.max_abs = tally.max_abs.max(deviation.abs);
            tally.max_rel = tally.max_rel.max(deviation.rel);
            if deviation.wrong {
                tally.mismatches += 1;
                tally.untouched += u64::from(is_poison(got));
                if tally.first.len() < TOLD {
                    tally.first.push(start + position);
                }
            }
        }
        tally
    }
}

/// Whether all bits are set, as the device process leaves outputs before a launch.
fn is_poison<T: Pod>(value: &T) -> bool {
    bytemuck::bytes_of(value).iter().all(|byte| *byte == 0xff)
}

/// Whether two buffers hold the same bytes.
pub(crate) fn same_bytes(a: &[u8], b: &[u8]) -> bool {
    a.len() == b.len() && a.par_chunks(CHUNK).zip(b.par_chunks(CHUNK)).all(|(a, b)| a == b)
}
