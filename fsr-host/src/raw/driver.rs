//! The CUDA driver as owned values: context, memory, stream, events, modules.
//!
//! Owns every call into the driver that this crate makes. All device work goes to one stream; ranges are checked
//! here, so that nothing above can reach beyond an allocation. It never runs a kernel itself: launch code does.

use std::ffi::{CStr, CString, c_char, c_int, c_uint, c_void};
use std::ops::Range;
#[cfg(feature = "cudarc")]
use std::sync::Arc;

#[cfg(feature = "cudarc")]
use cudarc::driver::{CudaContext, CudaFunction, CudaModule, CudaStream};
use cudarc::driver::{DriverError, result, sys};
use sys::CUdevice_attribute_enum as Attribute;
use sys::CUfunction_attribute_enum as FunctionAttribute;

/// Bytes of the JIT's log that are kept.
const LOG_BYTES: usize = 32 * 1024;

/// An error of the driver: `CUDA_ERROR_ILLEGAL_ADDRESS: an illegal memory access was encountered`.
#[derive(Clone, Debug, thiserror::Error)]
#[error("{name}: {text}")]
pub(crate) struct CudaError {
    name: String,
    text: String,
    out_of_memory: bool,
}

impl CudaError {
    pub(crate) fn is_out_of_memory(&self) -> bool {
        self.out_of_memory
    }
}

impl From<DriverError> for CudaError {
    fn from(error: DriverError) -> Self {
        let text = |text: Result<&CStr, DriverError>| {
            text.map_or_else(|_| "unknown".to_owned(), |text| text.to_string_lossy().into_owned())
        };
        Self {
            name: text(error.error_name()),
            text: text(error.error_string()),
            out_of_memory: error.0 == sys::CUresult::CUDA_ERROR_OUT_OF_MEMORY,
        }
    }
}

