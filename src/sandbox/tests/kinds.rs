//! Payments that are more than payouts: RTGS with its documents, prepaid electricity, airtime.

use super::*;

fn rtgs(id: &str, amount: &str, extra: Value) -> String {
    packet_of("RTGS", id, json!({"amount": amount, "extraData": extra}))
}

fn quick_rtgs() -> Options {
    Options {
        rtgs_delay_ms: 5..=20,
        ..quick()
    }
}

#[tokio::test]
async fn a_transfer_is_delivered_and_settles_later_by_callback_and_status() {
    let bench = Bench::start(Options {
        rtgs_delay_ms: 300..=300,
        ..quick()
    })
    .await;
    let listener = Listener::start(&[]).await;
    let extra = bank_with(json!({"pushToOriginator": true, "callbackUrl": listener.url}));
    let reply = bench.post(&rtgs("R", "999999.99", extra)).await.unwrap();
    assert_eq!(reply.code(), 148);
    let posted = reply.json()["results"][0].clone();
    let application = posted["receiptNumber"].as_str().unwrap();
    assert!(application.starts_with("APP"), "{application}");
    let status = bench.query("R").await;
    assert_eq!(status.code(), 148);
    assert_eq!(status.json()["results"][0]["receiptNumber"], application);
    assert_eq!(bench.executions("R"), 0);
    let told = listener.hears(1).await.remove(0)["payload"]["packet"].clone();
    assert_eq!(told["statusCode"], 140);
    assert_eq!(told["gatewayTransactionID"], posted["gatewayTransactionID"]);
    let settled = bench.query("R").await;
    assert_eq!(settled.code(), 140);
    let receipt = &settled.json()["results"][0]["receiptNumber"];
    assert_eq!(receipt, &told["receiptNumber"]);
    assert_ne!(receipt, application);
    assert_eq!(bench.executions("R"), 1);
    assert_eq!(
        bench
            .post(&rtgs("R", "999999.99", bank()))
            .await
            .unwrap()
            .code(),
        229
    );
}

#[tokio::test]
async fn a_transfer_that_the_bank_sends_back_fails_with_180() {
    let mut options = always(Fault::Reject);
    options.rtgs_delay_ms = 5..=20;
    let bench = Bench::start(options).await;
    bench.post(&rtgs("R", "5000.00", bank())).await.unwrap();
    assert_eq!(bench.settled("R").await.code(), 180);
    assert_eq!(bench.executions("R"), 0);
}

#[tokio::test]
async fn a_callback_may_settle_a_transfer_before_its_reply() {
    let bench = Bench::start(always(Fault::CallbackEarly)).await;
    let listener = Listener::start(&[]).await;
    let extra = bank_with(json!({"pushToOriginator": true, "callbackUrl": listener.url}));
    let reply = bench.post(&rtgs("R", "5000.00", extra)).await.unwrap();
    assert_eq!(listener.heard().len(), 1);
    assert_eq!(reply.code(), 148);
    assert_eq!(bench.query("R").await.code(), 140);
}

#[tokio::test]
async fn a_large_transfer_needs_the_document_of_its_own_identifier() {
    let bench = Bench::start(quick_rtgs()).await;
    let with = |reference: &str| bank_with(json!({"supportDocument": reference}));
    let reference = |reply: &Reply| reply.json()["reference"].as_str().unwrap().to_owned();
    let other = reference(&bench.upload("OTHER", &pdf()).await);
    let own = reference(&bench.upload("OWN", &pdf()).await);
    for (id, amount, extra, code, why) in [
        ("A", "1000000.00", bank(), 141, "is missing"),
        ("B", "500000000.00", with(""), 141, "is missing"),
        (
            "C",
            "1000000.00",
            with(&other),
            141,
            "no document was uploaded",
        ),
        ("OWN", "1000000.00", with("OWN"), 141, "not the reference"),
        ("OWN", "1000000.00", with(&other), 141, "not the reference"),
        (
            "OWN",
            "1000000.00",
            bank_with(json!({"supportDocument": 7})),
            141,
            "not the reference",
        ),
        ("D", "999999.99", bank(), 148, ""),
        ("E", "999999.99", with("whatever"), 148, ""),
        ("OWN", "1000000.00", with(&own), 148, ""),
    ] {
        let reply = bench.post(&rtgs(id, amount, extra)).await.unwrap();
        assert_eq!(reply.code(), code, "{id}: {}", reply.text);
        assert!(reply.text.contains(why), "{}", reply.text);
        if code == 141 && id != "OWN" {
            assert_eq!(bench.query(id).await.code(), 141);
        }
    }
    assert_eq!(bench.settled("OWN").await.code(), 140);
    assert_eq!(bench.executions("OWN"), 1);
}

