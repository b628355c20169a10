//! A gateway that repeats the password in every text it has, sells tokens in every shape, and answers with nothing but
//! brackets: what is kept, what is lost, and how much memory it takes.

use std::collections::BTreeMap;
use std::fs;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use data_encoding::{BASE64, HEXLOWER, HEXUPPER};
use serde_json::{Value, json};

use crate::stub_gateway;
use crate::world::{Setup, World};

const SERVICES: &str = "[services.ELECTRICITY]\nkind = \"bill_prepaid\"\ncurrency_code = \"KES\"\n[services.B2C_MPESA]\nkind = \"mobile_money\"\ncurrency_code = \"KES\"\n";

/// A batch of prepaid electricity; the meter tells which row a payment is of.
fn world(url: &str, rows: usize, password: &str) -> World {
    let mut world = World::new(&Setup::default()).towards(url);
    world.set("DISBURSE_PASSWORD", password);
    world.set("DISBURSE_LOG", "trace");
    world.write(
        "disburse.toml",
        &format!("{}{SERVICES}", world.read("disburse.toml")),
    );
    let rows: String = (0..rows)
        .map(|n| format!("E{n},ELECTRICITY,254712345678,600000{n:04},100.00\n"))
        .collect();
    world.write(
        "batch.csv",
        &format!("reference,service_code,msisdn,account_number,amount\n{rows}"),
    );
    world
}

/// A gateway that acknowledges, and answers each status query with what `said` has for that row.
fn gateway(said: impl Fn(usize) -> Value + Send + Sync + 'static) -> String {
    let rows: Mutex<BTreeMap<String, usize>> = Mutex::default();
    stub_gateway::start(move |question| {
        let mut rows = rows.lock().unwrap();
        let results: Vec<Value> = question
            .packets()
            .iter()
            .map(|packet| {
                let id = packet["payerTransactionID"]
                    .as_str()
                    .unwrap_or("")
                    .to_owned();
                if let Some(meter) = packet["accountNumber"].as_str() {
                    rows.insert(id.clone(), meter[6..].parse().unwrap());
                }
                if question.is_post() {
                    return json!({"payerTransactionID": id, "statusCode": 139});
                }
                let mut entry = said(rows[&id]);
                entry["payerTransactionID"] = json!(id);
                entry["statusCode"] = json!(140);
                entry
            })
            .collect();
        json!({"authStatus": {"authStatusCode": 131}, "results": results})
    })
}

fn report(world: &World) -> (Value, Vec<BTreeMap<String, String>>) {
    world.expect(0, &["report", "b", "--out", "report"]);
    let json = serde_json::from_str(&world.read("report/report.json")).unwrap();
    let mut reader = csv::Reader::from_path(world.path("report/payments.csv")).unwrap();
    let rows = reader.deserialize().collect::<Result<_, _>>().unwrap();
    (json, rows)
}

/// Every byte of every file in the world's folder but the configuration.
fn everything(folder: &std::path::Path) -> Vec<(String, Vec<u8>)> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.extend(everything(&path));
        } else {
            found.push((path.display().to_string(), fs::read(&path).unwrap()));
        }
    }
    found
}

#[test]
fn a_password_that_the_gateway_repeats_is_in_no_file() {
    const PASSWORD: &str = "pa\"ss\\ Kanarienvogel4711 &ü";
    let address = reqwest::Url::parse_with_params("https://x", [("p", PASSWORD)]).unwrap();
    let form = address.query().unwrap().to_owned();
    let basic = BASE64.encode(format!("acme:{PASSWORD}").as_bytes());
    let percent = PASSWORD
        .bytes()
        .map(|byte| format!("%{byte:02x}"))
        .collect();
    let cut = |at: usize| format!("{}{PASSWORD}", "x".repeat(at));
    let forms = vec![
        PASSWORD.to_owned(),
        form.replace('+', "%20"),
        form,
        serde_json::to_string(PASSWORD).unwrap(),
        PASSWORD.replace('"', "&quot;").replace('&', "&amp;"),
        PASSWORD.replace("vogel", "\nvo\r\ngel"),
        format!("Basic {basic}"),
        PASSWORD.to_uppercase(),
        PASSWORD.to_lowercase(),
        PASSWORD.chars().rev().collect(),
        HEXLOWER.encode(PASSWORD.as_bytes()),
        HEXUPPER.encode(PASSWORD.as_bytes()),
        percent,
        cut(495),
        cut(500),
        cut(508),
        cut(64 * 1024 - 20),
    ];
    let count = forms.len();
    let url = gateway(move |row| {
        let said = &forms[row];
        json!({
            "statusDescription": said, "gatewayTransactionID": said, "receiptNumber": [said],
            "receiverNarration": {"deep": [{"said": said}]}, "amount": "100.00", "extra": said,
        })
    });
    let world = world(&url, count, PASSWORD);
    world.expect(0, &["pay", "batch.csv", "--batch", "b", "--yes"]);
    report(&world);
    for row in 0..count {
        world.expect(0, &["explain", "b", &format!("E{row}"), "--reveal"]);
    }
    let parts = [
        "Kanari",
        "narienv",
        "nvogel",
        "gel4711",
        "KANARI",
        "kanari",
        "1174leg",
        "NVOGEL",
        "4b616e61",
        "4B616E61",
        "%4b%61%6e",
        &basic[8..18],
        &basic[16..26],
    ];
    for (path, bytes) in everything(&world.path("")) {
        for part in parts {
            let found = bytes
                .windows(part.len())
                .any(|window| window == part.as_bytes());
            assert!(!found, "{part} is in {path}");
        }
    }
    assert!(world.read("report/report.json").contains("[hidden]"));
}

