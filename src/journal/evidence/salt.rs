//! Leaves: what is personal of a row is on the chain by a digest over it and a salt, a random number of the row's own. Without the salt
//! nobody can try out what was hashed, so that a person can be forgotten: the leaf takes the place of the salt, and what was
//! hashed over it still fits.

use std::cell::RefCell;

use ring::rand::{SecureRandom, SystemRandom};

use super::encoding::{CanonicalHasher, Digest};
use crate::journal::Error;
use crate::journal::codec::values::corrupt;
use crate::store::{Row, Value};

/// A random number of a row's own.
pub(in crate::journal) type Salt = [u8; 16];

/// What stands in the column `salt` of a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::journal) enum Sealed {
    /// Nothing: an earlier version wrote it, or it holds nothing personal. All of it is hashed as it stands.
    Plain,
    /// What is personal is there.
    Salted(Salt),
    /// What was personal is forgotten, and this is its leaf.
    Forgotten(Digest),
}

impl Sealed {
    /// Reads the column.
    pub(in crate::journal) fn of(row: &dyn Row, at: usize) -> Result<Self, Error> {
        Self::of_value(&row.value(at)?)
    }

    /// Reads what stands there.
    pub(in crate::journal) fn of_value(value: &Value<'_>) -> Result<Self, Error> {
        match value {
            Value::Null => Ok(Self::Plain),
            Value::Bytes(bytes) => Self::of_bytes(Some(bytes)),
            Value::Integer(_) | Value::Text(_) => Err(corrupt("an invalid salt")),
        }
    }

    pub(in crate::journal) fn of_bytes(bytes: Option<&[u8]>) -> Result<Self, Error> {
        let Some(bytes) = bytes else {
            return Ok(Self::Plain);
        };
        match (bytes.try_into(), bytes.try_into()) {
            (Ok(salt), _) => Ok(Self::Salted(salt)),
            (_, Ok(leaf)) => Ok(Self::Forgotten(leaf)),
            _ => Err(corrupt("an invalid salt")),
        }
    }

    /// Returns the leaf over what is personal of a row, which `take_in` hands over; `None` for a row that has none.
    pub(in crate::journal) fn leaf(
        self,
        hasher: &mut CanonicalHasher,
        take_in: impl FnOnce(&mut CanonicalHasher) -> Result<(), Error>,
    ) -> Result<Option<Digest>, Error> {
        Ok(match self {
            Self::Plain => None,
            Self::Salted(salt) => {
                hasher.begin_leaf(&salt);
                take_in(hasher)?;
                Some(hasher.end_leaf())
            }
            Self::Forgotten(leaf) => Some(leaf),
        })
    }
}

/// Random bytes that are fetched at once.
const POOL: usize = 4096;

thread_local! {
    static UNUSED: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
}

/// Returns a new salt.
pub(in crate::journal) fn fresh() -> Result<Salt, Error> {
    UNUSED.with_borrow_mut(|unused| {
        if unused.is_empty() {
            unused.resize(POOL, 0);
            SystemRandom::new()
                .fill(unused)
                .map_err(|_| Error::Scratch {
                    cause: "the system gives no random numbers".to_owned(),
                })?;
        }
        let rest = unused.len().saturating_sub(size_of::<Salt>());
        let salt = unused[rest..]
            .try_into()
            .map_err(|_| corrupt("an invalid salt"))?;
        unused.truncate(rest);
        Ok(salt)
    })
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn no_salt_comes_twice() {
        let salts: BTreeSet<Salt> = (0..1_000).map(|_| fresh().unwrap()).collect();
        assert_eq!(salts.len(), 1_000);
    }

    #[test]
    fn a_leaf_takes_the_place_of_its_salt() {
        let mut hasher = CanonicalHasher::of("test");
        let mut leaf = |sealed: Sealed, text: &'static str| {
            sealed
                .leaf(&mut hasher, |canon| {
                    canon.text(text);
                    Ok(())
                })
                .unwrap()
        };
        let (one, other) = (Sealed::Salted([1; 16]), Sealed::Salted([2; 16]));
        let first = leaf(one, "Jane").unwrap();
        assert_eq!(leaf(one, "Jane"), Some(first));
        assert_ne!(leaf(one, "John"), Some(first));
        assert_ne!(leaf(other, "Jane"), Some(first));
        assert_eq!(leaf(Sealed::Forgotten(first), "anything"), Some(first));
        assert_eq!(leaf(Sealed::Plain, "Jane"), None);
    }
}
