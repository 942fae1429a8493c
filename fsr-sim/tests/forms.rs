//! Instruction forms for which there is no recording of hardware: expected values by the PTX manual's own words.

mod support;

use fsr_sim::{FaultKind, LaunchError, Level};
use support::Bench;

const FRAME: &str = ".version 8.6
.target sm_90
.address_size 64
{top}
.visible .entry k(.param .u64 from, .param .u64 to)
{
	.reg .pred %p<8>;
	.reg .b16 %h<24>;
	.reg .b32 %r<24>;
	.reg .f32 %f<24>;
	.reg .b64 %q<24>;
	.reg .b128 %w<4>;
	ld.param.u64 %q1, [from];
	ld.param.u64 %q2, [to];
	mov.u32 %r1, %tid.x;
	mul.wide.u32 %q3, %r1, 16;
	add.u64 %q3, %q3, %q2;
	{body}
	ret;
}
";

/// Runs a body once for each thread: `%q1` is the input, `%q2` the output, `%q3` the thread's own 16 bytes of it.
fn try_run(
    top: &str,
    body: &str,
    threads: u32,
    input: &[u32],
    words: usize,
) -> Result<Vec<u32>, LaunchError> {
    let bench = Bench::new(Level::Full);
    let f = bench.compile(&FRAME.replace("{top}", top).replace("{body}", body), "k");
    let (from, to) = (bench.upload(input), bench.upload(&vec![0u32; words]));
    bench.try_launch(&f, [1, 1, 1], [threads, 1, 1], 0, &[from.into(), to.into()])?;
    Ok(bench.download(to, words))
}

fn run(top: &str, body: &str, threads: u32, input: &[u32], words: usize) -> Vec<u32> {
    try_run(top, body, threads, input, words).unwrap_or_else(|e| panic!("{body}: {e}"))
}

/// What one thread computes from words in `%r4` onwards, of which it leaves `%r10` onwards.
fn words(body: &str, input: &[u32], results: usize) -> Vec<u32> {
    let loads: String =
        (0..input.len()).map(|k| format!("ld.global.u32 %r{}, [%q1+{}];\n", k + 4, 4 * k)).collect();
    let stores: String =
        (0..results).map(|k| format!("st.global.u32 [%q2+{}], %r{};\n", 4 * k, k + 10)).collect();
    run("", &format!("{loads}{body}\n{stores}"), 1, input, results)
}

fn fault(result: Result<Vec<u32>, LaunchError>) -> FaultKind {
    match result {
        Err(LaunchError::Fault(faults)) => faults.first().kind.clone(),
        other => panic!("{other:?}"),
    }
}

#[test]
fn products_carry_over_64_bits() {
    // (2^64 - 1)^2 = 2^128 - 2^65 + 1, and once more its upper half with a carry.
    let body = "mov.b64 %q4, {%r4, %r5};
        mad.lo.cc.u64 %q5, %q4, %q4, %q4;
        madc.hi.cc.u64 %q6, %q4, %q4, %q4;
        addc.u32 %r14, 0, 0;
        mov.b64 {%r10, %r11}, %q5; mov.b64 {%r12, %r13}, %q6;";
    // lo = 1 + (2^64 - 1) = 0 carry 1; hi = 2^64 - 2 + 2^64 - 1 + 1 = 2^64 - 2 carry 1.
    assert_eq!(words(body, &[u32::MAX, u32::MAX], 5), [0, 0, 0xffff_fffe, u32::MAX, 1]);
    // Signed: (-3 * 5) >> 64 = -1, plus 1 is 0 with a carry out.
    let body = "mov.b64 %q4, {%r4, %r5}; mov.b64 %q5, {%r6, %r7}; mov.u64 %q7, 1;
        mad.hi.cc.s64 %q6, %q4, %q5, %q7; addc.u32 %r12, 0, 0; mov.b64 {%r10, %r11}, %q6;";
    assert_eq!(words(body, &[-3i32 as u32, u32::MAX, 5, 0], 3), [0, 0, 1]);
}

#[test]
fn the_carry_belongs_to_its_lane() {
    // Even lanes carry. A guarded instruction leaves the flag of lanes that it passes by.
    let body = "and.b32 %r4, %r1, 1; sub.u32 %r4, %r4, 1; setp.lt.u32 %p1, %r1, 4;
        add.cc.u32 %r5, %r4, 1; @%p1 add.cc.u32 %r6, 0, 0; addc.u32 %r7, 0, 0; st.global.u32 [%q3], %r7;";
    let got: Vec<u32> = run("", body, 8, &[0], 32).into_iter().step_by(4).collect();
    assert_eq!(got, [0, 0, 0, 0, 1, 0, 1, 0]);
}

