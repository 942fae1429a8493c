//! Real compilations with NVRTC: what comes out, what is refused, and what limits do. No GPU is needed.
//!
//! A toolchain that is not on the machine is installed once into cargo-fsr's own folder (some 130 MB); a machine
//! without a package index sets `FSR_TOOLCHAIN_DIR` to one that was filled elsewhere. Nothing is skipped.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Mutex;
use std::time::Duration;

use cargo_fsr::compile::toolchain::{self, InstallError, Origin, Places, Settings, Toolchain};
use cargo_fsr::compile::{
    CompileFailureKind, CompileRequest, Compiled, Compiler, CompilerError, Limits, NvrtcCompiler, Ptx,
};

/// The version that most tests compile with.
const VERSION: &str = "12.8";

fn settings() -> Settings {
    let mut settings = Settings::from_env(None).unwrap();
    settings.program = env!("CARGO_BIN_EXE_cargo-fsr").into();
    settings
}

/// Only the folder that cargo-fsr fills: the same compiler on every machine.
fn own_settings() -> Settings {
    let mut settings = settings();
    settings.places = Places { installed: settings.places.installed, ..Places::default() };
    settings
}

fn toolchain(version: &str) -> Toolchain {
    let (version, settings) = (version.parse().unwrap(), own_settings());
    match toolchain::find(&version, &settings) {
        Ok(toolchain) => toolchain,
        Err(CompilerError::NotFound(_)) => {
            toolchain::install(&version, &settings, &mut |line| eprintln!("{line}")).unwrap()
        }
        Err(error) => panic!("{error}"),
    }
}

fn compiler_with(limits: Limits) -> NvrtcCompiler {
    NvrtcCompiler::start(toolchain(VERSION), &own_settings(), limits).unwrap()
}

fn compiler() -> NvrtcCompiler {
    compiler_with(Limits::default())
}

fn request(source: &str) -> CompileRequest {
    CompileRequest {
        source: source.to_owned(),
        entries: vec!["k".to_owned()],
        arch: "sm_90".parse().unwrap(),
        defines: Default::default(),
        headers: Vec::new(),
    }
}

#[track_caller]
fn ptx(compiled: Result<Compiled, CompilerError>) -> Ptx {
    match compiled.unwrap() {
        Compiled::Ptx(ptx) => ptx,
        Compiled::Failed(failure) => panic!("{:?}: {}", failure.kind, failure.log),
    }
}

#[track_caller]
fn failure(compiled: Result<Compiled, CompilerError>) -> (CompileFailureKind, String) {
    match compiled.unwrap() {
        Compiled::Failed(failure) => (failure.kind, failure.log),
        Compiled::Ptx(ptx) => panic!("compiled:\n{}", ptx.text),
    }
}

const SAXPY: &str = r#"
extern "C" __global__ void k(float a, const float* x, float* y, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = a * x[i] + y[i];
}
"#;

mod ptx_that_comes_out {
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
        let source =
            format!("#include <cooperative_groups.h>\nnamespace {{ __device__ int c = 3; }}\n{SAXPY}");
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
        let include =
            ["cuda_cccl", "cuda_nvcc", "cuda_runtime"].map(|set| elsewhere.path().join(set)).to_vec();
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
}

mod headers {
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
        let source =
            "#include \"common.cuh\"\nextern \"C\" __global__ void k(float* x) { x[0] = twice(x[1]); }";
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
}

mod failures {
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
        let (kind, log) = failure(
            compiler().compile(&request(&format!("#include \"{}\"\n{SAXPY}", secret.path().display()))),
        );
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
}

mod limits {
    use super::*;

    /// Doubles at every level: hours, and gigabytes.
    const EXPLODES: &str = "template<int N, int M> struct F { static const int v = F<N - 1, M * 2>::v + F<N - 1, M * 2 + 1>::v; };\n\
        template<int M> struct F<0, M> { static const int v = 1; };\n\
        extern \"C\" __global__ void k(int* x) { x[0] = F<28, 1>::v; }\n";

    #[test]
    fn a_compilation_that_hangs_is_killed_and_the_next_one_works() {
        let compiler = compiler_with(Limits { time: Duration::from_secs(2), ..Limits::default() });
        let (kind, log) = failure(compiler.compile(&request(EXPLODES)));
        assert_eq!(kind, CompileFailureKind::TimedOut);
        assert!(log.starts_with("the compiler did not end within 2 s and was killed"), "{log}");
        ptx(compiler.compile(&request(SAXPY)));
    }

    #[test]
    fn a_compilation_that_eats_memory_is_stopped_and_the_next_one_works() {
        let compiler = compiler_with(Limits { memory: 400 << 20, ..Limits::default() });
        let (kind, log) = failure(compiler.compile(&request(EXPLODES)));
        assert_eq!(kind, CompileFailureKind::Crashed, "{log}");
        assert!(log.contains("400 MiB"), "{log}");
        ptx(compiler.compile(&request(SAXPY)));
    }

