//! A journal on a server, and the server: what is not as it should be, and what to do.

use std::time::Duration;

use super::finding::Finding;
use super::journal::moved;
use super::machine::bytes;
use super::{Parts, show};
use crate::cli::Error;
use crate::cli::exit::ExitStatus;
use crate::cli::session::Session;
use crate::cli::terminal::output;
use crate::domain::Timestamp;
use crate::journal::ServerAddress;
use crate::journal::survey::{JournalFacts, Rights, Surveyed, survey};
use crate::ledger::recovery::Succession;
use crate::store::server_facts::{ServerFacts, Slot, Standby};

/// The oldest release that is taken, and the newest one that was tried.
const RELEASES: (i64, i64) = (14, 18);
/// With a longer way there and back, a fiftieth of a rate is left unused.
const ROUND_TRIP_MAX: Duration = Duration::from_millis(10);
/// Round trips of a transaction that writes what became of payments; one that claims some takes a few more.
const ROUND_TRIPS: u32 = 3;
/// How far two clocks may be apart, in milliseconds, before what is due comes noticeably early or late.
const APART_MAX: u64 = 500;
/// And before dates on the wire are wrong.
const APART_FAR: u64 = 60_000;
/// A slot that nobody reads from, and that holds more of the log than this, fills the disk in the end.
const HELD_MAX: i64 = 1 << 30;

/// `disburse journal check`.
pub(in crate::cli) fn check(
    session: &Session,
    address: &ServerAddress,
) -> Result<ExitStatus, Error> {
    let surveyed = survey(address, &Timestamp::now)?;
    let mut parts = Parts::new();
    let mut servers = judge_servers(&surveyed);
    servers.extend(judge_waits(&surveyed));
    parts.push(("server", servers));
    let mut journal = judge_journal(&surveyed, address);
    journal.push(judge_mark(address));
    parts.push(("journal", journal));
    show(session, &parts)
}

fn judge_servers(surveyed: &Surveyed) -> Vec<Finding> {
    let all = surveyed.servers.iter();
    let primaries: Vec<(&str, &ServerFacts)> = all
        .filter_map(|(host, seen)| Some((host.as_str(), seen.as_ref().ok()?)))
        .filter(|(_, facts)| !facts.is_standby)
        .collect();
    let mut in_force = primaries.len();
    let mut found = Vec::new();
    for (host, seen) in &surveyed.servers {
        match seen {
            Ok(facts) => match successor(facts, &primaries) {
                Some(newer) => {
                    in_force -= 1;
                    found.push(overtaken(host, facts, newer));
                }
                None => found.extend(judge(host, facts)),
            },
            Err(why) if !primaries.is_empty() => found.push(Finding::warning(host, why).advised(
                "the journal works on another server in the meantime; bring this one back",
            )),
            Err(why) => found.push(
                Finding::problem(host, why)
                    .advised("mend it there; nothing is sent while the journal cannot be reached"),
            ),
        }
    }
    match in_force {
        0 if surveyed.servers.iter().any(|(_, seen)| seen.is_ok()) => found.push(
            Finding::problem("primary", "no server of the address takes writes")
                .advised("start the primary, or promote a standby; if it is a server that the address does not name, name all of the cluster: postgres://USER@HOST1,HOST2/DATABASE"),
        ),
        0 | 1 => {}
        _ => found.push(
            Finding::problem("primary", "more than one server of the address takes writes, and neither has taken the place of the other: each may lack what the other one has, and no command uses either")
                .advised("stop the one that was not to be promoted, and make it a standby of the other one"),
        ),
    }
    found
}

/// Returns the primary that has taken the place of this one.
fn successor<'s>(
    facts: &ServerFacts,
    primaries: &[(&'s str, &'s ServerFacts)],
) -> Option<(&'s str, &'s ServerFacts)> {
    let newer = primaries.iter().find(|(_, other)| {
        !facts.is_standby && facts.origin.after(&other.origin) == Succession::Overtaken
    });
    newer.copied()
}

