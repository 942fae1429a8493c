//! Decoding of arithmetic, logic, comparison and conversion: which family an opcode is of, and the shapes that many share.

mod arith;
mod bits;
mod carry;
mod compare;
mod convert;
mod video;

use super::builder::KernelBuilder;
use super::decode::{Mods, operands};
use super::inst::Class;
use super::{Decoded, Refusal, invalid};
use crate::exec::half::{self, HalfOp};
use crate::exec::regs::LaneOp;
use crate::exec::soft::Rounding;
use crate::exec::{float, int};
use crate::parse::{Instruction, Operand, ScalarType};
use ScalarType as T;

fn rounding(mods: &mut Mods<'_>) -> Option<Rounding> {
    Some(match mods.one_of(&["rn", "rz", "rm", "rp"])? {
        "rn" => Rounding::Nearest,
        "rz" => Rounding::Zero,
        "rm" => Rounding::Down,
        _ => Rounding::Up,
    })
}

/// The class that an arithmetic instruction of a type is counted in.
fn class_of(ty: ScalarType) -> Class {
    match ty {
        T::F32 => Class::Float32,
        T::F64 => Class::Float64,
        T::F16 | T::F16x2 | T::Bf16 | T::Bf16x2 => Class::Half,
        _ => Class::Integer,
    }
}

fn half_flags(ty: ScalarType) -> Option<u32> {
    Some(match ty {
        T::F16 => 0,
        T::F16x2 => half::PACKED,
        T::Bf16 => half::BRAIN,
        T::Bf16x2 => half::BRAIN | half::PACKED,
        _ => return None,
    })
}

impl<'m, 'a> KernelBuilder<'m, 'a> {
    pub(super) fn alu(&mut self, i: &'m Instruction<'a>) -> Decoded<()> {
        match i.opcode {
            "addc" | "subc" | "madc" => self.extended(i),
            "add" | "sub" | "mad" if i.has("cc") => self.extended(i),
            "add" | "sub" => self.add(i),
            "mul" => self.mul(i),
            "mad" | "fma" => self.mad(i),
            "mul24" => self.mul24(i),
            "div" => self.div(i),
            "rem" => self.integers(
                i,
                &[
                    (T::U16, int::REM_U16),
                    (T::S16, int::REM_S16),
                    (T::U32, int::REM_U32),
                    (T::S32, int::REM_S32),
                    (T::U64, int::REM_U64),
                    (T::S64, int::REM_S64),
                ],
            ),
            "min" | "max" => self.min_max(i),
            "neg" | "abs" => self.neg_abs(i),
            "and" | "or" | "xor" | "not" => self.logic(i),
            "cnot" => {
                self.unary(i, &[(T::B16, int::CNOT_16), (T::B32, int::CNOT_32), (T::B64, int::CNOT_64)])
            }
            "shl" | "shr" => self.shift(i),
            "shf" => self.funnel(i),
            "popc" => self.bits(i, &[(T::B32, int::POPC_32), (T::B64, int::POPC_64)]),
            "clz" => self.bits(i, &[(T::B32, int::CLZ_32), (T::B64, int::CLZ_64)]),
            "brev" => self.unary(i, &[(T::B32, int::BREV_32), (T::B64, int::BREV_64)]),
            "bfind" => self.bfind(i),
            "bfe" => self.bfe(i),
            "bfi" => self.bfi(i),
            "bmsk" => self.bmsk(i),
            "szext" => self.szext(i),
            "sad" => self.ternary(
                i,
                &[
                    (T::U16, int::SAD_U16),
                    (T::S16, int::SAD_S16),
                    (T::U32, int::SAD_U32),
                    (T::S32, int::SAD_S32),
                    (T::U64, int::SAD_U64),
                    (T::S64, int::SAD_S64),
                ],
            ),
            "lop3" => self.lop3(i),
            "prmt" => self.prmt(i),
            "dp4a" | "dp2a" => self.dot(i),
            "fns" => self.fns(i),
            "vadd" | "vsub" | "vabsdiff" | "vmin" | "vmax" => self.video(i),
            "selp" => self.selp(i),
            "slct" => self.slct(i),
            "setp" => self.setp(i),
            "set" => self.set(i),
            "testp" => self.testp(i),
            "copysign" => self.unary2(i, &[(T::F32, float::COPYSIGN_F32), (T::F64, float::COPYSIGN_F64)]),
            "rcp" | "sqrt" | "rsqrt" | "ex2" | "lg2" | "sin" | "cos" | "tanh" => self.special(i),
            "cvt" => self.cvt(i),
            _ => Err(Refusal::Unsupported),
        }
    }

