//! Which decoder takes an opcode; moves, control flow and warp exchange.

use super::builder::KernelBuilder;
use super::inst::{Action, Barrier, BarrierKind, Class, Control, Inst, MemoryFn, NONE};
use super::{Decoded, Refusal, invalid};
use crate::exec::regs::LaneOp;
use crate::exec::{exchange, int, system};
use crate::parse::{Constant, Instruction, Operand, ScalarType};

/// The modifiers of an instruction that no decoder has looked at yet. What is left at the end is unsupported: a
/// modifier is never ignored by accident.
pub(super) struct Mods<'a> {
    left: Vec<&'a str>,
}

impl<'a> Mods<'a> {
    pub fn new(instruction: &Instruction<'a>) -> Self {
        Mods { left: instruction.modifiers.clone() }
    }

    /// Takes a modifier if it is there.
    pub fn flag(&mut self, name: &str) -> bool {
        match self.left.iter().position(|m| *m == name) {
            Some(k) => {
                self.left.remove(k);
                true
            }
            None => false,
        }
    }

    /// Takes the first modifier that is among `names`.
    pub fn one_of(&mut self, names: &[&str]) -> Option<&'a str> {
        let k = self.left.iter().position(|m| names.contains(m))?;
        Some(self.left.remove(k))
    }

    /// Takes the first modifier that `f` knows.
    pub fn take<T>(&mut self, f: impl Fn(&str) -> Option<T>) -> Option<T> {
        let (k, value) = self.left.iter().enumerate().find_map(|(k, m)| Some((k, f(m)?)))?;
        self.left.remove(k);
        Some(value)
    }

    /// Takes the first type.
    pub fn ty(&mut self) -> Decoded<ScalarType> {
        match self.take(ScalarType::from_name) {
            Some(ty) => Ok(ty),
            None => Err(Refusal::Unsupported),
        }
    }

    /// Refuses what nobody took.
    pub fn finish(self) -> Decoded<()> {
        if self.left.is_empty() { Ok(()) } else { Err(Refusal::Unsupported) }
    }
}

/// `bit` where it is set.
pub(super) fn flag(set: bool, bit: u32) -> u32 {
    if set { bit } else { 0 }
}

/// Exactly `N` operands.
pub(super) fn operands<'i, 'a, const N: usize>(
    instruction: &'i Instruction<'a>,
) -> Decoded<[&'i Operand<'a>; N]> {
    let all: Vec<&Operand<'a>> = instruction.operands.iter().collect();
    let found = all.len();
    all.try_into().map_err(|_| Refusal::Invalid(format!("takes {N} operands, found {found}")))
}

/// The operands of a memory access but for the cache policy that follows them with `.L2::cache_hint`: it changes no value
/// here. It is taken from the modifiers.
pub(super) fn without_policy<'i, 'a>(
    instruction: &'i Instruction<'a>,
    mods: &mut Mods<'a>,
) -> &'i [Operand<'a>] {
    match (mods.flag("L2::cache_hint"), instruction.operands.as_slice()) {
        (true, [others @ .., _]) => others,
        (_, all) => all,
    }
}

impl<'m, 'a> KernelBuilder<'m, 'a> {
    pub(super) fn dispatch(&mut self, i: &'m Instruction<'a>) -> Decoded<()> {
        match i.opcode {
            "mov" => self.mov(i),
            "bra" => self.bra(i),
            "brx" => self.brx(i),
            "call" => self.call(i),
            "ret" => self.plain(i, Control::Return),
            "exit" => self.plain(i, Control::Exit),
            "trap" => self.plain(i, Control::Trap),
            "brkpt" => self.plain(i, Control::Yield),
            "nanosleep" => {
                self.emit(Inst::new(Action::Control(Control::Yield), Class::Control));
                Ok(())
            }
            "barrier" if i.has("cluster") => self.cluster_barrier(i),
            "mapa" | "getctarank" => self.cluster_address(i),
            "bar" | "barrier" => self.barrier(i),
            "shfl" => self.shfl(i),
            "vote" => self.vote(i),
            "match" => self.matching(i),
            "redux" => self.redux(i),
            "activemask" => {
                let [d] = operands(i)?;
                let d = self.dst(d, ScalarType::B32)?;
                self.reach(exchange::activemask, Class::WarpExchange, |n| n.d = d);
                Ok(())
            }
            "elect" => self.elect(i),
            "ld" | "ldu" => self.load(i),
            "st" => self.store(i),
            "atom" | "red" => self.atomic(i),
            "cvta" => self.cvta(i),
            "isspacep" => self.isspacep(i),
            "createpolicy" => self.policy(i),
            "membar" | "fence" => self.fence(i),
            "cp" => self.copy_async(i),
            "mbarrier" => self.mbarrier(i),
            "mma" => self.mma(i),
            "wmma" => self.wmma(i),
            "ldmatrix" | "stmatrix" => self.matrix_move(i),
            "movmatrix" => self.movmatrix(i),
            "prefetch" | "prefetchu" | "applypriority" | "discard" | "pmevent" | "setmaxnreg"
            | "griddepcontrol" => self.hint(i),
            _ => self.alu(i),
        }
    }

