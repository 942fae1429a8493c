//! Memory of the simulator beside that of the device's buffers: `cargo run --release -p fsr-sim --example footprint`.
//!
//! Each line is a process of its own: how much its peak grew, from before the buffers were made until after a launch that
//! touched all of them, as a multiple of their size. Linux only.

use std::process::Command;

use fsr_sim::{Arg, Device, LaunchConfig, Level, Module, Options, Profile};

type Error = Box<dyn std::error::Error>;

const LEVELS: [(&str, Level); 3] = [("off", Level::Off), ("bounds", Level::Bounds), ("full", Level::Full)];
const KERNELS: [&str; 4] = ["saxpy", "transpose", "histogram", "bitonic"];

fn main() -> Result<(), Error> {
    let given: Vec<String> = std::env::args().skip(1).collect();
    if let [kernel, level, mib] = given.as_slice() {
        let (_, level) = LEVELS.into_iter().find(|(name, _)| name == level).ok_or("no such level")?;
        println!("{:.2}", measure(kernel, level, mib.parse()?)?);
        return Ok(());
    }
    println!("{:<12} {:>5} {:>8} {:>8} {:>8}", "kernel", "MiB", "off", "bounds", "full");
    for kernel in KERNELS {
        for mib in [64, 256] {
            print!("{kernel:<12} {mib:>5}");
            for (level, _) in LEVELS {
                let output = Command::new(std::env::current_exe()?)
                    .args([kernel, level, &mib.to_string()])
                    .output()?;
                print!(" {:>8}", String::from_utf8(output.stdout)?.trim());
            }
            println!();
        }
    }
    Ok(())
}

/// Growth of the peak over the bytes of all buffers.
fn measure(kernel: &str, level: Level, mib: u64) -> Result<f64, Error> {
    let options = Options { level, ..Options::default() };
    let device = Device::with_options(Profile::named("h200")?, options);
    let path = format!("{}/tests/kernels/{kernel}.ptx", env!("CARGO_MANIFEST_DIR"));
    let module = device.load(Module::parse(&std::fs::read_to_string(path)?)?)?;
    let function = module.function(kernel).ok_or("no such entry")?;
    let bytes = mib << 20;
    let before = peak()?;
    let buffer = |bytes: u64| -> Result<Arg, Error> {
        let address = device.alloc(bytes)?;
        device.fill(address, &[0], bytes)?;
        Ok(address.into())
    };
    let (buffers, blocks, config): (u64, Vec<Arg>, LaunchConfig) = match kernel {
        "saxpy" => {
            let n = (bytes / 8) as i32;
            let args = vec![n.into(), 2f32.into(), buffer(bytes / 2)?, buffer(bytes / 2)?];
            (bytes, args, LaunchConfig { grid: [n as u32 / 256, 1, 1], block: [256, 1, 1], shared_bytes: 0 })
        }
        "transpose" => {
            // Rows of 1024: as many as fit.
            let rows = (bytes / 2 / 4096) as u32;
            let args = vec![buffer(bytes / 2)?, buffer(bytes / 2)?, (rows as i32).into(), 1024i32.into()];
            (bytes, args, LaunchConfig { grid: [32, rows / 32, 1], block: [32, 8, 1], shared_bytes: 0 })
        }
        // Every other lane touches its element and its neighbour's: no two neighbours by one lane.
        "bitonic" => {
            let args = vec![buffer(bytes)?, 1i32.into(), 2i32.into()];
            (
                bytes,
                args,
                LaunchConfig { grid: [(bytes / 4 / 256) as u32, 1, 1], block: [256, 1, 1], shared_bytes: 0 },
            )
        }
        _ => {
            let args = vec![buffer(bytes)?, buffer(1024)?, (bytes as i32).into()];
            (bytes + 1024, args, LaunchConfig { grid: [512, 1, 1], block: [256, 1, 1], shared_bytes: 0 })
        }
    };
    device.launch(&function, config, &blocks)?;
    Ok((peak()? - before) as f64 / buffers as f64)
}

/// The most memory that this process had, in bytes.
fn peak() -> Result<u64, Error> {
    let status = std::fs::read_to_string("/proc/self/status")?;
    let line =
        status.lines().find_map(|line| line.strip_prefix("VmHWM:")).ok_or("no peak in /proc/self/status")?;
    let kib: u64 = line.trim().trim_end_matches("kB").trim().parse()?;
    Ok(kib * 1024)
}
