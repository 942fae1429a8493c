//! Logic, shifts, bit fields and bytes.

use crate::exec::int;
use crate::parse::{Constant, Instruction, Operand, ScalarType as T};
use crate::program::builder::KernelBuilder;
use crate::program::decode::{Mods, operands};
use crate::program::inst::Class;
use crate::program::{Decoded, Refusal, invalid};

impl<'m, 'a> KernelBuilder<'m, 'a> {
    pub(super) fn logic(&mut self, i: &'m Instruction<'a>) -> Decoded<()> {
        let mut mods = Mods::new(i);
        let ty = mods.ty()?;
        mods.finish()?;
        if ty == T::Pred {
            let kind = match i.opcode {
                "and" => 0,
                "or" => 1,
                "xor" => 2,
                _ => 3,
            };
            let mut all = i.operands.iter();
            let Some(Operand::Name(d)) = all.next() else {
                return invalid("expected a destination predicate");
            };
            let d = self.dst_pred(d)?;
            let Some(a) = all.next() else { return invalid("too few operands") };
            let (a, not_a) = self.pred(a)?;
            let (b, not_b) = match all.next() {
                Some(b) => self.pred(b)?,
                None if kind == 3 => (0, false),
                None => return invalid("too few operands"),
            };
            let aux = u32::from(not_a) | u32::from(not_b) << 1;
            self.lane(int::PRED_LOGIC, Class::Compare, |n| {
                (n.d, n.a, n.b, n.aux, n.imm) = (d, a, b, aux, kind)
            });
            return Ok(());
        }
        let wide = ty.bits() == 64;
        if !matches!(ty, T::B16 | T::B32 | T::B64) {
            return Err(Refusal::Unsupported);
        }
        if i.opcode == "not" {
            let [d, a] = operands(i)?;
            let op = match ty {
                T::B16 => int::NOT_16,
                T::B32 => int::NOT_32,
                _ => int::NOT_64,
            };
            return self.emit_alike(op, Class::Integer, &[d, a], ty, 0);
        }
        let op = match (i.opcode, wide) {
            ("and", false) => int::AND_32,
            ("and", true) => int::AND_64,
            ("or", false) => int::OR_32,
            ("or", true) => int::OR_64,
            (_, false) => int::XOR_32,
            (_, true) => int::XOR_64,
        };
        self.emit_alike(op, Class::Integer, &operands::<3>(i)?, ty, 0)
    }

    pub(super) fn funnel(&mut self, i: &'m Instruction<'a>) -> Decoded<()> {
        let mut mods = Mods::new(i);
        let left = mods.one_of(&["l", "r"]) == Some("l");
        let wrap = mods.one_of(&["wrap", "clamp"]) == Some("wrap");
        let ty = mods.ty()?;
        mods.finish()?;
        if ty != T::B32 {
            return Err(Refusal::Unsupported);
        }
        let op = match (left, wrap) {
            (true, true) => int::SHF_L_WRAP,
            (true, false) => int::SHF_L_CLAMP,
            (false, true) => int::SHF_R_WRAP,
            (false, false) => int::SHF_R_CLAMP,
        };
        self.emit_alike(op, Class::Integer, &operands::<4>(i)?, ty, 0)
    }

    pub(super) fn bfind(&mut self, i: &'m Instruction<'a>) -> Decoded<()> {
        let mut mods = Mods::new(i);
        let shift = mods.flag("shiftamt");
        let ty = mods.ty()?;
        mods.finish()?;
        let op = match (ty, shift) {
            (T::U32, false) => int::BFIND_U32,
            (T::S32, false) => int::BFIND_S32,
            (T::U64, false) => int::BFIND_U64,
            (T::S64, false) => int::BFIND_S64,
            (T::U32, true) => int::BFIND_SHIFT_U32,
            (T::S32, true) => int::BFIND_SHIFT_S32,
            (T::U64, true) => int::BFIND_SHIFT_U64,
            (T::S64, true) => int::BFIND_SHIFT_S64,
            _ => return Err(Refusal::Unsupported),
        };
        let [d, a] = operands(i)?;
        let a = self.src(a, ty)?;
        let d = self.dst(d, T::B32)?;
        self.lane(op, Class::Integer, |n| (n.d, n.a) = (d, a));
        Ok(())
    }

    pub(super) fn bfi(&mut self, i: &'m Instruction<'a>) -> Decoded<()> {
        let mut mods = Mods::new(i);
        let ty = mods.ty()?;
        mods.finish()?;
        let op = Self::pick(&[(T::B32, int::BFI_32), (T::B64, int::BFI_64)], ty)?;
        let [d, a, b, c, len] = operands(i)?;
        let (a, b) = (self.src(a, ty)?, self.src(b, ty)?);
        let (c, len) = (self.src(c, T::B32)?, self.src(len, T::B32)?);
        let d = self.dst(d, ty)?;
        self.lane(op, Class::Integer, |n| (n.d, n.a, n.b, n.c, n.aux) = (d, a, b, c, len));
        Ok(())
    }

