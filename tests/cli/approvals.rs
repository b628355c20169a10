//! Two pairs of eyes: what nobody else than its loader has signed for is not posted. Keys are made for each test by `ssh-keygen`.

use std::fs;
use std::process::{Command, Stdio};

use crate::desk::{Desk, ROWS, Said};

pub const RUN: [&str; 5] = ["run", "b", "--sandbox", "--faults", "none"];

/// Returns whether `ssh-keygen` is there; where the tests need it, it has to be.
#[allow(clippy::print_stdout, reason = "what was not checked is told")]
pub fn has_keygen() -> bool {
    let found = Command::new("ssh-keygen")
        .arg("-?")
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()
        .is_ok();
    if !found {
        let text = "NOT CHECKED: ssh-keygen is not installed (apt-get install openssh-client)";
        assert_ne!(
            std::env::var("SSH_TOOLS").as_deref(),
            Ok("required"),
            "{text}"
        );
        println!("{text}");
    }
    found
}

/// A desk whose configuration asks for so many approvers, with keys of these people; the file of signers has the first four.
pub fn desk(required: u8, above: &str) -> Option<Desk> {
    if !has_keygen() {
        return None;
    }
    let desk = Desk::with_rows();
    for name in ["alice", "bob", "carol", "bobs_second", "eve"] {
        let script = format!("ssh-keygen -q -t ed25519 -N '' -C 'made up' -f {name}");
        desk.shell(&script).finished(0);
    }
    signers(
        &desk,
        &[
            ("alice", "alice"),
            ("bob", "bob"),
            ("carol", "carol"),
            ("bob", "bobs_second"),
        ],
    );
    configure(&desk, required, above);
    Some(desk)
}

pub fn signers(desk: &Desk, people: &[(&str, &str)]) {
    let lines = people.iter().map(|(name, key)| {
        let public = desk.text(&format!("{key}.pub"));
        let fields: Vec<&str> = public.split(' ').collect();
        format!("{name}@example.org {} {}\n", fields[0], fields[1])
    });
    fs::write(desk.path("signers"), lines.collect::<String>()).unwrap();
}

pub fn configure(desk: &Desk, required: u8, above: &str) {
    let approval =
        format!("[approval]\nrequired = {required}\n{above}\nallowed_signers = \"signers\"\n");
    fs::write(desk.path("disburse.toml"), approval).unwrap();
}

pub fn load(desk: &Desk, by: &str) -> Said {
    desk.run(&[
        "load",
        "ok.csv",
        "--batch",
        "b",
        "--sandbox",
        "--sign-key",
        by,
    ])
    .finished(0)
}

pub fn approve(desk: &Desk, by: &str, total: &str) -> Said {
    desk.run(&[
        "approve",
        "b",
        "--sandbox",
        "--sign-key",
        by,
        "--yes-total",
        total,
    ])
}

pub fn run(desk: &Desk, code: i32) -> Said {
    desk.run(&RUN).finished(code)
}

#[track_caller]
pub fn says(said: &Said, text: &str) {
    assert!(
        said.err.contains(text) || said.out.contains(text),
        "{text}\n{said:?}"
    );
}

pub fn paid(desk: &Desk) -> u64 {
    let status = desk.run(&["status", "b", "--json"]).json();
    status["states"]["paid"]["count"].as_u64().unwrap_or(0)
}

