//! What logs, errors and debug output show: identifiers, and nothing that pays or names anyone.

use std::cell::RefCell;
use std::io;
use std::sync::Once;

use disburse::domain::{Msisdn, ServiceCode};
use disburse::gateway::{
    AccountAnswer, BillAnswer, BillInquiry, DocumentClient, Gateway, HttpGateway, Profile,
    TokenClient,
};
use tracing::level_filters::LevelFilter;

use super::around::{TOKEN, everything_at, issued, kenyan_number, lookups};
use super::payments::{A, PASSWORD, gateway, id, kenyan, outgoing, profile};
use super::server::Server;
use super::{acknowledging, soon};

thread_local! {
    static LOGGED: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
}

/// Everything that the program logs on the thread of a test, whose runtime has no other.
///
/// One subscriber for the whole process: with one for each test, a line that another test reaches first is
/// decided for all of them, and is sometimes logged by nobody.
struct Log;

impl Log {
    fn begin() {
        static SUBSCRIBED: Once = Once::new();
        SUBSCRIBED.call_once(|| {
            tracing_subscriber::fmt()
                .with_max_level(LevelFilter::TRACE)
                .with_writer(|| Self)
                .init();
        });
        LOGGED.take();
    }

    fn end() -> String {
        String::from_utf8(LOGGED.take()).unwrap()
    }
}

