//! Scripted stand-ins for model, compiler and judge.

use crate::brief::Brief;

/// A small kernel's brief.
pub fn brief() -> Brief {
    Brief {
        kernel: "saxpy".to_owned(),
        task: "y = a * x + y for n elements.".to_owned(),
        entries: vec!["saxpy".to_owned()],
        keep: vec![],
        tunables: Default::default(),
        launch: Default::default(),
        host: vec![],
        headers: vec![],
        baseline: None,
        arch: "sm_90".parse().unwrap(),
        cuda: "12.8".parse().unwrap(),
        tolerance: None,
    }
}
