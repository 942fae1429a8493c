//! What the default tolerance lets through: another order of summation, and nothing of lower precision.

use fsr_protocol::{BufferInfo, BufferRole, OutputComparison, Tolerance};
use half::{bf16, f16};
use proptest::prelude::*;

use super::compare::{Expected, compare};
use crate::bytes::AlignedBytes;
use crate::cpu::Filled;
use crate::{Element, Values};

fn info<T: Element>(len: usize) -> BufferInfo {
    BufferInfo { name: "y".into(), role: BufferRole::Output, dtype: T::DTYPE, shape: vec![len as u64] }
}

fn expected<T: Element>(values: &[T]) -> Expected {
    let filled = Filled {
        values: AlignedBytes::copied(bytemuck::cast_slice(values)),
        written: true,
        least_scale: 0.0,
    };
    Expected::new(&info::<T>(values.len()), filled).unwrap()
}

fn judged<T: Element>(reference: &[T], got: &[T]) -> OutputComparison {
    compare(&info::<T>(got.len()), &expected(reference), bytemuck::cast_slice(got), None)
}

/// How f32 operands are rounded on their way into a product.
#[derive(Clone, Copy)]
enum Operands {
    F32,
    Tf32,
    F16,
    Bf16,
}

impl Operands {
    fn round(self, x: f32) -> f32 {
        match self {
            Self::F32 => x,
            // 10 bits of fraction, rounded to nearest.
            Self::Tf32 => f32::from_bits((x.to_bits() + 0x1000) & !0x1fff),
            Self::F16 => f16::from_f32(x).to_f32(),
            Self::Bf16 => bf16::from_f32(x).to_f32(),
        }
    }
}

/// Dot products of rows of length `terms`: in f64, and in f32 one term after the other in opposite order.
fn dot_products(
    terms: usize,
    rows: usize,
    operands: Operands,
    values: fn() -> Values<f32>,
) -> OutputComparison {
    let mut a = vec![0.0f32; terms * rows];
    let mut b = a.clone();
    values().fill(&mut a, 17, 0);
    values().fill(&mut b, 17, 1);
    let pairs = || a.chunks(terms).zip(b.chunks(terms));
    let exact =
        |(a, b): (&[f32], &[f32])| a.iter().zip(b).map(|(a, b)| f64::from(*a) * f64::from(*b)).sum::<f64>();
    let reference: Vec<f32> = pairs().map(|row| exact(row) as f32).collect();
    let kernel: Vec<f32> = pairs()
        .map(|(a, b)| {
            let terms = a.iter().zip(b).rev();
            terms.fold(0.0, |sum, (a, b)| sum + operands.round(*a) * operands.round(*b))
        })
        .collect();
    judged(&reference, &kernel)
}

fn normal() -> Values<f32> {
    Values::normal(0.0, 1.0)
}

fn offset() -> Values<f32> {
    Values::normal(5.0, 1.0)
}

#[test]
fn an_f32_kernel_may_sum_in_another_order() {
    for terms in [16, 4096, 16384] {
        for values in [normal, offset] {
            let judged = dot_products(terms, 40, Operands::F32, values);
            assert_eq!(judged.mismatches, 0, "{terms} terms: {}", judged.max_rel);
        }
    }
}

#[test]
fn f16_bf16_and_tf32_are_told_apart_from_f32() {
    for operands in [Operands::Tf32, Operands::F16, Operands::Bf16] {
        for terms in [16, 4096] {
            let judged = dot_products(terms, 40, operands, normal);
            assert!(judged.mismatches > 20, "{terms} terms: only {} of 40", judged.mismatches);
        }
        // Where nothing cancels, rounding averages out over a long sum, and only short ones show it.
        let judged = dot_products(16, 200, operands, offset);
        assert!(judged.mismatches > 100, "{} of 200 sums that do not cancel", judged.mismatches);
    }
}

#[test]
fn elementwise_work_in_half_precision_is_told_apart() {
    let mut x = vec![0.0f32; 10_000];
    for seed in 0..6 {
        Values::mix().fill(&mut x, seed, 0);
        let y: Vec<f32> = x.iter().map(|x| 2.5 * x).collect();
        for operands in [Operands::Tf32, Operands::F16, Operands::Bf16] {
            let low: Vec<f32> = x.iter().map(|x| 2.5 * operands.round(*x)).collect();
            assert!(judged(&y, &low).mismatches > 0, "seed {seed}");
        }
        assert_eq!(judged(&y, &y.clone()).mismatches, 0);
    }
}

#[test]
fn an_f16_result_may_be_rounded_differently_and_bf16_may_not_take_its_place() {
    let mut x = vec![0.0f32; 10_000];
    normal().fill(&mut x, 5, 0);
    let exact: Vec<f16> = x.iter().map(|x| f16::from_f32(*x)).collect();
    let next: Vec<f16> = exact.iter().map(|x| f16::from_bits(x.to_bits() + 1)).collect();
    assert_eq!(judged(&exact, &next).mismatches, 0);
    let low: Vec<f16> = x.iter().map(|x| f16::from_f32(bf16::from_f32(*x).to_f32())).collect();
    assert!(judged(&exact, &low).mismatches > 100);
}

