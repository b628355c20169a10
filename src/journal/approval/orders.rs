//! Orders that more than one person signs for: judged as the last thing of the transaction that carries them out.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::ControlFlow;

use serde_json::{Value, json};

use super::figures::{Figured, reach_of};
use super::on_record::{Pinned, recorded};
use crate::domain::{BatchId, Currency, EvidenceId, PaymentId, RecoveryId, Timestamp, Totals};
use crate::journal::codec::catalog::of_batch;
use crate::journal::codec::detail::parsed;
use crate::journal::codec::events::{ACTED, ORDER_CARRIED_OUT, ORDER_SIGNED};
use crate::journal::codec::values::corrupt;
use crate::journal::evidence::chain::Evidence;
use crate::journal::session::ordered::{GivenOrder, Ordered};
use crate::journal::session::transaction::WriteSession;
use crate::journal::{Error, UnsignedOrders};
use crate::ledger::approval::judge::Hand;
use crate::ledger::approval::orders::{
    ClaimedOrder, ORDER_LASTS, OrderKind, OrderLine, OrderSigned, Orders, needed, people,
};
use crate::ledger::approval::rule::InForce;
use crate::ledger::approval::ssh::Signature;
use crate::ledger::approval::text::{digest, value_of};
use crate::lifecycle::State;
use crate::store::tables::{batch, evidence, identifier, instruction, life, recovery};
use crate::store::{Beside, Read, Reads, Scan, Shape, Test, shape};

/// The rules that hold for a batch, and the digest of those that it was loaded under.
struct Rules {
    in_force: InForce,
    pinned: Option<[u8; 32]>,
}

/// Refuses what a transaction has ordered, unless as many people as there must be have signed for exactly that: the last thing that
/// the transaction does.
pub(in crate::journal) fn assert_signed(c: &WriteSession) -> Result<(), Error> {
    let ordered = c.take_ordered();
    let Some(at) = ordered.given.last().map(|order| order.at) else {
        return Ok(());
    };
    // What the transaction has made of the batches is read below.
    c.flush()?;
    let rules = rules(c, &ordered)?;
    let in_force: Vec<&InForce> = rules.values().map(|rules| &rules.in_force).collect();
    let is_about = |order: &&GivenOrder| {
        rules.contains_key(&order.batch_id) || order.kind == OrderKind::Recover && !rules.is_empty()
    };
    let (given, free): (Vec<&GivenOrder>, Vec<&GivenOrder>) =
        ordered.given.iter().partition(is_about);
    let mut batches: Vec<BatchId> = given.iter().map(|order| order.batch_id).collect();
    batches.sort_unstable();
    batches.dedup();
    if batches.is_empty() {
        return match ordered.is_proposed {
            true => Err(Error::Unsigned(Box::default())),
            false => tell_over(c, &free, at),
        };
    }
    let orders = orders_of(c, &given, &rules)?;
    let wanted = digest(Some(orders.digest()));
    let required = in_force.iter().map(|rule| rule.required()).max();
    let required = needed(required.unwrap_or(2));
    let now = at.max(last_time(c)?);
    let sentence = orders.lines.first().map(OrderLine::sentence);
    let sentence = sentence.unwrap_or_default();
    let (signed_by, others) = signed_by(c, &batches, (&wanted, &sentence), (&in_force, now))?;
    if ordered.is_proposed || signed_by.len() < required {
        return Err(Error::Unsigned(Box::new(UnsignedOrders {
            orders,
            signed_by,
            required,
            others,
        })));
    }
    for batch_id in batches {
        let of_batch = given.iter().filter(|order| order.batch_id == batch_id);
        let mut detail =
            json!({"digest": wanted, "orders": of_batch.count(), "signed_by": signed_by});
        if is_recovery_of_over(c, batch_id, &given)? {
            detail[IS_OVER] = true.into();
        }
        carried(c, batch_id, &detail, at)?;
    }
    tell_over(c, &free, at)
}

/// The batch was over: whoever signed did so by the rules of others.
pub(super) const IS_OVER: &str = "is_over";

