//! Module images into modules, with the log that a JIT compiler would write; launches into report lines.

use crate::error::{self, Code};
use fsr_sim::{LaunchConfig, LaunchError, Module, Profile, Report};
use serde_json::{Value, json};

/// The newest PTX ISA that is accepted.
const NEWEST: (u32, u32) = (9, 99);

/// A module that could not be loaded: the driver's code, and what the error log says.
pub(crate) struct Refused {
    pub code: Code,
    pub log: String,
}

fn refused(code: Code, log: impl Into<String>) -> Refused {
    Refused { code, log: log.into() }
}

/// Parses an image: PTX text only.
pub(crate) fn module(image: &[u8], profile: &Profile) -> Result<Module, Refused> {
    if image.starts_with(b"\x7fELF") || image.starts_with(&[0x50, 0xed, 0x55, 0xba]) {
        return Err(refused(error::NO_BINARY_FOR_GPU, "fsr-sim executes PTX; this image is machine code"));
    }
    let Ok(text) = std::str::from_utf8(image) else {
        return Err(refused(error::INVALID_IMAGE, "the image is neither PTX nor machine code"));
    };
    if !text.contains(".version") {
        return Err(refused(error::INVALID_IMAGE, "the image has no `.version`: it is not PTX"));
    }
    let module = Module::parse(text).map_err(|e| {
        let log = format!(
            "ptxas application ptx input, line {}; error   : {} (column {})\nptxas fatal   : Ptx assembly aborted due to errors",
            e.pos.line, e.message, e.pos.column
        );
        refused(error::INVALID_PTX, log)
    })?;
    let version = module.version();
    if version > NEWEST {
        let log = format!(
            "ptxas application ptx input, line 1; fatal   : Unsupported .version {}.{}; current version is '{}.{}'",
            version.0, version.1, NEWEST.0, NEWEST.1
        );
        return Err(refused(error::UNSUPPORTED_PTX_VERSION, log));
    }
    check_target(module.target(), profile)?;
    // Opting in to more is for dynamic shared memory alone.
    let most = profile.shared_per_block;
    if let Some((entry, bytes)) = module.static_shared().find(|(_, bytes)| *bytes > most) {
        let log = format!(
            "ptxas error   : Entry function '{entry}' uses too much shared data ({bytes:#x} bytes, {most:#x} max)"
        );
        return Err(refused(error::INVALID_PTX, log));
    }
    Ok(module)
}

/// `sm_90` runs on 9.0 and later; `sm_90a` on 9.0 alone; `sm_100f` within its family.
fn check_target(target: &str, profile: &Profile) -> Result<(), Refused> {
    let fatal = |text: String| refused(error::INVALID_PTX, format!("ptxas fatal   : {text}"));
    let digits: String =
        target.chars().skip_while(|c| !c.is_ascii_digit()).take_while(char::is_ascii_digit).collect();
    let Ok(number) = digits.parse::<u32>() else {
        return Err(fatal(format!("unknown .target '{target}'")));
    };
    let (major, minor) = profile.compute_capability;
    let device = major * 10 + minor;
    if number > device {
        return Err(fatal(format!(
            "SM version specified by .target ({target}) is higher than the device's, sm_{device}"
        )));
    }
    let fits = match target.chars().last() {
        Some('a') => number == device,
        Some('f') => number / 10 == device / 10,
        _ => true,
    };
    if fits { Ok(()) } else { Err(fatal(format!(".target {target} does not run on sm_{device}"))) }
}

/// One line of `FSR_SIM_REPORT`.
pub(crate) fn report_line(kernel: &str, config: LaunchConfig, result: &Result<Report, LaunchError>) -> Value {
    let mut line = json!({ "kernel": kernel, "grid": config.grid, "block": config.block, "shared_bytes": config.shared_bytes });
    match result {
        Ok(report) => {
            let counts = &report.counts;
            let traffic = |t: &fsr_sim::Traffic| json!({ "requests": t.requests, "transactions": t.transactions, "bytes": t.bytes, "per_request": t.per_request() });
            let classes: serde_json::Map<String, Value> = fsr_sim::Class::ALL
                .iter()
                .filter(|c| counts.of(**c) > 0)
                .map(|c| (c.name().to_owned(), counts.of(*c).into()))
                .collect();
            line["verdict"] = "clean".into();
            line["modelled_ns"] = report.modelled.nanoseconds.into();
            line["modelled_bound"] = format!("{:?}", report.modelled.bound).to_lowercase().into();
            line["occupancy"] = report.modelled.occupancy.into();
            line["counts"] = json!({
                "warp_instructions": counts.warp_instructions,
                "thread_instructions": counts.thread_instructions,
                "divergent_branches": counts.divergent_branches,
                "by_class": classes,
                "global_load": traffic(&counts.global_load),
                "global_store": traffic(&counts.global_store),
                "shared_load": traffic(&counts.shared_load),
                "shared_store": traffic(&counts.shared_store),
                "local": traffic(&counts.local),
                "atomic": traffic(&counts.atomic),
                "copies": traffic(&counts.copies),
            });
        }
        Err(LaunchError::Fault(faults)) => {
            line["verdict"] = "fault".into();
            line["faults"] = faults
                .all
                .iter()
                .map(|fault| {
                    json!({
                        "kind": fault.kind.name(),
                        "message": fault.to_string(),
                        "instruction": fault.instruction,
                        "ptx_line": fault.ptx_line,
                        "other_ptx_line": other_line(fault),
                        "source_file": fault.source.as_ref().map(|s| &s.0),
                        "source_line": fault.source.as_ref().map(|s| s.1),
                        "block": fault.block,
                        "thread": fault.thread,
                        "occurrences": fault.occurrences,
                    })
                })
                .collect();
        }
        Err(LaunchError::Unsupported { instructions, .. }) => {
            line["verdict"] = "unsupported".into();
            line["instructions"] = instructions
                .iter()
                .map(|u| json!({ "instruction": u.instruction, "ptx_line": u.line }))
                .collect();
        }
        Err(error) => {
            line["verdict"] = "invalid".into();
            line["message"] = error.to_string().into();
        }
    }
    line
}

/// Of a race: the line of the earlier access, where it is known.
fn other_line(fault: &fsr_sim::Fault) -> Option<u32> {
    match fault.kind {
        fsr_sim::FaultKind::Race { other_line, .. } if other_line != 0 => Some(other_line),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn loaded(floats: u32) -> Result<Module, Refused> {
        let text = format!(
            ".version 8.0\n.target sm_80\n.address_size 64\n.visible .entry fill()\n{{\n    .shared .align 4 .b8 all[{}];\n    .reg .b32 %r<2>;\n    mov.u32 %r1, all;\n    st.shared.u32 [%r1], %r1;\n    ret;\n}}\n",
            4 * floats
        );
        module(text.as_bytes(), &Profile::named("h200").unwrap())
    }

    #[test]
    fn more_static_shared_memory_than_a_block_has_is_refused_as_ptxas_does() {
        assert!(loaded(12 * 1024).is_ok());
        let refused = loaded(12 * 1024 + 1).unwrap_err();
        assert_eq!(refused.code, error::INVALID_PTX);
        assert!(
            refused.log.ends_with("'fill' uses too much shared data (0xc004 bytes, 0xc000 max)"),
            "{}",
            refused.log
        );
    }
}
