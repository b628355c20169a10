//! Connecting to the server that takes writes, and what it must be like.

use std::fmt::Write as _;
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

use tokio::time::timeout;
use tokio_postgres::error::SqlState;
use tokio_postgres::tls::MakeTlsConnect;
use tokio_postgres::{Config, NoTls, Socket};
use tokio_postgres_rustls::MakeRustlsConnect;

use super::address::{Address, SeenCopy, SslMode};
use super::columns::SCHEMA_VERSION;
use super::connect_error::ConnectError;
use super::failure::{self, Failure};
use super::grants::{self, Role};
use super::host::Host;
use super::link::{self, Link};
use super::password::{Wanted, bytes_of};
use super::statement::Statement;
use super::{origin, tls, wait};
use crate::ledger::recovery::{Origin, Succession};

/// The oldest release of PostgreSQL that is taken, as it numbers itself.
const RELEASE_MIN: i64 = 140_000;

/// How long things are waited for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Deadlines {
    /// One server that does not let in.
    pub connect: Duration,
    /// All servers of an address, until one lets in.
    pub connect_all: Duration,
    /// One statement.
    pub statement: Duration,
    /// Another one that writes.
    pub turn: Duration,
    /// The end of a transaction.
    pub commit: Duration,
    /// To learn how a transaction ended whose end was not heard.
    pub learn: Duration,
    /// A transaction that does nothing, before the server ends it: others wait for it.
    pub idle: Duration,
}

impl Default for Deadlines {
    fn default() -> Self {
        let seconds = Duration::from_secs;
        Self {
            connect: seconds(5),
            connect_all: seconds(10),
            statement: seconds(120),
            turn: seconds(15),
            commit: seconds(20),
            learn: seconds(10),
            // A host that stands still keeps the others from their turn for no longer: their leases go on.
            idle: seconds(5),
        }
    }
}

/// A connection that may be used, which process of the server serves it, and which copy of the journal that server has.
pub(super) struct Connected {
    pub(super) link: Link,
    pub(super) backend: Backend,
    pub(super) origin: Origin,
    /// When the server was started, in microseconds since 1970: two names of one server have the same.
    started: i64,
    /// By which of its names.
    host: Host,
}

/// A process of the server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Backend {
    pub(super) pid: i64,
    /// In microseconds since 1970: a number of a process is used again.
    pub(super) started: i64,
}

/// Ends a process of the server whose connection is lost: it may still hold the rows that others wait for.
const END_BACKEND: &str = "select pg_terminate_backend(pid) from pg_stat_activity
    where pid = $1 and (extract(epoch from backend_start) * 1000000)::bigint = $2";

impl Connected {
    /// Ends another process of the server that was ours, if it is one of this server.
    pub(super) fn end(&self, backend: &Backend, within: Duration) {
        let end = Statement::plain(END_BACKEND)
            .number(backend.pid)
            .number(backend.started);
        // Where it may not be ended, it ends by itself when it is idle for too long.
        let _ = self.link.query(within, &end);
    }
}

/// Asks which process of the server answers, and whether it still has what was set.
const WHO: &str = "select pg_backend_pid()::bigint, (select (extract(epoch from backend_start) * 1000000)::bigint
    from pg_stat_activity where pid = pg_backend_pid()), coalesce(current_setting('disburse.link', true), '')";

/// How often two connections are asked in turn.
const ASKED: usize = 3;

impl Connected {
    fn is_itself(&self, name: &str, within: Duration) -> Result<bool, Failure> {
        let rows = self.link.query(within, &Statement::plain(WHO))?;
        let told = rows.first().map(|row| {
            let is_it = |pid, started| Backend { pid, started } == self.backend;
            let name_is = row.try_get::<_, &str>(2).is_ok_and(|set| set == name);
            let (pid, started) = (row.try_get(0), row.try_get(1));
            name_is && pid.is_ok_and(|pid| started.is_ok_and(|started| is_it(pid, started)))
        });
        Ok(told.unwrap_or_default())
    }
}

