//! `cargo fsr bundle DIR`: host programs, resolved specs and the compiler in one folder.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use fsr_build::spec::KernelSpec;
use fsr_build::store::{EntryPaths, read_entry, write_entry};

use super::args::Bundle;
use super::devices::Devices;
use super::rig::{self, Interrupt};
use super::shell::count;
use super::{CommandError, Shell, here};
use crate::compile::toolchain;
use crate::config::Config;
use crate::device::DeviceChoice;
use crate::exit::Exit;
use crate::project::bundle::{self, BundleIndex, BundledPackage};
use crate::project::{Package, Project, ProjectError};

pub fn run(args: Bundle, shell: &Arc<Shell>, interrupt: &Interrupt) -> Result<Exit, CommandError> {
    let project = Project::open(&args.selection, args.locking, &here())?;
    let config = Config::read(&project.root)?;
    let kernels = project.kernels(&args.kernels)?;
    empty_folder(&args.dir)?;

    let mut packages: BTreeMap<&str, BundledPackage> = BTreeMap::new();
    for (package, kernel) in &kernels {
        let spec = &package.spec;
        let folder = relative(&project.root, &spec.root)?;
        let host = rig::host(&project, package, kernel, shell, interrupt)?;
        let program = format!("hosts/{}/{}{}", spec.package, kernel.name, std::env::consts::EXE_SUFFIX);
        copy(&host.executable, &args.dir.join(&program))?;
        mirror(package, kernel, &bundle::sources(&args.dir).join(&folder))?;
        let bundled = packages.entry(&spec.package).or_insert_with(|| BundledPackage {
            name: spec.package.clone(),
            folder,
            candidates: package.search.candidates,
            rounds: package.search.rounds,
            hosts: BTreeMap::new(),
        });
        bundled.hosts.insert(kernel.name.clone(), program);
    }
    if !args.no_toolchain {
        let versions: BTreeSet<_> = kernels.iter().map(|(package, _)| package.spec.cuda).collect();
        for version in versions {
            let settings = rig::bundled_toolchain(&config, &args.dir)?;
            toolchain::install(&version, &settings, &mut |line| shell.note("Installing", line))?;
        }
    }
    if !args.no_cpu_device {
        let sim = DeviceChoice::Sim { profile: None };
        let devices = Devices::new(sim, &config, &project, args.locking, shell, interrupt);
        match devices.library() {
            Ok(library) => copy(&library, &bundle::cpu_device(&args.dir))?,
            // Most bundles go to a machine with a GPU.
            Err(error) => shell.warn(format_args!("the bundle has no CPU device: {error}")),
        }
    }
    BundleIndex::new(packages.into_values().collect()).write(&args.dir)?;
    shell.status(
        "Bundled",
        format_args!("{} into {}", count(kernels.len(), "kernel", "kernels"), args.dir.display()),
    );
    let dir = args.dir.to_string_lossy();
    shell.note("Next", format_args!("there: cargo-fsr tune --bundle {}", shell_words::quote(&dir)));
    Ok(Exit::Success)
}

/// Copies what one kernel's spec names, and its entries, to the same places below `target`.
fn mirror(package: &Package, kernel: &KernelSpec, target: &Path) -> Result<(), CommandError> {
    let spec = &package.spec;
    copy(&spec.manifest, &target.join("Cargo.toml"))?;
    let named = kernel.host.iter().chain(&kernel.headers).chain(&kernel.baseline).chain(&kernel.task.file);
    for path in named {
        copy(&path.under(&spec.root), &path.under(target))?;
    }
    for arch in &spec.archs {
        // An entry that cannot be read is of no use there either; `check` says so here.
        if let Ok(entry) = read_entry(&EntryPaths::in_package(&spec.root, &kernel.name, *arch)) {
            write_entry(&EntryPaths::in_package(target, &kernel.name, *arch), &entry)?;
        }
    }
    Ok(())
}

fn empty_folder(dir: &Path) -> Result<(), ProjectError> {
    let io = |source| ProjectError::Io { path: dir.to_owned(), source };
    std::fs::create_dir_all(dir).map_err(io)?;
    if std::fs::read_dir(dir).map_err(io)?.next().is_some() {
        return Err(ProjectError::Bundle {
            path: dir.to_owned(),
            message: "the folder is not empty".to_owned(),
            help: "name a folder that does not exist yet; nothing is overwritten",
        });
    }
    Ok(())
}

/// A package's folder relative to the workspace, with `/`; a bundle mirrors nothing outside of it.
fn relative(root: &Path, package: &Path) -> Result<String, ProjectError> {
    let inside = package.strip_prefix(root).map_err(|_| ProjectError::Bundle {
        path: package.to_owned(),
        message: "the package lies outside its workspace's folder".to_owned(),
        help: "only packages below the workspace's folder can be bundled",
    })?;
    let parts: Vec<_> = inside.components().map(|part| part.as_os_str().to_string_lossy()).collect();
    Ok(parts.join("/"))
}

pub fn copy(from: &Path, to: &Path) -> Result<(), ProjectError> {
    let io = |path: &Path| {
        let path: PathBuf = path.to_owned();
        move |source| ProjectError::Io { path, source }
    };
    if let Some(folder) = to.parent() {
        std::fs::create_dir_all(folder).map_err(io(folder))?;
    }
    std::fs::copy(from, to).map(drop).map_err(io(from))
}
