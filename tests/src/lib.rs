//! What the tests of this package share with the programs that run them elsewhere.

pub mod corpus;
