//! Decoding of loads, stores, atomics and address conversions.

use super::builder::{KernelBuilder, Place};
use super::decode::{Mods, operands, without_policy};
use super::inst::{Action, Class, Extra, Inst, MemoryFn, NONE, Uniform};
use super::{Decoded, Refusal, invalid};
use crate::exec::atomic::{self, Atomic, AtomicOp};
use crate::exec::memory::{self, Shape};
use crate::exec::{LOCAL_WINDOW, PARAM_WINDOW, SHARED_WINDOW, int};
use crate::parse::{Instruction, Operand, ScalarType, Space};

const SCOPES: [&str; 4] = ["cta", "cluster", "gpu", "sys"];
const CACHES: [&str; 12] = [
    "ca",
    "cg",
    "cs",
    "lu",
    "cv",
    "wb",
    "wt",
    "nc",
    "L1::evict_last",
    "L1::evict_first",
    "L1::no_allocate",
    "L1::evict_normal",
];
const CACHES_L2: [&str; 6] =
    ["L1::evict_unchanged", "L2::64B", "L2::128B", "L2::256B", "L2::evict_first", "L2::evict_last"];

/// The modifiers that loads, stores and atomics share; none changes a value here.
fn ordering(mods: &mut Mods<'_>) -> bool {
    let strong = mods.one_of(&["volatile", "relaxed", "acquire", "release", "acq_rel", "mmio"]).is_some();
    mods.flag("weak");
    if strong {
        mods.one_of(&SCOPES);
    }
    while mods.one_of(&CACHES).is_some() || mods.one_of(&CACHES_L2).is_some() {}
    strong
}

fn vector_count(mods: &mut Mods<'_>) -> u32 {
    match mods.one_of(&["v2", "v4", "v8"]) {
        Some("v2") => 2,
        Some("v4") => 4,
        Some(_) => 8,
        None => 1,
    }
}

/// The shared memory of a cluster of one block is the block's own.
fn own(space: Space) -> Space {
    if space == Space::SharedCluster { Space::Shared } else { space }
}

impl<'m, 'a> KernelBuilder<'m, 'a> {
    /// Rows of the registers of a load or store, and their common width.
    fn lanes_of(
        &mut self,
        operand: &Operand<'a>,
        count: u32,
        ty: ScalarType,
        load: bool,
    ) -> Decoded<(Vec<u32>, u32)> {
        let single = std::slice::from_ref(operand);
        let parts = match operand {
            Operand::Vector(parts) => parts.as_slice(),
            _ => single,
        };
        if parts.len() as u32 != count {
            return invalid(format!("{} registers for {count} elements", parts.len()));
        }
        let mut rows = Vec::new();
        let mut width = 0;
        for part in parts {
            if load && matches!(part, Operand::Name("_")) {
                rows.push(NONE);
                continue;
            }
            let (row, bits) = if load { self.dst_any(part, ty)? } else { self.src_wide(part, ty)? };
            if width != 0 && (bits == 64) != (width == 64) {
                return Err(Refusal::Unsupported);
            }
            width = bits;
            rows.push(row);
        }
        Ok((rows, if width == 0 { ty.bits().max(32) } else { width }))
    }

