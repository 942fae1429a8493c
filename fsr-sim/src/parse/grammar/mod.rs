//! Tokens into the syntax tree. Without recursion on input: nesting depth never touches the stack.

mod function;
mod instruction;
mod variable;

use super::ast::*;
use super::lex::{Kind, Lexer, Token};
use super::{ParseError, Pos};

/// Parses a PTX module.
///
/// # Errors
/// The first place that is not PTX.
pub fn parse(text: &str) -> Result<Module<'_>, ParseError> {
    let mut parser = Parser::new(text)?;
    parser.module()
}

type Parsed<T> = Result<T, ParseError>;

struct Parser<'a> {
    lexer: Lexer<'a>,
    token: Token<'a>,
    next: Token<'a>,
}

impl<'a> Parser<'a> {
    fn new(text: &'a str) -> Parsed<Self> {
        let mut lexer = Lexer::new(text);
        let token = lexer.next()?;
        let next = lexer.next()?;
        Ok(Parser { lexer, token, next })
    }

    fn advance(&mut self) -> Parsed<Token<'a>> {
        let token = self.token;
        self.token = self.next;
        self.next = self.lexer.next()?;
        Ok(token)
    }

    fn at(&self, c: u8) -> bool {
        self.token.kind == Kind::Punct(c)
    }

    fn eat(&mut self, c: u8) -> Parsed<bool> {
        let found = self.at(c);
        if found {
            self.advance()?;
        }
        Ok(found)
    }

    fn at_dotted(&self, name: &str) -> bool {
        self.token.kind == Kind::Dotted && self.token.text == name
    }

    fn expected<T>(&self, what: &str) -> Parsed<T> {
        let found = match self.token.kind {
            Kind::End => "the end of the text".to_owned(),
            Kind::Dotted => format!("`.{}`", self.token.text),
            _ => format!("`{}`", self.token.text),
        };
        Err(ParseError::new(self.token.pos, format!("expected {what}, found {found}")))
    }

    fn expect(&mut self, c: u8) -> Parsed<()> {
        if self.eat(c)? { Ok(()) } else { self.expected(&format!("`{}`", c as char)) }
    }

    fn word(&mut self, what: &str) -> Parsed<Token<'a>> {
        if self.token.kind == Kind::Word { self.advance() } else { self.expected(what) }
    }

    fn integer(&mut self, what: &str) -> Parsed<u64> {
        if self.token.kind != Kind::Number {
            return self.expected(what);
        }
        let token = self.advance()?;
        match constant(token)? {
            Constant::Int(value) => u64::try_from(value)
                .map_err(|_| ParseError::new(token.pos, format!("{what} `{}` is out of range", token.text))),
            _ => {
                Err(ParseError::new(token.pos, format!("{what} must be an integer, found `{}`", token.text)))
            }
        }
    }

    fn small(&mut self, what: &str) -> Parsed<u32> {
        let pos = self.token.pos;
        let value = self.integer(what)?;
        u32::try_from(value).map_err(|_| ParseError::new(pos, format!("{what} {value} is out of range")))
    }

    fn module(&mut self) -> Parsed<Module<'a>> {
        let mut module = Module { address_size: 64, ..Module::default() };
        let mut versioned = false;
        let mut linkage = Linkage::Internal;
        loop {
            let pos = self.token.pos;
            match self.token.kind {
                Kind::End => break,
                Kind::Dotted => {}
                Kind::Punct(b';') => {
                    self.advance()?;
                    continue;
                }
                _ => return self.expected("a directive"),
            }
            match self.token.text {
                "version" => {
                    self.advance()?;
                    module.version = self.version()?;
                    versioned = true;
                }
                "target" => {
                    self.advance()?;
                    module.target.push(self.word("a target")?.text);
                    while self.eat(b',')? {
                        module.target.push(self.word("a target option")?.text);
                    }
                }
                "address_size" => {
                    self.advance()?;
                    module.address_size = self.small("an address size")?;
                    if !matches!(module.address_size, 32 | 64) {
                        return Err(ParseError::new(pos, "address size must be 32 or 64"));
                    }
                }
                "file" => self.file(&mut module)?,
                "section" => self.section()?,
                "loc" => {
                    self.location()?;
                }
                "pragma" => {
                    self.advance()?;
                    self.pragma()?;
                }
                "alias" => {
                    self.advance()?;
                    let new = self.word("a name")?.text;
                    self.expect(b',')?;
                    let existing = self.word("a name")?.text;
                    self.expect(b';')?;
                    module.aliases.push((new, existing));
                }
                "visible" => linkage = self.linkage(Linkage::Visible)?,
                "extern" => linkage = self.linkage(Linkage::Extern)?,
                "weak" => linkage = self.linkage(Linkage::Weak)?,
                "common" => linkage = self.linkage(Linkage::Common)?,
                "entry" | "func" => {
                    let function = self.function(std::mem::take(&mut linkage))?;
                    module.functions.push(function);
                }
                name if Space::from_name(name).is_some() => {
                    self.variables(std::mem::take(&mut linkage), &mut module.variables)?;
                }
                name => {
                    return Err(ParseError::new(pos, format!("unknown directive `.{name}`")));
                }
            }
        }
        if !versioned {
            return Err(ParseError::new(Pos { line: 1, column: 1 }, "no `.version`: this is not PTX"));
        }
        Ok(module)
    }

    fn linkage(&mut self, linkage: Linkage) -> Parsed<Linkage> {
        self.advance()?;
        Ok(linkage)
    }

    fn version(&mut self) -> Parsed<(u32, u32)> {
        let token = self.token;
        let parts = token.text.split_once('.').and_then(|(a, b)| Some((a.parse().ok()?, b.parse().ok()?)));
        match parts {
            Some(version) if token.kind == Kind::Number => {
                self.advance()?;
                Ok(version)
            }
            _ => self.expected("a version such as 8.5"),
        }
    }

    fn file(&mut self, module: &mut Module<'a>) -> Parsed<()> {
        self.advance()?;
        let index = self.small("a file index")?;
        if self.token.kind != Kind::Text {
            return self.expected("a path in quotes");
        }
        let path = self.advance()?.text;
        // `, timestamp, size` may follow.
        while self.eat(b',')? {
            self.integer("a number")?;
        }
        module.files.insert(index, File { path });
        Ok(())
    }

    fn section(&mut self) -> Parsed<()> {
        let pos = self.advance()?.pos;
        while !self.at(b'{') {
            if self.token.kind == Kind::End {
                return self.expected("`{`");
            }
            self.advance()?;
        }
        let mut depth = 0u32;
        loop {
            match self.token.kind {
                Kind::Punct(b'{') => depth += 1,
                Kind::Punct(b'}') => depth -= 1,
                Kind::End => return Err(ParseError::new(pos, "section is not closed")),
                _ => {}
            }
            self.advance()?;
            if depth == 0 {
                return Ok(());
            }
        }
    }

    fn pragma(&mut self) -> Parsed<&'a str> {
        if self.token.kind != Kind::Text {
            return self.expected("a string");
        }
        let text = self.advance()?.text;
        while self.eat(b',')? {
            self.advance()?;
        }
        self.expect(b';')?;
        Ok(text)
    }

    fn location(&mut self) -> Parsed<Location> {
        let start = self.advance()?.pos.line;
        let mut location = Location {
            file: self.small("a file index")?,
            line: self.small("a line")?,
            column: self.small("a column")?,
            inlined_at: None,
        };
        // `, function_name $label, inlined_at file line column` on the same line.
        while self.token.pos.line == start && self.at(b',') {
            self.advance()?;
            if self.token.pos.line == start && self.token.text == "inlined_at" {
                self.advance()?;
                let (file, line) = (self.small("a file index")?, self.small("a line")?);
                location.inlined_at = Some((file, line, self.small("a column")?));
            }
            while self.token.pos.line == start
                && matches!(self.token.kind, Kind::Word | Kind::Number | Kind::Punct(b'+'))
            {
                self.advance()?;
            }
        }
        Ok(location)
    }

    fn skip_group(&mut self) -> Parsed<()> {
        self.expect(b'(')?;
        let mut depth = 1u32;
        while depth > 0 {
            match self.token.kind {
                Kind::Punct(b'(') => depth += 1,
                Kind::Punct(b')') => depth -= 1,
                Kind::End => return self.expected("`)`"),
                _ => {}
            }
            self.advance()?;
        }
        Ok(())
    }
}