/// Tells batches that are over of a recovery that their own rules had no part in.
fn tell_over(c: &WriteSession, others: &[&GivenOrder], at: Timestamp) -> Result<(), Error> {
    for order in others {
        let batch_id = order.batch_id;
        let is_pinned = Pinned::read(c, batch_id)?
            .in_force(None)?
            .is_about(order.kind);
        if is_pinned && is_recovery_of_over(c, batch_id, others)? {
            carried(
                c,
                batch_id,
                &json!({"digest": "", "orders": 1, IS_OVER: true}),
                at,
            )?;
        }
    }
    Ok(())
}

fn is_recovery_of_over(
    c: &dyn Read,
    batch_id: BatchId,
    orders: &[&GivenOrder],
) -> Result<bool, Error> {
    let is_recovery =
        |order: &&GivenOrder| order.batch_id == batch_id && order.kind == OrderKind::Recover;
    Ok(orders.iter().any(is_recovery) && is_over(c, batch_id)?)
}

fn carried(
    c: &WriteSession,
    batch_id: BatchId,
    detail: &Value,
    at: Timestamp,
) -> Result<(), Error> {
    c.append(&Evidence {
        batch_id,
        at,
        kind: (ORDER_CARRIED_OUT, None, None),
        detail: Some(&detail.to_string()),
        ..Evidence::default()
    })
}

/// Returns the time of the newest evidence: a clock that was set back makes no signature young again.
fn last_time(c: &dyn Read) -> Result<Timestamp, Error> {
    let newest = Scan::of(&evidence::TABLE).descending();
    let at = c.value(&newest, evidence::at)?;
    Ok(at.unwrap_or(Timestamp::from_millis(0)))
}

/// Returns the rules of the batches that were ordered about, but for those that come to no more than needs nobody's approval.
///
/// A recovery is about all batches at once: whoever signs for it signs by the rules of those that something is left of.
fn rules(c: &dyn Read, ordered: &Ordered) -> Result<BTreeMap<BatchId, Rules>, Error> {
    let mut rules = BTreeMap::new();
    let mut free = BTreeSet::new();
    for GivenOrder { batch_id, kind, .. } in &ordered.given {
        if rules.contains_key(batch_id) || free.contains(batch_id) {
            continue;
        }
        let pinned = pinned_of(c, *batch_id, *kind)?;
        let in_force = pinned.in_force(ordered.configured.as_deref().cloned())?;
        // The orders of a transaction are of one kind.
        let is_needed = in_force.is_about(*kind)
            && (*kind == OrderKind::Recover || needs_approval(c, *batch_id, &in_force)?);
        if is_needed {
            let pinned = pinned.digest(EvidenceId::AFTER_ALL);
            rules.insert(*batch_id, Rules { in_force, pinned });
        } else {
            free.insert(*batch_id);
        }
    }
    Ok(rules)
}

/// Returns the rules of the loads of a batch that hold for orders of a kind.
pub(super) fn pinned_of(c: &dyn Read, batch_id: BatchId, kind: OrderKind) -> Result<Pinned, Error> {
    match kind == OrderKind::Recover && is_over(c, batch_id)? {
        true => Ok(Pinned::none()),
        false => Pinned::read(c, batch_id),
    }
}

/// Returns whether nothing of a batch is left to be posted or to be heard of.
fn is_over(c: &dyn Read, batch_id: BatchId) -> Result<bool, Error> {
    shape! {
        struct Stands of life { state: State, replaced_by: Option<PaymentId> }
    }
    let has_ended = |life: Stands| {
        let is_last = matches!(life.state, State::Paid | State::Failed | State::Cancelled);
        life.replaced_by.is_some() || is_last
    };
    let rows = Scan::of(&instruction::TABLE).only(instruction::batch_id, Test::is(&batch_id));
    let mut lives = Beside::along(c, Scan::of(&life::TABLE), life::seq, Stands::COLUMNS);
    let mut is_over = true;
    c.each_row(&rows, &[instruction::seq], |row| {
        is_over = lives.find_as::<Stands>(row.get(0)?)?.is_some_and(has_ended);
        Ok::<_, Error>(match is_over {
            true => ControlFlow::Continue(()),
            false => ControlFlow::Break(()),
        })
    })?;
    Ok(is_over)
}

