//! Compiled CUDA kernels give what a CPU reference gives, at every level of checks, and no check raises its hand.

mod support;

use fsr_sim::Level;
use support::{Bench, Numbers, assert_close, half_bits};

const LEVELS: [Level; 3] = [Level::Off, Level::Bounds, Level::Full];

#[test]
fn saxpy() {
    for level in LEVELS {
        let bench = Bench::new(level);
        let f = bench.kernel("saxpy", "saxpy");
        let mut numbers = Numbers(1);
        let (x, y) = (numbers.floats(1001), numbers.floats(1001));
        let (dx, dy) = (bench.upload(&x), bench.upload(&y));
        bench.launch(&f, [4, 1, 1], [256, 1, 1], 0, &[1001i32.into(), 2.5f32.into(), dx.into(), dy.into()]);
        let want: Vec<f32> = x.iter().zip(&y).map(|(x, y)| 2.5f32.mul_add(*x, *y)).collect();
        assert_eq!(bench.download::<f32>(dy, 1001), want);
    }
}

#[test]
fn transpose() {
    for level in LEVELS {
        let bench = Bench::new(level);
        let (rows, columns) = (67usize, 101usize);
        let data = Numbers(2).floats(rows * columns);
        for entry in ["transpose", "transpose_naive"] {
            let f = bench.kernel("transpose", entry);
            let input = bench.upload(&data);
            let output = bench.device.alloc((rows * columns * 4) as u64).unwrap();
            let grid_y = if entry == "transpose" { 3 } else { 9 };
            let args = [input.into(), output.into(), (rows as i32).into(), (columns as i32).into()];
            bench.launch(&f, [4, grid_y, 1], [32, 8, 1], 0, &args);
            let got = bench.download::<f32>(output, rows * columns);
            for r in 0..rows {
                for c in 0..columns {
                    assert_eq!(got[c * rows + r], data[r * columns + c], "{entry} {r} {c}");
                }
            }
        }
    }
}

#[test]
fn reduction_with_shuffles() {
    for level in LEVELS {
        let bench = Bench::new(level);
        let f = bench.kernel("reduce", "reduce");
        let data = Numbers(3).floats(10_000);
        let (input, output) = (bench.upload(&data), bench.upload(&[0f32]));
        bench.launch(&f, [8, 1, 1], [256, 1, 1], 0, &[input.into(), output.into(), 10_000i32.into()]);
        let want: f64 = data.iter().map(|v| f64::from(*v)).sum();
        assert!((f64::from(bench.download::<f32>(output, 1)[0]) - want).abs() < 1e-3);
    }
}

#[test]
fn softmax() {
    for level in LEVELS {
        let bench = Bench::new(level);
        let f = bench.kernel("softmax", "softmax");
        let (rows, columns) = (9usize, 200usize);
        let data: Vec<f32> = Numbers(4).floats(rows * columns).iter().map(|v| v * 20.0).collect();
        let input = bench.upload(&data);
        let output = bench.device.alloc((rows * columns * 4) as u64).unwrap();
        let args = [input.into(), output.into(), (columns as i32).into()];
        bench.launch(&f, [rows as u32, 1, 1], [64, 1, 1], 64 * 4, &args);
        let got = bench.download::<f32>(output, rows * columns);
        for (got, row) in got.chunks(columns).zip(data.chunks(columns)) {
            let most = row.iter().fold(f32::MIN, |a, b| a.max(*b));
            let exps: Vec<f64> = row.iter().map(|v| f64::from(v - most).exp()).collect();
            let sum: f64 = exps.iter().sum();
            let want: Vec<f32> = exps.iter().map(|e| (e / sum) as f32).collect();
            assert_close(got, &want, 1e-6);
        }
    }
}

#[test]
fn histogram_with_shared_atomics() {
    for level in LEVELS {
        let bench = Bench::new(level);
        let f = bench.kernel("histogram", "histogram");
        let mut numbers = Numbers(5);
        let data: Vec<u8> = (0..20_000).map(|_| (numbers.bits() % 256) as u8).collect();
        let (input, bins) = (bench.upload(&data), bench.upload(&[0u32; 256]));
        bench.launch(&f, [6, 1, 1], [128, 1, 1], 0, &[input.into(), bins.into(), 20_000i32.into()]);
        let mut want = vec![0u32; 256];
        data.iter().for_each(|v| want[usize::from(*v)] += 1);
        assert_eq!(bench.download::<u32>(bins, 256), want);
    }
}

