//! Control flow and addressing: calls, recursion, function pointers, structs, local arrays, switches, generic
//! addresses, printf, votes; and what is refused before anything runs.

mod support;

use fsr_sim::{InvalidLaunch, LaunchError, Level, Options};
use std::sync::{Arc, Mutex};
use support::Bench;

const LEVELS: [Level; 2] = [Level::Bounds, Level::Full];

fn run<T: support::Plain>(level: Level, entry: &str, input: &[T], extra: Option<i32>) -> Vec<T> {
    let bench = Bench::new(level);
    let f = bench.kernel("control", entry);
    let buffer = bench.upload(input);
    let mut args = vec![buffer.into()];
    args.extend(extra.map(fsr_sim::Arg::from));
    bench.launch(&f, [1, 1, 1], [input.len() as u32, 1, 1], 0, &args);
    bench.download(buffer, input.len())
}

#[test]
fn recursion() {
    let fib = |n: u32| (0..n).fold((0u32, 1u32), |(a, b), _| (b, a + b)).0;
    for level in LEVELS {
        let want: Vec<u32> = (0..48).map(|t| fib(t % 10)).collect();
        assert_eq!(run(level, "recursion", &[0u32; 48], None), want);
    }
}

#[test]
fn function_pointers() {
    for level in LEVELS {
        for which in [0, 1] {
            let want: Vec<i32> = (0..40).map(|t| if (t + which) & 1 == 0 { 2 * t } else { t * t }).collect();
            assert_eq!(run(level, "pointers", &[0i32; 40], Some(which)), want);
        }
    }
}

#[test]
fn structs_by_value() {
    for level in LEVELS {
        let want: Vec<f64> = (0..64i64)
            .map(|t| {
                let n = t & 3;
                ((((t << 33) + n * t) >> 1) as f64) + 1024.0 * 0.5f64.powi(n as i32) + t as f64
            })
            .collect();
        assert_eq!(run(level, "structs", &[0f64; 64], None), want);
    }
}

#[test]
fn local_arrays() {
    for level in LEVELS {
        let want: Vec<u32> = (0..64u32)
            .map(|t| {
                let mut a: Vec<u32> = (0..16).map(|i| i * i + t).collect();
                for i in 0..20 {
                    a[(i * 7) & 15] = a[(i * 7) & 15].wrapping_add(a[(i * 3) & 15]);
                }
                a[t as usize & 15]
            })
            .collect();
        assert_eq!(run(level, "local_array", &[0u32; 64], Some(20)), want);
    }
}

#[test]
fn switches() {
    for level in LEVELS {
        let input: Vec<u32> = (0..64).map(|t| t * 5 + 2).collect();
        let want: Vec<u32> = (0..64u32)
            .map(|t| match (t * 5 + 2) % 9 {
                0 => 11,
                1 => 7 * t,
                2 => 13,
                3 => t ^ 5,
                4 => 17,
                5 => t << 3,
                6 => 3,
                _ => 99,
            })
            .collect();
        assert_eq!(run(level, "switches", &input, None), want);
    }
}

#[test]
fn generic_addresses() {
    for level in LEVELS {
        let want: Vec<u32> = (0..64u32).map(|t| 1000 + 11 + t + 100).collect();
        assert_eq!(run(level, "generic", &[0u32; 64], None), want);
    }
}

#[test]
fn votes_and_counts() {
    for level in LEVELS {
        let want: Vec<u32> = (0..64u32)
            .map(|t| {
                let warp = t / 32 * 32..t / 32 * 32 + 32;
                let low = if t % 3 == 0 {
                    warp.clone().filter(|l| l % 3 == 0 && l & 1 == 1).fold(0, |m, l| m | 1 << (l % 32))
                } else {
                    warp.clone().filter(|l| l % 3 != 0).sum()
                };
                let same = warp.filter(|l| l / 5 == t / 5).count() as u32;
                low.wrapping_add(same << 16).wrapping_add(23 << 24)
            })
            .collect();
        assert_eq!(run(level, "votes", &[0u32; 64], None), want);
    }
}

#[test]
fn printf() {
    let text = Arc::new(Mutex::new(String::new()));
    let sink = text.clone();
    let output: fsr_sim::Output = Arc::new(move |line: &str| sink.lock().unwrap().push_str(line));
    let bench = Bench::with(Options { output: Some(output), ..Options::default() });
    let f = bench.kernel("control", "prints");
    bench.launch(&f, [1, 1, 1], [8, 1, 1], 0, &[2i32.into()]);
    let want = "thread 0 of 8:  0.00|ab  |x|1099511627776\nthread 1 of 8:  0.50|ab  |x|1099511627776\n";
    assert_eq!(*text.lock().unwrap(), want);
}

