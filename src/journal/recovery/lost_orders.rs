//! Orders of people that a journal has lost with the time that it missed: while they are, it posts nothing.

use serde_json::{Value, json};
use sha2::{Digest, Sha256};

pub(in crate::journal) use super::given_orders::keep_order;
use super::given_orders::{given_orders, lost_orders};
use super::on_chain;
use crate::domain::{
    BatchId, BatchName, ContentDigest, OrderId, PayerTransactionId, PaymentId, RecoveryId,
    Timestamp,
};
use crate::journal::Error;
use crate::journal::Journal;
use crate::journal::Reader;
use crate::journal::codec::catalog::{batches, of_batch};
use crate::journal::codec::events::ORDERS_GIVEN_AGAIN;
use crate::journal::codec::values::corrupt;
use crate::journal::repeats::found::{Found, Table};
use crate::journal::run::destination::place;
use crate::journal::session::ordered::SignedContent;
use crate::journal::session::transaction::WriteSession;
use crate::journal::writer::queue::CommitMode;
use crate::ledger::payer::key;
use crate::ledger::recovery::{
    Order, OrdersLost, given_first, may_be_declared_given, missing_orders, not_given, orders_lost,
};
use crate::store::tables::{batch, instruction, lost_order, recovery};
use crate::store::{Read, Reads, Scan, Test, Writes, shape};

/// What an order is about, beyond its batch.
#[derive(Clone, Debug, Default)]
pub(in crate::journal) struct Touched {
    /// Said of all of it.
    what: String,
    /// Digest and number of the identifiers.
    payments: ContentDigest,
    /// How many payments a move leaves behind that have no end yet.
    left_behind: u64,
    /// What people sign for who give it.
    signed: SignedContent,
}

impl Touched {
    /// What the evidence says that it is about.
    pub(in crate::journal) fn about(about: &Value) -> Self {
        let text = about.as_str().unwrap_or_default();
        match PayerTransactionId::parse(text) {
            Some(_) => Self::one(text, ""),
            None => Self {
                what: text.to_owned(),
                ..Self::default()
            },
        }
    }

    /// One payment, and what is ordered of it.
    pub(in crate::journal) fn one(identifier: &str, what: &str) -> Self {
        let mut touched = Self {
            what: what.to_owned(),
            ..Self::default()
        };
        touched.add(identifier);
        touched
    }

    /// The same of a move that leaves so many payments behind.
    pub(in crate::journal) fn leaving(self, left_behind: u64) -> Self {
        Self {
            left_behind,
            ..self
        }
    }

    /// Takes in a payment.
    pub(in crate::journal) fn add(&mut self, identifier: &str) {
        self.payments.add(&Sha256::digest(identifier).into());
        self.signed.add(identifier);
    }

    /// Returns what people sign for who give the order, to say more of it.
    pub(in crate::journal) fn signed(&mut self) -> &mut SignedContent {
        &mut self.signed
    }

    /// Returns what people sign for who give the order.
    pub(in crate::journal) fn to_sign(&self) -> &SignedContent {
        &self.signed
    }

    /// Said of all payments, beside what the order is about.
    pub(in crate::journal) fn said(what: String) -> Self {
        Self {
            what,
            ..Self::default()
        }
    }

    /// Says what an order is about, and what is ordered of it.
    pub(in crate::journal) fn said_beside(&self, about: &Value) -> String {
        let about = about.as_str().unwrap_or_default();
        let texts = [about, self.what.as_str()];
        let said = texts.iter().filter(|text| !text.is_empty());
        match about == self.what {
            true => about.to_owned(),
            false => said.copied().collect::<Vec<_>>().join(", "),
        }
    }

    pub(in crate::journal) fn payments(&self) -> u64 {
        if self.left_behind > 0 {
            return self.left_behind;
        }
        let text = self.payments.to_text();
        let (_, rows) = text.rsplit_once('-').unwrap_or_default();
        rows.parse().unwrap_or(0)
    }

    /// Tells it from any other, in a few letters.
    pub(in crate::journal) fn digest(&self) -> String {
        let whole = Sha256::new()
            .chain_update(&self.what)
            .chain_update([0])
            .chain_update(self.payments.to_text())
            .finalize();
        data_encoding::HEXLOWER.encode(&whole[..8])
    }
}

