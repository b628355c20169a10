//! What stands before the hosts and spreads callbacks over them: each connection goes to any host that lets it in.

use std::net::{TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use super::wire::pass_on;

pub struct Balancer {
    /// The one that the gateway knows.
    pub port: u16,
    is_over: Arc<AtomicBool>,
}

impl Balancer {
    pub fn over(doors: Vec<u16>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let is_over = Arc::new(AtomicBool::new(false));
        let over = Arc::clone(&is_over);
        thread::spawn(move || {
            for (nth, caller) in listener.incoming().enumerate() {
                if over.load(Ordering::Relaxed) {
                    return;
                }
                let Ok(caller) = caller else { continue };
                // In turn: each hears of payments that others have posted.
                let inward = (0..doors.len()).map(|step| doors[(nth + step) % doors.len()]);
                let mut inward =
                    inward.filter_map(|door| TcpStream::connect(("127.0.0.1", door)).ok());
                if let Some(host) = inward.next() {
                    let [from, to] = [&caller, &host].map(|stream| stream.try_clone().unwrap());
                    thread::spawn(move || pass_on(from, to));
                    thread::spawn(move || pass_on(host, caller));
                }
            }
        });
        Self { port, is_over }
    }
}

impl Drop for Balancer {
    fn drop(&mut self) {
        self.is_over.store(true, Ordering::Relaxed);
        let _ = TcpStream::connect(("127.0.0.1", self.port));
    }
}
