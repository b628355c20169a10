//! The fields of a post that decide by their form: dates, countries, banks, invoices, documents.

use super::*;

/// Posts packets in one sandbox and compares code and description.
async fn expect(cases: Vec<(&str, Value, i64, &str)>) {
    let bench = Bench::start(quick()).await;
    for (index, (service, changes, code, why)) in cases.into_iter().enumerate() {
        let id = format!("F{index}");
        let packet = packet_of(service, &id, changes);
        let reply = bench.post(&packet).await.unwrap();
        assert_eq!(reply.code(), code, "{packet}: {}", reply.text);
        let entry = reply.json()["results"][0].clone();
        let described = entry["statusDescription"].as_str().unwrap();
        assert!(described.contains(why), "{packet}: {described}");
        // The status tells the same, and nothing was executed.
        if !matches!(code, 139 | 148) {
            let status = bench.query(&id).await;
            assert_eq!(status.code(), code);
            assert_eq!(status.json()["results"][0]["statusDescription"], described);
            assert_eq!(bench.executions(&id), 0);
            assert_eq!(entry["gatewayTransactionID"], 0);
        }
    }
}

#[tokio::test]
async fn a_date_is_exact_or_empty() {
    let form = "datePaymentReceived is not a date of the form yyyy-mm-dd hh:mm:ss";
    let date = |text: &str| json!({"datePaymentReceived": text});
    expect(vec![
        ("B2C_MPESA", date(""), 139, ""),
        ("B2C_MPESA", date("2028-02-29 23:59:59"), 139, ""),
        ("B2C_MPESA", date("2026-02-29 08:00:00"), 174, form),
        ("B2C_MPESA", date("2026-11-28T08:00:00"), 174, form),
        ("B2C_MPESA", date("2026-11-28"), 174, form),
        ("B2C_MPESA", date("2026-11-28 8:00:00"), 174, form),
        ("B2C_MPESA", date("2026-11-28 24:00:00"), 174, form),
        ("B2C_MPESA", date(" 026-11-28 08:00:00"), 174, form),
        ("B2C_MPESA", date("28-11-2026 08:00:00"), 174, form),
        (
            "B2C_MPESA",
            json!({"datePaymentReceived": null}),
            174,
            "datePaymentReceived is missing",
        ),
    ])
    .await;
}

