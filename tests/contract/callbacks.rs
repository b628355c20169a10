//! The listener over real HTTP on loopback: what it answers, what it stores first, and what it does not put up with.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use disburse::callback::{self, Addresses, Options};
use disburse::dialect::Dialect;
use disburse::domain::PayerTransactionId;
use disburse::gateway::Secrets;
use disburse::journal::{ReadBy, Transition};
use disburse::lifecycle::{Class, CodeTable, State};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::sync::mpsc;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use crate::fold::assert_evidence_adds_up;
use crate::support::*;

/// A listener and what stands behind it.
pub struct Door {
    pub world: World,
    address: SocketAddr,
    pub addresses: Addresses,
    stop: CancellationToken,
    moved: mpsc::Receiver<Transition>,
    serving: JoinHandle<()>,
}

impl Door {
    /// A listener in front of `EMP-1` to `EMP-n`, all acknowledged by the gateway.
    pub async fn open(n: u64) -> Self {
        Self::speaking(n, Arc::default(), callback::Proof::default()).await
    }

    /// The same in another dialect.
    pub async fn speaking(n: u64, dialect: Arc<Dialect>, proof: callback::Proof) -> Self {
        Self::of(n, dialect, proof, None).await
    }

    /// A listener that reads for one gateway, and in one way.
    async fn reading_as(n: u64, gateway: Option<&str>, reading: &str) -> Self {
        let reads_as = ReadBy {
            gateway: gateway.map(str::to_owned),
            reading: reading.to_owned(),
        };
        let proof = callback::Proof::default();
        Self::of(n, Arc::default(), proof, Some(Arc::new(reads_as))).await
    }

    async fn of(
        n: u64,
        dialect: Arc<Dialect>,
        proof: callback::Proof,
        reads_as: Option<Arc<ReadBy>>,
    ) -> Self {
        let world = World::loaded(n).await;
        let token = world.acquire(1).await.token;
        let claims = world.claim(token, 1000, 2).await;
        let acknowledged = claims
            .iter()
            .map(|claim| finding(claim.seq, reply(Class::Acknowledged, 139)));
        world.record(acknowledged.collect(), 3).await;
        let key = world.journal.callback_key().await.unwrap();
        let listener = callback::bind("127.0.0.1:0".parse().unwrap())
            .await
            .unwrap();
        let address = listener.address().unwrap();
        let addresses = Addresses::new(&format!("http://{address}/callbacks"), &key);
        let addresses = match dialect.callbacks.address_per_payment {
            true => addresses,
            false => addresses.shared(),
        };
        let (sender, moved) = mpsc::channel(2);
        let options = Options {
            journal: world.journal.clone(),
            addresses: addresses.clone(),
            codes: Arc::new(CodeTable::default()),
            policy: Arc::clone(&world.policy),
            secrets: Secrets::none(),
            dialect,
            proof,
            reads_as,
            moved: Some(sender),
        };
        let stop = CancellationToken::new();
        let serving = tokio::spawn(listener.serve(options, stop.clone()));
        Self {
            world,
            address,
            addresses,
            stop,
            moved,
            serving,
        }
    }

    pub fn id(&self, n: usize) -> PayerTransactionId {
        self.world.identifiers()[n - 1]
    }

    pub fn path(&self, id: PayerTransactionId) -> String {
        format!("/callbacks/{}", self.addresses.path_of(id))
    }

    pub async fn connect(&self) -> TcpStream {
        TcpStream::connect(self.address).await.unwrap()
    }

    /// One request on a connection of its own; the reply's head and body.
    async fn send(&self, method: &str, path: &str, body: &[u8]) -> (String, String) {
        let mut stream = self.connect().await;
        let head = head(method, path, body.len());
        stream.write_all(head.as_bytes()).await.unwrap();
        // A listener that has refused the head may close before it has the body.
        let _ = stream.write_all(body).await;
        read_reply(&mut stream).await
    }

    pub async fn call(&self, id: PayerTransactionId, body: &str) -> (String, String) {
        let path = self.path(id);
        self.send("POST", &path, body.as_bytes()).await
    }
}

fn head(method: &str, path: &str, length: usize) -> String {
    format!(
        "{method} {path} HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\ncontent-length: {length}\r\nconnection: close\r\n\r\n"
    )
}

