//! Which line of a source a line of its PTX comes from.
//!
//! The PTX that ships has no line information. A second compilation has: where it gives the same PTX but for that, its
//! lines hold for both, and otherwise nothing is said.

use std::collections::HashMap;

use super::ptx;

/// A place in a source.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SourceLine {
    /// The candidate, or a header of the spec.
    pub file: String,
    /// From 1.
    pub line: u32,
    /// What stands there.
    pub text: String,
}

/// Places for lines of one PTX text.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LineTable(Vec<Option<SourceLine>>);

impl LineTable {
    /// The place behind a line of the PTX, counted from 1.
    pub fn source(&self, ptx_line: u32) -> Option<&SourceLine> {
        self.0.get((ptx_line as usize).checked_sub(1)?)?.as_ref()
    }
}

/// Whatever knows where PTX comes from.
pub trait Lines: Send + Sync {
    /// Places for the lines of some PTX; `None` where they cannot be told.
    fn lines(&self, ptx: &str) -> Option<LineTable>;
}

/// Reads the places out of `raw`, a module with line information. `stored` is the same module without it, and
/// `sources` are the files with a name and a text that places may lie in.
pub(super) fn table(raw: &str, stored: &str, sources: &[(&str, &str)]) -> Option<LineTable> {
    let mut files = Vec::new();
    let mut module = String::with_capacity(raw.len());
    let mut in_section = false;
    for line in raw.lines() {
        let words = line.trim();
        if in_section {
            in_section = words != "}";
        } else if let Some(file) = words.strip_prefix(".file") {
            files.extend(file_of(file, sources));
        } else if words.starts_with(".section") {
            in_section = true;
        } else {
            module.push_str(line);
            module.push('\n');
        }
    }
    let places = ptx::normalize(&module).ok()?.text;
    let mut lines = stored.lines();
    let (mut table, mut place, mut told) = (Vec::new(), None, Places::default());
    for line in places.lines() {
        match line.trim_start().strip_prefix(".loc") {
            Some(words) => place = told.read(words, &files, sources),
            None if lines.next() == Some(line) => {
                // A function does not begin where the one before it ended.
                if line == "}" {
                    place = None;
                }
                table.push(place.clone());
            }
            None => return None,
        }
    }
    lines.next().is_none().then_some(LineTable(table))
}

/// `1 "/somewhere/kernel.cu"`: the number, and which of the sources it is.
fn file_of(words: &str, sources: &[(&str, &str)]) -> Option<(u32, usize)> {
    let (number, path) = words.trim().split_once(char::is_whitespace)?;
    let path = path.trim().split('"').nth(1)?;
    let is_it =
        |name: &str| path.strip_suffix(name).is_some_and(|folder| folder.is_empty() || folder.ends_with('/'));
    Some((number.parse().ok()?, sources.iter().position(|(name, _)| is_it(name))?))
}

/// File, line and column.
type Location = (u32, u32, u32);

/// What `.loc` lines say: `1 3 5`, or within an inlined function `2 77 5, function_name $L__info_string0, inlined_at
/// 1 15 9`.
#[derive(Default)]
struct Places {
    /// By location. One in a file of the toolkit has the place of its caller.
    told: HashMap<Location, Option<SourceLine>>,
}

impl Places {
    /// The innermost place that is in a source.
    fn read(&mut self, words: &str, files: &[(u32, usize)], sources: &[(&str, &str)]) -> Option<SourceLine> {
        let mut parts = words.split(',').map(str::trim);
        let here = location(parts.next()?)?;
        let caller = parts.find_map(|part| location(part.strip_prefix("inlined_at")?));
        let own = |(file, line, _): Location| {
            let (_, source) = files.iter().find(|(number, _)| *number == file)?;
            let (name, text) = sources.get(*source)?;
            // Line 0 is the compiler's own.
            let text = text.lines().nth((line as usize).checked_sub(1)?)?.trim().to_owned();
            Some(SourceLine { file: (*name).to_owned(), line, text })
        };
        let of_caller = || caller.and_then(|at| self.told.get(&at).cloned().unwrap_or_else(|| own(at)));
        let place = own(here).or_else(of_caller);
        self.told.insert(here, place.clone());
        place
    }
}

