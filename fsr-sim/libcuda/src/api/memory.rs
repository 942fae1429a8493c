//! Memory: allocation, copies, fills, pinned and managed host memory, pools. Every operation is done when it returns.

use super::put;
use crate::error::{self, of_memory};
use crate::state::{DEFAULT_POOL, Driver, Handle, HostKind, HostRange, Outcome, active, driver};
use std::alloc::{Layout, alloc_zeroed, dealloc};
use std::ffi::{c_char, c_int, c_uint, c_void};

/// Modelled rate of copies over the bus, in 10^9 bytes a second.
const BUS_GBS: f64 = 25.0;

fn alloc(driver: &Driver, to: *mut u64, bytes: usize) -> Outcome {
    if to.is_null() {
        return Err(error::INVALID_VALUE);
    }
    let address = driver.device.alloc(bytes as u64).map_err(|e| of_memory(&e))?;
    driver.tables().allocations.insert(address);
    put(to, address)
}

fn free(driver: &Driver, address: u64) -> Outcome {
    if address == 0 {
        return Ok(());
    }
    // A module's variable, pinned or registered memory is not freed here.
    if driver.tables().allocations.remove(&address) {
        return driver.device.free(address).map_err(|e| of_memory(&e));
    }
    take_host(driver, address as usize, |kind| matches!(kind, HostKind::Managed(_)))
}

/// Host memory that kernels can reach at its own address.
fn alloc_host(driver: &Driver, bytes: usize, kind: fn(Layout) -> HostKind) -> Outcome<usize> {
    if bytes == 0 {
        return Err(error::INVALID_VALUE);
    }
    let size = bytes.checked_next_multiple_of(16).ok_or(error::OUT_OF_MEMORY)?;
    let layout = Layout::from_size_align(size, 4096).map_err(|_| error::OUT_OF_MEMORY)?;
    // SAFETY: the size is not zero.
    let ptr = unsafe { alloc_zeroed(layout) };
    if ptr.is_null() {
        return Err(error::OUT_OF_MEMORY);
    }
    driver.tables().host.insert(ptr as usize, HostRange { bytes, kind: kind(layout) });
    // SAFETY: just allocated; unmapped in `take_host` before it is freed.
    unsafe { driver.device.map_host(ptr, bytes as u64) };
    Ok(ptr as usize)
}

/// Forgets a range of a kind that is meant, and frees it where it was allocated here.
fn take_host(driver: &Driver, address: usize, meant: fn(HostKind) -> bool) -> Outcome {
    let mut tables = driver.tables();
    let kind = tables.host.get(&address).map(|range| range.kind).filter(|kind| meant(*kind));
    let kind = kind.ok_or(error::INVALID_VALUE)?;
    tables.host.remove(&address);
    drop(tables);
    driver.device.unmap_host(address as u64);
    if let HostKind::Pinned(layout) | HostKind::Managed(layout) = kind {
        // SAFETY: allocated in `alloc_host` with this layout, and taken out of the table once.
        unsafe { dealloc(address as *mut u8, layout) };
    }
    Ok(())
}

/// Whether an address lies in a buffer; one that only could is an error, since the host has nothing there.
fn on_device(driver: &Driver, address: u64) -> Outcome<bool> {
    match driver.device.extent(address) {
        Some(_) => Ok(true),
        None if fsr_sim::Device::is_address(address) => Err(error::INVALID_VALUE),
        None => Ok(false),
    }
}

/// Host to device.
fn upload(driver: &Driver, to: u64, from: *const c_void, bytes: usize) -> Outcome {
    if bytes == 0 {
        return Ok(());
    }
    if from.is_null() {
        return Err(error::INVALID_VALUE);
    }
    if on_device(driver, from as u64)? {
        return copy(driver, to, from as u64, bytes);
    }
    // Range first: nothing is read when the target is wrong.
    driver.device.check_range(to, bytes as u64).map_err(|e| of_memory(&e))?;
    // SAFETY: not null; the interface requires `bytes` readable bytes.
    let data = unsafe { std::slice::from_raw_parts(from.cast::<u8>(), bytes) };
    driver.device.write(to, data).map_err(|e| of_memory(&e))?;
    driver.advance_copy(bytes, BUS_GBS);
    Ok(())
}

