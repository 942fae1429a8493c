//! What a spec may say, and what people see when it says something else.
//!
//! To add a rule: break it in `every_rule_is_an_error_with_its_place`.

use std::fs;
use std::path::Path;

use fsr_build::spec::{LaunchBound, PackageSpec, SearchDefaults, SpecErrorKind, WorkspaceDefaults};

const PLAIN: &str = r#"[package]
name = "ops"

[package.metadata.fsr]
arch = ["sm_80"]
cuda = "12.8"

[package.metadata.fsr.kernels.transpose]
task = "Transpose a matrix."
host = ["examples/fsr_transpose.rs"]
tunables = { TILE = [8, 16] }
"#;

fn parse(text: &str) -> PackageSpec {
    PackageSpec::parse(text, Path::new("Cargo.toml")).unwrap().unwrap()
}

fn fault(text: &str) -> String {
    match PackageSpec::parse(text, Path::new("Cargo.toml")) {
        Ok(spec) => panic!("no fault in:\n{text}\n{spec:?}"),
        Err(error) => error.to_string(),
    }
}

#[test]
fn a_full_spec_is_read() {
    let text = r#"
[package]
name = "ops"

[package.metadata.fsr]
arch = ["sm_80", "sm_90a"]
cuda = "12.8"

[package.metadata.fsr.search]
candidates = 4

[package.metadata.fsr.kernels.sum]
task = """
  Sum all elements.
  """
entries = ["partial_sums", "final_sum"]
host = ["../ops-host/examples/sum.rs", "../ops-host/src/lib.rs"]
host-package = "ops-host"
host-features = ["cuda"]
host-profile = "bench"
headers = ["kernels/common.cuh"]
baseline = "kernels/sum.cu"
keep = ["the signature"]
tunables = { BLOCK = [256, 128] }
launch = ["GRID_X", "SHARED_BYTES"]
tolerance = { rtol = 1e-5, atol = 0 }
"#;
    let mut spec = parse(text);
    let kernel = spec.kernels.remove("sum").unwrap();
    insta::assert_debug_snapshot!(kernel);
    assert_eq!(spec.search, SearchDefaults { candidates: Some(4), rounds: None });
    assert_eq!(spec.archs.iter().map(ToString::to_string).collect::<Vec<_>>(), ["sm_80", "sm_90a"]);
    assert_eq!(kernel.launch["GRID_X"], LaunchBound { min: 0, max: 2147483647 });
}

#[test]
fn what_is_left_out_has_a_default() {
    let spec = parse(PLAIN);
    let kernel = &spec.kernels["transpose"];
    assert_eq!(kernel.entries, ["transpose"]);
    assert_eq!(kernel.host_build.profile(), "release");
    assert!(kernel.headers.is_empty() && kernel.baseline.is_none() && kernel.tolerance.is_none());
    assert!(kernel.state.is_empty(), "no variable may keep anything");
    assert_eq!(spec.search, SearchDefaults::default());
}

#[test]
fn a_package_without_a_spec_is_no_error() {
    for text in [
        "[package]\nname = \"x\"\n",
        "[workspace]\n",
        "",
        "[package]\nname = \"x\"\n[package.metadata.docs]\n",
    ] {
        assert_eq!(PackageSpec::parse(text, Path::new("Cargo.toml")).unwrap(), None);
    }
}

#[test]
fn parameters_know_their_values() {
    let spec = parse(&PLAIN.replace("tunables", "launch = { BLOCK_X = [32, 1024] }\ntunables"));
    let kernel = &spec.kernels["transpose"];
    assert_eq!(kernel.parameters().collect::<Vec<_>>(), ["TILE", "BLOCK_X"]);
    assert!(kernel.allows("TILE", 16) && !kernel.allows("TILE", 17));
    assert!(kernel.allows("BLOCK_X", 1024) && !kernel.allows("BLOCK_X", 31) && !kernel.allows("OTHER", 0));
}

