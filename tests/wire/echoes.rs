//! A gateway that repeats our secrets in every text it has: none of them is kept or shown, in whatever form it comes.

use data_encoding::BASE64;
use disburse::gateway::{
    AccountAnswer, BillAnswer, DocumentClient, Gateway, HttpGateway, LookupClient, Profile,
    TokenClient, read_callback,
};
use disburse::lifecycle::CodeTable;
use secrecy::SecretString;
use serde_json::json;

use super::around::{bill, everything_at, issued, kenyan_number, service};
use super::payments::{A, about, id, one};
use super::server::Server;
use super::soon;

const PASSWORD: &str = "Kanarien \"vogel\\4711&<ü";
const BEARER: &str = "opaque.bearer_token-0815";

/// The password as different programs would write it, and where a length limit of ours cuts it in two.
fn forms() -> Vec<String> {
    let address = reqwest::Url::parse_with_params("https://x", [("p", PASSWORD)]).unwrap();
    let form = address.query().unwrap().to_owned();
    let json = serde_json::to_string(PASSWORD).unwrap();
    vec![
        PASSWORD.to_owned(),
        json.trim_matches('"').to_owned(),
        serde_json::to_string(&json).unwrap(),
        form.replace('+', "%20"),
        form,
        PASSWORD
            .replace('&', "&amp;")
            .replace('<', "&lt;")
            .replace('"', "&quot;"),
        PASSWORD.replace("vogel", "vo\n\rgel"),
        format!(
            "Basic {}",
            BASE64.encode(format!("acme:{PASSWORD}").as_bytes())
        ),
        format!("{}{PASSWORD}", "x".repeat(500)),
        format!("{}{PASSWORD}", "x".repeat(505)),
        format!("{}{PASSWORD}", "ü".repeat(508)),
        format!("{}{PASSWORD}", "y".repeat(64 * 1024 - 9)),
        BEARER.to_owned(),
        format!("{}{BEARER}", "z".repeat(504)),
        "refresh-token-4242".to_owned(),
    ]
}

/// What no file may hold: any longer part of a secret.
fn assert_clean(shown: &str, form: &str) {
    let forbidden = [
        "Kanari",
        "anarie",
        "vogel",
        "4711",
        "opaque.b",
        "bearer_t",
        "n-0815",
        "refresh-to",
        "n-4242",
    ];
    let encoded = BASE64.encode(format!("acme:{PASSWORD}").as_bytes());
    let parts = forbidden
        .iter()
        .copied()
        .chain([&encoded[6..14], &encoded[12..20]]);
    for part in parts {
        assert!(
            !shown.contains(part),
            "{part} of {form:.60} in {shown:.2000}"
        );
    }
}

fn client(server: &Server) -> (Profile, HttpGateway) {
    let profile = Profile {
        payment_bearer: true,
        password: SecretString::from(PASSWORD),
        ..everything_at(&server.url())
    };
    let gateway = HttpGateway::new(profile.clone()).unwrap();
    (profile, gateway)
}

