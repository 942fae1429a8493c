//! Source text as the preprocessor sees it, as far as it matters for what a candidate can reach.
//!
//! Where compilers or language versions read a text in two ways, it is refused rather than guessed: NVRTC splices
//! lines inside raw strings, against the standard, and looks for directives in text that it skips.

use std::fmt;

/// A place in a source, counted from 1, in characters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Place {
    pub(super) line: u32,
    pub(super) column: u32,
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.line, self.column)
    }
}

/// Something that candidates may not write.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Fault {
    pub(super) place: Place,
    pub(super) reason: String,
}

/// What a token is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// Identifier or keyword.
    Word(String),
    /// A number.
    Number,
    /// A string literal of any prefix: its content with escapes undone.
    Text(String),
    /// A character literal.
    Char,
    /// One character, or `#`, `##` in any spelling.
    Sign(&'static str),
    /// Any other character.
    Other(char),
    /// What `#include` and its relatives name, with its quotes or brackets; the rest of the line when it is neither.
    Header(String),
}

/// A token with its place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Token {
    pub(super) kind: Kind,
    pub(super) place: Place,
}

impl Token {
    pub(super) fn word(&self) -> Option<&str> {
        match &self.kind {
            Kind::Word(word) => Some(word),
            _ => None,
        }
    }

    pub(super) fn is(&self, sign: &str) -> bool {
        matches!(&self.kind, Kind::Sign(own) if *own == sign)
    }
}

/// A logical line: a directive from `#` to its end, or the tokens between two directives' lines.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Line {
    /// `#` was its first token; it is not among the tokens.
    pub(super) directive: bool,
    /// Where it begins.
    pub(super) place: Place,
    pub(super) tokens: Vec<Token>,
}

/// A character with its place, after line splices are undone.
#[derive(Clone, Copy, Debug)]
struct Char {
    c: char,
    place: Place,
    /// A splice lies between it and its predecessor.
    spliced: bool,
}

/// Splits a source into logical lines. Faults do not stop it: the rest is looked at too.
pub(super) fn lines(source: &str, faults: &mut Vec<Fault>) -> Vec<Line> {
    let chars = characters(source, faults);
    let mut lexer = Lexer { chars: &chars, at: 0, faults, lines: Vec::new(), fresh: true, physical: true };
    lexer.run();
    lexer.lines
}

/// Undoes line splices, and refuses characters that compilers do not agree on.
fn characters(source: &str, faults: &mut Vec<Fault>) -> Vec<Char> {
    let mut chars = Vec::with_capacity(source.len());
    let mut place = Place { line: 1, column: 1 };
    let mut spliced = false;
    let mut rest = source;
    while let Some(c) = rest.chars().next() {
        rest = &rest[c.len_utf8()..];
        if c == '\\' {
            let after = rest.trim_start_matches([' ', '\t', '\x0b', '\x0c']);
            if let Some(next) = after.strip_prefix('\n') {
                if after.len() != rest.len() {
                    let reason = "a backslash with blanks behind it at the end of a line is read in two ways; delete the blanks";
                    faults.push(Fault { place, reason: reason.to_owned() });
                }
                rest = next;
                place = Place { line: place.line + 1, column: 1 };
                spliced = true;
                continue;
            }
        }
        if c.is_control() && !matches!(c, '\n' | '\t' | '\x0b' | '\x0c') {
            let reason = format!("control character U+{:04X} in the source", u32::from(c));
            faults.push(Fault { place, reason });
        }
        chars.push(Char { c, place, spliced });
        spliced = false;
        place = match c {
            '\n' => Place { line: place.line + 1, column: 1 },
            _ => Place { column: place.column + 1, ..place },
        };
    }
    chars
}

struct Lexer<'a> {
    chars: &'a [Char],
    at: usize,
    faults: &'a mut Vec<Fault>,
    lines: Vec<Line>,
    /// No token yet on the logical line.
    fresh: bool,
    /// No token yet on the line as it is written: a comment that spans lines makes the two differ.
    physical: bool,
}

