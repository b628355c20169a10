//! What is not asked as it should be: other paths, methods, sizes, and nonsense.

use super::*;

const PATHS: [(&str, &str); 7] = [
    ("POST", "/v1/global-api/payments"),
    ("POST", "/api/v1/oauth/token"),
    ("POST", "/api/v1/transaction-documents"),
    ("POST", "/v4/remittance/payments/network-lookup"),
    ("POST", "/sandbox/float"),
    ("GET", "/sandbox/ledger"),
    ("GET", "/openapi.yaml"),
];

#[tokio::test]
async fn other_methods_and_paths_are_refused_with_a_reason() {
    let bench = Bench::start(quick()).await;
    for (own, path) in PATHS.into_iter().chain([("GET", "/")]) {
        for method in ["GET", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "QUERY"] {
            if method == own {
                continue;
            }
            let url = format!("{}{path}", bench.sandbox.base_url());
            let request = bench.client.request(method.parse().unwrap(), url);
            let reply = request.send().await.unwrap();
            assert_eq!(reply.status().as_u16(), 405, "{method} {path}");
            let allow = reply.headers()["allow"].to_str().unwrap().to_owned();
            assert!(allow.contains(own), "{method} {path}: {allow}");
            let json: Value = serde_json::from_str(&reply.text().await.unwrap()).unwrap();
            assert!(json["error"].is_string());
        }
    }
    for path in [
        "/nowhere",
        "/v1/global-api/payments/",
        "//",
        "/sandbox",
        "/%00",
    ] {
        let reply = bench.request("GET", path, "").await;
        assert_eq!(reply.status, 404, "{path}");
        assert!(reply.json()["error"].is_string());
    }
}

#[tokio::test]
async fn bodies_over_their_bound_are_refused_with_a_reason() {
    let bench = Bench::start(quick()).await;
    for (_, path) in PATHS.into_iter().filter(|(_, path)| {
        ["payments", "network-lookup", "float"]
            .iter()
            .any(|end| path.ends_with(end))
    }) {
        let reply = bench
            .request("POST", path, vec![b' '; 1024 * 1024 + 1])
            .await;
        assert_eq!(reply.status, 413, "{path}");
        assert!(reply.json()["error"].is_string());
        let reply = bench.request("POST", path, vec![b' '; 1024 * 1024]).await;
        assert_ne!(reply.status, 413, "{path}");
    }
}

#[tokio::test]
async fn the_interface_is_described() {
    let bench = Bench::start(quick()).await;
    let reply = bench.request("GET", "/openapi.yaml", "").await;
    assert_eq!(reply.status, 200);
    assert!(reply.text.starts_with("openapi: 3"));
}

/// Any JSON, sometimes deep, with the interface's own names among the members.
fn nonsense(rng: &mut fastrand::Rng, depth: u32) -> Value {
    const NAMES: [&str; 14] = [
        "function",
        "countryCode",
        "payload",
        "credentials",
        "packet",
        "serviceCode",
        "MSISDN",
        "accountNumber",
        "payerTransactionID",
        "amount",
        "currencyCode",
        "extraData",
        "datePaymentReceived",
        "number",
    ];
    const TEXTS: [&str; 12] = [
        "",
        "GATEWAY.postPayment",
        "GATEWAY.queryBill",
        "GATEWAY.queryFloatBalance",
        "GATEWAY.validateAccount",
        "RTGS",
        "WATER",
        "KE",
        "KES",
        "\u{0}\u{1f4a9}",
        "254712345678",
        "{\"destinationBankCode\":[[[]]]}",
    ];
    match rng.u32(..if depth > 6 { 6 } else { 9 }) {
        0 => Value::Null,
        1 => rng.bool().into(),
        2 => json!(rng.i64(..)),
        3 => json!(rng.f64() * 1e300),
        4 | 5 => TEXTS[rng.usize(..TEXTS.len())].into(),
        6 => (0..rng.u32(..4))
            .map(|_| nonsense(rng, depth + 1))
            .collect(),
        _ => {
            let members = (0..rng.u32(..9)).map(|_| {
                let name = NAMES[rng.usize(..NAMES.len())].to_owned();
                (name, nonsense(rng, depth + 1))
            });
            Value::Object(members.collect())
        }
    }
}

/// A request that is nearly right: one member of it is nonsense.
fn nearly(rng: &mut fastrand::Rng) -> Value {
    let functions = [
        "postPayment",
        "queryPaymentStatus",
        "queryBill",
        "queryFloatBalance",
        "validateAccount",
    ];
    let function = format!("GATEWAY.{}", functions[rng.usize(..functions.len())]);
    let services = ["RTGS", "WATER", "ELECTRICITY", "AIRTIME", "B2C_MPESA"];
    let changes = json!({"extraData": bank()});
    let service = services[rng.usize(..services.len())];
    let id = rng.u32(..50).to_string();
    let mut packet: Value = serde_json::from_str(&packet_of(service, &id, changes)).unwrap();
    let names: Vec<String> = packet.as_object().unwrap().keys().cloned().collect();
    packet[&names[rng.usize(..names.len())]] = nonsense(rng, 3);
    if rng.bool() {
        let extra: Vec<_> = bank().as_object().unwrap().keys().cloned().collect();
        packet["extraData"] = bank_with(json!({&extra[rng.usize(..4)]: nonsense(rng, 5)}));
    }
    serde_json::from_str(&envelope(&function, &json!([packet]).to_string())).unwrap()
}

#[tokio::test]
async fn nonsense_is_answered_with_json_and_never_with_a_server_error() {
    let bench = Bench::start(quick()).await;
    let mut rng = fastrand::Rng::with_seed(7);
    let deep = format!("{}{}", "[".repeat(100_000), "]".repeat(100_000));
    let objects = format!("{}1{}", r#"{"payload":"#.repeat(50_000), "}".repeat(50_000));
    let in_extra = envelope(
        "GATEWAY.postPayment",
        &format!(
            "[{}]",
            packet_with("D", "10", &format!(r#"{{"x":{deep}}}"#))
        ),
    );
    let mut bodies: Vec<Vec<u8>> = vec![
        deep.into_bytes(),
        objects.into_bytes(),
        in_extra.into_bytes(),
        vec![0xff, 0xfe, 0],
        b"\xef\xbb\xbf{}".to_vec(),
        b"null".to_vec(),
        b"{\"function\":\"\\ud800\"}".to_vec(),
    ];
    bodies.extend((0..300).map(|_| nonsense(&mut rng, 0).to_string().into_bytes()));
    bodies.extend((0..300).map(|_| nearly(&mut rng).to_string().into_bytes()));
    let queries = [
        "",
        "?",
        "?&&=&",
        "?grant_type=%FF%00&x=%",
        "?summary=true&summary=[",
        "?a[b]=c&=d",
    ];
    for (index, body) in bodies.into_iter().enumerate() {
        for (method, path) in PATHS {
            let query = queries[index % queries.len()];
            let reply = bench
                .request(method, &format!("{path}{query}"), body.clone())
                .await;
            let shown = String::from_utf8_lossy(&body[..body.len().min(300)]).into_owned();
            assert!(reply.status < 500, "{path}{query} {shown}: {}", reply.text);
            if path != "/openapi.yaml" {
                assert!(reply.json().is_object(), "{path} {shown}: {}", reply.text);
            }
        }
    }
    assert_eq!(bench.sandbox.verdict().executed_more, 0);
    assert_eq!(bench.post(&packet("AFTER")).await.unwrap().code(), 139);
}
