//! Times kernels on the simulator: `cargo run --release -p fsr-sim --example throughput [threads] [case] [checks]`.
//!
//! Each line is the least of a few launches. `case`: only those whose name begins with it; `checks`: `off`, `bounds`,
//! `counts` or `full` only. `blocks`, or `blocks of softmax`: two kernels again, by block size.

use fsr_sim::{Arg, Device, LaunchConfig, Level, Module, Options, Profile};
use std::time::{Duration, Instant};

/// A kernel of `tests/kernels` and how it is launched.
struct Case {
    name: &'static str,
    file: &'static str,
    entry: &'static str,
    grid: [u32; 3],
    block: [u32; 3],
    shared_bytes: u32,
    args: &'static [Give],
}

/// An argument.
#[derive(Clone, Copy)]
enum Give {
    /// A buffer of this many bytes: floats between 0.5 and 1 in no order.
    Buffer(u64),
    I32(i32),
    F32(f32),
}
use Give::{Buffer, F32, I32};

const fn case(
    [name, file, entry]: [&'static str; 3],
    grid: [u32; 3],
    block: [u32; 3],
    shared_bytes: u32,
    args: &'static [Give],
) -> Case {
    Case { name, file, entry, grid, block, shared_bytes, args }
}

const MIB: u64 = 1 << 20;

/// Softmax of 512 rows of 1024, a block for each.
const fn softmax_by(name: &'static str, threads: u32) -> Case {
    case(
        [name, "softmax", "softmax"],
        [512, 1, 1],
        [threads, 1, 1],
        4 * threads,
        &[Buffer(2 * MIB), Buffer(2 * MIB), I32(1024)],
    )
}

/// Saxpy of 4M elements.
const fn saxpy_by(name: &'static str, threads: u32) -> Case {
    case(
        [name, "saxpy", "saxpy"],
        [(1 << 22) / threads, 1, 1],
        [threads, 1, 1],
        0,
        &[I32(1 << 22), F32(2.0), Buffer(16 * MIB), Buffer(16 * MIB)],
    )
}

const BLOCKS: [Case; 8] = [
    saxpy_by("blocks of saxpy: 32", 32),
    saxpy_by("blocks of saxpy: 128", 128),
    saxpy_by("blocks of saxpy: 256", 256),
    saxpy_by("blocks of saxpy: 1024", 1024),
    softmax_by("blocks of softmax: 32", 32),
    softmax_by("blocks of softmax: 128", 128),
    softmax_by("blocks of softmax: 256", 256),
    softmax_by("blocks of softmax: 1024", 1024),
];

const CASES: [Case; 16] = [
    case(
        ["reduce 1M", "reduce", "reduce"],
        [512, 1, 1],
        [256, 1, 1],
        0,
        &[Buffer(4 * MIB), Buffer(4), I32(1 << 20)],
    ),
    case(
        ["transpose 1024^2", "transpose", "transpose"],
        [32, 32, 1],
        [32, 8, 1],
        0,
        &[Buffer(4 * MIB), Buffer(4 * MIB), I32(1024), I32(1024)],
    ),
    case(
        ["transpose 4096^2", "transpose", "transpose"],
        [128, 128, 1],
        [32, 8, 1],
        0,
        &[Buffer(64 * MIB), Buffer(64 * MIB), I32(4096), I32(4096)],
    ),
    case(
        ["naive transpose 1024^2", "transpose", "transpose_naive"],
        [32, 128, 1],
        [32, 8, 1],
        0,
        &[Buffer(4 * MIB), Buffer(4 * MIB), I32(1024), I32(1024)],
    ),
    case(
        ["histogram 4 MB", "histogram", "histogram"],
        [256, 1, 1],
        [256, 1, 1],
        0,
        &[Buffer(4 * MIB), Buffer(1024), I32(4 << 20)],
    ),
    softmax_by("softmax 512x1024", 256),
    case(
        ["scan 1M", "scan", "scan"],
        [4096, 1, 1],
        [256, 1, 1],
        0,
        &[Buffer(4 * MIB), Buffer(4 * MIB), Buffer(16384), I32(1 << 20)],
    ),
    case(
        ["matmul 256^3", "matmul", "matmul"],
        [16, 16, 1],
        [16, 16, 1],
        0,
        &[Buffer(MIB / 4), Buffer(MIB / 4), Buffer(MIB / 4), I32(256)],
    ),
    case(
        ["matmul 512^3", "matmul", "matmul"],
        [32, 32, 1],
        [16, 16, 1],
        0,
        &[Buffer(MIB), Buffer(MIB), Buffer(MIB), I32(512)],
    ),
    case(
        ["mma f16 512^3", "mma", "mma_f16"],
        [64, 32, 1],
        [32, 1, 1],
        0,
        &[Buffer(MIB / 2), Buffer(MIB / 2), Buffer(MIB), I32(512), I32(512), I32(512)],
    ),
    case(
        ["wmma f16 512^3", "wmma", "wmma_f16"],
        [32, 32, 1],
        [32, 1, 1],
        0,
        &[Buffer(MIB / 2), Buffer(MIB / 2), Buffer(MIB), I32(512), I32(512)],
    ),
    case(
        ["cp.async copy 1M", "cp_async", "cp_async"],
        [1024, 1, 1],
        [256, 1, 1],
        0,
        &[Buffer(4 * MIB), Buffer(4 * MIB), I32(1 << 18)],
    ),
    case(["Monte Carlo 32K", "montecarlo", "pi"], [128, 1, 1], [256, 1, 1], 0, &[Buffer(8), I32(64)]),
    case(
        ["attention n=512", "attention", "attention"],
        [128, 1, 1],
        [128, 1, 1],
        0,
        &[Buffer(MIB / 8), Buffer(MIB / 8), Buffer(MIB / 8), Buffer(MIB / 8), I32(512), F32(0.125)],
    ),
    case(
        ["bitonic step 256K", "bitonic", "bitonic"],
        [1024, 1, 1],
        [256, 1, 1],
        0,
        &[Buffer(MIB), I32(256), I32(1024)],
    ),
    case(
        ["saxpy 32M", "saxpy", "saxpy"],
        [131_072, 1, 1],
        [256, 1, 1],
        0,
        &[I32(1 << 25), F32(2.0), Buffer(128 * MIB), Buffer(128 * MIB)],
    ),
];

fn floats(bytes: u64) -> Vec<u8> {
    let mut state = 1u32;
    let mut out: Vec<u8> = Vec::new();
    while (out.len() as u64) < bytes {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        out.extend((state >> 9 | 0x3f00_0000).to_le_bytes());
    }
    out
}

/// Warp instructions of a launch, and the least time of a few.
fn measure(case: &Case, options: Options) -> Result<(u64, Duration), Box<dyn std::error::Error>> {
    let device = Device::with_options(Profile::named("h200")?, options);
    let path = format!("{}/tests/kernels/{}.ptx", env!("CARGO_MANIFEST_DIR"), case.file);
    let module = device.load(Module::parse(&std::fs::read_to_string(path)?)?)?;
    let function = module.function(case.entry).ok_or("no such entry")?;
    let mut args = Vec::new();
    for give in case.args {
        args.push(match *give {
            Buffer(bytes) => {
                let address = device.alloc(bytes)?;
                device.write(address, &floats(bytes))?;
                Arg::from(address)
            }
            I32(value) => value.into(),
            F32(value) => value.into(),
        });
    }
    let config = LaunchConfig { grid: case.grid, block: case.block, shared_bytes: case.shared_bytes };
    let (mut instructions, mut least, mut all) = (0, Duration::MAX, Duration::ZERO);
    for launch in 0..8 {
        let start = Instant::now();
        instructions = device.launch(&function, config, &args)?.counts.warp_instructions;
        let time = start.elapsed();
        (least, all) = (least.min(time), all + time);
        if launch > 0 && all > Duration::from_secs(1) {
            break;
        }
    }
    Ok((instructions, least))
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut given = std::env::args().skip(1);
    let threads = given.next().and_then(|n| n.parse().ok()).unwrap_or(1);
    let (case, checks) = (given.next().unwrap_or_default(), given.next().unwrap_or_default());
    let mut levels = vec![
        ("off", Level::Off, false),
        ("bounds", Level::Bounds, false),
        ("counts", Level::Bounds, true),
        ("full", Level::Full, true),
    ];
    levels.retain(|(name, ..)| name.starts_with(&checks));
    print!("{:<24} {:>11}", "seconds (ns/instruction)", "warp insts");
    levels.iter().for_each(|(name, ..)| print!(" {name:>21}"));
    println!();
    for case in CASES.iter().chain(&BLOCKS).filter(|one| one.name.starts_with(&case)) {
        let mut line = String::new();
        for (_, level, counting) in &levels {
            let options = Options { level: *level, counting: *counting, threads, ..Options::default() };
            let (instructions, time) = measure(case, options)?;
            if line.is_empty() {
                line = format!("{:<24} {instructions:>11}", case.name);
            }
            let each = time.as_secs_f64() * 1e9 / instructions as f64;
            line += &format!(" {:>13.4} ({each:>5.1})", time.as_secs_f64());
        }
        println!("{line}");
    }
    Ok(())
}
