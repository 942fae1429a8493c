//! From a judged kernel to an entry of the store: everything that its manifest says, in one place.

use std::collections::BTreeMap;

use fsr_build::key::Inputs;
use fsr_build::spec::{Arch, ComputeCapability, CudaVersion, KernelSpec, PtxIsa};
use fsr_build::store::{
    Compiler, Device, DeviceKind, Entry, EntryPaths, LaunchNeeds, Manifest, Origin, PtxFacts, PtxHeader,
    Spread, TimeKind, TimedCase, ValidatedCase,
};
use fsr_protocol::{DeviceFacts, Tunables};

use crate::compile::Ptx;
use crate::judge::{CaseTiming, Timing, Validation};
use crate::search::{Outcome, Winner};

/// PTX whose header says nothing that can be stored.
#[derive(Debug, thiserror::Error)]
#[error("the compiler, NVRTC {compiler}, wrote PTX whose header cannot be read")]
pub struct HeaderError {
    compiler: String,
}

/// The entry of a search's winner, for the arch that it was tuned for.
///
/// # Errors
/// When the PTX has no readable header.
pub fn tuned(
    kernel: &KernelSpec,
    arch: Arch,
    inputs: Inputs,
    run: &str,
    outcome: &Outcome,
    winner: &Winner,
) -> Result<Entry, HeaderError> {
    let device = device(&outcome.bench.device);
    let baseline = outcome.baseline.as_ref().map(|baseline| &baseline.timing);
    let manifest = Manifest {
        origin: Origin::TunedOn,
        validated: validated(&winner.validation),
        timed: timed(&winner.timing, baseline),
        needs: needs(&winner.validation),
        device: Some(device),
        model: winner.model.clone(),
        ..bare(kernel, arch, inputs, run, &winner.ptx, &winner.tunables)?
    };
    Ok(Entry::new(manifest, &winner.ptx.text, &winner.source))
}

/// A kernel to be carried to an arch that it was not tuned for.
#[derive(Clone, Debug)]
pub struct Carried {
    /// CUDA C++.
    pub source: String,
    /// Tunables and launch parameters.
    pub tunables: Tunables,
    /// Who wrote it; none for the baseline.
    pub model: Option<String>,
    /// The run that it comes from.
    pub run: String,
}

/// The entry of a kernel that was tuned for another arch and compiled for this one; validated where a device could
/// load it.
///
/// # Errors
/// As [`tuned`].
pub fn compiled_only(
    kernel: &KernelSpec,
    arch: Arch,
    inputs: Inputs,
    carried: &Carried,
    ptx: &Ptx,
    validation: Option<(&Validation, &DeviceFacts)>,
) -> Result<Entry, HeaderError> {
    let manifest = Manifest {
        origin: Origin::CompiledOnly,
        validated: validation.map(|(validation, _)| validated(validation)).unwrap_or_default(),
        needs: validation.map(|(validation, _)| needs(validation)).unwrap_or_default(),
        device: validation.map(|(_, facts)| device(facts)),
        model: carried.model.clone(),
        ..bare(kernel, arch, inputs, &carried.run, ptx, &carried.tunables)?
    };
    Ok(Entry::new(manifest, &ptx.text, &carried.source))
}

/// An entry whose manifest names a GPU, and a validation that no GPU made.
#[derive(Debug, thiserror::Error)]
#[error(
    "it was tuned on {gpu}, and valid here on {here} only, which is no GPU: run `cargo fsr verify --update` where there \
     is one"
)]
pub struct NotRestamped {
    gpu: String,
    here: String,
}

/// The same entry for evidence that changed and was validated anew on `facts`.
///
/// # Errors
/// When that device is modelled and the entry's was not: its manifest would then claim that a GPU saw the new evidence.
pub fn restamped(
    entry: Entry,
    inputs: Inputs,
    validation: &Validation,
    facts: &DeviceFacts,
) -> Result<Entry, NotRestamped> {
    if let Some(gpu) = &entry.manifest.device
        && is_measured(&entry.manifest)
        && facts.modelled
    {
        return Err(NotRestamped { gpu: gpu.name.clone(), here: facts.name.clone() });
    }
    let manifest = Manifest { inputs, validated: validated(validation), ..entry.manifest };
    Ok(Entry::new(manifest, &entry.ptx, &entry.source))
}

/// Whether it was tuned or validated on a GPU.
fn is_measured(manifest: &Manifest) -> bool {
    manifest.device.as_ref().is_some_and(|device| device.kind == DeviceKind::Cuda)
}

/// Whether what lies there was tuned or validated on a GPU. Damage to the files beside its manifest does not change
/// that: whoever has them can bring them back.
pub fn holds_measured(paths: &EntryPaths) -> bool {
    let manifest = std::fs::read_to_string(&paths.manifest);
    manifest.is_ok_and(|text| Manifest::from_toml(&text).is_ok_and(|manifest| is_measured(&manifest)))
}

