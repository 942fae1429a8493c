//! Host launch code of `saxpy`: its sizes, its launch and its reference.

use example_crate::kernels::{NotTuned, saxpy};
use fsr_host::{Stored, Values};

fn main() -> fsr_host::ExitCode {
    fsr_host::kernel("saxpy")
        .dims(["n"])
        .time([[1 << 25]])
        .check([[1], [1021], [65_537], [1_000_003]])
        .stored(|major, minor| {
            let image = saxpy::image_for(major, minor)?;
            Ok::<_, NotTuned>(Stored::new(image.ptx, image.entries, image.tunables.pairs()))
        })
        .run(|case, [n]| {
            let a = case.scalar("a", Values::<f32>::uniform(-2.0, 2.0));
            let x = case.input::<f32>("x", [n]);
            let y = case.in_out::<f32>("y", [n]);
            case.launch(move |gpu| {
                example_crate::saxpy(
                    gpu.stream(),
                    &gpu.function("saxpy")?,
                    &saxpy::Tunables::resolve(|name| gpu.tunable(name))?,
                    gpu.scalar(a),
                    &gpu.view(x),
                    &mut gpu.view_mut(y),
                )?;
                Ok(())
            });
            case.reference(move |cpu| {
                let a = f64::from(cpu.scalar(a));
                for (y, x) in cpu.write(y).iter_mut().zip(cpu.read(x)) {
                    *y = (a * f64::from(*x) + f64::from(*y)) as f32;
                }
            });
        })
}
