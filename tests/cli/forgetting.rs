//! People who are forgotten, as a person does it: by archives, and by name.

use std::fs;
use std::path::PathBuf;

use crate::desk::Desk;

const ROWS: &str = "reference,service_code,msisdn,amount,currency_code,country_code,customer_names,narration\n\
    EMP-ALPHA,B2C_MPESA,254712000001,100.00,KES,KE,Wanjiku Alpha,Wages of Alpha\n\
    EMP-BRAVO,B2C_MPESA,254712000002,200.00,KES,KE,Otieno Bravo,Wages of Bravo\n\
    EMP-CHARLIE,B2C_MPESA,254712000003,300.00,KES,KE,Achieng Charlie,Wages of Charlie\n\
    EMP-WRONG,B2C_MPESA,12,400.00,KES,KE,Kamau Wrong,Wages of Wrong\n";

/// All that tells one of these people from anybody else.
fn personal(name: &str) -> Vec<String> {
    let number = ["ALPHA", "BRAVO", "CHARLIE"]
        .iter()
        .position(|known| *known == name)
        .map(|at| format!("25471200000{}", at + 1));
    let small = format!("{}{}", &name[..1], name[1..].to_lowercase());
    let texts = [
        format!("EMP-{name}"),
        format!(" {small}"),
        format!("of {small}"),
    ];
    number.into_iter().chain(texts).collect()
}

/// A desk whose batch `b` is paid; one row of it was rejected, and is withdrawn.
fn paid() -> Desk {
    let desk = Desk::new()
        .file("rows.csv", ROWS)
        .variable("DISBURSE_FIRST_QUERY_AFTER", "200ms")
        .variable("DISBURSE_CALLBACK_GRACE", "500ms");
    desk.shell("disburse load rows.csv --batch b --sandbox --on-error skip")
        .finished(0);
    desk.shell("disburse cancel b --rejected --reason 'nobody knows them' --yes")
        .finished(0);
    desk.shell("disburse run b --sandbox --faults none --yes")
        .finished(0);
    desk
}

fn journal(desk: &Desk) -> Vec<u8> {
    let mut all = fs::read(desk.path("disburse.db")).unwrap();
    for more in ["disburse.db-wal", "disburse.db.mark", "disburse.db.lock"] {
        all.extend(fs::read(desk.path(more)).unwrap_or_default());
    }
    all
}

fn holds(bytes: &[u8], text: &str) -> bool {
    memchr::memmem::find(bytes, text.as_bytes()).is_some()
}

fn archive_of(desk: &Desk) -> PathBuf {
    let entries = fs::read_dir(desk.path("kept")).unwrap();
    let paths = entries.map(|entry| entry.unwrap().path());
    let mut zips = paths.filter(|path| path.extension().is_some_and(|end| end == "zip"));
    zips.next().unwrap()
}

