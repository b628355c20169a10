//! The listener under slow, huge, deep and repeated requests.

use std::io::{Read, Write};
use std::net::{Shutdown, TcpStream};
use std::time::{Duration, Instant};

use crate::attack::{Caller, head, pushed, read_reply, stream};
use crate::front::Front;
use crate::world::eventually;

const MIB: u64 = 1024 * 1024;

/// What is left to cut the last slow caller off, with room for a busy machine.
const CUT_OFF_WITHIN: Duration = Duration::from_secs(25);

/// Sends a byte now and then until it is cut off; returns what it was told, and when.
fn trickle(mut stream: TcpStream, bytes: &[u8]) -> (String, Duration) {
    let started = Instant::now();
    stream
        .set_read_timeout(Some(Duration::from_millis(700)))
        .unwrap();
    let (mut told, mut part) = (Vec::new(), [0; 512]);
    for byte in bytes.iter().cycle() {
        let _ = stream.write_all(&[*byte]);
        match stream.read(&mut part) {
            Ok(0) => break,
            Ok(count) => told.extend_from_slice(&part[..count]),
            Err(error) if error.kind() == std::io::ErrorKind::WouldBlock => {}
            Err(_) => break,
        }
        assert!(started.elapsed() < CUT_OFF_WITHIN, "never cut off");
    }
    let told = String::from_utf8_lossy(&told).into_owned();
    (told, started.elapsed())
}

#[test]
fn two_hundred_slow_callers_are_cut_off_and_hold_up_no_genuine_callback() {
    let front = Front::open(20);
    let (first, path) = (front.ids[0], front.path(front.ids[0]));
    let before = front.memory("VmHWM");
    let slow: Vec<_> = (0..200)
        .map(|index| {
            let mut stream = stream(front.port);
            let sent = if index % 2 == 0 {
                format!("POST {path} HTTP/1.1\r\nx-slow: ")
            } else {
                format!("{}{{", head(&path, 60_000))
            };
            stream.write_all(sent.as_bytes()).unwrap();
            std::thread::spawn(move || trickle(stream, b"yz"))
        })
        .collect();
    let mut slowest = Duration::ZERO;
    for id in &front.ids[1..] {
        let started = Instant::now();
        assert_eq!(front.settle(*id).status, 200);
        slowest = slowest.max(started.elapsed());
    }
    assert!(
        slowest < Duration::from_secs(2),
        "a genuine callback took {slowest:?}"
    );
    for (index, caller) in slow.into_iter().enumerate() {
        let (told, took) = caller.join().unwrap();
        // 5 s for a head, 10 s for a body, and the time that a busy machine takes.
        let most = if index % 2 == 0 { 5 } else { 10 };
        assert!(
            took < Duration::from_secs(most + 5),
            "{index}: {took:?}, {told}"
        );
        assert!(!told.starts_with("HTTP/1.1 200"), "{index}: {told}");
    }
    let grown = front.memory("VmHWM") - before;
    assert!(
        grown < 16 * 1024,
        "memory grew by {grown} KiB for 200 callers"
    );
    assert_eq!(front.count("paid"), 19);
    assert_eq!(front.settle(first).status, 200);
    println!("slowest genuine callback beside 200 slow callers: {slowest:?}; memory +{grown} KiB");
}

/// Sends up to 100 MiB after a head; returns the status that came, and how many bytes the system took off our hands.
fn flood(port: u16, head: &str, chunked: bool) -> (Option<u16>, u64) {
    let mut stream = stream(port);
    stream.write_all(head.as_bytes()).unwrap();
    let piece = vec![b'x'; 64 * 1024];
    let mut sent = 0;
    while sent < 100 * MIB {
        let written = if chunked {
            stream
                .write_all(b"10000\r\n")
                .and_then(|()| stream.write_all(&piece))
                .and_then(|()| stream.write_all(b"\r\n"))
        } else {
            stream.write_all(&piece)
        };
        if written.is_err() {
            break;
        }
        sent += piece.len() as u64;
    }
    let _ = stream.shutdown(Shutdown::Write);
    (read_reply(&mut stream).ok().map(|reply| reply.status), sent)
}

