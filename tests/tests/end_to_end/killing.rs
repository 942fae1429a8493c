//! Runs that are killed: whatever the moment, the store is whole, and `--resume` ends what was begun.

use std::collections::BTreeSet;
use std::thread;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use crate::support::{ANSWERS, Project, is_running, records};

/// Moments that differ from run to run; the seed is printed with a failure.
struct Moments(u64);

impl Moments {
    fn new() -> Self {
        let seed = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_nanos() as u64;
        println!("moments from seed {seed}");
        Self(seed)
    }

    /// Up to `most`.
    fn wait(&mut self, most: Duration) {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        thread::sleep(most.mul_f64((self.0 >> 11) as f64 / (1_u64 << 53) as f64));
    }
}

/// The states of both entries; none may be damaged.
#[track_caller]
fn states(project: &Project) -> BTreeSet<String> {
    let entries = project.fsr("check --message-format json").output().json();
    let states: BTreeSet<String> =
        entries.iter().map(|entry| entry["state"].as_str().unwrap().to_owned()).collect();
    assert!(states.iter().all(|state| ["stale", "fresh"].contains(&&**state)), "{entries:?}");
    states
}

#[test]
fn a_search_killed_again_and_again_is_ended_and_asks_for_nothing_twice() {
    let project = Project::tuned("killed");
    project.edit("Cargo.toml", "for i < n, in f32.", "for all i < n, in f32.");
    // Slow enough to be killed in the middle; right and wrong answers in turn.
    project.answers(&ANSWERS[..2]);
    project.write(
        "model/model.sh",
        "n=1\nwhile ! mkdir \"$1/asked/$n\" 2>/dev/null; do n=$((n + 1)); done\ncat > \"$1/asked/$n/prompt.md\"\n\
         sleep 0.3\nexec cat \"$1/answers/$((n % 2 + 1)).md\"\n",
    );
    // Built beforehand, so that the kills fall into the search.
    let tune = |words: &str| project.fsr(&format!("tune {words}")).on_cpu_device();
    project.fsr("verify").on_cpu_device().fails_with(1);
    assert_eq!(states(&project), BTreeSet::from(["stale".to_owned()]));

    let mut moments = Moments::new();
    let mut kills = 0;
    for round in 0..15 {
        let answered = answered(&project);
        let before = project.asked().len();
        let mut run = tune("--resume").start();
        // The model alone takes 0.6 s: the first kill falls into the search, however fast the machine is.
        moments.wait(Duration::from_millis(if round == 0 { 500 } else { 3000 }));
        kills += u32::from(run.kill());
        for prompt in &project.asked()[before..] {
            assert!(!answered.contains(prompt), "round {round}: answered before, and asked again:\n{prompt}");
        }
        if !states(&project).contains("stale") {
            break;
        }
    }
    assert!(kills > 0, "no run was killed");

    let before = answered(&project);
    let asked = project.asked().len();
    tune("--resume").succeeds();
    assert!(project.asked()[asked..].iter().all(|prompt| !before.contains(prompt)));
    project.fsr("check").succeeds();
    assert_eq!(answered(&project).len(), 4, "two rounds of two");
    assert_eq!(project.journals().len(), 1, "one run from the first start to the end");
}

/// The prompts that the journal has an answer to.
fn answered(project: &Project) -> BTreeSet<String> {
    let journal = project.journals().concat();
    let answered: Vec<_> = records(&journal, "answer").map(|record| record["position"].clone()).collect();
    let prompts = records(&journal, "prompt").map(|record| record["prompt"].clone());
    let prompts = prompts.filter(|prompt| answered.contains(&prompt["position"]));
    prompts.map(|prompt| prompt["text"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn an_entry_being_written_is_the_old_one_or_the_new_one() {
    let project = Project::tuned("killed-writing");
    let tune = || project.fsr("tune --force --model replay:recorded --verdicts --frozen");
    let began = Instant::now();
    tune().succeeds();
    let whole = began.elapsed();

    let mut moments = Moments::new();
    for _ in 0..25 {
        let mut run = tune().start();
        moments.wait(whole);
        run.kill();
        assert_eq!(states(&project), BTreeSet::from(["fresh".to_owned()]));
    }
    tune().succeeds();
    let staged = project.stored().0.into_keys().filter(|name| name.ends_with(".new"));
    assert_eq!(staged.collect::<Vec<_>>(), [""; 0], "nothing is left behind");
    project.fsr("check").succeeds();
}

#[test]
fn nothing_that_a_killed_run_started_lives_on() {
    let project = Project::tuned("orphans");
    // A model with a child of its own, and neither looks after who asked.
    project.write("model/model.sh", "sleep 1000 &\necho $! $$ > \"$1/pids.part\"\nmv \"$1/pids.part\" \"$1/pids\"\nmkdir \"$1/asked/$$\"\nwait\n");
    let mut run = project.fsr("tune --force --candidates 1").on_cpu_device().start();
    project.wait_until_asked();
    assert!(run.kill());
    for pid in project.read("model/pids").split_whitespace() {
        let end = Instant::now() + Duration::from_secs(30);
        while is_running(pid) {
            assert!(Instant::now() < end, "process {pid} is left");
            thread::sleep(Duration::from_millis(10));
        }
    }
}
