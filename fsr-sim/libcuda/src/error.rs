//! Result codes of the driver interface, and which one a fault becomes.

use fsr_sim::{FaultKind, Faults, InvalidLaunch, LaunchError, MemoryError};
use std::ffi::CStr;

/// `CUresult`.
pub(crate) type Code = i32;

macro_rules! codes {
    ($($name:ident = $value:literal, $symbol:literal, $text:literal;)+) => {
        $(pub(crate) const $name: Code = $value;)+

        /// Name and description of a code.
        pub(crate) fn describe(code: Code) -> Option<(&'static CStr, &'static CStr)> {
            match code {
                $($value => Some(($symbol, $text)),)+
                _ => None,
            }
        }
    };
}

codes! {
    SUCCESS = 0, c"CUDA_SUCCESS", c"no error";
    INVALID_VALUE = 1, c"CUDA_ERROR_INVALID_VALUE", c"invalid argument";
    OUT_OF_MEMORY = 2, c"CUDA_ERROR_OUT_OF_MEMORY", c"out of memory";
    NOT_INITIALIZED = 3, c"CUDA_ERROR_NOT_INITIALIZED", c"initialization error";
    NO_DEVICE = 100, c"CUDA_ERROR_NO_DEVICE", c"no CUDA-capable device is detected";
    INVALID_DEVICE = 101, c"CUDA_ERROR_INVALID_DEVICE", c"invalid device ordinal";
    INVALID_IMAGE = 200, c"CUDA_ERROR_INVALID_IMAGE", c"device kernel image is invalid";
    INVALID_CONTEXT = 201, c"CUDA_ERROR_INVALID_CONTEXT", c"invalid device context";
    NO_BINARY_FOR_GPU = 209, c"CUDA_ERROR_NO_BINARY_FOR_GPU", c"no kernel image is available for execution on the device";
    UNSUPPORTED_LIMIT = 215, c"CUDA_ERROR_UNSUPPORTED_LIMIT", c"limit is not supported on this architecture";
    INVALID_PTX = 218, c"CUDA_ERROR_INVALID_PTX", c"a PTX JIT compilation failed";
    UNSUPPORTED_PTX_VERSION = 222, c"CUDA_ERROR_UNSUPPORTED_PTX_VERSION", c"the provided PTX was compiled with an unsupported toolchain.";
    FILE_NOT_FOUND = 301, c"CUDA_ERROR_FILE_NOT_FOUND", c"file not found";
    INVALID_HANDLE = 400, c"CUDA_ERROR_INVALID_HANDLE", c"invalid resource handle";
    NOT_FOUND = 500, c"CUDA_ERROR_NOT_FOUND", c"named symbol not found";
    ILLEGAL_ADDRESS = 700, c"CUDA_ERROR_ILLEGAL_ADDRESS", c"an illegal memory access was encountered";
    LAUNCH_OUT_OF_RESOURCES = 701, c"CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES", c"too many resources requested for launch";
    LAUNCH_TIMEOUT = 702, c"CUDA_ERROR_LAUNCH_TIMEOUT", c"the launch timed out and was terminated";
    ASSERT = 710, c"CUDA_ERROR_ASSERT", c"device-side assert triggered";
    HOST_MEMORY_ALREADY_REGISTERED = 712, c"CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED", c"part or all of the requested memory range is already mapped";
    HOST_MEMORY_NOT_REGISTERED = 713, c"CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED", c"pointer does not correspond to a registered memory region";
    HARDWARE_STACK_ERROR = 714, c"CUDA_ERROR_HARDWARE_STACK_ERROR", c"hardware stack error";
    ILLEGAL_INSTRUCTION = 715, c"CUDA_ERROR_ILLEGAL_INSTRUCTION", c"an illegal instruction was encountered";
    MISALIGNED_ADDRESS = 716, c"CUDA_ERROR_MISALIGNED_ADDRESS", c"misaligned address";
    INVALID_PC = 718, c"CUDA_ERROR_INVALID_PC", c"invalid program counter";
    LAUNCH_FAILED = 719, c"CUDA_ERROR_LAUNCH_FAILED", c"unspecified launch failure";
    NOT_SUPPORTED = 801, c"CUDA_ERROR_NOT_SUPPORTED", c"operation not supported";
    UNKNOWN = 999, c"CUDA_ERROR_UNKNOWN", c"unknown error";
}

/// The code that a real driver gives for a refused memory operation.
pub(crate) fn of_memory(error: &MemoryError) -> Code {
    match error {
        MemoryError::OutOfMemory { .. } => OUT_OF_MEMORY,
        MemoryError::InvalidAddress { .. } | MemoryError::OutOfRange { .. } | MemoryError::Empty => {
            INVALID_VALUE
        }
    }
}

/// The sticky code of a faulting kernel.
pub(crate) fn of_faults(faults: &Faults) -> Code {
    match faults.first().kind {
        FaultKind::OutOfBounds | FaultKind::ReadOnly => ILLEGAL_ADDRESS,
        FaultKind::Misaligned => MISALIGNED_ADDRESS,
        FaultKind::Assert(_) => ASSERT,
        FaultKind::Budget(_) | FaultKind::Deadlock => LAUNCH_TIMEOUT,
        FaultKind::StackOverflow => HARDWARE_STACK_ERROR,
        FaultKind::BadTarget => INVALID_PC,
        FaultKind::Unsupported(_) => ILLEGAL_INSTRUCTION,
        FaultKind::Trap
        | FaultKind::Uninitialised
        | FaultKind::Race { .. }
        | FaultKind::DivergentBarrier
        | FaultKind::MemberMask
        | FaultKind::MissingWait => LAUNCH_FAILED,
    }
}

/// The code of a launch that was refused; `None` for faults, which are sticky instead.
pub(crate) fn of_launch(error: &LaunchError) -> Option<Code> {
    match error {
        LaunchError::Fault(_) => None,
        LaunchError::Unsupported { .. } => Some(NOT_SUPPORTED),
        LaunchError::Invalid(InvalidLaunch::TooManyThreads { most, .. }) if *most < 1024 => {
            Some(LAUNCH_OUT_OF_RESOURCES)
        }
        LaunchError::Invalid(InvalidLaunch::TooManyRegisters { .. }) => Some(LAUNCH_OUT_OF_RESOURCES),
        LaunchError::Invalid(_) => Some(INVALID_VALUE),
    }
}
