//! Where the journal is: a file that flag, variable or configuration name, or a server.

use crate::desk::{CONFIGURATION, Desk};

const SERVER: &str = "postgres://pay@db.example/journal?sslmode=verify-full";
const SHOWN: &str = "postgres://pay@db.example/journal";

/// Loads the three rows as a rehearsal.
const LOAD: [&str; 5] = ["load", "ok.csv", "--batch", "b", "--sandbox"];

fn with_journal(journal: &str) -> String {
    CONFIGURATION.replacen(
        "[profiles.p]\n",
        &format!("[profiles.p]\njournal = \"{journal}\"\n"),
        1,
    )
}

#[test]
fn flag_then_variable_then_configuration_then_the_file_of_this_folder() {
    let load = |desk: &Desk, flag: &[&str]| {
        desk.run(&[&LOAD[..], flag].concat()).finished(0);
    };
    let desk = Desk::with_rows();
    std::fs::create_dir(desk.path("etc")).unwrap();
    load(&desk, &[]);
    assert!(desk.path("disburse.db").exists());
    // A path starts at the file that names it.
    let desk = desk.file("etc/disburse.toml", with_journal("../configured.db"));
    let config = ["--config", "etc/disburse.toml"];
    load(&desk, &config);
    assert!(desk.path("configured.db").exists());
    let desk = desk.variable("DISBURSE_JOURNAL", "variable.db");
    load(&desk, &config);
    assert!(desk.path("variable.db").exists());
    load(&desk, &[&config[..], &["--journal", "flag.db"]].concat());
    assert!(desk.path("flag.db").exists());
    let shown = |flag: &[&str]| {
        let arguments = [&["config", "show"][..], &config, flag].concat();
        let said = desk.run(&arguments).finished(0).out;
        let line = said
            .lines()
            .find(|line| line.trim().starts_with("journal "));
        let words: Vec<String> = line
            .unwrap()
            .split_whitespace()
            .map(str::to_owned)
            .collect();
        words[1..].join(" ")
    };
    assert_eq!(shown(&[]), "variable.db environment DISBURSE_JOURNAL");
    assert_eq!(shown(&["--journal", "flag.db"]), "flag.db flag");
}

#[test]
fn a_configuration_that_may_name_a_journal_is_understood_or_nothing_is_done() {
    let two = format!("{}\n[profiles.q]\nusername = \"q\"\n", with_journal("p.db"));
    let desk = Desk::loaded().file("disburse.toml", two);
    let said = desk.run(&["status"]).finished(2);
    assert!(said.err.contains("no profile chosen"), "{}", said.err);
    // The other one names none.
    desk.run(&["status", "--profile", "q"]).finished(0);
    desk.run(&["status", "--journal", "disburse.db"])
        .finished(0);
    let said = desk.run(&["status", "--profile", "p"]).finished(2);
    assert!(said.err.contains("p.db: no such file"), "{}", said.err);
}

#[test]
fn a_password_in_an_address_is_refused_and_printed_nowhere() {
    let lines = [
        "error: the address of the journal holds a password, which others can see there",
        "hint: leave it out of the address; put it into a file of mode 0600, and name that file with journal_password_file in the configuration",
    ];
    let address = "postgres://pay:hunter2@db.example/journal";
    let desk = Desk::with_rows();
    for command in [&["status"][..], &["backup", "copy.db"], &LOAD] {
        desk.refuses(&[command, &["--journal", address]].concat(), 2, &lines);
    }
    desk.refuses(&["journal", "check", address], 2, &lines);
    let desk = desk.variable("DISBURSE_JOURNAL", address);
    desk.refuses(&["status"], 2, &lines);
    for arguments in [&["--help"][..], &["doctor"], &["config", "show"]] {
        let said = desk.run(arguments);
        let all = format!("{}{}", said.out, said.err);
        assert!(!all.contains("hunter2"), "{arguments:?}: {all}");
    }
}

#[test]
fn an_address_that_cannot_be_read_makes_no_file() {
    let desk = Desk::with_rows();
    for address in [
        "postgres://db.example",
        "postgres:/pay@db.example/journal",
        "postgre://pay@db.example/journal",
        "sqlite://disburse.db",
        "",
    ] {
        let before = desk.files();
        let said = desk.run(&[&LOAD[..], &["--journal", address]].concat());
        assert!(said.err.contains("\nhint: "), "{address}: {}", said.err);
        said.finished(2);
        assert_eq!(desk.files(), before, "{address}");
    }
}

