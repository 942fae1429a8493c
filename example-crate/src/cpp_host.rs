//! `reduce_sum` launched from C++, as a C++ program of the same project would.

use std::ffi::{c_int, c_uint, c_ulonglong, c_void};

use crate::kernels::reduce_sum::Tunables;

unsafe extern "C" {
    fn example_crate_reduce_sum(
        stream: *mut c_void,
        function: *mut c_void,
        input: c_ulonglong,
        n: u64,
        sum: c_ulonglong,
        blocks: c_uint,
        block: c_uint,
    ) -> c_int;
}

/// The driver's `CUresult` of a launch that it refused.
#[derive(Debug, thiserror::Error)]
#[error("the driver refused the launch with error {0}")]
pub struct Refused(pub i32);

/// Enqueues `*sum = input[0] + ... + input[n - 1]`.
///
/// # Safety
/// `stream` is a `CUstream` and `function` a loaded `reduce_sum` of the current context; `input` is the address of `n`
/// f32 in device memory, and `sum` of one.
pub unsafe fn reduce_sum(
    stream: *mut c_void,
    function: *mut c_void,
    tunables: &Tunables,
    input: u64,
    n: u64,
    sum: u64,
) -> Result<(), Refused> {
    // SAFETY: the caller vouches for the handles and addresses; the C++ function keeps none of them.
    let result =
        unsafe { example_crate_reduce_sum(stream, function, input, n, sum, tunables.blocks, tunables.block) };
    if result == 0 { Ok(()) } else { Err(Refused(result)) }
}
