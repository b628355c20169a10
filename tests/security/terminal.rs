//! Texts from files, rows and gateways cannot steer the terminal that shows them.

use std::fs;
use std::path::Path;

use serde_json::{Map, Value, json};

use crate::stub_gateway;
use crate::world::{Done, Setup, World};

/// Sets the title, clears the screen, colours, moves up, reverses the reading direction, and begins new lines.
const HOSTILE: &str = "\u{1b}]0;PWNED\u{7}\u{1b}[2J\u{1b}[31mPWNED\u{9b}1A\u{90}x\u{9c}\u{202e}321\u{2066}\u{8}\u{0}\r\nPWNED: paid\r";
/// What is left of it to a reader, and shows that it got there at all.
const SEEN: &str = "PWNED";

/// Every name under which any reply of the interface carries text.
const NAMES: [&str; 24] = [
    "authStatusDescription",
    "statusDescription",
    "gatewayTransactionID",
    "receiptNumber",
    "receiverNarration",
    "carrier",
    "timeZone",
    "error",
    "error_description",
    "message",
    "token_type",
    "reference",
    "documentReference",
    "fileName",
    "floatAccountName",
    "currency",
    "currencyCode",
    "customerName",
    "dueDate",
    "responseExtraData",
    "MSISDN",
    "serviceName",
    "description",
    "detail",
];

fn object(more: Value) -> Value {
    let hostile = NAMES
        .iter()
        .map(|name| ((*name).to_owned(), json!(HOSTILE)));
    let mut members: Map<String, Value> = hostile.collect();
    if let Value::Object(more) = more {
        members.extend(more);
    }
    Value::Object(members)
}

/// A gateway that does what it is asked and talks, or refuses and talks.
fn gateway(refuses: bool) -> String {
    stub_gateway::start(move |question| {
        if question.path.contains("oauth") {
            return match refuses {
                true => object(json!({})),
                false => {
                    object(json!({"access_token": "t", "token_type": "bearer", "expires_in": 3600}))
                }
            };
        }
        let results: Vec<Value> = question
            .packets()
            .iter()
            .map(|packet| {
                let code = match (refuses, question.is_post()) {
                    (true, _) => 110,
                    (false, true) => 139,
                    (false, false) => 140,
                };
                object(json!({
                    "statusCode": code,
                    "payerTransactionID": packet["payerTransactionID"],
                    "serviceCode": packet["serviceCode"],
                    "accountNumber": packet["accountNumber"],
                    "dueAmount": if refuses { json!(HOSTILE) } else { json!(10) },
                    "balance": if refuses { json!(HOSTILE) } else { json!(10) },
                }))
            })
            .collect();
        let answer = if refuses { 132 } else { 131 };
        let known =
            json!({"authStatus": object(json!({"authStatusCode": answer})), "results": results});
        object(known)
    })
}

/// A batch in which every cell that may be text is hostile, in files with hostile names.
fn world(refuses: bool) -> World {
    let world = World::new(&Setup {
        more: "",
        ..Setup::default()
    })
    .towards(&gateway(refuses));
    let services = "[services.WATER]\nkind = \"bill_postpaid\"\ncurrency_code = \"KES\"\n[services.RTGS]\nkind = \"rtgs\"\ncurrency_code = \"KES\"\n\
                    [services.B2C_MPESA]\nkind = \"mobile_money\"\ncurrency_code = \"KES\"\n";
    world.write(
        "disburse.toml",
        &format!("{}{services}", world.read("disburse.toml")),
    );
    let header = [
        "reference",
        "service_code",
        "msisdn",
        "account_number",
        "amount",
        "currency_code",
        "country_code",
        "narration",
        "customer_names",
        "invoice_number",
        "payment_mode",
        "hub_id",
        "document",
        "extra.note",
        "bank_code",
    ];
    let mut writer = csv::Writer::from_path(world.path("bad.csv")).unwrap();
    writer.write_record(header).unwrap();
    let good = [
        "R",
        "B2C_MPESA",
        "254712345678",
        "",
        "10.00",
        "KES",
        "KE",
        "",
        "",
        "",
        "",
        "",
        "",
        "",
        "",
    ];
    for column in 0..header.len() {
        let mut row = good.map(str::to_owned);
        row[0] = format!("R{column}");
        row[column] = HOSTILE.to_owned();
        writer.write_record(&row).unwrap();
    }
    writer.flush().unwrap();
    world.write(
        "header.csv",
        &format!("amount,msisdn,\"{HOSTILE}\"\n1,2,3\n"),
    );
    world.write(
        "bad.json",
        &json!([{"amount": HOSTILE, "msisdn": HOSTILE, HOSTILE: 1}]).to_string(),
    );
    world.write("torn.json", &format!("[{{\"amount\": \"{HOSTILE}\"}}"));
    world.write("good.csv", "reference,service_code,msisdn,amount,currency_code\nA,B2C_MPESA,254712345678,10.00,KES\nB,B2C_MPESA,254712345679,20.00,KES\n");
    let sample = Path::new(env!("CARGO_MANIFEST_DIR")).join("samples/documents/bank-statement.pdf");
    fs::copy(sample, world.path("a.pdf")).unwrap();
    world
}

