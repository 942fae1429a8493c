//! Records for tests.

use super::{FORMAT, Header, Record};
use crate::settings::Settings;

/// A header of a small run.
pub fn header() -> Record {
    Record::Header(Box::new(Header {
        format: FORMAT,
        run: "test".to_owned(),
        tool: "0.0.0".to_owned(),
        key: "00".to_owned(),
        inputs: Default::default(),
        brief: crate::search::fakes::brief(),
        settings: Settings::default(),
        previous: Vec::new(),
        models: vec!["m".to_owned()],
        templates: Vec::new(),
    }))
}
