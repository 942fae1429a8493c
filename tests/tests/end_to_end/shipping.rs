//! Entries that are fresh here and would reach nobody else.

use crate::support::Project;

/// Fresh packages `ops` and `more`, either in a repository of its own.
fn two_repositories(name: &str) -> Project {
    let project = Project::tuned(name);
    for (path, content) in project.files("").0 {
        let is_source = ["fsr/", "src/", "examples/", "kernels/", "build.rs", "Cargo.toml"]
            .iter()
            .any(|prefix| path.starts_with(prefix));
        if is_source {
            project.write(&format!("more/{path}"), content);
        }
    }
    project.edit("more/Cargo.toml", "name = \"ops\"", "name = \"more\"");
    project.edit("more/Cargo.toml", &format!("program-{name}"), &format!("program-more-{name}"));
    project.edit("more/Cargo.toml", &format!("host-{name}"), &format!("host-more-{name}"));
    project.edit("more/Cargo.toml", "\n[workspace]\n", "\n");
    project.edit("Cargo.toml", "[workspace]\n", "[workspace]\nmembers = [\"more\"]\n");
    for folder in [".", "more"] {
        let _ = std::fs::remove_dir_all(project.path(folder).join(".git"));
        project.run("git", &format!("init --quiet {folder}")).succeeds();
    }
    project
}

#[test]
fn what_git_ignores_is_told_of_every_package() {
    let project = two_repositories("ignored");
    project.fsr("check --workspace").succeeds();
    project.write("more/.gitignore", "*.ptx\n");
    project
        .fsr("check --workspace")
        .fails_with(8)
        .says("ignored more saxpy sm_80: git ignores fsr/saxpy/sm_80.ptx, so nobody else would get it")
        .says("git add --force [project]/more/fsr`")
        .says("2 not as they should be");
    // What is tracked already reaches others in spite of a rule.
    project.run("git", "-C more add --force fsr").succeeds();
    project.fsr("check --workspace").succeeds().says_nothing_of("whether git");
    // Silence would be taken for consent.
    project.write("more/.git/config", "[core");
    project
        .fsr("check --workspace")
        .succeeds()
        .says("warning: whether git ignores entries in [project]/more is not known: ");
}

#[test]
fn what_cargo_leaves_out_of_a_package_is_told() {
    let project = two_repositories("unpackaged");
    let manifest = project.read("more/Cargo.toml");
    let root = project.read("Cargo.toml");
    // Whether cargo itself takes the entries.
    let is_packaged = || {
        let listed = project.cargo("package --list --allow-dirty --offline -p more").succeeds().stdout;
        ["toml", "ptx", "cu"].iter().all(|kind| listed.contains(&format!("fsr/saxpy/sm_90.{kind}")))
    };
    let check = |lines: &str, workspace: &str| {
        project.write("more/Cargo.toml", manifest.replace("edition =", &format!("{lines}\nedition =")));
        project.write("Cargo.toml", format!("{root}\n{workspace}"));
        let outcome = project.fsr("check -p more").output();
        assert_eq!(outcome.code == Some(0), is_packaged(), "{lines}\n{}", outcome.stderr);
        let lines = outcome.stderr.lines().filter(|line| line.contains("sm_90: "));
        lines.map(str::trim).collect::<Vec<_>>().join("\n")
    };
    let fresh = "";
    insta::assert_snapshot!(check("include = [\"/src\", \"build.rs\"]", ""), @r#"unpackaged more saxpy sm_90: `cargo package` leaves fsr/saxpy/sm_90.toml out: add "/fsr" to `package.include`"#);
    insta::assert_snapshot!(check("exclude = [\"*.cu\"]", ""), @"unpackaged more saxpy sm_90: `cargo package` leaves fsr/saxpy/sm_90.cu out: `package.exclude` or a rule of cargo matches it");
    insta::assert_snapshot!(check("exclude = [\"fsr\"]", ""), @"unpackaged more saxpy sm_90: `cargo package` leaves fsr/saxpy/sm_90.toml out: `package.exclude` or a rule of cargo matches it");
    assert_eq!(check("include = [\"/src\", \"build.rs\", \"/fsr\"]", ""), fresh);
    assert_eq!(check("include = [\"src/**\", \"fsr/**/*.toml\", \"*.ptx\", \"*.cu\"]", ""), fresh);
    assert_eq!(check("exclude = [\"/examples\", \"kernels/*.cu\"]", ""), fresh);
    assert_eq!(check("exclude = [\"*.cu\", \"!/fsr/**/*.cu\"]", ""), fresh);
    // `include` alone decides.
    assert_eq!(check("include = [\"/src\", \"/fsr\"]\nexclude = [\"/fsr\"]", ""), fresh);
    let inherited = "[workspace.package]\nexclude = [\"*.ptx\"]\n";
    insta::assert_snapshot!(check("exclude.workspace = true", inherited), @"unpackaged more saxpy sm_90: `cargo package` leaves fsr/saxpy/sm_90.ptx out: `package.exclude` or a rule of cargo matches it");
}
