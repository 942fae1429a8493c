//! The binding to NVRTC, loaded by full path: ten functions, and no other unsafe code in this crate.
//!
//! Used by the compiler process alone. Never looks for the library, and never reads the environment.

#![allow(unsafe_code)]

use std::ffi::{CStr, CString, NulError, OsStr, c_char, c_int, c_void};
use std::path::{Path, PathBuf};
use std::ptr;

use libloading::Library;

type Status = c_int;
type RawProgram = *mut c_void;
type SizeFn = unsafe extern "C" fn(RawProgram, *mut usize) -> Status;
type TextFn = unsafe extern "C" fn(RawProgram, *mut c_char) -> Status;

const SUCCESS: Status = 0;

/// A loaded NVRTC.
#[derive(Debug)]
pub struct Nvrtc {
    api: Api,
    version: (u32, u32),
    // Kept loaded, and dropped after the function pointers that lead into them.
    _library: Library,
    _builtins: Option<Library>,
}

/// Pointers into the library; valid while it is loaded.
#[derive(Debug)]
struct Api {
    version: unsafe extern "C" fn(*mut c_int, *mut c_int) -> Status,
    error_string: unsafe extern "C" fn(Status) -> *const c_char,
    create: unsafe extern "C" fn(
        *mut RawProgram,
        *const c_char,
        *const c_char,
        c_int,
        *const *const c_char,
        *const *const c_char,
    ) -> Status,
    destroy: unsafe extern "C" fn(*mut RawProgram) -> Status,
    compile: unsafe extern "C" fn(RawProgram, c_int, *const *const c_char) -> Status,
    log_size: SizeFn,
    log: TextFn,
    ptx_size: SizeFn,
    ptx: TextFn,
    // Since CUDA 11.2.
    target_count: Option<unsafe extern "C" fn(*mut c_int) -> Status>,
    targets: Option<unsafe extern "C" fn(*mut c_int) -> Status>,
}

/// A translation unit with the headers that exist for it beside the include folders.
#[derive(Clone, Copy, Debug)]
pub struct Program<'a> {
    /// The name that messages and `__FILE__` show.
    pub name: &'a str,
    /// CUDA C++.
    pub source: &'a str,
    /// Name as in the `#include`, and text.
    pub headers: &'a [(String, String)],
}

/// What a compilation came to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Outcome {
    /// `NVRTC_SUCCESS`, `NVRTC_ERROR_COMPILATION`, ...
    pub status: Status,
    /// The same in NVRTC's words.
    pub meaning: String,
    /// Errors and warnings.
    pub log: String,
    /// The PTX, when the status is success.
    pub ptx: Option<String>,
}

