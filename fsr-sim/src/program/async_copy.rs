//! Decoding of `cp.async` and its groups.

use super::builder::KernelBuilder;
use super::decode::{Mods, without_policy};
use super::inst::{Class, NONE};
use super::{Decoded, Refusal, invalid};
use crate::exec::memory;
use crate::parse::{Constant, Instruction, Operand, ScalarType};

impl<'m, 'a> KernelBuilder<'m, 'a> {
    pub(super) fn copy_async(&mut self, i: &'m Instruction<'a>) -> Decoded<()> {
        let mut mods = Mods::new(i);
        if i.has("prefetch") {
            return self.hint(i);
        }
        if i.has("bulk") {
            return self.copy_bulk(i);
        }
        if i.has("mbarrier") {
            return self.copies_arrive(i);
        }
        if !mods.flag("async") {
            return Err(Refusal::Unsupported);
        }
        if mods.flag("commit_group") {
            mods.finish()?;
            self.reach(memory::copy_commit, Class::Async, |_| {});
            return Ok(());
        }
        if mods.flag("wait_all") {
            mods.finish()?;
            self.reach(memory::copy_wait, Class::Async, |n| n.imm = -1);
            return Ok(());
        }
        if mods.flag("wait_group") {
            mods.finish()?;
            let [Operand::Constant(Constant::Int(keep))] = i.operands.as_slice() else {
                return invalid("expected a constant");
            };
            let keep = i64::try_from(*keep).unwrap_or(0).max(0);
            self.reach(memory::copy_wait, Class::Async, |n| n.imm = keep);
            return Ok(());
        }
        mods.one_of(&["ca", "cg"]);
        let to_shared = mods.flag("shared") || mods.flag("shared::cta");
        let from_global = mods.flag("global");
        while mods.one_of(&["L2::64B", "L2::128B", "L2::256B"]).is_some() {}
        let all = without_policy(i, &mut mods);
        mods.finish()?;
        if !to_shared || !from_global {
            return Err(Refusal::Unsupported);
        }
        let [to, from, size, rest @ ..] = all else { return invalid("too few operands") };
        let Operand::Constant(Constant::Int(size @ (4 | 8 | 16))) = size else {
            return invalid("the size must be 4, 8 or 16");
        };
        let size = *size as u32;
        let (a, narrow, to_offset, _) = self.address(to)?;
        let (b, narrow_from, from_offset, _) = self.address(from)?;
        if narrow_from {
            return invalid("a global address must have 64 bits");
        }
        let c = match rest {
            [] => NONE,
            [read @ (Operand::Name(_) | Operand::Constant(_))] => self.src(read, ScalarType::B32)?,
            _ => return Err(Refusal::Unsupported),
        };
        let (Ok(to_offset), Ok(from_offset)) = (i32::try_from(to_offset), i32::try_from(from_offset)) else {
            return Err(Refusal::Unsupported);
        };
        let imm = i64::from(to_offset as u32) | i64::from(from_offset) << 32;
        self.reach(memory::copy_async(), Class::Async, |n| {
            (n.a, n.b, n.c, n.imm, n.aux, n.bytes) =
                (a, b, c, imm, size << 8 | u32::from(narrow), size as u8);
        });
        Ok(())
    }
}