#[test]
fn what_somebody_else_than_the_loader_has_signed_for_is_paid() {
    let Some(desk) = desk(1, "") else { return };
    let checked = desk.run(&["check", "ok.csv", "--sandbox"]).finished(0);
    says(
        &checked,
        "a batch of this total waits for approval once it is loaded",
    );
    let loaded = load(&desk, "alice");
    says(&loaded, "signed: alice@example.org loads batch b (SHA256:");
    says(
        &loaded,
        "batch b waits for approval: 0 of 1 signature (loaded by alice@example.org)",
    );
    let waits = run(&desk, 4);
    says(
        &waits,
        "warning: batch b waits for approval: 0 of 1 signature (loaded by alice@example.org)",
    );
    says(
        &waits,
        "hint: somebody other than the loader looks at it and signs: disburse approve b --sandbox --sign-key KEY; then: disburse run b --sandbox",
    );
    assert_eq!(paid(&desk), 0);
    let signed = approve(&desk, "bob", "600.50").finished(0);
    says(&signed, "batch b (a rehearsal): 3 payments of KES 600.50");
    says(&signed, "loaded by: alice@example.org");
    says(
        &signed,
        "KES 300.00 to ********5679 by B2C_MPESA, line 4, R-3",
    );
    says(
        &signed,
        "3 of 3 recipients never paid from this journal before",
    );
    says(&signed, "signed: bob@example.org approves batch b (SHA256:");
    // A second time adds nothing.
    let again = approve(&desk, "bob", "KES 600.50").finished(0);
    says(
        &again,
        "bob@example.org has signed for batch b already, and nothing was added to it since",
    );
    says(
        &desk.run(&["status", "b"]).finished(0),
        "signed (loaded by alice@example.org; approved by bob@example.org)",
    );
    run(&desk, 0);
    assert_eq!(paid(&desk), 3);
    says(
        &desk.run(&["verify", "b"]).finished(0),
        "2 signatures verified again",
    );
}

#[test]
fn with_two_approvers_both_sign_and_one_of_them_may_do_so_on_another_machine() {
    let Some(desk) = desk(2, "") else { return };
    load(&desk, "alice");
    approve(&desk, "bob", "600.50").finished(0);
    says(
        &run(&desk, 4),
        "1 of 2 signatures (loaded by alice@example.org; approved by bob@example.org)",
    );
    // A second key of the same person is no second person.
    approve(&desk, "bobs_second", "600.50").finished(0);
    says(&run(&desk, 4), "waits for approval");
    let print = [
        "approve",
        "b",
        "--sandbox",
        "--as",
        "carol@example.org",
        "--print",
    ];
    let printed = desk.run(&print).finished(0);
    assert!(
        printed
            .out
            .starts_with("disburse approval 1\nrole: approves\nby: carol@example.org\nbatch: b\n"),
        "{printed:?}"
    );
    assert_eq!(printed.err, "");
    fs::write(desk.path("text"), &printed.out).unwrap();
    desk.shell("ssh-keygen -q -Y sign -n disburse -f carol text")
        .finished(0);
    let take = [
        "approve",
        "b",
        "--sandbox",
        "--text",
        "text",
        "--signature",
        "text.sig",
    ];
    says(
        &desk.run(&take).finished(0),
        "signed: carol@example.org approves batch b",
    );
    says(
        &desk.run(&take).finished(0),
        "signed, as recorded before: carol@example.org",
    );
    run(&desk, 0);
    assert_eq!(paid(&desk), 3);
}

#[test]
fn the_signatures_on_record_are_those_of_ssh_keygen() {
    let Some(desk) = desk(1, "") else { return };
    load(&desk, "alice");
    approve(&desk, "bob", "600.50").finished(0);
    let journal = rusqlite::Connection::open(desk.path("disburse.db")).unwrap();
    for (event, by) in [(141, "alice"), (142, "bob")] {
        let detail: String = journal
            .query_row(
                "select detail from evidence where event = ?1",
                [event],
                |row| row.get(0),
            )
            .unwrap();
        let detail: serde_json::Value = serde_json::from_str(&detail).unwrap();
        fs::write(desk.path("text"), detail["text"].as_str().unwrap()).unwrap();
        fs::write(desk.path("sig"), detail["signature"].as_str().unwrap()).unwrap();
        let verify = |name: &str| {
            format!(
                "ssh-keygen -Y verify -f signers -I {name}@example.org -n disburse -s sig < text"
            )
        };
        says(
            &desk.shell(&verify(by)).finished(0),
            "Good \"disburse\" signature",
        );
        assert_ne!(desk.shell(&verify("carol")).code, 0);
    }
}

