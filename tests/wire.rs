//! The client against servers that misbehave: what leaves is exact, and leaves once.

// A test fails by panicking, its servers too.
#![allow(clippy::unwrap_used)]
// A story or a table may be long.
#![allow(clippy::too_many_lines)]

#[path = "wire/around.rs"]
mod around;
#[path = "wire/bad_replies.rs"]
mod bad_replies;
#[path = "wire/certificates.rs"]
mod certificates;
#[path = "wire/connections.rs"]
mod connections;
#[path = "wire/dialects.rs"]
mod dialects;
#[path = "wire/echoes.rs"]
mod echoes;
#[path = "wire/expiry.rs"]
mod expiry;
#[path = "wire/members.rs"]
mod members;
#[path = "wire/payments.rs"]
mod payments;
#[path = "wire/refusals.rs"]
mod refusals;
#[path = "wire/secrets.rs"]
mod secrets;
#[path = "wire/server.rs"]
mod server;
#[path = "wire/tls.rs"]
mod tls;
#[path = "wire/tokens.rs"]
mod tokens;
#[path = "wire/uploads.rs"]
mod uploads;
#[path = "wire/waits.rs"]
mod waits;

use std::future::Future;
use std::net::TcpListener;
use std::process::Command;
use std::time::{Duration, Instant};

use disburse::domain::GatewayTransactionId;
use disburse::gateway::{
    ExtraDataForm, Gateway, HttpGateway, Inquiry, Outcome, Profile, Reply, Signal, StopReason,
    SupportDocumentIn,
};
use disburse::lifecycle::{Class, CodeMeaning, Event};
use payments::{
    A, B, C, about, acknowledgement, gateway, id, kenyan, one, outgoing, payment, profile,
    supported,
};
use server::{Connection, Server};

const ACKNOWLEDGED: Event = Event::Reply(CodeMeaning {
    class: Class::Acknowledged,
    code: 139,
});

/// Bounds a test in time.
async fn soon<T>(work: impl Future<Output = T>) -> T {
    tokio::time::timeout(Duration::from_secs(20), work)
        .await
        .expect("the request ends within its own timeouts")
}

/// Leaves time for a repeat that must not come.
async fn settle() {
    tokio::time::sleep(Duration::from_millis(250)).await;
}

fn only(reply: &Reply) -> &Outcome {
    assert_eq!(reply.outcomes.len(), 1);
    &reply.outcomes[0]
}

