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
            let values = filled.values.elements::<T>();
            if let Some(position) = values.par_iter().position_first(|value| value.to_f64().is_nan()) {
                let index = coordinates(&info.shape, position as u64);
                return Err(format!("the reference leaves NaN in output `{name}` at {index:?}"));
            }
            root_mean_square(values)
        });
        Ok(Self { values: filled.values, scale: scale.max(filled.least_scale) })
    }
}

/// Root of the mean square of the finite values, without overflow.
fn root_mean_square<T: Element>(values: &[T]) -> f64 {
    let finite = |value: &T| Some(value.to_f64().abs()).filter(|value| value.is_finite());
    let largest = values.par_iter().filter_map(finite).reduce(|| 0.0, f64::max);
    if largest == 0.0 {
        return 0.0;
    }
    let chunks: Vec<(f64, usize)> = values
        .par_chunks(CHUNK)
        .map(|chunk| {
            chunk
                .iter()
                .filter_map(finite)
                .fold((0.0, 0), |(sum, count), value| (sum + (value / largest).powi(2), count + 1))
        })
        .collect();
    // In order, so that the result does not depend on the number of threads.
    let (sum, count) = chunks.iter().fold((0.0, 0), |(sum, count), (s, c)| (sum + s, count + c));
    largest * (sum / count as f64).sqrt()
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
        rule.compare::<T>(info, expected.values.elements(), bytemuck::cast_slice(got))
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
