//! The key: what a stored kernel was made from, input by input.
//!
//! *In it*, for one kernel and one architecture: the contract (task, entries, tunables with their values, `keep`,
//! launch parameters with their bounds, this architecture, the compiler version) and the evidence (each host
//! file, how the host target is built, each header, baseline, tolerance).
//!
//! *Left out on purpose*: the kernel's and the package's names, the other architectures, search budgets, model,
//! prompts, timings, this tool's version, absolute paths, the host platform, and how `Cargo.toml` is written.
//!
//! *Promises*: equal meaning gives equal keys on every platform; any change of meaning changes the key and names
//! the input. *Does not promise*: that files which no spec names (a module that a host file uses, a CUDA header)
//! are unchanged, or that whoever wrote an entry was honest: the key finds drift, not forgery.
//!
//! # Canonical form
//! A record is a sequence of byte strings, each written as its length in decimal, `:`, and its bytes. An input's
//! digest is SHA-256 over the record of the input's kind and its fields:
//!
//! | input | part | fields after the kind |
//! |---|---|---|
//! | `task` | contract | the text, trimmed |
//! | `entries` | contract | each name, in the order of the spec |
//! | `tunables` | contract | per name, sorted: name, number of values, the values, ascending |
//! | `keep` | contract | each sentence, trimmed, in the order of the spec |
//! | `launch` | contract | per name, sorted: name, least value, greatest value |
//! | `state` | contract | each name, in the order of the spec |
//! | `arch` | contract | such as `sm_90a` |
//! | `cuda` | contract | such as `12.8` |
//! | `host:PATH` | evidence | `target` for the first, else `source`; the content |
//! | `host-build` | evidence | package (empty: this one), profile, each feature, sorted |
//! | `header:PATH` | evidence | the content |
//! | `baseline` | evidence | the content |
//! | `tolerance` | evidence | `rtol` and `atol`, each as the 8 bytes of its f64, big-endian |
//!
//! Numbers are decimal text. Texts and contents are taken with CRLF read as LF. `tunables`, `keep`, `launch`,
//! `state`, `baseline` and `tolerance` are inputs only where the spec has them. The key is SHA-256 over the record of
//! `fsr-key-1` and, sorted by name, each input's part, name and digest in hexadecimal.

use std::collections::BTreeMap;
use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

use crate::digest::{Digest, Record, SpecKey, lf};
use crate::spec::{Arch, KernelSpec, PackageSpec, RelPath};

/// Which half of a spec an input belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Part {
    /// What the kernel is: where it changes, the entry is stale.
    Contract,
    /// What shows it right: where it changes, the entry is unverified.
    Evidence,
}

impl Part {
    /// `contract` or `evidence`.
    pub fn as_str(self) -> &'static str {
        match self {
            Part::Contract => "contract",
            Part::Evidence => "evidence",
        }
    }
}

impl fmt::Display for Part {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// One input of a key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Input {
    /// Contract or evidence.
    pub part: Part,
    /// Such as `tunables` or `host:examples/fsr_transpose.rs`.
    pub name: String,
    /// Over its kind and canonical content.
    pub digest: Digest,
}

/// All inputs of one kernel's key for one architecture, sorted by name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Inputs {
    inputs: BTreeMap<String, (Part, Digest)>,
}

impl Inputs {
    /// The inputs as they are now: every file that the spec names has to be there.
    ///
    /// # Errors
    /// When a file cannot be read.
    pub fn of(package: &PackageSpec, kernel: &KernelSpec, arch: &Arch) -> Result<Inputs, InputError> {
        let observed = Observed::of(package, kernel, arch)?;
        match observed.absent.into_iter().next() {
            None => Ok(observed.inputs),
            Some(absent) => Err(InputError {
                name: absent.name,
                path: absent.path,
                error: io::ErrorKind::NotFound.into(),
            }),
        }
    }