/// Refuses a pooler that gives each transaction another session of the server: two connections are served by two processes, each by
/// its own for good, and what is set stays.
pub(super) fn check_pooler(
    first: &Connected,
    address: &Address,
    deadlines: &Deadlines,
) -> Result<(), ConnectError> {
    let until = Instant::now() + deadlines.connect;
    // Where no second one is let in, the first one serves.
    let within = until.saturating_duration_since(Instant::now());
    let before = Before {
        copy: Some(first.origin),
        seen: &[],
    };
    let second = open_host(address, &first.host, deadlines, within, before);
    let Ok(second) = second else {
        return Ok(());
    };
    let hosts = hosts_of(address);
    let pooler = || ConnectError::Pooler {
        host: hosts.clone(),
    };
    let failed = |failure: Failure| ConnectError::met(&failure, &hosts);
    if first.backend == second.backend {
        return Err(pooler());
    }
    let within = deadlines.statement.min(deadlines.connect);
    let both = [(first, "first"), (&second, "second")];
    for (connected, name) in both {
        let set = format!("set disburse.link = '{name}'");
        connected.link.run(within, &set).map_err(failed)?;
    }
    for _ in 0..ASKED {
        for (connected, name) in both {
            if !connected.is_itself(name, within).map_err(failed)? {
                return Err(pooler());
            }
        }
    }
    Ok(())
}

/// Names all servers of an address.
fn hosts_of(address: &Address) -> String {
    let hosts: Vec<_> = address.hosts.iter().map(Host::to_string).collect();
    hosts.join(", ")
}

/// A connection that somebody ended while it was being made is made so often: a server that goes down says something else then.
const MADE_MAX: usize = 4;

/// Connects, once more where somebody has ended the connection meanwhile.
pub(super) fn again<T>(
    mut connect: impl FnMut() -> Result<T, ConnectError>,
) -> Result<T, ConnectError> {
    for _ in 1..MADE_MAX {
        match connect() {
            Err(ConnectError::Terminated { .. }) => {}
            made => return made,
        }
    }
    connect()
}

/// So long whoever only reads waits for the other servers of an address once one has let in.
const OTHERS_WITHIN: Duration = Duration::from_secs(1);