pub async fn read_reply(stream: &mut TcpStream) -> (String, String) {
    let mut bytes = Vec::new();
    let read = stream.read_to_end(&mut bytes);
    let read = tokio::time::timeout(Duration::from_secs(20), read).await;
    // A reset after the reply is as good as an end.
    let _ = read.expect("the connection stays open");
    let text = String::from_utf8(bytes).unwrap();
    let (head, body) = text.split_once("\r\n\r\n").unwrap_or((&text, ""));
    // The date is the only thing that may differ between two replies.
    let head: Vec<&str> = head
        .lines()
        .filter(|line| !line.starts_with("date:"))
        .collect();
    (head.join("\n"), body.to_owned())
}

pub fn status(reply: &(String, String)) -> &str {
    reply.0.split(' ').nth(1).unwrap_or("none")
}

/// A callback as section 6 has it.
fn pushed(id: PayerTransactionId, code: i32, more: &str) -> String {
    format!(
        r#"{{"function":"GATEWAY.pushPaymentStatus","countryCode":"KE","payload":{{"packet":{{"statusCode":{code},"statusDescription":"said","payerTransactionID":"{id}","gatewayTransactionID":"77"{more}}},"credentials":{{"username":"u","password":"p"}}}}}}"#
    )
}

#[tokio::test]
async fn a_callback_gets_the_documented_reply_once_it_is_on_disk() {
    let mut door = Door::open(3).await;
    for n in 1..=3 {
        let id = door.id(n);
        let (head, body) = door.call(id, &pushed(id, 140, "")).await;
        // Another connection finds it there the moment the reply has come.
        assert_eq!(door.world.find(id.as_str()).life.state, State::Paid);
        assert!(head.starts_with("HTTP/1.1 200 OK\n"), "{head}");
        assert!(head.contains("content-type: application/json"), "{head}");
        let expected = format!(
            "{{\"authStatus\":{{\"authStatusCode\":131,\"authStatusDescription\":\"Authentication was successful\"}},\
             \"results\":{{\"gatewayTransactionID\":\"77\",\"payerTransactionID\":\"{id}\",\"statusCode\":188,\
             \"statusDescription\":\"Response was received\"}}}}"
        );
        let value = |text: &str| serde_json::from_str::<serde_json::Value>(text).unwrap();
        assert_eq!(value(&body), value(&expected), "{body}");
    }
    // The run hears of two; the third finds its channel full, and nobody waits for that.
    for _ in 0..2 {
        let moved = door.moved.recv().await.unwrap();
        assert_eq!(moved.life.state, State::Paid);
    }
    assert!(door.moved.try_recv().is_err());
    door.world.assert_adds_up();
    assert_evidence_adds_up(&door.world.reader(), &batch(), &door.world.policy);
}

#[tokio::test]
async fn a_listener_reads_what_belongs_to_its_gateway_and_is_read_in_its_way() {
    let known = home();
    for (gateway, reading, is_read) in [
        (Some(known.gateway.as_str()), known.reading.as_str(), true),
        (None, known.reading.as_str(), true),
        (Some("elsewhere"), known.reading.as_str(), false),
        (Some(known.gateway.as_str()), "0123456789abcdef", false),
        (None, "0123456789abcdef", false),
    ] {
        for code in [140, 141] {
            let door = Door::reading_as(1, gateway, reading).await;
            let id = door.id(1);
            let reply = door.call(id, &pushed(id, code, "")).await;
            assert_eq!(status(&reply), "200", "it is kept: {reply:?}");
            let life = door.world.find(id.as_str()).life;
            let expected = match (is_read, code) {
                (false, _) => State::Acknowledged,
                (true, 140) => State::Paid,
                (true, _) => State::Failed,
            };
            assert_eq!(life.state, expected, "{gateway:?} {reading} {code}");
            door.world.assert_adds_up();
            assert_evidence_adds_up(&door.world.reader(), &batch(), &door.world.policy);
        }
    }
}