/// Records that rows after number `base` may repeat others, as their load has found them; `digest` names the list.
pub(in crate::journal) fn allow_repeats(
    c: &WriteSession,
    place: (BatchId, Timestamp),
    digest: &str,
    base: PaymentId,
) -> Result<(), Error> {
    let mut rows = Touched::default();
    let mut last = base;
    Found::kept(c.scratch()?).each_pair(Table::Repeat, |seq, _| {
        if seq > last {
            last = seq;
            let one = Scan::of(&instruction::TABLE).at(&seq);
            if let Some(id) = c.value::<String>(&one, instruction::identifier)? {
                rows.add(&id);
            }
        }
        Ok(())
    })?;
    c.act_upon(place, "load --allow-repeats", digest.into(), &rows, None)
}

shape! {
    /// An order that was lost.
    struct Missed of lost_order { recovery_id: RecoveryId, after_order: OrderId, line: String }
}

impl Missed {
    fn order(&self) -> Result<Order, Error> {
        let line = self.line.strip_prefix("order ").unwrap_or_default();
        Order::read(line.trim_end()).ok_or_else(|| corrupt("an invalid order"))
    }
}

/// Returns whether a batch was moved, by an order that is lost, while payments of it were open in the old place. What was posted there is
/// asked about where the batch is now.
pub(in crate::journal) fn was_moved_while_open(
    c: &dyn Read,
    batch_id: BatchId,
) -> Result<bool, Error> {
    let batch = key(&of_batch::<String>(c, batch_id, batch::name)?);
    let mut was_moved = false;
    c.each(&Scan::of(&lost_order::TABLE), |lost: Missed| {
        let order = lost.order()?;
        was_moved |= order.batch == batch && order.left_payments_behind();
        Ok::<_, Error>(())
    })?;
    Ok(was_moved)
}

/// Returns whether a batch goes where an order that is lost has sent it: it was loaded anew for that place.
fn stands(c: &dyn Read, order: &Order) -> Result<bool, Error> {
    if !order.is_move() {
        return Ok(false);
    }
    for batch_id in batches(c)? {
        let name: String = of_batch(c, batch_id, batch::name)?;
        if key(&name) != order.batch {
            continue;
        }
        let Some(place) = place(c, batch_id)? else {
            continue;
        };
        let is_there = |about: String| Touched::about(&about.into()).digest() == order.digest;
        return Ok(is_there(place.gateway) || is_there(place.user));
    }
    Ok(false)
}

/// Returns the lost orders that are known one by one and that nobody has given again, and how many of the known ones were.
fn missing_and_given(c: &dyn Read) -> Result<(Vec<Order>, u64), Error> {
    let unsaid = Scan::of(&recovery::TABLE).only(recovery::orders_reason, Test::Absent);
    let unsaid: Vec<RecoveryId> = c.values(&unsaid, recovery::recovery_id)?;
    let (mut missing, mut given) = (Vec::new(), 0);
    c.each(&Scan::of(&lost_order::TABLE), |lost: Missed| {
        if unsaid.contains(&lost.recovery_id) {
            let order = lost.order()?;
            if stands(c, &order)? {
                given += 1;
                return Ok(());
            }
            match not_given(&[order], &given_orders(c, lost.after_order)?) {
                still if still.is_empty() => given += 1,
                still => missing.extend(still),
            }
        }
        Ok::<_, Error>(())
    })?;
    Ok((not_given(&missing, &[]), given))
}

fn missing(c: &dyn Read) -> Result<Vec<Order>, Error> {
    Ok(missing_and_given(c)?.0)
}

/// Returns whether such an order is among those that are lost, and that nobody has given again.
pub(in crate::journal) fn is_missing(
    c: &dyn Read,
    batch: &BatchName,
    act: &str,
    touched: &Touched,
) -> Result<bool, Error> {
    let (batch, digest) = (key(batch.as_str()), touched.digest());
    let is_it =
        |order: &Order| (order.act == act) && (order.batch == batch) && (order.digest == digest);
    Ok(missing(c)?.iter().any(is_it))
}

/// Refuses to pay what has failed, `act` again, while an order that came before, and may have paid it, is lost: under another identifier
/// the gateway does not know what that order posted.
pub(in crate::journal) fn assert_in_order(
    c: &dyn Read,
    batch: &BatchName,
    act: &str,
) -> Result<(), Error> {
    let missing = missing(c)?;
    match given_first(&missing, &key(batch.as_str()), act) {
        Some(order) => Err(Error::GivenFirst {
            batch: batch.clone(),
            order: Box::new(order.clone()),
        }),
        None => Ok(()),
    }
}

