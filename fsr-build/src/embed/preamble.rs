// Written by fsr-build from `Cargo.toml` and `fsr/`. The next build replaces it.

/// A kernel's PTX for one architecture, with the tunables chosen for it.
#[derive(Debug, Clone, Copy)]
#[allow(dead_code, unreachable_pub)]
pub struct Image<T: 'static> {
    /// The target, such as `sm_90`.
    pub arch: &'static str,
    /// The compute capability of the target.
    pub compute_capability: (i32, i32),
    /// On which other devices it loads.
    pub reach: Reach,
    /// The PTX.
    pub ptx: &'static str,
    /// The PTX as `cuModuleLoadData` takes it.
    pub ptx_c_str: &'static ::core::ffi::CStr,
    /// The names of its entry functions, in the order of the spec.
    pub entries: &'static [&'static str],
    /// What to launch it with.
    pub tunables: T,
    /// The oldest driver that loads it, as a CUDA version, such as `(12, 8)`.
    pub oldest_driver: (i32, i32),
    /// SHA-256 of the PTX.
    pub sha256: &'static str,
}

#[allow(dead_code, unreachable_pub)]
impl<T> Image<T> {
    /// Whether it loads on a device of this compute capability.
    pub fn loads_on(&self, major: i32, minor: i32) -> bool {
        let device = (major, minor);
        // 10.1 is a family of its own: CUDA 13 renamed it to 11.0.
        let alone = (10, 1);
        match self.reach {
            Reach::Forward => device >= self.compute_capability,
            Reach::Exact => device == self.compute_capability,
            Reach::Family => {
                device == self.compute_capability
                    || (major == self.compute_capability.0
                        && minor > self.compute_capability.1
                        && device != alone
                        && self.compute_capability != alone)
            }
        }
    }

    /// Whether a driver loads it, by the number that `cuDriverGetVersion` reports, such as 12080.
    pub fn loads_with_driver(&self, version: i32) -> bool {
        version >= self.oldest_driver.0 * 1000 + self.oldest_driver.1 * 10
    }

    /// Why a driver refused it, and what helps: for the number that `cuDriverGetVersion` reports and the device's compute
    /// capability.
    pub fn load_failure(&self, driver_version: i32, major: i32, minor: i32) -> LoadFailure {
        LoadFailure {
            arch: self.arch,
            oldest_driver: self.oldest_driver,
            driver: (driver_version / 1000, driver_version % 1000 / 10),
            compute_capability: (major, minor),
            reason: if !self.loads_on(major, minor) {
                LoadFailureReason::OtherDevice
            } else if !self.loads_with_driver(driver_version) {
                LoadFailureReason::OldDriver
            } else {
                LoadFailureReason::Unexplained
            },
        }
    }
}

/// Why a driver refused an image, in one sentence with the remedy.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(dead_code, unreachable_pub)]
pub struct LoadFailure {
    /// The image's target.
    pub arch: &'static str,
    /// The oldest driver that loads it, as a CUDA version.
    pub oldest_driver: (i32, i32),
    /// The driver that refused it, as a CUDA version.
    pub driver: (i32, i32),
    /// The device's compute capability.
    pub compute_capability: (i32, i32),
    /// What was the matter.
    pub reason: LoadFailureReason,
}

/// What was the matter with an image that a driver refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(dead_code, unreachable_pub)]
pub enum LoadFailureReason {
    /// The image is for other devices.
    OtherDevice,
    /// The driver is older than the image's PTX.
    OldDriver,
    /// Device and driver should do: something else failed, such as memory.
    Unexplained,
}