#[tokio::test]
async fn a_callback_is_not_acknowledged_while_it_cannot_be_stored() {
    let door = Arc::new(Door::open(1).await);
    let id = door.id(1);
    let other = door.world.sql();
    other.execute_batch("begin immediate").unwrap();
    let calling = {
        let door = Arc::clone(&door);
        tokio::spawn(async move { door.call(id, &pushed(id, 140, "")).await })
    };
    tokio::time::sleep(Duration::from_millis(400)).await;
    assert!(!calling.is_finished(), "no reply before the commit");
    other.execute_batch("commit").unwrap();
    assert_eq!(status(&calling.await.unwrap()), "200");
    assert_eq!(door.world.count(State::Paid), 1);
}

#[tokio::test]
async fn whatever_is_no_address_of_ours_gets_the_same_404() {
    let door = Door::open(2).await;
    let (id, other) = (door.id(1), door.id(2));
    let good = door.path(id);
    let token = good.rsplit('/').next().unwrap();
    let stranger = PayerTransactionId::parse("00000000000000000000000000").unwrap();
    let body = pushed(id, 140, "");
    let before = door.world.contents();
    let mut replies = Vec::new();
    for (method, path) in [
        ("POST", format!("/callbacks/{id}/{}", "0".repeat(64))),
        ("POST", format!("/callbacks/{other}/{token}")),
        ("POST", format!("{good}/")),
        ("POST", format!("{good}0")),
        ("POST", format!("/callbacks/{id}")),
        ("POST", "/".into()),
        ("POST", "/callbacks/%00/x".into()),
        ("GET", good.clone()),
        ("PUT", good.clone()),
        ("DELETE", good.clone()),
        ("OPTIONS", good.clone()),
        // Its address is genuine, and no such payment is known.
        ("POST", door.path(stranger)),
    ] {
        let reply = door.send(method, &path, body.as_bytes()).await;
        assert_eq!(status(&reply), "404", "{method} {path}");
        replies.push((format!("{method} {path}"), reply));
    }
    for (request, reply) in &replies {
        assert_eq!(reply, &replies[0].1, "{request}");
    }
    assert_eq!(door.world.contents(), before, "none of them left a trace");
}

