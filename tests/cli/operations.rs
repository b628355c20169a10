//! The commands that ask one thing at a time.

use crate::desk::{CONFIGURATION, Desk};
use crate::server::Server;

const ID: &str = "AAAAAAAAAAAAAAAAAAAAAAAAAA";
const TOKEN: &str = "eyJhbGciOi.J9.c2ln";

/// A document of one page.
fn pdf() -> Vec<u8> {
    let mut document = b"%PDF-1.4\n".to_vec();
    let mut table = String::from("xref\n0 4\n0000000000 65535 f \n");
    for object in [
        "1 0 obj\n<</Type/Catalog/Pages 2 0 R>>\nendobj\n",
        "2 0 obj\n<</Type/Pages/Kids[3 0 R]/Count 1>>\nendobj\n",
        "3 0 obj\n<</Type/Page/Parent 2 0 R/MediaBox[0 0 99 99]>>\nendobj\n",
    ] {
        table.push_str(&format!("{:010} 00000 n \n", document.len()));
        document.extend_from_slice(object.as_bytes());
    }
    let start = document.len();
    let end = format!("{table}trailer\n<</Size 4/Root 1 0 R>>\nstartxref\n{start}\n%%EOF\n");
    document.extend_from_slice(end.as_bytes());
    document
}

/// A desk whose every address is this server's.
fn desk_at(server: &Server) -> Desk {
    let url = server.url();
    let addresses = format!(
        "base_url = \"{url}\"\nauth_url = \"{url}\"\napi_url = \"{url}\"\nfile_service_url = \"{url}\""
    );
    Desk::configured()
        .file(
            "disburse.toml",
            CONFIGURATION.replacen("base_url = \"http://127.0.0.1:9\"", &addresses, 1),
        )
        .file("statement.pdf", pdf())
}

/// A server that issues a token, and answers everything else alike.
fn answering(status: &'static str, reply: &'static str) -> Server {
    Server::start(move |mut connection| {
        while let Some((head, _)) = connection.request_with_head() {
            if head.starts_with("POST /api/v1/oauth/token") && status == "200 OK" {
                let token = format!(
                    r#"{{"token_type":"bearer","expires_in":3600,"access_token":"{TOKEN}","refresh_token":"R"}}"#
                );
                connection.reply(status, &token);
            } else {
                connection.reply(status, reply);
            }
        }
    })
}

const OPERATIONS: [&[&str]; 6] = [
    &["token"],
    &["lookup", "0712345678"],
    &["bill", "1234567", "--service", "WATER"],
    &["account", "1234567", "--service", "WATER"],
    &["float", "WATER"],
    &["upload", "statement.pdf", "--id", ID],
];

#[test]
fn every_operation_can_be_tried_in_the_sandbox_without_any_configuration() {
    let desk = Desk::new().file("statement.pdf", pdf());
    let mut told = String::new();
    for operation in OPERATIONS {
        for more in [&["--sandbox"][..], &["--sandbox", "--json"]] {
            let arguments = [operation, more].concat();
            let said = desk.run(&arguments).finished(0);
            assert_eq!(said.err, "", "{arguments:?}");
            told.push_str(&format!("$ disburse {}\n{}", arguments.join(" "), said.out));
            if more.contains(&"--json") {
                said.json();
            }
        }
    }
    // Instants differ from run to run.
    let told = blanked(&told);
    insta::assert_snapshot!("operations_in_the_sandbox", told);
    assert_eq!(desk.files().len(), 1, "nothing is left behind");
}

/// Replaces every date, time and reference of the sandbox's own making.
fn blanked(text: &str) -> String {
    let mut blank = String::new();
    for line in text.lines() {
        let words: Vec<String> = line
            .split_inclusive([' ', '"', ','])
            .map(|word| {
                let dated =
                    word.len() >= 10 && word.as_bytes()[4] == b'-' && word.starts_with("20");
                match (dated, word.starts_with("DOC-")) {
                    (true, _) => format!(
                        "DATE{}",
                        &word[word.trim_end_matches([' ', '"', ',']).len()..]
                    ),
                    (_, true) => format!(
                        "DOC{}",
                        &word[word.trim_end_matches([' ', '"', ',', '\\']).len()..]
                    ),
                    _ => word.to_owned(),
                }
            })
            .collect();
        blank.push_str(&words.concat());
        blank.push('\n');
    }
    blank
}

