//! Names to rows: scopes, registers, variables, frames, and the code that grows.

use super::inst::{
    Action, Body, Builtin, CallSite, Callee, Class, Control, Extra, Inst, NONE, Origin, Param,
};
use super::inst::{Special, Uniform};
use super::module::{ModuleScope, ModuleSymbol, bits};
use super::{Decoded, Kernel, Refusal, Unsupported, invalid};
use crate::exec::FUNCTION_TAG;
use crate::parse::{
    self, Constant, Function, FunctionKind, Location, Operand, ParseError, Pos, ScalarType, Space, Statement,
};
use std::collections::{HashMap, HashSet};

/// Most registers that a kernel may declare.
const MOST_ROWS: u32 = 1 << 20;

/// A register.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Reg {
    Pred(u32),
    /// Row and width: 8, 16, 32 or 64 bits.
    Row(u32, u32),
    /// 128 bits: nothing takes it here.
    Wide,
}

/// Where a variable of a function is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Place {
    /// Module variable by index.
    Global(u32),
    /// Offset in shared memory.
    Shared(u32),
    /// The dynamic part of shared memory.
    DynamicShared,
    /// Offset in the function's frame in local memory; `param` tells parameters from local variables.
    Frame(u32, bool),
    /// Offset in the kernel's parameters.
    EntryParam(u32),
    /// A function, by index in the kernel.
    Function(u32),
}

#[derive(Default)]
struct Scope<'a> {
    parent: Option<usize>,
    regs: HashMap<&'a str, Reg>,
    /// `%r<5>`: prefix to type, first index in `families`.
    families: HashMap<&'a str, (ScalarType, Vec<Reg>)>,
    places: HashMap<&'a str, (Place, Pos)>,
    labels: HashMap<&'a str, u32>,
    tables: HashMap<&'a str, Vec<&'a str>>,
}