#[test]
fn a_password_of_digits_takes_nothing_from_a_token() {
    const TOKEN: &str = "48151623420815479011";
    for password in ["4815", "1623", "48151623", "0815"] {
        let grouped = "4815-1623-4208-1547-9011";
        let url = gateway(move |row| match row {
            0 => json!({"receiverNarration": format!("Token: {TOKEN} PIN {password}.")}),
            _ => {
                json!({"receiverNarration": format!("Token: 4815 1623 4208 1547 9011\nPIN={password}")})
            }
        });
        let world = world(&url, 2, password);
        world.expect(0, &["pay", "batch.csv", "--batch", "b", "--yes"]);
        let (json, rows) = report(&world);
        for (row, payment) in rows.iter().zip(json["payments"].as_array().unwrap()) {
            assert_eq!(row["electricity_token"].trim_start_matches('\''), grouped);
            let narration = payment["receiver_narration"].as_str().unwrap();
            assert!(narration.contains("[hidden]"), "{narration}");
        }
    }
}

#[test]
fn a_prepaid_token_in_any_shape_is_kept_as_it_came_and_read() {
    let token = |row: usize| format!("{:020}", 12_345_678_901_234_567_890_u64 + row as u64);
    let groups = move |row: usize, between: &str| {
        let token = token(row);
        let parts: Vec<&str> = (0..5).map(|n| &token[n * 4..n * 4 + 4]).collect();
        parts.join(between)
    };
    let long = " ".repeat(60_000);
    let shapes: Vec<Value> = vec![
        json!(format!("Token: {}\nUnits: 32.5", token(0))),
        json!({"token": token(1), "units": "32.5"}),
        json!([{"token": groups(2, "-")}, {"units": 32.5}]),
        json!([token(3)]),
        json!(json!({"stsToken": groups(4, " "), "units": 32.5}).to_string()),
        json!(json!(["Token:\r\n", groups(5, "\n"), "\n"]).to_string()),
        serde_json::from_str(&token(6)).unwrap(),
        json!({"data": json!({"lines": format!("Token:\n{}\nUnits 7", groups(7, "\n"))}).to_string()}),
        json!({"a": {"b": [[{"token": token(8)}]]}}),
        json!(format!("{long}Token: {}", token(9))),
        json!({"padding": long, "token": token(10)}),
    ];
    let count = shapes.len();
    let sent = shapes.clone();
    let url =
        gateway(move |row| json!({"receiverNarration": sent[row], "receiptNumber": {"no": row}}));
    let world = world(&url, count, "s3cret/s3cret");
    world.expect(0, &["pay", "batch.csv", "--batch", "b", "--yes"]);
    let (json, rows) = report(&world);
    for (row, payment) in json["payments"].as_array().unwrap().iter().enumerate() {
        assert_eq!(payment["state"], "paid");
        assert_eq!(payment["electricity_token"], token(row), "{}", shapes[row]);
        assert_eq!(
            rows[row]["electricity_token"].trim_start_matches('\''),
            groups(row, "-")
        );
        let kept = payment["receiver_narration"].as_str().unwrap();
        match &shapes[row] {
            Value::String(text) => assert_eq!(kept, text),
            // The form of the JSON is the gateway's.
            shape => assert_eq!(&serde_json::from_str::<Value>(kept).unwrap(), shape),
        }
        assert_eq!(payment["receipt_number"], format!(r#"{{"no":{row}}}"#));
    }
}

#[test]
fn a_reply_of_nothing_but_brackets_takes_no_more_memory_than_its_length() {
    let (pid, before, after) = (
        Arc::new(AtomicU32::new(0)),
        Arc::new(AtomicU64::new(0)),
        Arc::new(AtomicU64::new(0)),
    );
    let (process, first, peak) = (Arc::clone(&pid), Arc::clone(&before), Arc::clone(&after));
    let url = stub_gateway::start(move |question| {
        let id = question.packets()[0]["payerTransactionID"].clone();
        if question.is_post() {
            first.store(most(&process), Ordering::SeqCst);
            // 4 MiB at most: 1.3 million entries about nobody.
            let nothing = vec![json!({}); 1_390_000];
            return json!({"authStatus": {"authStatusCode": 131}, "results": nothing});
        }
        peak.store(most(&process), Ordering::SeqCst);
        let entry = json!({"payerTransactionID": id, "statusCode": 140});
        json!({"authStatus": {"authStatusCode": 131}, "results": [entry]})
    });
    let world = world(&url, 1, "s3cret/s3cret");
    world.expect(0, &["load", "batch.csv", "--batch", "b"]);
    let run = world.start(&["run", "b", "--yes"]);
    pid.store(run.id(), Ordering::SeqCst);
    let done = run.wait();
    assert_eq!(done.code, Some(0), "{done:?}");
    let (before, after) = (before.load(Ordering::SeqCst), after.load(Ordering::SeqCst));
    let grown = after - before;
    // The reply itself, as it was read and as it grew, and room for the allocator.
    assert!(
        before > 0 && grown < 48 * 1024,
        "memory grew by {grown} KiB"
    );
    println!("a reply of 4 MiB of brackets: memory +{grown} KiB");
}

/// The most memory that a process ever had, in KiB.
fn most(process: &AtomicU32) -> u64 {
    let pid = loop {
        match process.load(Ordering::SeqCst) {
            0 => std::thread::yield_now(),
            pid => break pid,
        }
    };
    let status = fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
    let line = status
        .lines()
        .find(|line| line.starts_with("VmHWM"))
        .unwrap();
    line.split_whitespace().nth(1).unwrap().parse().unwrap()
}
