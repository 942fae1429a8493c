//! Decoding of `mbarrier` and of bulk copies; what reaches another block of a cluster is beyond this simulator.

use super::builder::KernelBuilder;
use super::decode::{Mods, flag, operands, without_policy};
use super::inst::{Class, NONE};
use super::{Decoded, Refusal, invalid};
use crate::exec::mbarrier::{self, Op};
use crate::exec::{bulk, int};
use crate::parse::{Constant, Instruction, Operand, ScalarType};

impl<'m, 'a> KernelBuilder<'m, 'a> {
    pub(super) fn mbarrier(&mut self, i: &'m Instruction<'a>) -> Decoded<()> {
        let mut mods = Mods::new(i);
        let names = [
            "init",
            "inval",
            "expect_tx",
            "complete_tx",
            "arrive",
            "arrive_drop",
            "test_wait",
            "try_wait",
            "pending_count",
        ];
        let what = mods.one_of(&names).ok_or(Refusal::Unsupported)?;
        let with_bytes = matches!(what, "arrive" | "arrive_drop") && mods.flag("expect_tx");
        mods.flag("noComplete");
        let parity = mods.flag("parity");
        mods.one_of(&["release", "acquire", "relaxed"]);
        mods.one_of(&["cta", "cluster"]);
        let shared = mods.one_of(&["shared", "shared::cta", "shared::cluster"]).is_some();
        if mods.ty()? != ScalarType::B64 {
            return Err(Refusal::Unsupported);
        }
        mods.finish()?;
        if what == "pending_count" {
            let [d, state] = operands(i)?;
            let a = self.src(state, ScalarType::B64)?;
            let (d, mask) = (self.dst(d, ScalarType::B32)?, self.value(0xf_ffff, false));
            self.lane(int::MOV_32, Class::Move, |n| (n.d, n.a) = (d, a));
            self.lane(int::AND_32, Class::Integer, |n| (n.d, n.a, n.b) = (d, d, mask));
            return Ok(());
        }
        let waits = matches!(what, "test_wait" | "try_wait");
        let op = match what {
            "init" => Op::Init,
            "inval" => Op::Inval,
            "expect_tx" => Op::ExpectTx,
            "complete_tx" => Op::CompleteTx,
            "arrive" if with_bytes => Op::ArriveExpectTx,
            "arrive" => Op::Arrive,
            "arrive_drop" if with_bytes => Op::DropExpectTx,
            "arrive_drop" => Op::Drop,
            _ if parity => Op::WaitParity,
            _ => Op::Wait,
        };
        let (d, rest) = match (i.operands.as_slice(), what) {
            ([Operand::Name(p), rest @ ..], _) if waits => (self.dst_pred(p)?, rest),
            ([Operand::Name("_"), rest @ ..], "arrive" | "arrive_drop") => (NONE, rest),
            ([state, rest @ ..], "arrive" | "arrive_drop") if !matches!(state, Operand::Address(_)) => {
                (self.dst(state, ScalarType::B64)?, rest)
            }
            (rest, _) => (NONE, rest),
        };
        let (address, operand) = match (rest, waits) {
            ([address], false) => (address, None),
            ([address, operand], _) | ([address, operand, _], true) => (address, Some(operand)),
            _ => return invalid("takes an address and one operand"),
        };
        let (a, narrow, imm, _) = self.address(address)?;
        let ty = if op == Op::Wait { ScalarType::B64 } else { ScalarType::B32 };
        let b = operand.map_or(Ok(NONE), |operand| self.src(operand, ty))?;
        if b == NONE && !matches!(op, Op::Inval | Op::Arrive | Op::Drop) {
            return invalid("a count is missing");
        }
        let flags = flag(narrow, mbarrier::NARROW) | flag(!shared, mbarrier::GENERIC);
        self.reach(mbarrier::mbarrier, Class::Barrier, |n| {
            (n.a, n.b, n.d, n.imm, n.aux) = (a, b, d, imm, op as u32 | flags);
        });
        Ok(())
    }

