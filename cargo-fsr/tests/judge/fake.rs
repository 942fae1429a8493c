//! A host program that misbehaves on demand: this test binary itself, started again in a role.
//!
//! Its kernel is `y = 2 x + 1` on `f32`. The text that stands for PTX says what a candidate does; the variable
//! `FSR_FAKE` says how the program itself behaves. To add a misbehaviour, add a word to one of the two matches.

use std::collections::BTreeMap;
use std::fs;
use std::io::{Read, Write};
use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;

use fsr_protocol::{
    BufferInfo, BufferRole, CaseId, CaseInfo, Channel, Comparison, Description, DeviceFacts, Dtype,
    EntryResources, Environment, Hello, HostError, Mismatch, ModuleId, OutputComparison, PROTOCOL_VERSION,
    RedzoneHit, Reply, Request, Role, SetId, Tolerance, files,
};

/// How the program behaves.
pub const BEHAVIOUR: &str = "FSR_FAKE";
/// A folder where every started process leaves its id.
pub const PIDS: &str = "FSR_FAKE_PIDS";
/// The device that it would open.
pub const UUID: &str = "6661bead";
/// Arguments that lead the test binary here.
pub const ARGUMENTS: [&str; 3] = ["fake::host", "--exact", "--nocapture"];

/// No test: `main` of the host program when it is started by a judge.
#[test]
fn host() {
    let Ok(behaviour) = std::env::var(BEHAVIOUR) else { return };
    note_pid(std::process::id());
    let behaviour = behaviour.as_str();
    match behaviour {
        "silent" => std::process::exit(0),
        "fails" => {
            eprintln!("error: no such file");
            std::process::exit(3);
        }
        "panics" => panic!("the table is empty"),
        "sleeps" => sleep_for_ever(),
        _ => {}
    }
    let environment = Environment::read().unwrap().expect("started by a judge");
    if behaviour == "not-json" {
        let mut stream = std::os::unix::net::UnixStream::connect(&environment.socket).unwrap();
        stream.write_all(b"GET / HTTP/1.1\n").unwrap();
        let _ = stream.read(&mut [0; 1]);
        return;
    }
    let protocol = if behaviour == "other-version" { PROTOCOL_VERSION + 1 } else { PROTOCOL_VERSION };
    let mut channel = Channel::connect(&environment).unwrap();
    channel.send(&Hello { protocol, host: "9.9.9".to_owned(), role: environment.role }).unwrap();
    let share = environment.share;
    let behaviour = behaviour.to_owned();
    match environment.role {
        Role::Reference => Reference { behaviour, share, sets: BTreeMap::new() }.serve(channel),
        Role::Device => Device {
            behaviour,
            share,
            modules: BTreeMap::new(),
            sets: BTreeMap::new(),
            first: BTreeMap::new(),
            known: BTreeMap::new(),
        }
        .serve(channel),
    }
}

fn note_pid(pid: u32) {
    let folder = PathBuf::from(std::env::var_os(PIDS).unwrap());
    fs::write(folder.join(pid.to_string()), "").unwrap();
}

fn sleep_for_ever() -> ! {
    loop {
        std::thread::sleep(Duration::from_secs(1));
    }
}

fn description(behaviour: &str, role: Role) -> Description {
    let case = |n: u64, timed| {
        let buffer =
            |name: &str, role| BufferInfo { name: name.to_owned(), role, dtype: Dtype::F32, shape: vec![n] };
        CaseInfo {
            name: format!("n={n}"),
            dims: vec![("n".to_owned(), n)],
            timed,
            drawn: false,
            buffers: vec![buffer("x", BufferRole::Input), buffer("y", BufferRole::Output)],
            work_bytes: 8 * n,
            work_flops: 2 * n,
        }
    };
    let mut cases = vec![case(7, false), case(1000, true), case(13, false)];
    match behaviour {
        "no-case" => cases.clear(),
        "no-output" => cases[1].buffers.truncate(1),
        "two-names" => cases[2].name = "n=7".to_owned(),
        "untimed" => cases[1].timed = false,
        "copies-one" => cases[1..].iter_mut().for_each(|case| case.buffers[0].shape[0] += 1),
        "overstated" => cases[2].work_bytes = 1000,
        "moody" if role == Role::Device => cases[1].work_bytes += 1,
        _ => {}
    }
    Description { kernel: "twice".to_owned(), cases }
}

fn right(x: f32) -> f32 {
    2.0 * x + 1.0
}

/// What the reference says of one element.
fn expected(behaviour: &str, case: CaseId, x: f32) -> f32 {
    match behaviour {
        "copies-one" if case == 0 => x,
        "copies" => x,
        "flat" => 7.5,
        _ => right(x),
    }
}

