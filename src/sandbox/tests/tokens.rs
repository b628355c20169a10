//! Tokens, and the lookups that need one.

use super::*;

const TOKEN: &str = "/api/v1/oauth/token";
const LOOKUP: &str = "/v4/remittance/payments/network-lookup";
const GOOD: &str = "grant_type=password&client_id=customers&username=acme&password=s%26cret";

fn guarded() -> Options {
    Options {
        credentials: Some(("acme".into(), "s&cret".into())),
        ..quick()
    }
}

impl Bench {
    async fn token(&self) -> String {
        let reply = self.request("POST", &format!("{TOKEN}?{GOOD}"), "").await;
        reply.json()["access_token"].as_str().unwrap().to_owned()
    }

    async fn look_up(&self, authorization: Option<&str>, body: &str) -> Reply {
        let url = format!("{}{LOOKUP}", self.sandbox.base_url());
        let mut request = self.client.post(url).body(body.to_owned());
        if let Some(authorization) = authorization {
            request = request.header("authorization", authorization);
        }
        let reply = request.send().await.unwrap();
        Reply {
            status: reply.status().as_u16(),
            text: reply.text().await.unwrap(),
        }
    }
}

#[tokio::test]
async fn a_token_is_given_for_the_right_password() {
    let bench = Bench::start(guarded()).await;
    let reply = bench.request("POST", &format!("{TOKEN}?{GOOD}"), "").await;
    assert_eq!(reply.status, 200);
    let body = reply.json();
    assert_eq!(body["token_type"], "bearer");
    assert_eq!(body["expires_in"], 3600);
    let (access, refresh) = (&body["access_token"], &body["refresh_token"]);
    assert!(access.as_str().unwrap().len() > 60 && access != refresh);
    assert_ne!(&Value::from(bench.token().await), access);
}

#[tokio::test]
async fn each_mistake_in_a_token_request_is_told_apart() {
    let bench = Bench::start(guarded()).await;
    for (from, to, status, error, why) in [
        (
            "username=acme&",
            "",
            400,
            "missing parameters",
            "username is required",
        ),
        (
            "acme",
            "",
            400,
            "missing parameters",
            "username is required",
        ),
        (
            "&password=s%26cret",
            "",
            400,
            "missing parameters",
            "password is required",
        ),
        (
            "client_id=customers&",
            "",
            400,
            "missing parameters",
            "client_id is required",
        ),
        (
            "grant_type=password&",
            "",
            400,
            "missing parameters",
            "grant_type is required",
        ),
        (
            "grant_type=password",
            "grant_type=refresh_token",
            400,
            "invalid_request",
            "grant_type must be password",
        ),
        (
            "acme",
            "other",
            401,
            "invalid_request",
            "invalid credentials",
        ),
        (
            "s%26cret",
            "scret",
            401,
            "invalid_request",
            "invalid credentials",
        ),
        (
            "username=acme",
            "username=acme&username=acme",
            400,
            "invalid_request",
            "username is given more than once",
        ),
    ] {
        let query = GOOD.replacen(from, to, 1);
        let reply = bench.request("POST", &format!("{TOKEN}?{query}"), "").await;
        assert_eq!(reply.status, status, "{query}");
        assert_eq!(
            reply.json(),
            json!({"error": error, "error_description": why}),
            "{query}"
        );
    }
    let reply = bench.request("POST", TOKEN, GOOD).await;
    assert_eq!(reply.json()["error"], "missing parameters");
    assert_eq!(
        bench
            .request("GET", &format!("{TOKEN}?{GOOD}"), "")
            .await
            .status,
        405
    );
}

#[tokio::test]
async fn without_credentials_of_its_own_the_sandbox_lets_anyone_in() {
    let bench = Bench::start(quick()).await;
    let query = GOOD.replacen("acme", "anyone", 1);
    let reply = bench.request("POST", &format!("{TOKEN}?{query}"), "").await;
    assert_eq!(reply.status, 200);
}

