//! How fast is it? Samples of all contenders in shuffled, interleaved order; every timed launch of the new one is
//! checked as in validation, while the next launches run.
//!
//! A time below the physical floor is taken again, and if it stands nothing of it is kept.

use std::collections::VecDeque;
use std::time::Instant;

use fsr_protocol::{CaseId, CaseInfo, Dump, SetId};
use rand::Rng;
use rand::seq::{IndexedRandom, SliceRandom};

use super::device::Shot;
use super::evidence::{Course, Data, Place};
use super::host::{Clocks, HostJudge, SLOTS, Stop};
use super::options::Sampling;
use super::reference::Ticket;
use super::statistics::Quartiles;
use super::validation::millis;
use super::{CaseErrors, CaseTiming, Executable, JudgeError, Timed, Timing};

/// Copies that the bandwidth is measured with.
const COPIES: u32 = 9;
/// Larger copies are no faster.
const LARGEST_COPY: u64 = 1 << 30;
/// A kernel that mostly reads may beat a copy, which has to turn the bus around: on an H200 by 15 %. Only what is
/// faster than this share of the floor is impossible.
const IMPOSSIBLE: f64 = 0.8;

/// The host may see this much more time pass than the device, in its share and in nanoseconds: it is woken late.
const WALL_FACTOR: f64 = 2.0;
const WALL_SLACK: f64 = 1e6;

impl HostJudge {
    /// Times contenders on every timed case.
    pub(super) fn time_all(&mut self, contenders: &[&Executable]) -> Result<Timed, JudgeError> {
        let bench = self.known()?;
        self.referee()?.0.settle()?;
        let _turn = self.turn()?;
        let began = Instant::now();
        self.modules = contenders.len();
        let modelled = bench.device.modelled;
        let mut timings = vec![Timing { cases: Vec::new(), modelled }; contenders.len()];
        let timed: Vec<_> = (0..).zip(&bench.cases).filter(|(_, case)| case.timed).collect();
        for (passed, (id, case)) in timed.iter().enumerate() {
            let place = Place {
                case,
                passed,
                cases: timed.len(),
                launches: 0,
                data: Data::Other,
                course: Course::Timing,
            };
            let taken = self.time_case(contenders, *id, place);
            self.split.time = millis(began);
            match taken? {
                Ok(taken) => {
                    for (timing, taken) in timings.iter_mut().zip(taken) {
                        timing.cases.push(taken);
                    }
                }
                Err(failure) => return Ok(Timed::Invalid(failure)),
            }
        }
        Ok(Timed::Times(timings))
    }

    fn time_case(
        &mut self,
        contenders: &[&Executable],
        id: CaseId,
        place: Place<'_>,
    ) -> Result<Result<Vec<CaseTiming>, super::Failure>, JudgeError> {
        let mut error = JudgeError::Process("no time was taken".to_owned());
        for _ in 0..2 {
            let taken = self.twice(|judge| {
                let floor = judge.floor(place.case)?;
                let samples = judge.sample(contenders, id, place)?;
                Ok((floor, samples))
            })?;
            let (floor, samples) = match taken {
                Ok(taken) => taken,
                Err(failure) => return Ok(Err(failure)),
            };
            let modelled = self.known()?.device.modelled;
            let disagree = samples.iter().find_map(|samples| disagreement(samples)).filter(|_| !modelled);
            let timings: Vec<CaseTiming> =
                samples.into_iter().map(|samples| case_timing(place.case, &samples, floor)).collect();
            let case = place.case.name.clone();
            error = match timings.iter().find(|timing| timing.median < IMPOSSIBLE * floor) {
                Some(timing) => JudgeError::BelowFloor { case, median: timing.median, floor },
                None => match disagree {
                    Some(Clocks { events, wall }) => JudgeError::Clocks { case, events, wall },
                    None => return Ok(Ok(timings)),
                },
            };
            // It may be the bandwidth that was mistaken.
            self.bandwidths.clear();
        }
        Err(error)
    }

