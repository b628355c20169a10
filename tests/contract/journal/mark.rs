//! The mark beside a journal, and what a journal does that is behind it.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::sync::Arc;

use disburse::domain::BatchName;
use disburse::journal::{BillCursor, Error, Journal, Kind, LoadPlan, Loaded, Location, backup};
use disburse::ledger::names::{By, PaymentName};
use disburse::ledger::payer::Identifiers;
use disburse::ledger::recovery::Cause;
use disburse::lifecycle::{Class, State};

use crate::fold::assert_evidence_adds_up;
use crate::support::*;

fn mark_of(world: &World) -> PathBuf {
    world.path.with_file_name("journal.db.mark")
}

/// Copies the journal as it is now.
fn copy_of(world: &World) -> PathBuf {
    let copy = world.path.with_file_name("copy.db");
    backup(&Location::from(&world.path), &copy).unwrap();
    copy
}

/// Ends the process that has the journal open, and puts the copy in its place.
async fn restored(mut world: World, copy: &PathBuf) -> World {
    world.journal =
        Journal::open(&Location::from(&world.path.with_file_name("nothing.db"))).unwrap();
    // The writer ends with its last handle, and takes its log with it.
    for name in ["journal.db", "journal.db-wal", "journal.db-shm"] {
        let _ = fs::remove_file(world.path.with_file_name(name));
    }
    fs::copy(copy, &world.path).unwrap();
    world.journal = Journal::open_existing(&Location::from(&world.path)).unwrap();
    world
}

#[tokio::test]
async fn a_claim_is_in_the_mark_before_it_is_handed_out() {
    let world = World::loaded(4).await;
    let read = || fs::read_to_string(mark_of(&world)).unwrap();
    let token = world.acquire(1).await.token;
    let before = read();
    assert_eq!(world.claim(token, 2, 2).await.len(), 2);
    let after = read();
    assert_ne!(before, after);
    let head = world.standing().evidence;
    assert!(
        after.contains(&format!("batch 1 {} ", head.length)),
        "{after}"
    );
    assert!(after.contains(&head.hex()), "{after}");
    let mode = fs::metadata(mark_of(&world)).unwrap().permissions().mode();
    assert_eq!(mode & 0o7777, 0o600);
    // An outcome is no reason to write it.
    let first = world.payments()[0].seq;
    world
        .record(vec![finding(first, reply(Class::Paid, 140))], 3)
        .await;
    assert_eq!(read(), after);
}

/// It is never said again, so that a journal without it must be known as an older one.
#[tokio::test]
async fn a_callback_that_is_acknowledged_is_in_the_mark() {
    let world = World::loaded(4).await;
    let token = world.acquire(1).await.token;
    world.claim(token, 1, 2).await;
    let first = world.payments()[0].payment.id;
    world.callback(note(first, Class::Paid, 140, 1), 3).await;
    let mark = fs::read_to_string(mark_of(&world)).unwrap();
    let head = world.standing().evidence;
    assert!(
        mark.contains(&format!("batch 1 {} ", head.length)) && mark.contains(&head.hex()),
        "{mark}"
    );
}

#[tokio::test]
async fn a_claim_that_cannot_be_marked_is_not_handed_out_and_stops_the_journal() {
    let world = World::loaded(4).await;
    let token = world.acquire(1).await.token;
    fs::remove_file(mark_of(&world)).unwrap();
    fs::create_dir(mark_of(&world)).unwrap();
    let claim = world
        .journal
        .claim(token, 1, at(2), Arc::clone(&world.policy));
    let error = claim.await.unwrap_err();
    assert!(matches!(error, Error::Mark { .. }), "{error}");
    assert_eq!(error.kind(), Kind::Fault);
    let again = world.journal.due(token, at(3)).await.unwrap_err();
    assert!(matches!(again, Error::Poisoned { .. }), "{again}");
    fs::remove_dir(mark_of(&world)).unwrap();
    assert_eq!(
        world.count(State::Posting),
        1,
        "the intent is on disk, and is asked about"
    );
}

