//! What a request carries, and how answers of the three formats are read.

use std::sync::Mutex;
use std::time::Duration;

use cargo_fsr::model::http::Dialect;
use cargo_fsr::model::{Model, ModelError, Request, Spent, Usage, Witness};
use serde_json::{Value, json};

use super::server::{Act, Raw, chat, chat_stream, response, stream_head};
use super::{CANARY, ask, model, prompt, settings};

fn stream(events: &[Value]) -> Vec<Act> {
    let events = events.iter().map(|event| {
        let name = event["type"].as_str().unwrap_or("message");
        Act::Say(format!("event: {name}\ndata: {event}\n\n"))
    });
    std::iter::once(stream_head()).chain(events).collect()
}

/// Path, headers in order, and body of the only request.
fn request(server: &Raw) -> (String, Vec<String>, Value) {
    let requests = server.requests.lock().unwrap();
    assert_eq!(requests.len(), 1);
    let (head, body) = requests[0].split_once("\r\n\r\n").unwrap();
    let mut lines = head.lines();
    let path = lines.next().unwrap().to_owned();
    let mut headers: Vec<String> = lines
        .filter(|line| !line.starts_with("host") && !line.starts_with("content-length"))
        .map(str::to_owned)
        .collect();
    headers.sort();
    (path, headers, serde_json::from_str(body).unwrap())
}

#[test]
fn chat_completions() {
    let server = Raw::new(vec![stream(&[
        json!({ "choices": [{ "delta": { "role": "assistant", "content": "" } }], "new-field": 1 }),
        json!({ "choices": [{ "delta": { "content": "one " }, "finish_reason": null }] }),
        json!({ "choices": [{ "delta": { "content": "twö" }, "finish_reason": "stop" }] }),
        json!({ "choices": [], "usage": { "prompt_tokens": 12, "completion_tokens": 5,
                "prompt_tokens_details": { "cached_tokens": 8 } } }),
    ])]);
    let answer = ask(&model(settings(Dialect::Chat, &server.url))).unwrap();
    assert_eq!((answer.text.as_str(), answer.model.as_str()), ("one twö", "some"));
    assert_eq!(answer.usage, Some(Usage { input: 12, output: 5, cached: 8 }));
    let (path, headers, body) = request(&server);
    assert_eq!(path, "POST /v1/chat/completions HTTP/1.1");
    assert!(headers.contains(&format!("authorization: Bearer {CANARY}")), "{headers:?}");
    assert_eq!(
        body,
        json!({
            "model": "some-model", "stream": true, "max_completion_tokens": 32768,
            "stream_options": { "include_usage": true },
            "messages": [{ "role": "user", "content": "make it fast" }],
        })
    );
}

#[test]
fn responses() {
    let usage =
        json!({ "input_tokens": 9, "output_tokens": 4, "input_tokens_details": { "cached_tokens": 2 } });
    let output = json!([{ "type": "reasoning", "summary": [] },
        { "type": "message", "content": [{ "type": "output_text", "text": "one two" }] }]);
    let server = Raw::new(vec![stream(&[
        json!({ "type": "response.created", "response": {} }),
        json!({ "type": "response.output_text.delta", "delta": "one " }),
        json!({ "type": "response.output_text.delta", "delta": "two" }),
        json!({ "type": "response.completed",
                "response": { "status": "completed", "output": output, "usage": usage } }),
    ])]);
    let mut settings = settings(Dialect::Responses, &server.url);
    settings.effort = Some("high".to_owned());
    let answer = ask(&model(settings)).unwrap();
    assert_eq!(answer.text, "one two");
    assert_eq!(answer.usage, Some(Usage { input: 9, output: 4, cached: 2 }));
    let (path, _, body) = request(&server);
    assert_eq!(path, "POST /v1/responses HTTP/1.1");
    assert_eq!(body["reasoning"], json!({ "effort": "high" }));
}

#[test]
fn messages() {
    let server = Raw::new(vec![stream(&[
        json!({ "type": "message_start", "message": { "usage": { "input_tokens": 3,
                "cache_read_input_tokens": 10, "cache_creation_input_tokens": 1, "output_tokens": 1 } } }),
        json!({ "type": "ping" }),
        json!({ "type": "content_block_delta", "delta": { "type": "thinking_delta", "thinking": "hm" } }),
        json!({ "type": "content_block_delta", "delta": { "type": "text_delta", "text": "one two" } }),
        json!({ "type": "message_delta", "delta": { "stop_reason": "max_tokens" }, "usage": { "output_tokens": 7 } }),
        json!({ "type": "message_stop" }),
    ])]);
    let answer = ask(&model(settings(Dialect::Messages, &server.url))).unwrap();
    assert_eq!(answer.text, "one two");
    assert_eq!(answer.usage, Some(Usage { input: 14, output: 7, cached: 10 }));
    assert_eq!(answer.notes, ["the answer is not complete: `max_tokens`"]);
    let (path, headers, body) = request(&server);
    assert_eq!(path, "POST /v1/messages HTTP/1.1");
    assert!(headers.contains(&format!("x-api-key: {CANARY}")), "{headers:?}");
    assert!(headers.contains(&"anthropic-version: 2023-06-01".to_owned()), "{headers:?}");
    assert_eq!(body["max_tokens"], 32768);
}