    /// Samples of every contender on one case.
    fn sample(
        &mut self,
        contenders: &[&Executable],
        id: CaseId,
        place: Place<'_>,
    ) -> Result<Vec<Vec<Clocks>>, Stop> {
        let sampling =
            if self.known()?.device.modelled { Sampling::modelled() } else { self.options.sampling };
        let sets: Vec<SetId> =
            self.pool().get(id as usize).map(|pool| pool.all().collect()).unwrap_or_default();
        let mut random = rand::rng();
        let mut samples = vec![Vec::new(); contenders.len()];
        let mut checks = Checks::default();
        let began = Instant::now();
        for round in 0.. {
            let warm = round < sampling.warmup;
            let mut order: Vec<usize> = (0..contenders.len()).collect();
            order.shuffle(&mut random);
            for who in order {
                let Some(set) = sets.choose(&mut random).copied() else { continue };
                let checked = who == 0 && !warm;
                let place = Place { launches: checks.launches, ..place };
                let dump = checked.then(|| Dump {
                    slot: checks.launches as u64 % SLOTS,
                    // Moving the inputs too would double the cost; a kernel cannot know in which launch it happens.
                    inputs: random.random_ratio(1, 4),
                });
                if checked && checks.open.len() as u64 == SLOTS {
                    self.judge_oldest(&mut checks, place)?;
                }
                let shot = Shot { set, flush: true, moved: false, dump };
                match self.launch(contenders[who], id, shot, place) {
                    Ok(clocks) if !warm => samples[who].push(clocks),
                    Ok(_) => {}
                    Err(Stop::Candidate(failure)) if who > 0 => {
                        return Err(Stop::Device(JudgeError::Process(format!(
                            "a kernel that was valid before failed while it was timed beside a candidate: {}",
                            failure.summary
                        ))));
                    }
                    Err(stop) => {
                        // What an earlier launch computed comes first.
                        self.judge_rest(&mut checks, place)?;
                        return Err(stop);
                    }
                }
                if let Some(Dump { slot, inputs }) = dump {
                    let tolerance = self.options.tolerance;
                    let ticket = self.referee()?.0.compare(id, set, slot, inputs, tolerance)?;
                    checks.open.push_back((ticket, checks.launches));
                    checks.launches += 1;
                }
            }
            if enough(&samples, &sampling, began) {
                break;
            }
        }
        self.judge_rest(&mut checks, place)?;
        Ok(samples)
    }

    fn judge_oldest(&mut self, checks: &mut Checks, place: Place<'_>) -> Result<(), Stop> {
        // The errors of timed launches are no news: the same candidate was validated with as many sets.
        let mut errors = CaseErrors { case: String::new(), max_abs: 0.0, max_rel: 0.0 };
        match checks.open.pop_front() {
            Some((ticket, launches)) => self.judge(ticket, Place { launches, ..place }, &mut errors),
            None => Ok(()),
        }
    }

    fn judge_rest(&mut self, checks: &mut Checks, place: Place<'_>) -> Result<(), Stop> {
        while !checks.open.is_empty() {
            self.judge_oldest(checks, place)?;
        }
        Ok(())
    }

    /// Nanoseconds below which no correct kernel can stay: what the L2 cannot hold of the declared bytes, at the
    /// bandwidth of a copy of the same size. Zero where that is not known.
    fn floor(&mut self, case: &CaseInfo) -> Result<f64, Stop> {
        let device = self.known()?.device;
        let moved = case.work_bytes.saturating_sub(device.l2_bytes);
        if device.modelled || moved == 0 {
            return Ok(0.0);
        }
        let bytes = case.work_bytes.min(LARGEST_COPY);
        let measured = match self.bandwidths.get(&bytes) {
            Some(known) => *known,
            None => {
                let nanos = self.on_device(|device| device.calibrate(bytes, COPIES), |_| None)?;
                let best = nanos.into_iter().filter(|nanos| *nanos > 0.0).fold(f64::INFINITY, f64::min);
                let measured = bytes as f64 / best;
                self.bandwidths.insert(bytes, measured);
                measured
            }
        };
        let bandwidth = measured.max(device.copy_bandwidth / 1e9);
        Ok(if bandwidth > 0.0 { moved as f64 / bandwidth } else { 0.0 })
    }
}

