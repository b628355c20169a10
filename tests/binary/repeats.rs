//! The same payment again: refused until a person orders it.

use rusqlite::Connection;

use crate::accounts::{PAY, gateway};
use crate::files::{Row, rows};
use crate::sandbox::Sandbox;
use crate::world::{Done, Setup, World};

fn setup() -> Setup {
    Setup {
        references_restart: false,
        ..Setup::default()
    }
}

fn paid(setup: &Setup, file: &[Row]) -> (World, Sandbox) {
    let (world, sandbox) = World::with_sandbox(setup, &[]);
    world.write_rows("batch.csv", file);
    world.expect(0, &["pay", "batch.csv", "--batch", "b", "--yes"]);
    (world, sandbox)
}

fn pay<'a>(file: &'a str, batch: &'a str) -> [&'a str; 5] {
    ["pay", file, "--batch", batch, "--yes"]
}

/// The digest that a refusal names.
fn digest(refused: &Done) -> String {
    let (_, rest) = refused.err.split_once("--allow-repeats ").unwrap();
    rest.chars().take_while(char::is_ascii_hexdigit).collect()
}

#[test]
fn two_hundred_people_are_not_paid_again_for_one_changed_amount() {
    let mut file = rows(200, 171);
    let (world, sandbox) = paid(&setup(), &file);
    file[99].minor += 100;
    world.write_rows("again.csv", &file);
    let refused = world.expect(2, &pay("again.csv", "again"));
    refused
        .says("again.csv: 200 rows repeat what was loaded before, and may be paid already; nothing was loaded")
        .says("200 of batch b (batch.csv, loaded 20")
        .says("repeats.window")
        .says("such as EMP-00001-2026-12, and not only the person")
        .says("again.csv:2: reference: \"R00001\" is the reference of line 2 of batch.csv in batch b (loaded 20")
        .says("state: paid");
    assert!(!refused.err.contains("batch name"), "{}", refused.err);
    world
        .expect(2, &["check", "again.csv"])
        .says("200 rows repeat what was loaded before")
        .says(&digest(&refused));
    assert_eq!(sandbox.ledger().posts, 200);
}

/// Loaded for the wrong account, and loaded anew for the right one: what is still open of the first would pay everybody a second time.
#[test]
fn a_batch_whose_rows_were_loaded_again_by_permission_says_so_before_it_pays() {
    let (world, sandbox) = World::with_sandbox(&setup(), &[]);
    world.write_rows("batch.csv", &rows(3, 185));
    world.expect(0, &["load", "batch.csv", "--batch", "first"]);
    let again = ["load", "batch.csv", "--batch", "second"];
    let refused = world.expect(2, &again);
    refused.says("first `disburse cancel first`, which withdraws what was not sent, then load this file under another batch name");
    let allowed = digest(&refused);
    world.expect(0, &[&again[..], &["--allow-repeats", &allowed]].concat());
    let since = "3 rows of batch.csv are since repeated by batch second (batch.csv, loaded 20";
    world
        .expect(0, &["status", "first"])
        .says(since)
        .says("as was allowed; nothing of that batch is paid yet");
    let allowed = "3 rows of batch.csv repeat rows of batch first";
    world.expect(0, &["status", "second"]).says(allowed);
    world.expect(0, &["run", "second", "--yes"]).says(allowed);
    let told =
        "3 payments of that batch are paid. If both are one debt, cancel what shall not be paid";
    world.expect(0, &["status", "first"]).says(since).says(told);
    let status = world.expect(0, &["status", "first", "--json"]);
    let status: serde_json::Value = serde_json::from_str(&status.out).unwrap();
    let repeated = &status["repeated_since"][0];
    assert_eq!(repeated["batch"], "second");
    assert_eq!(
        (&repeated["count"], &repeated["paid"]),
        (&3.into(), &3.into())
    );
    assert_eq!(repeated["allowed"], true);
    world
        .expect(0, &["run", "first", "--yes"])
        .says(since)
        .says(told);
    assert_eq!(sandbox.ledger().executed_once, 6);
    // Whatever is over needs no word.
    let status = world.expect(0, &["status", "first"]);
    assert!(!status.out.contains("since repeated"), "{}", status.out);
}