    /// The key over all of them.
    pub fn key(&self) -> SpecKey {
        let mut record = Record::new("fsr-key-1");
        for (name, (part, digest)) in &self.inputs {
            record = record
                .field(part.as_str().as_bytes())
                .field(name.as_bytes())
                .field(digest.to_string().as_bytes());
        }
        SpecKey::from_digest(record.digest())
    }

    /// The inputs, sorted by name.
    pub fn iter(&self) -> impl Iterator<Item = Input> {
        self.inputs.iter().map(|(name, &(part, digest))| Input { part, name: name.clone(), digest })
    }

    /// One input's part and digest.
    pub fn get(&self, name: &str) -> Option<(Part, Digest)> {
        self.inputs.get(name).copied()
    }

    /// What is different in `now`, sorted by name.
    pub fn changes(&self, now: &Observed) -> Vec<Change> {
        let mut changes = Vec::new();
        for (name, &(part, digest)) in &self.inputs {
            let how = match now.inputs.get(name) {
                Some((_, other)) if other == digest => continue,
                Some(_) => How::Changed,
                None if now.absent.iter().any(|absent| &absent.name == name) => continue,
                None => How::Removed,
            };
            changes.push(Change { part, name: name.clone(), how });
        }
        let known = |name: &String| self.inputs.contains_key(name);
        for (name, &(part, _)) in now.inputs.inputs.iter().filter(|(name, _)| !known(name)) {
            changes.push(Change { part, name: name.clone(), how: How::Added });
        }
        // An input that the entry never saw is new, whether or not its file is here.
        for absent in now.absent.iter().filter(|absent| !known(&absent.name)) {
            changes.push(Change { part: Part::Evidence, name: absent.name.clone(), how: How::Added });
        }
        changes.sort_by(|a, b| a.name.cmp(&b.name));
        changes
    }

    fn add(&mut self, part: Part, name: impl Into<String>, record: Record) {
        self.inputs.insert(name.into(), (part, record.digest()));
    }
}

impl FromIterator<Input> for Inputs {
    fn from_iter<T: IntoIterator<Item = Input>>(inputs: T) -> Self {
        Inputs { inputs: inputs.into_iter().map(|input| (input.name, (input.part, input.digest))).collect() }
    }
}

/// The inputs that can be seen where a package is built: a published one leaves out, say, its examples.
#[derive(Debug)]
pub struct Observed {
    /// What is there.
    pub inputs: Inputs,
    /// Evidence whose files are not there. It is not judged.
    pub absent: Vec<Absent>,
}

/// A file of evidence that is not there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Absent {
    /// The input's name, such as `host:examples/fsr_transpose.rs`.
    pub name: String,
    /// Where its file would be.
    pub path: PathBuf,
}

impl From<Inputs> for Observed {
    fn from(inputs: Inputs) -> Self {
        Observed { inputs, absent: Vec::new() }
    }
}

impl Observed {
    /// The inputs as they are now, apart from files of evidence that are not there.
    ///
    /// # Errors
    /// When a file is there and cannot be read.
    pub fn of(package: &PackageSpec, kernel: &KernelSpec, arch: &Arch) -> Result<Observed, InputError> {
        let mut seen = Observed { inputs: contract(package, kernel, arch), absent: Vec::new() };
        for (at, path) in kernel.host.iter().enumerate() {
            let role = if at == 0 { "target" } else { "source" };
            seen.add_file(
                &package.root,
                path,
                format!("host:{path}"),
                Record::new("host").field(role.as_bytes()),
            )?;
        }
        for path in &kernel.headers {
            seen.add_file(&package.root, path, format!("header:{path}"), Record::new("header"))?;
        }
        if let Some(path) = &kernel.baseline {
            seen.add_file(&package.root, path, "baseline".to_owned(), Record::new("baseline"))?;
        }
        seen.inputs.add(Part::Evidence, "host-build", host_build(package, kernel));
        if let Some(tolerance) = kernel.tolerance {
            let record = Record::new("tolerance")
                .field(&tolerance.rtol.to_bits().to_be_bytes())
                .field(&tolerance.atol.to_bits().to_be_bytes());
            seen.inputs.add(Part::Evidence, "tolerance", record);
        }
        Ok(seen)
    }

