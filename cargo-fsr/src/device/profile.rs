//! The CPU device in the shape of a GPU that is there, so that it accepts and refuses what that GPU does.

use fsr_protocol::DeviceFacts;

/// A device profile for the CPU device. What only bears on modelled times is a rough guess: nobody reads them.
pub fn shaped_like(gpu: &DeviceFacts) -> String {
    let (major, minor) = gpu.compute_capability;
    let name: String = gpu.name.chars().filter(|c| c.is_ascii_alphanumeric() || " -".contains(*c)).collect();
    let blocks = match (major, minor) {
        (..=7, _) | (8, 6 | 7) => 16,
        (8, 9) => 24,
        _ => 32,
    };
    let clock = (gpu.clock_khz / 1000).max(1);
    let memory_clock = (gpu.memory_clock_khz / 1000).max(1);
    let bandwidth = (gpu.copy_bandwidth / 1e9).max(1.0);
    format!(
        "name = \"{name} (simulated)\"
compute-capability = [{major}, {minor}]
multiprocessors = {multiprocessors}
clock-mhz = {clock}
memory-bytes = {memory}
memory-bandwidth-gbs = {bandwidth:.1}
memory-bus-bits = {bus}
memory-clock-mhz = {memory_clock}
l2-bytes = {l2}
l2-bandwidth-gbs = {bandwidth:.1}
threads-per-multiprocessor = {threads}
blocks-per-multiprocessor = {blocks}
registers-per-multiprocessor = {registers}
shared-per-block = 49152
shared-per-block-optin = {optin}
shared-per-multiprocessor = {shared}
launch-overhead-us = 2.5

[lanes]
float32 = 128.0
float64 = 64.0
integer = 64.0
half = 256.0
special = 16.0
tensor = 1024.0
",
        multiprocessors = gpu.multiprocessors.max(1),
        memory = gpu.memory_bytes,
        bus = gpu.bus_bits.max(1),
        l2 = gpu.l2_bytes,
        threads = gpu.max_threads_per_multiprocessor,
        registers = gpu.registers_per_multiprocessor,
        optin = gpu.shared_per_block_optin,
        shared = gpu.shared_per_multiprocessor,
    )
}
