//! The operations around the payments: what leaves is exact, and every bad reply has its own plain words.

use disburse::domain::{Country, Msisdn, ServiceCode};
use disburse::gateway::{
    AccountAnswer, BillAnswer, BillInquiry, DocumentClient, HttpGateway, LookupClient,
    LookupInquiry, NetworkOf, Profile, TokenClient,
};
use reqwest::Url;
use secrecy::SecretString;

use super::payments::{A, B, gateway, id, profile};
use super::server::Server;
use super::soon;

pub const TOKEN: &str = "eyJhbGciOi.J9.c2ln-_";

/// A profile whose every address is this one.
pub fn everything_at(url: &str) -> Profile {
    let address = Some(Url::parse(url).unwrap());
    Profile {
        auth_url: address.clone(),
        api_url: address.clone(),
        file_service_url: address,
        ..profile(url)
    }
}

/// A token reply that states this lifetime.
pub fn issued(token: &str, expires_in: &str) -> String {
    format!(
        r#"{{"token_type":"bearer","expires_in":{expires_in},"access_token":"{token}","refresh_token":"<R>"}}"#
    )
}

/// A server that issues a token to whoever asks for one, and answers everything else with `reply`.
pub fn issuing(reply: &'static str) -> Server {
    Server::start(move |mut connection| {
        while let Some((head, _)) = connection.request_with_head() {
            if head.starts_with("POST /api/v1/oauth/token") {
                connection.reply("200 OK", &issued(TOKEN, "3600"));
            } else {
                connection.reply("200 OK", reply);
            }
        }
    })
}

pub fn kenyan_number() -> LookupInquiry {
    LookupInquiry {
        country: Country::from_code("KE").unwrap(),
        number: Msisdn::from_digits("254712345678").unwrap(),
    }
}

pub fn lookups(profile: &Profile) -> LookupClient {
    LookupClient::new(profile, TokenClient::new(profile).unwrap()).unwrap()
}

pub fn service(code: &str) -> ServiceCode {
    ServiceCode::parse(code).unwrap()
}

pub fn bill(service_code: &str, account: &str) -> BillInquiry {
    BillInquiry {
        service: service(service_code),
        account_number: account.into(),
        msisdn: None,
        id: None,
        country: None,
    }
}

/// Splits what a server received into requests: the first line and the headers, and the body.
pub fn requests(server: &Server) -> Vec<(String, String)> {
    let text = String::from_utf8(server.received()).unwrap();
    let mut rest = text.as_str();
    let mut requests = Vec::new();
    while let Some((head, after)) = rest.split_once("\r\n\r\n") {
        let length: usize = head
            .lines()
            .find_map(|line| {
                line.to_lowercase()
                    .strip_prefix("content-length: ")?
                    .parse()
                    .ok()
            })
            .unwrap_or(0);
        requests.push((head.to_owned(), after[..length].to_owned()));
        rest = &after[length..];
    }
    requests
}

pub fn header<'a>(head: &'a str, name: &str) -> Option<&'a str> {
    head.lines()
        .filter_map(|line| line.split_once(": "))
        .find(|(found, _)| found.eq_ignore_ascii_case(name))
        .map(|(_, value)| value)
}

#[tokio::test]
async fn bills_accounts_and_floats_are_asked_for_exactly_to_the_byte() {
    let server = issuing("[]");
    let gateway = gateway(&server.url());
    let inquiries = [
        BillInquiry {
            msisdn: Some(Msisdn::from_digits("254712345678").unwrap()),
            id: Some(id(A)),
            ..bill("WATER", "00123")
        },
        bill("PAYTV", "a \"b\" ü"),
    ];
    let _ = soon(gateway.bills(&inquiries)).await.unwrap();
    let _ = soon(gateway.float(&[service("B2C"), service("WATER")]))
        .await
        .unwrap();
    let _ = soon(gateway.account(&service("WATER"), "00123")).await;
    let bodies: Vec<String> = requests(&server)
        .into_iter()
        .map(|(head, body)| {
            assert!(
                head.starts_with("POST /v1/global-api/payments HTTP/1.1\r\n"),
                "{head}"
            );
            assert_eq!(header(&head, "content-type"), Some("application/json"));
            assert_eq!(header(&head, "authorization"), None);
            body
        })
        .collect();
    assert_eq!(bodies.join("\n"), include_str!("around.json").trim_end());
}

