//! The places where an NVRTC may lie, in order. Reads folders and asks the loader and Python; loads nothing.

use std::collections::BTreeSet;
use std::env;
use std::fmt;
use std::path::{Path, PathBuf};

use etcetera::BaseStrategy;

use super::headers::children;
use super::program;
use crate::compile::CompilerError;

/// Moves cargo-fsr's own toolchain folder.
pub(super) const FOLDER_VARIABLE: &str = "FSR_TOOLCHAIN_DIR";

/// What led to a library.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Origin {
    /// The user's configuration names it.
    Configured,
    /// `CUDA_HOME` or `CUDA_PATH`.
    CudaHome,
    /// The loader's own path, and where toolkits are installed by custom.
    Loader,
    /// NVIDIA's wheels in the active Python environment.
    Python,
    /// `cargo fsr toolchain install`.
    Installed,
}

impl Origin {
    /// First come, first served.
    pub const ORDER: [Origin; 5] =
        [Origin::Configured, Origin::CudaHome, Origin::Loader, Origin::Python, Origin::Installed];
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Origin::Configured => "configured",
            Origin::CudaHome => "CUDA_HOME",
            Origin::Loader => "system",
            Origin::Python => "Python wheels",
            Origin::Installed => "cargo fsr toolchain",
        })
    }
}

/// Where to look.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Places {
    /// A library, or a folder that holds one.
    pub configured: Option<PathBuf>,
    /// Roots of CUDA toolkits, from `CUDA_HOME` and `CUDA_PATH`.
    pub cuda_home: Vec<PathBuf>,
    /// Folders that the loader is told to search.
    pub loader: Vec<PathBuf>,
    /// Roots of active Python environments.
    pub python: Vec<PathBuf>,
    /// Whether the machine at large is asked too: ldconfig, `/usr/local/cuda`, and the Python on `PATH`.
    pub system: bool,
    /// cargo-fsr's own folder, with one toolchain in each subfolder; it need not exist.
    pub installed: PathBuf,
}

impl Places {
    /// From the environment variables of this process.
    ///
    /// # Errors
    /// When there is no home folder and no `FSR_TOOLCHAIN_DIR`.
    pub fn from_env(configured: Option<PathBuf>) -> Result<Self, CompilerError> {
        let paths = |name: &str| -> Vec<PathBuf> {
            let paths = env::var_os(name).map(|value| env::split_paths(&value).collect::<Vec<_>>());
            paths.unwrap_or_default().into_iter().filter(|path| !path.as_os_str().is_empty()).collect()
        };
        let one = |name: &str| env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
        let installed = match one(FOLDER_VARIABLE) {
            Some(folder) => folder,
            None => etcetera::choose_base_strategy()
                .map_err(|error| {
                    CompilerError::NotFound(format!(
                        "no folder for toolchains: {error}; set {FOLDER_VARIABLE}"
                    ))
                })?
                .data_dir()
                .join("cargo-fsr")
                .join("toolchains"),
        };
        let loader = if cfg!(windows) { "PATH" } else { "LD_LIBRARY_PATH" };
        Ok(Self {
            configured,
            cuda_home: [one("CUDA_HOME"), one("CUDA_PATH")].into_iter().flatten().collect(),
            loader: paths(loader),
            python: [one("VIRTUAL_ENV"), one("CONDA_PREFIX")].into_iter().flatten().collect(),
            system: true,
            installed,
        })
    }

    /// Paths of the libraries of one origin, each once.
    pub fn libraries(&self, origin: Origin) -> Vec<PathBuf> {
        let folders: Vec<PathBuf> = match origin {
            Origin::Configured => match &self.configured {
                Some(file) if file.is_file() => {
                    return vec![std::path::absolute(file).unwrap_or_else(|_| file.clone())];
                }
                Some(folder) => {
                    toolkit(folder).chain(site_packages(folder)).chain([folder.clone()]).collect()
                }
                None => Vec::new(),
            },
            Origin::CudaHome => self.cuda_home.iter().flat_map(|root| toolkit(root)).collect(),
            Origin::Loader => {
                let mut folders = self.loader.clone();
                if self.system {
                    folders.extend(ldconfig());
                    folders.extend(custom().iter().flat_map(|root| toolkit(root)));
                }
                folders
            }
            Origin::Python => {
                let mut folders: Vec<PathBuf> =
                    self.python.iter().flat_map(|root| environment(root)).collect();
                if self.system && folders.iter().all(|folder| in_folder(folder).is_empty()) {
                    folders.extend(python().iter().flat_map(|folder| site_packages(folder)));
                }
                folders
            }
            Origin::Installed => {
                // Newest first is of no use: versions are exact. Hidden folders are installations under way.
                let toolchains = children(&self.installed).into_iter().filter(|folder| {
                    folder.file_name().is_some_and(|name| !name.to_string_lossy().starts_with('.'))
                });
                toolchains.flat_map(|folder| site_packages(&folder).collect::<Vec<_>>()).collect()
            }
        };
        let mut seen = BTreeSet::new();
        folders
            .iter()
            .flat_map(|folder| in_folder(folder))
            // The compiler process has a working folder of its own.
            .map(|library| std::path::absolute(&library).unwrap_or(library))
            .filter(|library| seen.insert(library.canonicalize().unwrap_or_else(|_| library.clone())))
            .collect()
    }

