//! What cargo watches on behalf of a build script: paths that exist, and no more than needed.
//!
//! Cargo reruns a build script on every build when a path that it watches is not there, so what is missing is
//! noticed through the nearest folder that is. The package's own folder is never that folder: cargo looks into
//! watched folders, and `target/` may lie in it.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use crate::spec::{PackageSpec, RelPath};
use crate::store;

/// Paths relative to the package's folder, sorted.
pub(super) fn paths(package: &PackageSpec) -> BTreeSet<PathBuf> {
    let mut paths = BTreeSet::new();
    for kernel in package.kernels.values() {
        let files =
            kernel.host.iter().chain(&kernel.headers).chain(&kernel.baseline).chain(&kernel.task.file);
        paths.extend(files.filter_map(|file| nearest(&package.root, native(file))));
        // The whole folder: entries appear in it, and their files are replaced by renaming.
        paths.extend(nearest(&package.root, Path::new(store::FOLDER).join(&kernel.name)));
    }
    paths
}

fn native(path: &RelPath) -> PathBuf {
    path.as_str().split('/').collect()
}

fn nearest(root: &Path, path: PathBuf) -> Option<PathBuf> {
    let inside = |path: &&Path| path.components().any(|part| matches!(part, std::path::Component::Normal(_)));
    path.ancestors().take_while(inside).find(|path| root.join(path).exists()).map(Path::to_owned)
}
