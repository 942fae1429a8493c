//! TOML read value by value, so that every fault has its place and, where one is near, a suggestion.
//!
//! Owns the faults that any document can have. Never knows what a key means.

use std::fmt;
use std::ops::Range;

use toml::Spanned;
use toml::de::{DeTable, DeValue};

/// What is wrong with a document, and where.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Fault {
    pub(crate) kind: Box<FaultKind>,
    pub(crate) span: Option<Range<usize>>,
}

/// The kinds of fault in a TOML document.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum FaultKind {
    /// It is not TOML.
    Syntax {
        /// The parser's words.
        reason: String,
    },
    /// A key that means nothing here.
    UnknownKey {
        /// The key as written.
        key: String,
        /// The table that it stands in, dotted.
        table: String,
        /// The known key that is nearest to it.
        suggestion: Option<String>,
    },
    /// A value of another type than expected.
    WrongType {
        /// The key, dotted.
        key: String,
        /// What is expected.
        expected: &'static str,
        /// What is there.
        found: &'static str,
    },
    /// A key that has to be there.
    MissingKey {
        /// The key.
        key: String,
        /// The table that lacks it, dotted.
        table: String,
        /// A line that would do.
        example: Option<&'static str>,
    },
    /// A value that breaks a rule.
    Invalid {
        /// The key, dotted.
        key: String,
        /// The rule that it breaks.
        reason: String,
        /// What was probably meant.
        suggestion: Option<String>,
    },
}

impl fmt::Display for FaultKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let suggestion = match self {
            FaultKind::Syntax { reason } => {
                write!(f, "{reason}")?;
                &None
            }
            FaultKind::UnknownKey { key, table, suggestion } => {
                write!(f, "unknown key `{key}`")?;
                if !table.is_empty() {
                    write!(f, " in [{table}]")?;
                }
                suggestion
            }
            FaultKind::WrongType { key, expected, found } => {
                write!(f, "`{key}` must be {expected}, but is {found}")?;
                &None
            }
            FaultKind::MissingKey { key, table, example } => {
                match table.as_str() {
                    "" => write!(f, "`{key}` is missing")?,
                    table => write!(f, "[{table}] lacks `{key}`")?,
                }
                if let Some(example) = example {
                    write!(f, ", such as `{example}`")?;
                }
                &None
            }
            FaultKind::Invalid { key, reason, suggestion } => {
                write!(f, "`{key}`: {reason}")?;
                suggestion
            }
        };
        match suggestion {
            Some(suggestion) => write!(f, "; did you mean `{suggestion}`?"),
            None => Ok(()),
        }
    }
}

impl Fault {
    fn new(kind: FaultKind, span: Option<Range<usize>>) -> Self {
        Fault { kind: Box::new(kind), span }
    }

    pub(crate) fn syntax(error: &toml::de::Error) -> Self {
        Fault::new(FaultKind::Syntax { reason: error.message().to_owned() }, error.span())
    }

    pub(crate) fn missing(table: &Table<'_>, key: &str, example: Option<&'static str>) -> Self {
        Fault::new(
            FaultKind::MissingKey { key: key.to_owned(), table: table.path.clone(), example },
            table.span.clone(),
        )
    }

    pub(crate) fn suggest(mut self, near: Option<String>) -> Self {
        if let FaultKind::Invalid { suggestion, .. } = &mut *self.kind {
            *suggestion = near;
        }
        self
    }
}

/// Parses a whole document and hands its root table to `read`.
pub(crate) fn with_root<T>(
    text: &str,
    read: impl FnOnce(&Table<'_>) -> Result<T, Fault>,
) -> Result<T, Fault> {
    let root = DeTable::parse(text).map_err(|error| Fault::syntax(&error))?;
    read(&Table { path: String::new(), span: None, map: root.get_ref() })
}

/// A table and the dotted path that leads to it.
pub(crate) struct Table<'a> {
    pub(crate) path: String,
    span: Option<Range<usize>>,
    map: &'a DeTable<'a>,
}

impl<'a> Table<'a> {
    fn dotted(&self, key: &str) -> String {
        if self.path.is_empty() { key.to_owned() } else { format!("{}.{key}", self.path) }
    }

    pub(crate) fn get(&self, key: &str) -> Option<Item<'a>> {
        let (key, value) = self.map.get_key_value(key)?;
        Some(Item { path: self.dotted(key.get_ref()), key_span: key.span(), value })
    }

    pub(crate) fn require(&self, key: &str, example: Option<&'static str>) -> Result<Item<'a>, Fault> {
        self.get(key).ok_or_else(|| Fault::missing(self, key, example))
    }

    /// The table under a key, if there is one.
    pub(crate) fn table(&self, key: &str) -> Result<Option<Table<'a>>, Fault> {
        self.get(key).map(|item| item.table()).transpose()
    }

    pub(crate) fn entries(&self) -> impl Iterator<Item = (&'a str, Item<'a>)> {
        self.map.iter().map(|(key, value)| {
            (&**key.get_ref(), Item { path: self.dotted(key.get_ref()), key_span: key.span(), value })
        })
    }

    /// Refuses every key but these.
    pub(crate) fn allow_only(&self, known: &[&str]) -> Result<(), Fault> {
        for (key, item) in self.entries() {
            if !known.contains(&key) {
                let kind = FaultKind::UnknownKey {
                    key: key.to_owned(),
                    table: self.path.clone(),
                    suggestion: nearest(key, known.iter().copied()),
                };
                return Err(Fault::new(kind, Some(item.key_span)));
            }
        }
        Ok(())
    }
}