/// Says of an old primary what is to be done with it, and nothing of its settings: what makes it write again would let it pay.
fn overtaken(host: &str, facts: &ServerFacts, (newer, other): (&str, &ServerFacts)) -> Finding {
    Finding::problem(
        host,
        format!(
            "it is an old primary, on timeline {}, and takes writes: {newer}, on timeline {}, has taken its place, and is the one that commands use",
            facts.origin.timeline, other.origin.timeline
        ),
    )
    .advised(format!(
        "stop it, and make it a standby of {newer}. Change no setting of it before: what lets it write again may let it pay"
    ))
}

/// Judges one server.
fn judge(host: &str, facts: &ServerFacts) -> Vec<Finding> {
    let mut found = vec![release(host, facts.release)];
    let origin = &facts.origin;
    let what = format!("timeline {} of cluster {}", origin.timeline, origin.system);
    if facts.is_standby {
        let standby = format!("it is a standby, and only reads; {what}");
        found.push(Finding::ok(host, standby));
        return found;
    }
    found.push(Finding::ok(host, format!("it is a primary; {what}")));
    found.push(match facts.is_encrypted {
        None => Finding::ok(host, "the connection does not leave this machine"),
        Some(true) => Finding::ok(host, "the connection is encrypted"),
        Some(false) => Finding::warning(
            host,
            "the connection is not encrypted: names and numbers can be read on the way",
        )
        .advised(
            "give the server a certificate, and name it: sslmode=verify-full&sslrootcert=FILE",
        ),
    });
    found.extend(durability(host, facts));
    found.push(standbys(host, facts));
    found.push(match facts.encoding.as_str() {
        "UTF8" => Finding::ok(
            host,
            format!(
                "the database is encoded in UTF8, its collation is {}; the journal orders its texts by their bytes",
                facts.collation
            ),
        ),
        other => Finding::problem(host, format!("the database is encoded in {other}"))
            .advised("create one in UTF8: createdb --encoding=UTF8 --template=template0 DATABASE"),
    });
    found.extend(load(host, facts));
    found.extend(way(host, facts));
    found
}

fn release(host: &str, release: i64) -> Finding {
    let (major, minor) = (release / 10_000, release % 10_000);
    let name = format!("PostgreSQL {major}.{minor}");
    match major {
        _ if major < RELEASES.0 => Finding::problem(host, format!("{name} is too old"))
            .advised(format!("release {} or a newer one is needed", RELEASES.0)),
        _ if major > RELEASES.1 => Finding::note(
            host,
            format!("{name} is newer than any release that was tested with this program"),
        ),
        _ => Finding::ok(host, name),
    }
}

/// What a commit is worth.
fn durability(host: &str, facts: &ServerFacts) -> Vec<Finding> {
    let mut found = Vec::new();
    if facts.fsync == "on" {
        found.push(Finding::ok(host, "fsync = on: a commit is on the disk"));
    } else {
        found.push(
            Finding::problem(
                host,
                "fsync = off: a loss of power loses payments that have left",
            )
            .advised("set fsync = on, and reload the server's configuration"),
        );
    }
    if facts.full_page_writes != "on" {
        found.push(
            Finding::warning(
                host,
                "full_page_writes = off: pages that a loss of power tears are not mended",
            )
            .advised("set full_page_writes = on, unless the file system never tears a page"),
        );
    }
    match facts.synchronous_commit.as_str() {
        "on" | "remote_apply" => {}
        other => found.push(Finding::note(
            host,
            format!("synchronous_commit = {other}; the sessions of this program set it to on for themselves"),
        )),
    }
    if facts.data_checksums != "on" {
        found.push(
            Finding::warning(
                host,
                "pages have no checksums: damage on the disk is not noticed when it is read",
            )
            .advised("stop the server, and run pg_checksums --enable"),
        );
    }
    if facts.autovacuum != "on" {
        found.push(
            Finding::warning(
                host,
                "autovacuum = off: overwritten rows keep their space, and each claim gets slower",
            )
            .advised("set autovacuum = on"),
        );
    }
    found
}

