//! Names of headers that candidates may include, and the few of the standard library that are given to them.

/// What NVRTC leaves out and nvcc has without any include: integers of fixed width, and the limits and constants of
/// numbers. Spelled as CUDA's own C++ library does, so that both may meet in one source.
pub(in crate::compile) const PRELUDE: (&str, &str) = ("fsr_prelude.h", include_str!("prelude.h"));

/// Headers of the standard library that are accepted and empty: what kernels use of them is in the prelude, or built
/// into NVRTC. Sources that were written for nvcc include them.
pub(in crate::compile) const STANDARD: [&str; 20] = [
    "assert.h",
    "cassert",
    "cfloat",
    "climits",
    "cmath",
    "cstddef",
    "cstdint",
    "cstdio",
    "cstdlib",
    "cstring",
    "float.h",
    "inttypes.h",
    "limits.h",
    "math.h",
    "stdbool.h",
    "stddef.h",
    "stdint.h",
    "stdio.h",
    "stdlib.h",
    "string.h",
];

/// Folders of CUDA's headers.
const FOLDERS: [&str; 6] = ["cooperative_groups", "crt", "cub", "cuda", "nv", "thrust"];

/// Single headers of CUDA that no prefix below covers.
const FILES: [&str; 13] = [
    "builtin_types.h",
    "channel_descriptor.h",
    "common_functions.h",
    "cooperative_groups.h",
    "cuComplex.h",
    "cuda.h",
    "driver_types.h",
    "host_config.h",
    "host_defines.h",
    "library_types.h",
    "math_constants.h",
    "math_functions.h",
    "mma.h",
];

/// First parts of the names of CUDA's other headers.
const PREFIXES: [&str; 7] = ["cuda_", "curand", "device_", "sm_", "surface_", "texture_", "vector_"];

/// What is around a source.
pub(in crate::compile) struct Known<'a> {
    /// The spec's own headers: name as in the `#include`, and text.
    pub(in crate::compile) headers: &'a [(String, String)],
    /// Whether the toolkit has a header of that name.
    pub(in crate::compile) in_toolkit: &'a dyn Fn(&str) -> bool,
}

/// What a name in an `#include` is.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Name {
    /// The spec's own.
    Own,
    /// Of the standard library, given by us.
    Standard,
    /// CUDA's.
    Cuda,
    /// It would be CUDA's, and this toolkit does not have it; with the reason for a refusal.
    Absent(String, String),
    /// No name for a candidate, and why.
    Refused(String),
}

impl Known<'_> {
    /// Judges a header name with its quotes or brackets.
    pub(super) fn judge(&self, header: &str) -> Name {
        let quoted = header.strip_prefix('"').and_then(|rest| rest.strip_suffix('"'));
        let angled = header.strip_prefix('<').and_then(|rest| rest.strip_suffix('>'));
        let name = quoted.or(angled);
        if self.headers.iter().any(|(own, _)| Some(own.as_str()) == name) {
            return Name::Own;
        }
        let Some(name) = name.filter(|name| is_plain(name)) else {
            return Name::Refused(format!(
                "`#include {header}`: no absolute, relative or unusual paths; {}",
                self.may()
            ));
        };
        if STANDARD.contains(&name) {
            return Name::Standard;
        }
        if !is_cuda(name) {
            return Name::Refused(format!("`#include {header}` is not for candidates; {}", self.may()));
        }
        match (self.in_toolkit)(name) {
            true => Name::Cuda,
            false => Name::Absent(
                name.to_owned(),
                format!("`#include {header}`: this CUDA toolkit has no such header"),
            ),
        }
    }

    fn may(&self) -> String {
        let mut may =
            "include CUDA's device headers (cuda_fp16.h, mma.h, cooperative_groups.h, cuda/std/..., cub/...)"
                .to_owned();
        for (name, _) in self.headers {
            may.push_str(&format!(" or \"{name}\""));
        }
        may
    }
}

/// Parts of letters, digits, `_`, `-`, `+` and points, joined by single slashes; none is `.` or `..`.
fn is_plain(name: &str) -> bool {
    name.split('/').all(|part| {
        !part.is_empty()
            && !part.bytes().all(|byte| byte == b'.')
            && part.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_-+.".contains(&byte))
    })
}

/// Whether CUDA has headers of such names; not whether this one exists.
pub(in crate::compile) fn is_cuda(name: &str) -> bool {
    match name.split_once('/') {
        Some((folder, _)) => FOLDERS.contains(&folder),
        None => {
            FILES.contains(&name)
                || PREFIXES.iter().any(|prefix| name.starts_with(prefix))
                    && (name.ends_with(".h") || name.ends_with(".hpp"))
        }
    }
}

/// Whether CUDA has a folder of headers of that name.
pub(in crate::compile) fn is_cuda_folder(name: &str) -> bool {
    FOLDERS.contains(&name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_cuda_are_told_from_others() {
        for name in [
            "cuda_fp16.h",
            "cuda_runtime.h",
            "mma.h",
            "cooperative_groups.h",
            "cooperative_groups/memcpy_async.h",
            "cuda/std/cstdint",
            "cuda/barrier",
            "cub/cub.cuh",
            "nv/target",
            "crt/mma.h",
            "sm_61_intrinsics.h",
            "vector_types.h",
            "math_constants.h",
            "cuComplex.h",
            "device_launch_parameters.h",
            "curand_kernel.h",
        ] {
            assert!(is_plain(name) && is_cuda(name), "{name}");
        }
        for name in [
            "vector",
            "unistd.h",
            "cuda_secrets",
            "sys/stat.h",
            "cutlass/cutlass.h",
            "windows.h",
            "cudafoo/x.h",
        ] {
            assert!(is_plain(name) && !is_cuda(name), "{name}");
        }
        for name in
            ["", "/", "a//b", "/a", "a/", "..", "cuda/../x", "cuda/./x", "C:x", "a\\b", "a b", "a\u{e9}"]
        {
            assert!(!is_plain(name), "{name}");
        }
    }
}
