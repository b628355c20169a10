//! Hosts that share a journal in PostgreSQL, whose database is restored, replaced, or taken over by a standby.

use std::ffi::OsStr;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use tempfile::TempDir;

use crate::domain::{Tally, Timestamp};
use crate::journal::tests::{plan, row};
use crate::journal::{
    Closed, Error, Home, Journal, LoadRow, Location, Reader, RunTerms, RunToken, Runner, server,
};
use crate::ledger::confirmation::{Answer, Bound, Confirmation};
use crate::ledger::recovery::Cause;
use crate::lifecycle::Policy;
use crate::store::postgres::fixture::{Kind, Server, shared};

const ROWS: u64 = 6;

fn at(secs: u64) -> Timestamp {
    Timestamp::from_millis(1_795_824_000_000).after(Duration::from_secs(secs))
}

/// A host that works on a journal, and the folder in which it keeps what it has seen.
struct Host {
    folder: TempDir,
    at: Location,
}

impl Host {
    fn of(server: &Server, database: &str) -> Self {
        Self::at(&server.address(database))
    }

    fn at(text: &str) -> Self {
        let mut host = Self {
            folder: tempfile::tempdir().unwrap(),
            at: Location::File("journal.db".into()),
        };
        host.spells(text);
        host
    }

    /// Writes the address of the journal in another way.
    fn spells(&mut self, text: &str) {
        let Location::Server(address) = Location::parse(OsStr::new(text)).unwrap() else {
            panic!("{text} is no server");
        };
        let state = self.folder.path().join("state");
        self.at = Location::Server(address.with_state_folder(Some(state)));
    }

    /// Makes the journal, and loads a batch.
    async fn loaded(server: &Server, database: &str) -> Self {
        Self::of(server, database).with_a_batch().await
    }

    async fn with_a_batch(self) -> Self {
        let host = self;
        if let Location::Server(address) = &host.at {
            assert!(!server::make(address).unwrap().was_there);
        }
        let journal = host.open();
        let (sender, receiver) = std::sync::mpsc::channel();
        let mut rows: Vec<_> = (1..=ROWS).map(|n| LoadRow::Valid(row(n))).collect();
        rows.push(LoadRow::EndOfFile);
        sender.send(rows).unwrap();
        drop(sender);
        journal.load(plan(), receiver).await.unwrap();
        host
    }

    fn open(&self) -> Journal {
        Journal::open_existing(&self.at).unwrap()
    }

    async fn acquire(journal: &Journal, secs: u64) -> Result<RunToken, Error> {
        let terms = RunTerms {
            home: Home {
                gateway: "gateway".into(),
                wire: "wire".into(),
                account: "acme".into(),
                reading: "document".into(),
                profile: "default".to_owned(),
                accepts_reading: false,
            },
            confirmation: Confirmation::of(Tally::default(), Bound::EVERYTHING, Answer::Flag),
            approval: None,
            longest_wait: Duration::from_secs(600),
            first_query_after: Duration::from_secs(5),
            calendar: Arc::default(),
            limits: None,
            runner: Runner::default(),
            now: at(secs),
            shows: None,
        };
        let acquired = journal.acquire(plan().batch, terms, Arc::default()).await;
        Ok(acquired?.token)
    }

    /// Claims payments in a run of its own; returns how many it was given.
    async fn claim(&self, secs: u64, limit: usize) -> usize {
        let journal = self.open();
        let token = Self::acquire(&journal, secs).await.unwrap();
        let claimed = journal
            .claim(token, limit, at(secs), Arc::new(Policy::default()))
            .await;
        claimed.unwrap().0.len()
    }

    async fn is_not_told_who_posted(&self) {
        let told = Self::acquire(&self.open(), 100).await;
        assert!(matches!(told, Err(Error::PayerUnknown { .. })), "{told:?}");
    }

    /// Returns why its journal may have missed something, as whoever opens it to write is told.
    async fn cause(&self) -> Option<Cause> {
        self.open().recovery().await.unwrap().map(|it| it.cause)
    }

    fn mark(&self) -> String {
        let folder = std::fs::read_dir(self.folder.path().join("state")).unwrap();
        let marks: Vec<_> = folder
            .map(|entry| entry.unwrap().path())
            .filter(|path| path.extension() == Some(OsStr::new("mark")))
            .collect();
        assert_eq!(marks.len(), 1);
        std::fs::read_to_string(&marks[0]).unwrap()
    }
}

