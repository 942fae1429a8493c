//! Every step of a search, append-only.
//!
//! One JSON line a step, flushed before the next step begins: killing the process loses at most the step in flight.
//! The loop asks the journal before it asks a model, a compiler or a judge, so that resuming and replaying are the
//! same thing as running, with some answers already known.
