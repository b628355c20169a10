//! Heads of the evidence, signed at the end of every run and handed to a command: what the journal cannot take back.

use std::fs;

use crate::approvals::{has_keygen, says};
use crate::desk::{CONFIGURATION, Desk};

/// Nobody listens there: the run ends with 4, and hands over all the same.
const TRY: [&str; 4] = ["run", "b", "--yes", "--no-wait"];

fn desk(command: &str) -> Option<Desk> {
    if !has_keygen() {
        return None;
    }
    let evidence = format!("[evidence]\nkey_file = \"machine\"\ncommand = {command}\n");
    let desk = Desk::configured().file("disburse.toml", format!("{CONFIGURATION}\n{evidence}"));
    desk.shell("ssh-keygen -q -t ed25519 -N '' -C 'made up' -f machine")
        .finished(0);
    desk.run(&["load", "ok.csv", "--batch", "b"]).finished(0);
    Some(desk)
}

#[test]
fn every_run_hands_its_heads_over_and_verify_finds_them_on_the_chain() {
    let Some(desk) = desk(r#"["sh", "-c", "cat >> kept"]"#) else {
        return;
    };
    desk.run(&TRY).finished(4);
    desk.run(&TRY).finished(4);
    let kept = desk.text("kept");
    assert_eq!(kept.matches("disburse heads 1\n").count(), 2, "{kept}");
    let verify = ["verify", "b", "--heads", "kept"];
    says(
        &desk.run(&verify).finished(0),
        "handed over, and on the chain",
    );
    // What was kept is signed as ssh-keygen signs.
    let first = kept.find("-----BEGIN").unwrap();
    let end = "-----END SSH SIGNATURE-----\n";
    let last = kept.find(end).unwrap() + end.len();
    fs::write(desk.path("text"), &kept[..first]).unwrap();
    fs::write(desk.path("sig"), &kept[first..last]).unwrap();
    let check = "ssh-keygen -Y check-novalidate -n disburse -s sig < text";
    says(
        &desk.shell(check).finished(0),
        "Good \"disburse\" signature",
    );
    // A journal that was made anew has another chain.
    for name in ["disburse.db", "disburse.db-mark", "disburse.db.mark"] {
        let _ = fs::remove_file(desk.path(name));
    }
    desk.run(&["load", "ok.csv", "--batch", "b"]).finished(0);
    let said = desk.run(&verify).finished(1);
    says(&said, "that was handed over is not on the chain");
    // Nobody changes what was kept without being seen.
    fs::write(desk.path("kept"), kept.replacen("b ", "c ", 1)).unwrap();
    says(
        &desk.run(&verify).finished(2),
        "error: heads kept:1: the signature is not over this text",
    );
    fs::write(desk.path("kept"), &kept[..last]).unwrap();
    says(
        &desk.run(&["verify", "c", "--heads", "kept"]).finished(2),
        "error: ",
    );
    desk.shell("ssh-keygen -q -t ed25519 -N '' -C 'made up' -f other && mv other machine && mv other.pub machine.pub")
        .finished(0);
    says(&desk.run(&verify).finished(1), "are signed by another key");
}

#[test]
fn heads_that_cannot_be_handed_over_are_told_and_the_run_stands() {
    let Some(desk) = desk(r#"["sh", "-c", "echo full >&2; exit 3"]"#) else {
        return;
    };
    let said = desk.run(&TRY).finished(4);
    says(
        &said,
        "warning: the heads of the evidence were not handed over",
    );
    says(&said, "sh: ended with exit status: 3: full");
    fs::remove_file(desk.path("machine")).unwrap();
    let said = desk.run(&TRY).finished(4);
    says(
        &said,
        "warning: the heads of the evidence were not handed over",
    );
}

#[test]
fn half_a_table_is_refused_with_what_is_missing() {
    for (line, missing) in [
        ("key_file = \"k\"", "evidence: command is missing"),
        ("command = [\"x\"]", "evidence: key_file is missing"),
    ] {
        let desk = Desk::configured().file(
            "disburse.toml",
            format!("{CONFIGURATION}\n[evidence]\n{line}\n"),
        );
        says(
            &desk.run(&["load", "ok.csv", "--batch", "b"]).finished(2),
            missing,
        );
    }
}
