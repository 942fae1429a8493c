//! Loads, stores and asynchronous copies: addresses to places, checks, counts.

use super::race::Touch;
use super::regs::has_wide;
use super::{Exec, LOCAL_WINDOW, PARAM_WINDOW, SHARED_WINDOW, Trap, lanes, regs::FULL, trap};
use crate::check::{FaultKind, Level};
use crate::memory::Buffer;
use crate::parse::Space;
use crate::program::{Inst, MemoryFn};
use std::sync::atomic::Ordering::Relaxed;

/// The shape of a load or store, packed into `aux`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Shape {
    /// Bytes of one element: 1, 2, 4 or 8.
    pub bytes: u32,
    /// Elements: 1, 2, 4 or 8. More than one: registers are in `extras[target].dst`.
    pub count: u32,
    /// Elements are sign-extended to the register.
    pub signed: bool,
    /// Registers are 64 bits wide.
    pub wide: bool,
    /// Registers are 16 bits wide.
    pub short: bool,
    /// The address register is 32 bits wide.
    pub narrow: bool,
    /// `.volatile`, `.relaxed`, `.acquire`, ...: not judged by the race check.
    pub strong: bool,
    /// Calls may move the place: add the frame base (row `b`).
    pub framed: bool,
}

impl Shape {
    pub fn pack(self) -> u32 {
        let flags = [self.signed, self.wide, self.short, self.narrow, self.strong, self.framed];
        let bits = flags.iter().enumerate().fold(0, |bits, (k, flag)| bits | u32::from(*flag) << k);
        bits | self.bytes << 8 | self.count << 16
    }

    #[inline(always)]
    pub fn unpack(bits: u32) -> Shape {
        Shape {
            bytes: bits >> 8 & 0xff,
            count: bits >> 16 & 0xff,
            signed: bits & 1 != 0,
            wide: bits & 2 != 0,
            short: bits & 4 != 0,
            narrow: bits & 8 != 0,
            strong: bits & 16 != 0,
            framed: bits & 32 != 0,
        }
    }

    #[inline(always)]
    pub fn total(self) -> u32 {
        self.bytes * self.count
    }

    /// The bits of one element.
    #[inline(always)]
    fn mask(self) -> u64 {
        u64::MAX >> (64 - 8 * self.bytes)
    }

    #[inline(always)]
    fn extend(self, value: u64) -> u64 {
        if !self.signed {
            return value;
        }
        let shift = 64 - 8 * self.bytes;
        let value = ((value << shift) as i64 >> shift) as u64;
        if self.short { value & 0xffff } else { value }
    }
}