impl ::core::fmt::Display for LoadFailure {
    fn fmt(&self, f: &mut ::core::fmt::Formatter<'_>) -> ::core::fmt::Result {
        let (arch, (major, minor), driver, oldest) =
            (self.arch, self.compute_capability, self.driver, self.oldest_driver);
        match self.reason {
            LoadFailureReason::OtherDevice => write!(
                f,
                "the image for {arch} does not load on compute capability {major}.{minor}: take the one that `image_for` \
                 gives, or add `sm_{major}{minor}` to `arch` in Cargo.toml and tune"
            ),
            LoadFailureReason::OldDriver => write!(
                f,
                "the driver is for CUDA {}.{} and the image for {arch} needs one for {}.{} or newer: update the NVIDIA \
                 driver, or set `cuda = \"{}.{}\"` or older in Cargo.toml and tune",
                driver.0, driver.1, oldest.0, oldest.1, driver.0, driver.1
            ),
            LoadFailureReason::Unexplained => write!(
                f,
                "the driver (CUDA {}.{}) should load the image for {arch} on compute capability {major}.{minor}: ask it for \
                 its log (CU_JIT_ERROR_LOG_BUFFER), and see whether the device has memory left",
                driver.0, driver.1
            ),
        }
    }
}

impl ::core::error::Error for LoadFailure {}

/// On which devices an image loads.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[allow(dead_code, unreachable_pub)]
pub enum Reach {
    /// On its own compute capability and every later one.
    Forward,
    /// On later devices of its family only, as `sm_100f`.
    Family,
    /// On exactly its own compute capability, as `sm_90a`.
    Exact,
}

/// A kernel has no image that loads on a device.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(dead_code, unreachable_pub)]
pub struct NotTuned {
    /// The kernel.
    pub kernel: &'static str,
    /// The device's compute capability.
    pub compute_capability: (i32, i32),
    /// The architectures that the kernel has images for.
    pub available: &'static [&'static str],
    /// What makes the missing image.
    pub command: &'static str,
}

impl ::core::fmt::Display for NotTuned {
    fn fmt(&self, f: &mut ::core::fmt::Formatter<'_>) -> ::core::fmt::Result {
        let (major, minor) = self.compute_capability;
        write!(f, "kernel `{}` has no image for compute capability {major}.{minor}", self.kernel)?;
        if self.available.is_empty() {
            return write!(f, ": it was built without images; run `{}` and build again", self.command);
        }
        for (at, arch) in self.available.iter().enumerate() {
            write!(f, "{}{arch}", if at == 0 { ", only for " } else { ", " })?;
        }
        write!(f, "; add `sm_{major}{minor}` to `arch` in Cargo.toml and run `{}`", self.command)
    }
}

impl ::core::error::Error for NotTuned {}

/// A candidate's values lack one that the kernel's host code needs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(dead_code, unreachable_pub)]
pub struct MissingTunable {
    /// The kernel.
    pub kernel: &'static str,
    /// The tunable's or launch parameter's name in the spec.
    pub name: &'static str,
}

impl ::core::fmt::Display for MissingTunable {
    fn fmt(&self, f: &mut ::core::fmt::Formatter<'_>) -> ::core::fmt::Result {
        write!(f, "kernel `{}` has no value for `{}`", self.kernel, self.name)
    }
}

impl ::core::error::Error for MissingTunable {}

#[allow(dead_code, unreachable_pub)]
fn best<T>(images: &'static [Image<T>], major: i32, minor: i32) -> ::core::option::Option<&'static Image<T>> {
    images
        .iter()
        .filter(|image| image.loads_on(major, minor))
        .max_by_key(|image| (image.compute_capability, image.reach))
}

#[allow(dead_code, unreachable_pub)]
const fn c_str(text: &'static str) -> &'static ::core::ffi::CStr {
    match ::core::ffi::CStr::from_bytes_with_nul(text.as_bytes()) {
        Ok(text) => text,
        Err(_) => panic!("PTX holds no NUL"),
    }
}

#[allow(dead_code, unreachable_pub)]
const fn text(text: &'static ::core::ffi::CStr) -> &'static str {
    match text.to_str() {
        Ok(text) => text,
        Err(_) => panic!("PTX is UTF-8"),
    }
}