/// The known word that a misspelled one is nearest to, if one is near.
pub(crate) fn nearest<'k>(word: &str, known: impl IntoIterator<Item = &'k str>) -> Option<String> {
    known
        .into_iter()
        .map(|candidate| (strsim::damerau_levenshtein(word, candidate), candidate))
        .filter(|&(distance, candidate)| distance <= 1.max(word.len().max(candidate.len()) / 3))
        .min()
        .map(|(_, candidate)| candidate.to_owned())
}

/// A value, the dotted path of its key, and both places.
pub(crate) struct Item<'a> {
    pub(crate) path: String,
    key_span: Range<usize>,
    value: &'a Spanned<DeValue<'a>>,
}

impl<'a> Item<'a> {
    fn wrong_type(&self, expected: &'static str) -> Fault {
        let found = match self.value.get_ref() {
            DeValue::String(_) => "a string",
            DeValue::Integer(_) => "an integer",
            DeValue::Float(_) => "a float",
            DeValue::Boolean(_) => "a boolean",
            DeValue::Datetime(_) => "a date",
            DeValue::Array(_) => "an array",
            DeValue::Table(_) => "a table",
        };
        Fault::new(FaultKind::WrongType { key: self.path.clone(), expected, found }, Some(self.value.span()))
    }

    /// This value breaks a rule.
    pub(crate) fn invalid(&self, reason: impl Into<String>) -> Fault {
        Fault { span: Some(self.value.span()), ..self.invalid_key(reason) }
    }

    /// This key breaks a rule.
    pub(crate) fn invalid_key(&self, reason: impl Into<String>) -> Fault {
        let kind = FaultKind::Invalid { key: self.path.clone(), reason: reason.into(), suggestion: None };
        Fault::new(kind, Some(self.key_span.clone()))
    }

    pub(crate) fn is_table(&self) -> bool {
        self.value.get_ref().is_table()
    }

    pub(crate) fn str(&self) -> Result<&'a str, Fault> {
        self.value.get_ref().as_str().ok_or_else(|| self.wrong_type("a string"))
    }

    /// A string that parses as `T`.
    pub(crate) fn parse<T>(&self) -> Result<T, Fault>
    where
        T: std::str::FromStr<Err: fmt::Display>,
    {
        self.str()?.parse().map_err(|error: T::Err| self.invalid(error.to_string()))
    }

    pub(crate) fn u64(&self) -> Result<u64, Fault> {
        let integer = self.value.get_ref().as_integer().ok_or_else(|| self.wrong_type("an integer"))?;
        u64::from_str_radix(integer.as_str(), integer.radix()).map_err(|_| {
            let negative = integer.as_str().starts_with('-');
            self.invalid(if negative { "must not be negative" } else { "is out of range" })
        })
    }

    pub(crate) fn u32(&self) -> Result<u32, Fault> {
        u32::try_from(self.u64()?).map_err(|_| self.invalid(format!("must be at most {}", u32::MAX)))
    }

    /// A float, or an integer read as one.
    pub(crate) fn f64(&self) -> Result<f64, Fault> {
        let text = match self.value.get_ref() {
            DeValue::Float(float) => float.as_str(),
            DeValue::Integer(integer) if integer.radix() == 10 => integer.as_str(),
            _ => return Err(self.wrong_type("a number")),
        };
        text.parse().map_err(|_| self.invalid("is out of range"))
    }

    pub(crate) fn array(&self, expected: &'static str) -> Result<Vec<Item<'a>>, Fault> {
        let array = self.value.get_ref().as_array().ok_or_else(|| self.wrong_type(expected))?;
        Ok(array
            .iter()
            .map(|value| Item { path: self.path.clone(), key_span: self.key_span.clone(), value })
            .collect())
    }

    pub(crate) fn table(&self) -> Result<Table<'a>, Fault> {
        let map = self.value.get_ref().as_table().ok_or_else(|| self.wrong_type("a table"))?;
        // A table that only a longer header implies has no place of its own.
        let span = if self.value.span().is_empty() { self.key_span.clone() } else { self.value.span() };
        Ok(Table { path: self.path.clone(), span: Some(span), map })
    }
}

/// Line and column, both from 1 and the column in characters, of a byte offset.
pub(crate) fn line_and_column(text: &str, offset: usize) -> (usize, usize) {
    let before = &text.as_bytes()[..offset.min(text.len())];
    let line_start = before.iter().rposition(|&byte| byte == b'\n').map_or(0, |at| at + 1);
    let line = before.iter().filter(|&&byte| byte == b'\n').count() + 1;
    (line, String::from_utf8_lossy(&before[line_start..]).chars().count() + 1)
}
