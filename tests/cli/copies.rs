//! A copy that was put back in place of its journal: nothing that a person reads promises what only the lost journal knew.

use std::fs;

use crate::desk::Desk;

/// What nobody can know who has a copy alone.
const PROMISES: [&str; 5] = [
    "No money has moved",
    "Proven not paid",
    "never sent",
    "nobody was paid",
    "Correct it and add",
];

/// A desk whose batch `b` is as far as `until`, copied, and put back.
fn restored(until: &str) -> Desk {
    let desk = Desk::with_rows().variable("DISBURSE_FIRST_QUERY_AFTER", "200ms");
    desk.run(&["load", "ok.csv", "--batch", "b", "--sandbox"])
        .finished(0);
    desk.shell(until);
    desk.run(&["backup", "copy.db"]).finished(0);
    for name in ["disburse.db-wal", "disburse.db-shm"] {
        let _ = fs::remove_file(desk.path(name));
    }
    fs::rename(desk.path("copy.db"), desk.path("disburse.db")).unwrap();
    desk
}

fn all_that_is_read(desk: &Desk) -> Vec<(String, String)> {
    let mut read: Vec<(String, String)> =
        ["status", "status b", "explain b R-1", "report b --out r"]
            .into_iter()
            .map(|line| {
                let said = desk.run(&line.split(' ').collect::<Vec<_>>()).finished(0);
                assert!(said.err.contains("may have missed"), "{line}: {}", said.err);
                (line.to_owned(), said.out)
            })
            .collect();
    for name in ["r/report.html", "r/report.json"] {
        read.push((name.to_owned(), desk.text(name)));
    }
    read
}

#[test]
fn in_a_copy_nothing_says_that_no_money_moved() {
    for (until, words) in [
        ("true", "the money may have moved"),
        ("disburse cancel b --yes", "the money may have moved"),
        (
            "printf 'refuse = 1.0\\n' > f.toml; disburse run b --sandbox --yes --faults f.toml",
            "may have missed a later payment of the same row",
        ),
    ] {
        let desk = restored(until);
        let read = all_that_is_read(&desk);
        for (name, text) in &read {
            for promise in PROMISES {
                assert!(
                    !text.contains(promise),
                    "{until}: {name}: {promise}\n{text}"
                );
            }
        }
        for name in ["explain b R-1", "r/report.html"] {
            let (_, text) = read.iter().find(|(known, _)| known == name).unwrap();
            assert!(text.contains(words), "{until}: {name}\n{text}");
        }
        let report: serde_json::Value = serde_json::from_str(&desk.text("r/report.json")).unwrap();
        let told = report["may_have_missed"].as_str().unwrap();
        assert!(
            told.contains("it is a copy that `disburse backup` made"),
            "{told}"
        );
    }
}

/// What would pay somebody again, as a person types it or reads it.
const PAYS_AGAIN: [&str; 5] = [
    "disburse retry",
    "--amend",
    "add the corrected row",
    "under another batch name",
    "load the corrected row",
];

/// The lost journal may have paid what this one knows as failed or cancelled: each text says first what comes first.
#[test]
fn in_a_copy_no_text_tells_how_to_pay_again() {
    let says_so = |what: &str, text: &str, first: &str| {
        assert!(text.contains(first), "{what}: {text}");
        for way in PAYS_AGAIN {
            assert!(!text.contains(way), "{what}: {way}\n{text}");
        }
    };
    let said = |desk: &Desk, line: &str| {
        let said = desk.run(&line.split(' ').collect::<Vec<_>>()).finished(0);
        format!("{}{}", said.out, said.err)
    };
    let first = "Pay nobody again yet: `disburse recover`";
    let desk = restored("disburse cancel b --yes");
    says_so("cancelled", &said(&desk, "explain b R-1"), first);
    let desk = restored(
        "printf 'refuse = 1.0\\n' > f.toml; disburse run b --sandbox --yes --faults f.toml",
    );
    says_so("failed", &said(&desk, "explain b R-1"), first);
    says_so("report", &said(&desk, "report b --out r"), first);
    let rows = desk.text("r/failed.csv");
    says_so(
        "failed.csv",
        &rows,
        "Pay nobody again yet: “disburse recover”",
    );
    let told = rows.matches("Pay nobody again yet").count();
    assert_eq!(told, rows.lines().count() - 1, "{rows}");
    says_so(
        "run",
        &desk.run(&["run", "b", "--sandbox", "--yes"]).err,
        first,
    );
}

#[test]
fn a_journal_that_knows_all_says_so() {
    let desk = Desk::loaded();
    desk.run(&["report", "b", "--out", "r"]).finished(0);
    let page = desk.text("r/report.html");
    assert!(page.contains("Not sent yet. No money has moved."), "{page}");
    let report: serde_json::Value = serde_json::from_str(&desk.text("r/report.json")).unwrap();
    assert!(report.get("may_have_missed").is_none(), "{report}");
}

#[test]
fn how_many_copies_are_kept_is_said_in_words_that_help() {
    let desk = Desk::loaded();
    fs::create_dir(desk.path("copies")).unwrap();
    for (keep, words) in [
        (
            "0",
            "write 1 to keep only the new one, or leave --keep out to remove nothing",
        ),
        ("x", "expected a whole number, such as 30"),
        ("99999", "at most 65535: leave --keep out to remove nothing"),
    ] {
        let said = desk.run(&["backup", "copies", "--keep", keep]).finished(2);
        assert!(said.err.contains(words), "{}", said.err);
    }
    assert_eq!(fs::read_dir(desk.path("copies")).unwrap().count(), 0);
}
