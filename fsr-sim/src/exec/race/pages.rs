//! The shadow of global memory: pages that are made when something touches them, each under its own lock.

use super::shadow::Shadow;
use crate::memory::Memory;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

pub(super) const PAGE_BYTES: u64 = 4096;

type Page = Mutex<Shadow>;

fn page() -> Page {
    Mutex::new(Shadow::new(PAGE_BYTES as usize))
}

/// The pages of one buffer.
struct Region {
    first: u64,
    count: usize,
    pages: OnceLock<Box<[OnceLock<Box<Page>>]>>,
}

/// The shadow of global memory for one launch.
pub(crate) struct GlobalShadow {
    /// By the buffer's slot in device memory.
    regions: Vec<Option<Region>>,
    /// Host memory, which may lie anywhere.
    host: Mutex<HashMap<u64, Arc<Page>>>,
}

impl GlobalShadow {
    /// For the buffers that there are; it holds nothing until they are touched.
    pub fn new(memory: &Memory) -> GlobalShadow {
        let regions = memory.extents().map(|extent| {
            let (base, len) = extent?;
            let count = usize::try_from(len.div_ceil(PAGE_BYTES)).ok()?;
            Some(Region { first: base / PAGE_BYTES, count, pages: OnceLock::new() })
        });
        GlobalShadow { regions: regions.collect(), host: Mutex::default() }
    }

    /// Calls `f` with the shadow of a page (an address divided by [`PAGE_BYTES`]).
    #[inline(always)]
    pub(super) fn page<T>(&self, number: u64, f: impl FnOnce(&mut Shadow) -> T) -> T {
        let region = Memory::slot(number * PAGE_BYTES)
            .and_then(|slot| self.regions.get(slot))
            .and_then(|region| region.as_ref());
        if let Some(region) = region
            && let Some(cell) = region
                .pages
                .get_or_init(|| (0..region.count).map(|_| OnceLock::new()).collect())
                .get((number - region.first) as usize)
        {
            let lock = cell.get_or_init(|| Box::new(page()));
            return f(&mut lock.lock().unwrap_or_else(PoisonError::into_inner));
        }
        let page = {
            let mut host = self.host.lock().unwrap_or_else(PoisonError::into_inner);
            host.entry(number).or_insert_with(|| Arc::new(page())).clone()
        };
        f(&mut page.lock().unwrap_or_else(PoisonError::into_inner))
    }
}