#[test]
fn yesterdays_file_is_refused_and_what_the_window_frees_passes() {
    let (mut world, sandbox) = World::with_sandbox(&setup(), &[]);
    world.write_rows("batch.csv", &rows(20, 172));
    world.expect(0, &pay("batch.csv", "b"));
    // Debug builds load as of an earlier day; but what was posted today is of today.
    world.set("TORTURE_DAYS_AGO", "27");
    world.expect(2, &pay("batch.csv", "next-month"));
    world.set("DISBURSE_REPEATS_WINDOW", "0s");
    world.expect(0, &pay("batch.csv", "next-month"));
    assert_eq!(sandbox.ledger().executed_once, 40);
    world.unset("TORTURE_DAYS_AGO");
    world.unset("DISBURSE_REPEATS_WINDOW");
    world
        .expect(2, &pay("batch.csv", "nightly-2"))
        .says("20 rows repeat what was loaded before");
    // What earlier releases took as an order is none: a job says it every night.
    let bare = [
        &pay("batch.csv", "nightly-2")[..],
        &["--allow-same-content"],
    ]
    .concat();
    world
        .expect(2, &bare)
        .says("20 rows repeat")
        .says("--allow-same-content allows nothing any more");
    assert_eq!(sandbox.ledger().posts, 40);
}

/// A layout whose references name the period that is paid.
const STAFF: &str = r#"
[layouts.staff-1]
decimal = "."
period = "required"
[layouts.staff-1.columns]
reference = "Staff No"
msisdn = "Mobile"
amount = "Net Pay"
[layouts.staff-1.constants]
service_code = "B2C_MPESA"
"#;

/// Month by month the same people: last month's file, or last month's period, is paid once however late it is given again.
#[test]
fn what_a_period_names_is_paid_once_however_long_ago_it_was() {
    let setup = Setup {
        more: STAFF,
        ..setup()
    };
    let (mut world, sandbox) = World::with_sandbox(&setup, &[]);
    let staff = |amount| {
        format!("Staff No,Mobile,Net Pay\nE1,254712345001,{amount}\nE2,254712345002,200.00\n")
    };
    world.write("nov.csv", &staff("100.00"));
    world.write("dec.csv", &staff("110.00"));
    let pay = |file, batch, period| {
        let layout = ["--layout", "staff-1", "--period", period];
        [&pay(file, batch)[..], &layout].concat()
    };
    world.expect(0, &pay("nov.csv", "nov", "2026-11"));
    world.set("DISBURSE_REPEATS_WINDOW", "0s");
    for file in ["nov.csv", "dec.csv"] {
        world
            .expect(2, &pay(file, "dec", "2026-11"))
            .says("2 rows repeat what was loaded before")
            .says("each reference of the file names the period 2026-11");
        let check = ["check", file, "--layout", "staff-1", "--period", "2026-11"];
        world.expect(2, &check).says("E1-2026-11");
    }
    assert_eq!(sandbox.ledger().executed_once, 2);
    world.expect(0, &pay("dec.csv", "dec", "2026-12"));
    assert_eq!(sandbox.ledger().executed_once, 4);
    assert_eq!(sandbox.ledger().posts, 4);
}

/// Somebody left after the payment had failed: their retry is withdrawn.
#[test]
fn what_was_withdrawn_after_a_failure_is_shown_where_it_comes_again() {
    let (server, _) = gateway(|_| Some(110));
    let world = World::new(&setup()).towards(&server.url());
    world.write_rows("batch.csv", &rows(2, 174));
    world.expect(3, &PAY);
    world.expect(0, &["retry", "b", "--yes"]);
    world.expect(0, &["cancel", "b", "--yes", "--reason", "left the company"]);
    world
        .expect(0, &["load", "batch.csv", "--batch", "again"])
        .says("2 rows of batch.csv repeat rows that were cancelled in batch b");
}

