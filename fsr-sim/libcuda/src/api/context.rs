//! Contexts: the primary one, others that share its memory, and what is current on a thread.

use super::put;
use crate::error;
use crate::state::{self, Handle, PRIMARY, active, check_device, driver};
use std::ffi::{c_int, c_uint, c_void};
use std::sync::atomic::Ordering::Relaxed;

/// Default limits, by `CUlimit`.
fn default_limit(limit: u32) -> Option<usize> {
    match limit {
        0 => Some(1024),
        1 => Some(1 << 20),
        2 => Some(8 << 20),
        3 => Some(2),
        4 => Some(2048),
        5 => Some(64),
        6 => Some(0),
        _ => None,
    }
}

fn create(context: *mut Handle, device: c_int) -> state::Outcome {
    let driver = check_device(device)?;
    let handle = driver.handle();
    driver.tables().contexts.insert(handle, ());
    state::push_current(handle);
    put(context, handle as Handle)
}

super::driver_api! {
    fn cuDevicePrimaryCtxRetain(context: *mut Handle, device: c_int) {
        let driver = check_device(device)?;
        put(context, PRIMARY as Handle)?;
        driver.primary_users.fetch_add(1, Relaxed);
        Ok(())
    }

    fn cuDevicePrimaryCtxRelease(device: c_int) {
        let driver = check_device(device)?;
        let users = driver.primary_users.fetch_update(Relaxed, Relaxed, |users| users.checked_sub(1));
        match users {
            Err(_) => Err(error::INVALID_CONTEXT),
            Ok(1) => {
                driver.forget_context();
                Ok(())
            }
            Ok(_) => Ok(()),
        }
    }

    fn cuDevicePrimaryCtxRelease_v2(device: c_int) {
        // SAFETY: plain integers.
        match unsafe { cuDevicePrimaryCtxRelease(device) } {
            error::SUCCESS => Ok(()),
            code => Err(code),
        }
    }

    fn cuDevicePrimaryCtxReset(device: c_int) {
        check_device(device)?.forget_context();
        Ok(())
    }

    fn cuDevicePrimaryCtxReset_v2(device: c_int) {
        check_device(device)?.forget_context();
        Ok(())
    }

    fn cuDevicePrimaryCtxSetFlags_v2(device: c_int, flags: c_uint) {
        check_device(device)?.primary_flags.store(flags, Relaxed);
        Ok(())
    }

    fn cuDevicePrimaryCtxGetState(device: c_int, flags: *mut c_uint, active: *mut c_int) {
        let driver = check_device(device)?;
        put(flags, driver.primary_flags.load(Relaxed))?;
        put(active, c_int::from(driver.primary_users.load(Relaxed) > 0))
    }

    fn cuCtxCreate_v2(context: *mut Handle, _flags: c_uint, device: c_int) {
        create(context, device)
    }

    fn cuCtxCreate_v3(context: *mut Handle, _params: *mut c_void, _count: c_int, _flags: c_uint, device: c_int) {
        create(context, device)
    }

    fn cuCtxCreate_v4(context: *mut Handle, _params: *mut c_void, _flags: c_uint, device: c_int) {
        create(context, device)
    }

    fn cuCtxDestroy_v2(context: Handle) {
        let driver = driver()?;
        if driver.tables().contexts.remove(&(context as usize)).is_none() {
            return Err(error::INVALID_CONTEXT);
        }
        if state::current() == context as usize {
            state::pop_current();
        }
        if driver.primary_users.load(Relaxed) == 0 && driver.tables().contexts.is_empty() {
            driver.forget_context();
        }
        Ok(())
    }

    fn cuCtxSetCurrent(context: Handle) {
        let driver = driver()?;
        if !context.is_null() && !driver.context_exists(context as usize) {
            return Err(error::INVALID_CONTEXT);
        }
        state::pop_current();
        if !context.is_null() {
            state::push_current(context as usize);
        }
        Ok(())
    }

    fn cuCtxGetCurrent(context: *mut Handle) {
        driver()?;
        put(context, state::current() as Handle)
    }

    fn cuCtxPushCurrent_v2(context: Handle) {
        let driver = driver()?;
        if !driver.context_exists(context as usize) {
            return Err(error::INVALID_CONTEXT);
        }
        state::push_current(context as usize);
        Ok(())
    }

    fn cuCtxPopCurrent_v2(context: *mut Handle) {
        driver()?;
        let current = state::pop_current().ok_or(error::INVALID_CONTEXT)?;
        if context.is_null() { Ok(()) } else { put(context, current as Handle) }
    }

    fn cuCtxGetDevice(device: *mut c_int) {
        active()?;
        put(device, 0)
    }

    fn cuCtxSynchronize() {
        active().map(|_| ())
    }

    fn cuCtxGetFlags(flags: *mut c_uint) {
        put(flags, active()?.primary_flags.load(Relaxed))
    }

    fn cuCtxSetFlags(flags: c_uint) {
        active()?.primary_flags.store(flags, Relaxed);
        Ok(())
    }

    fn cuCtxGetLimit(value: *mut usize, limit: c_uint) {
        let driver = active()?;
        let known = default_limit(limit).ok_or(error::UNSUPPORTED_LIMIT)?;
        let set = driver.tables().limits.get(&limit).copied();
        put(value, set.unwrap_or(known))
    }

    fn cuCtxSetLimit(limit: c_uint, value: usize) {
        let driver = active()?;
        default_limit(limit).ok_or(error::UNSUPPORTED_LIMIT)?;
        driver.tables().limits.insert(limit, value);
        Ok(())
    }

    fn cuCtxGetCacheConfig(config: *mut c_int) {
        put(config, active()?.cache_config.load(Relaxed))
    }

    fn cuCtxSetCacheConfig(config: c_int) {
        // A preference: remembered, and nothing else.
        active()?.cache_config.store(config, Relaxed);
        Ok(())
    }

    fn cuCtxGetSharedMemConfig(config: *mut c_int) {
        active()?;
        put(config, 1)
    }

    fn cuCtxSetSharedMemConfig(_config: c_int) {
        active().map(|_| ())
    }

    fn cuCtxGetStreamPriorityRange(least: *mut c_int, greatest: *mut c_int) {
        active()?;
        if !least.is_null() {
            put(least, 0)?;
        }
        if !greatest.is_null() {
            put(greatest, -5)?;
        }
        Ok(())
    }

    fn cuCtxGetApiVersion(_context: Handle, version: *mut c_uint) {
        driver()?;
        put(version, 3020)
    }
}
