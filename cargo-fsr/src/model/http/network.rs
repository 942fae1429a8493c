//! What all HTTP models of a process share: the threads that carry requests, and one line before each host.

use std::collections::HashMap;
use std::future::Future;
use std::io;
use std::sync::{Arc, Mutex, PoisonError};

use reqwest::redirect::{Attempt, Policy};
use reqwest::{Client, StatusCode};
use tokio::runtime::{Builder, Runtime};
use tokio::sync::Semaphore;

use super::{HttpFault, HttpSettings};

/// Cheap to share.
#[derive(Clone, Debug)]
pub struct Network {
    runtime: Arc<Runtime>,
    lines: Arc<Mutex<HashMap<String, Arc<Semaphore>>>>,
}

impl Network {
    /// Starts its threads.
    ///
    /// # Errors
    /// When the system gives none.
    pub fn new() -> io::Result<Self> {
        let runtime =
            Builder::new_multi_thread().worker_threads(1).thread_name("http").enable_all().build()?;
        Ok(Self { runtime: Arc::new(runtime), lines: Arc::default() })
    }

    /// The line before a host; its length is what the first model asks for.
    pub(super) fn line(&self, settings: &HttpSettings) -> Arc<Semaphore> {
        let host = settings.base_url.origin().ascii_serialization();
        let mut lines = self.lines.lock().unwrap_or_else(PoisonError::into_inner);
        lines.entry(host).or_insert_with(|| Arc::new(Semaphore::new(settings.concurrency.max(1)))).clone()
    }

    /// Waits for a piece of work.
    pub(super) fn run<T>(&self, work: impl Future<Output = T>) -> T {
        self.runtime.block_on(work)
    }
}

/// A client that goes through the proxies that the usual variables name, and follows a redirect only to the very
/// place that it was configured for: the request carries a key.
pub(super) fn client(settings: &HttpSettings) -> Result<Client, HttpFault> {
    // Set once a process; a second time it is there already.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let stays = |attempt: Attempt<'_>| {
        let same = attempt.previous().first().is_some_and(|first| first.origin() == attempt.url().origin());
        let keeps =
            matches!(attempt.status(), StatusCode::TEMPORARY_REDIRECT | StatusCode::PERMANENT_REDIRECT);
        if same && keeps && attempt.previous().len() < 4 {
            attempt.follow()
        } else {
            attempt.error(Elsewhere)
        }
    };
    Client::builder()
        .user_agent(concat!("cargo-fsr/", env!("CARGO_PKG_VERSION")))
        .connect_timeout(settings.patience.connect)
        .redirect(Policy::custom(stays))
        .build()
        .map_err(|error| HttpFault::Client { what: super::fault::in_words(error) })
}

/// A redirect that is not followed.
#[derive(Debug, thiserror::Error)]
#[error("redirects elsewhere")]
struct Elsewhere;
