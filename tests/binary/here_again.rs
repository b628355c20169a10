//! Batches that were posted before the journal was lost, and come back under another name, originator or reference, or not at all:
//! the gateway knows none of the new identifiers, and that proves nothing.

use std::sync::{Arc, Mutex};

use crate::accounts::{Books, assert_executed_once, gateway, put_back};
use crate::files::rows;
use crate::gateways::Server;
use crate::world::{Setup, World};

const DONE: [&str; 3] = ["recover", "--done", "--yes"];
const HELD: &str = "until you confirm with `disburse recover --done` that all batches";

/// Batch `a` is paid.
fn paid(file: &str, payments: usize) -> (World, Arc<Mutex<Books>>, Server) {
    let (server, books) = gateway(|_| Some(139));
    let world = World::new(&Setup::default()).towards(&server.url());
    world.write("a.csv", file);
    world.expect(0, &["pay", "a.csv", "--batch", "a", "--yes"]);
    assert_executed_once(&books, payments);
    (world, books, server)
}

fn file_of(seed: u64) -> String {
    crate::files::csv(&rows(3, seed))
}

fn with_originator(world: &World, from: &str, to: &str) {
    let config = world.read("disburse.toml");
    let line = |name: &str| format!("originator = \"{name}\"");
    assert!(config.contains(&line(from)));
    world.write("disburse.toml", &config.replace(&line(from), &line(to)));
}

/// Batch `a` comes back with other identifiers: nothing departs, and everybody is told. Whoever loads it as it was goes on.
fn nothing_departs_until_it_is_as_it_was(
    (world, books): (&World, &Arc<Mutex<Books>>),
    mistake: impl Fn(),
    mend: impl Fn(),
    what: &str,
) {
    let differs = "batch a was posted from this place with other identifiers";
    world.delete_journal();
    mistake();
    world
        .expect(0, &["load", "a.csv", "--batch", "a"])
        .says(differs);
    world.expect(2, &["run", "a"]).says(differs);
    for _ in 0..2 {
        world
            .expect(4, &["run", "a", "--yes"])
            .says(differs)
            .says(HELD);
        assert_executed_once(books, 3);
    }
    world.expect(0, &["status", "a"]).says(differs).says(HELD);
    world.expect(0, &["recover"]).says(differs).says(what);
    world
        .expect(2, &DONE)
        .says(differs)
        .says("--yes is not enough");
    world.expect(0, &["verify", "a"]);
    world.expect(4, &["run", "a", "--yes"]);
    assert_executed_once(books, 3);
    // The mark still has what was posted, whatever was run since.
    world.delete_journal();
    mend();
    let loaded = world.expect(0, &["load", "a.csv", "--batch", "a"]);
    assert!(!loaded.err.contains(differs), "{loaded:?}");
    world.expect(0, &["run", "a", "--yes"]);
    assert_executed_once(books, 3);
    world.expect(0, &DONE);
    world.expect(0, &["verify", "a"]);
}

#[test]
fn a_batch_that_comes_back_under_another_originator_is_not_paid_again() {
    let (world, books, _server) = paid(&file_of(150), 3);
    nothing_departs_until_it_is_as_it_was(
        (&world, &books),
        || with_originator(&world, "acme", "Acme"),
        || with_originator(&world, "Acme", "acme"),
        "its originator was \"acme\" then, and is \"Acme\" here",
    );
}

#[test]
fn a_batch_that_comes_back_with_other_references_is_not_paid_again() {
    for (was, is) in [("R0000", "r0000"), ("R0000", "R0")] {
        let file = file_of(151);
        let (world, books, _server) = paid(&file, 3);
        nothing_departs_until_it_is_as_it_was(
            (&world, &books),
            || world.write("a.csv", &file.replace(was, is)),
            || world.write("a.csv", &file),
            "the references or the rows differ from then",
        );
    }
}

#[test]
fn a_batch_without_references_that_comes_back_with_another_narration_is_not_paid_again() {
    let mut file = "service_code,msisdn,amount,currency_code,narration\n".to_owned();
    for row in rows(3, 152) {
        let amount = row.amount();
        file.push_str(&format!(
            "{},{},{amount},KES,Wages\n",
            row.service, row.msisdn
        ));
    }
    let (world, books, _server) = paid(&file, 3);
    nothing_departs_until_it_is_as_it_was(
        (&world, &books),
        || world.write("a.csv", &file.replace("Wages", "wages")),
        || world.write("a.csv", &file),
        "the references or the rows differ from then",
    );
}

