//! Bills, balances and accounts; and money put into a float.

use super::*;
use crate::domain::{PaymentKind, Timestamp};

/// Three minutes after midnight in Nairobi, still the day before in UTC.
fn midnight() -> Timestamp {
    Timestamp::from_millis(1_795_813_380_000)
}

fn entry(reply: &Reply) -> Value {
    assert_eq!(reply.auth_code(), 131, "{}", reply.text);
    reply.json()["results"][0].clone()
}

#[tokio::test]
async fn a_bill_follows_from_the_account() {
    let options = Options {
        clock: midnight,
        ..quick()
    };
    let bench = Bench::start(options).await;
    let ask = |service: &str, account: &str| {
        let packet = json!({"serviceCode": service, "MSISDN": "", "accountNumber": account,
            "payerTransactionID": "Q", "extraData": {}});
        let bench = &bench;
        async move { bench.call("GATEWAY.queryBill", &packet).await }
    };
    let reply = ask("WATER", "10012345").await;
    assert!(
        reply.text.contains(r#""dueAmount":23700.50,"#),
        "{}",
        reply.text
    );
    let bill = entry(&reply);
    assert_eq!(bill["statusCode"], 308);
    assert_eq!(bill["accountNumber"], "10012345");
    assert_eq!(bill["serviceCode"], "WATER");
    assert_eq!(bill["currency"], "KES");
    assert_eq!(bill["dueDate"], "2026-12-12 00:00:00");
    assert!(!bill["customerName"].as_str().unwrap().is_empty());
    assert!(bill["serviceID"].is_u64());
    assert_eq!(entry(&ask("PAYTV", "90001").await)["dueAmount"], 260.5);
    for (service, account, code) in [
        ("WATER", "10010000", 309),
        ("WATER", "1234", 306),
        ("WATER", "10O12345", 306),
        ("WATER", "", 120),
        ("B2C_MPESA", "10012345", 174),
        ("LEGACY_B2C", "10012345", 106),
        ("GAS", "10012345", 167),
    ] {
        let bill = entry(&ask(service, account).await);
        assert_eq!(bill["statusCode"], code, "{service} {account}");
        assert!(bill.get("dueAmount").is_none());
    }
    assert_eq!(bench.sandbox.verdict().posts, 0);
}

#[tokio::test]
async fn several_bills_come_in_one_reply_and_in_the_currencys_decimals() {
    let water = Service::parse("WATER_UG", "UGX", "1", "900000", "1000000").unwrap();
    let mut options = quick();
    options
        .services
        .push(water.of_kind(PaymentKind::BillPostpaid));
    let bench = Bench::start(options).await;
    let packets = r#"[{"serviceCode":"WATER_UG","accountNumber":"70012"},
        {"serviceCode":"WATER","accountNumber":"70012"},{"serviceCode":"WATER","accountNumber":"x"}]"#;
    let body = envelope("GATEWAY.queryBill", packets);
    let reply = bench.send(body).await.unwrap();
    assert!(reply.text.contains(r#""dueAmount":370,"currency":"UGX""#));
    assert!(
        reply
            .text
            .contains(r#""dueAmount":370.50,"currency":"KES""#)
    );
    assert_eq!(reply.json()["results"].as_array().unwrap().len(), 3);
    assert_eq!(reply.json()["results"][2]["statusCode"], 306);
}

#[tokio::test]
async fn the_balance_is_what_is_left_for_further_payments() {
    let small = Service::parse("SMALL", "KES", "1", "100", "50.00").unwrap();
    let options = Options {
        services: vec![small],
        settle_delay_ms: 60_000..=60_000,
        ..quick()
    };
    let bench = Bench::start(options).await;
    let balance = async || {
        let packet = json!({"serviceCode": "SMALL", "narration": ""});
        let reply = bench.call("GATEWAY.queryFloatBalance", &packet).await;
        entry(&reply)
    };
    let at_first = balance().await;
    assert_eq!(at_first["balance"], 50.0);
    assert_eq!(at_first["currencyCode"], "KES");
    assert_eq!(at_first["floatAccountName"], "SMALL float");
    assert_eq!(at_first["serviceCode"], "SMALL");
    let packet = packet_of("SMALL", "P", json!({"amount": "30.00"}));
    assert_eq!(bench.post(&packet).await.unwrap().code(), 139);
    assert_eq!(balance().await["balance"], 20.0);
    let unknown = json!({"serviceCode": "OTHER"});
    let reply = bench.call("GATEWAY.queryFloatBalance", &unknown).await;
    assert_eq!(entry(&reply)["statusCode"], 167);
}

#[tokio::test]
async fn a_planned_shortage_shows_as_an_empty_float_until_money_comes() {
    let faults = Faults::none().short("B2C_MPESA", 0, 60_000);
    let bench = Bench::start(quick_with(faults)).await;
    assert_eq!(bench.post(&packet("P")).await.unwrap().code(), 230);
    let packet_asked = json!({"serviceCode": "B2C_MPESA"});
    let reply = bench.call("GATEWAY.queryFloatBalance", &packet_asked).await;
    assert_eq!(entry(&reply)["balance"], 0.0);
    let body = r#"{"serviceCode":"B2C_MPESA","amount":1000.00}"#;
    assert_eq!(
        bench.request("POST", "/sandbox/float", body).await.status,
        200
    );
    assert_eq!(bench.post(&packet("P")).await.unwrap().code(), 139);
}

#[tokio::test]
async fn a_float_takes_exact_amounts_of_its_own_currency() {
    let small = Service::parse("SMALL", "KES", "1", "100", "50.00").unwrap();
    let options = Options {
        services: vec![small],
        ..quick()
    };
    let bench = Bench::start(options).await;
    for (body, status, part) in [
        (r#"{"serviceCode":"SMALL","amount":0.10}"#, 200, "50.10"),
        (r#"{"serviceCode":"SMALL","amount":"0.20"}"#, 200, "50.30"),
        (r#"{"serviceCode":"SMALL","amount":0.005}"#, 422, "amount"),
        (r#"{"serviceCode":"SMALL","amount":-1}"#, 422, "amount"),
        (r#"{"serviceCode":"SMALL","amount":[1]}"#, 422, "amount"),
        (r#"{"serviceCode":"SMALL"}"#, 400, "amount"),
        (r#"{"serviceCode":"NONE","amount":1}"#, 404, "serviceCode"),
        (r#"["SMALL",1]"#, 400, "not an object"),
        ("", 400, "not an object"),
        ("{", 400, "the body"),
    ] {
        let reply = bench.request("POST", "/sandbox/float", body).await;
        assert_eq!(reply.status, status, "{body}: {}", reply.text);
        assert!(reply.text.contains(part), "{body}: {}", reply.text);
        assert_eq!(reply.json().get("error").is_some(), status != 200);
    }
    let ledger = bench.ledger(false).await;
    assert_eq!(ledger["services"]["SMALL"]["available"], "50.30");
}

#[tokio::test]
async fn accounts_are_valid_by_the_rules_of_their_service() {
    let bench = Bench::start(quick()).await;
    for (service, account, code) in [
        ("B2C_MPESA", "254712345678", 307),
        ("B2C_MPESA", "0712345678", 306),
        ("AIRTIME", "254712345678", 307),
        ("ELECTRICITY", "14001234567", 307),
        ("ELECTRICITY", "1400123456", 306),
        ("WATER", "10012345", 307),
        ("WATER", "10010000", 307),
        ("WATER", "123", 306),
        ("BANK_TRANSFER", "0110123456789", 307),
        ("RTGS", "01-10", 306),
        ("LEGACY_B2C", "254712345678", 301),
        ("GAS", "1", 167),
        ("WATER", " ", 120),
    ] {
        let packet = json!({"serviceCode": service, "accountNumber": account});
        let reply = bench.call("GATEWAY.validateAccount", &packet).await;
        assert_eq!(entry(&reply)["statusCode"], code, "{service} {account}");
    }
}
