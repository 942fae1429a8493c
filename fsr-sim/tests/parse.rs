//! The front end reads what compilers write, keeps what it does not know, says where text is not PTX, and never panics.

use fsr_sim::parse::{self, Constant, Operand, Statement};
use proptest::prelude::*;

const HEAD: &str = ".version 8.0\n.target sm_80\n.address_size 64\n";

fn kernels() -> Vec<(String, String)> {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/kernels");
    let mut out: Vec<_> = std::fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|e| e == "ptx"))
        .map(|path| {
            (path.file_name().unwrap().to_string_lossy().into_owned(), std::fs::read_to_string(path).unwrap())
        })
        .collect();
    out.sort();
    assert!(out.len() > 10);
    out
}

fn body(text: &str) -> Vec<parse::Instruction<'_>> {
    let module = parse::parse(text).unwrap();
    module.functions[0]
        .body
        .clone()
        .unwrap()
        .into_iter()
        .filter_map(|s| match s {
            Statement::Instruction(i) => Some(i),
            _ => None,
        })
        .collect()
}

#[test]
fn every_compiled_kernel_parses() {
    for (name, text) in kernels() {
        let module = parse::parse(&text).unwrap_or_else(|e| panic!("{name}: {e}"));
        assert_eq!(module.version, (9, 0), "{name}");
        let target = if name.starts_with("bulk") { "sm_90" } else { "sm_80" };
        assert_eq!(module.target, [target], "{name}");
        assert!(module.functions.iter().any(|f| f.body.is_some()), "{name}");
    }
}

#[test]
fn an_unknown_instruction_is_carried_whole() {
    let text = format!(
        "{HEAD}.entry k() {{ @!%p1 frobnicate.shared::cta.v4.b32 {{%r1, _}}|%p2, [%rd1+-8, {{%r2, 3}}], !%p3, -0f3F800000; }}"
    )
    .replace("|%p2", "");
    let instructions = body(&text);
    assert_eq!(instructions[0].full_name(), "frobnicate.shared::cta.v4.b32");
    assert_eq!(instructions[0].operands.len(), 4);
    assert_eq!(instructions[0].operands[3], Operand::Constant(Constant::F32(0xbf80_0000)));
    assert!(instructions[0].guard.unwrap().negated);
}

#[test]
fn declarations_of_every_kind() {
    let text = format!(
        "{HEAD}
        .file 1 \"a.cu\", 123, 456
        .extern .shared .align 16 .b8 dynamic[];
        .visible .global .align 4 .u32 table[2][2] = {{ {{1, 2}}, {{0x3, -4}} }};
        .global .u64 pointer = generic(table)+8;
        .const .f32 pi = 0f40490FDB;
        .global .b8 a, b[3];
        .extern .func (.param .b32 r) vprintf (.param .b64 f, .param .b64 a);
        .weak .func (.param .align 8 .b8 r[16]) f (.param .b32 x) .noreturn {{ ret; }}
        .visible .entry k(.param .u64 .ptr .global .align 16 p, .param .align 8 .b8 s[24])
        .maxntid 256, 1, 1 .minnctapersm 2
        {{
            .reg .b32 %r<5>, %x;
            .loc 1 7 3, function_name $L__info+8, inlined_at 1 2 3
            proto: .callprototype (.param .b32 _) _ (.param .b64 _);
            targets: .branchtargets A, B;
            {{ .param .b32 q; call.uni (q), f, (q); call (q), %r1, (q), proto; }}
            brx.idx %r1, targets;
            A: B: ret;
        }}
        .section .debug_str {{ x: .b8 1 }}"
    );
    let module = parse::parse(&text).unwrap();
    insta::assert_debug_snapshot!(module);
}

