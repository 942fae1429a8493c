//! Tasks that someone was told who never saw the judge; each kernel brings the parameters of its launch along.

use cudarc::driver::{LaunchConfig, PushKernelArg};
use fsr_host::{Case, Gpu, LaunchError, Values};

use super::launch;

/// Elements of a transposed tile's edge.
const TILE: usize = 32;

fn parameter(gpu: &Gpu<'_>, name: &str) -> Result<u32, LaunchError> {
    gpu.tunable(name).ok_or_else(|| LaunchError::new(format_args!("no {name} is given")))
}

fn line(blocks: u32, threads: u32) -> LaunchConfig {
    LaunchConfig { grid_dim: (blocks, 1, 1), block_dim: (threads, 1, 1), shared_mem_bytes: 0 }
}

pub fn saxpy(case: &mut Case, [n]: [usize; 1]) {
    let a = case.scalar("a", Values::<f32>::uniform(-2.0, 2.0));
    let x = case.input::<f32>("x", [n]);
    let y = case.in_out::<f32>("y", [n]);
    case.accumulates(y, 1);
    case.launch(move |gpu| {
        let (block, each) = (parameter(gpu, "BLOCK")?, parameter(gpu, "PER_THREAD")?);
        let (function, count, factor) = (gpu.function("saxpy")?, n as u32, gpu.scalar(a));
        let (x, mut y) = (gpu.view(x), gpu.view_mut(y));
        let mut launch = gpu.stream().launch_builder(&function);
        launch.arg(&count).arg(&factor).arg(&x).arg(&mut y);
        // SAFETY: the kernels of this task take these arguments; what they do with them is the judge's business.
        unsafe { launch.launch(line(count.div_ceil(block * each), block)) }?;
        Ok(())
    });
    case.reference(move |cpu| {
        let a = cpu.scalar(a);
        for (y, x) in cpu.write(y).iter_mut().zip(cpu.read(x)) {
            *y = a.mul_add(*x, *y);
        }
    });
}

pub fn sum(case: &mut Case, [n]: [usize; 1]) {
    let x = case.input::<f32>("x", [n]);
    let out = case.in_out_from("out", [1], Values::<f64>::constant(0.0));
    case.launch(move |gpu| {
        let (block, blocks) = (parameter(gpu, "BLOCK")?, parameter(gpu, "BLOCKS")?);
        launch(gpu, "sum", x, out, &[n as u32], line(blocks, block))
    });
    case.reference(move |cpu| {
        let x = cpu.read(x);
        cpu.write(out)[0] = x.iter().map(|x| f64::from(*x)).sum();
        cpu.scale_at_least(out, x.iter().map(|x| f64::from(*x).powi(2)).sum::<f64>().sqrt());
    });
}

pub fn histogram(case: &mut Case, [n]: [usize; 1]) {
    let x = case.input::<u8>("x", [n]);
    let bins = case.in_out_from("bins", [256], Values::<u32>::constant(0));
    case.launch(move |gpu| {
        let (block, blocks) = (parameter(gpu, "BLOCK")?, parameter(gpu, "BLOCKS")?);
        launch(gpu, "histogram", x, bins, &[n as u32], line(blocks, block))
    });
    case.reference(move |cpu| {
        let mut bins = cpu.write(bins);
        for x in cpu.read(x) {
            bins[usize::from(*x)] += 1;
        }
    });
}

pub fn softmax(case: &mut Case, [rows, cols]: [usize; 2]) {
    let x = case.input::<f32>("x", [rows, cols]);
    let y = case.output::<f32>("y", [rows, cols]);
    case.launch(move |gpu| {
        let block = parameter(gpu, "BLOCK")?;
        launch(gpu, "softmax", x, y, &[rows as u32, cols as u32], line(rows as u32, block))
    });
    case.reference(move |cpu| super::softmax_of(cpu, x, y, cols));
}

pub fn row_stats(case: &mut Case, [rows, cols]: [usize; 2]) {
    let x = case.input::<f32>("x", [rows, cols]);
    let (mean, maximum) = (case.output::<f32>("mean", [rows]), case.output::<f32>("maximum", [rows]));
    case.launch(move |gpu| {
        let block = parameter(gpu, "BLOCK")?;
        let (function, height, width) = (gpu.function("row_stats")?, rows as u32, cols as u32);
        let (x, mut mean, mut maximum) = (gpu.view(x), gpu.view_mut(mean), gpu.view_mut(maximum));
        let mut launch = gpu.stream().launch_builder(&function);
        launch.arg(&x).arg(&mut mean).arg(&mut maximum).arg(&height).arg(&width);
        // SAFETY: as in `saxpy`.
        unsafe { launch.launch(line(height, block)) }?;
        Ok(())
    });
    case.reference(move |cpu| {
        let (mut means, mut maxima) = (cpu.write(mean), cpu.write(maximum));
        let mut largest = 0.0f64;
        for ((x, mean), maximum) in
            cpu.read(x).chunks_exact(cols).zip(means.iter_mut()).zip(maxima.iter_mut())
        {
            *mean = (x.iter().map(|x| f64::from(*x)).sum::<f64>() / cols as f64) as f32;
            *maximum = x.iter().fold(f32::NEG_INFINITY, |top, x| top.max(*x));
            largest = x.iter().map(|x| f64::from(*x).powi(2)).sum::<f64>().max(largest);
        }
        // Terms of either sign cancel: a right mean errs by a fraction of the root of their squares.
        let scale = largest.sqrt() / cols as f64;
        cpu.scale_at_least(mean, scale);
    });
}

pub fn transpose(case: &mut Case, [rows, cols]: [usize; 2]) {
    let x = case.input::<f32>("x", [rows, cols]);
    let y = case.output::<f32>("y", [cols, rows]);
    case.launch(move |gpu| {
        let block = parameter(gpu, "BLOCK")?;
        let tiles = (rows.div_ceil(TILE) * cols.div_ceil(TILE)) as u32;
        launch(gpu, "transpose", x, y, &[rows as u32, cols as u32], line(tiles, block))
    });
    case.reference(move |cpu| super::transpose_of(cpu, x, y, rows, cols));
}
