//! A server that does to each connection exactly what a test tells it, and keeps every byte it was sent.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

/// No read or write of a server waits longer.
const PATIENCE: Duration = Duration::from_secs(10);

#[derive(Clone)]
pub struct Server {
    pub address: SocketAddr,
    received: Arc<Mutex<Vec<u8>>>,
    connections: Arc<AtomicUsize>,
}

impl Server {
    /// Listens on loopback; `behave` gets every connection, on a thread of its own.
    pub fn start(behave: impl Fn(Connection<'_>) + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let server = Self {
            address: listener.local_addr().unwrap(),
            received: Arc::default(),
            connections: Arc::default(),
        };
        let (behave, shared) = (Arc::new(behave), server.clone());
        thread::spawn(move || {
            for stream in listener.incoming() {
                let (behave, shared) = (behave.clone(), shared.clone());
                shared.connections.fetch_add(1, Ordering::SeqCst);
                thread::spawn(move || {
                    let stream = stream.unwrap();
                    stream.set_read_timeout(Some(PATIENCE)).unwrap();
                    stream.set_write_timeout(Some(PATIENCE)).unwrap();
                    behave(Connection {
                        stream,
                        server: &shared,
                    });
                });
            }
        });
        server
    }

    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    pub fn connections(&self) -> usize {
        self.connections.load(Ordering::SeqCst)
    }

    pub fn received(&self) -> Vec<u8> {
        self.received.lock().unwrap().clone()
    }

    /// Counts how often the text arrived, over all connections.
    pub fn copies(&self, text: &str) -> usize {
        self.received()
            .windows(text.len())
            .filter(|window| *window == text.as_bytes())
            .count()
    }
}

pub struct Connection<'a> {
    pub stream: TcpStream,
    server: &'a Server,
}

impl Connection<'_> {
    /// Reads one request and returns its body; `None` when the client has hung up.
    pub fn request(&mut self) -> Option<Vec<u8>> {
        self.request_but(0)
    }

    /// Reads one request but for its last bytes.
    pub fn request_but(&mut self, unread: usize) -> Option<Vec<u8>> {
        self.read(unread).map(|(_, body)| body)
    }

    /// Reads one request and returns its head and its body.
    pub fn request_with_head(&mut self) -> Option<(String, Vec<u8>)> {
        self.read(0)
    }

    fn read(&mut self, unread: usize) -> Option<(String, Vec<u8>)> {
        let mut head = Vec::new();
        while !head.ends_with(b"\r\n\r\n") {
            let mut byte = [0];
            if self.stream.read(&mut byte).ok()? == 0 {
                return None;
            }
            head.push(byte[0]);
        }
        self.keep(&head);
        let head = String::from_utf8(head).unwrap();
        let text = head.to_lowercase();
        let length: usize = text
            .lines()
            .find_map(|line| line.strip_prefix("content-length: "))
            .map_or(0, |length| length.parse().unwrap());
        let mut body = vec![0; length - unread];
        self.stream.read_exact(&mut body).ok()?;
        self.keep(&body);
        Some((head, body))
    }

    /// Sends a reply of JSON.
    pub fn reply(&mut self, status: &str, body: &str) {
        self.send(format!(
            "HTTP/1.1 {status}\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n{body}",
            body.len()
        ));
    }

    /// Sends bytes as they are. The client may have hung up already.
    pub fn send(&mut self, bytes: impl AsRef<[u8]>) {
        let _ = self.stream.write_all(bytes.as_ref());
    }

    /// Keeps whatever else the client sends, until it hangs up.
    pub fn drain(&mut self) {
        let mut bytes = [0; 4096];
        while let Ok(count @ 1..) = self.stream.read(&mut bytes) {
            self.keep(&bytes[..count]);
        }
    }

    fn keep(&self, bytes: &[u8]) {
        self.server
            .received
            .lock()
            .unwrap()
            .extend_from_slice(bytes);
    }
}