/// Where all active lanes' global addresses lie.
enum Span<'m> {
    One(&'m Buffer),
    Many(Box<[Option<&'m Buffer>; 32]>),
}

impl<'m> Span<'m> {
    #[inline(always)]
    fn at(&self, lane: usize, address: u64) -> Option<(&'m Buffer, u64)> {
        match self {
            Span::One(buffer) => Some((buffer, address - buffer.base)),
            Span::Many(buffers) => buffers[lane].map(|b| (b, address - b.base)),
        }
    }
}

/// Sectors of 32 bytes that the active lanes touch.
pub(super) fn sectors(addresses: &[u64; 32], mask: u32, size: u32) -> u32 {
    let first = addresses[mask.trailing_zeros() as usize & 31];
    if mask == FULL {
        let step = u64::from(size);
        let mut run = true;
        for (lane, address) in addresses.iter().enumerate() {
            run &= *address == first.wrapping_add(lane as u64 * step);
        }
        if run {
            return ((addresses[31].wrapping_add(step - 1) >> 5) - (first >> 5) + 1) as u32;
        }
    }
    let mut all = [0u64; 32];
    let mut count = 0;
    let mut sorted = true;
    for lane in lanes(mask) {
        let sector = addresses[lane] >> 5;
        if count > 0 {
            if all[count - 1] == sector {
                continue;
            }
            sorted &= all[count - 1] < sector;
        }
        all[count] = sector;
        count += 1;
    }
    if sorted {
        return count as u32;
    }
    let all = &mut all[..count];
    all.sort_unstable();
    1 + all.windows(2).filter(|pair| pair[0] != pair[1]).count() as u32
}

impl<'a> Exec<'a> {
    /// The buffer or buffers of the active lanes' addresses; faults where there is none.
    #[inline(always)]
    fn span(&mut self, addresses: &[u64; 32], mask: u32, size: u32, write: bool) -> Result<Span<'a>, Trap> {
        let first = addresses[mask.trailing_zeros() as usize & 31];
        let memory = self.launch.memory;
        if let Some(buffer) = memory.find(first)
            && let Some(limit) = buffer.len.checked_sub(size.into())
        {
            let align = u64::from(size) - 1;
            let mut bad = 0u32;
            for (lane, address) in addresses.iter().enumerate() {
                let offset = address.wrapping_sub(buffer.base);
                bad |= u32::from((offset > limit) | (address & align != 0)) << lane;
            }
            if bad & mask == 0 && !(write && buffer.read_only) {
                return Ok(Span::One(buffer));
            }
        }
        self.span_each(addresses, mask, size, write)
    }

    #[cold]
    #[inline(never)]
    fn span_each(
        &mut self,
        addresses: &[u64; 32],
        mask: u32,
        size: u32,
        write: bool,
    ) -> Result<Span<'a>, Trap> {
        let memory = self.launch.memory;
        let mut buffers = Box::new([None; 32]);
        for lane in lanes(mask) {
            let address = addresses[lane];
            let fault =
                |x: &Self, kind| x.access_trap(kind, lane as u32, Space::Global, address, size.into(), write);
            let Some(buffer) = memory.find(address) else { return Err(fault(self, FaultKind::OutOfBounds)) };
            let offset = address - buffer.base;
            if buffer.len < u64::from(size) || offset > buffer.len - u64::from(size) {
                return Err(fault(self, FaultKind::OutOfBounds));
            }
            if !address.is_multiple_of(size.into()) {
                return Err(fault(self, FaultKind::Misaligned));
            }
            if write && buffer.read_only {
                return Err(fault(self, FaultKind::ReadOnly));
            }
            buffers[lane] = Some(buffer);
        }
        Ok(Span::Many(buffers))
    }

    /// Checks addresses of a block's or lane's own memory.
    #[inline(always)]
    fn own(
        &self,
        space: Space,
        addresses: &[u64; 32],
        mask: u32,
        size: u32,
        write: bool,
        fits: impl Fn(u64) -> bool,
    ) -> Result<(), Trap> {
        for lane in lanes(mask) {
            let address = addresses[lane];
            if !fits(address) || address & (u64::from(size) - 1) != 0 {
                let kind = if fits(address) { FaultKind::Misaligned } else { FaultKind::OutOfBounds };
                return Err(self.access_trap(kind, lane as u32, space, address, size.into(), write));
            }
        }
        Ok(())
    }

    fn full(&self) -> bool {
        self.launch.level == Level::Full
    }

    /// Writes loaded values into element `k`'s register.
    #[inline(always)]
    fn put(&mut self, i: &Inst, shape: Shape, k: u32, mask: u32, values: &[u64; 32]) {
        let row =
            if shape.count == 1 { i.d } else { self.launch.kernel.extras[i.target as usize].dst[k as usize] };
        if row == crate::program::NONE {
            return;
        }
        if shape.wide {
            let mut out = [0u64; 32];
            for lane in 0..32 {
                out[lane] = shape.extend(values[lane]);
            }
            self.regs.write(row, &out, mask);
        } else {
            let mut out = [0u32; 32];
            for lane in 0..32 {
                out[lane] = shape.extend(values[lane]) as u32;
            }
            self.regs.write(row, &out, mask);
        }
    }

    /// Values of element `k`'s register.
    #[inline(always)]
    fn get(&self, i: &Inst, shape: Shape, k: u32) -> [u64; 32] {
        let row =
            if shape.count == 1 { i.d } else { self.launch.kernel.extras[i.target as usize].dst[k as usize] };
        if shape.wide {
            return *self.regs.cells::<u64>(row);
        }
        let cells = self.regs.cells::<u32>(row);
        let mut out = [0; 32];
        for lane in 0..32 {
            out[lane] = cells[lane].into();
        }
        out
    }
}

// ---- global ----

#[inline(always)]
fn load_global_body(x: &mut Exec<'_>, i: &Inst, m: u32) -> Result<(), Trap> {
    let shape = Shape::unpack(i.aux);
    let addresses = x.addresses(i, shape.narrow);
    load_global_at(x, i, m, shape, &addresses)
}