/// Waits until nobody is connected to a database.
fn left(server: &Server, database: &str) {
    server.until(
        "postgres",
        &format!("select 1 where not exists (select 1 from pg_stat_activity where datname = '{database}')"),
    );
}

/// Copies a database as it is now.
fn copied(server: &Server, database: &str) -> String {
    left(server, database);
    let copy = format!("{database}_copy");
    server.psql(
        "postgres",
        &format!("create database {copy} template {database}"),
    );
    copy
}

/// Puts a copy in the place of a database.
fn put_back(server: &Server, database: &str, copy: &str) {
    left(server, database);
    server.psql("postgres", &format!("drop database {database}"));
    server.psql(
        "postgres",
        &format!("alter database {copy} rename to {database}"),
    );
}

#[tokio::test]
async fn hosts_that_come_and_go_find_the_journal_as_it_was() {
    let Some(server) = shared(Kind::Installed) else {
        return;
    };
    let database = server.database();
    let first = Host::loaded(server, &database).await;
    assert_eq!(first.claim(1, 2).await, 2);
    assert!(first.mark().contains("\nserver "), "{}", first.mark());
    let second = Host::of(server, &database);
    for host in [&second, &first, &second] {
        assert_eq!(host.cause().await, None);
        assert!(Reader::open(&host.at).unwrap().missed().unwrap().is_none());
    }
    // One that keeps nothing works as well.
    let Location::Server(address) = first.at.clone() else {
        return;
    };
    let nowhere = Location::Server(address.with_state_folder(None));
    let journal = Journal::open(&nowhere).unwrap();
    assert_eq!(journal.recovery().await.unwrap(), None);
}

#[tokio::test]
async fn an_older_database_is_noticed_and_what_is_unfinished_is_asked_about_first() {
    let Some(server) = shared(Kind::Installed) else {
        return;
    };
    let database = server.database();
    let host = Host::loaded(server, &database).await;
    let copy = copied(server, &database);
    assert_eq!(host.claim(1, 2).await, 2);
    put_back(server, &database, &copy);
    let missed = Reader::open(&host.at).unwrap().missed().unwrap().unwrap();
    assert_eq!((missed.cause, missed.since), (Cause::LaterRun, None));
    assert_eq!(host.cause().await, Some(Cause::LaterRun));
    // Nothing is posted: the gateway is asked about all of it.
    assert_eq!(host.claim(100, 10).await, 0);
    let found = server.psql(
        &database,
        "select count(*) from disburse.life where state = 2",
    );
    assert_eq!(found, [[ROWS.to_string()]]);
    // It is noticed once.
    assert_eq!(host.cause().await, Some(Cause::LaterRun));
    let begun = server.psql(&database, "select count(*) from disburse.recovery");
    assert_eq!(begun, [["1"]]);
}

#[tokio::test]
async fn what_a_host_has_seen_under_another_spelling_of_the_address_counts() {
    let Some(server) = shared(Kind::Installed) else {
        return;
    };
    let database = server.database();
    let mut host = Host::loaded(server, &database).await;
    let copy = copied(server, &database);
    assert_eq!(host.claim(1, 2).await, 2);
    put_back(server, &database, &copy);
    host.spells(&twice(&server.address(&database)));
    assert_eq!(host.cause().await, Some(Cause::LaterRun));
    // Which account posted is noted under the first spelling.
    host.is_not_told_who_posted().await;
}

