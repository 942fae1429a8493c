//! The two host processes of a test, and the files and sockets between them.

use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use fsr_protocol::{
    Channel, Comparison, Dump, Environment, Hello, HostError, ModuleId, RedzoneHit, Reply, Request, Role,
    SetId,
};

use crate::kernels;

/// The case that the tests launch: n = 1000.
pub const CASE: u32 = 0;

/// A folder with the simulated driver under the names that programs open.
pub fn driver_folder() -> tempfile::TempDir {
    let program = std::env::current_exe().unwrap();
    let built = std::fs::read_dir(program.parent().unwrap()).unwrap().map(|entry| entry.unwrap().path());
    let name = |path: &Path| path.file_name().unwrap().to_string_lossy().into_owned();
    let is_driver =
        |path: &PathBuf| name(path).starts_with("libfsr_sim_libcuda") && name(path).ends_with(".so");
    let newest = |path: &PathBuf| std::fs::metadata(path).unwrap().modified().unwrap();
    let driver = built.filter(is_driver).max_by_key(newest).expect("the driver is a dependency of this test");
    let folder = tempfile::tempdir().unwrap();
    for name in ["libcuda.so", "libcuda.so.1"] {
        std::os::unix::fs::symlink(&driver, folder.path().join(name)).unwrap();
    }
    folder
}

/// The host program, with the given folder on the loader's path.
pub fn host_program(driver: &Path) -> Command {
    let tests = std::env::current_exe().unwrap();
    let built = tests.ancestors().nth(2).unwrap().join("examples/scale");
    assert!(
        built.exists(),
        "{} is missing: run all tests of the package, so that its examples are built",
        built.display()
    );
    let mut command = Command::new(built);
    command.env("LD_LIBRARY_PATH", driver).env_remove("FSR_SIM_DEVICE").env_remove("FSR_HOST_ROLE");
    command
}

/// A profile whose name does not say that it is simulated.
pub fn unmarked_profile() -> tempfile::NamedTempFile {
    let profile = tempfile::Builder::new().suffix(".toml").tempfile().unwrap();
    let text = include_str!("../../../fsr-sim/profiles/h200.toml").replace(" (simulated)", "");
    std::fs::write(profile.path(), text).unwrap();
    profile
}

/// A process in one role.
struct Process {
    channel: Channel,
    child: Child,
}

impl Process {
    fn start(role: Role, share: &Path, driver: &Path, settings: &[(&str, &str)]) -> Self {
        let socket = share.join(format!("{role:?}.sock"));
        let listener = UnixListener::bind(&socket).unwrap();
        let environment = Environment { role, socket, share: share.to_owned(), sizes: 7 };
        let mut command = host_program(driver);
        command
            .envs(environment.variables())
            .envs(settings.iter().copied())
            .stdout(Stdio::null())
            .stderr(Stdio::null());
        let child = command.spawn().unwrap();
        let mut channel = Channel::new(listener.accept().unwrap().0).unwrap();
        assert_eq!(channel.receive::<Hello>().unwrap().role, role);
        Self { channel, child }
    }

    fn ask(&mut self, request: Request) -> Reply {
        self.channel.send(&request).unwrap();
        self.channel.receive().unwrap()
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        let _ = self.channel.send(&Request::Exit);
        let _ = self.child.wait();
    }
}

/// What a launch that went through showed.
pub struct Launched {
    pub nanos: f64,
    pub redzones: Vec<RedzoneHit>,
    pub comparison: Comparison,
}

/// Both processes, with the device open and two sets of [`CASE`] in place.
pub struct Hosts {
    device: Process,
    reference: Process,
    _share: tempfile::TempDir,
    _driver: tempfile::TempDir,
}

impl Hosts {
    pub fn start() -> Self {
        Self::start_with(&[])
    }

    /// The same on a device that passes for a GPU: nobody expects it to check accesses.
    pub fn start_unchecked() -> Self {
        let profile = unmarked_profile();
        Self::start_with(&[("FSR_SIM_DEVICE", profile.path().to_str().unwrap())])
    }

    /// The same with variables in the environment of both.
    pub fn start_with(settings: &[(&str, &str)]) -> Self {
        let marked = settings.iter().all(|(name, _)| *name != "FSR_SIM_DEVICE");
        let (share, driver) = (tempfile::tempdir().unwrap(), driver_folder());
        let device = Process::start(Role::Device, share.path(), driver.path(), settings);
        let reference = Process::start(Role::Reference, share.path(), driver.path(), settings);
        let mut hosts = Self { device, reference, _share: share, _driver: driver };
        match hosts.device(Request::Identify { ordinal: 0 }) {
            Reply::Identified { uuid, modelled } => {
                assert!(modelled == marked && uuid.len() == 32, "{uuid}");
            }
            other => panic!("{other:?}"),
        }
        match hosts.device(Request::Open { ordinal: 0 }) {
            Reply::Opened(facts) => {
                assert!(facts.modelled == marked && facts.copy_bandwidth > 0.0, "{facts:?}");
            }
            other => panic!("{other:?}"),
        }
        for set in 0..2 {
            let made = hosts.reference(Request::MakeSet { case: CASE, set, seed: 60 + set, like: None });
            assert!(matches!(made, Reply::SetMade { .. }), "{made:?}");
            let uploaded = hosts.device(Request::Upload { case: CASE, set });
            assert!(matches!(uploaded, Reply::Done), "{uploaded:?}");
        }
        hosts
    }

    pub fn device(&mut self, request: Request) -> Reply {
        self.device.ask(request)
    }

    pub fn reference(&mut self, request: Request) -> Reply {
        self.reference.ask(request)
    }

    /// Loads a kernel of [`kernels`] for blocks of so many threads.
    pub fn load(&mut self, module: ModuleId, kernel: &str, block: u32) -> Reply {
        self.device(Request::Load {
            module,
            ptx: kernels::by_name(kernel),
            entries: vec!["scale".to_owned()],
            tunables: [("BLOCK".to_owned(), block)].into(),
        })
    }

    /// Launches with everything dumped, and compares.
    pub fn launch(&mut self, module: ModuleId, set: SetId) -> Result<Launched, HostError> {
        self.launch_case(module, CASE, set, false)
    }

    /// The same with a case, and at other addresses than usual if `moved`.
    pub fn launch_case(
        &mut self,
        module: ModuleId,
        case: u32,
        set: SetId,
        moved: bool,
    ) -> Result<Launched, HostError> {
        let dump = Some(Dump { slot: 0, inputs: true });
        let (nanos, redzones) =
            match self.device(Request::Launch { module, case, set, flush: true, moved, dump }) {
                Reply::Launched { nanos, redzones, .. } => (nanos, redzones),
                Reply::Failed(error) => return Err(error),
                other => panic!("{other:?}"),
            };
        let compare = Request::Compare { case, set, dump: 0, inputs: true, tolerance: None };
        match self.reference(compare) {
            Reply::Compared(comparison) => Ok(Launched { nanos, redzones, comparison }),
            other => panic!("{other:?}"),
        }
    }

    /// Loads a kernel and launches it once.
    pub fn try_kernel(&mut self, kernel: &str) -> Result<Launched, HostError> {
        let loaded = self.load(1, kernel, 64);
        assert!(matches!(loaded, Reply::Loaded { .. }), "{loaded:?}");
        self.launch(1, 0)
    }
}
