//! Whether every payment that is about to be posted can be said in the dialect in force, found before the first byte.

use std::ops::ControlFlow;

use super::super::Error;
use super::job::Job;
use crate::cli::files::rules::only_country;
use crate::cli::terminal::output;
use crate::gateway::wire::{fits_the_document, misfit};
use crate::journal::{Home, Reader};
use crate::lifecycle::State;

/// Rows that are named one by one.
const SHOWN: usize = 20;

impl Job<'_> {
    /// Says how many ends rest on a reading that is declared wrong.
    async fn warn_of_the_reading(&self, home: &Home) -> Result<(), Error> {
        if !home.accepts_reading {
            return Ok(());
        }
        let standing = self.journal.standing(self.batch.clone()).await?;
        let paid = standing.of(State::Paid).count;
        if paid > 0 {
            let text = format!(
                "{} of batch {} were called paid under an earlier dialect, and stay paid: compare them with a \
                 statement of the gateway or the bank (disburse reconcile)",
                output::counted(paid, "payment"),
                self.batch
            );
            output::complain("warning", &text);
        }
        Ok(())
    }

    /// Holds what is about to be posted against the dialect as it is now.
    pub(super) async fn fits_the_settings(&self, home: &Home) -> Result<(), Error> {
        self.warn_of_the_reading(home).await?;
        match self.orders_lost.is_none() {
            true => self.fits_the_dialect().await,
            // A run that only asks posts nothing.
            false => Ok(()),
        }
    }

    /// Refuses a batch with a row that the dialect cannot say: a load by another dialect may have taken it.
    async fn fits_the_dialect(&self) -> Result<(), Error> {
        let (at, batch) = (self.journal.location().clone(), self.batch.clone());
        let dialect = self.settings.dialect.dialect.clone();
        let only = only_country(self.settings);
        let found = tokio::task::spawn_blocking(move || -> Result<_, Error> {
            let reader = Reader::open(&at)?;
            let snapshot = reader.snapshot(&batch)?;
            let is_told = |country| only.is_none_or(|only| only == country);
            let (mut named, mut count) = (Vec::new(), 0_u64);
            let is_odd = snapshot.any_outline(|row| {
                !is_told(row.country) || !fits_the_document(row.identifier, row.extra, &dialect)
            })?;
            if !is_odd {
                return Ok((named, count));
            }
            snapshot.each_ready(|payment| {
                let country = payment.instruction.country;
                let why = match is_told(country) {
                    true => misfit(payment, &dialect),
                    false => Some(format!("its country {} would not be sent", country.code())),
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
        let (named, count) = found.await.map_err(Error::broke_off)??;
        if count == 0 {
            return Ok(());
        }
        let more = match count - named.len() as u64 {
            0 => String::new(),
            more => format!("\n  and {more} more"),
        };
        Err(Error::refused(format!(
            "{} of batch {} cannot be sent in the dialect {}:\n{}{more}\nNothing was sent",
            output::counted(count, "row"),
            self.batch,
            self.settings.dialect.name,
            named.join("\n"),
        ))
        .hint(format!(
            "run the batch with the dialect that it was loaded with. To pay these rows with this dialect, first cancel \
             them (`disburse cancel {} --id IDENTIFIER`, possible only if they were never posted), then load them in a \
             file of their own",
            self.batch
        )))
    }
}
