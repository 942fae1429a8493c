//! The syntax tree of a PTX module. Names borrow from the text; nothing is resolved or checked for meaning.

use super::Pos;
use std::collections::BTreeMap;

/// A whole PTX text.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Module<'a> {
    /// `.version`: PTX ISA, major and minor.
    pub version: (u32, u32),
    /// `.target`: the architecture first (`sm_90`), then options (`debug`, `texmode_independent`).
    pub target: Vec<&'a str>,
    /// `.address_size`: 32 or 64.
    pub address_size: u32,
    /// `.file` entries by index.
    pub files: BTreeMap<u32, File<'a>>,
    /// Module-scope variables, in order.
    pub variables: Vec<Variable<'a>>,
    /// Entries and device functions, in order; declarations have no body.
    pub functions: Vec<Function<'a>>,
    /// `.alias new, existing;`
    pub aliases: Vec<(&'a str, &'a str)>,
}

/// One `.file` line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct File<'a> {
    /// The path as the compiler wrote it.
    pub path: &'a str,
}

/// Who can see a symbol.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Linkage {
    /// Only this module.
    #[default]
    Internal,
    /// `.visible`
    Visible,
    /// `.extern`: defined elsewhere.
    Extern,
    /// `.weak`
    Weak,
    /// `.common`
    Common,
}

/// Where a variable lives.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Space {
    /// No state space: a generic address.
    Generic,
    /// `.global`
    Global,
    /// `.shared`, also `.shared::cta`
    Shared,
    /// `.shared::cluster`
    SharedCluster,
    /// `.local`
    Local,
    /// `.const`
    Const,
    /// `.param`
    Param,
    /// `.reg` (only in old-style function parameters)
    Reg,
    /// `.tex`, `.texref`, `.samplerref`, `.surfref`
    Texture,
}

impl Space {
    /// The space that a directive or modifier names (without its dot).
    pub fn from_name(name: &str) -> Option<Space> {
        Some(match name {
            "global" => Space::Global,
            "shared" | "shared::cta" => Space::Shared,
            "shared::cluster" => Space::SharedCluster,
            "local" => Space::Local,
            "const" => Space::Const,
            "param" | "param::entry" | "param::func" => Space::Param,
            "reg" => Space::Reg,
            "tex" => Space::Texture,
            _ => return None,
        })
    }

    /// As PTX writes it, without the dot.
    pub fn name(self) -> &'static str {
        match self {
            Space::Generic => "generic",
            Space::Global => "global",
            Space::Shared => "shared",
            Space::SharedCluster => "shared::cluster",
            Space::Local => "local",
            Space::Const => "const",
            Space::Param => "param",
            Space::Reg => "reg",
            Space::Texture => "tex",
        }
    }
}

/// The scalar types of variables and plain instructions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs)]
pub enum ScalarType {
    Pred,
    B8,
    B16,
    B32,
    B64,
    B128,
    U8,
    U16,
    U16x2,
    U32,
    U64,
    S8,
    S16,
    S16x2,
    S32,
    S64,
    F16,
    F16x2,
    Bf16,
    Bf16x2,
    Tf32,
    F32,
    F64,
    /// `.texref`, `.samplerref`, `.surfref`: opaque 64-bit handles.
    Opaque,
}

impl ScalarType {
    /// The type that a modifier names (without its dot).
    pub fn from_name(name: &str) -> Option<ScalarType> {
        use ScalarType::*;
        Some(match name {
            "pred" => Pred,
            "b8" => B8,
            "b16" => B16,
            "b32" => B32,
            "b64" => B64,
            "b128" => B128,
            "u8" => U8,
            "u16" => U16,
            "u16x2" => U16x2,
            "u32" => U32,
            "u64" => U64,
            "s8" => S8,
            "s16" => S16,
            "s16x2" => S16x2,
            "s32" => S32,
            "s64" => S64,
            "f16" => F16,
            "f16x2" => F16x2,
            "bf16" => Bf16,
            "bf16x2" => Bf16x2,
            "tf32" => Tf32,
            "f32" => F32,
            "f64" => F64,
            "texref" | "samplerref" | "surfref" => Opaque,
            _ => return None,
        })
    }