#[test]
fn the_people_of_an_archived_batch_are_in_its_archive_and_not_in_the_journal() {
    let desk = paid();
    let before = journal(&desk);
    for name in ["ALPHA", "BRAVO", "CHARLIE", "WRONG"] {
        for text in personal(name) {
            assert!(holds(&before, &text), "{text}");
        }
    }
    // Nobody is forgotten by habit.
    desk.refuses(
        &["archive", "b", "--out", "kept"],
        2,
        &[
            "error: not confirmed: archive 1 batch (4 rows) into kept; this journal then keeps digests instead of the names, numbers, accounts, narrations and references; this cannot be undone; nothing was written",
            "hint: add --yes, or keep the names in the journal with --keep-people: then the archive is written, and nothing is removed",
        ],
    );
    assert!(journal(&desk) == before);
    let said = desk
        .run(&["archive", "b", "--out", "kept", "--yes"])
        .finished(0);
    assert!(
        said.err
            .contains("names, numbers and references of batch b (4 rows) are removed"),
        "{}",
        said.err
    );
    let after = journal(&desk);
    for name in ["ALPHA", "BRAVO", "CHARLIE", "WRONG"] {
        for text in personal(name) {
            assert!(!holds(&after, &text), "{text}");
        }
    }
    let said = desk.run(&["verify", "b"]).finished(0);
    assert!(said.out.contains("sound: everything fits"), "{}", said.out);
    let status = desk.run(&["status", "b", "--json"]).json();
    assert_eq!(status["states"]["paid"]["count"], 3, "{status}");
    // Whoever looks at the batch sees that it is archived, since when, and how the archive is read.
    let name = archive_of(&desk)
        .file_name()
        .unwrap()
        .to_str()
        .unwrap()
        .to_owned();
    assert_eq!(status["people_let_go"]["archive"], *name, "{status}");
    let list = desk.run(&["status"]).finished(0);
    assert!(list.out.contains("archived since 2"), "{}", list.out);
    let one = desk.run(&["status", "b"]).finished(0);
    let command = format!("disburse archive read {name}");
    assert!(one.out.contains(&command), "{}", one.out);
    let id = desk.shell(
        "disburse report b --out again >/dev/null && sed -n 2p again/payments.csv | cut -d, -f3",
    );
    let id = id.out.trim();
    let one = desk.run(&["explain", "b", "--id", id]).finished(0);
    assert!(
        one.out.contains(&format!("{command} --payment {id}")),
        "{}",
        one.out
    );
    // What the journal has forgotten the archive tells.
    let path = archive_of(&desk);
    let told = desk
        .run(&[
            "archive",
            "read",
            path.to_str().unwrap(),
            "--payment",
            "EMP-BRAVO",
        ])
        .finished(0);
    assert!(told.out.contains("paid"), "{}", told.out);
    // It is archived once.
    let said = desk.run(&["archive", "b", "--out", "kept", "--yes"]);
    assert_eq!(said.code, 2, "{}", said.err);
    assert!(
        said.err.contains("its people are no longer in the journal"),
        "{}",
        said.err
    );
    // Nothing is brought into the batch any more: nobody could compare it.
    let delta = ROWS.replace("EMP-BRAVO", "EMP-DELTA");
    fs::write(desk.path("more.csv"), delta).unwrap();
    let said = desk.shell("disburse load more.csv --batch b --amend --sandbox --on-error skip");
    assert_eq!(said.code, 2, "{}{}", said.out, said.err);
    assert!(
        said.err
            .contains("names and numbers of batch b were removed"),
        "{}",
        said.err
    );
    // What stands in the place of an account is nobody's.
    let row = "reference,service_code,msisdn,account_number,amount,currency_code,country_code\nN-1,BANK_EQUITY,254712000001,forgotten-ABCDEF,100.00,KES,KE\n";
    std::fs::write(desk.path("pseudonym.csv"), row).unwrap();
    let said = desk.run(&["check", "pseudonym.csv"]);
    assert!(
        said.code == 2
            && said
                .err
                .contains("is the pseudonym of an account that was forgotten"),
        "{}{}",
        said.out,
        said.err
    );
    desk.run(&["verify", "b"]).finished(0);
}

#[test]
fn one_person_is_forgotten_by_number_and_the_others_stay() {
    let desk = paid();
    desk.refuses(
        &["archive", "--forget", "254712000002", "--yes"],
        2,
        &[
            "error: --reason is missing; nothing was changed",
            "hint: it is kept for ever: write who asked for it and when, without naming the person, as --reason \"request 2026-118\"",
        ],
    );
    let told = desk
        .run(&["archive", "--forget", "254712000002", "--dry-run", "--json"])
        .finished(0)
        .json();
    assert_eq!(told["forgotten"][0]["payments"], 1, "{told}");
    let said = desk
        .run(&[
            "archive",
            "--forget",
            "+254 712 000002",
            "--reason",
            "request 1",
            "--yes",
        ])
        .finished(0);
    assert!(
        said.out.contains("batch b: 1 row forgotten"),
        "{}",
        said.out
    );
    let after = journal(&desk);
    for name in ["ALPHA", "BRAVO", "CHARLIE"] {
        for text in personal(name) {
            assert_eq!(holds(&after, &text), name != "BRAVO", "{text}");
        }
    }
    desk.run(&["verify", "b"]).finished(0);
    let said = desk.run(&[
        "archive",
        "--forget",
        "254712000002",
        "--reason",
        "again",
        "--yes",
    ]);
    assert_eq!(said.code, 2, "{}", said.err);
    assert!(
        said.err.contains("no row of this journal pays"),
        "{}",
        said.err
    );
}

#[test]
fn whoever_is_still_to_be_paid_is_not_forgotten() {
    let desk = Desk::new().file("rows.csv", ROWS);
    desk.shell("disburse load rows.csv --batch b --sandbox --on-error skip")
        .finished(0);
    let before = journal(&desk);
    let said = desk.run(&[
        "archive",
        "--forget",
        "254712000002",
        "--reason",
        "request",
        "--yes",
    ]);
    assert_eq!(said.code, 4, "{}", said.err);
    assert!(
        said.out
            .contains("batch b: 1 row stays: a payment of it is not sent yet"),
        "{}",
        said.out
    );
    assert!(journal(&desk) == before);
}

