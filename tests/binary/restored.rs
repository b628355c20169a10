//! Journals that are older than what their place has seen, copied, or made anew, against a gateway that executes whatever it
//! is sent, however often: what was posted before is asked about, and nothing is paid twice.

use std::fs;
use std::time::Duration;

use crate::files::rows;
use crate::oracle::{nothing_twice, prove_outcome};
use crate::sandbox::Sandbox;
use crate::world::{Setup, World};

const ROWS: usize = 30;
const LOAD: [&str; 4] = ["load", "batch.csv", "--batch", "b"];
const RUN: [&str; 3] = ["run", "b", "--yes"];
const SLOWLY: [&str; 5] = ["run", "b", "--yes", "--rate", "10/s"];
const ASKED: &str = "before it is posted";

fn world(seed: u64) -> (World, Sandbox, Vec<crate::files::Row>) {
    world_with(seed, "1s")
}

fn world_with(seed: u64, quarantine: &'static str) -> (World, Sandbox, Vec<crate::files::Row>) {
    let setup = Setup {
        quarantine,
        request_timeout: "950ms",
        ..Setup::default()
    };
    let seeded = seed.to_string();
    let arguments = ["--no-duplicate-check", "--seed", &seeded];
    let (world, sandbox) = World::with_sandbox(&setup, &arguments);
    let rows = rows(ROWS, seed);
    world.write_rows("batch.csv", &rows);
    (world, sandbox, rows)
}

/// Puts a copy in the place of the journal, as a person does who knows that the log belongs to the old one.
fn restore(world: &World, copy: &str) {
    world.delete_journal();
    fs::copy(world.path(copy), world.path("disburse.db")).unwrap();
}

/// Kills a run half way.
fn kill_half_way(world: &World, sandbox: &Sandbox) {
    let mut run = world.start(&SLOWLY);
    run.until("some are posted", |_| sandbox.ledger().posts >= 8);
    drop(run);
}

#[test]
fn a_backup_that_is_put_back_after_a_run_pays_nothing_twice() {
    let (world, sandbox, rows) = world(61);
    world.expect(0, &LOAD);
    world.expect(0, &["backup", "copy.db"]).says("sound");
    world.expect(0, &RUN);
    restore(&world, "copy.db");
    world
        .expect(0, &["status", "b"])
        .says("it is a copy that `disburse backup` made");
    world.expect(0, &RUN).says(ASKED);
    prove_outcome(&world, "b", &rows, &sandbox.ledger());
    world.expect(0, &["status", "b"]).says("noticed at");
}

#[test]
fn a_file_that_is_copied_back_over_the_journal_pays_nothing_twice() {
    let (world, sandbox, rows) = world(62);
    world.expect(0, &LOAD);
    fs::copy(world.path("disburse.db"), world.path("copy.db")).unwrap();
    world.expect(0, &RUN);
    // Over it, so that the file is the same one.
    fs::copy(world.path("copy.db"), world.path("disburse.db")).unwrap();
    world.expect(0, &RUN).says("a later run was here");
    prove_outcome(&world, "b", &rows, &sandbox.ledger());
}

#[test]
fn a_copy_from_the_middle_of_the_run_pays_nothing_twice() {
    let (world, sandbox, rows) = world(63);
    world.expect(0, &LOAD);
    let mut run = world.start(&SLOWLY);
    run.until("some are posted", |_| sandbox.ledger().posts >= 8);
    world.expect(0, &["backup", "copy.db"]).says("sound");
    let done = run.wait();
    assert_eq!(done.code, Some(0), "{done:?}");
    // What says that it is a copy is taken out: the mark tells as well.
    rusqlite::Connection::open(world.path("copy.db"))
        .unwrap()
        .execute("delete from meta where key = 'backup'", [])
        .unwrap();
    restore(&world, "copy.db");
    world
        .expect(0, &RUN)
        .says("evidence is missing that was recorded here");
    prove_outcome(&world, "b", &rows, &sandbox.ledger());
}

