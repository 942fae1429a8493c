//! Text into tokens, one at a time, with two tokens of look-ahead. Never allocates.

use super::{ParseError, Pos};

/// What a token is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// `add`, `%r1`, `$L__BB0_1`, `_`
    Word,
    /// `.f32`, `.shared::cta`: the text is without the dot.
    Dotted,
    /// A number of any form.
    Number,
    /// The text is without the quotes.
    Text,
    /// One punctuation character.
    Punct(u8),
    /// The end of the text.
    End,
}

/// A token and its place.
#[derive(Clone, Copy, Debug)]
pub(super) struct Token<'a> {
    pub kind: Kind,
    pub text: &'a str,
    pub pos: Pos,
    /// Offset of the first byte: two tokens are adjacent when one ends where the other begins.
    pub start: usize,
    pub end: usize,
}

/// The lexer.
#[derive(Clone)]
pub(super) struct Lexer<'a> {
    text: &'a str,
    at: usize,
    line: u32,
    line_start: usize,
}

fn is_word_start(c: u8) -> bool {
    c.is_ascii_alphabetic() || matches!(c, b'_' | b'$' | b'%')
}

fn is_word(c: u8) -> bool {
    c.is_ascii_alphanumeric() || matches!(c, b'_' | b'$')
}

impl<'a> Lexer<'a> {
    pub fn new(text: &'a str) -> Self {
        Lexer { text, at: 0, line: 1, line_start: 0 }
    }

    fn byte(&self, offset: usize) -> u8 {
        self.text.as_bytes().get(self.at + offset).copied().unwrap_or(0)
    }

    fn pos(&self) -> Pos {
        Pos { line: self.line, column: u32::try_from(self.at - self.line_start + 1).unwrap_or(u32::MAX) }
    }

    fn newline(&mut self) {
        self.line = self.line.saturating_add(1);
        self.line_start = self.at;
    }

    fn skip_blank(&mut self) -> Result<(), ParseError> {
        let bytes = self.text.as_bytes();
        while let Some(&c) = bytes.get(self.at) {
            match c {
                b'\n' => {
                    self.at += 1;
                    self.newline();
                }
                b' ' | b'\t' | b'\r' | 0x0b | 0x0c => self.at += 1,
                b'/' if self.byte(1) == b'/' => {
                    while bytes.get(self.at).is_some_and(|&c| c != b'\n') {
                        self.at += 1;
                    }
                }
                b'/' if self.byte(1) == b'*' => {
                    let pos = self.pos();
                    self.at += 2;
                    loop {
                        match bytes.get(self.at) {
                            None => return Err(ParseError::new(pos, "comment is not closed")),
                            Some(b'*') if self.byte(1) == b'/' => break,
                            Some(b'\n') => {
                                self.at += 1;
                                self.newline();
                            }
                            Some(_) => self.at += 1,
                        }
                    }
                    self.at += 2;
                }
                // The preprocessor's line marks carry nothing that `.loc` does not.
                b'#' => {
                    while bytes.get(self.at).is_some_and(|&c| c != b'\n') {
                        self.at += 1;
                    }
                }
                _ => break,
            }
        }
        Ok(())
    }

