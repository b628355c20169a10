//! The hostile gateway: a bare HTTP/1.1 server that keeps the books honestly and speaks as its script says.

use std::net::SocketAddr;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpSocket, TcpStream};
use tokio::runtime::Runtime;
use tokio::task::JoinSet;

use super::callbacks;
use super::forms::{Body, Form, Said, Step, render};
use super::ledger::Ledger;
use super::script::{Conduct, Effect, Post, Query, Script, dice};
use super::tongue::{Heard, Packets, Request, Tongue};

/// No connection is read from, or written to, for longer.
const PATIENCE: Duration = Duration::from_secs(20);
const REQUEST_MAX: usize = 1 << 20;

/// The gateway, its books, and a second server that must never hear anything.
pub struct Gateway {
    pub address: SocketAddr,
    pub ledger: Arc<Ledger>,
    pub tongue: Arc<Tongue>,
    desk: Arc<Desk>,
    runtime: Runtime,
    door: Mutex<Option<tokio::task::JoinHandle<()>>>,
}

struct Desk {
    ledger: Arc<Ledger>,
    script: Box<dyn Script>,
    tongue: Arc<Tongue>,
    trap: String,
}

impl Gateway {
    pub fn start(script: impl Script) -> Self {
        Self::start_in("document", script)
    }

    /// The same in another dialect.
    pub fn start_in(dialect: &'static str, script: impl Script) -> Self {
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(1)
            .enable_all()
            .build()
            .unwrap();
        let ledger = Arc::new(Ledger::default());
        let tongue = Arc::new(Tongue::of(dialect));
        let trap = runtime.block_on(TcpListener::bind("127.0.0.1:0")).unwrap();
        let desk = Arc::new(Desk {
            ledger: Arc::clone(&ledger),
            script: Box::new(script),
            tongue: Arc::clone(&tongue),
            trap: format!("http://{}", trap.local_addr().unwrap()),
        });
        let trapped = Arc::clone(&ledger);
        runtime.spawn(async move {
            while let Ok((_, peer)) = trap.accept().await {
                trapped.offend(format!("{peer} followed a redirect"));
            }
        });
        let listener = runtime.block_on(listen("127.0.0.1:0".parse().unwrap()));
        let gateway = Self {
            address: listener.local_addr().unwrap(),
            ledger,
            tongue,
            desk,
            runtime,
            door: Mutex::default(),
        };
        gateway.serve(listener);
        gateway
    }

    fn serve(&self, listener: TcpListener) {
        let desk = Arc::clone(&self.desk);
        let door = self.runtime.spawn(async move {
            // Dropped with the door: its connections end with it.
            let mut connections = JoinSet::new();
            let mut nth = 0;
            while let Ok((stream, _)) = listener.accept().await {
                nth += 1;
                if desk.script.resets(nth) {
                    let _ = stream.set_zero_linger();
                    continue;
                }
                let desk = Arc::clone(&desk);
                connections.spawn(async move {
                    let _ = tokio::time::timeout(PATIENCE, converse(stream, desk)).await;
                });
                while connections.try_join_next().is_some() {}
            }
        });
        *self.door.lock().unwrap() = Some(door);
    }

    /// Goes down: the port refuses, and every connection ends in the middle of whatever it was at.
    pub fn close(&self) {
        let door = self.door.lock().unwrap().take();
        if let Some(door) = door {
            door.abort();
            let _ = self.runtime.block_on(door);
        }
    }

    /// Comes back at the same port.
    pub fn reopen(&self) {
        let listener = self.runtime.block_on(listen(self.address));
        self.serve(listener);
    }

    /// Sends a callback now, and returns the status of its reply.
    pub fn push(&self, url: &str, body: Vec<u8>) -> Option<u16> {
        let seals = self.tongue.seals(&body);
        self.runtime.block_on(callbacks::send(url, &seals, &body))
    }
}

async fn listen(address: SocketAddr) -> TcpListener {
    let started = Instant::now();
    loop {
        let socket = TcpSocket::new_v4().unwrap();
        socket.set_reuseaddr(true).unwrap();
        match socket.bind(address).and_then(|()| socket.listen(1024)) {
            Ok(listener) => return listener,
            Err(error) if started.elapsed() > PATIENCE => panic!("{address}: {error}"),
            Err(_) => tokio::time::sleep(Duration::from_millis(10)).await,
        }
    }
}

/// Reads one request; `None` when the peer has ended or sent something else.
async fn request(stream: &mut TcpStream, buffer: &mut Vec<u8>) -> Option<Request> {
    let mut chunk = vec![0; 16 * 1024];
    loop {
        if let Some(end) = buffer.windows(4).position(|window| window == b"\r\n\r\n") {
            let head = String::from_utf8_lossy(&buffer[..end]).into_owned();
            let mut lines = head.lines();
            let mut first = lines.next()?.split(' ').map(str::to_owned);
            let mut request = Request {
                method: first.next()?,
                target: first.next()?,
                ..Request::default()
            };
            request.headers = lines
                .filter_map(|line| line.split_once(':'))
                .map(|(name, value)| (name.to_lowercase(), value.trim().to_owned()))
                .collect();
            let length: usize = request.headers.get("content-length")?.parse().ok()?;
            let whole = end + 4 + length;
            if buffer.len() >= whole {
                request.body = buffer[end + 4..whole].to_vec();
                buffer.drain(..whole);
                return Some(request);
            }
        }
        if buffer.len() > REQUEST_MAX {
            return None;
        }
        let read = stream.read(&mut chunk).await.ok()?;
        if read == 0 {
            return None;
        }
        buffer.extend_from_slice(&chunk[..read]);
    }
}

