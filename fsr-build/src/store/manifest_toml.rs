//! A manifest's spelling: TOML with sorted keys, and a checksum over all of it.
//!
//! The checksum is SHA-256 over the document as this module writes it without the `checksum` line. So comments
//! and layout may change, values may not. It finds slips and bad merges, not forgery.

use std::collections::BTreeMap;

use super::manifest::{
    Compiler, Device, DeviceKind, FORMAT, LaunchNeeds, Manifest, ManifestError, Origin, PtxFacts, Spread,
    TimeKind, TimedCase, ValidatedCase,
};
use super::toml_text::{self, Map, Value};
use crate::digest::Digest;
use crate::document::{self, Fault, Item, Table};
use crate::key::{Input, Inputs, Part};

impl Manifest {
    /// The manifest as TOML: sorted, LF, with its checksum.
    pub fn to_toml(&self) -> String {
        let mut map = self.values();
        map.insert("checksum".to_owned(), text(self.checksum()));
        toml_text::document(&map)
    }

    /// Reads a manifest.
    ///
    /// # Errors
    /// When it is no manifest of this format, or not as it was written.
    pub fn from_toml(text: &str) -> Result<Manifest, ManifestError> {
        // Git writes seven of them; a TOML line begins with none of these.
        let mark = |line: &str| {
            ["<<<<<<<", "=======", ">>>>>>>", "|||||||"].iter().any(|mark| line.starts_with(mark))
        };
        if let Some(at) = text.lines().position(mark) {
            return Err(ManifestError::MergeConflict { line: at + 1 });
        }
        let place = |fault: Fault| ManifestError::Fault {
            place: fault.span.map(|span| document::line_and_column(text, span.start)),
            kind: *fault.kind,
        };
        let format = document::with_root(text, |root| root.require("format", Some("format = 1"))?.u64());
        match format.map_err(place)? {
            FORMAT => {}
            found => return Err(ManifestError::UnknownFormat { found }),
        }
        let (manifest, key, checksum) = document::with_root(text, read).map_err(place)?;
        if manifest.checksum() != checksum {
            return Err(ManifestError::WrongChecksum);
        }
        if manifest.key().digest() != &key {
            return Err(ManifestError::WrongKey);
        }
        Ok(manifest)
    }

    fn checksum(&self) -> Digest {
        Digest::of_bytes(toml_text::document(&self.values()).as_bytes())
    }

    /// Everything but the checksum.
    fn values(&self) -> Map {
        let mut map = table([
            ("arch", text(self.arch)),
            ("compiler", compiler(&self.compiler)),
            ("entries", Value::Words(self.entries.clone())),
            ("format", Value::Integer(FORMAT)),
            ("inputs", inputs(&self.inputs)),
            ("kernel", text(&self.kernel)),
            ("key", text(self.key())),
            ("launch", numbers(&self.launch)),
            (
                "needs",
                Value::Table(self.needs.iter().map(|(entry, needs)| (entry.clone(), need(needs))).collect()),
            ),
            ("origin", text(self.origin)),
            ("ptx", ptx(&self.ptx)),
            ("ptx-sha256", text(self.ptx_sha256)),
            ("run", text(&self.run)),
            ("source-sha256", text(self.source_sha256)),
            ("timed", Value::Tables(self.timed.iter().map(timed).collect())),
            ("tunables", numbers(&self.tunables)),
            ("validated", Value::Tables(self.validated.iter().map(validated).collect())),
        ]);
        map.extend(self.device.as_ref().map(|it| ("device".to_owned(), device(it))));
        map.extend(self.model.as_ref().map(|model| ("model".to_owned(), text(model))));
        // An empty table would be written as a bare header that says nothing.
        map.retain(|_, value| !matches!(value, Value::Table(map) if map.is_empty()));
        map
    }
}

fn text(value: impl ToString) -> Value {
    Value::Text(value.to_string())
}

fn table<const N: usize>(entries: [(&str, Value); N]) -> Map {
    entries.into_iter().map(|(key, value)| (key.to_owned(), value)).collect()
}

fn numbers(numbers: &BTreeMap<String, u32>) -> Value {
    Value::Table(numbers.iter().map(|(name, &value)| (name.clone(), Value::Integer(value.into()))).collect())
}

fn inputs(inputs: &Inputs) -> Value {
    let of = |part| {
        let these = inputs.iter().filter(|input| input.part == part);
        Value::Table(these.map(|input| (input.name, text(input.digest))).collect())
    };
    Value::Table(table([("contract", of(Part::Contract)), ("evidence", of(Part::Evidence))]))
}

fn compiler(compiler: &Compiler) -> Value {
    Value::Table(table([
        ("flags", Value::Words(compiler.flags.clone())),
        ("name", text(&compiler.name)),
        ("version", text(&compiler.version)),
    ]))
}

