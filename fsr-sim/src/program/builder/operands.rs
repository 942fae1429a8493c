//! Operands to rows: registers, constants, special registers, addresses.

use super::{KernelBuilder, Place, Reg};
use crate::exec::FUNCTION_TAG;
use crate::parse::{self, Constant, Operand, ScalarType};
use crate::program::inst::{Action, Class, Inst, Special, Uniform};
use crate::program::module::bits;
use crate::program::{Decoded, Refusal, invalid};

impl<'m, 'a> KernelBuilder<'m, 'a> {
    /// A source predicate: its index, and whether it is negated.
    pub(in crate::program) fn pred(&self, operand: &Operand<'a>) -> Decoded<(u32, bool)> {
        match operand {
            Operand::Name(name) => Ok((self.pred_name(name)?, false)),
            Operand::Not(name) => Ok((self.pred_name(name)?, true)),
            // Predicate 0 is always true.
            Operand::Constant(Constant::Int(value)) => Ok((0, *value == 0)),
            _ => invalid("expected a predicate"),
        }
    }

    /// A destination predicate; `_` is predicate 0, which nothing changes.
    pub(in crate::program) fn dst_pred(&self, name: &str) -> Decoded<u32> {
        if name == "_" { Ok(0) } else { self.pred_name(name) }
    }

    pub(in crate::program) fn uniform(&mut self, uniform: Uniform, wide: bool) -> u32 {
        if let Some(row) = self.uniforms.get(&(uniform, wide)) {
            return *row;
        }
        let row = self.allocate(wide).unwrap_or(0);
        self.kernel.uniforms.push((row, wide, uniform));
        self.uniforms.insert((uniform, wide), row);
        row
    }

    pub(in crate::program) fn value(&mut self, bits: u64, wide: bool) -> u32 {
        self.uniform(Uniform::Value(bits), wide)
    }

    /// The row of a source operand of a type.
    pub(in crate::program) fn src(&mut self, operand: &Operand<'a>, ty: ScalarType) -> Decoded<u32> {
        let bits = ty.bits();
        self.source(operand, ty, bits..=bits)
    }

    /// As `src`, where the register may be wider than the type.
    pub(in crate::program) fn src_wide(
        &mut self,
        operand: &Operand<'a>,
        ty: ScalarType,
    ) -> Decoded<(u32, u32)> {
        if let Operand::Name(name) = operand
            && let Some(Reg::Row(row, bits)) = self.reg(name)
        {
            if bits < ty.bits() {
                return invalid(format!("`{name}` has {bits} bits, fewer than its type"));
            }
            return Ok((row, bits));
        }
        let bits = ty.bits();
        let row = self.source(operand, ty, bits..=bits)?;
        Ok((row, if bits == 64 { 64 } else { 32 }))
    }

    fn source(
        &mut self,
        operand: &Operand<'a>,
        ty: ScalarType,
        accepted: std::ops::RangeInclusive<u32>,
    ) -> Decoded<u32> {
        let wide = ty.bits() == 64;
        match operand {
            Operand::Name(name) => {
                match self.reg(name) {
                    Some(Reg::Row(row, bits)) if accepted.contains(&bits) => return Ok(row),
                    Some(Reg::Row(_, bits)) => {
                        return invalid(format!("`{name}` has {bits} bits where {} are needed", ty.bits()));
                    }
                    Some(Reg::Pred(_)) => return invalid(format!("`{name}` is a predicate")),
                    Some(Reg::Wide(_)) => return Err(Refusal::Unsupported),
                    None => {}
                }
                if let Some(uniform) = special(name, None) {
                    return Ok(self.uniform(uniform, wide));
                }
                self.symbol_address(name, 0, wide)
            }
            Operand::Offset(name, offset) => self.symbol_address(name, *offset, wide),
            Operand::Component(name, axis) => match special(name, Some(axis)) {
                Some(uniform) => Ok(self.uniform(uniform, wide)),
                None => invalid(format!("unknown register `{name}.{axis}`")),
            },
            Operand::Constant(constant) => {
                let Some(raw) = bits(*constant, ty) else {
                    return invalid("a constant does not fit the instruction's type");
                };
                let raw = if wide { raw } else { raw & (u64::MAX >> (64 - ty.bits().max(1))) };
                Ok(self.value(raw, wide))
            }
            _ => invalid("expected a register or a constant"),
        }
    }

    /// A row with a variable's address in its own space.
    fn symbol_address(&mut self, name: &str, offset: i64, wide: bool) -> Decoded<u32> {
        match self.place(name)? {
            Place::Global(index) => Ok(self.uniform(Uniform::Symbol(index, offset), wide)),
            Place::Shared(at) | Place::EntryParam(at) => {
                Ok(self.value((i64::from(at) + offset) as u64, wide))
            }
            Place::DynamicShared => {
                let row = self.uniform(Uniform::Special(Special::DynamicShared), wide);
                self.add_constant(row, offset, wide)
            }
            Place::Frame(at, _) => {
                let offset = i64::from(at) + offset;
                if self.is_entry || !wide {
                    return Ok(self.value(offset as u64, wide));
                }
                let base = self.frame_row();
                self.add_constant(base, offset, true)
            }
            Place::Function(index) => {
                self.taken.insert(index);
                let handle = self.kernel.functions[index as usize].handle;
                Ok(self.value(FUNCTION_TAG + u64::from(handle), wide))
            }
        }
    }

