//! A browser, as far as tests need one: it asks for pages, and takes events.

use std::fmt::Write as _;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::thread::JoinHandle;

use crate::world::{PATIENCE, Running};

/// The address of a page: what to connect to, and the path with its token.
#[derive(Clone)]
pub struct Page {
    pub host: String,
    pub root: String,
}

impl Page {
    /// Reads the address out of what a program has said.
    pub fn in_text(text: &str) -> Option<Self> {
        let (_, rest) = text.split_once("http://")?;
        let (host, rest) = rest.split_once('/')?;
        let (token, _) = rest.split_once('/')?;
        let root = format!("/{token}/");
        Some(Self {
            host: host.to_owned(),
            root,
        })
    }

    /// The page of a run under way.
    #[track_caller]
    pub fn of(run: &mut Running) -> Self {
        let told = |run: &Running| Self::in_text(&format!("{}{}", run.out(), run.err()));
        run.until("an address", |run| told(run).is_some());
        told(run).unwrap()
    }

    #[track_caller]
    fn ask(&self, path: &str) -> TcpStream {
        let mut stream = TcpStream::connect(&self.host).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        let (root, host) = (&self.root, &self.host);
        let request =
            format!("GET {root}{path} HTTP/1.1\r\nhost: {host}\r\nconnection: close\r\n\r\n");
        stream.write_all(request.as_bytes()).unwrap();
        stream
    }

    /// Returns the head and the body of a page.
    #[track_caller]
    pub fn get(&self, path: &str) -> (String, Vec<u8>) {
        let mut reply = Vec::new();
        self.ask(path).read_to_end(&mut reply).unwrap();
        let end = reply
            .windows(4)
            .position(|four| four == b"\r\n\r\n")
            .unwrap();
        let head = String::from_utf8_lossy(&reply[..end]).into_owned();
        (head, reply[end + 4..].to_vec())
    }

    #[track_caller]
    pub fn text(&self, path: &str) -> String {
        let (head, body) = self.get(path);
        assert!(head.starts_with("HTTP/1.1 200 "), "{path}: {head}");
        String::from_utf8(body).unwrap()
    }

    /// Looks at a page until it is gone, as a browser does; returns how often it changed, how it looked last, and whether it was
    /// told that it is gone.
    pub fn watch(&self, path: &str) -> JoinHandle<(usize, String, bool)> {
        let stream = self.ask(path);
        std::thread::spawn(move || {
            let (mut changes, mut last, mut is_gone) = (0, String::new(), false);
            let mut is_page = false;
            for line in BufReader::new(stream).lines() {
                let Ok(line) = line else { break };
                if let Some(name) = line.strip_prefix("event: ") {
                    is_page = name == "page";
                    is_gone |= name == "gone";
                    if is_page {
                        changes += 1;
                        last.clear();
                    }
                } else if let Some(text) = line.strip_prefix("data: ").filter(|_| is_page) {
                    writeln!(last, "{text}").unwrap();
                }
            }
            (changes, last, is_gone)
        })
    }
}
