//! Instructions and their operands: any name, any modifiers; what they mean is for decoding.

use super::{Parsed, Parser, constant};
use crate::parse::ParseError;
use crate::parse::ast::*;
use crate::parse::lex::Kind;

impl<'a> Parser<'a> {
    pub(super) fn instruction(&mut self) -> Parsed<Instruction<'a>> {
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
    pub(super) fn offset(&mut self) -> Parsed<i64> {
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

    pub(super) fn signed_constant(&mut self) -> Parsed<Constant> {
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