/// Runs SQL over the journal, as somebody who may write the file does.
fn edit(world: &World, sql: &str) {
    let c = Connection::open(world.path("disburse.db")).unwrap();
    let triggers: Vec<String> = c
        .prepare("select name from sqlite_schema where type = 'trigger'")
        .unwrap()
        .query_map([], |row| row.get(0))
        .unwrap()
        .collect::<Result<_, _>>()
        .unwrap();
    for trigger in triggers {
        c.execute_batch(&format!("drop trigger {trigger}")).unwrap();
    }
    c.execute_batch(sql).unwrap();
}

#[test]
fn nothing_that_is_edited_in_the_file_lets_a_payment_be_made_again() {
    for (sql, words, code) in [
        (
            "update life set state = 6, code = 110, due_at = 9223372036854775807",
            "state: not where its evidence says",
            2,
        ),
        (
            "update life set state = 7",
            "state: not where its evidence says",
            2,
        ),
        (
            "update load set loaded_at = loaded_at - 30 * 86400000;
             update instruction set received_at = received_at - 30 * 86400000",
            "the load of batch.csv: it is not as it was loaded into batch b",
            1,
        ),
        (
            "update instruction set received_at = received_at - 30 * 86400000",
            "state: paid",
            2,
        ),
        (
            "delete from fingerprints",
            "the fingerprints of its rows, in batch b, are not all there",
            1,
        ),
        (
            "delete from meta where key = 'fingerprints'",
            "the key of its fingerprints is gone",
            1,
        ),
        (
            "update meta set value = randomblob(16) where key = 'fingerprints'",
            "its fingerprints are not those of its rows",
            1,
        ),
        (
            "pragma foreign_keys = off; delete from batch",
            "its batch is gone",
            1,
        ),
        (
            "pragma foreign_keys = off; delete from load",
            "a load: it is not as it was loaded into batch b",
            1,
        ),
        (
            "pragma foreign_keys = off; update evidence set batch_id = 99 where event = 26; delete from evidence where event = 26",
            "the chain of evidence does not know it",
            1,
        ),
        (
            "pragma foreign_keys = off; delete from instruction where seq = 2",
            "a row of it is gone",
            1,
        ),
        (
            "update instruction set reference = 'OTHER' || seq, amount = amount + 1 where seq > 1",
            "it is not as it was loaded",
            1,
        ),
    ] {
        let (world, sandbox) = paid(&setup(), &rows(3, 181));
        edit(&world, sql);
        world.expect(code, &pay("batch.csv", "again")).says(words);
        assert_eq!(sandbox.ledger().posts, 3, "{sql}");
    }
}

#[test]
fn references_that_begin_anew_every_day_pay_other_people() {
    let restart = Setup {
        references_restart: true,
        ..setup()
    };
    let (world, sandbox) = paid(&restart, &rows(10, 173));
    // The same references, R00001 to R00010, of other people.
    world.write_rows("next.csv", &rows(10, 174));
    world.expect(0, &pay("next.csv", "next"));
    world
        .expect(2, &pay("batch.csv", "again"))
        .says("10 rows repeat");
    assert_eq!(sandbox.ledger().executed_once, 20);
}

#[test]
fn what_is_paid_every_hour_has_a_window_of_its_own() {
    let hourly = "[services.B2C_MPESA]\nkind = \"mobile_money\"\ncurrency_code = \"KES\"\nrepeats.window = \"0s\"\n\
                 [services.B2C_AIRTEL]\nkind = \"mobile_money\"\ncurrency_code = \"KES\"\n";
    let mut file = rows(10, 175);
    for (at, row) in file.iter_mut().enumerate() {
        row.service = if at < 4 { "B2C_AIRTEL" } else { "B2C_MPESA" };
    }
    let (world, sandbox) = paid(
        &Setup {
            more: hourly,
            ..setup()
        },
        &file,
    );
    let skip = [&pay("batch.csv", "again")[..], &["--on-error", "skip"]].concat();
    world
        .expect(3, &skip)
        .says("4 rows left out: they repeat rows of batch b (batch.csv, loaded 20");
    assert_eq!(sandbox.ledger().executed_once, 16);
    // What was left out is in the corrections, with its reason.
    let corrections = world.read("batch.corrections.csv");
    assert_eq!(corrections.lines().count(), 5, "{corrections}");
}