    /// Emits a lane-wise instruction.
    pub(super) fn lane(&mut self, op: LaneOp, class: Class, fill: impl FnOnce(&mut Inst)) {
        let mut inst = Inst::new(Action::Lane(op.pick()), class);
        fill(&mut inst);
        self.emit(inst);
    }

    /// Emits an instruction that reaches beyond registers.
    pub(super) fn reach(&mut self, f: MemoryFn, class: Class, fill: impl FnOnce(&mut Inst)) {
        let mut inst = Inst::new(Action::Memory(f), class);
        fill(&mut inst);
        self.emit(inst);
    }

    /// Emits an instruction that waits for the members in row `c`.
    pub(super) fn sync(&mut self, f: MemoryFn, class: Class, fill: impl FnOnce(&mut Inst)) {
        let mut inst = Inst::new(Action::Sync(f), class);
        fill(&mut inst);
        self.emit(inst);
    }

    fn plain(&mut self, i: &Instruction<'a>, control: Control) -> Decoded<()> {
        let mut mods = Mods::new(i);
        mods.flag("uni");
        mods.finish()?;
        self.emit(Inst::new(Action::Control(control), Class::Control));
        Ok(())
    }

    // ---- moves ----

    fn mov(&mut self, i: &Instruction<'a>) -> Decoded<()> {
        let mut mods = Mods::new(i);
        let ty = mods.ty()?;
        mods.finish()?;
        let [d, a] = operands(i)?;
        if ty == ScalarType::Pred {
            return self.mov_pred(d, a);
        }
        if ty == ScalarType::B128 {
            return self.mov_wide(d, a);
        }
        match (d, a) {
            (Operand::Vector(parts), _) => return self.unpack(parts, a, ty),
            (_, Operand::Vector(parts)) => return self.pack(d, parts, ty),
            _ => {}
        }
        if let Operand::Name(name) = a {
            let kind = match *name {
                "%clock" | "%clock_hi" => Some(0),
                "%clock64" => Some(1),
                "%globaltimer" => Some(2),
                "%globaltimer_lo" => Some(0),
                _ => None,
            };
            if let Some(kind) = kind {
                let d = self.dst(d, ty)?;
                if (kind == 0) != (ty.bits() == 32) {
                    return invalid(format!("`{name}` does not have {} bits", ty.bits()));
                }
                self.reach(system::clock, Class::Other, |n| (n.d, n.imm) = (d, kind));
                return Ok(());
            }
            if name.starts_with("%envreg") || name.starts_with("%pm") {
                return Err(Refusal::Unsupported);
            }
        }
        let row = self.src(a, ty)?;
        let d = self.dst(d, ty)?;
        let op = if ty.bits() == 64 { int::MOV_64 } else { int::MOV_32 };
        self.lane(op, Class::Move, |n| (n.d, n.a) = (d, row));
        Ok(())
    }

    fn mov_pred(&mut self, d: &Operand<'a>, a: &Operand<'a>) -> Decoded<()> {
        let Operand::Name(name) = d else { return invalid("expected a destination predicate") };
        let d = self.dst_pred(name)?;
        if let Operand::Constant(Constant::Int(value)) = a {
            let value = i64::from(*value != 0);
            self.lane(int::MOV_PRED, Class::Move, |n| (n.d, n.imm) = (d, value));
            return Ok(());
        }
        if matches!(a, Operand::Name("%is_explicit_cluster")) {
            return self.explicit_cluster(d);
        }
        let (a, negated) = self.pred(a)?;
        self.lane(int::MOV_PRED, Class::Move, |n| {
            (n.d, n.a, n.imm, n.aux) = (d, a, -1, if negated { u32::MAX } else { 0 });
        });
        Ok(())
    }

