//! Finds the workspace, its packages and their kernel specs.
