//! What leaves in another dialect, and what its replies say.

use std::path::Path;
use std::sync::Arc;

use data_encoding::{BASE64, HEXLOWER};
use disburse::dialect::{Dialect, Kind, Values, build, find};
use disburse::domain::Timestamp;
use disburse::gateway::{
    AccountAnswer, BillAnswer, DocumentClient, Gateway, HttpGateway, Keys, LookupClient, Profile,
    Signal, StopReason,
};
use disburse::lifecycle::{Class, CodeMeaning, Event};
use hmac::{Hmac, KeyInit as _, Mac as _};
use ring::signature::{RSA_PKCS1_2048_8192_SHA256, UnparsedPublicKey};
use rustls::pki_types::PrivateKeyDer;
use rustls::pki_types::pem::PemObject as _;
use secrecy::{SecretSlice, SecretString};
use sha2::Sha256;

use super::around::{everything_at, issued, issuing, kenyan_number, service};
use super::payments::{A, about, id, kenyan, one, outgoing, payment, profile};
use super::server::Server;
use super::soon;

/// Builds of lines such as `types.amount=text`; values of arrays are separated by commas.
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

fn at(url: &str, lines: &[&str]) -> Profile {
    Profile {
        dialect: dialect(lines),
        ..everything_at(url)
    }
}

fn client(url: &str, lines: &[&str]) -> HttpGateway {
    HttpGateway::new(at(url, lines)).unwrap()
}

/// A server that answers every request alike.
fn answering(status: &'static str, reply: &'static str) -> Server {
    Server::start(move |mut connection| {
        while connection.request().is_some() {
            connection.reply(status, reply);
        }
    })
}

/// The request line, the head in small letters, and the body of the only request.
fn request_of(server: &Server) -> (String, String, String) {
    let received = String::from_utf8(server.received()).unwrap();
    let (head, body) = received.split_once("\r\n\r\n").unwrap();
    let line = head.lines().next().unwrap().to_owned();
    (line, head.to_lowercase(), body.to_owned())
}

/// Posts one payment, and returns what was sent.
async fn posted(lines: &[&str]) -> (String, String, String) {
    let server = answering("200 OK", "{}");
    let _ = soon(client(&server.url(), lines).post(&one(A))).await;
    request_of(&server)
}

const DOCUMENT: &str = r#"{"function":"GATEWAY.postPayment","countryCode":"KE","payload":{"credentials":{"username":"acme","password":"pa\"ss\\word"},"packet":[{"serviceCode":"B2C","MSISDN":"254700000001","invoiceNumber":"","accountNumber":"254700000001","payerTransactionID":"AAAAAAAAAAAAAAAAAAAAAAAAAA","amount":1500.00,"narration":"","datePaymentReceived":"2026-11-28 03:00:00","currencyCode":"KES","countryCode":"KE","hubID":"","paymentMode":"","customerNames":"","extraData":{"pushToOriginator":false}}]}}"#;