    /// The places in words, for a message.
    pub(super) fn describe(&self) -> String {
        let joined = |paths: &[PathBuf]| {
            paths.iter().map(|path| path.display().to_string()).collect::<Vec<_>>().join(", ")
        };
        let mut words = Vec::new();
        if let Some(configured) = &self.configured {
            words.push(format!("the configured {}", configured.display()));
        }
        words.push(match self.cuda_home.as_slice() {
            [] => "CUDA_HOME and CUDA_PATH (not set)".to_owned(),
            paths => format!("CUDA_HOME and CUDA_PATH ({})", joined(paths)),
        });
        words.push("the loader's path".to_owned());
        words.push(match self.python.as_slice() {
            [] => "the Python on PATH".to_owned(),
            paths => format!("the Python environment ({})", joined(paths)),
        });
        words.push(self.installed.display().to_string());
        words.join(", ")
    }
}

/// Library folders below a CUDA toolkit's root.
fn toolkit(root: &Path) -> impl Iterator<Item = PathBuf> + use<> {
    let fixed = ["lib64", "lib", "bin", "bin/x64", "lib/x86_64-linux-gnu", "lib/aarch64-linux-gnu"];
    let targets = children(&root.join("targets")).into_iter().map(|target| target.join("lib"));
    let fixed: Vec<PathBuf> = fixed.iter().map(|folder| root.join(folder)).collect();
    fixed.into_iter().chain(targets)
}

/// Library folders of NVIDIA's wheels below a `site-packages`.
fn site_packages(folder: &Path) -> impl Iterator<Item = PathBuf> + use<> {
    // `nvidia/cuda_nvrtc/lib` up to CUDA 12, `nvidia/cu13/lib` since.
    children(&folder.join("nvidia"))
        .into_iter()
        .flat_map(|package| ["lib", "bin", "bin/x86_64", "lib/x64"].map(|name| package.join(name)))
}

/// Library folders of a Python or conda environment.
fn environment(root: &Path) -> Vec<PathBuf> {
    let mut folders: Vec<PathBuf> = toolkit(root).collect();
    let pythons = children(&root.join("lib")).into_iter().map(|python| python.join("site-packages"));
    for site in pythons.chain([root.join("Lib").join("site-packages")]) {
        folders.extend(site_packages(&site));
    }
    folders
}

/// Files in a folder that are named as NVRTC is.
fn in_folder(folder: &Path) -> Vec<PathBuf> {
    let named = |path: &PathBuf| path.file_name().and_then(|name| name.to_str()).is_some_and(is_nvrtc);
    children(folder).into_iter().filter(named).filter(|path| path.is_file()).collect()
}

/// `libnvrtc.so`, `libnvrtc.so.12`, `libnvrtc.so.11.8.89`, `nvrtc64_120_0.dll`; not the builtins, and not the second
/// build (`.alt`) that some wheels carry.
fn is_nvrtc(name: &str) -> bool {
    if let Some(rest) = name.strip_prefix("libnvrtc.so") {
        return rest.is_empty()
            || rest
                .strip_prefix('.')
                .is_some_and(|version| version.bytes().all(|b| b.is_ascii_digit() || b == b'.'));
    }
    name.strip_prefix("nvrtc64_")
        .and_then(|rest| rest.strip_suffix(".dll"))
        .is_some_and(|version| version.bytes().all(|b| b.is_ascii_digit() || b == b'_'))
}

/// Folders of NVRTC in the loader's cache.
fn ldconfig() -> Vec<PathBuf> {
    if cfg!(not(target_os = "linux")) {
        return Vec::new();
    }
    let cache = ["ldconfig", "/sbin/ldconfig", "/usr/sbin/ldconfig"]
        .iter()
        .find_map(|program| program::answer(program, &["-p"]))
        .unwrap_or_default();
    ldconfig_folders(&cache)
}

fn ldconfig_folders(cache: &str) -> Vec<PathBuf> {
    let lines = cache.lines().filter(|line| line.trim_start().starts_with("libnvrtc.so"));
    let paths = lines.filter_map(|line| line.split_once(" => ")).map(|(_, path)| Path::new(path.trim()));
    paths.filter_map(Path::parent).map(Path::to_owned).collect()
}

/// Roots where installers put toolkits without telling the loader.
fn custom() -> Vec<PathBuf> {
    if cfg!(windows) {
        return Vec::new();
    }
    let versions = children(Path::new("/usr/local"))
        .into_iter()
        .filter(|path| path.file_name().is_some_and(|name| name.to_string_lossy().starts_with("cuda")));
    versions.chain([PathBuf::from("/opt/cuda")]).collect()
}

