//! Launches: parameters out of the caller's memory, then the device.

use super::module::find;
use crate::error;
use crate::state::{Handle, Outcome, active};
use fsr_sim::LaunchConfig;
use std::ffi::{c_uint, c_void};
use std::sync::atomic::Ordering::Relaxed;

/// `CU_LAUNCH_PARAM_*`
const END: usize = 0;
const BUFFER: usize = 1;
const BUFFER_SIZE: usize = 2;

/// `CUlaunchConfig`
#[repr(C)]
pub struct RawConfig {
    grid: [c_uint; 3],
    block: [c_uint; 3],
    shared_bytes: c_uint,
    stream: Handle,
    attributes: *const RawAttribute,
    count: c_uint,
}

/// `CUlaunchAttribute`
#[repr(C, align(8))]
pub struct RawAttribute {
    id: c_uint,
    pad: [u8; 4],
    value: [u32; 16],
}

fn launch(
    handle: Handle,
    config: LaunchConfig,
    stream: Handle,
    values: *mut *mut c_void,
    extra: *mut *mut c_void,
) -> Outcome {
    let driver = active()?;
    driver.check_stream(stream)?;
    let state = find(driver, handle)?;
    let function = &state.function;
    let allowed = state.dynamic_shared_most.load(Relaxed);
    if i64::from(config.shared_bytes) > i64::from(allowed) {
        return Err(error::INVALID_VALUE);
    }
    if !values.is_null() && !extra.is_null() {
        return Err(error::INVALID_VALUE);
    }
    let total = function.params().iter().map(|p| (p.offset + p.size) as usize).max().unwrap_or(0);
    let mut params = vec![0u8; total];
    if !values.is_null() {
        for (index, param) in function.params().iter().enumerate() {
            // SAFETY: the interface requires one pointer for each parameter, to a value of the parameter's size.
            unsafe {
                let from = values.add(index).read().cast::<u8>();
                if from.is_null() {
                    return Err(error::INVALID_VALUE);
                }
                let to = &mut params[param.offset as usize..][..param.size as usize];
                std::ptr::copy_nonoverlapping(from, to.as_mut_ptr(), to.len());
            }
        }
    } else if !extra.is_null() {
        let (mut buffer, mut size) = (std::ptr::null::<u8>(), 0usize);
        let mut at = 0;
        loop {
            // SAFETY: the interface requires pairs that end with `END`.
            let (key, value) = unsafe {
                let key = extra.add(at).read() as usize;
                if key == END {
                    break;
                }
                (key, extra.add(at + 1).read())
            };
            match key {
                BUFFER => buffer = value.cast(),
                // SAFETY: the value points to a size.
                BUFFER_SIZE if !value.is_null() => size = unsafe { value.cast::<usize>().read() },
                _ => return Err(error::INVALID_VALUE),
            }
            at += 2;
        }
        if buffer.is_null() || size < total {
            return Err(error::INVALID_VALUE);
        }
        // SAFETY: the caller gives `size` bytes, and `total` is no more.
        unsafe { std::ptr::copy_nonoverlapping(buffer, params.as_mut_ptr(), total) };
    } else if total > 0 {
        return Err(error::INVALID_VALUE);
    }
    driver.launch(function, config, &params)
}

super::driver_api! {
    fn cuLaunchKernel(
        function: Handle,
        grid_x: c_uint, grid_y: c_uint, grid_z: c_uint,
        block_x: c_uint, block_y: c_uint, block_z: c_uint,
        shared_bytes: c_uint,
        stream: Handle,
        values: *mut *mut c_void,
        extra: *mut *mut c_void,
    ) {
        let config = LaunchConfig {
            grid: [grid_x, grid_y, grid_z],
            block: [block_x, block_y, block_z],
            shared_bytes,
        };
        launch(function, config, stream, values, extra)
    }

    fn cuLaunchKernelEx(raw: *const RawConfig, function: Handle, values: *mut *mut c_void, extra: *mut *mut c_void) {
        if raw.is_null() {
            return Err(error::INVALID_VALUE);
        }
        // SAFETY: not null; the interface requires a valid configuration.
        let raw = unsafe { &*raw };
        for k in 0..raw.count as usize {
            if raw.attributes.is_null() {
                return Err(error::INVALID_VALUE);
            }
            // SAFETY: the caller gives `count` attributes.
            let attribute = unsafe { &*raw.attributes.add(k) };
            // CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION of more than one block.
            if attribute.id == 4 && attribute.value[..3] != [1, 1, 1] {
                eprintln!("fsr-sim: clusters are not supported");
                return Err(error::NOT_SUPPORTED);
            }
        }
        let config = LaunchConfig { grid: raw.grid, block: raw.block, shared_bytes: raw.shared_bytes };
        launch(function, config, raw.stream, values, extra)
    }

    fn cuLaunchHostFunc(stream: Handle, function: Option<unsafe extern "C" fn(*mut c_void)>, data: *mut c_void) {
        active()?.check_stream(stream)?;
        let function = function.ok_or(error::INVALID_VALUE)?;
        // SAFETY: the interface requires a function that takes this pointer; everything before it is done.
        unsafe { function(data) };
        Ok(())
    }
}