#[test]
fn nobody_is_forgotten_out_of_a_journal_that_was_edited() {
    let desk = paid();
    let c = rusqlite::Connection::open(desk.path("disburse.db")).unwrap();
    c.execute_batch("drop trigger instruction_is_never_changed; update instruction set amount = 1 where reference = 'EMP-BRAVO'")
        .unwrap();
    drop(c);
    let file = || fs::read(desk.path("disburse.db")).unwrap();
    let before = file();
    for command in [
        &[
            "archive",
            "--forget",
            "254712000002",
            "--reason",
            "request",
            "--yes",
        ][..],
        &["archive", "b", "--out", "kept", "--yes"],
    ] {
        let said = desk.run(command);
        assert!(
            said.err.contains("differs from what was recorded"),
            "{command:?}: {}",
            said.err
        );
        assert!(file() == before, "{command:?}");
    }
}

/// Two people whose numbers are alike but for their countries, an account that has the digits of one, and rows that were refused.
fn paid_in_two_countries() -> Desk {
    let header = "reference,service_code,msisdn,account_number,amount,currency_code,country_code,customer_names\n";
    let kenya = "EMP-ALPHA,B2C_MPESA,0712000001,,100.00,KES,KE,Wanjiku Alpha\n\
        EMP-BRAVO,B2C_MPESA,254712000002,,200.00,KES,KE,Otieno Bravo\n\
        EMP-DELTA,B2C_MPESA,254712000004,,200.00,KES,KE,Njeri Delta\n\
        BAD-BRAVO,B2C_MPESA,0712 000 002,,wrong,KES,KE,Otieno Bravo\n\
        BAD-OTHER,B2C_MTN_UG,0712000002,,wrong,UGX,UG,Mukasa Echo\n";
    let bank = "reference,service_code,msisdn,bank_code,bank_name,bank_account_name,bank_account_number,amount,currency_code,country_code,customer_names\n\
        EMP-BANK,BANK_TRANSFER,254712000009,68,Equity Bank,Account Holder,0712000004,300.00,KES,KE,Account Holder\n";
    let uganda = "EMP-UGANDA,B2C_MTN_UG,256712000001,,5000,UGX,UG,Mukasa Uganda\n";
    let desk = Desk::new()
        .file("kenya.csv", format!("{header}{kenya}"))
        .file("uganda.csv", format!("{header}{uganda}"))
        .file("bank.csv", bank)
        .variable("DISBURSE_FIRST_QUERY_AFTER", "200ms")
        .variable("DISBURSE_CALLBACK_GRACE", "500ms");
    for (file, batch) in [("kenya.csv", "b"), ("uganda.csv", "u"), ("bank.csv", "k")] {
        desk.shell(&format!(
            "disburse load {file} --batch {batch} --sandbox --on-error skip && (disburse cancel {batch} --rejected --reason unknown --yes; \
             disburse run {batch} --sandbox --faults none --yes)"
        ))
        .finished(0);
    }
    desk
}

#[test]
fn a_number_as_it_is_written_within_its_country_finds_the_same_person() {
    let desk = paid_in_two_countries();
    let dry = |text: &str| {
        let arguments = ["archive", "--forget", text, "--dry-run", "--json"];
        let said = desk.run(&arguments);
        let found = match said.code {
            0 => said.json()["forgotten"].as_array().unwrap().clone(),
            _ => Vec::new(),
        };
        let found: Vec<String> = found
            .iter()
            .map(|one| {
                format!(
                    "{} {}+{}",
                    one["batch"].as_str().unwrap(),
                    one["payments"],
                    one["rejected"]
                )
            })
            .collect();
        (said.code, found, said.err)
    };
    for (text, expected) in [
        // However it is written, and with the row that was refused in that country.
        ("254712000002", &["b 1+1"][..]),
        ("0712000009", &["k 1+0"]),
        ("0712 000-009", &["k 1+0"]),
        ("+254 712 000002", &["b 1+1"]),
        ("254712000001", &["b 1+0"]),
        ("256712000001", &["u 1+0"]),
        // An account, as its rows have it.
        ("712000004", &["k 1+0"]),
        ("254712000004", &["b 1+0"]),
    ] {
        let (code, found, err) = dry(text);
        assert_eq!(
            (code, &found[..]),
            (
                0,
                &expected
                    .iter()
                    .map(|one| (*one).to_owned())
                    .collect::<Vec<_>>()[..]
            ),
            "{text}: {err}"
        );
    }
    for (text, why) in [
        (
            "0712000001",
            "the number or account may mean 2 recipients; nobody was forgotten",
        ),
        // The row that was refused in the other country may be meant.
        (
            "0712000002",
            "the number or account may mean 2 recipients; nobody was forgotten",
        ),
        (
            "0712000004",
            "the account ******0004 at bank 68 of KE (10 characters, 1 zero in front): 1 row of batch k",
        ),
        ("0799000000", "no row of this journal pays this recipient"),
    ] {
        let (code, _, err) = dry(text);
        assert_eq!(code, 2, "{text}: {err}");
        assert!(err.contains(why), "{text}: {err}");
        assert!(!err.contains(text), "{text}: {err}");
    }
    desk.run(&[
        "archive",
        "--forget",
        "254712000002",
        "--reason",
        "request 1",
        "--yes",
    ])
    .finished(0);
    let after = journal(&desk);
    for (text, stays) in [
        ("254712000002", false),
        ("0712 000 002", false),
        ("Otieno Bravo", false),
        ("Mukasa Echo", true),
        ("254712000001", true),
        ("0712000004", true),
    ] {
        assert_eq!(holds(&after, text), stays, "{text}");
    }
}

