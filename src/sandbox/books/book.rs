//! The books and the file they are kept in.

use std::collections::HashMap;
use std::sync::Arc;

use super::event::Event;
use super::ledger::Ledger;
use super::store::Store;
use crate::sandbox::error::Error;

/// How many identifiers' status queries are counted at once.
const QUERIED_MAX: usize = 1_000_000;

/// The books and the file they are kept in.
pub(in crate::sandbox) struct Book {
    pub ledger: Ledger,
    store: Option<Store>,
    queried: HashMap<Arc<str>, u32>,
}

impl Book {
    /// The books as a file left them, or new ones that are kept in memory alone.
    pub fn new(ledger: Ledger, store: Option<Store>) -> Self {
        Self {
            ledger,
            store,
            queried: HashMap::new(),
        }
    }

    /// Writes an event down, then applies it.
    // In this order: what the file does not hold must not be told to anyone.
    pub fn record(&mut self, event: Event) -> Result<(), Error> {
        if let Some(store) = &mut self.store {
            store.append(&event)?;
        }
        self.ledger.apply(event);
        Ok(())
    }

    /// Makes every further change fail, as a full disk does.
    #[cfg(test)]
    pub fn fail_writes(&mut self) {
        if let Some(store) = &mut self.store {
            store.fail();
        }
    }

    /// Counts a status query about an identifier; returns its number, from 1.
    pub fn count_query(&mut self, id: &str) -> u32 {
        if let Some(count) = self.queried.get_mut(id) {
            *count += 1;
            return *count;
        }
        if self.queried.len() >= QUERIED_MAX {
            self.queried.clear();
        }
        self.queried.insert(id.into(), 1);
        1
    }
}
