//! A gateway that pays nobody, and says what a test puts into its mouth.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use serde_json::{Value, json};

/// What is asked: the path, and the body where it is JSON.
pub struct Question<'a> {
    pub path: &'a str,
    pub body: &'a Value,
}

impl Question<'_> {
    /// The packets that it is about.
    pub fn packets(&self) -> Vec<&Value> {
        match &self.body["payload"]["packet"] {
            Value::Array(packets) => packets.iter().collect(),
            Value::Null => Vec::new(),
            packet => vec![packet],
        }
    }

    /// Whether money is to be moved.
    pub fn is_post(&self) -> bool {
        self.body["function"]
            .as_str()
            .is_some_and(|function| function.to_lowercase().contains("postpayment"))
    }
}

/// Listens on loopback; returns the address.
pub fn start(say: impl Fn(&Question<'_>) -> Value + Send + Sync + 'static) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let say: Arc<dyn Fn(&Question<'_>) -> Value + Send + Sync> = Arc::new(say);
    thread::spawn(move || {
        for stream in listener.incoming() {
            let say = Arc::clone(&say);
            thread::spawn(move || serve(stream.unwrap(), &*say));
        }
    });
    url
}

fn serve(mut stream: TcpStream, say: &dyn Fn(&Question<'_>) -> Value) {
    stream
        .set_read_timeout(Some(Duration::from_secs(30)))
        .unwrap();
    let mut bytes = Vec::new();
    loop {
        let Some(end) = read_until(&mut stream, &mut bytes, |bytes| {
            bytes
                .windows(4)
                .position(|four| four == b"\r\n\r\n")
                .map(|at| at + 4)
        }) else {
            return;
        };
        let head = String::from_utf8_lossy(&bytes[..end]).into_owned();
        let length: usize = head
            .lines()
            .find_map(|line| {
                line.to_lowercase()
                    .strip_prefix("content-length: ")?
                    .parse()
                    .ok()
            })
            .unwrap_or(0);
        let whole = |bytes: &[u8]| (bytes.len() >= end + length).then_some(end + length);
        let Some(total) = read_until(&mut stream, &mut bytes, whole) else {
            return;
        };
        let body = serde_json::from_slice(&bytes[end..total]).unwrap_or(json!({}));
        bytes.drain(..total);
        let question = Question {
            path: head.split(' ').nth(1).unwrap(),
            body: &body,
        };
        let said = say(&question).to_string();
        let length = said.len();
        let reply = format!(
            "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: {length}\r\n\r\n{said}"
        );
        if stream.write_all(reply.as_bytes()).is_err() {
            return;
        }
    }
}

fn read_until(
    stream: &mut TcpStream,
    bytes: &mut Vec<u8>,
    end: impl Fn(&[u8]) -> Option<usize>,
) -> Option<usize> {
    let mut part = [0; 4096];
    loop {
        if let Some(end) = end(bytes) {
            return Some(end);
        }
        match stream.read(&mut part) {
            Ok(count @ 1..) => bytes.extend_from_slice(&part[..count]),
            _ => return None,
        }
    }
}