    fn add_constant(&mut self, row: u32, offset: i64, wide: bool) -> Decoded<u32> {
        if offset == 0 {
            return Ok(row);
        }
        let out = self.scratch(wide)?;
        let b = self.value(offset as u64, wide);
        let op = if wide { crate::exec::int::ADD_64 } else { crate::exec::int::ADD_32 };
        let mut inst = Inst::new(Action::Lane(op.pick()), Class::Integer);
        (inst.d, inst.a, inst.b) = (out, row, b);
        self.emit(inst);
        Ok(out)
    }

    /// A destination register of exactly the type's width; `_` is a scratch row.
    pub(in crate::program) fn dst(&mut self, operand: &Operand<'a>, ty: ScalarType) -> Decoded<u32> {
        let (row, bits) = self.dst_any(operand, ty)?;
        if bits != ty.bits() {
            return invalid(format!("the destination has {bits} bits where {} are needed", ty.bits()));
        }
        Ok(row)
    }

    /// A destination register at least as wide as the type: row and bits.
    pub(in crate::program) fn dst_any(
        &mut self,
        operand: &Operand<'a>,
        ty: ScalarType,
    ) -> Decoded<(u32, u32)> {
        match operand {
            Operand::Name("_") => Ok((self.scratch(ty.bits() == 64)?, ty.bits())),
            Operand::Name(name) => match self.reg(name) {
                Some(Reg::Row(row, bits)) if bits >= ty.bits() || bits == 8 => Ok((row, bits)),
                Some(Reg::Row(_, bits)) => {
                    invalid(format!("`{name}` has {bits} bits, fewer than the result's {}", ty.bits()))
                }
                Some(Reg::Pred(_)) => invalid(format!("`{name}` is a predicate")),
                Some(Reg::Wide(_)) => Err(Refusal::Unsupported),
                None => invalid(format!("unknown register `{name}`")),
            },
            _ => invalid("expected a destination register"),
        }
    }

    /// `[base+offset]`: row, whether it is 32 bits wide, offset, and the place where a name was given.
    pub(in crate::program) fn address(
        &mut self,
        operand: &Operand<'a>,
    ) -> Decoded<(u32, bool, i64, Option<Place>)> {
        let Operand::Address(address) = operand else { return invalid("expected an address in brackets") };
        if !address.rest.is_empty() {
            return Err(Refusal::Unsupported);
        }
        match address.base {
            parse::Base::Absolute(value) => Ok((self.value(value as u64, true), false, address.offset, None)),
            parse::Base::Name(name) => {
                match self.reg(name) {
                    Some(Reg::Row(row, 64)) => return Ok((row, false, address.offset, None)),
                    Some(Reg::Row(row, 32)) => return Ok((row, true, address.offset, None)),
                    Some(_) => return invalid(format!("`{name}` cannot hold an address")),
                    None => {}
                }
                let place = self.place(name)?;
                let row = match place {
                    Place::Global(index) => self.uniform(Uniform::Symbol(index, 0), true),
                    Place::Shared(at) | Place::EntryParam(at) | Place::Frame(at, _) => {
                        self.value(at.into(), true)
                    }
                    Place::DynamicShared => self.uniform(Uniform::Special(Special::DynamicShared), true),
                    Place::Function(_) => return invalid(format!("`{name}` is a function, not a variable")),
                };
                Ok((row, false, address.offset, Some(place)))
            }
        }
    }
}

/// Special registers that have a row of their own.
fn special(name: &str, axis: Option<&str>) -> Option<Uniform> {
    let special = match (name, axis) {
        ("%tid", Some(a)) => Special::Tid(index(a)?),
        ("%ntid", Some(a)) => Special::Ntid(index(a)?),
        ("%ctaid" | "%clusterid", Some(a)) => Special::Ctaid(index(a)?),
        ("%nctaid" | "%nclusterid", Some(a)) => Special::Nctaid(index(a)?),
        ("%cluster_ctaid", Some(_)) => Special::Zero,
        ("%cluster_nctaid", Some(_)) => Special::One,
        ("%cluster_ctarank", None) => Special::Zero,
        ("%cluster_nctarank", None) => Special::One,
        ("%laneid", None) => Special::LaneId,
        ("%warpid", None) => Special::WarpId,
        ("%nwarpid", None) => Special::NWarpId,
        ("%smid", None) => Special::SmId,
        ("%nsmid", None) => Special::NSmId,
        ("%gridid", None) => Special::GridId,
        ("%lanemask_eq", None) => Special::LanemaskEq,
        ("%lanemask_le", None) => Special::LanemaskLe,
        ("%lanemask_lt", None) => Special::LanemaskLt,
        ("%lanemask_ge", None) => Special::LanemaskGe,
        ("%lanemask_gt", None) => Special::LanemaskGt,
        ("%dynamic_smem_size", None) => Special::DynamicSmemSize,
        ("%total_smem_size" | "%aggr_smem_size", None) => Special::TotalSmemSize,
        ("WARP_SZ", None) => return Some(Uniform::Value(32)),
        _ => return None,
    };
    Some(Uniform::Special(special))
}

fn index(axis: &str) -> Option<u8> {
    match axis {
        "x" => Some(0),
        "y" => Some(1),
        "z" => Some(2),
        // `.w` reads as zero.
        "w" => Some(3),
        _ => None,
    }
}
