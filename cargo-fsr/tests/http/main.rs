//! Models behind HTTP against servers that answer, refuse, stall, cut off and lie. Nothing leaves this machine.

mod answers;
mod faults;
mod server;

use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use cargo_fsr::model::http::{Dialect, HttpSettings, Key, Network, Patience};
use cargo_fsr::model::{Answer, HttpModel, Model, ModelError, Nobody, Position, Prompt, Stage};

/// Never to be seen anywhere but in the one header.
pub(crate) const CANARY: &str = "sk-canary-7f3a9c1e5b";

/// Waits that a test can wait for.
pub(crate) fn settings(dialect: Dialect, url: &str) -> HttpSettings {
    let mut settings = HttpSettings::new(dialect, url.parse().unwrap(), "some-model");
    settings.key = Some(Key::new("SOME_KEY", CANARY.to_owned()));
    settings.patience = Patience {
        deadline: Duration::from_secs(60),
        stall: Duration::from_secs(30),
        first_wait: Duration::from_millis(1),
        longest_wait: Duration::from_millis(2),
        retries: 3,
        ..Patience::default()
    };
    settings
}

pub(crate) fn model(settings: HttpSettings) -> HttpModel {
    HttpModel::new("some", settings, &Network::new().unwrap(), Arc::new(AtomicBool::new(false))).unwrap()
}

pub(crate) fn prompt(text: &str) -> Prompt {
    Prompt {
        position: Position { kernel: "k".to_owned(), round: 1, slot: 1 },
        stage: Stage::Initial,
        parent: None,
        text: text.to_owned(),
        canonical: text.to_owned(),
    }
}

/// Asks, and sees to it that nothing that comes back holds the key.
pub(crate) fn ask(model: &HttpModel) -> Result<Answer, ModelError> {
    let result = model.answer(&prompt("make it fast"), &Nobody);
    let told = format!(
        "{result:?} {model:?} {}",
        result.as_ref().err().map(ToString::to_string).unwrap_or_default()
    );
    assert!(!told.contains(CANARY), "the key leaked: {told}");
    result
}

pub(crate) fn fault(model: &HttpModel) -> String {
    ask(model).unwrap_err().to_string()
}