#[test]
fn a_journal_without_its_log_after_a_kill_pays_nothing_twice() {
    let (world, sandbox, rows) = world(64);
    world.expect(0, &LOAD);
    kill_half_way(&world, &sandbox);
    assert!(
        world.path("disburse.db-wal").exists(),
        "a killed run leaves its log"
    );
    fs::copy(world.path("disburse.db"), world.path("copy.db")).unwrap();
    // In its place, and elsewhere.
    for name in ["disburse.db-wal", "disburse.db-shm"] {
        fs::remove_file(world.path(name)).unwrap();
    }
    world.expect(0, &RUN).says(ASKED);
    let elsewhere = [&RUN[..], &["--asked-as", "acme", "--journal", "copy.db"]].concat();
    world.expect(0, &elsewhere).says("its mark file is missing");
    prove_outcome(&world, "b", &rows, &sandbox.ledger());
}

#[test]
fn a_folder_that_is_copied_with_the_mark_pays_nothing_twice() {
    let (world, sandbox, _) = world(65);
    if world
        .path("batch.csv")
        .metadata()
        .unwrap()
        .created()
        .is_err()
    {
        // This file system does not tell when a file was born.
        return;
    }
    world.expect(0, &LOAD);
    // Longer than a mark may differ from its time.
    std::thread::sleep(Duration::from_millis(100));
    fs::create_dir(world.path("moved")).unwrap();
    let copy = |name: &str| fs::copy(world.path(name), world.path("moved").join(name)).unwrap();
    let folder = fs::read_dir(world.path(".")).unwrap();
    for entry in folder.map(|entry| entry.unwrap().file_name().into_string().unwrap()) {
        if entry.starts_with("disburse.db") {
            copy(&entry);
        }
    }
    world.expect(0, &RUN);
    let moved = [&RUN[..], &["--journal", "moved/disburse.db"]].concat();
    world
        .expect(2, &moved)
        .says("its file is not the one that was in use here");
    world.expect(0, &[&moved[..], &["--asked-as", "acme"]].concat());
    nothing_twice(&sandbox.ledger());
}

#[test]
fn a_journal_that_is_made_anew_in_the_place_of_another_one_pays_nothing_twice() {
    let (world, sandbox, rows) = world(66);
    world.expect(0, &LOAD);
    kill_half_way(&world, &sandbox);
    world.delete_journal();
    let pay = ["pay", "batch.csv", "--batch", "b", "--yes"];
    world
        .expect(0, &pay)
        .says("another journal was in use in this place");
    prove_outcome(&world, "b", &rows, &sandbox.ledger());
}

#[test]
fn a_mark_that_was_torn_or_removed_asks_before_it_posts() {
    let (world, sandbox, rows) = world(67);
    world.expect(0, &LOAD);
    kill_half_way(&world, &sandbox);
    fs::write(world.path("disburse.db.mark"), "turn 1").unwrap();
    world
        .expect(0, &["status", "b"])
        .says("its mark file cannot be read");
    assert_eq!(
        fs::read(world.path("disburse.db.mark")).unwrap(),
        b"turn 1",
        "a reader writes none"
    );
    world.expect(4, &RUN).says(ASKED);
    world.no_order_is_missing("disburse.db");
    world.expect(0, &RUN);
    prove_outcome(&world, "b", &rows, &sandbox.ledger());
    fs::remove_file(world.path("disburse.db.mark")).unwrap();
    world
        .expect(0, &["recover"])
        .says("its mark file is missing");
}

