//! The rules for directives, pragmas, single words and asm.

use super::Checked;
use super::lex::{Fault, Kind, Line, Place, Token};
use super::names::{Known, Name};
use crate::compile::asm;

/// Directives without a rule of their own.
const PLAIN: [&str; 12] = [
    "define", "undef", "if", "ifdef", "ifndef", "elif", "elifdef", "elifndef", "else", "endif", "error",
    "warning",
];

/// Words with which a source asks about files, or about the clock, which would make its PTX differ each time.
const FORBIDDEN: [(&str, &str); 8] = [
    ("__has_include", "a candidate cannot ask which files exist; include what it needs"),
    ("__has_include_next", "a candidate cannot ask which files exist; include what it needs"),
    ("__has_embed", "a candidate cannot ask which files exist"),
    ("__DATE__", "the PTX must not depend on the time of its compilation"),
    ("__TIME__", "the PTX must not depend on the time of its compilation"),
    ("__TIMESTAMP__", "the PTX must not depend on the time of its compilation"),
    ("__BASE_FILE__", "the PTX must not depend on file names"),
    ("__pragma", "write `#pragma` or `_Pragma(\"...\")`"),
];

/// First words of pragmas that reach no file.
const PRAGMAS: [&str; 16] = [
    "once",
    "unroll",
    "nounroll",
    "ivdep",
    "pack",
    "region",
    "endregion",
    "STDC",
    "omp",
    "diag_suppress",
    "diag_default",
    "diag_remark",
    "diag_warning",
    "diag_error",
    "diag_once",
    "hd_warning_disable",
];

/// `#pragma GCC ...` and `#pragma clang ...`.
const VENDOR_PRAGMAS: [&str; 6] = ["diagnostic", "unroll", "ivdep", "loop", "fp", "optimize"];

pub(super) fn apply(lines: &[Line], known: &Known<'_>, faults: &mut Vec<Fault>, checked: &mut Checked) {
    let mut fault = |place: Place, reason: String| faults.push(Fault { place, reason });
    for line in lines {
        if line.directive {
            directive(line, known, checked, &mut fault);
        }
        for (at, token) in line.tokens.iter().enumerate() {
            let Some(word) = token.word() else { continue };
            if let Some((_, why)) = FORBIDDEN.iter().find(|(forbidden, _)| *forbidden == word) {
                fault(token.place, format!("`{word}`: {why}"));
            }
            let after = &line.tokens[at + 1..];
            match word {
                "_Pragma" => pragma_operator(token.place, after, &mut fault),
                "asm" | "__asm" | "__asm__" => {
                    if let Some(reason) = template(after).as_deref().and_then(asm::fault) {
                        fault(token.place, reason);
                    }
                }
                _ => {}
            }
        }
    }
}

fn directive(line: &Line, known: &Known<'_>, checked: &mut Checked, fault: &mut impl FnMut(Place, String)) {
    let Some(first) = line.tokens.first() else { return };
    let rest = &line.tokens[1..];
    match first.word() {
        Some("include") => match rest {
            [Token { kind: Kind::Header(header), place }] => match known.judge(header) {
                Name::Own | Name::Standard | Name::Cuda => {}
                Name::Absent(name, reason) => {
                    checked.absent.push(name);
                    fault(*place, reason);
                }
                Name::Refused(reason) => fault(*place, reason),
            },
            _ => fault(
                line.place,
                "`#include` takes one literal name here: no macro, and nothing behind it".to_owned(),
            ),
        },
        Some("pragma") => {
            if let Some(reason) = pragma(&rest.iter().filter_map(Token::word).collect::<Vec<_>>()) {
                fault(line.place, reason);
            }
        }
        Some(word) if PLAIN.contains(&word) => {}
        Some(word) => {
            fault(line.place, format!("`#{word}` is not accepted; candidates need no such directive"))
        }
        None => fault(line.place, "`#` without a directive's name".to_owned()),
    }
}

/// Why a pragma may not stand, by its words.
fn pragma(words: &[&str]) -> Option<String> {
    let accepted = match words {
        ["GCC" | "clang", second, ..] => VENDOR_PRAGMAS.contains(second),
        [first, ..] => PRAGMAS.contains(first) || first.starts_with("nv_"),
        [] => false,
    };
    (!accepted).then(|| {
        let name = words.first().copied().unwrap_or_default();
        format!("`#pragma {name}` is not accepted; unroll, once and nv_diag_... are")
    })
}

/// `_Pragma("unroll")`; its text must be seen.
fn pragma_operator(place: Place, after: &[Token], fault: &mut impl FnMut(Place, String)) {
    let reason = match after {
        [open, Token { kind: Kind::Text(text), .. }, close, ..] if open.is("(") && close.is(")") => {
            let words: Vec<&str> = text
                .split(|c: char| !c.is_alphanumeric() && c != '_')
                .filter(|word| !word.is_empty())
                .collect();
            pragma(&words)
        }
        _ => Some("`_Pragma` takes a literal string here, such as _Pragma(\"unroll\")".to_owned()),
    };
    if let Some(reason) = reason {
        fault(place, reason);
    }
}

/// The text of an asm statement, if it is written out whole; macros in it are seen in the PTX.
fn template(after: &[Token]) -> Option<String> {
    const QUALIFIERS: [&str; 5] = ["volatile", "__volatile__", "__volatile", "goto", "inline"];
    let tokens: Vec<&Token> = after
        .iter()
        .skip_while(|token| token.word().is_some_and(|word| QUALIFIERS.contains(&word)))
        .collect();
    let (open, tokens) = tokens.split_first()?;
    if !open.is("(") {
        return None;
    }
    let mut text = String::new();
    for token in tokens {
        match &token.kind {
            Kind::Text(part) => text.push_str(part),
            Kind::Sign(":" | ")") => return Some(text),
            _ => return None,
        }
    }
    None
}
