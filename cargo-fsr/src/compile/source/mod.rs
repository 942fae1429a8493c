//! What a candidate may write, decided before the compiler sees it: it reaches CUDA's headers, the spec's own, and no
//! other file of this machine, neither by content nor by existence.
//!
//! Lexical, and on the safe side: what could be read in two ways is refused. Refusals are for a model to act on, with
//! line, column and the way out. Nothing here compiles, and nothing is read from the disk but the names of CUDA's
//! headers.

mod conditions;
mod lex;
mod names;
mod rules;

use lex::Fault;
pub(super) use names::{Known, PRELUDE, STANDARD, is_cuda, is_cuda_folder};

/// Refusals that are told of one source.
const TOLD: usize = 10;

/// What the check of one source found.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Checked {
    /// Messages, first ones first; empty when the source may be compiled.
    pub(super) refusals: String,
    /// Names that look like CUDA's, and are not in this toolkit.
    pub(super) absent: Vec<String>,
}

/// Checks one source or header, in which lines end in LF.
pub(super) fn check(file: &str, text: &str, known: &Known<'_>) -> Checked {
    let mut faults = Vec::new();
    let lines = lex::lines(text, &mut faults);
    let mut checked = Checked::default();
    rules::apply(&lines, known, &mut faults, &mut checked);
    conditions::apply(&lines, &mut faults);
    faults.sort_by_key(|fault| fault.place);
    faults.dedup();
    checked.refusals = render(file, text, &faults);
    checked
}

