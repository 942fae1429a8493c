//! End-to-end tests: the real `cargo-fsr`, the real NVRTC, real host processes, in temporary cargo projects.
//!
//! What executes kernels is the CPU device (`fsr-sim`), so that no GPU is needed; times are modelled there.
//!
//! # How to add a test
//!
//! 1. Choose the module of its concern below, or begin one.
//! 2. `Project::new("a-name-of-its-own")` makes a package `ops` with one kernel, `saxpy`, and a `fsr.toml` whose model
//!    is a script that gives the answers of `project.answers(..)` one by one. Change files with `write` and `edit`.
//! 3. `Project::tuned("...")` has a fresh entry in `fsr/` and the journal of the run that found it, without running
//!    one: all projects have the same spec, so they share the outcome of one real search.
//! 4. `project.fsr("check")` runs a command on a machine without a device; `.on_cpu_device()` gives it one. Then
//!    `.succeeds()` or `.fails_with(code)`, and assertions on `stdout` and `stderr`, where the project's folder reads
//!    `[project]`.
//! 5. A test that is about failing takes `project.stored()` before and after: the committed store must be whole.
//!
//! Projects share one target folder, so that dependencies are compiled once. A host target is built only by what
//! judges kernels (`tune`, `verify`, `bundle`): a few seconds each, so judge as seldom as the promise allows.

mod support;

mod bad_input;
mod budgets;
mod bundles;
mod devices;
mod dialogues;
mod incumbent;
mod inputs;
mod killing;
mod readme;
mod recipes;
mod shipping;
mod states;
mod tuning;
mod workspaces;
