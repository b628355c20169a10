//! What gateways say in the same words again and again, kept once.

use std::collections::HashMap;

use rusqlite::Connection;

use crate::journal::Error;

/// Phrases that are remembered, so that a text that is heard again gets the number it has.
const PHRASES_MAX: usize = 256;
/// A longer text is not looked for again: it is hardly one that everybody says.
const PHRASE_REMEMBERED_MAX: usize = 512;

/// The numbers of the texts that were heard of late.
#[derive(Default)]
pub(in crate::journal::sqlite) struct Phrases {
    known: HashMap<String, i64>,
    recalled: bool,
}

impl Phrases {
    /// Returns the number of a text, giving it one when it has none or is not remembered.
    pub(in crate::journal::sqlite) fn number(
        &mut self,
        c: &Connection,
        text: &str,
    ) -> Result<i64, Error> {
        if !self.recalled {
            self.recall(c)?;
        }
        if let Some(number) = self.known.get(text) {
            return Ok(*number);
        }
        c.prepare_cached("insert into phrase (text) values (?1)")?
            .execute([text])?;
        let number = c.last_insert_rowid();
        self.remember(text.to_owned(), number);
        Ok(number)
    }

    fn recall(&mut self, c: &Connection) -> Result<(), Error> {
        let mut statement = c.prepare_cached(
            "select phrase_id, text from phrase order by phrase_id desc limit 64",
        )?;
        let mut rows = statement.query([])?;
        while let Some(row) = rows.next()? {
            self.remember(row.get(1)?, row.get(0)?);
        }
        self.recalled = true;
        Ok(())
    }

    fn remember(&mut self, text: String, number: i64) {
        if text.len() > PHRASE_REMEMBERED_MAX {
            return;
        }
        if self.known.len() >= PHRASES_MAX {
            self.known.clear();
        }
        self.known.insert(text, number);
    }
}