#[inline(always)]
fn load_global_at(
    x: &mut Exec<'_>,
    i: &Inst,
    m: u32,
    shape: Shape,
    addresses: &[u64; 32],
) -> Result<(), Trap> {
    let size = shape.total();
    let span = x.span(addresses, m, size, false)?;
    if x.block.counters.enabled {
        x.block.counters.request(x.pc, sectors(addresses, m, size));
    }
    if x.full() {
        for lane in lanes(m) {
            if let Some((buffer, offset)) = span.at(lane, addresses[lane])
                && buffer.unwritten(offset, size.into()).is_some()
            {
                let kind = FaultKind::Uninitialised;
                x.raise(x.access_trap(
                    kind,
                    lane as u32,
                    Space::Global,
                    addresses[lane],
                    size.into(),
                    false,
                ))?;
            }
        }
        x.race_global(&Touch { addresses, mask: m, size, write: false, strong: shape.strong, unchanged: 0 })?;
    }
    if let (Span::One(buffer), 4, 1, false, FULL) = (&span, shape.bytes, shape.count, shape.wide, m) {
        let mut out = [0u32; 32];
        for lane in 0..32 {
            out[lane] = buffer.cell32(addresses[lane] - buffer.base).load(Relaxed);
        }
        x.regs.write(i.d, &out, m);
        return Ok(());
    }
    for k in 0..shape.count {
        let mut out = [0u64; 32];
        for lane in lanes(m) {
            if let Some((buffer, offset)) = span.at(lane, addresses[lane]) {
                out[lane] = buffer.load(offset + u64::from(k * shape.bytes), shape.bytes);
            }
        }
        x.put(i, shape, k, m, &out);
    }
    Ok(())
}

#[inline(always)]
fn store_global_body(x: &mut Exec<'_>, i: &Inst, m: u32) -> Result<(), Trap> {
    let shape = Shape::unpack(i.aux);
    let addresses = x.addresses(i, shape.narrow);
    store_global_at(x, i, m, shape, &addresses)
}

#[inline(always)]
fn store_global_at(
    x: &mut Exec<'_>,
    i: &Inst,
    m: u32,
    shape: Shape,
    addresses: &[u64; 32],
) -> Result<(), Trap> {
    let size = shape.total();
    let span = x.span(addresses, m, size, true)?;
    if x.block.counters.enabled {
        x.block.counters.request(x.pc, sectors(addresses, m, size));
    }
    if x.full() {
        for lane in lanes(m) {
            if let Some((buffer, offset)) = span.at(lane, addresses[lane]) {
                buffer.mark(offset, size.into());
            }
        }
        let mut unchanged = m;
        for k in 0..shape.count {
            let values = x.get(i, shape, k);
            for lane in lanes(unchanged) {
                if let Some((buffer, offset)) = span.at(lane, addresses[lane])
                    && buffer.load(offset + u64::from(k * shape.bytes), shape.bytes)
                        != values[lane] & shape.mask()
                {
                    unchanged &= !(1 << lane);
                }
            }
        }
        x.race_global(&Touch { addresses, mask: m, size, write: true, strong: shape.strong, unchanged })?;
    }
    if let (Span::One(buffer), 4, 1, false) = (&span, shape.bytes, shape.count, shape.wide) {
        let values = x.regs.cells::<u32>(i.d);
        for lane in lanes(m) {
            buffer.cell32(addresses[lane] - buffer.base).store(values[lane], Relaxed);
        }
        return Ok(());
    }
    for k in 0..shape.count {
        let values = x.get(i, shape, k);
        for lane in lanes(m) {
            if let Some((buffer, offset)) = span.at(lane, addresses[lane]) {
                buffer.store(offset + u64::from(k * shape.bytes), shape.bytes, values[lane]);
            }
        }
    }
    Ok(())
}

// ---- shared ----

#[inline(always)]
fn load_shared_body(x: &mut Exec<'_>, i: &Inst, m: u32) -> Result<(), Trap> {
    let shape = Shape::unpack(i.aux);
    if let (4, 1, false, false) = (shape.bytes, shape.count, shape.wide, x.full())
        && let Some((offsets, kind)) = x.shared_offsets(i, m, shape.narrow)
    {
        x.count_shared_words(&offsets, m, kind);
        let out = x.block.shared.gather(&offsets);
        x.regs.write(i.d, &out, m);
        return Ok(());
    }
    let addresses = x.addresses(i, shape.narrow);
    load_shared_at(x, i, m, shape, &addresses)
}

