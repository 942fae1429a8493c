//! Tokens into the syntax tree. Without recursion on input: nesting depth never touches the stack.

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

    // ---- module scope ----

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

    // ---- variables ----

    /// `.space .align 4 .v2 .f32 name[3] = {...}, name2;`
    fn variables(&mut self, linkage: Linkage, out: &mut Vec<Variable<'a>>) -> Parsed<()> {
        let first = self.variable(linkage)?;
        let shape = first.clone();
        out.push(first);
        while self.eat(b',')? {
            let mut variable = Variable { dims: Vec::new(), init: Vec::new(), ..shape.clone() };
            self.declarator(&mut variable)?;
            out.push(variable);
        }
        self.expect(b';')
    }

    /// Everything up to the initialiser; the separator is left.
    fn variable(&mut self, linkage: Linkage) -> Parsed<Variable<'a>> {
        let pos = self.token.pos;
        let Some(space) = Space::from_name(self.token.text).filter(|_| self.token.kind == Kind::Dotted)
        else {
            return self.expected("a state space");
        };
        self.advance()?;
        let mut variable = Variable {
            pos,
            linkage,
            space,
            ty: ScalarType::B8,
            vector: 1,
            align: None,
            name: "",
            dims: Vec::new(),
            init: Vec::new(),
        };
        let mut typed = false;
        while self.token.kind == Kind::Dotted {
            match self.token.text {
                "align" => {
                    self.advance()?;
                    let at = self.token.pos;
                    let align = self.small("an alignment")?;
                    if !align.is_power_of_two() || align > 1 << 20 {
                        return Err(ParseError::new(at, format!("alignment {align} is not a power of two")));
                    }
                    // `.ptr .global .align 16` speaks of what is pointed to, and comes after the type.
                    if !typed {
                        variable.align = Some(align);
                    }
                    continue;
                }
                "v2" => variable.vector = 2,
                "v4" => variable.vector = 4,
                "v8" => variable.vector = 8,
                name => {
                    if let (Some(ty), false) = (ScalarType::from_name(name), typed) {
                        variable.ty = ty;
                        typed = true;
                    } else if !matches!(name, "ptr" | "attribute" | "managed" | "unified")
                        && Space::from_name(name).is_none()
                    {
                        return self.expected("a type or an attribute");
                    }
                }
            }
            let attribute = self.at_dotted("attribute");
            self.advance()?;
            if attribute {
                self.skip_group()?;
            }
        }
        if !typed {
            return self.expected("a type");
        }
        self.declarator(&mut variable)?;
        Ok(variable)
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

    fn declarator(&mut self, variable: &mut Variable<'a>) -> Parsed<()> {
        let name = self.word("a name")?;
        variable.name = name.text;
        variable.pos = name.pos;
        while self.eat(b'[')? {
            let dim = if self.at(b']') { None } else { Some(self.integer("an array size")?) };
            self.expect(b']')?;
            variable.dims.push(dim);
        }
        if self.eat(b'=')? {
            self.initialiser(variable)?;
        }
        Ok(())
    }

    fn initialiser(&mut self, variable: &mut Variable<'a>) -> Parsed<()> {
        let mut depth = 0u32;
        loop {
            if self.eat(b'{')? {
                depth += 1;
                continue;
            }
            if depth > 0 && self.eat(b'}')? {
                depth -= 1;
            } else {
                let init = self.init()?;
                variable.init.push(init);
            }
            while depth > 0 && self.eat(b'}')? {
                depth -= 1;
            }
            if depth == 0 {
                return Ok(());
            }
            self.expect(b',')?;
        }
    }

    fn init(&mut self) -> Parsed<Init<'a>> {
        if self.token.kind != Kind::Word {
            return Ok(Init::Value(self.signed_constant()?));
        }
        let mut name = self.advance()?.text;
        let mut generic = false;
        let wrapped = self.at(b'(');
        if wrapped {
            generic = name == "generic";
            self.advance()?;
            name = self.word("a symbol")?.text;
        }
        let mut offset = self.offset()?;
        if wrapped {
            self.expect(b')')?;
            offset = offset.wrapping_add(self.offset()?);
        }
        Ok(Init::Symbol { name, offset, generic })
    }

    // ---- functions ----

    fn function(&mut self, linkage: Linkage) -> Parsed<Function<'a>> {
        let kind = if self.advance()?.text == "entry" { FunctionKind::Entry } else { FunctionKind::Func };
        let mut directives = Vec::new();
        self.function_directives(&mut directives)?;
        let returns = if self.at(b'(') { self.parameters()? } else { Vec::new() };
        let name = self.word("a function name")?;
        let params = if self.at(b'(') { self.parameters()? } else { Vec::new() };
        self.function_directives(&mut directives)?;
        let body = if self.eat(b';')? {
            None
        } else if self.eat(b'{')? {
            Some(self.body()?)
        } else {
            return self.expected("`{` or `;`");
        };
        Ok(Function { pos: name.pos, kind, linkage, name: name.text, returns, params, directives, body })
    }

    /// `.maxntid 256, 1, 1 .noreturn .pragma "...";` unknown ones are kept by name.
    fn function_directives(&mut self, out: &mut Vec<(&'a str, Vec<u64>)>) -> Parsed<()> {
        while self.token.kind == Kind::Dotted {
            let name = self.advance()?.text;
            if name == "pragma" {
                self.pragma()?;
                continue;
            }
            if name == "attribute" {
                self.skip_group()?;
                continue;
            }
            let mut numbers = Vec::new();
            if self.token.kind == Kind::Number {
                numbers.push(self.integer("a number")?);
                while self.eat(b',')? {
                    numbers.push(self.integer("a number")?);
                }
            }
            out.push((name, numbers));
        }
        Ok(())
    }

    fn parameters(&mut self) -> Parsed<Vec<Variable<'a>>> {
        self.expect(b'(')?;
        let mut out = Vec::new();
        while !self.eat(b')')? {
            if !out.is_empty() {
                self.expect(b',')?;
            }
            let variable = self.variable(Linkage::Internal)?;
            out.push(variable);
        }
        Ok(out)
    }

    fn body(&mut self) -> Parsed<Vec<Statement<'a>>> {
        let mut out = Vec::new();
        let mut depth = 1u32;
        loop {
            let token = self.token;
            match token.kind {
                Kind::Punct(b'{') => {
                    self.advance()?;
                    depth += 1;
                    out.push(Statement::Open);
                }
                Kind::Punct(b'}') => {
                    self.advance()?;
                    depth -= 1;
                    if depth == 0 {
                        return Ok(out);
                    }
                    out.push(Statement::Close);
                }
                Kind::Punct(b';') => {
                    self.advance()?;
                }
                Kind::Dotted => self.body_directive(&mut out)?,
                Kind::Word if self.next.kind == Kind::Punct(b':') => {
                    self.advance()?;
                    self.advance()?;
                    self.labelled(token, &mut out)?;
                }
                Kind::Word | Kind::Punct(b'@') => {
                    let instruction = self.instruction()?;
                    out.push(Statement::Instruction(instruction));
                }
                _ => return self.expected("an instruction, a label or `}`"),
            }
        }
    }

    fn body_directive(&mut self, out: &mut Vec<Statement<'a>>) -> Parsed<()> {
        match self.token.text {
            "reg" => out.push(Statement::Registers(self.registers()?)),
            "loc" => out.push(Statement::Location(self.location()?)),
            "pragma" => {
                self.advance()?;
                out.push(Statement::Pragma(self.pragma()?));
            }
            name if Space::from_name(name).is_some() => {
                let mut variables = Vec::new();
                self.variables(Linkage::Internal, &mut variables)?;
                out.extend(variables.into_iter().map(Statement::Variable));
            }
            "extern" | "visible" | "weak" | "common" => {
                self.advance()?;
            }
            name => {
                return Err(ParseError::new(
                    self.token.pos,
                    format!("unknown directive `.{name}` in a function"),
                ));
            }
        }
        Ok(())
    }

    fn labelled(&mut self, label: Token<'a>, out: &mut Vec<Statement<'a>>) -> Parsed<()> {
        if self.at_dotted("branchtargets") || self.at_dotted("calltargets") {
            let branch = self.advance()?.text == "branchtargets";
            let mut names = vec![self.word("a name")?.text];
            while self.eat(b',')? {
                names.push(self.word("a name")?.text);
            }
            self.expect(b';')?;
            out.push(if branch {
                Statement::BranchTargets(label.text, names)
            } else {
                Statement::CallTargets(label.text, names)
            });
        } else if self.at_dotted("callprototype") {
            self.advance()?;
            let returns = if self.at(b'(') { self.parameters()? } else { Vec::new() };
            self.word("`_`")?;
            let params = if self.at(b'(') { self.parameters()? } else { Vec::new() };
            self.function_directives(&mut Vec::new())?;
            self.expect(b';')?;
            out.push(Statement::CallPrototype(label.text, Prototype { returns, params }));
        } else {
            out.push(Statement::Label(label.pos, label.text));
        }
        Ok(())
    }

    fn registers(&mut self) -> Parsed<Declaration<'a>> {
        let pos = self.advance()?.pos;
        let mut vector = 1;
        let mut ty = None;
        while self.token.kind == Kind::Dotted {
            match self.token.text {
                "v2" => vector = 2,
                "v4" => vector = 4,
                name => match ScalarType::from_name(name) {
                    Some(found) => ty = Some(found),
                    None => return self.expected("a register type"),
                },
            }
            self.advance()?;
        }
        let Some(ty) = ty else { return self.expected("a register type") };
        let mut names = Vec::new();
        loop {
            let name = self.word("a register name")?.text;
            let count = if self.eat(b'<')? {
                let count = self.small("a register count")?;
                self.expect(b'>')?;
                Some(count)
            } else {
                None
            };
            names.push(RegisterNames { name, count });
            if !self.eat(b',')? {
                break;
            }
        }
        self.expect(b';')?;
        Ok(Declaration { pos, ty, vector, names })
    }

    // ---- instructions ----

    fn instruction(&mut self) -> Parsed<Instruction<'a>> {
        let guard = if self.eat(b'@')? {
            let negated = self.eat(b'!')?;
            Some(Guard { name: self.word("a predicate")?.text, negated })
        } else {
            None
        };
        let opcode = self.word("an instruction")?;
        let mut modifiers = Vec::new();
        while self.token.kind == Kind::Dotted {
            modifiers.push(self.advance()?.text);
        }
        let mut operands = Vec::new();
        if !self.at(b';') {
            loop {
                let operand = self.operand()?;
                operands.push(operand);
                if self.eat(b',')? {
                    continue;
                }
                // Two forms put a space or nothing between operands: `call (r) f, (a)` and `tex [..]` do not.
                if self.at(b'(') && opcode.text == "call" {
                    continue;
                }
                if opcode.text == "call" && matches!(self.token.kind, Kind::Word) {
                    continue;
                }
                break;
            }
        }
        self.expect(b';')?;
        Ok(Instruction { pos: opcode.pos, guard, opcode: opcode.text, modifiers, operands })
    }

    fn operand(&mut self) -> Parsed<Operand<'a>> {
        match self.token.kind {
            Kind::Punct(b'{') => Ok(Operand::Vector(self.list(b'{', b'}')?)),
            Kind::Punct(b'(') => Ok(Operand::Group(self.list(b'(', b')')?)),
            Kind::Punct(b'[') => self.address(),
            Kind::Punct(b'!') => {
                self.advance()?;
                Ok(Operand::Not(self.word("a predicate")?.text))
            }
            _ => self.simple(),
        }
    }

    /// An operand that holds no other.
    fn simple(&mut self) -> Parsed<Operand<'a>> {
        if self.token.kind != Kind::Word {
            return Ok(Operand::Constant(self.signed_constant()?));
        }
        let name = self.advance()?;
        if self.token.kind == Kind::Dotted && self.token.start == name.end {
            return Ok(Operand::Component(name.text, self.advance()?.text));
        }
        if self.eat(b'|')? {
            return Ok(Operand::Pair(name.text, self.word("a register")?.text));
        }
        if self.at(b'+') || self.at(b'-') {
            return Ok(Operand::Offset(name.text, self.offset()?));
        }
        if self.eat(b'[')? {
            // `array[3]`: an element's address; the factor is not known here, so only bytes are accepted.
            let index = self.integer("an index")?;
            self.expect(b']')?;
            return Ok(Operand::Offset(name.text, i64::try_from(index).unwrap_or(i64::MAX)));
        }
        Ok(Operand::Name(name.text))
    }

    fn list(&mut self, open: u8, close: u8) -> Parsed<Vec<Operand<'a>>> {
        self.expect(open)?;
        let mut out = Vec::new();
        while !self.eat(close)? {
            if !out.is_empty() {
                self.expect(b',')?;
            }
            let operand = self.simple()?;
            out.push(operand);
        }
        Ok(out)
    }

    fn address(&mut self) -> Parsed<Operand<'a>> {
        self.expect(b'[')?;
        let (base, mut offset) = if self.token.kind == Kind::Word {
            let name = self.advance()?.text;
            (Base::Name(name), 0)
        } else {
            let pos = self.token.pos;
            match self.signed_constant()? {
                Constant::Int(value) => (Base::Absolute(value as i64), 0),
                _ => {
                    return Err(ParseError::new(
                        pos,
                        "an address must be a register, a symbol or an integer",
                    ));
                }
            }
        };
        offset = self.offset()?.wrapping_add(offset);
        let mut rest = Vec::new();
        while self.eat(b',')? {
            let operand =
                if self.at(b'{') { Operand::Vector(self.list(b'{', b'}')?) } else { self.simple()? };
            rest.push(operand);
        }
        self.expect(b']')?;
        Ok(Operand::Address(Address { base, offset, rest }))
    }

    /// `+4`, `+-4`, `-4`, or nothing.
    fn offset(&mut self) -> Parsed<i64> {
        let negative = if self.eat(b'+')? {
            self.eat(b'-')?
        } else if self.eat(b'-')? {
            true
        } else {
            return Ok(0);
        };
        let pos = self.token.pos;
        if self.token.kind != Kind::Number {
            return self.expected("an offset");
        }
        let Constant::Int(value) = constant(self.token)? else {
            return Err(ParseError::new(pos, "an offset must be an integer"));
        };
        self.advance()?;
        Ok(if negative { (value as i64).wrapping_neg() } else { value as i64 })
    }

    fn signed_constant(&mut self) -> Parsed<Constant> {
        let negative = self.eat(b'-')?;
        if !negative {
            self.eat(b'+')?;
        }
        if self.token.kind != Kind::Number {
            return self.expected("an operand");
        }
        let value = constant(self.token)?;
        self.advance()?;
        Ok(match value {
            _ if !negative => value,
            Constant::Int(value) => Constant::Int(-value),
            Constant::F32(bits) => Constant::F32(bits ^ 0x8000_0000),
            Constant::F64(bits) => Constant::F64(bits ^ (1 << 63)),
        })
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
