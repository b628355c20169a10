//! A journal on its way, and what is left of it where it was.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::channel;
use std::time::Duration;

use super::facts::{ARRIVING, MOVED, moved_to};
use super::relocate::{Made, carry, relocate, settle, take};
use super::{notice, rows};
use crate::domain::{BatchName, PaymentId, ResponseDetails, Timestamp};
use crate::journal::codec::catalog::{has, name};
use crate::journal::codec::facts::note;
use crate::journal::load::loading;
use crate::journal::lock::RunLock;
use crate::journal::opening;
use crate::journal::payments::apply::apply;
use crate::journal::read::reader::Reader;
use crate::journal::recovery::opened::opened;
use crate::journal::run::due_questions::questions;
#[cfg(feature = "postgres")]
use crate::journal::run::sessions;
use crate::journal::run::verbs::{acquire, claim};
use crate::journal::schema::open::Missing;
use crate::journal::session::keeper::Keeper;
use crate::journal::session::payments::subject;
use crate::journal::session::transaction::WriteSession;
use crate::journal::tests::{plan, row};
use crate::journal::{Error, Home, Journal, LoadRow, Location, Relocated, RunTerms, Runner};
use crate::ledger::confirmation::{Answer, Bound, Confirmation};
use crate::lifecycle::{Class, CodeMeaning, Event, Policy, State, StepContext};
use crate::store::memory::Memory;
use crate::store::tables::{evidence, life, session};
use crate::store::{Read, Reads, Scan, Test, Transact, Writes, shape};

fn at(secs: u64) -> Timestamp {
    Timestamp::from_millis(1_795_824_000_000).after(Duration::from_secs(secs))
}

fn file(folder: &Path, name: &str) -> Location {
    Location::from(&folder.join(name))
}

fn batch() -> BatchName {
    plan().batch
}

/// Does something in a transaction, as the writer does.
fn act<T>(
    c: &mut WriteSession,
    work: impl FnOnce(&mut WriteSession) -> Result<T, Error>,
) -> Result<T, Error> {
    Transact::begin(&**c)?;
    c.begin()?;
    match work(c) {
        Ok(done) => {
            if c.is_open() {
                c.save()?;
                c.commit()?;
            }
            Ok(done)
        }
        Err(error) => {
            c.forget();
            c.rollback()?;
            Err(error)
        }
    }
}

fn terms() -> RunTerms {
    RunTerms {
        home: Home {
            gateway: "gateway".into(),
            wire: "wire".into(),
            account: "acme".into(),
            reading: "document".into(),
            profile: "default".to_owned(),
            accepts_reading: false,
        },
        confirmation: Confirmation::of(
            crate::domain::Tally::default(),
            Bound::EVERYTHING,
            Answer::Flag,
        ),
        approval: None,
        longest_wait: Duration::from_secs(600),
        first_query_after: Duration::from_secs(5),
        calendar: Arc::default(),
        limits: None,
        runner: Runner::default(),
        now: at(10),
        shows: None,
    }
}

/// Loads a batch, and leaves a run of it in the middle: one payment is paid, one in doubt, one under way, the others untouched.
fn fill(c: &mut WriteSession) {
    let (sender, receiver) = channel();
    let mut block: Vec<_> = (1..=5).map(|n| LoadRow::Valid(row(n))).collect();
    block.push(LoadRow::EndOfFile);
    sender.send(block).unwrap();
    drop(sender);
    act(c, |c| loading::load(c, &plan(), receiver)).unwrap();
    let policy = Policy::default();
    let token = act(c, |c| acquire(c, &batch(), &terms(), &policy))
        .unwrap()
        .token;
    let claims = act(c, |c| Ok(claim(c, token, 3, at(11), &policy)?.0)).unwrap();
    let paid = CodeMeaning {
        class: Class::Paid,
        code: 140,
    };
    let events = [Event::Callback(paid), Event::Lost];
    for (claim, event) in claims.iter().zip(events) {
        act(c, |c| {
            let mut subject = subject(c, claim.seq)?;
            let moment = StepContext {
                now: at(12),
                jitter: 0,
            };
            let said = ResponseDetails::default();
            apply(c, &mut subject, event, &said, moment, &policy)?;
            c.moved(&subject, State::Posting)
        })
        .unwrap();
    }
}