#[test]
fn a_digest_allows_the_list_that_was_shown_and_no_other() {
    let file = rows(12, 176);
    let (world, sandbox) = paid(&setup(), &file[..10]);
    world.write_rows("more.csv", &file);
    let refused = world.expect(2, &pay("more.csv", "more"));
    refused.says("10 rows repeat");
    let of_more = digest(&refused);
    world.write_rows("less.csv", &file[1..]);
    let other = [&pay("less.csv", "more")[..], &["--allow-repeats", &of_more]].concat();
    world
        .expect(2, &other)
        .says("9 rows repeat")
        .says("--allow-repeats names another list than this one");
    let allowed = [&pay("more.csv", "more")[..], &["--allow-repeats", &of_more]].concat();
    world
        .expect(0, &allowed)
        .says("10 rows of more.csv repeat rows of batch b");
    assert_eq!(sandbox.ledger().executed_once, 22);
    // The job that says it again.
    let again = [
        &pay("more.csv", "third")[..],
        &["--allow-repeats", &of_more],
    ]
    .concat();
    world.expect(2, &again).says("12 rows repeat");
    assert_eq!(sandbox.ledger().posts, 22);
}

#[test]
fn the_same_person_under_another_reference_is_shown_before_it_is_paid() {
    let mut file = rows(3, 177);
    let (world, _sandbox) = paid(&setup(), &file);
    file[1].reference = "OTHER".into();
    file.remove(2);
    file.remove(0);
    world.write_rows("other.csv", &file);
    let words = "1 row of other.csv pays the same recipient, amount and service as batch b (batch.csv, loaded 20";
    world
        .expect(0, &["load", "other.csv", "--batch", "other"])
        .says(words);
    world
        .expect(0, &["run", "other", "--yes"])
        .says(words)
        .says("under another reference: line 2");
}

#[test]
fn what_failed_or_was_cancelled_is_paid_elsewhere_and_not_retried_then() {
    let world = World::new(&setup());
    world.write("faults.toml", "reject = 1.0\n");
    let sandbox = Sandbox::start(&world, "ledger", &["--faults", "faults.toml"]);
    let world = world.towards(&sandbox.base_url.clone());
    world.write_rows("batch.csv", &rows(6, 178));
    world.expect(3, &pay("batch.csv", "b"));
    assert_eq!(world.count("b", "failed"), 6);
    world.expect(0, &["load", "batch.csv", "--batch", "again"]);
    world.expect(2, &["retry", "b", "--yes"]).says(
        "no failure of batch b can be retried: 6 failures were loaded again into batch again",
    );
    assert_eq!(world.count("b", "ready"), 0);
    world.expect(0, &["cancel", "again", "--yes"]);
    world
        .expect(0, &["retry", "b", "--yes"])
        .says("6 failed payments are to be paid again");
    world
        .expect(2, &["load", "batch.csv", "--batch", "third"])
        .says("6 rows repeat");
    world.expect(0, &["cancel", "b", "--yes"]);
    world.expect(0, &["load", "batch.csv", "--batch", "third"]);
}

#[test]
fn rehearsals_repeat_nothing_and_are_repeated_by_nothing() {
    let (world, sandbox) = World::with_sandbox(&setup(), &[]);
    world.write_rows("batch.csv", &rows(5, 179));
    for rehearsal in ["one", "two"] {
        let inside = [
            &pay("batch.csv", rehearsal)[..],
            &["--sandbox", "--faults", "none"],
        ]
        .concat();
        world.expect(0, &inside);
    }
    // One that was never run is a rehearsal, too.
    let planned = ["load", "batch.csv", "--batch", "planned", "--sandbox"];
    world.expect(0, &planned);
    world.expect(0, &pay("batch.csv", "real"));
    assert_eq!(sandbox.ledger().executed_once, 5);
    let again = ["load", "batch.csv", "--batch", "three", "--sandbox"];
    world.expect(0, &again);
}

