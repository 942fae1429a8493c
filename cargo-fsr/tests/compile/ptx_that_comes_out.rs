//! Plain, reproducible PTX.

use super::*;

#[test]
fn is_plain_and_says_its_compiler() {
    let ptx = ptx(compiler().compile(&request(SAXPY)));
    assert!(ptx.compiler.starts_with("12.8."), "{}", ptx.compiler);
    assert_eq!(ptx.log, "");
    assert_eq!(
        ptx.flags,
        ["--gpu-architecture=compute_90", "--std=c++17", "--device-as-default-execution-space"]
    );
    insta::assert_snapshot!(ptx.text);
}

#[test]
fn is_the_same_from_every_process_and_line_ending() {
    let source = format!("#include <cooperative_groups.h>\nnamespace {{ __device__ int c = 3; }}\n{SAXPY}");
    let first = ptx(compiler().compile(&request(&source)));
    let second = ptx(compiler().compile(&request(&source.replace('\n', "\r\n"))));
    assert_eq!(first.text, second.text);
}

/// CUDA's headers hold assertions, and these the name of their file.
#[test]
#[cfg(unix)]
fn is_the_same_wherever_the_toolkit_lies() {
    let source = "#define _CG_DEBUG\n#include <cooperative_groups.h>\n\
        extern \"C\" __global__ void k(int* x) { cooperative_groups::this_grid().sync(); x[0] = 1; }";
    let here = ptx(compiler().compile(&request(source)));
    let own = toolchain(VERSION);
    let elsewhere = tempfile::tempdir().unwrap();
    let nvidia = own.library.ancestors().nth(3).unwrap();
    for set in ["cuda_runtime", "cuda_nvcc", "cuda_cccl"] {
        std::os::unix::fs::symlink(nvidia.join(set).join("include"), elsewhere.path().join(set)).unwrap();
    }
    let include = ["cuda_cccl", "cuda_nvcc", "cuda_runtime"].map(|set| elsewhere.path().join(set)).to_vec();
    let moved = Toolchain { include, ..own };
    let compiler = NvrtcCompiler::start(moved, &own_settings(), Limits::default()).unwrap();
    let there = ptx(compiler.compile(&request(source)));
    assert!(here.text.contains("__assertfail"), "no assertion is left: {}", here.text);
    assert_eq!(here.text, there.text);
}

#[test]
fn holds_nothing_that_the_kernel_does_not_use() {
    let source = format!(
        "#include <cooperative_groups.h>\n#include <cuda/std/limits>\n\
         __constant__ float weights[4] = {{1, 2, 3, 4}};\n__device__ int unused;\n\
         extern \"C\" __global__ void second(float* x) {{ x[0] = weights[threadIdx.x & 3]; }}\n{SAXPY}"
    );
    let entries = vec!["k".to_owned(), "second".to_owned()];
    let ptx = ptx(compiler().compile(&CompileRequest { entries, ..request(&source) }));
    assert!(ptx.text.contains("weights[16]"), "{}", ptx.text);
    assert!(!ptx.text.contains("unused") && !ptx.text.contains("cuda3std"), "{}", ptx.text);
    assert!(ptx.text.len() < 3000, "{} bytes", ptx.text.len());
}

#[test]
fn follows_arch_and_defines() {
    let source = "extern \"C\" __global__ void k(int* x) { x[0] = TILE + __CUDA_ARCH__; }";
    let mut request = request(source);
    request.defines.insert("TILE".to_owned(), 16);
    let compiler = compiler();
    let hopper = ptx(compiler.compile(&request));
    assert!(hopper.text.contains(".target sm_90\n") && hopper.text.contains("916"), "{}", hopper.text);
    assert_eq!(hopper.flags.last().unwrap(), "--define-macro=TILE=16");
    request.arch = "sm_80".parse().unwrap();
    assert!(ptx(compiler.compile(&request)).text.contains(".target sm_80\n"));
    request.arch = "sm_90a".parse().unwrap();
    assert!(ptx(compiler.compile(&request)).text.contains(".target sm_90a\n"));
}

#[test]
fn is_as_plain_with_another_major_version() {
    let compiler = NvrtcCompiler::start(toolchain("13.0"), &own_settings(), Limits::default()).unwrap();
    let plain = ptx(compiler.compile(&request(SAXPY)));
    assert!(plain.compiler.starts_with("13.0."), "{}", plain.compiler);
    assert!(plain.text.starts_with(".version 9.0\n.target sm_90\n"), "{}", plain.text);
    let source =
        format!("#include <cooperative_groups/reduce.h>\n#include <mma.h>\n#include <cstdint>\n{SAXPY}");
    let with_headers = ptx(compiler.compile(&request(&source)));
    assert_eq!(with_headers.log, "");
    assert_eq!(with_headers.text, plain.text);
}

