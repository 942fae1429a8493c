//! Decoding of the scalar video instructions.

use crate::exec::video::{self, Part, Second, Video, VideoOp};
use crate::parse::{Instruction, Operand, ScalarType as T};
use crate::program::builder::KernelBuilder;
use crate::program::decode::Mods;
use crate::program::inst::Class;
use crate::program::{Decoded, Refusal, invalid};

impl<'m, 'a> KernelBuilder<'m, 'a> {
    pub(super) fn video(&mut self, i: &'m Instruction<'a>) -> Decoded<()> {
        let op = match i.opcode {
            "vadd" => VideoOp::Add,
            "vsub" => VideoOp::Sub,
            "vabsdiff" => VideoOp::AbsDiff,
            "vmin" => VideoOp::Min,
            _ => VideoOp::Max,
        };
        let mut mods = Mods::new(i);
        let mut signed = || match mods.ty()? {
            T::S32 => Ok(true),
            T::U32 => Ok(false),
            _ => Err(Refusal::Unsupported),
        };
        let (d_signed, a_signed, b_signed) = (signed()?, signed()?, signed()?);
        let saturate = mods.flag("sat");
        let second = mods.one_of(&["add", "min", "max"]);
        mods.finish()?;
        let (d, a, b, c) = match i.operands.as_slice() {
            [d, a, b] => (d, a, b, None),
            [d, a, b, c] => (d, a, b, Some(c)),
            _ => return invalid("takes three or four operands"),
        };
        let (d, merged) = part(d)?;
        let second = match (second, merged, c) {
            (None, None, None) => Second::None,
            (Some("add"), None, Some(_)) => Second::Add,
            (Some("min"), None, Some(_)) => Second::Min,
            (Some("max"), None, Some(_)) => Second::Max,
            (None, Some(part), Some(_)) => Second::Merge(part),
            _ => {
                return invalid(
                    "a fourth operand goes with a second operation or with a part of the destination",
                );
            }
        };
        let ((a, a_part), (b, b_part)) = (part(a)?, part(b)?);
        let (a, b) = (self.src(&a, T::B32)?, self.src(&b, T::B32)?);
        let c = c.map_or(Ok(a), |c| self.src(c, T::B32))?;
        let d = self.dst(&d, T::B32)?;
        let (a_part, b_part) = (a_part.unwrap_or_default(), b_part.unwrap_or_default());
        let what = Video { a: a_part, b: b_part, a_signed, b_signed, d_signed, saturate, second };
        self.lane(video::VIDEO, Class::Integer, |n| {
            (n.d, n.a, n.b, n.c, n.aux, n.imm) = (d, a, b, c, what.pack(), op as i64);
        });
        Ok(())
    }
}

/// `%r1.b0`: the register, and the part.
fn part<'a>(operand: &Operand<'a>) -> Decoded<(Operand<'a>, Option<Part>)> {
    match operand {
        Operand::Component(name, component) => match Part::from_name(component) {
            Some(part) => Ok((Operand::Name(name), Some(part))),
            None => invalid(format!("`{name}.{component}` is no part of a register")),
        },
        other => Ok((other.clone(), None)),
    }
}
