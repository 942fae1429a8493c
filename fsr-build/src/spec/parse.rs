//! From TOML to a spec: every rule in one place.

use std::collections::BTreeMap;
use std::io;
use std::path::Path;

use super::error::{SpecError, SpecErrorKind};
use super::{
    HostBuild, KernelSpec, LaunchBound, PackageSpec, RelPath, SearchDefaults, Task, Tolerance,
    WorkspaceDefaults,
};
use crate::arch::{Arch, CudaVersion, Malformed};
use crate::document::{self, Fault, Item, Table};
use crate::identifier;

/// Names that the generated module has for its own.
const GENERATED: [&str; 4] = ["Image", "NotTuned", "MissingTunable", "Reach"];

pub(super) fn package(text: &str, manifest: &Path, root: &Path) -> Result<Option<PackageSpec>, SpecError> {
    let read = |document: &Table<'_>| {
        let Some(package) = document.table("package")? else { return Ok(None) };
        let Some(metadata) = package.table("metadata")? else { return Ok(None) };
        let Some(fsr) = metadata.table("fsr")? else { return Ok(None) };
        fsr.allow_only(&["arch", "cuda", "search", "kernels"])?;
        Ok(Some(PackageSpec {
            package: package.require("name", None)?.str()?.to_owned(),
            root: root.to_owned(),
            manifest: manifest.to_owned(),
            archs: archs(&fsr)?,
            cuda: cuda(&fsr)?,
            search: search(&fsr)?,
            kernels: kernels(&fsr)?,
        }))
    };
    let spec = document::with_root(text, read).map_err(|fault| SpecError::fault(manifest, text, fault))?;
    spec.map(|spec| spec.with_task_files(text)).transpose()
}

pub(super) fn workspace(text: &str, manifest: &Path) -> Result<WorkspaceDefaults, SpecError> {
    let read = |document: &Table<'_>| {
        let Some(workspace) = document.table("workspace")? else { return Ok(WorkspaceDefaults::default()) };
        let Some(metadata) = workspace.table("metadata")? else { return Ok(WorkspaceDefaults::default()) };
        let Some(fsr) = metadata.table("fsr")? else { return Ok(WorkspaceDefaults::default()) };
        fsr.allow_only(&["search"])?;
        Ok(WorkspaceDefaults { search: search(&fsr)? })
    };
    document::with_root(text, read).map_err(|fault| SpecError::fault(manifest, text, fault))
}

impl PackageSpec {
    /// Fills in the text of the tasks that lie in files of their own.
    fn with_task_files(mut self, text: &str) -> Result<PackageSpec, SpecError> {
        for kernel in self.kernels.values_mut() {
            let Some(file) = &kernel.task.file else { continue };
            let path = file.under(&self.root);
            let words = std::fs::read_to_string(&path).map(|words| task_text(&words)).and_then(|words| {
                if words.is_empty() {
                    Err(io::Error::new(io::ErrorKind::InvalidData, "it is empty"))
                } else {
                    Ok(words)
                }
            });
            kernel.task.text = words.map_err(|error| {
                let span = task_file_span(text, &kernel.name);
                SpecError::new(&self.manifest, text, span, SpecErrorKind::TaskFile { path, error })
            })?;
        }
        Ok(self)
    }
}

/// The place of a `task-file` line, found again in text that has parsed before.
fn task_file_span(text: &str, kernel: &str) -> Option<std::ops::Range<usize>> {
    let find = |document: &Table<'_>| {
        let mut table = document.table("package")?;
        for key in ["metadata", "fsr", "kernels", kernel] {
            table = table.map(|table| table.table(key)).transpose()?.flatten();
        }
        Ok(table.and_then(|table| table.get("task-file")).and_then(|item| item.invalid("").span))
    };
    document::with_root(text, find).ok().flatten()
}

/// LF, and no blank around: how a TOML string is broken into lines is no meaning.
fn task_text(words: &str) -> String {
    words.replace("\r\n", "\n").trim().to_owned()
}

fn archs(fsr: &Table<'_>) -> Result<Vec<Arch>, Fault> {
    let item = fsr.require("arch", Some("arch = [\"sm_80\", \"sm_90\"]"))?;
    let mut archs = Vec::new();
    for item in item.array("an array of strings")? {
        let arch: Arch = item.str()?.parse().map_err(|error| malformed(&item, error))?;
        if archs.contains(&arch) {
            return Err(item.invalid(format!("`{arch}` is listed twice")));
        }
        archs.push(arch);
    }
    if archs.is_empty() {
        return Err(item.invalid("at least one architecture is needed, such as `sm_90`"));
    }
    Ok(archs)
}