/// A file with such a batch.
fn filled(folder: &Path) -> Location {
    std::fs::create_dir_all(folder).unwrap();
    let place = file(folder, "from.db");
    fill(&mut opened(&place, Missing::Create).unwrap());
    place
}

fn states(c: &dyn Read) -> Vec<State> {
    c.values(&Scan::of(&life::TABLE), life::state).unwrap()
}

shape! {
    struct Hashed of evidence { hash: Option<[u8; 32]> }
}

fn hashes(c: &dyn Read) -> Vec<Option<[u8; 32]>> {
    let found: Vec<Hashed> = c.list(&Scan::of(&evidence::TABLE)).unwrap();
    found.into_iter().map(|row| row.hash).collect()
}

/// Moves what a session has into a store that is empty.
fn into(source: &mut WriteSession, keeper: Keeper) -> (Keeper, Relocated) {
    let target = Reader::of(keeper, None);
    let moved = carry(source, &target, "there", &mut Made::nothing()).unwrap();
    settle(target.store()).unwrap();
    (target.into_keeper(), moved)
}

#[test]
fn a_journal_goes_to_a_shared_store_and_back_with_all_it_has() {
    let folder = tempfile::tempdir().unwrap();
    let place = filled(folder.path());
    let mut source = opened(&place, Missing::Refuse).unwrap();
    let (called, had) = (name(&*source).unwrap(), hashes(&*source));
    assert_eq!(
        states(&*source),
        [State::Paid, State::InDoubt, State::Posting]
    );
    let clock = Arc::new(AtomicU64::new(20));
    let told = Arc::clone(&clock);
    let memory = Memory::shared(move || at(told.load(Ordering::SeqCst)));
    let (keeper, moved) = into(&mut source, Keeper::Memory(memory));
    assert_eq!((moved.batches, moved.payments), (1, 5));
    let mut there = WriteSession::new(keeper);
    assert_eq!(name(&*there).unwrap(), called);
    assert_eq!(hashes(&*there), had);
    for fact in ["marked", MOVED, ARRIVING] {
        assert!(!has(&*there, fact).unwrap(), "{fact}");
    }
    // What was under way is in doubt once a run takes the batch there; that run ends without a word.
    let policy = Policy::default();
    let began = act(&mut there, |c| acquire(c, &batch(), &terms(), &policy)).unwrap();
    assert_eq!(began.abandoned, 1);
    assert!(matches!(
        carry(
            &mut there,
            &Reader::of(Keeper::Memory(Memory::default()), None),
            "back",
            &mut Made::nothing()
        ),
        Err(Error::Held { holder }) if holder.contains("the run ")
    ));
    clock.store(600, Ordering::SeqCst);
    let back = file(folder.path(), "back.db");
    let keeper = opening::writable(&back, Missing::Create).unwrap();
    let (keeper, again) = into(&mut there, keeper);
    assert_eq!((again.batches, again.payments), (1, 5));
    drop(keeper);
    // The run that was not heard of any more finds that its session is over.
    let open = Scan::by(&session::session_open);
    assert!(!there.any(&open).unwrap());
    let mut home = opened(&back, Missing::Refuse).unwrap();
    assert!(has(&*home, "marked").unwrap(), "it has its place");
    assert_eq!(&hashes(&*home)[..had.len()], &had[..]);
    let began = act(&mut home, |c| acquire(c, &batch(), &terms(), &policy)).unwrap();
    assert!(began.token.epoch > began_before(&there));
    assert_eq!(
        states(&*home),
        [State::Paid, State::InDoubt, State::InDoubt]
    );
}