#[test]
fn unknown_instructions_are_named_before_anything_runs() {
    let bench = Bench::new(Level::Bounds);
    let f = bench.compile(
        ".version 8.0 .target sm_90a .address_size 64
        .entry k(.param .u64 p) { .reg .b64 %rd; ld.param.u64 %rd, [p]; st.global.u32 [%rd], 1;
        wgmma.fence.sync.aligned;
        add.f32.sideways %rd; ret; }",
        "k",
    );
    let buffer = bench.upload(&[0u32]);
    let error = bench.try_launch(&f, [1, 1, 1], [32, 1, 1], 0, &[buffer.into()]).unwrap_err();
    let LaunchError::Unsupported { instructions, .. } = &error else { panic!("{error}") };
    let names: Vec<&str> = instructions.iter().map(|u| u.instruction.as_str()).collect();
    assert_eq!(names, ["wgmma.fence.sync.aligned", "add.f32.sideways"]);
    assert_eq!(bench.download::<u32>(buffer, 1), [0]);
}

#[test]
fn invalid_launches() {
    let bench = Bench::new(Level::Bounds);
    let f = bench.kernel("control", "recursion");
    let launch =
        |grid, block, shared, args: &[fsr_sim::Arg]| match bench.try_launch(&f, grid, block, shared, args) {
            Err(LaunchError::Invalid(problem)) => problem,
            other => panic!("{other:?}"),
        };
    let arg = fsr_sim::Arg::from(0u64);
    assert_eq!(launch([0, 1, 1], [32, 1, 1], 0, &[arg]), InvalidLaunch::Empty);
    assert!(matches!(launch([1, 1, 1], [32, 33, 1], 0, &[arg]), InvalidLaunch::TooManyThreads { .. }));
    assert!(matches!(
        launch([1, 1, 1], [1, 1, 65], 0, &[arg]),
        InvalidLaunch::DimensionTooLarge { axis: 2, .. }
    ));
    assert!(matches!(launch([1, 1, 1], [32, 1, 1], 1 << 20, &[arg]), InvalidLaunch::TooMuchShared { .. }));
    assert!(matches!(
        launch([1, 1, 1], [32, 1, 1], 0, &[]),
        InvalidLaunch::ArgumentCount { given: 0, wanted: 1 }
    ));
    assert!(matches!(launch([1, 1, 1], [32, 1, 1], 0, &[0u32.into()]), InvalidLaunch::ArgumentSize { .. }));
}

/// What only advises the caches changes no value.
#[test]
fn cache_hints() {
    let bench = Bench::new(Level::Full);
    let text = ".version 8.7
.target sm_90
.address_size 64
.visible .entry hints(.param .u64 buffer)
{
	.reg .b64 %rd<4>;
	.reg .f32 %f<6>;
	.shared .align 16 .b8 tile[16];
	ld.param.u64 %rd1, [buffer];
	createpolicy.fractional.L2::evict_first.b64 %rd2, 0f3F800000;
	createpolicy.range.global.L2::evict_last.L2::evict_unchanged.b64 %rd3, [%rd1], 16, 16;
	cp.async.bulk.prefetch.L2.global [%rd1], 16;
	prefetch.global.L2 [%rd1];
	ld.global.nc.L1::no_allocate.L2::cache_hint.v4.f32 {%f1, %f2, %f3, %f4}, [%rd1], %rd2;
	cp.async.cg.shared.global.L2::cache_hint [tile], [%rd1], 16, %rd2;
	cp.async.wait_all;
	ld.shared.f32 %f5, [tile+4];
	st.global.L1::no_allocate.L2::cache_hint.v4.f32 [%rd1], {%f4, %f3, %f5, %f1}, %rd3;
	red.global.add.L2::cache_hint.f32 [%rd1], %f1, %rd3;
	ret;
}
";
    let f = bench.compile(text, "hints");
    let buffer = bench.upload(&[1.0f32, 2.0, 3.0, 4.0]);
    bench.launch(&f, [1, 1, 1], [1, 1, 1], 0, &[buffer.into()]);
    assert_eq!(bench.download::<f32>(buffer, 4), [5.0, 3.0, 2.0, 1.0]);
}