fn cuda(fsr: &Table<'_>) -> Result<CudaVersion, Fault> {
    let item = fsr.require("cuda", Some("cuda = \"12.8\""))?;
    item.str()?.parse().map_err(|error| malformed(&item, error))
}

fn malformed(item: &Item<'_>, error: Malformed) -> Fault {
    item.invalid(error.reason()).suggest(error.suggestion().map(str::to_owned))
}

fn search(fsr: &Table<'_>) -> Result<SearchDefaults, Fault> {
    let Some(search) = fsr.table("search")? else { return Ok(SearchDefaults::default()) };
    search.allow_only(&["candidates", "rounds"])?;
    let count = |key, most| {
        let Some(item) = search.get(key) else { return Ok(None) };
        match item.u32()? {
            0 => Err(item.invalid("must be at least 1")),
            count if count > most => Err(item.invalid(format!("must be at most {most}"))),
            count => Ok(Some(count)),
        }
    };
    // All candidates of a round are asked for at once. The flags of `cargo fsr tune` have the same limits.
    Ok(SearchDefaults { candidates: count("candidates", 64)?, rounds: count("rounds", 1000)? })
}

fn kernels(fsr: &Table<'_>) -> Result<BTreeMap<String, KernelSpec>, Fault> {
    let mut kernels: BTreeMap<String, KernelSpec> = BTreeMap::new();
    let Some(table) = fsr.table("kernels")? else { return Ok(kernels) };
    for (name, item) in table.entries() {
        kernel_name(name, &item)?;
        if let Some(other) = kernels.keys().find(|other| other.eq_ignore_ascii_case(name)) {
            return Err(item.invalid_key(format!(
                "differs from `{other}` only in case, and some file systems cannot hold both folders"
            )));
        }
        kernels.insert(name.to_owned(), kernel(name, &item.table()?)?);
    }
    Ok(kernels)
}

fn kernel_name(name: &str, item: &Item<'_>) -> Result<(), Fault> {
    let reason = if !identifier::is_word(name) {
        "a kernel's name must be an ASCII identifier: it names a Rust module".to_owned()
    } else if identifier::is_rust_keyword(name) {
        format!("a kernel's name names a Rust module, and `{name}` is a Rust keyword")
    } else if identifier::is_windows_device(name) {
        format!("a kernel's name names a folder, and `{name}` is a device on Windows")
    } else if GENERATED.contains(&name) {
        format!("the generated module has a type `{name}` of its own")
    } else {
        return Ok(());
    };
    Err(item.invalid_key(reason))
}

const KERNEL_KEYS: [&str; 15] = [
    "baseline",
    "entries",
    "entry",
    "headers",
    "host",
    "host-features",
    "host-package",
    "host-profile",
    "keep",
    "launch",
    "state",
    "task",
    "task-file",
    "tolerance",
    "tunables",
];

fn kernel(name: &str, table: &Table<'_>) -> Result<KernelSpec, Fault> {
    table.allow_only(&KERNEL_KEYS)?;
    let host_build = host_build(table)?;
    let tunables = tunables(table)?;
    let launch = launch(table)?;
    distinct_fields(table, &tunables, &launch)?;
    Ok(KernelSpec {
        name: name.to_owned(),
        task: task(table)?,
        entries: entries(name, table)?,
        host: host(table, &host_build)?,
        host_build,
        headers: paths(table, "headers", false)?,
        baseline: table.get("baseline").map(|item| path(&item, false)).transpose()?,
        keep: sentences(table, "keep")?,
        tunables,
        launch,
        state: state(table)?,
        tolerance: tolerance(table)?,
    })
}

fn task(table: &Table<'_>) -> Result<Task, Fault> {
    match (table.get("task"), table.get("task-file")) {
        (Some(_), Some(file)) => Err(file.invalid_key("`task` and `task-file` exclude each other")),
        (None, None) => {
            Err(Fault::missing(table, "task", Some("task = \"Transpose a row-major f32 matrix.\"")))
        }
        (Some(item), None) => match task_text(item.str()?) {
            text if text.is_empty() => Err(item.invalid("must say what the kernel computes")),
            text => Ok(Task { text, file: None }),
        },
        // The text is read once the document is known to be good.
        (None, Some(item)) => Ok(Task { text: String::new(), file: Some(path(&item, false)?) }),
    }
}