/// A run of a file remembers which payments it is to ask about first. It is not there any more, and runs on a server look in the queue.
#[test]
fn what_was_acknowledged_is_asked_about_in_the_new_place() {
    let folder = tempfile::tempdir().unwrap();
    let place = filled(folder.path());
    let policy = Policy::default();
    let mut source = opened(&place, Missing::Refuse).unwrap();
    let token = act(&mut source, |c| acquire(c, &batch(), &terms(), &policy))
        .unwrap()
        .token;
    let claims = act(&mut source, |c| Ok(claim(c, token, 2, at(13), &policy)?.0)).unwrap();
    for claimed in &claims {
        let taken = CodeMeaning {
            class: Class::Acknowledged,
            code: 139,
        };
        let moment = StepContext {
            now: at(14),
            jitter: 0,
        };
        act(&mut source, |c| {
            let mut subject = subject(c, claimed.seq)?;
            let said = ResponseDetails::default();
            apply(c, &mut subject, Event::Reply(taken), &said, moment, &policy)?;
            c.moved(&subject, State::Posting)
        })
        .unwrap();
    }
    drop(source);
    let mut source = opened(&place, Missing::Refuse).unwrap();
    let aside = Scan::of(&life::TABLE).only(life::queued, Test::is(&false));
    assert_eq!(source.count(&aside).unwrap(), 2);
    let memory = Memory::shared(|| at(4_000));
    let (keeper, _) = into(&mut source, Keeper::Memory(memory));
    let mut there = WriteSession::new(keeper);
    assert_eq!(there.count(&aside).unwrap(), 0);
    let later = RunTerms {
        now: at(4_000),
        ..terms()
    };
    let token = act(&mut there, |c| acquire(c, &batch(), &later, &policy))
        .unwrap()
        .token;
    let lease = at(4_100);
    let asked = act(&mut there, |c| questions(c, token, 9, at(4_000), lease)).unwrap();
    for claimed in claims {
        let is_asked = asked.iter().any(|question| question.seq == claimed.seq);
        assert!(is_asked, "{asked:?}");
    }
}

fn began_before(c: &WriteSession) -> crate::domain::Epoch {
    crate::journal::codec::catalog::epoch(&**c).unwrap()
}

#[test]
fn nothing_is_written_where_a_journal_was_and_it_is_still_read() {
    let folder = tempfile::tempdir().unwrap();
    let from = filled(folder.path());
    let beside = Journal::open_existing(&from).unwrap();
    let to = file(folder.path(), "to.db");
    let moved = relocate(&from, &to, at(1)).unwrap();
    assert_eq!((moved.batches, moved.payments), (1, 5));
    let runtime = tokio::runtime::Builder::new_current_thread()
        .build()
        .unwrap();
    // One that was open before, as that of a listener is.
    let refused = runtime.block_on(beside.has_batch(batch())).unwrap_err();
    let whole = std::path::absolute(to.file().unwrap()).unwrap();
    let is_refused = |error: &Error| matches!(error, Error::Moved { to } if Path::new(to) == whole);
    assert!(is_refused(&refused), "{refused}");
    assert!(is_refused(&Journal::open(&from).unwrap_err()));
    assert!(
        is_refused(&relocate(&from, &to, at(1)).unwrap_err()),
        "once is enough"
    );
    assert!(is_refused(
        &relocate(&from, &file(folder.path(), "other.db"), at(1)).unwrap_err()
    ));
    assert!(!folder.path().join("other.db").exists());
    let reader = Reader::open(&from).unwrap();
    assert_eq!(reader.batches().unwrap(), [batch()]);
    // The new one is a journal as every other one.
    let journal = Journal::open(&to).unwrap();
    assert!(runtime.block_on(journal.has_batch(batch())).unwrap());
    assert_eq!(runtime.block_on(journal.recovery()).unwrap(), None);
}

