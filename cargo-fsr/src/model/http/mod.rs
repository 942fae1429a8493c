//! A model behind HTTP: one streamed request an answer, repeated where that can help.
//!
//! Knows of endpoints, faults and patience; what is said on the wire is a [`Dialect`]'s business. A key goes into one
//! header of a request to the configured host, and nowhere else: neither into messages nor into answers.

mod dialect;
mod fault;
mod network;
mod reply;
mod settings;
mod sse;
mod wait;

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use reqwest::header::{CONTENT_TYPE, HeaderMap};
use reqwest::{Client, Response};
use tokio::time::{Instant, sleep, timeout, timeout_at};

pub use dialect::Dialect;
pub use fault::HttpFault;
pub use network::Network;
pub use settings::{HttpSettings, Key, Patience};

use super::{Answer, Model, ModelError, Prompt, Request, Witness, tokens};
use fault::Trouble;
use reply::Reply;
use sse::Events;

/// How long between two looks at the interrupt.
const POLL: Duration = Duration::from_millis(50);
/// Bytes of an error's body that are looked at.
const ERROR_BODY: usize = 64 * 1024;
/// Longer than any search: what a clock can still add to now.
const FOR_EVER: Duration = Duration::from_secs(30 * 365 * 86400);

/// Asks an endpoint.
#[derive(Debug)]
pub struct HttpModel {
    name: String,
    settings: HttpSettings,
    network: Network,
    line: Arc<tokio::sync::Semaphore>,
    client: Client,
    interrupt: Arc<AtomicBool>,
    /// Optional parameters that the endpoint refused.
    refused: Mutex<BTreeSet<String>>,
}

impl HttpModel {
    /// A model that journal and manifest call `name`.
    ///
    /// # Errors
    /// When the address cannot be used: no URL, plain http to another machine, a user or password in it.
    pub fn new(
        name: impl Into<String>,
        settings: HttpSettings,
        network: &Network,
        interrupt: Arc<AtomicBool>,
    ) -> Result<Self, ModelError> {
        let name = name.into();
        let fault = |fault: HttpFault| ModelError::Http { model: name.clone(), fault };
        settings.check().map_err(fault)?;
        let client = network::client(&settings).map_err(fault)?;
        let line = network.line(&settings);
        Ok(Self {
            name,
            settings,
            network: network.clone(),
            line,
            client,
            interrupt,
            refused: Mutex::default(),
        })
    }

    async fn answer_in_time(&self, prompt: &str, witness: &dyn Witness) -> Result<Reply, ModelError> {
        let patience = &self.settings.patience;
        let failed = |fault: HttpFault| ModelError::Http { model: self.name.clone(), fault };
        let request = Request { input: tokens(prompt.len()), output: Some(self.settings.max_output_tokens) };
        let mut waits = patience.waits();
        let mut deadline = None;
        loop {
            let permit = self.line.acquire().await.map_err(|_| ModelError::Interrupted)?;
            witness.request(request)?;
            // Standing in line is not the endpoint's fault.
            let patient = patience.deadline.min(witness.time_left().unwrap_or(Duration::MAX));
            let deadline = *deadline.get_or_insert_with(|| Instant::now() + patient.min(FOR_EVER));
            let mut reply = Reply::default();
            let result = match timeout_at(deadline, self.exchange(prompt, witness, &mut reply)).await {
                Ok(result) => result,
                Err(_) if reply.ended => Ok(()),
                Err(_) => {
                    let seconds = patience.deadline.as_secs();
                    Err(Trouble::Final(HttpFault::Deadline { seconds }))
                }
            };
            drop(permit);
            witness.settle(reply.spent(request, result.is_err()));
            let (fault, after) = match result {
                Ok(()) => return Ok(reply),
                Err(Trouble::Final(fault)) => return Err(failed(fault)),
                Err(Trouble::Parameter(name)) => {
                    self.refused.lock().unwrap_or_else(PoisonError::into_inner).insert(name);
                    continue;
                }
                Err(Trouble::Again { fault, after }) => (fault, after),
            };
            // At least as long as was asked for, and not all at once.
            let wait = waits
                .next()
                .map(|wait| after.map_or(wait, |after| after.saturating_add(wait.min(after / 10))));
            let in_time =
                |wait: &Duration| Instant::now().checked_add(*wait).is_some_and(|then| then < deadline);
            match wait.filter(in_time) {
                None => return Err(failed(HttpFault::GaveUp(Box::new(fault)))),
                Some(wait) => {
                    witness.waits(wait, &fault.to_string());
                    sleep(wait).await;
                }
            }
        }
    }

