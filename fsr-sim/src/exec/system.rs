//! Clocks: modelled from the instructions that a block has executed, so that runs repeat exactly.

use super::{Exec, Trap};
use crate::program::Inst;

/// `%clock`, `%clock64`, `%globaltimer` (`imm` 0, 1, 2): a warp instruction counts as four cycles, a cycle as 1 ns.
pub(crate) fn clock(x: &mut Exec<'_>, i: &Inst, m: u32) -> Result<(), Trap> {
    let cycles = x.block.clock.wrapping_mul(4);
    x.block.clock = x.block.clock.wrapping_add(1);
    if i.imm == 0 {
        x.regs.write(i.d, &[cycles as u32; 32], m);
    } else {
        x.regs.write(i.d, &[cycles; 32], m);
    }
    Ok(())
}
