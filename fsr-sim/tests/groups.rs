//! Groups of lanes within a warp, by their member masks: each waits for its own members, and for nobody else.

mod support;

use fsr_sim::Level;
use support::Bench;

const LEVELS: [Level; 3] = [Level::Off, Level::Bounds, Level::Full];

/// What a warp of one block leaves in 64 words; `%rd1` is their address, `%r1` the lane.
fn run(level: Level, body: &str) -> Vec<u32> {
    let text = format!(
        ".version 8.6\n.target sm_90\n.address_size 64\n.visible .entry k(.param .u64 out)\n{{\n\
         .reg .pred %p<9>; .reg .b32 %r<20>; .reg .b64 %rd<9>; .shared .align 8 .b8 s[256];\n\
         ld.param.u64 %rd1, [out]; mov.u32 %r1, %tid.x; mul.wide.u32 %rd2, %r1, 8; add.s64 %rd2, %rd1, %rd2;\n\
         {body}\nret;\n}}\n"
    );
    let bench = Bench::with(fsr_sim::Options { level, budget: 1 << 16, ..Default::default() });
    let kernel = bench.compile(&text, "k");
    let out = bench.upload(&[0u32; 64]);
    bench.launch(&kernel, [1, 1, 1], [32, 1, 1], 0, &[out.into()]);
    bench.download(out, 64)
}

/// Lanes 0 to 15 are one group, the others another; the mask is in `%r2`.
const HALVES: &str = "setp.lt.u32 %p1, %r1, 16; selp.b32 %r2, 0xffff, 0xffff0000, %p1;";

#[test]
fn each_group_elects_its_own_leader() {
    let body = format!(
        "{HALVES} elect.sync %r3|%p2, %r2; selp.u32 %r4, 1, 0, %p2; st.global.v2.u32 [%rd2], {{%r3, %r4}};"
    );
    for level in LEVELS {
        for (lane, pair) in run(level, &body).chunks(2).enumerate() {
            let leader = lane as u32 / 16 * 16;
            assert_eq!(pair, [leader, u32::from(lane as u32 == leader)], "lane {lane} at {level:?}");
        }
    }
}

/// Lanes 24 to 31 spin until lane 0 is past the instruction that both groups meet at. The others of their group wait for
/// them there; lanes 0 to 15 do not.
fn one_group_waits_for_the_other(meet: &str) {
    let body = format!(
        "setp.eq.u32 %p1, %r1, 0; @%p1 st.volatile.shared.u32 [s], 0; bar.warp.sync 0xffffffff;\n\
         setp.lt.u32 %p2, %r1, 16; selp.b32 %r2, 0xffff, 0xffff0000, %p2;\n\
         setp.lt.u32 %p3, %r1, 24; @%p3 bra MEET;\n\
         SPIN: ld.volatile.shared.u32 %r4, [s]; setp.eq.u32 %p4, %r4, 0; @%p4 bra SPIN;\n\
         MEET: {meet}\n\
         @%p1 st.volatile.shared.u32 [s], 1;\n\
         st.global.v2.u32 [%rd2], {{%r9, %r1}};"
    );
    for level in LEVELS {
        for (lane, pair) in run(level, &body).chunks(2).enumerate() {
            let lane = lane as u32;
            assert_eq!(pair[1], lane, "{meet} at {level:?}");
            assert!(
                pair[0] == 0 || pair[0] == lane / 16 * 16 + 3,
                "lane {lane}, {meet} at {level:?}: {}",
                pair[0]
            );
        }
    }
}

#[test]
fn a_group_passes_a_barrier_without_the_others() {
    one_group_waits_for_the_other("mov.u32 %r9, 0; bar.warp.sync %r2;");
    // The groups meet at barriers of their own, too.
    one_group_waits_for_the_other(
        "mov.u32 %r9, 0; @%p2 bra.uni FIRST; bar.warp.sync %r2; bra DONE; FIRST: bar.warp.sync %r2; DONE:",
    );
}

#[test]
fn a_group_exchanges_without_the_others() {
    one_group_waits_for_the_other(
        "and.b32 %r5, %r1, 16; add.u32 %r5, %r5, 3; shfl.sync.idx.b32 %r9, %r1, %r5, 31, %r2;",
    );
    one_group_waits_for_the_other("mov.u32 %r9, 0; vote.sync.any.pred %p5, %p1, %r2;");
}

#[test]
fn a_barrier_whose_arrivals_were_all_dropped_stays_in_its_phase() {
    let body = "setp.ne.u32 %p1, %r1, 0; @%p1 bra DONE;\n\
        mbarrier.init.shared.b64 [s], 1; mbarrier.arrive_drop.shared.b64 %rd3, [s];\n\
        mbarrier.test_wait.parity.shared.b64 %p2, [s], 0; selp.u32 %r3, 1, 0, %p2;\n\
        mbarrier.test_wait.parity.shared.b64 %p2, [s], 0; selp.u32 %r4, 1, 0, %p2;\n\
        mbarrier.test_wait.parity.shared.b64 %p2, [s], 0; selp.u32 %r5, 1, 0, %p2;\n\
        mbarrier.test_wait.parity.shared.b64 %p2, [s], 1; selp.u32 %r6, 1, 0, %p2;\n\
        st.global.v4.u32 [%rd1], {%r3, %r4, %r5, %r6}; DONE:";
    for level in LEVELS {
        assert_eq!(run(level, body)[..4], [1, 1, 1, 0], "{level:?}");
    }
}