async fn converse(mut stream: TcpStream, desk: Arc<Desk>) {
    let _ = stream.set_nodelay(true);
    let mut buffer = Vec::new();
    while let Some(request) = request(&mut stream, &mut buffer).await {
        for step in desk.answer(&request).await {
            match step {
                Step::Send(bytes) => {
                    if stream.write_all(&bytes).await.is_err() {
                        return;
                    }
                }
                Step::Pause(pause) => tokio::time::sleep(pause).await,
                Step::Close => return,
                Step::Reset => {
                    let _ = stream.set_zero_linger();
                    return;
                }
            }
        }
    }
}

impl Desk {
    async fn answer(self: &Arc<Self>, request: &Request) -> Vec<Step> {
        let heard = match self.tongue.hear(request) {
            Ok(heard) => heard,
            Err(why) => {
                self.ledger.offend(format!("no request: {why}"));
                return vec![Step::Reset];
            }
        };
        let (entries, form, pause, nth) = match heard {
            Heard::Token => {
                let token = Tongue::token();
                let head = "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n";
                let reply = format!("{head}Content-Length: {}\r\n\r\n{token}", token.len());
                return vec![Step::Send(reply.into_bytes())];
            }
            Heard::Post(packets) => self.posted(packets),
            Heard::Status(packets) => self.asked(packets),
        };
        let form = self.believable(form, &entries);
        tokio::time::sleep(pause).await;
        let mut rng = dice(nth.into(), &entries[0].id, "form", nth);
        render(&self.tongue, form, &entries, &self.trap, &mut rng)
    }

    /// A dialect may read the bodies of server errors and believe an acceptance there. One that is told of a payment that never
    /// arrived is a lie of the gateway, which no later answer makes good: it waits for a person.
    fn believable(&self, form: Form, entries: &[Said]) -> Form {
        let Form::Http(status @ 500.., Body::Claims(139)) = form else {
            return form;
        };
        let mut books = self.ledger.books();
        let mut is_there = |said: &Said| {
            let deal = books.deals.entry(said.id.clone()).or_default();
            deal.visible_at.is_some()
        };
        match self.tongue.reads_server_errors() && !entries.iter().all(&mut is_there) {
            true => Form::Http(status, Body::Empty),
            false => form,
        }
    }

    fn posted(self: &Arc<Self>, packets: Packets) -> (Vec<Said>, Form, Duration, u32) {
        let now = Instant::now();
        let mut entries = Vec::new();
        let mut first: Option<(Form, Duration, u32)> = None;
        for (packet, text) in packets {
            let url = packet.callback_url.clone();
            let text = match &url {
                Some(url) => text.replace(url.as_str(), "URL"),
                None => text,
            };
            let mut books = self.ledger.books();
            let nth = books.post(&packet.id, &packet.reference, &text, url.clone());
            let number = books.deals.len() as u64 + (1 << 60);
            let deal = books.deals.entry(packet.id.clone()).or_default();
            let mut conduct: Conduct = self.script.post(&Post {
                id: &packet.id,
                reference: &packet.reference,
                service: &packet.service,
                nth,
                executed: deal.visible_at.is_some(),
            });
            let leads = first.is_none();
            let (form, ..) = *first.get_or_insert((conduct.form, conduct.pause, nth));
            if !leads && conduct.effect == Effect::Nothing && conduct.code == 139 {
                // Its own spoilt form is not used, and a good one must not lie.
                conduct.code = 104;
            }
            // The form is the request's; what it says of all must be true of all.
            if matches!(form, Form::Auth(auth) if auth.contains("132")) {
                conduct.effect = Effect::Nothing;
            }
            match conduct.effect {
                Effect::Execute {
                    visible,
                    settled,
                    code,
                } => {
                    deal.executions += 1;
                    deal.visible_at = Some(now + visible);
                    deal.settled_at = Some(now + visible + settled);
                    deal.code = code;
                }
                Effect::Fail { settled, code } => {
                    deal.visible_at = Some(now);
                    deal.settled_at = Some(now + settled);
                    deal.code = code;
                }
                Effect::Nothing => {}
            }
            deal.contradicted |= conduct.contradicted;
            drop(books);
            if let Some(url) = url {
                for (after, push) in conduct.pushes {
                    let (desk, id, url) = (Arc::clone(self), packet.id.clone(), url.clone());
                    let number = packet.msisdn.clone();
                    tokio::spawn(async move {
                        tokio::time::sleep(after).await;
                        let (ledger, tongue) = (&desk.ledger, &desk.tongue);
                        callbacks::deliver(ledger, tongue, (&id, &number), &url, push).await;
                    });
                }
            }
            entries.push(Said {
                id: packet.id,
                code: conduct.code,
                number,
                packet: text,
            });
        }
        let (form, pause, nth) = first.unwrap();
        (entries, form, pause, nth)
    }

    fn asked(&self, packets: Packets) -> (Vec<Said>, Form, Duration, u32) {
        let mut entries = Vec::new();
        let mut first = None;
        for (packet, _) in packets {
            let mut books = self.ledger.books();
            let deal = books.deals.entry(packet.id.clone()).or_default();
            deal.queries += 1;
            let nth = deal.queries;
            let answer = self.script.query(&Query {
                id: &packet.id,
                nth,
                honest: deal.status(Instant::now()),
            });
            first.get_or_insert((answer.form, answer.pause, nth));
            entries.push(Said {
                id: packet.id,
                code: answer.code,
                number: 7,
                packet: deal.text.clone(),
            });
        }
        let (form, pause, nth) = first.unwrap();
        (entries, form, pause, nth)
    }
}