    #[test]
    fn a_crash_of_the_compiler_is_the_candidates_failure() {
        let deep = format!("__device__ int q = {}1{};\n{SAXPY}", "(".repeat(400_000), ")".repeat(400_000));
        let compiler = compiler_with(Limits { memory: 600 << 20, ..Limits::default() });
        let (kind, log) = failure(compiler.compile(&request(&deep)));
        assert_eq!(kind, CompileFailureKind::Crashed, "{log}");
        ptx(compiler.compile(&request(SAXPY)));
    }

    #[test]
    fn candidates_compile_side_by_side() {
        let compiler = compiler_with(Limits { parallel: 3, ..Limits::default() });
        let texts = Mutex::new(Vec::new());
        std::thread::scope(|scope| {
            for n in 0..8 {
                let (compiler, texts) = (&compiler, &texts);
                scope.spawn(move || {
                    let source =
                        format!("extern \"C\" __global__ void k(int* x) {{ x[0] = {}; }}", 4000 + n % 2);
                    texts.lock().unwrap().push((n % 2, ptx(compiler.compile(&request(&source))).text));
                });
            }
        });
        for (n, text) in texts.into_inner().unwrap() {
            assert!(text.contains(&format!("{}", 4000 + n)), "{text}");
        }
    }

    /// Speaks to the compiler process as cargo fsr does, and leaves the check of the sources out.
    #[test]
    #[cfg(target_os = "linux")]
    fn a_source_past_the_check_still_reaches_no_file() {
        let secret = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(secret.path(), "TOP SECRET").unwrap();
        let mut child = Command::new(env!("CARGO_BIN_EXE_cargo-fsr"))
            .arg("__nvrtc")
            .args(["60000", "4294967296", "0"])
            .arg(toolchain(VERSION).library)
            .env_clear()
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let job = serde_json::json!({
            "name": "kernel.cu", "headers": [], "options": [],
            "source": format!("#include \"{}\"\n", secret.path().display()),
        });
        writeln!(child.stdin.take().unwrap(), "{job}").unwrap();
        let output = child.wait_with_output().unwrap();
        let out = String::from_utf8(output.stdout).unwrap();
        let (hello, done) = out.split_once('\n').unwrap();
        let hello: serde_json::Value = serde_json::from_str(hello).unwrap();
        // Kernels before 5.13, or with Landlock switched off, cannot; the process says which.
        if hello["confined"] == serde_json::Value::Bool(true) {
            assert!(done.contains("cannot open source file"), "{done}");
            assert!(!done.contains("SECRET"), "{done}");
        } else {
            assert!(!compiler().is_confined());
        }
    }

    #[test]
    fn people_who_start_the_compiler_process_are_told() {
        let output = Command::new(env!("CARGO_BIN_EXE_cargo-fsr")).arg("__nvrtc").output().unwrap();
        assert_eq!(output.status.code(), Some(2));
        assert_eq!(
            String::from_utf8(output.stderr).unwrap(),
            "__nvrtc is started by cargo fsr itself and takes no orders from people\n"
        );
    }

    #[test]
    fn the_compiler_process_ends_with_its_parent() {
        let library = toolchain(VERSION).library;
        let mut child = Command::new(env!("CARGO_BIN_EXE_cargo-fsr"))
            .arg("__nvrtc")
            .args(["60000", "4294967296", "0"])
            .arg(library)
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .spawn()
            .unwrap();
        drop(child.stdin.take());
        assert!(child.wait().unwrap().success());
    }
}

mod finding {
    use super::*;

    fn only(places: Places) -> Settings {
        Settings { places, ..own_settings() }
    }

    #[test]
    fn the_configured_one_comes_first_and_must_work() {
        let own = toolchain(VERSION);
        let version = VERSION.parse().unwrap();
        let home = own.library.ancestors().nth(4).unwrap().to_owned();
        let configured = |path: PathBuf| only(Places { configured: Some(path), ..own_settings().places });
        for path in [own.library.clone(), own.library.parent().unwrap().to_owned(), home] {
            let found = toolchain::find(&version, &configured(path)).unwrap();
            assert_eq!((found.library.as_path(), found.origin), (own.library.as_path(), Origin::Configured));
            assert!(found.missing_headers().is_empty());
        }
        let rubbish = tempfile::tempdir().unwrap();
        let error = toolchain::find(&version, &configured(rubbish.path().to_owned())).unwrap_err();
        assert!(error.to_string().ends_with("is no NVRTC library and holds none"), "{error}");
        let library = rubbish.path().join("libnvrtc.so.12");
        std::fs::write(&library, "rubbish").unwrap();
        let error = toolchain::find(&version, &configured(library)).unwrap_err();
        assert!(matches!(error, CompilerError::Broken { .. }), "{error}");
    }