/// Why no device could be opened.
#[derive(Debug, thiserror::Error)]
pub(crate) enum OpenError {
    #[error("the CUDA driver library ({0}) is not installed or not on the loader's path")]
    NoDriver(&'static str),
    #[error(transparent)]
    Driver(#[from] CudaError),
    #[error("there is no device {ordinal}: the driver counts {count}")]
    NoSuchDevice { ordinal: u32, count: i32 },
}

/// What the driver's library is called.
const NAMES: &[&str] = if cfg!(windows) { &["nvcuda.dll"] } else { &["libcuda.so.1", "libcuda.so"] };

/// Whether the driver's library can be loaded. cudarc panics where it cannot.
fn probe() -> Result<(), OpenError> {
    // SAFETY: the driver's initialisers are as trusted as the driver, which this process is about to use anyway.
    let found =
        NAMES.iter().any(|name| unsafe { libloading::Library::new(*name) }.map(std::mem::forget).is_ok());
    if found { Ok(()) } else { Err(OpenError::NoDriver(NAMES[0])) }
}

/// Finds a device without touching it.
fn find(ordinal: u32) -> Result<i32, OpenError> {
    probe()?;
    result::init().map_err(CudaError::from)?;
    let count = result::device::get_count().map_err(CudaError::from)?;
    let index = i32::try_from(ordinal).ok().filter(|index| *index < count);
    index.ok_or(OpenError::NoSuchDevice { ordinal, count })
}

/// Name and UUID of a device, which is not opened.
pub(crate) fn identify(ordinal: u32) -> Result<(String, [u8; 16]), OpenError> {
    let index = find(ordinal)?;
    let device = result::device::get(index).map_err(CudaError::from)?;
    let name = result::device::get_name(device).map_err(CudaError::from)?;
    let uuid = result::device::get_uuid(device).map_err(CudaError::from)?;
    // Bytes, whatever the sign that C gives its characters.
    Ok((name, uuid.bytes.map(|byte| byte as u8)))
}

/// A device with its primary context, current on this thread, and the one stream that all work goes to.
#[derive(Debug)]
pub(crate) struct Context {
    device: sys::CUdevice,
    stream: sys::CUstream,
    #[cfg(feature = "cudarc")]
    safe: Arc<CudaStream>,
}

impl Context {
    pub(crate) fn open(ordinal: u32) -> Result<Self, OpenError> {
        let index = find(ordinal)?;
        Self::with_device(index).map_err(|error| CudaError::from(error).into())
    }

    fn with_device(index: i32) -> Result<Self, DriverError> {
        let device = result::device::get(index)?;
        // SAFETY: the device handle was just given by the driver; the context is retained until the process ends.
        unsafe {
            let context = result::primary_ctx::retain(device)?;
            result::ctx::set_current(context)?;
        }
        let stream = result::stream::create(result::stream::StreamKind::NonBlocking)?;
        #[cfg(feature = "cudarc")]
        let safe = {
            let context = CudaContext::new(index as usize)?;
            // SAFETY: all work goes to the one stream below, so there is nothing to order between streams; and events
            // around each launch would be timed with the kernel.
            unsafe { context.disable_event_tracking() };
            // SAFETY: the stream belongs to the primary context, which `context` wraps, and is never destroyed.
            unsafe { context.wrap_borrowed_stream(stream) }
        };
        Ok(Self {
            device,
            stream,
            #[cfg(feature = "cudarc")]
            safe,
        })
    }

    pub(crate) fn raw_stream(&self) -> *mut c_void {
        self.stream.cast()
    }

    #[cfg(feature = "cudarc")]
    pub(crate) fn safe_stream(&self) -> &Arc<CudaStream> {
        &self.safe
    }

    pub(crate) fn name(&self) -> Result<String, CudaError> {
        Ok(result::device::get_name(self.device)?)
    }

    pub(crate) fn driver_version(&self) -> Result<u32, CudaError> {
        let mut version = 0;
        // SAFETY: the pointer is valid for the one integer that the call writes.
        unsafe { sys::cuDriverGetVersion(&mut version) }.result()?;
        Ok(version.unsigned_abs())
    }

    pub(crate) fn memory_bytes(&self) -> Result<u64, CudaError> {
        // SAFETY: the device handle is valid.
        Ok(unsafe { result::device::total_mem(self.device) }? as u64)
    }

    pub(crate) fn attribute(&self, attribute: Attribute) -> Result<u32, CudaError> {
        // SAFETY: the device handle is valid.
        Ok(unsafe { result::device::get_attribute(self.device, attribute) }?.unsigned_abs())
    }

    /// Waits for everything enqueued. An error that a kernel caused comes out here.
    pub(crate) fn synchronize(&self) -> Result<(), CudaError> {
        // SAFETY: the stream is valid for as long as the process.
        Ok(unsafe { result::stream::synchronize(self.stream) }?)
    }

    /// Waits for everything of the context, on whatever stream launch code put it.
    pub(crate) fn synchronize_all(&self) -> Result<(), CudaError> {
        Ok(result::ctx::synchronize()?)
    }

    pub(crate) fn allocate(&self, len: usize) -> Result<DeviceMemory, CudaError> {
        // SAFETY: the memory's contents are unspecified, and only the device reads them.
        let pointer = unsafe { result::malloc_sync(len) }?;
        Ok(DeviceMemory { pointer, len })
    }

    /// Tells the CPU device what a buffer is called in its reports. Any other driver has no such function, and nothing
    /// happens.
    pub(crate) fn name_buffer(&self, memory: &DeviceMemory, name: &str) {
        let Ok(text) = CString::new(name) else { return };
        // SAFETY: the library is loaded since `find`; the function's type is the one that the CPU device exports it with,
        // and no other driver has one of this name. It reads the text before it returns.
        unsafe {
            if let Ok(library) = libloading::Library::new(NAMES[0])
                && let Ok(name) = library
                    .get::<unsafe extern "C" fn(sys::CUdeviceptr, *const c_char) -> c_int>(
                        b"fsrSimNameBuffer\0",
                    )
            {
                name(memory.pointer, text.as_ptr());
            }
        }
    }

    /// Enqueues filling a range with one byte.
    pub(crate) fn fill(&self, memory: &DeviceMemory, range: Range<usize>, byte: u8) -> Result<(), CudaError> {
        let pointer = memory.at(&range);
        if range.is_empty() {
            return Ok(());
        }
        // SAFETY: `at` checked that the range lies inside the allocation.
        Ok(unsafe { result::memset_d8_async(pointer, byte, range.len(), self.stream) }?)
    }

    /// Enqueues a copy between two device allocations.
    pub(crate) fn copy(
        &self,
        from: &DeviceMemory,
        from_start: usize,
        to: &DeviceMemory,
        to_start: usize,
        len: usize,
    ) -> Result<(), CudaError> {
        let (from, to) = (from.at(&(from_start..from_start + len)), to.at(&(to_start..to_start + len)));
        // SAFETY: both ranges were checked to lie inside their allocations.
        Ok(unsafe { result::memcpy_dtod_async(to, from, len, self.stream) }?)
    }

    /// Copies host bytes to the start of an allocation and waits.
    pub(crate) fn upload(&self, bytes: &[u8], memory: &DeviceMemory) -> Result<(), CudaError> {
        let pointer = memory.at(&(0..bytes.len()));
        // SAFETY: the range was checked, and the call returns after the copy.
        Ok(unsafe { result::memcpy_htod_sync(pointer, bytes) }?)
    }

    /// Copies device ranges to host memory and waits for all of them. Fast where the host memory is pinned.
    pub(crate) fn download<'m>(
        &self,
        copies: impl IntoIterator<Item = (&'m DeviceMemory, usize, &'m mut [u8])>,
    ) -> Result<(), CudaError> {
        // Held until the copies are through.
        let mut targets = Vec::new();
        let mut enqueued = Ok(());
        for (memory, start, target) in copies {
            let pointer = memory.at(&(start..start + target.len()));
            // SAFETY: the range was checked; `targets` borrows the host memory beyond the synchronisation below.
            enqueued = unsafe { result::memcpy_dtoh_async(target, pointer, self.stream) };
            targets.push(target);
            if enqueued.is_err() {
                break;
            }
        }
        let finished = self.synchronize();
        drop(targets);
        enqueued?;
        finished
    }

    pub(crate) fn pinned(&self, len: usize) -> Result<Pinned, CudaError> {
        // SAFETY: the memory is page-locked and written with zeros before anything reads it.
        let pointer = unsafe {
            let pointer = result::malloc_host(len, 0)?.cast::<u8>();
            pointer.write_bytes(0, len);
            pointer
        };
        Ok(Pinned { pointer, len })
    }

    pub(crate) fn event(&self) -> Result<Event, CudaError> {
        Ok(Event(result::event::create(sys::CUevent_flags::CU_EVENT_DEFAULT)?))
    }

    pub(crate) fn record(&self, event: &Event) -> Result<(), CudaError> {
        // SAFETY: both handles are valid and of the same context.
        Ok(unsafe { result::event::record(event.0, self.stream) }?)
    }

    /// Loads PTX. The error is the driver's, with what its compiler logged.
    pub(crate) fn load(&self, ptx: &str) -> Result<Module, String> {
        let text = CString::new(ptx).map_err(|_| "the PTX holds a zero byte".to_owned())?;
        Module::load(self, &text)
    }
}

/// Device memory, freed on drop.
#[derive(Debug)]
pub(crate) struct DeviceMemory {
    pointer: sys::CUdeviceptr,
    len: usize,
}

impl DeviceMemory {
    pub(crate) fn len(&self) -> usize {
        self.len
    }