    pub(super) fn bmsk(&mut self, i: &'m Instruction<'a>) -> Decoded<()> {
        let mut mods = Mods::new(i);
        let far = mods.one_of(&["clamp", "wrap"]);
        let ty = mods.ty()?;
        mods.finish()?;
        let op = match (far, ty) {
            (Some("clamp"), T::B32) => int::BMSK_CLAMP,
            (Some("wrap"), T::B32) => int::BMSK_WRAP,
            _ => return Err(Refusal::Unsupported),
        };
        self.emit_alike(op, Class::Integer, &operands::<3>(i)?, ty, 0)
    }

    pub(super) fn szext(&mut self, i: &'m Instruction<'a>) -> Decoded<()> {
        let mut mods = Mods::new(i);
        let far = mods.one_of(&["clamp", "wrap"]);
        let ty = mods.ty()?;
        mods.finish()?;
        let op = match (far, ty) {
            (Some("wrap"), T::U32) => int::SZEXT_U,
            (Some("wrap"), T::S32) => int::SZEXT_S,
            (Some("clamp"), T::U32) => int::SZEXT_CLAMP_U,
            (Some("clamp"), T::S32) => int::SZEXT_CLAMP_S,
            _ => return Err(Refusal::Unsupported),
        };
        self.emit_alike(op, Class::Integer, &operands::<3>(i)?, ty, 0)
    }

    fn constant(&self, operand: &Operand<'a>) -> Decoded<i64> {
        match operand {
            Operand::Constant(Constant::Int(value)) => Ok(*value as i64),
            _ => Err(Refusal::Unsupported),
        }
    }

    pub(super) fn lop3(&mut self, i: &'m Instruction<'a>) -> Decoded<()> {
        let mut mods = Mods::new(i);
        let joined = mods.one_of(&["and", "or"]);
        let ty = mods.ty()?;
        mods.finish()?;
        if ty != T::B32 {
            return Err(Refusal::Unsupported);
        }
        let (d, p, a, b, c, table, q) = match (i.operands.as_slice(), joined) {
            ([d, a, b, c, table], None) => (d, None, a, b, c, table, None),
            ([Operand::Pair(d, p), a, b, c, table, q], Some(_)) => {
                (&Operand::Name(d), Some(p), a, b, c, table, Some(q))
            }
            _ => {
                return invalid(
                    "takes `d, a, b, c, table`, or `d|p, a, b, c, table, q` with `.and` or `.or`",
                );
            }
        };
        let imm = self.constant(table)?;
        let (a, b, c) = (self.src(a, ty)?, self.src(b, ty)?, self.src(c, ty)?);
        let d = self.dst(d, ty)?;
        let (Some(p), Some(q)) = (p, q) else {
            self.lane(int::LOP3, Class::Integer, |n| (n.d, n.a, n.b, n.c, n.imm) = (d, a, b, c, imm));
            return Ok(());
        };
        let p = self.dst_pred(p)?;
        let (q, negated) = self.pred(q)?;
        let flags =
            if joined == Some("and") { int::LOP3_AND } else { 0 } | i64::from(negated) * int::LOP3_NOT;
        self.lane(int::LOP3_PRED, Class::Integer, |n| {
            (n.d, n.a, n.b, n.c, n.imm, n.aux, n.target) = (d, a, b, c, imm & 0xff | flags, p, q);
        });
        Ok(())
    }

    pub(super) fn prmt(&mut self, i: &'m Instruction<'a>) -> Decoded<()> {
        let mut mods = Mods::new(i);
        let modes = ["f4e", "b4e", "rc8", "ecl", "ecr", "rc16"];
        let ty = mods.ty()?;
        let mode =
            mods.one_of(&modes).and_then(|m| modes.iter().position(|n| *n == m)).map_or(0, |k| k as i64 + 1);
        mods.finish()?;
        if ty != T::B32 {
            return Err(Refusal::Unsupported);
        }
        let [d, a, b, c] = operands(i)?;
        let (a, b, c) = (self.src(a, ty)?, self.src(b, ty)?, self.src(c, ty)?);
        let d = self.dst(d, ty)?;
        self.lane(int::PRMT, Class::Integer, |n| (n.d, n.a, n.b, n.c, n.imm) = (d, a, b, c, mode));
        Ok(())
    }

    pub(super) fn dot(&mut self, i: &'m Instruction<'a>) -> Decoded<()> {
        let mut mods = Mods::new(i);
        let two = i.opcode == "dp2a";
        let high = two && mods.one_of(&["lo", "hi"]) == Some("hi");
        let (ta, tb) = (mods.ty()?, mods.ty()?);
        mods.finish()?;
        let imm = i64::from(ta == T::S32) | i64::from(tb == T::S32) << 1 | i64::from(high) << 2;
        let [d, a, b, c] = operands(i)?;
        let (a, b, c) = (self.src(a, T::B32)?, self.src(b, T::B32)?, self.src(c, T::B32)?);
        let d = self.dst(d, T::B32)?;
        let op = if two { int::DP2A } else { int::DP4A };
        self.lane(op, Class::Integer, |n| (n.d, n.a, n.b, n.c, n.imm) = (d, a, b, c, imm));
        Ok(())
    }

    pub(super) fn fns(&mut self, i: &'m Instruction<'a>) -> Decoded<()> {
        let mut mods = Mods::new(i);
        let ty = mods.ty()?;
        mods.finish()?;
        self.emit_alike(int::FNS, Class::Integer, &operands::<4>(i)?, ty, 0)
    }
}