    fn access(&mut self, i: &'m Instruction<'a>, load: bool) -> Decoded<()> {
        let mut mods = Mods::new(i);
        let strong = ordering(&mut mods);
        let mut space = own(mods.take(Space::from_name).unwrap_or(Space::Generic));
        ordering(&mut mods);
        let mut count = vector_count(&mut mods);
        let mut ty = mods.ty()?;
        let all = without_policy(i, &mut mods);
        mods.finish()?;
        if (ty.bits() == 128 && count > 1) || matches!(ty, ScalarType::Pred) {
            return Err(Refusal::Unsupported);
        }
        let [first, second] = all else {
            return invalid(format!("takes 2 operands, found {}", all.len()));
        };
        let (registers, address) = if load { (first, second) } else { (second, first) };
        let (rows, width) = if ty.bits() == 128 {
            let rows = self.halves(registers)?.to_vec();
            (ty, count) = (ScalarType::B64, 2);
            (rows, 64)
        } else {
            self.lanes_of(registers, count, ty, load)?
        };
        let (a, narrow, imm, place) = self.address(address)?;
        if let (Some(place), Space::Generic) = (place, space) {
            // A variable's name without a space means the variable's own.
            space = match place {
                Place::Global(_) => Space::Global,
                Place::Shared(_) | Place::DynamicShared => Space::Shared,
                Place::Frame(_, false) => Space::Local,
                Place::Frame(_, true) | Place::EntryParam(_) => Space::Param,
                Place::Function(_) => return invalid("a function is no variable"),
            };
        }
        let mut shape = Shape {
            bytes: ty.bytes(),
            count,
            signed: load && ty.is_signed() && ty.bits() < width,
            wide: width == 64,
            short: width == 16,
            narrow,
            strong,
            framed: false,
        };
        self.kernel.synchronises |= strong;
        if shape.total() > 32 {
            return invalid("a vector longer than 32 bytes");
        }
        // A frame variable's address is an offset: the frame's own base is added when it runs.
        let framed = matches!(place, Some(Place::Frame(..))) && !self.is_entry();
        let (f, class): (MemoryFn, Class) = match (space, load) {
            (Space::Global, true) => (memory::load_global(), Class::LoadGlobal),
            (Space::Global, false) => (memory::store_global(), Class::StoreGlobal),
            (Space::Const, true) => (memory::load_global(), Class::LoadConst),
            (Space::Shared, true) => (memory::load_shared(narrow), Class::LoadShared),
            (Space::Shared, false) => (memory::store_shared(narrow), Class::StoreShared),
            (Space::Local, true) => (memory::load_local, Class::LoadLocal),
            (Space::Local, false) => (memory::store_local, Class::StoreLocal),
            (Space::Generic, true) => (memory::load_generic, Class::LoadGlobal),
            (Space::Generic, false) => (memory::store_generic, Class::StoreGlobal),
            (Space::Param, true) if matches!(place, Some(Place::EntryParam(_))) => {
                (memory::load_param, Class::LoadConst)
            }
            (Space::Param, true) if place.is_none() && self.is_entry() => {
                (memory::load_param, Class::LoadConst)
            }
            // Parameters of device functions: registers on hardware, so they count as moves.
            (Space::Param, true) => (memory::load_local, Class::Move),
            (Space::Param, false) if !matches!(place, Some(Place::EntryParam(_))) => {
                (memory::store_local, Class::Move)
            }
            (Space::Param | Space::Const, false) => return invalid("a store to read-only space"),
            _ => return Err(Refusal::Unsupported),
        };
        shape.framed = framed && matches!(space, Space::Local | Space::Param);
        let b = if shape.framed { self.frame_row() } else { NONE };
        if let (Some(Place::EntryParam(at)), Space::Param, [row]) = (place, space, rows.as_slice())
            && let Ok(offset) = u32::try_from(i64::from(at) + imm)
            && offset.is_multiple_of(shape.bytes)
            && offset.checked_add(shape.bytes).is_some_and(|end| end <= self.kernel.param_bytes)
            && *row != NONE
        {
            // Known before the launch: a row holds it.
            let a = self.uniform(Uniform::Param(offset, shape), shape.wide);
            let op = if shape.wide { int::MOV_64 } else { int::MOV_32 };
            self.lane(op, class, |n| (n.d, n.a, n.bytes) = (*row, a, shape.bytes as u8));
            return Ok(());
        }
        let mut inst = Inst::new(Action::Memory(f), class);
        (inst.a, inst.b, inst.imm, inst.aux, inst.bytes) = (a, b, imm, shape.pack(), shape.total() as u8);
        if count == 1 {
            if rows[0] == NONE {
                inst.d = self.scratch(shape.wide)?;
            } else {
                inst.d = rows[0];
            }
        } else {
            inst.target = self.extra(Extra { dst: rows, ..Extra::default() });
        }
        self.emit(inst);
        Ok(())
    }

    pub(super) fn load(&mut self, i: &'m Instruction<'a>) -> Decoded<()> {
        self.access(i, true)
    }

    pub(super) fn store(&mut self, i: &'m Instruction<'a>) -> Decoded<()> {
        self.access(i, false)
    }

