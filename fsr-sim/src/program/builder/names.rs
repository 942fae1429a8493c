//! What names stand for: scopes, registers, variables, functions.

use super::KernelBuilder;
use crate::parse::{self, ParseError, Pos, ScalarType, Space, Statement};
use crate::program::inst::{Body, Builtin, Callee, Special, Uniform};
use crate::program::module::ModuleSymbol;
use crate::program::{Decoded, Refusal, invalid};
use std::collections::HashMap;

/// Most registers that a kernel may declare.
const MOST_ROWS: u32 = 1 << 20;
/// Local memory of a thread, as hardware limits it.
const LOCAL_BYTES: u32 = 512 << 10;
/// Blocks within blocks: a name is looked for in each.
const DEEPEST: usize = 256;

/// A register.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::program) enum Reg {
    Pred(u32),
    /// Row and width: 8, 16, 32 or 64 bits.
    Row(u32, u32),
    /// 128 bits: row of the lower half, which the upper one follows.
    Wide(u32),
}

/// Where a variable of a function is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::program) enum Place {
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
pub(super) struct Scope<'a> {
    pub parent: Option<usize>,
    pub regs: HashMap<&'a str, Reg>,
    /// `%r<5>`: prefix to type, first index in `families`.
    families: HashMap<&'a str, (ScalarType, Vec<Reg>)>,
    pub places: HashMap<&'a str, (Place, Pos)>,
    pub labels: HashMap<&'a str, u32>,
    pub tables: HashMap<&'a str, Vec<&'a str>>,
}
impl<'m, 'a> KernelBuilder<'m, 'a> {
    pub(super) fn frame_variable(
        &mut self,
        scope: usize,
        variable: &parse::Variable<'a>,
    ) -> Result<(), ParseError> {
        let size = variable.bytes().and_then(|b| u32::try_from(b).ok()).filter(|b| *b <= LOCAL_BYTES);
        let Some(size) = size else {
            return Err(ParseError::new(
                variable.pos,
                format!("`{}` is too large for local memory", variable.name),
            ));
        };
        let offset = self.frame.next_multiple_of(variable.alignment());
        self.frame = (offset + size).next_multiple_of(16);
        if self.frame > LOCAL_BYTES {
            let message =
                format!("`{}` does not fit into local memory beside the variables before it", variable.name);
            return Err(ParseError::new(variable.pos, message));
        }
        self.frame_sizes.insert(offset, size);
        let place = Place::Frame(offset, variable.space == Space::Param);
        self.scopes[scope].places.insert(variable.name, (place, variable.pos));
        Ok(())
    }

    /// First pass: scopes, registers, variables. Gives the scope of each `{` in order.
    pub(super) fn declare(&mut self, body: &'m [Statement<'a>]) -> Result<Vec<usize>, ParseError> {
        let mut opened = Vec::new();
        let mut at = 0;
        let mut depth = 0;
        for statement in body {
            match statement {
                Statement::Open => {
                    depth += 1;
                    if depth > DEEPEST {
                        let message = format!("blocks are nested more than {DEEPEST} deep");
                        return Err(ParseError::new(self.pos, message));
                    }
                    self.scopes.push(Scope { parent: Some(at), ..Scope::default() });
                    at = self.scopes.len() - 1;
                    opened.push(at);
                }
                Statement::Close => {
                    depth = depth.saturating_sub(1);
                    at = self.scopes[at].parent.unwrap_or(0);
                }
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

    pub(super) fn shared_variable(&mut self, variable: &parse::Variable<'a>) -> Result<Place, ParseError> {
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

    pub(super) fn label(&self, scope: usize, label: &str, pos: Pos) -> Result<u32, ParseError> {
        self.chain(scope)
            .find_map(|s| s.labels.get(label).copied())
            .ok_or_else(|| ParseError::new(pos, format!("unknown label `{label}`")))
    }

    pub(super) fn chain(&self, from: usize) -> impl Iterator<Item = &Scope<'a>> {
        let mut next = Some(from);
        std::iter::from_fn(move || {
            let scope = &self.scopes[next?];
            next = scope.parent;
            Some(scope)
        })
    }

    pub(super) fn register(&mut self, ty: ScalarType) -> Result<Reg, String> {
        if ty == ScalarType::Pred {
            if self.kernel.preds >= u32::from(u16::MAX) {
                return Err("too many predicates".to_owned());
            }
            self.kernel.preds += 1;
            return Ok(Reg::Pred(self.kernel.preds - 1));
        }
        let bits = ty.bits();
        self.kernel.declared_registers += bits.div_ceil(32);
        if bits == 128 {
            let rows = self.allocate(true).zip(self.allocate(true));
            return rows.map(|(low, _)| Reg::Wide(low)).ok_or_else(|| "too many registers".to_owned());
        }
        let wide = bits == 64;
        let row = self.allocate(wide).ok_or_else(|| "too many registers".to_owned())?;
        Ok(Reg::Row(row, bits))
    }

    pub(super) fn allocate(&mut self, wide: bool) -> Option<u32> {
        let row = if wide { self.kernel.rows.next_multiple_of(2) } else { self.kernel.rows };
        let end = row + if wide { 2 } else { 1 };
        if end > MOST_ROWS {
            return None;
        }
        self.kernel.rows = end;
        Some(row)
    }

    /// A row for a result that nobody reads, or between two instructions.
    pub(in crate::program) fn scratch(&mut self, wide: bool) -> Decoded<u32> {
        self.allocate(wide).ok_or_else(|| Refusal::Invalid("too many registers".to_owned()))
    }

    /// The carry flag of `add.cc` and its kin.
    pub(in crate::program) fn carry(&mut self) -> u32 {
        *self.carry.get_or_insert_with(|| {
            self.kernel.preds += 1;
            self.kernel.preds - 1
        })
    }

    /// The row of each lane's frame base in local memory.
    pub(in crate::program) fn frame_row(&mut self) -> u32 {
        if let Some(row) = self.kernel.frame_row {
            return row;
        }
        let row = self.uniform(Uniform::Special(Special::FrameBase), true);
        self.kernel.frame_row = Some(row);
        row
    }

    pub(in crate::program) fn reg(&self, name: &str) -> Option<Reg> {
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

    pub(in crate::program) fn pred_name(&self, name: &str) -> Decoded<u32> {
        match self.reg(name) {
            Some(Reg::Pred(index)) => Ok(index),
            Some(_) => invalid(format!("`{name}` is not a predicate")),
            None => invalid(format!("unknown register `{name}`")),
        }
    }

    /// What a variable's or function's name stands for.
    pub(in crate::program) fn place(&mut self, name: &str) -> Decoded<Place> {
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

    pub(super) fn function_index(&mut self, name: &'a str, place: usize) -> u32 {
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
}
