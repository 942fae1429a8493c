//! What can go wrong with a request, and what is to be done about it.

use std::error::Error;
use std::time::{Duration, SystemTime};

use reqwest::StatusCode;
use reqwest::header::HeaderMap;
use serde_json::Value;

use super::{HttpSettings, wait};

/// Why an endpoint gave no answer. None holds a key or an address.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum HttpFault {
    /// The variable that shall hold the key is not set.
    #[error("the variable {variable} is not set; it must hold the key (`key-env` names it)")]
    NoKey {
        /// The variable.
        variable: String,
    },
    /// What the variable holds cannot be sent.
    #[error("what {variable} holds is no key: it has characters that no header can carry")]
    BadKey {
        /// The variable.
        variable: String,
    },
    /// The address cannot be used.
    #[error("its `base-url` {what}")]
    Address {
        /// What is wrong with it.
        what: &'static str,
    },
    /// A header of the configuration cannot be sent.
    #[error("its header `{name}` cannot be sent")]
    Header {
        /// Its name.
        name: String,
    },
    /// The client could not be set up.
    #[error("no connection can be made: {what}")]
    Client {
        /// The cause.
        what: String,
    },
    /// The key is not accepted.
    #[error("the endpoint does not accept {key} ({status}){detail}")]
    Auth {
        /// `the key in OPENAI_API_KEY`, or that there is none.
        key: String,
        /// The status.
        status: u16,
        /// In the endpoint's words.
        detail: String,
    },
    /// Nothing is left to spend.
    #[error("the account behind {key} has no quota left ({status}){detail}")]
    Quota {
        /// As in `Auth`.
        key: String,
        /// The status.
        status: u16,
        /// In the endpoint's words.
        detail: String,
    },
    /// There is no such model, or no such path.
    #[error("the endpoint knows no model `{model}`, or `base-url` is wrong (404){detail}")]
    NotFound {
        /// What was asked for.
        model: String,
        /// In the endpoint's words.
        detail: String,
    },
    /// Another status.
    #[error("the endpoint answered with status {status}{detail}")]
    Status {
        /// The status.
        status: u16,
        /// In the endpoint's words.
        detail: String,
    },
    /// The endpoint reported an error in the middle of an answer.
    #[error("the endpoint broke off{detail}")]
    BrokeOff {
        /// In its words.
        detail: String,
    },
    /// A redirect to another place.
    #[error(
        "the endpoint redirects to another place, which is not followed: the key would go there; mend `base-url`"
    )]
    Redirect,
    /// No connection, or a lost one.
    #[error("the connection failed: {what}")]
    Connection {
        /// The cause.
        what: String,
    },
    /// The answer ended before its end.
    #[error("the answer was cut off")]
    Cut,
    /// What came is not what the dialect says.
    #[error("the answer cannot be read: it is not of the format that `kind` names")]
    Garbage,
    /// Neither a stream nor JSON.
    #[error("the answer is {found}, neither an event stream nor JSON: `base-url` is probably wrong")]
    ContentType {
        /// What it is.
        found: String,
    },
    /// Nothing came for too long.
    #[error("nothing came for {seconds} s (`stall` sets the limit)")]
    Stalled {
        /// The limit.
        seconds: u64,
    },
    /// Too much came.
    #[error("the answer is longer than {bytes} bytes (`max-answer-bytes` sets the limit)")]
    TooLong {
        /// The limit.
        bytes: usize,
    },
    /// All of it took too long.
    #[error("there was no whole answer within {seconds} s (`deadline` sets the limit)")]
    Deadline {
        /// The limit.
        seconds: u64,
    },
    /// It was asked again and again.
    #[error("{0}; it was asked as often and as long as `retries` and `deadline` allow")]
    GaveUp(Box<HttpFault>),
}

/// A fault with what follows from it.
#[derive(Debug)]
pub(super) enum Trouble {
    /// Nothing helps.
    Final(HttpFault),
    /// It may pass.
    Again {
        fault: HttpFault,
        /// How long the endpoint asks to be left alone.
        after: Option<Duration>,
    },
    /// An optional parameter is not understood: without it, then.
    Parameter(String),
}

impl Trouble {
    pub fn again(fault: HttpFault) -> Self {
        Self::Again { fault, after: None }
    }
}

/// No answer came at all.
pub(super) fn of_request(error: reqwest::Error) -> Trouble {
    if error.is_redirect() {
        return Trouble::Final(HttpFault::Redirect);
    }
    let fault = HttpFault::Connection { what: in_words(error) };
    // What cannot be built today cannot be built tomorrow.
    Trouble::again(fault)
}

