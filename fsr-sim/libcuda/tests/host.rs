//! Programs on cudarc run on the library as they run on a driver. Each test starts itself again with the library
//! first in the loader's path: what runs below `on_simulator` is an ordinary host program.

#![cfg(target_os = "linux")]

use cudarc::driver::{CudaContext, LaunchConfig, PushKernelArg, result, sys};
use cudarc::nvrtc::Ptx;
use std::ffi::{CString, c_void};
use std::process::Command;

const CHILD: &str = "FSR_SIM_TEST_CHILD";

/// The built library lies beside the test, or one folder up.
fn library() -> std::path::PathBuf {
    let exe = std::env::current_exe().unwrap();
    let found =
        exe.ancestors().skip(1).take(2).map(|dir| dir.join("libfsr_sim_libcuda.so")).find(|p| p.exists());
    found.expect("the library is built with its tests")
}

/// Runs `body` in a process of its own on the simulated driver; gives back what it wrote to standard error.
fn on_simulator(name: &str, settings: &[(&str, &str)], body: fn()) -> Option<String> {
    if std::env::var_os(CHILD).is_some() {
        body();
        return None;
    }
    let folder = tempfile::tempdir().unwrap();
    for alias in ["libcuda.so", "libcuda.so.1"] {
        std::os::unix::fs::symlink(library(), folder.path().join(alias)).unwrap();
    }
    let output = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", name, "--nocapture"])
        .env(CHILD, "1")
        .env("LD_LIBRARY_PATH", folder.path())
        .envs(settings.iter().copied())
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "{}\n{text}", String::from_utf8_lossy(&output.stdout));
    Some(text)
}

const KERNELS: &str = r#"
.version 8.0
.target sm_80
.address_size 64
.visible .entry add_one(.param .u64 data, .param .u32 n)
{
    .reg .pred %p<2>;
    .reg .b32 %r<6>;
    .reg .b64 %rd<4>;
    ld.param.u64 %rd1, [data];
    ld.param.u32 %r1, [n];
    mov.u32 %r2, %ctaid.x;
    mov.u32 %r3, %ntid.x;
    mov.u32 %r4, %tid.x;
    mad.lo.s32 %r5, %r2, %r3, %r4;
    setp.ge.u32 %p1, %r5, %r1;
    @%p1 bra done;
    mul.wide.u32 %rd2, %r5, 4;
    add.s64 %rd3, %rd1, %rd2;
    ld.global.u32 %r5, [%rd3];
    add.s32 %r5, %r5, 1;
    st.global.u32 [%rd3], %r5;
done:
    ret;
}
.visible .entry spin() { loop: bra loop; }
.visible .entry unknown() { frobnicate.b32 ; ret; }
"#;

fn add_one(
    n: u32,
    claimed: u32,
) -> (std::sync::Arc<cudarc::driver::CudaStream>, cudarc::driver::CudaSlice<u32>) {
    let context = CudaContext::new(0).unwrap();
    let stream = context.default_stream();
    let module = context.load_module(Ptx::from_src(KERNELS)).unwrap();
    let f = module.load_function("add_one").unwrap();
    let data: Vec<u32> = (0..n).collect();
    let mut device = stream.clone_htod(&data).unwrap();
    let mut launch = stream.launch_builder(&f);
    launch.arg(&mut device).arg(&claimed);
    // SAFETY: the arguments are the kernel's; that it may go too far is what a test is about.
    unsafe { launch.launch(LaunchConfig::for_num_elems(claimed)) }.unwrap();
    (stream, device)
}

#[test]
fn a_launch_through_the_safe_interface() {
    on_simulator("a_launch_through_the_safe_interface", &[], || {
        let (stream, device) = add_one(1000, 1000);
        let want: Vec<u32> = (1..=1000).collect();
        assert_eq!(stream.clone_dtoh(&device).unwrap(), want);
        let context = stream.context();
        assert!(context.name().unwrap().contains("H200"));
        assert_eq!(context.compute_capability().unwrap(), (9, 0));
    });
}

#[test]
fn another_profile() {
    on_simulator("another_profile", &[("FSR_SIM_DEVICE", "t4")], || {
        let context = CudaContext::new(0).unwrap();
        assert_eq!(context.compute_capability().unwrap(), (7, 5));
        // sm_80 code does not load on 7.5.
        assert!(context.load_module(Ptx::from_src(KERNELS)).is_err());
    });
}

