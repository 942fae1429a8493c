//! Which packages a command speaks of: cargo's own rules, applied to what `cargo metadata` says.

use std::path::{Path, PathBuf};

use cargo_metadata::{Metadata, MetadataCommand, Package};
use clap::Args;

use super::ProjectError;
use crate::judge::CargoFlags;

/// Which packages.
#[derive(Clone, Debug, Default, Args)]
#[command(next_help_heading = "Package selection")]
pub struct Selection {
    /// Only this package; may be repeated.
    #[arg(short, long, value_name = "SPEC")]
    pub package: Vec<String>,
    /// All packages of the workspace.
    #[arg(long, conflicts_with = "package")]
    pub workspace: bool,
    /// Path to Cargo.toml.
    #[arg(long, value_name = "PATH")]
    pub manifest_path: Option<PathBuf>,
}

/// cargo's own flags on lock file and network.
#[derive(Clone, Copy, Debug, Default, Args)]
#[command(next_help_heading = "Manifest options")]
pub struct Locking {
    /// Cargo.lock must stay as it is.
    #[arg(long)]
    pub locked: bool,
    /// No network: neither for cargo nor to install a toolchain.
    #[arg(long)]
    pub offline: bool,
    /// Both --locked and --offline.
    #[arg(long)]
    pub frozen: bool,
}

impl Locking {
    /// Whether the network is forbidden. `--frozen` is both others, as in cargo.
    pub fn is_offline(self) -> bool {
        self.offline || self.frozen
    }
}

impl From<Locking> for CargoFlags {
    fn from(locking: Locking) -> Self {
        Self { locked: locking.locked, offline: locking.offline, frozen: locking.frozen }
    }
}

/// Asks cargo about the workspace. Dependencies are not resolved, so no network is needed.
pub fn metadata(selection: &Selection, locking: Locking) -> Result<Metadata, ProjectError> {
    let mut command = MetadataCommand::new();
    command.no_deps();
    if let Some(path) = &selection.manifest_path {
        command.manifest_path(path);
    }
    let flags: Vec<String> = CargoFlags::from(locking).arguments().map(str::to_owned).collect();
    command.other_options(flags);
    command.exec().map_err(|error| match error {
        cargo_metadata::Error::CargoMetadata { stderr } => {
            ProjectError::Cargo { message: cargo_message(&stderr) }
        }
        error => ProjectError::Cargo { message: error.to_string() },
    })
}

/// cargo's text without its own `error: `.
fn cargo_message(stderr: &str) -> String {
    let text = stderr.trim();
    text.strip_prefix("error: ").unwrap_or(text).to_owned()
}

/// The packages that a command works on: named ones, all of the workspace, the one around the current folder, or the
/// workspace's default members.
pub fn packages<'a>(
    metadata: &'a Metadata,
    selection: &Selection,
    here: &Path,
) -> Result<Vec<&'a Package>, ProjectError> {
    let members = metadata.workspace_packages();
    if selection.workspace {
        return Ok(members);
    }
    if !selection.package.is_empty() {
        return selection.package.iter().map(|name| member(metadata, name)).collect();
    }
    let start = selection.manifest_path.as_deref().and_then(Path::parent).unwrap_or(here);
    let start = start.canonicalize().unwrap_or_else(|_| start.to_owned());
    let around = members
        .iter()
        .copied()
        .filter(|package| package.manifest_path.parent().is_some_and(|root| start.starts_with(root)))
        .max_by_key(|package| package.manifest_path.as_str().len());
    // The root of a workspace may be a package too; with default members cargo takes those there.
    let at_root = start == metadata.workspace_root.as_std_path();
    match around {
        Some(package) if !at_root => Ok(vec![package]),
        _ => Ok(metadata.workspace_default_packages()),
    }
}

/// A member of the workspace by name.
pub fn member<'a>(metadata: &'a Metadata, name: &str) -> Result<&'a Package, ProjectError> {
    let members = metadata.workspace_packages();
    members.iter().copied().find(|package| package.name.as_str() == name).ok_or_else(|| {
        ProjectError::NoPackage {
            name: name.to_owned(),
            members: members.iter().map(|package| package.name.to_string()).collect(),
        }
    })
}
