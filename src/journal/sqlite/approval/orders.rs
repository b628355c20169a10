//! Orders that more than one person signs for: judged as the last thing of the transaction that carries them out.

use std::collections::{BTreeMap, BTreeSet};

use rusqlite::{Connection, OptionalExtension};
use serde_json::{Value, json};

use super::figures::{Figured, reach_of};
use super::on_record::{Pinned, recorded};
use crate::domain::{Timestamp, Totals};
use crate::journal::sqlite::codec::events::{ORDER_CARRIED_OUT, ORDER_SIGNED};
use crate::journal::sqlite::codec::values::corrupt;
use crate::journal::sqlite::evidence::chain::Evidence;
use crate::journal::sqlite::session::ordered::{GivenOrder, Ordered};
use crate::journal::sqlite::session::transaction::WriteSession;
use crate::journal::{Error, UnsignedOrders};
use crate::ledger::approval::judge::Hand;
use crate::ledger::approval::orders::{
    ClaimedOrder, OrderLine, OrderSigned, Orders, needed, people,
};
use crate::ledger::approval::rule::InForce;
use crate::ledger::approval::ssh::Signature;
use crate::ledger::approval::text::digest;

/// The rules that hold for a batch, and the digest of those that it was loaded under.
struct Rules {
    in_force: InForce,
    pinned: Option<[u8; 32]>,
}

/// Refuses what a transaction has ordered, unless as many people as there must be have signed for exactly that: the last thing that
/// the transaction does.
pub(in crate::journal::sqlite) fn assert_signed(c: &WriteSession) -> Result<(), Error> {
    let ordered = c.take_ordered();
    let Some(at) = ordered.given.last().map(|order| order.at) else {
        return Ok(());
    };
    // What the transaction has made of the batches is read below.
    c.flush()?;
    let rules = rules(c, &ordered)?;
    let is_about = |order: &&GivenOrder| {
        let rules = rules.get(&order.batch_id);
        rules.is_some_and(|rules| rules.in_force.is_about(order.kind))
    };
    let given: Vec<&GivenOrder> = ordered.given.iter().filter(is_about).collect();
    let mut batches: Vec<i64> = given.iter().map(|order| order.batch_id).collect();
    batches.sort_unstable();
    batches.dedup();
    let Some(first) = batches.first() else {
        return match ordered.is_proposed {
            true => Err(Error::Unsigned(Box::default())),
            false => Ok(()),
        };
    };
    let in_force: Vec<&InForce> = rules.values().map(|rules| &rules.in_force).collect();
    let orders = orders_of(c, &given, &rules)?;
    let wanted = digest(Some(orders.digest()));
    let required = in_force.iter().map(|rule| rule.required()).max();
    let required = needed(required.unwrap_or(2));
    let signed_by = signed_by(c, *first, &wanted, (&in_force, at))?;
    if ordered.is_proposed || signed_by.len() < required {
        return Err(Error::Unsigned(Box::new(UnsignedOrders {
            orders,
            signed_by,
            required,
        })));
    }
    for batch_id in batches {
        let of_batch = given.iter().filter(|order| order.batch_id == batch_id);
        let detail = json!({"digest": wanted, "orders": of_batch.count(), "signed_by": signed_by});
        c.append(&Evidence {
            batch_id,
            at,
            kind: (ORDER_CARRIED_OUT, None, None),
            detail: Some(&detail.to_string()),
            ..Evidence::default()
        })?;
    }
    Ok(())
}

/// Returns the rules of the batches that were ordered about, but for those that come to no more than needs nobody's approval.
fn rules(c: &Connection, ordered: &Ordered) -> Result<BTreeMap<i64, Rules>, Error> {
    let mut rules = BTreeMap::new();
    let mut free = BTreeSet::new();
    for GivenOrder { batch_id, kind, .. } in &ordered.given {
        if rules.contains_key(batch_id) || free.contains(batch_id) {
            continue;
        }
        let pinned = Pinned::read(c, *batch_id)?;
        let in_force = pinned.in_force(ordered.configured.as_deref().cloned())?;
        // The orders of a transaction are of one kind.
        if in_force.is_about(*kind) && is_enough(c, *batch_id, &in_force)? {
            let pinned = pinned.digest(i64::MAX);
            rules.insert(*batch_id, Rules { in_force, pinned });
        } else {
            free.insert(*batch_id);
        }
    }
    Ok(rules)
}

