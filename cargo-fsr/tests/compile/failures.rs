//! What a candidate hears when it does not compile.

use super::*;

#[test]
fn have_line_and_column_and_no_path_of_this_machine() {
    let source = "#include <cuda_fp16.h>\nextern \"C\" __global__ void k(float* x) {\n\tx[0] = y\n}\n\
        __device__ void f() { __half2 h = __float2half2_rn(\"x\"); }\n";
    let (kind, log) = failure(compiler().compile(&request(source)));
    assert_eq!(kind, CompileFailureKind::Errors);
    insta::assert_snapshot!(log, @r#"
    kernel.cu:3:9: error: identifier "y" is undefined
      	x[0] = y
      	       ^
    kernel.cu:4:1: error: expected a ";"
      }
      ^
    kernel.cu:5:52: error: argument of type "const char *" is incompatible with parameter of type "float"
      __device__ void f() { __half2 h = __float2half2_rn("x"); }
                                                         ^
    "#);
}

#[test]
fn inside_cudas_headers_name_the_header_only() {
    let source = "#include <cuda/std/array>\nextern \"C\" __global__ void k(int* x) { cuda::std::array<int, 2> a; x[0] = cuda::std::get<5>(a); }";
    let (kind, log) = failure(compiler().compile(&request(source)));
    assert_eq!(kind, CompileFailureKind::Errors);
    let home = toolchain(VERSION).library;
    let home = home.ancestors().nth(4).unwrap().to_str().unwrap();
    assert!(!log.contains(home) && !log.contains("/nvidia/"), "{log}");
    assert!(log.contains("kernel.cu"), "{log}");
}

#[test]
fn a_missing_entry_is_told_with_what_is_there() {
    let (kind, log) = failure(compiler().compile(&request("__global__ void k(float* x) { x[0] = 1; }")));
    assert_eq!(kind, CompileFailureKind::NoEntry);
    insta::assert_snapshot!(log, @r#"
    it compiles, and defines no kernel `k`
    it defines `_Z1kPf`
    `k` is there under a C++ name: declare it as extern "C" __global__ void k(...), outside any namespace
    "#);
    let (kind, _) = failure(compiler().compile(&request("")));
    assert_eq!(kind, CompileFailureKind::NoEntry);
}

#[test]
fn an_include_of_another_file_never_reaches_the_compiler() {
    let secret = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(secret.path(), "TOP SECRET").unwrap();
    let (kind, log) =
        failure(compiler().compile(&request(&format!("#include \"{}\"\n{SAXPY}", secret.path().display()))));
    assert_eq!(kind, CompileFailureKind::Refused);
    assert!(log.starts_with("kernel.cu:1:10: refused: "), "{log}");
    assert!(!log.contains("SECRET"), "{log}");
}

#[test]
fn asm_built_by_macros_is_seen_in_the_ptx() {
    let source = "#define OUT \"}\" \" .visible .entry evil() {\"\n\
        extern \"C\" __global__ void k(int* x) { asm volatile(\"ret;\" OUT); x[0] = 1; }";
    let (kind, log) = failure(compiler().compile(&request(source)));
    assert_eq!(
        (kind, log.as_str()),
        (CompileFailureKind::Refused, "asm leaves the kernel: it closes a brace that it did not open\n")
    );
}

#[test]
fn an_arch_that_the_compiler_does_not_know_is_the_specs_fault() {
    let compiler = compiler();
    let arch = "sm_999".parse().unwrap();
    let error = compiler.compile(&CompileRequest { arch, ..request(SAXPY) }).unwrap_err();
    assert!(matches!(error, CompilerError::Target { .. }));
    let text = error.to_string();
    assert!(text.starts_with("CUDA 12.8 does not compile for sm_999; it knows sm_50, "), "{text}");
    assert!(compiler.check_target(&arch).is_err());
    assert!(compiler.check_target(&"sm_90a".parse().unwrap()).is_ok());
}
