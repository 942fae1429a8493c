//! `atom` and `red`: one lane after the other, in the order of lanes; between blocks through the host's atomics.

use super::half;
use super::memory::{Run, both, resolve, sectors};
use super::race::Touch;
use super::regs::has_wide;
use super::{Exec, Trap, lanes};
use crate::check::{FaultKind, Level};
use crate::parse::Space;
use crate::program::{Inst, MemoryFn, NONE};
use std::sync::atomic::Ordering::SeqCst;

/// What an atomic does, in `imm`'s upper half.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum AtomicOp {
    Add = 0,
    MinU = 1,
    MaxU = 2,
    MinS = 3,
    MaxS = 4,
    And = 5,
    Or = 6,
    Xor = 7,
    Exch = 8,
    Cas = 9,
    Inc = 10,
    Dec = 11,
    AddF32 = 12,
    AddF64 = 13,
    AddF16 = 14,
    AddF16x2 = 15,
    AddBf16 = 16,
    AddBf16x2 = 17,
    MinF16x2 = 18,
    MaxF16x2 = 19,
    MinBf16x2 = 20,
    MaxBf16x2 = 21,
    MinF16 = 22,
    MaxF16 = 23,
    MinBf16 = 24,
    MaxBf16 = 25,
}

/// The description of an atomic, packed into `aux`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Atomic {
    pub op: AtomicOp,
    /// 2, 4 or 8.
    pub bytes: u32,
    /// The address register is 32 bits wide.
    pub narrow: bool,
    pub space: Space,
}

impl Atomic {
    pub fn pack(self) -> u32 {
        let space = match self.space {
            Space::Generic => 0,
            Space::Shared => 1,
            _ => 2,
        };
        self.op as u32 | self.bytes << 8 | u32::from(self.narrow) << 16 | space << 17
    }
}

/// The value after the operation, in the low `bytes`.
fn apply(op: u32, bytes: u32, old: u64, b: u64, c: u64) -> u64 {
    let signed = |v: u64| if bytes == 4 { i64::from(v as i32) } else { v as i64 };
    let packed =
        |half_op: i64, flags: u32| u64::from(half::apply_word(half_op, flags, old as u32, b as u32, 0));
    match op {
        0 => old.wrapping_add(b),
        1 => old.min(b),
        2 => old.max(b),
        3 => {
            if signed(b) < signed(old) {
                b
            } else {
                old
            }
        }
        4 => {
            if signed(b) > signed(old) {
                b
            } else {
                old
            }
        }
        5 => old & b,
        6 => old | b,
        7 => old ^ b,
        8 => b,
        9 => {
            if old == b {
                c
            } else {
                old
            }
        }
        10 => {
            if old >= b {
                0
            } else {
                old + 1
            }
        }
        11 => {
            if old == 0 || old > b {
                b
            } else {
                old - 1
            }
        }
        12 => {
            // Global f32 atomics flush subnormals on hardware only in some forms; none is flushed here.
            u64::from(super::float::canon(f32::from_bits(old as u32) + f32::from_bits(b as u32)).to_bits())
        }
        13 => (f64::from_bits(old) + f64::from_bits(b)).to_bits(),
        14 => packed(0, 0),
        15 => packed(0, half::PACKED),
        16 => packed(0, half::BRAIN),
        17 => packed(0, half::PACKED | half::BRAIN),
        18 => packed(4, half::PACKED),
        19 => packed(5, half::PACKED),
        20 => packed(4, half::PACKED | half::BRAIN),
        21 => packed(5, half::PACKED | half::BRAIN),
        22 => packed(4, 0),
        23 => packed(5, 0),
        24 => packed(4, half::BRAIN),
        _ => packed(5, half::BRAIN),
    }
}

