//! PTX made reproducible: same source, compiler and flags give the same bytes, and nothing that the kernels do not use.
//!
//! Drops comments (the compiler's build, its marks around inline asm) and every variable and function that no kernel
//! reaches: with the headers of CUDA's C++ library NVRTC keeps over a thousand unused constants. Never touches an
//! instruction; what it does not know it keeps.

use std::collections::{BTreeMap, BTreeSet};

use super::asm;

/// PTX as it will be stored, and what its header said.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Normal {
    /// The text, ended by a line feed.
    pub(super) text: String,
    /// Full version of the compiler, such as `13.0.88`; `None` when the header does not say.
    pub(super) compiler: Option<String>,
    /// Names of the kernels that a host program can look up, in order.
    pub(super) entries: Vec<String>,
}

/// One statement of the module: a directive, a variable, a function.
#[derive(Debug, PartialEq)]
struct Item<'a> {
    text: &'a str,
    kind: Kind,
    /// What it declares; `None` for a directive or a form that is not known.
    name: Option<&'a str>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    /// `.version`, `.target`, `.address_size`.
    Header,
    /// `.entry`; kept.
    Entry,
    /// `.func`, `.global`, `.const`, `.shared`; kept when reached, or visible from outside.
    Declaration,
    /// Not known; kept, with all that it names.
    Other,
}

/// Normalizes a module as NVRTC wrote it.
///
/// # Errors
/// A reason when it holds inline asm that leaves its kernel, or is no module at all.
pub(super) fn normalize(raw: &str) -> Result<Normal, String> {
    check_asm(raw)?;
    let clean = asm::without_comments(raw).map_err(|reason| format!("the PTX does not parse: {reason}"))?;
    let items = items(&clean)?;
    let kept = reached(&items);
    let mut text = String::with_capacity(clean.len());
    let mut entries = Vec::new();
    let mut last_was_function = true;
    for (item, _) in items.iter().zip(&kept).filter(|(_, kept)| **kept) {
        let function = item.kind == Kind::Entry || item.text.ends_with('}');
        if (function || last_was_function) && !text.is_empty() && item.kind != Kind::Header {
            text.push('\n');
        }
        for line in item.text.lines().map(str::trim_end).filter(|line| !line.is_empty()) {
            text.push_str(line);
            text.push('\n');
        }
        // The header's three lines stand together, apart from the rest.
        last_was_function = function || item.kind == Kind::Header;
        if item.kind == Kind::Entry && item.text.starts_with(".visible") {
            entries.extend(item.name.map(str::to_owned));
        }
    }
    Ok(Normal { text, compiler: compiler(raw), entries })
}

/// The `V13.0.88` of `// Cuda compilation tools, release 13.0, V13.0.88`.
fn compiler(raw: &str) -> Option<String> {
    let line = raw.lines().take(20).find(|line| line.starts_with("// Cuda compilation tools, release "))?;
    let (_, version) = line.rsplit_once(", V")?;
    Some(version.trim().to_owned())
}

/// Looks at what stands between the compiler's marks.
fn check_asm(raw: &str) -> Result<(), String> {
    let mut inside: Option<String> = None;
    for line in raw.lines() {
        match (line.trim(), &mut inside) {
            ("// begin inline asm", None) => inside = Some(String::new()),
            ("// end inline asm", Some(template)) => {
                if let Some(fault) = asm::fault(template) {
                    return Err(fault);
                }
                inside = None;
            }
            ("// begin inline asm", Some(_)) | ("// end inline asm", None) => {
                return Err("asm text that imitates the compiler's own marks is not accepted".to_owned());
            }
            (_, Some(template)) => {
                template.push_str(line);
                template.push('\n');
            }
            (_, None) => {}
        }
    }
    match inside {
        Some(_) => Err("asm leaves the kernel: it hides the compiler's own marks".to_owned()),
        None => Ok(()),
    }
}

/// Splits a module, without comments, into its statements.
fn items(text: &str) -> Result<Vec<Item<'_>>, String> {
    let mut items = Vec::new();
    let mut rest = text.trim_start();
    while !rest.is_empty() {
        let word = first_word(rest);
        let (length, kind) = match word {
            ".version" | ".target" | ".address_size" => (rest.find('\n').unwrap_or(rest.len()), Kind::Header),
            ".file" | ".loc" | ".section" | ".include" | ".incbin" => {
                return Err(format!("asm leaves the kernel: `{word}` in the PTX"));
            }
            _ => statement(rest)?,
        };
        let item = rest[..length].trim_end();
        let name = match kind {
            Kind::Entry | Kind::Declaration => declared(item),
            Kind::Header | Kind::Other => None,
        };
        let kind = if kind == Kind::Declaration && name.is_none() { Kind::Other } else { kind };
        items.push(Item { text: item, kind, name });
        rest = rest[length..].trim_start();
    }
    Ok(items)
}