/// Package folders of the Python on `PATH`.
fn python() -> Vec<PathBuf> {
    let question = "import site, sysconfig\n\
        paths = [sysconfig.get_path('purelib'), site.getusersitepackages()] + site.getsitepackages()\n\
        print('\\n'.join(dict.fromkeys(paths)))";
    let answer = ["python3", "python"].iter().find_map(|python| program::answer(python, &["-c", question]));
    answer.unwrap_or_default().lines().map(PathBuf::from).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn touch(root: &Path, files: &[&str]) {
        for file in files {
            let path = root.join(file);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, "").unwrap();
        }
    }

    fn found(places: &Places, origin: Origin, root: &Path) -> Vec<String> {
        let libraries = places.libraries(origin);
        let relative = |path: &PathBuf| path.strip_prefix(root).unwrap().to_str().unwrap().replace('\\', "/");
        libraries.iter().map(relative).collect()
    }

    #[test]
    fn nvrtc_is_told_from_its_neighbours() {
        for name in ["libnvrtc.so", "libnvrtc.so.12", "libnvrtc.so.11.8.89", "nvrtc64_120_0.dll"] {
            assert!(is_nvrtc(name), "{name}");
        }
        for name in [
            "libnvrtc-builtins.so.12.8",
            "libnvrtc.alt.so.12",
            "libnvrtc_static.a",
            "libnvrtc.so.12.bak",
            "nvrtc64_120_0.alt.dll",
            "nvrtc-builtins64_128.dll",
        ] {
            assert!(!is_nvrtc(name), "{name}");
        }
    }

    #[test]
    fn every_place_is_looked_at_in_its_own_layout() {
        let root = tempfile::tempdir().unwrap();
        touch(
            root.path(),
            &[
                "home/lib64/libnvrtc.so.12",
                "path/libnvrtc.so.12",
                "venv/lib/python3.12/site-packages/nvidia/cuda_nvrtc/lib/libnvrtc.so.12",
                "conda/lib/libnvrtc.so.13",
                "own/cuda-13.0/nvidia/cu13/lib/libnvrtc.so.13",
                "own/.under-way/nvidia/cu13/lib/libnvrtc.so.13",
            ],
        );
        let at = |name: &str| root.path().join(name);
        let places = Places {
            configured: None,
            cuda_home: vec![at("home"), at("not-there")],
            loader: vec![at("path")],
            python: vec![at("venv"), at("conda")],
            system: false,
            installed: at("own"),
        };
        assert_eq!(found(&places, Origin::Configured, root.path()), [""; 0]);
        assert_eq!(found(&places, Origin::CudaHome, root.path()), ["home/lib64/libnvrtc.so.12"]);
        assert_eq!(found(&places, Origin::Loader, root.path()), ["path/libnvrtc.so.12"]);
        assert_eq!(
            found(&places, Origin::Python, root.path()),
            [
                "venv/lib/python3.12/site-packages/nvidia/cuda_nvrtc/lib/libnvrtc.so.12",
                "conda/lib/libnvrtc.so.13"
            ]
        );
        assert_eq!(
            found(&places, Origin::Installed, root.path()),
            ["own/cuda-13.0/nvidia/cu13/lib/libnvrtc.so.13"]
        );
    }

    #[test]
    fn a_configured_path_may_be_a_file_a_toolkit_or_a_package_folder() {
        let root = tempfile::tempdir().unwrap();
        touch(root.path(), &["cuda/lib64/libnvrtc.so.12", "site/nvidia/cu13/lib/libnvrtc.so.13"]);
        for (configured, library) in [
            ("cuda/lib64/libnvrtc.so.12", "cuda/lib64/libnvrtc.so.12"),
            ("cuda/lib64", "cuda/lib64/libnvrtc.so.12"),
            ("cuda", "cuda/lib64/libnvrtc.so.12"),
            ("site", "site/nvidia/cu13/lib/libnvrtc.so.13"),
        ] {
            let places = Places { configured: Some(root.path().join(configured)), ..Places::default() };
            assert_eq!(found(&places, Origin::Configured, root.path()), [library], "{configured}");
        }
    }

    #[test]
    #[cfg(unix)]
    fn a_library_behind_several_names_is_one() {
        let root = tempfile::tempdir().unwrap();
        touch(root.path(), &["lib/libnvrtc.so.12.8.93"]);
        for name in ["lib/libnvrtc.so.12", "lib/libnvrtc.so"] {
            std::os::unix::fs::symlink(root.path().join("lib/libnvrtc.so.12.8.93"), root.path().join(name))
                .unwrap();
        }
        let places = Places { loader: vec![root.path().join("lib")], ..Places::default() };
        assert_eq!(places.libraries(Origin::Loader).len(), 1);
    }

    #[test]
    fn the_loaders_cache_is_read() {
        let cache = "2 libs found in cache\n\
            \tlibnvrtc.so.12 (libc6,x86-64) => /usr/local/cuda/lib64/libnvrtc.so.12\n\
            \tlibnvrtc-builtins.so.12.8 (libc6,x86-64) => /usr/lib/libnvrtc-builtins.so.12.8\n";
        assert_eq!(ldconfig_folders(cache), [PathBuf::from("/usr/local/cuda/lib64")]);
    }
}