/// Faults of the library or of its use; never of the program that is compiled.
#[derive(Debug, thiserror::Error)]
pub enum NvrtcError {
    /// The library cannot be loaded.
    #[error("cannot be loaded: {}", loader_says(.0))]
    Load(#[from] libloading::Error),
    /// A function reported a fault.
    #[error("{function} failed: {meaning}")]
    Call {
        /// The function.
        function: &'static str,
        /// NVRTC's word for the fault.
        meaning: String,
    },
    /// A text cannot cross into C.
    #[error("a text holds a NUL byte")]
    Nul(#[from] NulError),
    /// More options or headers than fit a C `int`.
    #[error("too many options or headers")]
    TooMany,
}

/// The crate's error names the call alone; the loader's words are behind it.
fn loader_says(error: &libloading::Error) -> String {
    use std::error::Error;
    error.source().map_or_else(|| error.to_string(), ToString::to_string)
}

impl Nvrtc {
    /// Loads the library, and the builtins of its own version from its own folder: NVRTC opens them by bare name at
    /// the first compilation, which finds the ones that are loaded already and needs no loader path.
    ///
    /// # Errors
    /// When a library cannot be loaded or lacks a function.
    pub fn open(path: &Path) -> Result<Self, NvrtcError> {
        // SAFETY: loading runs the library's initialisers. The path is a file named as NVRTC is, found where the
        // user's settings, environment or toolkit say, and this process has no other duty than to host it.
        let library = unsafe { Library::new(path) }?;
        let api = Api::find(&library)?;
        let (mut major, mut minor) = (0, 0);
        // SAFETY: both pointers are to live integers.
        let status = unsafe { (api.version)(&mut major, &mut minor) };
        api.check("nvrtcVersion", status)?;
        let version = (major.unsigned_abs(), minor.unsigned_abs());
        let builtins = match builtins_path(path, version) {
            // SAFETY: as above; the builtins belong to the library.
            Some(builtins) => Some(unsafe { Library::new(builtins) }?),
            None => None,
        };
        Ok(Self { api, version, _library: library, _builtins: builtins })
    }

    /// Major and minor version of the toolkit that the library belongs to.
    pub fn version(&self) -> (u32, u32) {
        self.version
    }

    /// Numbers of the targets that it knows (`90` for `sm_90`); empty when it cannot tell.
    pub fn targets(&self) -> Vec<u32> {
        let (Some(count), Some(list)) = (self.api.target_count, self.api.targets) else { return Vec::new() };
        let mut length: c_int = 0;
        // SAFETY: the pointer is to a live integer.
        if unsafe { count(&mut length) } != SUCCESS {
            return Vec::new();
        }
        let mut targets: Vec<c_int> = vec![0; usize::try_from(length).unwrap_or(0)];
        // SAFETY: the array has as many elements as the library just asked for.
        if targets.is_empty() || unsafe { list(targets.as_mut_ptr()) } != SUCCESS {
            return Vec::new();
        }
        targets.into_iter().filter_map(|target| u32::try_from(target).ok()).collect()
    }

    /// Compiles a program to PTX; `include` are folders to search, `options` all other options.
    ///
    /// # Errors
    /// When NVRTC cannot be asked; whatever it answers is an [`Outcome`].
    pub fn compile(
        &self,
        program: &Program<'_>,
        options: &[String],
        include: &[PathBuf],
    ) -> Result<Outcome, NvrtcError> {
        let mut words = Vec::with_capacity(options.len() + include.len());
        for option in options {
            words.push(CString::new(option.as_str())?);
        }
        for folder in include {
            words.push(include_option(folder.as_os_str())?);
        }
        let words_c: Vec<*const c_char> = words.iter().map(|word| word.as_ptr()).collect();
        let count = c_int::try_from(words_c.len()).map_err(|_| NvrtcError::TooMany)?;

        let handle = self.create(program)?;
        // SAFETY: the handle is live; the array holds `count` C strings that outlive the call.
        let status = unsafe { (self.api.compile)(handle.raw, count, words_c.as_ptr()) };
        let log = handle.text("nvrtcGetProgramLog", self.api.log_size, self.api.log)?;
        let ptx = match status {
            SUCCESS => Some(handle.text("nvrtcGetPTX", self.api.ptx_size, self.api.ptx)?),
            _ => None,
        };
        Ok(Outcome { status, meaning: self.api.meaning(status), log, ptx })
    }

    fn create(&self, program: &Program<'_>) -> Result<Handle<'_>, NvrtcError> {
        let source = CString::new(program.source)?;
        let name = CString::new(program.name)?;
        let mut names = Vec::with_capacity(program.headers.len());
        let mut texts = Vec::with_capacity(program.headers.len());
        for (name, text) in program.headers {
            names.push(CString::new(name.as_str())?);
            texts.push(CString::new(text.as_str())?);
        }
        let names_c: Vec<*const c_char> = names.iter().map(|name| name.as_ptr()).collect();
        let texts_c: Vec<*const c_char> = texts.iter().map(|text| text.as_ptr()).collect();
        let count = c_int::try_from(names.len()).map_err(|_| NvrtcError::TooMany)?;
        let mut raw: RawProgram = ptr::null_mut();
        // SAFETY: all strings are NUL-terminated and outlive the call, which copies them; both arrays have `count`
        // elements; the handle is written before it is used.
        let status = unsafe {
            (self.api.create)(
                &mut raw,
                source.as_ptr(),
                name.as_ptr(),
                count,
                texts_c.as_ptr(),
                names_c.as_ptr(),
            )
        };
        self.api.check("nvrtcCreateProgram", status)?;
        Ok(Handle { api: &self.api, raw })
    }
}

impl Api {
    fn find(library: &Library) -> Result<Self, NvrtcError> {
        // SAFETY: the types are those of nvrtc.h, unchanged from CUDA 11 to 13; the pointers are kept beside the
        // library and die with it.
        unsafe {
            Ok(Self {
                version: *library.get(b"nvrtcVersion\0")?,
                error_string: *library.get(b"nvrtcGetErrorString\0")?,
                create: *library.get(b"nvrtcCreateProgram\0")?,
                destroy: *library.get(b"nvrtcDestroyProgram\0")?,
                compile: *library.get(b"nvrtcCompileProgram\0")?,
                log_size: *library.get(b"nvrtcGetProgramLogSize\0")?,
                log: *library.get(b"nvrtcGetProgramLog\0")?,
                ptx_size: *library.get(b"nvrtcGetPTXSize\0")?,
                ptx: *library.get(b"nvrtcGetPTX\0")?,
                target_count: library.get(b"nvrtcGetNumSupportedArchs\0").ok().map(|symbol| *symbol),
                targets: library.get(b"nvrtcGetSupportedArchs\0").ok().map(|symbol| *symbol),
            })
        }
    }

    fn meaning(&self, status: Status) -> String {
        // SAFETY: the function accepts any number and returns a static C string.
        let text = unsafe { (self.error_string)(status) };
        if text.is_null() {
            return format!("status {status}");
        }
        // SAFETY: not null, and static as said above.
        unsafe { CStr::from_ptr(text) }.to_string_lossy().into_owned()
    }

    fn check(&self, function: &'static str, status: Status) -> Result<(), NvrtcError> {
        match status {
            SUCCESS => Ok(()),
            _ => Err(NvrtcError::Call { function, meaning: self.meaning(status) }),
        }
    }
}

/// A program inside NVRTC, destroyed on drop.
struct Handle<'a> {
    api: &'a Api,
    raw: RawProgram,
}

impl Handle<'_> {
    fn text(&self, function: &'static str, size: SizeFn, text: TextFn) -> Result<String, NvrtcError> {
        let mut length = 0usize;
        // SAFETY: the handle is live and the pointer is to a live integer.
        self.api.check(function, unsafe { size(self.raw, &mut length) })?;
        let mut bytes = vec![0u8; length];
        if length > 0 {
            // SAFETY: the buffer has the size that the library asked for, its NUL included.
            self.api.check(function, unsafe { text(self.raw, bytes.as_mut_ptr().cast()) })?;
        }
        while bytes.last() == Some(&0) {
            bytes.pop();
        }
        Ok(String::from_utf8_lossy(&bytes).into_owned())
    }
}

impl Drop for Handle<'_> {
    fn drop(&mut self) {
        // SAFETY: created by this library, destroyed once. A fault here could not be acted on.
        unsafe { (self.api.destroy)(&mut self.raw) };
    }
}

