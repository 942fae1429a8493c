//! The command line of a host file that is started by hand.

use fsr_protocol::Tunables;

use super::{Stored, StoredFn};

pub(crate) const HELP: &str = "\
Validates and times one kernel on this machine's GPU.

Without --ptx it is the kernel that the crate embeds.

Options:
  --ptx FILE          PTX to run instead
  --entry NAME        a kernel of that PTX (repeatable; default: all of them)
  --set NAME=VALUE    a tunable or launch parameter (repeatable)
  --size N[,N..]      a size to time instead of the declared ones (repeatable)
  --device N          ordinal of the device [default: 0]
  --samples N         timed launches of each timed size [default: 20]
  --sets N            sets of inputs for each size [default: 3]
  --seed N            makes the same inputs again

Exit codes: 0 all sizes are right, 1 one is wrong or the kernel failed, 2 the command line or the host code is at fault,
3 there is no CUDA device.";

/// Why the command line leads nowhere.
#[derive(Debug, thiserror::Error, PartialEq)]
pub(crate) enum Usage {
    #[error("help")]
    Help,
    #[error("`{0}` is not understood; `--help` lists the options")]
    Unknown(String),
    #[error("`{option}` needs {what}")]
    Value { option: String, what: &'static str },
    #[error("cannot read {file}: {cause}")]
    File { file: String, cause: String },
    #[error("{0}; or give `--ptx FILE`")]
    NotStored(String),
    #[error("`--size {given}` gives {found} extents; the kernel has {}", dims.join(","))]
    Size { given: String, found: usize, dims: Vec<String> },
    #[error("this host file names no stored kernel: give `--ptx FILE`, or call `.stored(..)` in it")]
    NothingStored,
}

#[derive(Debug, PartialEq)]
pub(crate) struct Options {
    ptx: Option<String>,
    entries: Vec<String>,
    tunables: Tunables,
    pub(crate) device: u32,
    pub(crate) samples: u32,
    pub(crate) sets: u64,
    pub(crate) seed: Option<u64>,
    sizes: Vec<String>,
}

impl Options {
    pub(crate) fn parse(arguments: impl IntoIterator<Item = String>) -> Result<Self, Usage> {
        let mut options = Self {
            ptx: None,
            entries: Vec::new(),
            tunables: Tunables::new(),
            device: 0,
            samples: 20,
            sets: 3,
            seed: None,
            sizes: Vec::new(),
        };
        let mut arguments = arguments.into_iter();
        while let Some(argument) = arguments.next() {
            let (option, inline) = match argument.split_once('=') {
                Some((option, value)) if option.starts_with("--") => {
                    (option.to_owned(), Some(value.to_owned()))
                }
                _ => (argument.clone(), None),
            };
            let wrong = |what| Usage::Value { option: option.clone(), what };
            let mut value = |what| inline.clone().or_else(|| arguments.next()).ok_or_else(|| wrong(what));
            let number = "a whole number";
            match option.as_str() {
                "--help" | "-h" => return Err(Usage::Help),
                "--ptx" => options.ptx = Some(value("a file")?),
                "--entry" => options.entries.push(value("a name")?),
                "--set" => {
                    let what = "NAME=VALUE, the value a whole number";
                    let pair = value(what)?;
                    let (name, value) = pair.split_once('=').ok_or_else(|| wrong(what))?;
                    options.tunables.insert(name.to_owned(), value.parse().map_err(|_| wrong(what))?);
                }
                "--device" => options.device = value(number)?.parse().map_err(|_| wrong(number))?,
                "--samples" => options.samples = value(number)?.parse().map_err(|_| wrong(number))?,
                "--sets" => options.sets = value(number)?.parse().map_err(|_| wrong(number))?,
                "--size" => options.sizes.push(value("extents such as 4096,1024")?),
                "--seed" => options.seed = Some(value(number)?.parse().map_err(|_| wrong(number))?),
                _ => return Err(Usage::Unknown(argument)),
            }
        }
        if options.sets == 0 {
            return Err(Usage::Value { option: "--sets".to_owned(), what: "at least one" });
        }
        Ok(options)
    }