fn load_shared_at(
    x: &mut Exec<'_>,
    i: &Inst,
    m: u32,
    shape: Shape,
    addresses: &[u64; 32],
) -> Result<(), Trap> {
    let size = shape.total();
    x.own(Space::Shared, addresses, m, size, false, |a| x.block.shared.fits(a, size))?;
    x.count_shared(addresses, m, size);
    if x.full() {
        x.check_shared_read(addresses, m, size, shape.strong)?;
    }
    for k in 0..shape.count {
        let mut out = [0u64; 32];
        for lane in lanes(m) {
            out[lane] = x.block.shared.load(addresses[lane] + u64::from(k * shape.bytes), shape.bytes);
        }
        x.put(i, shape, k, m, &out);
    }
    Ok(())
}

#[inline(always)]
fn store_shared_body(x: &mut Exec<'_>, i: &Inst, m: u32) -> Result<(), Trap> {
    let shape = Shape::unpack(i.aux);
    if let (4, 1, false, false) = (shape.bytes, shape.count, shape.wide, x.full())
        && let Some((offsets, kind)) = x.shared_offsets(i, m, shape.narrow)
    {
        x.count_shared_words(&offsets, m, kind);
        let values = x.regs.cells::<u32>(i.d);
        for lane in lanes(m) {
            x.block.shared.store(offsets[lane].into(), 4, values[lane].into());
        }
        return Ok(());
    }
    let addresses = x.addresses(i, shape.narrow);
    store_shared_at(x, i, m, shape, &addresses)
}

fn store_shared_at(
    x: &mut Exec<'_>,
    i: &Inst,
    m: u32,
    shape: Shape,
    addresses: &[u64; 32],
) -> Result<(), Trap> {
    let size = shape.total();
    x.own(Space::Shared, addresses, m, size, true, |a| x.block.shared.fits(a, size))?;
    x.count_shared(addresses, m, size);
    if x.full() {
        let mut unchanged = m;
        for k in 0..shape.count {
            let values = x.get(i, shape, k);
            for lane in lanes(unchanged) {
                let at = addresses[lane] + u64::from(k * shape.bytes);
                if x.block.shared.load(at, shape.bytes) != values[lane] & shape.mask()
                    || x.block.shared.unwritten(addresses[lane], size)
                {
                    unchanged &= !(1 << lane);
                }
            }
        }
        x.check_shared_write(addresses, m, size, shape.strong, unchanged)?;
    }
    for k in 0..shape.count {
        let values = x.get(i, shape, k);
        for lane in lanes(m) {
            x.block.shared.store(addresses[lane] + u64::from(k * shape.bytes), shape.bytes, values[lane]);
        }
    }
    Ok(())
}

/// How the active lanes' words lie.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Pattern {
    /// All the same word, or a run of 32.
    Conflictless,
    Any,
}