#[test]
fn lop3_joins_its_result_with_a_predicate() {
    let body = "setp.eq.u32 %p1, %r7, 1;
        lop3.and.b32 _|%p2, %r4, %r5, %r6, 0x80, %p1; selp.u32 %r10, 1, 0, %p2;
        lop3.or.b32 %r11|%p3, %r4, %r5, %r6, 0x80, !%p1; selp.u32 %r12, 1, 0, %p3;";
    for (a, q, want) in [(3, 1, [1, 2, 1]), (3, 0, [0, 2, 1]), (1, 1, [0, 0, 0]), (1, 0, [0, 0, 1])] {
        assert_eq!(words(body, &[a, 2, 6, q], 3), want, "{a} {q}");
    }
}

#[test]
fn video_arithmetic_selects_extends_saturates_and_merges() {
    for (instruction, a, b, c, want) in [
        ("vadd.s32.s32.s32 %r10, %r4.b1, %r5.h1", 0x0000_8000, 0xffff_0000, 0, (-129i32) as u32),
        ("vsub.u32.u32.u32.sat %r10, %r4, %r5", 3, 5, 0, 0),
        ("vsub.s32.u32.u32.sat %r10, %r4, %r5", u32::MAX, 0, 0, i32::MAX as u32),
        ("vadd.u32.u32.u32.sat %r10, %r4, %r5", u32::MAX, 2, 0, u32::MAX),
        ("vadd.u32.u32.u32 %r10, %r4, %r5", u32::MAX, 2, 0, 1),
        ("vabsdiff.u32.s32.s32 %r10, %r4.b0, %r5.b3", 0x80, 0x7f00_0000, 0, 255),
        ("vmin.s32.s32.u32 %r10, %r4.b0, %r5.b0", 0xff, 0xff, 0, u32::MAX),
        ("vmax.s32.s32.u32 %r10, %r4.b0, %r5.b0", 0xff, 0xff, 0, 255),
        ("vadd.u32.u32.u32.add %r10, %r4.h0, %r5.h1, %r6", 7, 5 << 16, 100, 112),
        ("vadd.s32.u32.u32.min %r10, %r4, %r5, %r6", 7, 5, -1i32 as u32, -1i32 as u32),
        ("vadd.u32.u32.u32.max %r10, %r4, %r5, %r6", 7, 5, 9, 12),
        ("vadd.s32.s32.s32.sat %r10.b2, %r4, %r5, %r6", 100, 100, 0x1122_3344, 0x117f_3344),
        ("vadd.u32.u32.u32 %r10.h1, %r4, %r5, %r6", 0x1_0001, 2, 0x1122_3344, 0x0003_3344),
    ] {
        assert_eq!(words(&format!("{instruction};"), &[a, b, c], 1), [want], "{instruction}");
    }
}

/// Two halves that hold small whole numbers.
fn halves(low: i32, high: i32, brain: bool) -> u32 {
    let one = |v: i32| {
        let v = v as f32;
        u32::from(if brain { half::bf16::from_f32(v).to_bits() } else { half::f16::from_f32(v).to_bits() })
    };
    one(low) | one(high) << 16
}