/// A killed run, a relative path, a folder with another name: nothing was missed.
#[test]
fn a_journal_that_has_missed_nothing_is_not_suspected() {
    let (world, sandbox, rows) = world(68);
    world.expect(0, &LOAD);
    for _ in 0..3 {
        let before = sandbox.ledger().posts;
        let mut run = world.start(&SLOWLY);
        run.until("one is posted", |_| sandbox.ledger().posts > before);
        drop(run);
    }
    std::os::unix::fs::symlink(world.path("."), world.path("link")).unwrap();
    for journal in ["disburse.db", "./disburse.db", "link/disburse.db"] {
        let done = world.expect(0, &["recover", "--journal", journal]);
        assert!(
            done.out.contains("nothing is known to be missing"),
            "{done:?}"
        );
    }
    let through = [&RUN[..], &["--journal", "link/disburse.db"]].concat();
    let done = world.expect(0, &through);
    assert!(!done.err.contains(ASKED), "{done:?}");
    prove_outcome(&world, "b", &rows, &sandbox.ledger());
}

/// Yesterday's copy, today's file: shown, asked, declared done; then a new batch is posted first.
#[test]
fn a_recovery_is_shown_and_ends_when_it_is_declared_done() {
    let (world, sandbox, _) = world(69);
    world.expect(0, &LOAD);
    world.expect(0, &["backup", "copy.db"]);
    world.expect(0, &RUN);
    let today = rows(5, 169);
    world.write_rows("today.csv", &today);
    let load_today = ["load", "today.csv", "--batch", "today"];
    world.expect(0, &load_today);
    world.expect(0, &["run", "today", "--yes"]);
    let executed = sandbox.ledger().executed_once;

    restore(&world, "copy.db");
    world.expect(0, &load_today).says(ASKED);
    assert_eq!(world.count("b", "in_doubt"), ROWS as u64);
    assert_eq!(world.count("today", "in_doubt"), 5);
    world
        .expect(0, &["recover"])
        .says("to ask: disburse run today");
    world
        .expect(0, &["status"])
        .says("35 payments to be asked about, disburse recover shows all of it");
    world
        .expect(2, &["recover", "--done", "--yes"])
        .says("35 payments are presumed posted, and the gateway has not been asked");
    // What would be refused anyway is not asked.
    world
        .expect(2, &["recover", "--done"])
        .says("the gateway has not been asked");
    world.expect(0, &RUN);
    world.expect(0, &["run", "today", "--yes"]);
    world
        .expect(2, &["recover", "--done"])
        .says("There is no terminal to ask at");
    assert_eq!(
        sandbox.ledger().executed_once,
        executed,
        "all had been paid"
    );
    nothing_twice(&sandbox.ledger());
    let shown = world.expect(0, &["recover", "--json"]);
    let shown: serde_json::Value = serde_json::from_str(&shown.out).unwrap();
    assert_eq!(shown["batches"][1]["known"], 5, "{shown}");
    assert_eq!(shown["batches"][1]["unasked"], 0, "{shown}");
    world
        .expect(0, &["recover", "--done", "--yes"])
        .says("the recovery is done");
    world
        .expect(2, &["recover", "--done", "--yes"])
        .says("there is no recovery to end");

    world.write_rows("new.csv", &rows(4, 269));
    world.expect(0, &["load", "new.csv", "--batch", "new"]);
    assert_eq!(world.count("new", "ready"), 4);
    for batch in ["b", "today", "new"] {
        world
            .expect(0, &["verify", batch])
            .says("sound: everything fits");
    }
    let explained = world.expect(
        0,
        &["explain", "b", &crate::files::rows(ROWS, 69)[0].reference],
    );
    explained.says("presumed to have been posted before");
}