/// Posts one payment to a server, and expects that it got exactly one copy and that its outcome is unknown.
async fn lost_once(name: &str, behave: impl Fn(Connection<'_>) + Send + Sync + 'static) -> Reply {
    let server = Server::start(behave);
    let reply = soon(gateway(&server.url()).post(&one(A))).await;
    settle().await;
    assert_eq!(server.copies(A), 1, "{name}");
    assert_eq!(only(&reply).event, Event::Lost, "{name}");
    reply
}

/// A server that keeps the body and acknowledges.
fn acknowledging() -> Server {
    Server::start(|mut connection| {
        while let Some(body) = connection.request() {
            let text = String::from_utf8(body).unwrap();
            let at = text.find("payerTransactionID\":\"").unwrap() + 21;
            connection.reply("200 OK", &acknowledgement(&text[at..at + 26]));
        }
    })
}

fn body_of(server: &Server) -> String {
    let received = String::from_utf8(server.received()).unwrap();
    received.split_once("\r\n\r\n").unwrap().1.to_owned()
}

#[tokio::test]
async fn a_post_is_exact_to_the_byte() {
    let server = acknowledging();
    let mut full = kenyan("D6XG76YFHSD4N4GSMC3R7K7EGS");
    full.instruction = disburse::domain::Instruction {
        service: disburse::domain::ServiceCode::parse("BANK_PAYOUT").unwrap(),
        money: payment(A, ("KES", 150_050), ("KE", "254700000001"))
            .instruction
            .money,
        account_number: "0010020003".into(),
        narration: "Salary \"November\"\n2026 – ü".into(),
        customer_names: "Asha Otieno".into(),
        invoice_number: "INV-7".into(),
        payment_mode: "BANK".into(),
        hub_id: "17".into(),
        document: Some(disburse::domain::DocumentPath {
            digest: None,
            written: "statement.pdf".into(),
            folder: "/srv/pay".into(),
        }),
        extra: [
            ("destinationBankCode", "01"),
            ("destinationBankName", "First Bank"),
            ("destinationAccountName", "Asha Otieno"),
            ("destinationAccountNo", "0010020003"),
            // What we write ourselves cannot be set by a row.
            ("callbackUrl", "https://elsewhere.example"),
        ]
        .map(|(name, value)| (name.to_owned(), value.to_owned()))
        .into(),
        ..full.instruction
    };
    let callback = "https://pay.example/callbacks/D6XG76YFHSD4N4GSMC3R7K7EGS/abc";
    let post = supported(outgoing(full, Some(callback)), "DOC-77");
    let reply = soon(gateway(&server.url()).post(&[post])).await;
    assert_eq!(only(&reply).event, ACKNOWLEDGED);
    assert_eq!(body_of(&server), include_str!("wire/post.json").trim_end());

    let received = String::from_utf8(server.received()).unwrap().to_lowercase();
    let head = received.split_once("\r\n\r\n").unwrap().0;
    assert!(head.starts_with("post /v1/global-api/payments http/1.1\r\n"));
    assert!(head.contains("\r\ncontent-type: application/json"));
    for unwanted in ["referer", "authorization", "cookie", "expect"] {
        assert!(!head.contains(unwanted), "{head}");
    }
}

#[tokio::test]
async fn amounts_carry_the_decimals_of_their_currency() {
    let server = acknowledging();
    let posts = [
        outgoing(payment(A, ("KES", 10), ("KE", "254700000001")), None),
        outgoing(
            payment(B, ("UGX", 92_233_720_368_547_758), ("UG", "256770000001")),
            None,
        ),
        outgoing(
            payment(C, ("BHD", 92_233_720_368_547_758), ("BH", "97336000001")),
            None,
        ),
    ];
    let reply = soon(gateway(&server.url()).post(&posts)).await;
    let events: Vec<_> = reply.outcomes.iter().map(|o| o.event).collect();
    assert_eq!(events, [ACKNOWLEDGED, Event::Lost, Event::Lost]);
    assert_eq!(
        body_of(&server),
        include_str!("wire/post_currencies.json").trim_end()
    );
}

#[tokio::test]
async fn extra_data_is_escaped_where_the_deployment_wants_it() {
    let server = acknowledging();
    let gateway = HttpGateway::new(Profile {
        extra_data: ExtraDataForm::String,
        support_document_in: SupportDocumentIn::Packet,
        ..profile(&server.url())
    })
    .unwrap();
    let mut payment = kenyan(A);
    payment.instruction.extra = vec![
        ("note".into(), "a \"b\"".into()),
        ("supportDocument".into(), "DOC-9".into()),
    ];
    // The row's own reference comes before that of an upload.
    let post = supported(outgoing(payment, Some("https://pay.example/c")), "DOC-77");
    soon(gateway.post(&[post])).await;
    assert_eq!(
        body_of(&server),
        include_str!("wire/post_escaped.json").trim_end()
    );
}

#[tokio::test]
async fn a_status_query_is_exact_to_the_byte() {
    let server = acknowledging();
    let gateway_id = GatewayTransactionId::parse("90071992547409931").unwrap();
    let questions = [
        about(A).remove(0),
        Inquiry {
            id: id(B),
            gateway_transaction_id: Some(gateway_id),
            country: None,
        },
    ];
    let reply = soon(gateway(&server.url()).query(&questions)).await;
    let pending = CodeMeaning {
        class: Class::Acknowledged,
        code: 139,
    };
    let events: Vec<_> = reply.outcomes.iter().map(|o| o.event).collect();
    assert_eq!(events, [Event::Answer(pending), Event::NoAnswer]);
    assert_eq!(body_of(&server), include_str!("wire/query.json").trim_end());
}

#[tokio::test]
async fn a_post_whose_reply_never_comes_whole_is_lost_and_not_repeated() {
    let half = |mut connection: Connection<'_>| {
        connection.request();
        connection.send("HTTP/1.1 200 OK\r\ncontent-length: 900\r\n\r\n");
        connection.send(&acknowledgement(A)[..60]);
    };
    let reply = lost_once("half a body", half).await;
    assert_eq!(only(&reply).said.http_status, Some(200));

    let reply = lost_once("no reply", |mut connection| {
        connection.request();
    })
    .await;
    let cause = "connection closed before the reply was complete";
    assert_eq!(only(&reply).said.cause, cause);
    assert_eq!(reply.signal, Signal::Lost(cause.into()));

    let reply = lost_once("reset", |mut connection| {
        // Bytes that nobody has read turn the close into a reset.
        connection.request_but(1);
    })
    .await;
    assert_eq!(only(&reply).said.cause, "connection reset");

    lost_once("half a head", |mut connection| {
        connection.request();
        connection.send("HTTP/1.1 200 OK\r\ncontent-le");
    })
    .await;

    lost_once("no HTTP", |mut connection| {
        connection.request();
        connection.send("\0\0\0 out of order\r\n\r\n");
    })
    .await;

    lost_once("half chunked", |mut connection| {
        connection.request();
        connection.send("HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n5\r\n{\"aut\r\n");
    })
    .await;
}

