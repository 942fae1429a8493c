//! What candidates may include, and what they have without.

use super::*;

#[test]
fn of_cuda_and_of_the_standard_library_are_there() {
    let compiler = compiler();
    for header in [
        "cuda_fp16.h",
        "cuda_bf16.h",
        "cuda_fp8.h",
        "mma.h",
        "cooperative_groups.h",
        "cooperative_groups/reduce.h",
        "cooperative_groups/memcpy_async.h",
        "cuda/std/cstdint",
        "cuda/std/limits",
        "cuda/barrier",
        "cuda/pipeline",
        "cuda/ptx",
        "cub/block/block_reduce.cuh",
        "cuda_pipeline.h",
        "cuda_runtime.h",
        "device_launch_parameters.h",
        "math_constants.h",
        "vector_types.h",
        "stdint.h",
        "cstdint",
        "cfloat",
        "climits",
        "cmath",
        "math.h",
        "stdio.h",
        "assert.h",
    ] {
        let source = format!("#include <{header}>\n{SAXPY}");
        let ptx = ptx(compiler.compile(&request(&source)));
        assert_eq!(ptx.log, "", "{header}");
    }
}

#[test]
fn are_not_needed_for_what_nvcc_has_without_them() {
    let source = "extern \"C\" __global__ void k(float* x, uint32_t n, int64_t m) {\n\
        x[0] = -INFINITY; x[1] = FLT_MAX; x[2] = INT_MAX; x[3] = M_PI; x[4] = NAN; x[5] = n + m + UINT64_MAX;\n}";
    assert_eq!(ptx(compiler().compile(&request(source))).log, "");
    // A source that brings its own is as good.
    let own = "#define INFINITY __int_as_float(0x7f800000)\n#define FLT_MAX 3.402823466e+38f\n\
        typedef unsigned int uint32_t;\ntypedef unsigned long long uint64_t;\n";
    assert_eq!(ptx(compiler().compile(&request(&format!("{own}{SAXPY}")))).log, "");
}

#[test]
fn of_the_spec_are_in_memory_only() {
    let source = "#include \"common.cuh\"\nextern \"C\" __global__ void k(float* x) { x[0] = twice(x[1]); }";
    let headers = vec![
        ("common.cuh".to_owned(), "#pragma once\n#include \"deep/more.cuh\"\n".to_owned()),
        ("deep/more.cuh".to_owned(), "__device__ float twice(float x) { return 2 * x; }\r\n".to_owned()),
    ];
    ptx(compiler().compile(&CompileRequest { headers, ..request(source) }));
}

#[test]
fn of_the_spec_that_reach_out_are_a_fault_of_the_spec() {
    let source = format!("#include \"common.cuh\"\n{SAXPY}");
    let headers = vec![("common.cuh".to_owned(), "\n  #include \"../other.cuh\"\n".to_owned())];
    let error = compiler().compile(&CompileRequest { headers, ..request(&source) }).unwrap_err();
    assert!(matches!(error, CompilerError::Spec(_)));
    insta::assert_snapshot!(error, @r#"
    header of the spec:
    common.cuh:2:12: refused: `#include "../other.cuh"`: no absolute, relative or unusual paths; include CUDA's device headers (cuda_fp16.h, mma.h, cooperative_groups.h, cuda/std/..., cub/...) or "common.cuh"
      #include "../other.cuh"
    "#);
}

#[test]
fn missing_from_an_installation_are_no_fault_of_the_candidate() {
    let source = format!("#include <mma.h>\n{SAXPY}");
    let start = |origin| {
        let bare = Toolchain { include: Vec::new(), origin, ..toolchain(VERSION) };
        NvrtcCompiler::start(bare, &own_settings(), Limits::default()).unwrap()
    };
    let partial = start(Origin::Python);
    ptx(partial.compile(&request(SAXPY)));
    let error = partial.compile(&request(&source)).unwrap_err();
    assert!(error.to_string().ends_with("run `cargo fsr toolchain install 12.8`"), "{error}");
    // What `toolchain install` itself could not bring is not to be had, and candidates do without.
    let (kind, log) = failure(start(Origin::Installed).compile(&request(&source)));
    assert_eq!(kind, CompileFailureKind::Refused);
    assert!(log.contains("`#include <mma.h>`: this CUDA toolkit has no such header"), "{log}");
}
