//! What an attacker sends: plain HTTP/1.1 over TCP on loopback, well-formed or not.

use std::io::{self, Read, Write};
use std::net::TcpStream;
use std::time::Duration;

/// How long a caller waits for a reply, however busy the machine is.
const PATIENCE: Duration = Duration::from_secs(30);

/// A reply; the `date` header, which alone may differ, is left out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reply {
    pub status: u16,
    pub head: String,
    pub body: String,
}

/// A connection to the listener.
pub struct Caller {
    port: u16,
    stream: TcpStream,
}

impl Caller {
    pub fn connect(port: u16) -> Self {
        Self {
            port,
            stream: stream(port),
        }
    }

    /// Sends a request and reads its reply; a connection that was closed in between is opened anew.
    #[track_caller]
    pub fn call(&mut self, method: &str, path: &str, body: &str) -> Reply {
        match self.try_call(method, path, body) {
            Ok(reply) => reply,
            Err(_) => {
                self.stream = stream(self.port);
                self.try_call(method, path, body).unwrap()
            }
        }
    }

    pub fn post(&mut self, path: &str, body: &str) -> Reply {
        self.call("POST", path, body)
    }

    /// The same, and an error when the listener is gone.
    pub fn try_call(&mut self, method: &str, path: &str, body: &str) -> io::Result<Reply> {
        let length = body.len();
        let request = format!(
            "{method} {path} HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\ncontent-length: {length}\r\n\r\n{body}"
        );
        self.stream.write_all(request.as_bytes())?;
        read_reply(&mut self.stream)
    }
}

/// Opens a connection.
#[track_caller]
pub fn stream(port: u16) -> TcpStream {
    let stream = TcpStream::connect(("127.0.0.1", port)).unwrap();
    stream.set_nodelay(true).unwrap();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    stream
}

/// The head of a request whose body is `length` bytes.
pub fn head(path: &str, length: u64) -> String {
    format!("POST {path} HTTP/1.1\r\nhost: x\r\ncontent-length: {length}\r\n\r\n")
}

/// Reads one reply, as long as its head says.
pub fn read_reply(stream: &mut TcpStream) -> io::Result<Reply> {
    let mut bytes = Vec::new();
    let mut part = [0; 2048];
    let end = loop {
        if let Some(at) = bytes.windows(4).position(|four| four == b"\r\n\r\n") {
            break at + 4;
        }
        match stream.read(&mut part)? {
            0 => return Err(io::ErrorKind::UnexpectedEof.into()),
            count => bytes.extend_from_slice(&part[..count]),
        }
    };
    let lines = String::from_utf8_lossy(&bytes[..end]).into_owned();
    let length = lines
        .lines()
        .find_map(|line| line.strip_prefix("content-length: "))
        .map_or(0, |length| length.parse().unwrap());
    while bytes.len() < end + length {
        match stream.read(&mut part)? {
            0 => return Err(io::ErrorKind::UnexpectedEof.into()),
            count => bytes.extend_from_slice(&part[..count]),
        }
    }
    let head: Vec<&str> = lines
        .lines()
        .filter(|line| !line.starts_with("date:"))
        .collect();
    Ok(Reply {
        status: lines.split(' ').nth(1).unwrap().parse().unwrap(),
        head: head.join("\n"),
        body: String::from_utf8_lossy(&bytes[end..]).into_owned(),
    })
}

/// A callback as section 6 has it.
pub fn pushed(id: &str, code: i32, more: &str) -> String {
    format!(
        r#"{{"function":"GATEWAY.pushPaymentStatus","countryCode":"KE","payload":{{"packet":{{"statusCode":{code},"statusDescription":"said","payerTransactionID":"{id}","gatewayTransactionID":"77"{more}}},"credentials":{{"username":"u","password":"p"}}}}}}"#
    )
}