    /// One request and its answer, which is there as far as it came even where something went wrong.
    async fn exchange(&self, prompt: &str, witness: &dyn Witness, reply: &mut Reply) -> Result<(), Trouble> {
        let settings = &self.settings;
        let refused = self.refused.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let body = settings.dialect.body(settings, prompt, &refused);
        let headers = settings.headers().map_err(Trouble::Final)?;
        let request = self.client.post(settings.address()).headers(headers).body(body.to_string());
        let stall = settings.patience.stall;
        // From here on it may be at work, and will want to be paid, until it says otherwise.
        reply.accepted = true;
        let response = match timeout(stall, request.send()).await {
            Err(_) => return Err(Trouble::again(HttpFault::Stalled { seconds: stall.as_secs() })),
            Ok(Err(error)) => {
                reply.accepted = !(error.is_connect() || error.is_builder() || error.is_redirect());
                return Err(fault::of_request(error));
            }
            Ok(Ok(response)) => response,
        };
        if !response.status().is_success() {
            reply.accepted = false;
            let (status, headers) = (response.status(), response.headers().clone());
            let text = self.small_body(response).await;
            return Err(fault::of_status(settings, status, &headers, &text, &body));
        }
        let kind = content_type(response.headers());
        match kind.as_str() {
            "text/event-stream" => self.stream(response, witness, reply).await,
            // Some servers leave streaming out, whatever was asked for.
            "application/json" => {
                let bytes = self.whole_body(response).await?;
                *reply = Reply { accepted: true, ..settings.dialect.whole(&bytes)? };
                Ok(())
            }
            _ => Err(Trouble::Final(HttpFault::ContentType { found: kind })),
        }
    }

    async fn stream(
        &self,
        mut response: Response,
        witness: &dyn Witness,
        reply: &mut Reply,
    ) -> Result<(), Trouble> {
        let settings = &self.settings;
        let limit = settings.answer_bytes;
        let too_long = || Trouble::Final(HttpFault::TooLong { bytes: limit });
        // An event may hold the whole answer, with every second sign escaped.
        let mut events = Events::new(limit.saturating_mul(2));
        let mut seen = 0usize;
        loop {
            let piece = match timeout(settings.patience.stall, response.chunk()).await {
                // An answer that is whole is not lost because the connection ended badly, or not at all.
                Err(_) | Ok(Ok(None) | Err(_)) if reply.ended => return Ok(()),
                Err(_) => {
                    let seconds = settings.patience.stall.as_secs();
                    return Err(Trouble::again(HttpFault::Stalled { seconds }));
                }
                Ok(Ok(None)) => return Err(Trouble::again(HttpFault::Cut)),
                Ok(Err(error)) => return Err(fault::of_request(error)),
                Ok(Ok(Some(piece))) => piece,
            };
            // Framing and unknown fields take many times the text, but not any number of times.
            seen += piece.len();
            if seen > limit.saturating_mul(256) {
                return Err(too_long());
            }
            for data in events.push(&piece).map_err(|_| too_long())? {
                settings.dialect.event(&data, reply)?;
                if reply.text.len() > limit {
                    return Err(too_long());
                }
                if reply.closed {
                    return Ok(());
                }
            }
            witness.received(reply.text.len());
        }
    }

    async fn whole_body(&self, mut response: Response) -> Result<Vec<u8>, Trouble> {
        let settings = &self.settings;
        let limit = settings.answer_bytes.saturating_mul(2);
        let mut bytes = Vec::new();
        loop {
            match timeout(settings.patience.stall, response.chunk()).await {
                Err(_) => {
                    let seconds = settings.patience.stall.as_secs();
                    return Err(Trouble::again(HttpFault::Stalled { seconds }));
                }
                Ok(Err(error)) => return Err(fault::of_request(error)),
                Ok(Ok(None)) => return Ok(bytes),
                Ok(Ok(Some(piece))) if bytes.len() + piece.len() > limit => {
                    return Err(Trouble::Final(HttpFault::TooLong { bytes: settings.answer_bytes }));
                }
                Ok(Ok(Some(piece))) => bytes.extend_from_slice(&piece),
            }
        }
    }

    /// The beginning of an error's body; what cannot be read is left out.
    async fn small_body(&self, mut response: Response) -> String {
        let mut bytes = Vec::new();
        while bytes.len() < ERROR_BODY {
            match timeout(self.settings.patience.stall, response.chunk()).await {
                Ok(Ok(Some(piece))) => bytes.extend_from_slice(&piece),
                _ => break,
            }
        }
        bytes.truncate(ERROR_BODY);
        self.settings.redact(&String::from_utf8_lossy(&bytes))
    }

    async fn interrupted(&self) {
        while !self.interrupt.load(Ordering::Relaxed) {
            sleep(POLL).await;
        }
    }
}

impl Model for HttpModel {
    fn name(&self) -> String {
        self.name.clone()
    }

    fn max_output(&self) -> Option<u64> {
        Some(self.settings.max_output_tokens)
    }

    fn answer(&self, prompt: &Prompt, witness: &dyn Witness) -> Result<Answer, ModelError> {
        let work = async {
            tokio::select! {
                reply = self.answer_in_time(&prompt.text, witness) => reply,
                () = self.interrupted() => Err(ModelError::Interrupted),
            }
        };
        let reply = self.network.run(work)?;
        let refused = self.refused.lock().unwrap_or_else(PoisonError::into_inner);
        let refused =
            refused.iter().map(|name| format!("asked without `{name}`, which the endpoint does not take"));
        Ok(Answer {
            text: self.settings.redact(&reply.text),
            model: self.name.clone(),
            usage: reply.usage,
            notes: refused.chain(reply.notes()).collect(),
        })
    }
}

/// Without its parameters, in lower case.
fn content_type(headers: &HeaderMap) -> String {
    let value = headers.get(CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or("nothing");
    value.split(';').next().unwrap_or_default().trim().to_ascii_lowercase()
}
