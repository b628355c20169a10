//! Users of a journal in PostgreSQL, each with a role: what its commands need it may, and nothing else.

use std::sync::{Mutex, PoisonError};

use super::fixture::{Kind, Server, shared};
use super::gateway::Gateway;
use super::office::{BATCH, Ended, Office, Setup, reference};
use super::script::Mixed;

static SAYING: Mutex<()> = Mutex::new(());

/// An office whose journal has users of their own.
struct Desk<'a> {
    server: &'a Server,
    database: String,
    office: Office,
}

impl<'a> Desk<'a> {
    fn open(server: &'a Server, gateway: &Gateway) -> Self {
        let setup = Setup {
            rows: 30,
            callbacks: true,
            breaker_losses: 30,
            ..Setup::default()
        };
        let mut office = Office::open(gateway, setup);
        let database = server.database();
        office.journal = Some(server.address(&database));
        let made = office.call(&["journal", "init", &server.address(&database)]);
        assert_eq!(made.code, Some(0), "{made:?}");
        // Said again, they are the same. Roles are those of the server: two say them one after the other.
        let _turn = SAYING.lock().unwrap_or_else(PoisonError::into_inner);
        for _ in 0..2 {
            server.psql(&database, &made.out);
        }
        for role in ["runner", "reader", "operator"] {
            let user = format!("{role}_of_{database}");
            server.psql(
                &database,
                &format!("create role {user} login; grant disburse_{role} to {user}"),
            );
        }
        let again = office.call(&["journal", "init", &server.address(&database)]);
        assert_eq!((again.code, &again.out), (Some(0), &made.out));
        assert!(again.err.contains("has a journal already"), "{again:?}");
        Self {
            server,
            database,
            office,
        }
    }

    /// Returns the address of the journal for a user.
    fn address_of(&self, role: &str) -> String {
        let address = self.server.address(&self.database);
        let user = format!("{role}_of_{}@", self.database);
        address.replace("disburse@", &user)
    }

    /// Gives a command as a user.
    fn says(&mut self, role: &str, words: &[&str]) -> Ended {
        self.office.journal = Some(self.address_of(role));
        let ended = self.office.call(words);
        let text = format!("{role}: {words:?}: {ended:?}");
        assert!(!text.contains("permission denied"), "{text}");
        ended
    }

    fn does(&mut self, role: &str, words: &[&str]) -> Ended {
        let ended = self.says(role, words);
        let is_done = matches!(ended.code, Some(0 | 3 | 4));
        assert!(
            is_done && !ended.err.contains("lacks rights"),
            "{role}: {words:?}: {ended:?}"
        );
        ended
    }

    /// Tries a statement with a role.
    fn tries(&self, role: &str, statement: &str) -> Result<(), String> {
        let said = format!("begin; set local role disburse_{role}; {statement}; rollback");
        self.server.try_psql(&self.database, &said).map(drop)
    }
}

#[test]
fn every_user_can_do_its_work_and_no_other() {
    let Some(server) = shared(Kind::Installed) else {
        return;
    };
    let gateway = Gateway::start(Mixed::new(610));
    let mut desk = Desk::open(server, &gateway);
    desk.does("runner", &["load", "batch.csv", "--batch", BATCH]);
    let one = reference(3);
    desk.does(
        "operator",
        &["cancel", BATCH, &one, "--reason", "no debt", "--yes"],
    );
    let run = ["run", BATCH, "--yes", "--max-wait", "20s"];
    desk.does("runner", &run);
    desk.does("operator", &["retry", BATCH, "--yes"]);
    desk.does("operator", &["recover", BATCH, "--presume-posted", "--yes"]);
    desk.does("runner", &run);
    let none = [
        "recover",
        "--orders-given-again",
        "--reason",
        "none",
        "--yes",
    ];
    desk.does("operator", &none);
    for _ in 0..6 {
        if desk.does("runner", &run).code != Some(4) {
            break;
        }
    }
    for words in [
        &["status", BATCH][..],
        &["status"],
        &["verify", BATCH],
        &["explain", BATCH, &one],
        &["notices"],
        &["recover"],
        &["schedule", BATCH],
        &["journal", "check", &server.address(&desk.database)],
    ] {
        desk.does("reader", words);
    }
    // What a user may not do is refused before anything is sent.
    let posts = gateway.ledger.posts();
    for (role, words) in [
        (
            "reader",
            &["cancel", BATCH, &one, "--reason", "x", "--yes"][..],
        ),
        ("reader", &["load", "batch.csv", "--batch", "other"]),
        ("reader", &run),
        ("operator", &["load", "batch.csv", "--batch", "other"]),
        ("operator", &["listen", "--listen", "127.0.0.1:0"]),
        ("operator", &run),
    ] {
        let refused = desk.says(role, words);
        assert_eq!(refused.code, Some(2), "{refused:?}");
        assert!(refused.err.contains("lacks rights"), "{refused:?}");
    }
    // From whom it is taken away, it can pay no more.
    for (role, why) in [
        ("runner", "does not own it"),
        ("operator", "does not own it"),
        ("reader", "lacks rights"),
    ] {
        let from = desk.address_of(role);
        let refused = desk.says(role, &["journal", "copy", &from, "away.db", "--yes"]);
        assert_eq!(refused.code, Some(2), "{refused:?}");
        assert!(refused.err.contains(why), "{refused:?}");
    }
    let still_there = desk.does("runner", &["status", BATCH]);
    assert!(!still_there.err.contains("moved"), "{still_there:?}");
    assert_eq!(gateway.ledger.posts(), posts);
    // What failed was retried, under an identifier of its own.
    let crimes = gateway.ledger.books().crimes(false);
    let others = crimes
        .iter()
        .filter(|crime| !crime.contains("has several identifiers"));
    assert_eq!(others.collect::<Vec<_>>(), Vec::<&String>::new());
}

