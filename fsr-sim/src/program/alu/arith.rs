//! Arithmetic: one operation a type, rounding mode and flag.

use super::{class_of, half_flags, rounding};
use crate::exec::half::{self, HalfOp};
use crate::exec::regs::LaneOp;
use crate::exec::soft::Rounding;
use crate::exec::{float, int};
use crate::parse::{Instruction, ScalarType as T};
use crate::program::builder::KernelBuilder;
use crate::program::decode::{Mods, flag, operands};
use crate::program::inst::Class;
use crate::program::{Decoded, Refusal};

impl<'m, 'a> KernelBuilder<'m, 'a> {
    pub(super) fn add(&mut self, i: &'m Instruction<'a>) -> Decoded<()> {
        let mut mods = Mods::new(i);
        let sub = i.opcode.starts_with("sub");
        let mode = rounding(&mut mods);
        let ftz = mods.flag("ftz");
        let sat = mods.flag("sat");
        let ty = mods.ty()?;
        if half_flags(ty).is_some() {
            if !matches!(mode, None | Some(Rounding::Nearest)) {
                return Err(Refusal::Unsupported);
            }
            let flags = if ftz { half::HALF_FTZ } else { 0 } | if sat { half::HALF_SAT } else { 0 };
            let op = if sub { HalfOp::Sub } else { HalfOp::Add };
            return self.half(mods, i, op, ty, flags, Class::Half);
        }
        mods.finish()?;
        let all = operands::<3>(i)?;
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
            T::U16x2 | T::S16x2 if !sub => (int::ADD_16X2, 0),
            T::U16 | T::S16 => (if sub { int::SUB_16 } else { int::ADD_16 }, 0),
            T::U32 | T::S32 => (if sub { int::SUB_32 } else { int::ADD_32 }, 0),
            T::U64 | T::S64 => (if sub { int::SUB_64 } else { int::ADD_64 }, 0),
            _ => return Err(Refusal::Unsupported),
        };
        self.emit_alike(op, class_of(ty), &all, ty, aux)
    }

    pub(super) fn mul(&mut self, i: &'m Instruction<'a>) -> Decoded<()> {
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
            return self.emit_alike(op, Class::Float32, &all, ty, aux);
        }
        if ty == T::F64 {
            if ftz || sat {
                return Err(Refusal::Unsupported);
            }
            let op = if nearest { float::MUL_F64 } else { float::MUL_ANY_F64 };
            return self.emit_alike(op, Class::Float64, &all, ty, aux);
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
        self.emit_alike(op, Class::Integer, &all, ty, 0)
    }

    pub(super) fn mul24(&mut self, i: &'m Instruction<'a>) -> Decoded<()> {
        let mut mods = Mods::new(i);
        let part = mods.one_of(&["lo", "hi"]);
        let ty = mods.ty()?;
        mods.finish()?;
        let op = match (part, ty) {
            (Some("lo"), T::U32) => int::MUL24_LO_U,
            (Some("lo"), T::S32) => int::MUL24_LO_S,
            (Some("hi"), T::U32) => int::MUL24_HI_U,
            (Some("hi"), T::S32) => int::MUL24_HI_S,
            _ => return Err(Refusal::Unsupported),
        };
        self.emit_alike(op, Class::Integer, &operands::<3>(i)?, ty, 0)
    }

    pub(super) fn mad24(&mut self, i: &'m Instruction<'a>) -> Decoded<()> {
        let mut mods = Mods::new(i);
        let part = mods.one_of(&["lo", "hi"]);
        let sat = mods.flag("sat");
        let ty = mods.ty()?;
        mods.finish()?;
        let op = match (part, sat, ty) {
            (Some("lo"), false, T::U32) => int::MAD24_LO_U,
            (Some("lo"), false, T::S32) => int::MAD24_LO_S,
            (Some("hi"), false, T::U32) => int::MAD24_HI_U,
            (Some("hi"), false, T::S32) => int::MAD24_HI_S,
            (Some("hi"), true, T::S32) => int::MAD24_HI_SAT_S,
            _ => return Err(Refusal::Unsupported),
        };
        self.emit_alike(op, Class::Integer, &operands::<4>(i)?, ty, 0)
    }

    pub(super) fn mad(&mut self, i: &'m Instruction<'a>) -> Decoded<()> {
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
                return self.emit_alike(op, Class::Float32, &all, ty, aux);
            }
            T::F64 => {
                if ftz || sat {
                    return Err(Refusal::Unsupported);
                }
                let op = if nearest { float::FMA_F64 } else { float::FMA_ANY_F64 };
                return self.emit_alike(op, Class::Float64, &all, ty, aux);
            }
            T::S32 if sat && part == Some("hi") && !ftz && mode.is_none() => {
                return self.emit_alike(int::MAD_HI_SAT_S32, Class::Integer, &all, ty, 0);
            }
            _ if aux != 0 || mode.is_some() => return Err(Refusal::Unsupported),
            _ => {}
        }
        let op = match (part, ty) {
            (Some("hi"), T::U16) => int::MAD_HI_U16,
            (Some("hi"), T::S16) => int::MAD_HI_S16,
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
        self.emit_alike(op, Class::Integer, &all, ty, 0)
    }

    pub(super) fn div(&mut self, i: &'m Instruction<'a>) -> Decoded<()> {
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
        self.emit_alike(op, class_of(ty), &operands::<3>(i)?, ty, aux)
    }

    pub(super) fn min_max(&mut self, i: &'m Instruction<'a>) -> Decoded<()> {
        let mut mods = Mods::new(i);
        let min = i.opcode == "min";
        let ftz = mods.flag("ftz");
        let nan = mods.flag("NaN");
        let xorsign = mods.flag("xorsign");
        if xorsign && !mods.flag("abs") {
            return Err(Refusal::Unsupported);
        }
        let relu = mods.flag("relu");
        let ty = mods.ty()?;
        if half_flags(ty).is_some() && !relu {
            let flags = flag(ftz, half::HALF_FTZ) | flag(nan, half::NAN_WINS) | flag(xorsign, half::XORSIGN);
            return self.half(mods, i, if min { HalfOp::Min } else { HalfOp::Max }, ty, flags, Class::Half);
        }
        mods.finish()?;
        if xorsign {
            if ty != T::F32 || relu {
                return Err(Refusal::Unsupported);
            }
            let aux = flag(ftz, float::FTZ) | flag(nan, float::NAN_WINS) | flag(min, float::LESS);
            return self.emit_alike(float::MIN_MAX_XORSIGN_F32, class_of(ty), &operands::<3>(i)?, ty, aux);
        }
        let op = match (ty, min) {
            _ if relu && (nan || ftz) => return Err(Refusal::Unsupported),
            (T::S32, true) if relu => int::MIN_RELU_S32,
            (T::S32, false) if relu => int::MAX_RELU_S32,
            (T::S16x2, true) if relu => int::MIN_RELU_S16X2,
            (T::S16x2, false) if relu => int::MAX_RELU_S16X2,
            _ if relu => return Err(Refusal::Unsupported),
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
            (T::U16x2, true) => int::MIN_U16X2,
            (T::S16x2, true) => int::MIN_S16X2,
            (T::U16x2, false) => int::MAX_U16X2,
            (T::S16x2, false) => int::MAX_S16X2,
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
        self.emit_alike(op, class_of(ty), &operands::<3>(i)?, ty, 0)
    }

    pub(super) fn neg_abs(&mut self, i: &'m Instruction<'a>) -> Decoded<()> {
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
        self.emit_alike(op, class_of(ty), &[d, a], ty, 0)
    }

    pub(super) fn special(&mut self, i: &'m Instruction<'a>) -> Decoded<()> {
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
}
