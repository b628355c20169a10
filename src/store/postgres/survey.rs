//! What the servers of an address are like, whether or not a journal can be used there.

use std::time::{Duration, Instant};

use super::address::Address;
use super::connect::{self, Deadlines};
use super::connect_error::ConnectError;
use super::failure::Failure;
use super::grants::{self, Role};
use super::host::Host;
use super::link::Link;
use super::origin;
use super::statement::Statement;
use super::store::Postgres;
use crate::domain::Timestamp;
use crate::store::Error;
use crate::store::server_facts::{ServerFacts, Slot, Standby};

/// Round trips that are measured.
const MEASURED: usize = 12;

const SETTINGS: &str = "select current_setting('server_version_num')::bigint, pg_is_in_recovery(), current_setting('fsync'),
    current_setting('full_page_writes'), (select reset_val from pg_settings where name = 'synchronous_commit'),
    current_setting('synchronous_standby_names'), current_setting('data_checksums'), current_setting('autovacuum'),
    current_setting('server_encoding'), (select datcollate::text from pg_database where datname = current_database()),
    current_setting('max_connections')::bigint, (select coalesce(sum(numbackends), 0)::bigint from pg_stat_database),
    pg_database_size(current_database()), coalesce((select ssl from pg_stat_ssl where pid = pg_backend_pid()), false)";

/// What other users' rows do not show has no text.
const STANDBYS: &str = "select coalesce(application_name, ''), coalesce(sync_state, '') from pg_stat_replication order by 1";

const SLOTS: &str =
    "select slot_name::text, active, coalesce(pg_wal_lsn_diff(case when pg_is_in_recovery()
        then pg_last_wal_receive_lsn() else pg_current_wal_lsn() end, restart_lsn), 0)::bigint
    from pg_replication_slots order by 1";

const LONG_TRANSACTIONS: &str =
    "select count(*), coalesce(extract(epoch from max(clock_timestamp() - xact_start)), 0)::bigint
    from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid()
        and xact_start < clock_timestamp() - interval '5 minutes'";

const OWNER: &str = "select (select rolsuper from pg_roles where rolname = current_user)
    or pg_has_role(nspowner, 'usage') from pg_namespace where nspname = 'disburse'";

const VERSION: &str = "select version from disburse.schema_version";

const CLOCK: &str = "select floor(extract(epoch from clock_timestamp()) * 1000)::bigint";

/// Looks at each server that an address names, by its name; `clock` tells the time of this machine.
#[must_use]
pub fn survey(
    address: &Address,
    deadlines: &Deadlines,
    clock: &dyn Fn() -> Timestamp,
) -> Vec<(String, Result<ServerFacts, ConnectError>)> {
    let look = |host: &Host| {
        let link = connect::reach(address, host, deadlines.connect)?;
        let host_and_promise = (host, address.is_promoted_whole);
        facts(&link, host_and_promise, deadlines.statement, clock)
            .map_err(|failure| ConnectError::met(&failure, host))
    };
    let hosts = address.hosts.iter();
    hosts.map(|host| (host.to_string(), look(host))).collect()
}

fn facts(
    link: &Link,
    (host, is_promoted_whole): (&Host, bool),
    within: Duration,
    clock: &dyn Fn() -> Timestamp,
) -> Result<ServerFacts, Failure> {
    let rows = link.query(within, &Statement::plain(SETTINGS))?;
    let row = rows
        .first()
        .ok_or_else(|| Failure::lost("the reply is empty"))?;
    let unread = |error: tokio_postgres::Error| Failure::from(&error);
    let text = |at: usize| row.try_get::<_, String>(at).map_err(unread);
    let number = |at: usize| row.try_get::<_, i64>(at).map_err(unread);
    let is = |at: usize| row.try_get::<_, bool>(at).map_err(unread);
    let (round_trip, ahead, ahead_error) = measured(link, within, clock)?;
    Ok(ServerFacts {
        release: number(0)?,
        is_standby: is(1)?,
        origin: origin::of(link, within, is_promoted_whole)?,
        is_encrypted: match host.is_here() {
            true => None,
            false => Some(is(13)?),
        },
        fsync: text(2)?,
        full_page_writes: text(3)?,
        synchronous_commit: text(4)?,
        waits_for_all: origin::waits_for_all(&text(5)?),
        is_promoted_whole,
        synchronous_standby_names: text(5)?,
        data_checksums: text(6)?,
        autovacuum: text(7)?,
        encoding: text(8)?,
        collation: text(9)?,
        connections_max: number(10)?,
        connections: number(11)?,
        size: number(12)?,
        standbys: standbys(link, within)?,
        slots: slots(link, within)?,
        long_transactions: long_transactions(link, within)?,
        round_trip,
        ahead,
        ahead_error,
    })
}