fn entries(kernel: &str, table: &Table<'_>) -> Result<Vec<String>, Fault> {
    let check = |item: &Item<'_>, name: &str| {
        if identifier::is_c(name) {
            Ok(name.to_owned())
        } else {
            Err(item
                .invalid(format!("`{name}` is no C++ identifier, so no `extern \"C\"` function can have it")))
        }
    };
    match (table.get("entry"), table.get("entries")) {
        (Some(_), Some(item)) => Err(item.invalid_key("`entry` and `entries` exclude each other")),
        (Some(item), None) => Ok(vec![check(&item, item.str()?)?]),
        (None, Some(list)) => {
            let mut entries: Vec<String> = Vec::new();
            for item in list.array("an array of strings")? {
                let name = check(&item, item.str()?)?;
                if entries.contains(&name) {
                    return Err(item.invalid(format!("`{name}` is listed twice")));
                }
                entries.push(name);
            }
            if entries.is_empty() { Err(list.invalid("at least one entry is needed")) } else { Ok(entries) }
        }
        (None, None) if identifier::is_c(kernel) => Ok(vec![kernel.to_owned()]),
        (None, None) => Err(Fault::missing(table, "entry", Some("entry = \"my_kernel\""))),
    }
}

fn host(table: &Table<'_>, build: &HostBuild) -> Result<Vec<RelPath>, Fault> {
    let item = table.require("host", Some("host = [\"examples/fsr_transpose.rs\"]"))?;
    let host = paths(table, "host", build.package.is_some())?;
    if host.is_empty() {
        return Err(item.invalid("at least one file is needed: the cargo target that runs the kernel"));
    }
    Ok(host)
}

fn host_build(table: &Table<'_>) -> Result<HostBuild, Fault> {
    let word = |key| {
        let Some(item) = table.get(key) else { return Ok(None) };
        cargo_word(&item).map(Some)
    };
    let mut features: Vec<String> = Vec::new();
    if let Some(list) = table.get("host-features") {
        for item in list.array("an array of strings")? {
            let feature = cargo_word(&item)?;
            if features.contains(&feature) {
                return Err(item.invalid(format!("`{feature}` is listed twice")));
            }
            features.push(feature);
        }
    }
    Ok(HostBuild { package: word("host-package")?, features, profile: word("host-profile")? })
}

/// A name that goes to cargo as an argument: never empty, never an option, never several.
fn cargo_word(item: &Item<'_>) -> Result<String, Fault> {
    let word = item.str()?;
    let good = !word.starts_with('-')
        && !word.is_empty()
        && word.chars().all(|letter| letter.is_alphanumeric() || "_-+./?".contains(letter));
    if good {
        Ok(word.to_owned())
    } else {
        Err(item.invalid(format!("`{word}` is no name that cargo knows")))
    }
}

fn path(item: &Item<'_>, may_leave: bool) -> Result<RelPath, Fault> {
    RelPath::parse(item.str()?, may_leave).map_err(|reason| item.invalid(reason))
}

fn paths(table: &Table<'_>, key: &str, may_leave: bool) -> Result<Vec<RelPath>, Fault> {
    let mut paths: Vec<RelPath> = Vec::new();
    let Some(list) = table.get(key) else { return Ok(paths) };
    for item in list.array("an array of strings")? {
        let path = path(&item, may_leave)?;
        if paths.contains(&path) {
            return Err(item.invalid(format!("`{path}` is listed twice")));
        }
        paths.push(path);
    }
    Ok(paths)
}

fn sentences(table: &Table<'_>, key: &str) -> Result<Vec<String>, Fault> {
    let Some(list) = table.get(key) else { return Ok(Vec::new()) };
    let mut sentences: Vec<String> = Vec::new();
    for item in list.array("an array of strings")? {
        let sentence = task_text(item.str()?);
        if sentence.is_empty() {
            return Err(item.invalid("must not be empty"));
        }
        if sentences.contains(&sentence) {
            return Err(item.invalid(format!("`{sentence}` is listed twice")));
        }
        sentences.push(sentence);
    }
    Ok(sentences)
}

fn parameter_name(name: &str, item: &Item<'_>) -> Result<(), Fault> {
    let field = identifier::field_name(name);
    if !identifier::is_c(name) {
        Err(item.invalid_key(format!("`{name}` is no C++ identifier, so no macro or constant can have it")))
    } else if identifier::is_never_an_identifier(&field) {
        Err(item.invalid_key(format!("`{name}` would be the Rust field `{field}`, which cannot exist")))
    } else {
        Ok(())
    }
}