#[test]
fn a_signature_that_does_not_fit_is_refused_with_what_to_do() {
    let Some(desk) = desk(1, "") else { return };
    load(&desk, "alice");
    let refused = |by: &str, total: &str, text: &str| {
        let said = approve(&desk, by, total).finished(2);
        says(&said, text);
        says(&said, "nothing was signed, and nothing was sent");
        assert!(said.err.contains("hint: "), "{said:?}");
    };
    refused(
        "alice",
        "600.50",
        "error: alice@example.org, or the same key, signed that they loaded rows of batch b",
    );
    refused(
        "bob",
        "600.00",
        "the total of batch b is KES 600.50, and KES 600.00 was named",
    );
    refused(
        "bob",
        "UGX 600",
        "the total of batch b is KES 600.50, and UGX 600 was named",
    );
    refused("eve", "600.50", "is not among the allowed signers");
    let unattended = desk
        .run(&["approve", "b", "--sandbox", "--sign-key", "bob"])
        .finished(2);
    says(&unattended, "this would sign for KES 600.50");
    let nobody = desk
        .run(&["approve", "b", "--sandbox", "--yes-total", "600.50"])
        .finished(2);
    says(&nobody, "no key to sign with");
    // The name of somebody else.
    let other = desk
        .run(&[
            "approve",
            "b",
            "--sandbox",
            "--sign-key",
            "bob",
            "--as",
            "carol@example.org",
            "--yes-total",
            "600.50",
        ])
        .finished(2);
    says(
        &other,
        "the allowed signers have another key for carol@example.org",
    );
    let print = [
        "approve",
        "b",
        "--sandbox",
        "--as",
        "bob@example.org",
        "--print",
    ];
    let text = desk.run(&print).finished(0).out;
    let signed = |text: &str, namespace: &str, key: &str, expected: &str| {
        fs::write(desk.path("text"), text).unwrap();
        let _ = fs::remove_file(desk.path("text.sig"));
        desk.shell(&format!(
            "ssh-keygen -q -Y sign -n {namespace} -f {key} text"
        ))
        .finished(0);
        let take = [
            "approve",
            "b",
            "--sandbox",
            "--text",
            "text",
            "--signature",
            "text.sig",
        ];
        says(&desk.run(&take).finished(2), expected);
    };
    signed(
        &text,
        "git",
        "bob",
        "the signature was made in the namespace \"git\"",
    );
    signed(
        &text,
        "disburse",
        "eve",
        "the allowed signers have another key for bob@example.org",
    );
    signed(
        &text.replace("total: KES 600.50", "total: KES 600.00"),
        "disburse",
        "bob",
        "the text has \"total: KES 600.00\", and should have \"total: KES 600.50\"",
    );
    signed(
        &text.replace("up to number: 3", "up to number: 2"),
        "disburse",
        "bob",
        "the text has \"payments: 3\", and should have \"payments: 2\"",
    );
    signed(
        &text.replace("batch: b", "batch: c"),
        "disburse",
        "bob",
        "the text has \"batch: c\"",
    );
    signed(
        &text.replace("signed: 2", "signed: 9"),
        "disburse",
        "bob",
        "is in the future",
    );
    signed(
        "hello\n",
        "disburse",
        "bob",
        "the text is not one that `disburse approve --print` wrote",
    );
    fs::write(desk.path("text"), &text).unwrap();
    let take = [
        "approve",
        "b",
        "--sandbox",
        "--text",
        "text",
        "--signature",
        "text",
    ];
    says(&desk.run(&take).finished(2), "this is no SSH signature");
    assert_eq!(paid(&desk), 0);
    says(&run(&desk, 4), "waits for approval: 0 of 1");
}

