//! Modules and their entries, before and after they have addresses on a device.

use crate::parse::{self, ParseError};
use crate::program::{Kernel, Program, Unsupported};
use std::sync::Arc;

/// A parsed and decoded PTX module, of no device yet.
#[derive(Debug)]
pub struct Module {
    pub(super) program: Program,
}

impl Module {
    /// Parses and decodes PTX.
    ///
    /// Instructions that cannot be executed are no error here; launches of kernels that contain them are refused.
    ///
    /// # Errors
    /// Text that is not PTX, unknown names, operands of the wrong size: with line and column.
    pub fn parse(ptx: &str) -> Result<Module, ParseError> {
        let ast = parse::parse(ptx)?;
        Ok(Module { program: Program::decode(&ast)? })
    }

    /// Names of the entries, in the order of the text.
    pub fn entries(&self) -> impl Iterator<Item = &str> {
        self.program.kernels.iter().map(|k| k.name.as_str())
    }

    /// The PTX ISA version.
    pub fn version(&self) -> (u32, u32) {
        self.program.version
    }

    /// The target as written: `sm_90`.
    pub fn target(&self) -> &str {
        &self.program.target
    }

    /// Static shared memory of each entry, in bytes.
    pub fn static_shared(&self) -> impl Iterator<Item = (&str, u32)> {
        self.program.kernels.iter().map(|kernel| (kernel.name.as_str(), kernel.static_shared))
    }
}

/// A module whose variables have addresses on a device.
#[derive(Debug)]
pub struct LoadedModule {
    pub(super) program: Program,
    pub(super) symbols: Vec<u64>,
}

impl LoadedModule {
    /// An entry by name.
    pub fn function(self: &Arc<Self>, name: &str) -> Option<Function> {
        let index = self.program.kernels.iter().position(|k| k.name == name)?;
        Some(Function { module: self.clone(), index })
    }

    /// A variable's address and size in bytes.
    pub fn variable(&self, name: &str) -> Option<(u64, u64)> {
        let index = self.program.variables.iter().position(|v| v.name == name)?;
        Some((*self.symbols.get(index)?, self.program.variables[index].bytes))
    }

    /// Names of the entries.
    pub fn entries(&self) -> impl Iterator<Item = &str> {
        self.program.kernels.iter().map(|k| k.name.as_str())
    }
}

/// An entry of a loaded module.
#[derive(Clone, Debug)]
pub struct Function {
    pub(super) module: Arc<LoadedModule>,
    index: usize,
}

impl Function {
    pub(super) fn kernel(&self) -> &Kernel {
        &self.module.program.kernels[self.index]
    }

    /// Its name.
    pub fn name(&self) -> &str {
        &self.kernel().name
    }

    /// Its parameters' places, in bytes.
    pub fn params(&self) -> &[crate::Param] {
        &self.kernel().params
    }

    /// Static shared memory, in bytes.
    pub fn static_shared(&self) -> u32 {
        self.kernel().static_shared
    }

    /// Local memory of a thread, in bytes.
    pub fn local_bytes(&self) -> u32 {
        self.kernel().local_bytes
    }

    /// An estimate of a thread's registers: what is declared, capped as a compiler would.
    pub fn registers(&self) -> u32 {
        self.kernel().declared_registers.clamp(16, 255).min(40)
    }

    /// The most threads that a block may have by the kernel's own words.
    pub fn max_threads(&self) -> Option<u32> {
        self.kernel().max_threads
    }

    /// Instructions that it contains and the simulator does not execute.
    pub fn unsupported(&self) -> &[Unsupported] {
        &self.kernel().unsupported
    }

    /// The PTX ISA version of its module.
    pub fn ptx_version(&self) -> (u32, u32) {
        self.module.program.version
    }
}
