//! Input that nobody would write by accident: it ends in one clear error or fault, soon, and never takes the host program
//! with it. Each of these once took minutes, or all memory.

mod support;

use fsr_sim::{
    Arg, Device, FaultKind, InvalidLaunch, LaunchConfig, LaunchError, Level, MemoryError, Module, Profile,
};
use std::fmt::Write as _;
use support::Bench;

const HEAD: &str = ".version 8.0\n.target sm_80\n.address_size 64\n";

fn refusal(text: &str) -> String {
    Module::parse(&format!("{HEAD}{text}")).unwrap_err().to_string()
}

fn fault(result: Result<fsr_sim::Report, LaunchError>) -> FaultKind {
    match result {
        Err(LaunchError::Fault(faults)) => faults.first().kind.clone(),
        other => panic!("{other:?}"),
    }
}

fn launch(bench: &Bench, text: &str, threads: u32, args: &[Arg]) -> Result<fsr_sim::Report, LaunchError> {
    let f = bench.compile(&format!("{HEAD}{text}"), "k");
    bench.try_launch(&f, [1, 1, 1], [threads, 1, 1], 0, args)
}

#[test]
fn blocks_within_blocks() {
    let nested = |n: usize| {
        format!(
            ".entry k() {{ .reg .b32 %r<4>; {} {} {} }}",
            "{".repeat(n),
            "add.u32 %r1, %r2, %r3;".repeat(20_000),
            "}".repeat(n)
        )
    };
    assert!(Module::parse(&format!("{HEAD}{}", nested(200))).is_ok());
    assert_eq!(refusal(&nested(1_000_000)), "ptx:4:8: blocks are nested more than 256 deep");
}

#[test]
fn functions_that_call_each_other_in_a_ring() {
    let mut text = String::new();
    (0..20_000).for_each(|k| writeln!(text, ".func f{k}();").unwrap());
    (0..20_000).for_each(|k| writeln!(text, ".func f{k}() {{ call f{}; ret; }}", (k + 1) % 20_000).unwrap());
    text.push_str(".entry k() { call f0; ret; }");
    for level in [Level::Off, Level::Full] {
        assert_eq!(fault(launch(&Bench::new(level), &text, 32, &[])), FaultKind::StackOverflow);
    }
}

#[test]
fn recursion_without_end_or_far_beyond_memory() {
    let bare = ".func f() { call f; ret; } .entry k() { call f; ret; }";
    let counted = ".func (.param .b32 r) f(.param .b32 a) {
            .reg .b32 %r<100>; .reg .pred %p; ld.param.u32 %r1, [a]; setp.eq.u32 %p, %r1, 0; @%p bra D; sub.u32 %r1, %r1, 1;
            { .param .b32 x; .param .b32 y; st.param.u32 [x], %r1; call (y), f, (x); ld.param.u32 %r2, [y]; }
            add.u32 %r2, %r2, %r1; D: st.param.u32 [r], %r2; ret; }
        .entry k() { .reg .b32 %r; { .param .b32 x; .param .b32 y; mov.u32 %r, %tid.x; add.u32 %r, %r, 100000000;
            st.param.u32 [x], %r; call (y), f, (x); } ret; }";
    for text in [bare, counted] {
        for level in [Level::Bounds, Level::Full] {
            assert_eq!(fault(launch(&Bench::new(level), text, 64, &[])), FaultKind::StackOverflow, "{text}");
        }
    }
}

/// As deep as a stack allows, each lane to a depth of its own, and all the way back.
#[test]
fn deep_recursion_returns() {
    let text = ".func (.param .b32 r) f(.param .b32 a) {
            .reg .b32 %r<8>; .reg .pred %p; ld.param.u32 %r1, [a]; mov.u32 %r2, 0; setp.eq.u32 %p, %r1, 0; @%p bra D;
            sub.u32 %r3, %r1, 1; { .param .b32 x; .param .b32 y; st.param.u32 [x], %r3; call (y), f, (x); ld.param.u32 %r2, [y]; }
            add.u32 %r2, %r2, %r1; D: st.param.u32 [r], %r2; ret; }
        .entry k(.param .u64 to) { .reg .b32 %r<4>; .reg .b64 %q<4>; mov.u32 %r1, %tid.x; mad.lo.u32 %r2, %r1, 3, 1500;
            { .param .b32 x; .param .b32 y; st.param.u32 [x], %r2; call (y), f, (x); ld.param.u32 %r2, [y]; }
            ld.param.u64 %q1, [to]; mul.wide.u32 %q2, %r1, 4; add.u64 %q1, %q1, %q2; st.global.u32 [%q1], %r2; ret; }";
    let bench = Bench::new(Level::Full);
    let to = bench.upload(&[0u32; 64]);
    launch(&bench, text, 64, &[to.into()]).unwrap();
    let depth = |t: u32| 3 * t + 1500;
    let want: Vec<u32> = (0..64).map(|t| depth(t) * (depth(t) + 1) / 2).collect();
    assert_eq!(bench.download::<u32>(to, 64), want);
}

