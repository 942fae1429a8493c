//! Time, memory and crashes: one candidate's trouble is not the next one's.

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
                let source = format!("extern \"C\" __global__ void k(int* x) {{ x[0] = {}; }}", 4000 + n % 2);
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
