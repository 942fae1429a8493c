//! A warp's registers: rows of 32 lanes, and the loops over them that the compiler vectorises.
//!
//! A 32-bit (or narrower) register is one row of 32 `u32`; a 64-bit register is two rows, read as 32 `u64`; a
//! predicate is a 32-bit mask. Decoding allocates every row index below the size of the file, which is what the
//! unchecked accesses here rest on. Nothing outside this file touches the storage.

use crate::program::Inst;

pub(crate) const FULL: u32 = u32::MAX;

/// A lane-wise instruction: registers, operands, active lanes.
///
/// Unsafe to call because it may be compiled for instruction sets that [`LaneOp::pick`] checks for.
pub(crate) type LaneFn = unsafe fn(&mut Regs, &Inst, u32);

/// One operation compiled twice.
#[derive(Clone, Copy)]
pub(crate) struct LaneOp {
    pub base: LaneFn,
    pub wide: LaneFn,
}

impl LaneOp {
    /// The version for this processor.
    pub fn pick(self) -> LaneFn {
        if has_wide() { self.wide } else { self.base }
    }
}

/// Whether this processor runs the code compiled for AVX2 and FMA.
pub(crate) fn has_wide() -> bool {
    #[cfg(target_arch = "x86_64")]
    {
        std::arch::is_x86_feature_detected!("avx2")
            && std::arch::is_x86_feature_detected!("fma")
            && std::arch::is_x86_feature_detected!("bmi1")
            && std::arch::is_x86_feature_detected!("bmi2")
            && std::arch::is_x86_feature_detected!("lzcnt")
            && std::arch::is_x86_feature_detected!("popcnt")
    }
    #[cfg(not(target_arch = "x86_64"))]
    false
}

/// Defines a [`LaneOp`] constant: `op!(NAME, map2::<u32, u32, u32>, |a, b| a.wrapping_add(b));`
macro_rules! op {
    ($($name:ident = $map:expr, $f:expr;)+) => { $(
        pub(crate) const $name: $crate::exec::regs::LaneOp = {
            unsafe fn base(r: &mut $crate::exec::regs::Regs, i: &$crate::program::Inst, m: u32) {
                $map(r, i, m, $f)
            }
            #[cfg_attr(target_arch = "x86_64", target_feature(enable = "avx2,fma,bmi1,bmi2,lzcnt,popcnt"))]
            unsafe fn wide(r: &mut $crate::exec::regs::Regs, i: &$crate::program::Inst, m: u32) {
                $map(r, i, m, $f)
            }
            $crate::exec::regs::LaneOp { base, wide }
        };
    )+ };
}
pub(crate) use op;

/// Defines a [`LaneOp`] from a function that gains nothing from wide registers.
macro_rules! slow {
    ($($name:ident = $f:path;)+) => { $(
        pub(crate) const $name: $crate::exec::regs::LaneOp =
            $crate::exec::regs::LaneOp { base: $f, wide: $f };
    )+ };
}
pub(crate) use slow;

/// What a row stores: `u32` or `u64`.
pub(crate) trait Cell: Copy + Default + 'static {
    /// Rows that one register takes.
    const ROWS: u32;
    /// `new` where `bit` is 1, `self` where it is 0.
    fn choose(self, new: Self, bit: u32) -> Self;
}
impl Cell for u32 {
    const ROWS: u32 = 1;
    #[inline(always)]
    fn choose(self, new: u32, bit: u32) -> u32 {
        let all = 0u32.wrapping_sub(bit);
        new & all | self & !all
    }
}
impl Cell for u64 {
    const ROWS: u32 = 2;
    #[inline(always)]
    fn choose(self, new: u64, bit: u32) -> u64 {
        let all = 0u64.wrapping_sub(bit.into());
        new & all | self & !all
    }
}

/// A value of one lane and the cell that stores it; narrow integers are stored zero-extended.
pub(crate) trait Lane: Copy {
    type Cell: Cell;
    fn load(cell: Self::Cell) -> Self;
    fn store(self) -> Self::Cell;
}

macro_rules! lane {
    ($($ty:ty, $cell:ty, |$c:ident| $load:expr, |$v:ident| $store:expr;)+) => { $(
        impl Lane for $ty {
            type Cell = $cell;
            #[inline(always)]
            fn load($c: $cell) -> $ty { $load }
            #[inline(always)]
            fn store(self) -> $cell { let $v = self; $store }
        }
    )+ };
}
lane! {
    u8, u32, |c| c as u8, |v| v.into();
    u16, u32, |c| c as u16, |v| v.into();
    i16, u32, |c| c as i16, |v| u32::from(v as u16);
    u32, u32, |c| c, |v| v;
    i32, u32, |c| c as i32, |v| v as u32;
    f32, u32, |c| f32::from_bits(c), |v| v.to_bits();
    u64, u64, |c| c, |v| v;
    i64, u64, |c| c as i64, |v| v as u64;
    f64, u64, |c| f64::from_bits(c), |v| v.to_bits();
}

#[derive(Clone, Copy)]
#[repr(C, align(128))]
struct Row([u32; 32]);