#[test]
fn every_operation_says_which_key_it_lacks_and_what_the_key_is_for() {
    // Payments can be sent, nothing else.
    let desk = Desk::configured().file("statement.pdf", pdf());
    for (operation, key, why) in [
        (
            OPERATIONS[0],
            "auth_url",
            "a token is asked for at auth_url (section 4.1)",
        ),
        (
            OPERATIONS[1],
            "api_url",
            "numbers are looked up at api_url (section 4.4)",
        ),
        (
            OPERATIONS[5],
            "file_service_url",
            "documents are uploaded to file_service_url (section 4.3)",
        ),
    ] {
        let variable = format!("DISBURSE_{}", key.to_uppercase());
        desk.refuses(
            operation,
            2,
            &[
                &format!("error: profile \"p\": not set: {key}"),
                &format!("hint: add {key} to [profiles.p] in disburse.toml, or set {variable}"),
                &format!("hint: {why}"),
            ],
        );
    }
    let half = CONFIGURATION.replacen(
        "[profiles.p]",
        "[profiles.p]\napi_url = \"http://127.0.0.1:9\"",
        1,
    );
    let said = Desk::configured()
        .file("disburse.toml", half)
        .run(OPERATIONS[1]);
    assert!(said.err.contains("not set: auth_url\n"), "{}", said.err);
    assert!(
        said.err
            .ends_with("hint: a lookup carries a token from auth_url (sections 4.1 and 4.4)\n"),
        "{}",
        said.err
    );
    assert_eq!(said.code, 2);
}

#[test]
fn what_is_wrong_with_an_argument_is_told_and_nothing_is_sent() {
    let server = answering("200 OK", "{}");
    let desk = desk_at(&server)
        .file("notes.txt", "no PDF")
        .file("cut.pdf", &pdf()[..100])
        .file("empty.pdf", "");
    let mut told = String::new();
    for arguments in [
        &["lookup", "12"][..],
        &["lookup", "712345678"],
        &["lookup", "+256772123456"],
        &["lookup", "0712345678", "--country", "XX"],
        &["bill", " ", "--service", "WATER"],
        &["bill", "1234567", "--service", "WA TER"],
        &["bill", "1234567", "--service", "WATER", "--msisdn", "12"],
        &["account", "a\u{1b}b", "--service", "WATER"],
        &["float", "a/b"],
        &["upload", "missing.pdf", "--id", ID],
        &["upload", ".", "--id", ID],
        &["upload", "notes.txt", "--id", ID],
        &["upload", "cut.pdf", "--id", ID],
        &["upload", "empty.pdf", "--id", ID],
        &["upload", "statement.pdf", "--id", "17"],
    ] {
        let said = desk.run(arguments).finished(2);
        assert_eq!(said.out, "");
        told.push_str(&format!(
            "$ disburse {}\n{}",
            arguments.join(" ").replace('\u{1b}', "ESC"),
            said.err
        ));
    }
    let small = desk_at(&server).variable("DISBURSE_DOCUMENT_BYTES_MAX", "64");
    let said = small.run(OPERATIONS[5]).finished(2);
    told.push_str(&said.err);
    insta::assert_snapshot!("operations_refused", told);
    assert_eq!(server.connections(), 0);
}

#[test]
fn a_no_an_absence_and_wrong_credentials_have_exit_codes_of_their_own() {
    let denied = r#"{"error":"invalid_request","error_description":"invalid credentials","authStatus":{"authStatusCode":132,"authStatusDescription":"no"}}"#;
    let invalid = r#"{"errorCode":400,"errorDescription":"not a phone number","results":[{"accountNumber":"1234567","statusCode":306,"statusDescription":"Invalid"}]}"#;
    for (status, reply, codes) in [
        // token, lookup, bill, account, float, upload
        ("200 OK", invalid, [0, 2, 2, 2, 2, 2]),
        ("503 Busy", "", [4, 4, 4, 4, 4, 4]),
        ("429 Slow", "", [4, 4, 4, 4, 4, 4]),
        ("404 Where", "", [2, 2, 2, 2, 2, 2]),
        ("400 Bad", denied, [5, 5, 5, 5, 5, 2]),
        ("200 OK", "<html>", [0, 1, 1, 1, 1, 0]),
    ] {
        let server = answering(status, reply);
        let desk = desk_at(&server);
        let found = OPERATIONS.map(|operation| {
            let said = desk.run(operation);
            assert_eq!(said.err.contains("error: "), said.code != 0, "{}", said.err);
            said.code
        });
        assert_eq!(found, codes, "{status} {reply}");
    }
    let desk = Desk::configured();
    let said = desk.run(OPERATIONS[2]).finished(4);
    assert_eq!(
        said.err,
        "error: the payment gateway (section 4.2): connection refused\n\
         hint: check the address and the network; nothing was changed, ask again later\n"
    );
}

#[test]
fn neither_token_nor_password_is_shown_however_much_is_logged() {
    let server = answering(
        "200 OK",
        r#"{"carrier":"Example Mobile","timeZone":"Africa/Nairobi"}"#,
    );
    for form in ["text", "json"] {
        let desk = desk_at(&server)
            .variable("DISBURSE_LOG", "trace")
            .variable("DISBURSE_PASSWORD", "s3cret-of-acme");
        for operation in OPERATIONS {
            for more in [&[][..], &["--json"]] {
                let arguments = [&["--log-format", form], operation, more].concat();
                let said = desk.run(&arguments);
                let shown = format!("{}{}", said.out, said.err);
                assert!(said.err.contains("connect"), "the log is on: {}", said.err);
                for secret in [TOKEN, "s3cret-of-acme", "password="] {
                    assert!(!shown.contains(secret), "{arguments:?}: {shown}");
                }
                assert!(
                    !said.err.contains("0712345678") && !said.err.contains("254712345678"),
                    "{}",
                    said.err
                );
            }
        }
    }
}

