//! What the tests stand on: temporary projects, the program under test, the CPU device, scripted models.
//!
//! Nothing here asserts what a test is about; a fixture that cannot be made panics.

mod command;
mod fixture;
mod machine;
mod project;

pub use command::{Outcome, Run};
pub use fixture::ANSWERS;
pub use machine::{compiler_folder, is_running};
pub use project::{Files, Project, read_all, records};
