//! pain.001 messages from the file to the answer, and rows that wait for their time.

use std::fs;

use crate::desk::{Desk, HEADER};

const LAYOUT: &str = r#"
[layouts.bank-1]
format = "pain.001"

[layouts.bank-1.columns]
service_code = "To"

[layouts.bank-1.values.service_code]
"phone" = "B2C_MPESA"
"account" = "BANK_TRANSFER"
"#;

fn desk() -> Desk {
    Desk::new()
        .sample("transfers.xml")
        .file("disburse.toml", LAYOUT)
}

const PAY: [&str; 10] = [
    "pay",
    "transfers.xml",
    "--batch",
    "w",
    "--sandbox",
    "--layout",
    "bank-1",
    "--faults",
    "none",
    "--yes",
];

#[test]
fn a_message_is_checked_paid_and_answered() {
    let desk = desk();
    let check = ["check", "transfers.xml", "--sandbox", "--layout", "bank-1"];
    let said = desk.run(&check).finished(0);
    assert!(
        said.out.contains("transfers.xml: 6 rows, no errors"),
        "{}",
        said.out
    );
    for part in [
        "pain.001.001.09, message \"WAGES-2026-11\": 6 transfers in 2 blocks that add up to 468657.15, as it says",
        "not sent to the gateway, and without effect: CtgyPurp, DbtrAcct",
    ] {
        assert!(said.err.contains(part), "{part}\n{}", said.err);
    }
    desk.run(&PAY).finished(0);
    let sheet = desk.text("reports/w/payments.csv");
    assert_eq!(sheet.matches(",paid,").count(), 6, "{sheet}");
    let bank = sheet.lines().find(|line| line.contains("BK-0001")).unwrap();
    for part in [
        "BANK_TRANSFER",
        "0099427588438",
        "Baraka Community Bank",
        "Wages November 2026",
    ] {
        assert!(bank.contains(part), "{part}: {bank}");
    }
    let explained = desk.run(&["explain", "w", "EMP-00001"]).finished(0).out;
    assert!(
        explained.contains("came in message WAGES-2026-11, block WALLETS-1, as EMP-00001"),
        "{explained}"
    );
    // The same file again changes nothing.
    let again = desk
        .run(&[
            "load",
            "transfers.xml",
            "--batch",
            "w",
            "--sandbox",
            "--layout",
            "bank-1",
        ])
        .finished(0);
    assert!(
        again.out.contains("already there, unchanged"),
        "{}",
        again.out
    );
    desk.run(&["verify", "w"]).finished(0);
    let said = desk
        .run(&["report", "w", "--pain002", "answer.xml"])
        .finished(0);
    assert_eq!(
        said.out.trim(),
        "answer.xml: pain.002.001.10 to message WAGES-2026-11, ACSC of 6 transfers"
    );
    let answer = desk.text("answer.xml");
    for part in [
        "<OrgnlMsgId>WAGES-2026-11</OrgnlMsgId>",
        "<OrgnlMsgNmId>pain.001.001.09</OrgnlMsgNmId>",
        "<GrpSts>ACSC</GrpSts>",
        "<OrgnlPmtInfId>BANKS-1</OrgnlPmtInfId>",
        "<OrgnlInstrId>WALLETS-1-3</OrgnlInstrId>",
        "<OrgnlEndToEndId>EMP-00003</OrgnlEndToEndId>",
    ] {
        assert!(answer.contains(part), "{part}\n{answer}");
    }
    assert_eq!(answer.matches("<TxSts>ACSC</TxSts>").count(), 6);
    // An earlier answer is replaced, and nothing else is.
    desk.run(&["report", "w", "--pain002", "answer.xml"])
        .finished(0);
    desk.refuses(
        &["report", "w", "--pain002", "transfers.xml"],
        2,
        &[
            "error: transfers.xml: exists already, and was not written there by disburse, or was changed or copied since; it is not overwritten",
            "hint: name another place with --pain002, or move that file away",
        ],
    );
    let standing: Vec<_> = fs::read_dir(desk.path(".")).unwrap().collect();
    assert!(standing.iter().all(|entry| {
        let name = entry.as_ref().unwrap().file_name();
        !name.to_string_lossy().starts_with(".tmp")
    }));
}