// Settings, then GOAWAY with REFUSED_STREAM's meaning "nothing was processed": the invitation to send again.
#[tokio::test]
async fn a_goaway_is_no_invitation() {
    let reply = lost_once("goaway", |mut connection| {
        connection.request();
        connection.send(b"\0\0\0\x04\0\0\0\0\0");
        connection.send(b"\0\0\x08\x07\0\0\0\0\0\0\0\0\0\0\0\0\0");
        connection.drain();
    })
    .await;
    assert_eq!(only(&reply).said.cause, "a reply that is not HTTP/1.1");
}

#[tokio::test]
async fn redirects_are_not_followed() {
    for status in [
        "301 Moved",
        "302 Found",
        "303 See Other",
        "307 Temporary",
        "308 Permanent",
    ] {
        let elsewhere = acknowledging();
        let location = elsewhere.url();
        let reply = lost_once(status, move |mut connection| {
            connection.request();
            connection.send(format!(
                "HTTP/1.1 {status}\r\nlocation: {location}/v1/global-api/payments\r\ncontent-length: 0\r\n\r\n"
            ));
            connection.drain();
        })
        .await;
        assert_eq!(elsewhere.connections(), 0, "{status}");
        let reason = StopReason::Misconfigured(format!("HTTP {}", &status[..3]));
        assert_eq!(reply.signal, Signal::Stop(reason));
    }
}

#[tokio::test]
async fn a_server_error_is_never_believed_and_429_says_how_long() {
    let reply = lost_once("503", |mut connection| {
        connection.request();
        connection.reply("503 Busy", &acknowledgement(A));
    })
    .await;
    assert_eq!(reply.signal, Signal::Lost("HTTP 503".into()));

    let reply = lost_once("429", |mut connection| {
        connection.request();
        connection.send("HTTP/1.1 429 Slow\r\nretry-after: 7\r\ncontent-length: 0\r\n\r\n");
    })
    .await;
    assert_eq!(reply.signal, Signal::SlowDown(Some(Duration::from_secs(7))));
}

#[tokio::test]
async fn endless_bodies_are_cut_off() {
    const SIZE: usize = 10 * 1024 * 1024;
    let reply = lost_once("announced", |mut connection| {
        connection.request();
        connection.send(format!("HTTP/1.1 200 OK\r\ncontent-length: {SIZE}\r\n\r\n"));
        connection.send(vec![b' '; SIZE]);
    })
    .await;
    assert_eq!(only(&reply).said.cause, "a reply larger than 1048576 bytes");

    let reply = lost_once("chunked", |mut connection| {
        connection.request();
        connection.send("HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n");
        for _ in 0..SIZE / 0x1000 {
            connection.send(format!("1000\r\n{}\r\n", " ".repeat(0x1000)));
        }
        connection.send("0\r\n\r\n");
    })
    .await;
    assert_eq!(only(&reply).said.cause, "a reply larger than 1048576 bytes");
}

