//! Notices about signatures, and what the command says where nothing is configured.

use std::fs;

use serde_json::Value;

use crate::approvals::{approve, desk, load, run, says};
use crate::desk::{CONFIGURATION, Desk};

/// The kinds of the notices that the command was given.
fn told(desk: &Desk) -> Vec<String> {
    let text = fs::read_to_string(desk.path("told")).unwrap_or_default();
    let kinds = text.lines().map(|line| {
        let notice: Value = serde_json::from_str(line).unwrap();
        notice["type"].as_str().unwrap().to_owned()
    });
    kinds.collect()
}

#[test]
fn what_waits_for_signatures_is_told_once_and_its_end_afterwards() {
    let Some(desk) = desk(1, "") else {
        return;
    };
    let configuration = desk.text("disburse.toml");
    let notices = "[notices]\ncommand = [\"sh\", \"-c\", \"cat >> told\"]\nrehearsals = true\n";
    fs::write(
        desk.path("disburse.toml"),
        format!("{configuration}\n{notices}"),
    )
    .unwrap();
    load(&desk, "alice");
    let deliver = ["notices", "--deliver"];
    says(&desk.run(&deliver).finished(0), "delivered: 1 notice");
    assert_eq!(told(&desk), ["waiting_for_approval"]);
    // The run ends for want of them, which was told; nothing has stopped.
    run(&desk, 4);
    says(&desk.run(&deliver).finished(0), "delivered: 0 notices");
    let total = desk.run(&["status", "b", "--json"]).json();
    let total = format!("KES {}", total["amounts"]["KES"].as_str().unwrap());
    approve(&desk, "bob", &total).finished(0);
    run(&desk, 0);
    assert_eq!(told(&desk), ["waiting_for_approval", "finished"]);
}

#[test]
fn a_command_about_notices_that_are_not_configured_says_where_they_are() {
    let desk = Desk::configured();
    desk.run(&["load", "ok.csv", "--batch", "b"]).finished(0);
    for arguments in [["notices", "--test"], ["notices", "--deliver"]] {
        let said = desk.run(&arguments).finished(2);
        says(&said, "error: no notices are configured, and none are sent");
        says(&said, "[notices] in disburse.toml");
    }
    says(&desk.run(&["notices"]).finished(0), "no notice waits");
    let list = desk.run(&["notices", "--json"]).json();
    assert_eq!(list, serde_json::json!({"count": 0, "waiting": []}));
    // A secret that is not there is told to whoever asks; no payment waits for it.
    let notices = "[notices]\nurl = \"https://hooks.example/x\"\nsecret_file = \"none\"\n";
    fs::write(
        desk.path("disburse.toml"),
        format!("{CONFIGURATION}\n{notices}"),
    )
    .unwrap();
    let said = desk.run(&["notices", "--test"]).finished(2);
    says(
        &said,
        "notices.secret_file: key file \"none\": No such file",
    );
    says(&said, "DISBURSE_NOTICES_SECRET");
}

#[test]
fn neither_an_error_nor_a_row_nor_the_doctor_says_more_of_an_address_than_its_host() {
    let desk = Desk::configured();
    desk.run(&["load", "ok.csv", "--batch", "b"]).finished(0);
    let secret = "whsec_c2VjcmV0IG9mIHRoZSB0ZXN0cywgbWFkZSB1cA==";
    let desk = desk.variable("DISBURSE_NOTICES_SECRET", secret);
    let closed = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = format!("http://{}/T0K3N", closed.local_addr().unwrap());
    drop(closed);
    for (notices, is_used) in [
        (format!("url = \"{address}\""), true),
        // A command that prints what it was to call.
        (
            format!(
                "command = [\"sh\", \"-c\", \"echo no answer of {address}?x=T0K3N >&2; exit 7\"]"
            ),
            true,
        ),
        ("url = \"http://hooks.example/T0K3N\"".to_owned(), false),
        ("url = \"https://hooks.example/x?T0K3N\"".to_owned(), false),
    ] {
        let configuration = CONFIGURATION.replace("127.0.0.1:9", "127.0.0.1:9/T0K3N");
        let text = format!("{configuration}\n[notices]\n{notices}\n");
        fs::write(desk.path("disburse.toml"), text).unwrap();
        let commands: [&[&str]; 4] = [
            &["notices", "--test", "-vv"],
            &["notices", "--deliver", "-vv"],
            &["notices", "--json"],
            &["doctor", "-vv"],
        ];
        for arguments in commands {
            let said = desk.run(arguments);
            let all = format!("{}{}", said.out, said.err);
            assert!(!all.contains("T0K3N"), "{arguments:?} {notices}: {all}");
            if arguments[1] == "--test" && is_used {
                assert!(all.contains("the notice was not taken: "), "{all}");
            }
        }
    }
}
