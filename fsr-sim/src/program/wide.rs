//! Registers of 128 bits: two of 64 that follow each other.

use super::builder::{KernelBuilder, Reg};
use super::inst::Class;
use super::{Decoded, invalid};
use crate::exec::int;
use crate::parse::{Operand, ScalarType};

impl<'m, 'a> KernelBuilder<'m, 'a> {
    /// The rows of the two halves of a 128-bit register, the lower first.
    pub(super) fn halves(&self, operand: &Operand<'a>) -> Decoded<[u32; 2]> {
        match operand {
            Operand::Name(name) => match self.reg(name) {
                Some(Reg::Wide(row)) => Ok([row, row + 2]),
                _ => invalid(format!("`{name}` is no register of 128 bits")),
            },
            _ => invalid("expected a register of 128 bits"),
        }
    }

    /// `mov.b128`: from and to a register, or two of 64 bits.
    pub(super) fn mov_wide(&mut self, d: &Operand<'a>, a: &Operand<'a>) -> Decoded<()> {
        let from = match a {
            Operand::Vector(parts) => match parts.as_slice() {
                [low, high] => [self.src(low, ScalarType::B64)?, self.src(high, ScalarType::B64)?],
                _ => return invalid("a vector does not fill the register"),
            },
            register => self.halves(register)?,
        };
        let to = match d {
            Operand::Vector(parts) => match parts.as_slice() {
                [low, high] => [self.dst(low, ScalarType::B64)?, self.dst(high, ScalarType::B64)?],
                _ => return invalid("a vector does not fill the register"),
            },
            register => self.halves(register)?,
        };
        for (d, a) in to.into_iter().zip(from) {
            self.lane(int::MOV_64, Class::Move, |n| (n.d, n.a) = (d, a));
        }
        Ok(())
    }
}
