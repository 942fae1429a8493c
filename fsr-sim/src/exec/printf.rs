//! Functions that the device provides to PTX: `vprintf`, `__assertfail`.

use super::memory::lane_load;
use super::{Exec, Trap, lanes, trap};
use crate::check::FaultKind;
use crate::parse::Space;
use crate::program::{Builtin, CallSite};

/// Longest text that is read from the device.
const LONGEST: usize = 4096;

/// Calls a builtin for the active lanes.
pub(crate) fn call(x: &mut Exec<'_>, builtin: Builtin, site: &CallSite, mask: u32) -> Result<(), Trap> {
    for lane in lanes(mask) {
        match builtin {
            Builtin::Vprintf => {
                let format = text(x, lane, argument(x, lane, site, 0))?;
                let values = argument(x, lane, site, 1);
                let line = render(x, lane, &format, values)?;
                (x.launch.output)(&line);
                result(x, lane, site, line.len() as u64);
            }
            Builtin::AssertFail => {
                let message = text(x, lane, argument(x, lane, site, 0))?;
                let file = text(x, lane, argument(x, lane, site, 1))?;
                let line = argument(x, lane, site, 2);
                return Err(trap(FaultKind::Assert(format!("{message} at {file}:{line}")), lane as u32));
            }
            Builtin::Malloc | Builtin::Free => {
                let name = if builtin == Builtin::Malloc { "malloc" } else { "free" };
                return Err(trap(FaultKind::Unsupported(name.to_owned()), lane as u32));
            }
        }
    }
    Ok(())
}

fn frame(x: &Exec<'_>, lane: usize) -> u64 {
    x.launch.kernel.frame_row.map_or(0, |row| x.regs.cells::<u64>(row)[lane])
}

fn argument(x: &Exec<'_>, lane: usize, site: &CallSite, k: usize) -> u64 {
    site.args.get(k).map_or(0, |param| {
        x.warp.local.load(lane, frame(x, lane) + u64::from(param.offset), param.size.min(8))
    })
}

fn result(x: &mut Exec<'_>, lane: usize, site: &CallSite, value: u64) {
    if let Some(param) = site.returns.first() {
        let at = frame(x, lane) + u64::from(param.offset);
        x.warp.local.store(lane, at, param.size.min(8), value);
    }
}

fn text(x: &Exec<'_>, lane: usize, address: u64) -> Result<String, Trap> {
    let mut bytes = Vec::new();
    while bytes.len() < LONGEST {
        let byte = lane_load(x, lane, Space::Generic, address + bytes.len() as u64, 1)? as u8;
        if byte == 0 {
            break;
        }
        bytes.push(byte);
    }
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

/// Arguments lie one after the other, each aligned to its size.
fn render(x: &Exec<'_>, lane: usize, format: &str, mut at: u64) -> Result<String, Trap> {
    let mut out = String::new();
    let mut chars = format.chars().peekable();
    while let Some(c) = chars.next() {
        if c != '%' {
            out.push(c);
            continue;
        }
        let mut spec = String::new();
        let mut longs = 0;
        let conversion = loop {
            match chars.next() {
                Some('l') => longs += 1,
                Some('h') => {}
                Some('z' | 'j' | 't') => longs = 2,
                Some(c) if c.is_ascii_digit() || "+-# .".contains(c) => spec.push(c),
                Some(c) => break c,
                None => return Ok(out),
            }
        };
        if conversion == '%' {
            out.push('%');
            continue;
        }
        let size = match conversion {
            'f' | 'F' | 'e' | 'E' | 'g' | 'G' | 'a' | 'A' | 's' | 'p' => 8,
            _ if longs > 0 => 8,
            _ => 4,
        };
        at = at.next_multiple_of(size);
        let raw = lane_load(x, lane, Space::Generic, at, size as u32)?;
        at += size;
        let signed = if size == 8 { raw as i64 } else { i64::from(raw as i32) };
        let (flags, rest): (String, String) = {
            let split = spec.find(|c: char| !"+-# 0".contains(c)).unwrap_or(spec.len());
            (spec[..split].to_owned(), spec[split..].to_owned())
        };
        let (width, precision) = match rest.split_once('.') {
            Some((w, p)) => (w.parse().unwrap_or(0), Some(p.parse::<usize>().unwrap_or(0))),
            None => (rest.parse::<usize>().unwrap_or(0), None),
        };
        let body = match conversion {
            'd' | 'i' => signed.to_string(),
            'u' => raw.to_string(),
            'x' => format!("{raw:x}"),
            'X' => format!("{raw:X}"),
            'o' => format!("{raw:o}"),
            'p' => format!("{raw:#x}"),
            'c' => char::from(raw as u8).to_string(),
            's' => text(x, lane, raw)?,
            'e' | 'E' => exponent(f64::from_bits(raw), precision.unwrap_or(6)),
            'g' | 'G' => format!("{}", f64::from_bits(raw)),
            _ => format!("{:.*}", precision.unwrap_or(6), f64::from_bits(raw)),
        };
        let body = if flags.contains('+') && !body.starts_with('-') { format!("+{body}") } else { body };
        let width = width.min(LONGEST);
        if flags.contains('-') {
            out.push_str(&format!("{body:<width$}"));
        } else if flags.contains('0') {
            let (sign, digits) =
                if let Some(d) = body.strip_prefix('-') { ("-", d) } else { ("", body.as_str()) };
            out.push_str(&format!("{sign}{digits:0>pad$}", pad = width.saturating_sub(sign.len())));
        } else {
            out.push_str(&format!("{body:>width$}"));
        }
    }
    Ok(out)
}

/// C's `%e`: at least two digits of exponent.
fn exponent(value: f64, precision: usize) -> String {
    let text = format!("{value:.precision$e}");
    match text.split_once('e') {
        Some((mantissa, exponent)) => {
            let (sign, digits) = exponent.strip_prefix('-').map_or(('+', exponent), |d| ('-', d));
            format!("{mantissa}e{sign}{digits:0>2}")
        }
        None => text,
    }
}
