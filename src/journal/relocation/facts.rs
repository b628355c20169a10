//! What a journal says of a move: that it has left this place, or has not wholly come to it.

use crate::journal::Error;
use crate::journal::codec::catalog::has;
use crate::journal::codec::facts::fact;
use crate::store::Read;

/// Under this name `meta` has the place to which the journal was moved.
pub(in crate::journal) const MOVED: &str = "moved";
/// Under this name `meta` says that the journal has not wholly come to this place.
pub(in crate::journal) const ARRIVING: &str = "arriving";

/// Returns where the journal went; `None`: it is here.
pub(in crate::journal) fn moved_to(c: &dyn Read) -> Result<Option<String>, Error> {
    fact(c, MOVED)
}

/// Refuses to write to a journal that has left this place.
pub(in crate::journal) fn assert_not_moved(c: &dyn Read) -> Result<(), Error> {
    match moved_to(c)? {
        Some(to) => Err(Error::Moved { to }),
        None => Ok(()),
    }
}

/// Refuses a journal that has not wholly come to this place.
pub(in crate::journal) fn assert_arrived(c: &dyn Read) -> Result<(), Error> {
    match has(c, ARRIVING)? {
        true => Err(Error::Arriving),
        false => Ok(()),
    }
}