fn first_word(text: &str) -> &str {
    let end = text.find(|c: char| c.is_whitespace() || "(){};,[]=".contains(c)).unwrap_or(text.len());
    &text[..end]
}

/// Length and kind of the statement at the beginning of `text`: up to its `;`, or the brace that closes its body.
fn statement(text: &str) -> Result<(usize, Kind), String> {
    let mut depth = 0u32;
    let mut kind = Kind::Other;
    let mut at = 0;
    while let Some(c) = text[at..].chars().next() {
        match c {
            '"' => {
                let string =
                    asm::string_end(&text[at..]).ok_or("the PTX does not parse: a string is not closed")?;
                at += string;
                continue;
            }
            '.' if depth == 0 => {
                let word = first_word(&text[at..]);
                match word {
                    ".entry" => kind = Kind::Entry,
                    ".func" => kind = Kind::Declaration,
                    ".global" | ".const" | ".shared" if kind == Kind::Other => kind = Kind::Declaration,
                    _ => {}
                }
                at += word.len().max(1);
                continue;
            }
            '{' => depth += 1,
            '}' => {
                depth = depth.checked_sub(1).ok_or("the PTX does not parse: a brace too many")?;
                // The initializer of a variable goes on to its `;`.
                if depth == 0 && (is_function(&text[..at]) || !text[..at].contains('=')) {
                    return Ok((at + 1, kind));
                }
            }
            ';' if depth == 0 => return Ok((at + 1, kind)),
            _ => {}
        }
        at += c.len_utf8();
    }
    Err("the PTX does not parse: a statement is not closed".to_owned())
}

fn is_function(text: &str) -> bool {
    let head = &text[..text.find('{').unwrap_or(text.len())];
    words(head).any(|word| word == ".entry" || word == ".func")
}

/// The name that a function or variable declares; `None` when it is several, or not to be seen.
fn declared(item: &str) -> Option<&str> {
    if is_function(item) {
        let mut words = words(item).skip_while(|word| *word != ".entry" && *word != ".func");
        words.next();
        // `.func (.param .b32 result) name (...)`: the result comes first, in parentheses.
        let after = &item[item.find(".entry").or_else(|| item.find(".func"))?..];
        let after = after.trim_start_matches(".entry").trim_start_matches(".func").trim_start();
        let after = match after.strip_prefix('(') {
            Some(result) => &result[result.find(')')? + 1..],
            None => after,
        };
        return self::words(after).find(|word| is_name(word));
    }
    let head = &item[..item.find(['=', ';', '{']).unwrap_or(item.len())];
    if head.contains(',') {
        return None;
    }
    let head = &head[..head.find('[').unwrap_or(head.len())];
    words(head).last().filter(|word| is_name(word))
}

