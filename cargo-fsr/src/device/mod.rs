//! What executes: a GPU, or the CPU device that stands in for its driver.
//!
//! The choice is the user's, and which one it was is never hidden. The CPU device is a shared library that host
//! processes find as their CUDA driver; nothing of it runs in this process.

mod library;
mod profile;

use std::fmt;
use std::str::FromStr;

pub use library::{Driver, LibraryError, PACKAGE, Source, file_name, find, is_built};
pub use profile::shaped_like;

/// What `--device` asks for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DeviceChoice {
    /// The first GPU; the CPU device where there is none.
    Auto,
    /// A GPU.
    Cuda {
        /// As the driver counts them.
        ordinal: u32,
    },
    /// The CPU device.
    Sim {
        /// The GPU that it models: a name or the path of a profile; its own default when left out.
        profile: Option<String>,
    },
}

/// Text that names no device.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("there is no device `{0}`")]
pub struct UnknownDevice(String);

impl FromStr for DeviceChoice {
    type Err = UnknownDevice;

    fn from_str(text: &str) -> Result<Self, UnknownDevice> {
        let unknown = || UnknownDevice(text.to_owned());
        match text.split_once(':') {
            None => match text {
                "auto" => Ok(Self::Auto),
                "cuda" => Ok(Self::Cuda { ordinal: 0 }),
                "sim" => Ok(Self::Sim { profile: None }),
                _ => Err(unknown()),
            },
            Some(("cuda", ordinal)) => {
                ordinal.parse().map(|ordinal| Self::Cuda { ordinal }).map_err(|_| unknown())
            }
            Some(("sim", profile)) if !profile.is_empty() => {
                Ok(Self::Sim { profile: Some(profile.to_owned()) })
            }
            Some(_) => Err(unknown()),
        }
    }
}

impl fmt::Display for DeviceChoice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Auto => f.write_str("auto"),
            Self::Cuda { ordinal } => write!(f, "cuda:{ordinal}"),
            Self::Sim { profile: None } => f.write_str("sim"),
            Self::Sim { profile: Some(profile) } => write!(f, "sim:{profile}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn devices_are_named() {
        let named = |text: &str| text.parse::<DeviceChoice>().map(|choice| choice.to_string());
        assert_eq!(named("auto").as_deref(), Ok("auto"));
        assert_eq!(named("cuda").as_deref(), Ok("cuda:0"));
        assert_eq!(named("cuda:3").as_deref(), Ok("cuda:3"));
        assert_eq!(named("sim").as_deref(), Ok("sim"));
        assert_eq!(named("sim:rtx4090").as_deref(), Ok("sim:rtx4090"));
        for unknown in ["gpu", "cuda:", "cuda:x", "sim:", "auto:1", ""] {
            assert_eq!(named(unknown), Err(UnknownDevice(unknown.to_owned())));
        }
    }
}
