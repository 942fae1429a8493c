//! The driver as a whole: initialisation, version, error texts, function lookup, profiler.

use super::{put, text};
use crate::error;
use crate::state;
use std::collections::HashMap;
use std::ffi::{c_char, c_int, c_uint, c_void};
use std::sync::OnceLock;

/// CUDA 13.0.
const VERSION: c_int = 13000;

/// Why a function is not given.
enum Missing {
    Unknown,
    /// It is newer than what the caller was built for, or than this driver.
    TooNew,
}

/// The CUDA version that brought an exported function; 0: an old one.
fn since(name: &str) -> c_int {
    static VERSIONS: OnceLock<HashMap<&'static str, c_int>> = OnceLock::new();
    let versions = VERSIONS.get_or_init(|| {
        let lines = include_str!("../versions.txt").lines().filter(|line| !line.starts_with('#'));
        lines
            .filter_map(|line| line.split_once(' '))
            .filter_map(|(name, at)| Some((name, at.parse().ok()?)))
            .collect()
    });
    versions.get(name).copied().unwrap_or(0)
}

/// The address of a function by its plain name: the newest variant that a caller built for a CUDA version knows. `_ptsz`
/// and `_ptds` variants differ only in which stream a null handle names.
fn lookup(name: &str, version: c_int) -> Result<usize, Missing> {
    type Table = HashMap<&'static str, usize>;
    static TABLE: OnceLock<Table> = OnceLock::new();
    let table = TABLE.get_or_init(|| {
        let all = super::exports().into_iter().chain(crate::unsupported::exports());
        all.map(|(name, address)| (name, address as usize)).collect()
    });
    let plain = name.trim_end_matches("_ptsz").trim_end_matches("_ptds");
    let variants: Vec<(c_int, usize)> = ["_v4", "_v3", "_v2", ""]
        .iter()
        .map(|suffix| format!("{plain}{suffix}"))
        .filter_map(|variant| Some((since(&variant), *table.get(variant.as_str())?)))
        .collect();
    let known = variants.iter().find(|(since, _)| *since <= version.min(VERSION));
    match known {
        Some((_, address)) => Ok(*address),
        None if variants.is_empty() => Err(Missing::Unknown),
        None => Err(Missing::TooNew),
    }
}

super::driver_api! {
    fn cuInit(flags: c_uint) {
        if flags != 0 {
            return Err(error::INVALID_VALUE);
        }
        state::init()
    }

    fn cuDriverGetVersion(version: *mut c_int) {
        put(version, VERSION)
    }

    fn cuGetErrorName(code: c_int, name: *mut *const c_char) {
        match error::describe(code) {
            Some((symbol, _)) => put(name, symbol.as_ptr()),
            None => {
                put(name, std::ptr::null())?;
                Err(error::INVALID_VALUE)
            }
        }
    }

    fn cuGetErrorString(code: c_int, string: *mut *const c_char) {
        match error::describe(code) {
            Some((_, description)) => put(string, description.as_ptr()),
            None => {
                put(string, std::ptr::null())?;
                Err(error::INVALID_VALUE)
            }
        }
    }

    fn cuGetProcAddress(name: *const c_char, function: *mut *mut c_void, version: c_int, _flags: u64) {
        let found = lookup(&text(name)?, version);
        put(function, found.as_ref().map_or(std::ptr::null_mut(), |address| *address as *mut c_void))?;
        found.map(|_| ()).map_err(|_| error::NOT_FOUND)
    }

    fn cuGetProcAddress_v2(
        name: *const c_char,
        function: *mut *mut c_void,
        version: c_int,
        _flags: u64,
        status: *mut c_int,
    ) {
        let found = lookup(&text(name)?, version);
        if !status.is_null() {
            put(status, match &found {
                Ok(_) => 0,
                Err(Missing::Unknown) => 1,
                Err(Missing::TooNew) => 2,
            })?;
        }
        put(function, found.as_ref().map_or(std::ptr::null_mut(), |address| *address as *mut c_void))?;
        found.map(|_| ()).map_err(|_| error::NOT_FOUND)
    }

    // Undocumented, and asked for by NVRTC and the CUDA runtime as a matter of course: refused without a word.
    fn cuGetExportTable(_table: *mut *const c_void, _id: *const c_void) {
        Err(error::NOT_SUPPORTED)
    }

    fn cuProfilerStart() {
        state::active().map(|_| ())
    }

    fn cuProfilerStop() {
        state::active().map(|_| ())
    }
}