fn standbys(link: &Link, within: Duration) -> Result<Vec<Standby>, Failure> {
    let rows = link.query(within, &Statement::plain(STANDBYS))?;
    let read = |row: &tokio_postgres::Row| {
        Some(Standby {
            name: row.try_get(0).ok()?,
            sync_state: row.try_get(1).ok()?,
        })
    };
    Ok(rows.iter().filter_map(read).collect())
}

fn slots(link: &Link, within: Duration) -> Result<Vec<Slot>, Failure> {
    let rows = link.query(within, &Statement::plain(SLOTS))?;
    let read = |row: &tokio_postgres::Row| {
        Some(Slot {
            name: row.try_get(0).ok()?,
            is_active: row.try_get(1).ok()?,
            held: row.try_get(2).ok()?,
        })
    };
    Ok(rows.iter().filter_map(read).collect())
}

fn long_transactions(link: &Link, within: Duration) -> Result<(i64, Duration), Failure> {
    let rows = link.query(within, &Statement::plain(LONG_TRANSACTIONS))?;
    let read = rows.first().and_then(|row| {
        let secs: i64 = row.try_get(1).ok()?;
        Some((
            row.try_get(0).ok()?,
            Duration::from_secs(secs.unsigned_abs()),
        ))
    });
    Ok(read.unwrap_or_default())
}

/// Returns the least time of several round trips, and what the clock of the server said in that one, against the middle of it.
fn measured(
    link: &Link,
    within: Duration,
    clock: &dyn Fn() -> Timestamp,
) -> Result<(Duration, i64, i64), Failure> {
    let mut least: Option<(Duration, i64)> = None;
    for _ in 0..MEASURED {
        let (begun, before) = (Instant::now(), clock().as_millis());
        let rows = link.query(within, &Statement::plain(CLOCK))?;
        let took = begun.elapsed();
        let told: Option<i64> = rows.first().and_then(|row| row.try_get(0).ok());
        let told = told.ok_or_else(|| Failure::lost("no time told"))?;
        let half = i64::try_from(took.as_millis() / 2).unwrap_or(i64::MAX);
        // The first one prepares the statement.
        if least.is_none_or(|(shortest, _)| took < shortest) {
            least = Some((took, told - before - half));
        }
    }
    let (took, ahead) = least.unwrap_or_default();
    let error = i64::try_from(took.as_millis() / 2).unwrap_or(i64::MAX) + 1;
    Ok((took, ahead, error))
}

impl Postgres {
    /// Returns the rights that its user lacks for the work of a role.
    ///
    /// # Errors
    /// Where the server cannot be asked.
    pub fn lacking(&self, role: Role) -> Result<Vec<String>, Error> {
        Ok(grants::missing(
            &*self.link()?,
            self.deadlines.statement,
            role,
        )?)
    }

    /// Returns the version of the schema of the journal.
    ///
    /// # Errors
    /// Where the server cannot be asked.
    pub fn schema(&self) -> Result<i64, Error> {
        let rows = self
            .link()?
            .query(self.deadlines.statement, &Statement::plain(VERSION))?;
        let version = rows.first().and_then(|row| row.try_get(0).ok());
        version.ok_or_else(|| Error::corrupt("a schema without a version"))
    }

    /// Returns whether its user may change the schema of the journal, and switch its guards off.
    ///
    /// # Errors
    /// Where the server cannot be asked.
    pub fn is_owner(&self) -> Result<bool, Error> {
        let rows = self
            .link()?
            .query(self.deadlines.statement, &Statement::plain(OWNER))?;
        Ok(rows
            .first()
            .is_some_and(|row| row.try_get(0).unwrap_or_default()))
    }
}