/// A row that is left out of a nightly load as a repeat is none the less one when its corrections are added the next day.
#[test]
fn a_row_that_was_rejected_as_a_repeat_stays_one_whatever_its_age() {
    let (mut world, sandbox) = World::with_sandbox(&setup(), &[]);
    let file = rows(4, 181);
    world.write_rows("batch.csv", &file[..3]);
    world.set("TORTURE_DAYS_AGO", "27");
    world.expect(0, &pay("batch.csv", "b"));
    world.write_rows("c.csv", &file[1..]);
    world.set("TORTURE_DAYS_AGO", "25");
    let skipped = world.expect(
        3,
        &[&pay("c.csv", "c")[..], &["--on-error", "skip"]].concat(),
    );
    skipped
        .says("the rows of c.corrections.csv that repeat others are not to be paid, unless")
        .says("--amend --allow-repeats");
    assert!(
        !skipped.err.contains("mend c.corrections.csv"),
        "{skipped:?}"
    );
    assert_eq!(sandbox.ledger().posts, 4);
    world.unset("TORTURE_DAYS_AGO");
    // Without its name it is the same row, too.
    let text = world.read("c.corrections.csv");
    let unnamed: Vec<String> = text
        .lines()
        .map(|line| line.split(',').take(4).collect::<Vec<_>>().join(","))
        .collect();
    world.write("unnamed.csv", &unnamed.join("\n"));
    world
        .expect(2, &["load", "unnamed.csv", "--batch", "c", "--amend"])
        .says("2 rows repeat");
    let add = ["load", "c.corrections.csv", "--batch", "c", "--amend"];
    let refused = world.expect(2, &add);
    refused.says("2 rows repeat what was loaded before");
    world
        .expect(3, &["run", "c", "--yes"])
        .says("refused again");
    assert_eq!(sandbox.ledger().posts, 4);
    let shown = digest(&refused);
    let allowed = [&add[..], &["--allow-repeats", &shown]].concat();
    world.expect(0, &allowed);
    world.expect(0, &["run", "c", "--yes"]);
    assert_eq!(sandbox.ledger().executed_once, 6);
}

#[test]
fn a_row_without_reference_that_was_loaded_by_another_service_is_not_retried() {
    let world = World::new(&setup());
    world.write("faults.toml", "reject = 1.0\n");
    let sandbox = Sandbox::start(&world, "ledger", &["--faults", "faults.toml"]);
    let world = world.towards(&sandbox.base_url.clone());
    let file = |service: &str| {
        format!("reference,service_code,msisdn,amount\n,{service},254722000182,50.00\n")
    };
    world.write("batch.csv", &file("B2C_MPESA"));
    world.expect(3, &pay("batch.csv", "b"));
    world.write("other.csv", &file("AIRTIME"));
    world.expect(0, &["load", "other.csv", "--batch", "c"]);
    world
        .expect(2, &["retry", "b", "--yes"])
        .says("was loaded again into batch c");
    world.expect(0, &["cancel", "c", "--yes"]);
    world.expect(0, &["retry", "b", "--yes"]);
}

/// Returns a file with the cells of one column changed, row by row.
fn with_cells(text: &str, column: &str, change: impl Fn(&str) -> String) -> String {
    let mut reader = csv::Reader::from_reader(text.as_bytes());
    let header = reader.headers().unwrap().clone();
    let at = header.iter().position(|name| name == column).unwrap();
    let mut writer = csv::Writer::from_writer(Vec::new());
    writer.write_record(&header).unwrap();
    for row in reader.records() {
        let row = row.unwrap();
        let cells = row
            .iter()
            .enumerate()
            .map(|(place, cell)| match place == at {
                true => change(cell),
                false => cell.to_owned(),
            });
        writer.write_record(cells).unwrap();
    }
    String::from_utf8(writer.into_inner().unwrap()).unwrap()
}

