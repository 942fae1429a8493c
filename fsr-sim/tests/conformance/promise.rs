//! What the PTX manual promises of a form's result: every bit, or a distance from the exact value.

use crate::form::{Form, Type};

/// A distance, with the unit that the manual states it in.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Bound {
    /// Units in the last place of the exact value.
    Ulp(f64),
    /// Two to this power, relative to the exact value.
    Relative(f64),
    /// Two to this power.
    Absolute(f64),
}

impl std::fmt::Display for Bound {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Bound::Ulp(n) => write!(f, "{n} ulp"),
            Bound::Relative(n) => write!(f, "2^{n} rel"),
            Bound::Absolute(n) => write!(f, "2^{n} abs"),
        }
    }
}

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
    let (least, wide) = if form.result == Type("f64") {
        (f64::MIN_POSITIVE, true)
    } else {
        (f64::from(f32::MIN_POSITIVE), false)
    };
    let value = |bits: u64| {
        let v = if wide { f64::from_bits(bits) } else { f64::from(f32::from_bits(bits as u32)) };
        if flush && v.abs() < least { 0f64.copysign(v) } else { v }
    };
    // The gross approximations of double precision look at the upper half of their source.
    let x = value(if wide && flush { inputs[0] >> 32 << 32 } else { inputs[0] });
    let operation = name.split('.').next().unwrap();
    let near = |case: &str, exact: f64, bound: Bound| {
        let case = format!("{operation}{}{case}", if name.contains(".full") { ".full" } else { ".approx" });
        Promise::Near { case: if wide { format!("{case}.f64") } else { case }, exact, bound }
    };
    let promise = match operation {
        "rcp" if wide => near("", 1.0 / x, Bound::Relative(-20.0)),
        "rsqrt" if wide && flush => near(" (ftz)", 1.0 / x.sqrt(), Bound::Relative(-20.0)),
        "rsqrt" if wide => near("", 1.0 / x.sqrt(), Bound::Ulp(2.0)),
        "rcp" => near("", 1.0 / x, Bound::Ulp(1.0)),
        "sqrt" => near("", x.sqrt(), Bound::Relative(-23.0)),
        "rsqrt" => near("", 1.0 / x.sqrt(), Bound::Relative(-22.9)),
        "ex2" => near("", x.exp2(), Bound::Ulp(2.0)),
        "lg2" if x > 0.5 && x < 2.0 => near(" in (1/2, 2)", x.log2(), Bound::Absolute(-22.0)),
        "lg2" => near("", x.log2(), Bound::Relative(-22.0)),
        "tanh" => near("", x.tanh(), Bound::Relative(-11.0)),
        "sin" | "cos" => {
            let exact = if operation == "sin" { x.sin() } else { x.cos() };
            let turns = x.abs() / std::f64::consts::TAU;
            if turns <= 1.0 {
                near(" within 2 pi", exact, Bound::Absolute(-20.5))
            } else if turns <= 50.0 {
                near(" within 100 pi", exact, Bound::Absolute(-14.7))
            } else if x.is_finite() {
                Promise::Open("sin.approx and cos.approx beyond 100 pi")
            } else {
                near(" within 2 pi", f64::NAN, Bound::Absolute(-20.5))
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
            near("", exact, Bound::Ulp(2.0))
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

/// The distance of a result from the exact value, in the bound's own unit: ulp, or a plain number.
pub fn distance(ty: Type, bits: u64, exact: f64, bound: Bound) -> f64 {
    let got = if ty == Type("f64") { f64::from_bits(bits) } else { f64::from(f32::from_bits(bits as u32)) };
    if exact.is_nan() || got.is_nan() {
        return if exact.is_nan() && got.is_nan() { 0.0 } else { f64::INFINITY };
    }
    let (digits, least, most) =
        if ty == Type("f64") { (52, -1074, f64::MAX) } else { (23, -149, f64::from(f32::MAX)) };
    // What is too large for the format may be the largest number or infinity.
    let clamp = |v: f64| v.clamp(-most, most);
    let error = (clamp(got) - clamp(exact)).abs();
    match bound {
        Bound::Absolute(_) => error,
        _ if error == 0.0 => 0.0,
        Bound::Relative(_) => {
            // Below the normal range, half a unit of the grid is as near as can be.
            let grid = 2f64.powi(least - 1);
            (error - if exact.abs() < 2f64.powi(least + digits) { grid } else { 0.0 }).max(0.0) / exact.abs()
        }
        Bound::Ulp(_) => error / 2f64.powi(((exact.abs().log2().floor() as i32) - digits).max(least)),
    }
}

impl Bound {
    /// Whether a distance keeps the bound.
    pub fn keeps(self, distance: f64) -> bool {
        match self {
            Bound::Ulp(n) => distance <= n,
            Bound::Relative(n) | Bound::Absolute(n) => distance <= n.exp2(),
        }
    }

    /// A distance in this bound's unit.
    pub fn show(self, distance: f64) -> String {
        match self {
            _ if distance == 0.0 => "0".into(),
            Bound::Ulp(_) => format!("{distance:.2} ulp"),
            Bound::Relative(_) | Bound::Absolute(_) => format!("2^{:.1}", distance.log2()),
        }
    }
}
