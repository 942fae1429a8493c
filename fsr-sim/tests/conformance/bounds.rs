//! The errors that the PTX manual allows approximations, in one table.

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

const FLOAT: &str = "Floating Point Instructions";
const HALF: &str = "Half Precision Floating Point Instructions";

/// Instruction and range, the manual's chapter, the bound. The section is named after the instruction; where a section
/// has no number of its own, the words beside it are what the manual says.
#[rustfmt::skip]
const BOUNDS: [(&str, &str, Bound); 20] = [
    ("cos.approx within 2 pi", FLOAT, Bound::Absolute(-20.5)),
    ("cos.approx within 100 pi", FLOAT, Bound::Absolute(-14.7)),
    ("div.approx", FLOAT, Bound::Ulp(2.0)),
    ("div.full", FLOAT, Bound::Ulp(2.0)),
    ("ex2.approx", FLOAT, Bound::Ulp(2.0)),
    ("ex2.approx.f16", HALF, Bound::Relative(-9.9)),
    ("ex2.approx.bf16", HALF, Bound::Relative(-7.0)),
    ("lg2.approx", FLOAT, Bound::Relative(-22.0)),
    ("lg2.approx in (1/2, 2)", FLOAT, Bound::Absolute(-22.0)),
    ("rcp.approx", FLOAT, Bound::Ulp(1.0)),
    ("rcp.approx.f64", FLOAT, Bound::Relative(-20.0)), // "gross approximation", of the upper 32 bits
    ("rsqrt.approx", FLOAT, Bound::Relative(-22.9)),
    ("rsqrt.approx.f64", FLOAT, Bound::Ulp(2.0)),
    ("rsqrt.approx (ftz).f64", FLOAT, Bound::Relative(-20.0)), // as for `rcp`
    ("sin.approx within 2 pi", FLOAT, Bound::Absolute(-20.5)),
    ("sin.approx within 100 pi", FLOAT, Bound::Absolute(-14.7)),
    ("sqrt.approx", FLOAT, Bound::Relative(-23.0)),
    ("tanh.approx", FLOAT, Bound::Relative(-11.0)),
    ("tanh.approx.f16", HALF, Bound::Absolute(-10.987)),
    ("tanh.approx.bf16", HALF, Bound::Absolute(-8.0)),
];

/// The bound of a row of the table.
pub fn bound(case: &str) -> Bound {
    BOUNDS.iter().find(|row| row.0 == case).unwrap_or_else(|| panic!("{case} promises nothing")).2
}

/// Where the manual states it: `Floating Point Instructions: ex2`.
pub fn section(case: &str) -> String {
    let row = BOUNDS.iter().find(|row| row.0 == case).unwrap();
    format!("{}: {}", row.1, case.split('.').next().unwrap())
}

/// Every row's name.
pub fn cases() -> impl Iterator<Item = &'static str> {
    BOUNDS.iter().map(|row| row.0)
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