fn render(file: &str, text: &str, faults: &[Fault]) -> String {
    let mut out = String::new();
    for fault in faults.iter().take(TOLD) {
        out.push_str(&format!("{file}:{}: refused: {}\n", fault.place, fault.reason));
        let line = text.lines().nth(fault.place.line as usize - 1).unwrap_or_default();
        let shown: String = line.trim().chars().filter(|c| !c.is_control()).take(120).collect();
        if !shown.is_empty() {
            out.push_str(&format!("  {shown}\n"));
        }
    }
    if faults.len() > TOLD {
        out.push_str(&format!("... and {} more\n", faults.len() - TOLD));
    }
    out
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn refusals(source: &str) -> String {
        let headers = [("common.cuh".to_owned(), String::new())];
        let has = |name: &str| {
            ["cuda_fp16.h", "mma.h", "cuda/std/cstdint", "cooperative_groups/reduce.h", "cuda_runtime.h"]
                .contains(&name)
        };
        check("kernel.cu", source, &Known { headers: &headers, in_toolkit: &has }).refusals
    }

    #[test]
    fn ordinary_kernels_pass() {
        for source in [
            "#include <cuda_fp16.h>\n#include <mma.h>\n#include \"common.cuh\"\n#include <cuda/std/cstdint>\n",
            "#include <cooperative_groups/reduce.h>\n#include <cuda_runtime.h>\n#include <cstdint>\n#include <math.h>\n",
            "#pragma once\n#ifndef TILE\n#define TILE 32\n#endif\n#if TILE > 16 && defined(__CUDA_ARCH__) && (__CUDA_ARCH__ >= 900)\n#elif TILE\n#else\n#endif\n",
            "#define UNROLL _Pragma(\"unroll\")\n#define CAT(a, b) a##b\n#define S(x) #x\n",
            "#pragma unroll\n#pragma unroll 4\n#pragma nv_diag_suppress 177\n#pragma GCC diagnostic ignored \"-Wx\"\n",
            "__global__ void k() { asm volatile(\"cp.async.cg.shared.global [%0], [%1], 16;\\n\" :: \"r\"(a), \"l\"(b) : \"memory\"); }",
            "__global__ void k() { asm volatile(\"{\\n .reg .pred p;\\n\" \"setp.ne.b32 p, %0, 0;\\n}\\n\" : : \"r\"(x)); }",
            "// em dash \u{2014} and a \"quote\" isn't code\nint a = 1'000; /* don't */\n",
            "#error no \"such\" thing\n#\n",
            "#if defined TILE && __has_builtin(__nvvm_reflect)\n#endif\n",
        ] {
            assert_eq!(refusals(source), "", "{source}");
        }
    }

    #[test]
    fn every_way_to_another_file_is_refused() {
        for source in [
            "#include \"/etc/passwd\"",
            "#include </etc/passwd>",
            "#include \"../../etc/passwd\"",
            "#include <cuda/../../../etc/passwd>",
            "#include \"./common.cuh\"",
            "#include <cuda//std/cstdint>",
            "#include \"C:\\secret.h\"",
            "#include \"secret.h\"",
            "#include <vector>",
            "#include <sys/stat.h>",
            "#include <cuda_fp16.h",
            "#include",
            "#include <cuda_fp16.h> \"/etc/passwd\"",
            "#define H \"/etc/passwd\"\n#include H",
            "#define H(x) <x>\n#include H(cuda_fp16.h)",
            "%:include \"/etc/passwd\"",
            "#inc\\\nlude \"/etc/passwd\"",
            "/**/#/**/include/**/\"/etc/passwd\"",
            "/*\n*/ #include \"/etc/passwd\"",
            "int a; /*\n*/ #include \"/etc/passwd\"",
            "// \\ \n#include \"/etc/passwd\"",
            "// x\r#include \"/etc/passwd\"",
            "\x0b#include \"/etc/passwd\"",
            "#include_next <cuda_fp16.h>",
            "#import <cuda_fp16.h>",
            "#embed \"/etc/passwd\"",
            "#if __has_include(\"/etc/passwd\")\n#endif",
            "#if __has_embed(\"/etc/passwd\")\n#endif",
            "#ifdef __has_include\n#endif",
            "#define H __has_include\n",
            "#define C(a, b) a##b\n#if C(__has_, include)(\"/etc/passwd\")\n#endif",
            "#define H __has_##include(\"/etc/passwd\")\n#if H\n#endif",
            "#define H __has_##include\n#if H(\"/etc/passwd\")\n#endif",
            "#define G __has_%:%:include(\"/etc/passwd\")\n#define H G\n#if 1\n#elif H\n#endif",
            "#define P _CCCL_PP_CAT\n#if P(__has_, include)(\"/etc/passwd\")\n#endif",
            "#define __has_attribute(x) 1\n",
            "#line 1 \"/etc/passwd\"",
            "# 1 \"/etc/passwd\"",
            "#ident \"x\"",
            "#using \"x\"",
            "#\\u0069nclude \"/etc/passwd\"",
            "#\u{a0}include \"/etc/passwd\"",
            "#pragma GCC dependency \"/etc/passwd\"",
            "#pragma include_alias(\"a.h\", \"/etc/passwd\")",
            "#pragma",
            "_Pragma(\"include_alias(x)\")",
            "#define P(x) _Pragma(#x)",
            "R\"(\n#include \"/etc/passwd\"\n)\"",
            "const char* s = R\"(abc)\\\n\";\n#include \"/etc/passwd\"\n//)\";",
            "#if 0\n' /*\n/*/\n#include \"/etc/passwd\"\n#endif\n",
            "const char* t = __TIME__;",
            "const char* t = __DATE__;",
        ] {
            assert_ne!(refusals(source), "", "{source}");
        }
    }

    #[test]
    fn asm_that_leaves_the_kernel_is_refused_where_it_is_written() {
        for source in [
            "void k() { asm(\"} .visible .entry evil() {\"); }",
            "void k() { asm volatile(\"ret;\\n}\\n\" \".func f() {\"); }",
            "void k() { __asm__ __volatile__(\".file 1 \\\"/etc/passwd\\\"\"); }",
            "#define BAD asm(\"/*\")\n",
            "void k() { asm(R\"(// end inline asm)\"); }",
        ] {
            assert_ne!(refusals(source), "", "{source}");
        }
    }

    #[test]
    fn refusals_name_the_place_the_reason_and_the_way_out() {
        insta::assert_snapshot!(refusals(concat!(
            "#include <cuda_fp16.h>\n",
            "  #include \"../secret.h\"\n",
            "#include <vector>\n",
            "#include <cuda_fp32.h>\n",
            "#if __has_include(<vector>)\n",
            "#endif\n",
            "#line 7\n",
            "#pragma comment(lib, \"x\")\n",
            "#if MAX(1, 2)\n",
            "#endif\n",
            "__global__ void k() { asm(\"ret; }\"); }\n",
        )));
    }

    #[test]
    fn many_refusals_are_cut() {
        let text = refusals(&"#line 7\n".repeat(50));
        assert!(text.ends_with("... and 40 more\n"), "{text}");
    }

    proptest! {
        /// Whatever surrounds it: an include of another file that the compiler would see is never missed. The sources
        /// are built so that every line is either whole and harmless, or the include.
        #[test]
        fn an_include_between_harmless_lines_is_found(
            before in prop::collection::vec(harmless(), 0..8),
            include in prop::sample::select(vec!["#include \"/etc/passwd\"", "%: include </etc/passwd>", "/* */ #\\\ninclude \"/x\""]),
            after in prop::collection::vec(harmless(), 0..8),
        ) {
            let source = format!("{}\n{include}\n{}\n", before.join("\n"), after.join("\n"));
            prop_assert_ne!(refusals(&source), "", "{}", source);
            let without = format!("{}\n{}\n", before.join("\n"), after.join("\n"));
            prop_assert_eq!(refusals(&without), "", "{}", without);
        }

        #[test]
        fn no_text_makes_it_panic(source in r#"([#%:"'/*\\\n <>.()a-zR\r\x00\t]|include|__has_include|asm|_Pragma|define|é){0,80}"#) {
            refusals(&source);
        }
    }

    fn harmless() -> impl Strategy<Value = &'static str> {
        prop::sample::select(vec![
            "int a = 1'000;",
            "// it's /* not open",
            "/* \" ' */",
            "const char* s = \"/*\";",
            "char c = '\"';",
            "auto r = R\"x(\" /* ' )\" )x\";",
            "#define A(x) #x",
            "#if 0",
            "#endif",
            "",
            "a \\\nb",
            "// spliced \\\ncomment",
        ])
    }
}