#[tokio::test]
async fn a_lookup_and_its_token_are_exact_to_the_byte() {
    let server = issuing(r#"{"carrier":"Example Mobile","timeZone":"Africa/Nairobi"}"#);
    let lookups = lookups(&everything_at(&server.url()));
    for _ in 0..2 {
        let network = soon(lookups.lookup(&kenyan_number())).await.unwrap();
        let expected = NetworkOf {
            carrier: "Example Mobile".into(),
            time_zone: "Africa/Nairobi".into(),
        };
        assert_eq!(network, expected);
    }
    let [(token, nothing), (lookup, body), (_, again)] = &requests(&server)[..] else {
        panic!("one token serves two lookups");
    };
    assert_eq!(
        token.lines().next().unwrap(),
        "POST /api/v1/oauth/token?grant_type=password&client_id=customers&username=acme&password=pa%22ss%5Cword HTTP/1.1"
    );
    assert_eq!(nothing, "");
    assert_eq!(header(token, "content-length"), Some("0"));
    assert_eq!(header(token, "content-type"), None);
    assert_eq!(header(token, "authorization"), None);
    assert_eq!(header(token, "referer"), None);
    assert!(lookup.starts_with("POST /v4/remittance/payments/network-lookup HTTP/1.1\r\n"));
    assert_eq!(header(lookup, "content-type"), Some("application/json"));
    assert_eq!(
        header(lookup, "authorization"),
        Some(&*format!("Bearer {TOKEN}"))
    );
    assert_eq!(body, r#"{"countryCode":"KE","number":"254712345678"}"#);
    assert_eq!(again, body);
}

#[tokio::test]
async fn a_password_arrives_as_it_is_whatever_its_characters() {
    let server = issuing("");
    let tokens = TokenClient::new(&Profile {
        client_id: "a b".into(),
        username: "käthe+1@acme".into(),
        password: SecretString::from("a b+c&d=e#f%20?/\u{1f511}"),
        ..everything_at(&server.url())
    });
    soon(tokens.unwrap().bearer()).await.unwrap();
    assert_eq!(
        requests(&server)[0].0.lines().next().unwrap(),
        "POST /api/v1/oauth/token?grant_type=password&client_id=a%20b&username=k%C3%A4the%2B1%40acme\
         &password=a%20b%2Bc%26d%3De%23f%2520%3F%2F%F0%9F%94%91 HTTP/1.1"
    );
}

#[tokio::test]
async fn an_upload_is_two_parts_without_a_token() {
    let server = issuing(r#"{"reference":"DOC-17"}"#);
    let documents = DocumentClient::new(&everything_at(&server.url())).unwrap();
    let bytes = b"%PDF-1.4\n--not a boundary\r\n".to_vec();
    let uploaded = soon(documents.upload(&id(A), "board \"resolution\".pdf", bytes))
        .await
        .unwrap();
    assert_eq!(uploaded.reference, "DOC-17");
    assert_eq!(uploaded.reply, r#"{"reference":"DOC-17"}"#);
    let [(head, body)] = &requests(&server)[..] else {
        panic!("one upload is one request");
    };
    assert!(
        head.starts_with("POST /api/v1/transaction-documents HTTP/1.1\r\n"),
        "{head}"
    );
    assert_eq!(header(head, "authorization"), None);
    let kind = header(head, "content-type").unwrap();
    let boundary = kind.strip_prefix("multipart/form-data; boundary=").unwrap();
    let expected = format!(
        "--{boundary}\r\nContent-Disposition: form-data; name=\"payerTransactionId\"\r\n\r\n{A}\r\n\
         --{boundary}\r\nContent-Disposition: form-data; name=\"file\"; filename=\"board__resolution_.pdf\"\r\n\
         Content-Type: application/pdf\r\n\r\n%PDF-1.4\n--not a boundary\r\n\r\n--{boundary}--\r\n"
    );
    assert_eq!(body, &expected);
}

#[tokio::test]
async fn any_success_of_an_upload_counts_and_names_its_reference_where_it_does() {
    for (status, reply, reference) in [
        ("200 OK", r#"{"reference":"R-1","id":7}"#, "R-1"),
        (
            "201 Created",
            r#"{"documentReference":" D-2 ","id":7}"#,
            "D-2",
        ),
        ("200 OK", r#"{"id":90071992547409931}"#, "90071992547409931"),
        (
            "200 OK",
            r#"{"reference":"","documentReference":null,"id":"7"}"#,
            "7",
        ),
        ("200 OK", r#"{"reference":{"id":1}}"#, A),
        ("200 OK", r#"{"reference":"a\u0007b"}"#, A),
        ("200 OK", r#"{"data":{"reference":"R-1"}}"#, "R-1"),
        ("200 OK", r#"[{"reference":"R-1"}]"#, "R-1"),
        ("202 Accepted", "<html>taken\u{1b}[2J</html>", A),
        ("204 No Content", "", A),
    ] {
        let server = Server::start(move |mut connection| {
            connection.request();
            connection.reply(status, reply);
        });
        let documents = DocumentClient::new(&everything_at(&server.url())).unwrap();
        let uploaded = soon(documents.upload(&id(A), "a.pdf", b"%PDF-".to_vec()))
            .await
            .unwrap();
        assert_eq!(uploaded.reference, reference, "{reply}");
        assert_eq!(uploaded.reply, reply.replace('\u{1b}', ""), "{reply}");
    }
    // The reply is evidence, and bounded.
    let server = issuing_of(format!("{{\"id\":\"{}\"}}", "x".repeat(100_000)));
    let documents = DocumentClient::new(&everything_at(&server.url())).unwrap();
    let uploaded = soon(documents.upload(&id(B), "a.pdf", b"%PDF-".to_vec()))
        .await
        .unwrap();
    assert_eq!(
        (uploaded.reference.as_str(), uploaded.reply.len()),
        (B, 64 * 1024)
    );
}

fn issuing_of(reply: String) -> Server {
    Server::start(move |mut connection| {
        connection.request();
        connection.reply("200 OK", &reply);
    })
}

/// Tells an answer about a bill in a few words.
fn told(answer: &BillAnswer) -> String {
    match answer {
        BillAnswer::Due(bill) => format!(
            "{} {} by {:?} of {:?}",
            bill.due.currency, bill.due, bill.due_date, bill.customer_name
        ),
        BillAnswer::None { code, description } => format!("none: {code} {description}"),
        BillAnswer::Unknown(why) => format!("unknown: {why}"),
    }
}

#[tokio::test]
async fn bills_are_matched_by_service_and_account_and_kept_to_the_digit() {
    let inquiries = [
        bill("WATER", "00123"),
        bill("PAYTV", "77"),
        bill("POWER", "77"),
    ];
    let mut table = String::new();
    for (name, reply) in [
        (
            "as a bare array, in another order",
            r#"[
            {"serviceCode":"POWER","accountNumber":77,"statusCode":"309","statusDescription":"No bill"},
            {"serviceCode":"WATER","accountNumber":"00123","dueDate":"2019-04-29 00:00:00","dueAmount":1500.5,
             "currency":"KES","customerName":"A. Otieno","statusCode":308,"responseExtraData":{"a":[1]}},
            {"serviceCode":"PAYTV","accountNumber":"77","dueAmount":"92233720368547758.07","currency":"kes","statusCode":308}]"#,
        ),
        (
            "in the envelope",
            r#"{"authStatus":{"authStatusCode":131},"results":[
            {"serviceCode":"PAYTV","accountNumber":"77","statusCode":306,"statusDescription":"Invalid account"},
            {"accountNumber":"00123","dueAmount":"1500.00","currency":"UGX","statusCode":308},
            {"serviceCode":"POWER","accountNumber":"77","statusCode":146,"statusDescription":"Gone"}]}"#,
        ),
        (
            "without the service where two were asked",
            r#"[{"accountNumber":"77","dueAmount":1,"currency":"KES","statusCode":308}]"#,
        ),
        (
            "by position alone",
            r#"[{"dueAmount":1,"currency":"KES","statusCode":308}]"#,
        ),
        (
            "a number that lost its zeros",
            r#"[{"serviceCode":"WATER","accountNumber":123,"dueAmount":1,"currency":"KES","statusCode":308}]"#,
        ),
        (
            "twice and different",
            r#"[
            {"serviceCode":"WATER","accountNumber":"00123","dueAmount":1,"currency":"KES","statusCode":308},
            {"serviceCode":"WATER","accountNumber":"00123","dueAmount":2,"currency":"KES","statusCode":308}]"#,
        ),
        (
            "twice and equal",
            r#"[
            {"serviceCode":"WATER","accountNumber":"00123","dueAmount":1,"currency":"KES","statusCode":308},
            {"serviceCode":"WATER","accountNumber":"00123","dueAmount":1,"currency":"KES","statusCode":308}]"#,
        ),
        (
            "amounts that are none",
            r#"[
            {"serviceCode":"WATER","accountNumber":"00123","dueAmount":"1,500.00","currency":"KES","statusCode":308},
            {"serviceCode":"PAYTV","accountNumber":"77","dueAmount":10.005,"currency":"KES","statusCode":308},
            {"serviceCode":"POWER","accountNumber":"77","dueAmount":1e3,"currency":"KES","statusCode":308}]"#,
        ),
        (
            "nothing owed",
            r#"[
            {"serviceCode":"WATER","accountNumber":"00123","dueAmount":0,"currency":"KES","statusCode":308},
            {"serviceCode":"PAYTV","accountNumber":"77","dueAmount":"-12.50","currency":"KES","statusCode":308},
            {"serviceCode":"POWER","accountNumber":"77","currency":"KES","statusCode":308}]"#,
        ),
        (
            "other codes and no currency",
            r#"[
            {"serviceCode":"WATER","accountNumber":"00123","statusCode":174,"statusDescription":"Try\u001b later"},
            {"serviceCode":"PAYTV","accountNumber":"77","dueAmount":1,"statusCode":308},
            {"serviceCode":"POWER","accountNumber":"77","dueAmount":1,"currency":"SHILLINGS","statusCode":"x"}]"#,
        ),
    ] {
        let server = issuing(reply);
        let answers = soon(gateway(&server.url()).bills(&inquiries))
            .await
            .unwrap();
        table.push_str(&format!("{name}\n"));
        for (inquiry, answer) in inquiries.iter().zip(&answers) {
            let service = &inquiry.service;
            table.push_str(&format!("  {service} {}\n", told(answer)));
        }
    }
    insta::assert_snapshot!("bills", table);
    assert_eq!(
        soon(gateway("http://127.0.0.1:1").bills(&[])).await,
        Ok(vec![])
    );
}

#[tokio::test]
async fn a_balance_is_taken_from_either_form_and_may_be_negative() {
    let mut table = String::new();
    for reply in [
        r#"{"authStatus":{"authStatusCode":131},"results":[{"balance":1500.5,"floatAccountName":"Main","currencyCode":"KES"}]}"#,
        r#"{"statusCode":131,"success":true,"message":"ok","data":{"floatAccountName":"Main","balance":"-1500.50","currencyCode":"KES"}}"#,
        r#"{"authStatus":{"authStatusCode":131},"results":{"balance":"7","currencyCode":"UGX"}}"#,
        r#"{"results":[{"serviceCode":"OTHER","balance":1,"currencyCode":"KES"},{"serviceCode":"B2C","balance":2,"currencyCode":"KES"}]}"#,
        r#"{"results":[{"balance":1,"currencyCode":"KES"},{"balance":2,"currencyCode":"KES"}]}"#,
        r#"{"results":[{"balance":1,"currencyCode":"KES"},{"balance":1,"currencyCode":"KES"}]}"#,
        r#"{"results":[{"balance":1e6,"currencyCode":"KES"}]}"#,
        r#"{"results":[{"balance":10}]}"#,
        r#"{"statusCode":174,"success":false,"message":"no such float","data":{"balance":5,"currencyCode":"KES"}}"#,
        r#"{"statusCode":174,"success":false,"message":"no such float","data":null}"#,
    ] {
        let server = issuing(reply);
        let balances = soon(gateway(&server.url()).float(&[service("B2C")]))
            .await
            .unwrap();
        let told = balances[0].as_ref().map_or("none".to_owned(), |found| {
            format!(
                "{} {} minor units of {:?}",
                found.currency, found.minor, found.account_name
            )
        });
        table.push_str(&format!("{told:32} {reply}\n"));
    }
    insta::assert_snapshot!("floats", table);
}

#[tokio::test]
async fn an_account_is_valid_invalid_or_not_to_be_told() {
    let mut table = String::new();
    for reply in [
        r#"[{"accountNumber":"77","statusCode":307,"customerName":"A. Otieno"}]"#,
        r#"{"authStatus":{"authStatusCode":131},"results":[{"statusCode":"306","statusDescription":"Invalid"}]}"#,
        r#"{"results":{"accountNumber":77,"statusCode":301,"statusDescription":"Down"}}"#,
        r#"[{"accountNumber":"78","statusCode":307}]"#,
        r#"[{"statusCode":307},{"statusCode":306}]"#,
        r#"[{"statusCode":174,"statusDescription":"No"}]"#,
        r#"{"authStatus":{"authStatusCode":132,"authStatusDescription":"No"}}"#,
    ] {
        let server = issuing(reply);
        let answer = soon(gateway(&server.url()).account(&service("WATER"), "77")).await;
        let told = match answer {
            Ok(AccountAnswer::Valid { customer_name, .. }) => format!("valid {customer_name}"),
            Ok(AccountAnswer::Invalid { description }) => format!("invalid {description}"),
            Ok(AccountAnswer::Unavailable { description }) => format!("unavailable {description}"),
            Err(error) => format!("{error}"),
        };
        table.push_str(&format!("{reply}\n  {told}\n"));
    }
    insta::assert_snapshot!("accounts", table);
}

#[tokio::test]
async fn a_document_that_the_file_service_refuses_is_told_in_its_words() {
    let server = Server::start(|mut connection| {
        connection.request();
        connection.reply("422 No", "{\"message\":\"password-protected\u{1b}[2J\"}");
    });
    let documents = DocumentClient::new(&everything_at(&server.url())).unwrap();
    let refused = soon(documents.upload(&id(A), "a.pdf", b"%PDF-".to_vec())).await;
    assert_eq!(
        refused.unwrap_err().to_string(),
        "section 4.3: HTTP 422: the file service does not take the document: {\"message\":\"password-protected[2J\"}"
    );
}

#[test]
fn every_address_obeys_the_same_rules_and_is_named_by_its_key() {
    let at = |text: &str| Some(Url::parse(text).unwrap());
    for (address, refusal) in [
        ("https://u:p@one.example", "must not contain credentials"),
        (
            "https://one.example?a=b",
            "must not have a query or a fragment",
        ),
        ("http://one.example", "must begin with https://"),
        ("http://10.0.0.1", "must begin with https://"),
        ("ftp://127.0.0.1", "must begin with https://"),
    ] {
        let good = profile("https://one.example");
        let auth = TokenClient::new(&Profile {
            auth_url: at(address),
            ..good.clone()
        });
        assert_eq!(
            auth.unwrap_err().to_string(),
            format!("the gateway's auth_url {refusal}")
        );
        let tokens = TokenClient::new(&everything_at("https://one.example")).unwrap();
        let api = LookupClient::new(
            &Profile {
                api_url: at(address),
                ..good.clone()
            },
            tokens,
        );
        assert_eq!(
            api.unwrap_err().to_string(),
            format!("the gateway's api_url {refusal}")
        );
        let files = DocumentClient::new(&Profile {
            file_service_url: at(address),
            ..good
        });
        let expected = format!("the gateway's file_service_url {refusal}");
        assert_eq!(files.unwrap_err().to_string(), expected);
    }
    let absent = TokenClient::new(&profile("https://one.example"));
    assert_eq!(
        absent.unwrap_err().to_string(),
        "the gateway's auth_url is not set"
    );
    let absent = HttpGateway::new(Profile {
        payment_bearer: true,
        ..profile("https://one.example")
    });
    assert_eq!(
        absent.unwrap_err().to_string(),
        "the gateway's auth_url is not set"
    );
}
