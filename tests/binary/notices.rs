//! Somebody elsewhere is told how a batch goes: at least once, in the order of the making, by the same id each time.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::atomic::{AtomicU16, Ordering};
use std::sync::{Arc, Mutex};

use data_encoding::BASE64;
use hmac::{Hmac, KeyInit, Mac};
use serde_json::Value;
use sha2::Sha256;

use crate::files::rows;
use crate::sandbox::Sandbox;
use crate::world::{PATIENCE, Setup, World, eventually, free_port};

const SECRET: &str = "whsec_c2VjcmV0IG9mIHRoZSB0ZXN0cywgbWFkZSB1cA==";

/// One notice, as it came.
#[derive(Clone, Debug)]
struct Received {
    id: String,
    status: u16,
    body: Value,
    text: String,
}

/// Takes notices, checks their signatures, and answers with the status that it is told.
struct Receiver {
    address: String,
    status: Arc<AtomicU16>,
    received: Arc<Mutex<Vec<Received>>>,
}

impl Receiver {
    fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let receiver = Self {
            address: listener.local_addr().unwrap().to_string(),
            status: Arc::new(AtomicU16::new(204)),
            received: Arc::default(),
        };
        let (status, received) = (Arc::clone(&receiver.status), Arc::clone(&receiver.received));
        // It ends with the test's process.
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                let status = status.load(Ordering::SeqCst);
                let notice = take(stream.unwrap(), status);
                received.lock().unwrap().push(notice);
            }
        });
        receiver
    }

    fn received(&self) -> Vec<Received> {
        self.received.lock().unwrap().clone()
    }

    /// The kinds of those that were taken.
    fn kinds(&self) -> Vec<String> {
        let taken = self.received().into_iter();
        let taken = taken.filter(|notice| notice.status == 204);
        taken
            .map(|notice| notice.body["type"].as_str().unwrap().to_owned())
            .collect()
    }
}

fn take(mut stream: TcpStream, status: u16) -> Received {
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    let mut read = Vec::new();
    let mut some = [0; 4096];
    let (head, body) = loop {
        let count = stream.read(&mut some).unwrap();
        assert!(count > 0, "half a notice");
        read.extend_from_slice(&some[..count]);
        let text = String::from_utf8(read.clone()).unwrap();
        if let Some((head, body)) = text.split_once("\r\n\r\n") {
            let length: usize = header(head, "content-length").parse().unwrap();
            if body.len() == length {
                break (head.to_owned(), body.to_owned());
            }
        }
    };
    write!(stream, "HTTP/1.1 {status} -\r\nContent-Length: 0\r\n\r\n").unwrap();
    let (id, at) = (
        header(&head, "webhook-id"),
        header(&head, "webhook-timestamp"),
    );
    let key = BASE64.decode(&SECRET.as_bytes()["whsec_".len()..]).unwrap();
    let mut mac = Hmac::<Sha256>::new_from_slice(&key).unwrap();
    mac.update(format!("{id}.{at}.{body}").as_bytes());
    let signature = format!("v1,{}", BASE64.encode(&mac.finalize().into_bytes()));
    assert_eq!(header(&head, "webhook-signature"), signature);
    Received {
        id,
        status,
        body: serde_json::from_str(&body).unwrap(),
        text: body,
    }
}

fn header(head: &str, name: &str) -> String {
    let mut lines = head.lines().skip(1);
    let line = lines.find_map(|line| {
        let (found, value) = line.split_once(": ")?;
        found.eq_ignore_ascii_case(name).then_some(value)
    });
    line.unwrap().to_owned()
}

/// A world that tells a receiver.
fn told(setup: &Setup, receiver: &Receiver, more: &str) -> World {
    let mut world = World::new(setup);
    tell(&mut world, receiver, more);
    world
}

fn tell(world: &mut World, receiver: &Receiver, more: &str) {
    let configuration = world.read("disburse.toml");
    let notices = format!(
        "{configuration}\n[notices]\nurl = \"http://{}/hook\"\n{more}\n",
        receiver.address
    );
    world.write("disburse.toml", &notices);
    world.set("DISBURSE_NOTICES_SECRET", SECRET);
}