    fn part_type(total: u32, parts: usize) -> Decoded<(ScalarType, u32)> {
        let bits = total / (parts.max(1) as u32);
        let ty = match bits {
            8 => ScalarType::B8,
            16 => ScalarType::B16,
            32 => ScalarType::B32,
            64 => return Err(Refusal::Unsupported),
            _ => return invalid("a vector does not fill the register"),
        };
        Ok((ty, bits))
    }

    fn unpack(&mut self, parts: &[Operand<'a>], a: &Operand<'a>, ty: ScalarType) -> Decoded<()> {
        let (part, bits) = Self::part_type(ty.bits(), parts.len())?;
        let a = self.src(a, ty)?;
        for (k, operand) in parts.iter().enumerate() {
            if matches!(operand, Operand::Name("_")) {
                continue;
            }
            let (d, dst_bits) = self.dst_any(operand, part)?;
            let flags = u32::from(ty.bits() == 64) | u32::from(dst_bits == 64) << 1;
            let imm = (k as i64 * i64::from(bits)) | i64::from(dst_bits.min(64)) << 8;
            // Taking `dst_bits` from the shifted source would take neighbours too: the field's own width counts.
            let imm = (imm & !0xff00) | i64::from(bits) << 8;
            self.lane(int::PACK, Class::Move, |n| (n.d, n.a, n.imm, n.aux) = (d, a, imm, flags));
        }
        Ok(())
    }

    fn pack(&mut self, d: &Operand<'a>, parts: &[Operand<'a>], ty: ScalarType) -> Decoded<()> {
        let (part, bits) = Self::part_type(ty.bits(), parts.len())?;
        let d = self.dst(d, ty)?;
        let mut rows = Vec::new();
        for operand in parts {
            rows.push(self.src_wide(operand, part)?.0);
        }
        for (k, a) in rows.into_iter().enumerate() {
            let imm = i64::from(bits) << 8 | (k as i64 * i64::from(bits)) << 16;
            let flags = u32::from(ty.bits() == 64) << 1;
            self.lane(int::PACK, Class::Move, |n| (n.d, n.a, n.imm, n.aux) = (d, a, imm, flags));
        }
        Ok(())
    }

    // ---- control flow ----

    fn bra(&mut self, i: &Instruction<'a>) -> Decoded<()> {
        let mut mods = Mods::new(i);
        mods.flag("uni");
        mods.finish()?;
        let [Operand::Name(label)] = operands(i)? else { return invalid("expected a label") };
        let at = self.emit(Inst::new(Action::Control(Control::Branch), Class::Control));
        self.branch_to(at, label);
        Ok(())
    }

    fn brx(&mut self, i: &Instruction<'a>) -> Decoded<()> {
        let mut mods = Mods::new(i);
        mods.flag("idx");
        mods.flag("uni");
        mods.finish()?;
        let [index, Operand::Name(name)] = operands(i)? else {
            return invalid("expected an index and a label list");
        };
        let a = self.src(index, ScalarType::B32)?;
        let table = self.table(name)?;
        let mut inst = Inst::new(Action::Control(Control::BranchIndexed), Class::Control);
        (inst.a, inst.target) = (a, table);
        self.emit(inst);
        Ok(())
    }

    fn call(&mut self, i: &Instruction<'a>) -> Decoded<()> {
        let mut mods = Mods::new(i);
        mods.flag("uni");
        mods.finish()?;
        let mut rest = i.operands.as_slice();
        let mut returns = Vec::new();
        if let [Operand::Group(results), tail @ ..] = rest {
            for result in results {
                returns.push(self.call_param(result)?);
            }
            rest = tail;
        }
        let [Operand::Name(target), tail @ ..] = rest else { return invalid("expected a function") };
        let mut args = Vec::new();
        if let [Operand::Group(given), ..] = tail {
            for arg in given {
                args.push(self.call_param(arg)?);
            }
        }
        let mut inst = Inst::new(Action::Control(Control::Call), Class::Control);
        if self.reg(target).is_some() {
            inst.a = self.src(&Operand::Name(target), ScalarType::B64)?;
            inst.target = self.call_site(None, args, returns);
        } else {
            let super::builder::Place::Function(index) = self.place(target)? else {
                return invalid(format!("`{target}` is not a function"));
            };
            inst.target = self.call_site(Some(index), args, returns);
        }
        self.emit(inst);
        Ok(())
    }

