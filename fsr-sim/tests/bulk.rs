//! Bulk copies and mbarriers: right results without a report, and reports where a wait is left out.

mod support;

use fsr_sim::{Arg, FaultKind, LaunchError, Level};
use support::Bench;

const TILES: usize = 7;

/// Runs the ring over `buffer` tiles' worth of data, as if there were `tiles`.
fn ring(level: Level, buffer: usize, tiles: i32, hurried: i32) -> Result<Vec<f32>, LaunchError> {
    let bench = Bench::new(level);
    let f = bench.kernel("bulk", "ring");
    let x = bench.upload(&(0..buffer * 256).map(|k| (k % 1000) as f32).collect::<Vec<_>>());
    let y = bench.upload(&[0f32; 256]);
    bench.try_launch(&f, [1, 1, 1], [256, 1, 1], 0, &[x.into(), y.into(), tiles.into(), hurried.into()])?;
    Ok(bench.download(y, 256))
}

fn first(result: Result<Vec<f32>, LaunchError>) -> fsr_sim::Fault {
    match result {
        Err(LaunchError::Fault(faults)) => faults.first().clone(),
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_ring_of_stages_sums_what_was_fetched() {
    let value = |k: usize| (k % 1000) as f32;
    let want: Vec<f32> = (0..256)
        .map(|t| (0..TILES).map(|k| value(k * 256 + t) + 2.0 * value(k * 256 + 255 - t)).sum())
        .collect();
    for level in [Level::Off, Level::Bounds, Level::Full] {
        assert_eq!(ring(level, TILES, TILES as i32, 0).unwrap(), want, "{level:?}");
    }
}

#[test]
fn hurry_is_a_race() {
    for hurried in [1, 2] {
        let fault = first(ring(Level::Full, TILES, TILES as i32, hurried));
        assert!(matches!(fault.kind, FaultKind::Race { .. }), "{hurried}: {fault}");
    }
}

#[test]
fn a_fetch_beyond_the_end_is_named() {
    let fault = first(ring(Level::Bounds, 2, 3, 0));
    assert_eq!(fault.kind, FaultKind::OutOfBounds, "{fault}");
    assert_eq!(fault.source.as_ref().map(|at| at.0.as_str()), Some("bulk.cu"));
    assert!(fault.to_string().contains("reads 1024 bytes"), "{fault}");
    assert!(fault.to_string().contains("0 bytes past the end of allocation 0 (2048 bytes)"), "{fault}");
}

#[test]
fn a_tile_is_stored_when_all_have_arrived() {
    for level in [Level::Bounds, Level::Full] {
        let bench = Bench::new(level);
        let f = bench.kernel("bulk", "store");
        let y = bench.device.alloc(256).unwrap();
        bench.launch(&f, [1, 1, 1], [64, 1, 1], 0, &[y.into()]);
        let want: Vec<f32> = (0..64).map(|t| (63 - t) as f32).collect();
        assert_eq!(bench.download::<f32>(y, 64), want);
    }
}

#[test]
fn copies_arrive() {
    for level in [Level::Bounds, Level::Full] {
        let bench = Bench::new(level);
        let f = bench.kernel("bulk", "copies");
        let x = bench.upload(&(0..64u32).collect::<Vec<_>>());
        let y = bench.upload(&[0u32; 64]);
        bench.launch(&f, [1, 1, 1], [64, 1, 1], 0, &[x.into(), y.into()]);
        assert_eq!(bench.download::<u32>(y, 64), (0..64).rev().collect::<Vec<u32>>());
    }
}

#[test]
fn addresses_and_sizes_are_multiples_of_16() {
    let text = ".version 8.7
.target sm_90
.address_size 64
.visible .entry k(.param .u64 x, .param .u32 bytes, .param .u32 to)
{
	.reg .b64 %rd<2>;
	.reg .b32 %r<4>;
	.shared .align 16 .b8 tile[64];
	.shared .align 8 .b64 full;
	ld.param.u64 %rd1, [x];
	ld.param.u32 %r1, [bytes];
	ld.param.u32 %r2, [to];
	mov.u32 %r3, full;
	mbarrier.init.shared.b64 [%r3], 1;
	cp.async.bulk.shared::cta.global.mbarrier::complete_tx::bytes [%r2], [%rd1], %r1, [%r3];
	ret;
}
";
    let bench = Bench::new(Level::Bounds);
    let f = bench.compile(text, "k");
    let x = bench.upload(&[0u8; 64]);
    let run = |x: u64, bytes: u32, to: u32| {
        let args: [Arg; 3] = [x.into(), bytes.into(), to.into()];
        bench.try_launch(&f, [1, 1, 1], [1, 1, 1], 0, &args).map_err(|error| match error {
            LaunchError::Fault(faults) => faults.first().kind.clone(),
            other => panic!("{other}"),
        })
    };
    assert!(run(x, 64, 0).is_ok());
    assert_eq!(run(x, 24, 0).err(), Some(FaultKind::Misaligned));
    assert_eq!(run(x + 4, 16, 0).err(), Some(FaultKind::Misaligned));
    assert_eq!(run(x, 16, 8).err(), Some(FaultKind::Misaligned));
    assert_eq!(run(x, 64, 1 << 20).err(), Some(FaultKind::OutOfBounds));
}
