//! The messages between `cargo fsr` and the two host processes, and the channel that they travel on.
//!
//! Control messages are JSON lines on a local socket, which neither the standard streams nor device `printf` can
//! reach. Bulk data (inputs, outputs) never passes through here: it lies in files of a shared folder, one a buffer,
//! named by [`files`]. Nothing in this crate judges, launches or computes.

#![forbid(unsafe_code)]

mod channel;
pub mod files;
mod message;

pub use channel::{Channel, ChannelError, Environment};
pub use message::*;
