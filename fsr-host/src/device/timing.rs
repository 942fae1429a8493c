//! Events, the cache flush, and copies as the yardstick of a memory-bound kernel.
//!
//! Owns the flush buffer. It never times a candidate on its own: the role does, between these events.

use fsr_protocol::DeviceFacts;

use crate::raw::{Context, CudaError, DeviceMemory, Event};

/// Copies that the bandwidth is measured with; the first warms up.
const BANDWIDTH_COPIES: u32 = 6;

/// Largest copy of the bandwidth measurement, bytes read.
const BANDWIDTH_BYTES: u64 = 256 << 20;

/// The same where times are modelled: one copy says as much as many, and each costs real time.
const MODELLED_BYTES: u64 = 64 << 20;

/// The clockwork of one device.
pub(crate) struct Timing {
    pub(crate) start: Event,
    pub(crate) end: Event,
    /// None where times are modelled, and no cache is.
    flush: Option<DeviceMemory>,
}

impl Timing {
    pub(crate) fn new(context: &Context, facts: &DeviceFacts) -> Result<Self, CudaError> {
        // Twice the L2 displaces it whatever its replacement policy; a device that tells none gets 32 MiB.
        let bytes = if facts.l2_bytes == 0 { 32 << 20 } else { 2 * facts.l2_bytes as usize };
        let flush = (!facts.modelled).then(|| context.allocate(bytes)).transpose()?;
        Ok(Self { start: context.event()?, end: context.event()?, flush })
    }

    /// Enqueues writes to twice the L2, which displace everything else.
    pub(crate) fn flush(&self, context: &Context) -> Result<(), CudaError> {
        self.flush.as_ref().map_or(Ok(()), |flush| context.fill(flush, 0..flush.len(), 0))
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
    pub(crate) fn bandwidth(&mut self, context: &Context, facts: &DeviceFacts) -> Result<f64, CudaError> {
        let (most, copies) =
            if facts.modelled { (MODELLED_BYTES, 1) } else { (BANDWIDTH_BYTES, BANDWIDTH_COPIES) };
        let bytes = most.min(facts.memory_bytes / 16) * 2;
        let fastest = self.copies(context, bytes, copies)?.into_iter().fold(f64::INFINITY, f64::min);
        Ok(if fastest > 0.0 && fastest.is_finite() { bytes as f64 / fastest * 1e9 } else { 0.0 })
    }
}