    /// The sizes to time instead of those that the host code declares; none given, none returned.
    pub(crate) fn sizes<const N: usize>(&self, dims: &[&str; N]) -> Result<Vec<[usize; N]>, Usage> {
        let size = |given: &String| {
            let wrong = || Usage::Value { option: "--size".to_owned(), what: "extents such as 4096,1024" };
            let extents: Result<Vec<usize>, _> = given.split(',').map(str::parse).collect();
            let extents = extents.map_err(|_| wrong())?;
            let found = extents.len();
            let dims = || dims.iter().map(ToString::to_string).collect();
            extents.try_into().map_err(|_| Usage::Size { given: given.clone(), found, dims: dims() })
        };
        self.sizes.iter().map(size).collect()
    }

    /// The kernel to run: the given PTX, or what the crate embeds for the device.
    pub(crate) fn kernel(
        &self,
        stored: Option<&StoredFn>,
        (major, minor): (u32, u32),
    ) -> Result<Stored, Usage> {
        let mut chosen = match (&self.ptx, stored) {
            (Some(file), _) => {
                let ptx = std::fs::read_to_string(file)
                    .map_err(|error| Usage::File { file: file.clone(), cause: error.to_string() })?;
                Stored { entries: entries(&ptx), ptx, tunables: Tunables::new() }
            }
            (None, Some(find)) => find(major as i32, minor as i32).map_err(Usage::NotStored)?,
            (None, None) => return Err(Usage::NothingStored),
        };
        if !self.entries.is_empty() {
            chosen.entries.clone_from(&self.entries);
        }
        chosen.tunables.extend(self.tunables.clone());
        Ok(chosen)
    }
}

/// Names of the kernels in a PTX text.
fn entries(ptx: &str) -> Vec<String> {
    let after = ptx.split(".entry").skip(1);
    after
        .filter_map(|rest| rest.split_whitespace().next())
        .map(|name| name.split('(').next().unwrap_or(name).to_owned())
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(line: &str) -> Result<Options, Usage> {
        Options::parse(line.split_whitespace().map(str::to_owned))
    }

    #[test]
    fn options_are_read_with_and_without_an_equals_sign() {
        let options =
            parsed("--ptx k.ptx --set TILE=32 --set=ROWS=8 --samples=5 --seed 7 --device 1").unwrap();
        assert_eq!(options.ptx.as_deref(), Some("k.ptx"));
        assert_eq!(options.tunables, Tunables::from([("TILE".into(), 32), ("ROWS".into(), 8)]));
        assert_eq!((options.samples, options.seed, options.device), (5, Some(7), 1));
    }

    #[test]
    fn what_is_wrong_is_named() {
        let said = |line| parsed(line).unwrap_err().to_string();
        assert_eq!(said("--fast"), "`--fast` is not understood; `--help` lists the options");
        assert_eq!(said("--samples many"), "`--samples` needs a whole number");
        assert_eq!(said("--set TILE"), "`--set` needs NAME=VALUE, the value a whole number");
        assert_eq!(said("--sets 0"), "`--sets` needs at least one");
        assert_eq!(said("--ptx"), "`--ptx` needs a file");
    }

    #[test]
    fn sizes_have_an_extent_for_each_dimension() {
        let dims = ["rows", "cols"];
        assert_eq!(parsed("").unwrap().sizes(&dims), Ok(vec![]));
        assert_eq!(
            parsed("--size 8192,8192 --size 1,2").unwrap().sizes(&dims),
            Ok(vec![[8192, 8192], [1, 2]])
        );
        let said = |line| parsed(line).unwrap().sizes(&dims).unwrap_err().to_string();
        assert_eq!(said("--size 8192"), "`--size 8192` gives 1 extents; the kernel has rows,cols");
        assert_eq!(said("--size 8192,x"), "`--size` needs extents such as 4096,1024");
    }

    #[test]
    fn entries_are_found_in_ptx() {
        let ptx =
            ".visible .entry partial_sums(\n.param .u64 a)\n{ret;}\n.visible .entry\tfinal_sum (\n) {ret;}";
        assert_eq!(entries(ptx), ["partial_sums", "final_sum"]);
    }

    #[test]
    fn without_a_stored_kernel_the_way_out_is_told() {
        let options = parsed("").unwrap();
        assert_eq!(options.kernel(None, (9, 0)).unwrap_err(), Usage::NothingStored);
        let find: Box<StoredFn> =
            Box::new(|major, minor| Err(format!("kernel `transpose` has no image for {major}.{minor}")));
        insta::assert_snapshot!(
            options.kernel(Some(&*find), (9, 0)).unwrap_err(),
            @"kernel `transpose` has no image for 9.0; or give `--ptx FILE`"
        );
    }
}
