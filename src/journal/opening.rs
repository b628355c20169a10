//! Opening what keeps the rows of a journal, wherever that is.

use super::relocation::facts::{assert_arrived, assert_not_moved};
use super::relocation::notice;
use super::schema::open::{self, Missing};
use super::server::Access;
use super::session::keeper::Keeper;
use super::{Error, Location, ServerAddress, server};

/// Opens what only reads.
pub(in crate::journal) fn for_reading(at: &Location) -> Result<Keeper, Error> {
    if !at.is_there() {
        notice::assert_in_use(at)?;
    }
    let keeper = match at {
        Location::File(path) => open::for_reading(path).map(Keeper::from),
        Location::Server(address) => open_server(address, Access::Read),
    }?;
    assert_arrived(keeper.store())?;
    Ok(keeper)
}

/// Opens what writes. What is on a server is there, or it is made by a command of its own.
pub(in crate::journal) fn for_writing(at: &Location, missing: Missing) -> Result<Keeper, Error> {
    notice::assert_in_use(at)?;
    let keeper = writable(at, missing)?;
    assert_arrived(keeper.store())?;
    assert_not_moved(keeper.store())?;
    Ok(keeper)
}

/// The same, whatever a move has left there.
pub(in crate::journal) fn writable(at: &Location, missing: Missing) -> Result<Keeper, Error> {
    match at {
        Location::File(path) => open::for_writing(path, missing).map(Keeper::from),
        Location::Server(address) => open_server(address, Access::Write),
    }
}

/// Opens a journal that is on a server.
fn open_server(address: &ServerAddress, access: Access) -> Result<Keeper, Error> {
    #[cfg(test)]
    if let Some(keeper) = rehearsed::take(address) {
        return Ok(keeper);
    }
    server::open_server(address, access)
}

/// What stands for servers in tests: whoever opens an address has the store that was put there, alone.
#[cfg(test)]
pub(in crate::journal) mod rehearsed {
    use std::collections::BTreeMap;
    use std::sync::{Mutex, PoisonError};

    use super::{Keeper, ServerAddress};
    use crate::store::Transact;

    type Store = Box<dyn Transact + Send>;

    static THERE: Mutex<BTreeMap<String, Store>> = Mutex::new(BTreeMap::new());

    /// Puts a store there.
    pub(in crate::journal) fn put(address: &ServerAddress, store: Store) {
        let mut there = THERE.lock().unwrap_or_else(PoisonError::into_inner);
        there.insert(address.text().to_owned(), store);
    }

    pub(super) fn take(address: &ServerAddress) -> Option<Keeper> {
        let mut there = THERE.lock().unwrap_or_else(PoisonError::into_inner);
        there.remove(address.text()).map(Keeper::from)
    }
}

#[cfg(test)]
mod tests {
    use std::ffi::OsStr;

    use super::*;
    use crate::domain::BatchName;
    use crate::journal::codec::facts;
    use crate::journal::evidence::salt;
    use crate::journal::{Journal, Reader};
    use crate::store::memory::Memory;

    /// A journal on a server, with the facts that a file would be taken for a copy by.
    fn server(text: &str) -> Location {
        let memory = Memory::default();
        facts::note(&memory, "journal", &salt::fresh().unwrap()).unwrap();
        facts::note(&memory, "marked", &1_i64).unwrap();
        facts::note(&memory, "backup", &1_i64).unwrap();
        let at = Location::parse(OsStr::new(text)).unwrap();
        if let Location::Server(address) = &at {
            rehearsed::put(address, Box::new(memory));
        }
        at
    }

    #[tokio::test]
    async fn a_journal_on_a_server_is_written_and_nothing_lies_beside_it() {
        let at = server("postgres://pay@rehearsed/written");
        let journal = Journal::open(&at).unwrap();
        assert_eq!(journal.location(), &at);
        assert!(journal.is_in_place());
        assert_eq!(journal.recovery().await.unwrap(), None);
        let batch = BatchName::parse("june").unwrap();
        assert!(!journal.has_batch(batch).await.unwrap());
    }

    #[test]
    fn a_journal_on_a_server_is_read_and_is_no_copy() {
        let at = server("postgres://pay@rehearsed/read");
        let reader = Reader::open(&at).unwrap();
        assert_eq!(reader.batches().unwrap(), []);
        assert!(reader.missed().unwrap().is_none());
        assert!(reader.orders_lost().unwrap().is_none());
        assert_eq!(reader.orders_missing().unwrap(), []);
        assert!(reader.judged().unwrap().is_none());
    }
}