/// Device to host.
fn download(driver: &Driver, to: *mut c_void, from: u64, bytes: usize) -> Outcome {
    if bytes == 0 {
        return Ok(());
    }
    if to.is_null() {
        return Err(error::INVALID_VALUE);
    }
    if on_device(driver, to as u64)? {
        return copy(driver, to as u64, from, bytes);
    }
    driver.device.check_range(from, bytes as u64).map_err(|e| of_memory(&e))?;
    // SAFETY: not null; the interface requires `bytes` writable bytes. They may be uninitialised, which is sound for
    // a buffer that is only written.
    let data = unsafe {
        std::ptr::write_bytes(to.cast::<u8>(), 0, bytes);
        std::slice::from_raw_parts_mut(to.cast::<u8>(), bytes)
    };
    driver.device.read(from, data).map_err(|e| of_memory(&e))?;
    driver.advance_copy(bytes, BUS_GBS);
    Ok(())
}

fn copy(driver: &Driver, to: u64, from: u64, bytes: usize) -> Outcome {
    if bytes == 0 {
        return Ok(());
    }
    driver.device.copy(to, from, bytes as u64).map_err(|e| of_memory(&e))?;
    driver.advance_copy(2 * bytes, driver.device.profile().memory_bandwidth_gbs);
    Ok(())
}

/// Any to any: an address that is no device buffer's is the host's.
fn copy_any(driver: &Driver, to: u64, from: u64, bytes: usize) -> Outcome {
    match (on_device(driver, to)?, on_device(driver, from)?) {
        (true, true) => copy(driver, to, from, bytes),
        (true, false) => upload(driver, to, from as *const c_void, bytes),
        (false, true) => download(driver, to as *mut c_void, from, bytes),
        (false, false) if bytes > 0 && (to == 0 || from == 0) => Err(error::INVALID_VALUE),
        (false, false) => {
            // SAFETY: neither is null; the interface requires `bytes` bytes to read and to write.
            unsafe { std::ptr::copy(from as *const u8, to as *mut u8, bytes) };
            Ok(())
        }
    }
}

fn fill(driver: &Driver, to: u64, pattern: &[u8], count: usize) -> Outcome {
    if !to.is_multiple_of(pattern.len() as u64) {
        return Err(error::INVALID_VALUE);
    }
    if count == 0 {
        return Ok(());
    }
    driver.device.fill(to, pattern, count as u64).map_err(|e| of_memory(&e))?;
    driver.advance_copy(count * pattern.len(), driver.device.profile().memory_bandwidth_gbs);
    Ok(())
}

/// The driver, with a stream that exists.
fn on(stream: Handle) -> Outcome<&'static Driver> {
    let driver = active()?;
    driver.check_stream(stream)?;
    Ok(driver)
}

