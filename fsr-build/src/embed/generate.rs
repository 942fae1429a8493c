//! The generated module: typed tunables, images and the lookup, with no crate behind them.
//!
//! The text of the PTX is part of the module, so what was checked is what ships, and no path has to survive an
//! `include_str!`. Everything is documented and free of `unsafe`, for crates that insist on either.

use std::fmt::Write as _;

use crate::identifier::{field_name, is_rust_keyword};
use crate::spec::{Arch, KernelSpec, Reach};
use crate::store::Entry;

/// The module's text for kernels and the entries to embed, each kernel's sorted as wished by its spec.
pub(super) fn module(package: &str, kernels: &[(&KernelSpec, Vec<Entry>)]) -> String {
    let mut out = PREAMBLE.to_owned();
    for (kernel, entries) in kernels {
        self::kernel(&mut out, package, kernel, entries);
    }
    out
}

const PREAMBLE: &str = include_str!("preamble.rs");

/// Writing to a `String` cannot fail.
macro_rules! line {
    ($out:expr, $($text:tt)*) => { let _ = writeln!($out, $($text)*); };
}

fn kernel(out: &mut String, package: &str, kernel: &KernelSpec, entries: &[Entry]) {
    let name = &kernel.name;
    let archs: Vec<String> = entries.iter().map(|entry| entry.manifest.arch.to_string()).collect();
    line!(out, "\n/// The kernel `{name}`.");
    line!(out, "#[allow(dead_code, non_snake_case, unreachable_pub)]");
    line!(out, "pub mod {name} {{");
    line!(out, "    use super::{{Image, MissingTunable, NotTuned}};\n");
    line!(out, "    /// The kernel's name.");
    line!(out, "    pub const KERNEL: &str = {name:?};\n");
    line!(out, "    /// The names of its entry functions, in the order of the spec.");
    line!(out, "    pub const ENTRIES: &[&str] = &{:?};\n", kernel.entries);
    line!(out, "    /// The architectures that it has images for.");
    line!(out, "    pub const ARCHS: &[&str] = &{archs:?};\n");
    tunables(out, kernel);
    line!(out, "    /// Its images, one for each architecture.");
    line!(out, "    pub static IMAGES: &[Image<Tunables>] = &[");
    for entry in entries {
        image(out, kernel, entry);
    }
    line!(out, "    ];\n");
    line!(out, "    /// The best image that loads on a device of this compute capability, such as `(9, 0)`.");
    line!(
        out,
        "    pub fn image_for(major: i32, minor: i32) -> Result<&'static Image<Tunables>, NotTuned> {{"
    );
    line!(out, "        super::best(IMAGES, major, minor).ok_or(NotTuned {{");
    line!(out, "            kernel: KERNEL,");
    line!(out, "            compute_capability: (major, minor),");
    line!(out, "            available: ARCHS,");
    line!(out, "            command: {:?},", format!("cargo fsr tune -p {package} {name}"));
    line!(out, "        }})");
    line!(out, "    }}");
    for entry in entries {
        let arch = entry.manifest.arch;
        let text = string_literal(&entry.ptx);
        line!(
            out,
            "\n    const {}: &::core::ffi::CStr = super::c_str(concat!({text}, \"\\0\"));",
            constant(arch)
        );
    }
    line!(out, "}}");
}

