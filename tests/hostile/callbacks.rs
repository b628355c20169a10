//! How the gateway calls back: one connection per callback, repeated while nobody listens.

use std::time::Duration;

use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use super::ledger::Ledger;
use super::script::Push;
use super::tongue::Tongue;

const TRIES: u32 = 40;
const BETWEEN: Duration = Duration::from_millis(100);

/// Returns the packet in the document's words.
fn packet((id, number): (&str, &str), code: i32) -> Value {
    json!({
        "statusCode": code, "statusDescription": "pushed", "payerTransactionID": id,
        "gatewayTransactionID": 1152921504606846977_u64, "receiptNumber": "[\"R1\"]", "receiverNarration": "",
        "msisdn": number, "serviceCode": "S", "paymentDate": "2026-11-20 10:00:00", "extraData": {}
    })
}

const FUNCTION: &str = "pushPaymentStatus";

/// Returns the documented body.
pub fn body(about: (&str, &str), code: i32) -> Value {
    json!({
        "function": format!("GATEWAY.{FUNCTION}"),
        "countryCode": "KE",
        "payload": {
            "packet": packet(about, code),
            "credentials": {"username": "", "password": ""}
        }
    })
}

/// Returns the body in a dialect.
pub fn body_in(tongue: &Tongue, about: (&str, &str), code: i32) -> Vec<u8> {
    bytes(tongue, about, Push::Code(code))
}

fn bytes(tongue: &Tongue, about: (&str, &str), push: Push) -> Vec<u8> {
    let with = |code: i32, function: &str, change: &dyn Fn(&mut Value)| {
        let mut packet = packet(about, code);
        change(&mut packet);
        tongue.pushed(&packet, function).to_string().into_bytes()
    };
    let of = |code: i32, change: &dyn Fn(&mut Value)| with(code, FUNCTION, change);
    match push {
        Push::Code(code) | Push::WrongToken(code) => of(code, &|_| {}),
        Push::TextCode(code) => of(code, &|packet| {
            packet["statusCode"] = json!(code.to_string())
        }),
        Push::InArray(code) => of(code, &|packet| *packet = json!([packet.take()])),
        Push::InArrayOfTwo(code) => of(code, &|packet| {
            // What a stranger's packet is in the document is none of this payment's.
            *packet = json!([packet, body(("X", ""), 140)])
        }),
        Push::Foreign(code) => of(code, &|packet| {
            packet["payerTransactionID"] = json!("D6XG76YFHSD4N4GSMC3R7K7EGS");
        }),
        Push::OtherAmount(code) => of(code, &|packet| packet["amount"] = json!(0.01)),
        Push::OtherCurrency(code) => of(code, &|packet| packet["currencyCode"] = json!("UGX")),
        Push::OtherNumber(code) => of(code, &|packet| packet["msisdn"] = json!("254799999999")),
        Push::OtherFunction(code) => with(code, "pushFloatBalance", &|_| {}),
        Push::DoubledKeys(code) => {
            let name = tongue.called("statusCode");
            String::from_utf8(of(code, &|_| {}))
                .unwrap()
                .replace(
                    &format!("\"{name}\":"),
                    &format!("\"{name}\":140,\"{name}\":"),
                )
                .into_bytes()
        }
        Push::Empty => Vec::new(),
        Push::Garbage => b"\xff\xfe<callback code=141/>".to_vec(),
        Push::Huge => vec![b'{'; 200 * 1024],
        Push::HalfABody => {
            let mut half = of(141, &|_| {});
            half.truncate(half.len() / 2);
            half
        }
    }
}

/// Delivers one callback, again and again until somebody listens.
pub async fn deliver(ledger: &Ledger, tongue: &Tongue, about: (&str, &str), url: &str, push: Push) {
    let mut url = url.to_owned();
    if matches!(push, Push::WrongToken(_)) {
        url.pop();
        url.push('g');
    }
    let body = bytes(tongue, about, push);
    let seals = tongue.seals(&body);
    for _ in 0..TRIES {
        if let Some(status) = send(&url, &seals, &body).await {
            note(ledger, !seals.is_empty(), about.0, push, status);
            if status != 503 {
                return;
            }
        }
        tokio::time::sleep(BETWEEN).await;
    }
}

fn note(ledger: &Ledger, is_sealed: bool, id: &str, push: Push, status: u16) {
    let mut books = ledger.books();
    *books.callback_replies.entry(status).or_default() += 1;
    let expected = match push {
        Push::Code(code) | Push::TextCode(code) | Push::InArray(code) => {
            if status == 200 && code != 139 {
                books
                    .deals
                    .entry(id.to_owned())
                    .or_default()
                    .acknowledged
                    .push(code);
            }
            status == 200 || status == 503
        }
        Push::WrongToken(_) => status == 404,
        // Whoever knows the address is the gateway: what cannot be read is kept and acknowledged.
        Push::Empty | Push::Garbage | Push::HalfABody | Push::DoubledKeys(_) => {
            matches!(status, 200 | 503)
        }
        // Of a body that is not read to its end, no signature holds.
        Push::Huge => matches!(status, 400 | 413 | 503) || is_sealed && status == 401,
        Push::Foreign(_)
        | Push::OtherAmount(_)
        | Push::OtherCurrency(_)
        | Push::OtherNumber(_)
        | Push::OtherFunction(_)
        | Push::InArrayOfTwo(_) => true,
    };
    if !expected {
        books
            .offences
            .push(format!("callback {push:?} was answered with {status}"));
    }
}

/// Sends one callback with its seals; `None` when no reply came.
pub async fn send(url: &str, seals: &[(String, String)], body: &[u8]) -> Option<u16> {
    let rest = url.strip_prefix("http://")?;
    let (host, path) = rest.split_at(rest.find('/')?);
    let exchange = async {
        let mut stream = TcpStream::connect(host).await.ok()?;
        let seals = seals
            .iter()
            .map(|(name, value)| format!("{name}: {value}\r\n"));
        let seals: String = seals.collect();
        let head = format!(
            "POST {path} HTTP/1.1\r\nHost: {host}\r\nContent-Type: application/json\r\nConnection: close\r\n{seals}Content-Length: {}\r\n\r\n",
            body.len()
        );
        stream.write_all(head.as_bytes()).await.ok()?;
        // A listener that has heard enough may close before the end.
        let _ = stream.write_all(body).await;
        let mut reply = Vec::new();
        let _ = stream.read_to_end(&mut reply).await;
        let text = String::from_utf8_lossy(&reply);
        text.strip_prefix("HTTP/1.1 ")?.get(..3)?.parse().ok()
    };
    tokio::time::timeout(Duration::from_secs(5), exchange)
        .await
        .ok()?
}