impl io::Write for Log {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        LOGGED.with_borrow_mut(|logged| logged.extend_from_slice(bytes));
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[tokio::test]
async fn logs_and_debug_output_hold_identifiers_only() {
    Log::begin();

    // A gateway that quotes what it was told.
    let echo = Server::start(|mut connection| {
        while connection.request().is_some() {
            connection.reply(
                "200 OK",
                r#"{"authStatus":{"authStatusCode":132,"authStatusDescription":"pa\"ss\\word of 254700000001"}}"#,
            );
        }
    });
    let posts = [outgoing(kenyan(A), Some("https://pay.example/capability"))];
    let mut shown = format!("{posts:?}");
    for server in [acknowledging(), echo] {
        let gateway = gateway(&server.url());
        soon(gateway.post(&posts)).await;
        shown.push_str(&format!("{gateway:?} {:?}", profile(&server.url())));
    }
    let unproxied = HttpGateway::new(Profile {
        proxy: Some("http://user:hunter2@".into()),
        ..profile("https://gateway.example")
    });
    shown.push_str(&format!("{:?} ", unproxied.unwrap_err()));
    let logged = Log::end();
    assert!(logged.contains(A), "{logged}");
    shown.push_str(&logged);

    for secret in [
        PASSWORD,
        "ss\\word",
        "hunter2",
        "254700000001",
        "capability",
    ] {
        assert!(!shown.contains(secret), "{secret} in {shown}");
    }
}

#[tokio::test]
async fn what_the_other_side_quotes_of_the_password_is_neither_kept_nor_shown() {
    // Bodies that quote it where a person is told of them, and where the journal keeps them.
    let quotes = [
        r#"{"authStatus":{"authStatusCode":132,"authStatusDescription":"not pa\"ss\\word"}}"#,
        r#"{"authStatus":{"authStatusCode":131},"results":[{"payerTransactionID":"AAAAAAAAAAAAAAAAAAAAAAAAAA","statusCode":174,"statusDescription":"not pa\"ss\\word"}]}"#,
        r#"[{"statusCode":174,"statusDescription":"not pa\"ss\\word"}]"#,
        r#"[{"statusCode":307,"customerName":"pa\"ss\\word"}]"#,
        r#"[{"accountNumber":"77","statusCode":306,"statusDescription":"not pa\"ss\\word"}]"#,
        r#"[{"balance":"1","currencyCode":"KES","floatAccountName":"pa\"ss\\word"}]"#,
        r#"{"error":"x","error_description":"POST /oauth/token?username=a&password=pa%22ss%5Cword"}"#,
    ];
    let service = ServiceCode::parse("WATER").unwrap();
    let posts = [outgoing(kenyan(A), None)];
    let mut shown = String::new();
    for quote in quotes {
        let server = Server::start(move |mut connection| {
            while connection.request().is_some() {
                connection.reply("200 OK", quote);
            }
        });
        let profile = everything_at(&server.url());
        let gateway = HttpGateway::new(profile.clone()).unwrap();
        shown.push_str(&format!("{:?} ", soon(gateway.post(&posts)).await));
        match soon(gateway.account(&service, "77")).await {
            Ok(AccountAnswer::Valid { customer_name, .. }) => shown.push_str(&customer_name),
            Ok(_) => {}
            Err(error) => shown.push_str(&error.to_string()),
        }
        let inquiry = BillInquiry {
            service: service.clone(),
            account_number: "77".into(),
            msisdn: None,
            id: None,
            country: None,
        };
        match soon(gateway.bills(&[inquiry])).await.as_deref() {
            Ok([BillAnswer::None { description, .. }]) => shown.push_str(description),
            other => shown.push_str(&format!("{other:?} ")),
        }
        let float = soon(gateway.float(std::slice::from_ref(&service))).await;
        shown.push_str(&format!("{float:?} "));
        let tokens = TokenClient::new(&profile).unwrap();
        shown.push_str(&format!("{:?} ", soon(tokens.bearer()).await.err()));
    }
    assert!(shown.matches("[hidden]").count() >= 7, "{shown}");
    for secret in ["ss\\word", "ss\\\\word", "ss%5Cword"] {
        assert!(!shown.contains(secret), "{secret} in {shown}");
    }
}

#[tokio::test]
async fn no_operation_shows_the_password_the_token_the_number_or_the_account() {
    Log::begin();

    let number = kenyan_number().number;
    let service = ServiceCode::parse("WATER").unwrap();
    let mut shown = String::new();
    for token in [
        issued(TOKEN, "3600"),
        // One that quotes what it was told.
        r#"{"error":"invalid_request","error_description":"pa\"ss\\word is wrong"}"#.to_owned(),
    ] {
        let server = Server::start(move |mut connection| {
            while let Some((head, _)) = connection.request_with_head() {
                if head.contains("oauth/token") {
                    connection.reply("200 OK", &token);
                } else {
                    let quote = r#"{"authStatus":{"authStatusCode":132,"authStatusDescription":"not pa\"ss\\word"},"carrier":"E"}"#;
                    connection.reply("200 OK", quote);
                }
            }
        });
        let profile = Profile {
            payment_bearer: true,
            ..everything_at(&server.url())
        };
        let gateway = HttpGateway::new(profile.clone()).unwrap();
        let tokens = TokenClient::new(&profile).unwrap();
        let lookups = lookups(&profile);
        let documents = DocumentClient::new(&profile).unwrap();
        let inquiry = BillInquiry {
            service: service.clone(),
            account_number: "0099887766".into(),
            msisdn: Msisdn::from_digits("254712345678"),
            id: None,
            country: None,
        };
        shown.push_str(&format!(
            "{profile:?} {gateway:?} {tokens:?} {lookups:?} {documents:?} {inquiry:?} "
        ));
        shown.push_str(&format!("{:?} ", soon(tokens.bearer()).await));
        shown.push_str(&format!(
            "{:?} ",
            soon(lookups.lookup(&kenyan_number())).await
        ));
        shown.push_str(&format!("{:?} ", soon(gateway.bills(&[inquiry])).await));
        shown.push_str(&format!(
            "{:?} ",
            soon(gateway.float(std::slice::from_ref(&service))).await
        ));
        shown.push_str(&format!(
            "{:?} ",
            soon(gateway.account(&service, "0099887766")).await
        ));
        let payment = id(A);
        let upload = documents.upload(&payment, "salaries.pdf", b"%PDF- hunter2".to_vec());
        shown.push_str(&format!("{:?} ", soon(upload).await));
    }
    // An endpoint that is gone is told without its address, which holds the password.
    let gone = everything_at("http://127.0.0.1:1");
    let gone = soon(TokenClient::new(&gone).unwrap().bearer())
        .await
        .unwrap_err();
    shown.push_str(&format!("{gone:?} {gone}"));
    shown.push_str(&Log::end());
    assert!(
        shown.contains("a token was issued") && shown.contains(&number.masked()),
        "{shown}"
    );
    for secret in [
        PASSWORD,
        r"ss\word",
        // As debug output and addresses write it.
        r"ss\\word",
        "ss%5Cword",
        TOKEN,
        "254712345678",
        "0099887766",
        "hunter2",
        "salaries",
    ] {
        assert!(!shown.contains(secret), "{secret} in {shown}");
    }
}