#[test]
fn kernels_that_share_a_large_function() {
    let mut text =
        format!(".func f() {{ .reg .b32 %r<4>; {} ret; }}\n", "add.u32 %r1, %r2, %r3;".repeat(50_000));
    (0..1000).for_each(|k| writeln!(text, ".entry k{k}() {{ call f; ret; }}").unwrap());
    assert_eq!(
        refusal(&text),
        "ptx:172:8: `k167` and the kernels before it come to more than 8388608 instructions with what they call"
    );
}

#[test]
fn registers_and_constants_beyond_all_measure() {
    let most = |text: &str| match launch(&Bench::new(Level::Bounds), text, 1024, &[]) {
        Err(LaunchError::Invalid(InvalidLaunch::TooManyRegisters { most, .. })) => most,
        other => panic!("{other:?}"),
    };
    let declared: String = (0..10).map(|k| format!(".reg .b32 %x{k}<60000>;")).collect();
    assert_eq!(most(&format!(".entry k() {{ {declared} ret; }}")), 65_536);
    let constants: String = (0..100_000).map(|k| format!("mov.u32 %r, {k};\n")).collect();
    assert_eq!(most(&format!(".entry k() {{ .reg .b32 %r; {constants} }}")), 65_536);
    // The same is little for a block of one warp.
    assert!(
        launch(&Bench::new(Level::Bounds), &format!(".entry k() {{ {declared} ret; }}"), 32, &[]).is_ok()
    );
}

#[test]
fn instructions_that_nobody_knows() {
    let all: String = (0..100_000).map(|k| format!("frobnicate.a{k} %r;\n")).collect();
    let error = launch(&Bench::new(Level::Bounds), &format!(".entry k() {{ .reg .b32 %r; {all} }}"), 32, &[]);
    let message = error.unwrap_err().to_string();
    assert!(message.ends_with("frobnicate.a15 (ptx line 19), and 99984 more"), "{message}");
}

#[test]
fn variables_that_do_not_fit() {
    let local: String = (0..9000).map(|k| format!(".local .b8 x{k}[524288];\n")).collect();
    let message = refusal(&format!(".entry k() {{ {local} ret; }}"));
    assert_eq!(message, "ptx:5:12: `x1` does not fit into local memory beside the variables before it");
    let params: Vec<String> = (0..70_000).map(|k| format!(".param .b8 x{k}[65536]")).collect();
    let message = refusal(&format!(".entry k({}) {{ ret; }}", params.join(", ")));
    assert_eq!(message, "ptx:4:43: parameter `x1` does not fit beside those before it");
    let shared = ".entry k() { .shared .b8 x[300000]; .reg .b32 %r; mov.u32 %r, x; ret; }";
    let error = launch(&Bench::new(Level::Bounds), shared, 32, &[]).unwrap_err();
    assert_eq!(error.to_string(), "300000 bytes of shared memory a block; at most 232448 are allowed");
    // Global memory is the device's, of which only what is touched has to be the host's.
    let global = |n: usize| (0..n).map(|k| format!(".global .b8 x{k}[4294967295];\n")).collect::<String>();
    let device = Device::new(Profile::named("h200").unwrap());
    let load = |n| device.load(Module::parse(&format!("{HEAD}{}", global(n))).unwrap());
    assert!(matches!(load(60), Err(MemoryError::OutOfMemory { .. })));
    match load(4) {
        Ok(module) => {
            let (address, bytes) = module.variable("x3").unwrap();
            let mut end = [7];
            device.read(address + bytes - 1, &mut end).unwrap();
            assert_eq!(end, [0]);
        }
        // A host that promises no memory that it does not have.
        Err(error) => assert!(matches!(error, MemoryError::OutOfMemory { .. })),
    }
}