#[track_caller]
fn is_clean(done: &Done) {
    for (stream, text) in [("stdout", &done.out), ("stderr", &done.err)] {
        let steers = |c: char| {
            c.is_control() && c != '\n'
                || matches!(c, '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
        };
        if let Some(at) = text.find(steers) {
            let start = text[..at].rfind('\n').map_or(0, |at| at + 1);
            panic!(
                "{stream} of `{}` has {:?} in {:?}",
                done.what,
                text[at..].chars().next(),
                &text[start..text.len().min(start + 400)]
            );
        }
        // A line at the margin would pass for the program's; one that goes on with another is indented.
        assert!(
            !text.lines().any(|line| line.starts_with("PWNED: paid")),
            "{stream} of `{}` has a line that the program did not begin: {text}",
            done.what
        );
    }
}

/// Runs commands with much to say, in both forms of the log; returns how many showed some of the hostile text.
#[track_caller]
fn shown(world: &World, commands: &[&[&str]]) -> usize {
    let mut seen = 0;
    for command in commands {
        for more in [&["-vv"][..], &["-vv", "--log-format", "json"], &["--json"]] {
            let done = world.disburse(&[command, more].concat());
            is_clean(&done);
            seen += usize::from(done.out.contains(SEEN) || done.err.contains(SEEN));
        }
    }
    seen
}

#[test]
fn a_hostile_file_cannot_steer_the_terminal() {
    let world = world(false);
    let name = format!("{}.csv", HOSTILE.replace('\0', ""));
    fs::copy(world.path("bad.csv"), world.path(&name)).unwrap();
    let missing = format!("missing-{}", HOSTILE.replace('\0', ""));
    let seen = shown(
        &world,
        &[
            &["check", "bad.csv"],
            &["check", "bad.json"],
            &["check", "torn.json"],
            &["check", "header.csv"],
            &["check", &name],
            &["check", &missing],
            &["load", "bad.csv", "--batch", "b"],
            &["load", "bad.csv", "--batch", "c", "--on-error", "skip"],
            &[
                "load",
                &name,
                "--batch",
                "d",
                "--on-error",
                "skip",
                "--allow-same-content",
            ],
            &["run", "c", "--yes"],
            &["status", "c"],
            &["explain", "c", "R7"],
            &["explain", "c", &missing],
            &["report", "c", "--out", "r"],
            &["report", "c", "--out", &missing],
            &["status", "--journal", &missing],
            &["status", &missing],
            &["check", "good.csv", "--service", &missing],
            &["check", "good.csv", "--encoding", &missing],
            &["upload", &missing, "--id", "0123456789ABCDEFGHJKMNPQRS"],
            &["config", "show", "--config", &missing],
            &["config", "show", "--profile", &missing],
        ],
    );
    assert!(
        seen > 20,
        "only {seen} commands had anything hostile to show"
    );
}

#[test]
fn a_hostile_gateway_cannot_steer_the_terminal() {
    for refuses in [false, true] {
        let world = world(refuses);
        world.expect(0, &["load", "good.csv", "--batch", "b"]);
        let seen = shown(
            &world,
            &[
                &["token"],
                &["lookup", "254712345678"],
                &["bill", "12850617", "--service", "WATER"],
                &["account", "12850617", "--service", "WATER"],
                &["float"],
                &["float", "B2C_MPESA"],
                &["upload", "a.pdf", "--id", "0123456789ABCDEFGHJKMNPQRS"],
                &["check", "good.csv", "--lookup"],
                &["run", "b", "--yes"],
                &["status", "b"],
                &["explain", "b", "A"],
                &["explain", "b", "B", "--reveal"],
                &["report", "b", "--out", "r"],
                &["retry", "b", "--code", "110"],
                &["retry", "b", "--code", "110", "--yes"],
                &[
                    "resolve",
                    "b",
                    "A",
                    "--paid",
                    "--reason",
                    HOSTILE.trim_matches('\0').split('\0').next().unwrap(),
                    "--evidence",
                    "x",
                    "--yes",
                ],
                &["explain", "b", "A"],
            ],
        );
        assert!(
            seen > 8,
            "refuses {refuses}: only {seen} commands had anything hostile to show"
        );
    }
}
