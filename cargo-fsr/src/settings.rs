//! How far, how wide and on which course to search.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::brief::as_text;

/// The settings of a search.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Settings {
    /// Candidates a round (N of the paper); at least 1.
    pub candidates: u32,
    /// Rounds (the depth of the paper); at least 1.
    pub rounds: u32,
    /// From which kernels a round goes on.
    #[serde(default, skip_serializing_if = "Strategy::is_default", with = "as_text")]
    pub strategy: Strategy,
    /// Ends the search after so many rounds in a row without a new best; `None` runs all rounds.
    pub patience: Option<u32>,
    /// Ends the search with a kernel that is fast enough; `None` runs all rounds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub target: Option<Target>,
    /// Decides which direction each slot is pointed at, and nothing else.
    pub seed: u64,
    /// Most combinations of tunables tried for one candidate.
    pub max_combinations: u32,
    /// Size of a prompt, in bytes, at which the history is trimmed.
    pub prompt_bytes: usize,
    /// Largest source of a candidate, in bytes.
    pub source_bytes: usize,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            candidates: 4,
            rounds: 5,
            strategy: Strategy::Fsr,
            patience: None,
            target: None,
            seed: 0,
            max_combinations: 64,
            prompt_bytes: 96 * 1024,
            source_bytes: 128 * 1024,
        }
    }
}

/// From which kernels a round goes on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Strategy {
    /// The paper's: every slot goes on from the best kernel.
    #[default]
    Fsr,
    /// The slots go on from the best few kernels in turn.
    Beam {
        /// How many kernels.
        width: u32,
    },
    /// The slots are divided into groups, each of which goes on from its own best kernel; now and then a group looks at
    /// its neighbour's.
    Islands {
        /// How many groups.
        count: u32,
    },
}

impl Strategy {
    /// Kernels or groups where none are given.
    const FEW: u32 = 2;

    fn is_default(&self) -> bool {
        *self == Self::default()
    }

    /// Candidates that a round must have for every kernel or group to have a slot.
    pub fn least_candidates(self) -> u32 {
        match self {
            Self::Fsr => 1,
            Self::Beam { width: few } | Self::Islands { count: few } => few,
        }
    }
}

impl fmt::Display for Strategy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Fsr => f.write_str("fsr"),
            Self::Beam { width } => write!(f, "beam:{width}"),
            Self::Islands { count } => write!(f, "islands:{count}"),
        }
    }
}

impl FromStr for Strategy {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (name, few) = match text.split_once(':') {
            None => (text, Self::FEW),
            Some((name, few)) => match few.parse() {
                Ok(few @ 2..=64) if name != "fsr" => (name, few),
                _ => return Err("the number after `beam:` or `islands:` is 2 to 64".to_owned()),
            },
        };
        match name {
            "fsr" => Ok(Self::Fsr),
            "beam" => Ok(Self::Beam { width: few }),
            "islands" => Ok(Self::Islands { count: few }),
            _ => Err("strategies are `fsr`, `beam`, `beam:3`, `islands` and `islands:3`".to_owned()),
        }
    }
}

/// How fast is fast enough.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Target {
    /// So many times as fast as the baseline.
    Speedup(f64),
    /// This share of what the device's memory allows, in every timed case for which that is known.
    Roofline(f64),
}

/// Both numbers are finite, and so equal to themselves.
impl Eq for Target {}

impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Speedup(times) => write!(f, "{times}x"),
            Self::Roofline(share) => write!(f, "{share}-roofline"),
        }
    }
}

impl FromStr for Target {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let number = |text: &str| text.parse::<f64>().ok().filter(|number| number.is_finite());
        let target = match (text.strip_suffix('x'), text.strip_suffix("-roofline")) {
            (Some(times), _) => number(times).filter(|times| *times > 1.0).map(Self::Speedup),
            (_, Some(share)) => {
                number(share).filter(|share| *share > 0.0 && *share <= 1.0).map(Self::Roofline)
            }
            (None, None) => None,
        };
        target.ok_or_else(|| {
            "targets are `2x`, twice as fast as the baseline, or `0.9-roofline`, nine tenths of what memory allows"
                .to_owned()
        })
    }
}

impl Serialize for Target {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Target {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        as_text::deserialize(deserializer)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn strategies_and_targets_read_as_they_are_written() {
        for text in ["fsr", "beam:2", "beam:64", "islands:3"] {
            assert_eq!(text.parse::<Strategy>().unwrap().to_string(), text);
        }
        assert_eq!("beam".parse(), Ok(Strategy::Beam { width: 2 }));
        assert_eq!("islands".parse(), Ok(Strategy::Islands { count: 2 }));
        for text in ["", "greedy", "fsr:2", "beam:", "beam:1", "beam:65", "beam:x", "islands:-2", "Beam"] {
            assert!(text.parse::<Strategy>().is_err(), "{text}");
        }
        for text in ["2x", "1.5x", "0.9-roofline", "1-roofline"] {
            assert_eq!(text.parse::<Target>().unwrap().to_string(), text);
        }
        for text in
            ["", "x", "2", "1x", "0.5x", "infx", "nanx", "0-roofline", "1.1-roofline", "roofline", "90%"]
        {
            assert!(text.parse::<Target>().is_err(), "{text}");
        }
    }

    /// Journals of earlier versions are read, and those of plain searches read by them.
    #[test]
    fn what_is_not_chosen_is_not_written() {
        let plain = serde_json::to_value(Settings::default()).unwrap();
        assert!(plain.get("strategy").is_none() && plain.get("target").is_none());
        assert_eq!(serde_json::from_value::<Settings>(plain).unwrap(), Settings::default());
        let chosen = Settings {
            strategy: Strategy::Beam { width: 3 },
            target: Some(Target::Speedup(2.5)),
            ..Settings::default()
        };
        let written = serde_json::to_value(&chosen).unwrap();
        assert_eq!((&written["strategy"], &written["target"]), (&"beam:3".into(), &"2.5x".into()));
        assert_eq!(serde_json::from_value::<Settings>(written).unwrap(), chosen);
    }
}
