//! Every fault: whether it is asked again, and what is said in the end.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use cargo_fsr::model::http::{Dialect, HttpSettings, Network};
use cargo_fsr::model::{HttpModel, ModelError};

use super::server::{Act, Raw, chat, chat_end, chat_stream, response, stream_head};
use super::{CANARY, ask, fault, model, settings};

fn chat_model(server: &Raw) -> HttpModel {
    model(settings(Dialect::Chat, &server.url))
}

/// A fault, then a good answer: how often the server was asked, and what came of it.
fn then_good(first: Vec<Act>) -> (usize, Result<String, String>) {
    let server = Raw::new(vec![first, chat_stream("good")]);
    let result = ask(&chat_model(&server));
    (server.asked(), result.map(|answer| answer.text).map_err(|error| error.to_string()))
}

#[test]
fn what_may_pass_is_asked_again() {
    for status in [
        "408 Request Timeout",
        "409 Conflict",
        "429 Too Many Requests",
        "500 Error",
        "502 Bad Gateway",
        "503 Unavailable",
        "504 Timeout",
        "529 Overloaded",
    ] {
        assert_eq!(then_good(response(status, "", "{}")), (2, Ok("good".to_owned())), "{status}");
    }
    // Limits of rate that point to where more can be bought.
    let limited = r#"{"error":{"message":"Rate limit reached. Add a payment method: platform.openai.com/account/billing","code":"rate_limit_exceeded"}}"#;
    assert_eq!(then_good(response("429 Too Many Requests", "", limited)), (2, Ok("good".to_owned())));
    let broken = [
        ("a connection that is closed at once", vec![]),
        ("a cut stream", vec![stream_head(), chat("half")]),
        (
            "a cut body",
            vec![Act::Say(
                "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 99\r\n\r\n{".to_owned(),
            )],
        ),
        ("a stream of garbage", vec![stream_head(), Act::Say("data: {{{{\n\n".to_owned())]),
        (
            "an error in the stream",
            vec![stream_head(), Act::Say("data: {\"error\":{\"message\":\"overloaded\"}}\n\n".to_owned())],
        ),
        ("no HTTP", vec![Act::Say("SSH-2.0-OpenSSH_9.6\r\n".to_owned())]),
        ("JSON of something else", response("200 OK", "content-type: application/json\r\n", "{\"hello\":1}")),
    ];
    for (what, script) in broken {
        assert_eq!(then_good(script), (2, Ok("good".to_owned())), "{what}");
    }
}