fn tunables(table: &Table<'_>) -> Result<BTreeMap<String, Vec<u32>>, Fault> {
    let mut tunables = BTreeMap::new();
    let Some(table) = table.table("tunables")? else { return Ok(tunables) };
    for (name, item) in table.entries() {
        parameter_name(name, &item)?;
        let mut values: Vec<u32> = Vec::new();
        for item in item.array("an array of integers")? {
            let value = item.u32()?;
            if values.contains(&value) {
                return Err(item.invalid(format!("{value} is listed twice")));
            }
            values.push(value);
        }
        if values.is_empty() {
            return Err(item.invalid("at least one value is needed"));
        }
        tunables.insert(name.to_owned(), values);
    }
    Ok(tunables)
}

fn launch(table: &Table<'_>) -> Result<BTreeMap<String, LaunchBound>, Fault> {
    let mut launch = BTreeMap::new();
    let Some(item) = table.get("launch") else { return Ok(launch) };
    if item.is_table() {
        for (name, item) in item.table()?.entries() {
            parameter_name(name, &item)?;
            launch.insert(name.to_owned(), launch_bound(&item)?);
        }
        return Ok(launch);
    }
    for item in item.array("an array of names, or a table of `NAME = [min, max]`")? {
        let name = item.str()?;
        parameter_name(name, &item)?;
        if launch.insert(name.to_owned(), LaunchBound::UNSTATED).is_some() {
            return Err(item.invalid(format!("`{name}` is listed twice")));
        }
    }
    Ok(launch)
}

fn launch_bound(item: &Item<'_>) -> Result<LaunchBound, Fault> {
    let ends = item.array("an array `[min, max]`")?;
    let [min, max] = &ends[..] else {
        return Err(item.invalid(format!("must be `[min, max]`, but has {} values", ends.len())));
    };
    let bound = LaunchBound { min: min.u32()?, max: max.u32()? };
    if bound.min > bound.max {
        return Err(
            item.invalid(format!("the least value {} is above the greatest, {}", bound.min, bound.max))
        );
    }
    Ok(bound)
}

/// Tunables and launch parameters become fields of one Rust struct and macros of one source.
fn distinct_fields(
    table: &Table<'_>,
    tunables: &BTreeMap<String, Vec<u32>>,
    launch: &BTreeMap<String, LaunchBound>,
) -> Result<(), Fault> {
    let mut fields: BTreeMap<String, &str> = BTreeMap::new();
    for (key, name) in
        tunables.keys().map(|name| ("tunables", name)).chain(launch.keys().map(|name| ("launch", name)))
    {
        let Some(other) = fields.insert(identifier::field_name(name), name) else { continue };
        let reason = if other == name {
            format!("`{name}` is a tunable already")
        } else {
            format!("`{name}` and `{other}` would be the same Rust field, `{}`", identifier::field_name(name))
        };
        return Err(table.require(key, None)?.invalid(reason));
    }
    Ok(())
}

fn state(table: &Table<'_>) -> Result<Vec<String>, Fault> {
    let Some(list) = table.get("state") else { return Ok(Vec::new()) };
    let mut names: Vec<String> = Vec::new();
    for item in list.array("an array of strings")? {
        let name = item.str()?;
        if !identifier::is_c(name) {
            return Err(
                item.invalid(format!("`{name}` is no C++ identifier, so no `__device__` variable has it"))
            );
        }
        if names.iter().any(|known| known == name) {
            return Err(item.invalid(format!("`{name}` is listed twice")));
        }
        names.push(name.to_owned());
    }
    Ok(names)
}

fn tolerance(table: &Table<'_>) -> Result<Option<Tolerance>, Fault> {
    let Some(table) = table.table("tolerance")? else { return Ok(None) };
    table.allow_only(&["atol", "rtol"])?;
    let part = |key, example| {
        let item = table.require(key, Some(example))?;
        let value = item.f64()?;
        // Also NaN fails this.
        if (0.0..1.0).contains(&value) {
            // -0.0 is 0.0.
            Ok(value + 0.0)
        } else {
            Err(item.invalid(format!("must be from 0 to below 1, but is {value}")))
        }
    };
    Ok(Some(Tolerance { rtol: part("rtol", "rtol = 1e-5")?, atol: part("atol", "atol = 1e-6")? }))
}
