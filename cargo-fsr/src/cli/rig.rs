//! Sets up what a kernel is judged with: its host program, its compiler. Shared by `tune`, `verify` and `bundle`.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use fsr_build::key::Inputs;
use fsr_build::spec::{Arch, ComputeCapability, CudaVersion, KernelSpec, Reach};

use super::{CommandError, Shell};
use crate::compile::toolchain::{self, Toolchain};
use crate::compile::{CompilerError, Limits, NvrtcCompiler};
use crate::config::Config;
use crate::exit::Exit;
use crate::judge::{BuildOptions, HostProgram, library_path};
use crate::project::{HostSource, Locking, Package, Project, bundle};

/// Set by Ctrl-C.
pub type Interrupt = Arc<AtomicBool>;

/// A kernel's host program and what its loader needs.
#[derive(Debug)]
pub struct Host {
    /// The program.
    pub executable: PathBuf,
    library_paths: Vec<PathBuf>,
}

impl Host {
    /// How it is started, with these folders first in the loader's path.
    pub fn program(&self, first: &[PathBuf]) -> Result<HostProgram, CommandError> {
        let mut program = HostProgram::new(&self.executable);
        program.envs.push(library_path(first, &self.library_paths)?);
        Ok(program)
    }
}

/// The host program of a kernel: built with the user's cargo, or taken from the bundle.
pub fn host(
    project: &Project,
    package: &Package,
    kernel: &KernelSpec,
    shell: &Shell,
    interrupt: &Interrupt,
) -> Result<Host, CommandError> {
    let target = match project.host_source(package, kernel)? {
        HostSource::Built(executable) => return Ok(Host { executable, library_paths: Vec::new() }),
        HostSource::Build(target) => target,
    };
    let spinner = shell.spinner(format!("building {} {}", target.kind, target.name));
    let built = target.build(BuildOptions {
        forward: shell.cargo_output(),
        color: shell.colors(),
        interrupt: interrupt.clone(),
        ..BuildOptions::default()
    });
    spinner.finish_and_clear();
    let built = built?;
    shell.detail("Built", format_args!("{} {} of {}", target.kind, target.name, target.package));
    Ok(Host { executable: built.executable, library_paths: built.library_paths })
}

/// The compiler that a package pins: found, or installed where the network may be used. It knows all of the package's
/// targets.
pub fn compiler(
    config: &Config,
    project: &Project,
    package: &Package,
    locking: Locking,
    shell: &Shell,
) -> Result<NvrtcCompiler, CommandError> {
    let version = package.spec.cuda;
    let (toolchain, settings) = toolchain(config, project, version, locking, shell)?;
    shell.detail("Compiler", &toolchain);
    let compiler = NvrtcCompiler::start(toolchain, &settings, Limits::default())?;
    // A model is not worth asking for a target that nothing can be compiled for.
    package.spec.archs.iter().try_for_each(|arch| compiler.check_target(arch))?;
    Ok(compiler)
}

/// As [`compiler`], without starting it.
pub fn toolchain(
    config: &Config,
    project: &Project,
    version: CudaVersion,
    locking: Locking,
    shell: &Shell,
) -> Result<(Toolchain, toolchain::Settings), CommandError> {
    let settings = match project.is_bundle() {
        true => bundled_toolchain(config, &project.root)?,
        false => toolchain::Settings::from_env(config.nvrtc.clone())?,
    };
    let found = match toolchain::find(&version, &settings) {
        Err(CompilerError::NotFound(_)) if !locking.is_offline() && !project.is_bundle() => {
            toolchain::install(&version, &settings, &mut |line| shell.note("Installing", line))?
        }
        found => found?,
    };
    Ok((found, settings))
}

/// Where a bundle's compiler lies, behind what the machine itself has.
pub fn bundled_toolchain(config: &Config, dir: &Path) -> Result<toolchain::Settings, CommandError> {
    let mut settings = toolchain::Settings::from_env(config.nvrtc.clone())?;
    settings.places.installed = bundle::toolchain(dir);
    Ok(settings)
}

/// The inputs of a kernel's key, as they are now.
pub fn inputs(package: &Package, kernel: &KernelSpec, arch: Arch) -> Result<Inputs, CommandError> {
    Inputs::of(&package.spec, kernel, &arch).map_err(|error| {
        CommandError::new(
            Exit::Input,
            format!("{} {arch}: {error}", kernel.name),
            "restore the file, or take it out of the spec",
        )
    })
}

/// The best of the listed archs that a device loads; the others are compiled from its winner.
pub fn best_arch(archs: &[Arch], device: ComputeCapability) -> Option<Arch> {
    let rank = |arch: &Arch| (arch.capability(), arch.reach() != Reach::Forward);
    archs.iter().copied().filter(|arch| arch.loads_on(device)).max_by_key(rank)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_search_is_for_the_best_arch_that_the_device_loads() {
        let archs: Vec<Arch> = ["sm_80", "sm_90a", "sm_90", "sm_100"]
            .iter()
            .map(|arch| arch.parse().expect("an arch"))
            .collect();
        let best =
            |major, minor| best_arch(&archs, ComputeCapability { major, minor }).map(|arch| arch.to_string());
        assert_eq!(best(9, 0).as_deref(), Some("sm_90a"));
        assert_eq!(best(8, 6).as_deref(), Some("sm_80"));
        assert_eq!(best(12, 0).as_deref(), Some("sm_100"));
        assert_eq!(best(7, 5), None);
    }
}