/// The rows that are paid and named as they were before, by their references.
fn known(desk: &Desk) -> Vec<String> {
    let after = journal(desk);
    ["ANNA", "BEN", "CY", "KE", "DAN"]
        .iter()
        .filter(|name| holds(&after, &format!("EMP-{name}")))
        .map(|name| (*name).to_owned())
        .collect()
}

#[test]
fn accounts_of_several_people_are_told_apart_and_each_is_forgotten_alone() {
    let rows = "reference,service_code,msisdn,bank_code,bank_name,bank_account_name,bank_account_number,amount,currency_code,country_code\n\
        EMP-ANNA,BANK_TRANSFER,254712000008,01,Mlima,Anna,0011223344,200.00,KES,KE\n\
        EMP-BEN,BANK_TRANSFER,254712000009,02,Bonde,Ben,0011223344,200.00,KES,KE\n\
        EMP-CY,BANK_TRANSFER,254712000007,02,Bonde,Cy,11223344,200.00,KES,KE\n\
        EMP-KE,B2C_MPESA,254712345678,,,,,200.00,KES,KE\n\
        EMP-DAN,BANK_TRANSFER,254712000001,02,Bonde,Dan,254712345678,200.00,KES,KE\n";
    let desk = Desk::new()
        .file("rows.csv", rows)
        .variable("DISBURSE_FIRST_QUERY_AFTER", "200ms")
        .variable("DISBURSE_CALLBACK_GRACE", "500ms");
    desk.shell("disburse load rows.csv --batch b --sandbox && disburse run b --sandbox --faults none --yes")
        .finished(0);
    let forget = |text: &str, more: &[&str]| {
        let all = ["archive", "--forget", text, "--reason", "request", "--yes"];
        desk.run(&[&all[..], more].concat())
    };
    let before = journal(&desk);
    let word = |text: &str, of: &str| {
        let said = forget(text, &[]);
        assert_eq!(said.code, 2, "{text}: {}", said.err);
        assert!(said.err.contains("; nobody was forgotten"), "{}", said.err);
        assert!(!said.err.contains(text), "{}", said.err);
        let line = said.err.lines().find(|line| line.contains(of));
        let word = line.and_then(|line| line.split_once("--only "));
        let word = word.and_then(|(_, word)| word.split_once(':'));
        word.unwrap_or_else(|| panic!("{of}: {}", said.err))
            .0
            .to_owned()
    };
    let cy = word("0011223344", "account ****3344 at bank 02");
    let anna = word("11223344", "account ******3344 at bank 01");
    let ke = word("254712345678", "the number ********5678 of KE");
    assert!(forget("0011223344", &["--only", &ke]).code == 2);
    assert!(journal(&desk) == before);
    for (text, only, left) in [
        ("254712345678", &ke, &["ANNA", "BEN", "CY", "DAN"][..]),
        ("0011223344", &anna, &["BEN", "CY", "DAN"]),
        ("0011223344", &cy, &["BEN", "DAN"]),
    ] {
        let said = forget(text, &["--only", only]).finished(0);
        assert_eq!(said.out, "batch b: 1 row forgotten\n");
        assert_eq!(known(&desk), left);
    }
    // Who is the only one left needs no word.
    forget("0011223344", &[]).finished(0);
    assert_eq!(known(&desk), ["DAN"]);
    desk.run(&["verify", "b"]).finished(0);
}

