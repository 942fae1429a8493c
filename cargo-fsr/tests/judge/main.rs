//! The judge over host processes that misbehave in every way that a candidate, a spec or a machine can bring about.
//!
//! [`fake`] is the host program; [`Course`] is a judge over it in a folder of its own. A test names a misbehaviour and
//! says what must come of it. [`Course::leaves_nothing`] at the end of each: no process and no folder is left.

#![cfg(unix)]

mod candidates;
mod fake;
mod programs;
mod screen;
mod targets;

use std::fs;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use cargo_fsr::judge::{Executable, HostJudge, HostJudgeOptions, HostProgram};
use tempfile::TempDir;

/// A judge and its folder.
struct Course {
    judge: HostJudge,
    folder: TempDir,
    said: Arc<Mutex<Vec<String>>>,
}

impl Course {
    /// A judge over a program that behaves well.
    fn new() -> Self {
        Self::over("well", |_| ())
    }

    /// A judge over a program that behaves as told, with changed options.
    fn over(behaviour: &str, change: impl FnOnce(&mut HostJudgeOptions)) -> Self {
        let folder = TempDir::new().unwrap();
        let pids = folder.path().join("pids");
        let share = folder.path().join("share");
        fs::create_dir(&pids).unwrap();
        fs::create_dir(&share).unwrap();
        let mut program = HostProgram::new(std::env::current_exe().unwrap());
        program.args = fake::ARGUMENTS.map(Into::into).to_vec();
        program.envs = vec![(fake::BEHAVIOUR.into(), behaviour.into()), (fake::PIDS.into(), pids.into())];
        let mut options = HostJudgeOptions::new(program);
        options.roots = vec![share];
        options.locks = Some(folder.path().join("locks"));
        options.deadlines.launch = Duration::from_secs(2);
        options.deadlines.load = Duration::from_secs(2);
        let said = Arc::new(Mutex::new(Vec::new()));
        let hears = said.clone();
        options.notice = Arc::new(move |text| hears.lock().unwrap().push(text.to_owned()));
        change(&mut options);
        Self { judge: HostJudge::new(options), folder, said }
    }

    /// Ids of all processes that were ever started.
    fn pids(&self) -> Vec<u32> {
        let pids = fs::read_dir(self.folder.path().join("pids")).unwrap();
        pids.map(|entry| entry.unwrap().file_name().to_str().unwrap().parse().unwrap()).collect()
    }

    /// Ends the judge; nothing of it may remain.
    #[track_caller]
    fn leaves_nothing(self) {
        let pids = self.pids();
        drop(self.judge);
        for pid in pids {
            assert!(goes(pid), "process {pid} is left");
        }
        let left: Vec<PathBuf> = fs::read_dir(self.folder.path().join("share"))
            .unwrap()
            .map(|entry| entry.unwrap().path())
            .collect();
        assert!(left.is_empty(), "folders are left: {left:?}");
    }
}

/// Whether a process ends by itself within seconds: a kill takes effect when the system next looks at it.
fn goes(pid: u32) -> bool {
    let end = Instant::now() + Duration::from_secs(20);
    while is_running(pid) {
        if Instant::now() > end {
            return false;
        }
        std::thread::sleep(Duration::from_millis(5));
    }
    true
}

/// Whether a process runs; one that was killed and waits for its parent does not.
fn is_running(pid: u32) -> bool {
    if cfg!(target_os = "linux") {
        let Ok(stat) = fs::read_to_string(format!("/proc/{pid}/stat")) else { return false };
        return !stat.rsplit(')').next().unwrap_or_default().trim_start().starts_with(['Z', 'X']);
    }
    let pid = rustix::process::Pid::from_raw(pid as i32).unwrap();
    rustix::process::test_kill_process(pid).is_ok()
}

/// A candidate that does what `ptx` names.
fn candidate(ptx: &str) -> Executable {
    Executable { ptx: ptx.to_owned(), entries: vec!["twice".to_owned()], tunables: Default::default() }
}
