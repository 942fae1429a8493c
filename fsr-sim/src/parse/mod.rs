//! The PTX front end: text in, syntax tree out.
//!
//! The grammar is open: an instruction that nobody here has heard of parses, and is carried as name, modifiers
//! and operands; whether it can be executed is decided when a function is decoded. Nothing here knows what an
//! instruction means. No input panics, and time and memory are linear in the length of the text.

mod ast;
mod grammar;
mod lex;

pub use ast::{
    Address, Base, Constant, Declaration, File, Function, FunctionKind, Guard, Init, Instruction, Linkage,
    Location, Module, Operand, Prototype, RegisterNames, ScalarType, Space, Statement, Variable,
};
pub use grammar::parse;

/// A place in a PTX text; both numbers count from 1.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Pos {
    /// Line, from 1.
    pub line: u32,
    /// Column in bytes, from 1.
    pub column: u32,
}

impl std::fmt::Display for Pos {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}:{}", self.line, self.column)
    }
}

/// Text that is not PTX, or PTX that means nothing: where, and what was expected.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("ptx:{pos}: {message}")]
pub struct ParseError {
    /// Where.
    pub pos: Pos,
    /// What is wrong, as a lower-case fragment.
    pub message: String,
}

impl ParseError {
    pub(crate) fn new(pos: Pos, message: impl Into<String>) -> Self {
        ParseError { pos, message: message.into() }
    }
}
