//! Commands that wait for their turn while somebody moves the journal from a server: none of them is carried out in the old place, where
//! nobody would look for it, and the journal does not go to two places.

use std::time::Duration;

use super::callbacks::body;
use super::fixture::{Kind, shared};
use super::forms::Form;
use super::gateway::Gateway;
use super::office::{BATCH, Office, Running, Setup, reference, until_while};
use super::script::{Answer, Both, Conduct, Effect, Mixed, Post, Query};

#[test]
fn what_waited_while_the_journal_was_moved_is_not_done_in_the_old_place() {
    let Some(server) = shared(Kind::Installed) else {
        return;
    };
    let gateway = Gateway::start(Mixed::new(640));
    let setup = Setup {
        rows: 20,
        ..Setup::default()
    };
    let mut office = Office::open(&gateway, setup);
    let [old, new, other] = [(); 3].map(|()| server.database());
    for place in [&old, &new, &other] {
        let made = office.call(&["journal", "init", &server.address(place)]);
        assert_eq!(made.code, Some(0), "{made:?}");
    }
    office.journal = Some(server.address(&old));
    let loaded = office.call(&["load", "batch.csv", "--batch", BATCH]);
    assert_eq!(loaded.code, Some(0), "{loaded:?}");
    // A run that has ended lets the journal go.
    let third = std::fs::read_to_string(office.path("batch.csv")).unwrap();
    let later = third.replace(&reference(3), "LATER-3");
    let later: Vec<&str> = later
        .lines()
        .take(1)
        .chain(later.lines().filter(|line| line.contains("LATER-3")))
        .collect();
    std::fs::write(office.path("later.csv"), later.join("\n") + "\n").unwrap();

    let turn = server.begin_turn(&old, Duration::from_secs(60));
    let (from, to, elsewhere) = (
        server.address(&old),
        server.address(&new),
        server.address(&other),
    );
    let mut waiting: Vec<(&str, Running)> = Vec::new();
    for (what, words) in [
        ("move", &["journal", "copy", &from, &to, "--yes"][..]),
        (
            "second move",
            &["journal", "copy", &from, &elsewhere, "--yes"],
        ),
        ("run", &["run", BATCH, "--yes", "--max-wait", "5s"]),
        (
            "cancel",
            &[
                "cancel",
                BATCH,
                &reference(3),
                "--reason",
                "no debt",
                "--yes",
            ],
        ),
        (
            "load",
            &[
                "load",
                "later.csv",
                "--batch",
                "later",
                "--allow-repeats",
                "none",
            ],
        ),
        ("recovery", &["recover", BATCH, "--presume-posted", "--yes"]),
    ] {
        waiting.push((what, office.start(words)));
        // In this order.
        let wait = format!(
            "select 1 from pg_stat_activity where datname = '{old}' and wait_event_type = 'Lock' group by datname having count(*) = {}",
            waiting.len()
        );
        server.until("postgres", &wait);
    }
    drop(turn);
    for (what, command) in waiting {
        let ended = command.wait();
        if what == "move" {
            assert_eq!(ended.code, Some(0), "{ended:?}");
            assert!(
                ended.err.contains("arrived, and is sound")
                    || ended.out.contains("arrived, and is sound"),
                "{ended:?}"
            );
            continue;
        }
        assert_eq!(ended.code, Some(2), "{what}: {ended:?}");
        assert!(ended.err.contains("was moved to"), "{what}: {ended:?}");
    }
    assert_eq!(gateway.ledger.posts(), 0);
    let count = |place: &str, table: &str| {
        server.psql(place, &format!("select count(*) from disburse.{table}"))[0][0].clone()
    };
    assert_eq!(count(&other, "instruction"), "0", "it is in one place");
    assert_eq!(count(&new, "instruction"), "20");
    assert_eq!(count(&old, "batch"), "1");
    // In the new place all of it goes on.
    office.journal = Some(server.address(&new));
    let ran = office.call(&["run", BATCH, "--yes", "--max-wait", "20s"]);
    assert!(matches!(ran.code, Some(0 | 3 | 4)), "{ran:?}");
    assert!(gateway.ledger.posts() >= 20);
}

#[test]
fn what_waits_in_the_new_place_while_the_journal_comes_is_refused_whole() {
    let Some(server) = shared(Kind::Installed) else {
        return;
    };
    let gateway = Gateway::start(Mixed::new(641));
    let mut office = Office::open(&gateway, Setup::default());
    let [old, new] = [(); 2].map(|()| server.database());
    for place in [&old, &new] {
        let made = office.call(&["journal", "init", &server.address(place)]);
        assert_eq!(made.code, Some(0), "{made:?}");
    }
    let (from, to) = (server.address(&old), server.address(&new));
    office.journal = Some(from.clone());
    let load = ["load", "batch.csv", "--batch"];
    assert_eq!(office.call(&[&load[..], &["one"]].concat()).code, Some(0));
    let waits = |count: usize| {
        let wait = format!(
            "select 1 from pg_stat_activity where datname = '{new}' and wait_event_type = 'Lock' group by datname having count(*) = {count}"
        );
        server.until("postgres", &wait);
    };
    let turn = server.begin_turn(&new, Duration::from_secs(60));
    let moves = office.start(&["journal", "copy", &from, &to, "--yes"]);
    waits(1);
    office.journal = Some(to);
    let early = office.start(&[&load[..], &["two"]].concat());
    waits(2);
    drop(turn);
    let moved = moves.wait();
    assert_eq!(moved.code, Some(0), "{moved:?}");
    let early = early.wait();
    assert_eq!(early.code, Some(2), "{early:?}");
    assert!(
        early.err.contains("was being moved to this place"),
        "{early:?}"
    );
    let batches = server.psql(&new, "select name from disburse.batch");
    assert_eq!(batches, [["one"]]);
}