/// What a promotion would lose.
fn standbys(host: &str, facts: &ServerFacts) -> Finding {
    let names = &facts.synchronous_standby_names;
    let is_sync = |standby: &Standby| matches!(standby.sync_state.as_str(), "sync" | "quorum");
    let hidden = |standby: &Standby| standby.sync_state.is_empty();
    let count = output::counted(facts.standbys.len() as u64, "standby");
    match (names.as_str(), &facts.standbys[..]) {
        ("", []) => Finding::warning(
            host,
            "no standby follows it: its disk has the only copy of the journal",
        )
        .advised("give it a standby that commits wait for (synchronous_standby_names), or an archive of its log"),
        ("", _) => Finding::warning(
            host,
            format!("{count} {}, and no commit waits for any: a promotion may lose payments that have left, so that each begins a recovery", if facts.standbys.len() == 1 { "follows it" } else { "follow it" }),
        )
        .advised("let commits wait: synchronous_standby_names = 'ANY 1 (NAME)' with one standby; with two, 'ANY 2 (NAME, NAME)' loses nothing, and 'ANY 1 (NAME, NAME)' goes on without one of them"),
        (_, []) => Finding::problem(
            host,
            format!("commits wait for a standby ({names}), and none is there: nothing can be written"),
        )
        .advised("first make sure that this is the primary in use: where another server was promoted, stop this one. Then bring the standby back. If payments cannot wait for it: alter system set synchronous_standby_names = '', and select pg_reload_conf(); a standby that missed something is then never promoted before it has caught up"),
        (_, all) if all.iter().any(is_sync) => promotion(host, facts),
        (_, all) if all.iter().any(hidden) => Finding::note(
            host,
            format!("commits wait for {names}; this user may not see whether one of them is there"),
        )
        .advised("grant pg_monitor to a user that checks, such as that of reports; one that pays needs no more than it has"),
        _ => Finding::problem(
            host,
            format!("commits wait for {names}, and none of the standbys that follow is one of these: nothing can be written"),
        )
        .advised("mend the names, or the application_name in primary_conninfo of a standby"),
    }
}

/// What a promotion means where commits wait for standbys that are there.
fn promotion(host: &str, facts: &ServerFacts) -> Finding {
    let names = &facts.synchronous_standby_names;
    match (facts.is_promoted_whole, facts.waits_for_all) {
        (true, true) => Finding::ok(
            host,
            format!("commits wait for {names}, and the address says promoted=whole: the promotion of a standby that is named loses nothing"),
        ),
        (false, true) => Finding::ok(
            host,
            format!("commits wait for {names}; each promotion begins a recovery all the same, as the address does not say promoted=whole"),
        ),
        (false, false) => Finding::ok(
            host,
            format!("commits wait for some of {names}, not for all: a standby may lack the last ones, and each promotion begins a recovery"),
        ),
        (true, false) => Finding::warning(
            host,
            format!("commits wait for some of {names}, not for all: a standby may lack the last ones, and each promotion begins a recovery, although the address says promoted=whole"),
        )
        .advised("name the standbys so that commits wait for all of them ('ANY 2 (NAME, NAME)' for two), or take promoted=whole out of the address"),
    }
}

/// What the journal notes of its commits, where it is not what the server does now.
fn judge_waits(surveyed: &Surveyed) -> Option<Finding> {
    let Some(Ok(journal)) = &surveyed.journal else {
        return None;
    };
    let is_whole =
        |facts: &ServerFacts| !facts.is_standby && facts.is_promoted_whole && facts.waits_for_all;
    let mut seen = surveyed.servers.iter();
    let (host, _) = seen.find(|(_, seen)| seen.as_ref().is_ok_and(is_whole))?;
    (journal.had_waited == Some(false)).then(|| {
        Finding::warning(
            host,
            "commits wait for all standbys now, but the journal still notes that they had not: a promotion begins a recovery",
        )
        .advised("start a command that writes the journal, such as a run or a listener: it notes that they wait again")
    })
}