/// The register file of one warp.
pub(crate) struct Regs {
    rows: Vec<Row>,
    /// Predicate 0 is always true.
    preds: Vec<u32>,
}

impl Regs {
    /// A file of zeros.
    pub fn new(rows: u32, preds: u32) -> Self {
        let mut preds = vec![0; preds.max(1) as usize];
        preds[0] = FULL;
        Regs { rows: vec![Row([0; 32]); rows as usize], preds }
    }

    /// Zeros into some rows and all predicates.
    pub fn clear(&mut self, rows: &[std::ops::Range<u32>]) {
        for range in rows {
            if let Some(rows) = self.rows.get_mut(range.start as usize..range.end as usize) {
                rows.fill(Row([0; 32]));
            }
        }
        self.preds[1..].fill(0);
    }

    #[inline(always)]
    pub fn cells<C: Cell>(&self, row: u32) -> &[C; 32] {
        debug_assert!((row + C::ROWS) as usize <= self.rows.len());
        // SAFETY: decoding allocates `C::ROWS` rows for each register below the file's size (checked in debug
        // builds); `Row` is 128 bytes of plain integers aligned for both cell types, and rows are contiguous.
        unsafe { &*self.rows.as_ptr().add(row as usize).cast::<[C; 32]>() }
    }

    #[inline(always)]
    pub fn cells_mut<C: Cell>(&mut self, row: u32) -> &mut [C; 32] {
        debug_assert!((row + C::ROWS) as usize <= self.rows.len());
        // SAFETY: as in `cells`, and `self` is borrowed mutably.
        unsafe { &mut *self.rows.as_mut_ptr().add(row as usize).cast::<[C; 32]>() }
    }

    /// All lanes of a register.
    #[inline(always)]
    pub fn read<T: Lane>(&self, row: u32) -> [T; 32] {
        self.cells::<T::Cell>(row).map(T::load)
    }

    /// Writes the active lanes of a register.
    #[inline(always)]
    pub fn write<C: Cell>(&mut self, row: u32, values: &[C; 32], mask: u32) {
        let cells = self.cells_mut::<C>(row);
        if mask == FULL {
            *cells = *values;
        } else {
            for lane in 0..32 {
                cells[lane] = cells[lane].choose(values[lane], mask >> lane & 1);
            }
        }
    }

    #[inline(always)]
    pub fn pred(&self, index: u32) -> u32 {
        debug_assert!((index as usize) < self.preds.len());
        // SAFETY: decoding allocates every predicate index below the file's size (checked in debug builds).
        unsafe { *self.preds.get_unchecked(index as usize) }
    }

    /// Writes the active lanes of a predicate; 0 is the sink and stays true.
    #[inline(always)]
    pub fn set_pred(&mut self, index: u32, value: u32, mask: u32) {
        if index != 0
            && let Some(pred) = self.preds.get_mut(index as usize)
        {
            *pred = (*pred & !mask) | (value & mask);
        }
    }
}

#[inline(always)]
pub(crate) fn map1<A: Lane, D: Lane>(r: &mut Regs, i: &Inst, m: u32, f: impl Fn(A) -> D) {
    let a = r.cells::<A::Cell>(i.a);
    let mut out = [D::Cell::default(); 32];
    for lane in 0..32 {
        out[lane] = f(A::load(a[lane])).store();
    }
    r.write(i.d, &out, m);
}

#[inline(always)]
pub(crate) fn map2<A: Lane, B: Lane, D: Lane>(r: &mut Regs, i: &Inst, m: u32, f: impl Fn(A, B) -> D) {
    let (a, b) = (r.cells::<A::Cell>(i.a), r.cells::<B::Cell>(i.b));
    let mut out = [D::Cell::default(); 32];
    for lane in 0..32 {
        out[lane] = f(A::load(a[lane]), B::load(b[lane])).store();
    }
    r.write(i.d, &out, m);
}

#[inline(always)]
pub(crate) fn map3<A: Lane, B: Lane, C: Lane, D: Lane>(
    r: &mut Regs,
    i: &Inst,
    m: u32,
    f: impl Fn(A, B, C) -> D,
) {
    let (a, b, c) = (r.cells::<A::Cell>(i.a), r.cells::<B::Cell>(i.b), r.cells::<C::Cell>(i.c));
    let mut out = [D::Cell::default(); 32];
    for lane in 0..32 {
        out[lane] = f(A::load(a[lane]), B::load(b[lane]), C::load(c[lane])).store();
    }
    r.write(i.d, &out, m);
}

/// A comparison into a mask, without writing it anywhere.
#[inline(always)]
pub(crate) fn test2<A: Lane, B: Lane>(r: &Regs, i: &Inst, f: impl Fn(A, B) -> bool) -> u32 {
    let (a, b) = (r.cells::<A::Cell>(i.a), r.cells::<B::Cell>(i.b));
    let mut out = 0u32;
    for lane in 0..32 {
        // A choice between two constants is what the compiler has vectors for.
        out |= if f(A::load(a[lane]), B::load(b[lane])) { 1 << lane } else { 0 };
    }
    out
}
