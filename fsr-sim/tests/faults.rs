//! Faulty kernels are caught, and the report names the place; their repaired versions are clean.

mod support;

use fsr_sim::{Fault, FaultKind, LaunchError, Level, Options};
use support::Bench;

/// Runs an entry of `faulty.ptx` with one buffer of `words` and gives its faults.
fn faults(level: Level, entry: &str, words: usize, grid: u32, block: u32) -> Vec<Fault> {
    let bench = Bench::with(Options { level, budget: 1 << 20, ..Options::default() });
    let f = bench.kernel("faulty", entry);
    let buffer = bench.upload(&vec![0u32; words]);
    match bench.try_launch(&f, [grid, 1, 1], [block, 1, 1], 0, &[buffer.into()]) {
        Ok(_) => Vec::new(),
        Err(LaunchError::Fault(faults)) => faults.all,
        Err(other) => panic!("{entry}: {other}"),
    }
}

fn first(level: Level, entry: &str, words: usize, grid: u32, block: u32) -> Fault {
    let all = faults(level, entry, words, grid, block);
    all.into_iter().next().unwrap_or_else(|| panic!("{entry} ran clean"))
}

#[test]
fn out_of_bounds() {
    let fault = first(Level::Bounds, "off_by_one", 64, 1, 64);
    assert_eq!(fault.kind, FaultKind::OutOfBounds);
    assert_eq!(fault.thread, [63, 0, 0]);
    assert_eq!(fault.source.as_ref().unwrap().0, "faulty.cu");
    insta::assert_snapshot!(fault);
}

#[test]
fn beyond_shared_memory() {
    let fault = first(Level::Bounds, "shared_too_far", 64, 1, 64);
    assert_eq!(fault.kind, FaultKind::OutOfBounds);
    insta::assert_snapshot!(fault);
}

#[test]
fn misaligned() {
    let fault = first(Level::Bounds, "misaligned", 64, 1, 8);
    assert_eq!(fault.kind, FaultKind::Misaligned);
    insta::assert_snapshot!(fault);
}

#[test]
fn wild_pointer() {
    let fault = first(Level::Bounds, "wild", 64, 1, 1);
    assert_eq!(fault.kind, FaultKind::OutOfBounds);
    assert!(fault.to_string().contains("no buffer there"), "{fault}");
}

#[test]
fn trap_and_assert() {
    assert_eq!(first(Level::Bounds, "traps", 64, 1, 1).kind, FaultKind::Trap);
    let fault = first(Level::Bounds, "asserts", 64, 1, 40);
    assert!(matches!(&fault.kind, FaultKind::Assert(text) if text.contains("threadIdx.x < 33")), "{fault}");
    assert_eq!(fault.thread, [33, 0, 0]);
}

#[test]
fn uninitialised_shared() {
    let fault = first(Level::Full, "uninitialised_shared", 64, 1, 64);
    assert_eq!(fault.kind, FaultKind::Uninitialised);
    assert_eq!(fault.occurrences, 32);
    assert!(faults(Level::Bounds, "uninitialised_shared", 64, 1, 64).is_empty());
}

#[test]
fn missing_barrier() {
    let all = faults(Level::Full, "missing_barrier", 256, 1, 256);
    assert!(all.iter().any(|f| matches!(f.kind, FaultKind::Race { .. })), "{all:?}");
    assert!(faults(Level::Full, "with_barrier", 256, 1, 256).is_empty());
}

#[test]
fn missing_second_barrier() {
    let all = faults(Level::Full, "missing_second_barrier", 256, 1, 256);
    assert!(all.iter().any(|f| matches!(f.kind, FaultKind::Race { .. })), "{all:?}");
}

#[test]
fn warp_synchronous_code_needs_syncwarp() {
    let all = faults(Level::Full, "warp_synchronous", 32, 1, 32);
    assert!(all.iter().any(|f| matches!(f.kind, FaultKind::Race { .. })), "{all:?}");
    assert!(faults(Level::Full, "with_syncwarp", 32, 1, 32).is_empty());
}

#[test]
fn blocks_that_write_the_same_word() {
    let all = faults(Level::Full, "cross_block", 1, 8, 32);
    assert!(all.iter().any(|f| matches!(f.kind, FaultKind::Race { other_block: Some(_), .. })), "{all:?}");
    assert!(faults(Level::Full, "cross_block_atomic", 1, 8, 32).is_empty());
}

#[test]
fn divergent_barrier() {
    let fault = first(Level::Full, "divergent_barrier", 256, 1, 256);
    assert_eq!(fault.kind, FaultKind::DivergentBarrier);
    assert_eq!(fault.thread, [96, 0, 0]);
    assert!(faults(Level::Full, "early_exit_then_barrier", 256, 1, 256).is_empty());
}

#[test]
fn missing_wait() {
    let all = faults(Level::Full, "missing_wait", 128, 1, 32);
    assert!(all.iter().any(|f| f.kind == FaultKind::MissingWait), "{all:?}");
    assert!(faults(Level::Full, "with_wait", 128, 1, 32).is_empty());
}

#[test]
fn endless() {
    let fault = first(Level::Bounds, "endless", 1, 1, 32);
    assert!(matches!(fault.kind, FaultKind::Budget(_)), "{fault}");
}

#[test]
fn constant_memory_cannot_be_written() {
    let bench = Bench::new(Level::Bounds);
    let ptx = ".version 8.0 .target sm_80 .address_size 64
        .const .u32 table[4] = { 1, 2, 3, 4 };
        .entry k() { .reg .b64 %rd; mov.u64 %rd, table; cvta.const.u64 %rd, %rd; st.u32 [%rd+4], 7; ret; }";
    let f = bench.compile(ptx, "k");
    let error = bench.try_launch(&f, [1, 1, 1], [1, 1, 1], 0, &[]).unwrap_err();
    let LaunchError::Fault(faults) = error else { panic!("{error}") };
    assert_eq!(faults.first().kind, FaultKind::ReadOnly);
    assert!(faults.to_string().contains("offset 4 of variable table (16 bytes)"), "{faults}");
}

#[test]
fn locks_within_a_warp_make_progress() {
    let bench = Bench::new(Level::Full);
    let f = bench.kernel("faulty", "spin_lock");
    let buffer = bench.upload(&[0u32; 2]);
    bench.launch(&f, [4, 1, 1], [64, 1, 1], 0, &[buffer.into()]);
    assert_eq!(bench.download::<u32>(buffer, 2), [0, 256]);
}

#[test]
fn blocks_that_wait_for_each_other_make_progress() {
    let bench = Bench::new(Level::Bounds);
    let f = bench.kernel("faulty", "grid_barrier");
    let buffer = bench.upload(&[0u32; 2]);
    bench.launch(&f, [16, 1, 1], [64, 1, 1], 0, &[buffer.into()]);
    assert_eq!(bench.download::<u32>(buffer, 2), [16, 16]);
}