/// Cut off before a row has come, or refused: the new place is no journal to pay from, or as it was.
#[test]
fn a_place_on_a_server_that_nothing_has_come_to_yet_is_no_place_to_pay_from() {
    if !cfg!(debug_assertions) {
        return;
    }
    let Some(server) = shared(Kind::Installed) else {
        return;
    };
    let gateway = Gateway::start(Mixed::new(642));
    let setup = Setup {
        rows: 5,
        ..Setup::default()
    };
    let mut office = Office::open(&gateway, setup);
    let [old, new, third] = [(); 3].map(|()| server.address(&server.database()));
    for place in [&old, &new, &third] {
        assert_eq!(office.call(&["journal", "init", place]).code, Some(0));
    }
    office.journal = Some(old.clone());
    office.pay_to_the_end(9);
    let posts = gateway.ledger.posts();
    let copy = ["journal", "copy", &old, &new, "--yes"];
    let killed = office.start_with(&copy, &[("TORTURE_KILL_AT", "before-rows-arrive:1")]);
    assert_eq!(killed.wait().code, None);
    office.journal = Some(new.clone());
    let paid = office.pay();
    assert_eq!(paid.code, Some(2), "{paid:?}");
    assert!(
        paid.err.contains("was being moved to this place"),
        "{paid:?}"
    );
    assert_eq!(gateway.ledger.posts(), posts);
    let moved = office.call(&copy);
    assert_eq!(moved.code, Some(0), "{moved:?}");
    // What is refused leaves nothing behind: a run is at work.
    assert!(matches!(office.pay().code, Some(0 | 3)));
    let is_open = |closed: &str, until: &str| {
        let database = new.rsplit('/').next().unwrap().split('?').next().unwrap();
        let set =
            format!("update disburse.session set closed_at = {closed}, lease_until = {until}");
        server.psql(database, &set);
    };
    is_open("null", "9000000000000000");
    let refused = office.call(&["journal", "copy", &new, &third, "--yes"]);
    assert!(refused.err.contains("is in use by the run"), "{refused:?}");
    assert_ne!(refused.code, Some(0), "{refused:?}");
    is_open("1", "1");
    office.journal = Some(third.clone());
    let status = office.call(&["status"]);
    assert!(status.err.contains("holds no batch yet"), "{status:?}");
    assert_eq!(gateway.ledger.posts(), posts);
}

#[test]
fn a_listener_in_the_old_place_acknowledges_nothing_any_more() {
    let Some(server) = shared(Kind::Installed) else {
        return;
    };
    let later = Effect::Execute {
        visible: Duration::ZERO,
        settled: Duration::from_secs(60),
        code: 140,
    };
    let gateway = Gateway::start(Both(
        move |_: &Post<'_>| Conduct::spoilt(later, Form::Plain),
        |query: &Query<'_>| Answer {
            code: 139,
            ..Answer::honest(query)
        },
    ));
    let setup = Setup {
        rows: 4,
        callbacks: true,
        max_wait: "60s",
        ..Setup::default()
    };
    let mut office = Office::open(&gateway, setup);
    let [old, new] = [(); 2].map(|()| server.address(&server.database()));
    for place in [&old, &new] {
        assert_eq!(office.call(&["journal", "init", place]).code, Some(0));
    }
    office.journal = Some(old.clone());
    let mut run = office.start_pay();
    run.until("all are posted", || gateway.ledger.posts() == 4);
    run.interrupt();
    let ended = run.wait();
    assert_eq!(ended.code, Some(4), "{ended:?}");
    let called: Vec<(String, String)> = gateway
        .ledger
        .books()
        .deals
        .iter()
        .map(|(id, deal)| (id.clone(), deal.callback_url.clone().unwrap()))
        .collect();
    let push = |at: usize| {
        let (id, url) = &called[at];
        gateway.push(url, body((id, ""), 140).to_string().into_bytes())
    };
    let listener = office.start(&["listen"]);
    until_while("listening", || push(0) == Some(200), || true);
    let moved = office.call(&["journal", "copy", &old, &new, "--yes"]);
    assert_eq!(moved.code, Some(0), "{moved:?}");
    let answer = push(1);
    assert!(answer.is_none_or(|status| status >= 500), "{answer:?}");
    listener.interrupt();
    let listened = listener.wait();
    assert!(listened.err.contains("was moved to"), "{listened:?}");
    // What was not acknowledged is told again, and heard in the new place.
    office.journal = Some(new);
    let listener = office.start(&["listen"]);
    until_while("listening", || push(1) == Some(200), || true);
    listener.interrupt();
    assert_eq!(listener.wait().code, Some(0));
}
