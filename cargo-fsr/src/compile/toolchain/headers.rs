//! Where CUDA's headers lie, seen from the library: toolkits, NVIDIA's wheels of CUDA 11, 12 and 13, conda and
//! distribution packages each have a layout of their own.

use std::path::{Path, PathBuf};

use super::Toolchain;

/// Headers that are installed together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HeaderSet {
    /// `cuda_fp16.h`, `cooperative_groups.h` and their like.
    Runtime,
    /// `crt/mma.h` and its like, which `mma.h` includes.
    Crt,
    /// `cuda/std/...`, `cub/...`, which `cooperative_groups.h` includes.
    Cccl,
}

impl HeaderSet {
    /// All of them.
    pub const ALL: [HeaderSet; 3] = [HeaderSet::Runtime, HeaderSet::Crt, HeaderSet::Cccl];

    /// A header that tells whether the set is there.
    pub fn marker(self) -> &'static str {
        match self {
            HeaderSet::Runtime => "cuda_fp16.h",
            HeaderSet::Crt => "crt/mma.h",
            HeaderSet::Cccl => "cuda/std/cstdint",
        }
    }
}

/// Include folders near a library, one for each header set at most.
pub(super) fn beside(library: &Path) -> Vec<PathBuf> {
    let mut folders = Vec::new();
    let mut near: Vec<PathBuf> = Vec::new();
    let real = library.canonicalize().ok();
    for library in [Some(library), real.as_deref()].into_iter().flatten() {
        // lib, lib64, bin/x64, targets/x86_64-linux/lib, nvidia/cuda_nvrtc/lib: the root is at most three up.
        for root in library.ancestors().skip(2).take(3) {
            near.extend(around(root));
        }
    }
    for set in HeaderSet::ALL {
        if let Some(folder) = near.iter().find(|folder| folder.join(set.marker()).is_file())
            && !folders.contains(folder)
        {
            folders.push(folder.clone());
        }
    }
    folders
}

/// Folders that may hold headers, for one guess at an installation's root.
fn around(root: &Path) -> Vec<PathBuf> {
    let mut folders = vec![root.join("include"), root.join("include/cccl"), root.join("cccl")];
    for target in children(&root.join("targets")) {
        folders.extend([target.join("include"), target.join("include/cccl")]);
    }
    // Wheels for CUDA 11 and 12 have a folder for each package.
    if root.file_name().is_some_and(|name| name == "nvidia") {
        for package in ["cuda_runtime", "cuda_nvcc", "cuda_cccl"] {
            folders.push(root.join(package).join("include"));
        }
    }
    folders
}

pub(super) fn children(folder: &Path) -> Vec<PathBuf> {
    let mut children: Vec<PathBuf> =
        folder.read_dir().into_iter().flatten().flatten().map(|entry| entry.path()).collect();
    children.sort();
    children
}

/// Adds the folders for header sets that `toolchain` lacks and `other`, of the same version, has.
pub(super) fn complete(toolchain: &mut Toolchain, other: &Toolchain) {
    for set in toolchain.missing_headers() {
        if let Some(folder) = other.include.iter().find(|folder| folder.join(set.marker()).is_file())
            && !toolchain.include.contains(folder)
        {
            toolchain.include.push(folder.clone());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Lays files down and returns the include folders of the first, relative to the root.
    fn layout(files: &[&str]) -> Vec<String> {
        let root = tempfile::tempdir().unwrap();
        for file in files {
            let path = root.path().join(file);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, "").unwrap();
        }
        beside(&root.path().join(files[0]))
            .iter()
            .map(|folder| folder.strip_prefix(root.path()).unwrap().to_str().unwrap().replace('\\', "/"))
            .collect()
    }

    #[test]
    fn a_toolkit_has_one_include_folder_or_two() {
        assert_eq!(
            layout(&[
                "cuda/lib64/libnvrtc.so.12",
                "cuda/include/cuda_fp16.h",
                "cuda/include/crt/mma.h",
                "cuda/include/cuda/std/cstdint",
            ]),
            ["cuda/include"]
        );
        assert_eq!(
            layout(&[
                "cuda/targets/x86_64-linux/lib/libnvrtc.so.13",
                "cuda/targets/x86_64-linux/include/cuda_fp16.h",
                "cuda/targets/x86_64-linux/include/crt/mma.h",
                "cuda/targets/x86_64-linux/include/cccl/cuda/std/cstdint",
            ]),
            ["cuda/targets/x86_64-linux/include", "cuda/targets/x86_64-linux/include/cccl"]
        );
    }

    #[test]
    fn wheels_have_a_folder_for_each_package_or_one_for_all() {
        assert_eq!(
            layout(&[
                "site-packages/nvidia/cuda_nvrtc/lib/libnvrtc.so.12",
                "site-packages/nvidia/cuda_runtime/include/cuda_fp16.h",
                "site-packages/nvidia/cuda_nvcc/include/crt/mma.h",
                "site-packages/nvidia/cuda_cccl/include/cuda/std/cstdint",
            ]),
            [
                "site-packages/nvidia/cuda_runtime/include",
                "site-packages/nvidia/cuda_nvcc/include",
                "site-packages/nvidia/cuda_cccl/include"
            ]
        );
        assert_eq!(
            layout(&[
                "site-packages/nvidia/cu13/lib/libnvrtc.so.13",
                "site-packages/nvidia/cu13/include/cuda_fp16.h",
                "site-packages/nvidia/cu13/include/crt/mma.h",
                "site-packages/nvidia/cu13/cccl/cuda/std/cstdint",
            ]),
            ["site-packages/nvidia/cu13/include", "site-packages/nvidia/cu13/cccl"]
        );
    }

    #[test]
    fn a_library_alone_has_no_headers() {
        assert!(layout(&["site-packages/nvidia/cuda_nvrtc/lib/libnvrtc.so.12"]).is_empty());
    }
}
