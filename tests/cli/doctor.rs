//! What is wrong here: each thing that is broken is told with what to do, hides nothing else, and stays as it is.

use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt;

use crate::desk::{CONFIGURATION, Desk, Said};

fn findings(said: &Said) -> Vec<serde_json::Value> {
    said.json()["findings"].as_array().unwrap().clone()
}

/// The findings about something, as "level: text -> advice".
fn about(said: &Said, part: &str) -> String {
    let of_part = findings(said).into_iter().filter(|one| one["part"] == part);
    let text = |one: serde_json::Value| {
        format!(
            "{}: {}: {} -> {}\n",
            one["level"].as_str().unwrap(),
            one["looked_at"].as_str().unwrap(),
            one["found"].as_str().unwrap(),
            one["to_do"].as_str().unwrap_or_default()
        )
    };
    of_part.map(text).collect()
}

/// A desk where nothing is wrong.
fn sound() -> Desk {
    let with_password =
        CONFIGURATION.replacen("username", "password_file = \"password\"\nusername", 1);
    let desk = Desk::loaded()
        .file("disburse.toml", with_password)
        .file("password", "hunter2\n");
    mode(&desk, "password", 0o600);
    desk
}

fn mode(desk: &Desk, name: &str, mode: u32) {
    std::fs::set_permissions(desk.path(name), std::fs::Permissions::from_mode(mode)).unwrap();
}

#[test]
fn it_looks_at_everything_and_changes_nothing() {
    let desk = sound();
    let before = desk.files();
    let said = desk.run(&["doctor", "--json"]).finished(0);
    assert_eq!(desk.files(), before);
    let parts: std::collections::BTreeSet<String> = findings(&said)
        .iter()
        .map(|one| one["part"].as_str().unwrap().to_owned())
        .collect();
    let expected = [
        "callbacks",
        "clock",
        "configuration",
        "disk",
        "gateway",
        "job",
        "journal",
        "keys",
        "system",
        "wire",
    ];
    assert_eq!(parts.into_iter().collect::<Vec<_>>(), expected);
    assert_eq!(said.json()["problems"], 0);
    assert!(
        about(&said, "journal").contains("ok: disburse.db.mark: journal, mark and lock agree"),
        "{said:?}"
    );
    assert!(!said.out.contains("hunter2"));
    let told = desk.run(&["doctor"]).finished(0);
    assert!(
        told.out
            .contains("ok       pages of disburse.db: they fit together\n"),
        "{told:?}"
    );
}

#[test]
fn one_thing_that_is_broken_hides_no_other() {
    let desk = Desk::new()
        .file("disburse.toml", "[profiles.p]\nbase_url = 1\n")
        .file(
            "disburse.db",
            "no journal at all, however long the file may be".repeat(50),
        );
    let before = desk.files();
    let said = desk.run(&["doctor", "--json"]).finished(2);
    assert_eq!(desk.files(), before);
    assert!(
        about(&said, "configuration").starts_with("problem: configuration: disburse.toml:2:"),
        "{said:?}"
    );
    assert!(
        about(&said, "journal").contains("problem: disburse.db: what it holds cannot be read"),
        "{said:?}"
    );
    for part in ["disk", "clock", "system", "job"] {
        assert!(!about(&said, part).is_empty(), "{part}");
    }
    assert!(said.err.starts_with("error: 2 problems"), "{}", said.err);
}

