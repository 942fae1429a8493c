//! Events, the cache flush, and copies as the yardstick of a memory-bound kernel.
//!
//! Owns the flush buffer. It never times a candidate on its own: the role does, between these events.

use crate::raw::{Context, CudaError, DeviceMemory, Event};

/// Copies that the bandwidth is measured with; the first warms up.
const BANDWIDTH_COPIES: u32 = 6;

/// Largest copy of the bandwidth measurement, bytes read.
const BANDWIDTH_BYTES: u64 = 256 << 20;

/// The clockwork of one device.
pub(crate) struct Timing {
    pub(crate) start: Event,
    pub(crate) end: Event,
    flush: DeviceMemory,
}

impl Timing {
    pub(crate) fn new(context: &Context, l2_bytes: u64) -> Result<Self, CudaError> {
        // Twice the L2 displaces it whatever its replacement policy; a device that tells none gets 32 MiB.
        let flush = if l2_bytes == 0 { 32 << 20 } else { 2 * l2_bytes as usize };
        Ok(Self { start: context.event()?, end: context.event()?, flush: context.allocate(flush)? })
    }

    /// Enqueues writes to twice the L2, which displace everything else.
    pub(crate) fn flush(&self, context: &Context) -> Result<(), CudaError> {
        context.fill(&self.flush, 0..self.flush.len(), 0)
    }

    /// Nanoseconds of copies that move so many bytes, half read and half written, each after a flush.
    pub(crate) fn copies(
        &mut self,
        context: &Context,
        bytes: u64,
        samples: u32,
    ) -> Result<Vec<f64>, CudaError> {
        let half = (bytes / 2).max(1) as usize;
        let (from, to) = (context.allocate(half)?, context.allocate(half)?);
        context.fill(&from, 0..half, 1)?;
        (0..samples)
            .map(|_| {
                self.flush(context)?;
                context.record(&self.start)?;
                context.copy(&from, 0, &to, 0, half)?;
                context.record(&self.end)?;
                self.end.wait()?;
                self.start.nanos_until(&self.end)
            })
            .collect()
    }

    /// Bytes a second, reads and writes counted, of the fastest large copy.
    pub(crate) fn bandwidth(&mut self, context: &Context, memory_bytes: u64) -> Result<f64, CudaError> {
        let bytes = BANDWIDTH_BYTES.min(memory_bytes / 16) * 2;
        let fastest =
            self.copies(context, bytes, BANDWIDTH_COPIES)?.into_iter().fold(f64::INFINITY, f64::min);
        Ok(if fastest > 0.0 && fastest.is_finite() { bytes as f64 / fastest * 1e9 } else { 0.0 })
    }
}