/// A gateway that answers posts and status queries with the codes of a script, the identifier put in.
fn scripted(post: i32, status: i32) -> Server {
    Server::start(move |mut connection| {
        while let Some(body) = connection.request() {
            let text = String::from_utf8(body).unwrap();
            let at = text.find("payerTransactionID\":\"").unwrap() + 21;
            let code = match text.contains("GATEWAY.postPayment") {
                true => post,
                false => status,
            };
            connection.reply(
                "200 OK",
                &format!(
                    r#"{{"authStatus":{{"authStatusCode":131}},"results":[{{"statusCode":{code},"payerTransactionID":"{}"}}]}}"#,
                    &text[at..at + 26]
                ),
            );
        }
    })
}

#[test]
fn a_deployments_own_codes_are_added_and_moved_from_the_configuration_to_the_payment() {
    let tables = "\n[post_codes]\n\"990\" = \"paid\"\n\"991\" = \"refused\"\n\"140\" = \"in_doubt\"\n\
                  [status_codes]\n\"770\" = \"paid\"\n\"771\" = \"failed\"\n\"772\" = \"acknowledged\"\n";
    let quick = "[profiles.p.resolution]\nfirst_query_after = \"0s\"\n\n[services.B2C_MPESA]";
    // The codes of post and status reply; where all three payments end, with the tables and without.
    for (post, status, with, without) in [
        (990, 139, ("paid", 0), ("acknowledged", 4)),
        (991, 139, ("failed", 3), ("acknowledged", 4)),
        (104, 770, ("paid", 0), ("in_doubt", 4)),
        (104, 771, ("failed", 3), ("in_doubt", 4)),
        (104, 772, ("acknowledged", 4), ("in_doubt", 4)),
        (140, 139, ("acknowledged", 4), ("paid", 0)),
    ] {
        for (tables, (state, code)) in [(tables, with), ("", without)] {
            let server = scripted(post, status);
            let configuration = CONFIGURATION
                .replacen("http://127.0.0.1:9", &server.url(), 1)
                .replacen("[services.B2C_MPESA]", quick, 1);
            let desk = Desk::configured().file("disburse.toml", format!("{configuration}{tables}"));
            let pay = [
                "pay",
                "ok.csv",
                "--batch",
                "b",
                "--yes",
                "--max-wait",
                "1s",
                "--json",
            ];
            let said = desk.run(&pay).finished(code);
            let count = &said.json()["states"][state]["count"];
            assert_eq!(count, 3, "{post} {status}: {}", said.out);
            assert_eq!(
                server.copies("GATEWAY.postPayment"),
                3,
                "each is posted once"
            );
        }
    }
}

#[test]
fn with_payment_bearer_a_run_asks_for_one_token_and_without_one_nothing_leaves() {
    let bearing = |gateway: &Server, issuer: &Server| {
        let keys = format!(
            "base_url = \"{}\"\nauth_url = \"{}\"\npayment_bearer = true",
            gateway.url(),
            issuer.url()
        );
        Desk::configured().file(
            "disburse.toml",
            CONFIGURATION.replacen("base_url = \"http://127.0.0.1:9\"", &keys, 1),
        )
    };
    let pay = ["pay", "ok.csv", "--batch", "b", "--yes", "--max-wait", "3s"];

    let (gateway, issuer) = (scripted(140, 140), answering("200 OK", ""));
    let desk = bearing(&gateway, &issuer);
    desk.run(&pay).finished(0);
    assert_eq!(issuer.copies("POST /api/v1/oauth/token"), 1);
    assert_eq!(gateway.copies(&format!("authorization: Bearer {TOKEN}")), 3);
    for kept in desk.files().into_values() {
        let token = TOKEN.as_bytes();
        assert!(!kept.windows(token.len()).any(|window| window == token));
    }

    let denied = r#"{"error":"invalid_request","error_description":"invalid credentials"}"#;
    for (status, body, code, words) in [
        ("400 Bad", denied, 5, "does not accept the credentials"),
        (
            "503 Busy",
            "",
            4,
            "the gateway cannot be reached: no token for the payments: the token endpoint (section 4.1): HTTP 503; nothing was sent",
        ),
    ] {
        let (gateway, issuer) = (scripted(140, 140), answering(status, body));
        let said = bearing(&gateway, &issuer).run(&pay).finished(code);
        assert!(said.err.contains(words), "{}", said.err);
        assert_eq!(gateway.connections(), 0);
    }
}