    fn barrier(&mut self, i: &Instruction<'a>) -> Decoded<()> {
        let mut mods = Mods::new(i);
        let aligned = i.opcode == "bar" || mods.flag("aligned");
        mods.flag("cta");
        if mods.flag("warp") {
            mods.flag("sync");
            mods.finish()?;
            let [members] = operands(i)?;
            let c = self.src(members, ScalarType::B32)?;
            let mut inst = Inst::new(Action::Control(Control::WarpSync), Class::Barrier);
            inst.c = c;
            self.emit(inst);
            return Ok(());
        }
        let kind = match mods.one_of(&["sync", "arrive", "red"]) {
            Some("sync") => BarrierKind::Sync,
            Some("arrive") => BarrierKind::Arrive,
            Some(_) => match mods.one_of(&["and", "or", "popc"]) {
                Some("and") => BarrierKind::RedAnd,
                Some("or") => BarrierKind::RedOr,
                Some(_) => BarrierKind::RedPopc,
                None => return Err(Refusal::Unsupported),
            },
            None => return Err(Refusal::Unsupported),
        };
        let mut all = i.operands.iter();
        let mut inst =
            Inst::new(Action::Control(Control::Barrier(Barrier { kind, aligned })), Class::Barrier);
        match kind {
            BarrierKind::RedAnd | BarrierKind::RedOr => {
                mods.flag("pred");
                match all.next() {
                    Some(Operand::Name(name)) => inst.d = self.dst_pred(name)?,
                    _ => return invalid("expected a destination predicate"),
                }
            }
            BarrierKind::RedPopc => {
                mods.flag("u32");
                match all.next() {
                    Some(d) => inst.d = self.dst(d, ScalarType::B32)?,
                    None => return invalid("expected a destination"),
                }
            }
            BarrierKind::Sync | BarrierKind::Arrive => {}
        }
        mods.finish()?;
        let Some(number) = all.next() else { return invalid("expected a barrier number") };
        inst.a = self.src(number, ScalarType::B32)?;
        let mut rest: Vec<_> = all.collect();
        if matches!(kind, BarrierKind::RedAnd | BarrierKind::RedOr | BarrierKind::RedPopc) {
            let Some(pred) = rest.pop() else { return invalid("expected a predicate") };
            let (pred, negated) = self.pred(pred)?;
            (inst.c, inst.aux) = (pred, negated.into());
        }
        if let Some(count) = rest.first() {
            inst.b = self.src(count, ScalarType::B32)?;
        }
        self.emit(inst);
        Ok(())
    }

    // ---- warp exchange ----

    fn shfl(&mut self, i: &Instruction<'a>) -> Decoded<()> {
        let mut mods = Mods::new(i);
        let sync = mods.flag("sync");
        let mode = match mods.one_of(&["up", "down", "bfly", "idx"]) {
            Some("up") => exchange::UP,
            Some("down") => exchange::DOWN,
            Some("bfly") => exchange::BFLY,
            Some(_) => exchange::IDX,
            None => return Err(Refusal::Unsupported),
        };
        mods.flag("b32");
        mods.finish()?;
        let (d, a, b, clamp, members) = match (i.operands.as_slice(), sync) {
            ([d, a, b, clamp, members], true) => (d, a, b, clamp, Some(members)),
            ([d, a, b, clamp], false) => (d, a, b, clamp, None),
            _ => return invalid("wrong number of operands"),
        };
        let (d, pred) = match d {
            Operand::Pair(d, p) => (self.dst(&Operand::Name(d), ScalarType::B32)?, self.dst_pred(p)?),
            other => (self.dst(other, ScalarType::B32)?, NONE),
        };
        let a = self.src(a, ScalarType::B32)?;
        let b = self.src(b, ScalarType::B32)?;
        let clamp = self.src(clamp, ScalarType::B32)?;
        let c = match members {
            Some(members) => self.src(members, ScalarType::B32)?,
            None => NONE,
        };
        self.sync(exchange::shfl(), Class::WarpExchange, |n| {
            (n.d, n.a, n.b, n.c, n.target, n.aux, n.imm) = (d, a, b, c, clamp, pred, mode);
        });
        Ok(())
    }