impl Journal {
    /// Returns the orders of people that are lost, of which nobody has said that they were given again.
    ///
    /// # Errors
    /// Faults of the journal.
    pub async fn orders_lost(&self) -> Result<OrdersLost, Error> {
        self.ask_again(CommitMode::Shared, |c| lost_orders(c)).await
    }

    /// Returns how many of the lost orders that are known one by one were given again.
    ///
    /// # Errors
    /// Faults of the journal.
    pub async fn orders_given(&self) -> Result<u64, Error> {
        self.ask_again(CommitMode::Shared, |c| Ok(missing_and_given(c)?.1))
            .await
    }

    /// Returns the lost orders that are known one by one and that nobody has given again.
    ///
    /// # Errors
    /// Faults of the journal.
    pub async fn orders_missing(&self) -> Result<Vec<Order>, Error> {
        self.ask_again(CommitMode::Shared, |c| missing(c)).await
    }

    /// Takes a person's word that the orders which are lost were given again: from now on runs post. `without`: how many are
    /// known that were not, and shall not be. Returns what was lost.
    ///
    /// # Errors
    /// [`Error::NoOrdersLost`], [`Error::OrdersMissing`].
    pub async fn orders_given_again(
        &self,
        reason: String,
        without: Option<u64>,
        now: Timestamp,
    ) -> Result<OrdersLost, Error> {
        self.ask_again(CommitMode::Alone, move |c| {
            on_chain::assert_as_recorded(c)?;
            let lost = lost_orders(c)?;
            if lost.is_none() {
                return Err(Error::NoOrdersLost);
            }
            let missing = missing(c)?;
            if !may_be_declared_given(missing.len() as u64, without) {
                return Err(Error::OrdersMissing { missing });
            }
            for batch_id in batches(c)? {
                c.mark(batch_id);
                let without = without.map_or_else(String::new, |count| format!("without {count}"));
                let mut touched = Touched::said(without);
                let sentences = missing.iter().map(Order::sentence).collect::<Vec<_>>();
                touched.signed().tell(match sentences.as_slice() {
                    [] => format!("{} lost", lost.count),
                    known => format!("{} lost, not given again: {}", lost.count, known.join("; ")),
                });
                let place = (batch_id, now);
                let act = "recover --orders-given-again";
                c.act_upon(place, act, Value::Null, &touched, Some(&reason))?;
            }
            let unsaid = Scan::of(&recovery::TABLE).only(recovery::orders_reason, Test::Absent);
            for lost in [
                unsaid
                    .clone()
                    .only(recovery::orders_lost, Test::at_least(&1_i64)),
                unsaid.only(recovery::orders_unknown, Test::is(&true)),
            ] {
                c.set(&lost, recovery::orders_reason, &reason)?;
            }
            let detail =
                json!({"reason": reason, "orders": lost.count, "not_given": missing.len()});
            on_chain::tell(c, ORDERS_GIVEN_AGAIN, detail, now)?;
            Ok(lost)
        })
        .await
    }
}

impl Reader {
    /// Returns how many of the lost orders that are known one by one were given again.
    ///
    /// # Errors
    /// Faults of the journal.
    pub fn orders_given(&self) -> Result<u64, Error> {
        Ok(missing_and_given(self.store())?.1)
    }

    /// Returns the lost orders that are known one by one and that nobody has given again.
    ///
    /// # Errors
    /// Faults of the journal.
    pub fn orders_missing(&self) -> Result<Vec<Order>, Error> {
        let mut all = missing(self.store())?;
        if let Some((traces, _, found)) = self.judged()? {
            all.extend(missing_orders(traces, &found));
        }
        Ok(not_given(&all, &[]))
    }

    /// Returns the orders of people that are lost, of which nobody has said that they were given again.
    ///
    /// # Errors
    /// Faults of the journal.
    pub fn orders_lost(&self) -> Result<OrdersLost, Error> {
        let mut lost = lost_orders(self.store())?;
        // What nobody has opened for writing yet is noticed by whoever does.
        if let Some((traces, _, found)) = self.judged()? {
            let new = orders_lost(traces, &found);
            lost.count += new.count;
            lost.unknown |= new.unknown;
        }
        Ok(lost)
    }
}