#[tokio::test]
async fn a_body_over_64_kib_is_refused_and_kept_as_one_that_cannot_be_read() {
    let door = Door::open(1).await;
    let id = door.id(1);
    let padding = |size: usize| {
        let bare = pushed(id, 178, r#","pad":"""#).len();
        pushed(id, 178, &format!(r#","pad":"{}""#, "x".repeat(size - bare)))
    };
    let most = padding(64 * 1024);
    assert_eq!(most.len(), 64 * 1024);
    assert_eq!(status(&door.call(id, &most).await), "200");
    let reply = door.call(id, &padding(64 * 1024 + 1)).await;
    assert_eq!(status(&reply), "413");
    // It is kept that it came, how long it was, and how it began.
    let last = || {
        let reader = door.world.reader();
        let snapshot = reader.snapshot(&batch()).unwrap();
        let trail = snapshot.trail(door.world.find("EMP-1").seq).unwrap();
        let last = trail.into_iter().next_back().unwrap();
        (last.anomaly.unwrap(), last.detail.unwrap())
    };
    let (anomaly, body) = last();
    assert_eq!(
        anomaly,
        "not a callback: 65537 bytes, and at most 65536 are read"
    );
    assert!(body.contains("GATEWAY.push") && body.len() < 5000, "{body}");
    assert!(!body.contains("\"p\\\""), "without credentials: {body}");
    let due_at = door.world.find("EMP-1").life.due_at.unwrap();
    assert!(
        due_at <= disburse::domain::Timestamp::now(),
        "the question is hastened"
    );
    // A gigabyte is announced; the answer comes long before it is there.
    let mut stream = door.connect().await;
    let head = head("POST", &door.path(id), 1 << 30);
    stream.write_all(head.as_bytes()).await.unwrap();
    stream.write_all(&vec![b'x'; 80 * 1024]).await.unwrap();
    let started = Instant::now();
    assert_eq!(status(&read_reply(&mut stream).await), "413");
    assert!(started.elapsed() < Duration::from_secs(3));
    // In chunks, without a length.
    let mut stream = door.connect().await;
    let head = format!(
        "POST {} HTTP/1.1\r\nhost: x\r\ntransfer-encoding: chunked\r\n\r\n",
        door.path(id)
    );
    stream.write_all(head.as_bytes()).await.unwrap();
    let chunk = format!("4000\r\n{}\r\n", "x".repeat(0x4000));
    for _ in 0..6 {
        let _ = stream.write_all(chunk.as_bytes()).await;
    }
    assert_eq!(status(&read_reply(&mut stream).await), "413");
    // What begins alike counts as the same one.
    assert_eq!(
        last().0,
        "not a callback: 1073741824 bytes, and at most 65536 are read"
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn slow_callers_are_cut_off_in_time_and_stop_nobody_else() {
    let door = Door::open(1).await;
    let id = door.id(1);
    let path = door.path(id);
    let started = Instant::now();
    let mut slow = Vec::new();
    for index in 0..200 {
        let mut stream = door.connect().await;
        // Nothing at all, half a head, or half a body.
        let sent = match index % 3 {
            0 => String::new(),
            1 => format!("POST {path} HTTP/1.1\r\nhost: x\r\n"),
            _ => format!("{}{{\"half\":", head("POST", &path, 500)),
        };
        stream.write_all(sent.as_bytes()).await.unwrap();
        slow.push((index, stream));
    }
    let good = Instant::now();
    let reply = door.call(id, &pushed(id, 140, "")).await;
    assert_eq!(status(&reply), "200");
    assert!(
        good.elapsed() < Duration::from_secs(2),
        "{:?}",
        good.elapsed()
    );
    for (index, mut stream) in slow {
        let reply = read_reply(&mut stream).await;
        let expected: &[&str] = if index % 3 == 2 {
            &["408"]
        } else {
            &["none", "408"]
        };
        assert!(expected.contains(&status(&reply)), "{index}: {reply:?}");
    }
    let took = started.elapsed();
    assert!(took > Duration::from_secs(4), "{took:?}");
    assert!(took < Duration::from_secs(16), "{took:?}");
}

#[tokio::test]
async fn a_head_without_end_is_refused() {
    let door = Door::open(1).await;
    let mut stream = door.connect().await;
    let endless = format!("POST / HTTP/1.1\r\nx: {}", "y".repeat(200_000));
    let _ = stream.write_all(endless.as_bytes()).await;
    let started = Instant::now();
    let reply = read_reply(&mut stream).await;
    assert!(["431", "none"].contains(&status(&reply)), "{reply:?}");
    assert!(started.elapsed() < Duration::from_secs(4));
}

#[tokio::test]
async fn a_callback_that_is_replayed_2000_times_changes_nothing() {
    let door = Door::open(1).await;
    let id = door.id(1);
    let body = pushed(id, 140, "");
    let first = door.call(id, &body).await;
    let before = door.world.contents();
    let started = Instant::now();
    let mut stream = door.connect().await;
    let request = format!(
        "POST {} HTTP/1.1\r\nhost: x\r\ncontent-length: {}\r\n\r\n{body}",
        door.path(id),
        body.len()
    );
    let mut buffer = vec![0; 4096];
    for _ in 0..2000 {
        stream.write_all(request.as_bytes()).await.unwrap();
        let mut reply = Vec::new();
        while !reply.ends_with(first.1.as_bytes()) {
            let read = stream.read(&mut buffer).await.unwrap();
            assert!(read > 0, "cut off");
            reply.extend_from_slice(&buffer[..read]);
        }
        assert!(reply.starts_with(b"HTTP/1.1 200"));
    }
    assert!(
        started.elapsed() < Duration::from_secs(15),
        "{:?}",
        started.elapsed()
    );
    assert_eq!(door.world.contents(), before);
}

#[tokio::test]
async fn what_cannot_be_read_at_a_genuine_address_moves_nothing_is_kept_and_acknowledged() {
    let door = Door::open(1).await;
    let id = door.id(1);
    let deep = format!("{}{}", "[".repeat(30_000), "]".repeat(30_000));
    let objects = r#"{"payload":"#.repeat(5_000);
    let bodies: [&[u8]; 10] = [
        b"",
        b"\x00\xff\xfe",
        b"null",
        b"[]",
        b"<html>paid</html>",
        b"{\"payload\":{\"packet\":{\"statusCode\":140",
        b"{\"payload\":{\"packet\":{\"statusCode\":\"paid\"}}}",
        b"{\"function\":\"GATEWAY.pushFloat\",\"payload\":{\"packet\":{\"statusCode\":140}}}",
        deep.as_bytes(),
        objects.as_bytes(),
    ];
    for (index, body) in bodies.into_iter().enumerate() {
        let reply = door.send("POST", &door.path(id), body).await;
        assert_eq!(status(&reply), "200", "body {index}");
    }
    assert_eq!(door.world.count(State::Acknowledged), 1);
    let reader = door.world.reader();
    let snapshot = reader.snapshot(&batch()).unwrap();
    let trail = snapshot.trail(door.world.find("EMP-1").seq).unwrap();
    assert_eq!(trail.len(), 2 + 8, "each is evidence, up to a bound");
    let kept: Vec<_> = trail[2..]
        .iter()
        .map(|entry| {
            assert!(
                entry
                    .anomaly
                    .as_ref()
                    .unwrap()
                    .starts_with("not a callback")
            );
            entry.detail.clone().unwrap()
        })
        .collect();
    assert_eq!(kept[1], r#"{"body":"\\u{0}\\xff\\xfe"}"#);
    assert_eq!(kept[4], r#"{"body":"<html>paid</html>"}"#);
    drop(snapshot);
    let due_at = door.world.find("EMP-1").life.due_at.unwrap();
    assert!(
        due_at <= disburse::domain::Timestamp::now(),
        "it is asked about"
    );
    assert_eq!(status(&door.call(id, &pushed(id, 140, "")).await), "200");
    assert_eq!(door.world.count(State::Paid), 1);
}

#[tokio::test]
async fn a_callback_that_names_another_payment_or_amount_is_stored_and_not_applied() {
    let door = Door::open(2).await;
    let (id, other) = (door.id(1), door.id(2));
    for body in [
        pushed(other, 140, ""),
        pushed(id, 140, r#","amount":"1.01""#),
        pushed(id, 140, r#","amount":100"#),
    ] {
        let reply = door.call(id, &body).await;
        assert_eq!(status(&reply), "200", "it is on record: {body}");
    }
    assert_eq!(door.world.count(State::Acknowledged), 2);
    let right = pushed(id, 140, r#","amount":1.00"#);
    assert_eq!(status(&door.call(id, &right).await), "200");
    assert_eq!(door.world.count(State::Paid), 1);
}

#[tokio::test]
async fn a_callback_that_cannot_be_stored_is_to_be_sent_again() {
    let door = Door::open(1).await;
    let id = door.id(1);
    door.world
        .sql()
        .execute_batch("drop table evidence")
        .unwrap();
    for _ in 0..2 {
        let reply = door.call(id, &pushed(id, 140, "")).await;
        assert_eq!((status(&reply), reply.1.as_str()), ("503", ""));
    }
}

#[tokio::test]
async fn a_listener_that_stops_finishes_what_is_under_way() {
    let door = Door::open(1).await;
    let id = door.id(1);
    let body = pushed(id, 140, "");
    let (first, rest) = body.split_at(body.len() / 2);
    let mut stream = door.connect().await;
    let head = head("POST", &door.path(id), body.len());
    stream.write_all(head.as_bytes()).await.unwrap();
    stream.write_all(first.as_bytes()).await.unwrap();
    // Idle callers do not hold up the end.
    let _idle = door.connect().await;
    tokio::time::sleep(Duration::from_millis(200)).await;
    door.stop.cancel();
    eventually("the port is closed", || {
        let within = Duration::from_millis(500);
        std::net::TcpStream::connect_timeout(&door.address, within).is_err()
    })
    .await;
    stream.write_all(rest.as_bytes()).await.unwrap();
    let reply = read_reply(&mut stream).await;
    assert_eq!(status(&reply), "200");
    assert_eq!(door.world.count(State::Paid), 1);
    let ended = tokio::time::timeout(Duration::from_secs(8), door.serving).await;
    ended.expect("the listener ends").unwrap();
}

#[tokio::test]
async fn a_port_that_is_taken_is_refused() {
    let door = Door::open(1).await;
    let error = callback::bind(door.address).await.unwrap_err();
    assert_eq!(error.kind(), std::io::ErrorKind::AddrInUse);
}
