//! The three formats: what a request says, and how an answer is read. Lenient: what is not known is passed over, and
//! what is missing is not missed, as long as there is text.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use super::fault::{self, HttpFault, Trouble};
use super::{HttpSettings, Reply};
use crate::model::Usage;

/// What an endpoint speaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Dialect {
    /// OpenAI's chat completions, which nearly every server knows.
    Chat,
    /// OpenAI's responses.
    Responses,
    /// Anthropic's messages.
    Messages,
}

impl Dialect {
    /// Where it is spoken unless the configuration says otherwise.
    pub fn default_url(self) -> &'static str {
        match self {
            Self::Chat | Self::Responses => "https://api.openai.com/v1",
            Self::Messages => "https://api.anthropic.com/v1",
        }
    }

    pub(super) fn path(self) -> &'static [&'static str] {
        match self {
            Self::Chat => &["chat", "completions"],
            Self::Responses => &["responses"],
            Self::Messages => &["messages"],
        }
    }

    pub(super) fn headers(self) -> &'static [(&'static str, &'static str)] {
        match self {
            Self::Chat | Self::Responses => &[],
            Self::Messages => &[("anthropic-version", "2023-06-01")],
        }
    }

    pub(super) fn authorization(self, key: &str) -> (&'static str, String) {
        match self {
            Self::Chat | Self::Responses => ("authorization", format!("Bearer {key}")),
            Self::Messages => ("x-api-key", key.to_owned()),
        }
    }

    /// Parameters that a request can do without. A limit of the answer is always sent, under one name or another: what
    /// may be spent is reckoned with it.
    pub(super) fn optional(self) -> &'static [&'static str] {
        match self {
            Self::Chat => &["temperature", "stream_options", "reasoning_effort", "max_completion_tokens"],
            Self::Responses => &["temperature", "reasoning", "store"],
            Self::Messages => &["temperature", "output_config"],
        }
    }

    /// One request, without what was refused before.
    pub(super) fn body(self, settings: &HttpSettings, prompt: &str, refused: &BTreeSet<String>) -> Value {
        let message = json!([{ "role": "user", "content": prompt }]);
        let tokens = settings.max_output_tokens;
        let (text, mut parameters) = match self {
            Self::Chat => {
                // Older servers know only the older name.
                let limit = match refused.contains("max_completion_tokens") {
                    true => "max_tokens",
                    false => "max_completion_tokens",
                };
                let usage = json!({ "include_usage": true });
                ("messages", vec![(limit, json!(tokens)), ("stream_options", usage)])
            }
            // Prompts are the user's own: nothing is to be kept there.
            Self::Responses => ("input", vec![("max_output_tokens", json!(tokens)), ("store", json!(false))]),
            Self::Messages => ("messages", vec![("max_tokens", json!(tokens))]),
        };
        if let Some(temperature) = settings.temperature {
            parameters.push(("temperature", json!(temperature)));
        }
        if let Some(effort) = &settings.effort {
            parameters.push(match self {
                Self::Chat => ("reasoning_effort", json!(effort)),
                Self::Responses => ("reasoning", json!({ "effort": effort })),
                Self::Messages => ("output_config", json!({ "effort": effort })),
            });
        }
        let mut body = json!({ "model": settings.model, "stream": true });
        body[text] = message;
        for (name, value) in parameters.into_iter().filter(|(name, _)| !refused.contains(*name)) {
            body[name] = value;
        }
        body
    }

    /// Reads one event of a stream.
    pub(super) fn event(self, data: &str, reply: &mut Reply) -> Result<(), Trouble> {
        if data.trim() == "[DONE]" {
            (reply.ended, reply.closed) = (true, true);
            return Ok(());
        }
        let event: Value = serde_json::from_str(data).map_err(|_| Trouble::again(HttpFault::Garbage))?;
        if event.get("error").is_some_and(|error| !error.is_null()) {
            return Err(broke_off(&event));
        }
        match self {
            Self::Chat => chat(&event, "delta", reply),
            Self::Responses => return responses(&event, reply),
            Self::Messages => messages(&event, reply),
        }
        Ok(())
    }

    /// Reads an answer that came in one piece.
    pub(super) fn whole(self, bytes: &[u8]) -> Result<Reply, Trouble> {
        let answer: Value = serde_json::from_slice(bytes).map_err(|_| Trouble::again(HttpFault::Garbage))?;
        if answer.get("error").is_some_and(|error| !error.is_null()) {
            return Err(broke_off(&answer));
        }
        let mut reply = Reply::default();
        let is_known = match self {
            Self::Chat => {
                chat(&answer, "message", &mut reply);
                answer.get("choices").is_some()
            }
            Self::Responses => {
                response(&answer, &mut reply);
                answer.get("output").is_some()
            }
            Self::Messages => {
                reply.text = parts(answer.get("content"));
                reply.end(text_at(&answer, "/stop_reason").unwrap_or("end_turn"));
                anthropic_usage(answer.get("usage"), &mut reply);
                answer.get("content").is_some()
            }
        };
        reply.ended = true;
        if is_known { Ok(reply) } else { Err(Trouble::again(HttpFault::Garbage)) }
    }
}

