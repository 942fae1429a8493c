//! Comparisons and selections.

use crate::exec::compare::{self, Operands, operator};
use crate::exec::{float, int};
use crate::parse::{Instruction, Operand, ScalarType as T};
use crate::program::builder::KernelBuilder;
use crate::program::decode::{Mods, operands};
use crate::program::inst::{Class, NONE};
use crate::program::{Decoded, Refusal, invalid};

/// Operands of a comparison whose result may be combined with a predicate.
struct Combined<'m, 'a> {
    d: &'m Operand<'a>,
    a: &'m Operand<'a>,
    b: &'m Operand<'a>,
    /// The predicate's register; any where none is combined.
    c: u32,
    /// Combined by nothing, `and`, `or` or `xor`, and in bit 2 whether the predicate is negated.
    how: u32,
}

impl<'m, 'a> KernelBuilder<'m, 'a> {
    fn combined(&mut self, i: &'m Instruction<'a>, combine: Option<&str>) -> Decoded<Combined<'m, 'a>> {
        let how = match combine {
            None => 0,
            Some("and") => 1,
            Some("or") => 2,
            Some(_) => 3,
        };
        match (i.operands.as_slice(), combine) {
            ([d, a, b], None) => Ok(Combined { d, a, b, c: 0, how }),
            ([d, a, b, c], Some(_)) => {
                let (c, negated) = self.pred(c)?;
                Ok(Combined { d, a, b, c, how: how | u32::from(negated) << 2 })
            }
            _ => invalid("wrong number of operands"),
        }
    }

    pub(super) fn selp(&mut self, i: &'m Instruction<'a>) -> Decoded<()> {
        let mut mods = Mods::new(i);
        let ty = mods.ty()?;
        mods.finish()?;
        let [d, a, b, p] = operands(i)?;
        let (a, b) = (self.src(a, ty)?, self.src(b, ty)?);
        let (c, negated) = self.pred(p)?;
        let d = self.dst(d, ty)?;
        let op = if ty.bits() == 64 { int::SELP_64 } else { int::SELP_32 };
        let aux = if negated { u32::MAX } else { 0 };
        self.lane(op, Class::Compare, |n| (n.d, n.a, n.b, n.c, n.aux) = (d, a, b, c, aux));
        Ok(())
    }

    pub(super) fn slct(&mut self, i: &'m Instruction<'a>) -> Decoded<()> {
        let mut mods = Mods::new(i);
        let ftz = mods.flag("ftz");
        let (ty, by) = (mods.ty()?, mods.ty()?);
        mods.finish()?;
        if !matches!(by, T::S32 | T::F32) {
            return Err(Refusal::Unsupported);
        }
        let [d, a, b, c] = operands(i)?;
        let (a, b, c) = (self.src(a, ty)?, self.src(b, ty)?, self.src(c, by)?);
        let d = self.dst(d, ty)?;
        let aux = u32::from(ty.bits() == 64) | u32::from(by == T::F32) << 1 | u32::from(ftz) << 2;
        self.lane(compare::SLCT, Class::Compare, |n| (n.d, n.a, n.b, n.c, n.aux) = (d, a, b, c, aux));
        Ok(())
    }

