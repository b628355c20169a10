//! What a reader is told of people who were forgotten in a batch.

use std::ops::ControlFlow;

use crate::domain::Timestamp;
use crate::journal::codec::events::FORGOTTEN;
use crate::journal::codec::values::corrupt;
use crate::journal::read::reader::Snapshot;
use crate::journal::{Error, LetGo};
use crate::store::tables::evidence;
use crate::store::{Reads, Scan, shape};

shape! {
    /// That people were forgotten.
    struct Told of evidence { at: Timestamp, detail: Option<String> }
}

impl Told {
    /// Returns the file of the archive that keeps them.
    fn archive(&self) -> Result<Option<String>, Error> {
        let Some(detail) = &self.detail else {
            return Ok(None);
        };
        let detail: serde_json::Value =
            serde_json::from_str(detail).map_err(|_| corrupt("an unreadable act of forgetting"))?;
        Ok(detail["archive"]["file"].as_str().map(str::to_owned))
    }
}

impl Snapshot<'_> {
    /// Returns when the people of the batch, or some of them, were forgotten last; an archive that keeps them goes before.
    ///
    /// # Errors
    /// Faults of the journal.
    pub fn let_go(&self) -> Result<Option<LetGo>, Error> {
        let told = Scan::by(&evidence::about_batch)
            .at(&FORGOTTEN)
            .at(&self.batch_id);
        let mut found: Option<LetGo> = None;
        self.c.each_until(&told.descending(), |told: Told| {
            let archive = told.archive()?;
            let is_kept = archive.is_some();
            if is_kept || found.is_none() {
                found = Some(LetGo {
                    at: told.at,
                    archive,
                });
            }
            Ok::<_, Error>(match is_kept {
                true => ControlFlow::Break(()),
                false => ControlFlow::Continue(()),
            })
        })?;
        Ok(found)
    }
}
