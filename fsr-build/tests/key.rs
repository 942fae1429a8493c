//! The key promises: equal meaning gives equal keys, any change of meaning is seen and named.
//!
//! To add an input: give it a line in `every_change_of_meaning_is_named`, and a field in `Draft`.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::fs;
use std::path::Path;
use std::process::Command;

use fsr_build::key::{Inputs, Observed};
use fsr_build::spec::PackageSpec;
use proptest::prelude::*;

const CARGO_TOML: &str = r#"
[package]
name = "ops"
version = "0.1.0"
edition = "2021"
license = "MIT"
description = "Test."

[package.metadata.fsr]
arch = ["sm_80", "sm_90a"]
cuda = "12.8"
search = { candidates = 4 }

[package.metadata.fsr.kernels.transpose]
task = "Transpose a row-major rows x cols f32 matrix."
entries = ["transpose", "transpose_edge"]
host = ["examples/fsr_transpose.rs", "src/launch.rs"]
host-features = ["cuda", "bench"]
headers = ["kernels/common.cuh"]
baseline = "kernels/transpose.cu"
keep = ["the signature of transpose", "no shared memory beyond 48 KiB"]
tunables = { TILE = [8, 16, 32], UNROLL = [1] }
launch = { BLOCK_X = [32, 1024] }
tolerance = { rtol = 1e-5, atol = 1e-6 }

[features]
cuda = []
bench = []
"#;

fn package() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    for (path, text) in [
        ("Cargo.toml", CARGO_TOML),
        ("examples/fsr_transpose.rs", "fn main() {\n}\n"),
        ("src/lib.rs", "//! Test.\n"),
        ("src/launch.rs", "// launch\n"),
        ("kernels/common.cuh", "#define COMMON\n"),
        ("kernels/transpose.cu", "// baseline\n"),
    ] {
        let path = folder.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
    folder
}

fn inputs(root: &Path, arch: &str) -> Inputs {
    let spec = PackageSpec::read(&root.join("Cargo.toml")).unwrap().unwrap();
    let kernel = spec.kernels.values().next().unwrap();
    Inputs::of(&spec, kernel, &arch.parse().unwrap()).unwrap()
}

fn edit(root: &Path, file: &str, from: &str, to: &str) {
    let path = root.join(file);
    let text = fs::read_to_string(&path).unwrap();
    assert!(text.contains(from), "{file} has no {from}");
    fs::write(path, text.replace(from, to)).unwrap();
}

