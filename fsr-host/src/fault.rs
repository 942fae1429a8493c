//! Faults of the host launch code, caught where they happen.
//!
//! Owns the panic hook of a host process: a panic in a user's closure becomes a [`HostError::HostCode`] with its
//! place, and is still printed on stderr. It never swallows a panic of its own code silently: that, too, is reported.

use std::any::Any;
use std::cell::RefCell;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Mutex, Once, PoisonError};

use fsr_protocol::HostError;

use crate::raw::MapError;

thread_local! {
    /// Place of the first panic on this thread since the last look.
    static HERE: RefCell<Option<String>> = const { RefCell::new(None) };
}
/// The same for all threads: code of the user may panic on a thread of its own, which only hands on the payload.
static ANYWHERE: Mutex<Option<String>> = Mutex::new(None);
static HOOK: Once = Once::new();

/// Runs code of the user and turns a panic into an error.
pub(crate) fn guarded<R>(code: impl FnOnce() -> R) -> Result<R, HostError> {
    HOOK.call_once(|| {
        let previous = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |info| {
            // The first panic is the cause; a pool of threads may panic on as a result.
            let place = info.location().map(ToString::to_string);
            let _ = HERE.try_with(|here| {
                if let Ok(mut here) = here.try_borrow_mut() {
                    here.get_or_insert_with(|| place.clone().unwrap_or_default());
                }
            });
            let mut anywhere = ANYWHERE.lock().unwrap_or_else(PoisonError::into_inner);
            *anywhere = anywhere.take().or(place);
            drop(anywhere);
            previous(info);
        }));
    });
    HERE.take();
    catch_unwind(AssertUnwindSafe(code)).map_err(|payload| {
        let mut anywhere = ANYWHERE.lock().unwrap_or_else(PoisonError::into_inner);
        let place = match HERE.take() {
            Some(here) => {
                anywhere.take_if(|anywhere| *anywhere == here);
                Some(here)
            }
            None => anywhere.take(),
        };
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
