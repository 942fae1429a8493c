//! Decoding of what concerns clusters. Launches are of clusters of one block: its own shared memory is all there is.

use super::builder::KernelBuilder;
use super::decode::{Mods, operands};
use super::inst::{Action, Class, Control, Inst};
use super::{Decoded, Refusal};
use crate::exec::{cluster, int};
use crate::parse::{Instruction, ScalarType};

impl<'m, 'a> KernelBuilder<'m, 'a> {
    /// `barrier.cluster.arrive`, `barrier.cluster.wait`.
    pub(super) fn cluster_barrier(&mut self, i: &Instruction<'a>) -> Decoded<()> {
        let mut mods = Mods::new(i);
        mods.flag("cluster");
        let wait = match mods.one_of(&["arrive", "wait"]) {
            Some(step) => step == "wait",
            None => return Err(Refusal::Unsupported),
        };
        // A relaxed arrival is ordered by a fence of its own, which is not told apart.
        mods.one_of(if wait { &["acquire"] } else { &["release", "relaxed"] });
        let aligned = mods.flag("aligned");
        mods.finish()?;
        let [] = operands(i)?;
        self.emit(Inst::new(Action::Control(Control::ClusterBarrier { wait, aligned }), Class::Barrier));
        Ok(())
    }

    /// `%is_explicit_cluster`: whether the module or its launch has asked for clusters, of which only the first is known.
    pub(super) fn explicit_cluster(&mut self, d: u32) -> Decoded<()> {
        let asks = |name: &str| ["explicitcluster", "reqnctapercluster"].contains(&name);
        let asked =
            self.scope.module.functions.iter().flat_map(|f| &f.directives).any(|(name, _)| asks(name));
        self.lane(int::MOV_PRED, Class::Move, |n| (n.d, n.imm) = (d, asked.into()));
        Ok(())
    }

    /// `mapa`, `getctarank`.
    pub(super) fn cluster_address(&mut self, i: &'m Instruction<'a>) -> Decoded<()> {
        let mut mods = Mods::new(i);
        mods.flag("shared::cluster");
        let ty = mods.ty()?;
        mods.finish()?;
        if !matches!(ty, ScalarType::U32 | ScalarType::U64) {
            return Err(Refusal::Unsupported);
        }
        if i.opcode == "getctarank" {
            let [d, a] = operands(i)?;
            self.src(a, ty)?;
            let (d, none) = (self.dst(d, ScalarType::B32)?, self.value(0, false));
            self.lane(int::MOV_32, Class::Move, |n| (n.d, n.a) = (d, none));
            return Ok(());
        }
        let [d, a, rank] = operands(i)?;
        let (a, b) = (self.src(a, ty)?, self.src(rank, ScalarType::B32)?);
        let d = self.dst(d, ty)?;
        let wide = u32::from(ty.bits() == 64);
        self.reach(cluster::map_address, Class::Integer, |n| (n.d, n.a, n.b, n.aux) = (d, a, b, wide));
        Ok(())
    }
}