const PAY: [&str; 5] = ["pay", "batch.csv", "--batch", "b", "--yes"];

fn with_gateway(receiver: &Receiver, more: &str) -> (World, Sandbox) {
    let world = told(&Setup::default(), receiver, more);
    let sandbox = Sandbox::start(&world, "ledger", &[]);
    let base_url = sandbox.base_url.clone();
    (world.towards(&base_url), sandbox)
}

#[test]
fn the_end_of_a_batch_is_told_once_and_names_nobody() {
    let receiver = Receiver::start();
    let (world, _sandbox) = with_gateway(&receiver, "");
    let all = rows(40, 91);
    world.write_rows("batch.csv", &all);
    let code = world.until_finished(&PAY);
    assert_eq!(receiver.kinds().last().unwrap(), "finished");
    let notice = receiver.received().pop().unwrap();
    let data = &notice.body["data"];
    assert_eq!(data["batch"], "b");
    assert_eq!(data["count"], 40);
    assert_eq!(data["finished"], true);
    assert_eq!(data["states"]["paid"]["count"], world.count("b", "paid"));
    for row in &all {
        for text in [&row.reference, &row.msisdn] {
            assert!(!notice.text.contains(text.as_str()), "{text}");
        }
    }
    // Neither a further run nor a look tells it again.
    let count = receiver.received().len();
    world.expect(code, &["run", "b", "--yes"]);
    world
        .expect(0, &["notices", "--deliver"])
        .says("delivered: 0");
    assert_eq!(receiver.received().len(), count);
    // What is paid after all ends again.
    world.write_rows("batch.csv", &rows(45, 91));
    world.expect(0, &["load", "batch.csv", "--batch", "b", "--amend"]);
    world.until_finished(&["run", "b", "--yes"]);
    assert_eq!(
        receiver.received().last().unwrap().body["data"]["count"],
        45
    );
}

#[test]
fn what_is_not_taken_is_kept_told_and_sent_again_in_its_order_by_its_id() {
    let receiver = Receiver::start();
    receiver.status.store(503, Ordering::SeqCst);
    let (world, _sandbox) = with_gateway(&receiver, "");
    for (batch, seed) in [("b", 92), ("c", 93)] {
        world.write_rows("batch.csv", &rows(3, seed));
        let pay = ["pay", "batch.csv", "--batch", batch, "--yes"];
        world.until_finished(&pay);
    }
    let tried = receiver.received();
    assert!(
        tried.iter().all(|notice| notice.id == tried[0].id),
        "those behind it wait"
    );
    world
        .expect(0, &["status"])
        .says("not delivered yet: 2 notices")
        .says("HTTP 503");
    let listed = world.expect(0, &["notices", "--json"]);
    let listed: Value = serde_json::from_str(&listed.out).unwrap();
    let ids: Vec<_> = (0..2)
        .map(|place| listed["waiting"][place]["id"].as_str().unwrap().to_owned())
        .collect();
    assert_eq!(listed["count"], 2);
    assert_eq!(listed["waiting"][0]["batch"], "b");
    // A person does not wait for the pause; what is not taken even now is told by the exit code.
    let count = receiver.received().len();
    world.expect(4, &["notices", "--deliver"]).says("HTTP 503");
    assert_eq!(receiver.received().len(), count + 1);
    receiver.status.store(204, Ordering::SeqCst);
    world
        .expect(0, &["notices", "--deliver"])
        .says("delivered: 2");
    let taken = receiver.received();
    let last: Vec<_> = taken[count + 1..]
        .iter()
        .map(|one| one.id.clone())
        .collect();
    assert_eq!(last, ids);
    assert_eq!(
        taken[0].text,
        taken[count + 1].text,
        "the same at each attempt"
    );
    world.expect(0, &["notices"]).says("no notice waits");
}