#[test]
fn what_was_rejected_as_a_repeat_stays_one_whatever_is_mended_of_it() {
    let file = rows(4, 191);
    let (world, sandbox) = paid(&setup(), &file[..2]);
    world.write_rows("next.csv", &file[..3]);
    let skip = [&pay("next.csv", "next")[..], &["--on-error", "skip"]].concat();
    world.expect(3, &skip);
    assert_eq!(sandbox.ledger().posts, 3);
    world.expect(0, &["report", "next", "--out", "reports"]);
    let failed = world.read("reports/failed.csv");
    assert_eq!(
        failed
            .matches("Leave it out: it is paid, or may be, in batch b")
            .count(),
        2,
        "{failed}"
    );
    assert!(!failed.contains("Mend what the reason says"), "{failed}");
    let renamed = with_cells(&failed, "reference", |cell| format!("{cell}b"));
    let dearer = with_cells(&renamed, "amount", |_| "77.00".to_owned());
    world.write("renamed.csv", &renamed);
    world.write("dearer.csv", &dearer);
    for name in ["renamed.csv", "dearer.csv"] {
        let add = ["load", name, "--batch", "next", "--amend"];
        let refused = world.expect(2, &add);
        refused
            .says("2 rows repeat what was loaded before, and may be paid already")
            .says("what was changed of it makes no other debt of it");
        if name == "dearer.csv" {
            let skipped = [&add[..], &["--on-error", "skip"]].concat();
            world.expect(0, &skipped);
        }
        world.expect(3, &["run", "next", "--yes"]);
        assert_eq!(sandbox.ledger().posts, 3, "{name}");
    }
    let add = ["load", "renamed.csv", "--batch", "next", "--amend"];
    let shown = digest(&world.expect(2, &add));
    let allowed = [&add[..], &["--allow-repeats", &shown]].concat();
    world.expect(0, &allowed);
    world.expect(0, &["run", "next", "--yes"]);
    assert_eq!(sandbox.ledger().executed_once, 5);
}

#[test]
fn a_failure_that_may_be_paid_since_under_another_reference_is_paid_anew_by_its_name_alone() {
    let world = World::new(&setup());
    world.write("faults.toml", "reject = 1.0\n");
    let sandbox = Sandbox::start(&world, "ledger", &["--faults", "faults.toml"]);
    let world = world.towards(&sandbox.base_url.clone());
    let mut file = rows(2, 192);
    world.write_rows("batch.csv", &file);
    world.expect(3, &pay("batch.csv", "a"));
    // One of the two is loaded anew, with the month in its reference.
    file.remove(1);
    let own = file[0].reference.clone();
    file[0].reference = "N-1".into();
    world.write_rows("anew.csv", &file);
    world.expect(0, &["load", "anew.csv", "--batch", "later"]);
    world
        .expect(0, &["retry", "a", "--yes"])
        .says("1 failed payment is to be paid again")
        .says("1 failure not retried: another row may have paid since then:")
        .says(": perhaps paid since then by N-1 of batch later, which pays the same amount to the same recipient or name")
        .says("disburse retry a REFERENCE");
    assert_eq!(world.count("a", "ready"), 1);
    world
        .expect(2, &["retry", "a", "--yes"])
        .says("no failure of batch a is retried: 1 failure may have been paid since")
        .says("perhaps paid since then by N-1 of batch later");
    // Whoever names it has it in view.
    world
        .expect(0, &["retry", "a", &own, "--yes"])
        .says("perhaps paid since then by N-1 of batch later")
        .says("1 failed payment is to be paid again");
    assert_eq!(world.count("a", "ready"), 2);
}

/// The way out of a batch that nobody can approve: what was not sent is cancelled, and all of its file loaded under another name.
#[test]
fn the_file_of_a_batch_whose_rest_was_cancelled_pays_the_rest_alone() {
    let file = rows(5, 176);
    let (world, sandbox) = paid(&setup(), &file[..3]);
    world.write_rows("batch.csv", &file);
    world.expect(0, &["load", "batch.csv", "--batch", "b", "--amend"]);
    world.expect(0, &["cancel", "b", "--yes"]);
    let anew = ["load", "batch.csv", "--batch", "c", "--on-error", "skip"];
    world
        .expect(0, &anew)
        .says("2 payments loaded into batch c");
    world.disburse(&["run", "c", "--yes"]);
    let ledger = sandbox.ledger();
    assert_eq!(world.count("c", "paid"), 2);
    assert_eq!((ledger.executed_once, ledger.executed_more), (5, 0));
}
