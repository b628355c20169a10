//! Gateways of a test's own making, and what is refused before anything is sent to one.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Instant;

use serde_json::Value;

use crate::files::rows;
use crate::oracle::prove;
use crate::sandbox::Sandbox;
use crate::world::{PATIENCE, Setup, World, free_port};

/// What a gateway does with a request.
pub enum Reply {
    Json(String),
    HangUp,
}

/// A gateway that answers every request as a test says, and notes the posts.
///
/// The test is told, beside the request, whether its identifier was ever posted.
pub struct Server {
    address: SocketAddr,
    posts: Arc<Mutex<Vec<(Instant, String)>>>,
}

impl Server {
    pub fn start(answer: impl Fn(&Value, bool) -> Reply + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let posts = Arc::new(Mutex::new(Vec::new()));
        let (answer, noted) = (Arc::new(answer), Arc::clone(&posts));
        thread::spawn(move || {
            for stream in listener.incoming() {
                let (answer, noted) = (Arc::clone(&answer), Arc::clone(&noted));
                // A client that goes away ends its connection's thread.
                thread::spawn(move || serve(stream.ok()?, &*answer, &noted));
            }
        });
        Self { address, posts }
    }

    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// When which identifier was posted, in the order of arrival.
    pub fn posts(&self) -> Vec<(Instant, String)> {
        self.posts.lock().unwrap().clone()
    }
}

fn serve(
    mut stream: TcpStream,
    answer: &dyn Fn(&Value, bool) -> Reply,
    noted: &Mutex<Vec<(Instant, String)>>,
) -> Option<()> {
    stream.set_read_timeout(Some(PATIENCE)).ok()?;
    stream.set_nodelay(true).ok()?;
    let mut reader = BufReader::new(stream.try_clone().ok()?);
    loop {
        let mut length = 0;
        let mut line = String::new();
        while reader.read_line(&mut line).ok().filter(|read| *read > 0)? > 2 {
            if let Some((name, value)) = line.split_once(':')
                && name.eq_ignore_ascii_case("content-length")
            {
                length = value.trim().parse().unwrap();
            }
            line.clear();
        }
        let mut body = vec![0; length];
        reader.read_exact(&mut body).ok()?;
        let request: Value = serde_json::from_slice(&body).unwrap();
        let id = identifier(&request);
        let posted = {
            let mut noted = noted.lock().unwrap();
            if is_post(&request) {
                noted.push((Instant::now(), id.clone()));
            }
            noted.iter().any(|(_, noted)| *noted == id)
        };
        let Reply::Json(body) = answer(&request, posted) else {
            return None;
        };
        let head = format!(
            "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n",
            body.len()
        );
        stream.write_all((head + &body).as_bytes()).ok()?;
    }
}

fn is_post(request: &Value) -> bool {
    request["function"] == "GATEWAY.postPayment"
}

/// The identifier of a request's only packet.
fn identifier(request: &Value) -> String {
    let packet = &request["payload"]["packet"][0];
    packet["payerTransactionID"].as_str().unwrap().to_owned()
}

/// A gateway in good health: 139 to a post, then 140 to a question; 143 about what was never posted.
pub fn healthy(request: &Value, posted: bool) -> Reply {
    let code = match (is_post(request), posted) {
        (true, _) => 139,
        (false, true) => 140,
        (false, false) => 143,
    };
    Reply::Json(format!(
        r#"{{"authStatus":{{"authStatusCode":131,"authStatusDescription":"ok"}},"results":[{{"statusCode":{code},"statusDescription":"","payerTransactionID":"{}","gatewayTransactionID":{}}}]}}"#,
        identifier(request),
        if code == 143 { 0 } else { 7 }
    ))
}

#[test]
fn without_yes_and_without_a_terminal_the_total_is_named_and_nothing_sent() {
    let (world, sandbox) = World::with_sandbox(&Setup::default(), &[]);
    let mut rows = rows(3, 61);
    for (row, minor) in rows.iter_mut().zip([150_000, 250_050, 1_000_001]) {
        row.minor = minor;
    }
    world.write_rows("batch.csv", &rows);
    for command in [&["pay", "batch.csv", "--batch", "b"][..], &["run", "b"][..]] {
        world
            .expect(2, command)
            .says("KES 14,000.51")
            .says("3 payments")
            .says("--yes");
    }
    assert_eq!(sandbox.ledger().posts, 0);
}

#[test]
fn a_batch_that_was_started_stays_with_its_gateway() {
    let (world, sandbox) = World::with_sandbox(&Setup::default(), &[]);
    let rows = rows(30, 62);
    world.write_rows("batch.csv", &rows);
    let pay = ["pay", "batch.csv", "--batch", "b", "--yes"];
    world.expect(4, &[&pay[..], &["--no-wait"]].concat());
    let other = Sandbox::start(&world, "other-ledger", &[]);
    let world = world.towards(&other.base_url);
    world.expect(2, &pay).says(&sandbox.base_url);
    world.expect(2, &["run", "b", "--sandbox"]);
    assert_eq!(other.ledger().posts, 0);
    let world = world.towards(&sandbox.base_url);
    world.expect(0, &pay);
    prove(&world, "b", &rows, &sandbox.ledger());
}

#[test]
fn a_taken_listener_port_is_refused_and_poll_only_does_without() {
    let port = free_port();
    let setup = Setup {
        callback_port: Some(port),
        ..Setup::default()
    };
    let (world, sandbox) = World::with_sandbox(&setup, &[]);
    let taken = TcpListener::bind(("127.0.0.1", port)).unwrap();
    let rows = rows(30, 63);
    world.write_rows("batch.csv", &rows);
    let pay = ["pay", "batch.csv", "--batch", "b", "--yes"];
    world
        .expect(2, &pay)
        .says(&format!("127.0.0.1:{port}"))
        .says("nothing was sent")
        .says("--poll-only");
    assert_eq!(sandbox.ledger().posts, 0);
    world.expect(0, &[&pay[..], &["--poll-only"]].concat());
    prove(&world, "b", &rows, &sandbox.ledger());
    drop(taken);
}
