//! Times kernels on the simulator: `cargo run --release -p fsr-sim --example throughput [threads]`.

use fsr_sim::{Device, LaunchConfig, Level, Module, Options, Profile};
use std::time::Instant;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let threads = std::env::args().nth(1).and_then(|n| n.parse().ok()).unwrap_or(1);
    println!("{:<14} {:>8} {:>12} {:>10} {:>9}", "case", "checks", "warp insts", "seconds", "ns/inst");
    for (level, counting, label) in
        [(Level::Bounds, false, "bounds"), (Level::Bounds, true, "counts"), (Level::Full, true, "full")]
    {
        for case in ["matmul", "mma", "transpose", "attention", "montecarlo"] {
            let options = Options { level, counting, threads, ..Options::default() };
            let device = Device::with_options(Profile::named("h200")?, options);
            let path = format!("{}/tests/kernels/{case}.ptx", env!("CARGO_MANIFEST_DIR"));
            let module = device.load(Module::parse(&std::fs::read_to_string(path)?)?)?;
            let buffer = |bytes: u64| -> Result<u64, Box<dyn std::error::Error>> {
                let address = device.alloc(bytes)?;
                device.fill(address, &[0], bytes)?;
                Ok(address)
            };
            let (entry, grid, block, args): (_, _, _, Vec<fsr_sim::Arg>) = match case {
                "matmul" => {
                    let n = 512u32;
                    let (a, b, c) = (buffer(1 << 20)?, buffer(1 << 20)?, buffer(1 << 20)?);
                    let args = vec![a.into(), b.into(), c.into(), (n as i32).into()];
                    ("matmul", [n / 16, n / 16, 1], [16, 16, 1], args)
                }
                "mma" => {
                    let n = 512u32;
                    let (a, b, c) = (buffer(1 << 19)?, buffer(1 << 19)?, buffer(1 << 20)?);
                    let size = fsr_sim::Arg::from(n as i32);
                    (
                        "mma_f16",
                        [n / 8, n / 16, 1],
                        [32, 1, 1],
                        vec![a.into(), b.into(), c.into(), size, size, size],
                    )
                }
                "transpose" => {
                    let (a, b) = (buffer(1 << 22)?, buffer(1 << 22)?);
                    let size = fsr_sim::Arg::from(1024i32);
                    ("transpose", [32, 32, 1], [32, 8, 1], vec![a.into(), b.into(), size, size])
                }
                "attention" => {
                    let all = [buffer(1 << 17)?, buffer(1 << 17)?, buffer(1 << 17)?, buffer(1 << 17)?];
                    let mut args: Vec<fsr_sim::Arg> = all.map(Into::into).to_vec();
                    args.extend([fsr_sim::Arg::from(512i32), 0.125f32.into()]);
                    ("attention", [128, 1, 1], [128, 1, 1], args)
                }
                _ => ("pi", [128, 1, 1], [256, 1, 1], vec![buffer(8)?.into(), 64i32.into()]),
            };
            let function = module.function(entry).ok_or("no such entry")?;
            let config = LaunchConfig { grid, block, shared_bytes: 0 };
            let start = Instant::now();
            let report = device.launch(&function, config, &args)?;
            let seconds = start.elapsed().as_secs_f64();
            let instructions = report.counts.warp_instructions;
            let each = seconds * 1e9 / instructions as f64;
            println!("{case:<14} {label:>8} {instructions:>12} {seconds:>10.3} {each:>9.1}");
        }
    }
    Ok(())
}