impl Lexer<'_> {
    fn run(&mut self) {
        while let Some(Char { c, place, .. }) = self.peek(0) {
            if c == '\n' {
                self.at += 1;
                (self.fresh, self.physical) = (true, true);
                if self.lines.last().is_some_and(|line| line.directive) {
                    self.open(false, place);
                }
            } else if c.is_whitespace() {
                self.at += 1;
            } else if self.comment() {
            } else {
                self.token(place);
            }
        }
    }

    fn peek(&self, ahead: usize) -> Option<Char> {
        self.chars.get(self.at + ahead).copied()
    }

    fn starts(&self, text: &str) -> bool {
        text.chars().enumerate().all(|(ahead, c)| self.peek(ahead).is_some_and(|own| own.c == c))
    }

    fn fault(&mut self, place: Place, reason: &str) {
        self.faults.push(Fault { place, reason: reason.to_owned() });
    }

    fn open(&mut self, directive: bool, place: Place) {
        self.lines.push(Line { directive, place, tokens: Vec::new() });
    }

    fn push(&mut self, kind: Kind, place: Place) {
        if self.lines.is_empty() {
            self.open(false, place);
        }
        if let Some(line) = self.lines.last_mut() {
            line.tokens.push(Token { kind, place });
        }
        (self.fresh, self.physical) = (false, false);
    }

    /// Skips a comment, if one is here.
    fn comment(&mut self) -> bool {
        if self.starts("//") {
            while self.peek(0).is_some_and(|own| own.c != '\n') {
                self.at += 1;
            }
            return true;
        }
        if !self.starts("/*") {
            return false;
        }
        let begin = self.chars[self.at].place;
        self.at += 2;
        while !self.starts("*/") {
            match self.peek(0) {
                Some(own) => self.physical |= own.c == '\n',
                None => {
                    self.fault(begin, "comment without its end");
                    return true;
                }
            }
            self.at += 1;
        }
        self.at += 2;
        true
    }

    fn token(&mut self, place: Place) {
        let Some(Char { c, .. }) = self.peek(0) else { return };
        for (spelling, sign) in [("%:%:", "##"), ("##", "##"), ("%:", "#"), ("#", "#")] {
            if self.starts(spelling) {
                self.at += spelling.len();
                return self.hash(sign, place);
            }
        }
        match c {
            '"' => self.text(place),
            '\'' => {
                self.quoted('\'', place);
                self.push(Kind::Char, place);
            }
            c if c.is_ascii_digit()
                || c == '.' && self.peek(1).is_some_and(|next| next.c.is_ascii_digit()) =>
            {
                self.number();
                self.push(Kind::Number, place);
            }
            c if in_word(c) => self.word(place),
            _ => {
                self.at += 1;
                let sign = ["(", ")", ",", ":", ";", "{", "}", "[", "]"]
                    .into_iter()
                    .find(|sign| sign.starts_with(c));
                self.push(sign.map_or(Kind::Other(c), Kind::Sign), place);
            }
        }
    }

    fn hash(&mut self, sign: &'static str, place: Place) {
        if sign == "#" && self.fresh {
            self.open(true, place);
            (self.fresh, self.physical) = (false, false);
            return self.header_name();
        }
        if self.physical {
            // By the standard a comment before it makes this no directive; not every reader agrees.
            self.fault(place, "`#` after a comment that spans lines is read in two ways; end the comment on a line of its own");
        }
        self.push(Kind::Sign(sign), place);
    }

    /// Behind `# include` comes a name that is no ordinary token.
    fn header_name(&mut self) {
        let begin = self.at;
        while self.peek(0).is_some_and(|own| own.c.is_whitespace() && own.c != '\n') || self.blank_comment() {
            if self.peek(0).is_some_and(|own| own.c.is_whitespace()) {
                self.at += 1;
            }
        }
        let mut name = String::new();
        while let Some(own) = self.peek(0).filter(|own| in_word(own.c)) {
            name.push(own.c);
            self.at += 1;
        }
        if !["include", "include_next", "import", "embed"].contains(&name.as_str()) {
            self.at = begin;
            return;
        }
        let place = self.chars.get(begin).map_or(Place { line: 1, column: 1 }, |own| own.place);
        self.push(Kind::Word(name), place);
        while self.peek(0).is_some_and(|own| own.c.is_whitespace() && own.c != '\n') || self.blank_comment() {
            if self.peek(0).is_some_and(|own| own.c.is_whitespace()) {
                self.at += 1;
            }
        }
        let Some(Char { c, place, .. }) = self.peek(0) else { return };
        let close = match c {
            '<' => '>',
            '"' => '"',
            _ => return,
        };
        let mut header = String::new();
        while let Some(own) = self.peek(0).filter(|own| own.c != '\n') {
            header.push(own.c);
            self.at += 1;
            if own.c == close && header.len() > 1 {
                break;
            }
        }
        self.push(Kind::Header(header), place);
    }

    /// Skips a comment within a directive; it counts as a blank.
    fn blank_comment(&mut self) -> bool {
        self.starts("/*") && self.comment()
    }

    fn word(&mut self, place: Place) {
        let mut word = String::new();
        let mut spliced = false;
        while let Some(own) = self.peek(0).filter(|own| in_word(own.c)) {
            spliced |= own.spliced && !word.is_empty();
            word.push(own.c);
            self.at += 1;
        }
        let raw = ["R", "LR", "uR", "UR", "u8R"].contains(&word.as_str());
        if let Some(quote) = self.peek(0).filter(|own| raw && own.c == '"') {
            if spliced || quote.spliced {
                self.fault(place, "raw string whose beginning is split over lines");
            }
            return self.raw(place);
        }
        self.push(Kind::Word(word), place);
    }

    fn number(&mut self) {
        let mut last = ' ';
        while let Some(own) = self.peek(0) {
            let separator = own.c == '\'' && self.peek(1).is_some_and(|next| next.c.is_ascii_alphanumeric());
            let sign = matches!(own.c, '+' | '-') && matches!(last, 'e' | 'E' | 'p' | 'P');
            if !(in_word(own.c) || own.c == '.' || separator || sign) {
                break;
            }
            last = own.c;
            self.at += 1;
        }
    }

    fn text(&mut self, place: Place) {
        let content = self.quoted('"', place);
        self.push(Kind::Text(content), place);
    }

    /// Reads a literal up to its closing quote. It may not be missing, not even in text that is skipped: whether
    /// a lone quote hides what follows on its line is read in two ways.
    fn quoted(&mut self, quote: char, place: Place) -> String {
        let mut content = String::new();
        self.at += 1;
        while let Some(own) = self.peek(0).filter(|own| own.c != '\n') {
            self.at += 1;
            match own.c {
                c if c == quote => return content,
                '\\' => match self.peek(0).filter(|own| own.c != '\n') {
                    Some(escaped) => {
                        self.at += 1;
                        content.push(match escaped.c {
                            'n' => '\n',
                            't' => '\t',
                            'r' => '\r',
                            c => c,
                        });
                    }
                    None => break,
                },
                c => content.push(c),
            }
        }
        let what = if quote == '"' {
            "`\"` without its partner on the line"
        } else {
            "`'` without its partner on the line"
        };
        self.fault(place, what);
        content
    }

    fn raw(&mut self, place: Place) {
        self.at += 1;
        let mut delimiter = String::new();
        loop {
            match self.peek(0) {
                Some(own) if own.c == '(' => break,
                Some(own) if !own.spliced && in_word(own.c) && delimiter.len() < 16 => {
                    delimiter.push(own.c);
                    self.at += 1;
                }
                _ => {
                    self.fault(place, "raw string with a delimiter that is no plain word");
                    return self.push(Kind::Text(String::new()), place);
                }
            }
        }
        let end = format!("){delimiter}\"");
        let mut content = String::new();
        let mut line_begins = false;
        self.at += 1;
        while !self.starts(&end) {
            let Some(own) = self.peek(0) else {
                self.fault(place, "raw string without its end");
                break;
            };
            if own.spliced {
                self.fault(own.place, "backslash at the end of a line inside a raw string");
            }
            if line_begins && (own.c == '#' || self.starts("%:")) {
                self.fault(own.place, "line inside a raw string that looks like a preprocessor directive");
            }
            line_begins = own.c == '\n' || line_begins && own.c.is_whitespace();
            content.push(own.c);
            self.at += 1;
        }
        let closing = self.chars.iter().skip(self.at).take(end.len());
        if let Some(own) = closing.copied().find(|own| own.spliced) {
            self.fault(own.place, "raw string whose end is split over lines");
        }
        self.at = (self.at + end.len()).min(self.chars.len());
        self.push(Kind::Text(content), place);
    }
}

