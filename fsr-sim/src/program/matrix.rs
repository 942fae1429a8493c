//! Decoding of matrix instructions.

use super::builder::KernelBuilder;
use super::decode::{Mods, operands};
use super::inst::{Class, Extra};
use super::{Decoded, Refusal, invalid};
use crate::exec::matrix::{self, Element, Mma, Tile, registers};
use crate::exec::quad;
use crate::parse::{Instruction, Operand, ScalarType, Space};

/// What sub-byte fragments are moved as.
const U32_WORD: Element = Element::S32;

/// `m16n8k16`
fn shape(name: &str) -> Option<(u32, u32, u32)> {
    let (m, rest) = name.strip_prefix('m')?.split_once('n')?;
    let (n, k) = rest.split_once('k')?;
    Some((m.parse().ok()?, n.parse().ok()?, k.parse().ok()?))
}

/// `.xor.popc`, `.and.popc`: how single bits are joined before they are counted.
fn bits_joined<'a>(mods: &mut Mods<'a>) -> Decoded<Option<&'a str>> {
    let joined = mods.one_of(&["xor", "and"]);
    if mods.flag("popc") == joined.is_some() { Ok(joined) } else { Err(Refusal::Unsupported) }
}

impl<'m, 'a> KernelBuilder<'m, 'a> {
    fn fragment(
        &mut self,
        operand: &Operand<'a>,
        count: u32,
        element: Element,
        write: bool,
    ) -> Decoded<Vec<u32>> {
        let single = std::slice::from_ref(operand);
        let parts = match operand {
            Operand::Vector(parts) => parts.as_slice(),
            _ => single,
        };
        let wanted = registers(count, element.bits());
        if parts.len() as u32 != wanted {
            return invalid(format!("{} registers where {wanted} are needed", parts.len()));
        }
        let ty = if element.bits() == 64 { ScalarType::B64 } else { ScalarType::B32 };
        parts.iter().map(|part| if write { self.dst(part, ty) } else { self.src(part, ty) }).collect()
    }

    pub(super) fn mma(&mut self, i: &'m Instruction<'a>) -> Decoded<()> {
        let mut mods = Mods::new(i);
        if !mods.flag("sync") {
            return Err(Refusal::Unsupported);
        }
        mods.flag("aligned");
        let (m, n, k) = mods.take(shape).ok_or(Refusal::Unsupported)?;
        if (m, n, k) == (8, 8, 4) && i.has("f16") {
            return self.mma_quad(i, mods);
        }
        if !mods.flag("row") || !mods.flag("col") {
            return Err(Refusal::Unsupported);
        }
        let joined = bits_joined(&mut mods)?;
        let sat = mods.flag("satfinite");
        mods.flag("kind::f8f6f4");
        let mut element = || mods.take(Element::from_name).ok_or(Refusal::Unsupported);
        let (d, a, b, c) = (element()?, element()?, element()?, element()?);
        mods.finish()?;
        let mma = Mma { m, n, k, a, b, c, d, sat, wmma: false, xor: joined == Some("xor") };
        use Element::*;
        let known = match (a, m, n, k) {
            (F16, 16, 8, 8 | 16) => a == b && matches!(d, F16 | F32) && matches!(c, F16 | F32),
            (Bf16, 16, 8, 8 | 16) | (Tf32, 16, 8, 4 | 8) => a == b && d == F32 && c == F32,
            (S8 | U8, 16, 8, 16 | 32) | (S8 | U8, 8, 8, 16) => matches!(b, S8 | U8) && d == S32 && c == S32,
            (E4m3 | E5m2, 16, 8, 16 | 32) => matches!(b, E4m3 | E5m2) && matches!(d, F32 | F16) && c == d,
            (F64, 8, 8, 4) | (F64, 16, 8, 4 | 8 | 16) => b == F64 && d == F64 && c == F64,
            (S4 | U4, 8, 8, 32) | (S4 | U4, 16, 8, 32 | 64) => matches!(b, S4 | U4) && d == S32 && c == S32,
            (B1, 8, 8, 128) | (B1, 16, 8, 128 | 256) => b == B1 && d == S32 && c == S32,
            _ => false,
        };
        if !known || (a == B1) != joined.is_some() {
            return Err(Refusal::Unsupported);
        }
        self.multiply(i, mma, matrix::mma())
    }

    fn multiply(&mut self, i: &'m Instruction<'a>, mma: Mma, f: super::MemoryFn) -> Decoded<()> {
        let [d, a, b, c] = operands(i)?;
        let extra = Extra {
            dst: self.fragment(d, mma.c_count(), mma.d, true)?,
            a: self.fragment(a, self.operand_count(&mma, mma.a_count()), mma.a, false)?,
            b: self.fragment(b, self.operand_count(&mma, mma.b_count()), mma.b, false)?,
            c: self.fragment(c, mma.c_count(), mma.c, false)?,
        };
        let target = self.extra(extra);
        let c = self.value(u64::from(u32::MAX), false);
        self.sync(f, Class::Matrix, |n| (n.target, n.imm, n.c) = (target, mma.pack(), c));
        Ok(())
    }

