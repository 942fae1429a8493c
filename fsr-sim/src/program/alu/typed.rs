//! Instructions that their type alone decides: `name.type d, a, ...` without other modifiers.

use super::class_of;
use crate::exec::regs::LaneOp;
use crate::exec::{float, int};
use crate::parse::{Instruction, Operand, ScalarType as T};
use crate::program::builder::KernelBuilder;
use crate::program::decode::Mods;
use crate::program::{Decoded, Refusal, invalid};

/// Operands besides the destination, and which of them have the instruction's type.
#[derive(Clone, Copy)]
enum Form {
    /// All have it.
    One,
    Two,
    Three,
    /// One; the result has 32 bits.
    Count,
    /// Two; how far has 32 bits.
    Shift,
    /// Three; position and length have 32 bits.
    Field,
}
use Form::{Count, Field, One, Shift, Three, Two};

fn operation(opcode: &str, ty: T) -> Option<(LaneOp, Form)> {
    Some(match (opcode, ty) {
        ("rem", T::U16) => (int::REM_U16, Two),
        ("rem", T::S16) => (int::REM_S16, Two),
        ("rem", T::U32) => (int::REM_U32, Two),
        ("rem", T::S32) => (int::REM_S32, Two),
        ("rem", T::U64) => (int::REM_U64, Two),
        ("rem", T::S64) => (int::REM_S64, Two),
        ("sad", T::U16) => (int::SAD_U16, Three),
        ("sad", T::S16) => (int::SAD_S16, Three),
        ("sad", T::U32) => (int::SAD_U32, Three),
        ("sad", T::S32) => (int::SAD_S32, Three),
        ("sad", T::U64) => (int::SAD_U64, Three),
        ("sad", T::S64) => (int::SAD_S64, Three),
        ("cnot", T::B16) => (int::CNOT_16, One),
        ("cnot", T::B32) => (int::CNOT_32, One),
        ("cnot", T::B64) => (int::CNOT_64, One),
        ("brev", T::B32) => (int::BREV_32, One),
        ("brev", T::B64) => (int::BREV_64, One),
        ("popc", T::B32) => (int::POPC_32, Count),
        ("popc", T::B64) => (int::POPC_64, Count),
        ("clz", T::B32) => (int::CLZ_32, Count),
        ("clz", T::B64) => (int::CLZ_64, Count),
        ("shl", T::B16) => (int::SHL_16, Shift),
        ("shl", T::B32) => (int::SHL_32, Shift),
        ("shl", T::B64) => (int::SHL_64, Shift),
        ("shr", T::B16 | T::U16) => (int::SHR_U16, Shift),
        ("shr", T::B32 | T::U32) => (int::SHR_U32, Shift),
        ("shr", T::B64 | T::U64) => (int::SHR_U64, Shift),
        ("shr", T::S16) => (int::SHR_S16, Shift),
        ("shr", T::S32) => (int::SHR_S32, Shift),
        ("shr", T::S64) => (int::SHR_S64, Shift),
        ("bfe", T::U32) => (int::BFE_U32, Field),
        ("bfe", T::S32) => (int::BFE_S32, Field),
        ("bfe", T::U64) => (int::BFE_U64, Field),
        ("bfe", T::S64) => (int::BFE_S64, Field),
        ("copysign", T::F32) => (float::COPYSIGN_F32, Two),
        ("copysign", T::F64) => (float::COPYSIGN_F64, Two),
        _ => return None,
    })
}

impl<'m, 'a> KernelBuilder<'m, 'a> {
    pub(super) fn typed(&mut self, i: &'m Instruction<'a>) -> Decoded<()> {
        let mut mods = Mods::new(i);
        let ty = mods.ty()?;
        mods.finish()?;
        let (op, form) = operation(i.opcode, ty).ok_or(Refusal::Unsupported)?;
        let (count, types) = match form {
            One => (2, [ty; 4]),
            Two => (3, [ty; 4]),
            Three => (4, [ty; 4]),
            Count => (2, [T::B32, ty, ty, ty]),
            Shift => (3, [ty, ty, T::B32, ty]),
            Field => (4, [ty, ty, T::B32, T::B32]),
        };
        if i.operands.len() != count {
            return invalid(format!("takes {count} operands, found {}", i.operands.len()));
        }
        let all: Vec<&Operand<'a>> = i.operands.iter().collect();
        self.emit_mixed(op, class_of(ty), &all, types, 0)
    }
}