#[test]
fn vectors_of_halves_are_as_many_atomics() {
    for (ty, brain) in [("f16", false), ("bf16", true)] {
        let two = |low, high| halves(low, high, brain);
        // Eight halves against the same in memory: their old values come back, each is changed.
        let body = |op: &str| {
            format!(
                "ld.global.v4.b32 {{%r4, %r5, %r6, %r7}}, [%q1];
                mov.b32 {{%h0, %h1}}, %r4; mov.b32 {{%h2, %h3}}, %r5; mov.b32 {{%h4, %h5}}, %r6; mov.b32 {{%h6, %h7}}, %r7;
                ld.global.v4.b32 {{%r4, %r5, %r6, %r7}}, [%q1+16]; st.global.v4.b32 [%q2], {{%r4, %r5, %r6, %r7}};
                atom.global.v8.{ty}.{op}.noftz {{%h0, %h1, %h2, %h3, %h4, %h5, %h6, %h7}}, [%q2], {{%h1, %h0, %h2, %h3, %h4, %h5, %h6, %h7}};
                mov.b32 %r4, {{%h0, %h1}}; mov.b32 %r5, {{%h2, %h3}}; mov.b32 %r6, {{%h4, %h5}}; mov.b32 %r7, {{%h6, %h7}};
                st.global.v4.b32 [%q2+16], {{%r4, %r5, %r6, %r7}};"
            )
        };
        let given = [two(1, 2), two(3, 4), two(5, 6), two(7, 8)];
        let before = [two(10, 1), two(2, 2), two(3, 9), two(-1, 8)];
        let input: Vec<u32> = given.into_iter().chain(before).collect();
        for (op, after) in [
            ("add", [two(12, 2), two(5, 6), two(8, 15), two(6, 16)]),
            ("min", [two(2, 1), two(2, 2), two(3, 6), two(-1, 8)]),
            ("max", [two(10, 1), two(3, 4), two(5, 9), two(7, 8)]),
        ] {
            let want: Vec<u32> = after.into_iter().chain(before).collect();
            assert_eq!(run("", &body(op), 1, &input, 8), want, "{op} {ty}");
        }
        // Packed pairs, contended by 32 lanes.
        let body = format!(
            "ld.global.v2.b32 {{%r4, %r5}}, [%q1]; red.global.v2.{ty}x2.add.noftz [%q2], {{%r4, %r5}};"
        );
        assert_eq!(run("", &body, 32, &[two(1, 2), two(3, 4)], 2), [two(32, 64), two(96, 128)]);
    }
}

#[test]
fn vector_atomics_are_aligned_and_in_global_memory() {
    let body = |place: &str| format!("{place} mov.f32 %f1, 0f3f800000; red.v2.f32.add [%q4], {{%f1, %f1}};");
    let misaligned = try_run("", &body("add.u64 %q4, %q2, 4;"), 1, &[0], 8);
    assert_eq!(fault(misaligned), FaultKind::Misaligned);
    let shared = "mov.u64 %q4, sh; cvta.shared.u64 %q4, %q4;";
    let shared = try_run(".shared .align 16 .b8 sh[16];", &body(shared), 1, &[0], 8);
    assert_eq!(fault(shared), FaultKind::OutOfBounds);
}

#[test]
fn registers_of_128_bits_move() {
    let body = "ld.global.b128 %w1, [%q1]; mov.b128 {%q4, %q5}, %w1; mov.b128 %w2, {%q5, %q4};
        st.global.b128 [%q2], %w2; mov.b128 {%q5, %q4}, %w1; mov.b128 %w3, %w2; st.global.v2.b64 [%q2+16], {%q4, %q5};
        st.relaxed.gpu.global.b128 [%q2+32], %w3;";
    assert_eq!(run("", body, 1, &[1, 2, 3, 4], 12), [3, 4, 1, 2, 3, 4, 1, 2, 3, 4, 1, 2]);
    let odd = try_run("", "add.u64 %q4, %q1, 8; ld.global.b128 %w1, [%q4];", 1, &[0; 8], 1);
    assert_eq!(fault(odd), FaultKind::Misaligned);
}

const SHARED: &str = ".shared .align 256 .b8 sh[256];";

#[test]
fn a_cluster_of_one_block_is_the_block() {
    // Each of 64 threads stores, arrives, waits, and reads another's word by an address of the cluster.
    let body = "mov.u32 %r4, sh; mad.lo.u32 %r5, %r1, 4, %r4; st.shared.u32 [%r5], %r1;
        barrier.cluster.arrive.release.aligned; barrier.cluster.wait.acquire.aligned;
        mov.u32 %r6, %cluster_ctarank; mapa.shared::cluster.u32 %r7, %r4, %r6;
        sub.u32 %r8, 63, %r1; mad.lo.u32 %r8, %r8, 4, %r7; ld.shared::cluster.u32 %r9, [%r8];
        mov.u64 %q4, sh; cvta.shared.u64 %q4, %q4; mapa.u64 %q5, %q4, 0; mul.wide.u32 %q6, %r1, 4; add.u64 %q5, %q5, %q6;
        ld.u32 %r10, [%q5]; mov.u32 %r11, %cluster_nctarank; getctarank.shared::cluster.u32 %r12, %r8;
        add.u32 %r11, %r11, %r12; mov.u32 %r12, %cluster_nctaid.x; st.global.v4.u32 [%q3], {%r9, %r10, %r11, %r12};";
    let want: Vec<u32> = (0..64).flat_map(|t| [63 - t, t, 1, 1]).collect();
    assert_eq!(run(SHARED, body, 64, &[0], 256), want);
    let beyond = try_run(SHARED, "mov.u32 %r4, sh; mapa.shared::cluster.u32 %r5, %r4, 1;", 1, &[0], 1);
    assert_eq!(fault(beyond), FaultKind::Unsupported("block 1 of a cluster of one block".into()));
}