#[test]
fn a_fault_is_sticky_and_told() {
    let text = on_simulator("a_fault_is_sticky_and_told", &[], || {
        let (stream, device) = add_one(1000, 1001);
        let error = stream.clone_dtoh(&device).unwrap_err();
        assert_eq!(error.0, sys::CUresult::CUDA_ERROR_ILLEGAL_ADDRESS);
        assert_eq!(result::ctx::synchronize().unwrap_err().0, sys::CUresult::CUDA_ERROR_ILLEGAL_ADDRESS);
        std::mem::forget(device);
    });
    if let Some(text) = text {
        assert!(text.contains("out of bounds in add_one at ptx line 20: ld.global.u32"), "{text}");
        assert!(text.contains("0 bytes past the end of allocation 0 (4000 bytes)"), "{text}");
    }
}

mod raw {
    use super::*;

    pub fn setup() -> sys::CUcontext {
        result::init().unwrap();
        let device = result::device::get(0).unwrap();
        // SAFETY: plain driver calls.
        unsafe {
            let context = result::primary_ctx::retain(device).unwrap();
            result::ctx::set_current(context).unwrap();
            context
        }
    }

    pub fn function(name: &str) -> sys::CUfunction {
        let text = CString::new(KERNELS).unwrap();
        // SAFETY: the text is NUL-terminated, the module stays loaded.
        unsafe {
            let module = result::module::load_data(text.as_ptr().cast()).unwrap();
            result::module::get_function(module, CString::new(name).unwrap()).unwrap()
        }
    }

    pub fn launch(f: sys::CUfunction, grid: u32, block: u32, shared: u32) -> sys::CUresult {
        let mut none: [*mut c_void; 0] = [];
        // SAFETY: the kernels launched through this take no arguments.
        unsafe {
            sys::cuLaunchKernel(
                f,
                grid,
                1,
                1,
                block,
                1,
                1,
                shared,
                std::ptr::null_mut(),
                none.as_mut_ptr(),
                std::ptr::null_mut(),
            )
        }
    }
}

#[test]
fn refusals_are_the_drivers() {
    on_simulator("refusals_are_the_drivers", &[("FSR_SIM_MEMORY", "1000000")], || {
        use sys::CUresult::*;
        raw::setup();
        let (spin, unknown) = (raw::function("spin"), raw::function("unknown"));
        assert_eq!(raw::launch(unknown, 1, 32, 0), CUDA_ERROR_NOT_SUPPORTED);
        assert_eq!(raw::launch(spin, 0, 32, 0), CUDA_ERROR_INVALID_VALUE);
        assert_eq!(raw::launch(spin, 1, 2048, 0), CUDA_ERROR_INVALID_VALUE);
        assert_eq!(raw::launch(spin, 1, 32, 100_000), CUDA_ERROR_INVALID_VALUE);
        assert_eq!(raw::launch(8 as sys::CUfunction, 1, 32, 0), CUDA_ERROR_INVALID_HANDLE);
        // SAFETY: wrong on purpose; the driver answers with errors.
        unsafe {
            let small = result::malloc_sync(1000).unwrap();
            assert_eq!(result::malloc_sync(1_000_000).unwrap_err().0, CUDA_ERROR_OUT_OF_MEMORY);
            let mut host = vec![0u8; 2000];
            assert_eq!(result::memcpy_dtoh_sync(&mut host, small).unwrap_err().0, CUDA_ERROR_INVALID_VALUE);
            result::free_sync(small).unwrap();
            assert_eq!(result::free_sync(small).unwrap_err().0, CUDA_ERROR_INVALID_VALUE);
            assert_eq!(result::memcpy_htod_sync(small, &[1u8]).unwrap_err().0, CUDA_ERROR_INVALID_VALUE);
        }
    });
}

#[test]
fn an_endless_kernel_ends() {
    on_simulator("an_endless_kernel_ends", &[("FSR_SIM_BUDGET", "100000")], || {
        raw::setup();
        assert_eq!(raw::launch(raw::function("spin"), 1, 32, 0), sys::CUresult::CUDA_SUCCESS);
        let error = result::ctx::synchronize().unwrap_err();
        assert_eq!(error.0, sys::CUresult::CUDA_ERROR_LAUNCH_TIMEOUT);
    });
}

