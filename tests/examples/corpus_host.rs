//! Host launch code of the corpus: `corpus_host TASK`, with sizes for the CPU device or, by `CORPUS_SIZES=large`, a GPU.
//!
//! To add a task, add a function and its name to `main`. What a kernel of a task computes, and with which grid it is
//! launched, is said by the function alone.

#[path = "corpus_host/blind.rs"]
mod blind;

use cudarc::driver::{LaunchConfig, PushKernelArg};
use fsr_host::{
    Buffer, Case, Cpu, ExitCode, Gpu, Input, Kernel, LaunchError, Output, Rng, Values, Writable, kernel,
};

/// One-dimensional tasks: threads of a block.
const BLOCK: u32 = 256;
/// Threads of a softmax block, which does one row.
const ROW_BLOCK: u32 = 128;
/// Edge of a transposed tile, and its rows of threads.
const TILE: u32 = 32;
const TILE_ROWS: u32 = 8;
/// Edge of a block of a matrix product.
const EDGE: u32 = 16;
/// Bins of a histogram.
const BINS: usize = 64;

fn main() -> ExitCode {
    let task = std::env::args().nth(1).unwrap_or_default();
    match task.as_str() {
        "scale" => vector("scale").run(scale),
        "pair" => vector("pair").run(pair),
        "total" => vector("total").run(total),
        "blur" => vector("blur").run(blur),
        "histogram" => vector("histogram").run(histogram),
        "softmax" => matrix("softmax").run(softmax),
        "transpose" => matrix("transpose").run(transpose),
        "blind-saxpy" => vector("saxpy").check([[70_001]]).run(blind::saxpy),
        "blind-sum" => vector("sum").check([[1 << 18], [131_071]]).run(blind::sum),
        "blind-histogram" => vector("histogram").run(blind::histogram),
        "blind-softmax" => matrix("softmax").check([[3, 4096]]).run(blind::softmax),
        "blind-row_stats" => matrix("row_stats").check([[2, 70_001]]).run(blind::row_stats),
        "blind-transpose" => matrix("transpose").run(blind::transpose),
        "slowed" => vector("slowed").run(slowed),
        "matmul" => product("matmul").run(matmul),
        _ => {
            eprintln!("error: there is no task `{task}`");
            ExitCode::from(2)
        }
    }
}

fn large() -> bool {
    std::env::var("CORPUS_SIZES").is_ok_and(|sizes| sizes == "large")
}

fn vector(name: &str) -> Kernel<1> {
    let timed = if large() { 1 << 24 } else { 4096 };
    let draw = |rng: &mut Rng| [rng.size(1..=3000)];
    kernel(name).dims(["n"]).time([[timed]]).check([[1], [1021], [257]]).draw(draw)
}

fn matrix(name: &str) -> Kernel<2> {
    let timed = if large() { [4096, 4096] } else { [64, 512] };
    let draw = |rng: &mut Rng| [rng.size(1..=70), rng.size(1..=700)];
    kernel(name)
        .dims(["rows", "cols"])
        .time([timed])
        .check([[1, 1], [37, 61], [3, 1031], [64, 64]])
        .draw(draw)
}

fn product(name: &str) -> Kernel<3> {
    let timed = if large() { [1024, 1024, 1024] } else { [48, 48, 96] };
    let draw = |rng: &mut Rng| [rng.size(1..=70), rng.size(1..=70), rng.size(1..=100)];
    kernel(name).dims(["m", "n", "k"]).time([timed]).check([[1, 1, 1], [67, 35, 41]]).draw(draw)
}

fn grid(x: u32, y: u32, block: (u32, u32, u32)) -> LaunchConfig {
    LaunchConfig { grid_dim: (x, y, 1), block_dim: block, shared_mem_bytes: 0 }
}

/// A thread for each of `n` elements.
fn each(n: usize) -> LaunchConfig {
    grid((n as u32).div_ceil(BLOCK), 1, (BLOCK, 1, 1))
}