#[test]
fn an_f64_result_may_not_come_from_f32() {
    let x: Vec<f64> = (1..1000).map(|x| 1.0 / f64::from(x)).collect();
    let low: Vec<f64> = x.iter().map(|x| f64::from(*x as f32)).collect();
    assert!(judged(&x, &low).mismatches > 100);
    let other: Vec<f64> = x.iter().map(|x| x * (1.0 + 1e-14)).collect();
    assert_eq!(judged(&x, &other).mismatches, 0);
}

#[test]
fn integers_are_exact_to_the_last_bit() {
    let reference = [i64::MAX, i64::MIN, -1, 0];
    assert_eq!(judged(&reference, &reference).mismatches, 0);
    let judged = judged(&reference, &[i64::MAX - 1, i64::MIN, -1, 0]);
    assert_eq!((judged.mismatches, judged.first[0].got.as_str()), (1, "9223372036854775806"));
}

#[test]
fn an_integer_that_looks_like_poison_may_be_right() {
    assert_eq!(judged(&[-1i32, 5], &[-1, 5]).untouched, 0);
    assert_eq!(judged(&[7i32, 5], &[-1, 5]).untouched, 1);
}

#[test]
fn infinities_must_be_equal() {
    let (inf, nan) = (f32::INFINITY, f32::NAN);
    assert_eq!(judged(&[inf, -inf, 1.0], &[inf, -inf, 1.0]).mismatches, 0);
    assert_eq!(judged(&[inf, -inf, 1.0], &[-inf, 3e38, 1.0]).mismatches, 2);
    assert_eq!(judged(&[1.0, 1.0], &[inf, nan]).mismatches, 2);
    assert_eq!(
        judged(&[inf, 1.0], &[inf, 1.001]).mismatches,
        1,
        "an infinity does not widen the scale of others"
    );
}

#[test]
fn near_the_largest_value_the_scale_stays_finite() {
    let reference = [f64::MAX / 2.0, f64::MAX / 3.0];
    assert_eq!(judged(&reference, &[f64::MAX / 2.0, f64::MAX / 4.0]).mismatches, 1);
}

#[test]
fn what_a_lazy_kernel_writes_is_no_match() {
    let mut x = vec![0.0f32; 4096];
    for seed in 0..6 {
        Values::mix().fill(&mut x, seed, 0);
        let mean = x.iter().sum::<f32>() / 4096.0;
        for constant in [0.0, 1.0, mean] {
            assert!(judged(&x, &[constant; 4096]).mismatches > 0, "seed {seed}, {constant} everywhere");
        }
    }
}

#[test]
fn a_sum_that_cancels_may_be_given_the_scale_of_its_terms() {
    let filled = |least_scale| Filled {
        values: AlignedBytes::copied(bytemuck::bytes_of(&1e-3f32)),
        written: true,
        least_scale,
    };
    let got = 1e-3f32 + 1e-6;
    for (least_scale, mismatches) in [(0.0, 1), (1000.0, 0)] {
        let expected = Expected::new(&info::<f32>(1), filled(least_scale)).unwrap();
        assert_eq!(
            compare(&info::<f32>(1), &expected, bytemuck::bytes_of(&got), None).mismatches,
            mismatches
        );
    }
}

proptest! {
    /// The rule itself, element by element.
    #[test]
    fn an_element_is_wrong_exactly_beyond_its_tolerance(
        reference in prop::collection::vec(-1e3f32..1e3, 1..200),
        noise in prop::collection::vec(-1e-1f32..1e-1, 200),
    ) {
        let got: Vec<f32> = reference.iter().zip(&noise).map(|(r, n)| r + n).collect();
        let tolerance = Tolerance { rtol: 1e-4, atol: 1e-3 };
        let judged = compare(
            &info::<f32>(got.len()),
            &expected(&reference),
            bytemuck::cast_slice(&got),
            Some(tolerance),
        );
        let squares: f64 = reference.iter().map(|r| f64::from(*r).powi(2)).sum();
        let rms = (squares / reference.len() as f64).sqrt();
        let close = |(r, g): (&f32, &f32)| {
            let bound = 1e-3 + 1e-4 * f64::from(r.abs()).max(rms);
            ((f64::from(*r) - f64::from(*g)).abs() - bound) / bound
        };
        let margins: Vec<f64> = reference.iter().zip(&got).map(close).collect();
        // The root mean square is summed in another order here.
        prop_assume!(margins.iter().all(|margin| margin.abs() > 1e-9));
        prop_assert_eq!(judged.mismatches, margins.iter().filter(|margin| **margin > 0.0).count() as u64);
    }
}
