//! Connections that are lost, and how transactions ended all the same.

use super::super::fixture::{Kind, Server, shared};
use super::super::{Deadlines, Postgres};
use super::proxy::{Fate, Proxy};
use super::{address, fresh, made, short};
use crate::domain::PaymentId;
use crate::store::tables::inquiry;
use crate::store::{Error, Reads as _, Scan, Transact as _, Writes as _, shape};

shape! {
    struct Asked of inquiry { seq: PaymentId, batch_id: i64, due_at: i64 }
}

/// Inserts a row, in a transaction that goes on.
fn insert(store: &Postgres, seq: i64) {
    store
        .insert(&Asked {
            seq: PaymentId::new(seq),
            batch_id: 1,
            due_at: 0,
        })
        .unwrap();
}

fn seqs(store: &Postgres) -> Vec<i64> {
    store
        .values(&Scan::of(&inquiry::TABLE), inquiry::seq)
        .unwrap()
}

/// Ends all connections to a database.
pub(super) fn cut(server: &Server, store: &Postgres) {
    let ended = "select pg_terminate_backend(pid, 5000) from pg_stat_activity
        where datname = current_database() and application_name = 'disburse'";
    server.psql(store.address().database(), ended);
}

/// A store behind a wire that is cut.
fn behind(server: &Server, deadlines: Deadlines) -> (Proxy, Postgres) {
    let proxy = Proxy::to(server.port());
    let database = server.database();
    made(&address(&server.address(&database)));
    let text = format!("postgres://disburse@127.0.0.1:{}/{database}", proxy.port());
    let store = Postgres::open(address(&text), deadlines).unwrap();
    (proxy, store)
}

#[test]
fn a_connection_that_is_lost_between_transactions_is_made_anew() {
    for server in Kind::ALL.into_iter().filter_map(shared) {
        let store = fresh(server);
        for seq in 1..=3 {
            cut(server, &store);
            store.begin().unwrap();
            insert(&store, seq);
            store.commit().unwrap();
        }
        cut(server, &store);
        store.begin_reading().unwrap();
        assert_eq!(seqs(&store), [1, 2, 3]);
        store.commit().unwrap();
    }
}

#[test]
fn what_is_read_by_itself_is_read_again_when_the_connection_is_lost() {
    let Some(server) = shared(Kind::Installed) else {
        return;
    };
    let (proxy, store) = behind(server, Deadlines::default());
    let count = || store.count(&Scan::of(&inquiry::TABLE));
    assert_eq!(count().unwrap(), 0);
    proxy.set(Fate::Cut);
    assert_eq!(count().unwrap(), 0);
    // In a transaction it would be of another time than what was read before.
    store.begin_reading().unwrap();
    proxy.set(Fate::Cut);
    assert!(matches!(count(), Err(Error::ConnectionLost { .. })));
    store.rollback().unwrap();
}

#[test]
fn a_transaction_whose_connection_is_lost_is_gone_and_says_so() {
    for server in Kind::ALL.into_iter().filter_map(shared) {
        let store = fresh(server);
        let is_lost = |told: Result<(), Error>| {
            assert!(
                matches!(told, Err(Error::ConnectionLost { .. })),
                "{told:?}"
            );
        };
        // It is noticed by a read.
        store.begin().unwrap();
        insert(&store, 1);
        cut(server, &store);
        is_lost(store.any(&Scan::by(&inquiry::inquiry_queue)).map(|_| ()));
        assert!(store.is_open());
        is_lost(store.any(&Scan::by(&inquiry::inquiry_queue)).map(|_| ()));
        is_lost(store.commit());
        assert!(!store.is_open());
        // By the commit.
        store.begin().unwrap();
        insert(&store, 2);
        cut(server, &store);
        is_lost(store.commit());
        assert!(!store.is_open());
        // By nobody.
        store.begin().unwrap();
        insert(&store, 3);
        cut(server, &store);
        store.rollback().unwrap();
        store.begin().unwrap();
        assert_eq!(seqs(&store), Vec::<i64>::new());
        insert(&store, 4);
        store.commit().unwrap();
        assert_eq!(seqs(&store), [4]);
    }
}

#[test]
fn a_commit_whose_answer_is_lost_is_known_to_have_been_one() {
    for server in Kind::ALL.into_iter().filter_map(shared) {
        let (proxy, store) = behind(server, Deadlines::default());
        for seq in 1..=3 {
            store.begin().unwrap();
            let version = store.version().unwrap();
            insert(&store, seq);
            proxy.set(Fate::Unanswered);
            store.commit().unwrap();
            store.begin().unwrap();
            assert_eq!(store.version().unwrap(), version, "nobody else has written");
            store.rollback().unwrap();
        }
        assert_eq!(seqs(&store), [1, 2, 3]);
    }
}