/// Batch `b` was paid after the copy was made, which is put back.
fn b_is_missing(seed: u64) -> (World, Arc<Mutex<Books>>, Server) {
    let (world, books, server) = paid(&file_of(seed), 3);
    world.expect(0, &["backup", "copy.db"]);
    world.write("b.csv", &file_of(seed + 1));
    world.expect(0, &["pay", "b.csv", "--batch", "b", "--yes"]);
    assert_executed_once(&books, 6);
    put_back(&world, &[]);
    (world, books, server)
}

#[test]
fn what_is_loaded_while_a_batch_is_missing_is_held() {
    let missing =
        "batch b was posted from this place and is not here: load its file again under that name";
    let shared = || {
        let rows = rows(3, 161);
        let mut other = rows[..2].to_vec();
        other.push(crate::files::rows(4, 199).remove(3));
        crate::files::csv(&other)
    };
    for (file, batch) in [("b.csv", "b3"), ("b.csv", "B"), ("c.csv", "c")] {
        let (world, books, _server) = b_is_missing(160);
        world.write("c.csv", &shared());
        world
            .expect(0, &["load", file, "--batch", batch])
            .says(missing);
        world.expect(2, &["run", batch]).says(missing);
        for _ in 0..2 {
            world
                .expect(4, &["run", batch, "--yes"])
                .says(missing)
                .says("3 payments wait until");
            assert_executed_once(&books, 6);
        }
        world.expect(0, &["status"]).says(missing);
        world.expect(0, &["status", batch]).says(missing).says(HELD);
        world.expect(0, &["recover"]).says(missing);
        world.expect(2, &DONE).says(missing);
        world.expect(0, &["verify", batch]);
        // The road that is named: the wrong one is withdrawn, and the batch comes back as itself.
        world.expect(0, &["cancel", batch, "--yes"]);
        world.expect(0, &["load", "b.csv", "--batch", "b"]);
        world.expect(0, &["run", "b", "--yes"]);
        assert_executed_once(&books, 6);
        let shown = world.expect(0, &["recover"]);
        assert!(!shown.out.contains(missing), "{shown:?}");
        world.expect(0, &DONE);
        for batch in ["a", "b", batch] {
            world.expect(0, &["verify", batch]);
        }
        assert_executed_once(&books, 6);
    }
}

/// Both are here: the rows under the wrong name are held against those under the right one, which are paid.
#[test]
fn a_batch_that_is_loaded_beside_its_own_rows_under_another_name_is_not_paid_again() {
    let (world, books, _server) = b_is_missing(162);
    world.expect(0, &["load", "b.csv", "--batch", "b3"]);
    world.expect(4, &["run", "b3", "--yes"]);
    let load = ["load", "b.csv", "--batch", "b"];
    let refused = world.expect(2, &load);
    let (_, digest) = refused.err.split_once("--allow-repeats ").unwrap();
    let digest: String = digest.chars().take_while(char::is_ascii_hexdigit).collect();
    world.expect(0, &[&load[..], &["--allow-repeats", &digest]].concat());
    for batch in ["b3", "b", "b3"] {
        world.disburse(&["run", batch, "--yes"]);
        assert_executed_once(&books, 6);
    }
    world.expect(0, &["run", "b", "--yes"]);
    world.disburse(&DONE);
    world.disburse(&["run", "b3", "--yes"]);
    assert_executed_once(&books, 6);
    for batch in ["b", "b3"] {
        world.expect(0, &["verify", batch]);
    }
}

/// Its identifiers are the same, and nobody asks the gateway about it.
#[test]
fn a_rehearsal_of_a_missing_batch_is_not_that_batch() {
    let missing = "batch b was posted from this place and is not here";
    let (world, books, _server) = b_is_missing(164);
    world.expect(0, &["load", "b.csv", "--batch", "b", "--sandbox"]);
    world
        .expect(0, &["load", "b.csv", "--batch", "b3"])
        .says(missing);
    world.expect(4, &["run", "b3", "--yes"]).says(missing);
    world.expect(2, &DONE).says(missing);
    assert_executed_once(&books, 6);
}

/// Once the last batch is here again, whatever was held departs, without another word.
#[test]
fn a_journal_made_anew_goes_on_without_a_word_once_its_batches_are_here() {
    let refused = std::sync::atomic::AtomicBool::new(false);
    let (server, books) = gateway(move |_| {
        let first = !refused.swap(true, std::sync::atomic::Ordering::SeqCst);
        Some(if first { 110 } else { 139 })
    });
    let world = World::new(&Setup::default()).towards(&server.url());
    for (name, seed) in [("a.csv", 170), ("b.csv", 171)] {
        world.write(name, &file_of(seed));
    }
    // One of its payments was refused: the gateway does not have it.
    world.expect(3, &["pay", "a.csv", "--batch", "a", "--yes"]);
    world.expect(0, &["pay", "b.csv", "--batch", "b", "--yes"]);
    assert_executed_once(&books, 5);
    world.delete_journal();
    let pay = ["pay", "a.csv", "--batch", "a", "--yes"];
    world
        .expect(4, &pay)
        .says("batch b was posted from this place and is not here")
        .says("1 payment waits until");
    assert_executed_once(&books, 5);
    let loaded = world.expect(0, &["load", "b.csv", "--batch", "b"]);
    assert!(!loaded.out.contains("is not here"), "{loaded:?}");
    world.expect(0, &["verify", "a"]);
    world.expect(0, &pay);
    assert_executed_once(&books, 6);
    world.expect(0, &["run", "b", "--yes"]);
    world.expect(0, &["recover", "--done", "--yes"]);
    assert_executed_once(&books, 6);
}

