//! Where a batch stands with its signatures, and how far it may be posted.

use std::ops::ControlFlow;

use super::figures::{Figured, reach_of};
use super::on_record::{OnRecord, Pinned, assert_rules_stand, signatures, unfit};
use super::orders::has_allowed_repeats;
use crate::domain::{BatchId, LoadId, PaymentId};
use crate::journal::codec::catalog::{account, of_batch, reading};
use crate::journal::codec::values::{UNPRICED, state_number};
use crate::journal::read::reader::Snapshot;
use crate::journal::{Approvals, Error};
use crate::ledger::approval::judge::{Approval, LoadedBy, is_anothers, reach};
use crate::ledger::approval::orders::OrderKind;
use crate::ledger::approval::rule::{InForce, Rule};
use crate::ledger::approval::text::{Role, Target};
use crate::ledger::confirmation::Bound;
use crate::ledger::pin::READ_AS_DOCUMENT;
use crate::lifecycle::State;
use crate::store::tables::{batch, bill, instruction, load, tally};
use crate::store::{Read, Reads, Scan, Test};

/// Returns where a batch belongs; `None` before its first run.
fn pinned_to(c: &dyn Read, batch_id: BatchId) -> Result<Option<Target>, Error> {
    let gateway: Option<String> = of_batch(c, batch_id, batch::gateway)?;
    let (Some(gateway), Some(account)) = (gateway, account(c, batch_id)?) else {
        return Ok(None);
    };
    let reading = reading(c, batch_id)?;
    let reading = reading.unwrap_or_else(|| READ_AS_DOCUMENT.to_owned());
    Ok(Some(Target::of(&gateway, &account, &reading)))
}

impl Snapshot<'_> {
    /// Returns where the batch stands with its signatures, by the rule of now where it is known.
    ///
    /// # Errors
    /// Faults of the journal.
    pub fn approvals(&self, rule: Option<Rule>) -> Result<Approvals, Error> {
        approvals(self.c, self.batch_id, rule, None)
    }
}

/// Judges a batch by the rules of its loads and the one of now.
pub(in crate::journal) fn approvals(
    c: &dyn Read,
    batch_id: BatchId,
    configured: Option<Rule>,
    target: Option<&Target>,
) -> Result<Approvals, Error> {
    let pinned_to = pinned_to(c, batch_id)?;
    let target = target.or(pinned_to.as_ref());
    let pinned = Pinned::read(c, batch_id)?;
    assert_rules_stand(c, batch_id, &pinned, &signatures(c, batch_id)?)?;
    let in_force = pinned.in_force(configured)?;
    if in_force.is_none() {
        return Ok(Approvals::default());
    }
    let end = reach_of(c, batch_id)?;
    let figured = Figured::of(c, batch_id);
    let whole = figured.up_to(end)?;
    let mut found = Approvals {
        in_force: true,
        needed: in_force.needs(&whole.totals, whole.unpriced)
            || in_force.is_about(OrderKind::AllowRepeats) && has_allowed_repeats(c, batch_id)?,
        required: in_force.required(),
        above: in_force.above(),
        is_open: is_open(c, batch_id)?,
        ..Approvals::default()
    };
    weigh(&figured, (&pinned, &in_force), target, end, &mut found)?;
    if !found.needed {
        // What is added is judged by the next run: with it the batch may come to more.
        found.bound = Some(end);
        found.whole = true;
    }
    Ok(found)
}

