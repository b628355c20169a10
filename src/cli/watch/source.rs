//! Each page, from the file that knows what it says.

use super::reading::{Pages, batch_name, trouble};
use super::{batch, batches, rows, saved};
use crate::watch::{Batch, Batches, File, Found, Payment, Rows, Source, Trouble, Wanted};

impl Source for Pages {
    fn batches(&self) -> Result<Batches, Trouble> {
        batches::view(self).map_err(|error| trouble(&error))
    }

    fn batch(&self, name: &str) -> Result<Batch, Trouble> {
        batch::view(self, &batch_name(name)?).map_err(|error| trouble(&error))
    }

    fn rows(&self, wanted: &Wanted) -> Result<Rows, Trouble> {
        rows::view(self, &batch_name(&wanted.batch)?, wanted)
    }

    fn payment(&self, batch: &str, id: &str) -> Result<Payment, Trouble> {
        rows::payment(self, &batch_name(batch)?, id).map_err(|error| trouble(&error))
    }

    fn search(&self, text: &str) -> Result<Found, Trouble> {
        rows::found(self, text).map_err(|error| trouble(&error))
    }

    fn report(&self, batch: &str, file: File) -> Result<std::fs::File, Trouble> {
        saved::report(self, &batch_name(batch)?, file)
    }
}