enum Fixup<'a> {
    Branch { inst: usize, scope: usize, label: &'a str, pos: Pos },
    Table { table: usize, scope: usize, labels: Vec<&'a str>, pos: Pos },
}

pub(super) struct KernelBuilder<'m, 'a> {
    pub scope: &'m ModuleScope<'m, 'a>,
    pub kernel: Kernel,
    uniforms: HashMap<(Uniform, bool), u32>,
    functions: Vec<&'m Function<'a>>,
    function_of: HashMap<&'a str, u32>,
    shared_of: HashMap<&'a str, Place>,
    /// Calls between functions (`NONE`: the entry), for finding recursion.
    edges: Vec<(u32, u32)>,
    indirect: Vec<u32>,
    taken: HashSet<u32>,
    names: HashMap<String, u32>,
    // The function in progress:
    scopes: Vec<Scope<'a>>,
    at: usize,
    frame: u32,
    /// Sizes of the frame's variables by offset.
    frame_sizes: HashMap<u32, u32>,
    current: u32,
    is_entry: bool,
    fixups: Vec<Fixup<'a>>,
    location: Option<Location>,
    /// The function's locations so far, each with the one that is told for it.
    told: HashMap<(u32, u32, u32), Location>,
    pos: Pos,
    name: u32,
    guard: (u16, u32),
    carry: Option<u32>,
}

impl<'m, 'a> KernelBuilder<'m, 'a> {
    /// Decodes an entry and all functions that it reaches.
    pub fn decode(scope: &'m ModuleScope<'m, 'a>, entry: &'m Function<'a>) -> Result<Kernel, ParseError> {
        let numbers =
            |name: &str| entry.directives.iter().find(|(n, _)| *n == name).map(|(_, v)| v.as_slice());
        let product =
            |v: &[u64]| v.iter().fold(1u64, |a, b| a.saturating_mul(*b)).min(u32::MAX.into()) as u32;
        let required = numbers("reqntid").map(|v| {
            let axis = |k: usize| v.get(k).copied().unwrap_or(1).min(u32::MAX.into()) as u32;
            [axis(0), axis(1), axis(2)]
        });
        let mut builder = KernelBuilder {
            scope,
            kernel: Kernel {
                name: entry.name.to_owned(),
                code: Vec::new(),
                origins: Vec::new(),
                name_of: Vec::new(),
                names: vec![String::new()],
                extras: Vec::new(),
                tables: Vec::new(),
                calls: Vec::new(),
                functions: Vec::new(),
                rows: 0,
                preds: 1,
                uniforms: Vec::new(),
                params: Vec::new(),
                param_bytes: 0,
                static_shared: 0,
                dynamic_align: 1,
                entry_frame: 0,
                frame_row: None,
                max_threads: numbers("maxntid").map(product),
                required_block: required,
                local_bytes: 0,
                declared_registers: 0,
                unsupported: Vec::new(),
                synchronises: false,
            },
            uniforms: HashMap::new(),
            functions: Vec::new(),
            function_of: HashMap::new(),
            shared_of: HashMap::new(),
            edges: Vec::new(),
            indirect: Vec::new(),
            taken: HashSet::new(),
            names: HashMap::new(),
            scopes: Vec::new(),
            at: 0,
            frame: 0,
            frame_sizes: HashMap::new(),
            current: NONE,
            is_entry: true,
            fixups: Vec::new(),
            location: None,
            told: HashMap::new(),
            pos: entry.pos,
            name: 0,
            guard: (0, 0),
            carry: None,
        };
        builder.function(entry)?;
        builder.kernel.entry_frame = builder.frame;
        let mut next = 0;
        while next < builder.functions.len() {
            let function = builder.functions[next];
            builder.current = next as u32;
            builder.callee(next, function)?;
            next += 1;
        }
        builder.finish();
        Ok(builder.kernel)
    }

    fn callee(&mut self, index: usize, function: &'m Function<'a>) -> Result<(), ParseError> {
        if function.body.is_none() {
            return Ok(());
        }
        self.is_entry = false;
        let (rows, preds) = (self.kernel.rows, self.kernel.preds);
        let entry = self.kernel.code.len() as u32;
        self.function(function)?;
        let frame = self.frame;
        let (end_rows, end_preds) = (self.kernel.rows, self.kernel.preds);
        let place = |builder: &Self, variable: &parse::Variable<'_>| match builder.scopes[0]
            .places
            .get(variable.name)
        {
            Some((Place::Frame(offset, _), _)) => {
                Param { offset: *offset, size: variable.bytes().unwrap_or(0) as u32 }
            }
            _ => Param { offset: 0, size: 0 },
        };
        let params = function.params.iter().map(|p| place(self, p)).collect();
        let returns = function.returns.iter().map(|p| place(self, p)).collect();
        let callee = &mut self.kernel.functions[index];
        callee.body = Body::Code(entry);
        callee.params = params;
        callee.returns = returns;
        callee.frame = frame;
        callee.rows = rows..end_rows;
        callee.preds = preds..end_preds;
        Ok(())
    }

    /// Finds recursion and what is missing.
    fn finish(&mut self) {
        let taken: Vec<u32> = self.taken.iter().copied().collect();
        for caller in std::mem::take(&mut self.indirect) {
            self.edges.extend(taken.iter().map(|callee| (caller, *callee)));
        }
        // Rows of uniforms lie among a function's own: saving and restoring those is harmless, for they never change;
        // the frame base does, and is kept out by being allocated before everything else.
        for start in 0..self.kernel.functions.len() as u32 {
            let mut seen = HashSet::new();
            let mut open = vec![start];
            while let Some(at) = open.pop() {
                for (_, callee) in self.edges.iter().filter(|(caller, _)| *caller == at) {
                    if seen.insert(*callee) {
                        open.push(*callee);
                    }
                }
            }
            self.kernel.functions[start as usize].recursive = seen.contains(&start);
        }
        for function in &self.kernel.functions {
            if function.body == Body::Missing {
                self.kernel
                    .unsupported
                    .push(Unsupported { instruction: format!("call {}", function.name), line: 0 });
            }
        }
        self.kernel.local_bytes = self.kernel.entry_frame;
    }

    // ---- one function ----

    fn function(&mut self, function: &'m Function<'a>) -> Result<(), ParseError> {
        self.scopes = vec![Scope::default()];
        self.frame = 0;
        self.frame_sizes.clear();
        self.fixups.clear();
        self.location = None;
        self.told.clear();
        self.carry = None;
        self.pos = function.pos;
        if function.kind == FunctionKind::Entry {
            self.entry_params(function)?;
        } else {
            self.frame_row();
            for variable in function.returns.iter().chain(&function.params) {
                if variable.space == Space::Reg {
                    // Old-style register parameters.
                    self.unsupported_here("call with register parameters", function.pos);
                    let reg = self.register(variable.ty).map_err(|m| ParseError::new(variable.pos, m))?;
                    self.scopes[0].regs.insert(variable.name, reg);
                } else {
                    self.frame_variable(0, variable)?;
                }
            }
        }
        let body = function.body.as_deref().unwrap_or(&[]);
        let opened = self.declare(body)?;
        self.at = 0;
        let mut opens = opened.iter();
        for statement in body {
            match statement {
                Statement::Open => self.at = *opens.next().unwrap_or(&0),
                Statement::Close => self.at = self.scopes[self.at].parent.unwrap_or(0),
                Statement::Label(_, name) => {
                    let here = self.kernel.code.len() as u32;
                    self.scopes[self.at].labels.insert(name, here);
                }
                Statement::Location(location) => self.locate(*location),
                Statement::Instruction(instruction) => self.instruction(instruction)?,
                _ => {}
            }
        }
        self.pos = function.pos;
        self.name = self.intern("ret");
        self.guard = (0, 0);
        self.emit(Inst::new(Action::Control(Control::Return), Class::Control));
        self.resolve()
    }

    fn entry_params(&mut self, function: &'m Function<'a>) -> Result<(), ParseError> {
        let mut at = 0u32;
        for param in &function.params {
            let size = param.bytes().and_then(|b| u32::try_from(b).ok()).filter(|b| *b <= 1 << 16);
            let Some(size) = size else {
                return Err(ParseError::new(param.pos, format!("parameter `{}` is too large", param.name)));
            };
            at = at.next_multiple_of(param.alignment());
            self.kernel.params.push(Param { offset: at, size });
            self.scopes[0].places.insert(param.name, (Place::EntryParam(at), param.pos));
            at += size;
        }
        self.kernel.param_bytes = at;
        Ok(())
    }

    fn frame_variable(&mut self, scope: usize, variable: &parse::Variable<'a>) -> Result<(), ParseError> {
        let size = variable.bytes().and_then(|b| u32::try_from(b).ok()).filter(|b| *b <= 512 << 10);
        let Some(size) = size else {
            return Err(ParseError::new(
                variable.pos,
                format!("`{}` is too large for local memory", variable.name),
            ));
        };
        let offset = self.frame.next_multiple_of(variable.alignment());
        self.frame = (offset + size).next_multiple_of(16);
        self.frame_sizes.insert(offset, size);
        let place = Place::Frame(offset, variable.space == Space::Param);
        self.scopes[scope].places.insert(variable.name, (place, variable.pos));
        Ok(())
    }

    /// First pass: scopes, registers, variables. Gives the scope of each `{` in order.
    fn declare(&mut self, body: &'m [Statement<'a>]) -> Result<Vec<usize>, ParseError> {
        let mut opened = Vec::new();
        let mut at = 0;
        for statement in body {
            match statement {
                Statement::Open => {
                    self.scopes.push(Scope { parent: Some(at), ..Scope::default() });
                    at = self.scopes.len() - 1;
                    opened.push(at);
                }
                Statement::Close => at = self.scopes[at].parent.unwrap_or(0),
                Statement::Registers(declaration) => {
                    if declaration.vector != 1 {
                        return Err(ParseError::new(declaration.pos, "vector registers are not supported"));
                    }
                    for names in &declaration.names {
                        let count = names.count.unwrap_or(1);
                        if count > MOST_ROWS {
                            return Err(ParseError::new(declaration.pos, "too many registers"));
                        }
                        let mut regs = Vec::new();
                        for _ in 0..count {
                            regs.push(
                                self.register(declaration.ty)
                                    .map_err(|m| ParseError::new(declaration.pos, m))?,
                            );
                        }
                        match names.count {
                            Some(_) => {
                                self.scopes[at].families.insert(names.name, (declaration.ty, regs));
                            }
                            None => {
                                self.scopes[at].regs.insert(names.name, regs[0]);
                            }
                        }
                    }
                }
                Statement::Variable(variable) => match variable.space {
                    Space::Local | Space::Param => self.frame_variable(at, variable)?,
                    Space::Shared => {
                        let place = self.shared_variable(variable)?;
                        self.scopes[at].places.insert(variable.name, (place, variable.pos));
                    }
                    other => {
                        let message = format!("a variable in .{} space within a function", other.name());
                        return Err(ParseError::new(variable.pos, message));
                    }
                },
                Statement::BranchTargets(name, labels) => {
                    self.scopes[at].tables.insert(name, labels.clone());
                }
                _ => {}
            }
        }
        Ok(opened)
    }

    fn shared_variable(&mut self, variable: &parse::Variable<'a>) -> Result<Place, ParseError> {
        match variable.bytes() {
            Some(bytes) if bytes > 0 => {
                let at = self.kernel.static_shared.next_multiple_of(variable.alignment());
                let end = u64::from(at) + bytes;
                // The launch compares with the device; here only absurd sizes are refused.
                if end > 16 << 20 {
                    let message = format!("`{}` is too large for shared memory", variable.name);
                    return Err(ParseError::new(variable.pos, message));
                }
                self.kernel.static_shared = end as u32;
                Ok(Place::Shared(at))
            }
            _ => {
                self.kernel.dynamic_align = self.kernel.dynamic_align.max(variable.alignment().max(16));
                Ok(Place::DynamicShared)
            }
        }
    }

    fn resolve(&mut self) -> Result<(), ParseError> {
        for fixup in std::mem::take(&mut self.fixups) {
            match fixup {
                Fixup::Branch { inst, scope, label, pos } => {
                    self.kernel.code[inst].target = self.label(scope, label, pos)?;
                }
                Fixup::Table { table, scope, labels, pos } => {
                    self.kernel.tables[table] =
                        labels.iter().map(|l| self.label(scope, l, pos)).collect::<Result<_, _>>()?;
                }
            }
        }
        Ok(())
    }

    fn label(&self, scope: usize, label: &str, pos: Pos) -> Result<u32, ParseError> {
        self.chain(scope)
            .find_map(|s| s.labels.get(label).copied())
            .ok_or_else(|| ParseError::new(pos, format!("unknown label `{label}`")))
    }

    fn chain(&self, from: usize) -> impl Iterator<Item = &Scope<'a>> {
        let mut next = Some(from);
        std::iter::from_fn(move || {
            let scope = &self.scopes[next?];
            next = scope.parent;
            Some(scope)
        })
    }

    fn register(&mut self, ty: ScalarType) -> Result<Reg, String> {
        if ty == ScalarType::Pred {
            if self.kernel.preds >= u32::from(u16::MAX) {
                return Err("too many predicates".to_owned());
            }
            self.kernel.preds += 1;
            return Ok(Reg::Pred(self.kernel.preds - 1));
        }
        let bits = ty.bits();
        if bits == 128 {
            return Ok(Reg::Wide);
        }
        self.kernel.declared_registers += bits.div_ceil(32);
        let wide = bits == 64;
        let row = self.allocate(wide).ok_or_else(|| "too many registers".to_owned())?;
        Ok(Reg::Row(row, bits))
    }

    fn allocate(&mut self, wide: bool) -> Option<u32> {
        let row = if wide { self.kernel.rows.next_multiple_of(2) } else { self.kernel.rows };
        let end = row + if wide { 2 } else { 1 };
        if end > MOST_ROWS {
            return None;
        }
        self.kernel.rows = end;
        Some(row)
    }

    /// A row for a result that nobody reads, or between two instructions.
    pub fn scratch(&mut self, wide: bool) -> Decoded<u32> {
        self.allocate(wide).ok_or_else(|| Refusal::Invalid("too many registers".to_owned()))
    }

    /// The carry flag of `add.cc` and its kin.
    pub fn carry(&mut self) -> u32 {
        *self.carry.get_or_insert_with(|| {
            self.kernel.preds += 1;
            self.kernel.preds - 1
        })
    }

    // ---- code ----

    fn intern(&mut self, name: &str) -> u32 {
        if let Some(index) = self.names.get(name) {
            return *index;
        }
        let index = self.kernel.names.len() as u32;
        self.kernel.names.push(name.to_owned());
        self.names.insert(name.to_owned(), index);
        index
    }

    /// Within an inlined function of another file (a header of the toolkit, most often), the line that called it is
    /// told instead.
    fn locate(&mut self, location: Location) {
        let caller = location.inlined_at.and_then(|at| self.told.get(&at)).copied();
        let told = caller.filter(|caller| caller.file != location.file).unwrap_or(location);
        self.told.insert((location.file, location.line, location.column), told);
        self.location = Some(told);
    }

    pub fn emit(&mut self, mut inst: Inst) -> usize {
        (inst.guard, inst.invert) = self.guard;
        self.kernel.code.push(inst);
        self.kernel.origins.push(Origin { pos: self.pos, source: self.location });
        self.kernel.name_of.push(self.name);
        self.kernel.code.len() - 1
    }

    pub fn extra(&mut self, extra: Extra) -> u32 {
        self.kernel.extras.push(extra);
        self.kernel.extras.len() as u32 - 1
    }

    pub fn branch_to(&mut self, inst: usize, label: &'a str) {
        self.fixups.push(Fixup::Branch { inst, scope: self.at, label, pos: self.pos });
    }

    /// A table of the labels that `.branchtargets` lists under a name.
    pub fn table(&mut self, name: &str) -> Decoded<u32> {
        let Some(labels) = self.chain(self.at).find_map(|s| s.tables.get(name).cloned()) else {
            return invalid(format!("unknown branch targets `{name}`"));
        };
        self.kernel.tables.push(Vec::new());
        let table = self.kernel.tables.len() - 1;
        self.fixups.push(Fixup::Table { table, scope: self.at, labels, pos: self.pos });
        Ok(table as u32)
    }

    pub fn unsupported_here(&mut self, instruction: &str, pos: Pos) {
        self.kernel.unsupported.push(Unsupported { instruction: instruction.to_owned(), line: pos.line });
    }

    fn instruction(&mut self, instruction: &'m parse::Instruction<'a>) -> Result<(), ParseError> {
        self.pos = instruction.pos;
        let full = instruction.full_name();
        self.name = self.intern(&full);
        let before = self.kernel.code.len();
        let done = self.decode_guard(instruction).and_then(|()| self.dispatch(instruction));
        if let Err(refusal) = done {
            let refusal = match refusal {
                Refusal::Invalid(message) => Refusal::Invalid(format!("{full}: {message}")),
                other => other,
            };
            refusal.at(instruction.pos)?;
            self.kernel.code.truncate(before);
            self.kernel.origins.truncate(before);
            self.kernel.name_of.truncate(before);
            self.emit(Inst::new(Action::Memory(crate::exec::memory::unsupported), Class::Other));
            self.unsupported_here(&full, instruction.pos);
        }
        Ok(())
    }

    fn decode_guard(&mut self, instruction: &parse::Instruction<'a>) -> Decoded<()> {
        self.guard = (0, 0);
        if let Some(guard) = instruction.guard {
            let index = self.pred_name(guard.name)?;
            self.guard = (index as u16, if guard.negated { u32::MAX } else { 0 });
        }
        Ok(())
    }

    /// Runs `emit` without the guard: for parts of an instruction that must not depend on it.
    pub fn frame_row(&mut self) -> u32 {
        if let Some(row) = self.kernel.frame_row {
            return row;
        }
        let row = self.uniform(Uniform::Special(Special::FrameBase), true);
        self.kernel.frame_row = Some(row);
        row
    }

    // ---- operands ----

    pub fn reg(&self, name: &str) -> Option<Reg> {
        for scope in self.chain(self.at) {
            if let Some(reg) = scope.regs.get(name) {
                return Some(*reg);
            }
            let prefix = name.trim_end_matches(|c: char| c.is_ascii_digit());
            if prefix.len() < name.len()
                && let Some((_, family)) = scope.families.get(prefix)
            {
                let digits = &name[prefix.len()..];
                // `%r01` is not `%r1`.
                if digits.len() == 1 || !digits.starts_with('0') {
                    return digits.parse::<usize>().ok().and_then(|k| family.get(k).copied());
                }
            }
        }
        None
    }

    pub fn pred_name(&self, name: &str) -> Decoded<u32> {
        match self.reg(name) {
            Some(Reg::Pred(index)) => Ok(index),
            Some(_) => invalid(format!("`{name}` is not a predicate")),
            None => invalid(format!("unknown register `{name}`")),
        }
    }

    /// A source predicate: its index, and whether it is negated.
    pub fn pred(&self, operand: &Operand<'a>) -> Decoded<(u32, bool)> {
        match operand {
            Operand::Name(name) => Ok((self.pred_name(name)?, false)),
            Operand::Not(name) => Ok((self.pred_name(name)?, true)),
            // Predicate 0 is always true.
            Operand::Constant(Constant::Int(value)) => Ok((0, *value == 0)),
            _ => invalid("expected a predicate"),
        }
    }

    /// A destination predicate; `_` is predicate 0, which nothing changes.
    pub fn dst_pred(&self, name: &str) -> Decoded<u32> {
        if name == "_" { Ok(0) } else { self.pred_name(name) }
    }

    pub fn uniform(&mut self, uniform: Uniform, wide: bool) -> u32 {
        if let Some(row) = self.uniforms.get(&(uniform, wide)) {
            return *row;
        }
        let row = self.allocate(wide).unwrap_or(0);
        self.kernel.uniforms.push((row, wide, uniform));
        self.uniforms.insert((uniform, wide), row);
        row
    }

    pub fn value(&mut self, bits: u64, wide: bool) -> u32 {
        self.uniform(Uniform::Value(bits), wide)
    }

    /// The row of a source operand of a type.
    pub fn src(&mut self, operand: &Operand<'a>, ty: ScalarType) -> Decoded<u32> {
        let bits = ty.bits();
        self.source(operand, ty, bits..=bits)
    }

    /// As `src`, where the register may be wider than the type.
    pub fn src_wide(&mut self, operand: &Operand<'a>, ty: ScalarType) -> Decoded<(u32, u32)> {
        if let Operand::Name(name) = operand
            && let Some(Reg::Row(row, bits)) = self.reg(name)
        {
            if bits < ty.bits() {
                return invalid(format!("`{name}` has {bits} bits, fewer than its type"));
            }
            return Ok((row, bits));
        }
        let bits = ty.bits();
        let row = self.source(operand, ty, bits..=bits)?;
        Ok((row, if bits == 64 { 64 } else { 32 }))
    }

    fn source(
        &mut self,
        operand: &Operand<'a>,
        ty: ScalarType,
        accepted: std::ops::RangeInclusive<u32>,
    ) -> Decoded<u32> {
        let wide = ty.bits() == 64;
        match operand {
            Operand::Name(name) => {
                match self.reg(name) {
                    Some(Reg::Row(row, bits)) if accepted.contains(&bits) => return Ok(row),
                    Some(Reg::Row(_, bits)) => {
                        return invalid(format!("`{name}` has {bits} bits where {} are needed", ty.bits()));
                    }
                    Some(Reg::Pred(_)) => return invalid(format!("`{name}` is a predicate")),
                    Some(Reg::Wide) => return Err(Refusal::Unsupported),
                    None => {}
                }
                if let Some(uniform) = special(name, None) {
                    return Ok(self.uniform(uniform, wide));
                }
                self.symbol_address(name, 0, wide)
            }
            Operand::Offset(name, offset) => self.symbol_address(name, *offset, wide),
            Operand::Component(name, axis) => match special(name, Some(axis)) {
                Some(uniform) => Ok(self.uniform(uniform, wide)),
                None => invalid(format!("unknown register `{name}.{axis}`")),
            },
            Operand::Constant(constant) => {
                let Some(raw) = bits(*constant, ty) else {
                    return invalid("a constant does not fit the instruction's type");
                };
                let raw = if wide { raw } else { raw & (u64::MAX >> (64 - ty.bits().max(1))) };
                Ok(self.value(raw, wide))
            }
            _ => invalid("expected a register or a constant"),
        }
    }

    /// A row with a variable's address in its own space.
    fn symbol_address(&mut self, name: &str, offset: i64, wide: bool) -> Decoded<u32> {
        match self.place(name)? {
            Place::Global(index) => Ok(self.uniform(Uniform::Symbol(index, offset), wide)),
            Place::Shared(at) | Place::EntryParam(at) => {
                Ok(self.value((i64::from(at) + offset) as u64, wide))
            }
            Place::DynamicShared => {
                let row = self.uniform(Uniform::Special(Special::DynamicShared), wide);
                self.add_constant(row, offset, wide)
            }
            Place::Frame(at, _) => {
                let offset = i64::from(at) + offset;
                if self.is_entry || !wide {
                    return Ok(self.value(offset as u64, wide));
                }
                let base = self.frame_row();
                self.add_constant(base, offset, true)
            }
            Place::Function(index) => {
                self.taken.insert(index);
                let handle = self.kernel.functions[index as usize].handle;
                Ok(self.value(FUNCTION_TAG + u64::from(handle), wide))
            }
        }
    }

    fn add_constant(&mut self, row: u32, offset: i64, wide: bool) -> Decoded<u32> {
        if offset == 0 {
            return Ok(row);
        }
        let out = self.scratch(wide)?;
        let b = self.value(offset as u64, wide);
        let op = if wide { crate::exec::int::ADD_64 } else { crate::exec::int::ADD_32 };
        let mut inst = Inst::new(Action::Lane(op.pick()), Class::Integer);
        (inst.d, inst.a, inst.b) = (out, row, b);
        self.emit(inst);
        Ok(out)
    }

    /// What a variable's or function's name stands for.
    pub fn place(&mut self, name: &str) -> Decoded<Place> {
        if let Some((place, _)) = self.chain(self.at).find_map(|s| s.places.get(name).copied()) {
            return Ok(place);
        }
        if let Some(place) = self.shared_of.get(name) {
            return Ok(*place);
        }
        match self.scope.symbols.get_key_value(name) {
            Some((_, ModuleSymbol::Variable(index))) => Ok(Place::Global(*index)),
            Some((key, ModuleSymbol::Shared(k))) => {
                let place = self
                    .shared_variable(&self.scope.module.variables[*k])
                    .map_err(|e| Refusal::Invalid(e.message))?;
                self.shared_of.insert(key, place);
                Ok(place)
            }
            Some((key, ModuleSymbol::Function(k))) => Ok(Place::Function(self.function_index(key, *k))),
            Some((_, ModuleSymbol::Opaque)) => Err(Refusal::Unsupported),
            None => invalid(format!("unknown name `{name}`")),
        }
    }

    fn function_index(&mut self, name: &'a str, place: usize) -> u32 {
        let function = &self.scope.module.functions[place];
        if let Some(index) = self.function_of.get(name) {
            return *index;
        }
        let builtin = match name {
            "vprintf" => Some(Builtin::Vprintf),
            "__assertfail" => Some(Builtin::AssertFail),
            "malloc" => Some(Builtin::Malloc),
            "free" => Some(Builtin::Free),
            _ => None,
        };
        let body = match builtin {
            Some(Builtin::Malloc | Builtin::Free) | None => Body::Missing,
            Some(builtin) => Body::Builtin(builtin),
        };
        let index = self.functions.len() as u32;
        self.functions.push(function);
        self.function_of.insert(name, index);
        self.kernel.functions.push(Callee {
            name: name.to_owned(),
            handle: place as u32,
            body,
            params: Vec::new(),
            returns: Vec::new(),
            frame: 0,
            rows: 0..0,
            preds: 0..0,
            recursive: false,
        });
        index
    }

    pub fn is_entry(&self) -> bool {
        self.is_entry
    }

    /// A destination register of exactly the type's width; `_` is a scratch row.
    pub fn dst(&mut self, operand: &Operand<'a>, ty: ScalarType) -> Decoded<u32> {
        let (row, bits) = self.dst_any(operand, ty)?;
        if bits != ty.bits() {
            return invalid(format!("the destination has {bits} bits where {} are needed", ty.bits()));
        }
        Ok(row)
    }

    /// A destination register at least as wide as the type: row and bits.
    pub fn dst_any(&mut self, operand: &Operand<'a>, ty: ScalarType) -> Decoded<(u32, u32)> {
        match operand {
            Operand::Name("_") => Ok((self.scratch(ty.bits() == 64)?, ty.bits())),
            Operand::Name(name) => match self.reg(name) {
                Some(Reg::Row(row, bits)) if bits >= ty.bits() || bits == 8 => Ok((row, bits)),
                Some(Reg::Row(_, bits)) => {
                    invalid(format!("`{name}` has {bits} bits, fewer than the result's {}", ty.bits()))
                }
                Some(Reg::Pred(_)) => invalid(format!("`{name}` is a predicate")),
                Some(Reg::Wide) => Err(Refusal::Unsupported),
                None => invalid(format!("unknown register `{name}`")),
            },
            _ => invalid("expected a destination register"),
        }
    }

    /// `[base+offset]`: row, whether it is 32 bits wide, offset, and the place where a name was given.
    pub fn address(&mut self, operand: &Operand<'a>) -> Decoded<(u32, bool, i64, Option<Place>)> {
        let Operand::Address(address) = operand else { return invalid("expected an address in brackets") };
        if !address.rest.is_empty() {
            return Err(Refusal::Unsupported);
        }
        match address.base {
            parse::Base::Absolute(value) => Ok((self.value(value as u64, true), false, address.offset, None)),
            parse::Base::Name(name) => {
                match self.reg(name) {
                    Some(Reg::Row(row, 64)) => return Ok((row, false, address.offset, None)),
                    Some(Reg::Row(row, 32)) => return Ok((row, true, address.offset, None)),
                    Some(_) => return invalid(format!("`{name}` cannot hold an address")),
                    None => {}
                }
                let place = self.place(name)?;
                let row = match place {
                    Place::Global(index) => self.uniform(Uniform::Symbol(index, 0), true),
                    Place::Shared(at) | Place::EntryParam(at) | Place::Frame(at, _) => {
                        self.value(at.into(), true)
                    }
                    Place::DynamicShared => self.uniform(Uniform::Special(Special::DynamicShared), true),
                    Place::Function(_) => return invalid(format!("`{name}` is a function, not a variable")),
                };
                Ok((row, false, address.offset, Some(place)))
            }
        }
    }

    // ---- calls ----

    /// Registers a call from the function in progress.
    pub fn call_site(&mut self, callee: Option<u32>, args: Vec<Param>, returns: Vec<Param>) -> u32 {
        match callee {
            Some(callee) => self.edges.push((self.current, callee)),
            None => {
                self.indirect.push(self.current);
                self.take_initialisers();
            }
        }
        self.frame_row();
        self.kernel.calls.push(CallSite { callee, args, returns });
        self.kernel.calls.len() as u32 - 1
    }

    /// Functions whose addresses variables hold: an indirect call may reach them.
    fn take_initialisers(&mut self) {
        let scope = self.scope;
        for init in scope.module.variables.iter().flat_map(|v| &v.init) {
            if let parse::Init::Symbol { name, .. } = init
                && let Some((key, ModuleSymbol::Function(k))) = scope.symbols.get_key_value(name)
            {
                let index = self.function_index(key, *k);
                self.taken.insert(index);
            }
        }
    }

    /// A call-scope `.param` variable: its range in the frame.
    pub fn call_param(&mut self, operand: &Operand<'a>) -> Decoded<Param> {
        let Operand::Name(name) = operand else { return Err(Refusal::Unsupported) };
        let Some((place, _)) = self.chain(self.at).find_map(|s| s.places.get(name).copied()) else {
            // Registers and constants as arguments: the calling convention before ABI.
            return Err(Refusal::Unsupported);
        };
        match place {
            Place::Frame(offset, true) => {
                Ok(Param { offset, size: self.frame_sizes.get(&offset).copied().unwrap_or(0) })
            }
            _ => invalid(format!("`{name}` is not a call parameter")),
        }
    }
}