/// Connects to the server of an address that takes writes, whatever is in its database. One that lags behind the timeline that was
/// seen before is passed over: another one has taken its place.
///
/// All of them are asked at once: where two take writes, one is an old primary that does not know of it, and whoever comes for the first
/// time has seen no timeline. So whoever writes gives each of them as long to answer as it would have alone: the one that has taken over
/// may be the slower one. One that is dead silent keeps nobody from the other ones for longer.
pub(super) fn open(
    address: &Address,
    deadlines: &Deadlines,
    until: Instant,
    (access, before): (Access, Before<'_>),
) -> Result<Connected, ConnectError> {
    let left = until.saturating_duration_since(Instant::now());
    let within = deadlines.connect.min(left);
    if within.is_zero() {
        return Err(away(address, "nothing answered in time"));
    }
    if let [host] = &address.hosts[..] {
        return open_host(address, host, deadlines, within, before);
    }
    let answers = ask_all(address, deadlines, within, (access, before))?;
    if let Some(error) = no_primary(address, &answers) {
        return Err(error);
    }
    let others: Vec<(Origin, i64, String)> = answers
        .iter()
        .filter_map(|(_, answer)| answer.as_ref().ok())
        .map(|connected| {
            (
                connected.origin,
                connected.started,
                connected.host.to_string(),
            )
        })
        .collect();
    let chosen = chosen(answers.into_iter().map(|(_, answer)| answer))
        .unwrap_or_else(|| Err(away(address, "nothing answered in time")))?;
    for (origin, _, host) in &others {
        if origin.after(&chosen.origin) == Succession::Overtaken {
            tracing::warn!(
                "the server of the journal at {host} is an old primary, and takes writes: stop it, and make it a standby of {}",
                chosen.host
            );
        }
    }
    match is_one_of_several(&chosen, &others) {
        true => Err(ConnectError::SeveralPrimaries {
            hosts: hosts_of(address),
        }),
        false => Ok(chosen),
    }
}

/// Asks all servers of an address at once; returns what they said in time, in the order of the address.
fn ask_all(
    address: &Address,
    deadlines: &Deadlines,
    within: Duration,
    (access, before): (Access, Before<'_>),
) -> Result<Vec<Answer>, ConnectError> {
    let (tell, told) = mpsc::channel();
    for (place, host) in address.hosts.iter().cloned().enumerate() {
        let (tell, asked, deadlines) = (tell.clone(), address.clone(), *deadlines);
        let (copy, seen) = (before.copy, before.seen.to_vec());
        let asking = move || {
            let before = Before { copy, seen: &seen };
            let answer = open_host(&asked, &host, &deadlines, within, before);
            let _ = tell.send((place, answer));
        };
        let begun = thread::Builder::new().name("connect".into()).spawn(asking);
        begun.map_err(|error| away(address, &error.to_string()))?;
    }
    drop(tell);
    // What is asked of a server that has let in has deadlines of its own.
    let mut patience = Instant::now() + within * 2;
    let all_within = Instant::now() + within;
    let mut answers = Vec::new();
    while let Ok(answer) = told.recv_timeout(patience.saturating_duration_since(Instant::now())) {
        if answer.1.is_ok() {
            patience = patience.min(match access {
                Access::Read => Instant::now() + OTHERS_WITHIN,
                Access::Write | Access::Run => all_within,
            });
        }
        answers.push(answer);
    }
    answers.sort_by_key(|(place, _)| *place);
    Ok(answers)
}

fn away(address: &Address, what: &str) -> ConnectError {
    ConnectError::Away {
        host: hosts_of(address),
        what: what.to_owned(),
    }
}

/// Returns what the servers of an address said, where all that answered only read.
fn no_primary(address: &Address, answers: &[Answer]) -> Option<ConnectError> {
    let errors: Vec<(usize, &ConnectError)> = answers
        .iter()
        .map(|(place, answer)| Some((*place, answer.as_ref().err()?)))
        .collect::<Option<_>>()?;
    let is_standby = |error: &ConnectError| matches!(error, ConnectError::Standby { .. });
    let may_pass = errors.iter().all(|(_, error)| error.may_pass());
    if !may_pass || !errors.iter().any(|(_, error)| is_standby(error)) {
        return None;
    }
    let told = address.hosts.iter().enumerate().map(|(at, host)| {
        let error = errors.iter().find(|(place, _)| *place == at);
        let said = error.map_or_else(
            || "nothing answered in time".to_owned(),
            |(_, error)| error.brief(),
        );
        format!("{host}: {said}")
    });
    Some(ConnectError::NoPrimary {
        told: told.collect::<Vec<_>>().join("; "),
    })
}

/// What a server of an address said; its place there first.
type Answer = (usize, Result<Connected, ConnectError>);

/// Returns whether another server takes writes as well, and is no old primary whose place this one has taken: each has what the other
/// one lacks.
fn is_one_of_several(chosen: &Connected, all: &[(Origin, i64, String)]) -> bool {
    all.iter().any(|(origin, started, _)| {
        *started != chosen.started
            && matches!(
                chosen.origin.after(origin),
                Succession::Same | Succession::Other
            )
    })
}

/// Returns the one that is used of servers that were asked: the first that let in, unless another one has taken its place since.
fn chosen(
    answers: impl Iterator<Item = Result<Connected, ConnectError>>,
) -> Option<Result<Connected, ConnectError>> {
    answers.reduce(|one, other| match (&one, &other) {
        (Ok(first), Ok(second)) => match second.origin.after(&first.origin) {
            Succession::Waited | Succession::Promoted => other,
            Succession::Same | Succession::Overtaken | Succession::Other => one,
        },
        (Ok(_), Err(_)) => one,
        (Err(_), Ok(_)) => other,
        // What a server says of itself tells more than the silence of another one.
        (Err(error), Err(_)) if error.is_away() => other,
        (Err(_), Err(_)) => one,
    })
}

/// What was seen of the journal before a server is asked.
#[derive(Clone, Copy, Default)]
pub(super) struct Before<'a> {
    /// Which copy the store has used itself.
    pub(super) copy: Option<Origin>,
    /// Which ones programs of this host have seen, of this and of other journals, under whatever address.
    pub(super) seen: &'a [SeenCopy],
}

impl Before<'_> {
    /// Returns the newest timeline of what has taken the place of a copy, and which file says so: tables of that number in that database of
    /// that cluster were used on it, whatever the journal was called then.
    fn has_overtaken(&self, origin: &Origin) -> Option<(i64, Option<String>)> {
        let own = self.copy.map(|copy| (copy, None));
        let seen = self.seen.iter();
        let seen = seen.map(|seen| (seen.origin, Some(&seen.told_by)));
        own.into_iter()
            .chain(seen)
            .filter(|(copy, _)| origin.after(copy) == Succession::Overtaken)
            .map(|(copy, told_by)| (copy.timeline, told_by.cloned()))
            .max()
    }
}

