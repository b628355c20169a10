//! Posts and status queries without faults.

use super::*;

#[tokio::test]
async fn a_valid_post_is_acknowledged_and_then_executed_once() {
    let bench = Bench::start(quick()).await;
    let reply = bench.post(&packet("P1")).await.unwrap();
    assert_eq!(reply.status, 200);
    assert_eq!(reply.code(), 139);
    let posted = reply.json()["results"][0].clone();
    assert_eq!(posted["payerTransactionID"], "P1");
    let gateway_id = posted["gatewayTransactionID"].as_u64().unwrap();

    let reply = bench.settled("P1").await;
    assert_eq!(reply.code(), 140);
    assert!(
        reply.text.contains(r#""amount":1500.50,"#),
        "{}",
        reply.text
    );
    let status = &reply.json()["results"][0];
    assert_eq!(status["gatewayTransactionID"].as_u64(), Some(gateway_id));
    assert_eq!(status["receiptNumber"].as_str().unwrap().len(), 10);
    assert!(!status["receiverNarration"].as_str().unwrap().is_empty());
    assert_eq!(bench.executions("P1"), 1);
    let verdict = bench.sandbox.verdict();
    assert_eq!((verdict.executed_once, verdict.executed_more), (1, 0));
    assert_eq!(verdict.amounts.decimals()["KES"], "1500.50");
    bench.sandbox.shutdown().await;
}

#[tokio::test]
async fn every_mistake_in_a_packet_has_its_code() {
    let bench = Bench::start(quick()).await;
    let valid = packet("V");
    let change = |from: &str, to: &str| {
        assert!(valid.contains(from), "{from}");
        valid.replacen(from, to, 1)
    };
    let cases = [
        (change(r#""MSISDN":"254712345678""#, r#""MSISDN":"""#), 109),
        (change(r#""MSISDN":"254712345678","#, ""), 109),
        (
            change(r#""MSISDN":"254712345678""#, r#""MSISDN":"0712345678""#),
            110,
        ),
        (
            change(r#""MSISDN":"254712345678""#, r#""MSISDN":"+254712345678""#),
            110,
        ),
        (
            change(r#""MSISDN":"254712345678""#, r#""MSISDN":"256772123456""#),
            110,
        ),
        (
            change(r#""MSISDN":"254712345678""#, r#""MSISDN":"25471""#),
            110,
        ),
        (change("1500.50", "0"), 111),
        (change("1500.50", "-5"), 111),
        (change("1500.50", "10.005"), 111),
        (change("1500.50", "1e3"), 111),
        (change("1500.50", r#""abc""#), 111),
        (change("1500.50", "null"), 111),
        (change(r#""amount":1500.50,"#, ""), 111),
        (
            change(r#""currencyCode":"KES""#, r#""currencyCode":"UGX""#),
            115,
        ),
        (
            change(r#""currencyCode":"KES""#, r#""currencyCode":"""#),
            115,
        ),
        (
            change(r#""accountNumber":"254712345678""#, r#""accountNumber":"""#),
            120,
        ),
        (change("B2C_MPESA", "B2C_NOBODY"), 167),
        (change("B2C_MPESA", "LEGACY_B2C"), 106),
        (change("1500.50", "250000.01"), 231),
        (change("1500.50", "99999999999999999999"), 231),
        (change("1500.50", "9.99"), 232),
        (
            change(r#""payerTransactionID":"V""#, r#""payerTransactionID":"""#),
            174,
        ),
        (change(r#""extraData":{}"#, r#""extraData":[1]"#), 174),
        (change("1500.50", "250000.00"), 139),
        (change("1500.50", r#""10.00""#), 139),
    ];
    for (index, (packet, code)) in cases.iter().enumerate() {
        let packet = packet.replacen(r#""V""#, &format!(r#""V{index}""#), 1);
        let reply = bench.post(&packet).await.unwrap();
        assert_eq!(reply.code(), *code, "{packet}");
    }
    bench
        .until("two settle", |sandbox| sandbox.verdict().executed_once == 2)
        .await;
    assert_eq!(
        bench.sandbox.verdict().amounts.decimals()["KES"],
        "250010.00"
    );
}

#[tokio::test]
async fn a_request_that_is_no_request_gets_an_envelope_with_174() {
    let bench = Bench::start(quick()).await;
    let post = |packet: &str| envelope("GATEWAY.postPayment", packet);
    for (body, part) in [
        (String::new(), "not valid JSON"),
        ("{".to_owned(), "not valid JSON"),
        ("[1,2]".to_owned(), "not valid JSON"),
        ("{}".to_owned(), "payload is missing"),
        (envelope("", "[]"), "function is missing"),
        (
            envelope("GATEWAY.\\\"fly\\\"", "[]"),
            "Unknown function GATEWAY.\"fly\"",
        ),
        (post("[]"), "packet is empty"),
        (post("{}"), "not an array"),
        (post("[7]"), "payload.packet"),
        (
            post(&format!("[{}]", packet("M").replace("\"KES\"", "7"))),
            "payload.packet",
        ),
        (
            envelope("GATEWAY.queryPaymentStatus", "[]"),
            "packet is empty",
        ),
    ] {
        let reply = bench.send(body.clone()).await.unwrap();
        assert_eq!((reply.status, reply.auth_code()), (200, 174), "{body}");
        let why = reply.json()["authStatus"]["authStatusDescription"].clone();
        assert!(why.as_str().unwrap().contains(part), "{body}: {why}");
        assert_eq!(reply.json()["results"], json!([]));
    }
    assert_eq!(bench.sandbox.verdict().posts, 0);
}

#[tokio::test]
async fn an_oversized_request_is_refused_unread() {
    let bench = Bench::start(quick()).await;
    // The connection may break while the body is still being sent: then there is no reply to look at.
    if let Ok(reply) = bench.send("x".repeat(2 * 1024 * 1024)).await {
        assert_eq!(reply.status, 413);
    }
    assert_eq!(bench.sandbox.verdict().posts, 0);
    assert_eq!(bench.post(&packet("P")).await.unwrap().code(), 139);
}

#[tokio::test]
async fn wrong_credentials_execute_nothing() {
    let credentials = |username: &str, password: &str| Some((username.into(), password.into()));
    for (credentials, code) in [
        (None, 131),
        (credentials("acme", "secret"), 131),
        (credentials("acme", "other"), 132),
        (credentials("other", "secret"), 132),
    ] {
        let options = Options {
            credentials,
            ..quick()
        };
        let bench = Bench::start(options).await;
        let reply = bench.post(&packet("P")).await.unwrap();
        assert_eq!(reply.auth_code(), code);
        assert_eq!(bench.sandbox.verdict().posts, u64::from(code == 131));
        let query = bench.query("P").await;
        assert_eq!(query.auth_code(), code);
    }
    let bench = Bench::start(quick()).await;
    let body = r#"{"function":"GATEWAY.postPayment","payload":{"packet":[]}}"#;
    assert_eq!(bench.send(body).await.unwrap().auth_code(), 132);
}

#[tokio::test]
async fn a_known_identifier_is_a_duplicate_whatever_it_carries() {
    let bench = Bench::start(quick()).await;
    let first = bench.post(&packet("P")).await.unwrap();
    for (again, altered) in [
        (packet("P"), 0),
        (packet_with("P", "10.00", "{}"), 1),
        (packet("P").replace("B2C_MPESA", "B2C_NOBODY"), 1),
    ] {
        let reply = bench.post(&again).await.unwrap();
        assert_eq!(reply.code(), 229);
        let number = |reply: &Reply| reply.json()["results"][0]["gatewayTransactionID"].clone();
        assert_eq!(number(&reply), number(&first));
        assert_eq!(bench.sandbox.verdict().altered, altered);
    }
    assert_eq!(bench.settled("P").await.code(), 140);
    assert_eq!(bench.post(&packet("P")).await.unwrap().code(), 229);
    assert_eq!(bench.executions("P"), 1);
}

#[tokio::test]
async fn without_the_duplicate_check_money_moves_again() {
    let options = Options {
        duplicate_check: false,
        ..quick()
    };
    let bench = Bench::start(options).await;
    for _ in 0..3 {
        assert_eq!(bench.post(&packet("P")).await.unwrap().code(), 139);
    }
    bench
        .until("all settle", |sandbox| {
            sandbox.executions()[0].executions == 3
        })
        .await;
    let verdict = bench.sandbox.verdict();
    assert_eq!((verdict.executed_once, verdict.executed_more), (0, 1));
    assert_eq!(verdict.amounts.decimals()["KES"], "4501.50");
}

#[tokio::test]
async fn one_request_carries_several_packets() {
    let bench = Bench::start(quick()).await;
    let packets = format!(
        "[{},{},{}]",
        packet("A"),
        packet("A"),
        packet_with("B", "1", "{}")
    );
    let reply = bench
        .send(envelope("GATEWAY.postPayment", &packets))
        .await
        .unwrap();
    let codes = |reply: &Reply| -> Vec<_> {
        let json = reply.json();
        let entries = json["results"].as_array().unwrap().iter();
        entries
            .map(|e| (e["payerTransactionID"].clone(), e["statusCode"].clone()))
            .collect()
    };
    let expected = [("A", 139), ("A", 229), ("B", 232)].map(|(id, code)| (json!(id), json!(code)));
    assert_eq!(codes(&reply), expected);
    bench.settled("A").await;
    let packets = ["B", "nobody", "A"].map(|id| json!({"payerTransactionID": id}));
    let reply = bench
        .send(envelope(
            "GATEWAY.queryPaymentStatus",
            &json!(packets).to_string(),
        ))
        .await
        .unwrap();
    let expected = [("B", 232), ("nobody", 143), ("A", 140)];
    assert_eq!(
        codes(&reply),
        expected.map(|(id, code)| (json!(id), json!(code)))
    );
}

#[tokio::test]
async fn a_refusal_does_not_take_the_identifier() {
    let bench = Bench::start(quick()).await;
    let reply = bench.post(&packet_with("P", "1.00", "{}")).await.unwrap();
    assert_eq!(reply.code(), 232);
    assert_eq!(bench.query("P").await.code(), 232);
    assert_eq!(bench.post(&packet("P")).await.unwrap().code(), 139);
    assert_eq!(bench.settled("P").await.code(), 140);
}

#[tokio::test]
async fn without_float_a_post_is_refused_until_the_account_is_topped_up() {
    let mut options = quick();
    options.services = vec![Service::parse("B2C_MPESA", "KES", "10", "5000", "2000.00").unwrap()];
    let bench = Bench::start(options).await;
    assert_eq!(bench.post(&packet("A")).await.unwrap().code(), 139);
    // Not settled yet, but the float is promised.
    assert_eq!(bench.post(&packet("B")).await.unwrap().code(), 230);
    assert_eq!(bench.query("B").await.code(), 143);
    assert!(bench.sandbox.top_up("B2C_NOBODY").is_err());
    bench.sandbox.top_up("B2C_MPESA").unwrap();
    assert_eq!(bench.post(&packet("B")).await.unwrap().code(), 139);
    bench.settled("A").await;
    bench.settled("B").await;
    let float = &bench.ledger(true).await["services"]["B2C_MPESA"];
    assert_eq!(float["float"], "999.00");
    assert_eq!(float["reserved"], "0.00");
    assert_eq!(float["accepted"], 2);
}

#[tokio::test]
async fn the_ledger_lists_every_identifier_and_its_amount_as_text() {
    let bench = Bench::start(quick()).await;
    bench.post(&packet("A")).await.unwrap();
    bench.post(&packet_with("B", "1.00", "{}")).await.unwrap();
    bench.settled("A").await;
    let ledger = bench.ledger(false).await;
    assert_eq!(ledger["identity"], bench.sandbox.identity());
    assert_eq!(ledger["executed_once"], 1);
    assert_eq!(ledger["executed_more"], 0);
    assert_eq!(ledger["never_executed"], 1);
    assert_eq!(ledger["amounts"], json!({"KES": "1500.50"}));
    assert_eq!(
        ledger["identifiers"]["A"],
        json!({"executions": 1, "status": "paid", "status_code": 140, "amount": "1500.50",
            "currency": "KES", "service_code": "B2C_MPESA", "posts": 1, "altered": false})
    );
    assert_eq!(ledger["identifiers"]["B"]["status_code"], 232);
    assert!(bench.ledger(true).await.get("identifiers").is_none());
}

#[tokio::test]
async fn gateway_identifiers_are_distinct_numbers_and_some_exceed_two_to_the_53() {
    let bench = Bench::start(quick()).await;
    let mut seen = std::collections::BTreeSet::new();
    for index in 0..8 {
        let reply = bench.post(&packet(&format!("P{index}"))).await.unwrap();
        let number = reply.json()["results"][0]["gatewayTransactionID"].as_u64();
        seen.insert(number.unwrap());
    }
    assert_eq!(seen.len(), 8);
    assert!(seen.last().unwrap() > &(1 << 53));
    assert!(seen.first().unwrap() < &(1 << 53));
}

#[tokio::test]
async fn a_sandbox_stays_on_this_machine_and_its_options_make_sense() {
    let service = |min, max| Service::parse("S", "KES", min, max, "1").unwrap();
    let change = |change: fn(&mut Options)| {
        let mut options = quick();
        change(&mut options);
        options
    };
    let mut twice = quick();
    twice.services = vec![service("1", "2"), service("1", "2")];
    let mut upside_down = quick();
    upside_down.services = vec![service("2", "1")];
    for (options, part) in [
        (change(|o| o.listen = ([0, 0, 0, 0], 0).into()), "loopback"),
        (twice, "listed twice"),
        (upside_down, "above the maximum"),
        (
            change(|o| o.rtgs_delay_ms = 0..=u64::MAX),
            "longer than a year",
        ),
        (
            change(|o| o.token_lifetime = Duration::ZERO),
            "token lifetime is zero",
        ),
        (
            change(|o| o.token_lifetime = Duration::MAX),
            "token lifetime",
        ),
        (
            change(|o| o.faults = Faults::none().with(Fault::Reject, 1.5)),
            "from 0 to 1",
        ),
    ] {
        let error = start(options).await.err().unwrap().to_string();
        assert!(error.contains(part), "{error}");
    }
    assert!(Service::parse("S", "XXQ", "1", "2", "1").is_err());
    assert!(Service::parse("S", "UGX", "0.5", "2", "1").is_err());
}

#[tokio::test]
async fn a_shutdown_lets_a_request_end_and_does_not_wait_for_idle_connections() {
    let mut options = always(Fault::SlowReply);
    options.faults.slow_reply_ms = 300..=300;
    let bench = Bench::start(options).await;
    let _idle = tokio::net::TcpStream::connect(bench.sandbox.address())
        .await
        .unwrap();
    let (client, url) = (bench.client.clone(), bench.sandbox.base_url());
    let body = envelope("GATEWAY.postPayment", &format!("[{}]", packet("P")));
    let under_way = tokio::spawn(async move {
        let post = client.post(format!("{url}/v1/global-api/payments"));
        post.body(body).send().await.unwrap().status()
    });
    bench
        .until("it arrives", |sandbox| sandbox.verdict().posts == 1)
        .await;
    let address = bench.sandbox.address();
    let stopping = tokio::time::timeout(Duration::from_secs(2), bench.sandbox.shutdown());
    stopping.await.expect("a shutdown is bounded");
    assert_eq!(under_way.await.unwrap(), 200);
    assert!(tokio::net::TcpStream::connect(address).await.is_err());
}
