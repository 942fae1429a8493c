//! `#if` without a view of the disk: by pasting `__has_` to `include` a source could ask what it may not write.
//!
//! Only conditions can ask, so only they, and the macros that they use, are held to a rule: no pasting, and nothing
//! called but a few words that the compiler answers from itself.

use std::collections::{BTreeMap, BTreeSet};

use super::lex::{Fault, Line, Token};

/// What may stand before a parenthesis in a condition.
const CALLED: [&str; 9] = [
    "defined",
    "and",
    "or",
    "not",
    "__has_attribute",
    "__has_cpp_attribute",
    "__has_builtin",
    "__has_feature",
    "__has_extension",
];

pub(super) fn apply(lines: &[Line], faults: &mut Vec<Fault>) {
    let mut bodies: BTreeMap<&str, Vec<&[Token]>> = BTreeMap::new();
    for line in lines.iter().filter(|line| line.directive) {
        let [directive, name, body @ ..] = line.tokens.as_slice() else { continue };
        let (Some("define"), Some(word)) = (directive.word(), name.word()) else { continue };
        if CALLED.contains(&word) {
            faults.push(Fault { place: name.place, reason: format!("`{word}` cannot be defined") });
        }
        // A macro may be defined anew: each of its bodies counts, whatever the order.
        bodies.entry(word).or_default().push(body);
    }
    for line in lines.iter().filter(|line| line.directive) {
        let Some((directive, condition)) = line.tokens.split_first() else { continue };
        if !matches!(directive.word(), Some("if" | "elif")) {
            continue;
        }
        let mut open = vec![condition];
        let mut seen = BTreeSet::new();
        while let Some(tokens) = open.pop() {
            if let Some(reason) = fault(tokens) {
                faults.push(Fault { place: line.place, reason });
                break;
            }
            for word in tokens.iter().filter_map(Token::word).filter(|word| seen.insert(*word)) {
                open.extend(bodies.get(word).into_iter().flatten());
            }
        }
    }
}

fn fault(tokens: &[Token]) -> Option<String> {
    if tokens.iter().any(|token| token.is("##")) {
        return Some("a condition cannot use a macro that pastes with `##`; write the value out".to_owned());
    }
    tokens.windows(2).find_map(|pair| {
        let word = pair[0].word().filter(|word| pair[1].is("(") && !CALLED.contains(word))?;
        // These have a message of their own wherever they stand.
        if ["__has_include", "__has_include_next", "__has_embed"].contains(&word) {
            return None;
        }
        Some(format!(
            "a condition cannot call `{word}(...)`; write the value out, or decide with `if constexpr`"
        ))
    })
}