    fn pick(table: &[(ScalarType, LaneOp)], ty: ScalarType) -> Decoded<LaneOp> {
        table.iter().find(|(t, _)| *t == ty).map(|(_, op)| *op).ok_or(Refusal::Unsupported)
    }

    fn emit1(
        &mut self,
        op: LaneOp,
        class: Class,
        d: &Operand<'a>,
        a: &Operand<'a>,
        ty: ScalarType,
    ) -> Decoded<()> {
        let a = self.src(a, ty)?;
        let d = self.dst(d, ty)?;
        self.lane(op, class, |n| (n.d, n.a) = (d, a));
        Ok(())
    }

    fn emit2(
        &mut self,
        op: LaneOp,
        class: Class,
        all: [&Operand<'a>; 3],
        ty: ScalarType,
        aux: u32,
    ) -> Decoded<()> {
        let [d, a, b] = all;
        let (a, b) = (self.src(a, ty)?, self.src(b, ty)?);
        let d = self.dst(d, ty)?;
        self.lane(op, class, |n| (n.d, n.a, n.b, n.aux) = (d, a, b, aux));
        Ok(())
    }

    fn emit3(
        &mut self,
        op: LaneOp,
        class: Class,
        all: [&Operand<'a>; 4],
        ty: ScalarType,
        aux: u32,
    ) -> Decoded<()> {
        let [d, a, b, c] = all;
        let (a, b, c) = (self.src(a, ty)?, self.src(b, ty)?, self.src(c, ty)?);
        let d = self.dst(d, ty)?;
        self.lane(op, class, |n| (n.d, n.a, n.b, n.c, n.aux) = (d, a, b, c, aux));
        Ok(())
    }

    /// `op.type d, a` with one table entry a type and no other modifiers.
    fn unary(&mut self, i: &Instruction<'a>, table: &[(ScalarType, LaneOp)]) -> Decoded<()> {
        let mut mods = Mods::new(i);
        let ty = mods.ty()?;
        mods.finish()?;
        let [d, a] = operands(i)?;
        self.emit1(Self::pick(table, ty)?, class_of(ty), d, a, ty)
    }

    fn unary2(&mut self, i: &Instruction<'a>, table: &[(ScalarType, LaneOp)]) -> Decoded<()> {
        self.integers(i, table)
    }

    fn integers(&mut self, i: &Instruction<'a>, table: &[(ScalarType, LaneOp)]) -> Decoded<()> {
        let mut mods = Mods::new(i);
        let ty = mods.ty()?;
        mods.finish()?;
        self.emit2(Self::pick(table, ty)?, class_of(ty), operands(i)?, ty, 0)
    }

    fn ternary(&mut self, i: &Instruction<'a>, table: &[(ScalarType, LaneOp)]) -> Decoded<()> {
        let mut mods = Mods::new(i);
        let ty = mods.ty()?;
        mods.finish()?;
        self.emit3(Self::pick(table, ty)?, class_of(ty), operands(i)?, ty, 0)
    }

    /// `popc`, `clz`: a 32-bit result of any width.
    fn bits(&mut self, i: &Instruction<'a>, table: &[(ScalarType, LaneOp)]) -> Decoded<()> {
        let mut mods = Mods::new(i);
        let ty = mods.ty()?;
        mods.finish()?;
        let op = Self::pick(table, ty)?;
        let [d, a] = operands(i)?;
        let a = self.src(a, ty)?;
        let d = self.dst(d, T::B32)?;
        self.lane(op, Class::Integer, |n| (n.d, n.a) = (d, a));
        Ok(())
    }

    fn half(
        &mut self,
        mods: Mods<'a>,
        i: &Instruction<'a>,
        op: HalfOp,
        ty: ScalarType,
        flags: u32,
        class: Class,
    ) -> Decoded<()> {
        mods.finish()?;
        let Some(kind) = half_flags(ty) else { return Err(Refusal::Unsupported) };
        let mut all = i.operands.iter();
        let Some(d) = all.next() else { return invalid("too few operands") };
        let mut rows = [0; 3];
        let mut count = 0;
        for operand in all {
            if count == 3 {
                return invalid("too many operands");
            }
            rows[count] = self.src(operand, ty)?;
            count += 1;
        }
        if count == 0 {
            return invalid("too few operands");
        }
        // What an operation does not read repeats what it does.
        for k in count..3 {
            rows[k] = rows[0];
        }
        let d = self.dst(d, ty)?;
        self.lane(half::HALF, class, |n| {
            (n.d, n.a, n.b, n.c, n.aux, n.imm) = (d, rows[0], rows[1], rows[2], flags | kind, op as i64);
        });
        Ok(())
    }
}
