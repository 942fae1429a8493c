//! Faults of the host launch code, caught where they happen.
//!
//! Owns the panic hook of a host process: a panic in a user's closure becomes a [`HostError::HostCode`] with its
//! place, and is still printed on stderr. It never swallows a panic of its own code silently: that, too, is reported.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Mutex, Once, PoisonError};

use fsr_protocol::HostError;

use crate::raw::MapError;

/// Place of the panic that happened last, on whatever thread.
static PLACE: Mutex<Option<String>> = Mutex::new(None);
static HOOK: Once = Once::new();

/// Runs code of the user and turns a panic into an error.
pub(crate) fn guarded<R>(code: impl FnOnce() -> R) -> Result<R, HostError> {
    HOOK.call_once(|| {
        let previous = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |info| {
            let place = info.location().map(ToString::to_string);
            // The first panic is the cause; a pool of threads may panic on as a result.
            let mut kept = PLACE.lock().unwrap_or_else(PoisonError::into_inner);
            if kept.is_none() {
                *kept = place;
            }
            drop(kept);
            previous(info);
        }));
    });
    *PLACE.lock().unwrap_or_else(PoisonError::into_inner) = None;
    catch_unwind(AssertUnwindSafe(code)).map_err(|payload| {
        let place = PLACE.lock().unwrap_or_else(PoisonError::into_inner).take();
        let place = place.map(|place| format!(" at {place}")).unwrap_or_default();
        host_code(format!("panicked{place}: {}", message(&*payload)))
    })
}

fn message(payload: &(dyn Any + Send)) -> &str {
    let text = payload.downcast_ref::<&str>().copied();
    text.or_else(|| payload.downcast_ref::<String>().map(String::as_str)).unwrap_or("no message")
}

pub(crate) fn host_code(message: impl Into<String>) -> HostError {
    HostError::HostCode { message: message.into() }
}

pub(crate) fn io(error: MapError) -> HostError {
    HostError::Io { message: error.to_string() }
}
