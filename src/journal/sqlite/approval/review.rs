//! What somebody looks at before they sign: the largest payments, and recipients that nobody has paid before.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::ControlFlow;

use crate::domain::{Amount, Currency, LaneId, Money, PaymentId};
use crate::journal::sqlite::codec::instructions::Instructions;
use crate::journal::sqlite::codec::values::corrupt;
use crate::journal::sqlite::read::reader::Snapshot;
use crate::journal::{Error, LargePayment, Review};
use crate::lifecycle::State;
use crate::store::tables::{instruction, life};
use crate::store::{Beside, Reads, Scan, Shape, Test, shape};

/// So many of the largest payments are shown, of each currency.
const LARGEST: usize = 10;

shape! {
    struct Stands of life { state: State }
}
shape! {
    struct Large of instruction {
        line: i64, reference: Option<String>, msisdn: String, account_number: Option<String>, service_id: LaneId,
        amount: Option<Amount>,
    }
}

/// The largest payments by the codes of their currencies, the largest first.
type Largest = BTreeMap<&'static str, (Currency, BTreeSet<(Reverse<i64>, PaymentId)>)>;

impl Snapshot<'_> {
    /// Returns what of the batch somebody should look at before it is paid.
    ///
    /// # Errors
    /// Faults of the journal.
    pub fn review(&self) -> Result<Review, Error> {
        let mut review = Review::default();
        let services = Instructions::of(self.c);
        for (currency, payments) in self.largest()?.into_values() {
            for (_, seq) in payments {
                let found: Option<Large> = self.c.first(&Scan::of(&instruction::TABLE).at(&seq))?;
                let row = found.ok_or_else(|| corrupt(format!("payment {seq} is missing")))?;
                review.largest.push(LargePayment {
                    line: row.line.unsigned_abs(),
                    reference: row.reference.unwrap_or_default(),
                    recipient: row.account_number.unwrap_or(row.msisdn),
                    service: services.service(row.service_id)?.to_string(),
                    money: Money {
                        amount: row
                            .amount
                            .ok_or_else(|| corrupt("a payment without an amount"))?,
                        currency,
                    },
                });
            }
        }
        // Only what was paid for real makes a recipient known. Recipients may be as many as payments: SQLite has room for such a set
        // beside its memory.
        let (recipients, new): (i64, i64) = self
            .c
            .prepare(
                "with paid (recipient) as materialized (
                     select distinct coalesce(i.account_number, i.msisdn) from life l cross join instruction i using (seq) cross join batch b on b.batch_id = i.batch_id
                     where l.state = 5 and coalesce(b.rehearsal, b.gateway like 'sandbox %', 0) = 0)
                 select count(*), sum(recipient not in (select recipient from paid))
                 from (select distinct coalesce(i.account_number, i.msisdn) as recipient from instruction i not indexed left join life l using (seq)
                     where i.batch_id = ?1 and i.amount is not null and coalesce(l.state, 0) = 0)",
            )?
            .query_row([self.batch_id], |row| Ok((row.get(0)?, row.get::<_, Option<i64>>(1)?.unwrap_or(0))))?;
        review.recipients = recipients.unsigned_abs();
        review.never_paid = new.unsigned_abs();
        Ok(review)
    }

    /// Returns the largest payments that are still to be posted.
    fn largest(&self) -> Result<Largest, Error> {
        let rows = Scan::of(&instruction::TABLE)
            .only(instruction::batch_id, Test::is(&self.batch_id))
            .only(instruction::amount, Test::Present);
        let mut lives = Beside::along(self.c, Scan::of(&life::TABLE), life::seq, Stands::COLUMNS);
        let mut largest = Largest::new();
        let columns = [instruction::seq, instruction::amount, instruction::currency];
        self.c.each_row(&rows, &columns, |row| {
            let seq: PaymentId = row.get(0)?;
            let life = lives.find_as::<Stands>(seq.get())?;
            if life.is_none_or(|life| life.state == State::Ready) {
                let currency: Currency = row.get(2)?;
                let of_currency = largest.entry(currency.code());
                let (_, payments) = of_currency.or_insert_with(|| (currency, BTreeSet::new()));
                payments.insert((Reverse(row.get(1)?), seq));
                if payments.len() > LARGEST {
                    payments.pop_last();
                }
            }
            Ok::<_, Error>(ControlFlow::Continue(()))
        })?;
        Ok(largest)
    }
}
