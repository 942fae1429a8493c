//! A real cargo builds a real package: what `embed()` promises about failing, warning, rebuilding and packaging.
//!
//! Packages are temporary, in a folder whose name has blanks and non-ASCII letters; they share a target folder,
//! so that fsr-build itself is compiled once,
//! and have names of their own: there, cargo tells packages apart by name and version only.

mod packaging;
mod states;
mod support;
