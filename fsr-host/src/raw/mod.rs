//! The floor of this crate: memory maps, the CUDA driver, and lending device memory as cudarc's types.
//!
//! The only place with `unsafe`. Everything above sees owned values and errors.

#![allow(unsafe_code)]

mod driver;
#[cfg(feature = "cudarc")]
mod lend;
mod map;

pub(crate) use driver::{
    Context, CudaError, DeviceMemory, Event, Function, Module, Pinned, Registered, Resource, identify,
};
#[cfg(feature = "cudarc")]
pub(crate) use lend::Lender;
pub(crate) use map::{MapError, Mapped, MappedMut};

/// Device properties by the driver's names.
pub(crate) use cudarc::driver::sys::CUdevice_attribute_enum as Attribute;