#[test]
fn a_jit_error_fills_the_log() {
    on_simulator("a_jit_error_fills_the_log", &[], || {
        raw::setup();
        let text = CString::new(KERNELS.replace("add.s32 %r5, %r5, 1", "add.s32 %r5, %nope, 1")).unwrap();
        let mut log = vec![0u8; 500];
        let mut options = [
            sys::CUjit_option::CU_JIT_ERROR_LOG_BUFFER,
            sys::CUjit_option::CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES,
        ];
        let mut values = [log.as_mut_ptr().cast::<c_void>(), 500 as *mut c_void];
        let mut module = std::ptr::null_mut();
        // SAFETY: two options with two values; the log has as many bytes as is said.
        let code = unsafe {
            sys::cuModuleLoadDataEx(
                &mut module,
                text.as_ptr().cast(),
                2,
                options.as_mut_ptr(),
                values.as_mut_ptr(),
            )
        };
        assert_eq!(code, sys::CUresult::CUDA_ERROR_INVALID_PTX);
        let log = String::from_utf8_lossy(&log[..values[1] as usize]).into_owned();
        assert!(log.starts_with("ptxas application ptx input, line 21; error"), "{log}");
        assert!(log.contains("%nope"), "{log}");
    });
}

/// What `cuModuleLoadData` answers for images that are no PTX for this device.
#[test]
fn images_that_do_not_load() {
    on_simulator("images_that_do_not_load", &[], || {
        use sys::CUresult::*;
        raw::setup();
        let load = |image: &[u8]| {
            let mut image = image.to_vec();
            image.push(0);
            let mut module = std::ptr::null_mut();
            // SAFETY: NUL-terminated, and longer than any header that a driver reads.
            unsafe { sys::cuModuleLoadData(&mut module, image.as_ptr().cast()) }
        };
        assert_eq!(load(KERNELS.as_bytes()), CUDA_SUCCESS);
        let cut = KERNELS.find("add.s32 %r5, %r5").unwrap();
        assert_eq!(load(&KERNELS.as_bytes()[..cut]), CUDA_ERROR_INVALID_PTX);
        assert_eq!(load(KERNELS.replace("sm_80", "sm_100").as_bytes()), CUDA_ERROR_INVALID_PTX);
        assert_eq!(load(KERNELS.replace("sm_80", "sm_80a").as_bytes()), CUDA_ERROR_INVALID_PTX);
        assert_eq!(load(KERNELS.replace("8.0", "99.0").as_bytes()), CUDA_ERROR_UNSUPPORTED_PTX_VERSION);
        assert_eq!(load(b"#include <stdio.h>\nint main() { return 0; }"), CUDA_ERROR_INVALID_IMAGE);
        assert_eq!(load(b""), CUDA_ERROR_INVALID_IMAGE);
        assert_eq!(load(&[b"\x7fELF".as_slice(), &[0; 200]].concat()), CUDA_ERROR_NO_BINARY_FOR_GPU);
    });
}

#[test]
fn parameters_in_a_buffer_of_the_wrong_size() {
    on_simulator("parameters_in_a_buffer_of_the_wrong_size", &[], || {
        use sys::CUresult::*;
        raw::setup();
        let f = raw::function("add_one");
        let launch = |bytes: usize| {
            let mut size = bytes;
            let mut params = [0u64; 2];
            let mut extra: [*mut c_void; 5] = [
                std::ptr::without_provenance_mut(1),
                params.as_mut_ptr().cast(),
                std::ptr::without_provenance_mut(2),
                (&raw mut size).cast(),
                std::ptr::null_mut(),
            ];
            let none = std::ptr::null_mut();
            // SAFETY: pairs of keys and values that end with null; the buffer has as many bytes as is said.
            unsafe {
                sys::cuLaunchKernel(f, 1, 1, 1, 32, 1, 1, 0, none, std::ptr::null_mut(), extra.as_mut_ptr())
            }
        };
        // A pointer and a count; none of the count is left over for a thread.
        assert_eq!(launch(12), CUDA_SUCCESS);
        assert_eq!(launch(8), CUDA_ERROR_INVALID_VALUE);
    });
}