fn open_host(
    address: &Address,
    host: &Host,
    deadlines: &Deadlines,
    within: Duration,
    before: Before<'_>,
) -> Result<Connected, ConnectError> {
    let link = reach(address, host, within)?;
    // A server that lets in and then says nothing is left for the next one as well.
    let deadlines = &Deadlines {
        statement: deadlines.statement.min(within),
        ..*deadlines
    };
    let (backend, started) = check_server(&link, host, deadlines)?;
    if let Ok(runtime) = link::runtime() {
        link.keep_alive(runtime, deadlines.idle / 3);
    }
    let origin = origin::of(&link, deadlines.statement, address.is_promoted_whole)
        .map_err(|failure| ConnectError::met(&failure, host))?;
    match before.has_overtaken(&origin) {
        Some((newest, told_by)) => Err(ConnectError::OldPrimary {
            host: host.to_string(),
            timeline: origin.timeline,
            newest,
            told_by,
        }),
        None => Ok(Connected {
            link,
            backend,
            origin,
            started,
            host: host.clone(),
        }),
    }
}

/// Connects to a server, whatever it is like.
pub(super) fn reach(
    address: &Address,
    host: &Host,
    within: Duration,
) -> Result<Link, ConnectError> {
    let wanted = Wanted {
        host,
        database: &address.database,
        user: &address.user,
    };
    let password = address.password.password(&wanted)?;
    let mut config = Config::new();
    config
        .host(&host.name)
        .port(host.port)
        .user(&address.user)
        .dbname(&address.database)
        .application_name("disburse")
        .connect_timeout(within)
        .tcp_user_timeout(Duration::from_secs(10))
        .keepalives_idle(Duration::from_secs(10))
        .keepalives_interval(Duration::from_secs(3))
        .keepalives_retries(3);
    if let Some(password) = &password {
        config.password(bytes_of(password));
    }
    let is_plain = host.is_socket() || address.sslmode == SslMode::Disable;
    config.ssl_mode(match address.sslmode {
        _ if is_plain => tokio_postgres::config::SslMode::Disable,
        SslMode::Prefer | SslMode::Disable => tokio_postgres::config::SslMode::Prefer,
        _ => tokio_postgres::config::SslMode::Require,
    });
    let link = match is_plain {
        true => dial(config, NoTls, within),
        false => dial(
            config,
            MakeRustlsConnect::new(tls::config(address)?),
            within,
        ),
    };
    link.map_err(|failure| ConnectError::of(&failure, address, host, password.is_some()))
}

