//! Decoding of arithmetic, logic, comparison and conversion: which family an opcode is of, and the shapes that many share.

mod arith;
mod bits;
mod carry;
mod compare;
mod convert;
mod typed;
mod video;

use super::builder::KernelBuilder;
use super::decode::Mods;
use super::inst::{Class, NONE};
use super::{Decoded, Refusal, invalid};
use crate::exec::half::{self, HalfOp};
use crate::exec::regs::LaneOp;
use crate::exec::soft::Rounding;
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
            "mad24" => self.mad24(i),
            "div" => self.div(i),
            "min" | "max" => self.min_max(i),
            "neg" | "abs" => self.neg_abs(i),
            "and" | "or" | "xor" | "not" => self.logic(i),
            "shf" => self.funnel(i),
            "bfind" => self.bfind(i),
            "bfi" => self.bfi(i),
            "bmsk" => self.bmsk(i),
            "szext" => self.szext(i),
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
            "rcp" | "sqrt" | "rsqrt" | "ex2" | "lg2" | "sin" | "cos" | "tanh" => self.special(i),
            "cvt" => self.cvt(i),
            _ => self.typed(i),
        }
    }

    fn pick(table: &[(ScalarType, LaneOp)], ty: ScalarType) -> Decoded<LaneOp> {
        table.iter().find(|(t, _)| *t == ty).map(|(_, op)| *op).ok_or(Refusal::Unsupported)
    }

    /// An operation whose operands all have the type `ty`: destination, then one to three sources.
    fn emit_alike(
        &mut self,
        op: LaneOp,
        class: Class,
        all: &[&Operand<'a>],
        ty: ScalarType,
        aux: u32,
    ) -> Decoded<()> {
        self.emit_mixed(op, class, all, [ty; 4], aux)
    }

    /// The same with a type for each operand.
    fn emit_mixed(
        &mut self,
        op: LaneOp,
        class: Class,
        all: &[&Operand<'a>],
        types: [ScalarType; 4],
        aux: u32,
    ) -> Decoded<()> {
        let [d, sources @ ..] = all else { return invalid("too few operands") };
        let mut rows = [NONE; 3];
        for ((row, source), ty) in rows.iter_mut().zip(sources).zip(&types[1..]) {
            *row = self.src(source, *ty)?;
        }
        let d = self.dst(d, types[0])?;
        let [a, b, c] = rows;
        self.lane(op, class, |n| (n.d, n.a, n.b, n.c, n.aux) = (d, a, b, c, aux));
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