#[test]
fn a_kernel_on_freed_memory_is_stopped() {
    let text = on_simulator("a_kernel_on_freed_memory_is_stopped", &[], || {
        raw::setup();
        let f = raw::function("add_one");
        // SAFETY: the kernel is launched on freed memory on purpose.
        unsafe {
            let mut address = result::malloc_sync(400).unwrap();
            result::free_sync(address).unwrap();
            let mut n = 100u32;
            let mut args = [(&raw mut address).cast::<c_void>(), (&raw mut n).cast::<c_void>()];
            result::launch_kernel(f, (1, 1, 1), (128, 1, 1), 0, std::ptr::null_mut(), &mut args).unwrap();
        }
        assert_eq!(result::ctx::synchronize().unwrap_err().0, sys::CUresult::CUDA_ERROR_ILLEGAL_ADDRESS);
    });
    if let Some(text) = text {
        assert!(text.contains("no buffer there"), "{text}");
    }
}

#[test]
fn events_give_modelled_time_that_repeats() {
    let run = || {
        on_simulator("events_give_modelled_time_that_repeats", &[], || {
            let context = CudaContext::new(0).unwrap();
            let stream = context.new_stream().unwrap();
            let start = stream.record_event(Some(sys::CUevent_flags::CU_EVENT_DEFAULT)).unwrap();
            let (_, _device) = add_one(100_000, 100_000);
            let end = stream.record_event(Some(sys::CUevent_flags::CU_EVENT_DEFAULT)).unwrap();
            let time = start.elapsed_ms(&end).unwrap();
            assert!(time > 0.001 && time < 1.0, "{time}");
            eprintln!("elapsed {time}");
        })
    };
    if let (Some(first), Some(second)) = (run(), run()) {
        let line = |text: &str| text.lines().find(|l| l.starts_with("elapsed")).map(str::to_owned);
        assert!(line(&first).is_some());
        assert_eq!(line(&first), line(&second));
    }
}

#[test]
fn pinned_memory_is_reached_by_kernels() {
    on_simulator("pinned_memory_is_reached_by_kernels", &[], || {
        raw::setup();
        let f = raw::function("add_one");
        // SAFETY: the range is allocated here, and the kernel gets its length.
        unsafe {
            let host = result::malloc_host(400, 0).unwrap().cast::<u32>();
            for k in 0..100 {
                host.add(k).write(k as u32);
            }
            let mut address = host as u64;
            let mut n = 100u32;
            let mut args = [(&raw mut address).cast::<c_void>(), (&raw mut n).cast::<c_void>()];
            result::launch_kernel(f, (1, 1, 1), (128, 1, 1), 0, std::ptr::null_mut(), &mut args).unwrap();
            assert_eq!(host.add(99).read(), 100);
            result::free_host(host.cast()).unwrap();
        }
    });
}

#[test]
fn a_report_line_for_each_launch() {
    if std::env::var_os(CHILD).is_some() {
        let _ = add_one(64, 64);
        return;
    }
    let file = tempfile::NamedTempFile::new().unwrap();
    let path = file.path().to_string_lossy().into_owned();
    on_simulator("a_report_line_for_each_launch", &[("FSR_SIM_REPORT", &path)], || {});
    let text = std::fs::read_to_string(file.path()).unwrap();
    let line: serde_json::Value = serde_json::from_str(text.lines().next().unwrap()).unwrap();
    assert_eq!(line["kernel"], "add_one");
    assert_eq!(line["verdict"], "clean");
    assert_eq!(line["counts"]["global_load"]["transactions"], 8);
}

#[test]
fn functions_by_name() {
    on_simulator("functions_by_name", &[], || {
        raw::setup();
        let lookup = |name: &str| {
            let mut found = std::ptr::null_mut();
            let name = CString::new(name).unwrap();
            // SAFETY: pointers to locals.
            let code = unsafe {
                sys::cuGetProcAddress_v2(name.as_ptr(), &mut found, 13000, 0, std::ptr::null_mut())
            };
            (code, found)
        };
        assert_eq!(lookup("cuMemAlloc").0, sys::CUresult::CUDA_SUCCESS);
        let (code, stub) = lookup("cuTexRefCreate");
        assert_eq!(code, sys::CUresult::CUDA_SUCCESS);
        // SAFETY: the stub takes no notice of arguments.
        let stub: unsafe extern "C" fn() -> i32 = unsafe { std::mem::transmute(stub) };
        // SAFETY: as above.
        assert_eq!(unsafe { stub() }, 801);
        assert_eq!(lookup("cuNonsense").0, sys::CUresult::CUDA_ERROR_NOT_FOUND);
    });
}

