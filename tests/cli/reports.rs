//! What comes out: standing, report, one payment's evidence, the configuration; for a person and for a program.

use std::fs;

use serde_json::{Value, json};

use crate::desk::{CONFIGURATION, Desk};

/// A desk on which batch `b` is paid.
fn paid() -> Desk {
    let desk = Desk::with_rows();
    desk.run(&[
        "pay",
        "ok.csv",
        "--batch",
        "b",
        "--sandbox",
        "--faults",
        "none",
        "--out",
        "r",
    ])
    .finished(0);
    desk
}

#[test]
fn a_load_for_programs() {
    let desk = Desk::with_rows();
    let said = desk
        .run(&["load", "ok.csv", "--batch", "b", "--sandbox", "--json"])
        .finished(0);
    let mut expected = json!({
        "batch": "b",
        "loaded": true,
        "count": 3,
        "amounts": {"KES": "600.50"},
        "unpriced": 0,
        "rejected": {"count": 0, "amounts": {}},
        "mended": 0,
        "replaced": 0,
        "services": [
            {"service_code": "B2C_AIRTEL", "currency_code": "KES", "count": 1, "amount": "200.50"},
            {"service_code": "B2C_MPESA", "currency_code": "KES", "count": 2, "amount": "400.00"},
        ],
    });
    let head = |said: &Value| said["evidence"]["head"].as_str().map(str::len);
    let first = said.json();
    assert_eq!(head(&first), Some(64), "{first}");
    expected["evidence"] = first["evidence"].clone();
    assert_eq!(first["evidence"]["rows"], 3);
    assert_eq!(first, expected);
    assert_eq!(said.out.lines().count(), 1);
    expected["loaded"] = false.into();
    let again = desk
        .run(&["load", "ok.csv", "--batch", "b", "--sandbox", "--json"])
        .finished(0);
    assert_eq!(again.json(), expected);
}

#[test]
fn the_standing_has_the_shape_of_the_contract() {
    let desk = Desk::loaded();
    let standing = |desk: &Desk| {
        let said = desk.run(&["status", "b", "--json"]).finished(0);
        let mut standing = said.standing();
        // Where it went: nowhere yet, or the sandbox, which has a name of its own each time.
        let members = standing.as_object_mut().unwrap();
        let gone = [members.remove("gateway"), members.remove("account")];
        assert!(gone.iter().all(Option::is_some), "{gone:?}");
        standing
    };
    // Every state is there, so that a program need not ask whether it is.
    let of = |finished: bool, states: &[(&str, u64, &str)]| {
        let mut all = serde_json::Map::new();
        for name in [
            "unpriced",
            "ready",
            "posting",
            "in_doubt",
            "acknowledged",
            "delivered",
            "paid",
            "failed",
            "rejected",
            "withdrawn",
            "skipped",
            "cancelled",
            "conflict",
        ] {
            all.insert(name.into(), json!({"count": 0, "amounts": {}}));
        }
        for (name, count, amount) in states {
            all.insert(
                (*name).into(),
                json!({"count": count, "amounts": {"KES": amount}}),
            );
        }
        json!({
        "batch": "b",
        "rehearsal": true,
        "destination": null,
        "finished": finished,
        "count": 3,
        "amounts": {"KES": "600.50"},
        "states": all,
        "loaded_anew": [],
        "named_otherwise": 0,
        "held_lanes": [],
        "waiting": [],
        "undecided": [], "undecided_count": 0, "waiting_count": 0,
        "dates": {"not_before": null, "not_after": null},
        "scheduled": {"count": 0, "first": null, "last": null},
                "orders_lost": 0, "orders_unknown": false,
                "recovery": null,
                "paid_twice": [],
            })
    };
    let open = of(false, &[("ready", 3, "600.50")]);
    assert_eq!(standing(&desk), open);
    desk.run(&["cancel", "b", "R-2"]).finished(0);
    desk.run(&["run", "b", "--sandbox", "--faults", "none"])
        .finished(3);
    let finished = of(true, &[("paid", 2, "400.00"), ("cancelled", 1, "200.50")]);
    assert_eq!(standing(&desk), finished);
    let one = desk.run(&["status", "b", "--json"]).finished(0).json();
    let all = desk.run(&["status", "--json"]).finished(0).json();
    assert_eq!(all, json!([one]));
    insta::assert_snapshot!("status", desk.run(&["status", "b"]).finished(0).out);
    insta::assert_snapshot!("status_all", desk.run(&["status"]).finished(0).out);
}

