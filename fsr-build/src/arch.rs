//! Targets and versions of NVIDIA's tools: what a piece of PTX was made for and where it loads.
//!
//! Owns the spelling (`sm_90a`, `12.8`) and the rules of compatibility. Never says which targets a compiler
//! knows: that is the compiler's own answer, so that a newer toolkit needs no newer table here.

use std::fmt;
use std::str::FromStr;

/// Why a word is no architecture or version: the reason, and the spelling that was probably meant.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Malformed {
    reason: String,
    suggestion: Option<String>,
}

impl Malformed {
    fn new(reason: impl Into<String>, suggestion: Option<String>) -> Self {
        Malformed { reason: reason.into(), suggestion }
    }

    /// What is wrong with it, without the suggestion.
    pub fn reason(&self) -> &str {
        &self.reason
    }

    /// The spelling that was probably meant.
    pub fn suggestion(&self) -> Option<&str> {
        self.suggestion.as_deref()
    }
}

impl fmt::Display for Malformed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.reason)?;
        match &self.suggestion {
            Some(suggestion) => write!(f, "; did you mean `{suggestion}`?"),
            None => Ok(()),
        }
    }
}

impl std::error::Error for Malformed {}

/// The compute capability of a device or target, such as 9.0.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ComputeCapability {
    /// The generation.
    pub major: u32,
    /// The step within the generation, 0 to 9.
    pub minor: u32,
}

impl fmt::Display for ComputeCapability {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.major, self.minor)
    }
}

impl FromStr for ComputeCapability {
    type Err = Malformed;

    fn from_str(text: &str) -> Result<Self, Malformed> {
        match major_minor(text) {
            Some((major, minor)) if minor <= 9 => Ok(ComputeCapability { major, minor }),
            _ => Err(Malformed::new(format!("`{text}` is no compute capability such as `9.0`"), None)),
        }
    }
}

/// On which devices PTX of a target loads.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Reach {
    /// On its own compute capability and every later one (`sm_90`).
    Forward,
    /// On later devices of the same family only (`sm_100f`).
    Family,
    /// On exactly its own compute capability (`sm_90a`).
    Exact,
}

/// A target of stored PTX: `sm_80`, `sm_90a`, `sm_100f`.
///
/// Ordered by compute capability, then from the widest reach to the narrowest: of the targets that load on a
/// device, the greatest is the best.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Arch {
    capability: ComputeCapability,
    reach: Reach,
}

impl Arch {
    /// The target for a compute capability with the given reach.
    pub fn new(capability: ComputeCapability, reach: Reach) -> Self {
        Arch { capability, reach }
    }

    /// The compute capability that the target is made for.
    pub fn capability(self) -> ComputeCapability {
        self.capability
    }

    /// Where PTX of this target loads.
    pub fn reach(self) -> Reach {
        self.reach
    }

    /// Whether this is an `a` target, which loads on exactly one compute capability.
    pub fn is_arch_specific(self) -> bool {
        self.reach == Reach::Exact
    }

    /// Whether this is an `f` target, which loads within its family only.
    pub fn is_family_specific(self) -> bool {
        self.reach == Reach::Family
    }

    /// Whether PTX of this target loads on a device (PTX ISA manual, `.target`).
    pub fn loads_on(self, device: ComputeCapability) -> bool {
        // 10.1 is a family of its own: CUDA 13 renamed it to 11.0.
        let alone = ComputeCapability { major: 10, minor: 1 };
        match self.reach {
            Reach::Forward => device >= self.capability,
            Reach::Exact => device == self.capability,
            Reach::Family => {
                device == self.capability
                    || (device.major == self.capability.major
                        && device.minor > self.capability.minor
                        && device != alone
                        && self.capability != alone)
            }
        }
    }

    /// The virtual architecture that the compiler is asked for: `compute_90a`.
    pub fn virtual_name(self) -> String {
        self.to_string().replacen("sm_", "compute_", 1)
    }
}

impl fmt::Display for Arch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let suffix = match self.reach {
            Reach::Forward => "",
            Reach::Family => "f",
            Reach::Exact => "a",
        };
        write!(f, "sm_{}{}{suffix}", self.capability.major, self.capability.minor)
    }
}

impl FromStr for Arch {
    type Err = Malformed;