#[test]
fn functions_as_the_caller_was_built_to_call_them() {
    on_simulator("functions_as_the_caller_was_built_to_call_them", &[], || {
        raw::setup();
        let lookup = |name: &str, version: i32| {
            let (mut found, mut status) =
                (std::ptr::null_mut(), sys::CUdriverProcAddressQueryResult::CU_GET_PROC_ADDRESS_SUCCESS);
            let name = CString::new(name).unwrap();
            // SAFETY: pointers to locals.
            unsafe { sys::cuGetProcAddress_v2(name.as_ptr(), &mut found, version, 0, &mut status) };
            (found as usize, status as i32)
        };
        let address = |name: &str| lookup(name, 13000).0;
        // Each has arguments of its own.
        assert_ne!(lookup("cuCtxCreate", 3020).0, lookup("cuCtxCreate", 11040).0);
        assert_ne!(lookup("cuCtxCreate", 11040).0, lookup("cuCtxCreate", 12050).0);
        assert_eq!(lookup("cuCtxCreate", 12080).0, address("cuCtxCreate"));
        assert_ne!(lookup("cuMemPrefetchAsync", 8000).0, address("cuMemPrefetchAsync"));
        assert_ne!(lookup("cuGetProcAddress", 11030).0, address("cuGetProcAddress"));
        assert_eq!(lookup("cuMemAlloc", 3020), (address("cuMemAlloc"), 0));
        // Newer than the caller, newer than the driver, and never heard of.
        assert_eq!(lookup("cuMemAllocAsync", 9000), (0, 2));
        assert_eq!(lookup("cuMemAllocAsync", 11020).1, 0);
        assert_eq!(lookup("cuCoredumpRegisterStartCallback", 13050), (0, 2));
        assert_eq!(lookup("cuNonsense", 13000), (0, 1));
    });
}

#[test]
fn contexts_are_a_stack() {
    on_simulator("contexts_are_a_stack", &[], || {
        raw::setup();
        let current = || {
            let mut context = std::ptr::null_mut();
            // SAFETY: a pointer to a local.
            unsafe { sys::cuCtxGetCurrent(&mut context) }.result().unwrap();
            context
        };
        let primary = current();
        let mut made = std::ptr::null_mut();
        let mut popped = std::ptr::null_mut();
        // SAFETY: contexts that exist, and pointers to locals.
        unsafe {
            type Create = unsafe extern "C" fn(*mut sys::CUcontext, u32, i32) -> sys::CUresult;
            let mut create = std::ptr::null_mut();
            sys::cuGetProcAddress_v2(c"cuCtxCreate".as_ptr(), &mut create, 3020, 0, std::ptr::null_mut())
                .result()
                .unwrap();
            let create: Create = std::mem::transmute(create);
            create(&mut made, 0, 0).result().unwrap();
            assert_eq!(current(), made);
            sys::cuCtxPushCurrent_v2(primary).result().unwrap();
            sys::cuCtxPushCurrent_v2(made).result().unwrap();
            sys::cuCtxPopCurrent_v2(&mut popped).result().unwrap();
            assert_eq!((popped, current()), (made, primary));
            sys::cuCtxPopCurrent_v2(std::ptr::null_mut()).result().unwrap();
            assert_eq!(current(), made);
            // The one on top is replaced, or taken away.
            sys::cuCtxSetCurrent(primary).result().unwrap();
            sys::cuCtxSetCurrent(std::ptr::null_mut()).result().unwrap();
            assert_eq!(current(), primary);
            sys::cuCtxDestroy_v2(made).result().unwrap();
            assert_eq!(current(), primary);
        }
    });
}

