//! Callbacks in another dialect: where their packet is, what proves them, and what they are answered.

use std::path::Path;
use std::sync::Arc;

use data_encoding::HEXLOWER;
use disburse::callback::Proof;
use disburse::dialect::{Dialect, Kind, Values, build, find};
use disburse::lifecycle::State;
use hmac::{Hmac, KeyInit as _, Mac as _};
use secrecy::SecretString;
use sha2::Sha256;
use tokio::io::AsyncWriteExt as _;

use crate::callbacks::{Door, read_reply, status};

fn dialect(lines: &[&str]) -> Arc<Dialect> {
    let values: Values = lines
        .iter()
        .map(|line| {
            let (name, value) = line.split_once('=').unwrap();
            let key = find(name).unwrap_or_else(|| panic!("{name} is no key"));
            let values = match key.kind {
                Kind::Codes | Kind::Texts => value.split(',').map(str::to_owned).collect(),
                _ => vec![value.to_owned()],
            };
            (name.to_owned(), values)
        })
        .collect();
    Arc::new(build(&values, Path::new("")).unwrap())
}

async fn door(n: u64, lines: &[&str]) -> Door {
    Door::speaking(n, dialect(lines), Proof::default()).await
}

/// Posts a body with further headers to a path; the reply's head and body.
async fn send(door: &Door, path: &str, headers: &str, body: &str) -> (String, String) {
    let mut stream = door.connect().await;
    let length = body.len();
    let request = format!(
        "POST {path} HTTP/1.1\r\nhost: x\r\n{headers}content-length: {length}\r\nconnection: close\r\n\r\n{body}"
    );
    stream.write_all(request.as_bytes()).await.unwrap();
    read_reply(&mut stream).await
}