#[tokio::test]
async fn silence_ends_with_the_timeout_and_is_lost() {
    for with_head in [false, true] {
        let server = Server::start(move |mut connection| {
            connection.request();
            if with_head {
                connection.send("HTTP/1.1 200 OK\r\ncontent-length: 99\r\n\r\n");
            }
            // A byte now and then must not extend the wait.
            for _ in 0..40 {
                if with_head {
                    connection.send(" ");
                }
                std::thread::sleep(Duration::from_millis(100));
            }
        });
        let gateway = HttpGateway::new(Profile {
            request_timeout: Duration::from_millis(700),
            ..profile(&server.url())
        })
        .unwrap();
        let start = Instant::now();
        let reply = soon(gateway.post(&one(A))).await;
        assert!(start.elapsed() < Duration::from_secs(3));
        settle().await;
        assert_eq!(server.copies(A), 1);
        assert_eq!(only(&reply).event, Event::Lost);
        assert_eq!(only(&reply).said.cause, "timed out after 700ms");
    }
}

#[tokio::test]
async fn a_refused_connection_is_proof_that_nothing_left() {
    let closed = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", closed.local_addr().unwrap());
    drop(closed);
    let gateway = gateway(&url);
    let reply = soon(gateway.post(&one(A))).await;
    assert_eq!(only(&reply).event, Event::Unsent);
    assert_eq!(only(&reply).said.cause, "connection refused");
    let unreachable = Signal::Unreachable("connection refused".into());
    assert_eq!(reply.signal, unreachable);

    let reply = soon(gateway.query(&about(A))).await;
    assert_eq!(only(&reply).event, Event::NoAnswer);
    assert_eq!(reply.signal, unreachable);
}

// Other systems refuse where Linux lets wait.
#[cfg(target_os = "linux")]
#[tokio::test]
async fn a_connection_that_never_opens_is_unsent_and_not_lost() {
    // A queue of one that is full: further connections are left waiting.
    let socket = tokio::net::TcpSocket::new_v4().unwrap();
    socket.bind("127.0.0.1:0".parse().unwrap()).unwrap();
    let listener = socket.listen(1).unwrap();
    let address = listener.local_addr().unwrap();
    let mut waiting = Vec::new();
    while let Ok(stream) =
        std::net::TcpStream::connect_timeout(&address, Duration::from_millis(100))
    {
        waiting.push(stream);
        assert!(waiting.len() < 64, "the queue fills up");
    }
    let reply = soon(gateway(&format!("http://{address}")).post(&one(A))).await;
    assert_eq!(only(&reply).event, Event::Unsent);
    assert_eq!(only(&reply).said.cause, "no connection within 400ms");
}

#[test]
fn the_connect_timeout_must_be_the_shorter_one() {
    for (connect, request, accepted) in [(1, 2, true), (2, 2, false), (3, 2, false), (0, 2, false)]
    {
        let profile = Profile {
            connect_timeout: Duration::from_secs(connect),
            request_timeout: Duration::from_secs(request),
            ..profile("http://127.0.0.1:1")
        };
        assert_eq!(
            HttpGateway::new(profile).is_ok(),
            accepted,
            "{connect} {request}"
        );
    }
}

#[tokio::test]
#[ignore = "the child process of the next test"]
async fn child_posts_once() {
    let Ok(url) = std::env::var("WIRE_GATEWAY") else {
        return;
    };
    let reply = soon(gateway(&url).post(&one(A))).await;
    assert_eq!(only(&reply).event, ACKNOWLEDGED);
}

#[test]
fn a_proxy_in_the_environment_receives_nothing() {
    let (gateway, proxy) = (acknowledging(), acknowledging());
    let mut child = Command::new(std::env::current_exe().unwrap());
    child.args(["--exact", "child_posts_once", "--ignored"]);
    child.env("WIRE_GATEWAY", gateway.url());
    for name in ["http_proxy", "https_proxy", "all_proxy"] {
        child
            .env(name, proxy.url())
            .env(name.to_uppercase(), proxy.url());
    }
    child.env_remove("no_proxy").env_remove("NO_PROXY");
    let output = child.output().unwrap();
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stdout)
    );
    // One copy also shows that the child did run its test.
    assert_eq!((gateway.copies(A), proxy.connections()), (1, 0));
}