#[test]
fn a_key_that_is_not_valid_at_the_time_signs_nothing() {
    let Some(desk) = desk(1, "") else { return };
    let key = |name: &str| {
        desk.text(&format!("{name}.pub"))
            .split(' ')
            .take(2)
            .collect::<Vec<_>>()
            .join(" ")
    };
    let text = format!(
        "alice@example.org {}\nbob@example.org valid-before=20200101Z {}\ncarol@example.org valid-after=29990101Z {}\n",
        key("alice"),
        key("bob"),
        key("carol")
    );
    fs::write(desk.path("signers"), text).unwrap();
    load(&desk, "alice");
    says(
        &approve(&desk, "bob", "600.50").finished(2),
        "the key of bob@example.org was valid until 2020-01-01T00:00:00.999Z",
    );
    says(
        &approve(&desk, "carol", "600.50").finished(2),
        "the key of carol@example.org is valid from 2999-01-01T00:00:00.000Z on",
    );
    // A text that says to have been signed in time is not believed: what counts is when it is recorded, too.
    let print = [
        "approve",
        "b",
        "--sandbox",
        "--as",
        "bob@example.org",
        "--print",
    ];
    let text = desk.run(&print).finished(0).out;
    let year = text.find("signed: ").unwrap() + 8;
    fs::write(
        desk.path("text"),
        format!("{}2019{}", &text[..year], &text[year + 4..]),
    )
    .unwrap();
    desk.shell("ssh-keygen -q -Y sign -n disburse -f bob text")
        .finished(0);
    let take = [
        "approve",
        "b",
        "--sandbox",
        "--text",
        "text",
        "--signature",
        "text.sig",
    ];
    says(&desk.run(&take).finished(2), "was valid until 2020-01-01");
}

#[test]
fn where_nobody_is_left_to_approve_what_was_added_the_way_out_is_told() {
    let Some(desk) = desk(1, "") else { return };
    load(&desk, "alice");
    approve(&desk, "bob", "600.50").finished(0);
    run(&desk, 0);
    let mut desk = desk;
    for (row, by) in [("R-8", "bob"), ("R-9", "carol")] {
        let more = format!(
            "{}{row},B2C_MPESA,254712345670,10.00,KES,KE\n",
            desk.text("ok.csv")
        );
        desk = desk.file("ok.csv", &more);
        let amend = [
            "load",
            "ok.csv",
            "--batch",
            "b",
            "--sandbox",
            "--amend",
            "--sign-key",
            by,
        ];
        let said = desk.run(&amend).finished(0);
        if by == "bob" {
            says(
                &said,
                "somebody who has loaded none of its rows looks at it and signs",
            );
            continue;
        }
        let told = "nobody can approve all of batch b: everybody who may sign loaded rows of it, and one who did not must approve \
                    (loaded by alice@example.org, bob@example.org, carol@example.org)";
        says(&said, told);
        says(&run(&desk, 4), told);
        says(&desk.run(&["status", "b"]).finished(0), told);
        says(&said, "disburse cancel b, which cancels what was not sent");
        says(
            &said,
            "disburse load FILE --batch OTHER --on-error skip --sandbox --sign-key KEY",
        );
    }
    assert_eq!(paid(&desk), 3);
    desk.run(&["cancel", "b", "--yes"]).finished(0);
    let status = desk.run(&["status", "b"]).finished(0);
    assert!(
        !status.out.contains("approve") && !status.err.contains("approve"),
        "{status:?}"
    );
}

#[test]
fn a_broken_file_of_signers_stops_everything_with_its_line() {
    let Some(desk) = desk(1, "") else { return };
    load(&desk, "alice");
    let good = desk.text("signers");
    for (text, what) in [
        (
            format!("{good}dora@example.org\n"),
            "signers:5: a line has a name",
        ),
        (
            format!("# people\n*@example.org {good}"),
            "signers:2: \"*@example.org\" is a pattern",
        ),
        (
            good.replace("alice@example.org ", "alice@example.org cert-authority "),
            "signers:1: cert-authority is not taken",
        ),
        (String::new(), "signers: it names nobody who may sign"),
    ] {
        fs::write(desk.path("signers"), text).unwrap();
        for command in [
            &RUN[..],
            &["load", "ok.csv", "--batch", "c", "--sandbox"],
            &[
                "approve",
                "b",
                "--sandbox",
                "--print",
                "--as",
                "bob@example.org",
            ],
        ] {
            let said = desk.run(command).finished(2);
            says(&said, what);
            says(&said, "hint: approval.allowed_signers names it");
        }
    }
    fs::remove_file(desk.path("signers")).unwrap();
    says(
        &desk.run(&RUN).finished(2),
        "signers: the file does not exist",
    );
    assert_eq!(paid(&desk), 0);
}