/// The builtins beside a library, by the toolkit's own naming; `None` leaves it to the loader.
fn builtins_path(library: &Path, (major, minor): (u32, u32)) -> Option<PathBuf> {
    let name = if cfg!(windows) {
        format!("nvrtc-builtins64_{major}{minor}.dll")
    } else {
        format!("libnvrtc-builtins.so.{major}.{minor}")
    };
    let beside =
        |library: &Path| library.parent().map(|folder| folder.join(&name)).filter(|path| path.is_file());
    // A symlink may lead into the toolkit from a folder that has the library alone.
    beside(library).or_else(|| beside(&library.canonicalize().ok()?))
}

#[cfg(unix)]
fn include_option(folder: &OsStr) -> Result<CString, NulError> {
    use std::os::unix::ffi::OsStrExt;
    CString::new([b"--include-path=", folder.as_bytes()].concat())
}

#[cfg(not(unix))]
fn include_option(folder: &OsStr) -> Result<CString, NulError> {
    CString::new(format!("--include-path={}", folder.to_string_lossy()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_that_is_no_library_is_an_error() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("libnvrtc.so.12");
        assert!(matches!(Nvrtc::open(&path), Err(NvrtcError::Load(_))), "missing");
        std::fs::write(&path, "rubbish").unwrap();
        let rubbish = Nvrtc::open(&path).map(drop).unwrap_err();
        assert!(matches!(rubbish, NvrtcError::Load(_)));
        if cfg!(unix) {
            assert!(rubbish.to_string().contains("libnvrtc.so.12"), "the loader's words: {rubbish}");
        }
    }

    #[test]
    #[cfg(unix)]
    fn builtins_are_found_beside_the_library_or_behind_its_symlink() {
        let folder = tempfile::tempdir().unwrap();
        let (toolkit, elsewhere) = (folder.path().join("toolkit"), folder.path().join("elsewhere"));
        std::fs::create_dir_all(&toolkit).unwrap();
        std::fs::create_dir_all(&elsewhere).unwrap();
        for name in ["libnvrtc.so.12", "libnvrtc-builtins.so.12.8", "libnvrtc-builtins.so.12.6"] {
            std::fs::write(toolkit.join(name), "").unwrap();
        }
        let link = elsewhere.join("libnvrtc.so");
        std::os::unix::fs::symlink(toolkit.join("libnvrtc.so.12"), &link).unwrap();
        let found = |library: &Path, version| {
            builtins_path(library, version).map(|path| path.file_name().unwrap().to_owned())
        };
        assert_eq!(found(&toolkit.join("libnvrtc.so.12"), (12, 8)), Some("libnvrtc-builtins.so.12.8".into()));
        assert_eq!(found(&link, (12, 6)), Some("libnvrtc-builtins.so.12.6".into()));
        assert_eq!(found(&link, (13, 0)), None);
    }
}
