//! Facts about the journal as a whole.

use crate::journal::Error;
use crate::store::tables::meta;
use crate::store::{Field, Read, Reads, Scan, Value, Write, Writes, shape};

shape! {
    struct Fact of meta { key: String, value: Value<'static> }
}

/// Returns a fact; `None` where nobody has noted it.
pub(in crate::journal) fn fact<F: Field>(c: &dyn Read, key: &str) -> Result<Option<F>, Error> {
    Ok(c.value(&Scan::of(&meta::TABLE).at(&key), meta::value)?)
}

/// Notes a fact, in the place of what was noted before.
pub(in crate::journal) fn note(c: &dyn Write, key: &str, value: &impl Field) -> Result<(), Error> {
    Ok(c.put(&Fact {
        key: key.to_owned(),
        value: value.to_value().into_owned(),
    })?)
}

/// Notes a fact, unless there is one.
pub(in crate::journal) fn note_new(
    c: &dyn Write,
    key: &str,
    value: &impl Field,
) -> Result<(), Error> {
    c.insert_new(&Fact {
        key: key.to_owned(),
        value: value.to_value().into_owned(),
    })?;
    Ok(())
}

/// Forgets a fact.
pub(in crate::journal) fn remove(c: &dyn Write, key: &str) -> Result<(), Error> {
    c.remove(&Scan::of(&meta::TABLE).at(&key))?;
    Ok(())
}