/// What holds it up, or fills it.
fn load(host: &str, facts: &ServerFacts) -> Vec<Finding> {
    let mut found = Vec::new();
    let (used, most) = (facts.connections, facts.connections_max);
    let connections = format!("{used} of {most} connections are in use");
    found.push(match used * 10 > most * 8 {
        true => Finding::warning(host, connections).advised(
            "raise max_connections, or end the sessions that hold them: a run needs several",
        ),
        false => Finding::ok(host, connections),
    });
    if let (count @ 1.., oldest) = facts.long_transactions {
        let minutes = oldest.as_secs() / 60;
        found.push(
            Finding::warning(
                host,
                format!(
                    "{} of others open for up to {minutes} min: overwritten rows are kept for them",
                    output::counted(count.unsigned_abs(), "transaction")
                ),
            )
            .advised("end them (pg_terminate_backend), and set idle_in_transaction_session_timeout for those users; those of this program are ended after 5 s by themselves"),
        );
    }
    for Slot {
        name,
        is_active,
        held,
    } in &facts.slots
    {
        if !is_active && *held > HELD_MAX {
            found.push(
                Finding::warning(
                    host,
                    format!("the replication slot {} keeps {} of the log, and nobody reads from it: it fills the disk in the end", output::name(name), bytes(held.unsigned_abs())),
                )
                .advised("bring its standby back, or drop it (pg_drop_replication_slot); max_slot_wal_keep_size bounds what slots keep"),
            );
        }
    }
    found.push(Finding::note(
        host,
        format!(
            "the database has {}; the server does not say how much room its disk has left",
            bytes(facts.size.unsigned_abs())
        ),
    ));
    found
}

/// The way there and back, and the clocks at its ends.
fn way(host: &str, facts: &ServerFacts) -> [Finding; 2] {
    let millis = |time: Duration| format!("{:.2} ms", time.as_secs_f64() * 1000.0);
    let least = facts.round_trip.max(Duration::from_micros(50));
    let most = Duration::from_secs(1).as_micros() / (least * ROUND_TRIPS).as_micros().max(1);
    let said = format!(
        "{} round trip: about {} writing transactions in a second over all hosts, and no more than the disk can sync",
        millis(facts.round_trip),
        output::grouped(&most.to_string())
    );
    let trip = match facts.round_trip > ROUND_TRIP_MAX {
        true => Finding::warning(host, said)
            .advised("run on a machine nearer to the server: for each millisecond of round trip, all runs together \
                stay a thousandth below their rate, and wait longer for one another"),
        false => Finding::ok(host, said),
    };
    let apart = facts.ahead.unsigned_abs();
    let error = facts.ahead_error.unsigned_abs();
    let whose = if facts.ahead < 0 {
        "behind"
    } else {
        "ahead of"
    };
    let said = format!("its clock is {apart} ms {whose} the one here, give or take {error} ms");
    let set = "set both by a server of time (chrony, systemd-timesyncd)";
    let clock = match apart.saturating_sub(error) {
        far if far > APART_FAR => Finding::problem(host, said).advised(set),
        far if far > APART_MAX => Finding::warning(host, said).advised(set),
        _ => Finding::ok(host, said),
    };
    [trip, clock]
}

/// Judges the journal.
fn judge_journal(surveyed: &Surveyed, address: &ServerAddress) -> Vec<Finding> {
    let name = address.to_string();
    match &surveyed.journal {
        None => Vec::new(),
        Some(Err(why)) => vec![
            Finding::problem(name, why)
                .advised("mend this first: nothing is sent while the journal cannot be used"),
        ],
        Some(Ok(facts)) => judge_facts(&name, facts),
    }
}