/// Whether an entry would put what the CPU device modelled in place of what a GPU measured.
pub fn lowers(place: &EntryPaths, new: &Entry) -> bool {
    is_modelled(new) && holds_measured(place)
}

/// Whether the CPU device tuned or validated it: no GPU has seen it.
pub fn is_modelled(entry: &Entry) -> bool {
    entry.manifest.device.as_ref().is_some_and(|device| device.kind == DeviceKind::Sim)
}

fn bare(
    kernel: &KernelSpec,
    arch: Arch,
    inputs: Inputs,
    run: &str,
    ptx: &Ptx,
    values: &Tunables,
) -> Result<Manifest, HeaderError> {
    let unreadable = || HeaderError { compiler: ptx.compiler.clone() };
    let header = PtxHeader::read(&ptx.text).ok_or_else(unreadable)?;
    let oldest_driver = oldest_driver(header.isa, &ptx.compiler).ok_or_else(unreadable)?;
    let of = |names: Vec<&String>| -> BTreeMap<String, u32> {
        values.iter().filter(|(name, _)| names.contains(name)).map(owned).collect()
    };
    Ok(Manifest {
        kernel: kernel.name.clone(),
        arch,
        inputs,
        entries: kernel.entries.clone(),
        tunables: of(kernel.tunables.keys().collect()),
        launch: of(kernel.launch.keys().collect()),
        needs: BTreeMap::new(),
        ptx: PtxFacts { isa: header.isa, target: header.target, oldest_driver },
        // `Entry::new` fills both in.
        ptx_sha256: fsr_build::spec::Digest::of_bytes(b""),
        source_sha256: fsr_build::spec::Digest::of_bytes(b""),
        compiler: Compiler {
            name: "nvrtc".to_owned(),
            version: ptx.compiler.clone(),
            flags: ptx.flags.clone(),
        },
        origin: Origin::CompiledOnly,
        validated: Vec::new(),
        timed: Vec::new(),
        device: None,
        model: None,
        run: run.to_owned(),
    })
}

/// The oldest driver that loads PTX of a compiler. Of an ISA that is newer than the table nothing is known but that the
/// compiler's own driver loads it.
fn oldest_driver(isa: PtxIsa, compiler: &str) -> Option<CudaVersion> {
    isa.first_cuda().or_else(|| {
        let mut numbers = compiler.split('.').map(str::parse);
        match (numbers.next(), numbers.next()) {
            (Some(Ok(major)), Some(Ok(minor))) => Some(CudaVersion { major, minor }),
            _ => None,
        }
    })
}

fn owned((name, value): (&String, &u32)) -> (String, u32) {
    (name.clone(), *value)
}

fn needs(validation: &Validation) -> BTreeMap<String, LaunchNeeds> {
    let needs = validation.resources.iter().map(|entry| {
        let needs = LaunchNeeds {
            registers: Some(entry.registers),
            static_shared_bytes: Some(entry.shared_bytes),
            dynamic_shared_bytes: None,
            local_bytes: Some(entry.local_bytes),
            max_threads_per_block: Some(entry.max_threads),
        };
        (entry.entry.clone(), needs)
    });
    needs.collect()
}

fn validated(validation: &Validation) -> Vec<ValidatedCase> {
    let case = |case: &crate::judge::CaseErrors| ValidatedCase {
        case: case.case.clone(),
        max_abs_error: case.max_abs,
        max_rel_error: case.max_rel,
    };
    validation.cases.iter().map(case).collect()
}

fn timed(winner: &Timing, baseline: Option<&Timing>) -> Vec<TimedCase> {
    let kind = if winner.modelled { TimeKind::Modelled } else { TimeKind::Measured };
    let case = |case: &CaseTiming| TimedCase {
        case: case.case.clone(),
        kind,
        baseline: baseline
            .and_then(|timing| timing.cases.iter().find(|other| other.case == case.case))
            .map(spread),
        winner: spread(case),
    };
    winner.cases.iter().map(case).collect()
}

fn spread(case: &CaseTiming) -> Spread {
    Spread {
        median_ns: case.median,
        lower_quartile_ns: case.q1,
        upper_quartile_ns: case.q3,
        samples: u32::try_from(case.samples.len()).unwrap_or(u32::MAX),
    }
}

fn device(facts: &DeviceFacts) -> Device {
    let (major, minor) = facts.compute_capability;
    Device {
        kind: if facts.modelled { DeviceKind::Sim } else { DeviceKind::Cuda },
        name: facts.name.clone(),
        compute_capability: ComputeCapability { major, minor },
        driver: Some(CudaVersion::from_driver_number(facts.driver)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_newer_compiler_than_the_table_has_its_own_driver_as_the_oldest() {
        let oldest = |isa: &str, compiler| {
            oldest_driver(isa.parse().expect("an ISA"), compiler).map(|driver| driver.to_string())
        };
        assert_eq!(oldest("8.5", "12.6.85").as_deref(), Some("12.5"));
        assert_eq!(oldest("99.0", "40.1.7").as_deref(), Some("40.1"));
        assert_eq!(oldest("99.0", "unknown"), None);
    }
}
