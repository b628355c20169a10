//! A wire that breaks: a proxy that passes bytes on until it does something else with them.

use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

use fastrand::Rng;

/// What a connection ends with, after some bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ending {
    /// Both sides get a reset.
    Reset,
    /// The receiver hears that no more will come; the other direction stays open.
    HalfClose,
    /// Nothing more is passed on, and nobody is told.
    Stall,
    /// The same, after the head of the next message.
    StallAfterHead,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Way {
    Request,
    Reply,
}

/// What a wire does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wire {
    /// Ends a connection somewhere within its first bytes in one direction.
    Ends(Way, Ending),
    /// Passes on that many bytes in a second, or up to four times as many.
    Slow(u64),
    /// Passes on every byte by itself.
    Sliced,
    /// Accepts some connections and never hears a byte of them; resets the others.
    Deaf,
}

/// How many bytes a connection lives, at most: a handful of requests.
const LIFE: usize = 6_000;

pub struct Proxy {
    pub base_url: String,
    address: String,
    counts: Arc<Counts>,
}

#[derive(Default)]
struct Counts {
    connections: AtomicUsize,
    broken: AtomicUsize,
    over: AtomicBool,
}

/// What becomes of one direction of one connection.
#[derive(Clone, Copy)]
enum Plan {
    Pass,
    Slow(u64),
    Slice,
    End(usize, Ending),
}

impl Proxy {
    pub fn start(upstream: &str, wire: Wire, seed: u64) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap().to_string();
        let upstream = upstream.strip_prefix("http://").unwrap().to_owned();
        let counts = Arc::new(Counts::default());
        let shared = Arc::clone(&counts);
        thread::spawn(move || {
            let (mut rng, mut unheard) = (Rng::with_seed(seed), Vec::new());
            for client in listener.incoming() {
                if shared.over.load(Ordering::Relaxed) {
                    return;
                }
                shared.connections.fetch_add(1, Ordering::Relaxed);
                let (up, down) = plans(wire, &mut rng);
                // Deafness leaves room for some to get through, or nothing would ever end.
                let deaf = wire == Wire::Deaf && rng.u8(..6) == 0;
                let Ok(client) = client else { continue };
                if deaf {
                    shared.broken.fetch_add(1, Ordering::Relaxed);
                    // Closed, it would be heard of.
                    unheard.push(client);
                } else {
                    connect(client, &upstream, (up, down), &shared);
                }
            }
        });
        Self {
            base_url: format!("http://{address}"),
            address,
            counts,
        }
    }

    /// How many connections there were, and how many of them the wire broke.
    pub fn counts(&self) -> (usize, usize) {
        let count = |counter: &AtomicUsize| counter.load(Ordering::Relaxed);
        (count(&self.counts.connections), count(&self.counts.broken))
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        self.counts.over.store(true, Ordering::Relaxed);
        // Wakes the listener, so that it sees that it is over.
        let _ = TcpStream::connect(&self.address);
    }
}

fn plans(wire: Wire, rng: &mut Rng) -> (Plan, Plan) {
    match wire {
        Wire::Ends(way, ending) => {
            let end = Plan::End(rng.usize(1..LIFE), ending);
            match way {
                Way::Request => (end, Plan::Pass),
                Way::Reply => (Plan::Pass, end),
            }
        }
        Wire::Slow(rate) => {
            let plan = Plan::Slow(rng.u64(rate..=4 * rate));
            (plan, plan)
        }
        Wire::Sliced => (Plan::Slice, Plan::Slice),
        Wire::Deaf => (Plan::End(rng.usize(1..LIFE), Ending::Reset), Plan::Pass),
    }
}

fn connect(client: TcpStream, upstream: &str, plans: (Plan, Plan), counts: &Arc<Counts>) {
    let Ok(gateway) = TcpStream::connect(upstream) else {
        return;
    };
    for stream in [&client, &gateway] {
        stream.set_nodelay(true).unwrap();
    }
    let (from_client, to_gateway) = (client.try_clone().unwrap(), gateway.try_clone().unwrap());
    let (one, other) = (Arc::clone(counts), Arc::clone(counts));
    thread::spawn(move || pump(from_client, to_gateway, plans.0, &one));
    thread::spawn(move || pump(gateway, client, plans.1, &other));
}

fn pump(mut from: TcpStream, mut to: TcpStream, plan: Plan, counts: &Counts) {
    let (mut buffer, mut passed) = ([0; 4096], 0);
    while let Ok(length @ 1..) = from.read(&mut buffer) {
        let bytes = &buffer[..length];
        if let Plan::End(after, ending) = plan
            && let Some(keep) = end_within(bytes, passed, after, ending)
        {
            let _ = to.write_all(&bytes[..keep]);
            counts.broken.fetch_add(1, Ordering::Relaxed);
            return end(from, to, ending);
        }
        if pass(&mut to, bytes, plan).is_err() {
            break;
        }
        passed += length;
    }
    let _ = to.shutdown(Shutdown::Write);
    let _ = from.shutdown(Shutdown::Read);
}

/// How many of these bytes still pass, when the end is among them.
fn end_within(bytes: &[u8], passed: usize, after: usize, ending: Ending) -> Option<usize> {
    if passed + bytes.len() < after {
        return None;
    }
    if ending == Ending::StallAfterHead {
        let head = bytes.windows(4).position(|end| end == b"\r\n\r\n")?;
        return Some(head + 4);
    }
    Some(after.saturating_sub(passed))
}

fn pass(to: &mut TcpStream, bytes: &[u8], plan: Plan) -> std::io::Result<()> {
    match plan {
        Plan::Pass | Plan::End(..) => to.write_all(bytes),
        Plan::Slice => bytes.chunks(1).try_for_each(|byte| to.write_all(byte)),
        Plan::Slow(rate) => bytes.chunks(64).try_for_each(|piece| {
            thread::sleep(Duration::from_millis(piece.len() as u64 * 1_000 / rate));
            to.write_all(piece)
        }),
    }
}

fn end(mut from: TcpStream, to: TcpStream, ending: Ending) {
    match ending {
        Ending::Reset => {
            for stream in [&from, &to] {
                let _ = rustix::net::sockopt::set_socket_linger(stream, Some(Duration::ZERO));
                let _ = stream.shutdown(Shutdown::Both);
            }
        }
        Ending::HalfClose => {
            let _ = to.shutdown(Shutdown::Write);
            swallow(&mut from);
        }
        Ending::Stall | Ending::StallAfterHead => {
            swallow(&mut from);
            let _ = to.shutdown(Shutdown::Write);
        }
    }
}

fn swallow(from: &mut TcpStream) {
    let mut buffer = [0; 4096];
    while let Ok(1..) = from.read(&mut buffer) {}
}