fn ptx(ptx: &PtxFacts) -> Value {
    Value::Table(table([
        ("isa", text(ptx.isa)),
        ("oldest-driver", text(ptx.oldest_driver)),
        ("target", text(ptx.target)),
    ]))
}

fn device(device: &Device) -> Value {
    let mut map = table([
        ("compute-capability", text(device.compute_capability)),
        ("kind", text(device.kind)),
        ("name", text(&device.name)),
    ]);
    map.extend(device.driver.map(|driver| ("driver".to_owned(), text(driver))));
    Value::Table(map)
}

const NEEDS: [&str; 5] =
    ["registers", "static-shared-bytes", "dynamic-shared-bytes", "local-bytes", "max-threads-per-block"];

fn need(needs: &LaunchNeeds) -> Value {
    let values = [
        needs.registers,
        needs.static_shared_bytes,
        needs.dynamic_shared_bytes,
        needs.local_bytes,
        needs.max_threads_per_block,
    ];
    let known = NEEDS.into_iter().zip(values).filter_map(|(name, value)| Some((name, value?)));
    Value::Table(known.map(|(name, value)| (name.to_owned(), Value::Integer(value.into()))).collect())
}

fn validated(case: &ValidatedCase) -> Map {
    table([
        ("case", text(&case.case)),
        ("max-abs-error", Value::Float(case.max_abs_error)),
        ("max-rel-error", Value::Float(case.max_rel_error)),
    ])
}

fn timed(case: &TimedCase) -> Map {
    let mut map =
        table([("case", text(&case.case)), ("kind", text(case.kind)), ("winner", spread(&case.winner))]);
    map.extend(case.baseline.as_ref().map(|baseline| ("baseline".to_owned(), spread(baseline))));
    map
}

fn spread(spread: &Spread) -> Value {
    Value::Table(table([
        ("lower-quartile-ns", Value::Float(spread.lower_quartile_ns)),
        ("median-ns", Value::Float(spread.median_ns)),
        ("samples", Value::Integer(spread.samples.into())),
        ("upper-quartile-ns", Value::Float(spread.upper_quartile_ns)),
    ]))
}

/// The manifest, with the key and the checksum that it states.
fn read(root: &Table<'_>) -> Result<(Manifest, Digest, Digest), Fault> {
    root.allow_only(&[
        "arch",
        "checksum",
        "compiler",
        "device",
        "entries",
        "format",
        "inputs",
        "kernel",
        "key",
        "launch",
        "model",
        "needs",
        "origin",
        "ptx",
        "ptx-sha256",
        "run",
        "source-sha256",
        "timed",
        "tunables",
        "validated",
    ])?;
    let manifest = Manifest {
        kernel: string(root, "kernel")?,
        arch: parsed(root, "arch")?,
        inputs: read_inputs(&root.require("inputs", None)?.table()?)?,
        entries: strings(root, "entries")?,
        tunables: read_numbers(root, "tunables")?,
        launch: read_numbers(root, "launch")?,
        needs: read_needs(root)?,
        ptx: read_ptx(&root.require("ptx", None)?.table()?)?,
        ptx_sha256: parsed(root, "ptx-sha256")?,
        source_sha256: parsed(root, "source-sha256")?,
        compiler: read_compiler(&root.require("compiler", None)?.table()?)?,
        origin: one_of(root, "origin", [Origin::TunedOn, Origin::CompiledOnly], Origin::as_str)?,
        validated: tables(root, "validated")?.iter().map(read_validated).collect::<Result<_, _>>()?,
        timed: tables(root, "timed")?.iter().map(read_timed).collect::<Result<_, _>>()?,
        device: root.table("device")?.map(|table| read_device(&table)).transpose()?,
        model: root.get("model").map(|item| item.str().map(str::to_owned)).transpose()?,
        run: string(root, "run")?,
    };
    Ok((manifest, parsed(root, "key")?, parsed(root, "checksum")?))
}

fn string(table: &Table<'_>, key: &str) -> Result<String, Fault> {
    Ok(table.require(key, None)?.str()?.to_owned())
}

fn strings(table: &Table<'_>, key: &str) -> Result<Vec<String>, Fault> {
    let items = table.require(key, None)?.array("an array of strings")?;
    items.iter().map(|item| item.str().map(str::to_owned)).collect()
}

fn parsed<T>(table: &Table<'_>, key: &str) -> Result<T, Fault>
where
    T: std::str::FromStr<Err: std::fmt::Display>,
{
    table.require(key, None)?.parse()
}

fn tables<'a>(table: &Table<'a>, key: &str) -> Result<Vec<Table<'a>>, Fault> {
    let Some(item) = table.get(key) else { return Ok(Vec::new()) };
    item.array("an array of tables")?.iter().map(Item::table).collect()
}

