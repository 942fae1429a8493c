//! Why an operation could not be enqueued.

use cudarc::driver::DriverError;

use crate::kernels::{LoadFailure, NotTuned};

/// Why an operation could not be enqueued.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A buffer is too short for the given extents.
    #[error("buffer `{buffer}` holds {found} elements where {needed} are needed")]
    Length {
        /// Name of the parameter.
        buffer: &'static str,
        /// Its elements.
        found: usize,
        /// What the extents ask for.
        needed: usize,
    },
    /// An extent does not fit the kernel's index type, or there would be too many blocks.
    #[error("{0} is too large for one launch")]
    TooLarge(&'static str),
    /// The crate holds no kernel for this device.
    #[error(transparent)]
    NotTuned(#[from] NotTuned),
    /// The driver refused a kernel.
    #[error("{why}")]
    Load {
        /// Why, and what helps.
        why: LoadFailure,
        /// What the driver said.
        source: DriverError,
    },
    /// The driver refused.
    #[error(transparent)]
    Driver(#[from] DriverError),
}