#[test]
fn memory_of_every_kind_is_freed_as_what_it_is() {
    on_simulator("memory_of_every_kind_is_freed_as_what_it_is", &[], || {
        use sys::CUresult::*;
        raw::setup();
        let (mut pinned, mut managed) = (std::ptr::null_mut(), 0);
        let mut own = vec![7u8; 4096];
        // SAFETY: wrong on purpose; the driver answers with errors.
        unsafe {
            for bytes in [usize::MAX, usize::MAX - 7, isize::MAX as usize] {
                assert_eq!(sys::cuMemAllocHost_v2(&mut pinned, bytes), CUDA_ERROR_OUT_OF_MEMORY);
                assert_eq!(sys::cuMemHostAlloc(&mut pinned, bytes, 0), CUDA_ERROR_OUT_OF_MEMORY);
                assert_eq!(sys::cuMemAllocManaged(&mut managed, bytes, 1), CUDA_ERROR_OUT_OF_MEMORY);
            }
            sys::cuMemAllocHost_v2(&mut pinned, 64).result().unwrap();
            sys::cuMemAllocManaged(&mut managed, 64, 1).result().unwrap();
            sys::cuMemHostRegister_v2(own.as_mut_ptr().cast(), own.len(), 0).result().unwrap();
            let device = result::malloc_sync(64).unwrap();

            let mut kind = 0u32;
            let attribute = sys::CUpointer_attribute::CU_POINTER_ATTRIBUTE_IS_MANAGED;
            sys::cuPointerGetAttribute((&raw mut kind).cast(), attribute, managed).result().unwrap();
            assert_eq!(kind, 1);
            let attribute = sys::CUpointer_attribute::CU_POINTER_ATTRIBUTE_MEMORY_TYPE;
            for (address, wanted) in [(managed, 2), (pinned as u64, 1), (device, 2)] {
                sys::cuPointerGetAttribute((&raw mut kind).cast(), attribute, address).result().unwrap();
                assert_eq!(kind, wanted);
            }

            for address in [pinned as u64, own.as_ptr() as u64, device + 8] {
                assert_eq!(sys::cuMemFree_v2(address), CUDA_ERROR_INVALID_VALUE);
            }
            for address in [managed, own.as_ptr() as u64, device] {
                assert_eq!(sys::cuMemFreeHost(address as *mut c_void), CUDA_ERROR_INVALID_VALUE);
            }
            // Nothing of that has freed anything.
            sys::cuMemHostUnregister(own.as_mut_ptr().cast()).result().unwrap();
            sys::cuMemFreeHost(pinned).result().unwrap();
            sys::cuMemFree_v2(managed).result().unwrap();
            sys::cuMemFree_v2(device).result().unwrap();
        }
    });
}

#[test]
fn copies_know_which_side_an_address_is_on() {
    on_simulator("copies_know_which_side_an_address_is_on", &[], || {
        use sys::CUresult::*;
        raw::setup();
        // SAFETY: addresses on the wrong side on purpose; the driver copies, or answers with errors.
        unsafe {
            let (from, to) = (result::malloc_sync(64).unwrap(), result::malloc_sync(64).unwrap());
            let gone = result::malloc_sync(64).unwrap();
            result::free_sync(gone).unwrap();
            result::memcpy_htod_sync(from, &[5u8; 64]).unwrap();
            sys::cuMemcpyHtoD_v2(to, from as *const c_void, 32).result().unwrap();
            sys::cuMemcpyDtoH_v2((to + 32) as *mut c_void, from, 32).result().unwrap();
            let mut out = [0u8; 64];
            result::memcpy_dtoh_sync(&mut out, to).unwrap();
            assert_eq!(out, [5; 64]);
            assert_eq!(sys::cuMemcpyHtoD_v2(to, gone as *const c_void, 32), CUDA_ERROR_INVALID_VALUE);
            assert_eq!(sys::cuMemcpyDtoH_v2(gone as *mut c_void, from, 32), CUDA_ERROR_INVALID_VALUE);
            assert_eq!(sys::cuMemcpy(gone, from, 32), CUDA_ERROR_INVALID_VALUE);
            // From host to host.
            let (source, mut target) = ([9u8; 16], [0u8; 16]);
            sys::cuMemcpy(target.as_mut_ptr() as u64, source.as_ptr() as u64, 16).result().unwrap();
            assert_eq!(target, source);
            assert_eq!(sys::cuMemcpy(0, source.as_ptr() as u64, 16), CUDA_ERROR_INVALID_VALUE);
        }
    });
}

#[test]
fn a_reset_frees_what_was_allocated() {
    on_simulator("a_reset_frees_what_was_allocated", &[], || {
        use sys::CUresult::*;
        raw::setup();
        // SAFETY: addresses of the driver's own, stale on purpose at the end.
        unsafe {
            let (free, _) = result::mem_get_info().unwrap();
            let address = result::malloc_sync(1 << 20).unwrap();
            assert!(result::mem_get_info().unwrap().0 < free);
            sys::cuDevicePrimaryCtxReset_v2(0).result().unwrap();
            assert_eq!(sys::cuMemFree_v2(address), CUDA_ERROR_INVALID_VALUE);
            assert_eq!(sys::cuMemsetD8_v2(address, 0, 16), CUDA_ERROR_INVALID_VALUE);
            assert!(result::mem_get_info().unwrap().0 >= free);
        }
    });
}
