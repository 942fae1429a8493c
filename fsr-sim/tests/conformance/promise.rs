//! What the PTX manual promises of a form's result: every bit, or a distance from the exact value.

use crate::bounds::{Bound, bound};
use crate::form::{Form, Type};

/// What is promised of one result.
#[derive(Clone, Debug, PartialEq)]
pub enum Promise {
    /// Every bit.
    Bits,
    /// A value near the exact one; `case` names the row of the table.
    Near { case: String, exact: f64, bound: Bound },
    /// Nothing: the reason.
    Open(&'static str),
}

/// The promise for one set of input bits, given what hardware answered.
pub fn promise(form: &Form, inputs: &[u64], hardware: u64) -> Promise {
    let name = form.instruction();
    if !name.contains(".approx") && !name.contains(".full") {
        // Single precision has one canonical NaN; of double precision the manual leaves sign and payload open.
        if form.result == Type("f64") && f64::from_bits(hardware).is_nan() {
            return Promise::Open("sign and payload of a NaN in double precision");
        }
        return Promise::Bits;
    }
    let flush = name.contains(".ftz");
    let format = Format::of(form.result);
    let wide = form.result == Type("f64");
    let least = format.least_normal();
    let value = |bits: u64| {
        let v = format.value(bits);
        if flush && v.abs() < least { 0f64.copysign(v) } else { v }
    };
    // The gross approximations of double precision look at the upper half of their source.
    let x = value(if wide && flush { inputs[0] >> 32 << 32 } else { inputs[0] });
    let operation = name.split('.').next().unwrap();
    let suffix = match form.result.0 {
        "f32" => String::new(),
        ty => format!(".{ty}"),
    };
    let kind = if name.contains(".full") { ".full" } else { ".approx" };
    let near = |range: &str, exact: f64| {
        let case = format!("{operation}{kind}{range}{suffix}");
        Promise::Near { bound: bound(&case), case, exact }
    };
    let promise = match operation {
        "rcp" => near("", 1.0 / x),
        "rsqrt" if wide && flush => near(" (ftz)", 1.0 / x.sqrt()),
        "rsqrt" => near("", 1.0 / x.sqrt()),
        "sqrt" => near("", x.sqrt()),
        "ex2" => near("", x.exp2()),
        "lg2" if x > 0.5 && x < 2.0 => near(" in (1/2, 2)", x.log2()),
        "lg2" => near("", x.log2()),
        "tanh" => near("", x.tanh()),
        "sin" | "cos" => {
            let exact = if operation == "sin" { x.sin() } else { x.cos() };
            let turns = x.abs() / std::f64::consts::TAU;
            if turns <= 1.0 {
                near(" within 2 pi", exact)
            } else if turns <= 50.0 {
                near(" within 100 pi", exact)
            } else if x.is_finite() {
                Promise::Open("sin.approx and cos.approx beyond 100 pi")
            } else {
                near(" within 2 pi", f64::NAN)
            }
        }
        "div" => {
            let y = value(inputs[1]);
            let huge = y.is_finite() && y.abs() > 2f64.powi(126);
            let exact = match name.contains(".approx") && huge {
                true if x.is_infinite() => f64::NAN,
                true => 0.0 * x * y.signum(),
                false => x / y,
            };
            near("", exact)
        }
        _ => panic!("{name} promises nothing"),
    };
    match promise {
        // A quotient on either side of the least normal number may be flushed.
        Promise::Near { exact, .. } if flush && exact != 0.0 && exact.abs() < least * (1.0 + 1e-6) => {
            Promise::Open("results that .ftz may flush")
        }
        other => other,
    }
}

/// A binary format: digits after the point, the power of two of its finest grid, its largest number.
struct Format {
    ty: Type,
    digits: i32,
    least: i32,
    most: f64,
}

impl Format {
    fn of(ty: Type) -> Format {
        let (digits, least, most) = match ty.0 {
            "f64" => (52, -1074, f64::MAX),
            "f32" => (23, -149, f64::from(f32::MAX)),
            "f16" => (10, -24, half::f16::MAX.to_f64()),
            "bf16" => (7, -133, half::bf16::MAX.to_f64()),
            other => panic!("no numbers of {other}"),
        };
        Format { ty, digits, least, most }
    }

    fn least_normal(&self) -> f64 {
        2f64.powi(self.least + self.digits)
    }

    fn value(&self, bits: u64) -> f64 {
        match self.ty.0 {
            "f64" => f64::from_bits(bits),
            "f32" => f64::from(f32::from_bits(bits as u32)),
            "f16" => half::f16::from_bits(bits as u16).to_f64(),
            _ => half::bf16::from_bits(bits as u16).to_f64(),
        }
    }
}

/// The distance of a result from the exact value, in the bound's own unit: ulp, or a plain number.
pub fn distance(ty: Type, bits: u64, exact: f64, bound: Bound) -> f64 {
    let format = Format::of(ty);
    let got = format.value(bits);
    if exact.is_nan() || got.is_nan() {
        return if exact.is_nan() && got.is_nan() { 0.0 } else { f64::INFINITY };
    }
    // What is too large for the format may be the largest number or infinity.
    let clamp = |v: f64| v.clamp(-format.most, format.most);
    let error = (clamp(got) - clamp(exact)).abs();
    match bound {
        Bound::Absolute(_) => error,
        _ if error == 0.0 => 0.0,
        Bound::Relative(_) => {
            // Below the normal range, half a unit of the grid is as near as can be.
            let grid = if exact.abs() < format.least_normal() { 2f64.powi(format.least - 1) } else { 0.0 };
            (error - grid).max(0.0) / exact.abs()
        }
        Bound::Ulp(_) => {
            error / 2f64.powi(((exact.abs().log2().floor() as i32) - format.digits).max(format.least))
        }
    }
}