    pub(super) fn atomic(&mut self, i: &'m Instruction<'a>) -> Decoded<()> {
        let mut mods = Mods::new(i);
        self.kernel.synchronises |= ["acquire", "release", "acq_rel"].iter().any(|m| i.has(m));
        ordering(&mut mods);
        mods.one_of(&SCOPES);
        let space = own(mods.take(Space::from_name).unwrap_or(Space::Generic));
        mods.one_of(&SCOPES);
        if !matches!(space, Space::Generic | Space::Global | Space::Shared) {
            return Err(Refusal::Unsupported);
        }
        let names = ["add", "min", "max", "and", "or", "xor", "exch", "cas", "inc", "dec"];
        let name = mods.one_of(&names).ok_or(Refusal::Unsupported)?;
        self.kernel.exchanges |= name == "cas";
        mods.flag("noftz");
        let count = vector_count(&mut mods);
        let ty = mods.ty()?;
        let all = without_policy(i, &mut mods);
        mods.finish()?;
        use AtomicOp::*;
        use ScalarType as T;
        let op = match (name, ty) {
            ("add", T::U32 | T::S32 | T::U64 | T::S64) => Add,
            ("add", T::F32) => AddF32,
            ("add", T::F64) => AddF64,
            ("add", T::F16) => AddF16,
            ("add", T::F16x2) => AddF16x2,
            ("add", T::Bf16) => AddBf16,
            ("add", T::Bf16x2) => AddBf16x2,
            ("min", T::U32 | T::U64) => MinU,
            ("max", T::U32 | T::U64) => MaxU,
            ("min", T::S32 | T::S64) => MinS,
            ("max", T::S32 | T::S64) => MaxS,
            ("and", T::B32 | T::B64) => And,
            ("or", T::B32 | T::B64) => Or,
            ("xor", T::B32 | T::B64) => Xor,
            ("exch", T::B32 | T::B64) => Exch,
            ("cas", T::B16 | T::B32 | T::B64) => Cas,
            ("inc", T::U32) => Inc,
            ("dec", T::U32) => Dec,
            ("min", T::F16x2) => MinF16x2,
            ("max", T::F16x2) => MaxF16x2,
            ("min", T::Bf16x2) => MinBf16x2,
            ("max", T::Bf16x2) => MaxBf16x2,
            ("min", T::F16) if count > 1 => MinF16,
            ("max", T::F16) if count > 1 => MaxF16,
            ("min", T::Bf16) if count > 1 => MinBf16,
            ("max", T::Bf16) if count > 1 => MaxBf16,
            _ => return Err(Refusal::Unsupported),
        };
        if count > 1 {
            let aux = Atomic { op, bytes: ty.bytes(), narrow: false, space }.pack();
            return self.atomic_vector(i, all, count, ty, aux);
        }
        let mut all = all.iter();
        let d = if i.opcode == "atom" {
            match all.next() {
                Some(Operand::Name("_")) => NONE,
                Some(d) => self.dst(d, ty)?,
                None => return invalid("expected a destination"),
            }
        } else {
            NONE
        };
        let Some(address) = all.next() else { return invalid("expected an address") };
        let (a, narrow, imm, _) = self.address(address)?;
        let Some(b) = all.next() else { return invalid("expected an operand") };
        let b = self.src(b, ty)?;
        let c = match (all.next(), op) {
            (Some(c), Cas) => self.src(c, ty)?,
            (None, Cas) => return invalid("expected a third operand"),
            (Some(_), _) => return Err(Refusal::Unsupported),
            (None, _) => NONE,
        };
        let aux = Atomic { op, bytes: ty.bytes(), narrow, space }.pack();
        self.reach(atomic::atomic(), Class::Atomic, |n| {
            (n.d, n.a, n.b, n.c, n.imm, n.aux, n.bytes) = (d, a, b, c, imm, aux, ty.bytes() as u8);
        });
        Ok(())
    }

