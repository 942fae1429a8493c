//! The driver as a whole: initialisation, version, error texts, function lookup, profiler.

use super::{put, text};
use crate::error;
use crate::state;
use std::collections::HashMap;
use std::ffi::{c_char, c_int, c_uint, c_void};
use std::sync::OnceLock;

/// CUDA 13.0.
const VERSION: c_int = 13000;

/// Addresses by name. Callers ask for the plain name and mean the newest variant: an implemented one if there is any.
/// `_ptsz` and `_ptds` variants differ only in which stream a null handle names.
fn lookup(name: &str) -> Option<usize> {
    type Table = HashMap<&'static str, usize>;
    static TABLES: OnceLock<[Table; 2]> = OnceLock::new();
    let tables = TABLES.get_or_init(|| {
        [super::exports(), crate::unsupported::exports()]
            .map(|all| all.into_iter().map(|(name, address)| (name, address as usize)).collect())
    });
    let plain = name.trim_end_matches("_ptsz").trim_end_matches("_ptds");
    tables.iter().find_map(|table| {
        ["_v4", "_v3", "_v2", ""]
            .iter()
            .find_map(|suffix| table.get(format!("{plain}{suffix}").as_str()).copied())
    })
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

    fn cuGetProcAddress(name: *const c_char, function: *mut *mut c_void, _version: c_int, _flags: u64) {
        match lookup(&text(name)?) {
            Some(address) => put(function, address as *mut c_void),
            None => {
                put(function, std::ptr::null_mut())?;
                Err(error::NOT_FOUND)
            }
        }
    }

    fn cuGetProcAddress_v2(
        name: *const c_char,
        function: *mut *mut c_void,
        _version: c_int,
        _flags: u64,
        status: *mut c_int,
    ) {
        let found = lookup(&text(name)?);
        if !status.is_null() {
            // 0: found; 1: no such symbol.
            put(status, c_int::from(found.is_none()))?;
        }
        match found {
            Some(address) => put(function, address as *mut c_void),
            None => {
                put(function, std::ptr::null_mut())?;
                Err(error::NOT_FOUND)
            }
        }
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