/// Returns whether a batch needs approval: it comes to more than may be paid without, or was allowed to repeat others.
pub(in crate::journal) fn needs_approval(
    c: &dyn Read,
    batch_id: BatchId,
    in_force: &InForce,
) -> Result<bool, Error> {
    // Where there is no threshold, nothing is to be added up.
    if in_force.needs(&Totals::default(), 0)
        || in_force.is_about(OrderKind::AllowRepeats) && has_allowed_repeats(c, batch_id)?
    {
        return Ok(true);
    }
    let whole = Figured::of(c, batch_id).up_to(reach_of(c, batch_id)?)?;
    Ok(in_force.needs(&whole.totals, whole.unpriced))
}

/// Returns whether rows of a batch repeat others, and somebody has ordered to pay them all the same.
pub(in crate::journal) fn has_allowed_repeats(
    c: &dyn Read,
    batch_id: BatchId,
) -> Result<bool, Error> {
    let acts = Scan::by(&evidence::about_batch).at(&ACTED).at(&batch_id);
    let found = first_told(c, &acts, ("act", "load --allow-repeats"))?;
    Ok(found.is_some())
}

/// Returns the first evidence whose detail says this of something.
fn first_told(
    c: &dyn Read,
    scan: &Scan<'_>,
    (name, said): (&str, &str),
) -> Result<Option<EvidenceId>, Error> {
    shape! {
        struct Told of evidence { evidence_id: EvidenceId, detail: Option<String> }
    }
    let mut found = None;
    c.each_until(scan, |told: Told| {
        let is_it = parsed(told.detail.as_deref())?[name] == said;
        found = is_it.then_some(told.evidence_id);
        Ok::<_, Error>(match is_it {
            true => ControlFlow::Break(()),
            false => ControlFlow::Continue(()),
        })
    })?;
    Ok(found)
}

fn orders_of(
    c: &dyn Read,
    given: &[&GivenOrder],
    rules: &BTreeMap<BatchId, Rules>,
) -> Result<Orders, Error> {
    let line = |order: &&GivenOrder| {
        let content = &order.content;
        // By which failures a retry was asked for makes it no other retry: its payments are in the digest.
        let about = match order.kind {
            OrderKind::Retry => "",
            _ => order.about.as_str(),
        };
        let parts = [about, content.told.as_str()];
        let parts: Vec<&str> = parts.into_iter().filter(|part| !part.is_empty()).collect();
        let listed = content.first.iter().map(|id| listed(c, id));
        Ok(OrderLine {
            batch: of_batch(c, order.batch_id, batch::name)?,
            act: order.act.to_owned(),
            about: parts.join(", "),
            content: content.to_text(),
            payments: content.payments,
            totals: content.totals.clone(),
            listed: listed.collect::<Result<_, Error>>()?,
            rule: rules.get(&order.batch_id).and_then(|rules| rules.pinned),
        })
    };
    let mut lines = given.iter().map(line).collect::<Result<Vec<_>, Error>>()?;
    // The lines of a file of decisions may come in any order.
    lines.sort_by(|one, other| {
        let key = |line: &OrderLine| (line.batch.clone(), line.act.clone(), line.about.clone());
        key(one).cmp(&key(other))
    });
    shape! {
        struct Begun of recovery { recovery_id: RecoveryId, begun_at: Timestamp }
    }
    let recovery: Option<Begun> = c.first(&Scan::of(&recovery::TABLE).descending())?;
    let recovery = recovery.map_or_else(String::new, |begun| {
        format!("{} of {}", begun.recovery_id, begun.begun_at)
    });
    Ok(Orders { lines, recovery })
}

/// Names a payment, with its amount; a rejected row has no more than its digest.
fn listed(c: &dyn Read, identifier: &str) -> Result<String, Error> {
    shape! {
        struct Listed of instruction { reference: Option<String>, amount: Option<i64>, currency: String }
    }
    let known = Scan::of(&identifier::TABLE).at(&identifier);
    let seq: Option<PaymentId> = c.value(&known, identifier::seq)?;
    let row: Option<Listed> = match seq {
        Some(seq) => c.first(&Scan::of(&instruction::TABLE).at(&seq))?,
        None => None,
    };
    let Some(row) = row else {
        return Ok(identifier.to_owned());
    };
    let mut parts = Vec::new();
    parts.extend(row.reference.filter(|reference| !reference.is_empty()));
    if let (Some(minor), Some(currency)) = (row.amount, Currency::from_code(&row.currency)) {
        let mut amount = Totals::default();
        amount.add_minor(currency, minor.into());
        parts.push(amount.to_string());
    }
    parts.push(identifier.to_owned());
    Ok(parts.join(", "))
}

