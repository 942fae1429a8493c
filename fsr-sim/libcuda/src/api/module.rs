//! Modules and functions.

use super::{put, text};
use crate::error;
use crate::loading;
use crate::state::{Driver, FunctionState, Handle, Outcome, active};
use std::ffi::{CStr, c_char, c_int, c_uint, c_void};
use std::sync::Arc;
use std::sync::atomic::{AtomicI32, Ordering::Relaxed};

const INFO_LOG: c_int = 3;
const INFO_LOG_SIZE: c_int = 4;
const ERROR_LOG: c_int = 5;
const ERROR_LOG_SIZE: c_int = 6;

fn load(driver: &Driver, to: *mut Handle, image: &[u8]) -> Result<(), loading::Refused> {
    let refuse = |code| loading::Refused { code, log: String::new() };
    if to.is_null() {
        return Err(refuse(error::INVALID_VALUE));
    }
    let module = loading::module(image, driver.device.profile())?;
    let loaded = driver
        .device
        .load(module)
        .map_err(|e| loading::Refused { code: error::of_memory(&e), log: e.to_string() })?;
    let handle = driver.handle();
    driver.tables().modules.insert(handle, loaded);
    put(to, handle as Handle).map_err(refuse)
}

/// An image in the caller's memory: machine code by its header, else text up to its NUL.
fn image<'a>(data: *const c_void) -> Outcome<&'a [u8]> {
    if data.is_null() {
        return Err(error::INVALID_VALUE);
    }
    // SAFETY: not null; the interface requires an ELF or fatbin image (at least its four magic bytes are readable),
    // or a NUL-terminated text.
    unsafe {
        let start = data.cast::<u8>();
        if start.read() == 0x7f || start.read() == 0x50 {
            let magic = std::slice::from_raw_parts(start, 4);
            if magic == b"\x7fELF" || magic == [0x50, 0xed, 0x55, 0xba] {
                return Ok(magic);
            }
        }
        Ok(CStr::from_ptr(start.cast()).to_bytes())
    }
}

/// Writes a log into the caller's buffer, and how long it is into the size option, as the driver does.
fn write_log(options: &[c_int], values: *mut *mut c_void, buffer: c_int, size: c_int, log: &str) {
    let at = |wanted: c_int| options.iter().position(|o| *o == wanted);
    let (Some(buffer), Some(size)) = (at(buffer), at(size)) else { return };
    // SAFETY: `values` has as many entries as `options`; the buffer has as many bytes as the size entry says.
    unsafe {
        let room = values.add(size).read() as usize;
        let to = values.add(buffer).read().cast::<u8>();
        if to.is_null() || room == 0 {
            return;
        }
        let take = log.len().min(room - 1);
        std::ptr::copy_nonoverlapping(log.as_ptr(), to, take);
        to.add(take).write(0);
        values.add(size).write(take as *mut c_void);
    }
}

fn function(driver: &Driver, handle: Handle) -> Outcome<Arc<FunctionState>> {
    driver.tables().functions.get(&(handle as usize)).cloned().ok_or(error::INVALID_HANDLE)
}

/// For the files of launches and occupancy.
pub(super) fn find(driver: &Driver, handle: Handle) -> Outcome<Arc<FunctionState>> {
    function(driver, handle)
}

