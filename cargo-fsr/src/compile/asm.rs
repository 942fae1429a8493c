//! What inline `asm` may hold: instructions and declarations that stay inside the kernel.
//!
//! Checked twice: where the template is written (with line and column), and in the PTX that came out, where macros
//! have done their work. What slips through both is PTX like any other: it reaches no file (ptxas takes neither
//! `.include` nor `#include`), and the judge looks at the module as a whole.

/// Directives that belong inside a function body.
const INSIDE: [&str; 11] = [
    ".reg",
    ".shared",
    ".local",
    ".param",
    ".pred",
    ".loc",
    ".pragma",
    ".branchtargets",
    ".calltargets",
    ".callprototype",
    ".align",
];

/// Why a template may not stand, or `None`.
pub(super) fn fault(template: &str) -> Option<String> {
    if template.contains("inline asm") {
        return Some("asm text that imitates the compiler's own marks is not accepted".to_owned());
    }
    let text = match without_comments(template) {
        Ok(text) => text,
        Err(reason) => return Some(format!("asm leaves the kernel: {reason}")),
    };
    let mut depth = 0i32;
    let mut begins = true;
    let mut rest = text.as_str();
    while let Some(c) = rest.chars().next() {
        match c {
            '{' => depth += 1,
            '}' => depth -= 1,
            '#' if begins => return Some("asm holds a preprocessor line; PTX has none".to_owned()),
            '.' if begins => {
                let end = rest[1..]
                    .find(|c: char| !c.is_ascii_alphanumeric() && c != '_')
                    .map_or(rest.len(), |n| n + 1);
                let word = &rest[..end];
                if !INSIDE.contains(&word) {
                    return Some(format!(
                        "asm leaves the kernel: `{word}` is no directive of a function body; declare it in CUDA C++ outside the asm"
                    ));
                }
            }
            _ => {}
        }
        if depth < 0 {
            return Some("asm leaves the kernel: it closes a brace that it did not open".to_owned());
        }
        begins = match c {
            ';' | '{' | '}' | '\n' | ':' => true,
            c if c.is_whitespace() => begins,
            _ => false,
        };
        rest = &rest[c.len_utf8()..];
    }
    (depth != 0).then(|| "asm leaves the kernel: it opens a brace that it does not close".to_owned())
}

/// PTX without its comments, which become a blank or a line's end; strings are left alone.
pub(super) fn without_comments(text: &str) -> Result<String, &'static str> {
    let mut clean = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find(['/', '"']) {
        clean.push_str(&rest[..at]);
        rest = &rest[at..];
        if rest.starts_with("//") {
            rest = &rest[rest.find('\n').unwrap_or(rest.len())..];
        } else if let Some(comment) = rest.strip_prefix("/*") {
            let end = comment.find("*/").ok_or("a comment is not closed")?;
            clean.push(' ');
            rest = &comment[end + 2..];
        } else if rest.starts_with('"') {
            let end = string_end(rest).ok_or("a string is not closed")?;
            clean.push_str(&rest[..end]);
            rest = &rest[end..];
        } else {
            clean.push('/');
            rest = &rest[1..];
        }
    }
    clean.push_str(rest);
    Ok(clean)
}

/// Where a string that begins at the first byte ends, its closing quote included.
pub(super) fn string_end(text: &str) -> Option<usize> {
    let mut escaped = false;
    for (at, c) in text.char_indices().skip(1) {
        match c {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            '"' => return Some(at + 1),
            '\n' => return None,
            _ => {}
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn asm_that_stays_inside_is_accepted() {
        for template in [
            "add.s32 %0, %1, %2;",
            "{\n\t.reg .pred p;\n\tsetp.ne.b32 p, %0, 0;\n\t@p bra DONE;\nDONE:\n}",
            "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};\n",
            "ld.global.nc.v4.f32 {%0,%1,%2,%3}, [%4]; // streaming\n",
            "/* nothing */",
            "{ .reg .b64 t; .shared .align 8 .b64 bar; cvta.to.shared.u64 t, %0; }",
            "",
        ] {
            assert_eq!(fault(template), None, "{template}");
        }
    }

    #[test]
    fn asm_that_leaves_the_kernel_is_not() {
        for template in [
            "ret;\n}\n.visible .entry evil() {\nret;",
            "} {",
            "{",
            ".file 1 \"/etc/passwd\"",
            ".global .u32 counter;",
            "nop;.visible .func f();",
            "nop; /* x */ .section .debug_str { }",
            "/* the rest of the kernel",
            "// end inline asm\n}",
            "#include \"/etc/passwd\"",
            "{ .reg .b32 t; } .extern .func f;",
            "\"",
        ] {
            assert!(fault(template).is_some(), "{template}");
        }
    }
}
