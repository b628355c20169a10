//! README and docs speak of keys, variables, commands, flags and tests that exist; of all keys, and of all planted mistakes.

// A test fails by panicking, its helpers too.
#![allow(clippy::unwrap_used)]
// A story or a table may be long.
#![allow(clippy::too_many_lines)]

mod operations;
mod walk;

use std::collections::BTreeMap;
use std::process::Command;

use disburse::cli::config::KEYS;

/// What a newcomer reads, in this order.
const README: &str = concat!(
    include_str!("../../README.md"),
    include_str!("../../docs/guide.md"),
    include_str!("../../docs/operations.md"),
    include_str!("../../docs/configuration.md"),
    include_str!("../../docs/gateway.md"),
    include_str!("../../docs/limits.md"),
);
const PROOF: &str = include_str!("../../docs/reliability.md");

#[test]
fn every_key_has_its_row() {
    for key in KEYS {
        let default = key.default.map(|text| format!("`{text}`"));
        let row = format!(
            "| `{}` | {} | `{}` | {} |",
            key.name,
            default.unwrap_or_default(),
            key.env,
            key.doc
        );
        assert!(README.contains(&row), "docs/configuration.md lacks:\n{row}");
    }
    let rows = README.lines().filter(|line| line.contains("| `DISBURSE_"));
    assert_eq!(rows.count(), KEYS.len(), "a row of a key that is gone");
}

#[test]
fn every_test_that_the_sections_name_exists() {
    let table = README
        .split("\n## The interface, section by section")
        .nth(1)
        .and_then(|rest| rest.split("\n## ").next())
        .unwrap();
    let sources: String = ["src", "tests"].into_iter().map(sources_below).collect();
    let mut seen = 0;
    for row in table.lines().filter(|line| line.starts_with("| ")) {
        let Some(tests) = row.split(" | ").nth(2).filter(|cell| cell.contains('_')) else {
            continue;
        };
        for name in tests.split('`').skip(1).step_by(2) {
            assert!(
                sources.contains(&format!("fn {name}()")),
                "no test {name}: {row}"
            );
            seen += 1;
        }
    }
    assert!(seen > 25, "only {seen} tests were found");
}

#[test]
fn every_test_that_the_proof_names_exists() {
    let sources: String = ["src", "tests"].into_iter().map(sources_below).collect();
    let quoted = PROOF.split('`').skip(1).step_by(2);
    // Names of tests are sentences.
    let names: Vec<&str> = quoted
        .filter(|name| name.bytes().filter(|byte| *byte == b'_').count() >= 3)
        .filter(|name| name.bytes().all(|b| b == b'_' || b.is_ascii_lowercase()))
        .collect();
    for name in &names {
        assert!(sources.contains(&format!("fn {name}(")), "no test {name}");
    }
    assert!(names.len() > 80, "only {} tests were found", names.len());
}

#[test]
fn every_planted_mistake_has_its_row_in_the_proof() {
    let canary = include_str!("../../src/seeded_bugs/list.rs");
    let all = canary
        .split("enum SeededBug {")
        .nth(1)
        .and_then(|rest| rest.split("\n}").next())
        .unwrap();
    let names = all
        .lines()
        .filter_map(|line| line.trim().strip_suffix(','))
        .filter(|name| name.bytes().all(|byte| byte.is_ascii_alphabetic()));
    let mut seen = 0;
    for name in names {
        // What its own table of tests finds is told in words behind its name.
        let rows = [format!("\n| `{name}` | "), format!("\n| `{name}`: ")];
        assert!(
            rows.iter().any(|row| PROOF.contains(row)),
            "docs/reliability.md has no row for {name}"
        );
        seen += 1;
    }
    assert!(seen >= 15, "only {seen} planted mistakes were found");
}

fn sources_below(folder: &str) -> String {
    let mut text = String::new();
    let mut folders = vec![std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join(folder)];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).expect("a folder of the checkout") {
            let path = entry.expect("a file of the checkout").path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|extension| extension == "rs") {
                text.push_str(&std::fs::read_to_string(path).expect("source is text"));
            }
        }
    }
    text
}

#[test]
fn every_section_that_is_cited_is_in_the_interface_document() {
    let sources = sources_below("src") + README;
    let mut cited = std::collections::BTreeSet::new();
    for (start, _) in sources.match_indices("ection") {
        if !sources[..start].ends_with(['s', 'S']) {
            continue;
        }
        let rest = sources[start..].trim_start_matches(|c: char| c.is_ascii_lowercase());
        let list = rest
            .split(|c: char| !(c.is_ascii_digit() || ".,and ".contains(c)))
            .next()
            .unwrap();
        let numbers = list
            .split([',', ' '])
            .map(|word| word.trim_end_matches('.'));
        cited.extend(numbers.filter(|word| {
            word.starts_with(|c: char| c.is_ascii_digit())
                && word.bytes().all(|b| b.is_ascii_digit() || b == b'.')
        }));
    }
    let headings: Vec<&str> = include_str!("../../docs/interface.md")
        .lines()
        .filter(|line| line.starts_with('#'))
        .filter_map(|line| line.split(' ').nth(1))
        .map(|number| number.trim_end_matches('.'))
        .collect();
    for number in &cited {
        assert!(headings.contains(number), "no section {number}");
    }
    assert!(cited.len() > 15, "only {cited:?} are cited");
}

#[test]
fn every_command_and_flag_exists() {
    let mut helps = BTreeMap::new();
    let mut seen = 0;
    for line in README.lines() {
        let line = line.trim_start();
        let words = line
            .strip_prefix("disburse ")
            .or_else(|| line.strip_prefix("cargo run --release -- "));
        let Some(words) = words else { continue };
        let words = words.split(" #").next().unwrap_or_default();
        let words: Vec<&str> = words.split_whitespace().collect();
        let command = words
            .iter()
            .find(|word| COMMANDS.contains(word))
            .unwrap_or_else(|| panic!("no command in: {line}"));
        let help = helps.entry(*command).or_insert_with(|| help_of(command));
        for flag in words.iter().filter(|word| word.starts_with('-')) {
            assert!(help.contains(flag), "{command} has no {flag}: {line}");
        }
        seen += 1;
    }
    assert!(seen > 10, "only {seen} commands were found");
}

const COMMANDS: [&str; 32] = [
    "serve",
    "check",
    "load",
    "run",
    "status",
    "report",
    "verify",
    "pay",
    "explain",
    "retry",
    "resolve",
    "cancel",
    "resume-lane",
    "recover",
    "backup",
    "archive",
    "listen",
    "journal",
    "notices",
    "token",
    "lookup",
    "bill",
    "account",
    "float",
    "upload",
    "probe",
    "dialect",
    "sandbox",
    "init",
    "doctor",
    "completions",
    "man",
];

fn help_of(command: &str) -> String {
    let output = Command::new(env!("CARGO_BIN_EXE_disburse"))
        .args([command, "--help"])
        .output()
        .expect("the binary is built for this test");
    assert!(output.status.success(), "{command} --help");
    String::from_utf8_lossy(&output.stdout).into_owned()
}