impl Exec<'_> {
    /// Offsets of aligned words within shared memory; `None` where an active lane's is not one.
    #[inline(always)]
    fn shared_offsets(&self, i: &Inst, m: u32, narrow: bool) -> Option<([u32; 32], Pattern)> {
        let limit = self.block.shared.bytes().checked_sub(4)?;
        let mut offsets = [0u32; 32];
        let mut bad = 0u32;
        if narrow {
            let cells = self.regs.cells::<u32>(i.a);
            for lane in 0..32 {
                let offset = cells[lane].wrapping_add(i.imm as u32);
                offsets[lane] = offset;
                bad |= u32::from((offset > limit) | (offset & 3 != 0)) << lane;
            }
        } else {
            let cells = self.regs.cells::<u64>(i.a);
            for lane in 0..32 {
                let offset = cells[lane].wrapping_add(i.imm as u64);
                offsets[lane] = offset as u32;
                bad |= u32::from((offset > u64::from(limit)) | (offset & 3 != 0)) << lane;
            }
        }
        if bad & m != 0 {
            return None;
        }
        let first = offsets[m.trailing_zeros() as usize & 31];
        let (mut uneven, mut broken) = (0u32, u32::from(m != FULL));
        for lane in 0..32 {
            uneven |= (offsets[lane] ^ first) * (m >> lane & 1);
            broken |= offsets[lane] ^ first.wrapping_add(4 * lane as u32);
        }
        let pattern = if uneven == 0 || broken == 0 { Pattern::Conflictless } else { Pattern::Any };
        Some((offsets, pattern))
    }

    #[inline(always)]
    fn count_shared_words(&mut self, offsets: &[u32; 32], m: u32, pattern: Pattern) {
        if self.block.counters.enabled {
            let wavefronts = if pattern == Pattern::Conflictless {
                1
            } else {
                self.block.shared.word_wavefronts(offsets, m)
            };
            self.block.counters.request(self.pc, wavefronts);
        }
    }

    #[inline(always)]
    pub(super) fn count_shared(&mut self, addresses: &[u64; 32], m: u32, size: u32) {
        if !self.block.counters.enabled {
            return;
        }
        let first = addresses[m.trailing_zeros() as usize & 31];
        let mut uniform = true;
        let mut run = m == FULL;
        for (lane, address) in addresses.iter().enumerate() {
            let active = m >> lane & 1 != 0;
            uniform &= !active || *address == first;
            run &= *address == first.wrapping_add(lane as u64 * u64::from(size));
        }
        let wavefronts = if uniform {
            1
        } else if run {
            (size / 4).max(1)
        } else {
            self.block.shared.wavefronts(addresses, m, size)
        };
        self.block.counters.request(self.pc, wavefronts);
    }

    pub(super) fn check_shared_read(
        &mut self,
        addresses: &[u64; 32],
        m: u32,
        size: u32,
        strong: bool,
    ) -> Result<(), Trap> {
        for lane in lanes(m) {
            let address = addresses[lane];
            if self.block.copies.pending(address, size) {
                let kind = FaultKind::MissingWait;
                self.raise(self.access_trap(kind, lane as u32, Space::Shared, address, size.into(), false))?;
            } else if self.block.shared.unwritten(address, size) {
                let kind = FaultKind::Uninitialised;
                self.raise(self.access_trap(kind, lane as u32, Space::Shared, address, size.into(), false))?;
            }
        }
        self.race_shared(&Touch { addresses, mask: m, size, write: false, strong, unchanged: 0 })
    }

    /// `unchanged`: lanes whose write changes nothing.
    pub(super) fn check_shared_write(
        &mut self,
        addresses: &[u64; 32],
        m: u32,
        size: u32,
        strong: bool,
        unchanged: u32,
    ) -> Result<(), Trap> {
        for lane in lanes(m) {
            self.block.shared.mark(addresses[lane], size);
        }
        self.race_shared(&Touch { addresses, mask: m, size, write: true, strong, unchanged })
    }
}

/// Defines how a memory instruction is chosen: compiled twice, as lane-wise ones are.
macro_rules! both {
    ($($name:ident = $body:path;)+) => { $(
        pub(crate) fn $name() -> MemoryFn {
            fn base(x: &mut Exec<'_>, i: &Inst, m: u32) -> Result<(), Trap> {
                $body(x, i, m)
            }
            #[cfg_attr(target_arch = "x86_64", target_feature(enable = "avx2,fma,bmi1,bmi2,lzcnt,popcnt"))]
            unsafe fn wide(x: &mut Exec<'_>, i: &Inst, m: u32) -> Result<(), Trap> {
                $body(x, i, m)
            }
            if has_wide() { wide } else { base }
        }
    )+ };
}

both! {
    load_global = load_global_body;
    store_global = store_global_body;
    load_shared = load_shared_body;
    store_shared = store_shared_body;
}

// ---- local, and the parameters of device functions, which live there ----

fn local_addresses(x: &Exec<'_>, i: &Inst, shape: Shape) -> [u64; 32] {
    let mut addresses = x.addresses(i, shape.narrow);
    if shape.framed {
        let base = x.regs.cells::<u64>(i.b);
        for lane in 0..32 {
            addresses[lane] = addresses[lane].wrapping_add(base[lane]);
        }
    }
    addresses
}

pub(crate) fn load_local(x: &mut Exec<'_>, i: &Inst, m: u32) -> Result<(), Trap> {
    let shape = Shape::unpack(i.aux);
    let addresses = local_addresses(x, i, shape);
    load_local_at(x, i, m, shape, &addresses)
}

