//! Both roles as `cargo fsr` runs them, in processes of their own; the device role on the simulated driver.
//!
//! The host program is the example `scale`, which cargo builds along with the tests of the package. A new test starts
//! `Hosts`, loads one of the `kernels`, and looks at what the processes answer. Mind that `--test on_sim` alone builds no
//! example, and runs the one of the last build.

#![cfg(target_os = "linux")]

mod by_hand;
mod hosts;
mod kernels;
mod roles;