/// Which statements stay.
fn reached(items: &[Item<'_>]) -> Vec<bool> {
    let mut by_name: BTreeMap<&str, Vec<usize>> = BTreeMap::new();
    for (index, item) in items.iter().enumerate() {
        if let Some(name) = item.name {
            by_name.entry(name).or_default().push(index);
        }
    }
    let root = |item: &Item<'_>| item.kind != Kind::Declaration || item.text.starts_with(".visible");
    let mut kept: Vec<bool> = items.iter().map(root).collect();
    let mut open: Vec<usize> = (0..items.len()).filter(|&index| kept[index]).collect();
    let mut seen = BTreeSet::new();
    while let Some(index) = open.pop() {
        for word in words(items[index].text).filter(|word| is_name(word) && seen.insert(*word)) {
            for &named in by_name.get(word).into_iter().flatten() {
                if !kept[named] {
                    kept[named] = true;
                    open.push(named);
                }
            }
        }
    }
    kept
}

/// Names, registers, numbers, and directives or suffixes with their point; strings and punctuation are left out.
fn words(text: &str) -> impl Iterator<Item = &str> {
    let in_word = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '$';
    let mut rest = text;
    std::iter::from_fn(move || {
        loop {
            let c = rest.chars().next()?;
            if c == '"' {
                rest = &rest[asm::string_end(rest).unwrap_or(rest.len())..];
                continue;
            }
            let length = if in_word(c) || ".%".contains(c) {
                let more = &rest[c.len_utf8()..];
                c.len_utf8() + more.find(|c| !in_word(c)).unwrap_or(more.len())
            } else {
                rest = &rest[c.len_utf8()..];
                continue;
            };
            let (word, after) = rest.split_at(length);
            rest = after;
            return Some(word);
        }
    })
}

fn is_name(word: &str) -> bool {
    word.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_' || c == '$')
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const MODULE: &str = "//
// Generated by NVIDIA NVVM Compiler
//
// Compiler Build ID: CL-36424714
// Cuda compilation tools, release 13.0, V13.0.88
// Based on NVVM 7.0.1
//

.version 9.0
.target sm_90
.address_size 64

	// .weak	_Z2tkILi3EEvPi
.func  (.param .b32 func_retval0) _ZN2ffEi
(
	.param .b32 _ZN2ffEi_param_0
)
;
.extern .func  (.param .b32 func_retval0) vprintf
(
	.param .b64 vprintf_param_0,
	.param .b64 vprintf_param_1
)
;
.extern .func __assertfail
(
	.param .b64 __assertfail_param_0
)
;
.global .align 4 .u32 anon = 3;
.global .align 8 .u64 table[2] = {text, generic(anon)};
.global .align 1 .u8 unused = 1;
.const .align 4 .b8 unused_too[12] = {1, 2, 3};
.visible .const .align 4 .b8 seen[12];
.extern .shared .align 16 .b8 s[];
// _ZZ1kE1q has been demoted
.global .align 1 .b8 text[3] = {104, 105};
.global .align 1 .b8 of_dead[1];

	// .globl	k
.visible .entry k(
	.param .u64 k_param_0
)
.maxntid 128
{
	.reg .b32 	%r<2>;


	// begin inline asm
	{ .reg .b32 t; mov.u32 t, 1; }
	// end inline asm
	mov.u64 	%rd1, table;
	{ // callseq 0, 0
	.param .b64 param0;
	call.uni (retval0), _ZN2ffEi, (param0);
	} // callseq 0
	st.shared.u32 	[s], %r1;
	ret;

}
	// .globl	dead
.func dead()
{
	mov.u64 	%rd1, of_dead;
	ret;
}
.func  (.param .b32 func_retval0) _ZN2ffEi(
	.param .b32 _ZN2ffEi_param_0
)
{
	ret;
}
.weak .entry _Z2tkILi3EEvPi()
{
	ret;
}

";

    #[test]
    fn comments_and_what_no_kernel_reaches_are_gone() {
        let normal = normalize(MODULE).unwrap();
        assert_eq!(normal.compiler.as_deref(), Some("13.0.88"));
        assert_eq!(normal.entries, ["k"]);
        insta::assert_snapshot!(normal.text);
    }

    #[test]
    fn normalizing_twice_changes_nothing_more() {
        let once = normalize(MODULE).unwrap();
        let twice = normalize(&once.text).unwrap();
        assert_eq!(once.text, twice.text);
        assert_eq!(once.entries, twice.entries);
    }

    #[test]
    fn an_unknown_directive_stays_with_all_that_it_names() {
        let normal =
            normalize(".version 9.0\n.future kept;\n.global .u32 kept;\n.global .u32 gone;\n").unwrap();
        assert_eq!(normal.text, ".version 9.0\n\n.future kept;\n.global .u32 kept;\n");
    }

    #[test]
    fn several_variables_in_one_statement_stay() {
        let text = ".version 9.0\n.global .u32 a, b;\n";
        assert!(normalize(text).unwrap().text.contains(".global .u32 a, b;"));
    }

    #[test]
    fn asm_that_leaves_the_kernel_is_refused() {
        for body in [
            "// begin inline asm\nret; } .visible .entry evil() {\n// end inline asm\n",
            "// begin inline asm\n// end inline asm\n } .global .u32 x; .entry evil() {\n// end inline asm\n",
            "// begin inline asm\n/*\n// end inline asm\nret;\n// begin inline asm\n*/\n// end inline asm\n",
            "// begin inline asm\n.file 1 \"/etc/passwd\"\n// end inline asm\n",
        ] {
            let text = format!(".version 9.0\n.target sm_90\n.visible .entry k()\n{{\n{body}\nret;\n}}\n");
            assert!(normalize(&text).is_err(), "{body}");
        }
    }

    #[test]
    fn broken_text_is_an_error() {
        for text in ["}", ".global .u32 a", ".entry k() {", "\"", "/*", ".file 1 \"x\"\n"] {
            assert!(normalize(text).is_err(), "{text}");
        }
        assert_eq!(normalize("").unwrap().text, "");
    }

    proptest! {
        #[test]
        fn no_text_makes_it_panic(text in r#"([.{};=,()\[\]"/*\n a-z%]|\.entry|\.func|\.global|// begin inline asm\n|é){0,60}"#) {
            if let Ok(normal) = normalize(&text) {
                prop_assert_eq!(normalize(&normal.text).map(|again| again.text), Ok(normal.text));
            }
        }
    }
}