#[test]
fn a_server_that_does_not_stream_is_understood() {
    let chat = json!({ "choices": [{ "message": { "content": "whole" }, "finish_reason": "stop" }] });
    let output = json!({ "output": [{ "content": [{ "type": "output_text", "text": "whole" }] }] });
    let content = json!({ "content": [{ "type": "text", "text": "whole" }], "stop_reason": "end_turn" });
    for (dialect, body) in [(Dialect::Chat, chat), (Dialect::Responses, output), (Dialect::Messages, content)]
    {
        let json = "content-type: application/json; charset=utf-8\r\n";
        let server = Raw::new(vec![response("200 OK", json, &body.to_string())]);
        let answer = ask(&model(settings(dialect, &server.url))).unwrap();
        assert_eq!((answer.text.as_str(), answer.usage), ("whole", None), "{dialect:?}");
        assert!(answer.notes.is_empty(), "{:?}", answer.notes);
    }
}

#[test]
fn a_parameter_that_is_refused_is_left_out_from_then_on() {
    let refusal = json!({ "error": { "message": "Unsupported parameter: 'temperature' does not go with this model",
        "param": "temperature" } });
    let older = json!({ "error": { "message": "unknown field: max_completion_tokens" } });
    let json = "content-type: application/json\r\n";
    let server = Raw::new(vec![
        response("400 Bad Request", json, &refusal.to_string()),
        response("400 Bad Request", json, &older.to_string()),
        chat_stream("good"),
    ]);
    let mut settings = settings(Dialect::Chat, &server.url);
    settings.temperature = Some(0.5);
    let model = model(settings);
    assert_eq!(ask(&model).unwrap().text, "good");
    assert_eq!(server.asked(), 3);
    let answer = ask(&model).unwrap();
    assert_eq!(answer.text, "good");
    assert_eq!(
        answer.notes,
        [
            "asked without `max_completion_tokens`, which the endpoint does not take",
            "asked without `temperature`, which the endpoint does not take"
        ]
    );
    let last = server.requests.lock().unwrap()[3].clone();
    assert!(!last.contains("temperature") && last.contains("\"max_tokens\":32768"), "{last}");
}

/// What a witness was told.
#[derive(Default)]
struct Told(Mutex<Vec<String>>);

impl Witness for Told {
    fn request(&self, request: Request) -> Result<(), ModelError> {
        self.0.lock().unwrap().push(format!("request {} {:?}", request.input, request.output));
        Ok(())
    }

    fn settle(&self, spent: Spent) {
        let Spent { usage: Usage { input, output, cached }, estimated, failed } = spent;
        let about = if estimated { "about " } else { "" };
        let failed = if failed { ", failed" } else { "" };
        self.0.lock().unwrap().push(format!("spent {about}{input}+{output} ({cached} cached){failed}"));
    }

    fn received(&self, bytes: usize) {
        let mut told = self.0.lock().unwrap();
        if let Some(last) = told.last_mut().filter(|last| last.starts_with("received")) {
            *last = format!("received {bytes}");
        } else {
            told.push(format!("received {bytes}"));
        }
    }

    fn waits(&self, _: Duration, why: &str) {
        self.0.lock().unwrap().push(format!("waits: {why}"));
    }
}

#[test]
fn every_request_is_told_and_so_is_what_it_cost() {
    let usage = json!({ "choices": [{ "delta": { "content": "good" }, "finish_reason": "stop" }],
        "usage": { "prompt_tokens": 12, "completion_tokens": 5 } });
    let server = Raw::new(vec![
        response("503 Unavailable", "", ""),
        vec![stream_head(), chat("half")],
        vec![],
        stream(&[usage]),
    ]);
    let told = Told::default();
    model(settings(Dialect::Chat, &server.url)).answer(&prompt("make it fast"), &told).unwrap();
    insta::assert_snapshot!(told.0.into_inner().unwrap().join("\n"), @r"
    request 4 Some(32768)
    spent 0+0 (0 cached), failed
    waits: the endpoint answered with status 503
    request 4 Some(32768)
    received 4
    spent about 4+32768 (0 cached), failed
    waits: the answer was cut off
    request 4 Some(32768)
    spent about 4+32768 (0 cached), failed
    waits: the connection failed: connection closed before message completed
    request 4 Some(32768)
    received 4
    spent 12+5 (0 cached)
    ");
}

#[test]
fn a_request_that_is_not_allowed_is_not_made() {
    struct Broke;
    impl Witness for Broke {
        fn request(&self, _: Request) -> Result<(), ModelError> {
            Err(ModelError::Budget { what: "no requests".to_owned() })
        }
        fn settle(&self, _: Spent) {}
        fn received(&self, _: usize) {}
        fn waits(&self, _: Duration, _: &str) {}
    }
    let server = Raw::new(vec![chat_stream("good")]);
    let error = model(settings(Dialect::Chat, &server.url)).answer(&prompt("x"), &Broke).unwrap_err();
    assert!(matches!(error, ModelError::Budget { .. }));
    assert_eq!(server.asked(), 0);
}
