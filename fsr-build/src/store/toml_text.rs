//! TOML as the store writes it: sorted, LF, one spelling for each value.
//!
//! Own writer instead of the `toml` crate's, since build scripts never write and every crate counts in them.

use std::collections::BTreeMap;
use std::fmt::Write as _;

pub(super) type Map = BTreeMap<String, Value>;

#[derive(Debug, Clone, PartialEq)]
pub(super) enum Value {
    Text(String),
    Integer(u64),
    Float(f64),
    Words(Vec<String>),
    Table(Map),
    Tables(Vec<Map>),
}

/// A whole document. Values come before tables, as TOML needs it; both are sorted by key.
pub(super) fn document(map: &Map) -> String {
    let mut out = String::new();
    table(&mut out, "", map);
    out
}

fn table(out: &mut String, path: &str, map: &Map) {
    for (name, value) in map {
        let text = match value {
            Value::Text(text) => string(text),
            Value::Integer(integer) => integer.to_string(),
            // Debug always has a point or an exponent, as TOML wants it, and reads back to the same bits.
            Value::Float(float) if float.is_nan() => "nan".to_owned(),
            Value::Float(float) => format!("{float:?}"),
            Value::Words(words) => words_text(words),
            Value::Table(_) | Value::Tables(_) => continue,
        };
        let _ = writeln!(out, "{} = {text}", key(name));
    }
    for (name, value) in map {
        let inner = if path.is_empty() { key(name) } else { format!("{path}.{}", key(name)) };
        match value {
            Value::Table(map) => {
                // Tables within it imply it.
                if !map.values().all(|value| matches!(value, Value::Table(_))) || map.is_empty() {
                    let _ = write!(out, "\n[{inner}]\n");
                }
                table(out, &inner, map);
            }
            Value::Tables(maps) => {
                for map in maps {
                    let _ = write!(out, "\n[[{inner}]]\n");
                    table(out, &inner, map);
                }
            }
            _ => {}
        }
    }
}

fn words_text(words: &[String]) -> String {
    let words: Vec<String> = words.iter().map(|word| string(word)).collect();
    format!("[{}]", words.join(", "))
}

fn key(name: &str) -> String {
    let bare =
        !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_-".contains(&byte));
    if bare { name.to_owned() } else { string(name) }
}

fn string(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 2);
    out.push('"');
    for letter in text.chars() {
        match letter {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\t' => out.push_str("\\t"),
            letter if letter.is_control() => {
                let _ = write!(out, "\\u{:04X}", u32::from(letter));
            }
            letter => out.push(letter),
        }
    }
    out.push('"');
    out
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::document::with_root;

    proptest! {
        #[test]
        fn any_text_and_any_key_read_back(text in "\\PC*|[\\x00-\\x1f\"\\\\\u{7f}\u{85}]*", name in "\\PC*|[a-zA-Z-]*") {
            let map = Map::from([(name.clone(), Value::Text(text.clone()))]);
            let read = with_root(&document(&map), |root| Ok(root.require(&name, None)?.str()?.to_owned()));
            prop_assert_eq!(read, Ok(text));
        }

        #[test]
        fn any_float_reads_back_to_the_same_bits(float in any::<f64>().prop_filter("a number", |float| !float.is_nan())) {
            let map = Map::from([("x".to_owned(), Value::Float(float))]);
            let read = with_root(&document(&map), |root| root.require("x", None)?.f64());
            prop_assert_eq!(read.map(f64::to_bits), Ok(float.to_bits()));
        }
    }
}
