//! `cargo fsr toolchain`: finds and installs the compiler.

use std::collections::BTreeSet;

use fsr_build::spec::CudaVersion;

use super::args::{Toolchain, ToolchainCommand};
use super::{CommandError, Shell, here};
use crate::compile::toolchain;
use crate::config::Config;
use crate::exit::Exit;
use crate::project::{Locking, Project};

pub fn run(args: Toolchain, shell: &Shell) -> Result<Exit, CommandError> {
    match args.command {
        ToolchainCommand::Install { cuda, selection } => {
            let (versions, root) = match cuda {
                Some(version) => {
                    let version = version.parse().map_err(|error| {
                        CommandError::new(Exit::Usage, format!("`{version}`: {error}"), "write it as 12.8")
                    })?;
                    (BTreeSet::from([version]), here())
                }
                None => {
                    let project = Project::open(&selection, Locking::default(), &here())?;
                    let versions = project.packages.iter().map(|package| package.spec.cuda);
                    (versions.collect::<BTreeSet<CudaVersion>>(), project.root)
                }
            };
            let settings = toolchain::Settings::from_env(Config::read(&root)?.nvrtc)?;
            for version in versions {
                let installed =
                    toolchain::install(&version, &settings, &mut |line| shell.note("Installing", line))?;
                shell.status("Installed", &installed);
            }
        }
        ToolchainCommand::List => {
            let settings = toolchain::Settings::from_env(Config::read(&here())?.nvrtc)?;
            for found in toolchain::list(&settings) {
                match found {
                    Ok(toolchain) => shell.data(toolchain),
                    Err(error) => shell.warn(error),
                }
            }
        }
    }
    Ok(Exit::Success)
}