#[test]
fn a_report_lists_its_files_and_repeats_itself_to_the_byte() {
    let desk = paid();
    let listing = "r/report.html\nr/payments.csv\nr/report.xlsx\nr/report.json\n";
    assert_eq!(
        desk.run(&["report", "b", "--out", "r"]).finished(0).out,
        listing
    );
    let said = desk
        .run(&["report", "b", "--out", "s", "--json"])
        .finished(0);
    assert_eq!(
        said.json(),
        json!({"html": "s/report.html", "csv": "s/payments.csv", "xlsx": "s/report.xlsx", "json": "s/report.json", "finished": true, "adds_up": true})
    );
    for name in ["report.html", "payments.csv", "report.xlsx", "report.json"] {
        let bytes = |folder: &str| fs::read(desk.path(&format!("{folder}/{name}"))).unwrap();
        let (first, second) = (bytes("r"), bytes("s"));
        assert!(first == second, "{name}");
    }
    let header = "line,reference,payer_transaction_id,service_code,msisdn,account_number,amount,currency_code,state,status_code,\
                  status_description,gateway_transaction_id,receipt_number,receiver_narration,attempts,posted_at,settled_at,note,\
                  electricity_token,electricity_units,application_id,customer_names,bank_code,bank_name,bank_account_name,\
                  bank_account_number,narration,invoice_number";
    let csv = desk.text("r/payments.csv");
    assert_eq!(
        csv.trim_start_matches('\u{feff}').lines().next(),
        Some(header)
    );
    assert_eq!(csv.lines().count(), 4);
}

#[test]
fn people_are_named_with_their_bank_and_account() {
    let desk = Desk::new().sample("bank.csv");
    desk.run(&["load", "bank.csv", "--batch", "b", "--sandbox"])
        .finished(0);
    desk.run(&["report", "b", "--out", "r"]).finished(0);
    let row = ",Ochieng Kiprotich,49,Baraka Community Bank,Ochieng Kiprotich,'0099427588438,Wages November 2026,\n";
    assert!(desk.text("r/payments.csv").contains(row));
    let document: serde_json::Value = serde_json::from_str(&desk.text("r/report.json")).unwrap();
    let payment = &document["payments"][0];
    assert_eq!(payment["customer_names"], "Ochieng Kiprotich");
    assert_eq!(payment["bank_account_number"], "0099427588438");
    assert_eq!(payment["narration"], "Wages November 2026");
    let page = desk.text("r/report.html");
    for part in [
        "<small>0099427588438</small><small>Baraka Community Bank (49)</small>",
        "<dd>Africa/Nairobi</dd>",
        "0 of 48 paid, 48 not finished: run it again.",
    ] {
        assert!(page.contains(part), "{part}");
    }
    let told = desk.run(&["explain", "b", "BK-0001"]).finished(0).out;
    let account = r#", account *********8438 at "Baraka Community Bank" (49)"#;
    assert!(told.contains(account), "{told}");
}