    fn from_str(text: &str) -> Result<Self, Malformed> {
        let malformed =
            || Malformed::new(format!("`{text}` is no architecture such as `sm_90`"), nearest_arch(text));
        let rest = text.strip_prefix("sm_").ok_or_else(malformed)?;
        let (digits, reach) = match rest.as_bytes().last() {
            Some(b'a') => (&rest[..rest.len() - 1], Reach::Exact),
            Some(b'f') => (&rest[..rest.len() - 1], Reach::Family),
            _ => (rest, Reach::Forward),
        };
        if !(2..=3).contains(&digits.len())
            || digits.starts_with('0')
            || !digits.bytes().all(|byte| byte.is_ascii_digit())
        {
            return Err(malformed());
        }
        let number: u32 = digits.parse().map_err(|_| malformed())?;
        let capability = ComputeCapability { major: number / 10, minor: number % 10 };
        let since = match reach {
            Reach::Forward => 0,
            Reach::Exact => 90,
            Reach::Family => 100,
        };
        if number < since {
            let letter = &rest[rest.len() - 1..];
            return Err(Malformed::new(
                format!("`{text}` does not exist: targets with `{letter}` begin with `sm_{since}{letter}`"),
                Some(format!("sm_{number}")),
            ));
        }
        Ok(Arch { capability, reach })
    }
}

/// `compute_90a`, `sm90`, `SM_90`, `90` and `9.0` all mean `sm_90`, with its letter.
fn nearest_arch(text: &str) -> Option<String> {
    let lower = text.to_ascii_lowercase();
    let rest =
        lower.trim_start_matches("compute").trim_start_matches("sm").trim_start_matches(['_', '-', ' ']);
    let plain = format!("sm_{}", rest.replace('.', ""));
    (plain != text && Arch::from_str(&plain).is_ok()).then_some(plain)
}

/// A version of the CUDA toolkit, or of the driver in the same counting, such as 12.8.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct CudaVersion {
    /// The major version.
    pub major: u32,
    /// The minor version.
    pub minor: u32,
}

impl CudaVersion {
    /// From what `cuDriverGetVersion` reports: 12080 is 12.8.
    pub fn from_driver_number(number: u32) -> Self {
        CudaVersion { major: number / 1000, minor: number % 1000 / 10 }
    }

    /// As `cuDriverGetVersion` reports it: 12.8 is 12080.
    pub fn driver_number(self) -> u32 {
        self.major.saturating_mul(1000).saturating_add(self.minor.saturating_mul(10))
    }
}

impl fmt::Display for CudaVersion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.major, self.minor)
    }
}

impl FromStr for CudaVersion {
    type Err = Malformed;

    fn from_str(text: &str) -> Result<Self, Malformed> {
        if let Some((major, minor)) = major_minor(text) {
            return Ok(CudaVersion { major, minor });
        }
        // `12.8.1` pins more than decides the PTX: the full version is recorded in the manifest.
        let mut parts = text.split('.');
        let suggestion = match (parts.next(), parts.next()) {
            (Some(major), Some(minor)) => Some(format!("{major}.{minor}")),
            _ => None,
        }
        .filter(|short| major_minor(short).is_some());
        Err(Malformed::new(
            format!("`{text}` is no version of the form `major.minor`, such as `12.8`"),
            suggestion,
        ))
    }
}

/// The version of the PTX instruction set that a module states in its `.version` line, such as 8.7.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PtxIsa {
    /// The major version.
    pub major: u32,
    /// The minor version.
    pub minor: u32,
}

impl PtxIsa {
    /// The CUDA version whose driver was the first to load this PTX: PTX ISA manual, release notes; from 7.8 on also what
    /// the NVRTC of each version from 11.8 to 13.5 writes.
    ///
    /// `None` for a version that this table does not know: newer than it, or older than PTX 6.0.
    pub fn first_cuda(self) -> Option<CudaVersion> {
        let (major, minor) = match (self.major, self.minor) {
            (6, 0) => (9, 0),
            (6, 1) => (9, 1),
            (6, 2) => (9, 2),
            (6, 3) => (10, 0),
            (6, 4) => (10, 1),
            (6, 5) => (10, 2),
            (7, minor @ 0..=8) => (11, minor),
            (8, minor @ 0..=5) => (12, minor),
            (8, minor @ 6..=8) => (12, minor + 1),
            (9, minor @ 0..=5) => (13, minor),
            _ => return None,
        };
        Some(CudaVersion { major, minor })
    }
}

impl fmt::Display for PtxIsa {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.major, self.minor)
    }
}

impl FromStr for PtxIsa {
    type Err = Malformed;

    fn from_str(text: &str) -> Result<Self, Malformed> {
        let (major, minor) = major_minor(text)
            .ok_or_else(|| Malformed::new(format!("`{text}` is no PTX version such as `8.7`"), None))?;
        Ok(PtxIsa { major, minor })
    }
}

/// Two plain decimal numbers with a point between: no sign, no leading zero, no blank.
fn major_minor(text: &str) -> Option<(u32, u32)> {
    let (major, minor) = text.split_once('.')?;
    Some((plain_number(major)?, plain_number(minor)?))
}