/// Launches an entry that reads `x` and writes `y`; the sizes come behind them.
fn launch<X: Buffer, Y: Writable>(
    gpu: &Gpu<'_>,
    entry: &str,
    x: X,
    y: Y,
    sizes: &[u32],
    config: LaunchConfig,
) -> Result<(), LaunchError> {
    let function = gpu.function(entry)?;
    let (x, mut y) = (gpu.view(x), gpu.view_mut(y));
    let mut launch = gpu.stream().launch_builder(&function);
    launch.arg(&x).arg(&mut y);
    for size in sizes {
        launch.arg(size);
    }
    // SAFETY: the kernels of these tasks take these arguments; what they do with them is the judge's business.
    unsafe { launch.launch(config) }?;
    Ok(())
}

fn scale(case: &mut Case, [n]: [usize; 1]) {
    let x = case.input::<f32>("x", [n]);
    let y = case.output::<f32>("y", [n]);
    case.accumulates(y, 1);
    case.launch(move |gpu| launch(gpu, "scale", x, y, &[n as u32], each(n)));
    case.reference(move |cpu| {
        for (y, x) in cpu.write(y).iter_mut().zip(cpu.read(x)) {
            *y = x.mul_add(2.5, 1.0);
        }
        cpu.scale_at_least(y, 1.0);
    });
}

fn pair(case: &mut Case, [n]: [usize; 1]) {
    let x = case.input::<f32>("x", [n]);
    let (y, z) = (case.output::<f32>("y", [n]), case.output::<f32>("z", [n]));
    case.launch(move |gpu| {
        let (function, count) = (gpu.function("pair")?, n as u32);
        let (x, mut y, mut z) = (gpu.view(x), gpu.view_mut(y), gpu.view_mut(z));
        let mut launch = gpu.stream().launch_builder(&function);
        launch.arg(&x).arg(&mut y).arg(&mut z).arg(&count);
        // SAFETY: as in `launch`.
        unsafe { launch.launch(each(n)) }?;
        Ok(())
    });
    case.reference(move |cpu| {
        for ((y, z), x) in cpu.write(y).iter_mut().zip(cpu.write(z).iter_mut()).zip(cpu.read(x)) {
            (*y, *z) = (2.0 * x, x * x);
        }
    });
}

fn total(case: &mut Case, [n]: [usize; 1]) {
    let x = case.input::<f32>("x", [n]);
    let y = case.output::<f32>("y", [1]);
    case.accumulates(y, n);
    case.launch(move |gpu| launch(gpu, "total", x, y, &[n as u32], grid(1, 1, (BLOCK, 1, 1))));
    case.reference(move |cpu| {
        let x = cpu.read(x);
        cpu.write(y)[0] = x.iter().map(|x| f64::from(*x)).sum::<f64>() as f32;
        cpu.scale_at_least(y, x.iter().map(|x| f64::from(*x).powi(2)).sum::<f64>().sqrt());
    });
}

fn blur(case: &mut Case, [n]: [usize; 1]) {
    let x = case.input::<f32>("x", [n]);
    let y = case.output::<f32>("y", [n]);
    case.accumulates(y, 3);
    case.launch(move |gpu| launch(gpu, "blur", x, y, &[n as u32], each(n)));
    case.reference(move |cpu| {
        let x = cpu.read(x);
        let at = |at: usize| f64::from(x[at]);
        for (i, y) in cpu.write(y).iter_mut().enumerate() {
            *y = ((at(i.saturating_sub(1)) + at(i) + at((i + 1).min(n - 1))) / 3.0) as f32;
        }
    });
}

fn histogram(case: &mut Case, [n]: [usize; 1]) {
    let x = case.input_from("x", [n], Values::<u32>::uniform(0.0, (BINS - 1) as f64));
    let bins = case.in_out_from("bins", [BINS], Values::<u32>::uniform(0.0, 9.0));
    case.launch(move |gpu| launch(gpu, "histogram", x, bins, &[n as u32], each(n)));
    case.reference(move |cpu| {
        let mut bins = cpu.write(bins);
        for x in cpu.read(x) {
            bins[*x as usize] += 1;
        }
    });
}

fn softmax(case: &mut Case, [rows, cols]: [usize; 2]) {
    let x = case.input::<f32>("x", [rows, cols]);
    let y = case.output::<f32>("y", [rows, cols]);
    case.launch(move |gpu| {
        let (height, width) = (rows as u32, cols as u32);
        launch(gpu, "softmax", x, y, &[height, width], grid(height, 1, (ROW_BLOCK, 1, 1)))
    });
    case.reference(move |cpu| softmax_of(cpu, x, y, cols));
}

