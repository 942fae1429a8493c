//! Device profiles: the limits and rates of a GPU, as data files; and the time that a launch would take on it.
//!
//! The time is *modelled*: a roofline over counts, deterministic, good for ranking and for spotting what bounds a
//! kernel; it is no measurement.

use crate::count::Counts;
use crate::program::Class;
use serde::Deserialize;

/// A GPU's limits and rates.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Profile {
    /// As `cuDeviceGetName` gives it.
    pub name: String,
    /// Major and minor.
    pub compute_capability: (u32, u32),
    /// Streaming multiprocessors.
    pub multiprocessors: u32,
    /// Boost clock.
    pub clock_mhz: u32,
    /// Device memory.
    pub memory_bytes: u64,
    /// Peak memory bandwidth, in 10^9 bytes a second.
    pub memory_bandwidth_gbs: f64,
    /// Width of the memory bus.
    pub memory_bus_bits: u32,
    /// Memory clock.
    pub memory_clock_mhz: u32,
    /// Second-level cache.
    pub l2_bytes: u64,
    /// Its bandwidth, in 10^9 bytes a second.
    pub l2_bandwidth_gbs: f64,
    /// Resident threads.
    pub threads_per_multiprocessor: u32,
    /// Resident blocks.
    pub blocks_per_multiprocessor: u32,
    /// 32-bit registers.
    pub registers_per_multiprocessor: u32,
    /// Shared memory that a block may have without asking, in bytes.
    pub shared_per_block: u32,
    /// Shared memory that a block may have after `cuFuncSetAttribute`, in bytes.
    pub shared_per_block_optin: u32,
    /// Shared memory of a multiprocessor, in bytes.
    pub shared_per_multiprocessor: u32,
    /// Time of an empty launch, in microseconds.
    pub launch_overhead_us: f64,
    /// Rates of the pipes.
    pub lanes: Lanes,
}

/// Lanes that a multiprocessor executes in a cycle.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
#[allow(missing_docs)]
pub struct Lanes {
    pub float32: f64,
    pub float64: f64,
    pub integer: f64,
    pub half: f64,
    pub special: f64,
    /// f16 multiply-adds of the tensor cores.
    pub tensor: f64,
}

/// A profile that is not one.
#[derive(Clone, Debug, thiserror::Error)]
pub enum ProfileError {
    /// Not the name of a built-in profile.
    #[error("no device profile `{0}`; there are h200, a100, rtx4090 and t4")]
    Unknown(String),
    /// A profile file that cannot be read.
    #[error("not a device profile: {0}")]
    Malformed(String),
}

/// What bounds a launch in the model.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum Bound {
    Launch,
    Issue,
    Arithmetic,
    Memory,
    L2,
    Shared,
    Latency,
}

/// A modelled time and what bounds it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Modelled {
    /// Nanoseconds.
    pub nanoseconds: f64,
    /// The longest of the model's terms.
    pub bound: Bound,
    /// Resident warps over the most that fit, between 0 and 1.
    pub occupancy: f64,
}

impl Profile {
    /// A built-in profile: `h200`, `a100`, `rtx4090`, `t4`.
    ///
    /// # Errors
    /// Another name.
    pub fn named(name: &str) -> Result<Profile, ProfileError> {
        let text = match name {
            "h200" => include_str!("../profiles/h200.toml"),
            "a100" => include_str!("../profiles/a100.toml"),
            "rtx4090" => include_str!("../profiles/rtx4090.toml"),
            "t4" => include_str!("../profiles/t4.toml"),
            other => return Err(ProfileError::Unknown(other.to_owned())),
        };
        Profile::from_toml(text)
    }

    /// Reads a profile file.
    ///
    /// # Errors
    /// What the file lacks or has too much.
    pub fn from_toml(text: &str) -> Result<Profile, ProfileError> {
        toml::from_str(text).map_err(|e| ProfileError::Malformed(e.to_string()))
    }

    /// Blocks of a kernel that fit on a multiprocessor: `threads` and bytes of `shared` memory a block, `registers` a
    /// thread.
    pub fn resident_blocks(&self, threads: u32, shared: u32, registers: u32) -> u32 {
        let warps = threads.div_ceil(32).max(1);
        let by_threads = self.threads_per_multiprocessor / (warps * 32);
        let per_warp = (registers.max(16) * 32).next_multiple_of(256);
        let by_registers = self.registers_per_multiprocessor / (per_warp * warps);
        // The system takes 1 KiB of a block's shared memory from compute capability 8.0 on.
        let reserved = if self.compute_capability.0 >= 8 { 1024 } else { 0 };
        let by_shared = match (shared + reserved).next_multiple_of(128) {
            0 => u32::MAX,
            bytes => self.shared_per_multiprocessor / bytes,
        };
        by_threads.min(by_registers).min(by_shared).min(self.blocks_per_multiprocessor)
    }

