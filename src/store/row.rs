//! A row that is read.

use super::{Error, Field, Value};

/// A row as a store hands it out, for as long as it is looked at.
pub trait Row {
    /// Returns how many columns were asked for.
    fn width(&self) -> usize;

    /// Returns what stands in the column that was asked for at this place.
    ///
    /// # Errors
    /// Where the store cannot read it.
    fn value(&self, at: usize) -> Result<Value<'_>, Error>;
}

impl dyn Row + '_ {
    /// Reads the column that was asked for at this place.
    ///
    /// # Errors
    /// [`Error::Corrupt`] for a value that no release writes.
    pub fn get<F: Field>(&self, at: usize) -> Result<F, Error> {
        F::from_value(self.value(at)?)
    }

    /// Returns what stands in the first columns that were asked for.
    ///
    /// # Errors
    /// As [`Row::value`].
    pub fn values<const N: usize>(&self) -> Result<[Value<'_>; N], Error> {
        let mut values = [const { Value::Null }; N];
        for (at, value) in values.iter_mut().enumerate() {
            *value = self.value(at)?;
        }
        Ok(values)
    }
}
