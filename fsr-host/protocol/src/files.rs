//! Names of the files in the shared folder: raw little-endian elements, row-major, no header.

use std::path::{Path, PathBuf};

use crate::{CaseId, SetId};

/// Initial content of an input or in-out, written by the reference process.
pub fn input(share: &Path, case: CaseId, set: SetId, buffer: usize) -> PathBuf {
    share.join(format!("c{case}-s{set}-b{buffer}.in"))
}

/// Content of a buffer after a launch, written by the device process. Reused by later launches with the same slot.
pub fn dump(share: &Path, slot: u64, case: CaseId, buffer: usize) -> PathBuf {
    share.join(format!("d{slot}-c{case}-b{buffer}.out"))
}