#[test]
fn every_rule_is_an_error_with_its_place() {
    let replaced = |from: &str, to: &str| {
        assert!(PLAIN.contains(from), "{from}");
        fault(&PLAIN.replace(from, to))
    };
    let added = |line: &str| fault(&format!("{PLAIN}{line}\n"));
    let faults = [
        // The document.
        replaced("arch = [", "arch = "),
        replaced("cuda =", "cuda = \"12.8\"\ncuda ="),
        replaced("[package.metadata.fsr]", "[package.metadata]\nfsr = 1"),
        // The package.
        replaced("name = \"ops\"", ""),
        replaced("cuda =", "cude ="),
        replaced("cuda = \"12.8\"", ""),
        replaced("\"12.8\"", "12.8"),
        replaced("12.8", "12.8.1"),
        replaced("12.8", "twelve"),
        replaced("arch = [\"sm_80\"]", ""),
        replaced("[\"sm_80\"]", "[]"),
        replaced("[\"sm_80\"]", "\"sm_80\""),
        replaced("\"sm_80\"", "\"compute_80\""),
        replaced("\"sm_80\"", "\"sm_80a\""),
        replaced("\"sm_80\"", "\"hopper\""),
        replaced("\"sm_80\"", "\"sm_80\", \"sm_80\""),
        replaced("cuda =", "search.candidates = 0\ncuda ="),
        replaced("cuda =", "search.candidates = 65\ncuda ="),
        replaced("cuda =", "search.rounds = 1001\ncuda ="),
        replaced("cuda =", "search.round = 1\ncuda ="),
        // Names.
        replaced("kernels.transpose", "kernels.trans-pose"),
        replaced("kernels.transpose", "kernels.loop"),
        replaced("kernels.transpose", "kernels.con"),
        replaced("kernels.transpose", "kernels.Image"),
        replaced("kernels.transpose", "kernels.double"),
        added("[package.metadata.fsr.kernels.Transpose]\ntask = \"x\"\nhost = [\"x.rs\"]"),
        // Task and entries.
        replaced("task = \"Transpose a matrix.\"", ""),
        replaced("Transpose a matrix.", " \\n "),
        added("task-file = \"task.md\""),
        replaced("task = \"Transpose a matrix.\"", "task-file = \"no/such.md\""),
        added("task_file = \"task.md\""),
        added("entry = \"a-b\""),
        added("entry = \"größe\""),
        added("entries = []"),
        added("entries = [\"a\", \"a\"]"),
        added("entries = [\"a\"]\nentry = \"a\""),
        // Files.
        replaced("host = [\"examples/fsr_transpose.rs\"]", ""),
        replaced("[\"examples/fsr_transpose.rs\"]", "[]"),
        replaced("\"examples/fsr", "\"/examples/fsr"),
        replaced("\"examples/fsr", "\"../examples/fsr"),
        replaced("examples/fsr", "examples\\\\fsr"),
        added("headers = [\"a.cuh\", \"./a.cuh\"]"),
        added("baseline = \"\""),
        added("baseline = [\"a.cu\"]"),
        added("host-features = [\"--all-features\"]"),
        added("host-profile = \"\""),
        // Words.
        added("keep = [\"\"]"),
        added("keep = [\"a\", \" a\\n\"]"),
        added("state = [\"a b\"]"),
        added("state = [\"a\", \"a\"]"),
        // Parameters.
        replaced("[8, 16]", "[]"),
        replaced("[8, 16]", "[8, 8]"),
        replaced("[8, 16]", "[8, -16]"),
        replaced("[8, 16]", "[8, 1.5]"),
        replaced("[8, 16]", "[8, 4294967296]"),
        replaced("[8, 16]", "[8, 99999999999999999999999]"),
        replaced("TILE", "\"TILE X\""),
        replaced("TILE", "int"),
        replaced("TILE", "SELF"),
        added("launch = [\"TILE\"]"),
        added("launch = [\"tile\"]"),
        added("launch = [\"A\", \"A\"]"),
        added("launch = { A = [2, 1] }"),
        added("launch = { A = [1] }"),
        added("launch = { A = 1 }"),
        added("launch = \"A\""),
        // Tolerance.
        added("tolerance = 1e-5"),
        added("tolerance = { rtol = 1e-5 }"),
        added("tolerance = { rtol = -1e-5, atol = 0 }"),
        added("tolerance = { rtol = nan, atol = 0 }"),
        added("tolerance = { rtol = 0, atol = 1.0 }"),
        added("tolerance = { rtol = 0, atol = inf }"),
        added("tolerance = { rtol = 0, atol = 0, ulp = 2 }"),
    ];
    insta::assert_snapshot!(faults.join("\n"));
}

