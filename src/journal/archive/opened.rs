//! The journal of an archive, opened to be read.

use std::path::Path;

use crate::domain::{BatchId, BatchName};
use crate::journal::Error;
use crate::journal::codec::facts::fact;
use crate::journal::read::reader::Reader;
use crate::journal::schema::open;
use crate::store::tables::batch;
use crate::store::{Reads, Scan};

impl Reader {
    /// Opens the journal of an archive, which may come from anybody, and returns the batch that it is of.
    ///
    /// # Errors
    /// As [`Reader::open`]; [`Error::NoArchive`] when it is a journal that pays.
    pub fn of_archive(path: &Path) -> Result<(Self, BatchName), Error> {
        let reader = Self::open(&path.into())?;
        // Nothing that stands in its schema is called, and damaged pages are found before they are read.
        if let Some(file) = reader.sqlite() {
            file.execute_batch("pragma trusted_schema = off; pragma cell_size_check = on")?;
        }
        let of: Option<BatchId> = fact(reader.store(), open::ARCHIVE)?;
        let of = of.ok_or_else(|| Error::NoArchive { path: path.into() })?;
        let name = reader
            .store()
            .value(&Scan::of(&batch::TABLE).at(&of), batch::name)?;
        let batch = name.ok_or_else(|| Error::NoArchive { path: path.into() })?;
        Ok((reader, batch))
    }
}