#[test]
fn an_earlier_copy_that_is_put_back_and_a_new_journal_are_refused_where_a_journal_was_moved_from() {
    let folder = tempfile::tempdir().unwrap();
    let from = filled(folder.path());
    let (path, copy) = (from.file().unwrap(), folder.path().join("copy.db"));
    std::fs::copy(path, &copy).unwrap();
    let to = file(folder.path(), "to.db");
    relocate(&from, &to, at(1)).unwrap();
    let whole = std::path::absolute(to.file().unwrap()).unwrap();
    let is_refused = |error: &Error| matches!(error, Error::Moved { to } if Path::new(to) == whole);
    for suffix in ["-wal", "-shm", ".mark", ".lock", ""] {
        let mut name = path.as_os_str().to_owned();
        name.push(suffix);
        let _ = std::fs::remove_file(name);
    }
    // Nothing is there: none is begun, and whoever reads is told as well.
    for refused in [
        Journal::open(&from).unwrap_err(),
        Journal::open_existing(&from).unwrap_err(),
        Reader::open(&from).unwrap_err(),
    ] {
        assert!(is_refused(&refused), "{refused}");
    }
    let back = relocate(&to, &from, at(1)).unwrap_err();
    assert!(matches!(back, Error::Exists { .. }), "{back}");
    assert!(!path.exists());
    std::fs::rename(copy, path).unwrap();
    for refused in [
        Journal::open(&from).unwrap_err(),
        relocate(&from, &file(folder.path(), "other.db"), at(1)).unwrap_err(),
    ] {
        assert!(is_refused(&refused), "{refused}");
    }
    let moved = Reader::open(&from).unwrap().moved_to().unwrap();
    assert_eq!(moved.as_deref().map(Path::new), Some(&*whole));
    drop(Journal::open(&to).unwrap());
}

#[test]
fn a_move_that_was_cut_off_is_finished_by_the_same_command() {
    let folder = tempfile::tempdir().unwrap();
    let from = filled(folder.path());
    let to = file(folder.path(), "to.db");
    // Before the source has committed.
    {
        let source = opened(&from, Missing::Refuse).unwrap();
        let target = opening::writable(&to, Missing::Create).unwrap();
        rows::copy(&*source, target.store()).unwrap();
    }
    for error in [
        Journal::open(&to).unwrap_err(),
        Reader::open(&to).unwrap_err(),
    ] {
        assert!(matches!(error, Error::Arriving), "{error}");
    }
    drop(Journal::open(&from).unwrap());
    let moved = relocate(&from, &to, at(1)).unwrap();
    assert_eq!((moved.batches, moved.payments), (1, 5));
    assert!(matches!(Journal::open(&from), Err(Error::Moved { .. })));
    // After it: the last step is left.
    let target = opening::writable(&to, Missing::Refuse).unwrap();
    note(target.store(), ARRIVING, &1_i64).unwrap();
    drop(target);
    std::fs::remove_file(folder.path().join("from.db.moved")).unwrap();
    let moved = relocate(&from, &to, at(1)).unwrap();
    assert!(notice::read(&from).unwrap().is_some());
    assert_eq!((moved.batches, moved.payments), (1, 5));
    drop(Journal::open(&to).unwrap());
}

#[test]
fn a_move_that_was_cut_off_before_anything_arrived_begins_again() {
    let folder = tempfile::tempdir().unwrap();
    let from = filled(folder.path());
    let to = file(folder.path(), "to.db");
    std::fs::write(to.file().unwrap(), b"").unwrap();
    // A journal without rows, in a place that knows of a journal which is not there any more.
    std::fs::write(folder.path().join("to.db.mark"), b"").unwrap();
    assert!(relocate(&from, &to, at(1)).is_err());
    drop(Journal::open(&from).unwrap());
    std::fs::remove_file(folder.path().join("to.db.mark")).unwrap();
    // The tables were not made yet, or were, and nothing was in them.
    drop(opening::writable(&to, Missing::Create).unwrap());
    // It had said that a journal comes to it: nobody loads into what is still empty.
    take(
        opening::writable(&to, Missing::Create).unwrap().store(),
        [7; 16],
    )
    .unwrap();
    assert!(matches!(Journal::open(&to), Err(Error::Arriving)));
    let moved = relocate(&from, &to, at(1)).unwrap();
    assert_eq!((moved.batches, moved.payments), (1, 5));
    let (from, to) = (to, file(folder.path(), "back.db"));
    std::fs::write(to.file().unwrap(), b"").unwrap();
    assert_eq!(relocate(&from, &to, at(1)).unwrap(), moved);
}

