//! A module's variables and entries: layout and initial contents of the first, decoding of the second.

use super::Kernel;
use super::builder::{KernelBuilder, MOST_INSTRUCTIONS, too_many};
use crate::parse::{self, Constant, FunctionKind, Init, Linkage, ParseError, ScalarType, Space};
use std::collections::{BTreeMap, HashMap};

/// Largest variable that is accepted.
const LARGEST: u64 = 1 << 32;

/// Where a module variable's contents go when the module is loaded.
#[derive(Clone, Debug)]
pub(crate) struct VariablePlace {
    pub name: String,
    pub bytes: u64,
    pub constant: bool,
    pub data: Vec<u8>,
    /// Addresses to be written into the data: offset, variable index, addend.
    pub relocations: Vec<(u64, u32, i64)>,
}

/// A decoded module.
#[derive(Debug)]
pub(crate) struct Program {
    pub variables: Vec<VariablePlace>,
    pub kernels: Vec<Kernel>,
    pub files: BTreeMap<u32, String>,
    pub version: (u32, u32),
    pub target: String,
}

/// What a module-scope name stands for.
#[derive(Clone, Copy, Debug)]
pub(super) enum ModuleSymbol {
    /// Global or constant variable by index.
    Variable(u32),
    /// Shared variable by its place in `Module::variables`.
    Shared(usize),
    /// Function by its place in `Module::functions`.
    Function(usize),
    /// Textures, samplers, surfaces.
    Opaque,
}

/// All module-scope names.
pub(super) struct ModuleScope<'m, 'a> {
    pub module: &'m parse::Module<'a>,
    pub symbols: HashMap<&'a str, ModuleSymbol>,
}

impl Program {
    /// Decodes every entry of a module.
    pub fn decode(module: &parse::Module<'_>) -> Result<Program, ParseError> {
        if module.address_size != 64 {
            let pos = parse::Pos { line: 1, column: 1 };
            return Err(ParseError::new(pos, "address size 32 is not supported by any current driver"));
        }
        let mut symbols = HashMap::new();
        let mut places = Vec::new();
        for (k, variable) in module.variables.iter().enumerate() {
            let symbol = match variable.space {
                _ if variable.ty == ScalarType::Opaque => ModuleSymbol::Opaque,
                Space::Global | Space::Const => {
                    places.push(variable);
                    ModuleSymbol::Variable(places.len() as u32 - 1)
                }
                Space::Shared => ModuleSymbol::Shared(k),
                Space::Texture => ModuleSymbol::Opaque,
                other => {
                    let message = format!("a variable in .{} space at module scope", other.name());
                    return Err(ParseError::new(variable.pos, message));
                }
            };
            let known = symbols.insert(variable.name, symbol);
            if known.is_some() && variable.linkage != Linkage::Extern {
                return Err(ParseError::new(variable.pos, format!("`{}` is defined twice", variable.name)));
            }
        }
        for (k, function) in module.functions.iter().enumerate() {
            // A definition wins over its declarations.
            match symbols.get(function.name) {
                Some(ModuleSymbol::Function(known))
                    if module.functions[*known].body.is_some() && function.body.is_none() => {}
                Some(ModuleSymbol::Function(known))
                    if module.functions[*known].body.is_some() && function.body.is_some() =>
                {
                    return Err(ParseError::new(
                        function.pos,
                        format!("`{}` is defined twice", function.name),
                    ));
                }
                _ => {
                    symbols.insert(function.name, ModuleSymbol::Function(k));
                }
            }
        }
        for (new, existing) in &module.aliases {
            if let Some(symbol) = symbols.get(existing).copied() {
                symbols.insert(new, symbol);
            }
        }
        let scope = ModuleScope { module, symbols };
        let variables = places.iter().map(|v| place(&scope, v)).collect::<Result<_, _>>()?;
        let (mut kernels, mut instructions) = (Vec::new(), 0);
        for entry in module.functions.iter().filter(|f| f.kind == FunctionKind::Entry && f.body.is_some()) {
            let kernel = KernelBuilder::decode(&scope, entry)?;
            instructions += kernel.code.len();
            if instructions > MOST_INSTRUCTIONS {
                return Err(ParseError::new(entry.pos, too_many(entry.name)));
            }
            kernels.push(kernel);
        }
        Ok(Program {
            variables,
            kernels,
            files: module.files.iter().map(|(k, f)| (*k, f.path.to_owned())).collect(),
            version: module.version,
            target: module.target.first().copied().unwrap_or("").to_owned(),
        })
    }
}

fn place(scope: &ModuleScope<'_, '_>, variable: &parse::Variable<'_>) -> Result<VariablePlace, ParseError> {
    let element = u64::from(variable.ty.bytes());
    let declared = variable.bytes();
    // `x[] = {...}` takes its size from the initialiser.
    let bytes = declared.unwrap_or(variable.init.len() as u64 * element);
    if bytes > LARGEST {
        return Err(ParseError::new(variable.pos, format!("`{}` is too large", variable.name)));
    }
    let fault = |message: &str| ParseError::new(variable.pos, format!("`{}`: {message}", variable.name));
    let mut data = Vec::new();
    let mut relocations = Vec::new();
    for init in &variable.init {
        let raw = match init {
            Init::Value(value) => {
                bits(*value, variable.ty).ok_or_else(|| fault("a value does not fit its type"))?
            }
            Init::Symbol { name, offset, .. } => match scope.symbols.get(name) {
                Some(ModuleSymbol::Variable(index)) => {
                    relocations.push((data.len() as u64, *index, *offset));
                    0
                }
                Some(ModuleSymbol::Function(index)) => crate::exec::FUNCTION_TAG + *index as u64,
                Some(_) => return Err(fault("an initialiser names a variable without a fixed address")),
                None => return Err(fault(&format!("unknown symbol `{name}` in the initialiser"))),
            },
        };
        data.extend_from_slice(&raw.to_le_bytes()[..element.min(8) as usize]);
    }
    if data.len() as u64 > bytes {
        return Err(fault("more initial values than elements"));
    }
    Ok(VariablePlace {
        name: variable.name.to_owned(),
        bytes: bytes.max(1),
        constant: variable.space == Space::Const,
        data,
        relocations,
    })
}

/// The bits of a constant as a value of a type; `None` where the kinds do not go together.
pub(super) fn bits(value: Constant, ty: ScalarType) -> Option<u64> {
    Some(match (value, ty) {
        (Constant::Int(value), ScalarType::F32) => u64::from((value as f32).to_bits()),
        (Constant::Int(value), ScalarType::F64) => (value as f64).to_bits(),
        (Constant::Int(value), _) => value as u64,
        (Constant::F32(bits), ScalarType::F64) => f64::from(f32::from_bits(bits)).to_bits(),
        (Constant::F32(bits), _) if ty.bits() == 32 => bits.into(),
        (Constant::F64(bits), ScalarType::F32) => u64::from((f64::from_bits(bits) as f32).to_bits()),
        (Constant::F64(bits), _) if ty.bits() == 64 => bits,
        _ => return None,
    })
}
