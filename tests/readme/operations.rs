//! The runbook: every command in docs/operations.md is one that there is, and those of its two losses are said as they stand.

use std::fs;
use std::path::Path;
use std::process::Output;

use super::help_of;
use super::walk::{Gateway, say};

const OPERATIONS: &str = include_str!("../../docs/operations.md");

/// The configuration of somebody who loses a journal.
const CONFIGURATION: &str = r#"[profiles.p]
base_url = "http://127.0.0.1:9"
username = "acme"
originator = "acme"
country_code = "KE"
currency_code = "KES"
time_zone = "Africa/Nairobi"
limits = { connect_timeout = "2s", request_timeout = "3s" }
resolution = { first_query_after = "1s", query_backoff_max = "2s", callback_grace = "1s", delivered_grace = "1s", not_found_quarantine = "3100ms" }
"#;

/// The blocks of commands that stand in the list of losses, in their order.
fn indented_blocks() -> Vec<Vec<&'static str>> {
    let parts = OPERATIONS.split("\n  ```sh\n").skip(1);
    let lines = |rest: &'static str| rest.split("\n  ```").next().unwrap().lines();
    parts
        .map(|rest| {
            lines(rest)
                .map(|line| line.trim().split(" #").next().unwrap().trim_end())
                .collect()
        })
        .collect()
}

/// A folder with a batch that is loaded; EMP-00007 is cancelled before anybody is paid.
fn desk(folder: &Path, gateway: &str) {
    let samples = Path::new(env!("CARGO_MANIFEST_DIR")).join("samples/payroll.csv");
    let rows = fs::read_to_string(samples).unwrap();
    let rows: Vec<&str> = rows.lines().take(13).collect();
    fs::write(folder.join("payroll.csv"), rows.join("\n") + "\n").unwrap();
    fs::write(folder.join("disburse.toml"), CONFIGURATION).unwrap();
    for words in [
        "load payroll.csv --batch payroll",
        "backup copy.db",
        "cancel payroll EMP-00007",
        "run payroll",
    ] {
        let said = said(folder, gateway, words);
        assert!(ended_well(words, &said), "{words}: {}", shown(&said));
    }
}

fn said(folder: &Path, gateway: &str, words: &str) -> Output {
    say(folder, gateway, "DISBURSE_PASSWORD=any", words)
}

fn shown(said: &Output) -> String {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    format!(
        "{:?}\n{}{}",
        said.status.code(),
        text(&said.stdout),
        text(&said.stderr)
    )
}

/// A run that may post nothing yet ends with 4; one that is cancelled for somebody, or in which a number is wrong, with 3.
fn ended_well(words: &str, said: &Output) -> bool {
    let code = said.status.code().unwrap();
    match words.starts_with("run ") {
        true => [0, 3, 4].contains(&code),
        false => code == 0,
    }
}

#[test]
fn the_ways_out_of_a_loss_are_ways_out() {
    let blocks = indented_blocks();
    assert_eq!(
        blocks.len(),
        2,
        "the disk died with a copy, and without one"
    );
    for (block, has_copy) in blocks.iter().zip([true, false]) {
        let folder = tempfile::tempdir().unwrap();
        let folder = folder.path();
        let gateway = Gateway::start(folder);
        desk(folder, &gateway.address);
        for suffix in ["", "-wal", "-shm", ".mark", ".lock"] {
            let _ = fs::remove_file(folder.join(format!("disburse.db{suffix}")));
        }
        if has_copy {
            fs::rename(folder.join("copy.db"), folder.join("disburse.db")).unwrap();
        }
        assert!(block.len() >= 4, "{block:?}");
        for line in block {
            let words = line.strip_prefix("disburse ").unwrap();
            let said = said(folder, &gateway.address, words);
            assert!(ended_well(words, &said), "{words}: {}", shown(&said));
        }
        let status = said(folder, &gateway.address, "status payroll --json");
        let status: serde_json::Value = serde_json::from_slice(&status.stdout).unwrap();
        let states = &status["states"];
        assert_eq!(
            states["ready"]["count"].as_u64().unwrap_or(0),
            0,
            "{status}"
        );
        assert_eq!(
            states["cancelled"]["count"], 1,
            "whoever was withdrawn is not paid: {status}"
        );
    }
}

#[test]
fn every_command_that_a_sentence_names_exists() {
    let mut seen = 0;
    for quoted in OPERATIONS.split('`').skip(1).step_by(2) {
        let Some(words) = quoted.strip_prefix("disburse ") else {
            continue;
        };
        let words: Vec<&str> = words.split_whitespace().collect();
        // Names of files beside a journal begin like it.
        if !words[0]
            .bytes()
            .all(|byte| byte.is_ascii_lowercase() || byte == b'-')
        {
            continue;
        }
        let help = help_of(words[0]);
        for flag in words.iter().filter(|word| word.starts_with("--")) {
            assert!(help.contains(flag), "{quoted}: no {flag}");
        }
        seen += 1;
    }
    assert!(seen > 30, "only {seen}");
}