/// Comparisons of timed launches.
#[derive(Debug, Default)]
struct Checks {
    /// Asked for, oldest first, each with the number of its launch: at most one a slot.
    open: VecDeque<(Ticket, usize)>,
    /// How many were asked for.
    launches: usize,
}

fn enough(samples: &[Vec<Clocks>], sampling: &Sampling, began: Instant) -> bool {
    let taken = samples.iter().map(Vec::len).min().unwrap_or_default();
    if taken < sampling.min.max(1) {
        return false;
    }
    let known = |samples: &Vec<Clocks>| {
        Quartiles::of(&events(samples))
            .is_some_and(|quartiles| quartiles.relative_noise(samples.len()) <= sampling.noise)
    };
    taken >= sampling.max || began.elapsed() >= sampling.wall || samples.iter().all(known)
}

fn events(samples: &[Clocks]) -> Vec<f64> {
    samples.iter().map(|clocks| clocks.events).collect()
}

/// The medians of both clocks, where the host's says that far more time passed than the device's.
fn disagreement(samples: &[Clocks]) -> Option<Clocks> {
    let walls: Vec<f64> = samples.iter().map(|clocks| clocks.wall).collect();
    let (events, wall) = (Quartiles::of(&events(samples))?.median, Quartiles::of(&walls)?.median);
    (wall > WALL_FACTOR * events + WALL_SLACK).then_some(Clocks { events, wall })
}

fn case_timing(case: &CaseInfo, samples: &[Clocks], floor: f64) -> CaseTiming {
    let samples = events(samples);
    let Quartiles { q1, median, q3 } =
        Quartiles::of(&samples).unwrap_or(Quartiles { q1: 0.0, median: 0.0, q3: 0.0 });
    CaseTiming { case: case.name.clone(), median, q1, q3, samples, floor, work_bytes: case.work_bytes }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    fn rules() -> Sampling {
        Sampling { min: 3, max: 6, noise: 0.01, wall: Duration::from_secs(3600), warmup: 0 }
    }

    fn clocks(samples: &[f64]) -> Vec<Clocks> {
        samples.iter().map(|nanos| Clocks { events: *nanos, wall: *nanos }).collect()
    }

    #[test]
    fn a_host_that_is_woken_late_is_no_second_opinion() {
        let samples = |events: f64, wall: f64| vec![Clocks { events, wall }; 5];
        assert!(disagreement(&samples(10_000.0, 900_000.0)).is_none());
        assert!(disagreement(&samples(10_000_000.0, 19_000_000.0)).is_none());
        assert!(disagreement(&samples(10_000.0, 1_200_000.0)).is_some());
        assert!(disagreement(&samples(10_000_000.0, 22_000_000.0)).is_some());
        let once = [samples(10_000.0, 10_000.0), vec![Clocks { events: 10_000.0, wall: 1e9 }]].concat();
        assert!(disagreement(&once).is_none(), "one late sample says nothing");
    }

    #[test]
    fn quiet_samples_end_early_and_noisy_ones_at_the_cap() {
        let began = Instant::now();
        let quiet = || clocks(&[100.0; 3]);
        let noisy = || clocks(&[80.0, 100.0, 120.0]);
        assert!(!enough(&[quiet()[..2].to_vec()], &rules(), began), "below the least count");
        assert!(enough(&[quiet()], &rules(), began));
        assert!(!enough(&[quiet(), noisy()], &rules(), began), "every contender counts");
        assert!(enough(&[noisy().repeat(2)], &rules(), began), "the cap");
        assert!(!enough(&[vec![], vec![]], &rules(), began));
    }

    #[test]
    fn time_runs_out_only_after_the_least_count() {
        let rules = Sampling { wall: Duration::ZERO, ..rules() };
        assert!(!enough(&[clocks(&[80.0, 120.0])], &rules, Instant::now()));
        assert!(enough(&[clocks(&[80.0, 100.0, 120.0])], &rules, Instant::now()));
    }
}