    /// `{d, ..}, [a], {b, ..}`; the old values go to rows of their own first, for later elements may read what they replace.
    fn atomic_vector(
        &mut self,
        i: &'m Instruction<'a>,
        all: &'m [Operand<'a>],
        count: u32,
        ty: ScalarType,
        aux: u32,
    ) -> Decoded<()> {
        use ScalarType as T;
        let most = match ty {
            T::F32 | T::F16x2 | T::Bf16x2 => 4,
            T::F16 | T::Bf16 => 8,
            _ => return Err(Refusal::Unsupported),
        };
        if count > most || i.modifiers.iter().any(|m| m.starts_with("shared")) {
            return invalid("vectors are of f32, f16 and bf16, of 16 bytes at most, in global memory");
        }
        let (d, address, b) = match all {
            [Operand::Vector(d), address, Operand::Vector(b)] if i.opcode == "atom" => {
                (d.as_slice(), address, b)
            }
            [address, Operand::Vector(b)] if i.opcode == "red" => (&[][..], address, b),
            _ => return invalid("takes vectors and an address"),
        };
        if b.len() as u32 != count || (i.opcode == "atom" && d.len() as u32 != count) {
            return invalid(format!("{} registers for {count} elements", b.len()));
        }
        let b = b.iter().map(|b| self.src(b, ty)).collect::<Decoded<Vec<_>>>()?;
        let wanted = d.iter().map(|d| self.dst(d, ty)).collect::<Decoded<Vec<_>>>()?;
        let dst = wanted.iter().map(|_| self.scratch(false)).collect::<Decoded<Vec<_>>>()?;
        let (a, narrow, imm, _) = self.address(address)?;
        if narrow {
            return invalid("a global address must have 64 bits");
        }
        let bytes = (ty.bytes() * count) as u8;
        let target = self.extra(Extra { dst: dst.clone(), b, ..Extra::default() });
        self.reach(atomic::vector, Class::Atomic, |n| {
            (n.a, n.imm, n.aux, n.target, n.bytes) = (a, imm, aux, target, bytes);
        });
        for (d, from) in wanted.into_iter().zip(dst) {
            self.lane(int::MOV_32, Class::Move, |n| (n.d, n.a) = (d, from));
        }
        Ok(())
    }

    pub(super) fn cvta(&mut self, i: &'m Instruction<'a>) -> Decoded<()> {
        let mut mods = Mods::new(i);
        let to = mods.flag("to");
        let space = mods.take(Space::from_name).ok_or(Refusal::Unsupported)?;
        let ty = mods.ty()?;
        mods.finish()?;
        if ty.bits() != 64 {
            return Err(Refusal::Unsupported);
        }
        let [d, a] = operands(i)?;
        let a = self.src(a, ScalarType::B64)?;
        let d = self.dst(d, ScalarType::B64)?;
        let window = match space {
            Space::Global | Space::Const => 0,
            Space::Shared | Space::SharedCluster => SHARED_WINDOW,
            Space::Local => LOCAL_WINDOW,
            Space::Param => PARAM_WINDOW,
            _ => return Err(Refusal::Unsupported),
        };
        if window == 0 {
            self.lane(int::MOV_64, Class::Move, |n| (n.d, n.a) = (d, a));
        } else {
            let b = self.value(window, true);
            let op = if to { int::SUB_64 } else { int::ADD_64 };
            self.lane(op, Class::Integer, |n| (n.d, n.a, n.b) = (d, a, b));
        }
        Ok(())
    }

    pub(super) fn isspacep(&mut self, i: &'m Instruction<'a>) -> Decoded<()> {
        let mut mods = Mods::new(i);
        let space = mods.take(Space::from_name).ok_or(Refusal::Unsupported)?;
        mods.finish()?;
        let [Operand::Name(d), a] = operands(i)? else {
            return invalid("expected a predicate and an address");
        };
        let d = self.dst_pred(d)?;
        let a = self.src(a, ScalarType::B64)?;
        let kind = match space {
            Space::Global => 0,
            Space::Shared | Space::SharedCluster => 1,
            Space::Local => 2,
            Space::Param => 3,
            _ => return Err(Refusal::Unsupported),
        };
        self.reach(memory::is_space, Class::Integer, |n| (n.d, n.a, n.imm) = (d, a, kind));
        Ok(())
    }
}
