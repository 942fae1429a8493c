//! Host launch code of `softmax_rows`: its sizes, its launch and its reference.

use example_crate::kernels::{NotTuned, softmax_rows};
use fsr_host::Stored;

fn main() -> fsr_host::ExitCode {
    fsr_host::kernel("softmax_rows")
        .dims(["rows", "cols"])
        .time([[8192, 4096]])
        .check([[1, 1], [37, 1021], [1023, 129], [3, 70_001]])
        .stored(|major, minor| {
            let image = softmax_rows::image_for(major, minor)?;
            Ok::<_, NotTuned>(Stored::new(image.ptx, image.entries, image.tunables.pairs()))
        })
        .run(|case, [rows, cols]| {
            let input = case.input::<f32>("input", [rows, cols]);
            let output = case.output::<f32>("output", [rows, cols]);
            case.launch(move |gpu| {
                example_crate::softmax_rows(
                    gpu.stream(),
                    &gpu.function("softmax_rows")?,
                    &softmax_rows::Tunables::resolve(|name| gpu.tunable(name))?,
                    &gpu.view(input),
                    &mut gpu.view_mut(output),
                    rows,
                    cols,
                )?;
                Ok(())
            });
            case.reference(move |cpu| {
                let (input, mut output) = (cpu.read(input), cpu.write(output));
                for (input, output) in input.chunks_exact(cols).zip(output.chunks_exact_mut(cols)) {
                    let largest = f64::from(input.iter().copied().fold(f32::NEG_INFINITY, f32::max));
                    let powers = || input.iter().map(|x| (f64::from(*x) - largest).exp());
                    let sum: f64 = powers().sum();
                    for (output, power) in output.iter_mut().zip(powers()) {
                        *output = (power / sum) as f32;
                    }
                }
            });
        })
}