    /// The next token.
    pub fn next(&mut self) -> Result<Token<'a>, ParseError> {
        self.skip_blank()?;
        let pos = self.pos();
        let start = self.at;
        let bytes = self.text.as_bytes();
        let Some(&c) = bytes.get(self.at) else {
            // Some tools pass a NUL-terminated buffer whole.
            return Ok(Token { kind: Kind::End, text: "", pos, start, end: start });
        };
        let kind = if c == 0 {
            return Ok(Token { kind: Kind::End, text: "", pos, start, end: start });
        } else if is_word_start(c) {
            self.at += 1;
            self.skip_while(is_word);
            Kind::Word
        } else if c == b'.' && is_word(self.byte(1)) {
            self.at += 1;
            self.skip_while(is_word);
            while self.byte(0) == b':' && self.byte(1) == b':' && is_word(self.byte(2)) {
                self.at += 2;
                self.skip_while(is_word);
            }
            return Ok(Token {
                kind: Kind::Dotted,
                text: &self.text[start + 1..self.at],
                pos,
                start,
                end: self.at,
            });
        } else if c.is_ascii_digit() {
            self.number();
            Kind::Number
        } else if c == b'"' {
            self.at += 1;
            loop {
                match bytes.get(self.at) {
                    None | Some(b'\n') => return Err(ParseError::new(pos, "string is not closed")),
                    Some(b'"') => break,
                    // An escaped character may be the first byte of a longer one: its other bytes follow harmlessly.
                    Some(b'\\') if matches!(self.byte(1), b'"' | b'\\') => self.at += 2,
                    Some(_) => self.at += 1,
                }
            }
            self.at += 1;
            let text = &self.text[start + 1..self.at - 1];
            return Ok(Token { kind: Kind::Text, text, pos, start, end: self.at });
        } else if c.is_ascii_punctuation() {
            self.at += 1;
            Kind::Punct(c)
        } else {
            let shown = self.text[start..].chars().next().unwrap_or(char::REPLACEMENT_CHARACTER);
            return Err(ParseError::new(pos, format!("unexpected character {shown:?}")));
        };
        Ok(Token { kind, text: &self.text[start..self.at], pos, start, end: self.at })
    }

    fn skip_while(&mut self, accept: impl Fn(u8) -> bool) {
        while self.text.as_bytes().get(self.at).is_some_and(|&c| accept(c)) {
            self.at += 1;
        }
    }

    fn number(&mut self) {
        let prefixed = self.byte(0) == b'0'
            && matches!(self.byte(1), b'x' | b'X' | b'b' | b'B' | b'f' | b'F' | b'd' | b'D');
        if prefixed {
            self.at += 2;
            self.skip_while(|c| c.is_ascii_alphanumeric());
            return;
        }
        self.skip_while(|c| c.is_ascii_digit());
        if self.byte(0) == b'.' && self.byte(1).is_ascii_digit() {
            self.at += 1;
            self.skip_while(|c| c.is_ascii_digit());
        } else if self.byte(0) == b'.' && !is_word(self.byte(1)) {
            self.at += 1;
        }
        if matches!(self.byte(0), b'e' | b'E')
            && (self.byte(1).is_ascii_digit()
                || (matches!(self.byte(1), b'+' | b'-') && self.byte(2).is_ascii_digit()))
        {
            self.at += 2;
            self.skip_while(|c| c.is_ascii_digit());
        }
        self.skip_while(|c| c.is_ascii_alphanumeric());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kinds(text: &str) -> Vec<(Kind, String)> {
        let mut lexer = Lexer::new(text);
        let mut out = Vec::new();
        loop {
            let token = lexer.next().unwrap();
            if token.kind == Kind::End {
                return out;
            }
            out.push((token.kind, token.text.to_owned()));
        }
    }

    #[test]
    fn opcodes_registers_and_numbers() {
        let words: Vec<String> = kinds("cp.async.shared::cta.b8 %r<5>, 0f3F800000, -1.5e3, 9.0, 0x1FU;")
            .into_iter()
            .map(|t| t.1)
            .collect();
        assert_eq!(
            words,
            [
                "cp",
                "async",
                "shared::cta",
                "b8",
                "%r",
                "<",
                "5",
                ">",
                ",",
                "0f3F800000",
                ",",
                "-",
                "1.5e3",
                ",",
                "9.0",
                ",",
                "0x1FU",
                ";"
            ]
        );
    }

    #[test]
    fn lines_and_columns_count_from_one() {
        let mut lexer = Lexer::new("a // x\n  /* \n */ b");
        assert_eq!(lexer.next().unwrap().pos, Pos { line: 1, column: 1 });
        assert_eq!(lexer.next().unwrap().pos, Pos { line: 3, column: 5 });
    }
}