/// Returns whether a batch comes to more than may be paid without approval.
fn is_enough(c: &Connection, batch_id: i64, in_force: &InForce) -> Result<bool, Error> {
    // Where there is no threshold, nothing is to be added up.
    if in_force.needs(&Totals::default(), 0) {
        return Ok(true);
    }
    let whole = Figured::of(c, batch_id).up_to(reach_of(c, batch_id)?)?;
    Ok(in_force.needs(&whole.totals, whole.unpriced))
}

fn orders_of(
    c: &Connection,
    given: &[&GivenOrder],
    rules: &BTreeMap<i64, Rules>,
) -> Result<Orders, Error> {
    let mut names = c.prepare_cached("select name from batch where batch_id = ?1")?;
    let line = |order: &&GivenOrder| {
        Ok(OrderLine {
            batch: names.query_row([order.batch_id], |row| row.get(0))?,
            act: order.act.to_owned(),
            about: order.about.clone(),
            content: order.content.clone(),
            payments: order.payments,
            rule: rules.get(&order.batch_id).and_then(|rules| rules.pinned),
        })
    };
    let lines = given.iter().map(line).collect::<Result<_, Error>>()?;
    Ok(Orders { lines })
}

/// A signature for an order, as it stands on the chain.
pub(super) struct OrderOnRecord {
    pub(super) evidence_id: i64,
    pub(super) at: Timestamp,
    pub(super) claimed: ClaimedOrder,
    pub(super) hand: Hand,
    pub(super) text: String,
    pub(super) signature: Signature,
}

/// Reads the signatures for orders about a batch.
pub(super) fn order_signatures(c: &Connection, batch_id: i64) -> Result<Vec<OrderOnRecord>, Error> {
    let found = recorded(c, batch_id, ORDER_SIGNED)?.into_iter();
    found
        .map(|(evidence_id, at, detail)| {
            let wrong = || {
                corrupt(format!(
                    "a signature for an order that cannot be read (evidence {evidence_id})"
                ))
            };
            let detail: Value = serde_json::from_str(&detail).map_err(|_| wrong())?;
            let text = detail["text"].as_str().ok_or_else(wrong)?;
            let armour = detail["signature"].as_str().ok_or_else(wrong)?;
            let claimed = ClaimedOrder::read(text).ok_or_else(wrong)?;
            let signature = Signature::parse(armour).map_err(|_| wrong())?;
            Ok(OrderOnRecord {
                evidence_id,
                at,
                hand: Hand {
                    by: claimed.by.clone(),
                    key: signature.key().clone(),
                },
                claimed,
                text: text.to_owned(),
                signature,
            })
        })
        .collect()
}

/// Returns who has signed for these orders, as far as that counts.
fn signed_by(
    c: &Connection,
    batch_id: i64,
    wanted: &str,
    (rules, now): (&[&InForce], Timestamp),
) -> Result<Vec<String>, Error> {
    let mut valid = Vec::new();
    for one in order_signatures(c, batch_id)? {
        let may_sign = |in_force: &&InForce| {
            let times = [one.claimed.signed, one.at];
            in_force
                .may_sign(&one.hand.by, &one.hand.key, &times)
                .is_ok()
        };
        if one.claimed.digest == wanted
            && rules.iter().all(may_sign)
            && one.signature.verify(one.text.as_bytes()).is_ok()
        {
            valid.push(OrderSigned {
                hand: one.hand,
                signed: one.claimed.signed,
                evidence: one.evidence_id,
            });
        }
    }
    Ok(people(&valid, carried_out(c, batch_id, wanted)?, now))
}

/// Returns the number of the evidence that these orders were carried out, the last time; 0: they never were.
fn carried_out(c: &Connection, batch_id: i64, wanted: &str) -> Result<i64, Error> {
    let found: Option<i64> = c
        .prepare_cached(
            "select evidence_id from evidence indexed by about_batch
             where seq = 0 and event = ?2 and batch_id = ?1 and json_extract(detail, '$.digest') = ?3
             order by evidence_id desc limit 1",
        )?
        .query_row((batch_id, ORDER_CARRIED_OUT, wanted), |row| row.get(0))
        .optional()?;
    Ok(found.unwrap_or(0))
}