#[test]
fn bodies_of_a_hundred_megabytes_are_cut_off_in_bounded_memory() {
    let front = Front::open(2);
    let genuine = front.path(front.ids[0]);
    let forged = format!("/callbacks/{}/{}", front.ids[0], "0".repeat(64));
    let evidence = front.evidence();
    let before = front.memory("VmHWM");
    let callers: Vec<_> = (0..24)
        .map(|index| {
            let path = if index % 3 == 0 { &forged } else { &genuine };
            let chunked = index % 2 == 0;
            let head = if chunked {
                format!("POST {path} HTTP/1.1\r\nhost: x\r\ntransfer-encoding: chunked\r\n\r\n")
            } else {
                head(path, 100 * MIB)
            };
            let port = front.port;
            std::thread::spawn(move || flood(port, &head, chunked))
        })
        .collect();
    let mut most = 0;
    for (index, caller) in callers.into_iter().enumerate() {
        let (status, sent) = caller.join().unwrap();
        most = most.max(sent);
        let expected = if index % 3 == 0 { 404 } else { 413 };
        // A reset may overtake the reply; it never says that the body was taken.
        assert!(
            status.is_none_or(|status| status == expected),
            "{index}: {status:?}"
        );
        assert!(
            sent < 16 * MIB,
            "{index}: took {sent} bytes of a body that it refuses"
        );
    }
    let grown = front.memory("VmHWM") - before;
    assert!(grown < 24 * 1024, "memory grew by {grown} KiB");
    let kept = front.evidence() - evidence;
    assert!(
        (1..=8).contains(&kept),
        "{kept}: that they came, and no more"
    );
    assert_eq!(front.settle(front.ids[0]).status, 200);
    println!("24 bodies of 100 MiB: at most {most} bytes taken from one; memory +{grown} KiB");
}

