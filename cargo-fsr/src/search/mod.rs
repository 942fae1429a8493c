//! The FSR loop: pure over model, compiler, judge and journal.
