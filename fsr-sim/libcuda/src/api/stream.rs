//! Streams. Work is done when its call returns, so that waiting is always over; capture is not supported.

use super::put;
use crate::error;
use crate::state::{Handle, Outcome, Stream, active, driver};
use std::ffi::{c_int, c_uint, c_void};

fn create(to: *mut Handle, flags: c_uint, priority: c_int) -> Outcome {
    let driver = active()?;
    if flags > 1 || to.is_null() {
        return Err(error::INVALID_VALUE);
    }
    let handle = driver.handle();
    driver.tables().streams.insert(handle, Stream { flags, priority });
    put(to, handle as Handle)
}

super::driver_api! {
    fn cuStreamCreate(to: *mut Handle, flags: c_uint) {
        create(to, flags, 0)
    }

    fn cuStreamCreateWithPriority(to: *mut Handle, flags: c_uint, priority: c_int) {
        create(to, flags, priority)
    }

    fn cuStreamDestroy_v2(stream: Handle) {
        match driver()?.tables().streams.remove(&(stream as usize)) {
            Some(_) => Ok(()),
            None => Err(error::INVALID_HANDLE),
        }
    }

    fn cuStreamSynchronize(stream: Handle) {
        active()?.check_stream(stream)
    }

    fn cuStreamQuery(stream: Handle) {
        active()?.check_stream(stream)
    }

    fn cuStreamWaitEvent(stream: Handle, event: Handle, _flags: c_uint) {
        let driver = active()?;
        driver.check_stream(stream)?;
        if driver.tables().events.contains_key(&(event as usize)) { Ok(()) } else { Err(error::INVALID_HANDLE) }
    }

    fn cuStreamGetFlags(stream: Handle, flags: *mut c_uint) {
        let driver = active()?;
        driver.check_stream(stream)?;
        let known = driver.tables().streams.get(&(stream as usize)).map_or(0, |s| s.flags);
        put(flags, known)
    }

    fn cuStreamGetPriority(stream: Handle, priority: *mut c_int) {
        let driver = active()?;
        driver.check_stream(stream)?;
        let known = driver.tables().streams.get(&(stream as usize)).map_or(0, |s| s.priority);
        put(priority, known)
    }

    fn cuStreamGetCtx(stream: Handle, context: *mut Handle) {
        active()?.check_stream(stream)?;
        put(context, crate::state::current() as Handle)
    }

    fn cuStreamAttachMemAsync(stream: Handle, _address: u64, _length: usize, _flags: c_uint) {
        active()?.check_stream(stream)
    }

    fn cuStreamIsCapturing(stream: Handle, status: *mut c_int) {
        active()?.check_stream(stream)?;
        put(status, 0)
    }

    fn cuStreamAddCallback(
        stream: Handle,
        callback: Option<unsafe extern "C" fn(Handle, c_int, *mut c_void)>,
        data: *mut c_void,
        _flags: c_uint,
    ) {
        active()?.check_stream(stream)?;
        let callback = callback.ok_or(error::INVALID_VALUE)?;
        // SAFETY: the interface requires a function of this type; everything before it is done.
        unsafe { callback(stream, error::SUCCESS, data) };
        Ok(())
    }
}