/// Vectors: as many atomics as there are elements, each atomic on its own. Operands in `extras[target]`, whose `dst` is empty
/// where nobody wants the old values.
pub(crate) fn vector(x: &mut Exec<'_>, i: &Inst, m: u32) -> Result<(), Trap> {
    let extra = &x.launch.kernel.extras[i.target as usize];
    let bytes = i.aux >> 8 & 0xff;
    let total = u64::from(bytes) * extra.b.len() as u64;
    let addresses = x.addresses(i, i.aux >> 16 & 1 == 1);
    for lane in lanes(m) {
        let (space, address) = resolve(Space::Generic, addresses[lane]);
        let kind = match space {
            Space::Global if address.is_multiple_of(total) => continue,
            Space::Global => FaultKind::Misaligned,
            _ => FaultKind::OutOfBounds,
        };
        return Err(x.access_trap(kind, lane as u32, space, address, total, true));
    }
    for (k, b) in extra.b.iter().enumerate() {
        let d = extra.dst.get(k).copied().unwrap_or(NONE);
        let imm = i.imm.wrapping_add(i64::from(bytes) * k as i64);
        atomic_body(x, &Inst { d, b: *b, imm, ..*i }, m)?;
    }
    Ok(())
}

/// Lane by lane, each with its own checks; the lanes whose addresses are global.
fn atomic_each(
    x: &mut Exec<'_>,
    m: u32,
    addresses: &[u64; 32],
    (op, bytes, space): (u32, u32, Space),
    b: &[u64; 32],
    c: &[u64; 32],
    out: &mut [u64; 32],
) -> Result<u32, Trap> {
    let mut global = 0u32;
    for lane in lanes(m) {
        let (space, address) = resolve(space, addresses[lane]);
        let fault =
            |x: &Exec<'_>, kind| Err(x.access_trap(kind, lane as u32, space, address, bytes.into(), true));
        let aligned = address.is_multiple_of(bytes.into());
        match space {
            Space::Shared => {
                if !x.block.shared.fits(address, bytes) {
                    return fault(x, FaultKind::OutOfBounds);
                }
                if !aligned {
                    return fault(x, FaultKind::Misaligned);
                }
                if x.launch.level == Level::Full
                    && op != AtomicOp::Exch as u32
                    && x.block.shared.unwritten(address, bytes)
                {
                    let kind = FaultKind::Uninitialised;
                    x.raise(x.access_trap(kind, lane as u32, space, address, bytes.into(), true))?;
                }
                let old = x.block.shared.load(address, bytes);
                out[lane] = old;
                x.block.shared.store(address, bytes, apply(op, bytes, old, b[lane], c[lane]));
                x.block.shared.mark(address, bytes);
            }
            Space::Local => {
                if !x.warp.local.fits(address, bytes) {
                    return fault(x, FaultKind::OutOfBounds);
                }
                let old = x.warp.local.load(lane, address, bytes);
                out[lane] = old;
                x.warp.local.store(lane, address, bytes, apply(op, bytes, old, b[lane], c[lane]));
            }
            _ => {
                let memory = x.launch.memory;
                let Some(buffer) = memory.find(address) else { return fault(x, FaultKind::OutOfBounds) };
                let offset = address - buffer.base;
                if buffer.len < u64::from(bytes) || offset > buffer.len - u64::from(bytes) {
                    return fault(x, FaultKind::OutOfBounds);
                }
                if !aligned {
                    return fault(x, FaultKind::Misaligned);
                }
                if buffer.read_only {
                    return fault(x, FaultKind::ReadOnly);
                }
                if x.launch.level == Level::Full
                    && op != AtomicOp::Exch as u32
                    && buffer.unwritten(offset, bytes.into()).is_some()
                {
                    let kind = FaultKind::Uninitialised;
                    x.raise(x.access_trap(kind, lane as u32, space, address, bytes.into(), true))?;
                }
                let step = |old: u64| apply(op, bytes, old, b[lane], c[lane]);
                out[lane] = match bytes {
                    2 => buffer
                        .cell16(offset)
                        .fetch_update(SeqCst, SeqCst, |old| Some(step(old.into()) as u16))
                        .unwrap_or_default()
                        .into(),
                    4 => buffer
                        .cell32(offset)
                        .fetch_update(SeqCst, SeqCst, |old| Some(step(old.into()) as u32))
                        .unwrap_or_default()
                        .into(),
                    _ => buffer
                        .cell64(offset)
                        .fetch_update(SeqCst, SeqCst, |old| Some(step(old)))
                        .unwrap_or_default(),
                };
                buffer.mark(offset, bytes.into());
                global |= 1 << lane;
            }
        }
    }
    Ok(global)
}