/// Connects on the runtime of all connections.
fn dial<T>(config: Config, tls: T, within: Duration) -> Result<Link, Failure>
where
    T: MakeTlsConnect<Socket> + Send + 'static,
    T::TlsConnect: Send,
    T::Stream: Send + Unpin + 'static,
    <T::TlsConnect as tokio_postgres::tls::TlsConnect<Socket>>::Future: Send,
{
    let runtime = link::runtime()?;
    let dialing = runtime.spawn(async move { timeout(within, config.connect(tls)).await });
    let margin = Duration::from_secs(1);
    match wait::until(Instant::now() + within + margin, dialing) {
        Some(Ok(Ok(Ok((client, connection))))) => Ok(Link::new(client, connection, runtime)),
        Some(Ok(Ok(Err(error)))) => Err(Failure::from(&error)),
        Some(Err(error)) => Err(Failure::lost(error.to_string())),
        Some(Ok(Err(_))) | None => Err(Failure::lost("nothing answered in time")),
    }
}

/// Looks at what a server is, and sets what a session of ours needs.
/// Returns the process of it that serves, and when the server was started.
fn check_server(
    link: &Link,
    host: &Host,
    deadlines: &Deadlines,
) -> Result<(Backend, i64), ConnectError> {
    let facts = Statement::plain(
        "select current_setting('server_version_num')::bigint, pg_is_in_recovery(), current_setting('fsync'),
            current_setting('synchronous_commit'), pg_backend_pid()::bigint,
            (select (extract(epoch from backend_start) * 1000000)::bigint from pg_stat_activity where pid = pg_backend_pid()),
            current_setting('server_encoding'), (extract(epoch from pg_postmaster_start_time()) * 1000000)::bigint",
    );
    let failed = |failure: Failure| ConnectError::met(&failure, host);
    let rows = link.query(deadlines.statement, &facts).map_err(failed)?;
    let row = rows
        .first()
        .ok_or_else(|| ConnectError::unexpected(host, "the server sent an empty reply"))?;
    let unread =
        |error: tokio_postgres::Error| ConnectError::unexpected(host, &failure::words_of(&error));
    let release: i64 = row.try_get(0).map_err(unread)?;
    if release < RELEASE_MIN {
        return Err(ConnectError::OldServer {
            host: host.to_string(),
            release: release / 10_000,
        });
    }
    if row.try_get(1).map_err(unread)? {
        return Err(ConnectError::Standby {
            host: host.to_string(),
        });
    }
    if row.try_get::<_, &str>(2).map_err(unread)? != "on" {
        return Err(ConnectError::NotDurable {
            host: host.to_string(),
        });
    }
    let encoding: &str = row.try_get(6).map_err(unread)?;
    if encoding != "UTF8" {
        return Err(ConnectError::Encoding {
            host: host.to_string(),
            encoding: encoding.to_owned(),
        });
    }
    let settings = settings(row.try_get(3).map_err(unread)?, deadlines);
    let set = link.run(deadlines.statement, &settings);
    set.map_err(failed)?;
    link.take_warnings();
    let backend = Backend {
        pid: row.try_get(4).map_err(unread)?,
        started: row.try_get(5).map_err(unread)?,
    };
    Ok((backend, row.try_get(7).map_err(unread)?))
}

/// Returns the settings of a session.
fn settings(synchronous_commit: &str, deadlines: &Deadlines) -> String {
    let mut text = String::from(
        "set search_path = disburse; set client_encoding = 'UTF8'; set standard_conforming_strings = on; set timezone = 'UTC';
        set default_transaction_isolation = 'read committed'; set default_transaction_read_only = off;",
    );
    // Rows are found along the index that is named, in its order: never by reading all of them, and never sorted.
    text.push_str(
        "set enable_seqscan = off; set enable_bitmapscan = off; set enable_sort = off; set enable_incremental_sort = off;
        set jit = off; set max_parallel_workers_per_gather = 0; set plan_cache_mode = force_generic_plan;",
    );
    // A statement whose asker is gone ends; so does a transaction that others wait for in vain.
    let _ = write!(
        text,
        "set client_connection_check_interval = '5s'; set statement_timeout = 0; set lock_timeout = {};
        set idle_in_transaction_session_timeout = {}; set tcp_keepalives_idle = 10; set tcp_keepalives_interval = 3;
        set tcp_keepalives_count = 3; set tcp_user_timeout = '10s';",
        deadlines.turn.as_millis(),
        deadlines.idle.as_millis(),
    );
    if !["on", "remote_apply"].contains(&synchronous_commit) {
        text.push_str("set synchronous_commit = on;");
    }
    text
}

