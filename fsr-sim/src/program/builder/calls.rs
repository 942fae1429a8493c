//! Call sites: who may call whom, and where arguments lie.

use super::{KernelBuilder, Place};
use crate::parse::{self, Operand};
use crate::program::inst::{CallSite, Param};
use crate::program::module::ModuleSymbol;
use crate::program::{Decoded, Refusal, invalid};

impl<'m, 'a> KernelBuilder<'m, 'a> {
    /// Registers a call from the function in progress.
    pub(in crate::program) fn call_site(
        &mut self,
        callee: Option<u32>,
        args: Vec<Param>,
        returns: Vec<Param>,
    ) -> u32 {
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
    pub(in crate::program) fn call_param(&mut self, operand: &Operand<'a>) -> Decoded<Param> {
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