#[test]
fn a_commit_that_did_not_arrive_is_known_to_have_been_none() {
    for server in Kind::ALL.into_iter().filter_map(shared) {
        let (proxy, store) = behind(server, Deadlines::default());
        for seq in 1..=3 {
            store.begin().unwrap();
            insert(&store, seq);
            proxy.set(Fate::Lost);
            let told = store.commit();
            assert!(
                matches!(told, Err(Error::ConnectionLost { .. })),
                "{told:?}"
            );
            assert!(!store.is_open());
        }
        store.begin().unwrap();
        insert(&store, 9);
        store.commit().unwrap();
        assert_eq!(seqs(&store), [9]);
    }
}

#[test]
fn a_commit_that_arrives_when_its_end_is_known_commits_nothing() {
    for server in Kind::ALL.into_iter().filter_map(shared) {
        let (proxy, store) = behind(server, short());
        store.begin().unwrap();
        insert(&store, 1);
        proxy.set(Fate::Late);
        let told = store.commit();
        assert!(
            matches!(told, Err(Error::ConnectionLost { .. })),
            "{told:?}"
        );
        proxy.let_go();
        store.begin().unwrap();
        insert(&store, 2);
        store.commit().unwrap();
        proxy.let_go();
        assert_eq!(seqs(&store), [2]);
    }
}

#[test]
fn what_no_server_tells_is_not_known() {
    for server in Kind::ALL.into_iter().filter_map(shared) {
        let (proxy, store) = behind(server, short());
        for (seq, fate) in [(1, Fate::Unanswered), (2, Fate::Lost)] {
            store.begin().unwrap();
            insert(&store, seq);
            proxy.set(fate);
            proxy.set_down(true);
            let told = store.commit();
            assert!(
                matches!(told, Err(Error::OutcomeUnknown { .. })),
                "{told:?}"
            );
            assert!(!store.is_open());
            proxy.set_down(false);
        }
        store.begin().unwrap();
        assert_eq!(seqs(&store), [1]);
        store.commit().unwrap();
    }
}

#[test]
fn a_server_that_comes_back_in_time_tells_the_end() {
    let Some(server) = Server::start(Kind::Installed, &[]) else {
        return;
    };
    let (proxy, store) = behind(&server, Deadlines::default());
    let database = store.address().database().to_owned();
    for (seq, fate) in [(1, Fate::Unanswered), (2, Fate::Lost)] {
        store.begin().unwrap();
        insert(&store, seq);
        proxy.set(fate);
        proxy.set_down(true);
        let told = std::thread::scope(|scope| {
            let restart = scope.spawn(|| {
                if fate == Fate::Unanswered {
                    server.until(&database, "select 1 from disburse.inquiry");
                }
                server.stop("immediate");
                server.run();
                proxy.set_down(false);
            });
            let told = store.commit();
            restart.join().unwrap();
            told
        });
        match fate {
            Fate::Unanswered => told.unwrap(),
            _ => assert!(
                matches!(told, Err(Error::ConnectionLost { .. })),
                "{told:?}"
            ),
        }
    }
    assert_eq!(seqs(&store), [1]);
}

/// The wait for a standby that never answers is cut off: the server says that it has committed, and warns.
#[test]
fn a_commit_with_a_warning_is_asked_about() {
    let Some(server) = Server::start(Kind::Installed, &[]) else {
        return;
    };
    let store = Postgres::open(
        fresh(&server).address().clone(),
        Deadlines {
            learn: std::time::Duration::from_secs(3),
            ..Deadlines::default()
        },
    )
    .unwrap();
    let set = |names: &str| server.lets_commits_wait_for(names);
    let waits = "select 1 from pg_stat_activity where wait_event = 'SyncRep'";
    let cancel = "select pg_cancel_backend(pid) from pg_stat_activity where wait_event = 'SyncRep' and query = 'commit'";
    for (seq, comes_back) in [(1, true), (2, false)] {
        store.begin().unwrap();
        insert(&store, seq);
        set("nobody");
        let told = std::thread::scope(|scope| {
            let operator = scope.spawn(|| {
                server.until("postgres", waits);
                server.psql("postgres", cancel);
                // What asks for the receipt waits as well.
                server.until("postgres", "select 1 from pg_stat_activity where wait_event = 'SyncRep' and query <> 'commit'");
                if comes_back {
                    set("");
                }
            });
            let told = store.commit();
            operator.join().unwrap();
            told
        });
        match comes_back {
            true => told.unwrap(),
            false => assert!(
                matches!(told, Err(Error::OutcomeUnknown { .. })),
                "{told:?}"
            ),
        }
        set("");
    }
    assert_eq!(seqs(&store), [1, 2]);
}