fn plain_number(text: &str) -> Option<u32> {
    let plain = text.bytes().all(|byte| byte.is_ascii_digit())
        && (1..=4).contains(&text.len())
        && (text == "0" || !text.starts_with('0'));
    plain.then(|| text.parse().ok()).flatten()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn arch(text: &str) -> Arch {
        text.parse().unwrap()
    }

    fn device(text: &str) -> ComputeCapability {
        text.parse().unwrap()
    }

    #[test]
    fn architectures_are_read_and_written_alike() {
        for text in ["sm_50", "sm_75", "sm_80", "sm_90", "sm_90a", "sm_100", "sm_100a", "sm_100f", "sm_121f"]
        {
            assert_eq!(arch(text).to_string(), text);
        }
        assert_eq!(arch("sm_103").capability(), ComputeCapability { major: 10, minor: 3 });
        assert_eq!(arch("sm_90a").virtual_name(), "compute_90a");
    }

    #[test]
    fn a_wrong_spelling_names_the_right_one() {
        for (wrong, right) in [
            ("compute_90a", Some("sm_90a")),
            ("sm90", Some("sm_90")),
            ("SM_80", Some("sm_80")),
            ("9.0", Some("sm_90")),
            ("80", Some("sm_80")),
            ("sm_80a", Some("sm_80")),
            ("sm_90f", Some("sm_90")),
            ("hopper", None),
            ("sm_", None),
            ("sm_9", None),
            ("sm_090", None),
            ("sm_+9", None),
            ("sm_é", None),
            ("", None),
        ] {
            let error = wrong.parse::<Arch>().unwrap_err();
            assert_eq!(error.suggestion(), right, "{wrong}");
        }
    }

    #[test]
    fn portable_ptx_loads_on_later_devices() {
        assert!(arch("sm_80").loads_on(device("8.0")));
        assert!(arch("sm_80").loads_on(device("12.0")));
        assert!(!arch("sm_80").loads_on(device("7.5")));
    }

    #[test]
    fn an_exact_target_loads_on_no_other_chip() {
        assert!(arch("sm_90a").loads_on(device("9.0")));
        assert!(!arch("sm_90a").loads_on(device("10.0")));
        assert!(!arch("sm_90a").loads_on(device("8.9")));
    }

    #[test]
    fn a_family_target_stays_in_its_family() {
        assert!(arch("sm_100f").loads_on(device("10.0")));
        assert!(arch("sm_100f").loads_on(device("10.3")));
        assert!(!arch("sm_100f").loads_on(device("10.1")));
        assert!(!arch("sm_101f").loads_on(device("10.3")));
        assert!(arch("sm_120f").loads_on(device("12.1")));
        assert!(!arch("sm_121f").loads_on(device("12.0")));
        assert!(!arch("sm_100f").loads_on(device("12.0")));
    }

    #[test]
    fn the_greatest_loadable_target_is_the_best() {
        let mut archs = ["sm_90a", "sm_80", "sm_100f", "sm_90", "sm_100a", "sm_100"].map(arch);
        archs.sort();
        let names = archs.map(|arch| arch.to_string());
        assert_eq!(names, ["sm_80", "sm_90", "sm_90a", "sm_100", "sm_100f", "sm_100a"]);
    }

    #[test]
    fn a_version_has_two_numbers() {
        assert_eq!("12.8".parse(), Ok(CudaVersion { major: 12, minor: 8 }));
        assert_eq!("12.8.1".parse::<CudaVersion>().unwrap_err().suggestion(), Some("12.8"));
        for wrong in ["12", "12.", ".8", "12.08", "+12.8", "12.8 ", "v12.8", "99999.0"] {
            assert!(wrong.parse::<CudaVersion>().is_err(), "{wrong}");
        }
        assert_eq!(CudaVersion::from_driver_number(12080), CudaVersion { major: 12, minor: 8 });
        assert_eq!(CudaVersion { major: 13, minor: 0 }.driver_number(), 13000);
    }

    #[test]
    fn a_ptx_version_knows_its_first_driver_or_says_nothing() {
        let first = |text: &str| text.parse::<PtxIsa>().unwrap().first_cuda().map(|cuda| cuda.to_string());
        assert_eq!(first("8.7").as_deref(), Some("12.8"));
        assert_eq!(first("7.8").as_deref(), Some("11.8"));
        assert_eq!(first("8.5").as_deref(), Some("12.5"));
        assert_eq!(first("8.6").as_deref(), Some("12.7"));
        assert_eq!(first("9.0").as_deref(), Some("13.0"));
        assert_eq!(first("9.5").as_deref(), Some("13.5"));
        assert_eq!(first("99.0"), None);
    }
}