#[test]
fn a_report_folder_that_cannot_be_used_is_refused() {
    let desk = paid().file("taken", "");
    let other = "hint: something else has that name; name another folder with --out";
    for (out, error, hint) in [
        (
            "taken",
            "cannot use taken as the report folder: File exists (os error 17)",
            other,
        ),
        (
            "taken/r",
            "cannot use taken/r as the report folder: Not a directory (os error 20)",
            other,
        ),
        (
            "/proc/r",
            "cannot use /proc/r as the report folder: No such file or directory (os error 2)",
            "hint: run the report again, or name another folder with --out",
        ),
    ] {
        desk.refuses(
            &["report", "b", "--out", out],
            2,
            &[&format!("error: {error}"), hint],
        );
    }
    // It is found out before money moves.
    for out in ["taken", "taken/r", "/proc/r"] {
        let said = desk.run(&["pay", "ok.csv", "--batch", "c", "--sandbox", "--out", out]);
        let error = format!("error: cannot use {out} as the report folder: ");
        assert!(said.err.starts_with(&error), "{}", said.err);
        said.refused(2, &said.err.lines().collect::<Vec<_>>());
    }
    desk.run(&["status", "c"]).finished(2);
}

#[test]
fn a_report_that_fails_after_the_run_takes_nothing_back() {
    let desk = Desk::with_rows();
    // The folder is fine, until the file has to take the place of a folder.
    fs::create_dir_all(desk.path("r/report.html")).unwrap();
    let pay = [
        "pay",
        "ok.csv",
        "--batch",
        "b",
        "--sandbox",
        "--faults=none",
        "--out",
        "r",
    ];
    let said = desk.run(&pay).finished(1);
    assert!(
        said.out.contains("executed once: 3, twice: 0"),
        "{}",
        said.out
    );
    let hint = "hint: the run is recorded in the journal, and only its report is missing; once the cause is mended: disburse report b --out DIR\n";
    assert!(said.err.ends_with(hint), "{}", said.err);
}

/// Who runs the tests, and where, is not the same twice.
fn nobody(text: &str) -> String {
    let lines = text.lines().map(|line| match line.split_once(": by ") {
        Some((act, _)) => format!("{act}: by SOMEBODY on HOST\n"),
        None => format!("{line}\n"),
    });
    lines.collect()
}

/// Times, identifiers and what the sandbox makes up are not the same twice.
fn still(text: &str) -> String {
    // "2026-11-28 03:00:00 EAT" begins a line of the trail.
    let lines = text.lines().map(|line| match line.strip_prefix("  20") {
        Some(rest) if rest.len() > 21 => format!("  TIME{}\n", &rest[21..]),
        _ => format!("{line}\n"),
    });
    let text: String = lines.collect();
    let mut still = String::new();
    for word in text.split_inclusive([' ', '\n', ',', ':', '"']) {
        let bare = word.trim_end_matches([' ', '\n', ',', ':', '"']);
        let end = &word[bare.len()..];
        let of = |class: fn(char) -> bool| bare.chars().all(class);
        let shown = match bare.len() {
            26 if of(|c| c.is_ascii_uppercase() || c.is_ascii_digit()) => "IDENTIFIER",
            10 if of(|c| c.is_ascii_uppercase() || c.is_ascii_digit())
                && bare.contains(|c: char| c.is_ascii_digit()) =>
            {
                "RECEIPT"
            }
            9 if of(|c| c.is_ascii_digit()) => "TRANSACTION",
            13 if bare.starts_with("20") && bare.contains('T') => "TIME",
            2 if of(|c| c.is_ascii_digit()) && end == ":" => "",
            7 if bare.ends_with('Z') => "Z",
            _ => bare,
        };
        still.push_str(shown);
        let colon_of_time = end == ":" && (shown.is_empty() || shown == "TIME");
        if !colon_of_time {
            still.push_str(end);
        }
    }
    still.replace("TIMEZ", "TIME")
}