/// Of a batch that was added to, both files are to be here.
#[test]
fn a_batch_of_which_a_part_is_here_is_not_here_yet() {
    let (world, books, _server) = b_is_missing(180);
    // What was added to it was paid, too.
    world.write("more.csv", &crate::files::csv(&rows(5, 189)[3..]));
    world.expect(0, &["load", "b.csv", "--batch", "b"]);
    let amend = ["load", "more.csv", "--batch", "b", "--amend"];
    world.expect(0, &amend);
    world.expect(0, &["run", "b", "--yes"]);
    assert_executed_once(&books, 8);
    put_back(&world, &[]);
    let part = "batch b was posted from this place with 5 rows, and has 3 of them, or others, here";
    world
        .expect(0, &["load", "b.csv", "--batch", "b"])
        .says(part);
    world.expect(0, &["recover"]).says(part);
    let loaded = world.expect(0, &amend);
    assert!(!loaded.err.contains("b was posted"), "{loaded:?}");
    world.no_order_is_missing("disburse.db");
    world.expect(0, &["run", "b", "--yes"]);
    assert_executed_once(&books, 8);
}

/// What a load prints as the list that may be allowed.
fn digest_in(text: &str) -> String {
    let (_, digest) = text.split_once("--allow-repeats ").expect("it is named");
    digest.chars().take_while(char::is_ascii_hexdigit).collect()
}

/// The gateway knows these people under the identifiers of another batch, and says "not found" under those of this one.
#[test]
fn rows_that_were_left_out_then_cannot_be_allowed_when_their_batch_comes_back() {
    let all = rows(5, 156);
    let (world, books, _server) = paid(&crate::files::csv(&all[..3]), 3);
    world.expect(0, &["backup", "copy.db"]);
    world.write_rows("b.csv", &all);
    let load = ["load", "b.csv", "--batch", "b"];
    let skip = [&load[..], &["--on-error", "skip"]].concat();
    let digest = digest_in(&world.expect(2, &load).err);
    world.expect(0, &skip);
    world.expect(3, &["run", "b", "--yes"]);
    assert_executed_once(&books, 5);
    put_back(&world, &[]);
    let as_then = "without these rows: add --on-error skip, which leaves them out again";
    world.expect(2, &load).says(as_then);
    let allowed = [&load[..], &["--allow-repeats", &digest]].concat();
    let refused = world.expect(2, &allowed);
    refused.says(as_then);
    assert!(!refused.err.contains("names another list"), "{refused:?}");
    world.expect(0, &skip);
    world.expect(3, &["run", "b", "--yes"]);
    world.expect(0, &DONE);
    world.expect(3, &["run", "b", "--yes"]);
    assert_executed_once(&books, 5);
    let left_out = world.expect(0, &["explain", "b", &all[0].reference]);
    left_out.says("Left out, because it repeats the row in the next line");
    left_out.says("state: paid");
}

#[test]
fn rows_that_were_allowed_then_are_allowed_when_their_batch_comes_back_and_said_to_be_paid() {
    let all = rows(4, 157);
    let (world, books, _server) = paid(&crate::files::csv(&all[..3]), 3);
    world.expect(0, &["backup", "copy.db"]);
    world.write_rows("b.csv", &all);
    let load = ["load", "b.csv", "--batch", "b"];
    let digest = digest_in(&world.expect(2, &load).err);
    let allowed = [&load[..], &["--allow-repeats", &digest]].concat();
    let paid_already = "repeat rows of batch a (a.csv, loaded ";
    let loaded = world.expect(0, &allowed);
    loaded.says(paid_already);
    loaded.says(", which are paid already, as was allowed: lines 2, 3, 4");
    world.expect(0, &["run", "b", "--yes"]);
    assert_executed_once(&books, 7);
    put_back(&world, &[]);
    let refused = world.expect(2, &load);
    refused.says("with these rows: load the whole file");
    let digest = digest_in(&refused.err);
    world.expect(0, &[&load[..], &["--allow-repeats", &digest]].concat());
    world.disburse(&["run", "b", "--yes"]);
    assert_executed_once(&books, 7);
}