/// Of two moves to one file one would remove, when it fails, what the other has brought there.
#[test]
fn one_journal_at_a_time_comes_to_a_file() {
    let folder = tempfile::tempdir().unwrap();
    let (from, to) = (filled(folder.path()), file(folder.path(), "to.db"));
    let other = RunLock::take(&to, "a move of a journal to this place", at(1)).unwrap();
    let is_held = |error: &Error| matches!(error, Error::Held { .. });
    let error = relocate(&from, &to, at(1)).unwrap_err();
    assert!(is_held(&error) && !to.is_there(), "{error}");
    // The other one has made it.
    take(
        opening::writable(&to, Missing::Create).unwrap().store(),
        [7; 16],
    )
    .unwrap();
    let error = relocate(&from, &to, at(1)).unwrap_err();
    assert!(is_held(&error) && to.is_there(), "{error}");
    drop(other);
    assert_eq!(relocate(&from, &to, at(1)).unwrap().payments, 5);
    // A log that nobody has brought into its journal is no part of this one.
    let (from, to) = (to, file(folder.path(), "back.db"));
    let log = folder.path().join("back.db-wal");
    std::fs::write(&log, b"log").unwrap();
    let error = relocate(&from, &to, at(1)).unwrap_err().to_string();
    assert!(error.contains("move that -wal file away first"), "{error}");
    assert_eq!(std::fs::read(log).unwrap(), b"log");
}

/// It may be in no other place any more: nobody is told to remove it.
#[test]
fn a_journal_that_has_arrived_in_part_is_left_alone_by_the_move_of_another_one() {
    let folder = tempfile::tempdir().unwrap();
    let (one, other) = (
        filled(&folder.path().join("a")),
        filled(&folder.path().join("b")),
    );
    let to = file(folder.path(), "to.db");
    let arrives = || {
        let source = opened(&one, Missing::Refuse).unwrap();
        let target = opening::writable(&to, Missing::Create).unwrap();
        rows::copy(&*source, target.store()).unwrap();
    };
    arrives();
    let is_refused = |error: &Error| matches!(error, Error::ArrivingOther);
    let error = relocate(&other, &to, at(1)).unwrap_err();
    assert!(is_refused(&error), "{error}");
    drop(Journal::open(&other).unwrap());
    // Nor by one whose last step is left, which went there before.
    let whole = std::path::absolute(to.file().unwrap()).unwrap();
    let gone = opened(&other, Missing::Refuse).unwrap();
    note(&*gone, MOVED, &whole.to_str().unwrap().to_owned()).unwrap();
    drop(gone);
    let error = relocate(&other, &to, at(1)).unwrap_err();
    assert!(is_refused(&error), "{error}");
    assert!(matches!(Journal::open(&to), Err(Error::Arriving)));
    assert_eq!(relocate(&one, &to, at(1)).unwrap().payments, 5);
    drop(Journal::open(&to).unwrap());
}

/// Nothing may ever have been written in the new place when a copy of it is made.
#[test]
fn a_copy_of_what_has_arrived_is_noticed_before_anything_is_written_there() {
    let folder = tempfile::tempdir().unwrap();
    let (from, to) = (filled(folder.path()), file(folder.path(), "to.db"));
    relocate(&from, &to, at(1)).unwrap();
    let copy = file(folder.path(), "copy.db");
    std::fs::copy(to.file().unwrap(), copy.file().unwrap()).unwrap();
    for (place, is_noticed) in [(to, false), (copy, true)] {
        drop(opened(&place, Missing::Refuse).unwrap());
        let noticed = Reader::open(&place).unwrap().missed().unwrap();
        assert_eq!(noticed.is_some(), is_noticed, "{place}");
    }
}

#[test]
fn what_arrived_is_out_of_date_once_the_source_has_gone_on() {
    let folder = tempfile::tempdir().unwrap();
    let from = filled(folder.path());
    let to = file(folder.path(), "to.db");
    {
        let mut source = opened(&from, Missing::Refuse).unwrap();
        let target = opening::writable(&to, Missing::Create).unwrap();
        rows::copy(&*source, target.store()).unwrap();
        act(&mut source, |c| {
            acquire(c, &batch(), &terms(), &Policy::default())
        })
        .unwrap();
    }
    let before = std::fs::read(to.file().unwrap()).unwrap();
    for _ in 0..2 {
        let refused = relocate(&from, &to, at(1)).unwrap_err();
        assert!(matches!(refused, Error::Arriving), "{refused}");
    }
    assert_eq!(std::fs::read(to.file().unwrap()).unwrap(), before);
    // The journal is where it was, and can go elsewhere.
    relocate(&from, &file(folder.path(), "other.db"), at(1)).unwrap();
}

