//! Decoding of what changes no value here: fences, prefetches, cache policies, events.

use super::builder::KernelBuilder;
use super::decode::{Mods, operands};
use super::inst::Class;
use super::{Decoded, Refusal, invalid};
use crate::exec::{int, memory};
use crate::parse::{Constant, Instruction, Operand, ScalarType};

/// Takes the modifiers that are among `known`; what is left is unsupported.
fn only(i: &Instruction<'_>, known: &[&str]) -> Decoded<()> {
    let mut mods = Mods::new(i);
    while mods.one_of(known).is_some() {}
    mods.finish()
}

/// `fence.acq_rel.gpu`, `fence.mbarrier_init.release.cluster`, `fence.proxy.async.global`, `membar.gl`; those of tensor
/// maps are unsupported, as is what reads the maps.
fn is_fence(i: &Instruction<'_>) -> bool {
    const SCOPES: [&str; 4] = ["cta", "cluster", "gpu", "sys"];
    let proxy = |rest: &[&str]| {
        matches!(rest, ["alias" | "async"] | ["async", "global" | "shared::cta" | "shared::cluster"])
    };
    match (i.opcode, i.modifiers.as_slice()) {
        (_, ["proxy", rest @ ..]) => proxy(rest),
        ("membar", [scope]) => ["cta", "gl", "sys"].contains(scope),
        ("fence", ["mbarrier_init", "release", "cluster"]) => true,
        ("fence", ["sc" | "acq_rel" | "acquire" | "release", scope] | [scope]) => SCOPES.contains(scope),
        _ => false,
    }
}

impl<'m, 'a> KernelBuilder<'m, 'a> {
    /// Whatever it orders: warps and blocks run in an order in which every store is seen at once.
    pub(super) fn fence(&mut self, i: &Instruction<'a>) -> Decoded<()> {
        if !is_fence(i) {
            return Err(Refusal::Unsupported);
        }
        let [] = operands(i)?;
        self.kernel.synchronises = true;
        self.reach(memory::nothing, Class::Barrier, |_| {});
        Ok(())
    }

    /// `cp.async.bulk.prefetch`, `prefetch`, `prefetchu`, `applypriority`, `discard`, `pmevent`, `setmaxnreg`,
    /// `griddepcontrol`.
    pub(super) fn hint(&mut self, i: &Instruction<'a>) -> Decoded<()> {
        let known: &[&str] = match i.opcode {
            "cp" => &["async", "bulk", "prefetch", "L2", "global", "L2::cache_hint"],
            "prefetch" => &["global", "local", "L1", "L2", "L2::evict_last", "L2::evict_normal"],
            "prefetchu" => &["L1"],
            "applypriority" => &["global", "L2::evict_normal"],
            "discard" => &["global", "L2"],
            "pmevent" => &["mask"],
            "setmaxnreg" => &["inc", "dec", "sync", "aligned", "u32"],
            _ => &["wait", "launch_dependents"],
        };
        only(i, known)?;
        self.reach(memory::nothing, Class::Other, |_| {});
        Ok(())
    }

    /// `createpolicy`: an opaque value that is good for nothing but `.L2::cache_hint`.
    pub(super) fn policy(&mut self, i: &'m Instruction<'a>) -> Decoded<()> {
        let known = [
            "fractional",
            "range",
            "cvt",
            "L2",
            "global",
            "L2::evict_last",
            "L2::evict_normal",
            "L2::evict_first",
            "L2::evict_unchanged",
            "b64",
        ];
        only(i, &known)?;
        let [policy, ..] = i.operands.as_slice() else { return invalid("expected a destination") };
        let none = self.src(&Operand::Constant(Constant::Int(0)), ScalarType::B64)?;
        let d = self.dst(policy, ScalarType::B64)?;
        self.lane(int::MOV_64, Class::Other, |n| (n.d, n.a) = (d, none));
        Ok(())
    }
}