fn chat(event: &Value, message: &str, reply: &mut Reply) {
    if let Some(choice) = event.pointer("/choices/0") {
        reply.text.push_str(&parts(choice.get(message).and_then(|message| message.get("content"))));
        if let Some(reason) = text_at(choice, "/finish_reason") {
            reply.end(reason);
        }
    }
    if let Some(usage) = event.get("usage").filter(|usage| usage.is_object()) {
        let cached = number_at(usage, "/prompt_tokens_details/cached_tokens");
        reply.usage = Some(Usage {
            input: number_at(usage, "/prompt_tokens"),
            output: number_at(usage, "/completion_tokens"),
            cached,
        });
    }
}

fn responses(event: &Value, reply: &mut Reply) -> Result<(), Trouble> {
    match text_at(event, "/type").unwrap_or_default() {
        "response.output_text.delta" => reply.text.push_str(text_at(event, "/delta").unwrap_or_default()),
        "response.completed" | "response.incomplete" => {
            let answer = event.get("response").unwrap_or(&Value::Null);
            let so_far = std::mem::take(&mut reply.text);
            response(answer, reply);
            if reply.text.is_empty() {
                reply.text = so_far;
            }
            (reply.ended, reply.closed) = (true, true);
        }
        "response.failed" => return Err(broke_off(event.get("response").unwrap_or(event))),
        "error" => return Err(broke_off(event)),
        _ => {}
    }
    Ok(())
}

/// A whole object of the responses format.
fn response(answer: &Value, reply: &mut Reply) {
    let items = answer.get("output").and_then(Value::as_array);
    let texts: Vec<String> = items.into_iter().flatten().map(|item| parts(item.get("content"))).collect();
    reply.text = texts.concat();
    let reason = text_at(answer, "/incomplete_details/reason").or(text_at(answer, "/status"));
    reply.end(reason.unwrap_or("completed"));
    if let Some(usage) = answer.get("usage").filter(|usage| usage.is_object()) {
        reply.usage = Some(Usage {
            input: number_at(usage, "/input_tokens"),
            output: number_at(usage, "/output_tokens"),
            cached: number_at(usage, "/input_tokens_details/cached_tokens"),
        });
    }
}

fn messages(event: &Value, reply: &mut Reply) {
    match text_at(event, "/type").unwrap_or_default() {
        "message_start" => anthropic_usage(event.pointer("/message/usage"), reply),
        "content_block_delta" => reply.text.push_str(text_at(event, "/delta/text").unwrap_or_default()),
        "message_delta" => {
            anthropic_usage(event.get("usage"), reply);
            if let Some(reason) = text_at(event, "/delta/stop_reason") {
                reply.end(reason);
            }
        }
        "message_stop" => (reply.ended, reply.closed) = (true, true),
        _ => {}
    }
}

/// The figures come in two parts, and the second may repeat the first.
fn anthropic_usage(usage: Option<&Value>, reply: &mut Reply) {
    let Some(usage) = usage.filter(|usage| usage.is_object()) else { return };
    let figures = reply.usage.get_or_insert_default();
    if usage.get("input_tokens").is_some_and(Value::is_u64) {
        figures.cached = number_at(usage, "/cache_read_input_tokens");
        figures.input = number_at(usage, "/input_tokens")
            .saturating_add(figures.cached)
            .saturating_add(number_at(usage, "/cache_creation_input_tokens"));
    }
    if usage.get("output_tokens").is_some_and(Value::is_u64) {
        figures.output = number_at(usage, "/output_tokens");
    }
}

/// Text, or the texts of a list of parts.
fn parts(content: Option<&Value>) -> String {
    match content {
        Some(Value::String(text)) => text.clone(),
        Some(Value::Array(parts)) => {
            parts.iter().filter_map(|part| part.get("text").and_then(Value::as_str)).collect()
        }
        _ => String::new(),
    }
}

fn broke_off(event: &Value) -> Trouble {
    let words = fault::said(event).unwrap_or_default();
    Trouble::again(HttpFault::BrokeOff { detail: fault::detail(&words) })
}

fn text_at<'a>(value: &'a Value, path: &str) -> Option<&'a str> {
    value.pointer(path).and_then(Value::as_str)
}

fn number_at(value: &Value, path: &str) -> u64 {
    value.pointer(path).and_then(Value::as_u64).unwrap_or(0)
}