/// Fixed for ever: whoever changes one of these makes every committed kernel stale.
#[test]
fn test_vectors() {
    let folder = package();
    let mut text = String::new();
    for arch in ["sm_80", "sm_90a"] {
        let inputs = inputs(folder.path(), arch);
        writeln!(text, "{arch} {}", inputs.key()).unwrap();
    }
    for input in inputs(folder.path(), "sm_80").iter() {
        writeln!(text, "{} {} {}", input.part, input.name, input.digest).unwrap();
    }
    insta::assert_snapshot!(text, @r"
    sm_80 8c5d62e3f0d02f4e914415415b98e57df74607ff9b38e55dff19e055b5288bff
    sm_90a c5e84becb49d36beb8066a99f8a02bbb3ab5d58e45b89c6cbc247438d6512432
    contract arch 9153d6e7ed13e07f3ec728e4f427dc74918aef589914736a6bd6439c39e85e15
    evidence baseline 64336cbe89b8ead7b15252b326eaf0c94f4e809ce1597821282baa086f1be200
    contract cuda 252354e3e416673bbfc659c29ef332c7e21e358d55c0c01eb85a537b65823521
    contract entries bb754dde87eb70ed19e966483e81dceb52ca23019aaf2ef11bdbd290e728abfd
    evidence header:kernels/common.cuh 07b94e90b83d307daa8e454145077423d3d066f69b56d7e505308d5ab63b0e88
    evidence host-build 1c5d977f3ef66322b41d3b2f8cd5aaf6d7eb03e00af15a040a9408125334dc99
    evidence host:examples/fsr_transpose.rs 9dc7b5bf451dba16224f1cee8afdc564aaeec18fe19c775faa9e8da92ec65a0e
    evidence host:src/launch.rs 817630b91548da7206bd7bf4d6858c4e72bcbba7ff4778acf93262366addffc4
    contract keep f056ac5d04f8e11c8c976a1fc262203eb11fe842c4d60db86f545ec604e00489
    contract launch d92a0d63b381ec5aacd3881439f3781c41da384fb6eefb0aa725374cf6c3ca5f
    contract task eb740ef248c555b7eebe681da701e9b180ba117975005658e69108d4c2fcaa97
    evidence tolerance 000223a9eea69c84365139896960740e4faf441f604a93c36a9f7c5b6190e261
    contract tunables 3f63e149f10eba4b91ed0de4caba35aa734084e2aa6d078bf95389fe7a4a1d70
    ");
}

#[test]
fn every_change_of_meaning_is_named() {
    let changes = |file: &str, from: &str, to: &str| {
        let folder = package();
        let before = inputs(folder.path(), "sm_80");
        edit(folder.path(), file, from, to);
        let after = inputs(folder.path(), "sm_80");
        let changes: Vec<String> = before
            .changes(&after.clone().into())
            .iter()
            .map(|change| format!("{} {change}", change.part))
            .collect();
        assert_eq!(before.key() == after.key(), changes.is_empty());
        changes.join(", ")
    };
    let toml = |from: &str, to: &str| changes("Cargo.toml", from, to);
    let table = [
        toml("f32 matrix", "f64 matrix"),
        toml("\"transpose\", \"transpose_edge\"", "\"transpose_edge\", \"transpose\""),
        toml("[8, 16, 32]", "[8, 16]"),
        toml("UNROLL", "UNROLLED"),
        toml("48 KiB", "64 KiB"),
        toml("keep =", "keep = [] #"),
        toml("keep =", "state = [\"ticket\"]\nkeep ="),
        toml("[32, 1024]", "[32, 512]"),
        toml("launch = { BLOCK_X = [32, 1024] }", ""),
        toml("cuda = \"12.8\"", "cuda = \"12.9\""),
        toml("1e-5", "2e-5"),
        toml("tolerance =", "#"),
        toml("baseline =", "#"),
        toml("headers =", "#"),
        toml("host-features =", "#"),
        toml("host-features", "host-profile = \"dev\"\nhost-features"),
        toml(
            "\"examples/fsr_transpose.rs\", \"src/launch.rs\"",
            "\"src/launch.rs\", \"examples/fsr_transpose.rs\"",
        ),
        toml(", \"src/launch.rs\"", ""),
        changes("examples/fsr_transpose.rs", "main", "main2"),
        changes("src/launch.rs", "launch", "start"),
        changes("kernels/common.cuh", "COMMON", "OTHER"),
        changes("kernels/transpose.cu", "baseline", "better"),
    ];
    insta::assert_snapshot!(table.join("\n"), @r"
    contract task changed
    contract entries changed
    contract tunables changed
    contract tunables changed
    contract keep changed
    contract keep removed
    contract state added
    contract launch changed
    contract launch removed
    contract cuda changed
    evidence tolerance changed
    evidence tolerance removed
    evidence baseline removed
    evidence header:kernels/common.cuh removed
    evidence host-build changed
    evidence host-build changed
    evidence host:examples/fsr_transpose.rs changed, evidence host:src/launch.rs changed
    evidence host:src/launch.rs removed
    evidence host:examples/fsr_transpose.rs changed
    evidence host:src/launch.rs changed
    evidence header:kernels/common.cuh changed
    evidence baseline changed
    ");
}

#[test]
fn what_is_no_meaning_leaves_the_key_alone() {
    let unchanged = |file: &str, from: &str, to: &str| {
        let folder = package();
        let before = inputs(folder.path(), "sm_80");
        edit(folder.path(), file, from, to);
        assert_eq!(inputs(folder.path(), "sm_80"), before, "{from} -> {to}");
    };
    let toml = |from: &str, to: &str| unchanged("Cargo.toml", from, to);
    toml("arch = [\"sm_80\", \"sm_90a\"]", "arch = [\"sm_120\", \"sm_80\"]");
    toml("candidates = 4", "candidates = 8");
    toml("[8, 16, 32]", "[32, 8, 0x10]");
    toml("[\"cuda\", \"bench\"]", "[\"bench\", \"cuda\"]");
    toml("1e-5", "0.00001");
    toml("host-features", "host-profile = \"release\"\nhost-features");
    toml("host-features", "host-package = \"ops\"\nhost-features");
    toml("kernels.transpose]", "kernels.renamed]");
    toml("name = \"ops\"", "name = \"other\"");
    toml("\"examples/fsr", "\"./examples//fsr");
    toml(
        "\"Transpose a row-major rows x cols f32 matrix.\"",
        "\"\"\"\nTranspose a row-major rows x cols \\\n  f32 matrix.\n\"\"\"",
    );
    toml("\n", "\r\n");
    for file in ["examples/fsr_transpose.rs", "src/launch.rs", "kernels/common.cuh", "kernels/transpose.cu"] {
        unchanged(file, "\n", "\r\n");
    }
}

#[test]
fn a_task_may_move_into_a_file() {
    let folder = package();
    let before = inputs(folder.path(), "sm_80");
    fs::write(folder.path().join("task.md"), "Transpose a row-major rows x cols f32 matrix.\r\n").unwrap();
    edit(
        folder.path(),
        "Cargo.toml",
        "task = \"Transpose a row-major rows x cols f32 matrix.\"",
        "task-file = \"task.md\"",
    );
    assert_eq!(inputs(folder.path(), "sm_80"), before);
}

#[test]
fn the_baseline_may_move() {
    let folder = package();
    let before = inputs(folder.path(), "sm_80");
    fs::rename(folder.path().join("kernels/transpose.cu"), folder.path().join("old.cu")).unwrap();
    edit(folder.path(), "Cargo.toml", "kernels/transpose.cu", "old.cu");
    assert_eq!(inputs(folder.path(), "sm_80"), before);
}

#[test]
fn each_architecture_has_a_key_of_its_own() {
    let folder = package();
    assert_ne!(inputs(folder.path(), "sm_90").key(), inputs(folder.path(), "sm_90a").key());
}

#[test]
fn an_absent_file_is_named_to_who_insists_and_not_judged_by_who_builds() {
    let folder = package();
    let before = inputs(folder.path(), "sm_80");
    fs::remove_dir_all(folder.path().join("examples")).unwrap();
    let spec = PackageSpec::read(&folder.path().join("Cargo.toml")).unwrap().unwrap();
    let arch = "sm_80".parse().unwrap();
    let error = Inputs::of(&spec, &spec.kernels["transpose"], &arch).unwrap_err();
    assert_eq!(error.input(), "host:examples/fsr_transpose.rs");
    assert!(error.to_string().contains("cannot be read"), "{error}");
    let seen = Observed::of(&spec, &spec.kernels["transpose"], &arch).unwrap();
    assert_eq!(before.changes(&seen), []);
    assert_eq!(seen.absent.len(), 1);
}

#[test]
fn cargos_rewriting_for_publication_leaves_the_key_alone() {
    let folder = package();
    let workspace = "\n[workspace]\n[workspace.metadata.fsr.search]\nrounds = 3\n";
    fs::write(folder.path().join("Cargo.toml"), format!("{CARGO_TOML}{workspace}")).unwrap();
    let before = inputs(folder.path(), "sm_80");
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let output = Command::new(cargo)
        .args(["package", "--offline", "--allow-dirty", "--quiet", "--target-dir", "target"])
        .current_dir(folder.path())
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let packaged = folder.path().join("target/package/ops-0.1.0");
    let text = fs::read_to_string(packaged.join("Cargo.toml")).unwrap();
    assert!(
        text.contains("AUTOMATICALLY GENERATED BY CARGO") && !text.contains("workspace.metadata"),
        "{text}"
    );
    assert_eq!(inputs(&packaged, "sm_80"), before);
}

/// The meaning of a spec, apart from the files that it names.
#[derive(Debug, Clone, PartialEq)]
struct Draft {
    cuda: (u32, u32),
    task: String,
    entries: Vec<String>,
    keep: Vec<String>,
    tunables: BTreeMap<String, BTreeSet<u32>>,
    launch: BTreeMap<String, (u32, u32)>,
    features: BTreeSet<String>,
    tolerance: Option<(f64, f64)>,
}

impl Draft {
    /// The inputs that differ.
    fn differences(&self, other: &Draft) -> Vec<&'static str> {
        let mut names = Vec::new();
        let mut differs = |name, differs: bool| {
            if differs {
                names.push(name);
            }
        };
        differs("cuda", self.cuda != other.cuda);
        differs("entries", self.entries != other.entries);
        differs("host-build", self.features != other.features);
        differs("keep", self.keep != other.keep);
        differs("launch", self.launch != other.launch);
        differs("task", self.task != other.task);
        differs("tolerance", self.tolerance != other.tolerance);
        differs("tunables", self.tunables != other.tunables);
        names
    }
}

fn draft() -> impl Strategy<Value = Draft> {
    // Words that mind quotes, escapes and field borders; trimmed, as a spec's are.
    let words = || "[a-z\"'\\\\\n:0-9é]{1,6}".prop_map(|words| words.trim().to_owned());
    let words = move || words().prop_filter("never empty", |words| !words.is_empty());
    let lists =
        move || prop::collection::btree_set(words(), 0..3).prop_map(|set| set.into_iter().rev().collect());
    let entries =
        prop::collection::btree_set("k[a-z0-9]{0,2}", 1..3).prop_map(|set| set.into_iter().collect());
    let tunables = prop::collection::btree_map("T[A-Z]?", prop::collection::btree_set(0u32..40, 1..4), 0..3);
    let bounds = (0u32..9, 9u32..3000);
    let launch = prop::collection::btree_map("L[A-Z]?", bounds, 0..3);
    let features = prop::collection::btree_set("[a-z]{1,3}", 0..3);
    let tolerance =
        prop::option::of((0u32..100, 0u32..100).prop_map(|(r, a)| (f64::from(r) / 1e4, f64::from(a) / 1e7)));
    (((9u32..14), (0u32..9)), words(), entries, lists(), tunables, launch, features, tolerance).prop_map(
        |(cuda, task, entries, keep, tunables, launch, features, tolerance)| Draft {
            cuda,
            task,
            entries,
            keep,
            tunables,
            launch,
            features,
            tolerance,
        },
    )
}

/// One of the many ways to write the same TOML, as a stream of choices.
#[derive(Debug)]
struct Style(Vec<u8>, usize);

impl Style {
    fn pick(&mut self, among: usize) -> usize {
        self.1 += 1;
        usize::from(self.0[self.1 % self.0.len()]) % among
    }

    fn shuffle<T>(&mut self, items: &mut [T]) {
        for at in (1..items.len()).rev() {
            items.swap(at, self.pick(at + 1));
        }
    }

    fn blank(&mut self) -> &'static str {
        ["", " ", "  ", "\t"][self.pick(4)]
    }

    fn string(&mut self, text: &str) -> String {
        let plain = !text.contains(['\'', '\n']);
        match self.pick(3) {
            0 if plain => format!("'{text}'"),
            1 => format!("\"\"\"\n{}\"\"\"", text.replace('\\', "\\\\").replace('"', "\\\"")),
            _ => format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\u0022").replace('\n', "\\n")),
        }
    }

    fn integer(&mut self, value: u32) -> String {
        match self.pick(4) {
            0 => format!("{value:#x}"),
            1 => format!("{value:#b}"),
            2 if value >= 10 => format!("{}_{}", value / 10, value % 10),
            _ => value.to_string(),
        }
    }

    fn float(&mut self, value: f64) -> String {
        if self.pick(2) == 0 { format!("{value:e}").replace("0e0", "0.0") } else { format!("{value:?}") }
    }

    fn array(&mut self, items: Vec<String>) -> String {
        let (open, comma, close) = match self.pick(3) {
            0 => ("[", ",", "]"),
            1 => ("[\n  ", ", # one\n  ", "\n]"),
            _ => ("[ ", " , ", " ]"),
        };
        format!("{open}{}{close}", items.join(comma))
    }

    fn key(&mut self, key: &str) -> String {
        if self.pick(4) == 0 { format!("\"{key}\"") } else { key.to_owned() }
    }

    /// Inline, dotted, or under a header of its own at the end.
    fn table(
        &mut self,
        lines: &mut Vec<String>,
        tail: &mut String,
        name: &str,
        mut pairs: Vec<(String, String)>,
    ) {
        self.shuffle(&mut pairs);
        let pairs: Vec<(String, String)> =
            pairs.into_iter().map(|(key, value)| (self.key(&key), value)).collect();
        match self.pick(3) {
            0 if pairs.iter().all(|(_, value)| !value.contains('\n')) => {
                let pairs: Vec<String> =
                    pairs.iter().map(|(key, value)| format!("{key} = {value}")).collect();
                lines.push(format!("{name} = {{ {} }}", pairs.join(", ")));
            }
            1 => lines.extend(pairs.iter().map(|(key, value)| format!("{name}.{key} = {value}"))),
            _ => {
                let _ = writeln!(tail, "[package.metadata.fsr.kernels.k.{name}]");
                for (key, value) in pairs {
                    let _ = writeln!(tail, "{key} = {value}");
                }
            }
        }
    }

    fn write(&mut self, draft: &Draft) -> String {
        let (mut lines, mut tail) = (Vec::new(), String::new());
        let strings = |style: &mut Style, words: &[String]| {
            let words = words.iter().map(|word| style.string(word)).collect();
            style.array(words)
        };
        lines.push(format!("task = {}", self.string(&draft.task)));
        lines.push(format!("host{}= [\"h.rs\"]", self.blank()));
        lines.push(format!("entries ={}{}", self.blank(), strings(self, &draft.entries)));
        if !draft.keep.is_empty() || self.pick(2) == 0 {
            lines.push(format!("keep = {}", strings(self, &draft.keep)));
        }
        if !draft.features.is_empty() || self.pick(2) == 0 {
            let mut features: Vec<String> = draft.features.iter().cloned().collect();
            self.shuffle(&mut features);
            lines.push(format!("host-features = {}", strings(self, &features)));
        }
        if !draft.tunables.is_empty() {
            let mut pairs = Vec::new();
            for (name, values) in &draft.tunables {
                let mut values: Vec<String> = values.iter().map(|value| self.integer(*value)).collect();
                self.shuffle(&mut values);
                pairs.push((name.clone(), self.array(values)));
            }
            self.table(&mut lines, &mut tail, "tunables", pairs);
        }
        if !draft.launch.is_empty() {
            let mut pairs = Vec::new();
            for (name, (min, max)) in &draft.launch {
                let ends = vec![self.integer(*min), self.integer(*max)];
                pairs.push((name.clone(), self.array(ends)));
            }
            self.table(&mut lines, &mut tail, "launch", pairs);
        }
        if let Some((rtol, atol)) = draft.tolerance {
            let pairs = vec![("rtol".to_owned(), self.float(rtol)), ("atol".to_owned(), self.float(atol))];
            self.table(&mut lines, &mut tail, "tolerance", pairs);
        }
        self.shuffle(&mut lines);
        let comment = ["", "# a remark\n"][self.pick(2)];
        let (major, minor) = draft.cuda;
        let fsr =
            format!("[package.metadata.fsr]\n{comment}cuda = \"{major}.{minor}\"\narch = [\"sm_80\"]\n");
        let kernel =
            format!("[package.metadata.fsr.kernels.k]\n{}\n{tail}", lines.join(["\n", "\n\n"][self.pick(2)]));
        let package = "[package]\nname = \"p\"\n".to_owned();
        let mut parts = [fsr, kernel, package];
        self.shuffle(&mut parts);
        let text = parts.join("\n");
        if self.pick(2) == 0 { text.replace('\n', "\r\n") } else { text }
    }
}

