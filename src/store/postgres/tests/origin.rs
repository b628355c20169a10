//! Servers that come back without what they had: what was written last may have left.

use std::time::Duration;

use super::super::fixture::{Kind, Server, shared};
use super::super::{Address, Deadlines, Postgres, SeenCopy};
use super::{address, fresh, short};
use crate::ledger::recovery::Origin;
use crate::store::{Error, Transact as _};

/// Ends all connections to a database.
fn cut(server: &Server, database: &str) {
    let ended = format!(
        "select pg_terminate_backend(pid, 5000) from pg_stat_activity where datname = '{database}' and pid <> pg_backend_pid()"
    );
    server.psql("postgres", &ended);
}

fn replaced(told: Result<(), Error>) {
    match told {
        Err(Error::Fault { what }) => {
            assert!(what.contains("promoted, restored or replaced"), "{what}")
        }
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_connection_made_anew_finds_what_was_written_or_says_so() {
    let Some(server) = shared(Kind::Installed) else {
        return;
    };
    let store = fresh(server);
    let database = store.address().database().to_owned();
    let commit = || store.begin().and_then(|()| store.commit());
    commit().unwrap();
    cut(server, &database);
    commit().unwrap();
    // An older database has an older receipt, or none.
    server.psql(&database, "update disburse.writer set turn = turn - 1");
    cut(server, &database);
    replaced(commit());
    server.psql(&database, "update disburse.writer set turn = turn + 1");
    commit().unwrap();
    server.psql(&database, "delete from disburse.writer");
    cut(server, &database);
    replaced(commit());
    // It is said as often as it is tried.
    replaced(commit());
    // Whoever only reads has nothing to lose.
    let reader = Postgres::open_to_read(store.address().clone(), Deadlines::default()).unwrap();
    reader.begin_reading().unwrap();
}

#[test]
fn another_database_in_the_place_of_one_is_noticed_while_it_is_used() {
    let Some(server) = shared(Kind::Installed) else {
        return;
    };
    let store = fresh(server);
    let database = store.address().database().to_owned();
    let commit = || store.begin().and_then(|()| store.commit());
    commit().unwrap();
    cut(server, &database);
    server.psql(
        "postgres",
        &format!("create database {database}_copy template {database}"),
    );
    server.psql("postgres", &format!("drop database {database}"));
    server.psql(
        "postgres",
        &format!("alter database {database}_copy rename to {database}"),
    );
    replaced(commit());
}

#[test]
fn a_server_behind_the_timeline_that_was_seen_is_passed_over() {
    let Some(server) = shared(Kind::Installed) else {
        return;
    };
    let store = fresh(server);
    let position = store.server_position().unwrap();
    let at = |origin: Origin| -> Address {
        let seen = SeenCopy {
            origin,
            told_by: "db1.mark".to_owned(),
        };
        store.address().clone().having_seen(vec![seen])
    };
    Postgres::open(at(position.origin), short()).unwrap();
    let later = Origin {
        timeline: position.origin.timeline + 1,
        ..position.origin
    };
    let refused = Postgres::open(at(later), short()).unwrap_err();
    assert!(
        refused.to_string().contains("(as db1.mark says; ")
            && refused.to_string().contains("it is an old primary"),
        "{refused}"
    );
    // Of another cluster nothing is said here.
    let other = Origin { system: 1, ..later };
    Postgres::open(at(other), short()).unwrap();
    assert!(Postgres::open(address(&server.address("nowhere")), short()).is_err());
}

/// Both take writes: the old primary does not know that another one has taken its place, and whoever comes for the first time has seen
/// no timeline.
#[test]
fn of_two_servers_that_take_writes_the_one_that_took_over_is_used() {
    let Some(primary) = Server::start(Kind::Installed, &[]) else {
        return;
    };
    let store = fresh(&primary);
    let database = store.address().database().to_owned();
    let standby = primary.standby();
    let both = [[&primary, &standby], [&standby, &primary]];
    let turn_of = |servers: [&Server; 2]| {
        let store = Postgres::open(address(&Server::address_of(servers, &database)), short());
        store.unwrap().server_position().unwrap().origin.timeline
    };
    let before = both.map(turn_of);
    assert_eq!(before[0], before[1], "there is one that takes writes");
    standby.promote();
    assert_eq!(both.map(turn_of), [before[0] + 1; 2]);
    // The one that has taken over may be the slower one.
    standby.psql("postgres", "alter system set post_auth_delay = 2");
    standby.reload();
    standby.until(
        "postgres",
        "select 1 where current_setting('post_auth_delay') = '2s'",
    );
    for servers in both {
        let at = address(&Server::address_of(servers, &database));
        let store = Postgres::open(at, Deadlines::default()).unwrap();
        let timeline = store.server_position().unwrap().origin.timeline;
        assert_eq!(timeline, before[0] + 1);
    }
    standby.psql("postgres", "alter system reset post_auth_delay");
    standby.reload();
    standby.until(
        "postgres",
        "select 1 where current_setting('post_auth_delay') = '0'",
    );
    // One that is lost with its machine keeps nobody waiting.
    primary.kill();
    assert_eq!(both.map(turn_of), [before[0] + 1; 2]);
}

/// Two standbys that were promoted at once have the same timeline, and each lacks what is written to the other one.
#[test]
fn of_two_servers_that_take_writes_on_one_timeline_neither_is_used() {
    let Some(primary) = Server::start(Kind::Installed, &[]) else {
        return;
    };
    let database = fresh(&primary).address().database().to_owned();
    let standbys = [primary.standby(), primary.standby()];
    let open = |servers: [&Server; 2]| {
        Postgres::open(address(&Server::address_of(servers, &database)), short())
    };
    let [one, other] = [&standbys[0], &standbys[1]];
    primary.kill();
    one.promote();
    other.promote();
    for servers in [[one, other], [other, one]] {
        let refused = open(servers).unwrap_err().to_string();
        assert!(
            refused.contains("more than one server of 127.0.0.1"),
            "{refused}"
        );
    }
    one.kill();
    open([one, other]).unwrap();
}

/// A server that says nothing, not even that it is not there.
#[test]
fn a_server_that_is_dead_silent_keeps_nobody_from_the_other_one() {
    let Some(server) = shared(Kind::Installed) else {
        return;
    };
    let database = fresh(server).address().database().to_owned();
    let silent = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = silent.local_addr().unwrap().port();
    let text = server.address(&database);
    let text = text.replace("@127.0.0.1", &format!("@127.0.0.1:{port},127.0.0.1"));
    let began = std::time::Instant::now();
    let deadlines = Deadlines::default();
    Postgres::open(address(&text), deadlines).unwrap();
    // Whoever writes waits for the one that might have taken over, once; it might be slow.
    let (waited, slack) = (began.elapsed(), Duration::from_secs(2));
    assert!(waited < deadlines.connect + slack, "{waited:?}");
    let began = std::time::Instant::now();
    Postgres::open_to_read(address(&text), deadlines).unwrap();
    assert!(began.elapsed() < deadlines.connect, "{:?}", began.elapsed());
}