#[test]
fn the_place_of_a_fault_can_be_underlined() {
    let text = PLAIN.replace("host =", "hosts =").replace('\n', "\r\n");
    let error = PackageSpec::parse(&text, Path::new("Cargo.toml")).unwrap_err();
    let place = error.place().unwrap();
    assert_eq!((place.line, place.column), (10, 1));
    assert_eq!(&text[place.span.clone()], "hosts");
    assert!(matches!(error.kind(), SpecErrorKind::Fault(_)));
}

#[test]
fn columns_count_characters() {
    let told = fault(&format!("{PLAIN}keep = [\"größe\", \"\"]\n"));
    assert!(told.starts_with("Cargo.toml:12:18: "), "{told}");
}

#[test]
fn zero_has_one_spelling() {
    let text = format!("{PLAIN}tolerance = {{ rtol = -0.0, atol = 0 }}\n");
    let tolerance = parse(&text).kernels["transpose"].tolerance.unwrap();
    assert_eq!((tolerance.rtol.to_bits(), tolerance.atol.to_bits()), (0, 0));
}

#[test]
fn task_files_are_read_from_the_package() {
    let folder = tempfile::tempdir().unwrap();
    let manifest = folder.path().join("Cargo.toml");
    fs::write(&manifest, PLAIN.replace("task = \"Transpose a matrix.\"", "task-file = \"task.md\"")).unwrap();
    fs::write(folder.path().join("task.md"), "\r\nTranspose\r\na matrix.\r\n").unwrap();
    let spec = PackageSpec::read(&manifest).unwrap().unwrap();
    assert_eq!(spec.root, folder.path());
    assert_eq!(spec.kernels["transpose"].task.text, "Transpose\na matrix.");
    assert_eq!(spec.kernels["transpose"].task.file.as_ref().unwrap().as_str(), "task.md");

    fs::write(folder.path().join("task.md"), "\n").unwrap();
    let error = PackageSpec::read(&manifest).unwrap_err();
    assert!(error.to_string().ends_with("cannot be used: it is empty"), "{error}");
    assert_eq!(error.place().unwrap().line, 9);
}

#[test]
fn a_missing_manifest_is_named() {
    let error = PackageSpec::read(Path::new("no/such/Cargo.toml")).unwrap_err();
    assert!(error.to_string().starts_with("no/such/Cargo.toml: cannot be read: "), "{error}");
}

#[test]
fn a_workspace_has_search_defaults_behind_those_of_its_packages() {
    let folder = tempfile::tempdir().unwrap();
    let manifest = folder.path().join("Cargo.toml");
    let read = |text: &str| {
        fs::write(&manifest, text).unwrap();
        WorkspaceDefaults::read(&manifest)
    };
    let workspace = read("[workspace.metadata.fsr.search]\ncandidates = 8\nrounds = 3\n").unwrap();
    let own = SearchDefaults { candidates: Some(4), rounds: None };
    assert_eq!(own.or(workspace.search), SearchDefaults { candidates: Some(4), rounds: Some(3) });
    assert_eq!(read("[package]\nname = \"x\"\n").unwrap(), WorkspaceDefaults::default());
    let error = read("[workspace.metadata.fsr]\narch = [\"sm_80\"]\n").unwrap_err().to_string();
    assert!(
        error.ends_with(
            "Cargo.toml:2:1: unknown key `arch` in [workspace.metadata.fsr]; did you mean `search`?"
        ),
        "{error}"
    );
}