/// A standby that lagged behind has taken over, or an older copy was put in the place of the journal.
#[test]
fn a_server_that_has_lost_what_it_acknowledged_is_not_gone_on_with() {
    let Some(server) = shared(Kind::Installed) else {
        return;
    };
    let lost = [
        "delete from disburse.writer",
        "update disburse.writer set turn = turn - 1",
        // Others have written since: the numbers are not behind.
        "update disburse.turn set number = number + 5; update disburse.writer set turn = turn - 1",
        "update disburse.turn set number = number - 1",
    ];
    for statement in lost {
        let store = fresh(server);
        for seq in 1..=2 {
            store.begin().unwrap();
            insert(&store, seq);
            store.commit().unwrap();
        }
        server.psql(store.address().database(), statement);
        for _ in 0..2 {
            let told = store.begin();
            assert!(
                matches!(told, Err(Error::Damaged { .. })),
                "{statement}: {told:?}"
            );
            assert!(!store.is_open());
            assert!(store.begin_reading().is_err());
            assert!(store.version().is_err());
        }
        // Another one knows nothing of it.
        let other = super::beside(&store);
        other.begin().unwrap();
        insert(&other, 3);
        other.commit().unwrap();
    }
}

#[test]
fn a_row_that_is_gone_all_the_same_ends_the_transaction() {
    for server in Kind::ALL.into_iter().filter_map(shared) {
        let store = fresh(server);
        store.begin().unwrap();
        insert(&store, 1);
        insert(&store, 2);
        store.commit().unwrap();
        store.begin().unwrap();
        let seq = PaymentId::new(1);
        let own = Scan::of(&inquiry::TABLE).at(&seq);
        assert!(store.any(&own).unwrap());
        insert(&store, 3);
        // Somebody who takes no turns.
        server.psql(
            store.address().database(),
            "delete from disburse.inquiry where seq = 1",
        );
        assert_eq!(store.set(&own, inquiry::due_at, &5_i64).unwrap(), 1);
        let told = store.commit();
        assert!(matches!(told, Err(Error::DecideAgain { .. })), "{told:?}");
        assert!(!store.is_open());
        assert_eq!(seqs(&store), [2]);
    }
}

/// Several writers lose their connections at every point, and one another's; each is told how every transaction of its own ended.
#[test]
fn every_transaction_ends_as_it_was_told() {
    const WRITERS: i64 = 3;
    const EACH: i64 = 14;
    let kinds = [Kind::Installed, Kind::Eighteen];
    for server in kinds.into_iter().filter_map(shared) {
        let first = fresh(server);
        let database = first.address().database().to_owned();
        let writers = (0..WRITERS).map(|writer| {
            let (proxy, database) = (Proxy::to(server.port()), database.clone());
            std::thread::spawn(move || {
                let text = format!("postgres://disburse@127.0.0.1:{}/{database}", proxy.port());
                let deadlines = Deadlines {
                    turn: std::time::Duration::from_secs(20),
                    commit: std::time::Duration::from_millis(300),
                    ..short()
                };
                let store = Postgres::open(address(&text), deadlines).unwrap();
                let mut chance = fastrand::Rng::with_seed(writer.unsigned_abs());
                let mut committed = Vec::new();
                for at in 0..EACH {
                    let seq = 1 + writer * EACH + at;
                    if chance.u8(..) < 40 {
                        cut(server, &store);
                    }
                    match store.begin() {
                        Err(Error::ConnectionLost { .. }) => continue,
                        begun => begun.unwrap(),
                    }
                    insert(&store, seq);
                    proxy.set(
                        [
                            Fate::Passes,
                            Fate::Passes,
                            Fate::Lost,
                            Fate::Unanswered,
                            Fate::Late,
                        ][chance.usize(..5)],
                    );
                    match store.commit() {
                        Ok(()) => committed.push(seq),
                        Err(Error::ConnectionLost { .. }) => {}
                        Err(error) => panic!("{error:?}"),
                    }
                    proxy.let_go();
                }
                committed
            })
        });
        let writers: Vec<_> = writers.collect();
        let mut committed: Vec<i64> = Vec::new();
        for writer in writers {
            committed.extend(writer.join().unwrap());
        }
        committed.sort_unstable();
        assert_eq!(seqs(&first), committed);
        // Most of them, and not all.
        let all = usize::try_from(WRITERS * EACH).unwrap();
        assert!(
            (all / 4..all).contains(&committed.len()),
            "{}",
            committed.len()
        );
    }
}