fn style() -> impl Strategy<Value = Style> {
    prop::collection::vec(any::<u8>(), 40..80).prop_map(|choices| Style(choices, 0))
}

fn inputs_of_text(text: &str) -> Inputs {
    // One folder for all cases: the only file is the same in each.
    static FOLDER: std::sync::LazyLock<tempfile::TempDir> = std::sync::LazyLock::new(|| {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("h.rs"), "fn main() {}\n").unwrap();
        folder
    });
    let spec = PackageSpec::parse(text, &FOLDER.path().join("Cargo.toml"));
    let spec = spec.unwrap_or_else(|error| panic!("{error}\n{text}")).unwrap();
    Inputs::of(&spec, &spec.kernels["k"], &spec.archs[0]).unwrap()
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn however_a_spec_is_written_its_key_is_the_same(draft in draft(), mut one in style(), mut other in style()) {
        let (one, other) = (one.write(&draft), other.write(&draft));
        prop_assert_eq!(inputs_of_text(&one), inputs_of_text(&other), "{}\n---\n{}", one, other);
    }

    #[test]
    fn specs_differ_in_key_exactly_where_they_differ_in_meaning(one in draft(), other in draft(), mix in any::<u8>(), mut style in style()) {
        // Mostly equal specs: a few fields come from the other one.
        let mut mixed = one.clone();
        if mix & 1 != 0 { mixed.task = other.task; }
        if mix & 2 != 0 { mixed.entries = other.entries; }
        if mix & 4 != 0 { mixed.keep = other.keep; }
        if mix & 8 != 0 { mixed.tunables = other.tunables; }
        if mix & 16 != 0 { mixed.launch = other.launch; }
        if mix & 32 != 0 { mixed.tolerance = other.tolerance; }
        if mix & 64 != 0 { mixed.features = other.features; }
        if mix & 128 != 0 { mixed.cuda = other.cuda; }
        let (a, b) = (inputs_of_text(&style.write(&one)), inputs_of_text(&style.write(&mixed)));
        let named: Vec<String> = a.changes(&b.clone().into()).into_iter().map(|change| change.name).collect();
        prop_assert_eq!(&named, &one.differences(&mixed));
        prop_assert_eq!(a.key() == b.key(), named.is_empty());
    }
}