#[tokio::test]
async fn the_reference_may_stand_in_the_packet_but_not_contradict_itself() {
    let bench = Bench::start(quick_rtgs()).await;
    let reference = bench.upload("P", &pdf()).await.json()["reference"].clone();
    let packet = |extra: Value| {
        let changes =
            json!({"amount": "1000000", "extraData": extra, "supportDocument": reference});
        packet_of("RTGS", "P", changes)
    };
    let both = bank_with(json!({"supportDocument": "DOC-other"}));
    let reply = bench.post(&packet(both)).await.unwrap();
    assert_eq!(reply.code(), 141);
    assert!(reply.text.contains("differ"), "{}", reply.text);
    assert_eq!(bench.post(&packet(bank())).await.unwrap().code(), 148);
}

#[tokio::test]
async fn electricity_comes_with_a_token_and_units_once_it_is_paid() {
    let bench = Bench::start(quick()).await;
    let listener = Listener::start(&[]).await;
    let extra = json!({"pushToOriginator": true, "callbackUrl": listener.url});
    let packet = packet_of(
        "ELECTRICITY",
        "E",
        json!({"accountNumber": "14001234567", "amount": "1062.50", "extraData": extra}),
    );
    let reply = bench.post(&packet).await.unwrap();
    assert_eq!(reply.code(), 139);
    assert!(!reply.text.contains("Token"));
    let told = listener.hears(1).await.remove(0)["payload"]["packet"].clone();
    let status = bench.query("E").await.json()["results"][0].clone();
    assert_eq!(told["receiverNarration"], status["receiverNarration"]);
    let narration: Vec<String> =
        serde_json::from_str(status["receiverNarration"].as_str().unwrap()).unwrap();
    let token = narration[0].strip_prefix("Token: ").unwrap();
    let groups: Vec<_> = token.split(' ').collect();
    assert_eq!(groups.len(), 5);
    let four_digits = |group: &&str| group.len() == 4 && group.bytes().all(|b| b.is_ascii_digit());
    assert!(groups.iter().all(four_digits), "{token}");
    assert_eq!(narration[1], "Units: 42.50 kWh");
}

#[tokio::test]
async fn a_prepaid_token_follows_from_identifier_and_seed() {
    let mut tokens = std::collections::BTreeSet::new();
    for (seed, id) in [(1, "A"), (1, "A"), (1, "B"), (9, "A")] {
        let bench = Bench::start(Options { seed, ..quick() }).await;
        let account = json!({"accountNumber": "14001234567"});
        let packet = packet_of("ELECTRICITY", id, account);
        bench.post(&packet).await.unwrap();
        let status = bench.settled(id).await.json();
        tokens.insert(status["results"][0]["receiverNarration"].to_string());
    }
    assert_eq!(tokens.len(), 3);
}

#[tokio::test]
async fn a_meter_that_is_not_there_fails_at_settlement() {
    let bench = Bench::start(quick()).await;
    let listener = Listener::start(&[]).await;
    for (id, meter) in [
        ("A", "1400123456"),
        ("B", "140012345678"),
        ("C", "1400123456X"),
    ] {
        let extra = json!({"pushToOriginator": true, "callbackUrl": listener.url});
        let changes = json!({"accountNumber": meter, "extraData": extra});
        let packet = packet_of("ELECTRICITY", id, changes);
        assert_eq!(bench.post(&packet).await.unwrap().code(), 139);
        let status = bench.settled(id).await;
        assert_eq!(status.code(), 180);
        let entry = &status.json()["results"][0];
        assert_eq!(entry["statusDescription"], "Meter not found");
        assert_eq!(entry["receiverNarration"], "");
        assert_eq!(bench.executions(id), 0);
    }
    for call in listener.hears(3).await {
        assert_eq!(call["payload"]["packet"]["statusCode"], 180);
        assert_eq!(
            call["payload"]["packet"]["statusDescription"],
            "Meter not found"
        );
    }
}

#[tokio::test]
async fn airtime_is_for_oneself_or_a_gift_and_needs_no_date() {
    let bench = Bench::start(quick()).await;
    for (id, account) in [("SELF", "254712345678"), ("GIFT", "254733111222")] {
        let changes = json!({"accountNumber": account, "amount": 50, "datePaymentReceived": ""});
        let packet = packet_of("AIRTIME", id, changes);
        assert_eq!(bench.post(&packet).await.unwrap().code(), 139);
        let status = bench.settled(id).await;
        assert_eq!(status.code(), 140);
        assert_eq!(status.json()["results"][0]["accountNumber"], account);
    }
}
