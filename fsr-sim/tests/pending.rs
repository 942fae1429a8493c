//! What nobody may rely on: bytes that an asynchronous copy still moves, and bytes that were never written, of which a load
//! uses none.

mod support;

use fsr_sim::{LaunchError, Level, Options};
use support::Bench;

/// Names of the faults of one warp; `%rd1` is the address of 64 words, `%rd4` that of 64 bytes that were never
/// written, `%r1` the lane, `%r2` the address of its word of `s`.
fn faults(body: &str) -> Vec<String> {
    let text = format!(
        ".version 8.6\n.target sm_90\n.address_size 64\n.visible .entry k(.param .u64 out, .param .u64 raw)\n{{\n\
         .reg .pred %p<9>; .reg .b32 %r<20>; .reg .b64 %rd<9>;\n\
         .shared .align 16 .b8 s[256]; .shared .align 8 .b8 m[16]; .local .align 16 .b8 l[64];\n\
         ld.param.u64 %rd1, [out]; ld.param.u64 %rd4, [raw]; mov.u32 %r1, %tid.x; mul.wide.u32 %rd2, %r1, 4; add.s64 %rd2, %rd1, %rd2;\n\
         mov.u32 %r2, s; mad.lo.u32 %r2, %r1, 4, %r2; setp.eq.u32 %p1, %r1, 0;\n\
         {body}\nret;\n}}\n"
    );
    let bench = Bench::with(Options { level: Level::Full, budget: 1 << 16, ..Default::default() });
    let kernel = bench.compile(&text, "k");
    let out = bench.upload(&(0..64).collect::<Vec<u32>>());
    let raw = bench.device.alloc(64).unwrap();
    match bench.try_launch(&kernel, [1, 1, 1], [32, 1, 1], 0, &[out.into(), raw.into()]) {
        Ok(_) => Vec::new(),
        Err(LaunchError::Fault(faults)) => {
            faults.all.iter().map(|fault| fault.kind.name().to_owned()).collect()
        }
        Err(other) => panic!("{other}\n{text}"),
    }
}

const NOTHING: [&str; 0] = [];

/// A bulk copy to `s` by lane 0, told to `m`.
const FETCH: &str = "@!%p1 bra WAIT; mbarrier.init.shared.b64 [m], 1;\n\
    mbarrier.arrive.expect_tx.shared.b64 %rd3, [m], 128;\n\
    cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [s], [%rd1], 128, [m]; WAIT:\n";
const WAIT: &str =
    "bar.warp.sync 0xffffffff; SPIN: mbarrier.try_wait.parity.shared.b64 %p2, [m], 0; @!%p2 bra SPIN;\n";

#[test]
fn a_bulk_copy_is_awaited_at_its_barrier() {
    let read = "ld.shared.u32 %r3, [%r2]; st.global.u32 [%rd2], %r3;";
    assert_eq!(faults(&format!("{FETCH} {WAIT} {read}")), NOTHING);
    // The lane that issued it is no wiser than the others.
    assert_eq!(faults(&format!("{FETCH} @!%p1 bra DONE; {read} DONE:")), ["missing wait"]);
    assert_eq!(faults(&format!("{FETCH} @!%p1 bra DONE; st.shared.u32 [%r2], 7; DONE:")), ["missing wait"]);
}

#[test]
fn a_bulk_copys_source_is_awaited_before_it_is_written_again() {
    let send = "st.shared.u32 [%r2], %r1; bar.warp.sync 0xffffffff; @!%p1 bra SENT; fence.proxy.async.shared::cta;\n\
        cp.async.bulk.global.shared::cta.bulk_group [%rd1], [s], 128; cp.async.bulk.commit_group; SENT:\n";
    let wait = "cp.async.bulk.wait_group.read 0; bar.warp.sync 0xffffffff;";
    let write = "st.shared.u32 [%r2], 7;";
    assert_eq!(faults(&format!("{send} {wait} {write}")), NOTHING);
    assert_eq!(faults(&format!("{send} ld.shared.u32 %r3, [%r2];")), NOTHING);
    assert_eq!(faults(&format!("{send} bar.warp.sync 0xffffffff; {write}")), ["missing wait"]);
    let newest = "cp.async.bulk.wait_group.read 1; bar.warp.sync 0xffffffff;";
    assert_eq!(faults(&format!("{send} {newest} {write}")), ["missing wait"]);
}

#[test]
fn copies_that_a_barrier_is_told_of_are_awaited_there() {
    let copy = "@%p1 mbarrier.init.shared.b64 [m], 32; bar.warp.sync 0xffffffff;\n\
        cp.async.ca.shared.global [%r2], [%rd2], 4; cp.async.mbarrier.arrive.noinc.shared.b64 [m];\n";
    let read = "ld.shared.u32 %r3, [%r2]; st.global.u32 [%rd2], %r3;";
    assert_eq!(faults(&format!("{copy} {WAIT} {read}")), NOTHING);
    assert_eq!(faults(&format!("{copy} {read}")), ["missing wait"]);
}

#[test]
fn copies_are_awaited_by_stores_and_atomics_too() {
    let copy = "cp.async.ca.shared.global [%r2], [%rd2], 4;\n";
    let wait = "cp.async.wait_all;";
    for access in [
        "st.shared.u32 [%r2], 5;",
        "atom.shared.add.u32 %r3, [%r2], 1;",
        "cvt.u64.u32 %rd3, %r2; cvta.shared.u64 %rd3, %rd3; red.add.u32 [%rd3], 1;",
    ] {
        assert_eq!(faults(&format!("{copy} {wait} {access}")), NOTHING, "{access}");
        assert_eq!(faults(&format!("{copy} {access} {wait}")), ["missing wait"], "{access}");
    }
}

#[test]
fn padding_that_a_load_does_not_use_is_not_judged() {
    // A flag of one byte beside a number, as in `struct { char a; int b; }`.
    for (space, address, place) in
        [("shared", "%r4", "mov.u32 %r4, s;"), ("local", "%r4", "mov.u32 %r4, l;"), ("global", "%rd4", "")]
    {
        let fill =
            format!("{place} @!%p1 bra DONE; st.{space}.u8 [{address}], 1; st.{space}.u32 [{address}+4], 2;");
        let load = format!("ld.{space}.v2.u32 {{%r5, %r6}}, [{address}]; DONE:");
        assert_eq!(faults(&format!("{fill} .pragma \"used_bytes_mask 241\"; {load}")), NOTHING, "{space}");
        assert_eq!(faults(&format!("{fill} .pragma \"used_bytes_mask 0xf1\"; {load}")), NOTHING, "{space}");
        assert_eq!(faults(&format!("{fill} {load}")), ["uninitialised read"], "{space}");
        // The mask is about the next load alone, and about its own bytes.
        let other = format!("{fill} .pragma \"used_bytes_mask 243\"; {load}");
        assert_eq!(faults(&other), ["uninitialised read"], "{space}");
        let later =
            format!("{fill} .pragma \"used_bytes_mask 240\"; ld.{space}.u32 %r7, [{address}+4]; {load}");
        assert_eq!(faults(&later), ["uninitialised read"], "{space}");
    }
}