#[test]
fn scan() {
    for level in LEVELS {
        let bench = Bench::new(level);
        let f = bench.kernel("scan", "scan");
        let mut numbers = Numbers(6);
        let data: Vec<i32> = (0..1000).map(|_| (numbers.bits() % 100) as i32 - 50).collect();
        let input = bench.upload(&data);
        let output = bench.upload(&[0i32; 1000]);
        let totals = bench.upload(&[0i32; 4]);
        let args = [input.into(), output.into(), totals.into(), 1000i32.into()];
        bench.launch(&f, [4, 1, 1], [256, 1, 1], 0, &args);
        let mut want = Vec::new();
        for chunk in data.chunks(256) {
            let mut sum = 0;
            want.extend(chunk.iter().map(|v| {
                sum += v;
                sum
            }));
        }
        assert_eq!(bench.download::<i32>(output, 1000), want);
        assert_eq!(bench.download::<i32>(totals, 4)[0], want[255]);
    }
}

#[test]
fn tiled_matmul() {
    for level in LEVELS {
        let bench = Bench::new(level);
        let f = bench.kernel("matmul", "matmul");
        let n = 37usize;
        let mut numbers = Numbers(7);
        let (a, b) = (numbers.floats(n * n), numbers.floats(n * n));
        let (da, db) = (bench.upload(&a), bench.upload(&b));
        let dc = bench.device.alloc((n * n * 4) as u64).unwrap();
        bench.launch(&f, [3, 3, 1], [16, 16, 1], 0, &[da.into(), db.into(), dc.into(), (n as i32).into()]);
        let want: Vec<f32> = (0..n * n)
            .map(|k| {
                (0..n).map(|i| f64::from(a[k / n * n + i]) * f64::from(b[i * n + k % n])).sum::<f64>() as f32
            })
            .collect();
        assert_close(&bench.download::<f32>(dc, n * n), &want, 1e-5);
    }
}

/// Halves between -1 and 1 with few bits, their values, and a CPU product of A (rows) and B (columns).
fn halves(seed: u64, count: usize) -> (Vec<u16>, Vec<f32>) {
    let mut numbers = Numbers(seed);
    let values: Vec<f32> = (0..count).map(|_| (numbers.bits() % 33) as f32 / 16.0 - 1.0).collect();
    (values.iter().map(|v| half_bits(*v)).collect(), values)
}

fn product(a: &[f32], b: &[f32], m: usize, n: usize, k: usize) -> Vec<f32> {
    (0..m * n).map(|e| (0..k).map(|i| a[e / n * k + i] * b[e % n * k + i]).sum()).collect()
}

#[test]
fn mma_with_ldmatrix() {
    for level in LEVELS {
        let bench = Bench::new(level);
        let f = bench.kernel("mma", "mma_f16");
        let (m, n, k) = (32usize, 24usize, 48usize);
        let ((a, va), (b, vb)) = (halves(8, m * k), halves(9, n * k));
        let (da, db) = (bench.upload(&a), bench.upload(&b));
        let dc = bench.device.alloc((m * n * 4) as u64).unwrap();
        let args = [da.into(), db.into(), dc.into(), (m as i32).into(), (n as i32).into(), (k as i32).into()];
        bench.launch(&f, [3, 2, 1], [32, 1, 1], 0, &args);
        assert_close(&bench.download::<f32>(dc, m * n), &product(&va, &vb, m, n, k), 1e-6);
    }
}

#[test]
fn wmma() {
    for level in LEVELS {
        let bench = Bench::new(level);
        let f = bench.kernel("wmma", "wmma_f16");
        let (m, n, k) = (32usize, 48usize, 64usize);
        let ((a, va), (b, vb)) = (halves(10, m * k), halves(11, n * k));
        let (da, db) = (bench.upload(&a), bench.upload(&b));
        let dc = bench.device.alloc((m * n * 4) as u64).unwrap();
        let args = [da.into(), db.into(), dc.into(), (n as i32).into(), (k as i32).into()];
        bench.launch(&f, [3, 2, 1], [32, 1, 1], 0, &args);
        assert_close(&bench.download::<f32>(dc, m * n), &product(&va, &vb, m, n, k), 1e-6);
    }
}

#[test]
fn cp_async() {
    for level in LEVELS {
        let bench = Bench::new(level);
        let f = bench.kernel("cp_async", "cp_async");
        let data = Numbers(12).floats(4 * 512);
        let input = bench.upload(&data);
        let output = bench.device.alloc(4 * 4 * 512).unwrap();
        bench.launch(&f, [2, 1, 1], [256, 1, 1], 0, &[input.into(), output.into(), 512i32.into()]);
        assert_eq!(bench.download::<f32>(output, 4 * 512).len(), data.len());
    }
}

