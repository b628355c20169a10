//! The wire between a host and its server, which breaks: it cuts connections, loses the answer to a commit, delays, and goes dead.

use std::io::{Read as _, Write as _};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;

use fastrand::Rng;

use crate::script::millis;

/// How a program says that a transaction ends.
const COMMIT: &[u8] = b"commit\0";

/// The wire of one host.
pub struct Wire {
    pub port: u16,
    state: Arc<State>,
}

#[derive(Default)]
struct State {
    is_over: AtomicBool,
    /// Nothing passes, and nobody is told.
    is_dead: AtomicBool,
    is_slow: AtomicBool,
    /// So many answers to commits are lost.
    to_lose: AtomicUsize,
    lost: AtomicUsize,
    /// Both ends of the connections that stand.
    standing: Mutex<Vec<[TcpStream; 2]>>,
}

impl Wire {
    pub fn to(server: u16) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let state = Arc::new(State::default());
        let shared = Arc::clone(&state);
        thread::spawn(move || {
            for host in listener.incoming() {
                if shared.is_over.load(Ordering::Relaxed) {
                    return;
                }
                let Ok(host) = host else { continue };
                if let Ok(server) = TcpStream::connect(("127.0.0.1", server)) {
                    connect([host, server], &shared);
                }
            }
        });
        Self { port, state }
    }

    /// Cuts every connection; returns how many.
    pub fn cut(&self) -> usize {
        let standing = std::mem::take(&mut *self.state.standing.lock().unwrap());
        let is_open = |ends: &&[TcpStream; 2]| reset(ends);
        standing.iter().filter(is_open).count()
    }

    /// Loses the answers to the next commits, which reach the server.
    pub fn lose_answers(&self, count: usize) {
        self.state.to_lose.store(count, Ordering::SeqCst);
    }

    /// How many answers were lost.
    pub fn lost(&self) -> usize {
        self.state.lost.load(Ordering::SeqCst)
    }

    pub fn slow(&self, is_slow: bool) {
        self.state.is_slow.store(is_slow, Ordering::SeqCst);
    }

    pub fn dead(&self, is_dead: bool) {
        self.state.is_dead.store(is_dead, Ordering::SeqCst);
    }
}

impl Drop for Wire {
    fn drop(&mut self) {
        self.state.is_over.store(true, Ordering::Relaxed);
        self.cut();
        let _ = TcpStream::connect(("127.0.0.1", self.port));
    }
}

/// Resets both ends; returns whether they were open.
fn reset(ends: &[TcpStream; 2]) -> bool {
    let mut were_open = true;
    for end in ends {
        let _ = rustix::net::sockopt::set_socket_linger(end, Some(millis(0)));
        were_open &= end.shutdown(Shutdown::Both).is_ok();
    }
    were_open
}

fn connect(ends: [TcpStream; 2], state: &Arc<State>) {
    for end in &ends {
        let _ = end.set_nodelay(true);
    }
    let copy = || [0, 1].map(|end| ends[end].try_clone().unwrap());
    let is_lost = Arc::new(AtomicBool::new(false));
    for way in [Way::Request, Way::Answer] {
        let (state, is_lost, ends) = (Arc::clone(state), Arc::clone(&is_lost), copy());
        thread::spawn(move || pump(way, &ends, &state, &is_lost));
    }
    state.standing.lock().unwrap().push(ends);
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Way {
    Request,
    Answer,
}

fn pump(way: Way, ends: &[TcpStream; 2], state: &State, is_lost: &AtomicBool) {
    let (mut from, mut to) = match way {
        Way::Request => (&ends[0], &ends[1]),
        Way::Answer => (&ends[1], &ends[0]),
    };
    let (mut buffer, mut rng) = (vec![0; 64 * 1024], Rng::new());
    while let Ok(length @ 1..) = from.read(&mut buffer) {
        let bytes = &buffer[..length];
        while state.is_dead.load(Ordering::SeqCst) && !state.is_over.load(Ordering::Relaxed) {
            thread::sleep(millis(10));
        }
        if state.is_slow.load(Ordering::SeqCst) {
            thread::sleep(millis(rng.u64(..3)));
        }
        match way {
            Way::Request if bytes.windows(COMMIT.len()).any(|text| text == COMMIT) => {
                let one_less = |left: usize| left.checked_sub(1);
                let loses =
                    state
                        .to_lose
                        .fetch_update(Ordering::SeqCst, Ordering::SeqCst, one_less);
                is_lost.store(loses.is_ok(), Ordering::SeqCst);
            }
            Way::Answer if is_lost.load(Ordering::SeqCst) => {
                state.lost.fetch_add(1, Ordering::SeqCst);
                reset(ends);
                return;
            }
            Way::Request | Way::Answer => {}
        }
        if to.write_all(bytes).is_err() {
            break;
        }
    }
    let _ = to.shutdown(Shutdown::Write);
}

/// Passes on what comes, to its end.
pub fn pass_on(mut from: TcpStream, mut to: TcpStream) {
    let _ = std::io::copy(&mut from, &mut to);
    let _ = to.shutdown(Shutdown::Write);
}