#[tokio::test]
async fn a_journal_whose_place_was_taken_by_another_one_hands_out_no_claim() {
    let world = World::loaded(4).await;
    let token = world.acquire(1).await.token;
    let other = World::loaded(1).await;
    fs::copy(mark_of(&other), mark_of(&world)).unwrap();
    let claim = world
        .journal
        .claim(token, 1, at(2), Arc::clone(&world.policy));
    let error = claim.await.unwrap_err();
    assert!(matches!(error, Error::Displaced), "{error}");
    assert_eq!(error.kind(), Kind::Fault);
}

#[tokio::test]
async fn two_processes_share_a_mark() {
    let world = World::loaded(4).await;
    let token = world.acquire(1).await.token;
    let beside = Journal::open_existing(&Location::from(&world.path)).unwrap();
    for secs in 2..=4 {
        assert_eq!(world.claim(token, 1, secs).await.len(), 1);
        let plan = LoadPlan {
            batch: disburse::domain::BatchName::parse(&format!("b{secs}")).unwrap(),
            repeats: None,
            ..plan()
        };
        let (sender, receiver) = std::sync::mpsc::channel();
        let incoming = [
            disburse::journal::LoadRow::Valid(row(9)),
            disburse::journal::LoadRow::EndOfFile,
        ];
        sender.send(incoming.to_vec()).unwrap();
        drop(sender);
        let loaded = beside.load(plan, receiver).await.unwrap();
        assert!(matches!(loaded, Loaded::New(_)), "{loaded:?}");
    }
    drop(beside);
    let third = Journal::open_existing(&Location::from(&world.path)).unwrap();
    assert_eq!(third.recovery().await.unwrap(), None);
}

#[tokio::test]
async fn what_a_restored_journal_has_ready_is_asked_about_and_so_is_what_is_loaded_into_it() {
    let world = World::loaded(4).await;
    let token = world.acquire(1).await.token;
    let claims = world.claim(token, 2, 2).await;
    world
        .record(vec![finding(claims[0].seq, reply(Class::Failed, 141))], 3)
        .await;
    let copy = copy_of(&world);
    let world = restored(world, &copy).await;
    let recovery = world.journal.recovery().await.unwrap().unwrap();
    assert_eq!(recovery.cause, Cause::Backup);
    assert_eq!(world.count(State::InDoubt), 2);
    // The failure is proven; its retry may have been ordered and posted in what was missed.
    let retried = world.journal.retry(batch(), None, at(4)).await;
    assert_eq!(retried.unwrap(), 1);
    assert_eq!(world.count(State::InDoubt), 3);
    let amend = LoadPlan {
        amend: true,
        ..plan()
    };
    world.load_new(amend, rows(1..=6)).await;
    assert_eq!(world.count(State::InDoubt), 5);
    let token = world.acquire(5).await.token;
    assert!(world.claim(token, 10, 6).await.is_empty());
    world.assert_adds_up();
    assert_evidence_adds_up(&world.reader(), &batch(), &world.policy);
}

#[tokio::test]
async fn a_recovery_is_done_only_when_everything_was_asked_about() {
    let world = World::loaded(3).await;
    let copy = copy_of(&world);
    let world = restored(world, &copy).await;
    let error = world.journal.recovered(at(1)).await.unwrap_err();
    assert!(matches!(error, Error::Unasked { payments: 3 }), "{error}");
    let token = world.acquire(2).await.token;
    let (questions, _) = world
        .journal
        .questions(token, 9, at(2), at(90))
        .await
        .unwrap();
    let answers = [
        answer(Class::Paid, 140),
        answer(Class::NotFound, 143),
        answer(Class::NotFound, 143),
    ];
    let findings = questions
        .iter()
        .zip(answers)
        .map(|(question, answer)| finding(question.seq, answer));
    world.record(findings.collect(), 70).await;
    let presumed = world.reader().presumed().unwrap().remove(0);
    assert_eq!(
        (
            presumed.payments,
            presumed.unasked,
            presumed.not_found,
            presumed.known
        ),
        (3, 0, 2, 1)
    );
    world.journal.recovered(at(71)).await.unwrap();
    assert_eq!(world.journal.recovery().await.unwrap(), None);
    assert!(matches!(
        world.journal.recovered(at(72)).await,
        Err(Error::NoRecovery)
    ));
    // What is new is posted first; what was there is not.
    let amend = LoadPlan {
        amend: true,
        ..plan()
    };
    world.load_new(amend, rows(1..=4)).await;
    assert_eq!(world.find("EMP-4").life.state, State::Ready);
    let second = world.find("EMP-2").seq;
    world
        .record(vec![finding(second, answer(Class::Failed, 141))], 80)
        .await;
    world.journal.retry(batch(), None, at(81)).await.unwrap();
    assert_eq!(world.find("EMP-2").life.state, State::InDoubt);
    assert_evidence_adds_up(&world.reader(), &batch(), &world.policy);
}

