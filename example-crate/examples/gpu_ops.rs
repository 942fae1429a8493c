//! Runs all four operations from the kernels that the crate embeds, and checks each result.
//!
//! Exit codes: 0 all right, 1 a result is wrong or the driver failed, 3 there is no CUDA device.

use std::process::ExitCode;

use cudarc::driver::{CudaContext, sys};
use example_crate::GpuOps;

const ROWS: usize = 1000;
const COLS: usize = 777;

fn main() -> ExitCode {
    // SAFETY: only loads the driver's library, as cudarc is about to do; cudarc itself would panic without one.
    if !unsafe { sys::is_culib_present() } {
        eprintln!(
            "error: no CUDA driver on this machine: the kernels are embedded, but nothing can run them here"
        );
        return ExitCode::from(3);
    }
    match run() {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}

fn run() -> Result<bool, Box<dyn std::error::Error>> {
    let ops = GpuOps::new(&CudaContext::new(0)?)?;
    let stream = ops.stream();
    let host: Vec<f32> = (0..ROWS * COLS).map(|i| ((i * 7919) % 1000) as f32 / 100.0 - 5.0).collect();
    let input = stream.clone_htod(&host)?;
    let mut output = stream.alloc_zeros::<f32>(ROWS * COLS)?;
    let mut right = true;
    let mut check = |name: &str, fine: bool| {
        println!("{name}: {}", if fine { "right" } else { "WRONG" });
        right &= fine;
    };

    ops.transpose(&input.as_view(), &mut output.as_view_mut(), ROWS, COLS)?;
    let got = stream.clone_dtoh(&output)?;
    check("transpose", (0..ROWS * COLS).all(|i| got[i % COLS * ROWS + i / COLS] == host[i]));

    ops.softmax_rows(&input.as_view(), &mut output.as_view_mut(), ROWS, COLS)?;
    let got = stream.clone_dtoh(&output)?;
    let rows = host.chunks(COLS).zip(got.chunks(COLS));
    check(
        "softmax_rows",
        rows.into_iter().all(|(input, got)| {
            let sum: f64 = input.iter().map(|x| f64::from(*x).exp()).sum();
            input.iter().zip(got).all(|(x, got)| (f64::from(*x).exp() / sum - f64::from(*got)).abs() < 1e-7)
        }),
    );

    let mut sum = stream.alloc_zeros::<f32>(1)?;
    ops.reduce_sum(&input.as_view(), &mut sum.as_view_mut())?;
    let expected: f64 = host.iter().map(|x| f64::from(*x)).sum();
    let got = f64::from(stream.clone_dtoh(&sum)?[0]);
    check("reduce_sum", (got - expected).abs() < 1e-5 * (ROWS * COLS) as f64);

    let mut y = stream.clone_htod(&host)?;
    ops.saxpy(2.0, &input.as_view(), &mut y.as_view_mut())?;
    let got = stream.clone_dtoh(&y)?;
    check("saxpy", host.iter().zip(&got).all(|(x, got)| (3.0 * x - got).abs() <= 1e-5));
    Ok(right)
}
