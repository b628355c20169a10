//! The journal of an archive, opened to be read.

use std::path::Path;

use rusqlite::OptionalExtension;

use crate::domain::BatchName;
use crate::journal::Error;
use crate::journal::sqlite::codec::values::corrupt;
use crate::journal::sqlite::read::reader::Reader;
use crate::journal::sqlite::schema::open;

impl Reader {
    /// Opens the journal of an archive, which may come from anybody, and returns the batch that it is of.
    ///
    /// # Errors
    /// As [`Reader::open`]; [`Error::NoArchive`] when it is a journal that pays.
    pub fn of_archive(path: &Path) -> Result<(Self, BatchName), Error> {
        let reader = Self::open(path)?;
        // Nothing that stands in its schema is called, and damaged pages are found before they are read.
        reader
            .connection
            .execute_batch("pragma trusted_schema = off; pragma cell_size_check = on")?;
        let name: Option<String> = reader
            .connection
            .query_row(
                "select name from batch join meta on value = batch_id where key = ?1",
                [open::ARCHIVE],
                |row| row.get(0),
            )
            .optional()?;
        let name = name.ok_or_else(|| Error::NoArchive { path: path.into() })?;
        let batch = BatchName::parse(&name).map_err(|_| corrupt("a batch name"))?;
        Ok((reader, batch))
    }
}
