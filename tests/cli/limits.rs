//! Limits as a person meets them: at the check, at the load, and in a run that waits for one.

use crate::desk::Desk;

/// What stands below the configuration of the sandbox.
const LIMITS: &str = r#"
[profiles.sandbox-limits]
originator = "acme"
country_code = "KE"
currency_code = "KES"
time_zone = "Africa/Nairobi"
[services.B2C]
kind = "mobile_money"
currency_code = "KES"
[services.BANK]
kind = "bank"
currency_code = "KES"
[limits]
payment = {KES = "1000.00"}
recipient_day = {KES = "1500.00"}
batch = {KES = "5000.00"}
deny = "deny.txt"
"#;

const LOAD: [&str; 5] = ["load", "a.csv", "--batch", "a", "--sandbox"];

const HEADER: &str = "reference,service_code,msisdn,amount\n";

fn desk(rows: &str) -> Desk {
    Desk::new()
        .file("disburse.toml", LIMITS)
        .file("deny.txt", "0711000009 # left in May\n")
        .file("a.csv", format!("{HEADER}{rows}"))
}

#[test]
fn a_row_that_could_never_leave_is_refused_with_its_place() {
    let desk =
        desk("E-1,B2C,254711000001,1000\nE-2,B2C,254711000002,1000.01\nE-3,B2C,0711 000 009,1\n");
    for command in [&["check", "a.csv", "--sandbox"][..], &LOAD] {
        let said = desk.run(command).finished(2);
        for expected in [
            "a.csv:3: amount: expected at most 1000.00 KES (limits.payment), found 1000.01",
            "a.csv:4: msisdn: the list limits.deny says that this recipient is not paid",
        ] {
            assert!(said.err.contains(expected), "{}", said.err);
        }
    }
    let six: String = (1..=6)
        .map(|n| format!("E-{n},B2C,25471100000{n},900\n"))
        .collect();
    let desk = self::desk(&six);
    let said = desk.run(&LOAD).finished(2);
    assert!(
        said.err.contains("the rows of batch a would come to KES 5,400.00, and limits.batch is 5,000.00; nothing was loaded"),
        "{}",
        said.err
    );
}

#[test]
fn a_check_says_how_many_each_list_names() {
    let digest = "ab".repeat(32);
    let desk = desk("E-1,B2C,254711000001,900\n");
    let desk = desk.file(
        "deny.txt",
        format!("0711000009\n0711000008\n# nobody\n12-3456\nsha256:{digest}\n"),
    );
    let check = ["check", "a.csv", "--sandbox"];
    let said = desk.run(&check).finished(0);
    let told = "note: limits.deny has 4 entries: 2 phone numbers, 1 account, 1 digest\n";
    assert!(said.err.contains(told), "{}", said.err);
    let desk = desk
        .file("disburse.toml", format!("{LIMITS}allow = \"allow.txt\"\n"))
        .file("allow.txt", "0711000001\n");
    let said = desk.run(&check).finished(0);
    let told = "note: limits.allow has 1 entry: 1 phone number\n";
    assert!(said.err.contains(told), "{}", said.err);
    let desk = desk.file("deny.txt", "# nobody yet\n");
    let said = desk.run(&check).finished(0);
    let told = "note: limits.deny names nobody\n";
    assert!(said.err.contains(told), "{}", said.err);
}

