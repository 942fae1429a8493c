//! Host launch code of `transpose`: its sizes, its launch and its reference.

use example_crate::kernels::{NotTuned, transpose};
use fsr_host::Stored;

fn main() -> fsr_host::ExitCode {
    fsr_host::kernel("transpose")
        .dims(["rows", "cols"])
        .time([[4096, 4096]])
        .check([[1, 1], [1021, 2039], [64, 4097]])
        .stored(|major, minor| {
            let image = transpose::image_for(major, minor)?;
            Ok::<_, NotTuned>(Stored::new(image.ptx, image.entries, image.tunables.pairs()))
        })
        .run(|case, [rows, cols]| {
            let input = case.input::<f32>("input", [rows, cols]);
            let output = case.output::<f32>("output", [cols, rows]);
            case.launch(move |gpu| {
                example_crate::transpose(
                    gpu.stream(),
                    &gpu.function("transpose")?,
                    &transpose::Tunables::resolve(|name| gpu.tunable(name))?,
                    &gpu.view(input),
                    &mut gpu.view_mut(output),
                    rows,
                    cols,
                )?;
                Ok(())
            });
            case.reference(move |cpu| {
                let (input, mut output) = (cpu.read(input), cpu.write(output));
                for (col, column) in output.chunks_exact_mut(rows).enumerate() {
                    for (row, element) in column.iter_mut().enumerate() {
                        *element = input[row * cols + col];
                    }
                }
            });
        })
}
