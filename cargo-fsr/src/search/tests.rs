//! The loop's promises, with scripted model, compiler and judge.

mod course;
mod fixture;
mod prompting;
mod resuming;
mod spending;
mod strategies;