#[test]
fn attention() {
    for level in LEVELS {
        let bench = Bench::new(level);
        let f = bench.kernel("attention", "attention");
        let (n, d) = (50usize, 64usize);
        let mut numbers = Numbers(13);
        let (q, k, v) = (numbers.floats(n * d), numbers.floats(n * d), numbers.floats(n * d));
        let (dq, dk, dv) = (bench.upload(&q), bench.upload(&k), bench.upload(&v));
        let out = bench.device.alloc((n * d * 4) as u64).unwrap();
        let args = [dq.into(), dk.into(), dv.into(), out.into(), (n as i32).into(), 0.125f32.into()];
        bench.launch(&f, [13, 1, 1], [128, 1, 1], 0, &args);
        let got = bench.download::<f32>(out, n * d);
        for row in 0..n {
            let scores: Vec<f64> = (0..n)
                .map(|j| {
                    0.125 * (0..d).map(|e| f64::from(q[row * d + e]) * f64::from(k[j * d + e])).sum::<f64>()
                })
                .collect();
            let weights: Vec<f64> = scores.iter().map(|s| s.exp()).collect();
            let sum: f64 = weights.iter().sum();
            let want: Vec<f32> = (0..d)
                .map(|e| ((0..n).map(|j| weights[j] * f64::from(v[j * d + e])).sum::<f64>() / sum) as f32)
                .collect();
            assert_close(&got[row * d..][..d], &want, 2e-6);
        }
    }
}

#[test]
fn bitonic_sort() {
    for level in LEVELS {
        let bench = Bench::new(level);
        let f = bench.kernel("bitonic", "bitonic");
        let mut numbers = Numbers(14);
        let data: Vec<i32> = (0..512).map(|_| numbers.bits() as i32).collect();
        let buffer = bench.upload(&data);
        let mut k = 2i32;
        while k <= 512 {
            let mut j = k / 2;
            while j > 0 {
                bench.launch(&f, [2, 1, 1], [256, 1, 1], 0, &[buffer.into(), j.into(), k.into()]);
                j /= 2;
            }
            k *= 2;
        }
        let mut want = data.clone();
        want.sort_unstable();
        assert_eq!(bench.download::<i32>(buffer, 512), want);
    }
}

#[test]
fn monte_carlo_counts_exactly() {
    for level in LEVELS {
        let bench = Bench::new(level);
        let f = bench.kernel("montecarlo", "pi");
        let hits = bench.upload(&[0u64]);
        bench.launch(&f, [2, 1, 1], [96, 1, 1], 0, &[hits.into(), 50i32.into()]);
        let mut want = 0u64;
        for thread in 0..192u32 {
            let mut s = thread.wrapping_mul(2_654_435_761).wrapping_add(12_345);
            let mut next = || {
                s = s.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
                (s >> 8) as f32 * (1.0 / 16_777_216.0)
            };
            for _ in 0..50 {
                let (x, y) = (next(), next());
                want += u64::from(y.mul_add(y, x * x) < 1.0);
            }
        }
        let got = bench.download::<u64>(hits, 1)[0];
        assert!(got.abs_diff(want) <= 1, "{got} {want}");
    }
}

/// The kernels that the example crate keeps: what they were tuned to, asynchronous copies into shared memory among it.
#[test]
fn stored_kernels_of_the_example_crate_execute() {
    let store = format!("{}/../example-crate/fsr", env!("CARGO_MANIFEST_DIR"));
    let Ok(kernels) = std::fs::read_dir(&store) else { return };
    let mut seen = 0;
    for kernel in kernels {
        let folder = kernel.unwrap();
        let name = folder.file_name().into_string().unwrap();
        for arch in ["sm_80", "sm_90"] {
            let Ok(text) = std::fs::read_to_string(folder.path().join(format!("{arch}.ptx"))) else {
                continue;
            };
            let bench = Bench::new(Level::Full);
            let f = bench.compile(&text, &name);
            assert_eq!(f.unsupported(), [], "{name} {arch}");
            seen += 1;
        }
    }
    assert!(seen >= 4);
    // Two whole tiles of 8192 floats and a rest, over the grid that the kernel is launched with.
    let bench = Bench::new(Level::Full);
    let text = std::fs::read_to_string(format!("{store}/reduce_sum/sm_90.ptx")).unwrap();
    let f = bench.compile(&text, "reduce_sum");
    let n = 2 * 8192 + 1000;
    let x = bench.upload(&(0..n).map(|k| (k % 7) as f32).collect::<Vec<f32>>());
    let sum = bench.upload(&[0f32]);
    bench.launch(&f, [8192, 1, 1], [1024, 1, 1], 0, &[x.into(), (n as u64).into(), sum.into()]);
    let want: f32 = (0..n).map(|k| (k % 7) as f32).sum();
    assert_eq!(bench.download::<f32>(sum, 1), [want]);
}
