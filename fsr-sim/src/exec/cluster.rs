//! Addresses within a cluster of one block: every block's own are the only ones.

use super::{Exec, Trap, lanes, trap};
use crate::check::FaultKind;
use crate::program::Inst;

/// `mapa`: the address in row `a` as block `b` of the cluster has it; 64 bits when `aux` is 1.
pub(crate) fn map_address(x: &mut Exec<'_>, i: &Inst, m: u32) -> Result<(), Trap> {
    let ranks = x.regs.cells::<u32>(i.b);
    if let Some(lane) = lanes(m).find(|&lane| ranks[lane] != 0) {
        let what = format!("block {} of a cluster of one block", ranks[lane]);
        return Err(trap(FaultKind::Unsupported(what), lane as u32));
    }
    if i.aux & 1 != 0 {
        let values = *x.regs.cells::<u64>(i.a);
        x.regs.write(i.d, &values, m);
    } else {
        let values = *x.regs.cells::<u32>(i.a);
        x.regs.write(i.d, &values, m);
    }
    Ok(())
}