fn tunables(out: &mut String, kernel: &KernelSpec) {
    let mut parameters: Vec<&str> = kernel.parameters().collect();
    parameters.sort_unstable();
    let name = &kernel.name;
    line!(out, "    /// The integers that kernel and host code of `{name}` share.");
    line!(out, "    #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]");
    line!(out, "    pub struct Tunables {{");
    for parameter in &parameters {
        line!(out, "        /// {}", parameter_doc(kernel, parameter));
        line!(out, "        pub {}: u32,", field(parameter));
    }
    line!(out, "    }}\n");
    line!(out, "    impl Tunables {{");
    line!(out, "        /// Their names in the spec, sorted.");
    line!(out, "        pub const NAMES: &'static [&'static str] = &{parameters:?};\n");
    line!(out, "        /// Takes each from a candidate's values, by its name in the spec.");
    let value = if parameters.is_empty() { "_value" } else { "mut value" };
    line!(
        out,
        "        pub fn resolve({value}: impl FnMut(&str) -> Option<u32>) -> Result<Self, MissingTunable> {{"
    );
    if !parameters.is_empty() {
        line!(out, "            let mut get = |name: &'static str| {{");
        line!(out, "                value(name).ok_or(MissingTunable {{ kernel: KERNEL, name }})");
        line!(out, "            }};");
    }
    line!(out, "            Ok(Tunables {{");
    for parameter in &parameters {
        line!(out, "                {}: get({parameter:?})?,", field(parameter));
    }
    line!(out, "            }})");
    line!(out, "        }}\n");
    line!(out, "        /// Each by its name in the spec, sorted.");
    line!(out, "        pub fn pairs(&self) -> [(&'static str, u32); {}] {{", parameters.len());
    line!(out, "            [");
    for parameter in &parameters {
        line!(out, "                ({parameter:?}, self.{}),", field(parameter));
    }
    line!(out, "            ]");
    line!(out, "        }}");
    line!(out, "    }}\n");
}

fn parameter_doc(kernel: &KernelSpec, parameter: &str) -> String {
    match (kernel.tunables.get(parameter), kernel.launch.get(parameter)) {
        (Some(values), _) => {
            let values: Vec<String> = values.iter().map(u32::to_string).collect();
            format!("`{parameter}`: one of {}.", values.join(", "))
        }
        (None, Some(bound)) => {
            format!("`{parameter}`: {} to {}, chosen by the kernel.", bound.min, bound.max)
        }
        (None, None) => format!("`{parameter}`."),
    }
}

fn image(out: &mut String, kernel: &KernelSpec, entry: &Entry) {
    let manifest = &entry.manifest;
    let arch = manifest.arch;
    let capability = arch.capability();
    let driver = manifest.ptx.oldest_driver;
    let reach = match arch.reach() {
        Reach::Forward => "Forward",
        Reach::Family => "Family",
        Reach::Exact => "Exact",
    };
    line!(out, "        Image {{");
    line!(out, "            arch: {:?},", arch.to_string());
    line!(out, "            compute_capability: ({}, {}),", capability.major, capability.minor);
    line!(out, "            reach: super::Reach::{reach},");
    line!(out, "            ptx: super::text({}),", constant(arch));
    line!(out, "            ptx_c_str: {},", constant(arch));
    line!(out, "            entries: &{:?},", manifest.entries);
    line!(out, "            tunables: Tunables {{");
    for parameter in kernel.parameters() {
        // An entry without the value is not embedded.
        if let Some(value) = manifest.parameter(parameter) {
            line!(out, "                {}: {value},", field(parameter));
        }
    }
    line!(out, "            }},");
    line!(out, "            oldest_driver: ({}, {}),", driver.major, driver.minor);
    line!(out, "            sha256: {:?},", manifest.ptx_sha256.to_string());
    line!(out, "        }},");
}

/// `sm_90a` is the constant `SM_90A`.
fn constant(arch: Arch) -> String {
    arch.to_string().to_ascii_uppercase()
}

fn field(parameter: &str) -> String {
    let field = field_name(parameter);
    if is_rust_keyword(&field) { format!("r#{field}") } else { field }
}

/// Raw where that is safe, so that the module can be read; escaped where a character could be taken amiss.
fn string_literal(text: &str) -> String {
    if !text.bytes().all(|byte| matches!(byte, b' '..=b'~' | b'\n' | b'\t')) {
        return format!("\"{}\"", text.escape_default());
    }
    let mut hashes = "#".to_owned();
    while text.contains(&format!("\"{hashes}")) {
        hashes.push('#');
    }
    format!("r{hashes}\"{text}\"{hashes}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_becomes_a_literal_that_nothing_ends_early() {
        assert_eq!(string_literal("a\n\"b\""), "r#\"a\n\"b\"\"#");
        assert_eq!(string_literal("a\"#b"), "r##\"a\"#b\"##");
        assert_eq!(string_literal("a\r\u{202e}"), r#""a\r\u{202e}""#);
    }

    #[test]
    fn keywords_become_raw_fields() {
        assert_eq!([field("TYPE"), field("BLOCK_X")], ["r#type", "block_x"]);
    }
}