#[test]
fn a_program_that_is_killed_in_between_loses_no_notice() {
    for (point, times) in [
        // The end of the payments is on disk, and nothing of the notice.
        ("before-notices-are-made:2", 1),
        ("before-notice-is-sent:1", 1),
        // It was taken, and that is not on disk: at least once.
        ("after-notice-is-sent:1", 2),
    ] {
        let receiver = Receiver::start();
        let (mut world, _sandbox) = with_gateway(&receiver, "");
        world.write_rows("batch.csv", &rows(5, 94));
        world.set("TORTURE_KILL_AT", point);
        let killed = world.disburse(&PAY);
        assert_eq!(killed.code, None, "{point}: {killed:?}");
        world.unset("TORTURE_KILL_AT");
        // What was under way when it was killed is somebody's for two minutes: the listener hands it out after that, and a person who
        // cannot wait says so by what the journal holds.
        let c = rusqlite::Connection::open(world.path("disburse.db")).unwrap();
        c.execute("update notice set due_at = 0", []).unwrap();
        drop(c);
        world.expect(0, &["notices", "--deliver"]);
        let received = receiver.received();
        let finished: Vec<_> = received
            .iter()
            .filter(|notice| notice.body["type"] == "finished")
            .collect();
        assert_eq!(finished.len(), times, "{point}: {received:?}");
        assert!(
            finished.iter().all(|notice| notice.id == finished[0].id),
            "{point}"
        );
    }
}

#[test]
fn a_service_that_is_held_and_a_run_that_ends_are_told_and_a_listener_tells_too() {
    let receiver = Receiver::start();
    let setup = Setup {
        lane_retry_after: None,
        callback_port: Some(free_port()),
        ..Setup::default()
    };
    let world = told(&setup, &receiver, "");
    world.write(
        "faults.toml",
        "float_shortage = { service = \"B2C_MPESA\", after = 5, topped_up_after_ms = 600000 }\n",
    );
    let sandbox = Sandbox::start(&world, "ledger", &["--faults", "faults.toml"]);
    let base_url = sandbox.base_url.clone();
    let world = world.towards(&base_url);
    world.write_rows("batch.csv", &rows(60, 71));
    receiver.status.store(500, Ordering::SeqCst);
    world.expect(5, &[&PAY[..], &["--poll-only"]].concat());
    receiver.status.store(204, Ordering::SeqCst);
    let mut listen = world.start(&["listen"]);
    // What a run could not deliver its listener does, once the pause is over; it is ten seconds.
    listen.until("both are told", |_| receiver.kinds().len() >= 2);
    assert_eq!(receiver.kinds(), ["lane_held", "stopped"]);
    let taken = receiver.received();
    let (held, stopped) = (
        &taken[taken.len() - 2].body["data"],
        &taken[taken.len() - 1].body["data"],
    );
    assert_eq!(held["service"], "B2C_MPESA");
    assert!(held["reason"].as_str().unwrap().contains("230"));
    assert_eq!(stopped["reason"], "lanes_held");
    assert_eq!(stopped["finished"], false);
}

#[test]
fn a_rehearsal_is_told_to_nobody_unless_the_configuration_says_so() {
    let receiver = Receiver::start();
    let world = told(&Setup::default(), &receiver, "");
    world.write_rows("batch.csv", &rows(3, 96));
    let rehearse = [
        "pay",
        "batch.csv",
        "--batch",
        "b",
        "--sandbox",
        "--faults",
        "none",
    ];
    world.expect(0, &rehearse);
    world
        .expect(0, &["notices", "--deliver"])
        .says("delivered: 0");
    assert_eq!(receiver.received().len(), 0);
    let receiver = Receiver::start();
    let world = told(&Setup::default(), &receiver, "rehearsals = true");
    world.write_rows("batch.csv", &rows(3, 96));
    world.expect(0, &rehearse);
    assert_eq!(receiver.kinds(), ["finished"]);
    assert_eq!(receiver.received()[0].body["data"]["rehearsal"], true);
}