    pub(super) fn setp(&mut self, i: &'m Instruction<'a>) -> Decoded<()> {
        let mut mods = Mods::new(i);
        let name = mods.take(|m| operator(m).map(|_| m.to_owned())).ok_or(Refusal::Unsupported)?;
        let test = operator(&name).unwrap_or(0);
        let combine = mods.one_of(&["and", "or", "xor"]);
        let ftz = mods.flag("ftz");
        let ty = mods.ty()?;
        mods.finish()?;
        let Combined { d, a, b, c, how } = self.combined(i, combine)?;
        let (d, q) = match d {
            Operand::Name(d) => (self.dst_pred(d)?, NONE),
            Operand::Pair(d, q) => (self.dst_pred(d)?, self.dst_pred(q)?),
            _ => return invalid("expected a destination predicate"),
        };
        let (a, b) = (self.src(a, ty)?, self.src(b, ty)?);
        let mut aux = how;
        let signed = ty.is_signed();
        use compare::*;
        let op = match (ty, name.as_str()) {
            (T::F32, _) if !ftz && test < 12 => [
                EQ_F32, NE_F32, LT_F32, LE_F32, GT_F32, GE_F32, EQU_F32, NEU_F32, LTU_F32, LEU_F32, GTU_F32,
                GEU_F32,
            ][test as usize],
            (T::F16x2 | T::Bf16x2, _) => {
                aux |= if ty == T::F16x2 { Operands::F16x2 as u32 } else { Operands::Bf16x2 as u32 } << 4;
                SETP_F16X2
            }
            (T::F32 | T::F64 | T::F16 | T::Bf16, _) => {
                let kind = match ty {
                    T::F16 => Operands::F16,
                    T::Bf16 => Operands::Bf16,
                    T::F32 => Operands::F32,
                    _ => Operands::F64,
                };
                aux |= (kind as u32) << 4 | u32::from(ftz) << 8;
                SETP_ANY
            }
            _ if test >= 6 || ftz => return Err(Refusal::Unsupported),
            _ => {
                let row = match (ty.bits(), signed) {
                    (16, false) => [EQ_16, NE_16, LT_U16, LE_U16, GT_U16, GE_U16],
                    (16, true) => [EQ_16, NE_16, LT_S16, LE_S16, GT_S16, GE_S16],
                    (32, false) => [EQ_32, NE_32, LT_U32, LE_U32, GT_U32, GE_U32],
                    (32, true) => [EQ_32, NE_32, LT_S32, LE_S32, GT_S32, GE_S32],
                    (64, false) => [EQ_64, NE_64, LT_U64, LE_U64, GT_U64, GE_U64],
                    (64, true) => [EQ_64, NE_64, LT_S64, LE_S64, GT_S64, GE_S64],
                    _ => return Err(Refusal::Unsupported),
                };
                row[test as usize]
            }
        };
        self.lane(op, Class::Compare, |n| {
            (n.d, n.a, n.b, n.c, n.aux, n.target, n.imm) = (d, a, b, c, aux, q, test);
        });
        Ok(())
    }

    pub(super) fn set(&mut self, i: &'m Instruction<'a>) -> Decoded<()> {
        let mut mods = Mods::new(i);
        let test = mods.take(operator).ok_or(Refusal::Unsupported)?;
        let combine = mods.one_of(&["and", "or", "xor"]);
        let ftz = mods.flag("ftz");
        let (to, from) = (mods.ty()?, mods.ty()?);
        mods.finish()?;
        let kind = match to {
            T::U32 | T::S32 => 0,
            T::U16 | T::S16 => 6,
            T::F32 => 1,
            T::F16 => 2,
            T::Bf16 => 3,
            T::F16x2 => 4,
            T::Bf16x2 => 5,
            _ => return Err(Refusal::Unsupported),
        };
        let operand = match from {
            T::F16 => Operands::F16,
            T::Bf16 => Operands::Bf16,
            T::F32 => Operands::F32,
            T::F64 => Operands::F64,
            T::U32 | T::B32 => Operands::Unsigned32,
            T::S32 => Operands::Signed32,
            T::U64 | T::B64 => Operands::Unsigned64,
            T::S64 => Operands::Signed64,
            T::U16 | T::B16 => Operands::Unsigned16,
            T::S16 => Operands::Signed16,
            T::F16x2 => Operands::F16x2,
            T::Bf16x2 => Operands::Bf16x2,
            _ => return Err(Refusal::Unsupported),
        };
        if matches!(to, T::U16 | T::S16) && !matches!(from, T::F16 | T::Bf16) {
            return Err(Refusal::Unsupported);
        }
        let Combined { d, a, b, c, how } = self.combined(i, combine)?;
        let (a, b) = (self.src(a, from)?, self.src(b, from)?);
        let d = self.dst(d, to)?;
        let aux = how | (operand as u32) << 4 | u32::from(ftz) << 8 | kind << 12;
        self.lane(compare::SET_ANY, Class::Compare, |n| {
            (n.d, n.a, n.b, n.c, n.aux, n.imm) = (d, a, b, c, aux, test);
        });
        Ok(())
    }

    pub(super) fn testp(&mut self, i: &'m Instruction<'a>) -> Decoded<()> {
        let mut mods = Mods::new(i);
        let kinds = ["finite", "infinite", "number", "notanumber", "normal", "subnormal"];
        let kind = mods
            .one_of(&kinds)
            .and_then(|m| kinds.iter().position(|k| *k == m))
            .ok_or(Refusal::Unsupported)?;
        let ty = mods.ty()?;
        mods.finish()?;
        let op = Self::pick(&[(T::F32, float::TESTP_F32), (T::F64, float::TESTP_F64)], ty)?;
        let [Operand::Name(d), a] = operands(i)? else { return invalid("expected a destination predicate") };
        let d = self.dst_pred(d)?;
        let a = self.src(a, ty)?;
        self.lane(op, Class::Compare, |n| (n.d, n.a, n.imm) = (d, a, kind as i64));
        Ok(())
    }
}
