//! Journals that are none of ours: refused by every command, and left as they are.

use std::fs;
use std::os::unix::fs::symlink;

use rusqlite::Connection;

use crate::desk::Desk;

const COMMANDS: [&[&str]; 8] = [
    &["status"],
    &["status", "b"],
    &["verify", "b"],
    &["load", "ok.csv", "--batch", "n", "--sandbox"],
    &["run", "b", "--sandbox"],
    &["report", "b", "--out", "r"],
    &["explain", "b", "R-1"],
    &["cancel", "b"],
];

#[track_caller]
fn all_refuse(desk: &Desk, journal: &str, error: &str, hint: &str) {
    for command in COMMANDS {
        let arguments = [command, &["--journal", journal]].concat();
        desk.refuses(
            &arguments,
            2,
            &[
                &format!("error: journal {journal}: {error}"),
                &format!("hint: {hint}"),
            ],
        );
    }
}

#[test]
fn a_text_file() {
    let desk = Desk::with_rows().file("notes.txt", "To do: pay everyone, once.\n".repeat(300));
    all_refuse(
        &desk,
        "notes.txt",
        "is not a journal of disburse",
        "name another file with --journal; if this was your journal, its first bytes are damaged: see \"A lost, \
         restored or copied journal\" in docs/operations.md",
    );
}

#[test]
fn a_database_of_another_program() {
    let desk = Desk::with_rows();
    Connection::open(desk.path("other.db"))
        .unwrap()
        .execute_batch("create table invoice (id integer primary key)")
        .unwrap();
    all_refuse(
        &desk,
        "other.db",
        "is not a journal of disburse (it is a SQLite database of another program)",
        "name another file with --journal",
    );
}

#[test]
fn a_journal_that_is_newer_than_the_program() {
    let desk = Desk::loaded();
    Connection::open(desk.path("disburse.db"))
        .unwrap()
        .execute_batch("pragma user_version = 99")
        .unwrap();
    all_refuse(
        &desk,
        "disburse.db",
        "was written by a newer disburse (schema 99, this one knows 11)",
        "use the newer disburse for it",
    );
}

#[test]
fn a_symbolic_link() {
    let desk = Desk::loaded();
    symlink("disburse.db", desk.path("link.db")).unwrap();
    symlink("nowhere.db", desk.path("dangling.db")).unwrap();
    for link in ["link.db", "dangling.db"] {
        all_refuse(
            &desk,
            link,
            "is a symbolic link; name the file itself",
            "a journal holds names and phone numbers; keep it in a file of your own",
        );
    }
}

#[test]
fn a_folder_or_a_device() {
    let desk = Desk::with_rows();
    fs::create_dir(desk.path("folder")).unwrap();
    for path in ["folder", "/dev/null"] {
        all_refuse(
            &desk,
            path,
            "is not a file",
            "a journal holds names and phone numbers; keep it in a file of your own",
        );
    }
}

#[test]
fn no_journal_at_all_is_made_by_loading_only() {
    let desk = Desk::with_rows();
    for command in COMMANDS.into_iter().filter(|command| command[0] != "load") {
        desk.refuses(
            command,
            2,
            &[
                "error: journal disburse.db: no such file",
                "hint: name the journal that has the batch, with --journal; only where there never was one, the first load makes it",
            ],
        );
    }
}

#[test]
fn an_empty_file_becomes_a_journal_by_loading_only() {
    let desk = Desk::with_rows().file("empty.db", "");
    for command in COMMANDS.into_iter().filter(|command| command[0] != "load") {
        let arguments = [command, &["--journal", "empty.db"]].concat();
        desk.refuses(
            &arguments,
            2,
            &[
                "error: journal empty.db: is not a journal of disburse (it is empty)",
                "hint: name another file with --journal",
            ],
        );
    }
}

#[test]
fn a_journal_without_batches_says_so() {
    let desk = Desk::with_rows();
    // One of an earlier release, which took an empty file and then refused what was loaded.
    let at = desk.path("disburse.db").as_path().into();
    drop(disburse::journal::Journal::open(&at).unwrap());
    let said = desk.run(&["status"]).finished(0);
    assert_eq!(said.out, "");
    assert_eq!(
        said.err,
        "the journal holds no batch yet; `disburse load FILE --batch NAME` makes one\n"
    );
    assert_eq!(desk.run(&["status", "--json"]).finished(0).out, "[]\n");
    let load = desk.run(&["load", "ok.csv", "--batch", "b", "--sandbox"]);
    load.finished(0);
}

#[test]
fn an_empty_file_is_no_place_for_a_first_load() {
    let desk = Desk::with_rows();
    fs::write(desk.path("disburse.db"), "").unwrap();
    for command in ["load", "pay"] {
        desk.refuses(
            &[command, "ok.csv", "--batch", "b", "--sandbox"],
            2,
            &[
                "error: journal disburse.db: is an empty file, and no journal; nothing was loaded",
                "hint: if a journal was here before, put its newest copy back; if one was being moved here, repeat that move. If there never was one, \
                 remove the file: the next load makes a journal",
            ],
        );
    }
    assert!(fs::read(desk.path("disburse.db")).unwrap().is_empty());
}

#[test]
fn a_journal_with_two_names() {
    let desk = Desk::loaded();
    fs::hard_link(desk.path("disburse.db"), desk.path("second.db")).unwrap();
    for journal in ["disburse.db", "second.db"] {
        all_refuse(
            &desk,
            journal,
            "has 2 names (hard links)",
            &format!(
                "each name would have a lock, a log and a mark of its own, and two runs could post the same payments: keep one \
                 name, and remove the others (`find FOLDER -samefile FILE` lists them); `disburse --journal {journal} backup FILE` makes a copy"
            ),
        );
    }
    // As the hint says.
    fs::remove_file(desk.path("second.db")).unwrap();
    let said = desk.run(&["recover"]);
    assert_eq!(
        (said.code, &*said.out),
        (
            0,
            "nothing is known to be missing: the journal is as it was left in this place\n"
        )
    );
}
