//! The exported functions, by subject. Each is defined through [`driver_api`], which exports it under its C name,
//! keeps panics from crossing into C, and lists it for `cuGetProcAddress`.

mod context;
mod device;
mod event;
mod launch;
mod memory;
mod module;
mod occupancy;
mod process;
mod stream;

use crate::error::{self, Code};
use crate::state::Outcome;
use std::ffi::{CStr, c_char, c_void};

/// An exported function's name and address.
pub(crate) type Export = (&'static str, *const c_void);

/// Defines exported functions. A body gives `Outcome`; arguments are as in the C header.
macro_rules! driver_api {
    ($(fn $name:ident($($arg:ident: $ty:ty),* $(,)?) $body:block)+) => {
        $(
            #[unsafe(no_mangle)]
            pub unsafe extern "C" fn $name($($arg: $ty),*) -> $crate::error::Code {
                $crate::api::guard(move || $body)
            }
        )+

        /// What this file exports.
        pub(super) fn exports() -> Vec<$crate::api::Export> {
            vec![$((stringify!($name), $name as *const std::ffi::c_void)),+]
        }
    };
}
pub(crate) use driver_api;

pub(crate) fn guard(body: impl FnOnce() -> Outcome) -> Code {
    match std::panic::catch_unwind(std::panic::AssertUnwindSafe(body)) {
        Ok(Ok(())) => error::SUCCESS,
        Ok(Err(code)) => code,
        Err(_) => error::UNKNOWN,
    }
}

/// All exported functions that do something.
pub(crate) fn exports() -> Vec<Export> {
    [
        context::exports(),
        device::exports(),
        event::exports(),
        launch::exports(),
        memory::exports(),
        module::exports(),
        occupancy::exports(),
        process::exports(),
        stream::exports(),
    ]
    .concat()
}

/// Writes a result through a pointer of the caller.
pub(crate) fn put<T>(to: *mut T, value: T) -> Outcome {
    if to.is_null() {
        return Err(error::INVALID_VALUE);
    }
    // SAFETY: not null; the interface requires it to be valid for a write.
    unsafe { to.write(value) };
    Ok(())
}

/// The text behind a C string of the caller.
pub(crate) fn text(from: *const c_char) -> Outcome<String> {
    if from.is_null() {
        return Err(error::INVALID_VALUE);
    }
    // SAFETY: not null; the interface requires a NUL-terminated string.
    Ok(unsafe { CStr::from_ptr(from) }.to_string_lossy().into_owned())
}
