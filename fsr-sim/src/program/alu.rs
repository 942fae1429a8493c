//! Decoding of arithmetic, logic, comparison and conversion.

use super::builder::KernelBuilder;
use super::decode::{Mods, operands};
use super::inst::{Class, NONE};
use super::{Decoded, Refusal, invalid};
use crate::exec::compare::{self, Operands, operator};
use crate::exec::convert::{self, Conversion, Number};
use crate::exec::half::{self, HalfOp};
use crate::exec::regs::LaneOp;
use crate::exec::soft::Rounding;
use crate::exec::{float, int};
use crate::parse::{Constant, Instruction, Operand, ScalarType};
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
            "addc" | "subc" => self.add(i),
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

    fn add(&mut self, i: &'m Instruction<'a>) -> Decoded<()> {
        let mut mods = Mods::new(i);
        let sub = i.opcode.starts_with("sub");
        let takes_carry = i.opcode.ends_with('c');
        let sets_carry = mods.flag("cc");
        let mode = rounding(&mut mods);
        let ftz = mods.flag("ftz");
        let sat = mods.flag("sat");
        let ty = mods.ty()?;
        if takes_carry || sets_carry {
            mods.finish()?;
            if !matches!(ty, T::U32 | T::S32 | T::U64 | T::S64) {
                return Err(Refusal::Unsupported);
            }
            let [d, a, b] = operands(i)?;
            let (a, b) = (self.src(a, ty)?, self.src(b, ty)?);
            let d = self.dst(d, ty)?;
            let carry = self.carry();
            let aux = u32::from(takes_carry) | u32::from(sets_carry) << 1 | u32::from(ty.bits() == 64) << 2;
            let op = if sub { int::SUB_BORROW } else { int::ADD_CARRY };
            self.lane(op, Class::Integer, |n| (n.d, n.a, n.b, n.aux, n.target) = (d, a, b, aux, carry));
            return Ok(());
        }
        if half_flags(ty).is_some() {
            if !matches!(mode, None | Some(Rounding::Nearest)) {
                return Err(Refusal::Unsupported);
            }
            let flags = if ftz { half::HALF_FTZ } else { 0 } | if sat { half::HALF_SAT } else { 0 };
            let op = if sub { HalfOp::Sub } else { HalfOp::Add };
            return self.half(mods, i, op, ty, flags, Class::Half);
        }
        mods.finish()?;
        let all = operands(i)?;
        let nearest = matches!(mode, None | Some(Rounding::Nearest));
        let negate = if sub { float::NEG_C } else { 0 };
        let aux = mode.map_or(0, |m| m as u32)
            | if ftz { float::FTZ } else { 0 }
            | if sat { float::SAT } else { 0 };
        let (op, aux) = match ty {
            T::F32 if nearest && !sat => (
                match (sub, ftz) {
                    (false, false) => float::ADD_F32,
                    (false, true) => float::ADD_FTZ_F32,
                    (true, false) => float::SUB_F32,
                    (true, true) => float::SUB_FTZ_F32,
                },
                0,
            ),
            T::F32 => (float::ADD_ANY_F32, aux | negate),
            T::F64 if ftz || sat => return Err(Refusal::Unsupported),
            T::F64 if nearest => (if sub { float::SUB_F64 } else { float::ADD_F64 }, 0),
            T::F64 => (float::ADD_ANY_F64, aux | negate),
            _ if mode.is_some() || ftz => return Err(Refusal::Unsupported),
            T::S32 if sat => (if sub { int::SUB_SAT_S32 } else { int::ADD_SAT_S32 }, 0),
            _ if sat => return Err(Refusal::Unsupported),
            T::U16 | T::S16 => (if sub { int::SUB_16 } else { int::ADD_16 }, 0),
            T::U32 | T::S32 => (if sub { int::SUB_32 } else { int::ADD_32 }, 0),
            T::U64 | T::S64 => (if sub { int::SUB_64 } else { int::ADD_64 }, 0),
            _ => return Err(Refusal::Unsupported),
        };
        self.emit2(op, class_of(ty), all, ty, aux)
    }

    fn mul(&mut self, i: &'m Instruction<'a>) -> Decoded<()> {
        let mut mods = Mods::new(i);
        let part = mods.one_of(&["lo", "hi", "wide"]);
        let mode = rounding(&mut mods);
        let ftz = mods.flag("ftz");
        let sat = mods.flag("sat");
        let ty = mods.ty()?;
        if half_flags(ty).is_some() {
            if !matches!(mode, None | Some(Rounding::Nearest)) {
                return Err(Refusal::Unsupported);
            }
            let flags = if ftz { half::HALF_FTZ } else { 0 } | if sat { half::HALF_SAT } else { 0 };
            return self.half(mods, i, HalfOp::Mul, ty, flags, Class::Half);
        }
        mods.finish()?;
        let all = operands(i)?;
        let nearest = matches!(mode, None | Some(Rounding::Nearest));
        let aux = mode.map_or(0, |m| m as u32)
            | if ftz { float::FTZ } else { 0 }
            | if sat { float::SAT } else { 0 };
        if ty == T::F32 {
            let op = match (nearest && !sat, ftz) {
                (true, false) => float::MUL_F32,
                (true, true) => float::MUL_FTZ_F32,
                _ => float::MUL_ANY_F32,
            };
            return self.emit2(op, Class::Float32, all, ty, aux);
        }
        if ty == T::F64 {
            if ftz || sat {
                return Err(Refusal::Unsupported);
            }
            let op = if nearest { float::MUL_F64 } else { float::MUL_ANY_F64 };
            return self.emit2(op, Class::Float64, all, ty, aux);
        }
        if aux != 0 || mode.is_some() {
            return Err(Refusal::Unsupported);
        }
        let op = match (part, ty) {
            (Some("lo"), T::U16 | T::S16) => int::MUL_LO_16,
            (Some("lo"), T::U32 | T::S32) => int::MUL_LO_32,
            (Some("lo"), T::U64 | T::S64) => int::MUL_LO_64,
            (Some("hi"), T::U16) => int::MUL_HI_U16,
            (Some("hi"), T::S16) => int::MUL_HI_S16,
            (Some("hi"), T::U32) => int::MUL_HI_U32,
            (Some("hi"), T::S32) => int::MUL_HI_S32,
            (Some("hi"), T::U64) => int::MUL_HI_U64,
            (Some("hi"), T::S64) => int::MUL_HI_S64,
            (Some("wide"), T::U16 | T::S16 | T::U32 | T::S32) => {
                let [d, a, b] = all;
                let (a, b) = (self.src(a, ty)?, self.src(b, ty)?);
                let (op, wide) = match ty {
                    T::U16 => (int::MUL_WIDE_U16, T::B32),
                    T::S16 => (int::MUL_WIDE_S16, T::B32),
                    T::U32 => (int::MUL_WIDE_U32, T::B64),
                    _ => (int::MUL_WIDE_S32, T::B64),
                };
                let d = self.dst(d, wide)?;
                self.lane(op, Class::Integer, |n| (n.d, n.a, n.b) = (d, a, b));
                return Ok(());
            }
            _ => return Err(Refusal::Unsupported),
        };
        self.emit2(op, Class::Integer, all, ty, 0)
    }

    fn mul24(&mut self, i: &'m Instruction<'a>) -> Decoded<()> {
        let mut mods = Mods::new(i);
        if !mods.flag("lo") {
            return Err(Refusal::Unsupported);
        }
        let ty = mods.ty()?;
        mods.finish()?;
        let op = Self::pick(&[(T::U32, int::MUL24_LO_U), (T::S32, int::MUL24_LO_S)], ty)?;
        self.emit2(op, Class::Integer, operands(i)?, ty, 0)
    }

    fn mad(&mut self, i: &'m Instruction<'a>) -> Decoded<()> {
        let mut mods = Mods::new(i);
        let part = mods.one_of(&["lo", "hi", "wide"]);
        let mode = rounding(&mut mods);
        let ftz = mods.flag("ftz");
        let sat = mods.flag("sat");
        let relu = mods.flag("relu");
        let ty = mods.ty()?;
        if half_flags(ty).is_some() {
            if mode != Some(Rounding::Nearest) {
                return Err(Refusal::Unsupported);
            }
            let flags = if ftz { half::HALF_FTZ } else { 0 }
                | if sat { half::HALF_SAT } else { 0 }
                | if relu { half::RELU } else { 0 };
            return self.half(mods, i, HalfOp::Fma, ty, flags, Class::Half);
        }
        mods.finish()?;
        if relu {
            return Err(Refusal::Unsupported);
        }
        let all = operands(i)?;
        let nearest = matches!(mode, None | Some(Rounding::Nearest));
        let aux = mode.map_or(0, |m| m as u32)
            | if ftz { float::FTZ } else { 0 }
            | if sat { float::SAT } else { 0 };
        match ty {
            T::F32 => {
                let op = match (mode.unwrap_or(Rounding::Nearest), ftz, sat) {
                    (Rounding::Nearest, false, false) => float::FMA_F32,
                    (Rounding::Nearest, true, false) => float::FMA_FTZ_F32,
                    (Rounding::Down, false, false) => float::FMA_RM_F32,
                    (Rounding::Zero, false, false) => float::FMA_RZ_F32,
                    _ => float::FMA_ANY_F32,
                };
                return self.emit3(op, Class::Float32, all, ty, aux);
            }
            T::F64 => {
                if ftz || sat {
                    return Err(Refusal::Unsupported);
                }
                let op = if nearest { float::FMA_F64 } else { float::FMA_ANY_F64 };
                return self.emit3(op, Class::Float64, all, ty, aux);
            }
            _ if aux != 0 || mode.is_some() => return Err(Refusal::Unsupported),
            _ => {}
        }
        let op = match (part, ty) {
            (Some("lo"), T::U16 | T::S16) => int::MAD_LO_16,
            (Some("lo"), T::U32 | T::S32) => int::MAD_LO_32,
            (Some("lo"), T::U64 | T::S64) => int::MAD_LO_64,
            (Some("hi"), T::U32) => int::MAD_HI_U32,
            (Some("hi"), T::S32) => int::MAD_HI_S32,
            (Some("hi"), T::U64) => int::MAD_HI_U64,
            (Some("hi"), T::S64) => int::MAD_HI_S64,
            (Some("wide"), T::U16 | T::S16 | T::U32 | T::S32) => {
                let [d, a, b, c] = all;
                let (op, wide) = match ty {
                    T::U16 => (int::MAD_WIDE_U16, T::B32),
                    T::S16 => (int::MAD_WIDE_S16, T::B32),
                    T::U32 => (int::MAD_WIDE_U32, T::B64),
                    _ => (int::MAD_WIDE_S32, T::B64),
                };
                let (a, b, c) = (self.src(a, ty)?, self.src(b, ty)?, self.src(c, wide)?);
                let d = self.dst(d, wide)?;
                self.lane(op, Class::Integer, |n| (n.d, n.a, n.b, n.c) = (d, a, b, c));
                return Ok(());
            }
            _ => return Err(Refusal::Unsupported),
        };
        self.emit3(op, Class::Integer, all, ty, 0)
    }

    fn div(&mut self, i: &'m Instruction<'a>) -> Decoded<()> {
        let mut mods = Mods::new(i);
        let approx = mods.flag("approx") || mods.flag("full");
        let mode = rounding(&mut mods);
        let ftz = mods.flag("ftz");
        let ty = mods.ty()?;
        mods.finish()?;
        let aux = mode.map_or(0, |m| m as u32) | if ftz { float::FTZ } else { 0 };
        let full = i.has("full");
        let op = match ty {
            T::F32 if full => {
                if ftz {
                    float::DIV_FTZ_F32
                } else {
                    float::DIV_F32
                }
            }
            T::F32 if approx => {
                if ftz {
                    float::DIV_APPROX_FTZ_F32
                } else {
                    float::DIV_APPROX_F32
                }
            }
            T::F32 => match (mode, ftz) {
                (Some(Rounding::Nearest), false) => float::DIV_F32,
                (Some(Rounding::Nearest), true) => float::DIV_FTZ_F32,
                (Some(_), _) => float::DIV_ANY_F32,
                (None, _) => return Err(Refusal::Unsupported),
            },
            T::F64 if ftz || approx => return Err(Refusal::Unsupported),
            T::F64 => match mode {
                Some(Rounding::Nearest) => float::DIV_F64,
                Some(_) => float::DIV_ANY_F64,
                None => return Err(Refusal::Unsupported),
            },
            _ if approx || ftz || mode.is_some() => return Err(Refusal::Unsupported),
            T::U16 => int::DIV_U16,
            T::S16 => int::DIV_S16,
            T::U32 => int::DIV_U32,
            T::S32 => int::DIV_S32,
            T::U64 => int::DIV_U64,
            T::S64 => int::DIV_S64,
            _ => return Err(Refusal::Unsupported),
        };
        self.emit2(op, class_of(ty), operands(i)?, ty, aux)
    }

    fn min_max(&mut self, i: &'m Instruction<'a>) -> Decoded<()> {
        let mut mods = Mods::new(i);
        let min = i.opcode == "min";
        let ftz = mods.flag("ftz");
        let nan = mods.flag("NaN");
        let relu = mods.flag("relu");
        let ty = mods.ty()?;
        if half_flags(ty).is_some() {
            let flags = if ftz { half::HALF_FTZ } else { 0 } | if nan { half::NAN_WINS } else { 0 };
            return self.half(mods, i, if min { HalfOp::Min } else { HalfOp::Max }, ty, flags, Class::Half);
        }
        mods.finish()?;
        if relu {
            return Err(Refusal::Unsupported);
        }
        let op = match (ty, min) {
            (T::F32, true) => match (nan, ftz) {
                (false, false) => float::MIN_F32,
                (false, true) => float::MIN_FTZ_F32,
                (true, false) => float::MIN_NAN_F32,
                (true, true) => float::MIN_NAN_FTZ_F32,
            },
            (T::F32, false) => match (nan, ftz) {
                (false, false) => float::MAX_F32,
                (false, true) => float::MAX_FTZ_F32,
                (true, false) => float::MAX_NAN_F32,
                (true, true) => float::MAX_NAN_FTZ_F32,
            },
            _ if nan || ftz => return Err(Refusal::Unsupported),
            (T::F64, true) => float::MIN_F64,
            (T::F64, false) => float::MAX_F64,
            (T::U16, true) => int::MIN_U16,
            (T::S16, true) => int::MIN_S16,
            (T::U32, true) => int::MIN_U32,
            (T::S32, true) => int::MIN_S32,
            (T::U64, true) => int::MIN_U64,
            (T::S64, true) => int::MIN_S64,
            (T::U16, false) => int::MAX_U16,
            (T::S16, false) => int::MAX_S16,
            (T::U32, false) => int::MAX_U32,
            (T::S32, false) => int::MAX_S32,
            (T::U64, false) => int::MAX_U64,
            (T::S64, false) => int::MAX_S64,
            _ => return Err(Refusal::Unsupported),
        };
        self.emit2(op, class_of(ty), operands(i)?, ty, 0)
    }

    fn neg_abs(&mut self, i: &'m Instruction<'a>) -> Decoded<()> {
        let mut mods = Mods::new(i);
        let neg = i.opcode == "neg";
        let ftz = mods.flag("ftz");
        let ty = mods.ty()?;
        if half_flags(ty).is_some() {
            let flags = if ftz { half::HALF_FTZ } else { 0 };
            return self.half(mods, i, if neg { HalfOp::Neg } else { HalfOp::Abs }, ty, flags, Class::Half);
        }
        mods.finish()?;
        let op = match (ty, neg, ftz) {
            (T::F32, true, false) => float::NEG_F32,
            (T::F32, true, true) => float::NEG_FTZ_F32,
            (T::F32, false, false) => float::ABS_F32,
            (T::F32, false, true) => float::ABS_FTZ_F32,
            (_, _, true) => return Err(Refusal::Unsupported),
            (T::F64, true, _) => float::NEG_F64,
            (T::F64, false, _) => float::ABS_F64,
            (T::S16, true, _) => int::NEG_16,
            (T::S32, true, _) => int::NEG_32,
            (T::S64, true, _) => int::NEG_64,
            (T::S16, false, _) => int::ABS_16,
            (T::S32, false, _) => int::ABS_32,
            (T::S64, false, _) => int::ABS_64,
            _ => return Err(Refusal::Unsupported),
        };
        let [d, a] = operands(i)?;
        self.emit1(op, class_of(ty), d, a, ty)
    }

    fn logic(&mut self, i: &'m Instruction<'a>) -> Decoded<()> {
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
            return self.emit1(op, Class::Integer, d, a, ty);
        }
        let op = match (i.opcode, wide) {
            ("and", false) => int::AND_32,
            ("and", true) => int::AND_64,
            ("or", false) => int::OR_32,
            ("or", true) => int::OR_64,
            (_, false) => int::XOR_32,
            (_, true) => int::XOR_64,
        };
        self.emit2(op, Class::Integer, operands(i)?, ty, 0)
    }

    fn shift(&mut self, i: &'m Instruction<'a>) -> Decoded<()> {
        let mut mods = Mods::new(i);
        let ty = mods.ty()?;
        mods.finish()?;
        let op = match (i.opcode, ty) {
            ("shl", T::B16) => int::SHL_16,
            ("shl", T::B32) => int::SHL_32,
            ("shl", T::B64) => int::SHL_64,
            ("shr", T::B16 | T::U16) => int::SHR_U16,
            ("shr", T::B32 | T::U32) => int::SHR_U32,
            ("shr", T::B64 | T::U64) => int::SHR_U64,
            ("shr", T::S16) => int::SHR_S16,
            ("shr", T::S32) => int::SHR_S32,
            ("shr", T::S64) => int::SHR_S64,
            _ => return Err(Refusal::Unsupported),
        };
        let [d, a, b] = operands(i)?;
        let (a, b) = (self.src(a, ty)?, self.src(b, T::B32)?);
        let d = self.dst(d, ty)?;
        self.lane(op, Class::Integer, |n| (n.d, n.a, n.b) = (d, a, b));
        Ok(())
    }

    fn funnel(&mut self, i: &'m Instruction<'a>) -> Decoded<()> {
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
        self.emit3(op, Class::Integer, operands(i)?, ty, 0)
    }

    fn bfind(&mut self, i: &'m Instruction<'a>) -> Decoded<()> {
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

    fn bfe(&mut self, i: &'m Instruction<'a>) -> Decoded<()> {
        let mut mods = Mods::new(i);
        let ty = mods.ty()?;
        mods.finish()?;
        let op = Self::pick(
            &[(T::U32, int::BFE_U32), (T::S32, int::BFE_S32), (T::U64, int::BFE_U64), (T::S64, int::BFE_S64)],
            ty,
        )?;
        let [d, a, b, c] = operands(i)?;
        let (a, b, c) = (self.src(a, ty)?, self.src(b, T::B32)?, self.src(c, T::B32)?);
        let d = self.dst(d, ty)?;
        self.lane(op, Class::Integer, |n| (n.d, n.a, n.b, n.c) = (d, a, b, c));
        Ok(())
    }

    fn bfi(&mut self, i: &'m Instruction<'a>) -> Decoded<()> {
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

    fn bmsk(&mut self, i: &'m Instruction<'a>) -> Decoded<()> {
        let mut mods = Mods::new(i);
        let clamp = mods.flag("clamp");
        let ty = mods.ty()?;
        mods.finish()?;
        if !clamp || ty != T::B32 {
            return Err(Refusal::Unsupported);
        }
        self.emit2(int::BMSK_CLAMP, Class::Integer, operands(i)?, ty, 0)
    }

    fn szext(&mut self, i: &'m Instruction<'a>) -> Decoded<()> {
        let mut mods = Mods::new(i);
        let wrap = mods.flag("wrap");
        let ty = mods.ty()?;
        mods.finish()?;
        let op = match (wrap, ty) {
            (true, T::U32) => int::SZEXT_U,
            (true, T::S32) => int::SZEXT_S,
            _ => return Err(Refusal::Unsupported),
        };
        self.emit2(op, Class::Integer, operands(i)?, ty, 0)
    }

    fn constant(&self, operand: &Operand<'a>) -> Decoded<i64> {
        match operand {
            Operand::Constant(Constant::Int(value)) => Ok(*value as i64),
            _ => Err(Refusal::Unsupported),
        }
    }

    fn lop3(&mut self, i: &'m Instruction<'a>) -> Decoded<()> {
        let mut mods = Mods::new(i);
        let ty = mods.ty()?;
        mods.finish()?;
        if ty != T::B32 {
            return Err(Refusal::Unsupported);
        }
        let [d, a, b, c, table] = operands(i)?;
        let imm = self.constant(table)?;
        let (a, b, c) = (self.src(a, ty)?, self.src(b, ty)?, self.src(c, ty)?);
        let d = self.dst(d, ty)?;
        self.lane(int::LOP3, Class::Integer, |n| (n.d, n.a, n.b, n.c, n.imm) = (d, a, b, c, imm));
        Ok(())
    }

    fn prmt(&mut self, i: &'m Instruction<'a>) -> Decoded<()> {
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

    fn dot(&mut self, i: &'m Instruction<'a>) -> Decoded<()> {
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

    fn fns(&mut self, i: &'m Instruction<'a>) -> Decoded<()> {
        let mut mods = Mods::new(i);
        let ty = mods.ty()?;
        mods.finish()?;
        self.emit3(int::FNS, Class::Integer, operands(i)?, ty, 0)
    }

    fn selp(&mut self, i: &'m Instruction<'a>) -> Decoded<()> {
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

    fn slct(&mut self, i: &'m Instruction<'a>) -> Decoded<()> {
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

    fn setp(&mut self, i: &'m Instruction<'a>) -> Decoded<()> {
        let mut mods = Mods::new(i);
        let name = mods.take(|m| operator(m).map(|_| m.to_owned())).ok_or(Refusal::Unsupported)?;
        let test = operator(&name).unwrap_or(0);
        let combine = mods.one_of(&["and", "or", "xor"]);
        let ftz = mods.flag("ftz");
        let ty = mods.ty()?;
        mods.finish()?;
        let (d, a, b, third) = match (i.operands.as_slice(), combine.is_some()) {
            ([d, a, b], false) => (d, a, b, None),
            ([d, a, b, c], true) => (d, a, b, Some(c)),
            _ => return invalid("wrong number of operands"),
        };
        let (d, q) = match d {
            Operand::Name(d) => (self.dst_pred(d)?, NONE),
            Operand::Pair(d, q) => (self.dst_pred(d)?, self.dst_pred(q)?),
            _ => return invalid("expected a destination predicate"),
        };
        let (c, negated) = match third {
            Some(third) => self.pred(third)?,
            None => (0, false),
        };
        let combine = match combine {
            None => 0,
            Some("and") => 1,
            Some("or") => 2,
            Some(_) => 3,
        };
        let (a, b) = (self.src(a, ty)?, self.src(b, ty)?);
        let mut aux = combine | u32::from(negated) << 2;
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

    fn set(&mut self, i: &'m Instruction<'a>) -> Decoded<()> {
        let mut mods = Mods::new(i);
        let test = mods.take(operator).ok_or(Refusal::Unsupported)?;
        let combine = mods.one_of(&["and", "or", "xor"]);
        let ftz = mods.flag("ftz");
        let (to, from) = (mods.ty()?, mods.ty()?);
        mods.finish()?;
        let kind = match to {
            T::U32 | T::S32 | T::U16 | T::S16 => 0,
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
        if (kind == 0) && matches!(to, T::U16 | T::S16) {
            return Err(Refusal::Unsupported);
        }
        let (d, a, b, third) = match (i.operands.as_slice(), combine.is_some()) {
            ([d, a, b], false) => (d, a, b, None),
            ([d, a, b, c], true) => (d, a, b, Some(c)),
            _ => return invalid("wrong number of operands"),
        };
        let (c, negated) = match third {
            Some(third) => self.pred(third)?,
            None => (0, false),
        };
        let combine = match combine {
            None => 0,
            Some("and") => 1,
            Some("or") => 2,
            Some(_) => 3,
        };
        let (a, b) = (self.src(a, from)?, self.src(b, from)?);
        let d = self.dst(d, to)?;
        let aux =
            combine | u32::from(negated) << 2 | (operand as u32) << 4 | u32::from(ftz) << 8 | kind << 12;
        self.lane(compare::SET_ANY, Class::Compare, |n| {
            (n.d, n.a, n.b, n.c, n.aux, n.imm) = (d, a, b, c, aux, test);
        });
        Ok(())
    }

    fn testp(&mut self, i: &'m Instruction<'a>) -> Decoded<()> {
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

    fn special(&mut self, i: &'m Instruction<'a>) -> Decoded<()> {
        let mut mods = Mods::new(i);
        let approx = mods.flag("approx");
        let mode = rounding(&mut mods);
        let ftz = mods.flag("ftz");
        let ty = mods.ty()?;
        if half_flags(ty).is_some() {
            let op = match i.opcode {
                "ex2" => HalfOp::Ex2,
                "tanh" => HalfOp::Tanh,
                _ => return Err(Refusal::Unsupported),
            };
            return self.half(mods, i, op, ty, if ftz { half::HALF_FTZ } else { 0 }, Class::Special);
        }
        mods.finish()?;
        if approx == mode.is_some() {
            return Err(Refusal::Unsupported);
        }
        let nearest = approx || mode == Some(Rounding::Nearest);
        let mut aux = mode.map_or(0, |m| m as u32) | if ftz { float::FTZ } else { 0 };
        let pair = |plain: LaneOp, flushed: LaneOp| if ftz { flushed } else { plain };
        let op = match (i.opcode, ty) {
            ("rcp", T::F32) if nearest => pair(float::RCP_F32, float::RCP_FTZ_F32),
            ("sqrt", T::F32) if nearest => pair(float::SQRT_F32, float::SQRT_FTZ_F32),
            ("sqrt", T::F32) => float::SQRT_ANY_F32,
            ("rcp", T::F32 | T::F64) if !nearest => {
                // One divided by it.
                let [d, a] = operands(i)?;
                let one = if ty == T::F32 { 0x3f80_0000 } else { 1f64.to_bits() };
                let one = self.value(one, ty == T::F64);
                let b = self.src(a, ty)?;
                let d = self.dst(d, ty)?;
                let op = if ty == T::F32 { float::DIV_ANY_F32 } else { float::DIV_ANY_F64 };
                self.lane(op, Class::Special, |n| (n.d, n.a, n.b, n.aux) = (d, one, b, aux));
                return Ok(());
            }
            ("rcp", T::F64) if approx => {
                if !ftz {
                    return Err(Refusal::Unsupported);
                }
                float::RCP_APPROX_FTZ_F64
            }
            ("rsqrt", T::F64) => pair(float::RSQRT_APPROX_F64, float::RSQRT_APPROX_FTZ_F64),
            ("rcp", T::F64) if !ftz => float::RCP_F64,
            ("sqrt", T::F64) if approx || ftz => return Err(Refusal::Unsupported),
            ("sqrt", T::F64) if nearest => float::SQRT_F64,
            ("sqrt", T::F64) => float::SQRT_ANY_F64,
            (_, T::F32) if !approx => return Err(Refusal::Unsupported),
            ("rsqrt", T::F32) => pair(float::RSQRT_F32, float::RSQRT_FTZ_F32),
            ("ex2", T::F32) => pair(float::EX2_F32, float::EX2_FTZ_F32),
            ("lg2", T::F32) => pair(float::LG2_F32, float::LG2_FTZ_F32),
            ("sin", T::F32) => pair(float::SIN_F32, float::SIN_FTZ_F32),
            ("cos", T::F32) => pair(float::COS_F32, float::COS_FTZ_F32),
            ("tanh", T::F32) if !ftz => float::TANH_F32,
            _ => return Err(Refusal::Unsupported),
        };
        if nearest {
            aux &= !7;
        }
        let [d, a] = operands(i)?;
        let a = self.src(a, ty)?;
        let d = self.dst(d, ty)?;
        self.lane(op, Class::Special, |n| (n.d, n.a, n.aux) = (d, a, aux));
        Ok(())
    }

    // ---- conversions ----

    fn cvt(&mut self, i: &'m Instruction<'a>) -> Decoded<()> {
        let mut mods = Mods::new(i);
        if mods.flag("pack") {
            return self.cvt_pack(i, mods);
        }
        let modes = ["rni", "rzi", "rmi", "rpi", "rn", "rz", "rm", "rp", "rna"];
        let mode_name = mods.one_of(&modes);
        let (mode, integral) = match mode_name {
            None => (Rounding::Nearest, false),
            Some("rni") => (Rounding::Nearest, true),
            Some("rzi") => (Rounding::Zero, true),
            Some("rmi") => (Rounding::Down, true),
            Some("rpi") => (Rounding::Up, true),
            Some("rn") => (Rounding::Nearest, false),
            Some("rz") => (Rounding::Zero, false),
            Some("rm") => (Rounding::Down, false),
            Some("rp") => (Rounding::Up, false),
            Some(_) => (Rounding::Away, false),
        };
        let ftz = mods.flag("ftz");
        let sat = mods.flag("sat");
        let satfinite = mods.flag("satfinite");
        let relu = mods.flag("relu");
        let packed = |name: &str| {
            Some(match name {
                "f16x2" => (Number::F16, 2),
                "bf16x2" => (Number::Bf16, 2),
                "e4m3x2" => (Number::E4m3, 2),
                "e5m2x2" => (Number::E5m2, 2),
                "u8" => (Number::U8, 1),
                "s8" => (Number::S8, 1),
                "u16" => (Number::U16, 1),
                "s16" => (Number::S16, 1),
                "u32" => (Number::U32, 1),
                "s32" => (Number::S32, 1),
                "u64" => (Number::U64, 1),
                "s64" => (Number::S64, 1),
                "f16" => (Number::F16, 1),
                "bf16" => (Number::Bf16, 1),
                "f32" => (Number::F32, 1),
                "f64" => (Number::F64, 1),
                "tf32" => (Number::Tf32, 1),
                _ => return None,
            })
        };
        let (to, to_count) = mods.take(packed).ok_or(Refusal::Unsupported)?;
        let (from, from_count) = mods.take(packed).ok_or(Refusal::Unsupported)?;
        mods.finish()?;
        let mut conversion = Conversion {
            from,
            to,
            mode,
            integral,
            ftz,
            sat,
            satfinite,
            relu,
            wide_source: false,
            wide_target: false,
            full_target: true,
        };
        let scalar = |n: Number| match n {
            Number::U8 | Number::S8 => T::B8,
            Number::U16 | Number::S16 | Number::F16 | Number::Bf16 => T::B16,
            Number::U64 | Number::S64 | Number::F64 => T::B64,
            _ => T::B32,
        };
        match (to_count, from_count) {
            (2, 1) if from == Number::F32 => {
                let [d, a, b] = operands(i)?;
                let (a, b) = (self.src(a, T::F32)?, self.src(b, T::F32)?);
                let small = matches!(to, Number::E4m3 | Number::E5m2);
                let d = self.dst(d, if small { T::B16 } else { T::B32 })?;
                let aux = conversion.pack();
                self.lane(convert::CVT_PACK_F, Class::Convert, |n| (n.d, n.a, n.b, n.aux) = (d, a, b, aux));
                return Ok(());
            }
            (2, 2) if to == Number::F16 && matches!(from, Number::E4m3 | Number::E5m2) => {
                let [d, a] = operands(i)?;
                let a = self.src(a, T::B16)?;
                let d = self.dst(d, T::B32)?;
                let aux = conversion.pack();
                self.lane(convert::UNPACK_F8X2, Class::Convert, |n| (n.d, n.a, n.aux) = (d, a, aux));
                return Ok(());
            }
            (1, 1) => {}
            _ => return Err(Refusal::Unsupported),
        }
        if sat && from.fits(to) {
            return invalid("illegal modifier .sat: the conversion loses nothing");
        }
        let [d, a] = operands(i)?;
        let source = source_type(from);
        let (a, source_bits) = self.src_wide(a, source)?;
        let (d, target_bits) = self.dst_any(d, scalar(to))?;
        conversion.wide_source = source_bits == 64;
        conversion.wide_target = target_bits == 64;
        conversion.full_target = target_bits == 32;
        let exact = source_bits == source.bits().max(16) && target_bits == scalar(to).bits();
        use Number::*;
        let plain = !ftz && !sat && !relu && !satfinite;
        let fast = match (to, from) {
            (U64 | S64, U32) if plain && exact => Some(convert::U64_U32),
            (U64 | S64, S32) if plain && exact => Some(convert::S64_S32),
            (U32 | S32, U64 | S64) if plain && exact => Some(convert::U32_U64),
            (U32 | S32, U16) if plain && exact => Some(convert::U32_U16),
            (U32 | S32, S16) if plain && exact => Some(convert::S32_S16),
            (U16 | S16, U32 | S32) if plain && exact => Some(convert::U16_U32),
            (U32 | S32, U32 | S32) if plain && exact => Some(int::MOV_32),
            (U64 | S64, U64 | S64) if plain && exact => Some(int::MOV_64),
            (F32, S32) if plain && exact && mode == Rounding::Nearest => Some(convert::F32_S32),
            (F32, U32) if plain && exact && mode == Rounding::Nearest => Some(convert::F32_U32),
            (F64, S32) if plain && exact => Some(convert::F64_S32),
            (F64, F32) if !sat && exact => Some(if ftz { convert::F64_F32_FTZ } else { convert::F64_F32 }),
            (F32, F64) if plain && exact && mode == Rounding::Nearest => Some(convert::F32_F64),
            (S32, F32) if plain && exact && integral && mode == Rounding::Zero => Some(convert::S32_F32_RZ),
            (F32, F32) if sat && !ftz && !integral && exact => Some(convert::F32_SAT),
            (F32, F16) if plain && exact => Some(convert::F32_F16),
            (F32, Bf16) if plain && exact => Some(convert::F32_BF16),
            _ => None,
        };
        match fast {
            Some(op) => self.lane(op, Class::Convert, |n| (n.d, n.a) = (d, a)),
            None => {
                let aux = conversion.pack();
                self.lane(convert::CVT_ANY, Class::Convert, |n| (n.d, n.a, n.aux) = (d, a, aux));
            }
        }
        Ok(())
    }

    fn cvt_pack(&mut self, i: &'m Instruction<'a>, mut mods: Mods<'a>) -> Decoded<()> {
        if !mods.flag("sat") {
            return Err(Refusal::Unsupported);
        }
        let (to, from) = (mods.ty()?, mods.ty()?);
        let third = mods.flag("b32");
        mods.finish()?;
        let width = match to {
            T::U16 | T::S16 => 16,
            T::U8 | T::S8 => 8,
            _ => return Err(Refusal::Unsupported),
        };
        if !matches!(from, T::S32 | T::U32) {
            return Err(Refusal::Unsupported);
        }
        let (d, a, b, c) = match i.operands.as_slice() {
            [d, a, b] => (d, a, b, None),
            [d, a, b, c] => (d, a, b, Some(c)),
            _ => return invalid("wrong number of operands"),
        };
        let (a, b) = (self.src(a, from)?, self.src(b, from)?);
        let c = match c {
            Some(c) => self.src(c, T::B32)?,
            None => a,
        };
        let d = self.dst(d, T::B32)?;
        let imm = width
            | i64::from(to.is_signed()) << 8
            | i64::from(from == T::U32) << 9
            | i64::from(third || i.operands.len() == 4) << 10;
        self.lane(convert::CVT_PACK_I, Class::Convert, |n| (n.d, n.a, n.b, n.c, n.imm) = (d, a, b, c, imm));
        Ok(())
    }
}

/// The type that a conversion's source constant is read as.
fn source_type(number: Number) -> ScalarType {
    match number {
        Number::U8 => T::U8,
        Number::S8 => T::S8,
        Number::U16 => T::U16,
        Number::S16 => T::S16,
        Number::U32 => T::U32,
        Number::S32 => T::S32,
        Number::U64 => T::U64,
        Number::S64 => T::S64,
        Number::F16 => T::F16,
        Number::Bf16 => T::Bf16,
        Number::F64 => T::F64,
        Number::Tf32 => T::B32,
        _ => T::F32,
    }
}