#[test]
fn arriving_does_not_wait_and_waiting_orders() {
    // The lower warp arrives, works and waits last; the upper exits after it arrived: nobody waits for the dead.
    let body = "mov.u32 %r4, sh; mad.lo.u32 %r5, %r1, 4, %r4; st.shared.u32 [%r5], %r1;
        barrier.cluster.arrive; setp.ge.u32 %p1, %r1, 32; @%p1 exit; mov.u32 %r6, 0;
        L: add.u32 %r6, %r6, 1; setp.lt.u32 %p2, %r6, 50; @%p2 bra L;
        barrier.cluster.wait; ld.shared.u32 %r7, [%r5+128]; st.global.u32 [%q3], %r7;
        barrier.cluster.arrive.relaxed; barrier.cluster.wait;";
    let got: Vec<u32> = run(SHARED, body, 64, &[0], 128).into_iter().step_by(4).collect();
    assert_eq!(got, (32..64).collect::<Vec<u32>>());
    // Without the wait, the read races with the other warp's store.
    let hurried = try_run(SHARED, &body.replace("barrier.cluster.wait; ld", "ld"), 64, &[0], 128);
    assert!(matches!(fault(hurried), FaultKind::Race { .. }));
    // A warp that comes late is waited for, however long it takes.
    let late =
        "mov.u32 %r4, sh; mad.lo.u32 %r5, %r1, 4, %r4; mov.u32 %r6, 0; setp.lt.u32 %p1, %r1, 32; @%p1 bra S;
        L: add.u32 %r6, %r6, 1; setp.lt.u32 %p2, %r6, 20000; @%p2 bra L;
        S: st.shared.u32 [%r5], %r1; barrier.cluster.arrive; barrier.cluster.wait;
        xor.b32 %r5, %r5, 128; ld.shared.u32 %r7, [%r5]; st.global.u32 [%q3], %r7;";
    let got: Vec<u32> = run(SHARED, late, 64, &[0], 256).into_iter().step_by(4).collect();
    assert_eq!(got, (32..64).chain(0..32).collect::<Vec<u32>>());
    // Who never arrives keeps the others.
    let absent =
        "setp.ge.u32 %p1, %r1, 32; @%p1 bar.sync 1, 64; barrier.cluster.arrive; barrier.cluster.wait;";
    assert_eq!(fault(try_run(SHARED, absent, 64, &[0], 4)), FaultKind::Deadlock);
    // `.aligned` is for all lanes of a warp.
    let divergent =
        "setp.lt.u32 %p1, %r1, 7; @%p1 barrier.cluster.arrive.aligned; @!%p1 barrier.cluster.arrive.aligned;
        barrier.cluster.wait;";
    assert_eq!(fault(try_run(SHARED, divergent, 32, &[0], 4)), FaultKind::DivergentBarrier);
}

#[test]
fn clusters_of_several_blocks_are_refused_by_name() {
    let text = FRAME
        .replace("{top}", "")
        .replace("{body}", "")
        .replace("to)\n{", "to)\n.reqnctapercluster 2, 1, 1\n{");
    let bench = Bench::new(Level::Full);
    let f = bench.compile(&text, "k");
    match bench.try_launch(&f, [2, 1, 1], [1, 1, 1], 0, &[0u64.into(), 0u64.into()]) {
        Err(LaunchError::Unsupported { instructions, .. }) => {
            assert_eq!(instructions[0].instruction, "a cluster of more than one block");
        }
        other => panic!("{other:?}"),
    }
}

