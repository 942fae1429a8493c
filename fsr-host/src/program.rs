//! The builder that a host file starts with, and the list of cases that it makes.
//!
//! Owns the declaration of all sizes. It never runs a kernel: the roles do, with what is declared here.

use std::fmt::Display;
use std::process::ExitCode;

use fsr_protocol::{CaseId, Description, Environment, HostError};

use crate::by_hand::{self, Options, Stored, StoredFn};
use crate::case::{Case, DeclaredCase, Purpose};
use crate::fault::{guarded, host_code};
use crate::{Rng, serve};

/// Starts the host launch code of one kernel, under the name that its spec has.
pub fn kernel(name: &str) -> Kernel<0> {
    Kernel { name: name.to_owned(), dims: [], time: Vec::new(), check: Vec::new(), draw: None, stored: None }
}

/// The sizes of a kernel, on the way to [`Kernel::run`]. `N` is the number of dimensions.
#[must_use = "nothing happens before `run`"]
pub struct Kernel<const N: usize> {
    name: String,
    dims: [&'static str; N],
    time: Vec<[usize; N]>,
    check: Vec<[usize; N]>,
    draw: Option<Box<DrawFn<N>>>,
    stored: Option<Box<StoredFn>>,
}

type DrawFn<const N: usize> = dyn Fn(&mut Rng) -> [usize; N];

/// Sizes that are drawn for a run.
const DRAWN: usize = 4;

impl Kernel<0> {
    /// Names the dimensions of a problem size; before [`Kernel::time`] and [`Kernel::check`].
    pub fn dims<const N: usize>(self, dims: [&'static str; N]) -> Kernel<N> {
        Kernel { name: self.name, dims, time: Vec::new(), check: Vec::new(), draw: None, stored: self.stored }
    }
}

impl<const N: usize> Kernel<N> {
    /// Sizes that are timed, and validated too. Those that matter to the project, large enough to fill the device.
    pub fn time(mut self, sizes: impl IntoIterator<Item = [usize; N]>) -> Self {
        self.time.extend(sizes);
        self
    }

    /// Sizes that are only validated: odd and prime ones, one, just beyond a power of two.
    pub fn check(mut self, sizes: impl IntoIterator<Item = [usize; N]>) -> Self {
        self.check.extend(sizes);
        self
    }

    /// A family of sizes. `cargo fsr` draws four of them for each run and validates every kernel on them, so that no
    /// one who wrote a kernel can have seen the size that it is judged by.
    ///
    /// The function must give a size that the launch code takes, whatever the random source says;
    /// [`Rng::size`] prefers odd and prime extents. Where zero is among them, buffers of no elements are allowed.
    ///
    /// ```ignore
    /// .draw(|rng| [rng.size(1..=3000), 4 * rng.size(1..=500)])
    /// ```
    pub fn draw(mut self, draw: impl Fn(&mut Rng) -> [usize; N] + 'static) -> Self {
        self.draw = Some(Box::new(draw));
        self
    }

    /// Where to find the stored kernel when the program is started by hand: a function from the compute capability to
    /// the image that the crate embeds for it.
    ///
    /// ```ignore
    /// .stored(|major, minor| {
    ///     let image = kernels::transpose::image_for(major, minor)?;
    ///     Ok::<_, kernels::NotTuned>(Stored::new(image.ptx, image.entries, image.tunables.pairs()))
    /// })
    /// ```
    pub fn stored<E: Display>(mut self, find: impl Fn(i32, i32) -> Result<Stored, E> + 'static) -> Self {
        self.stored =
            Some(Box::new(move |major, minor| find(major, minor).map_err(|error| error.to_string())));
        self
    }

