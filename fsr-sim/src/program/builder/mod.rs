//! A kernel in the making: its functions one after the other, and the code that grows.

mod calls;
mod names;
mod operands;
mod recursion;

pub(super) use names::{Place, Reg};

use self::names::Scope;
use self::recursion::recursive;
use super::inst::{Action, Body, Class, Control, Extra, Inst, NONE, Origin, Param, Uniform};
use super::module::ModuleScope;
use super::{Decoded, Kernel, Refusal, Unsupported, invalid};
use crate::parse::{self, Function, FunctionKind, Location, ParseError, Pos, Space, Statement};
use std::collections::{HashMap, HashSet};

/// Parameters of an entry, in bytes: twice what hardware takes.
const PARAM_BYTES: u32 = 1 << 16;
/// Instructions of all kernels of a module, where each has what it calls for itself.
pub(super) const MOST_INSTRUCTIONS: usize = 1 << 23;

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
    /// Tables of branch targets by scope and name.
    tables: HashMap<(usize, &'a str), u32>,
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
                used_bytes: Default::default(),
                unsupported: Vec::new(),
                synchronises: false,
                exchanges: false,
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
            tables: HashMap::new(),
            location: None,
            told: HashMap::new(),
            pos: entry.pos,
            name: 0,
            guard: (0, 0),
            carry: None,
        };
        if numbers("reqnctapercluster").is_some_and(|v| product(v) > 1) {
            builder.unsupported_here("a cluster of more than one block", entry.pos);
        }
        builder.function(entry)?;
        builder.kernel.entry_frame = builder.frame;
        let mut next = 0;
        while next < builder.functions.len() {
            let function = builder.functions[next];
            if builder.kernel.code.len() > MOST_INSTRUCTIONS {
                return Err(ParseError::new(entry.pos, too_many(entry.name)));
            }
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
        for (function, recursive) in
            self.kernel.functions.iter_mut().zip(recursive(self.functions.len(), &self.edges))
        {
            function.recursive = recursive;
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

    fn function(&mut self, function: &'m Function<'a>) -> Result<(), ParseError> {
        self.scopes = vec![Scope::default()];
        self.frame = 0;
        self.frame_sizes.clear();
        self.fixups.clear();
        self.tables.clear();
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
        let mut used = None;
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
                Statement::Pragma(text) => used = used_bytes(text),
                Statement::Instruction(instruction) => {
                    let from = self.kernel.code.len() as u32;
                    self.instruction(instruction)?;
                    if let Some(mask) = used.take() {
                        let pcs = from..self.kernel.code.len() as u32;
                        self.kernel.used_bytes.extend(pcs.map(|pc| (pc, mask)));
                    }
                }
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
            let size = param.bytes().and_then(|b| u32::try_from(b).ok()).filter(|b| *b <= PARAM_BYTES);
            let Some(size) = size else {
                return Err(ParseError::new(param.pos, format!("parameter `{}` is too large", param.name)));
            };
            at = at.next_multiple_of(param.alignment());
            if at + size > PARAM_BYTES {
                let message = format!("parameter `{}` does not fit beside those before it", param.name);
                return Err(ParseError::new(param.pos, message));
            }
            self.kernel.params.push(Param { offset: at, size });
            self.scopes[0].places.insert(param.name, (Place::EntryParam(at), param.pos));
            at += size;
        }
        self.kernel.param_bytes = at;
        Ok(())
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
    pub fn table(&mut self, name: &'a str) -> Decoded<u32> {
        if let Some(table) = self.tables.get(&(self.at, name)) {
            return Ok(*table);
        }
        let Some(labels) = self.chain(self.at).find_map(|s| s.tables.get(name).cloned()) else {
            return invalid(format!("unknown branch targets `{name}`"));
        };
        self.kernel.tables.push(Vec::new());
        let table = self.kernel.tables.len() - 1;
        self.fixups.push(Fixup::Table { table, scope: self.at, labels, pos: self.pos });
        self.tables.insert((self.at, name), table as u32);
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

    pub fn is_entry(&self) -> bool {
        self.is_entry
    }
}

/// What is said of a module that becomes too large.
pub(super) fn too_many(kernel: &str) -> String {
    format!(
        "`{kernel}` and the kernels before it come to more than {MOST_INSTRUCTIONS} instructions with what they call"
    )
}

/// Which bytes of the load that follows are used, where a pragma says so: a compiler reads a structure with its padding.
fn used_bytes(pragma: &str) -> Option<u32> {
    let mask = pragma.trim_matches('"').strip_prefix("used_bytes_mask")?.trim();
    match mask.strip_prefix("0x") {
        Some(digits) => u32::from_str_radix(digits, 16).ok(),
        None => mask.parse().ok(),
    }
}