#[test]
fn a_wrong_total_refuses_the_message_with_what_was_counted() {
    let desk = desk();
    let text = desk.text("transfers.xml");
    let load = [
        "load",
        "wrong.xml",
        "--batch",
        "w",
        "--sandbox",
        "--layout",
        "bank-1",
    ];
    let desk = desk.file(
        "wrong.xml",
        text.replace("<NbOfTxs>6</NbOfTxs>", "<NbOfTxs>7</NbOfTxs>"),
    );
    desk.refuses(
        &load,
        2,
        &[
            "error: wrong.xml:8:7: says in GrpHdr that there are 7 transfers (NbOfTxs), but there are 6",
            "hint: transfers may be missing, doubled or changed in the file: export it again, or ask the person who made it",
        ],
    );
    let desk = desk.file("wrong.xml", text.replace(">25251.91<", ">25251.90<"));
    let said = desk.run(&load).finished(2);
    assert!(
        said.err.contains("says in PmtInf that the transfers add up to 121300.91 (CtrlSum), but they add up to 121300.90"),
        "{}",
        said.err
    );
}

#[test]
fn a_mistake_is_named_with_its_place_and_mended_in_the_corrections() {
    let desk = desk();
    let text = desk.text("transfers.xml").replace("0099427588438", "");
    let desk = desk.file("transfers.xml", text);
    let load = [
        "load",
        "transfers.xml",
        "--batch",
        "w",
        "--sandbox",
        "--layout",
        "bank-1",
    ];
    let said = desk.run(&load).finished(2);
    assert!(
        said.err
            .contains("error: transfers.xml: 1 row with errors; nothing was loaded"),
        "{}",
        said.err
    );
    let skip = [&load[..], &["--on-error", "skip"]].concat();
    desk.run(&skip).finished(0);
    // What was set aside is rejected in the answer, too.
    desk.run(&["report", "w", "--pain002", "answer.xml"])
        .finished(0);
    let answer = desk.text("answer.xml");
    assert_eq!(answer.matches("<TxSts>RJCT</TxSts>").count(), 1, "{answer}");
    assert_eq!(answer.matches("<TxSts>PDNG</TxSts>").count(), 5, "{answer}");
    assert!(answer.contains("<GrpSts>PART</GrpSts>"));
    let file = desk.text("transfers.corrections.csv");
    assert!(file.contains("BK-0001"), "{file}");
}

#[test]
fn a_transfer_that_was_mended_in_another_message_stays_rejected_in_its_own() {
    let desk = desk();
    let good = desk.text("transfers.xml");
    let at = good.find("<EndToEndId>EMP-00001<").unwrap();
    let (before, behind) = good.split_at(at);
    // Its amount is none, and the totals are left out.
    let bad = format!("{before}{}", behind.replacen("\">", "\">x", 1));
    let without_sums = |text: &str| -> String {
        let lines = text.lines().filter(|line| !line.contains("<CtrlSum>"));
        lines.collect::<Vec<_>>().join("\n")
    };
    let mended = without_sums(&good).replace("WAGES-2026-11", "WAGES-2026-11-B");
    let desk = desk
        .file("bad.xml", without_sums(&bad))
        .file("mended.xml", mended);
    let load = |file: &str, more: &str| {
        let all = [
            "load",
            file,
            "--batch",
            "w",
            "--sandbox",
            "--layout",
            "bank-1",
            more,
        ];
        desk.run(&[&all[..], &["skip"][..usize::from(more == "--on-error")]].concat())
            .finished(0);
    };
    load("bad.xml", "--on-error");
    load("mended.xml", "--amend");
    desk.run(&["run", "w", "--sandbox", "--faults", "none", "--yes"])
        .finished(0);
    let answered = |message: &str| {
        let file = format!("{message}.xml");
        let report = ["report", "w", "--pain002", &file, "--message", message];
        let said = desk.run(&report).finished(0);
        (said.out.trim().to_owned(), desk.text(&file))
    };
    let (told, answer) = answered("WAGES-2026-11");
    assert!(told.ends_with("PART of 6 transfers"), "{told}");
    assert_eq!(answer.matches("<TxSts>RJCT</TxSts>").count(), 1);
    assert_eq!(answer.matches("<TxSts>ACSC</TxSts>").count(), 5);
    let (told, answer) = answered("WAGES-2026-11-B");
    assert!(told.ends_with("ACSC of 1 transfer"), "{told}");
    assert!(answer.contains("<OrgnlEndToEndId>EMP-00001<"), "{answer}");
}