    /// Size in bits; a predicate counts as 1.
    pub fn bits(self) -> u32 {
        use ScalarType::*;
        match self {
            Pred => 1,
            B8 | U8 | S8 => 8,
            B16 | U16 | S16 | F16 | Bf16 => 16,
            B32 | U32 | S32 | U16x2 | S16x2 | F32 | F16x2 | Bf16x2 | Tf32 => 32,
            B64 | U64 | S64 | F64 | Opaque => 64,
            B128 => 128,
        }
    }

    /// Size in bytes in memory.
    pub fn bytes(self) -> u32 {
        self.bits().div_ceil(8)
    }

    /// Whether it is a signed integer.
    pub fn is_signed(self) -> bool {
        matches!(self, ScalarType::S8 | ScalarType::S16 | ScalarType::S32 | ScalarType::S64)
    }

    /// Whether it is a floating-point type, packed ones included.
    pub fn is_float(self) -> bool {
        use ScalarType::*;
        matches!(self, F16 | F16x2 | Bf16 | Bf16x2 | Tf32 | F32 | F64)
    }
}

/// An element of an initialiser; nested braces are flattened in order.
#[derive(Clone, Debug, PartialEq)]
pub enum Init<'a> {
    /// A number.
    Value(Constant),
    /// The address of a symbol plus an offset; `generic` says that `generic(...)` was written around it.
    Symbol {
        /// The symbol.
        name: &'a str,
        /// Bytes added to its address.
        offset: i64,
        /// Whether the generic address is meant.
        generic: bool,
    },
}

/// A variable or a parameter.
#[derive(Clone, Debug, PartialEq)]
pub struct Variable<'a> {
    /// Where it is declared.
    pub pos: Pos,
    /// Who can see it.
    pub linkage: Linkage,
    /// Where it lives.
    pub space: Space,
    /// Element type.
    pub ty: ScalarType,
    /// `.v2` or `.v4`; 1 otherwise.
    pub vector: u32,
    /// `.align`, in bytes.
    pub align: Option<u32>,
    /// Its name.
    pub name: &'a str,
    /// Array dimensions; `None` where the brackets are empty.
    pub dims: Vec<Option<u64>>,
    /// Initial values in order.
    pub init: Vec<Init<'a>>,
}

impl Variable<'_> {
    /// Size in bytes; `None` for an open array (`x[]`) or an absurd size.
    pub fn bytes(&self) -> Option<u64> {
        let mut size = u64::from(self.ty.bytes()) * u64::from(self.vector);
        for dim in &self.dims {
            size = size.checked_mul((*dim)?)?;
        }
        Some(size)
    }

    /// Alignment in bytes: what is declared, else the natural one.
    pub fn alignment(&self) -> u32 {
        self.align.unwrap_or_else(|| (self.ty.bytes() * self.vector).max(1))
    }
}

/// Kernel or device function.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FunctionKind {
    /// `.entry`
    Entry,
    /// `.func`
    Func,
}

/// A function: its interface, and its body where it is defined here.
#[derive(Clone, Debug, PartialEq)]
pub struct Function<'a> {
    /// Where its name stands.
    pub pos: Pos,
    /// Entry or device function.
    pub kind: FunctionKind,
    /// Who can see it.
    pub linkage: Linkage,
    /// Its name.
    pub name: &'a str,
    /// Return parameters (device functions only).
    pub returns: Vec<Variable<'a>>,
    /// Parameters.
    pub params: Vec<Variable<'a>>,
    /// Directives between the parameters and the body: name and numbers (`maxntid`, [256, 1, 1]).
    pub directives: Vec<(&'a str, Vec<u64>)>,
    /// The body; `None` for a declaration.
    pub body: Option<Vec<Statement<'a>>>,
}

/// The registers that one `.reg` line declares under one name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RegisterNames<'a> {
    /// The name, or the prefix when `count` is given.
    pub name: &'a str,
    /// `%r<5>` declares `%r0` to `%r4`.
    pub count: Option<u32>,
}

/// A `.reg` line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Declaration<'a> {
    /// Where.
    pub pos: Pos,
    /// Element type.
    pub ty: ScalarType,
    /// `.v2` or `.v4`; 1 otherwise.
    pub vector: u32,
    /// What it declares.
    pub names: Vec<RegisterNames<'a>>,
}