fn load_local_at(
    x: &mut Exec<'_>,
    i: &Inst,
    m: u32,
    shape: Shape,
    addresses: &[u64; 32],
) -> Result<(), Trap> {
    let size = shape.total();
    x.own(Space::Local, addresses, m, size, false, |a| x.warp.local.fits(a, size))?;
    x.block.counters.request(x.pc, 1);
    if x.full() && !shape.framed {
        for lane in lanes(m) {
            if x.warp.local.unwritten(lane, addresses[lane], size) {
                let kind = FaultKind::Uninitialised;
                x.raise(x.access_trap(kind, lane as u32, Space::Local, addresses[lane], size.into(), false))?;
            }
        }
    }
    for k in 0..shape.count {
        let mut out = [0u64; 32];
        for lane in lanes(m) {
            out[lane] = x.warp.local.load(lane, addresses[lane] + u64::from(k * shape.bytes), shape.bytes);
        }
        x.put(i, shape, k, m, &out);
    }
    Ok(())
}

pub(crate) fn store_local(x: &mut Exec<'_>, i: &Inst, m: u32) -> Result<(), Trap> {
    let shape = Shape::unpack(i.aux);
    let addresses = local_addresses(x, i, shape);
    store_local_at(x, i, m, shape, &addresses)
}

fn store_local_at(
    x: &mut Exec<'_>,
    i: &Inst,
    m: u32,
    shape: Shape,
    addresses: &[u64; 32],
) -> Result<(), Trap> {
    let size = shape.total();
    x.own(Space::Local, addresses, m, size, true, |a| x.warp.local.fits(a, size))?;
    x.block.counters.request(x.pc, 1);
    for k in 0..shape.count {
        let values = x.get(i, shape, k);
        for lane in lanes(m) {
            x.warp.local.store(lane, addresses[lane] + u64::from(k * shape.bytes), shape.bytes, values[lane]);
        }
    }
    Ok(())
}

// ---- kernel parameters ----

/// `ld.param` in an entry.
pub(crate) fn load_param(x: &mut Exec<'_>, i: &Inst, m: u32) -> Result<(), Trap> {
    let shape = Shape::unpack(i.aux);
    let addresses = x.addresses(i, shape.narrow);
    load_param_at(x, i, m, shape, &addresses)
}

fn load_param_at(
    x: &mut Exec<'_>,
    i: &Inst,
    m: u32,
    shape: Shape,
    addresses: &[u64; 32],
) -> Result<(), Trap> {
    let size = shape.total();
    let params = x.launch.params;
    let fits = |a: u64| a.checked_add(size.into()).is_some_and(|end| end <= params.len() as u64);
    x.own(Space::Param, addresses, m, size, false, fits)?;
    for k in 0..shape.count {
        let mut out = [0u64; 32];
        for lane in lanes(m) {
            let start = addresses[lane] as usize + (k * shape.bytes) as usize;
            let mut raw = [0u8; 8];
            if let Some(bytes) = params.get(start..start + shape.bytes as usize) {
                raw[..bytes.len()].copy_from_slice(bytes);
            }
            out[lane] = u64::from_le_bytes(raw);
        }
        x.put(i, shape, k, m, &out);
    }
    Ok(())
}

// ---- generic addresses ----

/// Which window an address is in, and the lanes of a mask in each.
pub(super) fn windows(addresses: &[u64; 32], mask: u32) -> [(Space, u32, u64); 4] {
    let mut out = [
        (Space::Global, 0, 0),
        (Space::Shared, 0, SHARED_WINDOW),
        (Space::Local, 0, LOCAL_WINDOW),
        (Space::Param, 0, PARAM_WINDOW),
    ];
    for lane in lanes(mask) {
        let top = addresses[lane] >> 60;
        let k = match top {
            4 | 5 => 1,
            2 | 3 => 2,
            1 => 3,
            _ => 0,
        };
        out[k].1 |= 1 << lane;
    }
    out
}