#[test]
fn without_a_service_it_is_said_what_to_write() {
    let desk = desk();
    desk.refuses(
        &["load", "transfers.xml", "--batch", "w", "--sandbox"],
        2,
        &[
            "error: transfers.xml: names no service: a pain.001 never does",
            "hint: add --service CODE, or keep in disburse.toml a [layouts.NAME] with format = \"pain.001\" and [layouts.NAME.constants] with \
             service_code = \"CODE\", and add --layout NAME",
        ],
    );
}

#[test]
fn what_is_not_due_waits_and_the_run_says_until_when() {
    let header = HEADER.trim_end();
    let rows = "R-1,B2C_MPESA,254712345678,100.00,KES,KE,\n\
                R-2,B2C_MPESA,254712345679,200.50,KES,KE,2199-12-01\n\
                R-3,B2C_MPESA,254712345670,300.00,KES,KE,2199-12-24T08:00:00+03:00\n";
    let desk = Desk::new().file("ok.csv", format!("{header},not_before\n{rows}"));
    let pay = [
        "pay",
        "ok.csv",
        "--batch",
        "b",
        "--sandbox",
        "--faults",
        "none",
        "--yes",
    ];
    let checked = desk.run(&["check", "ok.csv", "--sandbox"]).finished(0);
    assert!(
        checked.err.contains(
            "ok.csv: KES 500.50 of it is not paid today: 2 payments wait for the time in not_before: until 2199-12-01 00:00:00 EAT"
        ),
        "{}",
        checked.err
    );
    let said = desk.run(&pay).finished(4);
    let waits = "2 payments wait for the time in not_before: until 2199-12-01 00:00:00 EAT, the last of them until 2199-12-24 08:00:00 EAT";
    assert!(said.err.contains(waits), "{}", said.err);
    assert!(
        said.err
            .contains("hint: at that time: disburse run b --sandbox"),
        "{}",
        said.err
    );
    let status = desk.run(&["status", "b"]).finished(0);
    assert!(status.out.contains(waits), "{}", status.out);
    let status = desk.run(&["status", "b", "--json"]).json();
    assert_eq!(status["scheduled"]["count"], 2);
    assert_eq!(status["scheduled"]["first"], "2199-11-30T21:00:00.000Z");
    assert_eq!(status["states"]["paid"]["count"], 1);
    assert_eq!(status["states"]["ready"]["count"], 2);
    let explained = desk.run(&["explain", "b", "R-2"]).finished(0).out;
    assert!(
        explained.contains("not posted before 2199-12-01 00:00:00 EAT"),
        "{explained}"
    );
    desk.run(&["report", "b", "--out", "r"]).finished(0);
    let sheet = desk.text("r/payments.csv");
    assert!(
        sheet.contains("not posted before 2199-12-01T00:00:00+03:00"),
        "{sheet}"
    );
    // Once more, and nothing has changed.
    desk.run(&["run", "b", "--sandbox", "--faults", "none", "--yes"])
        .finished(4);
    desk.run(&["verify", "b"]).finished(0);
    let other = Desk::new().file(
        "ok.csv",
        format!(
            "{header},not_before\n{}",
            rows.replace("2199-12-01", "soon")
        ),
    );
    let said = other.run(&["check", "ok.csv", "--sandbox"]).finished(2);
    assert!(
        said.err.contains("not_before: expected a day such as 2026-12-01, which begins at midnight in the profile's time zone"),
        "{}",
        said.err
    );
}