/// A `.loc` line: which source line the following instructions come from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Location {
    /// Index of the `.file`.
    pub file: u32,
    /// Source line.
    pub line: u32,
    /// Source column.
    pub column: u32,
    /// Where the function that this is in was inlined: file, line and column.
    pub inlined_at: Option<(u32, u32, u32)>,
}

/// A `.callprototype`.
#[derive(Clone, Debug, PartialEq)]
pub struct Prototype<'a> {
    /// Return parameters.
    pub returns: Vec<Variable<'a>>,
    /// Parameters.
    pub params: Vec<Variable<'a>>,
}

/// One item of a function body. Scopes are kept flat: an opening and a closing item.
#[derive(Clone, Debug, PartialEq)]
pub enum Statement<'a> {
    /// `{`
    Open,
    /// `}`
    Close,
    /// `name:`
    Label(Pos, &'a str),
    /// `.reg`
    Registers(Declaration<'a>),
    /// A variable in shared, local, param, ... space.
    Variable(Variable<'a>),
    /// `.loc`
    Location(Location),
    /// `.pragma "..."`
    Pragma(&'a str),
    /// `name: .branchtargets L0, L1;`
    BranchTargets(&'a str, Vec<&'a str>),
    /// `name: .calltargets f, g;`
    CallTargets(&'a str, Vec<&'a str>),
    /// `name: .callprototype ...;`
    CallPrototype(&'a str, Prototype<'a>),
    /// Anything else.
    Instruction(Instruction<'a>),
}

/// `@p` or `@!p` before an instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Guard<'a> {
    /// The predicate register.
    pub name: &'a str,
    /// Whether `!` stands before it.
    pub negated: bool,
}

/// An instruction: `opcode.modifier.modifier operand, operand;`
#[derive(Clone, Debug, PartialEq)]
pub struct Instruction<'a> {
    /// Where its opcode stands.
    pub pos: Pos,
    /// Its guard.
    pub guard: Option<Guard<'a>>,
    /// The first word: `ld`.
    pub opcode: &'a str,
    /// The rest, without dots: `global`, `v4`, `f32`.
    pub modifiers: Vec<&'a str>,
    /// Operands in order.
    pub operands: Vec<Operand<'a>>,
}

impl Instruction<'_> {
    /// `ld.global.v4.f32`
    pub fn full_name(&self) -> String {
        let mut name = self.opcode.to_owned();
        for modifier in &self.modifiers {
            name.push('.');
            name.push_str(modifier);
        }
        name
    }

    /// Whether `.name` is among the modifiers.
    pub fn has(&self, name: &str) -> bool {
        self.modifiers.contains(&name)
    }
}

/// A number as written.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Constant {
    /// An integer; negative ones are sign-extended.
    Int(i128),
    /// A single-precision bit pattern (`0f3F800000`).
    F32(u32),
    /// A double-precision bit pattern (`0d...`) or a decimal fraction.
    F64(u64),
}

/// What an address starts from.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Base<'a> {
    /// A register or a symbol.
    Name(&'a str),
    /// An absolute number.
    Absolute(i64),
}

/// `[base+offset]`, or `[base, {coordinates}]` for textures and tensors.
#[derive(Clone, Debug, PartialEq)]
pub struct Address<'a> {
    /// Register, symbol or number.
    pub base: Base<'a>,
    /// Bytes added.
    pub offset: i64,
    /// Further operands within the brackets.
    pub rest: Vec<Operand<'a>>,
}

/// An operand.
#[derive(Clone, Debug, PartialEq)]
pub enum Operand<'a> {
    /// A register, symbol, label or function; `_` is a sink.
    Name(&'a str),
    /// `symbol+offset`
    Offset(&'a str, i64),
    /// `%tid.x`, `%v.y`: a name and its component.
    Component(&'a str, &'a str),
    /// `!%p1`
    Not(&'a str),
    /// `%p1|%p2` or `%r1|%p1`
    Pair(&'a str, &'a str),
    /// A number.
    Constant(Constant),
    /// `{a, b, c, d}`
    Vector(Vec<Operand<'a>>),
    /// `(a, b)`: arguments or results of a call.
    Group(Vec<Operand<'a>>),
    /// `[...]`
    Address(Address<'a>),
}