#[tokio::test]
async fn every_freedom_changes_the_bytes_of_a_post_and_nothing_else() {
    let (line, _, body) = posted(&[]).await;
    assert_eq!(line, "POST /v1/global-api/payments HTTP/1.1");
    assert_eq!(body, DOCUMENT);
    for (freedom, from, to) in [
        (
            "operations.post.function=BEEP.postPayment",
            r#""function":"GATEWAY.postPayment""#,
            r#""function":"BEEP.postPayment""#,
        ),
        (
            "operations.post.function=",
            r#""function":"GATEWAY.postPayment","#,
            "",
        ),
        (
            "operations.post.authentication=none",
            r#""credentials":{"username":"acme","password":"pa\"ss\\word"},"#,
            "",
        ),
        (
            "operations.post.authentication=basic",
            r#""credentials":{"username":"acme","password":"pa\"ss\\word"},"#,
            "",
        ),
        ("types.amount=text", "1500.00", r#""1500.00""#),
        ("types.decimals.B2C=0", "1500.00", "1500"),
        ("types.decimals.B2C=3", "1500.00", "1500.000"),
        (
            "types.extra_data=text",
            r#"{"pushToOriginator":false}"#,
            r#""{\"pushToOriginator\":false}""#,
        ),
        (
            "members.payerTransactionID=clientReference",
            r#""payerTransactionID""#,
            r#""clientReference""#,
        ),
        ("members.packet=payments", r#""packet""#, r#""payments""#),
        ("posts.left_out=hubID", r#""hubID":"","#, ""),
        (
            "posts.left_out=countryCode",
            r#""countryCode":"KE","hubID""#,
            r#""hubID""#,
        ),
        ("posts.left_out=invoiceNumber", r#""invoiceNumber":"","#, ""),
        (
            "posts.left_out=datePaymentReceived",
            r#""datePaymentReceived":"2026-11-28 03:00:00","#,
            "",
        ),
        (
            "posts.left_out=pushToOriginator",
            r#"{"pushToOriginator":false}"#,
            "{}",
        ),
        (
            "members.pushToOriginator=push \"it\"",
            r#""pushToOriginator""#,
            r#""push \"it\"""#,
        ),
    ] {
        let (line, _, body) = posted(&[freedom]).await;
        assert_eq!(line, "POST /v1/global-api/payments HTTP/1.1", "{freedom}");
        assert_eq!(body, DOCUMENT.replacen(from, to, 1), "{freedom}");
    }
    let (line, _, body) =
        posted(&["operations.post.path=/v2/pay", "operations.post.method=PUT"]).await;
    assert_eq!(line, "PUT /v2/pay HTTP/1.1");
    assert_eq!(body, DOCUMENT);
}

#[tokio::test]
async fn every_operation_has_a_path_a_method_and_a_function_of_its_own() {
    let lines = [
        "operations.status.path=/v2/status",
        "operations.status.method=PUT",
        "operations.bill.path=/v2/bills",
        "operations.bill.function=BEEP.queryBill",
        "operations.float.path=/v2/floats",
        "operations.account.path=/v2/accounts",
        "types.empty_extra_data=omitted",
        "members.gatewayTransactionID=beepTransactionID",
    ];
    let server = answering("200 OK", "{}");
    let gateway = client(&server.url(), &lines);
    let _ = soon(gateway.query(&about(A))).await;
    let _ = soon(gateway.bills(&[super::around::bill("WATER", "77")])).await;
    let _ = soon(gateway.float(&[service("B2C")])).await;
    let _ = soon(gateway.account(&service("WATER"), "77")).await;
    let received = String::from_utf8(server.received()).unwrap();
    for part in [
        "PUT /v2/status ",
        r#""packet":[{"payerTransactionID":"AAAAAAAAAAAAAAAAAAAAAAAAAA","beepTransactionID":""}]"#,
        "POST /v2/bills ",
        r#""function":"BEEP.queryBill""#,
        r#"{"serviceCode":"WATER","MSISDN":"","accountNumber":"77","payerTransactionID":""}"#,
        "POST /v2/floats ",
        "POST /v2/accounts ",
    ] {
        assert!(received.contains(part), "{part}\n{received}");
    }
    let (_, _, body) = {
        let server = answering("200 OK", "{}");
        let gateway = client(&server.url(), &["types.empty_extra_data=empty_text"]);
        let _ = soon(gateway.account(&service("WATER"), "77")).await;
        request_of(&server)
    };
    assert!(body.contains(r#""extraData":"""#), "{body}");
}

#[tokio::test]
async fn the_envelope_names_the_country_of_the_row_unless_the_dialect_says_otherwise() {
    let ugandan = || {
        let payment = payment(A, ("UGX", 150_000), ("UG", "256772123456"));
        [outgoing(payment, None)]
    };
    for (lines, country) in [(&[][..], "UG"), (&["envelope.country_code=profile"], "KE")] {
        let server = answering("200 OK", "{}");
        let _ = soon(client(&server.url(), lines).post(&ugandan())).await;
        let (_, _, body) = request_of(&server);
        let envelope = format!(r#"postPayment","countryCode":"{country}","#);
        assert!(body.contains(&envelope), "{body}");
        assert!(
            body.contains(r#""currencyCode":"UGX","countryCode":"UG""#),
            "{body}"
        );
    }
}

#[tokio::test]
async fn bank_members_and_further_ones_have_the_dialects_names_and_types() {
    let mut row = kenyan(A);
    let extra = [
        ("destinationBankName", "Made-up Bank"),
        ("urgent", "true"),
        ("score", "12.50"),
        ("box", r#"{"a":[1]}"#),
        ("plain", "7"),
    ];
    row.instruction.extra = extra
        .map(|(name, value)| (name.to_owned(), value.to_owned()))
        .to_vec();
    let server = answering("200 OK", "{}");
    let gateway = client(
        &server.url(),
        &[
            "members.destinationBankName=destinationBank",
            "types.extra.urgent=boolean",
            "types.extra.score=number",
            "types.extra.box=object",
        ],
    );
    let _ = soon(gateway.post(&[outgoing(row, None)])).await;
    let (_, _, body) = request_of(&server);
    let expected = r#""extraData":{"pushToOriginator":false,"destinationBank":"Made-up Bank","urgent":true,"score":12.50,"box":{"a":[1]},"plain":"7"}"#;
    assert!(body.contains(expected), "{body}");
    serde_json::from_str::<serde_json::Value>(&body).unwrap();
}

#[tokio::test]
async fn headers_are_sent_and_secret_ones_are_left_out_of_what_comes_back() {
    let reply = r#"{"authStatus":{"authStatusCode":131},"results":[{"payerTransactionID":"AAAAAAAAAAAAAAAAAAAAAAAAAA","statusCode":139,"statusDescription":"key k3y-of-acme-2026 is good"}]}"#;
    let server = answering("200 OK", reply);
    let mut profile = at(
        &server.url(),
        &["headers.X-Channel=bulk", "header_files.X-Api-Key=k"],
    );
    profile.keys = Keys {
        headers: vec![("X-Api-Key".into(), SecretString::from("k3y-of-acme-2026"))],
        ..Keys::default()
    };
    let shown = format!("{profile:?}");
    let said = soon(HttpGateway::new(profile).unwrap().post(&one(A))).await;
    let (_, head, _) = request_of(&server);
    assert!(head.contains("x-channel: bulk") && head.contains("x-api-key: k3y-of-acme-2026"));
    assert_eq!(said.outcomes[0].said.description, "key [hidden] is good");
    assert!(!shown.contains("k3y-of-acme"));
}

#[tokio::test]
async fn basic_is_sent_where_the_dialect_says_so() {
    let (_, head, body) = posted(&["operations.post.authentication=body+basic"]).await;
    let pair = BASE64.encode(br#"acme:pa"ss\word"#).to_lowercase();
    assert!(
        head.contains(&format!("authorization: basic {pair}")),
        "{head}"
    );
    assert!(body.contains("credentials"));
}

#[tokio::test]
async fn a_post_whose_token_had_expired_is_lost_and_a_question_is_asked_again() {
    let expired = r#"{"data":null,"message":"Token expired","success":false,"statusCode":131}"#;
    for status in ["200 OK", "401 Unauthorized"] {
        let lines = [
            "operations.post.authentication=bearer",
            "operations.status.authentication=bearer",
            "operations.token.path=/v2/token",
        ];
        let server = Server::start(move |mut connection| {
            while let Some((head, _)) = connection.request_with_head() {
                match head.starts_with("POST /v2/token") {
                    true => connection.reply("200 OK", &issued("t0k3n-of-an-hour", "3600")),
                    false => connection.reply(status, expired),
                }
            }
        });
        let reply = soon(client(&server.url(), &lines).post(&one(A))).await;
        assert_eq!(reply.outcomes[0].event, Event::Lost, "{status}");
        assert_eq!(server.copies(A), 1, "{status}");
        let _ = soon(client(&server.url(), &lines).query(&about(A))).await;
        assert_eq!(server.copies("GATEWAY.queryPaymentStatus"), 2, "{status}");
    }
}

#[tokio::test]
async fn an_upload_carries_what_the_dialect_says_and_its_reply_is_read_by_it() {
    let server = issuing(r#"{"documentId":"DOC-7","state":"STORED"}"#);
    let lines = [
        "operations.upload.path=/v2/documents",
        "operations.upload.method=PUT",
        "operations.upload.authentication=bearer",
        "replies.document_reference=documentId",
        "replies.upload_refused=state=REJECTED",
    ];
    let documents = DocumentClient::new(&at(&server.url(), &lines)).unwrap();
    let uploaded = soon(documents.upload(&id(A), "a.pdf", b"%PDF-1".to_vec())).await;
    assert_eq!(uploaded.unwrap().reference, "DOC-7");
    let received = String::from_utf8_lossy(&server.received()).to_lowercase();
    assert!(received.contains("put /v2/documents "), "{received}");
    assert!(received.contains("authorization: bearer "), "{received}");

    let server = issuing(r#"{"documentId":"DOC-7","state":"rejected"}"#);
    let documents = DocumentClient::new(&at(&server.url(), &lines)).unwrap();
    let refused = soon(documents.upload(&id(A), "a.pdf", b"%PDF-1".to_vec())).await;
    assert!(refused.is_err(), "{refused:?}");
}

#[tokio::test]
async fn a_lookup_needs_no_token_where_the_dialect_asks_for_none() {
    let server = answering(
        "200 OK",
        r#"{"carrier":"Made-up","timeZone":"Africa/Nairobi"}"#,
    );
    let lines = [
        "operations.lookup.path=/v2/networks",
        "operations.lookup.authentication=basic",
    ];
    let lookups = LookupClient::new(&at(&server.url(), &lines), None).unwrap();
    let found = soon(lookups.lookup(&kenyan_number())).await.unwrap();
    assert_eq!(found.carrier, "Made-up");
    let (line, head, _) = request_of(&server);
    assert!(line.starts_with("POST /v2/networks ") && head.contains("authorization: basic "));
}

fn fixed_clock() -> Timestamp {
    Timestamp::from_millis(1_795_824_000_999)
}

fn signed_with(key: &[u8], lines: &[&str]) -> impl Fn(&str) -> Profile {
    let key: SecretSlice<u8> = key.to_vec().into();
    let (key, dialect) = (Arc::new(key), dialect(lines));
    move |url| Profile {
        dialect: Arc::clone(&dialect),
        keys: Keys {
            signing: Some(Arc::clone(&key)),
            ..Keys::default()
        },
        clock: fixed_clock,
        ..profile(url)
    }
}

fn header<'a>(head: &'a str, name: &str) -> &'a str {
    head.lines()
        .find_map(|line| line.strip_prefix(name)?.strip_prefix(": "))
        .unwrap_or_else(|| panic!("{name}: {head}"))
}

#[tokio::test]
async fn a_signature_covers_the_exact_body_and_the_time() {
    let of = signed_with(
        b"shared key",
        &[
            "signing.algorithm=hmac-sha256",
            "signing.key_file=key",
            "signing.header=X-Seal",
            "signing.encoding=hex",
            "signing.timestamp_header=X-Time",
        ],
    );
    let server = answering("200 OK", "{}");
    let _ = soon(HttpGateway::new(of(&server.url())).unwrap().post(&one(A))).await;
    let (_, head, body) = request_of(&server);
    assert_eq!(header(&head, "x-time"), "1795824000");
    let mut mac = Hmac::<Sha256>::new_from_slice(b"shared key").unwrap();
    mac.update(format!("1795824000.{body}").as_bytes());
    let expected = HEXLOWER.encode(&mac.finalize().into_bytes());
    assert_eq!(header(&head, "x-seal"), expected);
}

#[tokio::test]
async fn an_rsa_signature_is_one_that_the_public_key_verifies() {
    let pem = include_bytes!("tls/signing.pem");
    let of = signed_with(
        pem,
        &["signing.algorithm=rsa-sha256", "signing.key_file=key"],
    );
    let server = answering("200 OK", "{}");
    let _ = soon(HttpGateway::new(of(&server.url())).unwrap().post(&one(A))).await;
    let received = String::from_utf8(server.received()).unwrap();
    let (head, body) = received.split_once("\r\n\r\n").unwrap();
    let line = head
        .lines()
        .find(|line| line.to_lowercase().starts_with("x-signature: "))
        .unwrap();
    let signature = BASE64
        .decode(&line.as_bytes()["x-signature: ".len()..])
        .unwrap();
    let PrivateKeyDer::Pkcs8(key) = PrivateKeyDer::from_pem_slice(pem).unwrap() else {
        panic!("the key is in another form")
    };
    let pair = ring::rsa::KeyPair::from_pkcs8(key.secret_pkcs8_der()).unwrap();
    let public = ring::signature::KeyPair::public_key(&pair).as_ref();
    UnparsedPublicKey::new(&RSA_PKCS1_2048_8192_SHA256, public)
        .verify(body.as_bytes(), &signature)
        .unwrap();
    let torn = signed_with(
        b"no key",
        &["signing.algorithm=rsa-sha256", "signing.key_file=key"],
    );
    assert!(HttpGateway::new(torn(&server.url())).is_err());
}

async fn asked(
    lines: &[&str],
    status: &'static str,
    reply: &'static str,
) -> (Event, String, Signal) {
    let server = answering(status, reply);
    let reply = soon(client(&server.url(), lines).query(&about(A))).await;
    let first = reply.outcomes.into_iter().next().unwrap();
    (first.event, first.said.description, reply.signal)
}

fn answer(class: Class, code: i32) -> Event {
    Event::Answer(CodeMeaning { class, code })
}

#[tokio::test]
async fn replies_are_read_by_the_dialects_names_and_codes() {
    let renamed = [
        "members.results=payments",
        "members.payerTransactionID=ref",
        "members.statusCode=state",
        "replies.authenticated=200",
        "replies.not_authenticated=401",
    ];
    let paid = r#"{"authStatus":{"authStatusCode":200},"payments":[{"ref":"AAAAAAAAAAAAAAAAAAAAAAAAAA","state":"140"}]}"#;
    let (event, _, signal) = asked(&renamed, "200 OK", paid).await;
    assert_eq!((event, signal), (answer(Class::Paid, 140), Signal::Healthy));
    // The document's own words are another language here.
    let document = r#"{"authStatus":{"authStatusCode":131},"results":[{"payerTransactionID":"AAAAAAAAAAAAAAAAAAAAAAAAAA","statusCode":140}]}"#;
    let (event, _, _) = asked(&renamed, "200 OK", document).await;
    assert_eq!(event, Event::NoAnswer);
    let denied =
        r#"{"authStatus":{"authStatusCode":401,"authStatusDescription":"who?"},"payments":[]}"#;
    let (_, _, signal) = asked(&renamed, "200 OK", denied).await;
    assert!(
        matches!(signal, Signal::Stop(StopReason::Credentials(_))),
        "{signal:?}"
    );
}

#[tokio::test]
async fn without_an_authentication_an_entry_counts_only_where_the_dialect_has_none() {
    let bare =
        r#"{"results":[{"payerTransactionID":"AAAAAAAAAAAAAAAAAAAAAAAAAA","statusCode":140}]}"#;
    let (event, _, _) = asked(&[], "200 OK", bare).await;
    assert_eq!(event, Event::NoAnswer);
    let (event, _, _) = asked(&["replies.auth_status=absent"], "200 OK", bare).await;
    assert_eq!(event, answer(Class::Paid, 140));
}

#[tokio::test]
async fn a_server_error_ends_no_payment_whatever_its_body_says() {
    for (code, read) in [
        ("140", None),
        ("141", None),
        ("143", None),
        ("230", None),
        ("139", Some(Class::Acknowledged)),
        ("148", Some(Class::Delivered)),
    ] {
        let reply = format!(
            r#"{{"authStatus":{{"authStatusCode":131}},"results":[{{"payerTransactionID":"{A}","statusCode":{code}}}]}}"#
        );
        let reply: &'static str = reply.leak();
        for (lines, expected) in [(&[][..], None), (&["replies.server_errors=true"][..], read)] {
            let (event, _, signal) = asked(lines, "502 Bad Gateway", reply).await;
            let expected = expected.map_or(Event::NoAnswer, |class| {
                answer(class, code.parse().unwrap())
            });
            assert_eq!(event, expected, "{code}");
            assert!(matches!(signal, Signal::Lost(_)), "{signal:?}");
            let server = answering("502 Bad Gateway", reply);
            let reply = soon(client(&server.url(), lines).post(&one(A))).await;
            let event = reply.outcomes[0].event;
            let ends = matches!(event, Event::Reply(said) if matches!(said.class, Class::Paid | Class::Failed | Class::Refused | Class::NoFloat));
            assert!(
                !ends && event != Event::Unauthorised && event != Event::Unsent,
                "{code}: {event:?}"
            );
        }
    }
}

#[tokio::test]
async fn own_words_for_not_found_count_only_where_duplicates_were_seen_to_be_refused() {
    let lines = [
        "replies.not_found_code=174",
        "replies.not_found_description=Transaction not found",
    ];
    let entry = |words: &str| -> &'static str {
        format!(
            r#"{{"authStatus":{{"authStatusCode":131}},"results":[{{"payerTransactionID":"{A}","statusCode":174,"statusDescription":"{words}"}}]}}"#
        )
        .leak()
    };
    for (proven, words, expected) in [
        (true, "Transaction not found", Class::NotFound),
        (true, "Transaction not found.", Class::InDoubt),
        (true, "transaction not found", Class::InDoubt),
        (false, "Transaction not found", Class::InDoubt),
    ] {
        let server = answering("200 OK", entry(words));
        let profile = Profile {
            duplicate_check_proven: proven,
            ..at(&server.url(), &lines)
        };
        let gateway = HttpGateway::new(profile).unwrap();
        let reply = soon(gateway.query(&about(A))).await;
        assert_eq!(
            reply.outcomes[0].event,
            answer(expected, 174),
            "{proven} {words}"
        );
        // Each entry about it must say so.
        let said = format!(
            r#"{{"payerTransactionID":"{A}","statusCode":174,"statusDescription":"{words}"}}"#
        );
        let two = said.replace(words, "is being processed");
        for entries in [format!("{said},{two}"), format!("{two},{said}")] {
            let body =
                format!(r#"{{"authStatus":{{"authStatusCode":131}},"results":[{entries}]}}"#);
            let server = answering("200 OK", body.leak());
            let profile = Profile {
                duplicate_check_proven: proven,
                ..at(&server.url(), &lines)
            };
            let both = HttpGateway::new(profile).unwrap();
            let reply = soon(both.query(&about(A))).await;
            assert_eq!(reply.outcomes[0].event, answer(Class::InDoubt, 174));
        }
        // Of a post it proves nothing in any case.
        let reply = soon(gateway.post(&one(A))).await;
        let said = CodeMeaning {
            class: Class::InDoubt,
            code: 174,
        };
        assert_eq!(reply.outcomes[0].event, Event::Reply(said));
    }
}

#[tokio::test]
async fn bills_and_accounts_are_read_by_the_dialects_codes() {
    let lines = [
        "replies.bill_found=200",
        "replies.no_bill=404",
        "replies.account_valid=1",
    ];
    let bill = r#"[{"accountNumber":"77","serviceCode":"WATER","statusCode":200,"dueAmount":"12.50","currency":"KES"}]"#;
    let gateway = |reply| client(&answering("200 OK", reply).url(), &lines);
    let asked = [super::around::bill("WATER", "77")];
    let answers = soon(gateway(bill).bills(&asked)).await.unwrap();
    assert!(matches!(answers[..], [BillAnswer::Due(_)]));
    let none = r#"[{"accountNumber":"77","serviceCode":"WATER","statusCode":404}]"#;
    let answers = soon(gateway(none).bills(&asked)).await.unwrap();
    assert!(matches!(answers[..], [BillAnswer::None { code: 404, .. }]));
    let valid = r#"[{"accountNumber":"77","serviceCode":"WATER","statusCode":1}]"#;
    let answer = soon(gateway(valid).account(&service("WATER"), "77")).await;
    assert!(matches!(answer, Ok(AccountAnswer::Valid { .. })));
    // What the gateway says of itself is told as that.
    for (code, words) in [
        (104, "failed to answer"),
        (106, "inactive"),
        (167, "does not know the service"),
        (174, "failed to answer"),
    ] {
        let reply =
            format!(r#"[{{"accountNumber":"77","serviceCode":"WATER","statusCode":{code}}}]"#);
        let answers = soon(gateway(reply.leak()).bills(&asked)).await.unwrap();
        let [BillAnswer::Unknown(said)] = &answers[..] else {
            panic!("{code}")
        };
        assert!(said.contains(words), "{said}");
    }
}

#[tokio::test]
async fn what_the_dialect_cannot_say_exactly_is_not_sent() {
    for (lines, extra, words) in [
        (
            &["members.destinationAccountNo=bankAccount"][..],
            Some(("BankAccount", "6666")),
            "extra.BankAccount has the name",
        ),
        (
            &["members.callbackUrl=hook"],
            Some(("hook", "https://elsewhere.example")),
            "extra.hook has the name",
        ),
        (
            &["types.extra.flag=boolean"],
            Some(("flag", "maybe")),
            "is not true or false",
        ),
        (
            &["types.extra.n=number"],
            Some(("n", "12}")),
            "is not a number",
        ),
        (&["types.decimals.B2C=0"], None, "more than 0 decimals"),
        // It was loaded before the gateway was known to want UUIDs.
        (
            &["identifiers.form={uuid}"],
            None,
            "does not have the form {uuid}",
        ),
        (
            &["identifiers.form=PAY-{base32:26}"],
            None,
            "does not have the form PAY-{base32:26}",
        ),
    ] {
        let mut row = payment(A, ("KES", 150_055), ("KE", "254700000001"));
        let extra = extra.map(|(name, value)| (name.to_owned(), value.to_owned()));
        row.instruction.extra = extra.into_iter().collect();
        let server = answering("200 OK", "{}");
        let reply = soon(client(&server.url(), lines).post(&[outgoing(row, None)])).await;
        assert_eq!(reply.outcomes[0].event, Event::Unsent, "{words}");
        let Signal::Stop(StopReason::Misconfigured(said)) = &reply.signal else {
            panic!("{:?}", reply.signal)
        };
        assert!(said.contains(words) && said.contains("line 2"), "{said}");
        assert_eq!(server.connections(), 0, "{words}");
    }
}

#[tokio::test]
async fn a_reply_that_cannot_be_renamed_is_never_read_in_the_documents_words() {
    let lines = ["members.statusCode=state", "members.payerTransactionID=ref"];
    let both = format!(
        r#""authStatus":{{"authStatusCode":131}},"results":[{{"payerTransactionID":"{A}","statusCode":140,"ref":"{A}","state":174}}]}}"#
    );
    let padding: String = (0..1_001).map(|n| format!("\"p{n}\":1,")).collect();
    for (body, expected) in [
        (format!("{{{both}"), answer(Class::InDoubt, 174)),
        (format!("\u{c}{{{both}"), answer(Class::InDoubt, 174)),
        (format!("{{{padding}{both}"), Event::NoAnswer),
        (format!("{{{both}}}"), Event::NoAnswer),
    ] {
        let (event, _, _) = asked(&lines, "200 OK", body.clone().leak()).await;
        assert_eq!(event, expected, "{body:.60}");
    }
}