pub(crate) fn load_generic(x: &mut Exec<'_>, i: &Inst, m: u32) -> Result<(), Trap> {
    let shape = Shape::unpack(i.aux);
    let addresses = x.addresses(i, shape.narrow);
    for (space, mask, window) in windows(&addresses, m) {
        if mask == 0 {
            continue;
        }
        let inner = addresses.map(|a| a.wrapping_sub(window));
        match space {
            Space::Global => load_global_at(x, i, mask, shape, &addresses)?,
            Space::Shared => load_shared_at(x, i, mask, shape, &inner)?,
            Space::Local => load_local_at(x, i, mask, shape, &inner)?,
            _ => load_param_at(x, i, mask, shape, &inner)?,
        }
    }
    Ok(())
}

pub(crate) fn store_generic(x: &mut Exec<'_>, i: &Inst, m: u32) -> Result<(), Trap> {
    let shape = Shape::unpack(i.aux);
    let addresses = x.addresses(i, shape.narrow);
    for (space, mask, window) in windows(&addresses, m) {
        if mask == 0 {
            continue;
        }
        let inner = addresses.map(|a| a.wrapping_sub(window));
        match space {
            Space::Global => store_global_at(x, i, mask, shape, &addresses)?,
            Space::Shared => store_shared_at(x, i, mask, shape, &inner)?,
            Space::Local => store_local_at(x, i, mask, shape, &inner)?,
            _ => {
                let lane = mask.trailing_zeros();
                let address = inner[lane as usize];
                return Err(x.access_trap(
                    FaultKind::ReadOnly,
                    lane,
                    Space::Param,
                    address,
                    shape.total().into(),
                    true,
                ));
            }
        }
    }
    Ok(())
}

// ---- asynchronous copies ----

/// `cp.async`: `a` the shared address, row `b` the global one, `c` bytes to read (`NONE`: all); `imm` packs both
/// offsets, `aux` bytes in bits 8-15, bit 0: the shared address is 32 bits wide. The copy is made at once; at full
/// checks its range counts as pending until a wait.
pub(crate) fn copy_async(x: &mut Exec<'_>, i: &Inst, m: u32) -> Result<(), Trap> {
    let size = i.aux >> 8 & 0xff;
    let (to_offset, from_offset) = (i.imm as i32, (i.imm >> 32) as i32);
    let to = if i.aux & 1 != 0 {
        x.regs.cells::<u32>(i.a).map(|a| u64::from(a.wrapping_add(to_offset as u32)))
    } else {
        x.regs.cells::<u64>(i.a).map(|a| a.wrapping_add(i64::from(to_offset) as u64))
    };
    let from = x.regs.cells::<u64>(i.b).map(|a| a.wrapping_add(i64::from(from_offset) as u64));
    let read =
        if i.c == crate::program::NONE { [size; 32] } else { x.regs.cells::<u32>(i.c).map(|n| n.min(size)) };
    x.own(Space::Shared, &to, m, size, true, |a| x.block.shared.fits(a, size))?;
    let reading = lanes(m).filter(|&l| read[l] != 0).fold(0u32, |mask, l| mask | 1 << l);
    if reading != 0 {
        let span = x.span(&from, reading, size, false)?;
        if x.block.counters.enabled {
            x.block.counters.request(x.pc, sectors(&from, reading, size));
        }
        for lane in lanes(reading) {
            let Some((buffer, offset)) = span.at(lane, from[lane]) else { continue };
            if x.full() && buffer.unwritten(offset, read[lane].into()).is_some() {
                let kind = FaultKind::Uninitialised;
                x.raise(x.access_trap(kind, lane as u32, Space::Global, from[lane], size.into(), false))?;
            }
            for word in 0..size / 4 {
                let at = word * 4;
                let left = read[lane].saturating_sub(at);
                let raw = if left == 0 { 0 } else { buffer.load(offset + u64::from(at), 4) };
                let value = if left >= 4 { raw } else { raw & ((1u64 << (8 * left)) - 1) };
                x.block.shared.store(to[lane] + u64::from(at), 4, value);
            }
        }
    }
    for lane in lanes(m & !reading) {
        for word in 0..size / 4 {
            x.block.shared.store(to[lane] + u64::from(word * 4), 4, 0);
        }
    }
    if x.full() {
        x.check_shared_write(&to, m, size, false, 0)?;
        for lane in lanes(m) {
            x.block.copies.issue(x.warp.index, to[lane], size);
        }
    }
    Ok(())
}

pub(crate) fn copy_commit(x: &mut Exec<'_>, _: &Inst, _: u32) -> Result<(), Trap> {
    x.block.copies.commit(x.warp.index);
    Ok(())
}