fn in_word(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '_' || c == '$' || !c.is_ascii()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(source: &str) -> (Vec<String>, Vec<String>) {
        let mut faults = Vec::new();
        let lines = lines(source, &mut faults);
        let shown = lines
            .iter()
            .filter(|line| line.directive || !line.tokens.is_empty())
            .map(|line| {
                let words: Vec<String> = line
                    .tokens
                    .iter()
                    .map(|token| match &token.kind {
                        Kind::Word(word) => word.clone(),
                        Kind::Number => "0".to_owned(),
                        Kind::Text(text) => format!("{text:?}"),
                        Kind::Char => "'c'".to_owned(),
                        Kind::Sign(sign) => (*sign).to_owned(),
                        Kind::Other(c) => c.to_string(),
                        Kind::Header(name) => name.clone(),
                    })
                    .collect();
                format!("{}{}", if line.directive { "#" } else { "" }, words.join(" "))
            })
            .collect();
        (shown, faults.iter().map(|fault| format!("{} {}", fault.place, fault.reason)).collect())
    }

    #[test]
    fn directives_are_seen_through_blanks_comments_splices_and_digraphs() {
        for source in [
            "#include <a.h>",
            "  #  include  <a.h>  ",
            "/* x */ # /* y */ include /* z */ <a.h> // end",
            "#inc\\\nlude \\\n<a.h>",
            "%:include <a.h>",
            "%\\\n:include <a.h>",
            "\\\n#include <a.h>",
            "\x0b#\x0cinclude <a.h>",
            "// comment\n#include <a.h>",
        ] {
            assert_eq!(read(source).0, ["#include <a.h>"], "{source}");
        }
    }

    #[test]
    fn comments_and_strings_hide_directives() {
        for source in ["// \\\n#include <a.h>", "/*\n#include <a.h>\n*/", "/* // */", "// /*"] {
            assert_eq!(read(source), (vec![], vec![]), "{source}");
        }
        assert_eq!(read("\"/*\" x \"*/\"").0, ["\"/*\" x \"*/\""]);
    }

    #[test]
    fn a_hash_inside_a_line_is_no_directive() {
        assert_eq!(read("#define S(x) #x\nint a;").0, ["#define S ( x ) # x", "int a ;"]);
        assert_eq!(read("#define C(a, b) a##b").0, ["#define C ( a , b ) a ## b"]);
    }

    #[test]
    fn literals_are_whole() {
        let source = "f(u8\"a\\\"b\", L'\\'', 1'000'000, 0x1.8p+3f, R\"x(a\")x\")";
        let expected = "f ( u8 \"a\\\"b\" , L 'c' , 0 , 0 , \"a\\\"\" )";
        assert_eq!(read(source), (vec![expected.to_owned()], vec![]));
        // An identifier that ends in R is no prefix.
        assert_eq!(read("FOOR\"(\" + \")\"").0, ["FOOR \"(\" + \")\""]);
    }

    #[test]
    fn what_is_read_in_two_ways_is_refused_with_its_place() {
        let reason = |source: &str| read(source).1;
        insta::assert_debug_snapshot!([
            reason("int a; // x \\ \n#include <a.h>"),
            reason("int a;\rint b;"),
            reason("int\0 a;"),
            reason("don't"),
            reason("x = \"abc"),
            reason("R\\\n\"(x)\""),
            reason("R\"(abc)\\\n\";"),
            reason("R\"(a\\\nb)\""),
            reason("#if 0\nR\"(\n#endif\n)\"\n"),
            reason("R\"(\n %:endif\n)\""),
            reason("R\" (x) \""),
            reason("R\"(x"),
            reason("/* x"),
            reason("int a; /*\n*/ #include <a.h>"),
        ]);
    }
}