    fn vote(&mut self, i: &Instruction<'a>) -> Decoded<()> {
        let mut mods = Mods::new(i);
        let sync = mods.flag("sync");
        let kind = match mods.one_of(&["all", "any", "uni", "ballot"]) {
            Some("all") => exchange::ALL,
            Some("any") => exchange::ANY,
            Some("uni") => exchange::UNI,
            Some(_) => exchange::BALLOT,
            None => return Err(Refusal::Unsupported),
        };
        mods.flag("pred");
        mods.flag("b32");
        mods.finish()?;
        let (d, a, members) = match (i.operands.as_slice(), sync) {
            ([d, a, members], true) => (d, a, Some(members)),
            ([d, a], false) => (d, a, None),
            _ => return invalid("wrong number of operands"),
        };
        let (a, negated) = self.pred(a)?;
        let c = match members {
            Some(members) => self.src(members, ScalarType::B32)?,
            None => NONE,
        };
        let d = match d {
            _ if kind == exchange::BALLOT => self.dst(d, ScalarType::B32)?,
            Operand::Name(name) => self.dst_pred(name)?,
            _ => return invalid("expected a destination predicate"),
        };
        self.sync(exchange::vote, Class::WarpExchange, |n| {
            (n.d, n.a, n.c, n.aux, n.imm) = (d, a, c, negated.into(), kind);
        });
        Ok(())
    }

    fn matching(&mut self, i: &Instruction<'a>) -> Decoded<()> {
        let mut mods = Mods::new(i);
        let all = mods.flag("all");
        let any = mods.flag("any");
        mods.flag("sync");
        let ty = mods.ty()?;
        mods.finish()?;
        if all == any {
            return Err(Refusal::Unsupported);
        }
        let [d, a, members] = operands(i)?;
        let (d, pred) = match d {
            Operand::Pair(d, p) => (self.dst(&Operand::Name(d), ScalarType::B32)?, self.dst_pred(p)?),
            other => (self.dst(other, ScalarType::B32)?, NONE),
        };
        let a = self.src(a, ty)?;
        let c = self.src(members, ScalarType::B32)?;
        let wide = u32::from(ty.bits() == 64);
        self.sync(exchange::matching, Class::WarpExchange, |n| {
            (n.d, n.a, n.c, n.aux, n.imm, n.target) = (d, a, c, wide, all.into(), pred);
        });
        Ok(())
    }

    fn redux(&mut self, i: &Instruction<'a>) -> Decoded<()> {
        use exchange::Reduction;
        let mut mods = Mods::new(i);
        mods.flag("sync");
        let op = mods.one_of(&["add", "min", "max", "and", "or", "xor"]).ok_or(Refusal::Unsupported)?;
        let ty = mods.ty()?;
        mods.finish()?;
        let reduction = match (op, ty) {
            ("add", ScalarType::U32 | ScalarType::S32) => Reduction::Add,
            ("min", ScalarType::S32) => Reduction::MinS,
            ("max", ScalarType::S32) => Reduction::MaxS,
            ("min", ScalarType::U32) => Reduction::MinU,
            ("max", ScalarType::U32) => Reduction::MaxU,
            ("and", ScalarType::B32) => Reduction::And,
            ("or", ScalarType::B32) => Reduction::Or,
            ("xor", ScalarType::B32) => Reduction::Xor,
            _ => return Err(Refusal::Unsupported),
        };
        let [d, a, members] = operands(i)?;
        let d = self.dst(d, ty)?;
        let a = self.src(a, ty)?;
        let c = self.src(members, ScalarType::B32)?;
        self.sync(exchange::redux, Class::WarpExchange, |n| {
            (n.d, n.a, n.c, n.imm) = (d, a, c, reduction as i64)
        });
        Ok(())
    }

    fn elect(&mut self, i: &Instruction<'a>) -> Decoded<()> {
        let mut mods = Mods::new(i);
        mods.flag("sync");
        mods.finish()?;
        let [Operand::Pair(d, p), members] = operands(i)? else { return invalid("expected `d|p, members`") };
        let d = if *d == "_" { NONE } else { self.dst(&Operand::Name(d), ScalarType::B32)? };
        let p = self.dst_pred(p)?;
        let c = self.src(members, ScalarType::B32)?;
        self.sync(exchange::elect, Class::WarpExchange, |n| (n.d, n.target, n.c) = (d, p, c));
        Ok(())
    }
}