super::driver_api! {
    fn cuModuleLoad(to: *mut Handle, path: *const c_char) {
        let driver = active()?;
        let path = text(path)?;
        let bytes = std::fs::read(&path).map_err(|_| error::FILE_NOT_FOUND)?;
        load(driver, to, &bytes).map_err(|refused| {
            eprintln!("fsr-sim: {path}: {}", refused.log);
            refused.code
        })
    }

    fn cuModuleLoadData(to: *mut Handle, data: *const c_void) {
        load(active()?, to, image(data)?).map_err(|refused| {
            eprintln!("fsr-sim: {}", refused.log);
            refused.code
        })
    }

    fn cuModuleLoadFatBinary(to: *mut Handle, data: *const c_void) {
        load(active()?, to, image(data)?).map_err(|refused| refused.code)
    }

    fn cuModuleLoadDataEx(
        to: *mut Handle,
        data: *const c_void,
        count: c_uint,
        options: *mut c_int,
        values: *mut *mut c_void,
    ) {
        let driver = active()?;
        let options = if count == 0 || options.is_null() || values.is_null() {
            &[]
        } else {
            // SAFETY: the caller gives `count` options.
            unsafe { std::slice::from_raw_parts(options, count as usize) }
        };
        let result = load(driver, to, image(data)?);
        let log = result.as_ref().map_or_else(|refused| refused.log.as_str(), |()| "");
        write_log(options, values, INFO_LOG, INFO_LOG_SIZE, "");
        write_log(options, values, ERROR_LOG, ERROR_LOG_SIZE, log);
        result.map_err(|refused| refused.code)
    }

    fn cuModuleUnload(module: Handle) {
        let driver = active()?;
        let number = module as usize;
        let loaded = {
            let mut tables = driver.tables();
            let loaded = tables.modules.remove(&number).ok_or(error::INVALID_HANDLE)?;
            tables.functions.retain(|_, f| f.module != number);
            tables.function_of.retain(|(of, _), _| *of != number);
            loaded
        };
        driver.device.unload(&loaded);
        Ok(())
    }

    fn cuModuleGetFunction(to: *mut Handle, module: Handle, name: *const c_char) {
        let driver = active()?;
        let (number, name) = (module as usize, text(name)?);
        let mut tables = driver.tables();
        let loaded = tables.modules.get(&number).ok_or(error::INVALID_HANDLE)?.clone();
        if let Some(handle) = tables.function_of.get(&(number, name.clone())) {
            return put(to, *handle as Handle);
        }
        let function = loaded.function(&name).ok_or(error::NOT_FOUND)?;
        let handle = driver.handle();
        let most = driver.device.profile().shared_per_block.saturating_sub(function.static_shared());
        let state = FunctionState { function, module: number, dynamic_shared_most: AtomicI32::new(most as i32) };
        tables.functions.insert(handle, Arc::new(state));
        tables.function_of.insert((number, name), handle);
        put(to, handle as Handle)
    }

    fn cuModuleGetFunctionCount(count: *mut c_uint, module: Handle) {
        let driver = active()?;
        let tables = driver.tables();
        let loaded = tables.modules.get(&(module as usize)).ok_or(error::INVALID_HANDLE)?;
        put(count, loaded.entries().count() as c_uint)
    }

    fn cuModuleGetGlobal_v2(address: *mut u64, bytes: *mut usize, module: Handle, name: *const c_char) {
        let driver = active()?;
        let name = text(name)?;
        let tables = driver.tables();
        let loaded = tables.modules.get(&(module as usize)).ok_or(error::INVALID_HANDLE)?;
        let (at, size) = loaded.variable(&name).ok_or(error::NOT_FOUND)?;
        if !address.is_null() {
            put(address, at)?;
        }
        if bytes.is_null() { Ok(()) } else { put(bytes, size as usize) }
    }

    fn cuFuncGetAttribute(value: *mut c_int, attribute: c_int, handle: Handle) {
        let driver = active()?;
        let state = function(driver, handle)?;
        let f = &state.function;
        let (major, minor) = f.ptx_version();
        let (cc_major, cc_minor) = driver.device.profile().compute_capability;
        let number = |n: u32| c_int::try_from(n).unwrap_or(c_int::MAX);
        put(value, match attribute {
            0 => number(f.max_threads().unwrap_or(1024).min(1024)),
            1 => number(f.static_shared()),
            2 => 0,
            3 => number(f.local_bytes()),
            4 => number(f.registers()),
            5 => number(major * 10 + minor),
            6 => number(cc_major * 10 + cc_minor),
            7 => 0,
            8 => state.dynamic_shared_most.load(Relaxed),
            9 => -1,
            10..=17 => 0,
            _ => return Err(error::INVALID_VALUE),
        })
    }

    fn cuFuncSetAttribute(handle: Handle, attribute: c_int, value: c_int) {
        let driver = active()?;
        let state = function(driver, handle)?;
        match attribute {
            8 => {
                let most = driver.device.profile().shared_per_block_optin;
                let wanted = u32::try_from(value).map_err(|_| error::INVALID_VALUE)?;
                if wanted.saturating_add(state.function.static_shared()) > most {
                    return Err(error::INVALID_VALUE);
                }
                state.dynamic_shared_most.store(value, Relaxed);
                Ok(())
            }
            // Preferences.
            9 => Ok(()),
            _ => Err(error::INVALID_VALUE),
        }
    }

    fn cuFuncSetCacheConfig(handle: Handle, _config: c_int) {
        function(active()?, handle).map(|_| ())
    }

    fn cuFuncSetSharedMemConfig(handle: Handle, _config: c_int) {
        function(active()?, handle).map(|_| ())
    }

    fn cuFuncGetModule(module: *mut Handle, handle: Handle) {
        put(module, function(active()?, handle)?.module as Handle)
    }

    fn cuFuncGetParamInfo(handle: Handle, index: usize, offset: *mut usize, size: *mut usize) {
        let state = function(active()?, handle)?;
        let param = state.function.params().get(index).ok_or(error::INVALID_VALUE)?;
        put(offset, param.offset as usize)?;
        if size.is_null() { Ok(()) } else { put(size, param.size as usize) }
    }
}