    /// Device address of a range, which must lie inside.
    pub(crate) fn at(&self, range: &Range<usize>) -> sys::CUdeviceptr {
        assert!(
            range.start <= range.end && range.end <= self.len,
            "{range:?} is outside of {} bytes",
            self.len
        );
        self.pointer + range.start as u64
    }
}

impl Drop for DeviceMemory {
    fn drop(&mut self) {
        // SAFETY: the pointer came from `malloc_sync` and is freed once; the call waits for work that uses it. An error
        // left by a kernel is reported elsewhere.
        let _ = unsafe { result::free_sync(self.pointer) };
    }
}

/// Page-locked host memory.
#[derive(Debug)]
pub(crate) struct Pinned {
    pointer: *mut u8,
    len: usize,
}

impl Pinned {
    pub(crate) fn bytes(&self) -> &[u8] {
        // SAFETY: allocated with this length and initialised; transfers into it end before a borrow can begin.
        unsafe { std::slice::from_raw_parts(self.pointer, self.len) }
    }

    pub(crate) fn bytes_mut(&mut self) -> &mut [u8] {
        // SAFETY: as in `bytes`, and the borrow is exclusive.
        unsafe { std::slice::from_raw_parts_mut(self.pointer, self.len) }
    }
}

impl Drop for Pinned {
    fn drop(&mut self) {
        // SAFETY: the pointer came from `malloc_host` and is freed once.
        let _ = unsafe { result::free_host(self.pointer.cast()) };
    }
}

/// Host memory of a map that was page-locked in place.
#[derive(Debug)]
pub(crate) struct Registered {
    map: super::MappedMut,
}

impl Registered {
    /// Page-locks a map; gives it back where the driver or the file system refuses.
    pub(crate) fn new(mut map: super::MappedMut) -> Result<Self, super::MappedMut> {
        let bytes = map.bytes_mut();
        // SAFETY: the map stays at its address until `drop` unregisters it.
        let registered = unsafe { sys::cuMemHostRegister_v2(bytes.as_mut_ptr().cast(), bytes.len(), 0) };
        if registered == sys::CUresult::CUDA_SUCCESS { Ok(Self { map }) } else { Err(map) }
    }