#[test]
fn without_ssh_keygen_a_person_is_told_to_sign_elsewhere() {
    let Some(desk) = desk(1, "") else { return };
    load(&desk, "alice");
    let desk = desk.variable("PATH", "/nonexistent");
    let said = approve(&desk, "bob", "600.50").finished(2);
    says(
        &said,
        "not signed: ssh-keygen is not there; it comes with OpenSSH",
    );
    says(
        &said,
        "disburse approve BATCH --text TEXT --signature TEXT.sig",
    );
}

#[test]
fn who_edits_the_journal_is_found_and_nothing_is_posted() {
    let Some(desk) = desk(1, "") else { return };
    load(&desk, "alice");
    approve(&desk, "bob", "600.50").finished(0);
    let journal = rusqlite::Connection::open(desk.path("disburse.db")).unwrap();
    // The signature of somebody who did not sign: the text says another name.
    journal
        .execute_batch(
            "drop trigger evidence_is_never_changed;
             update evidence set detail = replace(detail, 'by: bob', 'by: carol') where event = 142;",
        )
        .unwrap();
    drop(journal);
    let said = run(&desk, 4);
    says(&said, "waits for approval: 0 of 1");
    says(
        &desk.run(&["status", "b"]).finished(0),
        "the allowed signers have another key for carol@example.org",
    );
    let said = desk.run(&["verify", "b"]).finished(1);
    says(
        &said,
        "the signature that carol@example.org approves the batch: the allowed signers have another key for carol@example.org",
    );
    assert_eq!(paid(&desk), 0);
}

#[test]
fn nothing_asks_for_signatures_where_nothing_is_configured() {
    let desk = Desk::with_rows();
    assert!(ROWS.contains("R-1"));
    desk.run(&["load", "ok.csv", "--batch", "b", "--sandbox"])
        .finished(0);
    let said = desk
        .run(&["approve", "b", "--sandbox", "--print", "--as", "a"])
        .finished(2);
    says(&said, "nothing asks for signatures of batch b");
    run(&desk, 0);
}

#[test]
fn other_dates_need_an_approval_of_their_own() {
    let Some(desk) = desk(1, "") else { return };
    let dated = [
        "load",
        "ok.csv",
        "--batch",
        "b",
        "--sandbox",
        "--sign-key",
        "alice",
        "--not-before",
        "2199-12-01",
    ];
    desk.run(&dated).finished(0);
    let told = approve(&desk, "bob", "600.50").finished(0);
    says(&told, "signed: bob@example.org approves batch b (SHA256:");
    let waits = run(&desk, 4);
    says(&waits, "3 payments wait until 2199-12-01 00:00:00");
    // Alice takes the date away that Bob has seen: nothing leaves until he has seen that, too.
    let order = [
        "schedule",
        "b",
        "--not-before",
        "none",
        "--reason",
        "sooner",
    ];
    desk.run(&order).finished(0);
    let waits = run(&desk, 4);
    says(&waits, "batch b waits for approval: 0 of 1 signature");
    says(
        &waits,
        "the batch has got other dates since; it has to be approved with these",
    );
    assert_eq!(paid(&desk), 0);
    approve(&desk, "bob", "600.50").finished(0);
    run(&desk, 0);
    assert_eq!(paid(&desk), 3);
    // Signatures over what was so then are sound.
    says(
        &desk.run(&["verify", "b"]).finished(0),
        "3 signatures verified again",
    );
}
