//! Events: points on the modelled clock.

use super::put;
use crate::error;
use crate::state::{Event, Handle, Outcome, active, driver};
use std::ffi::c_uint;

/// `CU_EVENT_DISABLE_TIMING`
const DISABLE_TIMING: c_uint = 2;

fn elapsed(milliseconds: *mut f32, start: Handle, end: Handle) -> Outcome {
    let driver = active()?;
    let tables = driver.tables();
    let at = |event: Handle| {
        let event = tables.events.get(&(event as usize)).ok_or(error::INVALID_HANDLE)?;
        if event.timing { event.at.ok_or(error::INVALID_HANDLE) } else { Err(error::INVALID_HANDLE) }
    };
    put(milliseconds, ((at(end)? - at(start)?) / 1e6) as f32)
}

fn record(event: Handle, stream: Handle) -> Outcome {
    let driver = active()?;
    driver.check_stream(stream)?;
    let mut tables = driver.tables();
    let now = tables.clock;
    tables.events.get_mut(&(event as usize)).ok_or(error::INVALID_HANDLE)?.at = Some(now);
    Ok(())
}

fn exists(event: Handle) -> Outcome {
    let driver = active()?;
    if driver.tables().events.contains_key(&(event as usize)) { Ok(()) } else { Err(error::INVALID_HANDLE) }
}

super::driver_api! {
    fn cuEventCreate(to: *mut Handle, flags: c_uint) {
        let driver = active()?;
        if to.is_null() || flags > 7 {
            return Err(error::INVALID_VALUE);
        }
        let handle = driver.handle();
        driver.tables().events.insert(handle, Event { timing: flags & DISABLE_TIMING == 0, at: None });
        put(to, handle as Handle)
    }

    fn cuEventDestroy_v2(event: Handle) {
        match driver()?.tables().events.remove(&(event as usize)) {
            Some(_) => Ok(()),
            None => Err(error::INVALID_HANDLE),
        }
    }

    fn cuEventRecord(event: Handle, stream: Handle) {
        record(event, stream)
    }

    fn cuEventRecordWithFlags(event: Handle, stream: Handle, _flags: c_uint) {
        record(event, stream)
    }

    fn cuEventQuery(event: Handle) {
        exists(event)
    }

    fn cuEventSynchronize(event: Handle) {
        exists(event)
    }

    fn cuEventElapsedTime(milliseconds: *mut f32, start: Handle, end: Handle) {
        elapsed(milliseconds, start, end)
    }

    fn cuEventElapsedTime_v2(milliseconds: *mut f32, start: Handle, end: Handle) {
        elapsed(milliseconds, start, end)
    }
}
