//! The rows that hold something before a warp starts: constants, parameters, special registers. By how often they
//! change: never within a launch, from warp to warp of a block, from block to block. No instruction writes them but
//! calls, which move the frame base.

use super::regs::Regs;
use super::{BlockState, Launch};
use crate::program::{Special, Uniform};
use std::ops::Range;

/// Which rows a new warp of a block gets, and which stay from block to block.
pub(super) struct Uniforms {
    /// Rows that are neither constant nor the same for a warp in all blocks: zero at the start.
    cleared: Vec<Range<u32>>,
    /// Of those, the ones with the block's own values.
    of_block: Vec<(u32, bool, Special)>,
}

impl Uniforms {
    pub fn new(launch: &Launch<'_>) -> Uniforms {
        let kernel = launch.kernel;
        let mut kept = vec![false; kernel.rows as usize];
        let mut of_block = Vec::new();
        for (row, wide, uniform) in &kernel.uniforms {
            match *uniform {
                Uniform::Special(Special::FrameBase) => {}
                Uniform::Special(special @ (Special::Ctaid(_) | Special::SmId)) => {
                    of_block.push((*row, *wide, special));
                }
                _ => {
                    let rows = *row as usize..*row as usize + if *wide { 2 } else { 1 };
                    kept.get_mut(rows).into_iter().for_each(|rows| rows.fill(true));
                }
            }
        }
        let mut cleared = Vec::new();
        let mut at = 0;
        for run in kept.chunk_by(|a, b| a == b) {
            let end = at + run.len() as u32;
            if !run[0] {
                cleared.push(at..end);
            }
            at = end;
        }
        Uniforms { cleared, of_block }
    }

    /// The register file of warp `index` of any block.
    pub fn file(&self, launch: &Launch<'_>, index: u32) -> Regs {
        let kernel = launch.kernel;
        let mut regs = Regs::new(kernel.rows, kernel.preds);
        for (row, wide, uniform) in &kernel.uniforms {
            fill(&mut regs, *row, *wide, values(launch, *uniform, index * 32));
        }
        regs
    }

    /// Makes a file that a warp of an earlier block has used as good as new.
    pub fn renew(&self, regs: &mut Regs, block: &BlockState) {
        regs.clear(&self.cleared);
        for (row, wide, special) in &self.of_block {
            let value = match special {
                Special::Ctaid(k) => block.index.get(usize::from(*k)).copied().unwrap_or(0),
                _ => block.sm,
            };
            if *wide {
                *regs.cells_mut::<u64>(*row) = [value.into(); 32];
            } else {
                *regs.cells_mut::<u32>(*row) = [value; 32];
            }
        }
    }
}

fn fill(regs: &mut Regs, row: u32, wide: bool, values: [u64; 32]) {
    if wide {
        *regs.cells_mut::<u64>(row) = values;
    } else {
        *regs.cells_mut::<u32>(row) = values.map(|v| v as u32);
    }
}

/// What a row holds in every block, for the warp whose first thread is `first`; 0 where that is for `renew` to say.
fn values(launch: &Launch<'_>, uniform: Uniform, first: u32) -> [u64; 32] {
    let axis = |values: [u32; 3], k: u8| values.get(usize::from(k)).copied().map_or(0, u64::from);
    let each = |f: &dyn Fn(u32) -> u32| std::array::from_fn(|lane| u64::from(f(lane as u32)));
    let value = match uniform {
        Uniform::Value(bits) => bits,
        Uniform::Symbol(index, offset) => {
            launch.symbols.get(index as usize).copied().unwrap_or(0).wrapping_add(offset as u64)
        }
        Uniform::Param(offset, shape) => shape.extend(super::memory::parameter(launch, offset, shape.bytes)),
        Uniform::Special(special) => match special {
            Special::Ntid(k) => axis(launch.block, k),
            Special::Nctaid(k) => axis(launch.grid, k),
            Special::NWarpId => u64::from(launch.threads().div_ceil(32)),
            Special::NSmId => launch.sms.into(),
            Special::GridId => launch.grid_id,
            Special::DynamicSmemSize => launch.dynamic_shared.into(),
            Special::TotalSmemSize => (launch.kernel.dynamic_offset() + launch.dynamic_shared).into(),
            Special::DynamicShared => launch.kernel.dynamic_offset().into(),
            Special::Ctaid(_) | Special::SmId | Special::FrameBase | Special::Zero => 0,
            Special::One => 1,
            Special::WarpId => (first / 32).into(),
            Special::Tid(k) => {
                return each(&|lane| launch.thread(first + lane).get(usize::from(k)).copied().unwrap_or(0));
            }
            Special::LaneId => return each(&|lane| lane),
            Special::LanemaskEq => return each(&|lane| 1 << lane),
            Special::LanemaskLe => return each(&|lane| u32::MAX >> (31 - lane)),
            Special::LanemaskLt => return each(&|lane| (1u32 << lane) - 1),
            Special::LanemaskGe => return each(&|lane| u32::MAX << lane),
            Special::LanemaskGt => return each(&|lane| !(u32::MAX >> (31 - lane))),
        },
    };
    [value; 32]
}