    /// `mma.m8n8k4` of halves: four products at once, of either order.
    fn mma_quad(&mut self, i: &'m Instruction<'a>, mut mods: Mods<'a>) -> Decoded<()> {
        let mut order = || mods.one_of(&["row", "col"]).ok_or(Refusal::Unsupported);
        let (a_order, b_order) = (order()?, order()?);
        let mut element = || mods.take(Element::from_name).ok_or(Refusal::Unsupported);
        let (d, a, b, c) = (element()?, element()?, element()?, element()?);
        mods.finish()?;
        use Element::{F16, F32};
        if (a, b) != (F16, F16) || !matches!((d, c), (F16 | F32, F16) | (F32, F32)) {
            return Err(Refusal::Unsupported);
        }
        let flags = [
            (a_order == "col", quad::A_COLUMNS),
            (b_order == "col", quad::B_COLUMNS),
            (c == F32, quad::C_SINGLE),
            (d == F32, quad::D_SINGLE),
        ];
        let aux = flags.iter().filter(|(set, _)| *set).fold(0, |bits, (_, bit)| bits | bit);
        let [to, left, right, sum] = operands(i)?;
        let extra = Extra {
            dst: self.fragment(to, 8, d, true)?,
            a: self.fragment(left, 4, F16, false)?,
            b: self.fragment(right, 4, F16, false)?,
            c: self.fragment(sum, 8, c, false)?,
        };
        let target = self.extra(extra);
        let members = self.value(u64::from(u32::MAX), false);
        self.sync(quad::mma, Class::Matrix, |n| (n.target, n.aux, n.c) = (target, aux, members));
        Ok(())
    }

    pub(super) fn movmatrix(&mut self, i: &'m Instruction<'a>) -> Decoded<()> {
        let mut mods = Mods::new(i);
        let known = ["sync", "aligned", "m8n8", "trans", "b16"].iter().all(|name| mods.flag(name));
        mods.finish()?;
        if !known {
            return Err(Refusal::Unsupported);
        }
        let [d, a] = operands(i)?;
        let a = self.src(a, ScalarType::B32)?;
        let d = self.dst(d, ScalarType::B32)?;
        let c = self.value(u64::from(u32::MAX), false);
        self.sync(quad::transpose, Class::WarpExchange, |n| (n.d, n.a, n.c) = (d, a, c));
        Ok(())
    }

    /// `wmma` halves are held twice: 16 elements in 8 registers where 8 would be enough.
    fn operand_count(&self, mma: &Mma, count: u32) -> u32 {
        if mma.wmma && mma.a == Element::F16 { 16 } else { count }
    }

