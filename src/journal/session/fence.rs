//! Whether a run still has its batch.

use crate::domain::Epoch;
use crate::journal::codec::facts::fact;
use crate::journal::codec::values::corrupt;
use crate::journal::{Error, RunToken};
use crate::store::Read;

/// Refuses a run that another one has taken over from.
pub(in crate::journal) fn assert_current(c: &dyn Read, token: RunToken) -> Result<(), Error> {
    #[cfg(test)]
    if crate::seeded_bugs::SeededBug::FenceIgnored.is_active() {
        return Ok(());
    }
    if epoch(c)? == token.epoch {
        Ok(())
    } else {
        Err(Error::Fenced)
    }
}

pub(in crate::journal) fn epoch(c: &dyn Read) -> Result<Epoch, Error> {
    fact(c, "epoch")?.ok_or_else(|| corrupt("a run without a number"))
}
