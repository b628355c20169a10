//! Which copy of a journal a server has.

use std::time::Duration;

use super::failure::Failure;
use super::link::Link;
use super::statement::Statement;
use crate::ledger::recovery::Origin;

/// What every user may ask. The timeline is the first part of the names of the files of the log.
const ORIGIN: &str = "select (select system_identifier from pg_control_system()),
    case when pg_is_in_recovery() then (select timeline_id from pg_control_checkpoint())::bigint
        else ('x' || substr(pg_walfile_name(pg_current_wal_lsn()), 1, 8))::bit(32)::bigint end,
    (select oid from pg_database where datname = current_database())::bigint,
    coalesce((select oid from pg_class where relname = 'turn' and relnamespace = (select oid from pg_namespace where nspname = 'disburse')),
        0)::bigint,
    current_setting('synchronous_standby_names')";

/// Asks a server. Whether a commit waits for every standby that may take over, its settings alone do not tell: one that is not named, or
/// that has the name of another one, may be promoted. So whoever names the journal has to say that there is none (`is_promoted_whole`).
pub(super) fn of(
    link: &Link,
    within: Duration,
    is_promoted_whole: bool,
) -> Result<Origin, Failure> {
    let rows = link.query(within, &Statement::plain(ORIGIN))?;
    let read = rows.first().and_then(|row| {
        Some(Origin {
            system: row.try_get(0).ok()?,
            timeline: row.try_get(1).ok()?,
            database: row.try_get(2).ok()?,
            table: row.try_get(3).ok()?,
            waits: is_promoted_whole && waits_for_all(row.try_get(4).ok()?),
        })
    });
    read.ok_or_else(|| Failure::lost("the server does not give its identity"))
}

/// Returns whether a commit waits for every standby that these names allow to take over: where it waits for some of several, one that is
/// promoted may lack it.
pub(super) fn waits_for_all(names: &str) -> bool {
    let names = names.trim();
    let (method, listed) = match names.split_once('(') {
        Some((method, listed)) => (method, listed.trim_end().trim_end_matches(')')),
        None => ("1", names),
    };
    let count = method.split_whitespace().last().unwrap_or_default();
    let named: Vec<&str> = listed.split(',').map(str::trim).collect();
    // In quotes it stands for every standby all the same.
    let is_any = named
        .iter()
        .map(|name| name.trim_matches('"'))
        .any(|name| name.is_empty() || name == "*");
    !is_any && count.parse() == Ok(named.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_commit_is_on_whoever_takes_over_where_it_waits_for_all_that_are_named() {
        for (names, expected) in [
            ("", false),
            ("*", false),
            ("db2", true),
            ("\"db2\"", true),
            ("db2, db3", false),
            ("1 (db2)", true),
            ("FIRST 1 (db2, db3)", false),
            ("FIRST 2 (db2, db3)", true),
            ("ANY 1 (db2, db3)", false),
            ("any 2 (db2,db3)", true),
            ("ANY 1 (*)", false),
            ("\"*\"", false),
            ("ANY 1 (\"*\")", false),
        ] {
            assert_eq!(waits_for_all(names), expected, "{names}");
        }
    }
}
