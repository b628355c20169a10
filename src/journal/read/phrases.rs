//! What gateways said, by the numbers under which it is kept.

use std::collections::HashMap;

use crate::domain::PhraseId;
use crate::journal::Error;
use crate::store::tables::phrase;
use crate::store::{Read, Reads, Scan};

/// Phrases that are kept in memory.
const PHRASES_MAX: usize = 1024;

/// Looks phrases up, and remembers them.
pub(in crate::journal) struct Phrases<'c> {
    c: &'c dyn Read,
    known: HashMap<PhraseId, Option<String>>,
}

impl<'c> Phrases<'c> {
    pub(in crate::journal) fn of(c: &'c dyn Read) -> Self {
        Self {
            c,
            known: HashMap::new(),
        }
    }

    /// Returns a phrase; `None` where it is missing.
    pub(in crate::journal) fn find(&mut self, number: PhraseId) -> Result<Option<&str>, Error> {
        if !self.known.contains_key(&number) {
            // Most are said of many payments; one that is said of a single payment is not kept for long.
            if self.known.len() >= PHRASES_MAX {
                self.known.clear();
            }
            let one = Scan::of(&phrase::TABLE).at(&number);
            self.known.insert(number, self.c.value(&one, phrase::text)?);
        }
        Ok(self.known.get(&number).and_then(Option::as_deref))
    }
}