#[test]
fn a_failed_payment_whose_person_was_forgotten_is_never_said_to_be_retried() {
    let desk = Desk::new()
        .file(
            "rows.csv",
            ROWS.split_inclusive("EMP-WRONG")
                .next()
                .unwrap()
                .replace("EMP-WRONG", ""),
        )
        .file("faults.toml", "reject = 1.0\n")
        .variable("DISBURSE_FIRST_QUERY_AFTER", "200ms")
        .variable("DISBURSE_CALLBACK_GRACE", "500ms");
    desk.shell("disburse load rows.csv --batch b --sandbox")
        .finished(0);
    desk.run(&["run", "b", "--sandbox", "--faults", "faults.toml", "--yes"])
        .finished(3);
    let id = |reference: &str| {
        desk.run(&["report", "b", "--out", "r"]);
        let text = desk.text("r/payments.csv");
        let row = text.lines().find(|line| line.contains(reference)).unwrap();
        row.split(',').nth(2).unwrap().to_owned()
    };
    let (gone, stays) = (id("EMP-BRAVO"), id("EMP-ALPHA"));
    desk.shell("disburse archive --forget 254712000002 --reason request --yes")
        .finished(0);
    let told = |id: &str| desk.run(&["explain", "b", "--id", id]).finished(0).out;
    let (of_gone, of_other) = (told(&gone), told(&stays));
    assert!(
        of_gone.contains("It cannot be retried, because its person was forgotten")
            && !of_gone.contains("disburse retry"),
        "{of_gone}"
    );
    assert!(
        of_other.contains("disburse retry b EMP-ALPHA"),
        "{of_other}"
    );
    desk.run(&["report", "b", "--out", "after"]);
    let failed = desk.text("after/failed.csv");
    let row = failed.lines().find(|line| line.contains(&gone)).unwrap();
    assert!(
        row.contains("cannot be retried") && !row.contains("disburse retry"),
        "{row}"
    );
}

#[test]
fn whoever_archives_failures_is_told_before_that_nobody_can_retry_them_and_keeps_the_report() {
    let desk = Desk::new()
        .file(
            "rows.csv",
            ROWS.replace("254712000003", "254712000004")
                .lines()
                .take(4)
                .collect::<Vec<_>>()
                .join("\n"),
        )
        .file("faults.toml", "reject = 1.0\n")
        .variable("DISBURSE_FIRST_QUERY_AFTER", "200ms")
        .variable("DISBURSE_CALLBACK_GRACE", "500ms");
    desk.shell("disburse pay rows.csv --batch b --sandbox --faults faults.toml --yes --out r")
        .finished(3);
    let report = fs::read(desk.path("r/payments.csv")).unwrap();
    let warning = "warning: 3 rows are failed or rejected: once names and numbers are in the archive alone, nobody can retry or mend these";
    let planned = desk.run(&["archive", "b", "--dry-run"]).finished(0);
    assert!(planned.err.contains(warning), "{}", planned.err);
    let kept = desk
        .run(&["archive", "b", "--dry-run", "--keep-people"])
        .finished(0);
    assert!(!kept.err.contains("nobody can retry"), "{}", kept.err);
    let said = desk
        .run(&["archive", "b", "--out", "kept", "--yes"])
        .finished(0);
    assert!(said.err.contains(warning), "{}", said.err);
    // The same job again: it finds all ended, and leaves the report with the names as it is.
    let again = desk
        .shell("disburse pay rows.csv --batch b --sandbox --faults faults.toml --yes --out r")
        .finished(3);
    assert!(again.err.contains("archived since"), "{}", again.err);
    assert!(
        again.err.contains("nobody can retry or mend these"),
        "{}",
        again.err
    );
    for wrong in ["disburse retry b", "--amend"] {
        assert!(!again.err.contains(wrong), "{}", again.err);
    }
    assert!(fs::read(desk.path("r/payments.csv")).unwrap() == report);
    let refused = desk.run(&["report", "b", "--out", "r"]).finished(2);
    for words in ["the report in r stays as it is", "disburse archive read b-"] {
        assert!(refused.err.contains(words), "{}", refused.err);
    }
    assert!(fs::read(desk.path("r/payments.csv")).unwrap() == report);
    let path = archive_of(&desk);
    let archive = path.to_str().unwrap();
    desk.run(&["archive", "read", archive, "--report", "whole"])
        .finished(0);
    let failed = fs::read_to_string(desk.path("whole/failed.csv")).unwrap();
    assert!(failed.contains("254712000001"), "{failed}");
    // Without names, where nothing is lost by it.
    desk.run(&["report", "b", "--out", "nameless"]).finished(0);
}
