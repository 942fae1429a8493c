//! Devices: there is one, and its attributes are its profile's.

use super::{put, text};
use crate::error;
use crate::state::{DEFAULT_POOL, Handle, check_device, driver};
use fsr_sim::Profile;
use std::ffi::{c_char, c_int};

const UUID: [u8; 16] = *b"fsr-sim device 0";

/// `CUdevice_attribute` by number; unknown ones below the table's end are 0, as features that are absent.
fn attribute(profile: &Profile, number: c_int) -> Option<c_int> {
    let count = |n: u32| c_int::try_from(n).unwrap_or(c_int::MAX);
    Some(match number {
        1 => 1024,
        2 | 3 => 1024,
        4 => 64,
        5 => c_int::MAX,
        6 | 7 => 65_535,
        8 => count(profile.shared_per_block),
        9 => 65_536,
        10 => 32,
        11 => c_int::MAX,
        12 => count(profile.registers_per_multiprocessor),
        13 => count(profile.clock_mhz * 1000),
        14 => 512,
        15 => 1,
        16 => count(profile.multiprocessors),
        19 => 1,
        30 => 512,
        31 => 1,
        33 => 0,
        36 => count(profile.memory_clock_mhz * 1000),
        37 => count(profile.memory_bus_bits),
        38 => c_int::try_from(profile.l2_bytes).unwrap_or(c_int::MAX),
        39 => count(profile.threads_per_multiprocessor),
        40 => 1,
        41 => 1,
        51 => 32,
        75 => count(profile.compute_capability.0),
        76 => count(profile.compute_capability.1),
        78 => 1,
        79 | 80 => 1,
        81 => count(profile.shared_per_multiprocessor),
        82 => count(profile.registers_per_multiprocessor),
        83 => 1,
        87 => (profile.lanes.float32 / profile.lanes.float64) as c_int,
        91 => 1,
        97 => count(profile.shared_per_block_optin),
        99 => 1,
        106 => count(profile.blocks_per_multiprocessor),
        111 => {
            if profile.compute_capability.0 >= 8 {
                1024
            } else {
                0
            }
        }
        // Pools are the plain allocator here: no sharing handles.
        115 => 1,
        n if (1..200).contains(&n) => 0,
        _ => return None,
    })
}

super::driver_api! {
    fn cuDeviceGetCount(count: *mut c_int) {
        driver()?;
        put(count, 1)
    }

    fn cuDeviceGet(device: *mut c_int, ordinal: c_int) {
        check_device(ordinal)?;
        put(device, 0)
    }

    fn cuDeviceGetName(name: *mut c_char, length: c_int, device: c_int) {
        let driver = check_device(device)?;
        let room = usize::try_from(length).unwrap_or(0);
        if name.is_null() || room == 0 {
            return Err(error::INVALID_VALUE);
        }
        let bytes = driver.device.profile().name.as_bytes();
        let take = bytes.len().min(room - 1);
        // SAFETY: the caller gives `length` bytes; at most `length - 1` are copied, then the terminator.
        unsafe {
            std::ptr::copy_nonoverlapping(bytes.as_ptr(), name.cast::<u8>(), take);
            name.add(take).write(0);
        }
        Ok(())
    }

    fn cuDeviceGetUuid(uuid: *mut [u8; 16], device: c_int) {
        check_device(device)?;
        put(uuid, UUID)
    }

    fn cuDeviceGetUuid_v2(uuid: *mut [u8; 16], device: c_int) {
        check_device(device)?;
        put(uuid, UUID)
    }

    fn cuDeviceTotalMem_v2(bytes: *mut usize, device: c_int) {
        let driver = check_device(device)?;
        put(bytes, driver.device.memory_info().1 as usize)
    }

    fn cuDeviceGetAttribute(value: *mut c_int, number: c_int, device: c_int) {
        let driver = check_device(device)?;
        put(value, attribute(driver.device.profile(), number).ok_or(error::INVALID_VALUE)?)
    }

    fn cuDeviceComputeCapability(major: *mut c_int, minor: *mut c_int, device: c_int) {
        let (a, b) = check_device(device)?.device.profile().compute_capability;
        put(major, a as c_int)?;
        put(minor, b as c_int)
    }

    fn cuDeviceGetPCIBusId(id: *mut c_char, length: c_int, device: c_int) {
        check_device(device)?;
        let text = b"0000:00:00.0\0";
        if id.is_null() || usize::try_from(length).unwrap_or(0) < text.len() {
            return Err(error::INVALID_VALUE);
        }
        // SAFETY: the caller gives `length` bytes, which is enough.
        unsafe { std::ptr::copy_nonoverlapping(text.as_ptr(), id.cast::<u8>(), text.len()) };
        Ok(())
    }

    fn cuDeviceGetByPCIBusId(device: *mut c_int, id: *const c_char) {
        driver()?;
        if text(id)?.trim_start_matches(['0', ':', '.']).is_empty() { put(device, 0) } else { Err(error::INVALID_DEVICE) }
    }

    fn cuDeviceCanAccessPeer(can: *mut c_int, device: c_int, peer: c_int) {
        check_device(device)?;
        check_device(peer)?;
        put(can, 0)
    }

    fn cuDeviceGetDefaultMemPool(pool: *mut Handle, device: c_int) {
        check_device(device)?;
        put(pool, DEFAULT_POOL as Handle)
    }

    fn cuDeviceGetMemPool(pool: *mut Handle, device: c_int) {
        check_device(device)?;
        put(pool, DEFAULT_POOL as Handle)
    }

    fn cuDeviceSetMemPool(device: c_int, _pool: Handle) {
        check_device(device).map(|_| ())
    }
}