/// The schema, or the whole database, was made anew: nothing in it tells that payments left from there.
#[tokio::test]
async fn a_journal_that_is_made_anew_in_a_database_is_noticed_under_every_spelling() {
    let Some(server) = shared(Kind::Installed) else {
        return;
    };
    for (anew, spelled) in [
        ("drop schema disburse cascade", false),
        ("drop schema disburse cascade", true),
        ("drop database", false),
        ("drop database", true),
    ] {
        let database = server.database();
        let mut host = Host::loaded(server, &database).await;
        assert_eq!(host.claim(1, 2).await, 2);
        left(server, &database);
        match anew {
            "drop database" => {
                server.psql("postgres", &format!("drop database {database}"));
                server.psql("postgres", &format!("create database {database}"));
            }
            anew => drop(server.psql(&database, anew)),
        }
        if spelled {
            host.spells(&twice(&server.address(&database)));
        }
        let mut host = host.with_a_batch().await;
        let case = format!("{anew}, {spelled}");
        assert_eq!(host.cause().await, Some(Cause::OtherJournal), "{case}");
        // Nothing is posted; under another spelling, which account is asked is a person's word.
        match spelled {
            true => host.is_not_told_who_posted().await,
            false => assert_eq!(host.claim(100, 10).await, 0, "{case}"),
        }
        // It is noticed once.
        host.spells(&server.address(&database));
        host.cause().await;
        let begun = server.psql(&database, "select count(*) from disburse.recovery");
        assert_eq!(begun, [["1"]], "{case}");
        // Another database of the same server is another place.
        let other = server.database();
        host.spells(&server.address(&other));
        let host = host.with_a_batch().await;
        assert_eq!(host.cause().await, None, "{case}");
    }
}

/// Another way to write the address of a server.
fn twice(address: &str) -> String {
    address.replace("127.0.0.1", "127.0.0.1,127.0.0.1")
}

#[tokio::test]
async fn what_a_host_has_seen_under_another_spelling_counts_beside_what_it_has_seen_under_this_one()
{
    let Some(server) = Server::start(Kind::Installed, &[]) else {
        return;
    };
    let database = server.database();
    let mut host = Host::loaded(&server, &database).await;
    assert_eq!(host.claim(1, 2).await, 2);
    let copy = server.folder().join("copy");
    server.stop("fast");
    copy_folder(&server, &server.data(), &copy);
    server.run();
    let address = server.address(&database);
    host.spells(&twice(&address));
    assert_eq!(host.claim(2, 2).await, 2);
    server.stop("fast");
    put_data_back(&server, &copy);
    server.run();
    // By its files it is the same server, on the same timeline.
    host.spells(&address);
    assert_eq!(host.cause().await, Some(Cause::LaterRun));
    // What the mark under the other spelling says is told once.
    for spelling in [&twice(&address), &address, &twice(&address), &address] {
        host.spells(spelling);
        host.cause().await;
    }
    let begun = server.psql(&database, "select count(*) from disburse.recovery");
    assert_eq!(begun, [["1"]]);
}

#[tokio::test]
async fn what_was_seen_under_another_spelling_counts_after_another_host_has_noticed_the_loss() {
    let Some(server) = Server::start(Kind::Installed, &[]) else {
        return;
    };
    let database = server.database();
    let address = server.address(&database);
    let mut first = Host::loaded(&server, &database).await;
    let second = Host::of(&server, &database);
    assert_eq!(first.claim(1, 1).await, 1);
    let copy = server.folder().join("copy");
    server.stop("fast");
    copy_folder(&server, &server.data(), &copy);
    server.run();
    first.spells(&twice(&address));
    assert_eq!(first.claim(2, 2).await, 2);
    assert_eq!(second.claim(3, 1).await, 1);
    server.stop("fast");
    put_data_back(&server, &copy);
    server.run();
    // The journal has another name since.
    assert_eq!(second.cause().await, Some(Cause::LaterRun));
    let begun = || server.psql(&database, "select count(*) from disburse.recovery");
    assert_eq!(begun(), [["1"]]);
    first.spells(&address);
    assert_eq!(first.cause().await, Some(Cause::LaterRun));
    assert_eq!(
        begun(),
        [["2"]],
        "the other spelling had seen a run of its own"
    );
    for spelling in [&twice(&address), &address] {
        first.spells(spelling);
        first.cause().await;
    }
    assert_eq!(begun(), [["2"]]);
}