    #[test]
    fn another_version_is_refused_and_listed() {
        let own = toolchain(VERSION);
        let empty = tempfile::tempdir().unwrap();
        let places = Places {
            cuda_home: vec![own.library.ancestors().nth(2).unwrap().to_owned()],
            installed: empty.path().join("toolchains"),
            ..Places::default()
        };
        let error = toolchain::find(&"12.6".parse().unwrap(), &only(places)).unwrap_err();
        let text = error
            .to_string()
            .replace(own.library.ancestors().nth(4).unwrap().to_str().unwrap(), "[toolchain]")
            .replace(empty.path().to_str().unwrap(), "[empty]");
        insta::assert_snapshot!(text);
    }

    #[test]
    fn a_broken_library_on_the_way_is_passed_by() {
        let own = toolchain(VERSION);
        let rubbish = tempfile::tempdir().unwrap();
        std::fs::write(rubbish.path().join("libnvrtc.so.12"), "rubbish").unwrap();
        let places = Places { loader: vec![rubbish.path().to_owned()], ..own_settings().places };
        assert_eq!(toolchain::find(&VERSION.parse().unwrap(), &only(places)).unwrap().library, own.library);
    }

    #[test]
    #[cfg(unix)]
    fn headers_that_one_place_lacks_come_from_another_of_the_same_version() {
        let own = toolchain(VERSION);
        let bare = tempfile::tempdir().unwrap();
        for file in own.library.parent().unwrap().read_dir().unwrap().flatten() {
            std::fs::hard_link(file.path(), bare.path().join(file.file_name()))
                .or_else(|_| std::fs::copy(file.path(), bare.path().join(file.file_name())).map(|_| ()))
                .ok();
        }
        let places = Places { loader: vec![bare.path().to_owned()], ..own_settings().places };
        let found = toolchain::find(&VERSION.parse().unwrap(), &only(places)).unwrap();
        assert_eq!((found.library.parent().unwrap(), found.origin), (bare.path(), Origin::Loader));
        assert!(found.missing_headers().is_empty());
        let compiler = NvrtcCompiler::start(found, &own_settings(), Limits::default()).unwrap();
        ptx(compiler.compile(&request(&format!("#include <mma.h>\n{SAXPY}"))));
    }

    #[test]
    fn the_list_has_what_is_installed() {
        let own = toolchain(VERSION);
        let listed = toolchain::list(&own_settings());
        assert!(listed.into_iter().flatten().any(|toolchain| toolchain == own));
    }
}

#[cfg(unix)]
mod installing {
    use super::*;

    /// A folder with one script, to be the whole `PATH`.
    fn path_with(name: &str, script: &str) -> tempfile::TempDir {
        use std::os::unix::fs::PermissionsExt;
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join(name);
        std::fs::write(&path, format!("#!/bin/sh\n{script}\n")).unwrap();
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
        folder
    }

    #[test]
    fn again_is_nothing_to_do() {
        let own = toolchain(VERSION);
        let mut said = Vec::new();
        let again = toolchain::install(&own.version, &own_settings(), &mut |line| said.push(line.to_owned()))
            .unwrap();
        assert_eq!(again, own);
        assert!(said.last().unwrap().starts_with("CUDA 12.8 is installed: "), "{said:?}");
    }

    #[test]
    fn a_version_that_does_not_exist_lists_those_that_do() {
        let folder = tempfile::tempdir().unwrap();
        let mut settings = own_settings();
        settings.places.installed = folder.path().join("toolchains");
        let error = toolchain::install(&"12.7".parse().unwrap(), &settings, &mut |_| ()).unwrap_err();
        let InstallError::UnknownVersion { available, .. } = &error else { panic!("{error}") };
        assert!(available.contains(&"12.8".parse().unwrap()), "{error}");
        assert!(!settings.places.installed.join("cuda-12.7").exists());
        let left: Vec<_> =
            settings.places.installed.read_dir().unwrap().flatten().map(|e| e.file_name()).collect();
        assert_eq!(left, [".lock"]);
    }

    #[test]
    fn an_installer_that_brings_nothing_is_found_out() {
        let folder = tempfile::tempdir().unwrap();
        let bin = path_with("python3", "exit 0");
        let mut settings = own_settings();
        settings.places.installed = folder.path().to_owned();
        let text = install_with_path(bin.path(), &settings).unwrap_err();
        assert!(text.contains("it reported success, and there is no NVRTC that works"), "{text}");
        assert!(!folder.path().join("cuda-12.8").exists());
    }