#[test]
fn comes_with_warnings_and_their_places() {
    let source = "extern \"C\" __global__ void k(int* x) {\n    int idle = 3;\n    x[0] = 1;\n}\n";
    let ptx = ptx(compiler().compile(&request(source)));
    insta::assert_snapshot!(ptx.log, @r#"
    kernel.cu:2:9: warning #177-D: variable "idle" was declared but never referenced
          int idle = 3;
              ^
    "#);
}

/// The text that ships has no line information, and its lines are known all the same.
#[test]
fn leads_back_to_the_source() {
    let source = r#"#include <cooperative_groups.h>
#include <cuda_fp16.h>
#include "own.cuh"
__device__ __noinline__ float apart(float x) {
    return x * x + 3;
}
extern "C" __global__ void k(const half* x, float* y, int n) {
    __shared__ float s[256];
    int i = blockIdx.x * 256 + threadIdx.x;
    s[threadIdx.x] = i < n ? __half2float(x[i]) : 0;
    cooperative_groups::this_thread_block().sync();
    for (int m = 0; m < n; m++)
        y[i] += apart(s[m & 255]) * last(x, n);
}
"#;
    let header = "__device__ float last(const half* x, int n) {\n    return x[n - 1];\n}\n";
    let request =
        CompileRequest { headers: vec![("own.cuh".to_owned(), header.to_owned())], ..request(source) };
    let mut told = Vec::new();
    for version in [VERSION, "13.0"] {
        let compiler = NvrtcCompiler::start(toolchain(version), &own_settings(), Limits::default()).unwrap();
        let ptx = ptx(compiler.compile(&request));
        assert!(!ptx.text.contains(".loc"));
        let table = compiler.lines(&ptx.text).unwrap_or_else(|| panic!("{version}: no lines"));
        let mut seen = std::collections::BTreeSet::new();
        for (number, line) in (1..).zip(ptx.text.lines()) {
            let word = line.split_whitespace().find(|word| !word.starts_with('@')).unwrap_or_default();
            let memory = ["ld.global", "st.global", "ld.shared", "st.shared", "bar.sync", "barrier"];
            if let Some(what) = memory.iter().find(|what| word.starts_with(*what)) {
                let at = table.source(number).unwrap_or_else(|| panic!("{version}: nothing behind `{line}`"));
                seen.insert(format!("{what} {}:{} {}", at.file, at.line, at.text));
            }
        }
        let seen: Vec<String> = seen.into_iter().collect();
        told.push(seen.join("\n"));
    }
    insta::assert_snapshot!(told[0], @r"
    barrier kernel.cu:11 cooperative_groups::this_thread_block().sync();
    ld.global kernel.cu:10 s[threadIdx.x] = i < n ? __half2float(x[i]) : 0;
    ld.global kernel.cu:13 y[i] += apart(s[m & 255]) * last(x, n);
    ld.global own.cuh:2 return x[n - 1];
    ld.shared kernel.cu:13 y[i] += apart(s[m & 255]) * last(x, n);
    st.global kernel.cu:13 y[i] += apart(s[m & 255]) * last(x, n);
    st.shared kernel.cu:10 s[threadIdx.x] = i < n ? __half2float(x[i]) : 0;
    ");
    assert!(told.iter().all(|other| *other == told[0]), "{told:#?}");
    assert_eq!(compiler().lines("never seen"), None);
}

/// Every compiler that can be installed writes PTX whose oldest driver the table of `fsr-build` tells right: nobody's pin
/// promises more drivers than load the result. Installs some 4 GB:
/// `FSR_TOOLCHAIN_DIR=DIR cargo test -p cargo-fsr --test compile -- --ignored every_version`.
#[test]
#[ignore = "installs sixteen compilers"]
fn states_an_isa_of_its_compilers_own_age_in_every_version() {
    let versions = [
        "11.8", "12.0", "12.1", "12.2", "12.3", "12.4", "12.5", "12.6", "12.8", "12.9", "13.0", "13.1",
        "13.2", "13.3", "13.4", "13.5",
    ];
    for version in versions {
        let compiler = NvrtcCompiler::start(toolchain(version), &own_settings(), Limits::default()).unwrap();
        let mut request = request("extern \"C\" __global__ void k(float* x) { x[threadIdx.x] += 1.0f; }");
        request.arch = "sm_80".parse().unwrap();
        let ptx = ptx(compiler.compile(&request));
        let header = fsr_build::store::PtxHeader::read(&ptx.text).unwrap();
        let first = header.isa.first_cuda().unwrap();
        println!("CUDA {version} (NVRTC {}): PTX ISA {}, driver {first} or newer", ptx.compiler, header.isa);
        // 12.6 writes the PTX of 12.5.
        assert!(
            first == version.parse().unwrap() || (version, first.to_string().as_str()) == ("12.6", "12.5")
        );
    }
}