/// Whether commits waited for a standby has to be known of each server that was in use.
#[tokio::test]
async fn a_journal_says_that_commits_wait_no_more_and_that_a_standby_took_over() {
    let Some(primary) = Server::start(Kind::Installed, &[]) else {
        return;
    };
    let database = primary.database();
    let standby = primary.standby();
    let waits_for = |names: &str| primary.lets_commits_wait_for(names);
    let address = Server::address_of([&primary, &standby], &database) + "?promoted=whole";
    waits_for("walreceiver");
    let host = Host::at(&address).with_a_batch().await;
    let copy = |server: &Server| {
        let told = server.psql(
            &database,
            "select value from disburse.meta where key = 'copy'",
        );
        let words: Vec<&str> = told[0][0].split(' ').collect();
        (words[1].to_owned(), words[4].to_owned())
    };
    let on = |timeline: &str, waits: &str| (timeline.to_owned(), waits.to_owned());
    let journal = host.open();
    assert_eq!(copy(&primary), on("1", "1"));
    waits_for("");
    Host::acquire(&journal, 1).await.unwrap();
    assert_eq!(copy(&primary), on("1", "0"));
    // That they wait again is believed of a journal that is opened then, whoever opens it, and until they do not.
    waits_for("walreceiver");
    let other = Host::at(&address);
    drop(other.open());
    assert_eq!(copy(&primary), on("1", "1"));
    // By whoever is still at work, too: its commits wait as well.
    Host::acquire(&journal, 2).await.unwrap();
    assert_eq!(copy(&primary), on("1", "1"));
    waits_for("");
    Host::acquire(&journal, 3).await.unwrap();
    assert_eq!(copy(&primary), on("1", "0"));
    waits_for("walreceiver");
    drop(journal);
    let journal = host.open();
    assert_eq!(copy(&primary), on("1", "1"));
    primary.kill();
    standby.promote();
    Host::acquire(&journal, 4).await.unwrap();
    assert_eq!(copy(&standby), on("2", "0"));
    drop(journal);
    // Whoever only opens it there uses the old primary no more.
    assert!(!other.mark().contains(" 2 16"), "{}", other.mark());
    drop(other.open());
    assert!(other.mark().contains(" 2 16"), "{}", other.mark());
    // The next one is not taken for whole, whoever looks.
    let third = standby.standby();
    standby.kill();
    third.promote();
    let late = Host::at(&(third.address(&database) + "?promoted=whole"));
    assert_eq!(late.cause().await, Some(Cause::Promoted));
}

/// It has seen that commits waited, and nothing since: what others have noted meanwhile counts.
#[tokio::test]
async fn whoever_was_idle_does_not_hide_a_promotion_that_may_have_lost_something() {
    let Some(primary) = Server::start(Kind::Installed, &[]) else {
        return;
    };
    let database = primary.database();
    let standby = primary.standby();
    let waits_for = |names: &str| primary.lets_commits_wait_for(names);
    let address = Server::address_of([&primary, &standby], &database) + "?promoted=whole";
    waits_for("walreceiver");
    let busy = Host::at(&address).with_a_batch().await;
    let idle = Host::at(&address);
    let waiting = idle.open();
    waits_for("");
    Host::acquire(&busy.open(), 1).await.unwrap();
    // The standby has all of that.
    waits_for("walreceiver");
    primary.psql(&database, "create table public.later ()");
    primary.kill();
    standby.promote();
    let refused = Host::acquire(&waiting, 2).await.unwrap_err().to_string();
    assert!(
        refused.contains("was promoted, restored or replaced"),
        "{refused}"
    );
    drop(waiting);
    assert_eq!(idle.cause().await, Some(Cause::Promoted));
    assert_eq!(busy.cause().await, Some(Cause::Promoted));
}

#[tokio::test]
async fn another_copy_is_noticed_by_hosts_that_never_saw_the_first_one() {
    let Some(server) = shared(Kind::Installed) else {
        return;
    };
    let database = server.database();
    let first = Host::loaded(server, &database).await;
    let copy = copied(server, &database);
    assert_eq!(first.claim(1, 2).await, 2);
    put_back(server, &database, &copy);
    let second = Host::of(server, &database);
    assert_eq!(second.cause().await, Some(Cause::OtherDatabase));
    // It does not know who posted: a person says at which account it asks.
    second.is_not_told_who_posted().await;
    // The one that had seen more has something to add, once.
    assert_eq!(first.cause().await, Some(Cause::LaterRun));
    for host in [&second, &first] {
        host.cause().await;
    }
    let begun = server.psql(&database, "select count(*) from disburse.recovery");
    assert_eq!(begun, [["2"]]);
}

#[tokio::test]
async fn a_journal_made_anew_in_the_place_of_another_one_asks_first() {
    let Some(server) = shared(Kind::Installed) else {
        return;
    };
    let database = server.database();
    let host = Host::loaded(server, &database).await;
    assert_eq!(host.claim(1, 2).await, 2);
    left(server, &database);
    server.psql("postgres", &format!("drop database {database}"));
    server.psql("postgres", &format!("create database {database}"));
    if let Location::Server(address) = &host.at {
        server::make(address).unwrap();
    }
    assert_eq!(host.cause().await, Some(Cause::OtherJournal));
}

