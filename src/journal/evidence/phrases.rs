//! What gateways say in the same words again and again, kept once.

use std::collections::HashMap;

use crate::domain::PhraseId;
use crate::journal::Error;
use crate::store::tables::phrase;
use crate::store::{Reads, Scan, Write, Writes, shape};

/// Phrases that are remembered, so that a text that is heard again gets the number it has.
const PHRASES_MAX: usize = 256;
/// A longer text is not looked for again: it is hardly one that everybody says.
const PHRASE_REMEMBERED_MAX: usize = 512;

/// So many are recalled of those that were heard before.
const RECALLED: usize = 64;

shape! {
    struct Said of phrase { text: String }
}
shape! {
    struct Phrase of phrase { phrase_id: PhraseId, text: String }
}

/// The numbers of the texts that were heard of late.
#[derive(Default)]
pub(in crate::journal) struct Phrases {
    known: HashMap<String, PhraseId>,
    recalled: bool,
}

impl Phrases {
    /// Returns the number of a text, giving it one when it has none or is not remembered.
    pub(in crate::journal) fn number(
        &mut self,
        c: &dyn Write,
        text: &str,
    ) -> Result<PhraseId, Error> {
        if !self.recalled {
            self.recall(c)?;
        }
        if let Some(number) = self.known.get(text) {
            return Ok(*number);
        }
        let said = Said {
            text: text.to_owned(),
        };
        let number = PhraseId::new(c.append(&said)?);
        self.remember(said.text, number);
        Ok(number)
    }

    fn recall(&mut self, c: &dyn Write) -> Result<(), Error> {
        let last = Scan::of(&phrase::TABLE).descending().limit(RECALLED);
        for Phrase { phrase_id, text } in c.list(&last)? {
            self.remember(text, phrase_id);
        }
        self.recalled = true;
        Ok(())
    }

    fn remember(&mut self, text: String, number: PhraseId) {
        if text.len() > PHRASE_REMEMBERED_MAX {
            return;
        }
        if self.known.len() >= PHRASES_MAX {
            self.known.clear();
        }
        self.known.insert(text, number);
    }
}
