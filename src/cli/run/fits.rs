//! Whether every payment that is about to be posted can be said in the dialect in force, found before the first byte.

use std::ops::ControlFlow;

use super::super::Error;
use super::job::Job;
use crate::cli::files::rules::only_country;
use crate::cli::terminal::output;
use crate::gateway::wire::misfit;
use crate::journal::Reader;

/// Rows that are named one by one.
const SHOWN: usize = 20;

impl Job<'_> {
    /// Refuses a batch with a row that the dialect cannot say: a load by another dialect may have taken it.
    pub(super) async fn fits_the_dialect(&self) -> Result<(), Error> {
        if !self.orders_lost.is_none() {
            // A run that only asks posts nothing.
            return Ok(());
        }
        let (path, batch) = (self.journal.path().to_owned(), self.batch.clone());
        let dialect = self.settings.dialect.dialect.clone();
        let only = only_country(self.settings);
        let found = tokio::task::spawn_blocking(move || -> Result<_, Error> {
            let (mut named, mut count) = (Vec::new(), 0_u64);
            Reader::open(&path)?
                .snapshot(&batch)?
                .each_ready(|payment| {
                    let country = payment.instruction.country;
                    let is_told = only.is_none_or(|only| only == country);
                    let why = match is_told {
                        true => misfit(payment, &dialect),
                        false => Some(format!(
                            "its country {} would be told to nobody",
                            country.code()
                        )),
                    };
                    if let Some(why) = why {
                        count += 1;
                        if named.len() < SHOWN {
                            let reference = payment.instruction.reference.as_ref();
                            let reference = reference
                                .map(|reference| format!(", reference {reference}"))
                                .unwrap_or_default();
                            let line = payment.instruction.line;
                            named.push(format!("  line {line}{reference} ({}): {why}", payment.id));
                        }
                    }
                    ControlFlow::Continue(())
                })?;
            Ok((named, count))
        });
        let (named, count) = found.await.map_err(Error::unexpected)??;
        if count == 0 {
            return Ok(());
        }
        let more = match count - named.len() as u64 {
            0 => String::new(),
            more => format!("\n  and {more} more"),
        };
        Err(Error::refused(format!(
            "{} of batch {} cannot be said in the dialect {}:\n{}{more}\nNothing was sent",
            output::counted(count, "row"),
            self.batch,
            self.settings.dialect.name,
            named.join("\n"),
        ))
        .hint(format!(
            "run the batch by the dialect that it was loaded with. To pay these rows by this one, cancel them first \
             (`disburse cancel {} --id IDENTIFIER`: only what was never posted can be), and load them in a file of their own",
            self.batch
        )))
    }
}
