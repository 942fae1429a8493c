//! What one endpoint is asked with. Holds the key, and is the only place that reads it.

use std::collections::BTreeMap;
use std::fmt;
use std::time::Duration;

use backon::{BackoffBuilder, ExponentialBackoff, ExponentialBuilder};
use reqwest::Url;
use reqwest::header::{CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue};
use secrecy::{ExposeSecret, SecretString};

use super::{Dialect, HttpFault};

/// A key and the variable that it came from.
#[derive(Clone)]
pub struct Key {
    variable: String,
    secret: SecretString,
}

impl fmt::Debug for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the key in {}", self.variable)
    }
}

impl Key {
    /// A key with the name of its variable.
    pub fn new(variable: impl Into<String>, secret: impl Into<SecretString>) -> Self {
        Self { variable: variable.into(), secret: secret.into() }
    }

    /// Reads a variable.
    ///
    /// # Errors
    /// When it is not set, or empty.
    pub fn from_env(variable: &str) -> Result<Self, HttpFault> {
        match std::env::var(variable) {
            // A line feed at the end is what `export KEY=$(cat file)` or a secret's file leaves.
            Ok(secret) if !secret.trim().is_empty() => Ok(Self::new(variable, secret.trim().to_owned())),
            _ => Err(HttpFault::NoKey { variable: variable.to_owned() }),
        }
    }

    /// The variable.
    pub fn variable(&self) -> &str {
        &self.variable
    }
}

/// How long to wait, and how often to ask again.
#[derive(Clone, Copy, Debug)]
pub struct Patience {
    /// For one answer with all its repetitions.
    pub deadline: Duration,
    /// Without a byte.
    pub stall: Duration,
    /// To connect.
    pub connect: Duration,
    /// Repetitions after the first request.
    pub retries: usize,
    /// Before the first repetition, about; it doubles from there.
    pub first_wait: Duration,
    /// Between two repetitions, at most, unless the endpoint asks for more.
    pub longest_wait: Duration,
}

impl Default for Patience {
    fn default() -> Self {
        Self {
            deadline: Duration::from_secs(1800),
            // Reasoning models are silent while they think.
            stall: Duration::from_secs(300),
            connect: Duration::from_secs(30),
            retries: 8,
            first_wait: Duration::from_secs(1),
            longest_wait: Duration::from_secs(60),
        }
    }
}

impl Patience {
    /// The pauses between requests.
    pub(super) fn waits(&self) -> ExponentialBackoff {
        ExponentialBuilder::default()
            .with_min_delay(self.first_wait)
            .with_max_delay(self.longest_wait)
            .with_max_times(self.retries)
            .with_jitter()
            .build()
    }
}

/// One model of one endpoint.
#[derive(Clone, Debug)]
pub struct HttpSettings {
    /// What is spoken.
    pub dialect: Dialect,
    /// Without the dialect's own path: `https://api.openai.com/v1`.
    pub base_url: Url,
    /// What the endpoint calls the model.
    pub model: String,
    /// None for servers that ask for none.
    pub key: Option<Key>,
    /// Largest answer in tokens; goes along with every request.
    pub max_output_tokens: u64,
    /// The endpoint's own default when left out.
    pub temperature: Option<f64>,
    /// How much a reasoning model shall think, in the endpoint's words: `low`, `high`.
    pub effort: Option<String>,
    /// Sent along; no place for secrets.
    pub headers: BTreeMap<String, String>,
    /// Requests at once to this host.
    pub concurrency: usize,
    /// Largest answer in bytes.
    pub answer_bytes: usize,
    /// Plain http to other machines too.
    pub allow_http: bool,
    /// How long.
    pub patience: Patience,
}

impl HttpSettings {
    /// With defaults for everything else.
    pub fn new(dialect: Dialect, base_url: Url, model: impl Into<String>) -> Self {
        Self {
            dialect,
            base_url,
            model: model.into(),
            key: None,
            max_output_tokens: 32_768,
            temperature: None,
            effort: None,
            headers: BTreeMap::new(),
            concurrency: 8,
            answer_bytes: 1024 * 1024,
            allow_http: false,
            patience: Patience::default(),
        }
    }

    /// Whether the address may be used at all.
    pub(super) fn check(&self) -> Result<(), HttpFault> {
        let url = &self.base_url;
        let address = |what: &'static str| Err(HttpFault::Address { what });
        if !url.username().is_empty() || url.password().is_some() {
            return address("holds a user or a password; name a variable by `key-env` instead");
        }
        match url.scheme() {
            "https" => {}
            "http" if self.allow_http || is_loopback(url) => {}
            "http" => {
                return address("is plain http to another machine; use https, or set `allow-http = true`");
            }
            _ => return address("is neither https nor http"),
        }
        self.headers().map(|_| ())
    }

    /// Where requests go.
    pub(super) fn address(&self) -> Url {
        let mut url = self.base_url.clone();
        if let Ok(mut path) = url.path_segments_mut() {
            path.pop_if_empty().extend(self.dialect.path());
        }
        url
    }

    /// All headers, the key's marked as one that is not to be shown.
    pub(super) fn headers(&self) -> Result<HeaderMap, HttpFault> {
        let mut headers = HeaderMap::new();
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        for (name, value) in self.dialect.headers() {
            headers.insert(HeaderName::from_static(name), HeaderValue::from_static(value));
        }
        for (name, value) in &self.headers {
            let fault = || HttpFault::Header { name: name.clone() };
            let key = HeaderName::from_bytes(name.as_bytes()).map_err(|_| fault())?;
            headers.insert(key, HeaderValue::from_str(value).map_err(|_| fault())?);
        }
        if let Some(key) = &self.key {
            let (name, value) = self.dialect.authorization(key.secret.expose_secret());
            let fault = || HttpFault::BadKey { variable: key.variable.clone() };
            let mut value = HeaderValue::from_str(&value).map_err(|_| fault())?;
            value.set_sensitive(true);
            headers.insert(HeaderName::from_static(name), value);
        }
        Ok(headers)
    }

    /// A text without the key: an endpoint may say it back.
    pub(super) fn redact(&self, text: &str) -> String {
        match &self.key {
            Some(key) => text.replace(key.secret.expose_secret(), &format!("[{}]", key.variable)),
            None => text.to_owned(),
        }
    }
}

fn is_loopback(url: &Url) -> bool {
    let host = url.host_str().unwrap_or_default();
    let address = host.trim_start_matches('[').trim_end_matches(']').parse::<std::net::IpAddr>();
    host == "localhost" || address.is_ok_and(|address| address.is_loopback())
}