/// Waits for all but the newest `imm` groups; negative: for all, committed or not.
pub(crate) fn copy_wait(x: &mut Exec<'_>, i: &Inst, _: u32) -> Result<(), Trap> {
    x.block.copies.wait(x.warp.index, u32::try_from(i.imm).ok());
    Ok(())
}

/// `prefetch`, `fence`, `membar` and other instructions that change no value here. Addresses are not even looked at.
pub(crate) fn nothing(_: &mut Exec<'_>, _: &Inst, _: u32) -> Result<(), Trap> {
    Ok(())
}

/// `isspacep`: space in `imm` (0 global, 1 shared, 2 local, 3 param, 4 const), result predicate `d`.
pub(crate) fn is_space(x: &mut Exec<'_>, i: &Inst, m: u32) -> Result<(), Trap> {
    let addresses = *x.regs.cells::<u64>(i.a);
    let windows = windows(&addresses, m);
    let value = windows.get(i.imm as usize).map_or(0, |w| w.1);
    x.regs.set_pred(i.d, value, m);
    Ok(())
}

/// Checks one lane's range of a given space before a collective access; gives its value readers.
pub(super) fn lane_load(
    x: &Exec<'_>,
    lane: usize,
    space: Space,
    address: u64,
    size: u32,
) -> Result<u64, Trap> {
    let (space, address) = resolve(space, address);
    let fault = |kind| Err(x.access_trap(kind, lane as u32, space, address, size.into(), false));
    match space {
        Space::Shared => {
            if !x.block.shared.fits(address, size) {
                return fault(FaultKind::OutOfBounds);
            }
            if !address.is_multiple_of(size.into()) {
                return fault(FaultKind::Misaligned);
            }
            Ok(x.block.shared.load(address, size))
        }
        Space::Local => {
            if !x.warp.local.fits(address, size) {
                return fault(FaultKind::OutOfBounds);
            }
            Ok(x.warp.local.load(lane, address, size))
        }
        _ => {
            let Some(buffer) = x.launch.memory.find(address) else { return fault(FaultKind::OutOfBounds) };
            let offset = address - buffer.base;
            if buffer.len < u64::from(size) || offset > buffer.len - u64::from(size) {
                return fault(FaultKind::OutOfBounds);
            }
            if !address.is_multiple_of(size.into()) {
                return fault(FaultKind::Misaligned);
            }
            Ok(buffer.load(offset, size))
        }
    }
}

pub(super) fn lane_store(
    x: &mut Exec<'_>,
    lane: usize,
    space: Space,
    address: u64,
    size: u32,
    value: u64,
) -> Result<(), Trap> {
    let (space, address) = resolve(space, address);
    lane_load(x, lane, space, address, size).map_err(|mut trap| {
        if let Some(access) = &mut trap.access {
            access.write = true;
        }
        trap
    })?;
    match space {
        Space::Shared => {
            x.block.shared.store(address, size, value);
            x.block.shared.mark(address, size);
        }
        Space::Local => x.warp.local.store(lane, address, size, value),
        _ => {
            if let Some(buffer) = x.launch.memory.find(address) {
                if buffer.read_only {
                    return Err(x.access_trap(
                        FaultKind::ReadOnly,
                        lane as u32,
                        space,
                        address,
                        size.into(),
                        true,
                    ));
                }
                buffer.store(address - buffer.base, size, value);
                buffer.mark(address - buffer.base, size.into());
            }
        }
    }
    Ok(())
}

/// A generic address to its space and the address there.
pub(super) fn resolve(space: Space, address: u64) -> (Space, u64) {
    if space != Space::Generic {
        return (space, address);
    }
    match address >> 60 {
        4 | 5 => (Space::Shared, address - SHARED_WINDOW),
        2 | 3 => (Space::Local, address - LOCAL_WINDOW),
        _ => (Space::Global, address),
    }
}

/// An instruction that the launch has refused; reached only through a defect.
pub(crate) fn unsupported(x: &mut Exec<'_>, _: &Inst, m: u32) -> Result<(), Trap> {
    let name = x.launch.kernel.instruction_name(x.pc).to_owned();
    Err(trap(FaultKind::Unsupported(name), m.trailing_zeros()))
}