#[test]
fn what_is_forbidden_is_refused_whoever_tries() {
    let Some(server) = shared(Kind::Installed) else {
        return;
    };
    let gateway = Gateway::start(Mixed::new(611));
    let mut desk = Desk::open(server, &gateway);
    desk.does("runner", &["load", "batch.csv", "--batch", BATCH]);
    // Of the first half the payments have begun.
    let posts = gateway.ledger.posts() + 5;
    let run = ["run", BATCH, "--yes", "--max-wait", "2s"];
    desk.does("runner", &run);
    assert!(gateway.ledger.posts() >= posts);
    let of_owner = [
        "update disburse.instruction set msisdn = '254700000009'",
        "update disburse.instruction set amount = 1",
        "update disburse.instruction set identifier = identifier || 'x'",
        "delete from disburse.instruction",
        "delete from disburse.identifier",
        "update disburse.identifier set seq = seq + 1",
        "update disburse.load set digest = ''",
        "delete from disburse.load",
        "update disburse.evidence set code = 0",
        "update disburse.evidence set hash = null",
        "delete from disburse.evidence",
        "update disburse.phrase set text = 'x'",
        "delete from disburse.policy",
        "truncate disburse.evidence",
        "truncate disburse.instruction cascade",
    ];
    let of_nobody = [
        "delete from disburse.life",
        "delete from disburse.batch",
        "delete from disburse.session",
        "delete from disburse.turn",
        "insert into disburse.turn (one, number) values (false, 1)",
        "update disburse.schema_version set version = 9",
        "update disburse.turn set oldest = 9",
        "alter table disburse.evidence disable trigger all",
        "drop trigger evidence_is_never_removed on disburse.evidence",
        "create or replace function disburse.never_removed() returns trigger language plpgsql as 'begin return old; end'",
        "create table disburse.mine (a int)",
        "drop schema disburse cascade",
        "set session_replication_role = replica",
    ];
    for statement in of_owner {
        let told = server.try_psql(&desk.database, &format!("begin; {statement}; rollback"));
        assert!(told.is_err(), "the owner: {statement}");
    }
    for role in ["runner", "reader", "operator"] {
        for statement in of_owner.into_iter().chain(of_nobody) {
            assert!(desk.tries(role, statement).is_err(), "{role}: {statement}");
        }
        desk.tries(role, "select count(*) from disburse.evidence")
            .unwrap();
    }
    // Who only reads changes nothing at all; who gives orders begins no run.
    for table in ["turn", "writer", "meta", "life", "session", "notice"] {
        let update = format!("delete from disburse.{table}");
        assert!(desk.tries("reader", &update).is_err(), "{table}");
    }
    for statement in [
        "insert into disburse.session select * from disburse.session",
        "insert into disburse.load select * from disburse.load",
        "delete from disburse.claim",
        "update disburse.slot set next_at = 0",
    ] {
        for role in ["reader", "operator"] {
            assert!(desk.tries(role, statement).is_err(), "{role}: {statement}");
        }
    }
}