#[tokio::test]
async fn a_run_that_is_under_way_when_it_is_noticed_posts_nothing_more() {
    let Some(server) = shared(Kind::Installed) else {
        return;
    };
    let database = server.database();
    let host = Host::loaded(server, &database).await;
    let copy = copied(server, &database);
    assert_eq!(host.claim(1, 1).await, 1);
    put_back(server, &database, &copy);
    let Location::Server(address) = host.at.clone() else {
        return;
    };
    // It begins where nothing is known, and tells nobody: what a run of before the restore would be.
    server.psql(&database, "delete from disburse.meta where key = 'copy'");
    let nowhere = Location::Server(address.with_state_folder(None));
    let journal = Journal::open_existing(&nowhere).unwrap();
    let token = Host::acquire(&journal, 50).await.unwrap();
    let claim = |secs| journal.claim(token, 1, at(secs), Arc::new(Policy::default()));
    assert_eq!(claim(50).await.unwrap().0.len(), 1);
    assert_eq!(host.cause().await, Some(Cause::MissingEvidence));
    let told = claim(51).await;
    assert!(
        matches!(
            told,
            Err(Error::SessionClosed {
                why: Closed::ServerChanged
            })
        ),
        "{told:?}"
    );
}

/// Puts a folder of data in the place of that of a server which is stopped.
fn put_data_back(server: &Server, from: &Path) {
    let data = server.data();
    std::fs::remove_dir_all(&data).unwrap();
    copy_folder(server, from, &data);
}

fn copy_folder(server: &Server, from: &Path, to: &Path) {
    let copied = server.ordinary("cp").arg("-a").args([from, to]).status();
    assert!(copied.unwrap().success());
}

fn promote(server: &Server) {
    server.write("standby.signal", "");
    server.run();
    server.psql("postgres", "select pg_promote(true, 60)");
    server.until("postgres", "select 1 where not pg_is_in_recovery()");
    // The new timeline is in the control file from the next checkpoint on.
    server.psql("postgres", "checkpoint");
}

#[tokio::test]
async fn a_standby_that_lags_behind_is_noticed_and_an_old_primary_refused() {
    let Some(server) = Server::start(Kind::Installed, &[]) else {
        return;
    };
    let database = server.database();
    let (first, second) = (
        Host::loaded(&server, &database).await,
        Host::of(&server, &database),
    );
    assert_eq!(second.cause().await, None);
    let behind = server.folder().join("behind");
    server.stop("fast");
    copy_folder(&server, &server.data(), &behind);
    server.run();
    assert_eq!(first.claim(1, 2).await, 2);
    let old = server.folder().join("old");
    server.stop("fast");
    copy_folder(&server, &server.data(), &old);
    put_data_back(&server, &behind);
    promote(&server);
    // It had seen no more than the standby: that the server was promoted is enough.
    assert_eq!(second.cause().await, Some(Cause::Promoted));
    second.is_not_told_who_posted().await;
    assert_eq!(first.cause().await, Some(Cause::LaterRun));
    server.stop("fast");
    put_data_back(&server, &old);
    server.run();
    let refused = Journal::open_existing(&first.at).unwrap_err().to_string();
    assert!(refused.contains("it is an old primary"), "{refused}");
    assert!(Reader::open(&second.at).is_err());
    // So it is under another spelling, where the mark speaks of a journal that got another name with its recovery.
    let mut first = first;
    first.spells(&twice(&server.address(&database)));
    let refused = Journal::open_existing(&first.at).unwrap_err().to_string();
    assert!(refused.contains("it is an old primary"), "{refused}");
    assert!(refused.contains(".mark says"), "{refused}");
    assert!(Reader::open(&first.at).is_err());
}