/// What is to be done with a journal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Access {
    Read,
    Write,
    /// What a run needs is looked at, and nothing is written.
    Run,
}

/// The version of a schema, and the oldest one whose releases may use it.
const VERSIONS: &str =
    "select version, (select oldest from disburse.turn) from disburse.schema_version";

/// Looks whether a database holds a journal that this release reads and writes, and that this user may.
pub(super) fn check_schema(
    link: &Link,
    address: &Address,
    deadlines: &Deadlines,
    access: Access,
) -> Result<(), ConnectError> {
    let database = || address.database.clone();
    let failed = |failure: Failure| match failure.is(&SqlState::INSUFFICIENT_PRIVILEGE) {
        true => ConnectError::NoPrivileges {
            user: address.user.clone(),
            what: "usage on the schema disburse".to_owned(),
        },
        false => ConnectError::met(&failure, &hosts_of(address)),
    };
    if !has_schema(link, deadlines).map_err(failed)? {
        return Err(ConnectError::NoSchema {
            database: database(),
        });
    }
    let rows = match link.query(deadlines.statement, &Statement::plain(VERSIONS)) {
        Err(failure) if failure.is(&SqlState::UNDEFINED_TABLE) => Vec::new(),
        rows => rows.map_err(failed)?,
    };
    let read = |row: &tokio_postgres::Row| Some((row.try_get(0).ok()?, row.try_get(1).ok()?));
    let found: Option<(i64, i64)> = rows.first().and_then(read);
    match found {
        None => {
            return Err(ConnectError::ForeignSchema {
                database: database(),
            });
        }
        Some((found, _)) if found < SCHEMA_VERSION => {
            return Err(ConnectError::OlderSchema {
                database: database(),
                found,
            });
        }
        // What a later release has only added to is written as before.
        Some((found, oldest)) if oldest > SCHEMA_VERSION => {
            return Err(ConnectError::NewerSchema {
                database: database(),
                found,
            });
        }
        Some(_) => {}
    }
    let lacking = match access {
        Access::Read => grants::missing(link, deadlines.statement, Role::Reader),
        Access::Write => grants::missing_to_write(link, deadlines.statement),
        Access::Run => grants::missing(link, deadlines.statement, Role::Runner),
    };
    let lacking = lacking.map_err(failed)?;
    let (user, what) = (address.user.clone(), some_of(&lacking));
    match access {
        _ if lacking.is_empty() => Ok(()),
        Access::Run => Err(ConnectError::NoRunner { user, what }),
        Access::Write => Err(ConnectError::OnlyReads { user, what }),
        Access::Read => Err(ConnectError::NoPrivileges { user, what }),
    }
}

/// Names a few of many.
fn some_of(lacking: &[String]) -> String {
    let named: Vec<&str> = lacking.iter().take(3).map(String::as_str).collect();
    match lacking.len() - named.len() {
        0 => named.join(", "),
        more => format!("{}, and {more} more", named.join(", ")),
    }
}

/// Returns whether a database has a schema of our name.
pub(super) fn has_schema(link: &Link, deadlines: &Deadlines) -> Result<bool, Failure> {
    let there = Statement::plain("select 1 from pg_namespace where nspname = 'disburse'");
    Ok(!link.query(deadlines.statement, &there)?.is_empty())
}
