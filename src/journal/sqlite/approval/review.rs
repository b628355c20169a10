//! What somebody looks at before they sign: the largest payments, and recipients that nobody has paid before.

use crate::domain::{Currency, Money};
use crate::journal::sqlite::codec::values::{amount_of, corrupt};
use crate::journal::sqlite::read::reader::Snapshot;
use crate::journal::{Error, LargePayment, Review};

/// So many of the largest payments are shown, of each currency.
const LARGEST: i64 = 10;

/// Payments of a batch that are still to be posted.
const OPEN: &str = "from instruction i not indexed left join life l using (seq) where i.batch_id = ?1 and i.amount is not null and coalesce(l.state, 0) = 0";

impl Snapshot<'_> {
    /// Returns what of the batch somebody should look at before it is paid.
    ///
    /// # Errors
    /// Faults of the journal.
    pub fn review(&self) -> Result<Review, Error> {
        let mut review = Review::default();
        let mut currencies = self.c.prepare(&format!(
            "select distinct i.currency {OPEN} order by i.currency"
        ))?;
        let found = currencies.query_map([self.batch_id], |row| row.get::<_, String>(0))?;
        let currencies = found.collect::<Result<Vec<_>, _>>()?;
        let mut largest = self.c.prepare(&format!(
            "select i.line, coalesce(i.reference, ''), coalesce(i.account_number, i.msisdn), s.code, i.amount
             from (select i.seq {OPEN} and i.currency = ?2 order by i.amount desc, i.seq limit ?3)
             cross join instruction i using (seq) cross join service s using (service_id) order by i.amount desc, i.seq"
        ))?;
        for code in currencies {
            let currency = Currency::from_code(&code).ok_or_else(|| corrupt("a currency"))?;
            let mut rows = largest.query(rusqlite::params![self.batch_id, code, LARGEST])?;
            while let Some(row) = rows.next()? {
                let minor: i64 = row.get(4)?;
                review.largest.push(LargePayment {
                    line: row.get::<_, i64>(0)?.unsigned_abs(),
                    reference: row.get(1)?,
                    recipient: row.get(2)?,
                    service: row.get(3)?,
                    money: Money {
                        amount: amount_of(minor)?,
                        currency,
                    },
                });
            }
        }
        // Only what was paid for real makes a recipient known.
        let (recipients, new): (i64, i64) = self
            .c
            .prepare(&format!(
                "with paid (recipient) as materialized (
                     select distinct coalesce(i.account_number, i.msisdn) from life l cross join instruction i using (seq) cross join batch b on b.batch_id = i.batch_id
                     where l.state = 5 and coalesce(b.rehearsal, b.gateway like 'sandbox %', 0) = 0)
                 select count(*), sum(recipient not in (select recipient from paid))
                 from (select distinct coalesce(i.account_number, i.msisdn) as recipient {OPEN})"
            ))?
            .query_row([self.batch_id], |row| Ok((row.get(0)?, row.get::<_, Option<i64>>(1)?.unwrap_or(0))))?;
        review.recipients = recipients.unsigned_abs();
        review.never_paid = new.unsigned_abs();
        Ok(review)
    }
}
