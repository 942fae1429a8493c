//! Servers for the tests: a scripted one that says raw bytes, one script a connection, and keeps what it was asked.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

/// What is done with a connection once the request was read.
#[derive(Clone)]
pub enum Act {
    /// Bytes as they are.
    Say(String),
    /// Time goes by.
    Wait(Duration),
    /// Says nothing for as long as the other side listens.
    Hang,
    /// Says nothing until this is set.
    Until(Arc<AtomicBool>),
}

/// Serves one script a connection; the last one for all that follow.
pub struct Raw {
    pub url: String,
    pub requests: Arc<Mutex<Vec<String>>>,
}

impl Raw {
    pub fn new(scripts: Vec<Vec<Act>>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}/v1", listener.local_addr().unwrap());
        let requests = Arc::new(Mutex::new(Vec::new()));
        let kept = requests.clone();
        thread::spawn(move || {
            for (number, stream) in listener.incoming().enumerate() {
                let (Ok(stream), Some(last)) = (stream, scripts.last()) else { return };
                let script = scripts.get(number).unwrap_or(last).clone();
                let kept = kept.clone();
                thread::spawn(move || serve(stream, &script, &kept));
            }
        });
        Self { url, requests }
    }

    pub fn asked(&self) -> usize {
        self.requests.lock().unwrap().len()
    }
}

fn serve(mut stream: TcpStream, script: &[Act], kept: &Mutex<Vec<String>>) {
    let Some(request) = read_request(&mut stream) else { return };
    kept.lock().unwrap().push(request);
    for act in script {
        match act {
            Act::Say(text) => {
                if stream.write_all(text.as_bytes()).is_err() {
                    return;
                }
            }
            Act::Wait(time) => thread::sleep(*time),
            Act::Until(set) => {
                while !set.load(Ordering::Relaxed) {
                    thread::sleep(Duration::from_millis(1));
                }
            }
            Act::Hang => {
                let _ = stream.read_to_end(&mut Vec::new());
            }
        }
    }
}

fn read_request(stream: &mut TcpStream) -> Option<String> {
    let mut bytes = Vec::new();
    let mut piece = [0; 4096];
    loop {
        let text = String::from_utf8_lossy(&bytes).into_owned();
        if let Some((head, body)) = text.split_once("\r\n\r\n") {
            let length = head.lines().find_map(|line| {
                let (name, value) = line.split_once(':')?;
                name.eq_ignore_ascii_case("content-length").then(|| value.trim().parse::<usize>().ok())?
            });
            if body.len() >= length.unwrap_or(0) {
                return Some(text);
            }
        }
        match stream.read(&mut piece) {
            Ok(0) | Err(_) => return None,
            Ok(count) => bytes.extend_from_slice(&piece[..count]),
        }
    }
}

/// The head of a stream that ends with the connection.
pub fn stream_head() -> Act {
    Act::Say("HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n".to_owned())
}

/// A whole response that is no stream.
pub fn response(status: &str, headers: &str, body: &str) -> Vec<Act> {
    let length = body.len();
    vec![Act::Say(format!(
        "HTTP/1.1 {status}\r\ncontent-length: {length}\r\nconnection: close\r\n{headers}\r\n{body}"
    ))]
}

/// A piece of a chat answer.
pub fn chat(text: &str) -> Act {
    let event = serde_json::json!({ "choices": [{ "delta": { "content": text }, "finish_reason": null }] });
    Act::Say(format!("data: {event}\n\n"))
}

/// A whole chat stream.
pub fn chat_stream(text: &str) -> Vec<Act> {
    vec![stream_head(), chat(text), chat_end()]
}

pub fn chat_end() -> Act {
    let stop = serde_json::json!({ "choices": [{ "delta": {}, "finish_reason": "stop" }] });
    Act::Say(format!("data: {stop}\n\ndata: [DONE]\n\n"))
}