#[test]
fn a_persons_word_skips_the_questions_and_is_on_record() {
    let (world, sandbox, rows) = world(70);
    world.expect(0, &LOAD);
    world.expect(0, &["backup", "copy.db"]);
    restore(&world, "copy.db");
    let word = ["recover", "--nothing-ran-since"];
    world.expect(2, &word);
    let reasoned = [
        &word[..],
        &["--reason", "the disk died before the job began"],
    ]
    .concat();
    world
        .expect(2, &reasoned)
        .says("There is no terminal to ask at");
    assert_eq!(world.count("b", "in_doubt"), ROWS as u64);
    world
        .expect(2, &[&reasoned[..], &["--yes"]].concat())
        .says("--yes is not enough");
    assert_eq!(world.count("b", "in_doubt"), ROWS as u64);
    let (code, shown) = world.at_terminal(&reasoned, "yes");
    assert_eq!(code, Some(2), "{shown}");
    let (code, shown) = world.at_terminal(&reasoned, "nothing ran since");
    assert_eq!(code, Some(0), "{shown}");
    assert!(shown.contains("30 payments ready"), "{shown}");
    assert_eq!(world.count("b", "ready"), ROWS as u64);
    world.expect(0, &RUN);
    prove_outcome(&world, "b", &rows, &sandbox.ledger());
    world
        .expect(0, &["explain", "b", &rows[0].reference])
        .says("nothing has run since")
        .says("the disk died before the job began");
}

#[test]
fn what_this_journal_posted_is_released_by_nobodys_word() {
    let (world, sandbox, rows) = world(71);
    world.expect(0, &LOAD);
    kill_half_way(&world, &sandbox);
    fs::remove_file(world.path("disburse.db.mark")).unwrap();
    let word = ["recover", "--nothing-ran-since", "--reason", "I think so"];
    let (code, shown) = world.at_terminal(&word, "nothing ran since");
    assert_eq!(code, Some(0), "{shown}");
    let still_asked = world.count("b", "in_doubt")
        + world.count("b", "posting")
        + world.count("b", "acknowledged")
        + world.count("b", "paid");
    assert!(still_asked >= 8, "{}", world.status("b"));
    world.expect(0, &RUN);
    prove_outcome(&world, "b", &rows, &sandbox.ledger());
}

#[test]
fn a_batch_that_is_there_already_is_given_back_to_asking_by_hand() {
    let (world, sandbox, rows) = world(72);
    // Another journal, of which this one knows nothing, pays all of it.
    let elsewhere = ["--journal", "elsewhere.db"];
    world.expect(0, &[&LOAD[..], &elsewhere].concat());
    world.expect(0, &[&RUN[..], &elsewhere].concat());
    world.expect(0, &LOAD);
    assert_eq!(world.count("b", "ready"), ROWS as u64);
    let again = [&LOAD[..], &["--presume-posted"]].concat();
    world.expect(0, &again).says("30 payments presumed posted");
    assert_eq!(world.count("b", "in_doubt"), ROWS as u64);
    world.expect(0, &again).says("0 payments presumed posted");
    world
        .expect(0, &["recover", "b", "--presume-posted"])
        .says("0 payments");
    world
        .expect(2, &RUN)
        .says("nothing says which account posted it");
    world.expect(0, &[&RUN[..], &["--asked-as", "acme"]].concat());
    prove_outcome(&world, "b", &rows, &sandbox.ledger());
    world.no_order_is_missing("disburse.db");
    world.expect(0, &["recover", "--done", "--yes"]);
    // The same command as before begins nothing anew; who orders it by hand, does.
    world
        .expect(0, &again)
        .says("0 payments presumed posted")
        .says("no recovery begins");
    world
        .expect(0, &["recover"])
        .says("nothing is known to be missing");

    world.write_rows("other.csv", &rows_of_another_batch());
    world.expect(0, &["load", "other.csv", "--batch", "c"]);
    assert_eq!(world.count("c", "ready"), 3);
    world
        .expect(0, &["recover", "c", "--presume-posted"])
        .says("3 payments presumed posted")
        .says("this begins a recovery");
    assert_eq!(world.count("c", "in_doubt"), 3);
    world
        .expect(0, &["recover"])
        .says("it was ordered that a batch is presumed posted");
    world
        .expect(2, &["recover", "--presume-posted"])
        .says("name the batch");
}

fn rows_of_another_batch() -> Vec<crate::files::Row> {
    rows(3, 172)
}