/// Short vectors are as long as a word, and neighbours make up a run of words: still each register takes its part.
#[test]
fn short_vectors_of_neighbouring_lanes() {
    let input: Vec<u32> = (0..32).map(|k| 0xa1b2_c3d4 ^ (k * 0x0101_0101)).collect();
    let halves = "mul.wide.u32 %q4, %r1, 4; add.u64 %q5, %q4, %q1; add.u64 %q6, %q4, %q2;
        ld.global.v2.u16 {%h1, %h2}, [%q5]; mov.b32 %r2, {%h2, %h1}; st.global.u32 [%q6], %r2;
        setp.gt.u16 %p1, %h1, 0xff00; shr.b16 %h3, %h1, 8; and.b16 %h4, %h1, 0xff; or.b16 %h3, %h3, %h4;
        st.global.v2.u16 [%q6+128], {%h3, %h2};";
    let got = run("", halves, 32, &input, 64);
    let swapped: Vec<u32> = input.iter().map(|v| v.rotate_left(16)).collect();
    assert_eq!(got[..32], swapped);
    let mixed: Vec<u32> = input.iter().map(|v| v & 0xffff_0000 | ((v & 0xffff) >> 8) | (v & 0xff)).collect();
    assert_eq!(got[32..], mixed);
    let bytes = "mul.wide.u32 %q4, %r1, 4; add.u64 %q5, %q4, %q1; add.u64 %q6, %q4, %q2;
        ld.global.v4.u8 {%h1, %h2, %h3, %h4}, [%q5];
        mov.b32 %r2, {%h4, %h3}; mov.b32 %r3, {%h2, %h1}; st.global.u32 [%q6], %r2; st.global.u32 [%q6+128], %r3;";
    let got = run("", bytes, 32, &input, 64);
    let pair = |v: u32, low: u32, high: u32| (v >> (8 * low) & 0xff) | (v >> (8 * high) & 0xff) << 16;
    assert_eq!(got[..32], input.iter().map(|v| pair(*v, 3, 2)).collect::<Vec<_>>());
    assert_eq!(got[32..], input.iter().map(|v| pair(*v, 1, 0)).collect::<Vec<_>>());
}

#[test]
fn integers_of_24_bits_of_pairs_and_of_fields() {
    for (instruction, a, b, c, want) in [
        // The product of 0x800000 and 0xffffff, and of their signed readings -0x800000 and -1.
        ("mul24.hi.u32 %r10, %r4, %r5", 0xff80_0000, 0x00ff_ffff, 0, 0x7fff_ff80),
        ("mul24.hi.s32 %r10, %r4, %r5", 0xff80_0000, 0x00ff_ffff, 0, 0x80),
        ("mad24.lo.u32 %r10, %r4, %r5, %r6", 0x100_0003, 5, 7, 22),
        ("mad24.lo.s32 %r10, %r4, %r5, %r6", 0x00ff_ffff, 5, 7, 2),
        ("mad24.hi.u32 %r10, %r4, %r5, %r6", 0xff80_0000, 0x00ff_ffff, 0x80, 0x8000_0000),
        ("mad24.hi.s32 %r10, %r4, %r5, %r6", 0x0080_0000, 0x0080_0000, i32::MAX as u32, 0xbfff_ffff),
        ("mad24.hi.sat.s32 %r10, %r4, %r5, %r6", 0x0080_0000, 0x0080_0000, i32::MAX as u32, i32::MAX as u32),
        (
            "mad.hi.sat.s32 %r10, %r4, %r5, %r6",
            i32::MIN as u32,
            i32::MAX as u32,
            i32::MIN as u32,
            i32::MIN as u32,
        ),
        ("bmsk.wrap.b32 %r10, %r4, %r5", 36, 35, 0, 0x70),
        ("bmsk.clamp.b32 %r10, %r4, %r5", 36, 3, 0, 0),
        ("szext.clamp.s32 %r10, %r4, %r5", 0x80, 8, 0, 0xffff_ff80),
        ("szext.clamp.u32 %r10, %r4, %r5", 0xffff_ffff, 40, 0, 0xffff_ffff),
        ("szext.wrap.u32 %r10, %r4, %r5", 0xffff_ffff, 40, 0, 0xff),
        ("add.u16x2 %r10, %r4, %r5", 0xffff_ffff, 0x0002_0001, 0, 0x0001_0000),
        ("min.s16x2 %r10, %r4, %r5", 0x8000_0001, 0x7fff_ffff, 0, 0x8000_ffff),
        ("max.u16x2 %r10, %r4, %r5", 0x8000_0001, 0x7fff_ffff, 0, 0x8000_ffff),
        ("max.relu.s16x2 %r10, %r4, %r5", 0x8000_0001, 0xffff_0003, 0, 3),
        ("min.relu.s32 %r10, %r4, %r5", -4i32 as u32, 5, 0, 0),
        ("max.relu.s32 %r10, %r4, %r5", -4i32 as u32, 5, 0, 5),
        ("max.relu.s32 %r10, %r4, %r5", -4i32 as u32, -5i32 as u32, 0, 0),
        ("min.u16x2 %r10, %r4, %r5", 0x8000_0001, 0x7fff_ffff, 0, 0x7fff_0001),
        ("max.s16x2 %r10, %r4, %r5", 0x8000_0001, 0x7fff_ffff, 0, 0x7fff_0001),
        ("min.relu.s16x2 %r10, %r4, %r5", 0x8000_0002, 0x7fff_0003, 0, 2),
    ] {
        assert_eq!(words(&format!("{instruction};"), &[a, b, c], 1), [want], "{instruction}");
    }
    let body = "mov.b32 {%h1, %h2}, %r4; mad.hi.u16 %h3, %h1, %h1, %h2; mad.hi.s16 %h4, %h1, %h1, %h2; mov.b32 %r10, {%h3, %h4};";
    assert_eq!(words(body, &[0x0005_ffff], 1), [0x0005_0003]);
}