/// A recovery gives the journal another name, which a copy from before it does not know.
#[tokio::test]
async fn a_copy_from_before_a_recovery_is_noticed_under_another_spelling() {
    let Some(server) = Server::start(Kind::Installed, &[]) else {
        return;
    };
    let database = server.database();
    let mut host = Host::loaded(&server, &database).await;
    let copy = server.folder().join("copy");
    server.stop("fast");
    copy_folder(&server, &server.data(), &copy);
    server.run();
    assert_eq!(host.claim(1, 2).await, 2);
    for spelling in [server.address(&database), twice(&server.address(&database))] {
        server.stop("fast");
        put_data_back(&server, &copy);
        server.run();
        host.spells(&spelling);
        let missed = Reader::open(&host.at).unwrap().missed().unwrap();
        assert!(missed.is_some(), "{spelling}");
        assert!(host.cause().await.is_some(), "{spelling}");
    }
    // Nothing is posted: nothing says at which account the gateway is asked.
    host.is_not_told_who_posted().await;
}

/// The mark under this spelling is older than the copy, and the one under the other spelling is of the journal under its first name.
#[tokio::test]
async fn a_mark_under_another_spelling_counts_after_a_dump_that_another_host_has_noticed() {
    let Some(server) = shared(Kind::Installed) else {
        return;
    };
    let database = server.database();
    let address = server.address(&database);
    let mut host = Host::loaded(server, &database).await;
    assert_eq!(host.claim(1, 1).await, 1);
    let copy = copied(server, &database);
    host.spells(&twice(&address));
    assert_eq!(host.claim(2, 2).await, 2);
    put_back(server, &database, &copy);
    let second = Host::of(server, &database);
    assert_eq!(second.cause().await, Some(Cause::OtherDatabase));
    host.spells(&address);
    assert_eq!(host.cause().await, Some(Cause::LaterRun));
    let begun = || server.psql(&database, "select count(*) from disburse.recovery");
    assert_eq!(begun(), [["2"]]);
    // What that mark says is told once, under whatever spelling.
    for spelling in [&twice(&address), &address] {
        host.spells(spelling);
        host.cause().await;
    }
    assert_eq!(begun(), [["2"]]);
}

/// The second time its mark has the name that the journal got the first time, which the copy never knew.
#[tokio::test]
async fn a_copy_that_is_put_back_twice_is_told_who_posted_both_times() {
    let Some(server) = shared(Kind::Installed) else {
        return;
    };
    let database = server.database();
    let (first, second) = (
        Host::loaded(server, &database).await,
        Host::of(server, &database),
    );
    let again = copied(server, &database);
    let kept = format!("{database}_kept");
    server.psql(
        "postgres",
        &format!("create database {kept} template {again}"),
    );
    assert_eq!(first.claim(1, 2).await, 2);
    for copy in [again, kept] {
        put_back(server, &database, &copy);
        assert!(second.cause().await.is_some());
        assert_eq!(first.cause().await, Some(Cause::LaterRun), "{copy}");
        // It asks at the account that posted, and posts nothing.
        assert_eq!(first.claim(100, 10).await, 0, "{copy}");
    }
}

#[tokio::test]
async fn a_damaged_mark_counts_where_nothing_was_seen_under_this_spelling() {
    let Some(server) = shared(Kind::Installed) else {
        return;
    };
    let database = server.database();
    let mut host = Host::loaded(server, &database).await;
    assert_eq!(host.claim(1, 2).await, 2);
    let marks = std::fs::read_dir(host.folder.path().join("state")).unwrap();
    for mark in marks.map(|entry| entry.unwrap().path()) {
        std::fs::write(mark, "torn").unwrap();
    }
    host.spells(&twice(&server.address(&database)));
    assert_eq!(host.cause().await, Some(Cause::UnreadableMark));
}

/// Whoever tries a restore beside the journal in use does not stop it.
#[tokio::test]
async fn a_trial_copy_that_is_recovered_on_a_host_leaves_its_original_as_it_is() {
    let Some(server) = shared(Kind::Installed) else {
        return;
    };
    let database = server.database();
    let mut host = Host::loaded(server, &database).await;
    let copy = copied(server, &database);
    assert_eq!(host.claim(1, 2).await, 2);
    let original = server.address(&database);
    for spelling in [server.address(&copy), twice(&server.address(&copy))] {
        host.spells(&spelling);
        assert!(host.cause().await.is_some(), "{spelling}");
    }
    for spelling in [&original, &twice(&original), &original] {
        host.spells(spelling);
        assert_eq!(host.cause().await, None, "{spelling}");
    }
    assert_eq!(host.claim(2, 2).await, 2);
}