/// Special registers that have a row of their own.
fn special(name: &str, axis: Option<&str>) -> Option<Uniform> {
    let special = match (name, axis) {
        ("%tid", Some(a)) => Special::Tid(index(a)?),
        ("%ntid", Some(a)) => Special::Ntid(index(a)?),
        ("%ctaid" | "%clusterid", Some(a)) => Special::Ctaid(index(a)?),
        ("%nctaid" | "%nclusterid", Some(a)) => Special::Nctaid(index(a)?),
        ("%cluster_ctaid", Some(_)) => Special::Zero,
        ("%cluster_nctaid", Some(_)) => Special::One,
        ("%cluster_ctarank", None) => Special::Zero,
        ("%cluster_nctarank", None) => Special::One,
        ("%laneid", None) => Special::LaneId,
        ("%warpid", None) => Special::WarpId,
        ("%nwarpid", None) => Special::NWarpId,
        ("%smid", None) => Special::SmId,
        ("%nsmid", None) => Special::NSmId,
        ("%gridid", None) => Special::GridId,
        ("%lanemask_eq", None) => Special::LanemaskEq,
        ("%lanemask_le", None) => Special::LanemaskLe,
        ("%lanemask_lt", None) => Special::LanemaskLt,
        ("%lanemask_ge", None) => Special::LanemaskGe,
        ("%lanemask_gt", None) => Special::LanemaskGt,
        ("%dynamic_smem_size", None) => Special::DynamicSmemSize,
        ("%total_smem_size" | "%aggr_smem_size", None) => Special::TotalSmemSize,
        ("WARP_SZ", None) => return Some(Uniform::Value(32)),
        _ => return None,
    };
    Some(Uniform::Special(special))
}

fn index(axis: &str) -> Option<u8> {
    match axis {
        "x" => Some(0),
        "y" => Some(1),
        "z" => Some(2),
        // `.w` reads as zero.
        "w" => Some(3),
        _ => None,
    }
}