#[test]
fn the_sign_of_a_minimum_may_be_that_of_the_product() {
    let nan = f32::NAN.to_bits();
    for (instruction, a, b, want) in [
        ("min.xorsign.abs", (-3f32).to_bits(), 2f32.to_bits(), (-2f32).to_bits()),
        ("max.xorsign.abs", (-3f32).to_bits(), (-2f32).to_bits(), 3f32.to_bits()),
        ("min.NaN.xorsign.abs", nan, 2f32.to_bits(), 0x7fff_ffff),
        ("max.ftz.xorsign.abs", 0x8000_0001, 1, 0x8000_0000),
    ] {
        let body = format!(
            "mov.b32 %f1, %r4; mov.b32 %f2, %r5; {instruction}.f32 %f3, %f1, %f2; mov.b32 %r10, %f3;"
        );
        assert_eq!(words(&body, &[a, b], 1), [want], "{instruction}");
    }
    for (ty, brain) in [("f16x2", false), ("bf16x2", true)] {
        let body = format!("min.xorsign.abs.{ty} %r10, %r4, %r5; max.xorsign.abs.{ty} %r11, %r4, %r5;");
        let got = words(&body, &[halves(-3, 2, brain), halves(2, 5, brain)], 2);
        assert_eq!(got, [halves(-2, 2, brain), halves(-3, 5, brain)], "{ty}");
    }
}

#[test]
fn halves_become_bytes_and_tests_of_halves_become_masks() {
    // 1.5 is 0x3c in e4m3 and 0x3e in e5m2; what is too large is the largest.
    let both = u32::from(half::f16::from_f32(1.5).to_bits())
        | u32::from(half::f16::from_f32(-60000.0).to_bits()) << 16;
    let body = "cvt.rn.satfinite.e4m3x2.f16x2 %h1, %r4; cvt.rn.satfinite.relu.e5m2x2.f16x2 %h2, %r4; mov.b32 %r10, {%h1, %h2};";
    assert_eq!(words(body, &[both], 1), [0x003e_fe3c]);
    let body = "mov.b32 {%h1, %h2}, %r4; set.lt.u16.f16 %h3, %h2, %h1; set.geu.s16.f16 %h4, %h2, %h1; mov.b32 %r10, {%h3, %h4};";
    assert_eq!(words(body, &[halves(2, -1, false)], 1), [0x0000_ffff]);
}

#[test]
fn a_modifier_is_never_passed_over() {
    for instruction in [
        "min.relu.f16 %h1, %h2, %h3",
        "min.relu.u32 %r4, %r5, %r6",
        "min.abs.f32 %f1, %f2, %f3",
        "fence.acq_rel.gpu.cta",
        "fence.of.nothing",
        "prefetch.shared.L1 [%q1]",
        "pmevent.mask.odd 3",
        "createpolicy.whole.L2::evict_last.b64 %q4",
    ] {
        match try_run("", &format!("{instruction};"), 1, &[0], 1) {
            Err(LaunchError::Unsupported { .. }) => {}
            other => panic!("{instruction}: {other:?}"),
        }
    }
}
