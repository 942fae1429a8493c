//! Which names can be a C symbol, a macro, a Rust module or field, and a folder on every file system.

/// An ASCII identifier that is no C++ keyword: what `extern "C"` names and macros can be called.
pub(crate) fn is_c(name: &str) -> bool {
    is_word(name) && !CPP_KEYWORDS.contains(&name)
}

/// An ASCII identifier, keyword or not.
pub(crate) fn is_word(name: &str) -> bool {
    let mut bytes = name.bytes();
    bytes.next().is_some_and(|first| first.is_ascii_alphabetic() || first == b'_')
        && bytes.all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
}

pub(crate) fn is_rust_keyword(name: &str) -> bool {
    name == "_" || RUST_KEYWORDS.contains(&name)
}

/// Keywords that even `r#` does not make an identifier.
pub(crate) fn is_never_an_identifier(name: &str) -> bool {
    matches!(name, "self" | "Self" | "super" | "crate" | "_")
}

/// Names that Windows takes for devices, whatever their case.
pub(crate) fn is_windows_device(name: &str) -> bool {
    let lower = name.to_ascii_lowercase();
    let numbered = |prefix: &str| {
        lower.strip_prefix(prefix).is_some_and(|rest| matches!(rest.as_bytes(), [b'1'..=b'9']))
    };
    matches!(lower.as_str(), "con" | "prn" | "aux" | "nul") || numbered("com") || numbered("lpt")
}

/// The Rust field of a tunable: `BLOCK_X` is `block_x`, `TileSize` is `tile_size`.
pub fn field_name(name: &str) -> String {
    let mut field = String::with_capacity(name.len() + 2);
    let mut after_lower = false;
    for letter in name.chars() {
        if letter.is_ascii_uppercase() && after_lower {
            field.push('_');
        }
        after_lower = letter.is_ascii_lowercase();
        field.push(letter.to_ascii_lowercase());
    }
    field
}

const RUST_KEYWORDS: [&str; 53] = [
    "Self", "abstract", "as", "async", "await", "become", "box", "break", "const", "continue", "crate", "do",
    "dyn", "else", "enum", "extern", "false", "final", "fn", "for", "gen", "if", "impl", "in", "let", "loop",
    "macro", "match", "mod", "move", "mut", "override", "priv", "pub", "ref", "return", "self", "static",
    "struct", "super", "trait", "true", "try", "type", "typeof", "unsafe", "unsized", "use", "virtual",
    "where", "while", "yield", "_",
];

const CPP_KEYWORDS: [&str; 95] = [
    "alignas",
    "alignof",
    "and",
    "and_eq",
    "asm",
    "auto",
    "bitand",
    "bitor",
    "bool",
    "break",
    "case",
    "catch",
    "char",
    "char16_t",
    "char32_t",
    "char8_t",
    "class",
    "co_await",
    "co_return",
    "co_yield",
    "compl",
    "concept",
    "const",
    "const_cast",
    "consteval",
    "constexpr",
    "constinit",
    "continue",
    "decltype",
    "default",
    "delete",
    "do",
    "double",
    "dynamic_cast",
    "else",
    "enum",
    "explicit",
    "export",
    "extern",
    "false",
    "float",
    "for",
    "friend",
    "goto",
    "if",
    "inline",
    "int",
    "long",
    "main",
    "mutable",
    "namespace",
    "new",
    "noexcept",
    "not",
    "not_eq",
    "nullptr",
    "operator",
    "or",
    "or_eq",
    "private",
    "protected",
    "public",
    "register",
    "reinterpret_cast",
    "requires",
    "restrict",
    "return",
    "short",
    "signed",
    "sizeof",
    "static",
    "static_assert",
    "static_cast",
    "struct",
    "switch",
    "template",
    "this",
    "thread_local",
    "throw",
    "true",
    "try",
    "typedef",
    "typeid",
    "typename",
    "union",
    "unsigned",
    "using",
    "virtual",
    "void",
    "volatile",
    "wchar_t",
    "while",
    "xor",
    "xor_eq",
    "defined",
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_become_rust_fields() {
        for (name, field) in
            [("TILE", "tile"), ("BLOCK_X", "block_x"), ("TileSize", "tile_size"), ("x2", "x2")]
        {
            assert_eq!(field_name(name), field);
        }
    }

    #[test]
    fn c_identifiers_are_ascii_words() {
        for good in ["transpose", "_k1", "TILE"] {
            assert!(is_c(good), "{good}");
        }
        for bad in ["", "1a", "a-b", "größe", "double", "a b"] {
            assert!(!is_c(bad), "{bad}");
        }
    }

    #[test]
    fn folders_work_on_windows_too() {
        assert!(is_windows_device("CON") && is_windows_device("com1") && !is_windows_device("com"));
    }
}