/// A signature for an order, as it stands on the chain.
pub(super) struct OrderOnRecord {
    pub(super) evidence_id: EvidenceId,
    pub(super) at: Timestamp,
    pub(super) claimed: ClaimedOrder,
    pub(super) hand: Hand,
    pub(super) text: String,
    pub(super) signature: Signature,
}

/// Reads the signatures for orders about a batch.
pub(super) fn order_signatures(
    c: &dyn Read,
    batch_id: BatchId,
) -> Result<Vec<OrderOnRecord>, Error> {
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

/// So many signatures that do not count are told.
const OTHERS_TOLD: usize = 5;

/// Returns who has signed for these orders, as far as that counts, and what else was signed of late, with the reason why it does not.
fn signed_by(
    c: &dyn Read,
    batches: &[BatchId],
    (wanted, sentence): (&str, &str),
    (rules, now): (&[&InForce], Timestamp),
) -> Result<(Vec<String>, Vec<String>), Error> {
    let (mut valid, mut others) = (Vec::new(), Vec::new());
    let Some(first) = batches.first() else {
        return Ok((Vec::new(), others));
    };
    let carried = carried_out(c, *first, wanted)?;
    let signatures = order_signatures(c, *first)?;
    // Nor does a clock that was set back among them make one young again.
    let now = signatures
        .iter()
        .map(|one| one.at)
        .fold(now, Timestamp::max);
    for one in signatures {
        let fit = may_count(rules, &one);
        let is_young = one.claimed.signed.after(ORDER_LASTS) >= now;
        if one.claimed.digest != wanted {
            let is_open = carried_out(c, *first, &one.claimed.digest)? < one.evidence_id;
            if is_young && is_open && one.claimed.signed <= now {
                let what = value_of(&one.text, "order").unwrap_or("several orders");
                let why = match what == sentence {
                    true => "for this order before something that it rests on changed",
                    false => "for another order",
                };
                others.push(format!(
                    "{} signed at {} {why}: {what}",
                    one.hand.by, one.claimed.signed
                ));
            }
            continue;
        }
        match &fit {
            Err(why) => others.push(format!(
                "the signature of {} does not count: {why}",
                one.hand.by
            )),
            Ok(()) if one.evidence_id <= carried => {}
            Ok(()) if !is_young => others.push(format!(
                "{} signed at {}, more than a day ago",
                one.hand.by, one.claimed.signed
            )),
            Ok(()) => valid.push(OrderSigned {
                hand: one.hand,
                signed: one.claimed.signed,
                evidence: one.evidence_id,
            }),
        }
    }
    let more = others.len().saturating_sub(OTHERS_TOLD);
    others.drain(..more);
    Ok((people(&valid, carried, now), others))
}

/// Returns why a signature does not count by these rules.
pub(super) fn may_count(rules: &[&InForce], one: &OrderOnRecord) -> Result<(), String> {
    let times = [one.claimed.signed, one.at];
    for in_force in rules {
        in_force.may_sign(&one.hand.by, &one.hand.key, &times)?;
    }
    let verified = one.signature.verify(one.text.as_bytes());
    verified.map_err(|why| why.to_string())
}

/// Returns the number of the evidence that these orders were carried out, the last time; [`EvidenceId::NONE`]: they never were.
pub(super) fn carried_out(
    c: &dyn Read,
    batch_id: BatchId,
    wanted: &str,
) -> Result<EvidenceId, Error> {
    let carried = Scan::by(&evidence::about_batch)
        .at(&ORDER_CARRIED_OUT)
        .at(&batch_id)
        .descending();
    let found = first_told(c, &carried, ("digest", wanted))?;
    Ok(found.unwrap_or(EvidenceId::NONE))
}