fn softmax_of(cpu: &Cpu<'_>, x: Input<f32>, y: Output<f32>, cols: usize) {
    let (x, mut y) = (cpu.read(x), cpu.write(y));
    for (x, y) in x.chunks_exact(cols).zip(y.chunks_exact_mut(cols)) {
        let top = x.iter().fold(f32::NEG_INFINITY, |top, x| top.max(*x));
        let of = |x: &f32| f64::from(x - top).exp();
        let sum: f64 = x.iter().map(of).sum();
        y.iter_mut().zip(x).for_each(|(y, x)| *y = (of(x) / sum) as f32);
    }
}

fn transpose(case: &mut Case, [rows, cols]: [usize; 2]) {
    let x = case.input::<f32>("x", [rows, cols]);
    let y = case.output::<f32>("y", [cols, rows]);
    case.launch(move |gpu| {
        let (height, width) = (rows as u32, cols as u32);
        let config = grid(width.div_ceil(TILE), height.div_ceil(TILE), (TILE, TILE_ROWS, 1));
        launch(gpu, "transpose", x, y, &[height, width], config)
    });
    case.reference(move |cpu| transpose_of(cpu, x, y, rows, cols));
}

fn transpose_of(cpu: &Cpu<'_>, x: Input<f32>, y: Output<f32>, rows: usize, cols: usize) {
    let (x, mut y) = (cpu.read(x), cpu.write(y));
    for (col, column) in y.chunks_exact_mut(rows).enumerate() {
        column.iter_mut().enumerate().for_each(|(row, y)| *y = x[row * cols + col]);
    }
}

/// Many steps of `y = y * 0.5 + x` from `y = x`; they converge at `2 x`, so more of them change nothing but the time.
fn slowed(case: &mut Case, [n]: [usize; 1]) {
    let x = case.input::<f32>("x", [n]);
    let y = case.output::<f32>("y", [n]);
    case.launch(move |gpu| launch(gpu, "slowed", x, y, &[n as u32], each(n)));
    case.reference(move |cpu| {
        for (y, x) in cpu.write(y).iter_mut().zip(cpu.read(x)) {
            *y = 2.0 * x;
        }
    });
}

fn matmul(case: &mut Case, [m, n, k]: [usize; 3]) {
    let a = case.input::<f32>("a", [m, k]);
    let b = case.input::<f32>("b", [k, n]);
    let c = case.output::<f32>("c", [m, n]);
    case.accumulates(c, k);
    case.work_flops(2 * m * n * k);
    case.launch(move |gpu| {
        let (function, rows, cols, terms) = (gpu.function("matmul")?, m as u32, n as u32, k as u32);
        let (a, b, mut c) = (gpu.view(a), gpu.view(b), gpu.view_mut(c));
        let mut launch = gpu.stream().launch_builder(&function);
        launch.arg(&a).arg(&b).arg(&mut c).arg(&rows).arg(&cols).arg(&terms);
        let config = grid(cols.div_ceil(EDGE), rows.div_ceil(EDGE), (EDGE, EDGE, 1));
        // SAFETY: as in `launch`.
        unsafe { launch.launch(config) }?;
        Ok(())
    });
    case.reference(move |cpu| {
        let (a, b, mut product) = (cpu.read(a), cpu.read(b), cpu.write(c));
        let mut largest = 0.0f64;
        for (a, row) in a.chunks_exact(k).zip(product.chunks_exact_mut(n)) {
            let mut sums = vec![(0.0f64, 0.0f64); n];
            for (a, b) in a.iter().zip(b.chunks_exact(n)) {
                for ((sum, squares), b) in sums.iter_mut().zip(b) {
                    let term = f64::from(*a) * f64::from(*b);
                    *sum += term;
                    *squares += term * term;
                }
            }
            for (element, (sum, squares)) in row.iter_mut().zip(sums) {
                *element = sum as f32;
                largest = largest.max(squares);
            }
        }
        // A sum that cancels errs by a fraction of its terms, and some rows have far larger ones than others.
        cpu.scale_at_least(c, largest.sqrt());
    });
}
