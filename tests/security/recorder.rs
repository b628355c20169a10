//! Stands between the program and its gateway, passes every byte on, and keeps it.

use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::thread;

/// What went over the wire, both ways.
#[derive(Clone)]
pub struct Recorder {
    pub url: String,
    kept: Arc<Mutex<Vec<u8>>>,
}

impl Recorder {
    /// Listens on loopback, in front of this gateway.
    pub fn before(gateway: &str) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let recorder = Self {
            url: format!("http://{}", listener.local_addr().unwrap()),
            kept: Arc::default(),
        };
        let gateway = gateway.strip_prefix("http://").unwrap().to_owned();
        let kept = Arc::clone(&recorder.kept);
        thread::spawn(move || {
            for client in listener.incoming() {
                let (client, server) = (client.unwrap(), TcpStream::connect(&gateway));
                // A gateway that is gone refuses.
                let Ok(server) = server else { continue };
                for (from, to) in [
                    (client.try_clone().unwrap(), server.try_clone().unwrap()),
                    (server, client),
                ] {
                    let kept = Arc::clone(&kept);
                    thread::spawn(move || pass_on(from, to, &kept));
                }
            }
        });
        recorder
    }

    /// All of it so far.
    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.kept.lock().unwrap()).into_owned()
    }
}

fn pass_on(mut from: TcpStream, mut to: TcpStream, kept: &Mutex<Vec<u8>>) {
    let mut bytes = [0; 16 * 1024];
    while let Ok(count @ 1..) = from.read(&mut bytes) {
        // Kept before it is passed on: what has had an effect is in the record.
        kept.lock().unwrap().extend_from_slice(&bytes[..count]);
        if to.write_all(&bytes[..count]).is_err() {
            break;
        }
    }
    let _ = to.shutdown(Shutdown::Write);
}
