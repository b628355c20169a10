//! What stands between a store and its server, and cuts the wire where a test wants it.

use std::io::{Read as _, Write as _};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

/// What becomes of the next commit, or of whatever is asked next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fate {
    Passes,
    /// It is lost on its way.
    Lost,
    /// It arrives, and its answer is lost.
    Unanswered,
    /// It arrives only when it is let go, long after.
    Late,
    /// Whatever is asked next is lost on its way, and the connection with it.
    Cut,
}

/// What is held back, and where it goes.
type Held = Arc<Mutex<Vec<(Vec<u8>, TcpStream)>>>;

/// A wire to a server.
pub(super) struct Proxy {
    port: u16,
    fate: Arc<Mutex<Fate>>,
    /// New connections are cut at once.
    is_down: Arc<AtomicBool>,
    held: Held,
}

impl Proxy {
    pub(super) fn to(server: u16) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let proxy = Self {
            port: listener.local_addr().unwrap().port(),
            fate: Arc::new(Mutex::new(Fate::Passes)),
            is_down: Arc::default(),
            held: Arc::default(),
        };
        let is_down = Arc::clone(&proxy.is_down);
        let (fate, held) = (Arc::clone(&proxy.fate), Arc::clone(&proxy.held));
        thread::spawn(move || {
            for client in listener.incoming().flatten() {
                if is_down.load(Ordering::SeqCst) {
                    continue;
                }
                let Ok(server) = TcpStream::connect(("127.0.0.1", server)) else {
                    continue;
                };
                let (fate, held) = (Arc::clone(&fate), Arc::clone(&held));
                let (from, to) = (server.try_clone().unwrap(), client.try_clone().unwrap());
                thread::spawn(move || pass(from, &to));
                thread::spawn(move || watch(client, &server, &fate, &held));
            }
        });
        proxy
    }

    pub(super) fn port(&self) -> u16 {
        self.port
    }

    pub(super) fn set(&self, fate: Fate) {
        *self.fate.lock().unwrap() = fate;
    }

    /// Cuts new connections at once, or lets them pass.
    pub(super) fn set_down(&self, is_down: bool) {
        self.is_down.store(is_down, Ordering::SeqCst);
    }

    /// Lets go what is held back.
    pub(super) fn let_go(&self) {
        for (bytes, mut to) in self.held.lock().unwrap().drain(..) {
            let _ = to.write_all(&bytes);
        }
    }
}

fn pass(mut from: TcpStream, mut to: &TcpStream) {
    let mut bytes = [0; 65_536];
    while let Ok(read @ 1..) = from.read(&mut bytes) {
        if to.write_all(&bytes[..read]).is_err() {
            break;
        }
    }
    let _ = to.shutdown(Shutdown::Both);
}

/// Passes on what a client sends, until its fate is decided.
fn watch(mut client: TcpStream, mut server: &TcpStream, fate: &Mutex<Fate>, held: &Held) {
    let mut bytes = [0; 65_536];
    while let Ok(read @ 1..) = client.read(&mut bytes) {
        let sent = &bytes[..read];
        let is_commit = sent.windows(7).any(|window| window == b"commit\0");
        let mut fate = fate.lock().unwrap();
        let now = match is_commit || *fate == Fate::Cut {
            true => *fate,
            false => Fate::Passes,
        };
        match now {
            Fate::Passes => {
                drop(fate);
                if server.write_all(sent).is_err() {
                    break;
                }
                continue;
            }
            Fate::Unanswered => {
                // The answer is cut off before it comes.
                let _ = client.shutdown(Shutdown::Both);
                let _ = server.write_all(sent);
                // Gone too soon, the server would see the end before it reads what was sent.
                thread::sleep(Duration::from_millis(300));
            }
            Fate::Lost | Fate::Cut => {}
            Fate::Late => {
                let to = server.try_clone().unwrap();
                held.lock().unwrap().push((sent.to_vec(), to));
                *fate = Fate::Passes;
                return;
            }
        }
        *fate = Fate::Passes;
        let _ = client.shutdown(Shutdown::Both);
        let _ = server.shutdown(Shutdown::Both);
        return;
    }
    let _ = server.shutdown(Shutdown::Both);
}