#[tokio::test]
async fn a_lookup_needs_a_token_that_is_good() {
    let mut options = guarded();
    options.token_lifetime = Duration::from_millis(200);
    let bench = Bench::start(options).await;
    let body = r#"{"countryCode":"KE","number":"254712345678"}"#;
    let refused = async |authorization: Option<&str>, part: &str| {
        let reply = bench.look_up(authorization, body).await;
        assert_eq!(reply.status, 401, "{}", reply.text);
        let json = reply.json();
        assert_eq!(json["data"], Value::Null);
        assert_eq!(json["success"], false);
        assert_eq!(json["statusCode"], 131);
        assert_eq!(json.as_object().unwrap().len(), 4);
        assert!(json["message"].as_str().unwrap().contains(part), "{json}");
    };
    refused(None, "is missing").await;
    refused(Some("Basic YWNtZTpz"), "no bearer token").await;
    refused(Some("Bearer"), "no bearer token").await;
    refused(Some("Bearer made-up"), "it expired before 20").await;
    let bearer = format!("Bearer {}", bench.token().await);
    let reply = bench.look_up(Some(&bearer), body).await;
    assert_eq!(reply.status, 200);
    assert_eq!(
        reply.json(),
        json!({"carrier": "Safaricom", "timeZone": "Africa/Nairobi"})
    );
    // Until it ends, and no longer.
    for _ in 0..200 {
        if bench.look_up(Some(&bearer), body).await.status == 401 {
            break;
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    refused(Some(&bearer), "Token expired at 20").await;
    let again = format!("bearer {}", bench.token().await);
    assert_eq!(bench.look_up(Some(&again), body).await.status, 200);
}

#[tokio::test]
async fn networks_follow_the_numbering_plans() {
    let bench = Bench::start(guarded()).await;
    let bearer = format!("Bearer {}", bench.token().await);
    for (country, number, carrier, zone) in [
        ("KE", "254712345678", "Safaricom", "Africa/Nairobi"),
        ("KE", "254110345678", "Safaricom", "Africa/Nairobi"),
        ("KE", "254768345678", "Safaricom", "Africa/Nairobi"),
        ("KE", "254733345678", "Airtel Kenya", "Africa/Nairobi"),
        ("KE", "254102345678", "Airtel Kenya", "Africa/Nairobi"),
        ("KE", "254772345678", "Telkom Kenya", "Africa/Nairobi"),
        ("KE", "254763345678", "Finserve Africa", "Africa/Nairobi"),
        (
            "KE",
            "254747345678",
            "Jamii Telecommunications",
            "Africa/Nairobi",
        ),
        ("UG", "256772123456", "MTN Uganda", "Africa/Kampala"),
        ("UG", "256752123456", "Airtel Uganda", "Africa/Kampala"),
        (
            "TZ",
            "255754123456",
            "Vodacom Tanzania",
            "Africa/Dar_es_Salaam",
        ),
        ("TZ", "255712123456", "Yas Tanzania", "Africa/Dar_es_Salaam"),
    ] {
        let body = json!({"countryCode": country, "number": number}).to_string();
        let reply = bench.look_up(Some(&bearer), &body).await;
        assert_eq!(
            reply.json(),
            json!({"carrier": carrier, "timeZone": zone}),
            "{number}"
        );
    }
    for body in [
        r#"{"countryCode":"KE","number":"hello"}"#,
        r#"{"countryCode":"KE","number":"0712345678"}"#,
        r#"{"countryCode":"KE","number":"25471234567"}"#,
        r#"{"countryCode":"KE","number":"256772123456"}"#,
        r#"{"countryCode":"KE","number":"254912345678"}"#,
        r#"{"countryCode":"KE","number":""}"#,
        r#"{"countryCode":"KE"}"#,
        r#"{"number":"254712345678"}"#,
        r#"{"countryCode":"Kenya","number":"254712345678"}"#,
        r#"{"countryCode":"GH","number":"233241234567"}"#,
        r#"{"countryCode":"KE","number":254712345678}"#,
        r#"["KE","254712345678"]"#,
        "",
    ] {
        let reply = bench.look_up(Some(&bearer), body).await;
        assert_eq!(reply.status, 400, "{body}");
        let json = reply.json();
        assert_eq!(json["errorCode"], 400);
        assert!(!json["errorDescription"].as_str().unwrap().is_empty());
        assert_eq!(json.as_object().unwrap().len(), 2);
    }
}

/// The numbers of the samples are on the networks that the sample configuration gives to their services.
#[test]
fn the_samples_numbers_are_on_the_carriers_of_their_services() {
    use crate::sandbox::rules::networks::plan_of;
    let config: toml::Table = include_str!("../../../samples/disburse.toml")
        .parse()
        .unwrap();
    let mut seen = 0;
    for file in [
        include_str!("../../../samples/payroll.csv"),
        include_str!("../../../samples/refunds.csv"),
    ] {
        for line in file.lines().skip(1) {
            let mut cells = line.split(',').skip(1);
            let (service, number) = (cells.next().unwrap(), cells.next().unwrap());
            let carrier = plan_of("KE").unwrap().carrier(number).unwrap();
            let carriers = config["services"][service]["carriers"].as_array().unwrap();
            assert!(
                carriers.iter().any(|c| c.as_str() == Some(carrier)),
                "{line}"
            );
            seen += 1;
        }
    }
    for line in include_str!("../../../samples/nightly.jsonl").lines() {
        let row: Value = serde_json::from_str(line).unwrap();
        let text = |name: &str| row[name].as_str().unwrap().to_owned();
        let plan = plan_of(&text("country_code")).unwrap();
        let carrier = plan.carrier(&text("msisdn")).unwrap();
        let carriers = config["services"][text("service_code")]["carriers"]
            .as_array()
            .unwrap();
        assert!(
            carriers.iter().any(|c| c.as_str() == Some(carrier)),
            "{line}"
        );
        seen += 1;
    }
    assert!(seen > 1000);
}
