//! Decoding of arithmetic with a carry.

use crate::exec::carry;
use crate::parse::{Instruction, ScalarType as T};
use crate::program::builder::KernelBuilder;
use crate::program::decode::{Mods, flag};
use crate::program::inst::{Class, NONE};
use crate::program::{Decoded, Refusal, invalid};

impl<'m, 'a> KernelBuilder<'m, 'a> {
    /// `add.cc`, `addc`, `sub.cc`, `subc`, `mad.cc`, `madc`.
    pub(super) fn extended(&mut self, i: &'m Instruction<'a>) -> Decoded<()> {
        let mut mods = Mods::new(i);
        let (stem, takes) = match i.opcode.strip_suffix('c') {
            Some(stem) => (stem, true),
            None => (i.opcode, false),
        };
        let sets = mods.flag("cc");
        let half = if stem == "mad" { mods.one_of(&["lo", "hi"]) } else { None };
        let ty = mods.ty()?;
        mods.finish()?;
        if !matches!(ty, T::U32 | T::S32 | T::U64 | T::S64) {
            return Err(Refusal::Unsupported);
        }
        let aux = flag(takes, carry::TAKES)
            | flag(sets, carry::SETS)
            | flag(ty.bits() == 64, carry::WIDE)
            | flag(half == Some("hi"), carry::HIGH)
            | flag(ty.is_signed(), carry::SIGNED);
        let op = match (stem, half) {
            ("add", _) => carry::ADD_CARRY,
            ("sub", _) => carry::SUB_BORROW,
            (_, Some(_)) => carry::MAD_CARRY,
            _ => return Err(Refusal::Unsupported),
        };
        let (d, rest): (_, Vec<_>) = match i.operands.as_slice() {
            [d, a, b] if stem != "mad" => (d, vec![a, b]),
            [d, a, b, c] if stem == "mad" => (d, vec![a, b, c]),
            _ => return invalid("wrong number of operands"),
        };
        let rows = rest.into_iter().map(|operand| self.src(operand, ty)).collect::<Decoded<Vec<_>>>()?;
        let d = self.dst(d, ty)?;
        let carry_row = self.carry();
        let row = |k: usize| rows.get(k).copied().unwrap_or(NONE);
        self.lane(op, Class::Integer, |n| {
            (n.d, n.a, n.b, n.c, n.aux, n.target) = (d, row(0), row(1), row(2), aux, carry_row);
        });
        Ok(())
    }
}
