//! A look at a journal on a server and at the server itself, for people who operate them.

#[cfg(feature = "postgres")]
use super::codec::catalog::known_batch;
#[cfg(feature = "postgres")]
use super::read::reader::Reader;
#[cfg(feature = "postgres")]
use super::recovery::server_copy::noted_copy;
#[cfg(feature = "postgres")]
use super::run::sessions;
#[cfg(feature = "postgres")]
use super::server::{address_of, seen_copies};
#[cfg(feature = "postgres")]
use super::session::keeper::Keeper;
use super::{Error, Missed, RunnerRecord, ServerAddress};
use crate::domain::{BatchName, Timestamp};
#[cfg(feature = "postgres")]
use crate::store::Transact;
#[cfg(feature = "postgres")]
use crate::store::postgres::{self, Deadlines, Postgres, Role, SCHEMA_VERSION};
use crate::store::server_facts::ServerFacts;

/// What is seen of the servers that an address names, and of the journal there.
#[derive(Clone, Debug)]
pub struct Surveyed {
    /// Each server, by its name, or why nothing can be seen of it.
    pub servers: Vec<(String, Result<ServerFacts, String>)>,
    /// The journal, or why it cannot be used; `None`: no server can be asked.
    pub journal: Option<Result<JournalFacts, String>>,
}

/// What is seen of a journal on a server.
#[derive(Clone, Debug)]
pub struct JournalFacts {
    /// The version of its schema, and that which this release knows: a later one has only added to it.
    pub schema: (i64, i64),
    /// What of its tables, indexes and guards is not as it was made.
    pub misfits: Vec<String>,
    /// Where the journal was moved to.
    pub moved: Option<String>,
    /// What the server knows of damage.
    pub damage: Vec<String>,
    /// What its user may do.
    pub rights: Vec<Rights>,
    /// Its user may change its schema, and switch its guards off.
    pub is_owner: bool,
    /// Why it may have missed something; since when its recovery is under way, where anybody has opened it to write.
    pub missed: Option<Missed>,
    /// Commits had waited for all standbys that may be promoted, as the journal notes; `None`: nobody has written it yet.
    pub had_waited: Option<bool>,
    /// Runs that are under way, with their batches.
    pub runners: Vec<(BatchName, RunnerRecord)>,
}

/// What a user may do of the work of a role.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rights {
    /// The role.
    pub role: &'static str,
    /// Its work.
    pub work: &'static str,
    /// The rights that the user lacks for it.
    pub lacks: Vec<String>,
}

/// Looks at the servers that an address names, and at the journal there. Nothing is changed.
///
/// # Errors
/// [`Error::Server`] where the address is none.
#[cfg(feature = "postgres")]
pub fn survey(address: &ServerAddress, clock: &dyn Fn() -> Timestamp) -> Result<Surveyed, Error> {
    let (at, deadlines) = (address_of(address)?, Deadlines::default());
    let seen = postgres::survey(&at, &deadlines, clock);
    let servers: Vec<_> = seen
        .into_iter()
        .map(|(host, facts)| (host, facts.map_err(|error| error.to_string())))
        .collect();
    let journal = servers.iter().any(|(_, facts)| facts.is_ok()).then(|| {
        let at = at.having_seen(seen_copies(address));
        match Postgres::open_to_read(at, deadlines) {
            Ok(store) => journal_facts(store, address).map_err(|error| error.to_string()),
            Err(error) => Err(error.to_string()),
        }
    });
    Ok(Surveyed { servers, journal })
}

/// Looks at the servers that an address names.
///
/// # Errors
/// [`Error::NoServerStore`]: this program was built without it.
#[cfg(not(feature = "postgres"))]
pub fn survey(address: &ServerAddress, _clock: &dyn Fn() -> Timestamp) -> Result<Surveyed, Error> {
    Err(Error::NoServerStore {
        journal: address.to_string(),
    })
}

#[cfg(feature = "postgres")]
fn journal_facts(store: Postgres, address: &ServerAddress) -> Result<JournalFacts, Error> {
    let (is_owner, schema) = (store.is_owner()?, store.schema()?);
    let mut rights = Vec::new();
    for role in Role::ALL {
        rights.push(Rights {
            role: role.name(),
            work: role.work(),
            lacks: store.lacking(role)?,
        });
    }
    let reader = Reader::on_server(
        Keeper::from(Box::new(store) as Box<dyn Transact + Send>),
        address,
    )?;
    let c = reader.store();
    let mut runners = Vec::new();
    for batch in reader.batches()? {
        let under_way = sessions::runners(c, known_batch(c, &batch)?)?;
        runners.extend(under_way.into_iter().map(|runner| (batch.clone(), runner)));
    }
    Ok(JournalFacts {
        schema: (schema, SCHEMA_VERSION),
        misfits: c.misfits()?,
        damage: c.damage()?,
        rights,
        is_owner,
        missed: reader.missed()?,
        moved: reader.moved_to()?,
        had_waited: noted_copy(c)?.map(|noted| noted.waits),
        runners,
    })
}
