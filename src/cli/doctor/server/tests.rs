use super::super::finding::Level::{self, Note, Ok as Fine, Problem, Warning};
use super::*;
use crate::domain::BatchName;
use crate::journal::{Missed, Runner, RunnerRecord};
use crate::ledger::recovery::{Cause, Origin};

fn good() -> ServerFacts {
    ServerFacts {
        release: 150_018,
        is_standby: false,
        origin: Origin {
            system: 7,
            timeline: 3,
            database: 5,
            table: 9,
            waits: true,
        },
        is_encrypted: Some(true),
        fsync: "on".to_owned(),
        full_page_writes: "on".to_owned(),
        synchronous_commit: "on".to_owned(),
        synchronous_standby_names: "ANY 1 (p2)".to_owned(),
        waits_for_all: true,
        is_promoted_whole: true,
        data_checksums: "on".to_owned(),
        autovacuum: "on".to_owned(),
        encoding: "UTF8".to_owned(),
        collation: "C".to_owned(),
        standbys: vec![standby("p2", "quorum")],
        slots: Vec::new(),
        connections: 12,
        connections_max: 100,
        long_transactions: (0, Duration::ZERO),
        size: 4_000_000,
        round_trip: Duration::from_micros(300),
        ahead: -2,
        ahead_error: 1,
    }
}

fn standby(name: &str, sync_state: &str) -> Standby {
    Standby {
        name: name.to_owned(),
        sync_state: sync_state.to_owned(),
    }
}

/// The findings that are neither fine nor that the size is told.
fn odd(found: &[Finding]) -> Vec<(Level, String)> {
    let told = found.iter().filter(|finding| {
        finding.level != Fine
            && !finding
                .found
                .contains("the server does not say how much room")
    });
    let odd: Vec<_> = told
        .map(|finding| (finding.level, finding.found.clone()))
        .collect();
    for finding in found.iter().filter(|finding| finding.level > Note) {
        assert!(finding.advice.is_some(), "{finding:?}");
    }
    odd
}

#[test]
fn a_server_is_judged_by_what_a_commit_on_it_is_worth_and_by_the_way_there() {
    type Change = fn(&mut ServerFacts);
    let slot = |is_active, held| Slot {
        name: "p2".to_owned(),
        is_active,
        held,
    };
    assert_eq!(odd(&judge("db", &good())), []);
    for (change, level, part) in [
        (
            (|f| f.release = 130_020) as Change,
            Problem,
            "13.20 is too old",
        ),
        (|f| f.release = 190_000, Note, "newer than any"),
        (
            |f| f.is_encrypted = Some(false),
            Warning,
            "can be read on the way",
        ),
        (|f| f.fsync = "off".into(), Problem, "fsync = off"),
        (
            |f| f.full_page_writes = "off".into(),
            Warning,
            "full_page_writes",
        ),
        (
            |f| f.synchronous_commit = "off".into(),
            Note,
            "set it to on for themselves",
        ),
        (|f| f.data_checksums = "off".into(), Warning, "checksums"),
        (|f| f.autovacuum = "off".into(), Warning, "autovacuum"),
        (|f| f.encoding = "LATIN1".into(), Problem, "LATIN1"),
        (|f| f.connections = 90, Warning, "90 of 100"),
        (
            |f| f.long_transactions = (2, Duration::from_secs(900)),
            Warning,
            "2 transactions of others open for up to 15 min",
        ),
        (
            |f| f.round_trip = Duration::from_millis(25),
            Warning,
            "25.00 ms",
        ),
        (|f| f.ahead = 900, Warning, "900 ms ahead of the one here"),
        (
            |f| f.ahead = -70_000,
            Problem,
            "70000 ms behind the one here",
        ),
        (
            |f| (f.synchronous_standby_names, f.standbys) = (String::new(), Vec::new()),
            Warning,
            "no standby follows",
        ),
        (
            |f| {
                f.synchronous_standby_names = String::new();
                f.standbys = vec![standby("p2", "async")];
            },
            Warning,
            "no commit waits",
        ),
        (
            |f| f.waits_for_all = false,
            Warning,
            "although the address says promoted=whole",
        ),
        (|f| f.standbys.clear(), Problem, "none is there"),
        (
            |f| f.standbys = vec![standby("p3", "async")],
            Problem,
            "none of the standbys that follow",
        ),
        (
            |f| f.standbys = vec![standby("", "")],
            Note,
            "this user may not see",
        ),
    ] {
        let mut facts = good();
        change(&mut facts);
        let odd = odd(&judge("db", &facts));
        assert!(
            matches!(&odd[..], [(found, said)] if *found == level && said.contains(part)),
            "{part}: {odd:?}"
        );
    }
    for (slot, is_told) in [
        (slot(false, 2 << 30), true),
        (slot(true, 2 << 30), false),
        (slot(false, 1 << 20), false),
    ] {
        let mut facts = good();
        facts.slots = vec![slot];
        assert_eq!(odd(&judge("db", &facts)).len(), usize::from(is_told));
    }
}

