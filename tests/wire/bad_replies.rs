//! Every operation around the payments against servers that misbehave.

use std::time::Duration;

use disburse::dialect::Dialect;
use disburse::gateway::wire;

use disburse::gateway::{
    DocumentClient, HttpGateway, LookupClient, OperationError, Profile, Scrub, TokenClient,
};

use proptest::prelude::*;

use super::around::{bill, everything_at, issuing, kenyan_number, service};
use super::payments::{A, id};
use super::server::{Connection, Server};
use super::{settle, soon};

/// What a server may do to a request, each with its name.
type Mischief = (&'static str, fn(&mut Connection<'_>));

const MISCHIEF: [Mischief; 18] = [
    ("empty", |c| c.reply("200 OK", "")),
    ("a page", |c| c.reply("200 OK", "<html>Welcome</html>")),
    ("cut JSON", |c| {
        c.reply("200 OK", r#"{"access_token":"abc","carrier":"E"#)
    }),
    ("another form", |c| c.reply("200 OK", r#"{"unrelated":1}"#)),
    ("a number", |c| c.reply("200 OK", "7")),
    ("deep", |c| c.reply("200 OK", &"[".repeat(60_000))),
    ("huge", |c| {
        c.send(format!(
            "HTTP/1.1 200 OK\r\ncontent-length: {}\r\n\r\n",
            10 * 1024 * 1024
        ));
        c.send(vec![b' '; 4096]);
    }),
    ("half a body", |c| {
        c.send("HTTP/1.1 200 OK\r\ncontent-length: 900\r\n\r\n{\"access")
    }),
    ("no HTTP", |c| c.send("\0\0\0 out of order\r\n\r\n")),
    ("hang-up", |_| {}),
    ("400 with a page", |c| {
        c.reply("400 Bad", "<html>Bad</html>")
    }),
    ("401", |c| {
        c.send("HTTP/1.1 401 Who\r\nconnection: close\r\ncontent-length: 0\r\n\r\n")
    }),
    ("403", |c| c.reply("403 No", "<html>No</html>")),
    ("404", |c| c.reply("404 Where", "<html>Where</html>")),
    ("429", |c| {
        c.send("HTTP/1.1 429 Slow\r\nretry-after: 7\r\ncontent-length: 0\r\n\r\n")
    }),
    ("500 with success", |c| {
        c.reply("500 Oops", r#"{"access_token":"abc","carrier":"E","timeZone":"Z","reference":"R","results":[{"accountNumber":"77","statusCode":307}]}"#)
    }),
    ("503", |c| c.reply("503 Busy", "")),
    ("silence", |c| c.drain()),
];

/// Tells an error with its kind.
fn kind(error: &OperationError) -> String {
    let kind = match error {
        OperationError::Refused { .. } => "refused",
        OperationError::NotANumber(_) => "not a number",
        OperationError::NotOffered(_) => "not offered",
        OperationError::Credentials { .. } => "credentials",
        OperationError::Unavailable(_) => "unavailable",
        OperationError::Unreadable { .. } => "unreadable",
    };
    format!("{kind}: {error}")
}

/// Does every operation once against a server and tells what came of each.
async fn all_operations(profile: &Profile, token: &TokenClient) -> Vec<(&'static str, String)> {
    // Each with connections of its own: one that is closing is no part of these tests.
    let gateway = || HttpGateway::new(profile.clone()).unwrap();
    let lookups = LookupClient::new(profile, token.clone()).unwrap();
    let documents = DocumentClient::new(profile).unwrap();
    fn told<T>(outcome: Result<T, OperationError>) -> String {
        outcome.map_or_else(|error| kind(&error), |_| "taken".to_owned())
    }
    let fresh = TokenClient::new(profile).unwrap();
    let (number, payment) = (kenyan_number(), id(A));
    let (biller, bills) = (service("WATER"), [bill("WATER", "77")]);
    let (asking_bills, asking_float, asking_account) = (gateway(), gateway(), gateway());
    let services = [biller.clone()];
    let all = tokio::join!(
        soon(fresh.bearer()),
        soon(lookups.lookup(&number)),
        soon(documents.upload(&payment, "a.pdf", b"%PDF-".to_vec())),
        soon(asking_bills.bills(&bills)),
        soon(asking_float.float(&services)),
        soon(asking_account.account(&biller, "77")),
    );
    vec![
        ("token", told(all.0)),
        ("lookup", told(all.1)),
        ("upload", told(all.2)),
        ("bill", told(all.3)),
        ("float", told(all.4)),
        ("account", told(all.5)),
    ]
}

#[tokio::test]
async fn every_bad_reply_to_every_operation_has_its_own_plain_words_and_is_not_asked_twice() {
    // Tokens for the lookups come from a place that works.
    let issuer = issuing("");
    let mut table = String::new();
    for (name, mischief) in MISCHIEF {
        let server = Server::start(move |mut connection| {
            if connection.request().is_some() {
                mischief(&mut connection);
            }
        });
        let mut profile = everything_at(&server.url());
        if name == "silence" {
            profile.request_timeout = Duration::from_millis(900);
        }
        let tokens = TokenClient::new(&everything_at(&issuer.url())).unwrap();
        let told = all_operations(&profile, &tokens).await;
        // A lookup that was told its token is no good asks once more; nothing else ever does.
        let most = if name == "401" { 7 } else { 6 };
        assert_eq!(server.connections(), most, "{name}");
        table.push_str(&format!("{name}\n"));
        for (operation, words) in told {
            table.push_str(&format!("  {operation:8} {words}\n"));
        }
    }
    insta::assert_snapshot!("bad_replies", table);
}

#[tokio::test]
async fn no_operation_follows_a_redirect() {
    for status in [
        "301 Moved",
        "302 Found",
        "303 See",
        "307 Temporary",
        "308 Permanent",
    ] {
        let elsewhere = issuing("[]");
        let location = elsewhere.url();
        let server = Server::start(move |mut connection| {
            connection.request();
            connection.send(format!(
                "HTTP/1.1 {status}\r\nlocation: {location}/\r\ncontent-length: 0\r\n\r\n"
            ));
        });
        let issuer = issuing("");
        let tokens = TokenClient::new(&everything_at(&issuer.url())).unwrap();
        for (operation, words) in all_operations(&everything_at(&server.url()), &tokens).await {
            assert!(words.starts_with("refused: "), "{operation}: {words}");
            assert!(
                words.contains("this is not the address of"),
                "{operation}: {words}"
            );
        }
        settle().await;
        assert_eq!(
            (elsewhere.connections(), server.connections()),
            (0, 6),
            "{status}"
        );
    }
}

/// Texts that look like replies, with every part now and then missing, foreign, doubled or damaged.
fn near_reply() -> impl Strategy<Value = String> {
    let value = prop::sample::select(vec![
        "131",
        "308",
        "\"308\"",
        "307",
        "1e999",
        "-0",
        "null",
        "{}",
        "[]",
        "\"\"",
        "\"77\"",
        "77",
        "\"[\\\"\\\"]\"",
        "true",
        "\"KES\"",
        "99999999999999999999999999",
        "\"\\ud800\"",
    ]);
    let name = prop::sample::select(vec![
        "accountNumber",
        "serviceCode",
        "statusCode",
        "dueAmount",
        "currency",
        "balance",
        "currencyCode",
        "floatAccountName",
        "access_token",
        "expires_in",
        "token_type",
        "error",
        "carrier",
        "timeZone",
        "errorCode",
        "message",
        "reference",
        "id",
        "success",
    ]);
    let entry = prop::collection::vec((name, value), 0..6).prop_map(|members| {
        let members: Vec<String> = members
            .iter()
            .map(|(name, value)| format!("\"{name}\":{value}"))
            .collect();
        format!("{{{}}}", members.join(","))
    });
    let around = prop::sample::select(vec![
        "E",
        "[E]",
        "[E,E]",
        r#"{"results":[E]}"#,
        r#"{"authStatus":E,"results":E}"#,
        r#"{"authStatus":{"authStatusCode":131},"results":[E]}"#,
        r#"{"data":E}"#,
        r#"{"data":[E],"success":true}"#,
    ]);
    (around, entry, 0_usize..2_000).prop_map(|(around, entry, cut)| {
        let body = around.replace('E', &entry);
        let cut = (0..=cut.min(body.len()))
            .rev()
            .find(|at| body.is_char_boundary(*at));
        body[..cut.unwrap_or(0)].to_owned()
    })
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn no_bytes_panic_in_any_reader(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        let _ = wire::read_accounts(&bytes, &Scrub::nothing());
        let _ = wire::read_float(&bytes, &Scrub::nothing());
        let _ = wire::read_token(&bytes, &Scrub::nothing());
        let _ = wire::read_lookup(&bytes, &Scrub::nothing());
        let _ = wire::document_reference(&bytes, &Scrub::nothing(), &Dialect::document().replies);
    }

    #[test]
    fn what_is_read_stands_in_the_reply(body in near_reply()) {
        let bytes = body.as_bytes();
        // As the texts are once they are read.
        let body = body.replace('\\', "");
        for entry in wire::read_accounts(bytes, &Scrub::nothing()).map(|reply| reply.entries).unwrap_or_default() {
            for text in [entry.account, entry.service, entry.due].into_iter().flatten() {
                prop_assert!(body.contains(&text), "{text} in {body}");
            }
        }
        for entry in wire::read_float(bytes, &Scrub::nothing()).map(|reply| reply.entries).unwrap_or_default() {
            prop_assert!(entry.balance.is_none_or(|text| body.contains(&text)));
        }
        if let Some(reference) = wire::document_reference(bytes, &Scrub::nothing(), &Dialect::document().replies) {
            prop_assert!(!reference.is_empty() && body.contains(&reference));
        }
        let _ = wire::read_token(bytes, &Scrub::nothing());
        let _ = wire::read_lookup(bytes, &Scrub::nothing());
    }
}
