//! A wire that takes its time: it stands between a runner and the server, and passes on what comes so much later, in both directions.

use std::io::{self, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

use super::super::gateway::any_port;

/// The wire; it takes no more connections when it is dropped.
pub struct Delay {
    address: SocketAddr,
    ended: Arc<AtomicBool>,
}

impl Delay {
    /// Listens in place of a server that is elsewhere.
    pub fn start(server: SocketAddr, each_way: Duration) -> io::Result<Self> {
        let listener = TcpListener::bind(any_port())?;
        let address = listener.local_addr()?;
        let ended = Arc::new(AtomicBool::new(false));
        let is_over = Arc::clone(&ended);
        std::thread::spawn(move || {
            while let Ok((client, _)) = listener.accept() {
                if is_over.load(Ordering::Relaxed) {
                    return;
                }
                // How a connection ends is the two sides' affair.
                drop(join(client, server, each_way));
            }
        });
        Ok(Self { address, ended })
    }

    pub fn port(&self) -> u16 {
        self.address.port()
    }
}

impl Drop for Delay {
    fn drop(&mut self) {
        self.ended.store(true, Ordering::Relaxed);
        // Whoever accepts is woken by a last connection.
        let _ = TcpStream::connect_timeout(&self.address, Duration::from_secs(1));
    }
}

fn join(client: TcpStream, server: SocketAddr, each_way: Duration) -> io::Result<()> {
    let server = TcpStream::connect(server)?;
    for stream in [&client, &server] {
        stream.set_nodelay(true)?;
    }
    carry(client.try_clone()?, server.try_clone()?, each_way);
    carry(server, client, each_way);
    Ok(())
}

/// Carries one direction: what is read now is written so much later, and what comes meanwhile is not held up by that.
fn carry(mut from: TcpStream, to: TcpStream, each_way: Duration) {
    let (sender, receiver) = channel();
    std::thread::spawn(move || write_later(to, &receiver));
    std::thread::spawn(move || {
        let mut bytes = [0; 65_536];
        while let Ok(read @ 1..) = from.read(&mut bytes) {
            if sender
                .send((Instant::now() + each_way, bytes[..read].to_vec()))
                .is_err()
            {
                break;
            }
        }
        let _ = from.shutdown(Shutdown::Read);
    });
}

fn write_later(mut to: TcpStream, receiver: &Receiver<(Instant, Vec<u8>)>) {
    while let Ok((at, bytes)) = receiver.recv() {
        std::thread::sleep(at.saturating_duration_since(Instant::now()));
        if to.write_all(&bytes).is_err() {
            break;
        }
    }
    let _ = to.shutdown(Shutdown::Both);
}
