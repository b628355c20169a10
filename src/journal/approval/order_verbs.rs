//! The verbs about orders that people sign for.

use std::sync::Arc;

use serde_json::json;

use super::on_record::journal;
use super::orders::{OrderOnRecord, carried_out, order_signatures, pinned_of};
use super::verbs::name;
use crate::domain::{BatchId, BatchName, Timestamp};
use crate::journal::Journal;
use crate::journal::codec::catalog::{known_batch, of_batch};
use crate::journal::codec::events::ORDER_SIGNED;
use crate::journal::codec::values::corrupt;
use crate::journal::evidence::chain::Evidence;
use crate::journal::session::transaction::WriteSession;
use crate::journal::writer::queue::CommitMode;
use crate::journal::{Error, NotSigned, OrderToSign, SignedOrder};
use crate::ledger::approval::orders::{ClaimedOrder, ORDER_LASTS, OrderKind, Orders};
use crate::ledger::approval::rule::{InForce, Rule};
use crate::ledger::approval::ssh::Signature;
use crate::ledger::approval::text::difference;
use crate::store::Read;
use crate::store::tables::batch;

/// So many signatures for orders are kept of one batch.
const SIGNATURES_MAX: usize = 10_000;

impl Journal {
    /// Returns this journal for somebody who orders under the rule of now, beside those that batches were loaded under.
    #[must_use]
    pub fn under(mut self, rule: Option<Rule>) -> Self {
        self.rule = rule.map(Arc::new);
        self
    }

    /// Returns this journal for somebody who only wants to know what would be signed: every order ends with [`Error::Unsigned`].
    #[must_use]
    pub fn proposing(mut self) -> Self {
        self.is_proposed = true;
        self
    }

    /// Returns the text that somebody signs for orders.
    ///
    /// # Errors
    /// Faults of the journal.
    pub async fn order_text(
        &self,
        orders: Orders,
        by: String,
        now: Timestamp,
    ) -> Result<String, Error> {
        self.ask_again(CommitMode::Alone, move |c| {
            name(c)?;
            Ok(orders.to_text(&by, &journal(c)?.unwrap_or_default(), now))
        })
        .await
    }

    /// Returns the rules that hold for some orders, each with the name of its batch.
    ///
    /// # Errors
    /// [`Error::UnknownBatch`].
    pub async fn rules_of(&self, orders: Orders) -> Result<Vec<(String, InForce)>, Error> {
        let rule = self.rule.clone();
        self.ask_again(CommitMode::Alone, move |c| {
            in_force_of(c, &orders, rule.as_deref())
        })
        .await
    }

    /// Records a signature for orders, once it was verified.
    ///
    /// # Errors
    /// [`Error::UnknownBatch`].
    pub async fn sign_order(
        &self,
        order: OrderToSign,
    ) -> Result<Result<SignedOrder, NotSigned>, Error> {
        let rule = self.rule.clone();
        self.ask_again(CommitMode::Alone, move |c| {
            name(c)?;
            record(c, &order, rule.as_deref())
        })
        .await
    }
}

/// Returns the rules that orders are under, of each batch.
fn in_force_of(
    c: &dyn Read,
    orders: &Orders,
    configured: Option<&Rule>,
) -> Result<Vec<(String, InForce)>, Error> {
    let kind = orders
        .lines
        .first()
        .and_then(|line| OrderKind::of_act(&line.act));
    let kind = kind.ok_or_else(|| corrupt("an order of an unknown kind"))?;
    let mut rules = Vec::new();
    for batch_id in batches_of(c, orders)? {
        let in_force = pinned_of(c, batch_id, kind)?.in_force(configured.cloned())?;
        if !in_force.is_none() {
            rules.push((of_batch(c, batch_id, batch::name)?, in_force));
        }
    }
    Ok(rules)
}

fn batches_of(c: &dyn Read, orders: &Orders) -> Result<Vec<BatchId>, Error> {
    let mut batches = Vec::new();
    for line in &orders.lines {
        let batch = BatchName::parse(&line.batch).map_err(|_| corrupt("an invalid batch name"))?;
        batches.push(known_batch(c, &batch)?);
    }
    batches.sort_unstable();
    batches.dedup();
    Ok(batches)
}

/// Says who signed for which order.
fn told(order: &OrderToSign, by: &str) -> String {
    let lines = &order.orders.lines;
    let what = lines.first().map(|line| line.sentence());
    let what = what.unwrap_or_default();
    match lines.len() {
        1 => format!("{by}: {what}"),
        lines => format!("{by}: {what}, and {} more", lines.saturating_sub(1)),
    }
}

fn record(
    c: &WriteSession,
    order: &OrderToSign,
    configured: Option<&Rule>,
) -> Result<Result<SignedOrder, NotSigned>, Error> {
    c.flush()?;
    let Some(claimed) = ClaimedOrder::read(&order.text) else {
        return Ok(Err(NotSigned::NoText));
    };
    let name = journal(c)?.unwrap_or_default();
    let expected = order.orders.to_text(&claimed.by, &name, claimed.signed);
    if let Some((is, should_be)) = difference(&order.text, &expected) {
        return Ok(Err(NotSigned::Differs {
            is: is.to_owned(),
            should_be: should_be.to_owned(),
        }));
    }
    let signature = match Signature::parse(&order.signature) {
        Ok(signature) => signature,
        Err(why) => return Ok(Err(NotSigned::Ssh(why))),
    };
    let rules = in_force_of(c, &order.orders, configured)?;
    if rules.is_empty() {
        return Ok(Err(NotSigned::NoRule));
    }
    for (batch, in_force) in rules {
        let times = [claimed.signed, order.now];
        if let Err(why) = in_force.may_sign(&claimed.by, signature.key(), &times) {
            return Ok(Err(NotSigned::Unfit(format!("batch {batch}: {why}"))));
        }
    }
    let batches = batches_of(c, &order.orders)?;
    if let Err(why) = signature.verify(order.text.as_bytes()) {
        return Ok(Err(NotSigned::Ssh(why)));
    }
    if claimed.signed > order.now {
        return Ok(Err(NotSigned::Time(claimed.signed)));
    }
    if claimed.signed.after(ORDER_LASTS) < order.now {
        return Ok(Err(NotSigned::Stale(claimed.signed)));
    }
    for batch_id in &batches {
        let on_record = order_signatures(c, *batch_id)?;
        if on_record.len() >= SIGNATURES_MAX {
            return Ok(Err(NotSigned::TooMany));
        }
        let carried = carried_out(c, *batch_id, &claimed.digest)?;
        let is_spent = |one: &OrderOnRecord| one.text == order.text && one.evidence_id < carried;
        if on_record.iter().any(is_spent) {
            return Ok(Err(NotSigned::Spent));
        }
    }
    let signed = SignedOrder {
        by: claimed.by,
        fingerprint: signature.key().fingerprint(),
    };
    let detail = json!({"text": order.text, "signature": order.signature}).to_string();
    for batch_id in batches {
        let on_record = order_signatures(c, batch_id)?;
        // The same text given twice is one signature.
        if on_record.iter().any(|one| one.text == order.text) {
            continue;
        }
        c.mark(batch_id);
        c.append(&Evidence {
            batch_id,
            at: order.now,
            kind: (ORDER_SIGNED, None, None),
            detail: Some(&detail),
            ..Evidence::default()
        })?;
        let about = told(order, &signed.by);
        let reason = order.reason.as_deref();
        c.act(batch_id, order.now, "sign-order", about.into(), reason)?;
    }
    Ok(Ok(signed))
}
