//! `[models.NAME]` of an HTTP endpoint. Names the variable that holds the key, and never the key.

use std::collections::BTreeMap;
use std::time::Duration;

use serde::Deserialize;

use crate::budget::Price;
use crate::model::HttpFault;
use crate::model::http::{Dialect, HttpSettings, Key};

/// How an endpoint is asked. What is left out has the default of [`HttpSettings`].
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct HttpConfig {
    /// What the endpoint calls the model.
    pub model: String,
    /// As `https://api.openai.com/v1`; the dialect's own when left out.
    pub base_url: Option<String>,
    /// The variable that holds the key; without it none is sent.
    pub key_env: Option<String>,
    /// What journal and manifest call it; the name in this file when left out.
    pub name: Option<String>,
    /// What its answers cost.
    pub price: Option<Price>,
    /// Largest answer in tokens.
    pub max_output_tokens: Option<u64>,
    /// Randomness of the answers.
    pub temperature: Option<f64>,
    /// How much a reasoning model shall think, in the endpoint's words.
    pub effort: Option<String>,
    /// More headers; no place for secrets.
    #[serde(default)]
    pub headers: BTreeMap<String, String>,
    /// Requests at once to this host.
    pub concurrency: Option<usize>,
    /// Seconds for one answer with all repetitions.
    pub deadline: Option<u64>,
    /// Seconds without a byte.
    pub stall: Option<u64>,
    /// Repetitions after the first request.
    pub retries: Option<usize>,
    /// Largest answer in bytes.
    pub max_answer_bytes: Option<usize>,
    /// Plain http to other machines than this one.
    #[serde(default)]
    pub allow_http: bool,
}

impl HttpConfig {
    /// Resolves the address and reads the key.
    ///
    /// # Errors
    /// When the address is none, or the variable is not set.
    pub fn settings(&self, dialect: Dialect) -> Result<HttpSettings, HttpFault> {
        let url = self.base_url.as_deref().unwrap_or(dialect.default_url());
        let url = url.parse().map_err(|_| HttpFault::Address { what: "is no URL" })?;
        let mut settings = HttpSettings::new(dialect, url, &self.model);
        settings.key = self.key_env.as_deref().map(Key::from_env).transpose()?;
        settings.temperature = self.temperature;
        settings.effort.clone_from(&self.effort);
        settings.headers.clone_from(&self.headers);
        settings.allow_http = self.allow_http;
        let patience = &mut settings.patience;
        patience.deadline = self.deadline.map_or(patience.deadline, Duration::from_secs);
        patience.stall = self.stall.map_or(patience.stall, Duration::from_secs);
        patience.retries = self.retries.unwrap_or(patience.retries);
        settings.max_output_tokens = self.max_output_tokens.unwrap_or(settings.max_output_tokens);
        settings.concurrency = self.concurrency.unwrap_or(settings.concurrency);
        settings.answer_bytes = self.max_answer_bytes.unwrap_or(settings.answer_bytes);
        Ok(settings)
    }
}
