//! What the README promises of the checkout itself.

use std::path::Path;

use crate::support::{Project, Run, read_all};

fn checkout() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap()
}

fn readme() -> String {
    std::fs::read_to_string(checkout().join("README.md")).unwrap()
}

#[test]
fn the_example_is_fresh() {
    Run::program("check -p example-crate", checkout()).succeeds().says("all fresh");
}

#[test]
fn the_example_is_tuned_from_its_recording() {
    let readme = readme();
    let command =
        readme.lines().find_map(|line| line.strip_prefix("cargo fsr tune -p example-crate")).unwrap();
    let (words, out) = command.split_once("--out ").expect("the README names a folder");
    let folder = Project::empty("readme");
    let out = folder.join(Path::new(out).file_name().unwrap());
    Run::program(&format!("tune -p example-crate {words} --out"), checkout())
        .arg(&out)
        .env("FSR_STATE_DIR", folder.join("state"))
        .env("FSR_CACHE_DIR", folder.join("cache"))
        .env("FSR_CONFIG_DIR", folder.join("config"))
        .env("FSR_TOOLCHAIN_DIR", "/nowhere")
        .succeeds()
        .says("Device NVIDIA H200: as recorded; nothing is executed here; 5 cases, 1 timed")
        .says("Finished 4 kernels in ");

    // The search took the same course: the committed kernels came out.
    let committed = read_all(&checkout().join("example-crate/fsr"));
    let repeated = read_all(&out.join("example-crate"));
    for kernel in ["transpose", "softmax_rows", "reduce_sum", "saxpy"] {
        for file in ["sm_90.ptx", "sm_90.cu"] {
            let path = format!("{kernel}/{file}");
            assert!(committed[&*path] == repeated[&*path], "{path} is another");
        }
    }
}

#[test]
fn both_spellings_are_understood() {
    let project = Project::tuned("spellings");
    let (as_is, words) = (project.fsr("list").succeeds(), project.fsr("fsr list").succeeds());
    assert_eq!(as_is.stdout, words.stdout);
    // As cargo calls it, wherever it is installed.
    project.link("cargo-fsr");
    let path = std::env::join_paths(
        [project.path("bin")].into_iter().chain(std::env::split_paths(&std::env::var_os("PATH").unwrap())),
    );
    assert_eq!(project.cargo("fsr list").env("PATH", path.unwrap()).succeeds().stdout, as_is.stdout);
    let help = project.fsr("--help").succeeds().stdout;
    for command in ["tune", "check", "verify", "list", "show", "toolchain", "bundle", "import"] {
        assert!(help.contains(&format!("\n  {command} ")), "{command} is not in\n{help}");
    }
    project.fsr("tuen").fails_with(2).says("a similar subcommand exists: 'tune'");
}

#[test]
fn every_exit_code_of_the_readme_is_in_the_help() {
    let help = Run::program("--help", checkout()).succeeds().stdout;
    let words: Vec<&str> = help.split_whitespace().collect();
    let help = words.join(" ");
    for row in readme().lines().filter(|line| line.starts_with("| ") && line.ends_with(" |")) {
        if let Some(code) = row.split('|').nth(1).and_then(|code| code.trim().parse::<u32>().ok()) {
            assert!(help.contains(&format!("{code} ")), "{code} is not in {help}");
        }
    }
}