fn one_of<T: Copy, const N: usize>(
    table: &Table<'_>,
    key: &str,
    known: [T; N],
    spelling: fn(T) -> &'static str,
) -> Result<T, Fault> {
    let item = table.require(key, None)?;
    let word = item.str()?;
    known.into_iter().find(|&value| spelling(value) == word).ok_or_else(|| {
        let known: Vec<String> = known.into_iter().map(|value| format!("`{}`", spelling(value))).collect();
        item.invalid(format!("`{word}` is none of {}", known.join(", ")))
    })
}

/// An error or a time: a number, never negative and never NaN.
fn quantity(table: &Table<'_>, key: &str) -> Result<f64, Fault> {
    let item = table.require(key, None)?;
    let value = item.f64()?;
    if value >= 0.0 { Ok(value) } else { Err(item.invalid("must be a number that is not negative")) }
}

fn read_numbers(root: &Table<'_>, key: &str) -> Result<BTreeMap<String, u32>, Fault> {
    let Some(table) = root.table(key)? else { return Ok(BTreeMap::new()) };
    table.entries().map(|(name, item)| Ok((name.to_owned(), item.u32()?))).collect()
}

fn read_inputs(table: &Table<'_>) -> Result<Inputs, Fault> {
    table.allow_only(&["contract", "evidence"])?;
    let mut inputs = Vec::new();
    for part in [Part::Contract, Part::Evidence] {
        for (name, item) in table.require(part.as_str(), None)?.table()?.entries() {
            inputs.push(Input { part, name: name.to_owned(), digest: item.parse()? });
        }
    }
    Ok(inputs.into_iter().collect())
}

fn read_needs(root: &Table<'_>) -> Result<BTreeMap<String, LaunchNeeds>, Fault> {
    let Some(table) = root.table("needs")? else { return Ok(BTreeMap::new()) };
    let read = |(entry, item): (&str, Item<'_>)| {
        let table = item.table()?;
        table.allow_only(&NEEDS)?;
        let number = |key| table.get(key).map(|item| item.u32()).transpose();
        let needs = LaunchNeeds {
            registers: number(NEEDS[0])?,
            static_shared_bytes: number(NEEDS[1])?,
            dynamic_shared_bytes: number(NEEDS[2])?,
            local_bytes: number(NEEDS[3])?,
            max_threads_per_block: number(NEEDS[4])?,
        };
        Ok((entry.to_owned(), needs))
    };
    table.entries().map(read).collect()
}

fn read_ptx(table: &Table<'_>) -> Result<PtxFacts, Fault> {
    table.allow_only(&["isa", "oldest-driver", "target"])?;
    Ok(PtxFacts {
        isa: parsed(table, "isa")?,
        target: parsed(table, "target")?,
        oldest_driver: parsed(table, "oldest-driver")?,
    })
}

fn read_compiler(table: &Table<'_>) -> Result<Compiler, Fault> {
    table.allow_only(&["flags", "name", "version"])?;
    Ok(Compiler {
        name: string(table, "name")?,
        version: string(table, "version")?,
        flags: strings(table, "flags")?,
    })
}

fn read_validated(table: &Table<'_>) -> Result<ValidatedCase, Fault> {
    table.allow_only(&["case", "max-abs-error", "max-rel-error"])?;
    Ok(ValidatedCase {
        case: string(table, "case")?,
        max_abs_error: quantity(table, "max-abs-error")?,
        max_rel_error: quantity(table, "max-rel-error")?,
    })
}

fn read_timed(table: &Table<'_>) -> Result<TimedCase, Fault> {
    table.allow_only(&["baseline", "case", "kind", "winner"])?;
    Ok(TimedCase {
        case: string(table, "case")?,
        kind: one_of(table, "kind", [TimeKind::Measured, TimeKind::Modelled], TimeKind::as_str)?,
        baseline: table.table("baseline")?.map(|table| read_spread(&table)).transpose()?,
        winner: read_spread(&table.require("winner", None)?.table()?)?,
    })
}

fn read_spread(table: &Table<'_>) -> Result<Spread, Fault> {
    table.allow_only(&["lower-quartile-ns", "median-ns", "samples", "upper-quartile-ns"])?;
    Ok(Spread {
        median_ns: quantity(table, "median-ns")?,
        lower_quartile_ns: quantity(table, "lower-quartile-ns")?,
        upper_quartile_ns: quantity(table, "upper-quartile-ns")?,
        samples: table.require("samples", None)?.u32()?,
    })
}

fn read_device(table: &Table<'_>) -> Result<Device, Fault> {
    table.allow_only(&["compute-capability", "driver", "kind", "name"])?;
    Ok(Device {
        kind: one_of(table, "kind", [DeviceKind::Cuda, DeviceKind::Sim], DeviceKind::as_str)?,
        name: string(table, "name")?,
        compute_capability: parsed(table, "compute-capability")?,
        driver: table.get("driver").map(|item| item.parse()).transpose()?,
    })
}

#[cfg(test)]
mod tests;
