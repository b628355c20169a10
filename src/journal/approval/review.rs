//! What somebody looks at before they sign: the largest payments, and recipients that nobody has paid before.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::ControlFlow;

use rusqlite::Connection;

use crate::domain::{Amount, BatchId, Currency, LaneId, Money, PaymentId};
use crate::journal::codec::catalog::purpose;
use crate::journal::codec::instructions::Instructions;
use crate::journal::codec::values::corrupt;
use crate::journal::read::reader::Snapshot;
use crate::journal::{Error, LargePayment, Review};
use crate::ledger::Purpose;
use crate::lifecycle::State;
use crate::store::tables::{instruction, life};
use crate::store::{Beside, Column, Reads, Scan, Shape, Test, shape};

/// Whom a payment goes to.
const RECIPIENT: Column = instruction::account_number.or(instruction::msisdn);

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
        (review.recipients, review.never_paid) = self.recipients()?;
        Ok(review)
    }

    /// Returns how many recipients the payments have that are still to be posted, and how many of these nobody has paid before.
    // Only what was paid for real makes a recipient known. They may be as many as payments: the set is in a database of its own, which
    // has room beside the memory.
    fn recipients(&self) -> Result<(u64, u64), Error> {
        let known = Connection::open("")?;
        known.execute_batch(
            "begin; create table known (recipient text primary key, was_paid integer not null default 0) without rowid;",
        )?;
        let own = Scan::of(&instruction::TABLE)
            .only(instruction::batch_id, Test::is(&self.batch_id))
            .only(instruction::amount, Test::Present);
        let mut lives = Beside::along(self.c, Scan::of(&life::TABLE), life::seq, Stands::COLUMNS);
        let columns = [instruction::seq, RECIPIENT];
        self.c.each_row(&own, &columns, |row| {
            let life = lives.find_as::<Stands>(row.get(0)?)?;
            if life.is_none_or(|life| life.state == State::Ready) {
                let recipient: String = row.get(1)?;
                known
                    .prepare_cached("insert or ignore into known (recipient) values (?1)")?
                    .execute([recipient])?;
            }
            Ok::<_, Error>(ControlFlow::Continue(()))
        })?;
        let paid = Scan::of(&life::TABLE).only(life::state, Test::is(&State::Paid));
        let columns = [RECIPIENT, instruction::batch_id];
        let mut rows = Beside::of(self.c, &instruction::TABLE, &columns);
        let mut rehearsals = BTreeMap::new();
        self.c.each_row(&paid, &[life::seq], |row| {
            if let Some(row) = rows.find(row.get(0)?)? {
                let batch_id: BatchId = row.get(1)?;
                let is_rehearsal = match rehearsals.get(&batch_id) {
                    Some(known) => *known,
                    None => {
                        let is_one = purpose(self.c, batch_id)? == Purpose::Rehearsal;
                        rehearsals.insert(batch_id, is_one);
                        is_one
                    }
                };
                if !is_rehearsal {
                    known
                        .prepare_cached("update known set was_paid = 1 where recipient = ?1")?
                        .execute([row.get::<String>(0)?])?;
                }
            }
            Ok::<_, Error>(ControlFlow::Continue(()))
        })?;
        let counted = "select count(*), count(*) - coalesce(sum(was_paid), 0) from known";
        let (all, new): (i64, i64) =
            known.query_row(counted, [], |row| Ok((row.get(0)?, row.get(1)?)))?;
        Ok((all.unsigned_abs(), new.unsigned_abs()))
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
