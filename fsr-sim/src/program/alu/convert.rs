//! Conversions: frequent ones have an operation of their own, all others share one.

use crate::exec::convert::{self, Conversion, Number};
use crate::exec::int;
use crate::exec::soft::Rounding;
use crate::parse::{Instruction, ScalarType};
use crate::program::builder::KernelBuilder;
use crate::program::decode::{Mods, operands};
use crate::program::inst::Class;
use crate::program::{Decoded, Refusal, invalid};
use ScalarType as T;

impl<'m, 'a> KernelBuilder<'m, 'a> {
    pub(super) fn cvt(&mut self, i: &'m Instruction<'a>) -> Decoded<()> {
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
            (2, 2) if from == Number::F16 && matches!(to, Number::E4m3 | Number::E5m2) => {
                let [d, a] = operands(i)?;
                let a = self.src(a, T::F16x2)?;
                let d = self.dst(d, T::B16)?;
                let aux = conversion.pack();
                self.lane(convert::PACK_F8X2, Class::Convert, |n| (n.d, n.a, n.aux) = (d, a, aux));
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