#[test]
fn the_trail_of_a_payment_tells_its_evidence_and_hides_its_number() {
    let desk = paid();
    let said = desk.run(&["explain", "b", "R-2"]).finished(0);
    insta::assert_snapshot!("explain", still(&nobody(&said.out)));
    let said = desk.run(&["explain", "b", "R-2", "--json"]).finished(0);
    let payment = &said.json()[0];
    assert_eq!(payment["state"], "paid");
    assert_eq!(payment["amount"], "200.50");
    assert_eq!(payment["trail"].as_array().unwrap().len(), 3);
    // The identifier finds it as well as the reference.
    let id = payment["payer_transaction_id"].as_str().unwrap();
    assert_eq!(
        desk.run(&["explain", "b", id, "--json"]).finished(0).json(),
        said.json()
    );
}

#[test]
fn orders_of_an_operator_tell_what_they_did() {
    let desk = Desk::loaded();
    assert_eq!(
        desk.run(&["cancel", "b", "R-1"]).finished(0).out,
        "1 payment cancelled: R-1, KES 100.00 to ********5678\n"
    );
    assert_eq!(
        desk.run(&["cancel", "b", "--json", "--yes"])
            .finished(0)
            .json(),
        json!({"cancelled": 2})
    );
    let nothing = |arguments: &[&str], out: &str, err: &str| {
        let said = desk.run(arguments).finished(0);
        assert_eq!((said.out.as_str(), said.err.as_str()), (out, err));
    };
    nothing(
        &["retry", "b"],
        "batch b has no failed payment to retry: 3 cancelled\n",
        "",
    );
    nothing(
        &["cancel", "b"],
        "batch b has no payment to cancel: 3 cancelled\n",
        "",
    );
    nothing(
        &["resume-lane", "b", "B2C_MPESA"],
        "B2C_MPESA was not paused\n",
        "no service of batch b is paused\n",
    );
    desk.refuses(
        &[
            "resolve",
            "b",
            "R-1",
            "--paid",
            "--reason",
            " ",
            "--evidence",
            "x",
        ],
        2,
        &[
            "error: --reason is empty",
            "hint: the decision is kept for ever: say what it rests on",
        ],
    );
}

#[test]
fn the_configuration_shows_every_value_and_where_it_comes_from() {
    let desk = Desk::configured().variable("DISBURSE_RATE", "20/s");
    let said = desk.run(&["config", "show"]).finished(0);
    insta::assert_snapshot!("config_show", said.out);
    assert!(!said.out.contains("hunter2"));
    let said = desk.run(&["config", "show", "--json"]).finished(0);
    assert!(!said.out.contains("hunter2"));
    let shown = said.json();
    assert_eq!(shown["profile"], "p");
    let value = |key: &str| {
        let values = shown["values"].as_array().unwrap();
        let found = values.iter().find(|value| value["key"] == key).unwrap();
        (found["value"].clone(), found["origin"].clone())
    };
    assert_eq!(
        value("password"),
        ("***".into(), "environment DISBURSE_PASSWORD".into())
    );
    assert_eq!(
        value("limits.rate"),
        ("20/s".into(), "environment DISBURSE_RATE".into())
    );
    assert_eq!(
        value("username"),
        ("someone".into(), "disburse.toml:3".into())
    );
    assert_eq!(value("client_id"), ("customers".into(), "default".into()));
    assert_eq!(value("proxy"), (serde_json::Value::Null, "not set".into()));
}

#[test]
fn a_password_file_is_named_and_not_shown() {
    let configuration =
        CONFIGURATION.replacen("username", "password_file = \"secret\"\nusername", 1);
    let desk = Desk::new()
        .file("disburse.toml", configuration)
        .file("secret", "hunter2\n");
    let mut permissions = fs::metadata(desk.path("secret")).unwrap().permissions();
    std::os::unix::fs::PermissionsExt::set_mode(&mut permissions, 0o600);
    fs::set_permissions(desk.path("secret"), permissions).unwrap();
    let said = desk.run(&["config", "show"]).finished(0);
    assert!(!said.out.contains("hunter2"));
    assert!(said.out.contains("***"), "{}", said.out);
}