fn floats(path: PathBuf) -> Vec<f32> {
    let bytes = fs::read(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    bytes.as_chunks::<4>().0.iter().map(|bytes| f32::from_le_bytes(*bytes)).collect()
}

fn write_floats(path: PathBuf, floats: &[f32]) {
    fs::write(path, floats.iter().flat_map(|x| x.to_le_bytes()).collect::<Vec<u8>>()).unwrap();
}

fn poison() -> f32 {
    f32::from_bits(0x7fff_dead)
}

struct Reference {
    behaviour: String,
    share: PathBuf,
    sets: BTreeMap<(CaseId, SetId), Vec<f32>>,
}

impl Reference {
    fn serve(mut self, mut channel: Channel) {
        while let Ok(request) = channel.receive() {
            let reply = self.answer(request);
            channel.send(&reply).unwrap();
        }
    }

    fn answer(&mut self, request: Request) -> Reply {
        match request {
            Request::Describe => Reply::Description(description(&self.behaviour, Role::Reference)),
            Request::MakeSet { case, set, seed, like } => {
                if self.behaviour == "nan" {
                    return Reply::Failed(HostError::HostCode {
                        message: "case `n=7`: the reference of output `y` holds NaN at [3]".to_owned(),
                    });
                }
                let cases = description(&self.behaviour, Role::Reference).cases;
                let n = cases[case as usize].buffers[0].len();
                if self.behaviour == "slow" && self.sets.len() >= cases.len() {
                    std::thread::sleep(Duration::from_millis(50));
                }
                let mut state = seed;
                let mut x: Vec<f32> = (0..n)
                    .map(|_| {
                        state = state
                            .wrapping_mul(6_364_136_223_846_793_005)
                            .wrapping_add(1_442_695_040_888_963_407);
                        if self.behaviour == "zeros" { 0.0 } else { (state >> 40) as f32 / 1000.0 }
                    })
                    .collect();
                if let Some(like) = like {
                    x = self.sets[&(case, like)].clone();
                    x[n as usize / 2] += 1.0;
                }
                write_floats(files::input(&self.share, case, set, 0), &x);
                self.sets.insert((case, set), x);
                Reply::SetMade { seconds: 0.0 }
            }
            Request::Compare { case, set, dump, inputs, tolerance } => {
                if self.behaviour == "reference-dies" {
                    std::process::exit(7);
                }
                let x = &self.sets[&(case, set)];
                let y = floats(files::dump(&self.share, dump, case, 1));
                let unchanged = !inputs || *x == floats(files::dump(&self.share, dump, case, 0));
                let tolerance = tolerance.unwrap_or(Tolerance { rtol: 1e-6, atol: 0.0 });
                // False of NaN.
                let close = |x: f32, y: f32| {
                    let right = expected(&self.behaviour, case, x);
                    f64::from((y - right).abs()) <= tolerance.atol + tolerance.rtol * f64::from(right.abs())
                };
                let at: Vec<usize> = (0..y.len()).filter(|at| !close(x[*at], y[*at])).collect();
                let first = at.iter().take(3).map(|at| Mismatch {
                    index: vec![*at as u64],
                    expected: right(x[*at]).to_string(),
                    got: y[*at].to_string(),
                });
                Reply::Compared(Comparison {
                    outputs: vec![OutputComparison {
                        buffer: "y".to_owned(),
                        elements: y.len() as u64,
                        mismatches: at.len() as u64,
                        untouched: y.iter().filter(|y| y.to_bits() == poison().to_bits()).count() as u64,
                        max_abs: 0.25,
                        max_rel: 0.125,
                        tolerance,
                        expected_mean: f64::from(expected(&self.behaviour, case, x[0])),
                        first: first.collect(),
                        pattern: String::new(),
                    }],
                    changed_inputs: if unchanged { Vec::new() } else { vec!["x".to_owned()] },
                })
            }
            Request::DropSet { case, set } => {
                assert!(self.sets.remove(&(case, set)).is_some(), "set {set} was never made");
                Reply::Done
            }
            other => protocol_error(&other),
        }
    }
}

fn protocol_error(request: &Request) -> Reply {
    Reply::Failed(HostError::Protocol { message: format!("{request:?}") })
}

struct Device {
    behaviour: String,
    share: PathBuf,
    /// What a module does, and how often it was launched.
    modules: BTreeMap<ModuleId, (String, u32)>,
    sets: BTreeMap<(CaseId, SetId), Vec<f32>>,
    /// The first result of each module and case: what a kernel that caches by address would return.
    first: BTreeMap<(ModuleId, CaseId), Vec<f32>>,
    /// The same by the ends of the input: what one that caches by a fingerprint would return.
    known: BTreeMap<(ModuleId, CaseId, u32), Vec<f32>>,
}

impl Device {
    fn is_modelled(&self) -> bool {
        self.behaviour == "modelled"
    }

    fn serve(mut self, mut channel: Channel) {
        while let Ok(request) = channel.receive() {
            if let Some(reply) = self.answer(request) {
                channel.send(&reply).unwrap();
            } else {
                channel.send(&"no reply of this protocol").unwrap();
            }
        }
    }

    fn answer(&mut self, request: Request) -> Option<Reply> {
        Some(match request {
            Request::Describe => Reply::Description(description(&self.behaviour, Role::Device)),
            Request::Identify { .. } if self.behaviour == "no-device" => {
                Reply::Failed(HostError::NoDevice { message: "libcuda.so.1 was not found".to_owned() })
            }
            Request::Identify { .. } => {
                Reply::Identified { uuid: UUID.to_owned(), modelled: self.is_modelled() }
            }
            Request::Open { .. } => Reply::Opened(DeviceFacts { modelled: self.is_modelled(), ..facts() }),
            Request::Load { module, ptx, entries, .. } => match ptx.as_str() {
                "refused" => {
                    Reply::Failed(HostError::Load { message: "ptxas: line 3: syntax error".to_owned() })
                }
                "no-entry" => Reply::Failed(HostError::NoEntry { entry: entries[0].clone() }),
                "load-hangs" => sleep_for_ever(),
                _ => {
                    let writable_globals =
                        if ptx == "globals" { vec!["cache".to_owned()] } else { Vec::new() };
                    self.modules.insert(module, (ptx, 0));
                    let entries = entries
                        .into_iter()
                        .map(|entry| EntryResources {
                            entry,
                            registers: 32,
                            local_bytes: 0,
                            shared_bytes: 0,
                            max_threads: 1024,
                        })
                        .collect();
                    Reply::Loaded { entries, writable_globals }
                }
            },
            Request::Unload { module } => {
                assert!(self.modules.remove(&module).is_some(), "module {module} was never loaded");
                Reply::Done
            }
            Request::Upload { case, set } => {
                if self.behaviour == "small-memory" && self.sets.keys().any(|(other, _)| *other != case) {
                    return Some(Reply::Failed(HostError::OutOfMemory { message: "64 bytes".to_owned() }));
                }
                let x = floats(files::input(&self.share, case, set, 0));
                assert!(self.sets.insert((case, set), x).is_none(), "set {set} was uploaded twice");
                Reply::Done
            }
            Request::DropSet { case, set } => {
                assert!(self.sets.remove(&(case, set)).is_some(), "set {set} was never uploaded");
                Reply::Done
            }
            Request::Calibrate { bytes, samples } => {
                Reply::Calibrated { nanos: vec![bytes as f64; samples as usize] }
            }
            Request::Launch { module, case, set, dump, moved, .. } => {
                let (does, launches) = self.modules.get_mut(&module).expect("a loaded module");
                *launches += 1;
                let launches = *launches;
                let does = does.clone();
                let x = self.sets[&(case, set)].clone();
                let mut y: Vec<f32> = x.iter().map(|x| right(*x)).collect();
                let mut left = x.clone();
                let mut redzones = Vec::new();
                let mut wall = 0.0;
                let mut nanos = 10_000.0 + f64::from(launches % 3);
                match does.as_str() {
                    "right" => {}
                    "nothing" => y.fill(poison()),
                    "last-is-wrong" => *y.last_mut().unwrap() += 1.0,
                    "prime-is-wrong" if case == 2 => y[12] = f32::NAN,
                    "caches" => y = self.first.entry((module, case)).or_insert(y).clone(),
                    "fingerprints" => {
                        let ends = (module, case, x[0].to_bits() ^ x[x.len() - 1].to_bits());
                        y = self.known.entry(ends).or_insert(y).clone();
                    }
                    "stays" if moved => y.fill(0.0),
                    "wears-out" if launches > 15 => y[0] = 0.0,
                    "wears-out-and-hangs" if launches > 5 => {
                        y[0] = 0.0;
                        if launches > 6 {
                            sleep_for_ever();
                        }
                    }
                    "changes-input" => left[0] = 0.0,
                    "overruns" => redzones.push(RedzoneHit {
                        buffer: "y".to_owned(),
                        before: false,
                        distance: 0,
                        bytes: 4,
                    }),
                    "chatty" => {
                        for _ in 0..2000 {
                            println!(
                                "{{\"reply\":\"launched\",\"nanos\":1.0,\"wall_nanos\":1.0,\"redzones\":[]}}"
                            );
                            eprintln!("{{\"reply\":\"compared\",\"outputs\":[],\"changed_inputs\":[]}}");
                        }
                    }
                    "hangs" => {
                        // A child that would outlive its parent, were only the parent killed.
                        note_pid(Command::new("sleep").arg("1000").spawn().unwrap().id());
                        sleep_for_ever();
                    }
                    "hangs-on-the-cpu-device" if self.behaviour == "cpu-device" && case == 0 => {
                        sleep_for_ever()
                    }
                    "exits" => {
                        eprintln!("thread 'main' panicked: attempt to divide by zero");
                        std::process::exit(101);
                    }
                    "aborts" => std::process::abort(),
                    "garbage" => return None,
                    "cannot-launch" => {
                        return Some(Reply::Failed(HostError::Launch {
                            message: "CUDA_ERROR_INVALID_VALUE: too much shared memory".to_owned(),
                        }));
                    }
                    "panics" => {
                        return Some(Reply::Failed(HostError::HostCode {
                            message: "panicked at src/launch.rs:7:5: CUDA_ERROR_INVALID_VALUE".to_owned(),
                        }));
                    }
                    "races" | "spins" | "is-strange" if self.behaviour == "cpu-device" => {
                        let line = match does.as_str() {
                            "is-strange" => {
                                r#"{"verdict":"unsupported","instructions":[{"instruction":"wgmma.fence","ptx_line":9}]}"#
                            }
                            "spins" => {
                                r#"{"verdict":"fault","faults":[{"kind":"instruction budget exhausted","message":"too long","ptx_line":7,"source_line":null,"occurrences":1}]}"#
                            }
                            _ => {
                                r#"{"verdict":"fault","faults":[{"kind":"race","message":"race in twice at ptx line 7","ptx_line":7,"source_line":null,"occurrences":1}]}"#
                            }
                        };
                        report(line);
                        return Some(Reply::Failed(HostError::Execution {
                            message: "CUDA_ERROR_ILLEGAL_ADDRESS".to_owned(),
                        }));
                    }
                    "faults" => {
                        return Some(Reply::Failed(HostError::Execution {
                            message: "CUDA_ERROR_ILLEGAL_ADDRESS".to_owned(),
                        }));
                    }
                    "fills-memory" => {
                        return Some(Reply::Failed(HostError::OutOfMemory { message: "1 GiB".to_owned() }));
                    }
                    "goes-on" => wall = 5e6,
                    "too-fast" => nanos = 3.0,
                    "once-too-fast" if launches < 20 => nanos = 3.0,
                    _ => {}
                }
                if self.behaviour == "cpu-device" {
                    let traffic = r#"{"requests":1,"transactions":4,"bytes":128}"#;
                    report(&format!(
                        r#"{{"kernel":"twice","grid":[1,1,1],"block":[32,1,1],"verdict":"clean","counts":{{"warp_instructions":{},"thread_instructions":1,"divergent_branches":0,"by_class":{{}},"global_load":{traffic},"global_store":{traffic},"shared_load":{traffic},"shared_store":{traffic}}}}}"#,
                        y.len()
                    ));
                }
                if let Some(dump) = dump {
                    write_floats(files::dump(&self.share, dump.slot, case, 1), &y);
                    if dump.inputs {
                        write_floats(files::dump(&self.share, dump.slot, case, 0), &left);
                    }
                }
                Reply::Launched { nanos, wall_nanos: nanos.max(wall), redzones }
            }
            other => protocol_error(&other),
        })
    }
}

/// Writes a line as the CPU device does.
fn report(line: &str) {
    let report = std::env::var_os("FSR_SIM_REPORT").unwrap();
    let report = fs::File::options().create(true).append(true).open(report);
    writeln!(report.unwrap(), "{line}").unwrap();
}

fn facts() -> DeviceFacts {
    DeviceFacts {
        name: "Fake".to_owned(),
        compute_capability: (9, 0),
        driver: 13000,
        multiprocessors: 1,
        memory_bytes: 1 << 30,
        l2_bytes: 1000,
        shared_per_multiprocessor: 1 << 17,
        shared_per_block_optin: 1 << 17,
        registers_per_multiprocessor: 1 << 16,
        max_threads_per_block: 1024,
        max_threads_per_multiprocessor: 2048,
        clock_khz: 1,
        memory_clock_khz: 1,
        bus_bits: 1,
        copy_bandwidth: 0.0,
        modelled: false,
    }
}