fn judge_schema(name: &str, (schema, known): (i64, i64)) -> Finding {
    match schema == known {
        true => Finding::ok(
            name,
            format!("schema {schema}: its tables, indexes and guards are as they were made"),
        ),
        false => Finding::warning(
            name,
            format!("schema {schema}, of a later release, and this one knows {known}: what was added does not concern it, the rest is as it was made"),
        )
        .advised("update this program before the later release takes away what this one needs"),
    }
}

fn judge_facts(name: &str, facts: &JournalFacts) -> Vec<Finding> {
    let mut found = Vec::new();
    for misfit in &facts.misfits {
        found.push(
            Finding::problem(name, misfit)
                .advised("somebody changed the schema: put it back as a new journal has it (disburse journal init, in an empty database)"),
        );
    }
    if facts.misfits.is_empty() {
        found.push(judge_schema(name, facts.schema));
        found.push(Finding::ok(
            name,
            "there is no pooler in front of it that gives each transaction another session",
        ));
    }
    found.extend(facts.moved.iter().map(|to| moved(name, to)));
    for damage in &facts.damage {
        found.push(Finding::problem(name, damage).advised(
            "send nothing from it; promote a sound standby, or restore a backup (docs/operations.md, \"Several machines, one journal\")",
        ));
    }
    found.extend(rights(name, &facts.rights, facts.is_owner));
    if let Some(missed) = &facts.missed {
        found.push(
            Finding::warning(
                name,
                format!("it may have missed something: {}", missed.cause.sentence()),
            )
            .advised("disburse recover says what is known and each next step; the gateway is asked before anything is posted"),
        );
    }
    for (batch, record) in &facts.runners {
        let who = match record.runner.name.as_str() {
            "" => output::name(&record.runner.host),
            runner => format!(
                "{} on {}",
                output::name(runner),
                output::name(&record.runner.host)
            ),
        };
        let said = format!(
            "batch {batch} is run by {who}, release {}, since {}",
            record.release, record.began_at
        );
        found.push(match record.is_expired {
            false => Finding::note(name, said),
            true => Finding::warning(
                name,
                format!("{said}, and that run has not been heard from since {}", record.lease_until),
            )
            .advised("start another run of the batch: it first asks the gateway about what this one had under way"),
        });
    }
    found
}

fn rights(name: &str, rights: &[Rights], is_owner: bool) -> Vec<Finding> {
    let mut found = Vec::new();
    for Rights { role, work, lacks } in rights {
        match lacks.len() {
            0 => found.push(Finding::ok(
                name,
                format!("this user has the rights of {role}: {work}"),
            )),
            _ => found.push(
                Finding::note(
                    name,
                    format!("this user lacks rights of {role} ({work}): {}", some(lacks)),
                )
                .advised(format!(
                    "if this user is to do all of that, grant {role} to it; disburse journal init prints the rights of each role. Roles keep people apart \
                     only in part: who may run may give most orders, too; what signatures need is for [approval] in the configuration"
                )),
            ),
        }
    }
    if is_owner {
        found.push(
            Finding::warning(
                name,
                "this user may change the schema, and switch off its guards",
            )
            .advised("give runs a user of their own, with one of the roles granted to it"),
        );
    }
    found
}

/// The first of these, and how many there are beside.
fn some(lacks: &[String]) -> String {
    let (first, rest) = lacks.split_at(lacks.len().min(3));
    match rest.len() {
        0 => first.join(", "),
        more => format!("{}, and {more} more", first.join(", ")),
    }
}

/// What this host has seen of the journal.
fn judge_mark(address: &ServerAddress) -> Finding {
    match address.mark() {
        Some(mark) => Finding::ok(
            "mark",
            format!("{}.mark on this host tells how far it has seen the journal, from the first command on that changes something there", output::name(&mark.display().to_string())),
        ),
        None => Finding::warning(
            "mark",
            "this host has no place to keep how far it has seen the journal: only other hosts would notice an older \
            database",
        )
        .advised("name a lasting folder: XDG_STATE_HOME, or StateDirectory= in a unit"),
    }
}

#[cfg(test)]
mod tests;