#[tokio::test]
async fn a_word_releases_nothing_that_the_gateway_has_spoken_of_or_this_journal_has_posted() {
    let world = World::loaded(4).await;
    let token = world.acquire(1).await.token;
    world.claim(token, 1, 2).await;
    let copy = copy_of(&world);
    let world = restored(world, &copy).await;
    // One was posted by this journal, a callback came about another one.
    let spoken = world.find("EMP-2").payment.id;
    world
        .callback(note(spoken, Class::Acknowledged, 139, 1), 3)
        .await;
    let released = world.journal.nothing_ran_since(None, "seen".into(), at(4));
    assert_eq!(released.await.unwrap(), 2);
    assert_eq!(world.count(State::Ready), 2);
    assert_eq!(world.journal.recovery().await.unwrap(), None);
    world.assert_adds_up();
    assert_evidence_adds_up(&world.reader(), &batch(), &world.policy);
    let again = world.journal.nothing_ran_since(None, "seen".into(), at(5));
    assert!(matches!(again.await, Err(Error::NoRecovery)));
}

/// Another journal, in which nobody was cancelled, may have been there meanwhile.
#[tokio::test]
async fn what_is_cancelled_in_a_copy_is_asked_about_where_nothing_tells_what_was_there_meanwhile() {
    for is_marked in [true, false] {
        let world = World::loaded(4).await;
        let cancel = async |world: &World, name: &str| {
            let name = PaymentName {
                text: name.to_owned(),
                by: By::Reference,
            };
            let done = world.journal.cancel(batch(), Some(name), moment(1));
            done.await.unwrap()
        };
        for name in ["EMP-1", "EMP-2", "EMP-3"] {
            assert_eq!(cancel(&world, name).await, 1);
        }
        let copy = copy_of(&world);
        if !is_marked {
            fs::remove_file(mark_of(&world)).unwrap();
        }
        let world = restored(world, &copy).await;
        if is_marked {
            assert_eq!(
                world.count(State::Cancelled),
                3,
                "this journal cancelled them"
            );
            continue;
        }
        assert_eq!(world.count(State::InDoubt), 4);
        let [first, second] = ["EMP-1", "EMP-2"].map(|name| world.find(name).seq);
        let not_found = || answer(Class::NotFound, 143);
        let paid = finding(first, answer(Class::Paid, 183));
        world
            .record(vec![paid, finding(second, not_found())], 400)
            .await;
        world.record(vec![finding(second, not_found())], 460).await;
        assert_eq!(world.find("EMP-1").life.state, State::Paid);
        assert_eq!(world.find("EMP-2").life.state, State::Cancelled);
        // A person's word makes nothing ready that a person has cancelled.
        assert_eq!(cancel(&world, "EMP-4").await, 0, "ordered");
        let released = world
            .journal
            .nothing_ran_since(None, "seen".into(), at(461));
        assert_eq!(released.await.unwrap(), 2);
        assert_eq!(world.count(State::Cancelled), 3);
        world.assert_adds_up();
        assert_evidence_adds_up(&world.reader(), &batch(), &world.policy);
    }
}