#[test]
fn what_is_broken_is_told_with_what_to_do() {
    let line = "ssh-keygen -q -t ed25519 -N '' -f k && echo \"a@example.org $(cut -d' ' -f1,2 k.pub)\" > signers";
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = taken.local_addr().unwrap().port();
    let callbacks = format!(
        "\n[profiles.p.callback]\npublic_url = \"https://pay.example/c\"\nlisten = \"127.0.0.1:{port}\"\n"
    );
    let approval = "\n[approval]\nrequired = 1\nallowed_signers = \"signers\"\n".to_owned();
    let decrypt = "\n[files]\ndecrypt = [\"no-such-program-here\", \"-d\"]\n".to_owned();
    // What is done to a sound desk, what is added to its configuration, and what is found then.
    for (spoiled, added, code, part, expected) in [
        (
            "chmod 644 password",
            "",
            0,
            "keys",
            "warning: password_file: password: others may open it (mode 0644) -> chmod 600 password",
        ),
        (
            "rm password",
            "",
            2,
            "configuration",
            "problem: password: Password file \"password\" does not exist",
        ),
        (
            ": > password",
            "",
            2,
            "configuration",
            "its first line is empty -> write the password into the first line",
        ),
        (
            "chmod 640 disburse.db",
            "",
            0,
            "journal",
            "warning: disburse.db: others may open it (mode 0640), and it holds names and numbers -> chmod 600 disburse.db",
        ),
        (
            "ln disburse.db again.db",
            "",
            2,
            "journal",
            "problem: disburse.db: it has 2 names",
        ),
        (
            "rm disburse.db.mark",
            "",
            0,
            "journal",
            "warning: disburse.db.mark: the journal may have missed something: the journal was in use, and its mark file is missing",
        ),
        (
            "rm disburse.db",
            "",
            2,
            "journal",
            "problem: disburse.db: it is gone",
        ),
        (
            "touch disburse.db.loading-1",
            "",
            0,
            "journal",
            "note: left beside the journal: 1 file of a command that was killed: disburse.db.loading-1",
        ),
        (
            "chmod 777 .",
            "",
            0,
            "journal",
            "warning: folder of the journal: others may write there (mode 0777)",
        ),
        (
            "true",
            callbacks.as_str(),
            2,
            "callbacks",
            "cannot be bound: Address already in use",
        ),
        (
            line,
            approval.as_str(),
            2,
            "keys",
            "it names 1 of the 2 people",
        ),
        (
            "true",
            decrypt.as_str(),
            2,
            "job",
            "problem: job: files.decrypt: no-such-program-here is not here",
        ),
        (
            "true",
            "\n[serivces.X]\n",
            2,
            "configuration",
            "unknown key \"serivces\" -> did you mean \"services\"?",
        ),
    ] {
        let desk = sound();
        desk.shell(spoiled).finished(0);
        let text = format!("{}{added}", desk.text("disburse.toml"));
        let desk = desk.file("disburse.toml", text);
        let before = desk.files();
        let said = desk.run(&["doctor", "--json"]).finished(code);
        let found = about(&said, part);
        assert!(found.contains(expected), "{spoiled}{added}: {found}");
        assert_eq!(desk.files(), before, "{spoiled}");
    }
}

#[test]
fn a_job_has_less_than_a_person_and_few_files_are_too_few() {
    let desk = sound();
    let bare = desk
        .shell(&format!("env -i {} doctor --json", crate::desk::BINARY))
        .finished(0);
    let job = about(&bare, "job");
    assert!(job.contains("note: job: home: HOME is not set"), "{job}");
    assert!(
        job.contains("the paths of configuration and journal are relative to this folder"),
        "{job}"
    );
    assert!(job.contains("begin its line with: cd "), "{job}");
    let desk = desk.variable("DISBURSE_RATE", "1/s");
    let said = desk.run(&["doctor", "--json"]).finished(0);
    assert!(
        about(&said, "job").contains("warning: job: variables: DISBURSE_RATE is set here"),
        "{said:?}"
    );
    let said = desk
        .shell("ulimit -n 100; disburse doctor --json")
        .finished(2);
    assert!(about(&said, "system").contains("problem: open files: 100 are allowed, and 64 requests at once want 128 -> ulimit -n 128"), "{said:?}");
}

#[test]
fn nobody_is_asked_but_with_online() {
    let desk = sound();
    let text =
        desk.text("disburse.toml")
            .replacen("http://127.0.0.1:9", "https://nowhere.invalid", 1);
    let desk = desk.file("disburse.toml", text);
    let said = desk.run(&["doctor", "--json"]).finished(0);
    assert!(
        about(&said, "gateway").contains("not contacted"),
        "{said:?}"
    );
    let said = desk.run(&["doctor", "--json", "--online"]).finished(2);
    assert!(
        about(&said, "gateway").contains("problem: base_url: nowhere.invalid is not found"),
        "{said:?}"
    );
}