    /// The modelled time of a launch.
    pub fn model(&self, counts: &Counts, launch: &Shape) -> Modelled {
        let resident = self.resident_blocks(launch.threads, launch.shared, launch.registers).max(1);
        let warps_per_block = f64::from(launch.threads.div_ceil(32));
        let most_warps = f64::from(self.threads_per_multiprocessor / 32);
        let blocks = launch.blocks.max(1) as f64;
        let used = blocks.min(f64::from(self.multiprocessors));
        let on_each = (blocks / used).min(f64::from(resident));
        let occupancy = (on_each * warps_per_block / most_warps).min(1.0);
        // The last wave of blocks takes as long as a full one.
        let waves = blocks / (used * f64::from(resident));
        let tail = if waves > 1.0 { waves.ceil() / waves } else { 1.0 };
        let hz = f64::from(self.clock_mhz) * 1e6;
        let seconds = |cycles: f64| cycles * tail / used / hz;

        let of = |class| counts.of(class) as f64;
        let lanes = &self.lanes;
        let pipes = [
            of(Class::Float32) * 32.0 / lanes.float32,
            of(Class::Float64) * 32.0 / lanes.float64,
            of(Class::Half) * 32.0 / lanes.half,
            (of(Class::Integer) + of(Class::Compare) + of(Class::Convert)) * 32.0 / lanes.integer,
            of(Class::Special) * 32.0 / lanes.special,
            // A matrix instruction of 16 x 8 x 16 has 2048 multiply-adds.
            of(Class::Matrix) * 2048.0 / lanes.tensor,
            // Loads and stores start at one warp instruction a cycle; atomics at a quarter of that.
            of(Class::LoadGlobal)
                + of(Class::StoreGlobal)
                + of(Class::LoadLocal)
                + of(Class::StoreLocal)
                + of(Class::WarpExchange)
                + of(Class::Atomic) * 4.0,
        ];
        let arithmetic = seconds(pipes.iter().copied().fold(0.0, f64::max));
        let issue = seconds(counts.warp_instructions as f64 / 4.0);
        let shared = seconds(
            (counts.shared_load.transactions + counts.shared_store.transactions + counts.copies.requests)
                as f64,
        );
        let sectors = counts.global_load.transactions
            + counts.global_store.transactions
            + counts.copies.transactions
            + counts.atomic.transactions;
        let moved = (sectors * 32) as f64;
        let l2 = moved / (self.l2_bandwidth_gbs * 1e9);
        let dram = moved.min(launch.footprint as f64) / (self.memory_bandwidth_gbs * 1e9);
        // Memory needs warps in flight: below a quarter of the most, bandwidth falls with them.
        let flight =
            (blocks * warps_per_block / (f64::from(self.multiprocessors) * most_warps * 0.25)).min(1.0);
        let memory = dram / flight.max(1.0 / 1024.0);
        // One warp after the other: dependent instructions every four cycles, memory every 500.
        let warps = blocks * warps_per_block;
        let chain = (counts.warp_instructions as f64 * 4.0
            + (counts.global_load.requests + counts.copies.requests) as f64 * 120.0)
            / warps;
        let latency = chain * waves.max(1.0).ceil() / hz;
        let terms = [
            (issue, Bound::Issue),
            (arithmetic, Bound::Arithmetic),
            (memory, Bound::Memory),
            (l2, Bound::L2),
            (shared, Bound::Shared),
            (latency, Bound::Latency),
        ];
        let (longest, mut bound) =
            terms.into_iter().fold((0.0, Bound::Launch), |a, b| if b.0 > a.0 { b } else { a });
        let overhead = self.launch_overhead_us * 1e-6;
        if longest < overhead {
            bound = Bound::Launch;
        }
        Modelled { nanoseconds: (overhead + longest) * 1e9, bound, occupancy }
    }
}

/// What the model needs to know of a launch beside its counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shape {
    /// Blocks of the grid.
    pub blocks: u64,
    /// Threads of a block.
    pub threads: u32,
    /// Shared memory of a block, in bytes.
    pub shared: u32,
    /// Registers of a thread.
    pub registers: u32,
    /// Bytes of the buffers that the kernel's arguments point into: what memory moves at least once.
    pub footprint: u64,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn built_in_profiles_read() {
        for name in ["h200", "a100", "rtx4090", "t4"] {
            let profile = Profile::named(name).unwrap();
            assert!(profile.multiprocessors >= 40, "{name}");
            assert_eq!(profile.resident_blocks(256, 0, 16), profile.threads_per_multiprocessor / 256);
        }
        assert!(Profile::named("h2000").unwrap_err().to_string().contains("h200"));
    }
}
