//! Host launch code of `reduce_sum`, which C++ launches: its sizes, its launch and its reference.

use example_crate::kernels::{NotTuned, reduce_sum};
use fsr_host::Stored;

fn main() -> fsr_host::ExitCode {
    fsr_host::kernel("reduce_sum")
        .dims(["n"])
        .time([[1 << 26]])
        .check([[1], [1021], [65_537], [15_485_863]])
        .stored(|major, minor| {
            let image = reduce_sum::image_for(major, minor)?;
            Ok::<_, NotTuned>(Stored::new(image.ptx, image.entries, image.tunables.pairs()))
        })
        .run(|case, [n]| {
            let input = case.input::<f32>("input", [n]);
            let sum = case.output::<f32>("sum", [1]);
            case.launch(move |gpu| {
                let tunables = reduce_sum::Tunables::resolve(|name| gpu.tunable(name))?;
                let function = gpu.raw_function("reduce_sum")?;
                let (input, sum) = (gpu.device_pointer(input), gpu.device_pointer(sum));
                // SAFETY: handles and addresses are those of this launch, and the buffers are as long as declared.
                unsafe {
                    example_crate::cpp_host::reduce_sum(
                        gpu.raw_stream(),
                        function,
                        &tunables,
                        input,
                        n as u64,
                        sum,
                    )
                }?;
                Ok(())
            });
            case.reference(move |cpu| {
                let terms = || cpu.read(input).iter().map(|x| f64::from(*x));
                cpu.write(sum)[0] = terms().sum::<f64>() as f32;
                // Numbers of either sign cancel, and their rounding errors do not.
                cpu.scale_at_least(sum, terms().map(|x| x * x).sum::<f64>().sqrt());
            });
        })
}