fn weigh(
    figured: &Figured<'_>,
    (pinned, in_force): (&Pinned, &InForce),
    target: Option<&Target>,
    end: Bound,
    found: &mut Approvals,
) -> Result<(), Error> {
    let (c, batch_id) = (figured.c, figured.batch_id);
    let on_record = signatures(c, batch_id)?;
    let mut loaders = Vec::new();
    let mut approvals: Vec<Approval> = Vec::new();
    let mut covered = LoadId::NONE;
    for one in &on_record {
        let why = unfit(figured, (pinned, &on_record, in_force), target, one)?;
        if let Some(why) = &why {
            let did = one.claimed.role.name();
            found.unfit.push(format!(
                "the signature that {} {did} of {} does not count: {why}",
                one.hand.by, one.at
            ));
        }
        match one.claimed.role {
            Role::Loads => {
                loaders.push(loaded_by(c, batch_id, one)?);
                if why.is_some() {
                    found.unfit_loaders.push(one.hand.by.clone());
                } else {
                    covered = covered.max(one.claimed.loads.1);
                    found.loaded_by.push(one.hand.by.clone());
                }
            }
            Role::Approves if why.is_none() => approvals.push(Approval {
                hand: one.hand.clone(),
                bound: one.claimed.bound,
            }),
            Role::Approves => {}
        }
    }
    let names = loaders.iter().map(|loader| loader.hand.by.as_str());
    found.others_left = in_force.others_than(&names.collect());
    let unsigned = first_after(c, batch_id, covered, LoadId::AFTER_ALL)?;
    found.unsigned = unsigned.is_some();
    let bound = reach(in_force.required(), &loaders, unsigned, &approvals);
    for approval in &approvals {
        let by = &approval.hand.by;
        match is_anothers(approval, &loaders) {
            false => found.unfit.push(format!(
                "the approval by {by} does not count: {by}, or the same key, signed that they loaded rows that it covers"
            )),
            true if is_whole(c, batch_id, approval.bound, end)? => {
                found.approved_by.push(by.clone());
            }
            true => found.approved_before.push(by.clone()),
        }
    }
    found
        .approved_before
        .retain(|by| !found.approved_by.contains(by));
    for names in [
        &mut found.loaded_by,
        &mut found.unfit_loaders,
        &mut found.approved_by,
        &mut found.approved_before,
    ] {
        names.sort();
        names.dedup();
    }
    found.whole = is_whole(c, batch_id, bound, end)?;
    found.bound = Some(bound);
    Ok(())
}

/// Returns whether something of a batch is still to be posted: what was cancelled, or has ended, needs nobody's approval.
fn is_open(c: &dyn Read, batch_id: BatchId) -> Result<bool, Error> {
    let unsent = [state_number(State::Ready), UNPRICED];
    let mut found = false;
    let sums = Scan::of(&tally::TABLE).at(&batch_id);
    c.each_row(&sums, &[tally::state, tally::count], |row| {
        let (state, count): (i64, i64) = (row.get(0)?, row.get(1)?);
        found |= count > 0 && unsent.contains(&state);
        Ok::<_, Error>(ControlFlow::Continue(()))
    })?;
    Ok(found)
}

/// Returns whether a bound covers all that a batch has.
fn is_whole(c: &dyn Read, batch_id: BatchId, bound: Bound, end: Bound) -> Result<bool, Error> {
    if bound.instruction < end.instruction {
        return Ok(false);
    }
    let later = Scan::of(&bill::TABLE)
        .after(&bound.bill)
        .only(bill::outcome, Test::is(&0_i64));
    let mut is_whole = true;
    c.each_row(&later, &[bill::seq], |row| {
        let seq: PaymentId = row.get(0)?;
        let billed = Scan::of(&instruction::TABLE)
            .at(&seq)
            .only(instruction::batch_id, Test::is(&batch_id))
            .only(instruction::as_due, Test::is(&true));
        is_whole = !c.any(&billed)?;
        Ok::<_, Error>(match is_whole {
            true => ControlFlow::Continue(()),
            false => ControlFlow::Break(()),
        })
    })?;
    Ok(is_whole)
}

fn loaded_by(c: &dyn Read, batch_id: BatchId, one: &OnRecord) -> Result<LoadedBy, Error> {
    Ok(LoadedBy {
        hand: one.hand.clone(),
        first: first_loaded(c, batch_id, one.claimed.loads)?,
    })
}

/// Returns the first instruction that came with these loads.
pub(in crate::journal) fn first_loaded(
    c: &dyn Read,
    batch_id: BatchId,
    (after, last): (LoadId, LoadId),
) -> Result<PaymentId, Error> {
    // A load without rows of its own changed documents of those that were there.
    Ok(first_after(c, batch_id, after, last)?.unwrap_or(PaymentId::NONE))
}

/// Returns the first instruction of the loads after one number, up to another.
pub(super) fn first_after(
    c: &dyn Read,
    batch_id: BatchId,
    after: LoadId,
    last: LoadId,
) -> Result<Option<PaymentId>, Error> {
    let loads = Scan::by(&load::load_by_batch)
        .at(&batch_id)
        .after(&after)
        .up_to(&last);
    if !c.any(&loads)? {
        return Ok(None);
    }
    let next = LoadId::new(after.get().saturating_add(1));
    let rows = Scan::of(&instruction::TABLE)
        .only(instruction::batch_id, Test::is(&batch_id))
        .only(instruction::load_id, Test::at_least(&next))
        .only(instruction::load_id, Test::at_most(&last));
    Ok(c.value(&rows, instruction::seq)?)
}
