//! The two readings of a prompt, and how figures are written in it.

use super::quote;

/// Which reading is rendered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum View {
    /// The prompt as it is asked.
    Full,
    /// What of it is the same on every machine: measurements, device facts and the judge's evidence are placeholders.
    Canonical,
}

impl View {
    /// A measurement, or what was chosen or concluded by measurements.
    pub fn measured(self, text: impl FnOnce() -> String) -> String {
        self.pick(text, "<measured>")
    }

    /// A fact of the device.
    pub fn device(self, text: impl FnOnce() -> String) -> String {
        self.pick(text, "<device>")
    }

    /// What the judge or the driver found.
    pub fn evidence(self, text: impl FnOnce() -> String) -> String {
        self.pick(text, "<evidence>")
    }

    fn pick(self, text: impl FnOnce() -> String, placeholder: &str) -> String {
        match self {
            Self::Full => text(),
            Self::Canonical => placeholder.to_owned(),
        }
    }
}

/// Nanoseconds in a unit that suits them, four digits.
pub fn time(nanos: f64) -> String {
    let (value, unit) = match nanos {
        nanos if nanos < 1e3 => (nanos, "ns"),
        nanos if nanos < 1e6 => (nanos / 1e3, "us"),
        nanos if nanos < 1e9 => (nanos / 1e6, "ms"),
        nanos => (nanos / 1e9, "s"),
    };
    format!("{} {unit}", digits(value))
}

/// Bytes in binary units.
pub fn bytes(bytes: u64) -> String {
    const UNITS: [&str; 5] = ["bytes", "KiB", "MiB", "GiB", "TiB"];
    let mut value = bytes as f64;
    let mut unit = 0;
    while value >= 1024.0 && unit + 1 < UNITS.len() {
        value /= 1024.0;
        unit += 1;
    }
    if unit == 0 { format!("{bytes} bytes") } else { format!("{} {}", digits(value), UNITS[unit]) }
}

/// Something per second, from a rate in units a second.
pub fn rate(per_second: f64, unit: &str) -> String {
    let (value, prefix) = match per_second {
        rate if rate < 1e9 => (rate / 1e6, "M"),
        rate if rate < 1e12 => (rate / 1e9, "G"),
        rate => (rate / 1e12, "T"),
    };
    format!("{} {prefix}{unit}/s", digits(value))
}

/// How many times faster: `1.31x as fast`.
pub fn factor(speedup: f64) -> String {
    format!("{}x as fast", digits(speedup))
}

fn digits(value: f64) -> String {
    let decimals = match value {
        value if value >= 1000.0 => 0,
        value if value >= 100.0 => 1,
        value if value >= 10.0 => 2,
        _ => 3,
    };
    let text = format!("{value:.decimals$}");
    if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.').to_owned() } else { text }
}

/// A line from elsewhere, as inline code, not too long.
pub fn line(text: &str) -> String {
    let short: String = text.chars().take(200).collect();
    quote::quoted(&short)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_have_four_digits_and_a_unit() {
        assert_eq!(time(12_345.6), "12.35 us");
        assert_eq!(time(999.0), "999 ns");
        assert_eq!(time(1_500_000.0), "1.5 ms");
        assert_eq!(bytes(1000), "1000 bytes");
        assert_eq!(bytes(50 << 20), "50 MiB");
        assert_eq!(rate(4.023e12, "B"), "4.023 TB/s");
        assert_eq!(rate(812.3e9, "B"), "812.3 GB/s");
        assert_eq!(factor(1.3149), "1.315x as fast");
    }
}
