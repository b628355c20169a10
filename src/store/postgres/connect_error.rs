//! Why a journal in PostgreSQL cannot be used, and what to do.

use tokio_postgres::error::SqlState;

use super::address::{Address, SslMode};
use super::columns::SCHEMA_VERSION;
use super::failure::Failure;
use super::grants::quoted;
use super::host::Host;
use super::password::PasswordError;
use super::tls::TlsError;

/// Why a journal in PostgreSQL cannot be used: what happened, and what to do.
#[derive(Clone, Debug, thiserror::Error)]
pub enum ConnectError {
    /// Nobody answers.
    #[error(
        "the journal cannot be reached at {host}: {what}. Check that the server is up, and that no firewall is in the \
        way"
    )]
    Away {
        /// The server.
        host: String,
        /// What was met.
        what: String,
    },
    /// It is no server that speaks as PostgreSQL does, or it said something that nobody expected.
    #[error("the journal at {host}: {what}")]
    Unexpected {
        /// The server.
        host: String,
        /// What was met.
        what: String,
    },
    /// It is coming up, or going down.
    #[error(
        "the server of the journal at {host} accepts no connections for now: {what}. Try again in a moment"
    )]
    NotReady {
        /// The server.
        host: String,
        /// What it says.
        what: String,
    },
    /// Somebody ended the connection while it was being made.
    #[error(
        "the server of the journal at {host} ended the connection while it was being made: {what}. Try again in a moment"
    )]
    Terminated {
        /// The server.
        host: String,
        /// What it says.
        what: String,
    },
    /// All its seats are taken.
    #[error(
        "the server of the journal at {host} has no connection left: raise its max_connections, or end the sessions \
        that hold them"
    )]
    Crowded {
        /// The server.
        host: String,
    },
    /// It does not know this user by this password.
    #[error(
        "the server of the journal at {host} refuses the password of {user} ({source_of_password}). Correct the user in \
        the address, or the password there; where it is that of another user, name the file of this one with DISBURSE_JOURNAL_PASSWORD_FILE"
    )]
    WrongPassword {
        /// The server.
        host: String,
        /// The user.
        user: String,
        /// Where it came from.
        source_of_password: String,
    },
    /// It asks for a password, and there is none.
    #[error(
        "the server of the journal at {host} asks for the password of {user}: put it into ~/.pgpass (mode 600), or into the file that journal_password_file or DISBURSE_JOURNAL_PASSWORD_FILE names"
    )]
    NoPassword {
        /// The server.
        host: String,
        /// The user.
        user: String,
    },
    /// Its rules do not let this user in.
    #[error(
        "the server of the journal at {host} refuses {user}: {what}. Its pg_hba.conf says which users may connect to \
        which database, and from where: look at the name of the database in the address first; create role makes a user"
    )]
    NotLetIn {
        /// The server.
        host: String,
        /// The user.
        user: String,
        /// What it says.
        what: String,
    },
    /// There is no such database.
    #[error(
        "the server of the journal at {host} has no database {database}: correct the address. If the database was lost, \
        put the backup back: a new journal would know of no payment"
    )]
    NoDatabase {
        /// The server.
        host: String,
        /// The database.
        database: String,
    },
    /// It cannot be encrypted, or is not whom it says.
    #[error(
        "the connection to the journal at {host} cannot be encrypted with sslmode={mode}: {what}. sslrootcert names the certificate that signs those of the server"
    )]
    Tls {
        /// The server.
        host: String,
        /// How it was to be encrypted.
        mode: SslMode,
        /// What was met.
        what: String,
    },
    /// Its certificate is of yesterday.
    #[error(
        "the certificate of the server of the journal at {host} has expired: renew it there and have the server read it (pg_ctl reload), or set \
         the clock of this machine"
    )]
    Expired {
        /// The server.
        host: String,
    },
    /// All servers only read.
    #[error(
        "the server of the journal at {host} is a standby, which only reads: name the primary, or all servers of the cluster (postgres://USER@HOST1,HOST2/DATABASE)"
    )]
    Standby {
        /// The server.
        host: String,
    },
    /// No server of the address takes writes.
    #[error(
        "no server of the journal takes writes ({told}): start the primary, or promote a standby"
    )]
    NoPrimary {
        /// What each of them said.
        told: String,
    },
    /// Another one has taken its place, and it does not know.
    #[error(
        "the server of the journal at {host} is on timeline {timeline}, and the journal was on timeline {newest} already{}: it is an old primary, which lacks what was written since. Name the one that is \
        in use now, and make this one its standby",
        who_tells(told_by.as_deref())
    )]
    OldPrimary {
        /// The server.
        host: String,
        /// Its timeline.
        timeline: i64,
        /// The newest that was seen.
        newest: i64,
        /// The file of this host that says so.
        told_by: Option<String>,
    },
    /// Two servers take writes, and none of them has taken the place of the other.
    #[error(
        "more than one server of {hosts} takes writes, and each may lack what was written to the other. Nothing is posted before it is known \
        which one is right: stop the other ones, make them its standbys, and repeat the command"
    )]
    SeveralPrimaries {
        /// All servers of the address.
        hosts: String,
    },
    /// It was promoted, restored or replaced under the hands of whoever uses it.
    #[error("{}", crate::store::error::replaced(what))]
    Replaced {
        /// How it shows.
        what: String,
    },
    /// Its release is too old.
    #[error(
        "the server of the journal at {host} is PostgreSQL {release}: release 14 or a newer one is needed"
    )]
    OldServer {
        /// The server.
        host: String,
        /// Its release.
        release: i64,
    },
    /// What it says was written may be gone after a loss of power.
    #[error(
        "the server of the journal at {host} runs with fsync = off: a loss of power would lose payments that have left. Set fsync = on"
    )]
    NotDurable {
        /// The server.
        host: String,
    },
    /// The database has no room for all characters.
    #[error(
        "the database of the journal at {host} is encoded in {encoding}: create one in UTF8 (createdb --encoding=UTF8 --template=template0)"
    )]
    Encoding {
        /// The server.
        host: String,
        /// Its encoding.
        encoding: String,
    },
    /// Between it and us stands a pooler that gives every transaction another session.
    #[error(
        "a pooler in front of the server of the journal at {host} gives each transaction another session: name the \
        server itself, or set pool_mode = session for this database"
    )]
    Pooler {
        /// Where it answers.
        host: String,
    },
    /// There is no journal.
    #[error(
        "the database {database} has no journal. If there was one, do not make another, which would know of no payment: correct the \
        address, or put the backup back. If there never was one, its owner makes it: disburse journal init postgres://OWNER@HOST/DATABASE"
    )]
    NoSchema {
        /// The database.
        database: String,
    },
    /// There is one already.
    #[error("the database {database} has a journal already")]
    SchemaThere {
        /// The database.
        database: String,
    },
    /// A schema of that name is somebody else's.
    #[error(
        "the schema disburse of the database {database} is not a journal of this program: use another database"
    )]
    ForeignSchema {
        /// The database.
        database: String,
    },
    /// An earlier release made it.
    #[error(
        "the journal in the database {database} has schema {found}, of an earlier release, and this one needs {SCHEMA_VERSION}: go on with that \
         release, or move the journal (disburse journal copy: with that release to a file, with this one from there to a database of its own)"
    )]
    OlderSchema {
        /// The database.
        database: String,
        /// Its schema.
        found: i64,
    },
    /// A later release made it.
    #[error(
        "the journal in the database {database} has schema {found}, of a later release, and this program knows only \
         {SCHEMA_VERSION}: update this program"
    )]
    NewerSchema {
        /// The database.
        database: String,
        /// Its schema.
        found: i64,
    },
    /// The user may not do what is needed.
    #[error(
        "the user {user} lacks rights that it needs in the journal ({what}): disburse journal init prints the \
        statements by which the owner of the journal grants them"
    )]
    NoPrivileges {
        /// The user.
        user: String,
        /// Which.
        what: String,
    },
    /// The user may not do what runs do.
    #[error(
        "the user {user} may not load, run or listen: it lacks rights of disburse_runner in the journal ({what}). Name a user in the \
        address who has them; disburse journal init prints the statements that grant them"
    )]
    NoRunner {
        /// The user.
        user: String,
        /// What it lacks.
        what: String,
    },
    /// The user may only read.
    #[error(
        "the user {user} may only read: it lacks rights ({what}). Orders of people (such as cancel, retry, resolve, reconcile, recover) need a user with \
        the role disburse_operator; load, run and listen need one with disburse_runner. Name such a user in the address; disburse journal \
        init prints the statements that grant these roles"
    )]
    OnlyReads {
        /// The user.
        user: String,
        /// What it lacks.
        what: String,
    },
    /// The user may not make a journal.
    #[error(
        "the user {user} may not make a journal in the database {database}. Name the user that is to own the journal, and pays nobody: the \
        database's owner, or an administrator, must let that one make it: {}",
        grant_create(database, user)
    )]
    MayNotCreate {
        /// The user.
        user: String,
        /// The database.
        database: String,
    },
    /// The password cannot be had.
    #[error(transparent)]
    Password(#[from] PasswordError),
    /// Certificates or keys cannot be had.
    #[error(transparent)]
    TlsSettings(#[from] TlsError),
}

fn grant_create(database: &str, user: &str) -> String {
    format!(
        "grant create on database {} to {};",
        quoted(database),
        quoted(user)
    )
}

impl ConnectError {
    /// Returns whether it says no more than that nobody answered.
    pub(super) fn is_away(&self) -> bool {
        matches!(self, Self::Away { .. })
    }

    /// Returns what a server said, in a few words.
    pub(super) fn brief(&self) -> String {
        match self {
            Self::Away { what, .. }
            | Self::NotReady { what, .. }
            | Self::Terminated { what, .. } => what.clone(),
            Self::Standby { .. } => "a standby, which only reads".to_owned(),
            Self::OldPrimary { timeline, .. } => format!("an old primary, on timeline {timeline}"),
            other => other.to_string(),
        }
    }

    /// Returns whether it may pass without a change here: a server that is away, comes up, is about to take writes, or to be stopped.
    #[must_use]
    pub fn may_pass(&self) -> bool {
        matches!(
            self,
            Self::Away { .. }
                | Self::NotReady { .. }
                | Self::Terminated { .. }
                | Self::Crowded { .. }
                | Self::Standby { .. }
                | Self::NoPrimary { .. }
                | Self::OldPrimary { .. }
                | Self::SeveralPrimaries { .. }
        )
    }

    pub(super) fn unexpected(host: &Host, what: &str) -> Self {
        Self::Unexpected {
            host: host.to_string(),
            what: what.to_owned(),
        }
    }

    /// Says what became of a question to a server that had let in: its end may come between any two of them.
    pub(super) fn met(failure: &Failure, place: &impl ToString) -> Self {
        let (host, what) = (place.to_string(), failure.what().to_string());
        // A statement that is not known just after it was prepared was prepared in another session; one that is there before it was
        // prepared is that of another client.
        let of_others = [
            SqlState::INVALID_SQL_STATEMENT_NAME,
            SqlState::DUPLICATE_PSTATEMENT,
        ];
        if of_others.iter().any(|state| failure.is(state)) {
            return Self::Pooler { host };
        }
        match failure {
            Failure::Lost { .. } => Self::Away { host, what },
            _ if failure.is(&SqlState::ADMIN_SHUTDOWN) => Self::Terminated { host, what },
            Failure::Server {
                is_plain: false, ..
            } => Self::NotReady { host, what },
            Failure::Server { .. } => Self::Unexpected { host, what },
        }
    }

    /// Says why a server did not let in.
    pub(super) fn of(
        failure: &Failure,
        address: &Address,
        host: &Host,
        has_password: bool,
    ) -> Self {
        let (user, host) = (address.user.clone(), host.to_string());
        let what = failure.what().to_string();
        let code = match failure {
            Failure::Server { code, .. } => code.as_str(),
            Failure::Lost { .. } => "",
        };
        let is = |states: &[SqlState]| states.iter().any(|state| state.code() == code);
        if is(&[SqlState::INVALID_PASSWORD]) && has_password {
            let source_of_password = address.password.to_string();
            return Self::WrongPassword {
                host,
                user,
                source_of_password,
            };
        }
        if is(&[
            SqlState::INVALID_AUTHORIZATION_SPECIFICATION,
            SqlState::INVALID_PASSWORD,
        ]) {
            return Self::NotLetIn { host, user, what };
        }
        if is(&[SqlState::INVALID_CATALOG_NAME]) {
            let database = address.database.clone();
            return Self::NoDatabase { host, database };
        }
        if is(&[SqlState::ADMIN_SHUTDOWN]) {
            return Self::Terminated { host, what };
        }
        if is(&[SqlState::CANNOT_CONNECT_NOW, SqlState::CRASH_SHUTDOWN]) {
            return Self::NotReady { host, what };
        }
        if is(&[SqlState::TOO_MANY_CONNECTIONS]) {
            return Self::Crowded { host };
        }
        match (code, what) {
            ("", what) if what.contains("password missing") => Self::NoPassword { host, user },
            ("", what) if what.contains("TLS") && what.to_lowercase().contains("expired") => {
                Self::Expired { host }
            }
            ("", what) if what.contains("TLS") => Self::Tls {
                host,
                mode: address.sslmode,
                what,
            },
            ("", what) => Self::Away { host, what },
            (_, what) => Self::Unexpected { host, what },
        }
    }
}

/// Says which file tells of a newer timeline, and what to do where that one was a trial.
fn who_tells(file: Option<&str>) -> String {
    file.map_or_else(String::new, |file| {
        format!(" (as {file} says; where that was a trial copy of this server, see \"To try a restore\" in docs/operations.md)")
    })
}