/// Address row `a`, operand row `b`, second operand row `c` (cas), result row `d` or `NONE`.
#[inline(always)]
fn atomic_body(x: &mut Exec<'_>, i: &Inst, m: u32) -> Result<(), Trap> {
    let (op, bytes, narrow) = (i.aux & 0xff, i.aux >> 8 & 0xff, i.aux >> 16 & 1 == 1);
    let space = [Space::Generic, Space::Shared, Space::Global][(i.aux >> 17 & 3).min(2) as usize];
    let addresses = x.addresses(i, narrow);
    let wide = bytes == 8;
    let operand = |x: &Exec<'_>, row: u32| -> [u64; 32] {
        if row == NONE {
            [0; 32]
        } else if wide {
            *x.regs.cells::<u64>(row)
        } else {
            x.regs.cells::<u32>(row).map(u64::from)
        }
    };
    let (b, c) = (operand(x, i.b), operand(x, i.c));
    let mut out = [0u64; 32];
    let mut global = 0u32;
    let run = Run::wide(&addresses, 0, 0, m, bytes);
    let simple = space == Space::Shared && run.fits(x.block.shared.bytes().into(), 0);
    let simple = simple && (x.launch.level != Level::Full || x.block.shared.complete());
    if simple && bytes == 4 && op == AtomicOp::Add as u32 {
        out = x.block.shared.add(&run, x.regs.cells::<u32>(i.b)).map(u64::from);
    } else if simple {
        let shared = &mut x.block.shared;
        for lane in lanes(m) {
            let address = run.each[lane].into();
            let old = shared.load(address, bytes);
            out[lane] = old;
            shared.store(address, bytes, apply(op, bytes, old, b[lane], c[lane]));
        }
    } else {
        global = atomic_each(x, m, &addresses, (op, bytes, space), &b, &c, &mut out)?;
    }
    if x.launch.level == Level::Full && space == Space::Shared {
        x.check_shared_atomic(&run)?;
    } else if x.launch.level == Level::Full {
        for (space, mask, window) in super::memory::windows(&addresses, m) {
            let run = |base, mask| Run::wide(&addresses, 0, base, mask, bytes);
            match space {
                _ if mask == 0 => {}
                Space::Shared => {
                    x.check_shared_atomic(&run(window, mask))?;
                }
                Space::Global => {
                    let mut left = mask;
                    while left != 0 {
                        // Lanes whose addresses lie within 2^31 bytes.
                        let near = addresses[left.trailing_zeros() as usize & 31] >> 31;
                        let here = lanes(left).filter(|&l| addresses[l] >> 31 == near);
                        let here = here.fold(0, |mask, l| mask | 1 << l);
                        left &= !here;
                        let touch = Touch { run: &run(near << 31, here), write: true, strong: true };
                        x.race_global(&touch, near << 31, |_, _| false)?;
                    }
                }
                _ => {}
            }
        }
    }
    if x.block.counters.enabled {
        if global != 0 {
            x.block.counters.request(x.pc, sectors(&addresses, global, bytes));
        } else if space == Space::Shared {
            x.count_run(&run);
        } else {
            x.count_shared(&addresses.map(|a| resolve(space, a).1), m, bytes);
        }
    }
    if i.d != NONE {
        if wide {
            x.regs.write(i.d, &out, m);
        } else {
            let out = out.map(|v| v as u32);
            x.regs.write(i.d, &out, m);
        }
    }
    Ok(())
}

both! {
    atomic = atomic_body;
}