#[tokio::test]
async fn a_country_is_named_in_packet_and_request() {
    let country = |code: &str| json!({"countryCode": code});
    let missing = "countryCode is missing";
    let unknown = "countryCode is not a two-letter ISO 3166 code";
    expect(vec![
        ("B2C_MPESA", country(""), 174, missing),
        ("B2C_MPESA", json!({"countryCode": null}), 174, missing),
        ("B2C_MPESA", country("KEN"), 174, unknown),
        ("B2C_MPESA", country("XX"), 174, unknown),
        ("B2C_MPESA", country("UG"), 110, "MSISDN"),
    ])
    .await;
    let bench = Bench::start(quick()).await;
    for (from, to, why) in [
        (r#""countryCode":"KE","payload""#, r#""payload""#, missing),
        (
            r#""countryCode":"KE","payload""#,
            r#""countryCode":"Kenya","payload""#,
            unknown,
        ),
    ] {
        let body = envelope("GATEWAY.postPayment", &format!("[{}]", packet("P")));
        assert!(body.contains(from));
        let reply = bench.send(body.replacen(from, to, 1)).await.unwrap();
        assert_eq!(reply.auth_code(), 174);
        assert_eq!(
            reply.json()["authStatus"]["authStatusDescription"],
            Value::from(why)
        );
    }
    assert_eq!(bench.sandbox.verdict().posts, 0);
}

#[tokio::test]
async fn banks_are_named_in_full() {
    let extra = |extra: Value| json!({"extraData": extra, "amount": 5000});
    let without = |key: &str| {
        let mut bank = bank();
        bank.as_object_mut().unwrap().remove(key);
        extra(bank)
    };
    let mut cases = Vec::new();
    for (service, taken) in [("BANK_TRANSFER", 139), ("RTGS", 148)] {
        cases.push((service, extra(bank()), taken, ""));
        cases.push((service, extra(bank().to_string().into()), taken, ""));
        let mut sample = bank();
        let members = sample.as_object_mut().unwrap();
        let name = members.remove("destinationBankName").unwrap();
        members.insert("destinationBank".to_owned(), name);
        cases.push((service, extra(sample), taken, ""));
        for key in [
            "destinationBankCode",
            "destinationBankName",
            "destinationAccountName",
            "destinationAccountNo",
        ] {
            cases.push((service, without(key), 174, key));
            for (value, why) in [
                (json!(" "), "is missing"),
                (Value::Null, "is missing"),
                (json!([1]), "is not a text"),
            ] {
                cases.push((service, extra(bank_with(json!({key: value}))), 174, why));
            }
        }
        cases.push((service, extra(json!({})), 174, "destinationBankCode"));
        cases.push((service, extra("[]".into()), 174, "extraData"));
        cases.push((service, extra("{".into()), 174, "extraData"));
    }
    // Elsewhere nobody asks for a bank.
    cases.push(("B2C_MPESA", extra(json!({})), 139, ""));
    expect(cases).await;
}

#[tokio::test]
async fn a_bill_is_paid_only_where_there_is_one() {
    let account = |account: &str| json!({"accountNumber": account});
    expect(vec![
        ("WATER", account("10012345"), 139, ""),
        ("PAYTV", account("12345"), 139, ""),
        ("WATER", account("10010000"), 146, "Invoice does not exist"),
        ("WATER", account("1234"), 146, ""),
        ("WATER", account("AB12345"), 146, ""),
        ("WATER", account(""), 120, ""),
    ])
    .await;
}

#[tokio::test]
async fn limits_and_currencies_are_those_of_each_service() {
    let amount = |amount: &str, extra: Value| json!({"amount": amount, "extraData": extra});
    let plain = |text: &str| amount(text, json!({}));
    expect(vec![
        ("BANK_TRANSFER", amount("99.99", bank()), 232, ""),
        ("BANK_TRANSFER", amount("999999.99", bank()), 139, ""),
        ("BANK_TRANSFER", amount("1000000", bank()), 231, ""),
        ("RTGS", amount("999.99", bank()), 232, ""),
        ("RTGS", amount("500000000.01", bank()), 231, ""),
        ("AIRTIME", plain("4.99"), 232, ""),
        ("AIRTIME", plain("10000.01"), 231, ""),
        ("ELECTRICITY", plain("49.99"), 232, ""),
        ("ELECTRICITY", plain("100000.01"), 231, ""),
        ("WATER", plain("0.99"), 232, ""),
        ("PAYTV", plain("50000.01"), 231, ""),
        ("AIRTIME", json!({"currencyCode": "XYZ"}), 115, ""),
        ("AIRTIME", json!({"currencyCode": "UGX"}), 115, ""),
        (
            "B2C_MTN_UG",
            json!({"currencyCode": "UGX", "countryCode": "UG", "MSISDN": "256772123456", "amount": 1000.5}),
            111,
            "",
        ),
    ])
    .await;
}

#[tokio::test]
async fn an_identifier_is_there_and_not_endless() {
    let bench = Bench::start(quick()).await;
    for (id, why) in [
        (String::new(), "payerTransactionID is missing"),
        ("x".repeat(129), "payerTransactionID is longer than 128"),
    ] {
        let reply = bench.post(&packet(&id)).await.unwrap();
        assert_eq!(reply.code(), 174);
        let entry = reply.json()["results"][0].clone();
        assert!(entry["statusDescription"].as_str().unwrap().contains(why));
    }
    assert_eq!(bench.sandbox.verdict().posts, 0);
    assert_eq!(
        bench.post(&packet(&"x".repeat(128))).await.unwrap().code(),
        139
    );
}

#[tokio::test]
async fn an_array_is_no_object_even_with_its_members_in_order() {
    let bench = Bench::start(quick()).await;
    for body in [
        r#"["GATEWAY.postPayment","KE",{"credentials":{},"packet":[]}]"#.to_owned(),
        r#"{"function":"GATEWAY.postPayment","countryCode":"KE","payload":[{},[]]}"#.to_owned(),
        r#"{"function":"GATEWAY.postPayment","countryCode":"KE","payload":{"credentials":["a","b"],"packet":[]}}"#
            .to_owned(),
        envelope("GATEWAY.postPayment", r#"[["B2C_MPESA"]]"#),
    ] {
        let reply = bench.send(body.clone()).await.unwrap();
        assert_eq!(reply.auth_code(), 174, "{body}");
        assert!(reply.text.contains("is not an object"), "{}", reply.text);
    }
}