#[test]
fn of_several_servers_one_takes_writes() {
    let standby = || ServerFacts {
        is_standby: true,
        ..good()
    };
    let seen = |servers: Vec<Result<ServerFacts, String>>| {
        let servers = servers.into_iter().enumerate();
        odd(&judge_servers(&Surveyed {
            servers: servers.map(|(at, it)| (format!("db{at}"), it)).collect(),
            journal: None,
        }))
    };
    let away = || Err("nobody answers".to_owned());
    // One whose place another one has taken: nobody is told to let it write again.
    let old = || ServerFacts {
        origin: Origin {
            timeline: 2,
            ..good().origin
        },
        standbys: Vec::new(),
        ..good()
    };
    assert_eq!(seen(vec![Ok(good()), Ok(standby())]), []);
    for (servers, level, part) in [
        (vec![Ok(good()), away()], Warning, "nobody answers"),
        (vec![away()], Problem, "nobody answers"),
        (
            vec![Ok(standby())],
            Problem,
            "no server of the address takes",
        ),
        (
            vec![Ok(good()), Ok(good())],
            Problem,
            "more than one server",
        ),
        (
            vec![Ok(old()), Ok(good())],
            Problem,
            "old primary, on timeline 2, and takes writes: db1, on timeline 3",
        ),
        (
            vec![Ok(good()), Ok(old())],
            Problem,
            "db0, on timeline 3, has taken its place",
        ),
    ] {
        let odd = seen(servers);
        assert!(
            matches!(&odd[..], [(found, said)] if *found == level && said.contains(part)),
            "{part}: {odd:?}"
        );
    }
}

#[test]
fn it_is_told_where_the_journal_notes_that_commits_had_not_waited() {
    let whole = ServerFacts {
        is_promoted_whole: true,
        waits_for_all: true,
        ..good()
    };
    let told = |facts: &ServerFacts, had_waited| {
        let journal = JournalFacts {
            had_waited,
            ..good_journal()
        };
        let surveyed = Surveyed {
            servers: vec![("db1".to_owned(), Ok(facts.clone()))],
            journal: Some(Ok(journal)),
        };
        judge_waits(&surveyed).is_some()
    };
    assert!(told(&whole, Some(false)));
    assert!(!told(&whole, Some(true)));
    assert!(!told(&whole, None));
    // Where they do not wait, that is what is told of the server.
    let others = [
        ServerFacts {
            waits_for_all: false,
            ..whole.clone()
        },
        ServerFacts {
            is_promoted_whole: false,
            ..whole.clone()
        },
        ServerFacts {
            is_standby: true,
            ..whole.clone()
        },
    ];
    for facts in &others {
        assert!(!told(facts, Some(false)), "{facts:?}");
    }
}

/// A journal that nothing is to be said of.
fn good_journal() -> JournalFacts {
    JournalFacts {
        schema: (1, 1),
        misfits: Vec::new(),
        damage: Vec::new(),
        rights: vec![may("disburse_runner", &[])],
        is_owner: false,
        missed: None,
        moved: None,
        had_waited: None,
        runners: Vec::new(),
    }
}

fn may(role: &'static str, lacks: &[&str]) -> Rights {
    Rights {
        role,
        work: "load, run",
        lacks: lacks.iter().map(|text| (*text).to_owned()).collect(),
    }
}

#[test]
fn a_journal_is_judged_by_its_schema_its_user_and_its_runs() {
    let at = Timestamp::from_millis;
    let runner = |is_expired| {
        let record = RunnerRecord {
            runner: Runner {
                host: "pay-1".to_owned(),
                name: "evening".to_owned(),
                ..Runner::default()
            },
            release: "0.1.0".to_owned(),
            began_at: at(0),
            lease_until: at(1),
            is_expired,
            under_way: 3,
        };
        (BatchName::parse("june").unwrap(), record)
    };
    type Change<'a> = &'a dyn Fn(&mut JournalFacts);
    assert_eq!(odd(&judge_facts("j", &good_journal())), []);
    let cases: [(Change<'_>, Level, &str); 8] = [
        (&|f| f.schema = (2, 1), Warning, "this one knows 1"),
        (
            &|f| f.misfits.push("schema: index x is missing".into()),
            Problem,
            "index x",
        ),
        (
            &|f| f.damage.push("a wrong checksum".into()),
            Problem,
            "checksum",
        ),
        (
            &|f| f.rights = vec![may("disburse_runner", &["insert on evidence"])],
            Note,
            "lacks rights of disburse_runner",
        ),
        (&|f| f.is_owner = true, Warning, "switch off its guards"),
        (
            &|f| {
                f.missed = Some(Missed {
                    cause: Cause::Promoted,
                    since: None,
                });
            },
            Warning,
            "was promoted or restored",
        ),
        (
            &|f| f.runners = vec![runner(false)],
            Note,
            "batch june is run by evening on pay-1, release 0.1.0",
        ),
        (
            &|f| f.runners = vec![runner(true)],
            Warning,
            "not been heard from since",
        ),
    ];
    for (change, level, part) in cases {
        let mut facts = good_journal();
        change(&mut facts);
        let odd = odd(&judge_facts("j", &facts));
        assert!(
            matches!(&odd[..], [(found, said)] if *found == level && said.contains(part)),
            "{part}: {odd:?}"
        );
    }
}