#[test]
fn what_cannot_pass_is_final_at_once_and_says_where_to_look() {
    let error = |message: &str| serde_json::json!({ "error": { "message": message } }).to_string();
    let json = "content-type: application/json\r\n";
    let said = |status: &str, body: &str| {
        let (asked, result) = then_good(response(status, json, body));
        assert_eq!(asked, 1, "{status}");
        result.unwrap_err()
    };
    insta::assert_snapshot!(said("401 Unauthorized", &error(&format!("Incorrect API key provided: {CANARY}."))),
        @"model `some`: the endpoint does not accept the key in SOME_KEY (401): Incorrect API key provided: [SOME_KEY].");
    insta::assert_snapshot!(said("403 Forbidden", ""),
        @"model `some`: the endpoint does not accept the key in SOME_KEY (403)");
    insta::assert_snapshot!(said("402 Payment Required", &error("Insufficient credits")),
        @"model `some`: the account behind the key in SOME_KEY has no quota left (402): Insufficient credits");
    insta::assert_snapshot!(said("429 Too Many Requests", r#"{"error":{"message":"You exceeded your current quota","code":"insufficient_quota"}}"#),
        @"model `some`: the account behind the key in SOME_KEY has no quota left (429): You exceeded your current quota");
    insta::assert_snapshot!(said("404 Not Found", &error("The model does not exist")),
        @"model `some`: the endpoint knows no model `some-model`, or `base-url` is wrong (404): The model does not exist");
    insta::assert_snapshot!(said("400 Bad Request", &error("This model's maximum context length is 8192 tokens")),
        @"model `some`: the endpoint answered with status 400: This model's maximum context length is 8192 tokens");
    insta::assert_snapshot!(said("301 Moved", "location: https://example.com/v1\r\n"),
        @"model `some`: the endpoint redirects to another place, which is not followed: the key would go there; mend `base-url`");
    let (asked, result) = then_good(response("200 OK", "content-type: text/html\r\n", "<html>"));
    assert_eq!(asked, 1);
    insta::assert_snapshot!(result.unwrap_err(),
        @"model `some`: the answer is text/html, neither an event stream nor JSON: `base-url` is probably wrong");
}

#[test]
fn a_refusal_of_something_else_drops_no_parameter() {
    for words in [
        "the model could not be restored; store is full",
        "this temperature-controlled server has no GPU",
        "limits: max_completion_tokens_per_day",
    ] {
        let mut settings = settings(Dialect::Responses, "http://localhost");
        settings.temperature = Some(0.5);
        for dialect in [Dialect::Chat, Dialect::Responses, Dialect::Messages] {
            let error = serde_json::json!({ "error": { "message": words } }).to_string();
            let server = Raw::new(vec![response("400 Bad Request", "", &error), chat_stream("good")]);
            let settings =
                HttpSettings { dialect, base_url: server.url.parse().unwrap(), ..settings.clone() };
            assert!(fault(&model(settings)).contains(words));
            assert_eq!(server.asked(), 1, "{words}");
        }
    }
    // No answer without a limit: what may be spent is reckoned with it.
    let error = r#"{"error":{"message":"unknown field","param":"max_tokens"}}"#;
    let server = Raw::new(vec![response("400 Bad Request", "", error)]);
    assert!(fault(&model(settings(Dialect::Messages, &server.url))).contains("status 400: unknown field"));
    assert_eq!(server.asked(), 1);
}

#[test]
fn in_the_end_it_gives_up() {
    let server = Raw::new(vec![response("503 Unavailable", "", "down for repairs")]);
    insta::assert_snapshot!(fault(&chat_model(&server)),
        @"model `some`: the endpoint answered with status 503: down for repairs; it was asked as often and as long as `retries` and `deadline` allow");
    assert_eq!(server.asked(), 4);
}

#[test]
fn a_pause_that_is_asked_for_is_kept_or_too_long() {
    // Longer than the deadline: waiting would be for nothing.
    let (asked, result) = then_good(response("429 Too Many", "retry-after: 3600\r\n", "slow down"));
    assert_eq!(asked, 1);
    assert!(result.unwrap_err().contains("status 429: slow down; it was asked as often"));
    // Longer than clocks go.
    let (asked, result) = then_good(response("429 Too Many", "retry-after: 1e19\r\n", "slow down"));
    assert_eq!((asked, result.is_err()), (1, true));
    let start = std::time::Instant::now();
    let (asked, result) = then_good(response("429 Too Many", "retry-after-ms: 300\r\n", ""));
    assert_eq!((asked, result), (2, Ok("good".to_owned())));
    assert!(start.elapsed() >= Duration::from_millis(300));
}

#[test]
fn a_redirect_to_another_host_is_refused_and_the_key_stays() {
    let other = Raw::new(vec![chat_stream("stolen")]);
    for status in ["307 Temporary", "308 Permanent", "302 Found"] {
        let location = format!("location: {}/chat/completions\r\n", other.url);
        let server = Raw::new(vec![response(status, &location, "")]);
        assert!(fault(&chat_model(&server)).contains("redirects to another place"));
    }
    assert_eq!(other.asked(), 0);
    // Within the host it is an ordinary thing.
    let (asked, result) = then_good(response("307 Temporary", "location: /v2/chat/completions\r\n", ""));
    assert_eq!((asked, result), (2, Ok("good".to_owned())));
}

#[test]
fn silence_is_noticed_and_a_slow_answer_is_not_silence() {
    let settings = |server: &Raw, stall| {
        let mut settings = settings(Dialect::Chat, &server.url);
        settings.patience.stall = Duration::from_secs(stall);
        settings
    };
    for script in
        [vec![Act::Hang], vec![stream_head(), Act::Hang], vec![stream_head(), chat("half"), Act::Hang]]
    {
        let server = Raw::new(vec![script, chat_stream("good")]);
        assert_eq!(ask(&model(settings(&server, 1))).unwrap().text, "good");
        assert!(server.asked() >= 2);
    }
    // A whole answer is not thrown away, though nothing closes it.
    let whole = Act::Say(
        "data: {\"choices\":[{\"delta\":{\"content\":\"whole\"},\"finish_reason\":\"stop\"}]}\n\n".to_owned(),
    );
    let server = Raw::new(vec![vec![stream_head(), whole, Act::Hang], chat_stream("again")]);
    assert_eq!(ask(&model(settings(&server, 1))).unwrap().text, "whole");
    let drip = (0..8).flat_map(|_| [chat("."), Act::Wait(Duration::from_millis(500))]);
    let script = std::iter::once(stream_head()).chain(drip).chain([chat_end()]).collect();
    let server = Raw::new(vec![script]);
    assert_eq!(ask(&model(settings(&server, 3))).unwrap().text, "........");
}

#[test]
fn drip_without_end_meets_the_deadline() {
    let drip = (0..1000).flat_map(|_| [chat("."), Act::Wait(Duration::from_millis(20))]);
    let server = Raw::new(vec![std::iter::once(stream_head()).chain(drip).collect()]);
    let mut settings = settings(Dialect::Chat, &server.url);
    settings.patience.deadline = Duration::from_secs(1);
    insta::assert_snapshot!(fault(&model(settings)),
        @"model `some`: there was no whole answer within 1 s (`deadline` sets the limit)");
}

#[test]
fn ten_megabytes_are_too_much() {
    let long = "x".repeat(10 << 20);
    let json = format!("{{\"choices\":[{{\"message\":{{\"content\":\"{long}\"}}}}]}}");
    let scripts = [
        vec![stream_head(), chat(&long), chat_end()],
        // A line that does not end.
        std::iter::once(stream_head()).chain((0..20).map(|_| Act::Say(long.clone()))).collect(),
        response("200 OK", "content-type: application/json\r\n", &json),
    ];
    for script in scripts {
        let server = Raw::new(vec![script]);
        let told = fault(&chat_model(&server));
        assert!(told.ends_with("longer than 1048576 bytes (`max-answer-bytes` sets the limit)"), "{told}");
        assert_eq!(server.asked(), 1);
    }
}

#[test]
fn a_key_that_is_said_back_is_not_kept() {
    let server = Raw::new(vec![vec![stream_head(), chat(&CANARY[..6]), chat(&CANARY[6..]), chat_end()]]);
    assert_eq!(ask(&chat_model(&server)).unwrap().text, "[SOME_KEY]");
}

#[test]
fn addresses_that_would_give_the_key_away_are_refused() {
    let refused = |url: &str| {
        let settings = HttpSettings { ..settings(Dialect::Chat, url) };
        HttpModel::new("some", settings, &Network::new().unwrap(), Arc::default()).unwrap_err().to_string()
    };
    insta::assert_snapshot!(refused("http://192.0.2.1:8000/v1"),
        @"model `some`: its `base-url` is plain http to another machine; use https, or set `allow-http = true`");
    insta::assert_snapshot!(refused("https://user:secret@example.com/v1"),
        @"model `some`: its `base-url` holds a user or a password; name a variable by `key-env` instead");
    insta::assert_snapshot!(refused("ftp://example.com"), @"model `some`: its `base-url` is neither https nor http");
    for url in ["http://localhost:1/v1", "http://127.0.0.9/v1", "http://[::1]:8080/v1", "https://example.com"]
    {
        model(settings(Dialect::Chat, url));
    }
}

#[test]
fn an_interrupt_ends_the_wait() {
    let server = Raw::new(vec![vec![Act::Hang]]);
    let interrupt = Arc::new(AtomicBool::new(true));
    let settings = settings(Dialect::Chat, &server.url);
    let model = HttpModel::new("some", settings, &Network::new().unwrap(), interrupt).unwrap();
    assert!(matches!(ask(&model), Err(ModelError::Interrupted)));
}

#[test]
fn no_more_requests_at_once_than_a_host_shall_have() {
    let open = Arc::new(AtomicBool::new(false));
    let server = Raw::new(vec![vec![Act::Until(open.clone()), stream_head(), chat("good"), chat_end()]]);
    let mut settings = settings(Dialect::Chat, &server.url);
    settings.concurrency = 2;
    let model = model(settings);
    std::thread::scope(|scope| {
        for _ in 0..6 {
            scope.spawn(|| assert_eq!(ask(&model).unwrap().text, "good"));
        }
        while server.asked() < 2 {
            std::thread::sleep(Duration::from_millis(1));
        }
        // Time for a third one, were it let through.
        std::thread::sleep(Duration::from_millis(200));
        let asked = server.asked();
        open.store(true, Ordering::Relaxed);
        assert_eq!(asked, 2);
    });
    assert_eq!(server.asked(), 6);
}