#[tokio::test]
async fn a_row_whose_amount_may_have_been_fixed_and_posted_before_is_asked_about() {
    let world = World::new();
    let file = vec![
        disburse::journal::LoadRow::Unpriced(unpriced(2)),
        disburse::journal::LoadRow::EndOfFile,
    ];
    world.load_incoming(plan(), file).await;
    let copy = copy_of(&world);
    let world = restored(world, &copy).await;
    let page = world
        .journal
        .bills_to_ask(batch(), Vec::new(), BillCursor::ALL, 9);
    let row = page.await.unwrap().0.remove(0);
    world.price(row.seq, 500).await.unwrap();
    assert_eq!(world.find("EMP-2").life.state, State::InDoubt);
    assert_evidence_adds_up(&world.reader(), &batch(), &world.policy);
}

/// What the gateway said before it said "failed" again is over: what is left is what the journal may have missed.
#[tokio::test]
async fn a_failure_of_a_copy_is_doubtful_for_what_was_missed_and_not_for_what_was_taken_back_before()
 {
    let world = World::loaded(1).await;
    let token = world.acquire(1).await.token;
    let claim = world.claim(token, 1, 2).await.remove(0);
    let id = world.payments()[0].payment.id;
    world
        .record(vec![finding(claim.seq, reply(Class::Failed, 141))], 3)
        .await;
    world
        .callback(note(id, Class::Acknowledged, 139, 1), 4)
        .await;
    world.callback(note(id, Class::Failed, 141, 2), 5).await;
    let copy = copy_of(&world);
    let world = restored(world, &copy).await;
    let again = LoadPlan {
        batch: disburse::domain::BatchName::parse("again").unwrap(),
        source: "again.csv".into(),
        now: at(60),
        repeats: Some(disburse::journal::RepeatPlan::default()),
        ..plan()
    };
    let loaded = format!("{:?}", world.load(again, rows(1..=1)).await);
    assert!(
        loaded.contains("may have missed what became of it since it ended"),
        "{loaded}"
    );
}

/// Equal rows have identifiers of their own, rows are set aside, and of a file that is added most are there already.
#[tokio::test]
async fn each_load_keeps_what_tells_its_payments_from_any_others() {
    let world = World::new();
    let odd = LoadPlan {
        allow_equal_rows: true,
        skip_bad_rows: true,
        ..plan()
    };
    let mut first = rows(1..=4);
    first[3].reference = first[0].reference.clone();
    first.extend([nameless(9, 20), nameless(9, 21), nameless(9, 22)]);
    let loaded = world.load_mixed(odd.clone(), first, vec![bad(30, 5)]).await;
    assert!(matches!(loaded, Loaded::New(_)), "{loaded:?}");
    let added = LoadPlan {
        amend: true,
        allow_equal_rows: true,
        source: "more.csv".into(),
        ..plan()
    };
    let mut more = rows(1..=9);
    more.remove(3);
    more.extend([nameless(9, 20), nameless(9, 21), nameless(9, 22)]);
    world.load_new(added, more).await;
    let plain = LoadPlan {
        batch: BatchName::parse("plain").unwrap(),
        ..plan()
    };
    world.load_new(plain, rows(1..=5)).await;
    let c = world.sql();
    let mut loads = c
        .prepare("select load_id, payments, identifiers from load order by load_id")
        .unwrap();
    let loads = loads
        .query_map([], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))
        .unwrap();
    let mut counts = Vec::new();
    for load in loads {
        let (load_id, payments, identifiers): (i64, i64, i64) = load.unwrap();
        let mut found = Identifiers::default();
        c.prepare("select identifier from instruction where load_id = ?1")
            .unwrap()
            .query_map([load_id], |row| row.get::<_, String>(0))
            .unwrap()
            .for_each(|identifier| found.add(&identifier.unwrap()));
        assert_eq!(found.to_stored(), (payments, identifiers), "{load_id}");
        counts.push(payments);
    }
    assert_eq!(counts, [6, 5, 5]);
}