#[test]
fn what_is_over_the_ceiling_of_a_day_is_told_before_and_waits() {
    let desk =
        desk("E-1,B2C,254711000001,900\nE-2,B2C,+254 711 000001,700\nE-3,B2C,0711000001,600\n");
    let told = "note: 1 payment of KES 700.00 waits until ";
    let checked = desk.run(&["check", "a.csv", "--sandbox"]).finished(0);
    assert!(checked.err.contains(told), "{}", checked.err);
    assert!(checked.err.contains("(line 3)"), "{}", checked.err);
    let loaded = desk.run(&LOAD).finished(0);
    assert!(loaded.err.contains(told), "{}", loaded.err);
    let run = ["run", "a", "--sandbox", "--faults", "none"];
    let said = desk.run(&run).finished(4);
    let waits = "the recipient has been paid up to limits.recipient_day";
    assert!(said.err.contains(waits), "{}", said.err);
    let status = desk.run(&["status", "a"]).finished(0);
    assert!(status.out.contains(waits), "{}", status.out);
    let row = desk.run(&["explain", "a", "E-2"]).finished(0);
    let why = "a limit kept it from leaving, as the last run found: limits.recipient_day (KES 1,500.00) until ";
    assert!(row.out.contains(why), "{}", row.out);
    let status = desk.run(&["status", "a", "--json"]).json();
    assert_eq!(status["limited"][0]["limit"], "recipient_day");
    assert_eq!(status["limited"][0]["count"], 1);
    desk.run(&["verify", "a"]).finished(0);
    // A higher ceiling lets it leave, and nothing is paid twice.
    let desk = desk.file("disburse.toml", LIMITS.replace("1500.00", "2200.00"));
    desk.run(&run).finished(0);
    desk.run(&["verify", "a"]).finished(0);
}

#[test]
fn a_list_that_was_tightened_after_the_load_keeps_its_row_and_a_broken_one_sends_nothing() {
    let desk = desk("E-1,B2C,254711000001,900\nE-2,B2C,254711000002,700\n");
    desk.run(&LOAD).finished(0);
    let run = ["run", "a", "--sandbox", "--faults", "none"];
    let desk = desk.file("deny.txt", "0711000002, Jane\n");
    let said = desk.run(&run).finished(2);
    assert!(
        said.err
            .contains("deny.txt:1: expected one phone number or account a line"),
        "{}",
        said.err
    );
    assert!(!said.err.contains("0711000002"), "{}", said.err);
    let desk = desk.file("deny.txt", "0711000002\n");
    let said = desk.run(&run).finished(4);
    let kept = "1 payment of KES 700.00 is not sent: the list limits.deny names the recipient";
    assert!(said.err.contains(kept), "{}", said.err);
    let status = desk.run(&["status", "a", "--json"]).json();
    assert_eq!(status["states"]["paid"]["count"], 1);
    assert_eq!(status["states"]["ready"]["count"], 1);
}

#[test]
fn a_service_that_fails_too_often_is_paused_and_a_person_opens_it() {
    let rows: String = (1..=20)
        .map(|n| format!("E-{n},B2C,2547110001{n:02},10\n"))
        .collect();
    let stop = "[limits]\nstop_above = \"50%\"\nstop_after = 3\n";
    let desk = desk(&rows)
        .file(
            "disburse.toml",
            LIMITS.split_once("[limits]").unwrap().0.to_owned() + stop,
        )
        .file("faults.toml", "refuse = 1.0\n");
    desk.run(&LOAD).finished(0);
    let run = [
        "run",
        "a",
        "--sandbox",
        "--faults",
        "faults.toml",
        "--rate",
        "4/s",
    ];
    let said = desk.run(&run).finished(5);
    let paused = "nothing more is posted through B2C because more of its payments failed than limits.stop_above allows";
    assert!(said.err.contains(paused), "{}", said.err);
    let failed = |desk: &Desk| {
        let status = desk.run(&["status", "a", "--json"]).json();
        status["states"]["failed"]["count"].as_u64().unwrap()
    };
    let first = failed(&desk);
    assert!((3..20).contains(&first), "{first}");
    // Nothing else opens it.
    desk.run(&run).finished(5);
    assert_eq!(failed(&desk), first);
    desk.run(&["resume-lane", "a", "B2C"]).finished(0);
    desk.run(&run).finished(5);
    let second = failed(&desk);
    assert!(second >= first + 3, "{first} {second}");
    desk.run(&["verify", "a"]).finished(0);
}