super::driver_api! {
    // No function of CUDA's: a program that knows this library names its buffers for the reports.
    fn fsrSimNameBuffer(address: u64, name: *const c_char) {
        let name = super::text(name)?;
        driver()?.device.name_buffer(address, &name).map_err(|e| of_memory(&e))
    }

    fn cuMemAlloc_v2(to: *mut u64, bytes: usize) {
        alloc(active()?, to, bytes)
    }

    fn cuMemAllocPitch_v2(to: *mut u64, pitch: *mut usize, width: usize, height: usize, _element: c_uint) {
        let row = width.checked_next_multiple_of(512).ok_or(error::INVALID_VALUE)?;
        put(pitch, row)?;
        alloc(active()?, to, row.checked_mul(height).ok_or(error::OUT_OF_MEMORY)?)
    }

    fn cuMemAllocAsync(to: *mut u64, bytes: usize, stream: Handle) {
        alloc(on(stream)?, to, bytes)
    }

    fn cuMemAllocFromPoolAsync(to: *mut u64, bytes: usize, pool: Handle, stream: Handle) {
        let driver = on(stream)?;
        check_pool(driver, pool)?;
        alloc(driver, to, bytes)
    }

    fn cuMemFree_v2(address: u64) {
        free(active()?, address)
    }

    fn cuMemFreeAsync(address: u64, stream: Handle) {
        free(on(stream)?, address)
    }

    fn cuMemGetInfo_v2(free: *mut usize, total: *mut usize) {
        let (left, all) = active()?.device.memory_info();
        put(free, left as usize)?;
        put(total, all as usize)
    }

    fn cuMemGetAddressRange_v2(base: *mut u64, size: *mut usize, address: u64) {
        let (start, bytes) = active()?.device.extent(address).ok_or(error::NOT_FOUND)?;
        if !base.is_null() {
            put(base, start)?;
        }
        if size.is_null() { Ok(()) } else { put(size, bytes as usize) }
    }

    fn cuMemAllocManaged(to: *mut u64, bytes: usize, _flags: c_uint) {
        if to.is_null() {
            return Err(error::INVALID_VALUE);
        }
        put(to, alloc_host(active()?, bytes, HostKind::Managed)? as u64)
    }

    fn cuMemAllocHost_v2(to: *mut Handle, bytes: usize) {
        if to.is_null() {
            return Err(error::INVALID_VALUE);
        }
        put(to, alloc_host(active()?, bytes, HostKind::Pinned)? as Handle)
    }

    fn cuMemHostAlloc(to: *mut Handle, bytes: usize, _flags: c_uint) {
        if to.is_null() {
            return Err(error::INVALID_VALUE);
        }
        put(to, alloc_host(active()?, bytes, HostKind::Pinned)? as Handle)
    }

    fn cuMemFreeHost(address: Handle) {
        take_host(driver()?, address as usize, |kind| matches!(kind, HostKind::Pinned(_)))
    }

    fn cuMemHostRegister_v2(address: Handle, bytes: usize, _flags: c_uint) {
        let driver = active()?;
        if address.is_null() || bytes == 0 {
            return Err(error::INVALID_VALUE);
        }
        {
            let mut tables = driver.tables();
            let (start, end) = (address as usize, (address as usize).saturating_add(bytes));
            if tables.host.iter().any(|(at, range)| *at < end && start < at + range.bytes) {
                return Err(error::HOST_MEMORY_ALREADY_REGISTERED);
            }
            tables.host.insert(start, HostRange { bytes, kind: HostKind::Registered });
        }
        // SAFETY: the interface requires the range to stay valid until it is unregistered.
        unsafe { driver.device.map_host(address.cast(), bytes as u64) };
        Ok(())
    }

    fn cuMemHostUnregister(address: Handle) {
        let registered = |kind| kind == HostKind::Registered;
        take_host(active()?, address as usize, registered).map_err(|_| error::HOST_MEMORY_NOT_REGISTERED)
    }

    fn cuMemHostGetDevicePointer_v2(to: *mut u64, host: Handle, flags: c_uint) {
        let driver = active()?;
        if flags != 0 || driver.device.extent(host as u64).is_none() {
            return Err(error::INVALID_VALUE);
        }
        put(to, host as u64)
    }

    fn cuMemHostGetFlags(flags: *mut c_uint, host: Handle) {
        let driver = active()?;
        if !driver.tables().host.contains_key(&(host as usize)) {
            return Err(error::INVALID_VALUE);
        }
        put(flags, 2)
    }

    fn cuMemcpyHtoD_v2(to: u64, from: *const c_void, bytes: usize) {
        upload(active()?, to, from, bytes)
    }

    fn cuMemcpyHtoDAsync_v2(to: u64, from: *const c_void, bytes: usize, stream: Handle) {
        upload(on(stream)?, to, from, bytes)
    }

    fn cuMemcpyDtoH_v2(to: *mut c_void, from: u64, bytes: usize) {
        download(active()?, to, from, bytes)
    }

    fn cuMemcpyDtoHAsync_v2(to: *mut c_void, from: u64, bytes: usize, stream: Handle) {
        download(on(stream)?, to, from, bytes)
    }

    fn cuMemcpyDtoD_v2(to: u64, from: u64, bytes: usize) {
        copy(active()?, to, from, bytes)
    }

    fn cuMemcpyDtoDAsync_v2(to: u64, from: u64, bytes: usize, stream: Handle) {
        copy(on(stream)?, to, from, bytes)
    }

    fn cuMemcpy(to: u64, from: u64, bytes: usize) {
        copy_any(active()?, to, from, bytes)
    }

    fn cuMemcpyAsync(to: u64, from: u64, bytes: usize, stream: Handle) {
        copy_any(on(stream)?, to, from, bytes)
    }

    fn cuMemcpyPeer(to: u64, _to_context: Handle, from: u64, _from_context: Handle, bytes: usize) {
        copy(active()?, to, from, bytes)
    }

    fn cuMemcpyPeerAsync(to: u64, _to_context: Handle, from: u64, _from_context: Handle, bytes: usize, stream: Handle) {
        copy(on(stream)?, to, from, bytes)
    }

    fn cuMemsetD8_v2(to: u64, value: u8, count: usize) {
        fill(active()?, to, &[value], count)
    }

    fn cuMemsetD16_v2(to: u64, value: u16, count: usize) {
        fill(active()?, to, &value.to_le_bytes(), count)
    }

    fn cuMemsetD32_v2(to: u64, value: c_uint, count: usize) {
        fill(active()?, to, &value.to_le_bytes(), count)
    }

    fn cuMemsetD8Async(to: u64, value: u8, count: usize, stream: Handle) {
        fill(on(stream)?, to, &[value], count)
    }

    fn cuMemsetD16Async(to: u64, value: u16, count: usize, stream: Handle) {
        fill(on(stream)?, to, &value.to_le_bytes(), count)
    }

    fn cuMemsetD32Async(to: u64, value: c_uint, count: usize, stream: Handle) {
        fill(on(stream)?, to, &value.to_le_bytes(), count)
    }

    fn cuMemAdvise(_address: u64, _count: usize, _advice: c_int, _device: c_int) {
        active().map(|_| ())
    }

    fn cuMemAdvise_v2(address: u64, _count: usize, _advice: c_int, _location: u64) {
        match active()?.device.extent(address) {
            Some(_) => Ok(()),
            None => Err(error::INVALID_VALUE),
        }
    }

    fn cuMemPrefetchAsync(_address: u64, _count: usize, _device: c_int, stream: Handle) {
        on(stream).map(|_| ())
    }

    fn cuMemPrefetchAsync_v2(_address: u64, _count: usize, _location: u64, _flags: c_uint, stream: Handle) {
        on(stream).map(|_| ())
    }

    fn cuPointerGetAttribute(data: *mut c_void, attribute: c_int, address: u64) {
        let driver = active()?;
        let (base, size) = driver.device.extent(address).ok_or(error::INVALID_VALUE)?;
        let kind = driver.tables().host.get(&(base as usize)).map(|range| range.kind);
        let (host, managed) = (kind.is_some(), matches!(kind, Some(HostKind::Managed(_))));
        match attribute {
            1 => put(data.cast::<usize>(), crate::state::current()),
            // CU_MEMORYTYPE_HOST, CU_MEMORYTYPE_DEVICE
            2 => put(data.cast::<c_uint>(), if host && !managed { 1 } else { 2 }),
            3 => put(data.cast::<u64>(), address),
            4 if host => put(data.cast::<u64>(), address),
            7 => put(data.cast::<u64>(), base >> 40),
            8 => put(data.cast::<c_uint>(), managed.into()),
            9 => put(data.cast::<c_int>(), 0),
            11 => put(data.cast::<u64>(), base),
            12 => put(data.cast::<usize>(), size as usize),
            13 => put(data.cast::<c_uint>(), 1),
            _ => Err(error::INVALID_VALUE),
        }
    }

    fn cuMemPoolCreate(pool: *mut Handle, _properties: *const c_void) {
        let driver = active()?;
        let handle = driver.handle();
        driver.tables().pools.insert(handle, ());
        put(pool, handle as Handle)
    }

    fn cuMemPoolDestroy(pool: Handle) {
        match active()?.tables().pools.remove(&(pool as usize)) {
            Some(()) => Ok(()),
            None => Err(error::INVALID_VALUE),
        }
    }

    fn cuMemPoolTrimTo(pool: Handle, _keep: usize) {
        check_pool(active()?, pool)
    }

    fn cuMemPoolSetAttribute(pool: Handle, _attribute: c_int, _value: *mut c_void) {
        check_pool(active()?, pool)
    }

    fn cuMemPoolGetAttribute(pool: Handle, attribute: c_int, value: *mut c_void) {
        let driver = active()?;
        check_pool(driver, pool)?;
        let (left, all) = driver.device.memory_info();
        match attribute {
            // Reuse policies are on; thresholds and sizes are 64-bit.
            1..=3 => put(value.cast::<c_int>(), 1),
            4 => put(value.cast::<u64>(), 0),
            5..=8 => put(value.cast::<u64>(), all - left),
            _ => Err(error::INVALID_VALUE),
        }
    }
}

fn check_pool(driver: &Driver, pool: Handle) -> Outcome {
    let number = pool as usize;
    if number == DEFAULT_POOL || driver.tables().pools.contains_key(&number) {
        Ok(())
    } else {
        Err(error::INVALID_VALUE)
    }
}