    fn add_file(
        &mut self,
        root: &Path,
        path: &RelPath,
        name: String,
        record: Record,
    ) -> Result<(), InputError> {
        let path = path.under(root);
        match std::fs::read(&path) {
            Ok(bytes) => self.inputs.add(Part::Evidence, name, record.field(&lf(&bytes))),
            Err(error) if error.kind() == io::ErrorKind::NotFound => self.absent.push(Absent { name, path }),
            Err(error) => return Err(InputError { name, path, error }),
        }
        Ok(())
    }
}

fn contract(package: &PackageSpec, kernel: &KernelSpec, arch: &Arch) -> Inputs {
    let mut inputs = Inputs { inputs: BTreeMap::new() };
    let texts = |kind, texts: &[String]| {
        texts.iter().fold(Record::new(kind), |record, text| record.field(text.as_bytes()))
    };
    let number = |record: Record, number: u64| record.field(number.to_string().as_bytes());
    inputs.add(Part::Contract, "task", Record::new("task").field(kernel.task.text.as_bytes()));
    inputs.add(Part::Contract, "entries", texts("entries", &kernel.entries));
    inputs.add(Part::Contract, "arch", Record::new("arch").field(arch.to_string().as_bytes()));
    inputs.add(Part::Contract, "cuda", Record::new("cuda").field(package.cuda.to_string().as_bytes()));
    if !kernel.keep.is_empty() {
        inputs.add(Part::Contract, "keep", texts("keep", &kernel.keep));
    }
    if !kernel.state.is_empty() {
        inputs.add(Part::Contract, "state", texts("state", &kernel.state));
    }
    if !kernel.tunables.is_empty() {
        let mut record = Record::new("tunables");
        for (name, values) in &kernel.tunables {
            let mut values = values.clone();
            values.sort_unstable();
            record = number(record.field(name.as_bytes()), values.len() as u64);
            record = values.into_iter().fold(record, |record, value| number(record, value.into()));
        }
        inputs.add(Part::Contract, "tunables", record);
    }
    if !kernel.launch.is_empty() {
        let record = kernel.launch.iter().fold(Record::new("launch"), |record, (name, bound)| {
            number(number(record.field(name.as_bytes()), bound.min.into()), bound.max.into())
        });
        inputs.add(Part::Contract, "launch", record);
    }
    inputs
}

fn host_build(package: &PackageSpec, kernel: &KernelSpec) -> Record {
    let build = &kernel.host_build;
    let other = build.package.as_deref().filter(|name| *name != package.package).unwrap_or("");
    let mut features: Vec<&str> = build.features.iter().map(String::as_str).collect();
    features.sort_unstable();
    let record = Record::new("host-build").field(other.as_bytes()).field(build.profile().as_bytes());
    features.into_iter().fold(record, |record, feature| record.field(feature.as_bytes()))
}

/// One input's difference between a stored entry and now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Change {
    /// Contract or evidence.
    pub part: Part,
    /// The input's name.
    pub name: String,
    /// What happened to it.
    pub how: How,
}

impl fmt::Display for Change {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let how = match self.how {
            How::Added => "added",
            How::Removed => "removed",
            How::Changed => "changed",
        };
        write!(f, "{} {how}", self.name)
    }
}

/// What happened to an input since an entry was made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum How {
    /// It is new.
    Added,
    /// It is gone from the spec.
    Removed,
    /// It is another.
    Changed,
}

/// A file that the spec names and that cannot be read.
#[derive(Debug)]
pub struct InputError {
    name: String,
    path: PathBuf,
    error: io::Error,
}

impl InputError {
    /// The input's name, such as `host:examples/fsr_transpose.rs`.
    pub fn input(&self) -> &str {
        &self.name
    }

    /// The file.
    pub fn path(&self) -> &Path {
        &self.path
    }
}

impl fmt::Display for InputError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {} cannot be read: {}", self.name, self.path.display(), self.error)
    }
}

impl std::error::Error for InputError {}