    /// `cp.async.mbarrier.arrive`: the copies before it are made already.
    pub(super) fn copies_arrive(&mut self, i: &'m Instruction<'a>) -> Decoded<()> {
        let mut mods = Mods::new(i);
        let known = mods.flag("async") && mods.flag("mbarrier") && mods.flag("arrive");
        let op = if mods.flag("noinc") { Op::CopiesNoInc } else { Op::Copies };
        let shared = mods.one_of(&["shared", "shared::cta"]).is_some();
        if !known || mods.ty()? != ScalarType::B64 {
            return Err(Refusal::Unsupported);
        }
        mods.finish()?;
        let [address] = operands(i)?;
        let (a, narrow, imm, _) = self.address(address)?;
        let flags = flag(narrow, mbarrier::NARROW) | flag(!shared, mbarrier::GENERIC);
        self.reach(mbarrier::mbarrier, Class::Barrier, |n| (n.a, n.imm, n.aux) = (a, imm, op as u32 | flags));
        Ok(())
    }

    pub(super) fn copy_bulk(&mut self, i: &'m Instruction<'a>) -> Decoded<()> {
        let mut mods = Mods::new(i);
        if !mods.flag("async") || !mods.flag("bulk") {
            return Err(Refusal::Unsupported);
        }
        if mods.flag("commit_group") {
            mods.finish()?;
            self.reach(bulk::commit, Class::Async, |_| {});
            return Ok(());
        }
        if mods.flag("wait_group") {
            mods.flag("read");
            mods.finish()?;
            let [Operand::Constant(Constant::Int(keep @ 0..=0xffff))] = i.operands.as_slice() else {
                return invalid("expected a small constant");
            };
            let keep = *keep as i64;
            self.reach(bulk::wait, Class::Async, |n| n.imm = keep);
            return Ok(());
        }
        // The first space is that of the target.
        let spaces: Vec<&str> = i
            .modifiers
            .iter()
            .copied()
            .filter(|m| ["global", "shared::cta", "shared::cluster"].contains(m))
            .collect();
        let to_global = match spaces.as_slice() {
            ["global", "shared::cta"] => true,
            ["shared::cta" | "shared::cluster", "global"] => false,
            _ => return Err(Refusal::Unsupported),
        };
        for space in &spaces {
            mods.flag(space);
        }
        let completes = if to_global { "bulk_group" } else { "mbarrier::complete_tx::bytes" };
        if !mods.flag(completes) {
            return Err(Refusal::Unsupported);
        }
        let all = without_policy(i, &mut mods);
        mods.finish()?;
        let (target, source, size, barrier) = match (all, to_global) {
            ([target, source, size], true) => (target, source, size, None),
            ([target, source, size, barrier], false) => (target, source, size, Some(barrier)),
            _ => return invalid("takes two addresses, a size, and an mbarrier towards shared memory"),
        };
        let (shared, global) = if to_global { (source, target) } else { (target, source) };
        let (a, narrow, shared_offset, _) = self.address(shared)?;
        let (b, narrow_global, global_offset, _) = self.address(global)?;
        if narrow_global {
            return invalid("a global address must have 64 bits");
        }
        let c = self.src(size, ScalarType::B32)?;
        let (d, narrow_barrier, barrier_offset, _) = match barrier {
            Some(barrier) => self.address(barrier)?,
            None => (NONE, false, 0, None),
        };
        let small = |offset: i64| i32::try_from(offset).map_err(|_| Refusal::Unsupported);
        let (shared_offset, global_offset) = (small(shared_offset)?, small(global_offset)?);
        let target = small(barrier_offset)? as u32;
        let imm = i64::from(shared_offset as u32) | i64::from(global_offset) << 32;
        let aux = flag(narrow, bulk::NARROW)
            | flag(to_global, bulk::TO_GLOBAL)
            | flag(narrow_barrier, bulk::NARROW_BARRIER);
        self.reach(bulk::copy, Class::Async, |n| {
            (n.a, n.b, n.c, n.d, n.imm, n.aux, n.target) = (a, b, c, d, imm, aux, target);
        });
        Ok(())
    }
}
