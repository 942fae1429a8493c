//! What is on the machine: the program under test, the CPU device's driver, the compiler. Made once, used by all.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

use super::command::scrubbed;

/// The program under test.
pub const PROGRAM: &str = env!("CARGO_BIN_EXE_cargo-fsr-under-test");

/// The CUDA version that the projects pin: the one that the compiler's own tests install too.
pub const CUDA: &str = "12.8";

/// Where projects, their target folder and the driver lie. Outside of the checkout: its cargo configuration and its
/// git would speak to the projects too. The same in each run, so that dependencies stay compiled.
pub fn home() -> &'static Path {
    static HOME: OnceLock<PathBuf> = OnceLock::new();
    HOME.get_or_init(|| {
        let checkout = Path::new(env!("CARGO_MANIFEST_DIR")).as_os_str().as_encoded_bytes();
        let name = checkout.iter().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
            (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3)
        });
        let home = std::env::temp_dir().join(format!("cargo-fsr-tests-{name:016x}"));
        fs::create_dir_all(&home).unwrap();
        home.canonicalize().unwrap()
    })
}

/// Holds others off, in this process and in others, for as long as the file lives.
pub fn turn(name: &str) -> File {
    let file = File::create(home().join(format!("{name}.lock"))).unwrap();
    file.lock().unwrap();
    file
}

/// A folder with the CPU device as `libcuda.so` and `libcuda.so.1`.
pub fn cpu_device() -> &'static Path {
    static DEVICE: OnceLock<PathBuf> = OnceLock::new();
    DEVICE.get_or_init(|| {
        // cargo leaves a dependency's shared library beside the test's own program.
        let deps = std::env::current_exe().unwrap().parent().unwrap().to_owned();
        let library = deps.join("libfsr_sim_libcuda.so");
        assert!(library.is_file(), "{} was not built", library.display());
        let folder = home().join("cpu-device");
        let _turn = turn("cpu-device");
        fs::create_dir_all(&folder).unwrap();
        for name in ["libcuda.so", "libcuda.so.1"] {
            let link = folder.join(name);
            if fs::read_link(&link).ok().as_deref() != Some(&library) {
                let _ = fs::remove_file(&link);
                std::os::unix::fs::symlink(&library, link).unwrap();
            }
        }
        folder
    })
}

/// Sees to it that the compiler is on the machine, as a user would: `cargo fsr toolchain install`. Gives the folder
/// of its library.
pub fn compiler_folder() -> &'static Path {
    static FOLDER: OnceLock<PathBuf> = OnceLock::new();
    FOLDER.get_or_init(|| {
        let _turn = turn("compiler");
        let toolchain = |words: &[&str]| {
            let mut command = Command::new(PROGRAM);
            let output =
                scrubbed(&mut command).arg("toolchain").args(words).current_dir(home()).output().unwrap();
            assert!(output.status.success(), "{words:?}: {}", String::from_utf8_lossy(&output.stderr));
            String::from_utf8(output.stdout).unwrap()
        };
        // `NVRTC 12.8 at PATH (how it was found)`
        let find = |listed: &str| {
            let path = listed.lines().find_map(|line| line.strip_prefix(&format!("NVRTC {CUDA} at ")));
            path.and_then(|path| path.rsplit_once(" (")).map(|(path, _)| PathBuf::from(path))
        };
        let found = find(&toolchain(&["list"])).or_else(|| {
            toolchain(&["install", CUDA]);
            find(&toolchain(&["list"]))
        });
        found.and_then(|library| library.parent().map(Path::to_owned)).expect("a compiler that was installed")
    })
}

/// Changes whenever something does that a search's outcome may depend on.
pub fn stamp() -> String {
    let file = |path: &Path| {
        let data = fs::metadata(path).unwrap();
        format!("{} {:?}\n", data.len(), data.modified().unwrap())
    };
    file(Path::new(PROGRAM)) + &file(&cpu_device().join("libcuda.so"))
}

/// Whether a process runs; one that was killed and waits for its parent does not.
pub fn is_running(pid: &str) -> bool {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    stat.rsplit_once(") ").is_some_and(|(_, state)| !state.starts_with(['Z', 'X']))
}
