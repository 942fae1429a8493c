//! Variables of all state spaces, with their initialisers.

use super::{Parsed, Parser};
use crate::parse::ParseError;
use crate::parse::ast::*;
use crate::parse::lex::Kind;

impl<'a> Parser<'a> {
    /// `.space .align 4 .v2 .f32 name[3] = {...}, name2;`
    pub(super) fn variables(&mut self, linkage: Linkage, out: &mut Vec<Variable<'a>>) -> Parsed<()> {
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
    pub(super) fn variable(&mut self, linkage: Linkage) -> Parsed<Variable<'a>> {
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
}