    pub(crate) fn bytes_mut(&mut self) -> &mut [u8] {
        self.map.bytes_mut()
    }
}

impl Drop for Registered {
    fn drop(&mut self) {
        // SAFETY: registered once in `new`, at the same address.
        let _ = unsafe { sys::cuMemHostUnregister(self.map.bytes_mut().as_mut_ptr().cast()) };
    }
}

/// A point on the stream with a time.
#[derive(Debug)]
pub(crate) struct Event(sys::CUevent);

impl Event {
    pub(crate) fn wait(&self) -> Result<(), CudaError> {
        // SAFETY: the handle is valid until drop.
        Ok(unsafe { result::event::synchronize(self.0) }?)
    }

    /// Nanoseconds from this event to a later one; both must be through.
    pub(crate) fn nanos_until(&self, later: &Self) -> Result<f64, CudaError> {
        // SAFETY: both handles are valid, recorded on the same stream.
        let milliseconds = unsafe { result::event::elapsed(self.0, later.0) }?;
        Ok(f64::from(milliseconds) * 1e6)
    }
}

impl Drop for Event {
    fn drop(&mut self) {
        // SAFETY: created by this crate, destroyed once.
        let _ = unsafe { result::event::destroy(self.0) };
    }
}

/// A loaded module.
#[derive(Debug)]
pub(crate) struct Module {
    #[cfg(feature = "cudarc")]
    safe: Arc<CudaModule>,
    #[cfg(not(feature = "cudarc"))]
    raw: RawModule,
}

impl Module {
    #[cfg(feature = "cudarc")]
    fn load(context: &Context, ptx: &CStr) -> Result<Self, String> {
        let source = cudarc::nvrtc::Ptx::from_src(ptx.to_string_lossy());
        match context.safe.context().load_module(source) {
            Ok(safe) => Ok(Self { safe }),
            // cudarc drops the log, so a refused module is compiled once more.
            Err(error) => Err(match RawModule::load(ptx) {
                Err(message) => message,
                Ok(_) => CudaError::from(error).to_string(),
            }),
        }
    }