#[test]
fn what_a_file_alone_can_do_is_refused_for_a_server() {
    let rehearsal = [
        &format!(
            "error: journal {SHOWN}: is on a server, and a rehearsal (--sandbox) has a journal in a file; nothing was sent"
        ),
        "hint: name a file for the rehearsal: --journal FILE",
    ];
    let backup = [
        &format!(
            "error: journal {SHOWN}: is on a server, and backup copies the file of a journal; nothing was written"
        ),
        "hint: copy the database with the server's own tools: pg_dump, or a base backup with the log that follows it",
    ];
    let archive = [
        &format!(
            "error: journal {SHOWN}: is on a server, and archive takes batches out of the file of a journal; nothing was written"
        ),
        "hint: the batch stays where it is: disburse report writes what the books need, and disburse verify prints the head of its evidence; the server's own tools keep copies of the database",
    ];
    let rewrite = [
        &format!(
            "error: journal {SHOWN}: is on a server, and archive --rewrite writes the file of a journal anew; nothing was changed"
        ),
        "hint: the server overwrites by itself what was removed (VACUUM); the people who run the server keep its log, its copies and its backups, which may still have it",
    ];
    let desk = Desk::configured().file("disburse.toml", with_journal(SERVER));
    for (arguments, lines) in [
        (&LOAD[..], &rehearsal),
        (&["run", "b", "--sandbox"], &rehearsal),
        (&["pay", "ok.csv", "--batch", "b", "--sandbox"], &rehearsal),
        (&["approve", "b", "--sandbox"], &rehearsal),
        (&["retry", "b", "R-1", "--sandbox"], &rehearsal),
        (&["probe", "--sandbox", "--pay", "ok.csv"], &rehearsal),
        (&["backup", "copy.db"], &backup),
        (&["backup", ".", "--keep", "3"], &backup),
        (&["archive", "b", "--out", "."], &archive),
        (&["archive", "--rewrite"], &rewrite),
    ] {
        desk.refuses(arguments, 2, lines);
    }
    // A rehearsal beside it has a file of its own.
    desk.run(&[&LOAD[..], &["--journal", "rehearsal.db"]].concat())
        .finished(0);
}

#[test]
fn the_doctor_says_that_a_journal_is_on_a_server_and_looks_at_the_rest() {
    let desk = Desk::configured().file("disburse.toml", with_journal(SERVER));
    let said = desk.run(&["doctor"]);
    let (_, of_journal) = said.out.split_once(SHOWN).unwrap();
    assert!(
        of_journal.starts_with(
            ": the journal is on a server, and was not checked here\n         -> disburse journal check 'postgres://pay@db.example/journal?sslmode=verify-full'\n"
        ),
        "{}",
        said.out
    );
    assert!(said.out.contains(" clock: "), "{}", said.out);
    assert!(!said.out.contains("disk of "), "{}", said.out);
}

#[test]
fn the_commands_about_a_journal_on_a_server_are_about_no_file() {
    let desk = Desk::new();
    // Without an address it is the journal of the other commands that is checked.
    let cases = [
        (&["init", "j.db"][..], "j.db"),
        (&["check", "j.db"], "j.db"),
        (&["check"], "disburse.db"),
    ];
    for (words, file) in cases {
        desk.refuses(
            &[&["journal"], words].concat(),
            2,
            &[
                &format!("error: {file}: is a file, but this command is for a journal on a server"),
                "hint: a journal in a file is made by the first load, and checked by disburse doctor; name a server as postgres://USER@HOST/DATABASE",
            ],
        );
    }
}

