//! Functions: parameters, directives, the statements of a body.

use super::{Parsed, Parser};
use crate::parse::ParseError;
use crate::parse::ast::*;
use crate::parse::lex::{Kind, Token};

impl<'a> Parser<'a> {
    pub(super) fn function(&mut self, linkage: Linkage) -> Parsed<Function<'a>> {
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
    pub(super) fn function_directives(&mut self, out: &mut Vec<(&'a str, Vec<u64>)>) -> Parsed<()> {
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

    pub(super) fn parameters(&mut self) -> Parsed<Vec<Variable<'a>>> {
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
}