#[tokio::test]
async fn no_secret_that_is_repeated_in_any_form_is_kept_or_shown() {
    for form in forms() {
        let echo = json!({
            "authStatus": {"authStatusCode": 131, "authStatusDescription": form},
            "results": [{
                "payerTransactionID": A, "statusCode": 140, "statusDescription": form,
                "gatewayTransactionID": form, "receiptNumber": [form, {"deep": [form]}],
                "receiverNarration": {"said": [form], "again": json!({"x": form}).to_string()},
                "amount": form, "serviceCode": "WATER", "accountNumber": "77", "dueAmount": form,
                "currency": form, "currencyCode": "KES", "balance": "1", "floatAccountName": form,
                "dueDate": form, "customerName": form,
            }],
            "error": form, "error_description": form, "carrier": form, "timeZone": form,
            "message": form, "reference": form, "data": {"id": form},
        })
        .to_string();
        for (auth, code) in [(131, 140), (131, 306), (131, 307), (132, 140), (174, 140)] {
            let reply = echo
                .replace(
                    "\"authStatusCode\":131",
                    &format!("\"authStatusCode\":{auth}"),
                )
                .replace("\"statusCode\":140", &format!("\"statusCode\":{code}"));
            let server = Server::start(move |mut connection| {
                let mut first = true;
                while let Some((head, _)) = connection.request_with_head() {
                    if head.contains("oauth/token") && first {
                        first = false;
                        let token = issued(BEARER, "3600").replace("<R>", "refresh-token-4242");
                        connection.reply("200 OK", &token);
                    } else {
                        connection.reply("200 OK", &reply);
                    }
                }
            });
            let (profile, gateway) = client(&server);
            let mut shown = String::new();
            for reply in [
                soon(gateway.post(&one(A))).await,
                soon(gateway.query(&about(A))).await,
            ] {
                let said = &reply.outcomes[0].said;
                // Debug output leaves out what is kept all the same.
                shown += &format!(
                    "{reply:?} {:?} {:?} {:?} ",
                    said.receipt_number, said.receiver_narration, said.gateway_transaction_id
                );
            }
            match soon(gateway.bills(&[bill("WATER", "77")])).await.as_deref() {
                Ok([BillAnswer::None { description, .. }]) => shown += description,
                Ok([BillAnswer::Due(bill)]) => shown += &bill.customer_name,
                other => shown += &format!("{other:?} "),
            }
            match soon(gateway.account(&service("WATER"), "77")).await {
                Ok(AccountAnswer::Valid {
                    customer_name,
                    description,
                }) => {
                    shown += &format!("{customer_name} {description} ");
                }
                Ok(
                    AccountAnswer::Invalid { description }
                    | AccountAnswer::Unavailable { description },
                ) => {
                    shown += &description;
                }
                Err(error) => shown += &format!("{error} "),
            }
            shown += &format!("{:?} ", soon(gateway.float(&[service("WATER")])).await);
            let tokens = TokenClient::new(&profile).unwrap();
            let lookups = LookupClient::new(&profile, tokens).unwrap();
            shown += &format!("{:?} ", soon(lookups.lookup(&kenyan_number())).await);
            // The file service is told no token, and its client knows none.
            if !form.contains("oken") {
                let documents = DocumentClient::new(&profile).unwrap();
                let payment = id(A);
                let upload = documents.upload(&payment, "a.pdf", b"%PDF-".to_vec());
                shown += &format!("{:?} ", soon(upload).await);
            }
            assert_clean(&shown, &form);
            assert!(
                shown.contains("[hid") || form.starts_with('y'),
                "{form:.60}: {shown:.2000}"
            );
        }
    }
}

#[tokio::test]
async fn a_token_endpoint_that_repeats_what_it_was_told_shows_nothing_of_it() {
    for form in forms().into_iter().filter(|form| !form.contains("oken")) {
        for (status, error) in [
            ("400 Bad", "invalid_request"),
            ("401 No", "x"),
            ("400 Bad", "missing parameters"),
            ("200 OK", ""),
        ] {
            let error = if error.is_empty() {
                form.as_str()
            } else {
                error
            };
            let reply = json!({"error": error, "error_description": form}).to_string();
            let server = Server::start(move |mut connection| {
                while connection.request().is_some() {
                    connection.reply(status, &reply);
                }
            });
            let (profile, gateway) = client(&server);
            let refused = soon(TokenClient::new(&profile).unwrap().bearer())
                .await
                .unwrap_err();
            let posted = soon(gateway.post(&one(A))).await;
            assert_clean(&format!("{refused} {refused:?} {posted:?}"), &form);
        }
    }
}

#[test]
fn a_callback_that_repeats_them_is_read_without_them() {
    let server = Server::start(|mut connection| connection.drain());
    let (_, gateway) = client(&server);
    let scrub = gateway.secrets().scrub();
    for form in forms().into_iter().filter(|form| !form.contains("oken")) {
        let body = json!({
            "function": "GATEWAY.pushPaymentStatus",
            "payload": {"packet": {
                "payerTransactionID": A, "statusCode": 140, "statusDescription": form,
                "gatewayTransactionID": form, "receiptNumber": form, "receiverNarration": [form], "amount": form,
            }},
        });
        let notice =
            read_callback(body.to_string().as_bytes(), &CodeTable::default(), &scrub).unwrap();
        let said = &notice.said;
        let shown = format!(
            "{notice:?} {:?} {:?} {:?}",
            said.receipt_number, said.receiver_narration, said.gateway_transaction_id
        );
        assert_clean(&shown, &form);
    }
}