/// An error's innermost cause, without the address.
pub(super) fn in_words(error: reqwest::Error) -> String {
    let error = error.without_url();
    let mut cause: &dyn Error = &error;
    while let Some(inner) = cause.source() {
        cause = inner;
    }
    cause.to_string()
}

/// A status that is none of success. `text` is free of the key already.
pub(super) fn of_status(
    settings: &HttpSettings,
    status: StatusCode,
    headers: &HeaderMap,
    text: &str,
    body: &Value,
) -> Trouble {
    let error = serde_json::from_str::<Value>(text).unwrap_or_default();
    let words = said(&error).unwrap_or_else(|| text.to_owned());
    let detail = detail(&words);
    let key = match &settings.key {
        Some(key) => format!("{key:?}"),
        None => "a request without a key: name its variable by `key-env`".to_owned(),
    };
    let number = status.as_u16();
    match number {
        400 | 402 | 403 | 429 if has_no_quota(number, &error, text) => {
            Trouble::Final(HttpFault::Quota { key, status: number, detail })
        }
        401 | 403 => Trouble::Final(HttpFault::Auth { key, status: number, detail }),
        404 => Trouble::Final(HttpFault::NotFound { model: settings.model.clone(), detail }),
        400 | 422 => match refused_parameter(settings, &error, &words, body) {
            Some(name) => Trouble::Parameter(name),
            None => Trouble::Final(HttpFault::Status { status: number, detail }),
        },
        408 | 409 | 425 | 429 | 500..=599 => Trouble::Again {
            fault: HttpFault::Status { status: number, detail },
            after: wait::asked_for(headers, SystemTime::now()),
        },
        300..=399 => Trouble::Final(HttpFault::Redirect),
        _ => Trouble::Final(HttpFault::Status { status: number, detail }),
    }
}

/// Whether the account is empty, which no wait mends.
fn has_no_quota(status: u16, error: &Value, text: &str) -> bool {
    let is = |path, word| error.pointer(path).and_then(Value::as_str) == Some(word);
    match status {
        402 => true,
        // By its code alone: ordinary limits of rate point to pages about billing too.
        429 => is("/error/code", "insufficient_quota") || is("/error/type", "insufficient_quota"),
        _ => {
            let text = text.to_ascii_lowercase();
            ["insufficient_quota", "billing", "credit balance"].iter().any(|sign| text.contains(sign))
        }
    }
}

/// The optional parameter that a refusal is about, if the request carried it.
fn refused_parameter(settings: &HttpSettings, error: &Value, words: &str, body: &Value) -> Option<String> {
    let named = error.pointer("/error/param").and_then(Value::as_str);
    let present = |name: &&&str| body.get(**name).is_some();
    let optional = settings.dialect.optional();
    let by_name = named.and_then(|named| {
        let first = named.split('.').next().unwrap_or(named);
        optional.iter().filter(present).find(|name| **name == first)
    });
    // Several may be told in one sentence; the longest name that occurs is the one that is meant.
    let mentioned =
        || optional.iter().filter(present).filter(|name| mentions(words, name)).max_by_key(|name| name.len());
    by_name.or_else(mentioned).map(|name| (*name).to_owned())
}

/// Whether a text names a parameter: as a word, and where that is a word of English too, in quotes.
fn mentions(text: &str, name: &str) -> bool {
    let is_name = |sign: char| sign.is_ascii_alphanumeric() || sign == '_';
    let is_quote = |sign: char| matches!(sign, '"' | '\'' | '`');
    text.match_indices(name).any(|(at, _)| {
        let (before, after) = (text[..at].chars().next_back(), text[at + name.len()..].chars().next());
        if name.contains('_') {
            !before.is_some_and(is_name) && !after.is_some_and(is_name)
        } else {
            before.is_some_and(is_quote) && before == after
        }
    })
}

/// What an error's JSON says: OpenAI's and Anthropic's form, and those of a few servers.
pub(super) fn said(error: &Value) -> Option<String> {
    ["/error/message", "/message", "/detail", "/error"]
        .iter()
        .find_map(|path| error.pointer(path).and_then(Value::as_str))
        .map(str::to_owned)
}

/// Words of an endpoint behind a message: one line, not too long.
pub(super) fn detail(words: &str) -> String {
    let clean: String = words.chars().map(|sign| if sign.is_control() { ' ' } else { sign }).collect();
    let short: String = clean.split_whitespace().collect::<Vec<_>>().join(" ").chars().take(300).collect();
    if short.is_empty() { short } else { format!(": {short}") }
}