#[test]
fn nested_json_and_endless_heads_are_refused_and_the_listener_lives_on() {
    let mut front = Front::open(1);
    let id = front.ids[0];
    let path = front.path(id);
    let mut caller = Caller::connect(front.port);
    let around = |inner: &str| {
        pushed(
            id.as_str(),
            140,
            &format!(r#","extraData":{inner},"more":1"#),
        )
    };
    let deep = [
        "[".repeat(60_000),
        around(&format!("{}{}", "[".repeat(30_000), "]".repeat(30_000))),
        around(&format!(
            "{}1{}",
            r#"{"a":"#.repeat(10_000),
            "}".repeat(10_000)
        )),
        format!(
            r#"{{"payload":{}{}}}"#,
            "[".repeat(25_000),
            "]".repeat(25_000)
        ),
        // A text that holds JSON is read in turn where the interface has it so.
        pushed(
            id.as_str(),
            140,
            &format!(r#","receiptNumber":"{}""#, "[".repeat(50_000)),
        ),
    ];
    for (index, body) in deep.iter().enumerate().take(4) {
        // The address has proved the sender: what cannot be read is kept, cut, and the gateway is asked.
        assert_eq!(caller.post(&path, body).status, 200, "body {index}");
    }
    assert_eq!(front.count("acknowledged"), 1);
    let heads = [
        format!("POST {path} HTTP/1.1\r\n{}\r\n", "a: b\r\n".repeat(5_000)),
        format!("POST /{} HTTP/1.1\r\n\r\n", "a/".repeat(500_000)),
        format!("POST {path} HTTP/1.1\r\nx: {}\r\n\r\n", "y".repeat(1 << 20)),
    ];
    for head in heads {
        let mut stream = stream(front.port);
        let _ = stream.write_all(head.as_bytes());
        let refused = read_reply(&mut stream).map_or(0, |reply| reply.status) / 100 != 2;
        assert!(refused, "{head:.40}");
    }
    // This one is a callback whose receipt is an odd text.
    assert_eq!(caller.post(&path, &deep[4]).status, 200);
    assert_eq!(front.count("paid"), 1);
    assert!(!front.listen.is_over());
}

#[test]
fn ten_thousand_replays_and_as_many_variations_move_nothing_and_grow_no_journal() {
    const TIMES: usize = 10_000;
    const CALLERS: usize = 4;
    let front = Front::open(2);
    let id = front.ids[0];
    let path = front.path(id);
    let genuine = pushed(id.as_str(), 140, "");
    assert_eq!(
        Caller::connect(front.port).post(&path, &genuine).status,
        200
    );
    let (evidence, trail) = (front.evidence(), explain(&front));
    let size = || {
        ["disburse.db", "disburse.db-wal"].map(|name| {
            front
                .world
                .path(name)
                .metadata()
                .map_or(0, |file| file.len())
        })
    };
    let before = size();
    let started = Instant::now();
    let send = |body: &(dyn Fn(usize) -> String + Sync), allowed: &[u16]| {
        std::thread::scope(|scope| {
            for caller in 0..CALLERS {
                let path = &path;
                scope.spawn(move || {
                    let mut connection = Caller::connect(front.port);
                    for n in (caller..TIMES).step_by(CALLERS) {
                        let reply = connection.post(path, &body(n));
                        assert!(allowed.contains(&reply.status), "{n}: {reply:?}");
                    }
                });
            }
        });
    };
    send(&|_| genuine.clone(), &[200]);
    let replays = started.elapsed();
    assert_eq!(size(), before, "a replay is not written at all");
    assert_eq!(front.evidence(), evidence);
    assert_eq!(explain(&front), trail);
    // Each of them differs, as those of somebody who knows the address may: 8 are kept that name another amount.
    send(
        &|n| pushed(id.as_str(), 141, &format!(r#","amount":"{n}.77""#)),
        &[200, 503],
    );
    assert_eq!(front.evidence(), evidence + 8);
    let grown = size().iter().sum::<u64>() - before.iter().sum::<u64>();
    assert!(grown < 3 * MIB, "the journal grew by {grown} bytes");
    assert_eq!((front.count("paid"), front.count("conflict")), (1, 0));
    // Another payment's callback is stored as before.
    assert_eq!(front.settle(front.ids[1]).status, 200);
    eventually("paid", || front.count("paid") == 2);
    println!("10,000 replays in {replays:?}, 10,000 variations: journal +{grown} bytes, 8 rows");
}

fn explain(front: &Front) -> String {
    let id = front.ids[0].to_string();
    front.world.expect(0, &["explain", "b", &id]).out
}

/// Callers who keep their connections: each asks for something that nobody has, now and then, and comes back when it is
/// sent away.
fn chatter(port: u16, count: usize, over: &std::sync::atomic::AtomicBool) {
    use std::sync::atomic::Ordering;

    let mut callers: Vec<TcpStream> = (0..count).map(|_| stream(port)).collect();
    let mut part = [0; 1024];
    while !over.load(Ordering::Relaxed) {
        for caller in &mut callers {
            let asked = caller
                .write_all(b"GET /callbacks/nobody HTTP/1.1\r\nhost: x\r\n\r\n")
                .and_then(|()| caller.read(&mut part));
            if !matches!(asked, Ok(1..)) {
                *caller = stream(port);
            }
        }
    }
}

#[test]
fn six_hundred_callers_who_keep_their_connections_delay_no_genuine_callback() {
    const GENUINE: usize = 12;
    let front = Front::open(GENUINE);
    let over = std::sync::atomic::AtomicBool::new(false);
    let mut slowest = Duration::ZERO;
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| chatter(front.port, 150, &over));
        }
        // All of them are there, and more than there is room for.
        eventually("as many connections as there may be", || {
            std::fs::read_dir(format!("/proc/{}/fd", front.listen.id()))
                .is_ok_and(|files| files.count() > 500)
        });
        // Half of the callbacks come over one connection that is kept, the others over one of their own.
        let mut kept = Caller::connect(front.port);
        for (index, id) in front.ids.iter().enumerate() {
            let started = Instant::now();
            let reply = match index % 2 {
                0 => kept.try_call("POST", &front.path(*id), &pushed(id.as_str(), 140, "")),
                _ => Ok(front.settle(*id)),
            };
            slowest = slowest.max(started.elapsed());
            assert_eq!(reply.unwrap().status, 200, "callback {index}");
        }
        over.store(true, std::sync::atomic::Ordering::Relaxed);
    });
    assert!(
        slowest < Duration::from_secs(5),
        "a genuine callback took {slowest:?}"
    );
    assert_eq!(front.count("paid"), GENUINE);
    println!("slowest genuine callback beside 600 callers who stay: {slowest:?}");
}