#[test]
fn a_place_that_has_something_is_refused_and_left_as_it_was() {
    let folder = tempfile::tempdir().unwrap();
    let from = filled(folder.path());
    let there = filled(&folder.path().join("other"));
    let before = std::fs::read(there.file().unwrap()).unwrap();
    assert!(matches!(
        relocate(&from, &there, at(1)),
        Err(Error::Exists { .. })
    ));
    assert_eq!(std::fs::read(there.file().unwrap()).unwrap(), before);
    let nowhere = file(folder.path(), "no/to.db");
    assert!(relocate(&from, &nowhere, at(1)).is_err());
    let source = opened(&from, Missing::Refuse).unwrap();
    let mut other = WriteSession::new(Keeper::Memory(Memory::default()));
    note(&*other, "journal", &[7_u8; 16]).unwrap();
    fill(&mut other);
    let refused = rows::copy(&*source, &*other).unwrap_err();
    assert!(matches!(refused, Error::NotEmpty), "{refused}");
    assert_eq!(moved_to(&*source).unwrap(), None);
    // It can still go elsewhere.
    drop(source);
    relocate(&from, &file(folder.path(), "to.db"), at(1)).unwrap();
}

#[test]
fn what_is_not_as_it_was_recorded_goes_nowhere() {
    let folder = tempfile::tempdir().unwrap();
    let from = filled(folder.path());
    {
        let source = opened(&from, Missing::Refuse).unwrap();
        let first = PaymentId::new(1);
        let paid = Scan::of(&life::TABLE).at(&first);
        source.set(&paid, life::state, &State::Failed).unwrap();
    }
    let to = file(folder.path(), "to.db");
    let error = relocate(&from, &to, at(1)).unwrap_err();
    assert!(matches!(error, Error::NotSound { .. }), "{error}");
    for name in ["to.db", "to.db-wal", "to.db-shm"] {
        assert!(!folder.path().join(name).exists(), "{name}");
    }
    drop(Journal::open(&from).unwrap());
}

/// A database on each server that is here, with an empty journal.
#[cfg(feature = "postgres")]
#[test]
fn a_journal_goes_to_a_server_and_back() {
    use crate::journal::server::make;
    use crate::store::postgres::fixture::{Kind, shared};
    for server in Kind::ALL.into_iter().filter_map(shared) {
        let folder = tempfile::tempdir().unwrap();
        let from = filled(folder.path());
        let had = hashes(Reader::open(&from).unwrap().store());
        let text = server.address(&server.database());
        let there = Location::parse(std::ffi::OsStr::new(&text)).unwrap();
        let Location::Server(address) = &there else {
            panic!("{text}");
        };
        make(address).unwrap();
        let moved = relocate(&from, &there, at(1)).unwrap();
        assert_eq!((moved.batches, moved.payments), (1, 5));
        let reader = Reader::open(&there).unwrap();
        assert_eq!(reader.misfits().unwrap(), Vec::<String>::new());
        assert_eq!(hashes(reader.store()), had);
        // A run takes the batch there, and goes on with it.
        let policy = Policy::default();
        {
            let mut c = opened(&there, Missing::Refuse).unwrap();
            let began = act(&mut c, |c| acquire(c, &batch(), &terms(), &policy)).unwrap();
            assert_eq!(began.abandoned, 1);
            let gone = act(&mut c, |c| sessions::leave(c, began.token, &policy));
            assert_eq!(gone.unwrap(), 0);
        }
        let full = relocate(&filled(&folder.path().join("2")), &there, at(1)).unwrap_err();
        assert!(matches!(full, Error::NotEmpty), "{full}");
        let back = file(folder.path(), "back.db");
        let again = relocate(&there, &back, at(1)).unwrap();
        assert_eq!((again.batches, again.payments), (1, 5));
        assert!(matches!(Journal::open(&there), Err(Error::Moved { .. })));
        let mut home = opened(&back, Missing::Refuse).unwrap();
        assert_eq!(&hashes(&*home)[..had.len()], &had[..]);
        act(&mut home, |c| acquire(c, &batch(), &terms(), &policy)).unwrap();
    }
}
