//! What all launches share: extents checked, a one-dimensional grid, shared memory asked for.

use cudarc::driver::sys::CUfunction_attribute_enum as Attribute;
use cudarc::driver::{CudaFunction, LaunchConfig};

use crate::Error;

/// Shared memory that every block may have without asking.
const UNASKED: u32 = 48 * 1024;

/// A grid of blocks in a row. Asks the driver for the dynamic shared memory first where it is much.
pub(crate) fn config(
    function: &CudaFunction,
    blocks: usize,
    block: u32,
    shared_bytes: u32,
) -> Result<LaunchConfig, Error> {
    if shared_bytes > UNASKED {
        let wanted = i32::try_from(shared_bytes).map_err(|_| Error::TooLarge("the shared memory"))?;
        function.set_attribute(Attribute::CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, wanted)?;
    }
    Ok(LaunchConfig {
        grid_dim: (extent("the grid", blocks)?, 1, 1),
        block_dim: (block, 1, 1),
        shared_mem_bytes: shared_bytes,
    })
}

/// An extent as the 32-bit integer that kernels take; grids end at the same limit.
pub(crate) fn extent(what: &'static str, extent: usize) -> Result<u32, Error> {
    i32::try_from(extent).map(i32::cast_unsigned).map_err(|_| Error::TooLarge(what))
}

/// Checks that a buffer holds at least so many elements.
pub(crate) fn holds(buffer: &'static str, found: usize, needed: Option<usize>) -> Result<(), Error> {
    match needed {
        Some(needed) if found >= needed => Ok(()),
        Some(needed) => Err(Error::Length { buffer, found, needed }),
        None => Err(Error::TooLarge(buffer)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn short_buffers_and_long_extents_are_refused() {
        assert!(holds("input", 12, 3usize.checked_mul(4)).is_ok());
        let error = holds("input", 11, Some(12)).unwrap_err();
        assert_eq!(error.to_string(), "buffer `input` holds 11 elements where 12 are needed");
        assert!(holds("input", 11, usize::MAX.checked_mul(2)).is_err());
        assert_eq!(extent("rows", 7).unwrap(), 7);
        assert_eq!(extent("rows", 1 << 31).unwrap_err().to_string(), "rows is too large for one launch");
    }
}