fn location(words: &str) -> Option<Location> {
    let mut numbers = words.split_whitespace().map(|word| word.parse().ok());
    Some((numbers.next()??, numbers.next()??, numbers.next()??))
}

#[cfg(test)]
mod tests {
    use super::*;

    const SOURCE: &str = "float f(float x) {\n  return x * 2; }\nvoid k(float* y)\n{\n  y[0] = f(y[1]);\n}\n";
    const RAW: &str = "// Cuda compilation tools, release 12.8, V12.8.93
.version 8.7
.target sm_90
.address_size 64
.visible .entry k(.param .u64 k_0)
{
	.reg .b64 	%rd<3>;
	.loc	1 3 0

	ld.param.u64 	%rd1, [k_0];
	.loc	1 0 5
	cvta.to.global.u64 	%rd2, %rd1;
	.loc	2 77 5, function_name $L__info_string0, inlined_at 1 5 9
	ld.global.f32 	%f1, [%rd2+4];
	.loc	1 2 3, function_name $L__info_string1, inlined_at 1 5 9
	add.f32 	%f2, %f1, %f1;
	.loc	1 5 3
	st.global.f32 	[%rd2], %f2;
	ret;
}
	.file	1 \"/home/me/kernel.cu\"
	.file	2 \"/usr/include/cuda_fp16.hpp\"
	.section	.debug_str
	{
$L__info_string0:
.b8 95,90
	}
";

    fn stored() -> String {
        let plain: Vec<&str> = RAW.lines().take_while(|line| !line.contains(".file")).collect();
        let plain: Vec<&str> = plain.into_iter().filter(|line| !line.contains(".loc")).collect();
        ptx::normalize(&plain.join("\n")).unwrap().text
    }

    #[test]
    fn lines_of_the_stored_text_lead_to_the_source() {
        let stored = stored();
        let table = table(RAW, &stored, &[("kernel.cu", SOURCE)]).unwrap();
        let mut shown = String::new();
        for (number, line) in (1..).zip(stored.lines()) {
            let place = table
                .source(number)
                .map_or_else(String::new, |at| format!("{}:{} {}", at.file, at.line, at.text));
            shown.push_str(&format!("{:<36}|{}\n", line.replace('\t', " "), place));
        }
        insta::assert_snapshot!(shown, @r"
        .version 8.7                        |
        .target sm_90                       |
        .address_size 64                    |
                                            |
        .visible .entry k(.param .u64 k_0)  |
        {                                   |
         .reg .b64  %rd<3>;                 |
         ld.param.u64  %rd1, [k_0];         |kernel.cu:3 void k(float* y)
         cvta.to.global.u64  %rd2, %rd1;    |
         ld.global.f32  %f1, [%rd2+4];      |kernel.cu:5 y[0] = f(y[1]);
         add.f32  %f2, %f1, %f1;            |kernel.cu:2 return x * 2; }
         st.global.f32  [%rd2], %f2;        |kernel.cu:5 y[0] = f(y[1]);
         ret;                               |kernel.cu:5 y[0] = f(y[1]);
        }                                   |
        ");
        assert_eq!(table.source(0), None);
        assert_eq!(table.source(1000), None);
    }

    #[test]
    fn other_ptx_has_no_lines() {
        let sources = [("kernel.cu", SOURCE)];
        assert_eq!(table(RAW, &stored().replace("add.f32", "sub.f32"), &sources), None);
        assert_eq!(table(RAW, &(stored() + "ret;\n"), &sources), None);
        assert_eq!(table("", &stored(), &sources), None);
    }
}
