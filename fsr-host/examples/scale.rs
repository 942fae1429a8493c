//! A whole host file: `y = a * x`, and `z = a * z` in place. Its launch takes the kernel by cudarc's types.
//!
//! By hand: `cargo run -p fsr-host --example scale -- --ptx scale.ptx --set BLOCK=256`. The tests of both roles run it too.

use cudarc::driver::{LaunchConfig, PushKernelArg};
use fsr_host::{LaunchError, Values};

fn main() -> fsr_host::ExitCode {
    let kernel = fsr_host::kernel("scale").dims(["n"]).time([[1000]]).check([[1], [257]]);
    // Sizes that nobody sees beforehand; zero is one of them at times.
    let kernel = kernel.draw(|rng| [if rng.below(2) == 0 { 0 } else { rng.size(1..=3000) }]);
    kernel.run(|case, [n]| {
        let x = case.input_from("x", [n], Values::<f32>::normal(0.0, 1.0));
        let a = case.scalar("a", Values::<f32>::uniform(1.0, 2.0));
        let y = case.output::<f32>("y", [n]);
        let z = case.in_out_from("z", [n], Values::<f32>::normal(0.0, 1.0));
        case.launch(move |gpu| {
            let block = gpu.tunable("BLOCK").ok_or_else(|| LaunchError::new("no BLOCK is given"))?;
            if n == 0 {
                return Ok(());
            }
            let (scale, n) = (gpu.function("scale")?, n as u32);
            let (x, mut y, mut z, a) = (gpu.view(x), gpu.view_mut(y), gpu.view_mut(z), gpu.scalar(a));
            let config = LaunchConfig {
                grid_dim: (n.div_ceil(block), 1, 1),
                block_dim: (block, 1, 1),
                shared_mem_bytes: 0,
            };
            let mut launch = gpu.stream().launch_builder(&scale);
            launch.arg(&x).arg(&mut y).arg(&mut z).arg(&a).arg(&n);
            // SAFETY: the arguments are those of the kernel's signature, and the buffers hold n elements each.
            unsafe { launch.launch(config) }?;
            Ok(())
        });
        case.reference(move |cpu| {
            let a = cpu.scalar(a);
            for (y, x) in cpu.write(y).iter_mut().zip(cpu.read(x)) {
                *y = a * x;
            }
            for z in cpu.write(z).iter_mut() {
                *z *= a;
            }
        });
    })
}