#[test]
fn a_journal_that_was_moved_is_used_where_it_is_now() {
    let desk = Desk::waiting();
    let copy = ["journal", "copy", "disburse.db", "moved.db"];
    desk.refuses(
        &copy,
        2,
        &[
            "error: this would move the journal disburse.db to moved.db: from then on nothing is loaded, run or ordered in disburse.db; nothing was changed",
            "hint: add --yes to do it without a question",
        ],
    );
    let yes = [&copy[..], &["--yes"]].concat();
    let said = desk.run(&yes).finished(0);
    assert_eq!(
        said.out,
        "moved.db: 1 batch, 3 payments: all of it arrived, and is sound\n"
    );
    assert!(said.err.contains("--journal moved.db"), "{}", said.err);
    let whole = desk.path("moved.db").canonicalize().unwrap();
    let whole = whole.to_str().unwrap();
    let lines = [
        &format!(
            "error: this journal was moved to {whole}; nothing is loaded, run or ordered here any more"
        ),
        &*format!(
            "hint: name the journal that is there: --journal {whole}, DISBURSE_JOURNAL, or the key journal of the configuration. Here, everything is as it was when the journal was moved"
        ),
    ];
    for arguments in [
        &["run", "b", "--sandbox"][..],
        &["cancel", "b", "R-1", "--reason", "x", "--yes"],
        &yes,
    ] {
        let said = desk.run(arguments).finished(2);
        let found: Vec<&str> = said.err.lines().collect();
        assert_eq!(found, lines, "{arguments:?}");
    }
    let warning = format!(
        "warning: this journal was moved to {whole}: what is shown here is its state when it was moved"
    );
    let said = desk.run(&["status"]).finished(0);
    assert!(said.err.starts_with(&warning), "{}", said.err);
    let said = desk.run(&["status", "b"]).finished(0);
    let since = format!(
        "\nnot finished when this journal was moved; to see how it stands now: disburse --journal {whole} status b\n"
    );
    assert!(said.out.contains(&since), "{}", said.out);
    let there = ["--journal", "moved.db"];
    let said = desk.run(&[&["verify", "b"][..], &there].concat());
    said.finished(0);
    let said = desk.run(&[&["recover"][..], &there].concat()).finished(0);
    assert!(
        said.out.contains("as it was left in this place"),
        "{}",
        said.out
    );
    // Nor is a new one begun in its place, or another one moved there.
    for suffix in ["", ".mark", ".lock"] {
        let _ = std::fs::remove_file(desk.path(&format!("disburse.db{suffix}")));
    }
    let load = ["load", "ok.csv", "--batch", "other", "--sandbox"];
    let said = desk.run(&load).finished(2);
    assert!(said.err.contains(lines[0]), "{}", said.err);
    let back = ["journal", "copy", "moved.db", "disburse.db", "--yes"];
    let said = desk.run(&back).finished(2);
    assert!(
        said.err.contains("disburse.db.moved: exists already"),
        "{}",
        said.err
    );
    assert!(!desk.path("disburse.db").exists());
    // Somebody has changed what the notice says.
    std::fs::write(desk.path("disburse.db.moved"), "").unwrap();
    let said = desk.run(&load).finished(1);
    assert!(said.err.contains("and not where it went"), "{}", said.err);
    assert!(!desk.path("disburse.db").exists());
}

#[test]
fn a_journal_that_is_in_use_stays_where_it_is() {
    let desk = Desk::loaded();
    for (arguments, says) in [
        (
            &["disburse.db", "disburse.db"][..],
            "disburse.db: exists already",
        ),
        (&["none.db", "to.db"], "none.db: no such file"),
        (&["disburse.db", "no/to.db"], "no: there is no such folder"),
        (&["disburse.db", "to.db.lock"], "a name that ends in .lock"),
    ] {
        let arguments = [&["journal", "copy", "--yes"], arguments].concat();
        let said = desk.run(&arguments);
        assert!(said.err.contains(says), "{arguments:?}: {}", said.err);
        assert_ne!(said.code, 0, "{arguments:?}");
    }
    desk.run(&["run", "b", "--sandbox", "--faults", "none"])
        .finished(0);
}

#[test]
fn a_hint_names_what_variables_say() {
    let desk = Desk::with_rows()
        .variable("DISBURSE_JOURNAL", "my journal.db")
        .variable("DISBURSE_CONFIG", "c.toml")
        .file("c.toml", CONFIGURATION);
    let said = desk.run(&LOAD).finished(0);
    let next = "disburse --config c.toml --journal 'my journal.db' run b --sandbox";
    let all = format!("{}{}", said.out, said.err);
    assert!(all.contains(next), "{all}");
}