    pub(super) fn wmma(&mut self, i: &'m Instruction<'a>) -> Decoded<()> {
        let mut mods = Mods::new(i);
        let action = mods.one_of(&["load", "store", "mma"]).ok_or(Refusal::Unsupported)?;
        let which = mods.one_of(&["a", "b", "c", "d"]);
        mods.flag("sync");
        mods.flag("aligned");
        let (m, n, k) = mods.take(shape).ok_or(Refusal::Unsupported)?;
        use Element::*;
        if action == "mma" {
            // The layouts of A and B are opaque: each fragment was laid out by its own load.
            mods.one_of(&["row", "col"]);
            mods.one_of(&["row", "col"]);
            let joined = bits_joined(&mut mods)?;
            mods.flag("rn");
            let sat = mods.flag("satfinite");
            let mut types = Vec::new();
            while let Some(element) = mods.take(Element::from_name) {
                types.push(element);
            }
            mods.finish()?;
            let (d, a, b, c) = match types.as_slice() {
                [d, c] => (*d, F16, F16, *c),
                [d, a, b, c] => (*d, *a, *b, *c),
                _ => return Err(Refusal::Unsupported),
            };
            let known = match (a, k) {
                (F16 | Bf16 | S8 | U8, 16) | (Tf32, 8) => m * n == 256,
                (F64, 4) | (S4 | U4, 32) | (B1, 128) => (m, n) == (8, 8),
                _ => false,
            };
            let types = match a {
                F16 => matches!(d, F16 | F32) && matches!(c, F16 | F32),
                Bf16 | Tf32 => (d, c) == (F32, F32),
                F64 => (d, c) == (F64, F64),
                _ => (d, c) == (S32, S32),
            };
            if !known || !types || a != b || (a == B1) != joined.is_some() {
                return Err(Refusal::Unsupported);
            }
            let xor = joined == Some("xor");
            return self.multiply(i, Mma { m, n, k, a, b, c, d, sat, wmma: true, xor }, matrix::mma());
        }
        let row_major = match mods.one_of(&["row", "col"]) {
            Some("row") => true,
            Some(_) => false,
            None => return Err(Refusal::Unsupported),
        };
        let space = mods.take(Space::from_name).unwrap_or(Space::Generic);
        let element = mods.take(Element::from_name).ok_or(Refusal::Unsupported)?;
        mods.finish()?;
        if !matches!(space, Space::Generic | Space::Shared | Space::Global) {
            return Err(Refusal::Unsupported);
        }
        let (rows, columns) = match which {
            Some("a") => (m, k),
            Some("b") => (k, n),
            Some(_) => (m, n),
            None => return Err(Refusal::Unsupported),
        };
        let load = action == "load";
        let (fragment, address, stride) = match (i.operands.as_slice(), load) {
            ([fragment, address, rest @ ..], true) | ([address, fragment, rest @ ..], false) => {
                (fragment, address, rest.first())
            }
            _ => return invalid("too few operands"),
        };
        // Rows of A and columns of B in words, which hold 32 bits of them each.
        let packed = if element.bits() < 8 { (32 / element.bits()).ilog2() } else { 0 };
        let (rows, columns, row_major, element) = match (packed, which, row_major) {
            (0, _, _) => (rows, columns, row_major, element),
            (_, Some("a"), true) => (rows, columns >> packed, true, U32_WORD),
            (_, Some("b"), false) => (columns, rows >> packed, true, U32_WORD),
            _ => return Err(Refusal::Unsupported),
        };
        let natural = if row_major { columns << packed } else { rows };
        let count = if which.is_some_and(|w| w == "a" || w == "b") && element == F16 {
            16
        } else {
            rows * columns / 32
        };
        let list = self.fragment(fragment, count, element, load)?;
        let (a, narrow, imm, _) = self.address(address)?;
        let b = match stride {
            Some(stride) => self.src(stride, ScalarType::B32)?,
            None => self.value(natural.into(), false),
        };
        let aux = Tile { rows, columns, element, row_major, space, narrow, packed }.pack();
        let target = self.extra(Extra { dst: list, ..Extra::default() });
        let f = if load { matrix::wmma_load() } else { matrix::wmma_store };
        let class = match (load, space) {
            (true, Space::Shared) => Class::LoadShared,
            (false, Space::Shared) => Class::StoreShared,
            (true, _) => Class::LoadGlobal,
            (false, _) => Class::StoreGlobal,
        };
        let bytes = (rows * columns * element.bits() / 8 / 32) as u8;
        let c = self.value(u64::from(u32::MAX), false);
        self.sync(f, class, |n| {
            (n.a, n.b, n.c, n.imm, n.aux, n.target, n.bytes) = (a, b, c, imm, aux, target, bytes);
        });
        Ok(())
    }

    pub(super) fn matrix_move(&mut self, i: &'m Instruction<'a>) -> Decoded<()> {
        let mut mods = Mods::new(i);
        mods.flag("sync");
        mods.flag("aligned");
        if !mods.flag("m8n8") {
            return Err(Refusal::Unsupported);
        }
        let count = match mods.one_of(&["x1", "x2", "x4"]) {
            Some("x1") => 1,
            Some("x2") => 2,
            Some(_) => 4,
            None => return Err(Refusal::Unsupported),
        };
        let transposed = mods.flag("trans");
        let space = mods.take(Space::from_name).unwrap_or(Space::Generic);
        mods.flag("b16");
        mods.finish()?;
        let [first, second] = operands(i)?;
        let load = i.opcode == "ldmatrix";
        let (fragment, address) = if load { (first, second) } else { (second, first) };
        let list = self.fragment(fragment, count, Element::F32, load)?;
        let list =
            if list.len() == count as usize { list } else { return invalid("wrong number of registers") };
        let (a, narrow, imm, _) = self.address(address)?;
        let aux = u32::from(transposed) | u32::from(narrow) << 1 | u32::from(space == Space::Generic) << 2;
        let target = self.extra(Extra { dst: list, ..Extra::default() });
        let (f, class): (super::MemoryFn, _) =
            if load { (matrix::ldmatrix, Class::LoadShared) } else { (matrix::stmatrix, Class::StoreShared) };
        let c = self.value(u64::from(u32::MAX), false);
        self.sync(f, class, |n| {
            (n.a, n.c, n.imm, n.aux, n.target, n.bytes) = (a, c, imm, aux, target, (count * 4) as u8);
        });
        Ok(())
    }
}