    /// Declares a case for each size and does what the process was started for: one of the two roles under
    /// `cargo fsr`, or, by hand, one validation and timing of the stored kernel.
    ///
    /// `declare` must be a function of the size alone.
    pub fn run(self, declare: impl Fn(&mut Case, [usize; N])) -> ExitCode {
        let Self { name, dims, time, check, draw, stored } = &self;
        match Environment::read() {
            Ok(None) => {
                let chosen = |options: &Options| {
                    let sizes = options.sizes(dims)?;
                    let (time, check) = if sizes.is_empty() { (time, &check[..]) } else { (&sizes, &[][..]) };
                    Ok(Program::declare(name, dims, time, check, &[], declare))
                };
                by_hand::run(chosen, stored.as_deref())
            }
            Ok(Some(environment)) => {
                let drawn = draw.as_ref().map(|draw| guarded(|| drawn(draw, environment.sizes)));
                let program = match drawn.transpose() {
                    Ok(drawn) => {
                        let known = |size: &[usize; N]| time.contains(size) || check.contains(size);
                        let mut drawn = drawn.unwrap_or_default();
                        drawn.retain(|size| !known(size));
                        Program::declare(name, dims, time, check, &drawn, declare)
                    }
                    Err(error) => Program { kernel: name.clone(), cases: Err(error) },
                };
                serve::run(&program, &environment)
            }
            Err(error) => {
                eprintln!("error: {error}");
                ExitCode::from(by_hand::EXIT_USAGE)
            }
        }
    }
}

/// So many different sizes of a family; fewer where it has no more.
fn drawn<const N: usize>(draw: &DrawFn<N>, seed: u64) -> Vec<[usize; N]> {
    let mut rng = Rng::new(seed, 0, 0);
    let mut sizes = Vec::new();
    for _ in 0..10 * DRAWN {
        let size = draw(&mut rng);
        if sizes.len() < DRAWN && !sizes.contains(&size) {
            sizes.push(size);
        }
    }
    sizes
}

/// All cases of a kernel, or what is wrong with them.
pub(crate) struct Program {
    kernel: String,
    cases: Result<Vec<DeclaredCase>, HostError>,
}

impl Program {
    pub(crate) fn declare<const N: usize>(
        kernel: &str,
        dims: &[&str; N],
        time: &[[usize; N]],
        check: &[[usize; N]],
        drawn: &[[usize; N]],
        declare: impl Fn(&mut Case, [usize; N]),
    ) -> Self {
        let declare = &declare;
        let sizes = [(time, Purpose::Time), (check, Purpose::Check), (drawn, Purpose::Drawn)];
        let sizes =
            sizes.into_iter().flat_map(|(sizes, purpose)| sizes.iter().map(move |size| (size, purpose)));
        let cases = sizes.map(|(sizes, purpose)| {
            let mut case = Case::new(dims, sizes, purpose);
            guarded(|| declare(&mut case, *sizes))?;
            case.finish().map_err(host_code)
        });
        let cases = cases.collect::<Result<Vec<DeclaredCase>, HostError>>().and_then(|cases| {
            if time.is_empty() {
                return Err(host_code("no size is timed: give `time` at least one"));
            }
            for (position, case) in cases.iter().enumerate() {
                if cases[..position].iter().any(|earlier| earlier.info.name == case.info.name) {
                    return Err(host_code(format!("two cases are named `{}`", case.info.name)));
                }
            }
            Ok(cases)
        });
        Self { kernel: kernel.to_owned(), cases }
    }

    pub(crate) fn kernel(&self) -> &str {
        &self.kernel
    }

    pub(crate) fn cases(&self) -> Result<&[DeclaredCase], HostError> {
        self.cases.as_deref().map_err(Clone::clone)
    }

    pub(crate) fn description(&self) -> Result<Description, HostError> {
        let cases = self.cases()?.iter().map(|case| case.info.clone()).collect();
        Ok(Description { kernel: self.kernel.clone(), cases })
    }

    pub(crate) fn case(&self, id: CaseId) -> Result<&DeclaredCase, HostError> {
        self.cases()?
            .get(id as usize)
            .ok_or_else(|| HostError::Protocol { message: format!("there is no case {id}") })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_seed_draws_the_same_sizes_again_and_none_twice() {
        let family = |rng: &mut Rng| [rng.size(1..=500), 4 * rng.size(0..=3)];
        let sizes = drawn(&family, 5);
        assert_eq!(sizes, drawn(&family, 5));
        assert_ne!(sizes, drawn(&family, 6));
        assert_eq!(sizes.len(), DRAWN);
        assert!(sizes.iter().enumerate().all(|(at, size)| !sizes[..at].contains(size)), "{sizes:?}");
        assert!(sizes.iter().all(|[rows, cols]| (1..=500).contains(rows) && cols % 4 == 0 && *cols <= 12));
        assert_eq!(drawn(&|rng: &mut Rng| [rng.size(1..=2)], 1).len(), 2, "a small family");
    }
}
