//! Occupancy from the profile's limits and a kernel's needs.

use super::module::find;
use super::put;
use crate::error;
use crate::state::{Handle, Outcome, active};
use std::ffi::{c_int, c_uint};
use std::sync::Arc;

type DynamicShared = Option<unsafe extern "C" fn(c_int) -> usize>;

fn resident(function: Handle, threads: c_int, dynamic: usize) -> Outcome<u32> {
    let driver = active()?;
    let state = find(driver, function)?;
    let threads = u32::try_from(threads).ok().filter(|n| *n > 0).ok_or(error::INVALID_VALUE)?;
    let shared =
        state.function.static_shared().saturating_add(u32::try_from(dynamic).unwrap_or(u32::MAX / 2));
    if threads > state.function.max_threads().unwrap_or(1024).min(1024) {
        return Ok(0);
    }
    Ok(driver.device.profile().resident_blocks(threads, shared, state.function.registers()))
}

fn best_block(
    grid: *mut c_int,
    block: *mut c_int,
    function: Handle,
    of_block: DynamicShared,
    dynamic: usize,
    limit: c_int,
) -> Outcome {
    let driver = active()?;
    let state = find(driver, function)?;
    let state: &Arc<_> = &state;
    let most = state.function.max_threads().unwrap_or(1024).min(1024) as c_int;
    let most = if limit > 0 { most.min(limit) } else { most };
    let mut best = (0, 0, 0);
    let mut threads = most / 32 * 32;
    while threads > 0 {
        // SAFETY: the interface requires a function of the block size.
        let shared = of_block.map_or(dynamic, |f| unsafe { f(threads) });
        let blocks = resident(function, threads, shared)?;
        let warps = blocks * threads as u32;
        if warps > best.0 {
            best = (warps, threads, blocks as c_int);
        }
        threads -= 32;
    }
    put(grid, best.2 * driver.device.profile().multiprocessors as c_int)?;
    put(block, best.1)
}

super::driver_api! {
    fn cuOccupancyMaxActiveBlocksPerMultiprocessor(
        blocks: *mut c_int, function: Handle, threads: c_int, dynamic: usize,
    ) {
        put(blocks, resident(function, threads, dynamic)? as c_int)
    }

    fn cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(
        blocks: *mut c_int, function: Handle, threads: c_int, dynamic: usize, _flags: c_uint,
    ) {
        put(blocks, resident(function, threads, dynamic)? as c_int)
    }

    fn cuOccupancyMaxPotentialBlockSize(
        grid: *mut c_int, block: *mut c_int, function: Handle, of_block: DynamicShared, dynamic: usize, limit: c_int,
    ) {
        best_block(grid, block, function, of_block, dynamic, limit)
    }

    fn cuOccupancyMaxPotentialBlockSizeWithFlags(
        grid: *mut c_int, block: *mut c_int, function: Handle, of_block: DynamicShared, dynamic: usize, limit: c_int,
        _flags: c_uint,
    ) {
        best_block(grid, block, function, of_block, dynamic, limit)
    }

    fn cuOccupancyAvailableDynamicSMemPerBlock(bytes: *mut usize, function: Handle, blocks: c_int, threads: c_int) {
        let driver = active()?;
        let state = find(driver, function)?;
        if blocks <= 0 || threads <= 0 {
            return Err(error::INVALID_VALUE);
        }
        let profile = driver.device.profile();
        let reserved = if profile.compute_capability.0 >= 8 { 1024 } else { 0 };
        let each = (profile.shared_per_multiprocessor / blocks as u32 / 128 * 128).saturating_sub(reserved);
        let most = each.min(profile.shared_per_block_optin).saturating_sub(state.function.static_shared());
        put(bytes, most as usize)
    }
}
