//! What the projects are made of, and the outcome of one real search over them.

use std::fs;
use std::path::Path;
use std::sync::OnceLock;

use super::machine;
use super::project::{Files, Project};

pub const LIBRARY: &str = r#"//! One operation.

/// The tuned kernels.
pub mod kernels {
    include!(env!("FSR_KERNELS"));
}
"#;

/// Prints what was embedded.
pub const PROGRAM: &str = r#"fn main() {
    match ops::kernels::saxpy::image_for(9, 0) {
        Ok(image) => println!("{} {:?}\n{}", image.arch, image.tunables.pairs(), image.ptx),
        Err(error) => println!("{error}"),
    }
}
"#;

pub const HOST: &str = r#"//! Host launch code of `saxpy`.

use cudarc::driver::{LaunchConfig, PushKernelArg};
use fsr_host::Values;
use ops::kernels::saxpy::Tunables;

fn main() -> fsr_host::ExitCode {
    fsr_host::kernel("saxpy").dims(["n"]).time([[1 << 16]]).check([[1], [1021]]).run(|case, [n]| {
        let a = case.scalar("a", Values::<f32>::uniform(-2.0, 2.0));
        let x = case.input::<f32>("x", [n]);
        let y = case.in_out::<f32>("y", [n]);
        case.launch(move |gpu| {
            let function = gpu.function("saxpy")?;
            let Tunables { block, per_thread } = Tunables::resolve(|name| gpu.tunable(name))?;
            let (count, factor) = (n as u32, gpu.scalar(a));
            let config = LaunchConfig {
                grid_dim: (count.div_ceil(block * per_thread), 1, 1),
                block_dim: (block, 1, 1),
                shared_mem_bytes: 0,
            };
            let x = gpu.view(x);
            let mut y = gpu.view_mut(y);
            let mut launch = gpu.stream().launch_builder(&function);
            launch.arg(&count).arg(&factor).arg(&x).arg(&mut y);
            // SAFETY: the arguments are those of the kernel, and both buffers hold `count` elements.
            unsafe { launch.launch(config) }?;
            Ok(())
        });
        case.reference(move |cpu| {
            let a = cpu.scalar(a);
            for (y, x) in cpu.write(y).iter_mut().zip(cpu.read(x)) {
                *y = a.mul_add(*x, *y);
            }
        });
    })
}
"#;

/// Threads of a warp touch addresses far from each other: there is something to win.
pub const BASELINE: &str = r#"// fsr: PER_THREAD = 8
extern "C" __global__ void saxpy(unsigned int n, float a, const float* x, float* y)
{
    unsigned int first = (blockIdx.x * BLOCK + threadIdx.x) * PER_THREAD;
    for (unsigned int i = first; i < first + PER_THREAD && i < n; i += 1)
        y[i] = a * x[i] + y[i];
}
"#;

/// Keeps each prompt and gives the next answer; several may be asked at once.
pub const MODEL: &str = r#"# sh model.sh FOLDER: a model that answers from files.
n=1
while ! mkdir "$1/asked/$n" 2>/dev/null; do n=$((n + 1)); done
cat > "$1/asked/$n/prompt.md"
exec cat "$1/answers/$n.md"
"#;

/// Answers for a search of two rounds with two candidates each: in either round one fails and one is better.
pub const ANSWERS: &[&str] = &[
    r#"This does not compile.
```cuda
// fsr: PER_THREAD = 1
extern "C" __global__ void saxpy(unsigned int n, float a, const float* x, float* y)
{
    unsigned int i = blockIdx.x * BLOCK + threadIdx.x
    if (i < n) y[i] = a * x[i] + y[i];
}
```
"#,
    r#"Neighbouring threads now read neighbouring elements.
```cuda
// fsr: PER_THREAD = 4
extern "C" __global__ void saxpy(unsigned int n, float a, const float* x, float* y)
{
    unsigned int first = blockIdx.x * BLOCK * PER_THREAD + threadIdx.x;
    for (unsigned int k = 0; k < PER_THREAD; k += 1) {
        unsigned int i = first + k * BLOCK;
        if (i < n) y[i] = a * x[i] + y[i];
    }
}
```
"#,
    r#"The sum need not be read.
```cuda
// fsr: PER_THREAD = 1
extern "C" __global__ void saxpy(unsigned int n, float a, const float* x, float* y)
{
    unsigned int i = blockIdx.x * BLOCK + threadIdx.x;
    if (i < n) y[i] = a * x[i];
}
```
"#,
    r#"One element a thread.
```cuda
// fsr: PER_THREAD = 1
extern "C" __global__ void saxpy(unsigned int n, float a, const float* x, float* y)
{
    unsigned int i = blockIdx.x * BLOCK + threadIdx.x;
    if (i < n) y[i] = fmaf(a, x[i], y[i]);
}
```
"#,
];

/// The files that a search over [`ANSWERS`] gave: `fsr/...`, and its journal as `recorded/ops/saxpy.jsonl`. The search is
/// run anew whenever the program or the CPU device is another.
pub fn tuned() -> &'static Files {
    static TUNED: OnceLock<Files> = OnceLock::new();
    TUNED.get_or_init(|| {
        let _turn = machine::turn("tuned");
        let kept = machine::home().join("tuned-files");
        let stamp = machine::stamp() + &ANSWERS.concat() + HOST + BASELINE;
        if fs::read_to_string(kept.join("stamp")).ok().as_deref() != Some(&stamp) {
            let project = Project::new("tuned-fixture");
            project.answers(ANSWERS);
            project.fsr("tune").on_cpu_device().succeeds();
            let _ = fs::remove_dir_all(&kept);
            for (path, content) in project.stored().0 {
                write(&kept.join("fsr").join(path), &content);
            }
            write(&kept.join("recorded/ops/saxpy.jsonl"), project.journals()[0].as_bytes());
            write(&kept.join("stamp"), stamp.as_bytes());
        }
        let mut files = super::project::read_all(&kept);
        files.0.remove("stamp");
        files
    })
}

fn write(path: &Path, content: &[u8]) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, content).unwrap();
}