    #[cfg(not(feature = "cudarc"))]
    fn load(_: &Context, ptx: &CStr) -> Result<Self, String> {
        RawModule::load(ptx).map(|raw| Self { raw })
    }

    /// Looks up an entry; `None` where the module has none of that name.
    pub(crate) fn function(&self, entry: &str) -> Result<Option<Function>, CudaError> {
        let Ok(name) = CString::new(entry) else { return Ok(None) };
        #[cfg(feature = "cudarc")]
        let found = self.safe.load_function(&name.to_string_lossy()).map(|safe| Function { safe });
        #[cfg(not(feature = "cudarc"))]
        // SAFETY: the module is loaded for as long as `self`.
        let found = unsafe { result::module::get_function(self.raw.0, name) }.map(|raw| Function { raw });
        match found {
            Ok(function) => Ok(Some(function)),
            Err(DriverError(sys::CUresult::CUDA_ERROR_NOT_FOUND)) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }
}

/// A module without cudarc's ownership.
#[derive(Debug)]
struct RawModule(sys::CUmodule);

impl RawModule {
    fn load(ptx: &CStr) -> Result<Self, String> {
        let mut log = vec![0u8; LOG_BYTES];
        let mut options = [
            sys::CUjit_option::CU_JIT_ERROR_LOG_BUFFER,
            sys::CUjit_option::CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES,
        ];
        let mut values = [log.as_mut_ptr().cast::<c_void>(), LOG_BYTES as *mut c_void];
        let mut module = std::ptr::null_mut();
        // SAFETY: the text ends with a zero byte; the two options have two values, a buffer and its length by value, and
        // the buffer outlives the call.
        let loaded = unsafe {
            sys::cuModuleLoadDataEx(
                &mut module,
                ptx.as_ptr().cast(),
                options.len() as c_uint,
                options.as_mut_ptr(),
                values.as_mut_ptr(),
            )
        };
        loaded.result().map_err(|error| {
            let log = CStr::from_bytes_until_nul(&log).map(CStr::to_string_lossy).unwrap_or_default();
            let log = log.trim();
            let error = CudaError::from(error);
            if log.is_empty() { error.to_string() } else { format!("{error}\n{log}") }
        })?;
        Ok(Self(module))
    }
}

impl Drop for RawModule {
    fn drop(&mut self) {
        // SAFETY: loaded once, unloaded once.
        let _ = unsafe { result::module::unload(self.0) };
    }
}

/// An entry of a module that stays loaded for as long as the harness knows it.
#[derive(Clone, Debug)]
pub(crate) struct Function {
    #[cfg(feature = "cudarc")]
    safe: CudaFunction,
    #[cfg(not(feature = "cudarc"))]
    raw: sys::CUfunction,
}

/// What [`Function::attribute`] can ask for.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Resource {
    Registers,
    LocalBytes,
    SharedBytes,
    MaxThreads,
}

impl Function {
    pub(crate) fn raw(&self) -> *mut c_void {
        self.handle().cast()
    }

    fn handle(&self) -> sys::CUfunction {
        #[cfg(feature = "cudarc")]
        return self.safe.cu_function();
        #[cfg(not(feature = "cudarc"))]
        return self.raw;
    }

    #[cfg(feature = "cudarc")]
    pub(crate) fn safe(&self) -> &CudaFunction {
        &self.safe
    }

    pub(crate) fn resource(&self, resource: Resource) -> Result<u32, CudaError> {
        let attribute = match resource {
            Resource::Registers => FunctionAttribute::CU_FUNC_ATTRIBUTE_NUM_REGS,
            Resource::LocalBytes => FunctionAttribute::CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES,
            Resource::SharedBytes => FunctionAttribute::CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES,
            Resource::MaxThreads => FunctionAttribute::CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK,
        };
        // SAFETY: the function's module is loaded.
        let value: c_int = unsafe { result::function::get_function_attribute(self.handle(), attribute) }?;
        Ok(value.unsigned_abs())
    }
}