    #[test]
    fn without_pip_and_uv_there_is_a_word() {
        let folder = tempfile::tempdir().unwrap();
        let bin = path_with("python3", "echo 'No module named pip' >&2; exit 1");
        let mut settings = own_settings();
        settings.places.installed = folder.path().to_owned();
        assert_eq!(
            install_with_path(bin.path(), &settings).unwrap_err(),
            "neither pip nor uv is here to fetch CUDA 12.8 with; install Python 3 with pip, or uv, and run \
             `cargo fsr toolchain install 12.8` again"
        );
    }

    /// A pip that takes its time, notes that it ran, and brings what is installed already.
    fn slow_pip(notes: &Path) -> tempfile::TempDir {
        let own = toolchain(VERSION).library.ancestors().nth(4).unwrap().to_owned();
        path_with(
            "python3",
            &format!(
                "while [ \"$1\" != --target ]; do shift; done\n\
                 echo run >> '{}'\n/bin/sleep 1\n/bin/cp -al '{}/nvidia' \"$2/\" || /bin/cp -a '{}/nvidia' \"$2/\"",
                notes.display(),
                own.display(),
                own.display()
            ),
        )
    }

    #[test]
    fn twice_at_once_is_done_once() {
        let folder = tempfile::tempdir().unwrap();
        let notes = folder.path().join("notes");
        let bin = slow_pip(&notes);
        let mut settings = own_settings();
        settings.places.installed = folder.path().join("toolchains");
        std::thread::scope(|scope| {
            for _ in 0..3 {
                scope.spawn(|| install_with_path(bin.path(), &settings).unwrap());
            }
        });
        assert_eq!(std::fs::read_to_string(notes).unwrap(), "run\n");
        assert!(toolchain::find(&VERSION.parse().unwrap(), &settings).unwrap().missing_headers().is_empty());
    }

    #[test]
    fn killed_half_way_leaves_nothing_that_counts() {
        let folder = tempfile::tempdir().unwrap();
        let notes = folder.path().join("notes");
        let bin = slow_pip(&notes);
        let mut settings = own_settings();
        settings.places.installed = folder.path().join("toolchains");
        let mut inner = inner(bin.path(), &settings).stdout(Stdio::null()).spawn().unwrap();
        while !notes.exists() {
            std::thread::yield_now();
        }
        inner.kill().unwrap();
        inner.wait().unwrap();
        assert!(toolchain::list(&settings).is_empty());
        install_with_path(bin.path(), &settings).unwrap();
        // The orphaned installer may still write into its hidden folder, which the next installation sweeps.
        let names = settings.places.installed.read_dir().unwrap().flatten().map(|entry| entry.file_name());
        let seen: Vec<_> = names.filter(|name| !name.to_string_lossy().starts_with('.')).collect();
        assert_eq!(seen, ["cuda-12.8"]);
        assert_eq!(toolchain::list(&settings).len(), 1);
    }

    #[test]
    fn in_place_of_a_broken_one_mends_it() {
        let folder = tempfile::tempdir().unwrap();
        let bin = slow_pip(&folder.path().join("notes"));
        let mut settings = own_settings();
        settings.places.installed = folder.path().join("toolchains");
        let library = settings.places.installed.join("cuda-12.8/nvidia/cuda_nvrtc/lib/libnvrtc.so.12");
        std::fs::create_dir_all(library.parent().unwrap()).unwrap();
        std::fs::write(&library, "rubbish").unwrap();
        install_with_path(bin.path(), &settings).unwrap();
        assert_eq!(toolchain::find(&VERSION.parse().unwrap(), &settings).unwrap().library, library);
    }

    /// `PATH` belongs to the process, so this is done in one of its own: the test binary again.
    fn inner(bin: &Path, settings: &Settings) -> Command {
        let mut inner = Command::new(std::env::current_exe().unwrap());
        inner
            .args(["installing::in_a_process_of_its_own", "--exact", "--ignored", "--nocapture"])
            .env("PATH", bin)
            .env("FSR_TOOLCHAIN_DIR", &settings.places.installed);
        inner
    }

    fn install_with_path(bin: &Path, settings: &Settings) -> Result<(), String> {
        let output = inner(bin, settings).output().unwrap();
        let out = String::from_utf8(output.stdout).unwrap();
        let (_, result) = out.split_once("RESULT<").expect("the inner test says its result");
        let (result, _) = result.split_once(">RESULT").unwrap();
        if result == "ok" { Ok(()) } else { Err(result.to_owned()) }
    }

    #[test]
    #[ignore = "run by other tests with a PATH of their own"]
    fn in_a_process_of_its_own() {
        let result = toolchain::install(&VERSION.parse().unwrap(), &own_settings(), &mut |_| ());
        println!("RESULT<{}>RESULT", result.map_or_else(|error| error.to_string(), |_| "ok".to_owned()));
    }
}