#[tokio::test]
async fn the_packet_is_found_wherever_the_dialect_has_it() {
    for (lines, body) in [
        (&["callbacks.packet="][..], "PACKET".to_owned()),
        (&["callbacks.packet="], "[PACKET]".to_owned()),
        (&["callbacks.functions=BEEP.push"], r#"{"function":"BEEP.push","payload":{"packet":PACKET}}"#.to_owned()),
        (&[], r#"{"function":"BEEP.pushPaymentStatus","payload":{"packet":PACKET}}"#.to_owned()),
        (&["callbacks.packet=results"], r#"{"authStatus":{"authStatusCode":131},"results":[PACKET]}"#.to_owned()),
        (&["callbacks.packet=data.payment"], r#"{"data":{"payment":PACKET,"more":1}}"#.to_owned()),
        // Inside a text, the packet alone or all that is around it.
        (&["callbacks.packet=data"], r#"{"data":TEXT}"#.to_owned()),
        (&["callbacks.packet=data.payment"], r#"{"data":"{\"payment\":[TWICE]}"}"#.to_owned()),
        // An array of any length: of the others nothing is taken.
        (&["callbacks.packets=many"], r#"{"function":"BEEP.pushPaymentStatus","payload":{"packet":[{"statusCode":141,"payerTransactionID":"OTHER"},PACKET,{"statusCode":141,"payerTransactionID":"OTHER"}]}}"#.to_owned()),
        (
            &["members.statusCode=state", "members.payload=content"],
            r#"{"content":{"packet":{"state":140,"payerTransactionID":"ID"}}}"#.to_owned(),
        ),
    ] {
        let door = door(1, lines).await;
        let id = door.id(1);
        let packet = format!(r#"{{"statusCode":140,"payerTransactionID":"{id}"}}"#);
        let text = serde_json::to_string(&packet).unwrap();
        let body = body
            .replace("TEXT", &text)
            .replace("TWICE", &text[1..text.len() - 1])
            .replace("PACKET", &packet)
            .replace("OTHER", "00000000000000000000000000")
            .replace("\"ID\"", &format!("\"{id}\""));
        let reply = door.call(id, &body).await;
        assert_eq!(status(&reply), "200", "{body}: {reply:?}");
        assert_eq!(door.world.find(id.as_str()).life.state, State::Paid, "{body}");
    }
}

#[tokio::test]
async fn what_no_reader_of_the_dialect_finds_is_kept_and_settles_nothing() {
    for (lines, body) in [
        (
            &["callbacks.packet=results"][..],
            r#"{"payload":{"packet":{"statusCode":140}}}"#,
        ),
        (
            &["callbacks.packet="],
            r#"{"payload":{"packet":{"statusCode":140}}}"#,
        ),
        (
            &["callbacks.functions=BEEP.push"],
            r#"{"function":"BEEP.other","payload":{"packet":{"statusCode":140}}}"#,
        ),
        (
            &["members.statusCode=state"],
            r#"{"payload":{"packet":{"statusCode":140}}}"#,
        ),
        // Two that differ, and none that names the payment.
        (
            &["callbacks.packets=many"],
            r#"{"payload":{"packet":[{"statusCode":140,"payerTransactionID":"ID"},{"statusCode":141,"payerTransactionID":"ID"}]}}"#,
        ),
        (
            &["callbacks.packets=many"],
            r#"{"payload":{"packet":[{"statusCode":140},{"statusCode":140}]}}"#,
        ),
        // The document has one packet, and one function under whatever name comes before it.
        (
            &[],
            r#"{"payload":{"packet":[{"statusCode":140,"payerTransactionID":"ID"},{"statusCode":140,"payerTransactionID":"X"}]}}"#,
        ),
        (
            &[],
            r#"{"function":"GATEWAY.pushFloat","payload":{"packet":{"statusCode":140}}}"#,
        ),
        (&[], r#"{"payload":{"packet":[]}}"#),
    ] {
        let door = door(1, lines).await;
        let id = door.id(1);
        let body = body.replace("\"ID\"", &format!("\"{id}\""));
        let reply = door.call(id, &body).await;
        assert_eq!(status(&reply), "200", "{body}");
        assert_eq!(
            door.world.find(id.as_str()).life.state,
            State::Acknowledged,
            "{body}"
        );
    }
}

#[tokio::test]
async fn one_address_for_all_finds_each_payment_by_its_identifier() {
    let door = door(
        3,
        &[
            "callbacks.address=fixed",
            "callbacks.packet=",
            "callbacks.packets=many",
        ],
    )
    .await;
    let (first, second) = (door.id(1), door.id(2));
    let url = door.addresses.of_all();
    assert_eq!(door.addresses.of(first), url, "posts name the one address");
    let path = url
        .split_once("/callbacks")
        .map(|(_, path)| format!("/callbacks{path}"))
        .unwrap();
    let of =
        |id: &str, code: u16| format!(r#"{{"statusCode":{code},"payerTransactionID":"{id}"}}"#);
    let both = format!("[{},{}]", of(first.as_str(), 140), of(second.as_str(), 141));
    assert_eq!(status(&send(&door, &path, "", &both).await), "200");
    assert_eq!(door.world.find(first.as_str()).life.state, State::Paid);
    assert_eq!(door.world.find(second.as_str()).life.state, State::Failed);
    // Of strangers, of nobody, and at another address: nothing is acknowledged.
    let third = door.id(3);
    for (path, body) in [
        (path.clone(), of("00000000000000000000000000", 140)),
        (path.clone(), r#"{"statusCode":140}"#.to_owned()),
        (path.clone(), "no JSON".to_owned()),
        (format!("{path}0"), of(third.as_str(), 140)),
        (
            "/callbacks/all/".to_owned() + &"0".repeat(64),
            of(third.as_str(), 140),
        ),
    ] {
        assert_eq!(
            status(&send(&door, &path, "", &body).await),
            "404",
            "{path} {body}"
        );
    }
    assert_eq!(
        door.world.find(third.as_str()).life.state,
        State::Acknowledged
    );
}

#[tokio::test]
async fn a_payment_of_its_own_address_has_no_shared_one() {
    let door = door(1, &[]).await;
    let url = door.addresses.of_all();
    let path = url
        .split_once("/callbacks")
        .map(|(_, path)| format!("/callbacks{path}"))
        .unwrap();
    let id = door.id(1);
    let body =
        format!(r#"{{"payload":{{"packet":{{"statusCode":140,"payerTransactionID":"{id}"}}}}}}"#);
    assert_eq!(status(&send(&door, &path, "", &body).await), "404");
    assert_eq!(door.world.find(id.as_str()).life.state, State::Acknowledged);
}

#[tokio::test]
async fn a_secret_and_a_signature_are_both_asked_for() {
    let lines = [
        "callbacks.secret_header=X-Secret",
        "callbacks.secret_file=s",
        "callbacks.signing.algorithm=hmac-sha256",
        "callbacks.signing.key_file=k",
        "callbacks.signing.encoding=hex",
        "callbacks.signing.timestamp_header=X-Time",
        "callbacks.packet=",
    ];
    let spoken = dialect(&lines);
    let secret = SecretString::from("open sesame");
    let proof = Proof::new(&spoken.callbacks, Some(&secret), Some(b"shared")).unwrap();
    let door = Door::speaking(1, spoken, proof).await;
    let id = door.id(1);
    let path = door.path(id);
    let body = format!(r#"{{"statusCode":140,"payerTransactionID":"{id}"}}"#);
    let seal = |time: &str, body: &str| {
        let mut mac = Hmac::<Sha256>::new_from_slice(b"shared").unwrap();
        mac.update(format!("{time}.{body}").as_bytes());
        HEXLOWER.encode(&mac.finalize().into_bytes())
    };
    let good = seal("17", &body);
    for headers in [
        String::new(),
        "X-Secret: open sesame\r\n".to_owned(),
        format!("X-Time: 17\r\nX-Signature: {good}\r\n"),
        format!("X-Secret: open sesam\r\nX-Time: 17\r\nX-Signature: {good}\r\n"),
        format!("X-Secret: open sesame\r\nX-Time: 18\r\nX-Signature: {good}\r\n"),
        format!("X-Secret: open sesame\r\nX-Signature: {good}\r\n"),
        format!(
            "X-Secret: open sesame\r\nX-Time: 17\r\nX-Signature: {}\r\n",
            seal("17", "{}")
        ),
    ] {
        let reply = send(&door, &path, &headers, &body).await;
        assert_eq!(status(&reply), "401", "{headers}");
        assert_eq!(door.world.find(id.as_str()).life.state, State::Acknowledged);
    }
    let headers = format!("X-Secret: open sesame\r\nX-Time: 17\r\nX-Signature: {good}\r\n");
    assert_eq!(status(&send(&door, &path, &headers, &body).await), "200");
    assert_eq!(door.world.find(id.as_str()).life.state, State::Paid);
}

#[tokio::test]
async fn the_acknowledgement_is_the_dialects() {
    let door = door(1, &["callbacks.acknowledgement.form=empty"]).await;
    let id = door.id(1);
    let body =
        format!(r#"{{"payload":{{"packet":{{"statusCode":140,"payerTransactionID":"{id}"}}}}}}"#);
    let (head, body) = door.call(id, &body).await;
    assert!(
        head.starts_with("HTTP/1.1 200") && body.is_empty(),
        "{head} {body}"
    );
}

#[tokio::test]
async fn what_cannot_be_read_at_the_shared_address_is_kept_for_whom_it_names() {
    let lines = [
        "callbacks.address=fixed",
        "callbacks.packet=",
        "callbacks.packets=many",
    ];
    let of =
        |id: &str, code: &str| format!(r#"{{"statusCode":{code},"payerTransactionID":"{id}"}}"#);
    for kind in ["two words", "one that is none", "broken"] {
        let door = door(2, &lines).await;
        let (first, second) = (door.id(1), door.id(2));
        let (a, b) = (first.as_str(), second.as_str());
        let body = match kind {
            "two words" => format!("[{},{}]", of(a, "140"), of(a, "141")),
            "one that is none" => format!("[{},{}]", of(a, "\"oops\""), of(b, "140")),
            _ => format!("[{},", of(a, "140")),
        };
        let url = door.addresses.of_all();
        let path = url
            .split_once("/callbacks")
            .map(|(_, path)| format!("/callbacks{path}"));
        assert_eq!(
            status(&send(&door, &path.unwrap(), "", &body).await),
            "200",
            "{kind}"
        );
        let found = door.world.find(a);
        assert_eq!(found.life.state, State::Acknowledged, "{kind}");
        let reader = door.world.reader();
        let snapshot = reader.snapshot(&crate::support::batch()).unwrap();
        let trail = snapshot.trail(found.seq).unwrap();
        assert_eq!(
            trail.len(),
            3,
            "{kind}: claimed, acknowledged, and the callback that was kept"
        );
        if kind == "one that is none" {
            assert_eq!(door.world.find(b).life.state, State::Paid);
        }
    }
}