#[test]
fn errors_say_where() {
    let cases = [
        "",
        ".version 8.0\nfoo",
        ".version x",
        &format!("{HEAD}.entry k() {{ add.f32 %f1, ; }}"),
        &format!("{HEAD}.entry k() {{ add.f32 %f1, %f2"),
        &format!("{HEAD}.entry k() {{ ld.u32 %r1, [%rd1+]; }}"),
        &format!("{HEAD}.entry k() {{ mov.u32 %r1, 99999999999999999999999; }}"),
        &format!("{HEAD}.entry k() {{ mov.f32 %r1, 0f3F8; }}"),
        &format!("{HEAD}.entry k()\n  é"),
        &format!("{HEAD}.global .align 3 .b8 x;"),
        &format!("{HEAD}.bogus 3;"),
        &format!("{HEAD}/* open"),
    ];
    let messages: Vec<String> =
        cases.iter().map(|text| parse::parse(text).unwrap_err().to_string()).collect();
    insta::assert_snapshot!(messages.join("\n"));
}

#[test]
fn what_means_nothing_is_refused_with_its_place() {
    let cases = [
        ".entry k() { .reg .f32 %f<3>; .reg .b32 %r; add.f32 %f1, %r, %nope; }",
        ".entry k() { .reg .f32 %f<3>; .reg .b64 %rd; add.f32 %f1, %rd, %f2; }",
        ".entry k() { bra nowhere; }",
        ".entry k() { .reg .b128 %q<4000000000>; ret; }",
        ".entry k() { .reg .b32 %r<3>; ld.global.v2.u32 {%r1, %r2, %r0}, [%r1]; }",
        ".entry k() { .reg .b32 %r; mov.u32 %r, unknown_symbol; }",
        ".entry k() { .local .b8 x[99999999]; ret; }",
        ".global .u32 a; .global .u32 a;",
    ];
    let messages: Vec<String> = cases
        .iter()
        .map(|text| fsr_sim::Module::parse(&format!("{HEAD}{text}")).unwrap_err().to_string())
        .collect();
    insta::assert_snapshot!(messages.join("\n"));
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn arbitrary_text_never_panics(text in "\\PC{0,200}") {
        let _ = parse::parse(&text);
        let _ = parse::parse(&format!("{HEAD}.entry k() {{ {text} }}"));
    }

    #[test]
    fn ptx_like_soup_never_panics(words in prop::collection::vec(prop::sample::select(vec![
        ".reg", ".b32", "%r1", "<", ">", "{", "}", "(", ")", "[", "]", ",", ";", ":", "@", "!", "0x", "0f", "12", "-", "+",
        "add", ".f32", "|", ".entry", ".func", "k", ".param", ".align", "=", ".loc", ".section", ".callprototype", "\"s\"",
    ]), 0..60)) {
        let text = words.join(" ");
        let _ = fsr_sim::Module::parse(&format!("{HEAD}{text}"));
        let _ = fsr_sim::Module::parse(&format!("{HEAD}.entry k() {{ {text} }}"));
    }

    /// Words of one instruction swapped for words of another: everything parses, little makes sense.
    #[test]
    fn shuffled_operands_never_panic(pick in 0usize..64, swaps in prop::collection::vec((any::<u16>(), any::<u16>()), 1..12)) {
        let all = kernels();
        let text = &all[pick % all.len()].1;
        let mut words: Vec<&str> = text.split_inclusive([' ', ',', ';', '\t', '.']).collect();
        for (a, b) in swaps {
            let (a, b) = (usize::from(a) % words.len(), usize::from(b) % words.len());
            words.swap(a, b);
        }
        let _ = fsr_sim::Module::parse(&words.concat());
    }

    #[test]
    fn mutated_kernels_never_panic(pick in 0usize..64, at in 0.0f64..1.0, cut in 0usize..40, put in "\\PC{0,6}") {
        let all = kernels();
        let text = &all[pick % all.len()].1;
        let mut start = (at * text.len() as f64) as usize;
        while !text.is_char_boundary(start) { start -= 1; }
        let mut end = (start + cut).min(text.len());
        while !text.is_char_boundary(end) { end += 1; }
        let _ = fsr_sim::Module::parse(&format!("{}{put}{}", &text[..start], &text[end..]));
        let _ = parse::parse(&text[..start]);
    }
}
