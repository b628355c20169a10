//! The same payment again: refused until a person orders it.

use rusqlite::Connection;

use crate::files::{Row, rows};
use crate::sandbox::Sandbox;
use crate::world::{Done, Setup, World};

const DAY_MS: i64 = 24 * 60 * 60 * 1000;

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

/// Makes everything that is in the journal older by so many days.
fn let_days_pass(world: &World, days: i64) {
    let c = Connection::open(world.path("disburse.db")).unwrap();
    let past = days * DAY_MS;
    c.execute_batch(&format!(
        "drop trigger if exists instruction_is_never_changed;
         update instruction set received_at = received_at - {past};
         update load set loaded_at = loaded_at - {past};"
    ))
    .unwrap();
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
        .says("again.csv:2: reference: \"R00001\" is the reference of line 2 of batch.csv of batch b, loaded 20")
        .says("which is paid");
    assert!(!refused.err.contains("batch name"), "{}", refused.err);
    world
        .expect(2, &["check", "again.csv"])
        .says("200 rows repeat what was loaded before")
        .says(&digest(&refused));
    assert_eq!(sandbox.ledger().posts, 200);
}

#[test]
fn yesterdays_file_is_refused_and_a_monthly_payroll_passes() {
    let (world, sandbox) = paid(&setup(), &rows(20, 172));
    let_days_pass(&world, 1);
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
    assert_eq!(sandbox.ledger().posts, 20);
    let_days_pass(&world, 27);
    world.expect(0, &pay("batch.csv", "next-month"));
    assert_eq!(sandbox.ledger().executed_once, 40);
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
    world
        .expect(2, &["retry", "b", "--yes"])
        .says("no failure of batch b can be retried: 6 failures were loaded anew into batch again");
    assert_eq!(world.count("b", "ready"), 0);
    world.expect(0, &["cancel", "again", "--yes"]);
    world
        .expect(0, &["retry", "b", "--yes"])
        .says("6 failed payments are paid anew");
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