#[test]
fn a_copy_that_is_put_back_tells_nothing_anew_under_another_name() {
    let receiver = Receiver::start();
    let (world, _sandbox) = with_gateway(&receiver, "");
    for batch in ["a", "b"] {
        world.write_rows("batch.csv", &rows(4, u64::from(batch.as_bytes()[0])));
        world.until_finished(&["pay", "batch.csv", "--batch", batch, "--yes"]);
        if batch == "a" {
            world.expect(0, &["backup", "copy.db"]);
        }
    }
    let before = receiver.received();
    assert_eq!(receiver.kinds(), ["finished", "finished"]);
    for name in ["disburse.db-wal", "disburse.db-shm"] {
        let _ = std::fs::remove_file(world.path(name));
    }
    std::fs::rename(world.path("copy.db"), world.path("disburse.db")).unwrap();
    // What it holds was told; what it lacks it does not know of.
    world.disburse(&["notices", "--deliver"]);
    assert_eq!(receiver.received().len(), before.len());
}

#[test]
fn a_command_has_each_notice_as_its_input_and_a_test_notice_goes_the_same_way() {
    let world = World::new(&Setup::default());
    let sandbox = Sandbox::start(&world, "ledger", &[]);
    let base_url = sandbox.base_url.clone();
    let world = world.towards(&base_url);
    let configuration = world.read("disburse.toml");
    let notices = "\n[notices]\ncommand = [\"sh\", \"-c\", \"env > seen.txt; cat >> notices.txt\"]\nevents = [\"finished\"]\n";
    world.write("disburse.toml", &format!("{configuration}{notices}"));
    world.write_rows("batch.csv", &rows(3, 97));
    world.expect(0, &["notices", "--test"]).says("was taken");
    world.until_finished(&PAY);
    let text = world.read("notices.txt");
    let lines: Vec<Value> = text
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    assert_eq!(lines.len(), 2);
    assert_eq!(lines[0]["type"], "test");
    assert_eq!(lines[1]["type"], "finished");
    assert!(lines[1]["id"].as_str().unwrap().starts_with("ntc_"));
    assert!(
        !world.read("seen.txt").contains("s3cret"),
        "it is told no password"
    );
    // One that fails is told, and takes nothing from the run.
    world.write(
        "disburse.toml",
        &format!("{configuration}\n[notices]\ncommand = [\"sh\", \"-c\", \"echo no route >&2; exit 7\"]\n"),
    );
    world.write_rows("batch.csv", &rows(3, 98));
    let pay = ["pay", "batch.csv", "--batch", "c", "--yes"];
    let done = world.disburse(&pay);
    assert!(matches!(done.code, Some(0 | 3)), "{done:?}");
    done.says("a notice was not delivered: sh: ended with exit status: 7: no route")
        .says("disburse notices --deliver");
    world.expect(2, &["notices", "--test"]).says("no route");
}

#[test]
fn a_slow_receiver_holds_up_no_payment() {
    // It takes connections, and answers none: the first it closes, the others it keeps for as long as the test likes.
    let silent = TcpListener::bind("127.0.0.1:0").unwrap();
    let receiver = Receiver {
        address: silent.local_addr().unwrap().to_string(),
        status: Arc::default(),
        received: Arc::default(),
    };
    let (kept, connections) = std::sync::mpsc::channel();
    std::thread::spawn(move || {
        for (number, stream) in silent.incoming().enumerate() {
            let stream = stream.unwrap();
            if number > 0 && kept.send(stream).is_err() {
                return;
            }
        }
    });
    let (world, sandbox) = with_gateway(&receiver, "");
    world.write_rows("first.csv", &rows(2, 99));
    let pay = ["pay", "first.csv", "--batch", "first", "--yes"];
    let done = world.disburse(&pay);
    done.says("a notice was not delivered: ");
    // A notice waits, and is due; while it is under way payments leave.
    let c = rusqlite::Connection::open(world.path("disburse.db")).unwrap();
    c.execute("update notice set due_at = 0", []).unwrap();
    drop(c);
    world.write_rows("batch.csv", &rows(120, 100));
    let run = world.start(&[&PAY[..], &["--rate", "10/s"]].concat());
    let under_way = connections.recv_timeout(PATIENCE).unwrap();
    let posts = sandbox.ledger().posts;
    eventually("payments leave", || sandbox.ledger().posts >= posts + 20);
    drop(under_way);
    run.signal(rustix::process::Signal::TERM);
    drop(connections);
    run.wait();
}