#[test]
fn a_recovery_is_not_ordered_in_the_middle_of_a_run() {
    let (world, sandbox, _) = world(73);
    world.expect(0, &LOAD);
    let mut run = world.start(&SLOWLY);
    run.until("one is posted", |_| sandbox.ledger().posts > 0);
    for order in [
        &["recover", "b", "--presume-posted"][..],
        &["recover", "--done", "--yes"],
        &["recover", "--nothing-ran-since", "--reason", "x", "--yes"],
        &["load", "batch.csv", "--batch", "b", "--presume-posted"],
    ] {
        world.expect(4, order).says("the journal is in use by");
    }
    let done = run.wait();
    assert_eq!(done.code, Some(0), "{done:?}");
}

#[test]
fn a_copy_is_not_made_over_a_file_and_not_of_a_damaged_journal() {
    let (world, _sandbox, _) = world(74);
    world.expect(0, &LOAD);
    world.write("there.db", "mine");
    world
        .expect(2, &["backup", "there.db"])
        .says("is not written over");
    assert_eq!(world.read("there.db"), "mine");
    world
        .expect(2, &["backup", "disburse.db"])
        .says("is not written over");
    rusqlite::Connection::open(world.path("disburse.db"))
        .unwrap()
        .execute_batch("drop trigger instruction_is_never_changed; update instruction set amount = 1 where seq = 3")
        .unwrap();
    world
        .expect(2, &["backup", "copy.db"])
        .says("differs from what was recorded");
    assert!(!world.path("copy.db").exists());
}

/// A run is stopped in the middle of a block, its lock is taken away, another run brings the batch to its end, and the first
/// one wakes up: whatever it was about to send stays.
#[test]
fn a_run_that_was_stopped_and_overtaken_posts_nothing_more() {
    use rustix::process::Signal;
    // The other run takes longer than a silence that is overlooked.
    let (world, sandbox, rows) = world_with(75, "3s");
    world.expect(0, &LOAD);
    // All of it is claimed at once.
    let mut run = world.start(&["run", "b", "--yes", "--rate", "30/s", "--concurrency", "1"]);
    run.until("some are posted", |_| sandbox.ledger().posts >= 3);
    // Not in the middle of a commit: the journal would be locked for as long as it is stopped.
    crate::world::eventually("between two commits", || {
        run.stop();
        let journal = rusqlite::Connection::open(world.path("disburse.db")).unwrap();
        journal.busy_timeout(Duration::ZERO).unwrap();
        let is_free = journal.execute_batch("begin immediate; rollback").is_ok();
        if !is_free {
            run.signal(Signal::CONT);
        }
        is_free
    });
    fs::remove_file(world.path("disburse.db.lock")).unwrap();
    world.expect(0, &RUN);
    let posts = sandbox.ledger().posts;
    run.signal(Signal::CONT);
    let done = run.wait();
    assert_eq!(done.code, Some(1), "{done:?}");
    done.says("another run has taken over");
    assert_eq!(sandbox.ledger().posts, posts, "{done:?}");
    prove_outcome(&world, "b", &rows, &sandbox.ledger());
}

/// A machine slept while outcomes were awaited and nothing was left to post: the run looks who runs the batch, and goes on.
#[test]
fn a_run_that_only_waits_for_outcomes_goes_on_after_a_standstill() {
    use rustix::process::Signal;
    let (world, sandbox, rows) = world(76);
    world.expect(0, &LOAD);
    let mut run = world.start(&["run", "b", "--yes", "--max-wait", "20s"]);
    run.until("all are posted", |_| {
        sandbox.ledger().posts >= rows.len() as u64
    });
    run.stop();
    // The standstill is what is tested: longer than a silence that is overlooked.
    std::thread::sleep(Duration::from_millis(2_500));
    run.signal(Signal::CONT);
    let done = run.wait();
    assert_eq!(done.code, Some(0), "{done:?}");
    done.says("checks whether another run has taken over");
    prove_outcome(&world, "b", &rows, &sandbox.ledger());
}