fn constant(token: Token<'_>) -> Parsed<Constant> {
    let text = token.text;
    let bad = || ParseError::new(token.pos, format!("`{text}` is not a number"));
    let bytes = text.as_bytes();
    if bytes.len() > 2 && bytes[0] == b'0' {
        let digits = &text[2..];
        match bytes[1] {
            b'f' | b'F' => {
                return match digits.len() {
                    8 => u32::from_str_radix(digits, 16).map(Constant::F32).map_err(|_| bad()),
                    _ => Err(bad()),
                };
            }
            b'd' | b'D' => {
                return match digits.len() {
                    16 => u64::from_str_radix(digits, 16).map(Constant::F64).map_err(|_| bad()),
                    _ => Err(bad()),
                };
            }
            b'x' | b'X' | b'b' | b'B' => {
                let radix = if matches!(bytes[1], b'x' | b'X') { 16 } else { 2 };
                let digits = digits.trim_end_matches(['U', 'u']);
                return u64::from_str_radix(digits, radix)
                    .map(|v| Constant::Int(v.into()))
                    .map_err(|_| bad());
            }
            _ => {}
        }
    }
    if text.contains(['.', 'e', 'E']) {
        return text.parse::<f64>().map(|v| Constant::F64(v.to_bits())).map_err(|_| bad());
    }
    let digits = text.trim_end_matches(['U', 'u']);
    let radix = if digits.len() > 1 && digits.starts_with('0') { 8 } else { 10 };
    u64::from_str_radix(digits, radix).map(|v| Constant::Int(v.into())).map_err(|_| bad())
}