#[test]
fn memory_after_its_end() {
    let text = ".entry k(.param .u64 p) { .reg .b64 %q; .reg .b32 %r; ld.param.u64 %q, [p]; ld.global.u32 %r, [%q]; ret; }";
    for level in [Level::Off, Level::Bounds, Level::Full] {
        let bench = Bench::new(level);
        let buffer = bench.upload(&[1u32]);
        launch(&bench, text, 1, &[buffer.into()]).unwrap();
        bench.device.free(buffer).unwrap();
        assert_eq!(fault(launch(&bench, text, 1, &[buffer.into()])), FaultKind::OutOfBounds, "{level:?}");
        assert_eq!(bench.device.free(buffer), Err(MemoryError::InvalidAddress { address: buffer }));
        // A new buffer does not take the old one's place.
        let other = bench.upload(&[1u32]);
        assert_eq!(fault(launch(&bench, text, 1, &[buffer.into()])), FaultKind::OutOfBounds, "{level:?}");
        assert_eq!(bench.device.free(other + 1), Err(MemoryError::InvalidAddress { address: other + 1 }));
    }
}

#[test]
fn copies_out_of_range() {
    let bench = Bench::new(Level::Bounds);
    let (a, b) = (bench.upload(&[1u8; 100]), bench.upload(&[2u8; 50]));
    let out_of_range =
        |result: Result<(), MemoryError>| matches!(result, Err(MemoryError::OutOfRange { .. }));
    assert!(out_of_range(bench.device.write(a + 1, &[0; 100])));
    assert!(out_of_range(bench.device.read(b, &mut [0; 51])));
    assert!(out_of_range(bench.device.copy(b, a, 51)));
    assert!(out_of_range(bench.device.copy(a, b, 51)));
    assert!(out_of_range(bench.device.fill(a, &[1, 2, 3, 4], u64::MAX / 2)));
    assert!(out_of_range(bench.device.copy(a, b, u64::MAX)));
    assert_eq!(bench.download::<u8>(a, 100), [1; 100]);
    assert!(matches!(bench.device.read(77, &mut [0]), Err(MemoryError::InvalidAddress { address: 77 })));
}

/// Cut at every line of real kernels: an error with its place, or a module that lacks what was cut off.
#[test]
fn truncated_kernels() {
    for file in ["attention", "bulk", "control", "mma"] {
        let path = format!("{}/tests/kernels/{file}.ptx", env!("CARGO_MANIFEST_DIR"));
        let text = std::fs::read_to_string(path).unwrap();
        let lines = text.lines().count() as u32;
        let mut errors = 0;
        for (at, _) in text.match_indices('\n') {
            let cut = text.get(..at - at.min(3)).unwrap();
            match Module::parse(cut) {
                Err(error) => {
                    assert!((1..=lines).contains(&error.pos.line), "{error}");
                    errors += 1;
                }
                Ok(module) => assert!(module.entries().count() <= 8),
            }
        }
        assert!(errors > lines / 2, "{file}: {errors} of {lines}");
    }
}

/// 100 MB of what compilers write: kernels, comments, debug sections.
#[test]
fn a_file_of_100_megabytes() {
    let path = format!("{}/tests/kernels/softmax.ptx", env!("CARGO_MANIFEST_DIR"));
    let kernel = std::fs::read_to_string(path).unwrap();
    let (head, body) = kernel.split_at(kernel.find(".visible .entry").unwrap());
    let mut text = head.to_owned();
    let mut kernels = 0;
    while text.len() < 20 << 20 {
        text.push_str(&body.replace("softmax", &format!("k{kernels}")));
        kernels += 1;
    }
    while text.len() < 60 << 20 {
        text.push_str("// a comment of a line, as compilers write many of them: what was inlined where, and from which file\n");
    }
    text.push_str(".section .debug_info {\n");
    while text.len() < 100 << 20 {
        text.push_str(
            ".b8 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24\n",
        );
    }
    text.push_str("}\n");
    let module = Module::parse(&text).unwrap();
    assert_eq!(module.entries().count(), kernels);
    let device = Device::new(Profile::named("h200").unwrap());
    let f = device.load(module).unwrap().function(&format!("k{}", kernels - 1)).unwrap();
    assert!(device.launch(&f, LaunchConfig::linear(1, 32), &[]).is_err());
}
